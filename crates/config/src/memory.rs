//! Instruction files: `CLAUDE.md`, rules and `AGENTS.md`, found from broad to specific, with imports expanded and sizes
//! bounded. A file of a repository cannot import text from outside its folder unless the user approved that. Vendored
//! and ignored folders are not read. Files that were left out are reported.

mod agents_md;
mod auto;
pub(crate) mod collect;

pub use agents_md::InstructionFiles;
pub use auto::{MAX_BYTES, MAX_LINES, auto_directory};

use crate::frontmatter::FileFinding;
use crate::nested_memory::LazyMemory;
use crate::project::{ProjectConfig, SettingsSelection, managed_dir};
use crate::rules;
use crate::state::config_home;
use collect::{MemoryCandidate, MemoryCollector};
use std::path::{Path, PathBuf};
use sys::Env;
use wire::settings::SettingsSource;

/// One instruction file, or a file it imports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryFile {
    pub path: PathBuf,
    pub scope: MemoryScope,
    /// As sent to the model: without front matter and block comments.
    pub text: String,
    /// The file that imported this one; `None` when it was not imported.
    pub imported_by: Option<PathBuf>,
    pub reason: LoadReason,
    /// The patterns of a rule that applies to certain paths.
    pub globs: Vec<String>,
    /// The file that was read and caused this one to load.
    pub trigger: Option<PathBuf>,
    /// Pairs of an offset in `text` and the line of the file at that offset.
    pub lines: Vec<(usize, usize)>,
    /// An `AGENTS.md`: hooks do not run for it.
    pub is_agents_md: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryScope {
    Managed,
    User,
    Project,
    Local,
    /// Notes of earlier sessions.
    Auto,
}

impl MemoryScope {
    /// `memory_type` of the InstructionsLoaded hook.
    pub fn hook_name(self) -> &'static str {
        match self {
            Self::Managed => "Managed",
            Self::User | Self::Auto => "User",
            Self::Project => "Project",
            Self::Local => "Local",
        }
    }
}

/// Why a file was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadReason {
    SessionStart,
    /// A file in its directory or below was read.
    NestedTraversal,
    /// A file that the rule's patterns match was read.
    PathGlobMatch,
    Include,
}

impl LoadReason {
    /// `load_reason` of the InstructionsLoaded hook.
    pub fn hook_name(self) -> &'static str {
        match self {
            Self::SessionStart => "session_start",
            Self::NestedTraversal => "nested_traversal",
            Self::PathGlobMatch => "path_glob_match",
            Self::Include => "include",
        }
    }
}

/// The input of `load`.
#[derive(Clone, Copy)]
pub struct MemoryQuery<'a> {
    pub cwd: &'a Path,
    pub env: &'a Env,
    pub selection: &'a SettingsSelection,
    pub loaded: &'a ProjectConfig,
    /// `--add-dir` directories.
    pub added: &'a [PathBuf],
    /// The directory of the notes unless a setting names another; `None`: there are no notes.
    pub notes: Option<&'a Path>,
}

/// The files sent to the model at the start, in order, those that were left out, and those that may load later.
#[derive(Debug, Default)]
pub struct InstructionMemory {
    pub files: Vec<MemoryFile>,
    pub skipped: Vec<SkippedMemory>,
    pub findings: Vec<FileFinding>,
    pub lazy: LazyMemory,
}

/// A file that exists but was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedMemory {
    pub path: PathBuf,
    pub reason: &'static str,
}

/// Loads everything that applies to a directory from the start.
pub fn load(query: &MemoryQuery<'_>) -> InstructionMemory {
    let MemoryQuery { cwd, env, selection, loaded, .. } = *query;
    if selection.bare || selection.safe_mode || env.is_on("CLAUDE_CODE_DISABLE_CLAUDE_MDS") {
        return InstructionMemory::default();
    }
    let mut collector = MemoryCollector::new(env, loaded, selection);
    if let Some(text) = &loaded.settings.claude_md {
        collector.add_text(managed_path(selection, "managed-settings.json"), MemoryScope::Managed, text);
    }
    collector.add(MemoryCandidate::at(managed_path(selection, "CLAUDE.md"), MemoryScope::Managed));
    let mode = InstructionFiles::of(&loaded.settings);
    if mode == InstructionFiles::ManagedOnly {
        return collector.finish(LazyMemory::default());
    }
    if let Some(home) = config_home(env).filter(|_| selection.reads(SettingsSource::User)) {
        collector.add(MemoryCandidate::at(home.join("CLAUDE.md"), MemoryScope::User));
        let base = sys::git::root(cwd).unwrap_or_else(|| cwd.to_path_buf());
        rules::collect(&mut collector, &home, &base, MemoryScope::User);
    }
    let from_agents = mode.reads_agents(cwd);
    let mut dirs: Vec<&Path> = cwd.ancestors().collect();
    dirs.reverse();
    if env.is_on("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD") {
        dirs.extend(query.added.iter().map(PathBuf::as_path));
    }
    let wanted = MemorySources {
        project: selection.reads(SettingsSource::Project),
        local: selection.reads(SettingsSource::Local),
        agents: from_agents,
    };
    for dir in dirs {
        directory(&mut collector, dir, wanted);
    }
    if let Some(dir) = auto_directory(env, loaded, query.notes) {
        collector.files.extend(auto::index(&dir));
    }
    let lazy = LazyMemory::new(cwd, wanted);
    collector.finish(lazy)
}

/// Which kinds of files in a directory are read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MemorySources {
    pub(crate) project: bool,
    pub(crate) local: bool,
    pub(crate) agents: bool,
}

/// Collects the files of one directory, in order.
pub(crate) fn directory(collector: &mut MemoryCollector, dir: &Path, wanted: MemorySources) {
    if wanted.project {
        collector.add(MemoryCandidate::at(dir.join("CLAUDE.md"), MemoryScope::Project));
        collector.add(MemoryCandidate::at(dir.join(".claude/CLAUDE.md"), MemoryScope::Project));
        if wanted.agents {
            for name in agents_md::NAMES {
                collector.add(MemoryCandidate {
                    is_agents_md: true,
                    ..MemoryCandidate::at(dir.join(name), MemoryScope::Project)
                });
            }
        }
        rules::collect(collector, &dir.join(".claude"), dir, MemoryScope::Project);
    }
    if wanted.local {
        collector.add(MemoryCandidate::at(dir.join("CLAUDE.local.md"), MemoryScope::Local));
    }
}

fn managed_path(selection: &SettingsSelection, name: &str) -> PathBuf {
    selection.managed_dir.clone().unwrap_or_else(managed_dir).join(name)
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
