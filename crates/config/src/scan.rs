//! Lists directories of definitions and reads the heads of their files: a few kilobytes each, several at a time. Links
//! are followed, but nothing is met twice; a device or a giant file cannot hold us up.

use crate::frontmatter::{self, MAX_HEAD};
use crate::stamp::Stamp;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Enough for the block and the first paragraph of nearly every file.
const FIRST_READ: usize = 4 * 1024;
/// Below this many files a second thread costs more than it saves.
const WORTH_A_THREAD: usize = 96;
const THREADS: usize = 4;
/// How deep command and agent folders are searched.
const MAX_DEPTH: usize = 8;
/// A runaway tree ends here.
const MAX_FILES: usize = 20_000;

/// The beginning of a file.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) text: String,
    /// The bytes were not all UTF-8.
    pub(crate) lossy: bool,
    pub(crate) stamp: Stamp,
}

/// Reads the heads of `files`, in order. A file that is gone is `None`; one that cannot be read says why.
pub(crate) fn heads(files: &[PathBuf]) -> Vec<Option<Result<Head, String>>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    if files.len() < WORTH_A_THREAD || threads < 2 {
        return files.iter().map(|file| head(file)).collect();
    }
    let share = files.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let work: Vec<_> = files
            .chunks(share)
            .map(|part| scope.spawn(|| part.iter().map(|file| head(file)).collect::<Vec<_>>()))
            .collect();
        work.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

/// The head of one file.
pub(crate) fn head(path: &Path) -> Option<Result<Head, String>> {
    // Opening a FIFO must not wait for a writer.
    let opened = File::options().read(true).custom_flags(NONBLOCK).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return None;
        }
        Err(error) => return Some(Err(format!("cannot be read: {error}"))),
    };
    Some(read_head(file))
}

/// `O_NONBLOCK`.
const NONBLOCK: i32 = if cfg!(target_os = "macos") { 0x4 } else { 0x800 };

fn read_head(mut file: File) -> Result<Head, String> {
    let failed = |error: std::io::Error| format!("cannot be read: {error}");
    let meta = file.metadata().map_err(failed)?;
    if !meta.is_file() {
        return Err("is not a regular file".into());
    }
    let stamp = Stamp::of(&meta);
    // The size is known: one read, without another to learn that it was the last.
    let mut bytes = vec![0; FIRST_READ.min(meta.len() as usize)];
    let length = fill(&mut file, &mut bytes).map_err(failed)?;
    bytes.truncate(length);
    let (mut text, mut lossy) = decode(&bytes);
    if bytes.len() == FIRST_READ && !frontmatter::is_whole(&text) {
        file.take(MAX_HEAD as u64).read_to_end(&mut bytes).map_err(failed)?;
        (text, lossy) = decode(&bytes);
    }
    Ok(Head { text, lossy, stamp })
}

fn fill(file: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// A character cut in half at the end is not a fault.
fn decode(bytes: &[u8]) -> (String, bool) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), false),
        Err(error) if error.error_len().is_none() => {
            (String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned(), false)
        }
        Err(_) => (String::from_utf8_lossy(bytes).into_owned(), true),
    }
}

/// An entry of a directory.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) is_link: bool,
    pub(crate) is_dir: bool,
}

/// What a directory holds, by name. Hidden entries are left out.
pub(crate) fn entries(dir: &Path) -> Vec<Entry> {
    let Ok(list) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut found: Vec<Entry> = list
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok().filter(|name| !name.starts_with('.'))?;
            let kind = entry.file_type().ok()?;
            Some(Entry { name, path: entry.path(), is_link: kind.is_symlink(), is_dir: kind.is_dir() })
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// A tree of Markdown files.
#[derive(Default)]
pub(crate) struct Tree {
    /// Sorted by path, each with the folders that lead to it from the top.
    pub(crate) files: Vec<(PathBuf, Vec<String>)>,
    /// Every directory that was listed.
    pub(crate) dirs: Vec<PathBuf>,
}

/// Every `.md` file below `top`, links followed, each real directory and file once.
pub(crate) fn markdown_tree(top: &Path) -> Tree {
    let mut walk = Walk { tree: Tree::default(), seen: BTreeSet::new() };
    walk.dir(top, &mut Vec::new());
    walk.tree
}

struct Walk {
    tree: Tree,
    seen: BTreeSet<PathBuf>,
}

impl Walk {
    fn dir(&mut self, dir: &Path, folders: &mut Vec<String>) {
        let Ok(real) = std::fs::canonicalize(dir) else { return };
        if folders.len() > MAX_DEPTH || !self.seen.insert(real) {
            return;
        }
        self.tree.dirs.push(dir.to_path_buf());
        for entry in entries(dir) {
            if self.tree.files.len() >= MAX_FILES {
                return;
            }
            if entry.is_dir || (entry.is_link && entry.path.is_dir()) {
                folders.push(entry.name);
                self.dir(&entry.path, folders);
                folders.pop();
            } else if is_markdown(&entry.name) && self.is_new(&entry) {
                self.tree.files.push((entry.path, folders.clone()));
            }
        }
    }

    /// Only links can lead to the same file again.
    fn is_new(&mut self, entry: &Entry) -> bool {
        if !entry.is_link {
            return true;
        }
        std::fs::canonicalize(&entry.path).is_ok_and(|real| self.seen.insert(real))
    }
}

pub(crate) fn is_markdown(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}
