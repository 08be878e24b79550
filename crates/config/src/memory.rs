//! Instruction files (`CLAUDE.md`): found from broad to specific, imports expanded, sizes bounded. A file that a
//! repository brings cannot pull in text from outside its folder unless the user approved that; what was left out is
//! named.

mod markdown;

use crate::project::{Loaded, Selection, managed_dir};
use crate::state::{GlobalState, config_home};
use globset::{Glob, GlobSet, GlobSetBuilder};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use sys::Env;
use wire::settings::Source;

/// Larger files are skipped.
const MAX_FILE: u64 = 4 * 1024 * 1024;
/// How far an import may lead from the file that was found.
const MAX_HOPS: u32 = 4;
/// A runaway set of imports ends here.
const MAX_FILES: usize = 200;

/// One instruction file, or a file it imports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryFile {
    pub path: PathBuf,
    pub scope: MemoryScope,
    pub text: String,
    /// The file that imported this one.
    pub imported_by: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryScope {
    Managed,
    User,
    Project,
    Local,
}

/// The files that are told to the model, in order, and those that are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    pub files: Vec<MemoryFile>,
    pub skipped: Vec<Skipped>,
}

/// A file that exists but was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    pub path: PathBuf,
    pub reason: &'static str,
}

/// All instruction files that hold for `cwd`, in the order they are told to the model.
pub fn discover(cwd: &Path, env: &Env, selection: &Selection, loaded: &Loaded) -> Vec<MemoryFile> {
    load(cwd, env, selection, loaded).files
}

/// The same, with what was left out.
pub fn load(cwd: &Path, env: &Env, selection: &Selection, loaded: &Loaded) -> Memory {
    if selection.bare || selection.safe_mode {
        return Memory::default();
    }
    let folder = sys::real::path(&loaded.trust_key);
    let state = GlobalState::read(env);
    let approved = state.approves_external_imports(&loaded.trust_key) || state.approves_external_imports(&folder);
    let mut collector = Collector {
        home: env.home(),
        folder,
        approved,
        excludes: excludes(&loaded.settings.claude_md_excludes),
        seen: BTreeSet::new(),
        memory: Memory::default(),
    };
    for (path, scope) in candidates(cwd, env, selection) {
        collector.add(Found { path, scope, imported_by: None, hops: 0 });
    }
    collector.memory
}

/// Where instruction files may be, broad to specific.
fn candidates(cwd: &Path, env: &Env, selection: &Selection) -> Vec<(PathBuf, MemoryScope)> {
    let managed = selection.managed_dir.clone().unwrap_or_else(managed_dir);
    let mut all = vec![(managed.join("CLAUDE.md"), MemoryScope::Managed)];
    if let Some(home) = config_home(env).filter(|_| selection.reads(Source::User)) {
        all.push((home.join("CLAUDE.md"), MemoryScope::User));
    }
    let mut dirs: Vec<_> = cwd.ancestors().collect();
    dirs.reverse();
    for dir in dirs {
        if selection.reads(Source::Project) {
            all.push((dir.join("CLAUDE.md"), MemoryScope::Project));
            all.push((dir.join(".claude/CLAUDE.md"), MemoryScope::Project));
        }
        if selection.reads(Source::Local) {
            all.push((dir.join("CLAUDE.local.md"), MemoryScope::Local));
        }
    }
    all
}

fn excludes(patterns: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        if let Ok(glob) = Glob::new(pattern) {
            set.add(glob);
        }
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}

#[derive(Clone)]
struct Found {
    path: PathBuf,
    scope: MemoryScope,
    imported_by: Option<PathBuf>,
    hops: u32,
}

struct Collector {
    home: Option<PathBuf>,
    /// The repository or starting directory, resolved.
    folder: PathBuf,
    /// Imports from outside the folder are approved.
    approved: bool,
    excludes: GlobSet,
    /// Real paths already taken: cuts cycles and duplicates.
    seen: BTreeSet<PathBuf>,
    memory: Memory,
}

impl Collector {
    fn add(&mut self, found: Found) {
        let own_dir = sys::real::path(found.path.parent().unwrap_or(Path::new("/")));
        self.add_within(found, &own_dir);
    }

    /// `base` is the directory of the file the chain of imports began with.
    fn add_within(&mut self, found: Found, base: &Path) {
        let Ok(real) = std::fs::canonicalize(&found.path) else { return };
        if self.memory.files.len() >= MAX_FILES || !self.seen.insert(real.clone()) {
            return;
        }
        let excluded = |path: &Path| self.excludes.is_match(path);
        if found.scope != MemoryScope::Managed && (excluded(&found.path) || excluded(&real)) {
            return;
        }
        if !self.may_include(&real, found.scope, base) {
            self.skip(found.path, "it lies outside the project and its import was not approved");
            return;
        }
        let text = match read(&real) {
            Ok(text) => text,
            Err(reason) => return self.skip(found.path, reason),
        };
        let text = markdown::without_comments(&text);
        let imports = if found.hops < MAX_HOPS { markdown::imports(&text) } else { Vec::new() };
        let Found { path, scope, imported_by, hops } = found;
        self.memory.files.push(MemoryFile { path: path.clone(), scope, text, imported_by });
        // Relative to the file as it lies on disk, so that a linked file keeps its own imports.
        let dir = real.parent().unwrap_or(Path::new("/")).to_path_buf();
        for import in imports {
            let target = self.target(&import, &dir);
            self.add_within(Found { path: target, scope, imported_by: Some(path.clone()), hops: hops + 1 }, base);
        }
    }

    fn may_include(&self, real: &Path, scope: MemoryScope, base: &Path) -> bool {
        match scope {
            MemoryScope::Managed | MemoryScope::User => true,
            MemoryScope::Project | MemoryScope::Local => {
                self.approved || real.starts_with(&self.folder) || real.starts_with(base)
            }
        }
    }

    fn target(&self, import: &str, dir: &Path) -> PathBuf {
        match (import.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => dir.join(import),
        }
    }

    fn skip(&mut self, path: PathBuf, reason: &'static str) {
        self.memory.skipped.push(Skipped { path, reason });
    }
}

fn read(path: &Path) -> Result<String, &'static str> {
    let meta = std::fs::metadata(path).map_err(|_| "it cannot be read")?;
    if !meta.is_file() {
        return Err("it is not a regular file");
    }
    if meta.len() > MAX_FILE {
        return Err("it is larger than 4 MiB");
    }
    let bytes = std::fs::read(path).map_err(|_| "it cannot be read")?;
    if bytes.contains(&0) {
        return Err("it is not a text file");
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
