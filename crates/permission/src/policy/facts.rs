//! What is known about the paths of a request. The policy reads no file: its caller looks, and hands over what it found.

use super::names::FoundNames;
use super::repository::RepositoryFacts;
use crate::path::ResolvedPath;
use crate::reads::ReadFindings;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What the caller found out about the paths of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathFacts {
    /// The directory of the shell.
    pub cwd: PathBuf,
    pub(super) real: BTreeMap<PathBuf, PathBuf>,
    /// Paths that lead somewhere else in every process (through `/proc/self` or a descriptor): not resolved.
    pub(super) process_bound: BTreeSet<PathBuf>,
    /// Files that have other names, perhaps elsewhere.
    pub(super) hard_linked: BTreeSet<PathBuf>,
    /// Folders of `Policy::copied_trees` with protected names in them; `None`: they were not looked at.
    pub(super) protected_trees: Option<BTreeSet<PathBuf>>,
    /// Paths at which there is a file.
    pub(super) present: BTreeSet<PathBuf>,
    /// What was found about the repositories of `Policy::git_places`; `None`: they were not looked at.
    pub(super) repositories: Option<BTreeMap<PathBuf, RepositoryFacts>>,
    /// In the directory of the shell a file names the Rust toolchain to run.
    pub(super) names_toolchain: bool,
    /// In the directory of the shell settings for npm may send or write something.
    pub(super) has_npm_settings: bool,
    /// The git remotes as they are now.
    pub(super) remotes: BTreeMap<String, String>,
    /// What the command would read (see `Policy::read_plan`); `None`: they were not looked at.
    pub(super) reads: Option<ReadFindings>,
    /// What patterns of the command stand for (see `Policy::name_queries`).
    pub(super) names: FoundNames,
}

impl PathFacts {
    /// Resolves every path of `needs` (see `Policy::needs`). For what does not exist, `resolve` follows the links of
    /// the nearest existing parent.
    pub fn gather(cwd: PathBuf, needs: Vec<PathBuf>, resolve: impl Fn(&Path) -> PathBuf) -> Self {
        let real = needs.into_iter().map(|path| (path.clone(), resolve(&path))).collect();
        Self { cwd, real, ..Self::default() }
    }

    /// Takes back what was found about paths of which `is_bound` says that they depend on the process that opens them.
    #[must_use]
    pub fn with_process_paths(mut self, is_bound: impl Fn(&Path) -> bool) -> Self {
        self.process_bound = self.real.keys().filter(|path| is_bound(path)).cloned().collect();
        self.real.retain(|path, _| !self.process_bound.contains(path));
        self
    }

    /// Marks the files that `is_shared` says have several names (hard links).
    #[must_use]
    pub fn with_shared_files(mut self, is_shared: impl Fn(&Path) -> bool) -> Self {
        self.hard_linked = self.real.iter().filter(|(_, real)| is_shared(real)).map(|(path, _)| path.clone()).collect();
        self
    }

    /// The folders among `Policy::copied_trees` that hold protected names.
    #[must_use]
    pub fn with_protected_trees(self, trees: BTreeSet<PathBuf>) -> Self {
        Self { protected_trees: Some(trees), ..self }
    }

    /// Marks the paths of the request at which `is_file` finds a file.
    #[must_use]
    pub fn with_files(mut self, is_file: impl Fn(&Path) -> bool) -> Self {
        self.present = self.real.iter().filter(|(_, real)| is_file(real)).map(|(path, _)| path.clone()).collect();
        self
    }

    pub(super) fn is_present(&self, path: &Path) -> bool {
        self.present.contains(path)
    }

    /// In the directory of the shell a file names the Rust toolchain to run.
    #[must_use]
    pub fn with_named_toolchain(self) -> Self {
        Self { names_toolchain: true, ..self }
    }

    /// In the directory of the shell settings for npm may send or write something.
    #[must_use]
    pub fn with_npm_settings(self) -> Self {
        Self { has_npm_settings: true, ..self }
    }

    /// What was found in each of `Policy::git_places`.
    #[must_use]
    pub fn with_repositories(self, repositories: BTreeMap<PathBuf, RepositoryFacts>) -> Self {
        Self { repositories: Some(repositories), ..self }
    }

    #[must_use]
    pub fn with_remotes(self, remotes: BTreeMap<String, String>) -> Self {
        Self { remotes, ..self }
    }

    #[must_use]
    pub fn with_reads(self, reads: ReadFindings) -> Self {
        Self { reads: Some(reads), ..self }
    }

    pub(super) fn is_process_bound(&self, path: &Path) -> bool {
        self.process_bound.contains(path)
    }

    pub(super) fn is_shared(&self, path: &Path) -> bool {
        self.hard_linked.contains(path)
    }

    /// Where a path of the request really is, if it was resolved.
    pub fn real_location(&self, path: &Path) -> Option<&Path> {
        self.real(path)
    }

    pub(super) fn real(&self, path: &Path) -> Option<&Path> {
        self.real.get(path).map(PathBuf::as_path)
    }

    pub(super) fn resolve_path<'a>(&'a self, given: &'a Path) -> ResolvedPath<'a> {
        ResolvedPath { given, real: self.real(given) }
    }
}
