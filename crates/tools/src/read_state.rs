//! Which files the model has seen, how much of them, and what stood in them. Staleness is decided by content where
//! possible, not by time: touching a file does not make it stale. Paths are compared with symlinks resolved.

use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use sys::sync::{Mutex, MutexGuard};

/// The content of larger files, in bytes, is not remembered.
pub const MAX_REMEMBERED_BYTES: usize = 256 * 1024;
/// Most bytes of all remembered contents; beyond that those of the files seen longest ago are forgotten.
const MAX_ALL_REMEMBERED_BYTES: usize = 8 << 20;

/// A file changed this recently may change again without another time stamp: the clock of file systems ticks every few
/// milliseconds, that of some every two seconds.
const YOUNG: Duration = Duration::from_millis(50);
const YOUNG_IN_SECONDS: Duration = Duration::from_secs(2);

/// How much of a file was shown. Ordered from less to more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coverage {
    /// The first cells of a notebook: allows neither edit nor overwrite.
    Clipped,
    /// A range or a page: allows edits.
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

    pub fn of_stat(meta: &Metadata) -> Self {
        Self::Stat { modified: meta.modified().ok(), len: meta.len() }
    }
}

/// The metadata of a file that changes whenever its content does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    inode: u64,
    len: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    /// `None` for a file that was changed just now.
    pub fn settled(meta: &Metadata) -> Option<Self> {
        let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let age = Duration::from_millis(sys::clock::now_ms()).checked_sub(modified)?;
        let young = if meta.mtime_nsec() == 0 { YOUNG_IN_SECONDS } else { YOUNG };
        (age > young).then(|| Self {
            inode: meta.ino(),
            len: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}

/// What was on disk when a file was seen.
#[derive(Clone, Copy, Debug)]
pub struct SeenContent<'a> {
    pub fingerprint: Fingerprint,
    /// All bytes; `None` for a file that is too large to be remembered.
    pub bytes: Option<&'a [u8]>,
    /// The metadata before the file was read; `None` when it cannot tell whether the file changes afterwards.
    pub stamp: Option<FileStamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenFile {
    pub fingerprint: Fingerprint,
    pub coverage: Coverage,
}

/// The lines of a file that one read showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenLines {
    /// The first line, counted from 1.
    pub first: u64,
    pub count: u64,
    /// Lines of the file.
    pub total: u64,
    /// Parts of lines were left out.
    pub is_cut: bool,
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

/// What is known about one file.
#[derive(Debug)]
struct SeenRecord {
    /// The sequence number of its last view.
    moment: u64,
    file: SeenFile,
    /// So many lines from the first one on were shown in whole.
    lines: u64,
    /// The bytes that were on disk then.
    content: Option<Arc<[u8]>>,
    /// The metadata with which the file has this content, as far as it is known.
    stamp: Option<FileStamp>,
}

/// A file that was seen, by its real path.
#[derive(Clone, Debug)]
pub struct RecentFile {
    pub path: PathBuf,
    pub fingerprint: Fingerprint,
    /// The metadata with which the file has the content of the fingerprint, as far as it is known.
    pub stamp: Option<FileStamp>,
}

#[derive(Debug, Default)]
struct SeenFiles {
    files: HashMap<PathBuf, SeenRecord>,
    sequence: u64,
    /// Bytes of all contents.
    remembered: usize,
}

impl SeenFiles {
    /// Adds a view of `key` and returns its record.
    fn view(&mut self, key: PathBuf, seen: SeenFile, content: Option<&[u8]>) -> &mut SeenRecord {
        self.sequence += 1;
        let moment = self.sequence;
        let before = self.forget(&key).filter(|old| old.file.fingerprint == seen.fingerprint);
        let (coverage, lines) = before.as_ref().map_or((seen.coverage, 0), |old| (old.file.coverage, old.lines));
        let content = content.filter(|bytes| bytes.len() <= MAX_REMEMBERED_BYTES).map(Arc::from);
        let content = content.or_else(|| before.and_then(|old| old.content));
        self.remembered += content.as_ref().map_or(0, |bytes: &Arc<[u8]>| bytes.len());
        let file = SeenFile { coverage: coverage.max(seen.coverage), ..seen };
        self.drop_oldest_contents();
        self.files.entry(key).or_insert(SeenRecord { moment, file, lines, content, stamp: None })
    }

    fn forget(&mut self, key: &Path) -> Option<SeenRecord> {
        let record = self.files.remove(key)?;
        self.remembered -= record.content.as_ref().map_or(0, |bytes| bytes.len());
        Some(record)
    }

    fn drop_oldest_contents(&mut self) {
        while self.remembered > MAX_ALL_REMEMBERED_BYTES {
            let holders = self.files.values_mut().filter(|record| record.content.is_some());
            let Some(oldest) = holders.min_by_key(|record| record.moment) else { return };
            self.remembered -= oldest.content.take().map_or(0, |bytes| bytes.len());
        }
    }
}

impl ReadState {
    /// Records that the whole file was shown, as by Read or by `cat file`. `content` is the bytes on disk.
    pub fn record_shown(&self, path: &Path, content: &[u8]) {
        let seen = SeenFile { fingerprint: Fingerprint::of(content), coverage: Coverage::Whole };
        self.lock().view(real(path), seen, Some(content));
    }

    /// Records that part of the file was shown, as by `head file`. `content` is all bytes on disk.
    pub fn record_part_shown(&self, path: &Path, content: &[u8]) {
        let seen = SeenFile { fingerprint: Fingerprint::of(content), coverage: Coverage::Range };
        self.lock().view(real(path), seen, Some(content));
    }

    /// Records a view. A smaller view of the same content does not reduce the coverage.
    pub fn record_seen(&self, path: &Path, seen: SeenFile) {
        self.lock().view(real(path), seen, None);
    }

    /// Records that lines were shown. Ranges that follow each other, from the first line to the last, are a whole view.
    pub fn record_lines(&self, path: &Path, content: SeenContent<'_>, shown: SeenLines) {
        let key = real(path);
        let mut known = self.lock();
        let seen = SeenFile { fingerprint: content.fingerprint, coverage: Coverage::Range };
        let record = known.view(key, seen, content.bytes);
        record.stamp = content.stamp;
        if !shown.is_cut && shown.first <= record.lines + 1 {
            record.lines = record.lines.max(shown.first + shown.count - 1);
        }
        if !shown.is_cut && record.lines >= shown.total {
            record.file.coverage = Coverage::Whole;
        }
    }

    /// The most recently seen files, newest first, at most `most`.
    pub fn recent(&self, most: usize) -> Vec<PathBuf> {
        self.recent_files(most).into_iter().map(|file| file.path).collect()
    }

    /// The same with what is known of each.
    pub fn recent_files(&self, most: usize) -> Vec<RecentFile> {
        let known = self.lock();
        let mut files: Vec<_> = known.files.iter().collect();
        sys::compact_sort::sort_by_key(&mut files, |(_, record)| std::cmp::Reverse(record.moment));
        let recent = |(path, record): (&PathBuf, &SeenRecord)| RecentFile {
            path: path.clone(),
            fingerprint: record.file.fingerprint,
            stamp: record.stamp,
        };
        files.into_iter().take(most).map(recent).collect()
    }

    /// Forgets all other files, because the conversation no longer contains them.
    pub fn forget_all_but(&self, kept: &[PathBuf]) {
        let mut known = self.lock();
        known.files.retain(|path, _| kept.contains(path));
        known.remembered = known.files.values().filter_map(|record| record.content.as_ref()).map(|c| c.len()).sum();
    }

    /// The number of views so far.
    pub fn moment(&self) -> u64 {
        self.lock().sequence
    }

    /// Forgets files that were seen after `moment`: the conversation no longer contains it.
    pub fn forget_since(&self, moment: u64) {
        let mut known = self.lock();
        known.files.retain(|_, record| record.moment <= moment);
        known.remembered = known.files.values().filter_map(|record| record.content.as_ref()).map(|c| c.len()).sum();
    }

    /// Moves all records of `before` here.
    pub(crate) fn take_over(&self, before: &Self) {
        let known = std::mem::take(&mut *before.lock());
        *self.lock() = known;
    }

    pub fn get(&self, path: &Path) -> Option<SeenFile> {
        self.lock().files.get(&real(path)).map(|record| record.file)
    }

    /// The bytes that were on disk when the model last saw the file; `None` when they are not remembered.
    pub fn content(&self, path: &Path) -> Option<Arc<[u8]>> {
        self.lock().files.get(&real(path))?.content.clone()
    }

    /// Compares the record with the current bytes and metadata.
    pub fn freshness(&self, path: &Path, content: &[u8], meta: &Metadata) -> FileFreshness {
        let Some(seen) = self.get(path) else { return FileFreshness::Unseen };
        let now = match seen.fingerprint {
            Fingerprint::Hash(_) => Fingerprint::of(content),
            Fingerprint::Stat { .. } => Fingerprint::of_stat(meta),
        };
        if now == seen.fingerprint { FileFreshness::Current(seen.coverage) } else { FileFreshness::Stale }
    }

    /// Records that the model knows how the content differs from what it saw, because it made the change itself or was
    /// told: its coverage stays.
    pub fn record_rewrite(&self, path: &Path, content: &[u8]) {
        let mut known = self.lock();
        let key = real(path);
        let Some(before) = known.forget(&key) else { return };
        let file = SeenFile { fingerprint: Fingerprint::of(content), coverage: before.file.coverage };
        // It is no further view.
        known.view(key, file, Some(content)).moment = before.moment;
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

    #[test]
    fn ranges_without_a_gap_are_a_whole_view() {
        // [MX-10]
        let reads = ReadState::default();
        let path = Path::new("/nonexistent/file");
        let show = |content: &str, first, count, is_cut| {
            let lines = SeenLines { first, count, total: 30, is_cut };
            let fingerprint = Fingerprint::of(content.as_bytes());
            reads.record_lines(path, SeenContent { fingerprint, bytes: None, stamp: None }, lines);
            reads.get(path).unwrap().coverage
        };
        assert_eq!(show("a", 1, 10, false), Coverage::Range);
        assert_eq!(show("a", 21, 10, false), Coverage::Range);
        assert_eq!(show("a", 11, 10, false), Coverage::Range, "the range after the gap is not remembered");
        assert_eq!(show("a", 20, 11, false), Coverage::Whole);
        assert_eq!(show("b", 1, 30, true), Coverage::Range);
        assert_eq!(show("b", 11, 20, false), Coverage::Range);
        assert_eq!(show("b", 1, 30, false), Coverage::Whole);
    }

    #[test]
    fn contents_are_remembered_within_bounds() {
        // [MX-7]
        let reads = ReadState::default();
        let path = |n: usize| PathBuf::from(format!("/nonexistent/file{n}"));
        let content = vec![b'x'; MAX_REMEMBERED_BYTES];
        let most = MAX_ALL_REMEMBERED_BYTES / MAX_REMEMBERED_BYTES;
        for n in 0..=most {
            reads.record_shown(&path(n), &content);
        }
        assert!(reads.content(&path(0)).is_none() && reads.get(&path(0)).is_some());
        assert!((1..=most).all(|n| reads.content(&path(n)).is_some()));
        reads.record_rewrite(&path(1), b"short");
        assert_eq!(reads.content(&path(1)).unwrap().as_ref(), b"short");
        reads.record_shown(&path(2), &[content.as_slice(), b"x"].concat());
        assert!(reads.content(&path(2)).is_none(), "too large");
        reads.forget_all_but(&[path(3)]);
        assert_eq!(reads.lock().remembered, MAX_REMEMBERED_BYTES);
    }
}
