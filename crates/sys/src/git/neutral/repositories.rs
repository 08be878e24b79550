//! Where repositories and configuration files lie.

use super::{FileReader, NeutralObstacle};
use crate::Env;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
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
            let certain = level.join(".git").is_file() || is_certainly_git_dir(&repository.git_dir)?;
            found.push(repository);
            if certain {
                break;
            }
        }
        if may_be_git_dir(level) {
            found.push(GitRepository { top: None, git_dir: level.to_path_buf() });
        }
    }
    Ok(found)
}

/// The repository whose working tree has its top at `level`.
pub(super) fn at(level: &Path) -> Result<Option<GitRepository>, NeutralObstacle> {
    let dot_git = level.join(".git");
    let obstacle = |key: &str| NeutralObstacle { key: key.to_owned(), file: dot_git.clone() };
    super::check_place(&dot_git)?;
    let git_dir = match std::fs::metadata(&dot_git) {
        Err(_) => return Ok(None),
        Ok(meta) if meta.is_dir() => dot_git,
        Ok(meta) if meta.is_file() => {
            let text = named_place(&dot_git)?;
            // Git refuses to go on with any other content.
            let Some(named) = text.strip_prefix("gitdir: ") else { return Ok(None) };
            level.join(named)
        }
        Ok(_) => return Err(obstacle("no regular file")),
    };
    super::check_place(&git_dir)?;
    Ok(Some(GitRepository { top: Some(level.to_path_buf()), git_dir }))
}

/// What a file that names another place says, as git reads it: blanks belong to the name.
fn named_place(file: &Path) -> Result<String, NeutralObstacle> {
    let text = crate::fs::read_text(file, crate::git::LINK_BYTES).ok().filter(|text| !text.contains('\0'));
    let obstacle = || NeutralObstacle { key: "a file that cannot be read".to_owned(), file: file.to_path_buf() };
    Ok(text.ok_or_else(obstacle)?.trim_end_matches(['\n', '\r']).to_owned())
}

/// Where configuration, refs and objects lie.
pub(super) fn common_dir(git_dir: &Path) -> Result<PathBuf, NeutralObstacle> {
    let file = git_dir.join("commondir");
    super::check_place(&file)?;
    if file.symlink_metadata().is_err() {
        return Ok(git_dir.to_path_buf());
    }
    let common = git_dir.join(named_place(&file)?);
    super::check_place(&common)?;
    Ok(common)
}

/// Checks where the objects lie, as far as the repository names other places.
pub(super) fn check_objects(common: &Path) -> Result<(), NeutralObstacle> {
    let objects = common.join("objects");
    let alternates = objects.join("info/alternates");
    super::check_place(&alternates)?;
    let lines = match crate::fs::read_limited(&alternates, super::MAX_FILE) {
        Ok(read) => read.bytes,
        Err(_) => return Ok(()),
    };
    let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| objects.join(std::ffi::OsStr::from_bytes(line))).try_for_each(|place| super::check_place(&place))
}

/// Whether git takes `dir` for a repository, whatever its version: else it may go on upwards.
fn is_certainly_git_dir(dir: &Path) -> Result<bool, NeutralObstacle> {
    let common = common_dir(dir)?;
    // Git must be able to enter them.
    let has = |name: &str| common.join(name).join(".").is_dir();
    let head = crate::fs::read_text(&dir.join("HEAD"), crate::git::LINK_BYTES).unwrap_or_default();
    let head = head.trim_end_matches('\n');
    let is_name = matches!(head.len(), 40 | 64) && head.bytes().all(|byte| byte.is_ascii_hexdigit());
    Ok((is_name || head.starts_with("ref: refs/")) && !dir.join("HEAD").is_symlink() && has("objects") && has("refs"))
}

fn may_be_git_dir(dir: &Path) -> bool {
    let has_objects = dir.join("objects").is_dir() || dir.join("commondir").is_file();
    dir.join("HEAD").symlink_metadata().is_ok() && has_objects
}

/// Where an included file may lie; `None` when that is not known. Some versions of git put other blanks in the place of
/// control characters.
pub(super) fn included(target: &str, from: &Path, env: &Env) -> Option<BTreeSet<PathBuf>> {
    let has_prefix = ["%(", ":("].iter().any(|prefix| target.starts_with(prefix));
    if target.is_empty() || has_prefix || target.contains(char::is_control) {
        return None;
    }
    if let Some(rest) = target.strip_prefix('~') {
        let rest = rest.strip_prefix('/')?;
        return Some(BTreeSet::from([env.home()?.join(rest)]));
    }
    // Git starts from the name by which it opened the file.
    let beside = |file: &Path| Some(file.parent()?.join(target));
    Some(BTreeSet::from([beside(from)?, beside(&crate::real_path::path(from))?]))
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
        let mut reader = FileReader { env, files: &mut seen, read: 0, entries: Vec::new() };
        if reader.file(&file, 0).is_ok() {
            let set = reader.entries.into_iter().filter_map(|(_, entry)| Some((entry.key(), entry.value?)));
            values.extend(set);
        }
    }
    values
}
