//! Where repositories and configuration files lie.

use super::{FileReader, NeutralObstacle};
use crate::Env;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A repository git might use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GitRepository {
    /// The top of its working tree; `None` for a bare one.
    pub(super) top: Option<PathBuf>,
    pub(super) git_dir: PathBuf,
}

/// Every repository on the way up from `dir`, to the first that git is certain to take.
pub(super) fn repositories(dir: &Path) -> Result<Vec<GitRepository>, NeutralObstacle> {
    let mut found = Vec::new();
    for level in dir.ancestors() {
        if let Some(repository) = at(level)? {
            let certain = level.join(".git").is_file() || is_git_dir(&repository.git_dir);
            found.push(repository);
            if certain {
                break;
            }
        }
        if is_git_dir(level) {
            found.push(GitRepository { top: None, git_dir: level.to_path_buf() });
        }
    }
    Ok(found)
}

/// The repository whose working tree has its top at `level`.
pub(super) fn at(level: &Path) -> Result<Option<GitRepository>, NeutralObstacle> {
    let dot_git = level.join(".git");
    let obstacle = |key: &str| NeutralObstacle { key: key.to_owned(), file: dot_git.clone() };
    let git_dir = match std::fs::metadata(&dot_git) {
        Err(_) => return Ok(None),
        Ok(meta) if meta.is_dir() => dot_git,
        Ok(meta) if meta.is_file() => {
            let read = crate::fs::read_limited(&dot_git, super::MAX_FILE);
            let text = read.ok().and_then(|read| String::from_utf8(read.bytes).ok());
            let text = text.ok_or_else(|| obstacle("a .git file that cannot be read"))?;
            // Git refuses to go on with any other content.
            let Some(named) = text.strip_prefix("gitdir: ") else { return Ok(None) };
            level.join(named.trim_end_matches(['\n', '\r']))
        }
        Ok(_) => return Err(obstacle("no regular file")),
    };
    Ok(Some(GitRepository { top: Some(level.to_path_buf()), git_dir }))
}

fn is_git_dir(dir: &Path) -> bool {
    let has_objects = dir.join("objects").is_dir() || dir.join("commondir").is_file();
    dir.join("HEAD").symlink_metadata().is_ok() && has_objects
}

/// Where an included file lies; `None` when that cannot be told.
pub(super) fn included(target: &str, from: &Path, env: &Env) -> Option<PathBuf> {
    if target.is_empty() || target.starts_with("%(") {
        return None;
    }
    if let Some(rest) = target.strip_prefix('~') {
        let rest = rest.strip_prefix('/')?;
        return Some(env.home()?.join(rest));
    }
    Some(from.parent()?.join(target))
}

/// Whether the first git-lfs on `PATH` lies outside `folder`, and every place before it is a fixed one.
pub(super) fn has_own_git_lfs(env: &Env, folder: &Path) -> bool {
    let folder = crate::real_path::path(folder);
    for dir in env.get("PATH").unwrap_or_default().split(':') {
        if !dir.starts_with('/') {
            return false;
        }
        let program = Path::new(dir).join("git-lfs");
        if program.is_file() {
            return !crate::real_path::path(&program).starts_with(&folder)
                && !crate::real_path::path(Path::new(dir)).starts_with(&folder);
        }
    }
    false
}

/// The last value of every key in the user's and the system's configuration. What cannot be read there is left out: it is
/// only used to put the user's own values back.
pub(super) fn users_configuration(env: &Env) -> BTreeMap<String, String> {
    let mut files = Vec::new();
    if env.get("GIT_CONFIG_NOSYSTEM").is_none() {
        files.push(env.non_empty("GIT_CONFIG_SYSTEM").map_or_else(|| "/etc/gitconfig".into(), PathBuf::from));
    }
    if let Some(file) = env.get("GIT_CONFIG_GLOBAL") {
        files.push(file.into());
    } else if let Some(home) = env.home() {
        let config = env.non_empty("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
        files.extend([config.join("git/config"), home.join(".gitconfig")]);
    }
    let mut seen = BTreeSet::new();
    let mut values = BTreeMap::new();
    for file in files {
        let mut reader = FileReader { env, files: &mut seen, entries: Vec::new() };
        if reader.file(&file, 0).is_ok() {
            let set = reader.entries.into_iter().filter_map(|(_, entry)| Some((entry.key(), entry.value?)));
            values.extend(set);
        }
    }
    values
}
