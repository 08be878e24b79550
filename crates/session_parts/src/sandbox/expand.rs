//! Expands wildcards to the paths they match now. One walk for all patterns below a directory; a tree that is too
//! large to search is reported.

use globset::{GlobBuilder, GlobMatcher};
use std::path::{Path, PathBuf};

const MAX_ENTRIES: usize = 50_000;
const MAX_FOUND: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct GlobMatches {
    pub(super) paths: Vec<PathBuf>,
    /// The whole tree was searched.
    pub(super) complete: bool,
}

/// The paths below `base` that match one of `globs` (relative to it) or `named`. Does not descend into matches.
pub(super) fn find_below(base: &Path, globs: &[GlobMatcher], named: &dyn Fn(&Path) -> bool) -> GlobMatches {
    let mut found = GlobMatches { complete: true, ..GlobMatches::default() };
    let mut open = vec![base.to_path_buf()];
    let mut seen = 0;
    while let Some(dir) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for entry in entries.filter_map(Result::ok) {
            seen += 1;
            if seen > MAX_ENTRIES || found.paths.len() >= MAX_FOUND {
                found.complete = false;
                return found;
            }
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            let relative = path.strip_prefix(base).unwrap_or(&path);
            if globs.iter().any(|glob| glob.is_match(relative)) || named(&path) {
                found.paths.push(path);
            } else if kind.is_dir() && !is_object_store(&path) {
                open.push(path);
            }
        }
    }
    found
}

/// Git's object store: its files have no meaningful names.
fn is_object_store(path: &Path) -> bool {
    path.ends_with(".git/objects")
}

pub(super) fn compile(pattern: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
    glob.ok().map(|glob| glob.compile_matcher())
}
