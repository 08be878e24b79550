//! The content of files as the model saw them, kept so that changes by others can be shown as a difference. Whether a
//! file was changed is decided by its metadata first, so that a look at many files costs little.

use crate::read_state::Fingerprint;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// Longest file whose content is kept, and most bytes of all kept contents.
const MAX_COPY_BYTES: usize = 256 << 10;
pub(crate) const MAX_KEPT_BYTES: usize = 4 << 20;
/// Longest file that is read to find out whether it changed.
const MAX_COMPARED_BYTES: usize = 1 << 20;
/// A file changed this recently may change again without another time stamp.
const YOUNG: Duration = Duration::from_secs(1);

/// What is known of the content that was seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownContent {
    /// The metadata with which the file had this content; `None` when only its bytes can tell.
    pub(crate) stat: Option<FileStat>,
    pub(crate) copy: Option<Arc<[u8]>>,
    /// A change that the model was told of without seeing it.
    pub(crate) told: Option<Fingerprint>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStat {
    inode: u64,
    len: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A file that others changed since it was seen.
#[derive(Clone, Debug)]
pub struct ChangedFile {
    pub path: PathBuf,
    /// The content as it was seen, when it is known.
    pub before: Option<Arc<[u8]>>,
    pub now: FileNow,
}

/// The file as it is now.
#[derive(Clone, Debug)]
pub enum FileNow {
    Gone,
    Content(Vec<u8>),
    /// Too large to compare.
    Large(Fingerprint),
}

impl FileNow {
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        match self {
            Self::Gone => Fingerprint::Stat { modified: None, len: 0 },
            Self::Content(bytes) => Fingerprint::of(bytes),
            Self::Large(fingerprint) => *fingerprint,
        }
    }
}

pub(crate) enum ContentCheck {
    /// As it was seen, or as it was told; with the metadata to compare next time.
    Same(Option<FileStat>),
    Changed(FileNow),
}

impl FileStat {
    /// `None` for a file that was changed just now.
    fn settled(meta: &std::fs::Metadata) -> Option<Self> {
        let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let age = Duration::from_millis(sys::clock::now_ms()).checked_sub(modified)?;
        (age > YOUNG).then(|| Self {
            inode: meta.ino(),
            len: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}

impl KnownContent {
    /// What was just read from, or written to, the file.
    pub(crate) fn of(path: &Path, content: &[u8]) -> Self {
        let meta = std::fs::metadata(path).ok().filter(|meta| meta.len() == content.len() as u64);
        Self {
            stat: meta.as_ref().and_then(FileStat::settled),
            copy: (content.len() <= MAX_COPY_BYTES).then(|| content.into()),
            told: None,
        }
    }

    /// Reads the file again to keep its content, if it is still the one that was seen.
    pub(crate) fn read(path: &Path, seen: Fingerprint) -> Self {
        match (seen, sys::fs::read_whole(path, MAX_COPY_BYTES)) {
            (Fingerprint::Hash(_), Ok(content)) if Fingerprint::of(&content) == seen => Self::of(path, &content),
            _ => Self::default(),
        }
    }

    pub(crate) fn kept_bytes(&self) -> usize {
        self.copy.as_ref().map_or(0, |copy| copy.len())
    }

    pub(crate) fn drop_copy(&mut self) {
        self.copy = None;
    }

    /// Compares what was seen with the file as it is now.
    pub(crate) fn compare(&self, path: &Path, seen: Fingerprint) -> ContentCheck {
        let judge = |now: FileNow, stat| {
            let fingerprint = now.fingerprint();
            let is_known = fingerprint == seen || self.told == Some(fingerprint);
            if is_known { ContentCheck::Same(stat) } else { ContentCheck::Changed(now) }
        };
        let meta = match std::fs::metadata(path) {
            Ok(meta) if meta.is_file() => meta,
            Ok(_) => return ContentCheck::Same(None),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return judge(FileNow::Gone, None),
            Err(_) => return ContentCheck::Same(None),
        };
        let stat = FileStat::settled(&meta);
        if stat.is_some() && stat == self.stat {
            return ContentCheck::Same(stat);
        }
        match seen {
            Fingerprint::Stat { .. } => judge(FileNow::Large(Fingerprint::of_stat(&meta)), stat),
            Fingerprint::Hash(_) => match sys::fs::read_whole(path, MAX_COMPARED_BYTES) {
                Ok(content) => judge(FileNow::Content(content), stat),
                Err(_) => ContentCheck::Same(stat),
            },
        }
    }
}
