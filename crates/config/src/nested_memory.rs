//! Loads what reading a file makes relevant: instruction files and skills of its directories, and rules whose patterns
//! it matches. Each is loaded once, until `forget`. Vendored and ignored folders are not read.

use crate::memory::collect::{MemoryCandidate, MemoryCollector, WaitingRule};
use crate::memory::{LoadReason, MemoryFile, MemorySources, directory};
use crate::skills;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Folders that contain code of others.
const VENDORED: [&str; 9] = [
    "node_modules",
    "bower_components",
    "jspm_packages",
    "vendor",
    "site-packages",
    ".venv",
    "venv",
    "__pycache__",
    ".git",
];

/// Instructions that a session may load later.
#[derive(Clone, Debug, Default)]
pub struct LazyMemory {
    cwd: PathBuf,
    wanted: MemorySources,
    collector: MemoryCollector,
    /// Directories below the start directory that were already searched.
    visited: BTreeSet<PathBuf>,
    /// The files that were loaded at the start.
    at_start: BTreeSet<PathBuf>,
    waiting_at_start: Vec<WaitingRule>,
}

/// What reading a file made relevant.
#[derive(Debug, Default)]
pub struct NestedFindings {
    pub files: Vec<MemoryFile>,
    /// Directories that declare skills or commands.
    pub skill_dirs: Vec<PathBuf>,
}

impl LazyMemory {
    pub(crate) fn new(cwd: &Path, wanted: MemorySources) -> Self {
        Self { cwd: cwd.to_path_buf(), wanted, ..Self::default() }
    }

    pub(crate) fn adopt(&mut self, collector: MemoryCollector) {
        self.at_start.clone_from(collector.seen());
        self.waiting_at_start.clone_from(&collector.waiting);
        self.collector = collector;
    }

    /// The rules that still wait, with their patterns.
    pub fn waiting(&self) -> impl Iterator<Item = (&Path, &[String])> {
        self.collector.waiting.iter().map(|rule| (rule.path.as_path(), rule.patterns.texts()))
    }

    /// Called when a file was read or changed: returns what that makes relevant.
    pub fn file_touched(&mut self, file: &Path) -> NestedFindings {
        let real = sys::real_path::path(file);
        let mut brought = NestedFindings::default();
        self.collector.trigger = Some(file.to_path_buf());
        for dir in self.new_directories(&real) {
            if skills::declares(&dir) {
                brought.skill_dirs.push(dir.clone());
            }
            directory(&mut self.collector, &dir, self.wanted);
        }
        self.matching_rules(file, &real);
        self.collector.trigger = None;
        brought.files = std::mem::take(&mut self.collector.files);
        brought
    }

    /// Starts over: after a compaction the conversation no longer contains these files.
    pub fn forget(&mut self) {
        self.visited.clear();
        self.collector.forget(self.at_start.clone());
        self.collector.waiting.clone_from(&self.waiting_at_start);
    }

    /// The directories between the start directory and the file that were not searched yet, outermost first.
    fn new_directories(&mut self, real: &Path) -> Vec<PathBuf> {
        let start = &self.cwd;
        let Some(parent) = real.parent() else { return Vec::new() };
        let below = parent.ancestors().take_while(|dir| *dir != start && dir.starts_with(start));
        let mut dirs: Vec<PathBuf> = below.filter(|dir| !self.visited.contains(*dir)).map(Path::to_path_buf).collect();
        dirs.reverse();
        self.visited.extend(dirs.iter().cloned());
        let interesting = |dir: &PathBuf| has_instructions(dir);
        dirs.retain(interesting);
        dirs.retain(|dir| !is_foreign(dir, start));
        dirs
    }

    fn matching_rules(&mut self, file: &Path, real: &Path) {
        let (due, waiting) = std::mem::take(&mut self.collector.waiting)
            .into_iter()
            .partition(|rule| rule.patterns.match_file(file, real));
        self.collector.waiting = waiting;
        for WaitingRule { path, scope, patterns } in due {
            let found = MemoryCandidate {
                reason: LoadReason::PathGlobMatch,
                trigger: Some(file.to_path_buf()),
                rule_base: Some(patterns.base().to_path_buf()),
                ..MemoryCandidate::at(path, scope)
            };
            self.collector.add(found);
        }
    }
}

/// True when a directory may contain instructions.
fn has_instructions(dir: &Path) -> bool {
    ["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude"].iter().any(|name| dir.join(name).exists())
}

/// True for vendored folders and folders that git ignores.
fn is_foreign(dir: &Path, start: &Path) -> bool {
    let Ok(below) = dir.strip_prefix(start) else { return true };
    let vendored = |part: std::path::Component<'_>| VENDORED.iter().any(|name| part.as_os_str() == *name);
    below.components().any(vendored) || is_ignored(dir, start)
}

fn is_ignored(dir: &Path, start: &Path) -> bool {
    let root = sys::git::root(start).unwrap_or_else(|| start.to_path_buf());
    let mut folders: Vec<&Path> = dir.ancestors().take_while(|folder| folder.starts_with(&root)).collect();
    folders.reverse();
    // A nested ignore file may override one above it; files inside an ignored folder are not read.
    let lists: Vec<Gitignore> = folders.iter().map(|folder| list_of(folder, *folder == root)).collect();
    folders.iter().enumerate().skip(1).any(|(at, folder)| {
        let verdict = lists[..at].iter().rev().map(|list| list.matched(folder, true)).find(|found| !found.is_none());
        verdict.is_some_and(|found| found.is_ignore())
    })
}

fn list_of(folder: &Path, is_root: bool) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    for name in [".gitignore", ".git/info/exclude"].iter().take(if is_root { 2 } else { 1 }) {
        let path = folder.join(name);
        if path.is_file() {
            // A line that cannot be parsed is left out; the others apply.
            builder.add(path);
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
