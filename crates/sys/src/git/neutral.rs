//! Makes the configuration of a repository powerless for git calls that only read: every program that the repository's own
//! files name is overridden by name, through variables of the environment. What the user's own configuration names stays.
//! Follows includes (also conditional ones, whatever their condition), `commondir`, worktree configuration and submodules.
//! Where a key cannot be overridden without changing what git prints, a [`NeutralObstacle`] names it.

mod programs;
mod repositories;

use super::config::{self, GitConfigEntry};
use super::index;
use crate::Env;
use programs::NamedPrograms;
use repositories::GitRepository;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const MAX_FILE: usize = 1 << 20;
/// Git's own limit.
const MAX_INCLUDES: usize = 10;
const MAX_FILES: usize = 500;
const MAX_REPOSITORIES: usize = 200;
const MAX_OVERRIDES: usize = 400;

/// Overrides that every read-only call gets, whatever the repository says.
const ALWAYS: [(&str, &str); 3] =
    [("safe.bareRepository", "explicit"), ("core.fsmonitor", "false"), ("core.hooksPath", "/dev/null")];

/// Nothing is fetched, nothing is asked, the index is not rewritten and no pager starts.
const VARIABLES: [(&str, &str); 5] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Variables that lead git to another repository than the one of its directory.
const REDIRECTS: [&str; 5] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_ALTERNATE_OBJECT_DIRECTORIES"];

/// Why a repository cannot be made powerless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeutralObstacle {
    /// The key, or another cause.
    pub key: String,
    pub file: PathBuf,
}

impl std::fmt::Display for NeutralObstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} in {}", self.key, self.file.display())
    }
}

/// What makes the repositories of some directories powerless.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NeutralConfig {
    overrides: BTreeMap<String, String>,
    /// A key by which the repository replaces git's own diff; it is overridden with a program that fails, because
    /// nothing brings git's own diff back.
    pub external_diff: Option<String>,
    /// The files that were read, and those that would have been: a write to one of them changes the result.
    pub files: BTreeSet<PathBuf>,
}

impl NeutralConfig {
    /// Looks at the repository git would use in each of `dirs`.
    pub fn of<'a>(dirs: impl IntoIterator<Item = &'a Path>, env: &Env) -> Result<Self, NeutralObstacle> {
        if let Some(name) = REDIRECTS.iter().find(|name| env.get(name).is_some()) {
            return Err(NeutralObstacle { key: (*name).to_owned(), file: "the environment".into() });
        }
        let mut scan = NeutralScan { env, neutral: Self::default(), seen: BTreeSet::new(), users: None };
        for dir in dirs {
            check_place(dir)?;
            for repository in repositories::repositories(&crate::real_path::path(dir))? {
                scan.repository(&repository)?;
            }
        }
        Ok(scan.neutral)
    }

    /// The variables to set, after those that `env` already sets.
    pub fn variables(&self, env: &Env) -> Result<Vec<(String, String)>, NeutralObstacle> {
        let mut out = self.configuration(env)?;
        out.extend(VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        Ok(out)
    }

    /// As `variables`, for calls that may reach a remote and write the index.
    pub fn configuration(&self, env: &Env) -> Result<Vec<(String, String)>, NeutralObstacle> {
        const COUNT: &str = "GIT_CONFIG_COUNT";
        let unusable = |key: &str| NeutralObstacle { key: key.to_owned(), file: "the environment".into() };
        let before = match env.non_empty(COUNT) {
            Some(text) => text.parse::<usize>().map_err(|_| unusable(COUNT))?,
            None => 0,
        };
        let always = ALWAYS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let found = self.overrides.iter().map(|(key, value)| (key.clone(), value.clone()));
        let mut out = Vec::new();
        for (at, (key, value)) in always.chain(found).enumerate() {
            out.push((format!("GIT_CONFIG_KEY_{}", before + at), key));
            out.push((format!("GIT_CONFIG_VALUE_{}", before + at), value));
        }
        if out.len() > 2 * MAX_OVERRIDES {
            return Err(NeutralObstacle { key: format!("more than {MAX_OVERRIDES} programs"), file: PathBuf::new() });
        }
        out.push((COUNT.to_owned(), (before + out.len() / 2).to_string()));
        Ok(out)
    }
}

/// `env` for a git call in `dir` that only reads, with everything that makes the repository powerless.
pub fn powerless_env(dir: &Path, env: &Env) -> Result<Env, NeutralObstacle> {
    Ok(env.with(NeutralConfig::of([dir], env)?.variables(env)?))
}

struct NeutralScan<'a> {
    env: &'a Env,
    neutral: NeutralConfig,
    /// Git directories that were looked at.
    seen: BTreeSet<PathBuf>,
    /// The user's own configuration, read when it is first needed.
    users: Option<BTreeMap<String, String>>,
}

impl NeutralScan<'_> {
    fn repository(&mut self, repository: &GitRepository) -> Result<(), NeutralObstacle> {
        let git_dir = crate::real_path::path(&repository.git_dir);
        if !self.seen.insert(git_dir.clone()) {
            return Ok(());
        }
        if self.seen.len() > MAX_REPOSITORIES {
            return Err(NeutralObstacle { key: "too many submodules".into(), file: git_dir });
        }
        let common = repositories::common_dir(&git_dir)?;
        repositories::check_objects(&common)?;
        let mut reader = FileReader { env: self.env, files: &mut self.neutral.files, read: 0, entries: Vec::new() };
        for dir in BTreeSet::from([&git_dir, &common]) {
            for name in ["config", "config.worktree"] {
                reader.file(&dir.join(name), 0)?;
            }
        }
        let entries = reader.entries;
        self.neutral.files.insert(git_dir.join("commondir"));
        let mut found = NamedPrograms::default();
        for (file, entry) in &entries {
            found.add(entry).map_err(|key| NeutralObstacle { key, file: file.clone() })?;
            if (entry.section.as_str(), entry.name.as_str()) == ("core", "worktree") {
                check_work_tree(entry, repository, &git_dir, file)?;
            }
        }
        self.add_overrides(found, repository);
        self.limit_submodules_of_history(entries.iter().map(|(_, entry)| entry));
        let Some(top) = &repository.top else { return Ok(()) };
        let unreadable = || NeutralObstacle { key: "an index that cannot be read".into(), file: git_dir.join("index") };
        for path in index::submodules(&git_dir).ok_or_else(unreadable)? {
            if let Some(inner) = repositories::at(&top.join(path))? {
                self.repository(&inner)?;
            }
        }
        Ok(())
    }

    /// Turns what was found into overrides; the user's own value takes the place of the repository's.
    fn add_overrides(&mut self, found: NamedPrograms, repository: &GitRepository) {
        let folder = repository.top.as_deref().unwrap_or(&repository.git_dir);
        let found = found.overrides(|| repositories::has_own_git_lfs(self.env, folder));
        if found.is_empty() {
            return;
        }
        for (key, value) in found {
            let own = self.users().get(&key).cloned();
            if own.is_none() && programs::is_external_diff(&key) {
                self.neutral.external_diff.get_or_insert_with(|| key.clone());
            }
            self.neutral.overrides.insert(key, own.unwrap_or(value));
        }
    }

    fn users(&mut self) -> &BTreeMap<String, String> {
        let env = self.env;
        self.users.get_or_insert_with(|| repositories::users_configuration(env))
    }

    /// Git may enter repositories that only the history knows as submodules. Their configuration is not read here, so
    /// git does not compare their files, and checks signatures with the user's programs.
    fn limit_submodules_of_history<'e>(&mut self, entries: impl Iterator<Item = &'e GitConfigEntry>) {
        let users = self.users().clone();
        let theirs = entries.map(|entry| (entry.key(), entry.value.clone().unwrap_or_default()));
        for (key, value) in users.iter().map(|(key, value)| (key.clone(), value.clone())).chain(theirs) {
            match (key.as_str(), value.as_str()) {
                ("diff.submodule", "diff") => {
                    self.neutral.overrides.insert(key, "log".to_owned());
                }
                ("status.submodulesummary", _) => {
                    let verifiers = programs::verifiers().map(|(key, program)| {
                        let general = users.get("gpg.program").filter(|_| key == "gpg.openpgp.program");
                        let own = users.get(&key).or(general).cloned();
                        (key, own.unwrap_or_else(|| program.to_owned()))
                    });
                    self.neutral.overrides.extend(verifiers);
                }
                _ => {}
            }
        }
    }
}

/// Git would look for such a file from its own process, and find another one.
fn check_place(path: &Path) -> Result<(), NeutralObstacle> {
    if crate::real_path::is_same_for_every_process(path) {
        return Ok(());
    }
    Err(NeutralObstacle { key: "a path that each process reads in its own way".to_owned(), file: path.to_path_buf() })
}

/// With a working tree elsewhere git would read files for which no permission was asked.
fn check_work_tree(
    entry: &GitConfigEntry,
    repository: &GitRepository,
    git_dir: &Path,
    file: &Path,
) -> Result<(), NeutralObstacle> {
    let named = entry.value.as_deref().map(|value| git_dir.join(value));
    named.iter().try_for_each(|place| check_place(place))?;
    let named = named.map(|place| crate::real_path::path(&place));
    if named.is_some() && named == repository.top.as_deref().map(crate::real_path::path) {
        return Ok(());
    }
    Err(NeutralObstacle { key: entry.key(), file: file.to_path_buf() })
}

/// Reads configuration files and what they include.
struct FileReader<'a> {
    env: &'a Env,
    files: &'a mut BTreeSet<PathBuf>,
    /// How many were read.
    read: usize,
    entries: Vec<(PathBuf, GitConfigEntry)>,
}

impl FileReader<'_> {
    fn file(&mut self, path: &Path, depth: usize) -> Result<(), NeutralObstacle> {
        let obstacle = |key: &str| NeutralObstacle { key: key.to_owned(), file: path.to_path_buf() };
        check_place(path)?;
        self.files.insert(path.to_path_buf());
        self.read += 1;
        if self.read > MAX_FILES {
            return Err(obstacle("include.path (too many files)"));
        }
        let real = crate::real_path::path(path);
        self.files.insert(real.clone());
        if depth > MAX_INCLUDES {
            return Err(obstacle("include.path (nested too deeply)"));
        }
        match std::fs::metadata(&real) {
            Ok(meta) if meta.is_file() => {}
            Ok(_) => return Err(obstacle("no regular file")),
            Err(_) => return Ok(()),
        }
        let read = crate::fs::read_limited(&real, MAX_FILE).map_err(|_| obstacle("a file that cannot be read"))?;
        let text = String::from_utf8(read.bytes).map_err(|_| obstacle("bytes that are no UTF-8"))?;
        if read.more {
            return Err(obstacle("a file that is too large"));
        }
        for entry in config::parse(&text).map_err(|line| obstacle(&format!("line {line}")))? {
            if is_include(&entry) {
                let target = entry.value.as_deref().unwrap_or_default();
                let targets = repositories::included(target, path, self.env).ok_or_else(|| obstacle(&entry.key()))?;
                targets.iter().try_for_each(|target| self.file(target, depth + 1))?;
            }
            self.entries.push((path.to_path_buf(), entry));
        }
        Ok(())
    }
}

fn is_include(entry: &GitConfigEntry) -> bool {
    matches!(entry.section.as_str(), "include" | "includeif") && entry.name == "path"
}

#[cfg(test)]
#[path = "neutral/neutral_tests.rs"]
mod tests;
