//! What the user was told about: a file with one line per entry, the time in milliseconds and the path below the
//! configuration folder. An empty file, as earlier versions wrote it, announces nothing.

use crate::layout::StoreLayout;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const FILE: &str = ".cleanup-announced";

pub(super) fn file(layout: &StoreLayout) -> PathBuf {
    layout.home().join(FILE)
}

/// The announced entries, each with the time of its announcement.
#[derive(Debug, Default)]
pub(super) struct AnnouncedEntries {
    entries: BTreeMap<String, Duration>,
}

impl AnnouncedEntries {
    pub(super) fn read(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let entry = |line: &str| {
            let (at, name) = line.split_once(' ')?;
            Some((name.to_owned(), Duration::from_millis(at.parse().ok()?)))
        };
        Self { entries: text.lines().filter_map(entry).collect() }
    }

    pub(super) fn write(&self, file: &Path) -> io::Result<()> {
        let mut text = String::new();
        for (name, at) in &self.entries {
            writeln!(text, "{} {name}", at.as_millis()).map_err(io::Error::other)?;
        }
        sys::fs::atomic_write(file, text.as_bytes(), 0o600)
    }

    /// When the removal of `path` was announced.
    pub(super) fn since(&self, layout: &StoreLayout, path: &Path) -> Option<Duration> {
        self.entries.get(&name(layout, path)?).copied()
    }

    pub(super) fn add(&mut self, layout: &StoreLayout, path: &Path, at: Duration) {
        self.entries.extend(name(layout, path).map(|name| (name, at)));
    }
}

/// `None` for names that do not fit on a line: such an entry stays.
fn name(layout: &StoreLayout, path: &Path) -> Option<String> {
    let name = path.strip_prefix(layout.home()).ok()?.to_str()?;
    (!name.contains('\n')).then(|| name.to_owned())
}
