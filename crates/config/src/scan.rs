//! Lists directories of definitions and reads the start of their files: a few kilobytes each, several at a time. Links
//! are followed, but no file is read twice; a device or a very large file cannot block us.

use crate::frontmatter::{self, FrontMatter, MAX_HEAD};
use crate::stamp::PathStamp;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use sys::fs::BaseDirectory;

/// In bytes: enough for the block and the first paragraph of nearly every file.
const FIRST_READ: usize = 4 * 1024;
/// With fewer files a second thread costs more than it saves: the rest of the start needs the cores too.
const WORTH_A_THREAD: usize = 256;
/// How many files a thread takes at a time, so that fast threads do more.
const SHARE: usize = 16;
const THREADS: usize = 4;
/// How deep command and agent folders are searched.
const MAX_DEPTH: usize = 8;
/// The largest number of files in a tree.
const MAX_FILES: usize = 20_000;

/// The parsed start of a file. The text itself is not kept: there may be thousands of files.
#[derive(Debug)]
pub(crate) struct ScannedHead {
    pub(crate) read: FrontMatter,
    /// The first paragraph of the body, when the block has no description.
    pub(crate) opening: Option<String>,
    pub(crate) stamp: PathStamp,
}

/// `None` for a missing file; an error with the reason for one that cannot be read.
pub(crate) type ScanResult = Option<Result<ScannedHead, String>>;

/// Reads the start of every file and passes it to `make`; results are in order. Uses several cores when that is faster.
pub(crate) fn map_heads<F: AsRef<Path> + Sync, T: Send>(
    files: &[F],
    make: impl Fn(&F, ScanResult) -> T + Sync,
) -> Vec<T> {
    let mut threads = 1;
    if files.len() >= WORTH_A_THREAD {
        threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    }
    let next = AtomicUsize::new(0);
    // Processes shares of files and returns them with their numbers, while fewer than `limit` shares are taken.
    let work = |limit: usize| {
        let (mut buffer, mut near) = (Vec::with_capacity(FIRST_READ), SharedDirectory::default());
        let mut shares: Vec<(usize, Vec<T>)> = Vec::new();
        loop {
            if next.load(Ordering::Relaxed) >= limit {
                return shares;
            }
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(share) = files.chunks(SHARE).nth(number) else { return shares };
            let read = |file| make(file, parse(file.as_ref(), &mut near, &mut buffer));
            shares.push((number, share.iter().map(read).collect()));
        }
    };
    let mut shares = std::thread::scope(|scope| {
        // The caller is still busy for a moment. A thread started at once would wait for a core, and the kernel would
        // not move it when another core becomes idle.
        let mut shares = work(files.len() / SHARE / 4);
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| work(usize::MAX))).collect();
        shares.extend(work(usize::MAX));
        for thread in others {
            shares.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        shares
    });
    sys::compact_sort::sort_by_key(&mut shares, |(number, _)| *number);
    shares.into_iter().flat_map(|(_, made)| made).collect()
}

/// Reads the start of every file.
pub(crate) fn read_heads(files: &[PathBuf]) -> Vec<ScanResult> {
    map_heads(files, |_, head| head)
}

/// The common directory of the listed files, two levels up: `skills` for `skills/name/SKILL.md`.
#[derive(Default)]
struct SharedDirectory(Option<(PathBuf, BaseDirectory)>);

impl SharedDirectory {
    fn open(&mut self, path: &Path) -> std::io::Result<File> {
        if let Some((known, folder)) = &self.0
            && let Some(rest) = below(path, known)
        {
            return folder.file(rest);
        }
        let top = path.parent().and_then(Path::parent).unwrap_or(path);
        let folder = BaseDirectory::open(top)?;
        let file = folder.file(path.strip_prefix(top).unwrap_or(path));
        self.0 = Some((top.to_path_buf(), folder));
        file
    }
}

/// The part of a path after `folder/`, compared byte by byte: this runs once for every file.
fn below<'a>(path: &'a Path, folder: &Path) -> Option<&'a Path> {
    let rest = path.as_os_str().as_bytes().strip_prefix(folder.as_os_str().as_bytes())?.strip_prefix(b"/")?;
    Some(Path::new(OsStr::from_bytes(rest)))
}

fn parse(path: &Path, near: &mut SharedDirectory, buffer: &mut Vec<u8>) -> ScanResult {
    let (text, lossy, stamp) = match missing_as_none(near.open(path))? {
        Ok(file) => match read_into(file, buffer) {
            Ok(stamp) => {
                let (text, lossy) = decode(buffer);
                (text, lossy, stamp)
            }
            Err(why) => return Some(Err(why)),
        },
        Err(why) => return Some(Err(why)),
    };
    let mut read = frontmatter::read(&text);
    if lossy {
        read.defects.push(frontmatter::FrontMatterDefect { line: 1, message: "the file is not all UTF-8".into() });
    }
    let opening = if read.is_text("description") { None } else { frontmatter::first_paragraph(&text[read.body_at..]) };
    Some(Ok(ScannedHead { read, opening, stamp }))
}

/// The text at the start of one file; `None` when the file is missing.
pub(crate) fn head(path: &Path) -> Option<Result<String, String>> {
    let mut buffer = Vec::new();
    let opened = SharedDirectory::default().open(path);
    let read = missing_as_none(opened)?.and_then(|file| read_into(file, &mut buffer));
    Some(read.map(|_| decode(&buffer).0.into_owned()))
}

/// Returns `None` when the file does not exist.
fn missing_as_none(opened: std::io::Result<File>) -> Option<Result<File, String>> {
    match opened {
        Ok(file) => Some(Ok(file)),
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => None,
        Err(error) => Some(Err(format!("cannot be read: {error}"))),
    }
}

/// Reads the beginning of the file into `buffer`: the whole block and more.
fn read_into(mut file: File, buffer: &mut Vec<u8>) -> Result<PathStamp, String> {
    let failed = |error: std::io::Error| format!("cannot be read: {error}");
    let meta = file.metadata().map_err(failed)?;
    if !meta.is_file() {
        return Err("is not a regular file".into());
    }
    // The size is known, so one read is enough.
    buffer.clear();
    buffer.resize(FIRST_READ.min(meta.len() as usize), 0);
    let length = fill(&mut file, buffer).map_err(failed)?;
    buffer.truncate(length);
    if buffer.len() == FIRST_READ && !frontmatter::is_whole(&decode(buffer).0) {
        file.take(MAX_HEAD as u64).read_to_end(buffer).map_err(failed)?;
    }
    Ok(PathStamp::of(&meta))
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

/// Decodes UTF-8; the flag is true when bytes are invalid. A character cut off at the end is allowed.
fn decode(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), false),
        Err(error) if error.error_len().is_none() => (String::from_utf8_lossy(&bytes[..error.valid_up_to()]), false),
        Err(_) => (String::from_utf8_lossy(bytes), true),
    }
}

/// An entry of a directory.
pub(crate) struct DirectoryEntry {
    pub(crate) name: String,
    pub(crate) is_link: bool,
    pub(crate) is_dir: bool,
}

/// The entries of a directory, sorted by name, without hidden ones.
pub(crate) fn entries(dir: &Path) -> Vec<DirectoryEntry> {
    let Ok(list) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut found: Vec<DirectoryEntry> = list
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok().filter(|name| !name.starts_with('.'))?;
            let kind = entry.file_type().ok()?;
            Some(DirectoryEntry { name, is_link: kind.is_symlink(), is_dir: kind.is_dir() })
        })
        .collect();
    sys::compact_sort::sort_by(&mut found, |a, b| a.name.cmp(&b.name));
    found
}

/// A tree of Markdown files.
#[derive(Default)]
pub(crate) struct MarkdownTree {
    /// Sorted by path, each with the names of its folders below the top.
    pub(crate) files: Vec<(PathBuf, Vec<String>)>,
    /// Every directory that was listed.
    pub(crate) dirs: Vec<PathBuf>,
}

/// Every `.md` file below `top`; links are followed, each real directory and file is listed once.
pub(crate) fn markdown_tree(top: &Path) -> MarkdownTree {
    let mut walk = MarkdownWalk { tree: MarkdownTree::default(), seen: BTreeSet::new() };
    walk.dir(top, &mut Vec::new());
    walk.tree
}

struct MarkdownWalk {
    tree: MarkdownTree,
    seen: BTreeSet<PathBuf>,
}

impl MarkdownWalk {
    fn dir(&mut self, dir: &Path, folders: &mut Vec<String>) {
        if !dir.is_dir() || folders.len() > MAX_DEPTH {
            return;
        }
        let Ok(real) = std::fs::canonicalize(dir) else { return };
        if !self.seen.insert(real) {
            return;
        }
        self.tree.dirs.push(dir.to_path_buf());
        for entry in entries(dir) {
            if self.tree.files.len() >= MAX_FILES {
                return;
            }
            let path = dir.join(&entry.name);
            if entry.is_dir || (entry.is_link && path.is_dir()) {
                folders.push(entry.name);
                self.dir(&path, folders);
                folders.pop();
            } else if is_markdown(&entry.name) && self.is_new(&entry, &path) {
                self.tree.files.push((path, folders.clone()));
            }
        }
    }

    /// Only a link can lead to the same file again.
    fn is_new(&mut self, entry: &DirectoryEntry, path: &Path) -> bool {
        if !entry.is_link {
            return true;
        }
        std::fs::canonicalize(path).is_ok_and(|real| self.seen.insert(real))
    }
}

pub(crate) fn is_markdown(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}
