//! The folder with copies of files, `file-history/<session>/<hash>@v<N>`: one per file and distinct content. A copy that
//! a snapshot holds as well is the same file on disk.

use super::log::CheckpointLog;
use crate::backward::BackwardLines;
use crate::error::StoreError;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use sys::fs::anchored::{self, FileFacts, FileKind, OpenFolder};
use wire::entry::{CheckpointFiles, FileBackup};

/// In bytes. Larger files are not copied.
pub const MAX_COPY_BYTES: u64 = 64 << 20;
/// The copies of so many of the newest checkpoints are kept.
const KEPT_CHECKPOINTS: usize = 100;

/// The copies of one session.
#[derive(Clone, Debug)]
pub struct CopyFolder {
    folder: PathBuf,
}

/// Where the content of a version comes from.
#[derive(Clone, Copy, Debug)]
pub enum CopySource<'a> {
    /// The same content in the snapshot store, to be linked.
    Stored(&'a Path),
    Original,
}

/// A file of which versions are kept.
#[derive(Clone, Debug)]
pub struct TrackedFile {
    pub path: PathBuf,
    pub backup: FileBackup,
    /// What the file was when it was last compared with the copy.
    seen: Option<FileFacts>,
}

/// The version of a file as it is now.
#[derive(Clone, Debug)]
pub enum FoundVersion {
    /// The newest version has this content.
    Known,
    New(FileBackup),
    /// It cannot be kept, for this reason.
    Skipped(String),
}

impl CopyFolder {
    pub fn of(config_home: &Path, session_id: &str) -> Self {
        Self { folder: config_home.join("file-history").join(session_id) }
    }

    pub fn path(&self, name: &str) -> Option<PathBuf> {
        // Names come from transcripts: nothing but a name in this folder is meant.
        let is_name = !name.is_empty() && !name.contains('/') && name != "." && name != "..";
        is_name.then(|| self.folder.join(name))
    }

    /// Begins to keep versions of a file.
    pub fn track(&self, path: &Path, source: CopySource<'_>) -> Result<TrackedFile, String> {
        let mut tracked = TrackedFile { path: path.to_path_buf(), backup: FileBackup::default(), seen: None };
        match self.add_version(&mut tracked, source)? {
            FoundVersion::New(_) | FoundVersion::Known => Ok(tracked),
            FoundVersion::Skipped(why) => Err(why),
        }
    }

    /// Compares a file with its newest version and keeps a new one when it differs.
    pub fn refresh(&self, tracked: &mut TrackedFile) -> FoundVersion {
        match look(&tracked.path) {
            Ok((None, _)) if tracked.backup.version > 0 && tracked.backup.backup_file_name.is_none() => {
                return FoundVersion::Known;
            }
            Ok((Some(seen), _)) if tracked.seen == Some(seen) => return FoundVersion::Known,
            Ok((Some(seen), Some(file))) if self.is_same(tracked, seen, &file) => {
                tracked.seen = Some(seen);
                return FoundVersion::Known;
            }
            Ok(_) => {}
            Err(error) => return FoundVersion::Skipped(error.to_string()),
        }
        self.add_version(tracked, CopySource::Original).unwrap_or_else(FoundVersion::Skipped)
    }

    fn is_same(&self, tracked: &TrackedFile, seen: FileFacts, file: &File) -> bool {
        let Some(copy) = tracked.backup.backup_file_name.as_deref().and_then(|name| self.path(name)) else {
            return false;
        };
        let same = || -> io::Result<bool> {
            let mut copy = File::open(copy)?;
            if copy.metadata()?.len() != seen.size {
                return Ok(false);
            }
            let mut reader = io::BufReader::with_capacity(64 << 10, file);
            let mut other = io::BufReader::with_capacity(64 << 10, &mut copy);
            loop {
                let (one, two) = (io::BufRead::fill_buf(&mut reader)?, io::BufRead::fill_buf(&mut other)?);
                let length = one.len().min(two.len());
                if length == 0 {
                    return Ok(one.is_empty() && two.is_empty());
                }
                if one[..length] != two[..length] {
                    return Ok(false);
                }
                io::BufRead::consume(&mut reader, length);
                io::BufRead::consume(&mut other, length);
            }
        };
        same().unwrap_or(false)
    }

    fn add_version(&self, tracked: &mut TrackedFile, source: CopySource<'_>) -> Result<FoundVersion, String> {
        let (seen, file) = look(&tracked.path).map_err(|error| error.to_string())?;
        let version = tracked.backup.version + 1;
        let mut name = None;
        if let (Some(seen), Some(file)) = (seen, file) {
            if seen.size > MAX_COPY_BYTES {
                return Ok(FoundVersion::Skipped(format!("it is larger than {} MiB", MAX_COPY_BYTES >> 20)));
            }
            let copy = format!("{}@v{version}", hash16(&tracked.path));
            self.copy(&copy, &file, source).map_err(|error| error.to_string())?;
            name = Some(copy);
        }
        let real = tracked.path.parent().and_then(|dir| std::fs::canonicalize(dir).ok());
        tracked.seen = seen;
        tracked.backup = FileBackup {
            backup_file_name: name,
            version,
            backup_time: sys::clock::now_iso(),
            real_parent_dir: real.map(|dir| dir.display().to_string()),
        };
        Ok(FoundVersion::New(tracked.backup.clone()))
    }

    fn copy(&self, name: &str, file: &File, source: CopySource<'_>) -> io::Result<()> {
        crate::layout::create_private(&self.folder)?;
        let to = self.folder.join(name);
        if let CopySource::Stored(stored) = source
            && std::fs::hard_link(stored, &to).is_ok()
        {
            return Ok(());
        }
        // A killed process may have left a part under this name.
        let temp = self.folder.join(format!("new-{}", sys::id::base36(12)));
        let mut copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temp)?;
        let copied = anchored::reflink(file, &copy).or_else(|_| io::copy(&mut &*file, &mut copy).map(drop));
        copied.and_then(|()| std::fs::rename(&temp, &to)).inspect_err(|_| drop(std::fs::remove_file(&temp)))
    }

    /// Removes copies that none of the newest checkpoints names, except the first of each file.
    pub fn prune(&self, transcript: &Path) -> Result<usize, StoreError> {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return Ok(0) };
        let log = CheckpointLog::read(transcript)?;
        let named = |file: &FileBackup| file.backup_file_name.clone();
        let kept: HashSet<String> =
            log.files.iter().rev().take(KEPT_CHECKPOINTS).flat_map(|at| at.files.values().filter_map(named)).collect();
        // A copy of the turn under way may not be named yet.
        let newest: HashMap<String, u32> =
            log.files.iter().flat_map(|at| at.files.values()).filter_map(version_of).fold(
                HashMap::new(),
                |mut newest, (stem, version)| {
                    let known = newest.entry(stem).or_default();
                    *known = version.max(*known);
                    newest
                },
            );
        let mut removed = 0;
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some((stem, version)) = name.split_once("@v") else { continue };
            let is_old = version
                .parse()
                .is_ok_and(|version: u32| version > 1 && newest.get(stem).is_some_and(|new| version <= *new));
            if is_old && !kept.contains(&name) && std::fs::remove_file(entry.path()).is_ok() {
                removed += 1;
            }
        }
        Ok(removed)
    }
}

fn version_of(file: &FileBackup) -> Option<(String, u32)> {
    let (stem, version) = file.backup_file_name.as_deref()?.split_once("@v")?;
    Some((stem.to_owned(), version.parse().ok()?))
}

/// The regular file at `path`, which is not followed when it is a link.
fn look(path: &Path) -> io::Result<(Option<FileFacts>, Option<File>)> {
    let parent = path.parent().unwrap_or(path);
    let (Ok(real), Some(name)) = (std::fs::canonicalize(parent), path.file_name()) else { return Ok((None, None)) };
    let folder = OpenFolder::open(&real)?;
    match folder.stat(name)? {
        None => Ok((None, None)),
        Some(seen) if seen.kind == FileKind::File => Ok((Some(seen), Some(folder.read(name)?))),
        Some(_) => Err(io::Error::other("it is no plain file")),
    }
}

fn hash16(path: &Path) -> String {
    let hash = Sha256::digest(path.as_os_str().as_encoded_bytes());
    let number = hash[..8].iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{number:016x}")
}

/// The name of a file in a checkpoint: relative to the session's directory when it lies below it.
pub fn key_of(path: &Path, base: &Path) -> String {
    let below = path.strip_prefix(base).ok().filter(|below| !below.as_os_str().is_empty());
    below.unwrap_or(path).display().to_string()
}

/// The file that a checkpoint names.
pub fn path_of(key: &str, backup: &FileBackup, base: &Path) -> PathBuf {
    let path = normalised(&base.join(key));
    match (&backup.real_parent_dir, path.file_name()) {
        (Some(dir), Some(name)) => Path::new(dir).join(name),
        _ => path,
    }
}

/// The path without `.` and `..`.
fn normalised(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(normal.pop()),
            std::path::Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

/// The files that the newest checkpoint of a transcript names. Reads the file from its end.
pub fn latest_files(transcript: &Path, base: &Path) -> BTreeMap<String, TrackedFile> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct AnyLine {
        snapshot: Option<CheckpointFiles>,
        #[serde(default)]
        is_snapshot_update: bool,
        tracking_path: Option<String>,
        backup: Option<FileBackup>,
    }
    let mut files: BTreeMap<String, FileBackup> = BTreeMap::new();
    let Ok(file) = File::open(transcript) else { return BTreeMap::new() };
    let Ok(length) = file.metadata().map(|meta| meta.size()) else { return BTreeMap::new() };
    let mut lines = BackwardLines::new(&file, length);
    while let Ok(Some((_, line))) = lines.next_line() {
        if !line.starts_with(b"{\"type\":\"file-history-") {
            continue;
        }
        let Ok(AnyLine { snapshot, is_snapshot_update, tracking_path, backup }) = serde_json::from_slice(line) else {
            continue;
        };
        if let (Some(path), Some(backup)) = (tracking_path, backup) {
            files.entry(path).or_insert(backup);
        }
        if let Some(snapshot) = snapshot {
            for (path, backup) in snapshot.tracked_file_backups {
                files.entry(path).or_insert(backup);
            }
            if !is_snapshot_update {
                break;
            }
        }
    }
    let tracked = |(key, backup): (String, FileBackup)| {
        let path = path_of(&key, &backup, base);
        (key, TrackedFile { path, backup, seen: None })
    };
    files.into_iter().map(tracked).collect()
}
