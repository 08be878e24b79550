//! User files that apply as soon as they change: key bindings and the theme. They are checked when a key is pressed, at
//! most once per second, so that nothing runs while the user is away.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Larger files are not read.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReloadKind {
    Bindings,
    Theme,
}

/// Modification time and size when the file was last read; `None` when it did not exist.
type ReloadStamp = Option<(SystemTime, u64)>;

#[derive(Debug)]
struct WatchedFile {
    kind: ReloadKind,
    path: PathBuf,
    stamp: ReloadStamp,
}

#[derive(Debug, Default)]
pub struct FileReloader {
    files: Vec<WatchedFile>,
    checked_at: Option<Instant>,
}

impl FileReloader {
    /// Watches files whose current content is already known.
    pub fn new(files: impl IntoIterator<Item = (ReloadKind, PathBuf)>) -> Self {
        let watched = |(what, path): (ReloadKind, PathBuf)| WatchedFile { kind: what, stamp: stamp(&path), path };
        Self { files: files.into_iter().map(watched).collect(), checked_at: None }
    }

    /// The files that changed since the last check, with their text, which is empty when the file cannot be read.
    pub fn changed(&mut self, now: Instant) -> Vec<(ReloadKind, String)> {
        if self.checked_at.is_some_and(|at| now.saturating_duration_since(at) < CHECK_INTERVAL) {
            return Vec::new();
        }
        self.checked_at = Some(now);
        let mut changed = Vec::new();
        for file in &mut self.files {
            let stamp = stamp(&file.path);
            if stamp == file.stamp || stamp.is_some_and(|(_, size)| size > MAX_FILE_BYTES) {
                continue;
            }
            file.stamp = stamp;
            changed.push((file.kind, std::fs::read_to_string(&file.path).unwrap_or_default()));
        }
        changed
    }
}

fn stamp(path: &std::path::Path) -> ReloadStamp {
    let facts = std::fs::metadata(path).ok()?;
    Some((facts.modified().ok()?, facts.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_once_and_not_looked_for_all_the_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keybindings.json");
        let mut reload = FileReloader::new([(ReloadKind::Bindings, path.clone())]);
        let now = Instant::now();
        std::fs::write(&path, "{}").unwrap();
        assert_eq!(reload.changed(now), [(ReloadKind::Bindings, "{}".to_owned())]);
        std::fs::write(&path, "{ }").unwrap();
        assert!(reload.changed(now).is_empty());
        assert_eq!(reload.changed(now + CHECK_INTERVAL).len(), 1);
        assert!(reload.changed(now + CHECK_INTERVAL * 2).is_empty());
        std::fs::remove_file(&path).unwrap();
        assert_eq!(reload.changed(now + CHECK_INTERVAL * 3), [(ReloadKind::Bindings, String::new())]);
    }
}
