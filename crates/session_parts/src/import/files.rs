//! The files in a folder that may be sessions. Links are not followed.

use std::path::{Path, PathBuf};

/// How many levels below the folder are looked at.
const DEPTH: usize = 8;

/// What a folder holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundFiles {
    /// Oldest name first, so that sessions keep their order.
    pub sessions: Vec<PathBuf>,
    /// Files that are of none of the known formats.
    pub others: usize,
}

/// Looks at the beginning of each `.json` and `.jsonl` file in `folder`. Transcripts of agents belong to their session
/// and are passed over.
pub fn find(folder: &Path) -> FoundFiles {
    let mut found = FoundFiles::default();
    walk(folder, DEPTH, &mut found);
    sys::compact_sort::sort_by(&mut found.sessions, Ord::cmp);
    found
}

fn walk(folder: &Path, depth: usize, found: &mut FoundFiles) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 0 && entry.file_name() != "subagents" {
            walk(&path, depth - 1, found);
        } else if kind.is_file() && path.extension().is_some_and(|end| end == "json" || end == "jsonl") {
            match super::read(&path).ok().and_then(|text| super::recognise(&text)) {
                Some(_) => found.sessions.push(path),
                None => found.others += 1,
            }
        }
    }
}
