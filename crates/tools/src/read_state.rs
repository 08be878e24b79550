//! Which files the model has seen, and how much of them. Staleness is decided by content where possible, not by
//! time: touching a file does not make it stale. Paths are compared with symlinks resolved.

pub use crate::seen_content::{ChangedFile, FileNow};
use crate::seen_content::{ContentCheck, KnownContent, MAX_KEPT_BYTES};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use sys::sync::{Mutex, MutexGuard};

/// How much of a file was shown. Ordered from less to more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coverage {
    /// Cut by the token cap: allows neither edit nor overwrite.
    Clipped,
    /// A requested range: allows edits.
    Range,
    /// The whole file: allows overwriting.
    Whole,
}

/// Identifies the content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fingerprint {
    Hash([u8; 32]),
    /// Replaces the hash for a file that is too large to hash while a few lines are read.
    Stat {
        modified: Option<SystemTime>,
        len: u64,
    },
}

impl Fingerprint {
    pub fn of(content: &[u8]) -> Self {
        Self::Hash(Sha256::digest(content).into())
    }

    pub fn of_stat(meta: &std::fs::Metadata) -> Self {
        Self::Stat { modified: meta.modified().ok(), len: meta.len() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenFile {
    pub fingerprint: Fingerprint,
    pub coverage: Coverage,
}

/// Compares what was seen with the current file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFreshness {
    Unseen,
    /// Seen, and unchanged since.
    Current(Coverage),
    /// Seen, but the content has changed.
    Stale,
}

#[derive(Debug, Default)]
pub struct ReadState {
    seen: Mutex<SeenFiles>,
}

/// The files that were seen.
#[derive(Debug, Default)]
struct SeenFiles {
    files: HashMap<PathBuf, SeenEntry>,
    sequence: u64,
}

#[derive(Debug)]
struct SeenEntry {
    /// The sequence number of the last view.
    moment: u64,
    seen: SeenFile,
    content: KnownContent,
}

impl SeenFiles {
    /// Keeps the content of a view for later comparison, and drops the oldest when all together are too large.
    fn keep(&mut self, path: &Path, content: KnownContent) {
        let Some(entry) = self.files.get_mut(path) else { return };
        entry.content = content;
        let mut kept: usize = self.files.values().map(|entry| entry.content.kept_bytes()).sum();
        while kept > MAX_KEPT_BYTES {
            let oldest = self.files.values_mut().filter(|entry| entry.content.kept_bytes() > 0);
            let Some(entry) = oldest.min_by_key(|entry| entry.moment) else { return };
            kept -= entry.content.kept_bytes();
            entry.content.drop_copy();
        }
    }
}

impl ReadState {
    /// Records that the whole file was shown, as by Read or by `cat file`. `content` is the bytes on disk.
    pub fn record_shown(&self, path: &Path, content: &[u8]) {
        self.record_content(path, content, Coverage::Whole);
    }

    /// Records that part of the file was shown, as by `head file`. `content` is all bytes on disk.
    pub fn record_part_shown(&self, path: &Path, content: &[u8]) {
        self.record_content(path, content, Coverage::Range);
    }

    fn record_content(&self, path: &Path, content: &[u8], coverage: Coverage) {
        let key = real(path);
        let known = KnownContent::of(&key, content);
        self.put(key, SeenFile { fingerprint: Fingerprint::of(content), coverage }, known);
    }

    /// Records a view. A smaller view of the same content does not reduce the coverage.
    pub fn record_seen(&self, path: &Path, seen: SeenFile) {
        let key = real(path);
        let known = KnownContent::read(&key, seen.fingerprint);
        self.put(key, seen, known);
    }

    fn put(&self, key: PathBuf, seen: SeenFile, content: KnownContent) {
        let mut known = self.lock();
        known.sequence += 1;
        let moment = known.sequence;
        let coverage = match known.files.get(&key) {
            Some(old) if old.seen.fingerprint == seen.fingerprint => old.seen.coverage.max(seen.coverage),
            _ => seen.coverage,
        };
        let entry = SeenEntry { moment, seen: SeenFile { coverage, ..seen }, content: KnownContent::default() };
        known.files.insert(key.clone(), entry);
        known.keep(&key, content);
    }

    /// The most recently seen files, newest first, at most `most`.
    pub fn recent(&self, most: usize) -> Vec<PathBuf> {
        let known = self.lock();
        let mut files: Vec<_> = known.files.iter().map(|(path, entry)| (entry.moment, path)).collect();
        files.sort_unstable_by(|a, b| b.cmp(a));
        files.into_iter().take(most).map(|(_, path)| path.clone()).collect()
    }

    /// Forgets all other files, because the conversation no longer contains them.
    pub fn forget_all_but(&self, kept: &[PathBuf]) {
        self.lock().files.retain(|path, _| kept.contains(path));
    }

    /// Moves all records of `before` here.
    pub(crate) fn take_over(&self, before: &Self) {
        let known = std::mem::take(&mut *before.lock());
        *self.lock() = known;
    }

    pub fn get(&self, path: &Path) -> Option<SeenFile> {
        self.lock().files.get(&real(path)).map(|entry| entry.seen)
    }

    /// The seen files that were changed since, oldest view first. Reads from the disk; blocking. Each change is
    /// returned until `mark_told` is called for it.
    pub fn changed(&self, may_read: impl Fn(&Path) -> bool) -> Vec<ChangedFile> {
        let mut known: Vec<(u64, PathBuf, SeenFile, KnownContent)> = self
            .lock()
            .files
            .iter()
            .map(|(path, entry)| (entry.moment, path.clone(), entry.seen, entry.content.clone()))
            .collect();
        known.sort_unstable_by_key(|(moment, ..)| *moment);
        let mut changed = Vec::new();
        for (_, path, seen, content) in known {
            match content.compare(&path, seen.fingerprint) {
                ContentCheck::Same(stat) => {
                    if let Some(entry) = self.lock().files.get_mut(&path) {
                        entry.content.stat = stat;
                    }
                }
                ContentCheck::Changed(now) if may_read(&path) => {
                    changed.push(ChangedFile { path, before: content.copy, now });
                }
                ContentCheck::Changed(_) => {}
            }
        }
        changed
    }

    /// Records that the model was told about a change: with the difference the file counts as seen as it is now,
    /// otherwise as changed until it is read again.
    pub fn mark_told(&self, changed: &ChangedFile, shown: bool) {
        let mut known = self.lock();
        let Some(entry) = known.files.get_mut(&changed.path) else { return };
        match &changed.now {
            FileNow::Content(bytes) if shown => {
                entry.seen.fingerprint = Fingerprint::of(bytes);
                let content = KnownContent::of(&changed.path, bytes);
                known.keep(&changed.path, content);
            }
            now => entry.content.told = Some(now.fingerprint()),
        }
    }

    /// Compares the record with the current bytes and metadata.
    pub fn freshness(&self, path: &Path, content: &[u8], meta: &std::fs::Metadata) -> FileFreshness {
        let Some(seen) = self.get(path) else { return FileFreshness::Unseen };
        let now = match seen.fingerprint {
            Fingerprint::Hash(_) => Fingerprint::of(content),
            Fingerprint::Stat { .. } => Fingerprint::of_stat(meta),
        };
        if now == seen.fingerprint { FileFreshness::Current(seen.coverage) } else { FileFreshness::Stale }
    }

    /// Records that gimlet changed the file: its coverage stays.
    pub fn record_rewrite(&self, path: &Path, content: &[u8]) {
        let key = real(path);
        let mut known = self.lock();
        let Some(entry) = known.files.get_mut(&key) else { return };
        entry.seen.fingerprint = Fingerprint::of(content);
        let content = KnownContent::of(&key, content);
        known.keep(&key, content);
    }

    /// Records that gimlet changed a file that others had changed before: it stays to be read again, and this change
    /// is not told.
    pub fn record_own_change(&self, path: &Path, content: &[u8]) {
        if let Some(entry) = self.lock().files.get_mut(&real(path)) {
            entry.content.told = Some(Fingerprint::of(content));
        }
    }

    fn lock(&self) -> MutexGuard<'_, SeenFiles> {
        self.seen.lock()
    }
}

/// One path per file: links resolved where the file exists, else in its directory.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent().and_then(|dir| dir.canonicalize().ok()), path.file_name()) {
        (Some(dir), Some(name)) => dir.join(name),
        _ => path.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_touching_do_not_matter() {
        // [TST-36]
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        std::fs::write(&file, "one").unwrap();
        std::os::unix::fs::symlink(&file, dir.path().join("link")).unwrap();
        let reads = ReadState::default();
        reads.record_shown(&dir.path().join("link"), b"one");
        std::fs::File::open(&file).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let meta = std::fs::metadata(&file).unwrap();
        assert_eq!(reads.freshness(&file, b"one", &meta), FileFreshness::Current(Coverage::Whole));
        assert_eq!(reads.freshness(&file, b"two", &meta), FileFreshness::Stale);
    }

    #[test]
    fn a_smaller_view_of_the_same_content_takes_nothing_away() {
        let reads = ReadState::default();
        let path = Path::new("/nonexistent/file");
        reads.record_shown(path, b"x");
        reads.record_part_shown(path, b"x");
        assert_eq!(reads.get(path).unwrap().coverage, Coverage::Whole);
        reads.record_part_shown(path, b"y");
        assert_eq!(reads.get(path).unwrap().coverage, Coverage::Range);
    }
}
