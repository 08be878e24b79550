//! Paths of stored files: the configuration home, one directory per project, one file per session. Names are computed
//! exactly as other programs that read these directories compute them. Only the private task directory is created here.

use crate::error::StoreError;
use crate::list;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use sys::Env;
use unicode_normalization::UnicodeNormalization;

/// Names the folder for temporary files of gimlet.
const TEMP_VARIABLE: &str = "CLAUDE_CODE_TMPDIR";

/// In UTF-16 code units. Longer project names are cut here and get a hash.
const NAME_LIMIT: usize = 200;

/// The paths of one user's configuration home.
#[derive(Clone, Debug)]
pub struct StoreLayout {
    home: PathBuf,
    global: PathBuf,
    /// Folders for temporary files, in order of preference. Each ends in a name that contains the user id.
    temps: Vec<PathBuf>,
    project_name: Option<String>,
    /// `CLAUDE_CODE_TMPDIR`
    wanted_temp: Option<PathBuf>,
}

impl StoreLayout {
    pub fn new(env: &Env) -> Self {
        let wanted_temp = env.non_empty(TEMP_VARIABLE).map(PathBuf::from);
        Self { wanted_temp, ..Self::with_places(env) }
    }

    fn with_places(env: &Env) -> Self {
        let named = [TEMP_VARIABLE, "TMPDIR"].into_iter().filter_map(|name| env.non_empty(name));
        let named = named.map(PathBuf::from).filter(|dir| dir.is_absolute());
        let own = format!("claude-{}", sys::uid());
        let mut temps: Vec<PathBuf> = named.chain([PathBuf::from("/tmp")]).map(|dir| dir.join(&own)).collect();
        temps.dedup();
        if let Some(dir) = env.non_empty("CLAUDE_CONFIG_DIR") {
            let home = PathBuf::from(nfc(dir));
            let project_name = env.non_empty("CLAUDE_CODE_PROJECT_DIR_NAME").filter(|n| is_name(n)).map(str::to_owned);
            return Self::with_temps(home.join(".claude.json"), home, temps, project_name);
        }
        let user = env.home().or_else(sys::passwd_home).unwrap_or_else(|| temps[0].clone());
        let user = user.to_str().map_or(user.clone(), |text| PathBuf::from(nfc(text)));
        Self::with_temps(user.join(".claude.json"), user.join(".claude"), temps, None)
    }

    /// Adds a folder in the configuration home as the last choice for temporary files.
    fn with_temps(global: PathBuf, home: PathBuf, mut temps: Vec<PathBuf>, project_name: Option<String>) -> Self {
        temps.push(home.join("tmp").join(format!("claude-{}", sys::uid())));
        Self { home, global, temps, project_name, wanted_temp: None }
    }

    /// `$CLAUDE_CONFIG_DIR` or `~/.claude`.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The global state file, `.claude.json`.
    pub fn global(&self) -> &Path {
        &self.global
    }

    pub fn projects(&self) -> PathBuf {
        self.home.join("projects")
    }

    /// Records of live processes.
    pub fn sessions_dir(&self) -> PathBuf {
        self.home.join("sessions")
    }

    /// Prompt history of all sessions.
    pub fn history(&self) -> PathBuf {
        self.home.join("history.jsonl")
    }

    /// Long pastes of the prompt history, named after their hash.
    pub fn paste_cache(&self) -> PathBuf {
        self.home.join("paste-cache")
    }

    /// The directory with the transcripts of sessions started in `cwd`.
    pub fn project_dir(&self, cwd: &Path) -> PathBuf {
        if let Some(name) = &self.project_name {
            return self.projects().join(name);
        }
        let path = resolve_directory(cwd);
        let exact = self.projects().join(project_name(&path));
        if utf16_len(&path) <= NAME_LIMIT || exact.is_dir() {
            return exact;
        }
        self.same_prefix(&path).into_iter().find(|dir| holds_cwd(dir, &path)).unwrap_or(exact)
    }

    /// Every directory that may hold sessions of `cwd`.
    pub(crate) fn readable_dirs(&self, cwd: &Path) -> Vec<PathBuf> {
        if let Some(name) = &self.project_name {
            return vec![self.projects().join(name)];
        }
        let path = resolve_directory(cwd);
        let mut dirs = vec![self.projects().join(project_name(&path))];
        if utf16_len(&path) > NAME_LIMIT {
            dirs.extend(self.same_prefix(&path));
            dirs.dedup();
        }
        dirs
    }

    pub fn transcript(&self, cwd: &Path, session_id: &str) -> PathBuf {
        self.project_dir(cwd).join(format!("{session_id}.jsonl"))
    }

    /// The folder for files of one session: subagents, large tool results.
    pub fn session_dir(&self, cwd: &Path, session_id: &str) -> PathBuf {
        self.project_dir(cwd).join(session_id)
    }

    pub fn tool_results_dir(&self, cwd: &Path, session_id: &str) -> PathBuf {
        self.session_dir(cwd, session_id).join("tool-results")
    }

    /// Output of background tasks: `<tmp>/claude-<uid>/<project>/<session>/tasks`, below the first temporary folder
    /// that is usable now. See `create_tasks_dir`.
    pub fn tasks_dir(&self, cwd: &Path, session_id: &str) -> PathBuf {
        let project = self.project_name.clone().unwrap_or_else(|| project_name(&resolve_directory(cwd)));
        self.temp().join(project).join(session_id).join("tasks")
    }

    /// Creates the folder that `CLAUDE_CODE_TMPDIR` names, if it is missing. Returns a line for the user when the folder
    /// cannot be used: why, and what is used instead.
    pub fn prepare_temp(&self) -> Option<String> {
        let dir = self.wanted_temp.as_deref()?;
        let made = if dir.is_absolute() { create_private(dir) } else { Ok(()) };
        let why = match made {
            Ok(()) if !dir.is_absolute() => "it is not an absolute path".to_owned(),
            Err(_) if dir.exists() && !dir.is_dir() => "it is not a folder".to_owned(),
            Err(error) => error.to_string(),
            Ok(()) if self.temp().starts_with(dir) => return None,
            Ok(()) if !sys::fs::has_room(dir) => "it cannot be written to, or its disk is full".to_owned(),
            Ok(()) => format!("claude-{} in it is not a private folder of this user", sys::uid()),
        };
        let (dir, used) = (dir.display(), self.temp().display());
        Some(format!("Warning: {TEMP_VARIABLE}={dir} is not used: {why}. Temporary files go to {used}"))
    }

    /// The last folder, in the configuration home, is not checked: writing to it reports what failed.
    fn temp(&self) -> &Path {
        let usable = |temp: &&PathBuf| temp.parent().is_some_and(sys::fs::has_room) && is_private_or_absent(temp);
        let (last, others) = self.temps.split_last().map_or((Path::new("/tmp"), &[][..]), |(l, o)| (l.as_path(), o));
        others.iter().find(usable).map_or(last, PathBuf::as_path)
    }

    /// The temporary folders that exist and belong to this user only.
    pub(crate) fn temp_roots(&self) -> impl Iterator<Item = &Path> {
        self.temps.iter().map(PathBuf::as_path).filter(|temp| temp.is_dir() && is_private_or_absent(temp))
    }

    /// Creates the task directory, readable by this user only. Others can write to the shared temporary directory, so a
    /// root that is a link or belongs to another user is refused.
    pub fn create_tasks_dir(&self, cwd: &Path, session_id: &str) -> Result<PathBuf, StoreError> {
        let dir = self.tasks_dir(cwd, session_id);
        let fail = |source| StoreError::write(&dir, source);
        let root = dir.ancestors().nth(3).unwrap_or(&dir);
        create_private(root).map_err(fail)?;
        if !is_private_or_absent(root) {
            let reason = format!("{} is not a private directory of this user", root.display());
            return Err(fail(io::Error::new(io::ErrorKind::PermissionDenied, reason)));
        }
        create_private(&dir).map_err(fail)?;
        Ok(dir)
    }

    /// Directories that another program may have created for the same long path, with another hash.
    fn same_prefix(&self, path: &str) -> Vec<PathBuf> {
        let mut prefix: String = sanitised(path).take(NAME_LIMIT).collect();
        prefix.push('-');
        let Ok(entries) = std::fs::read_dir(self.projects()) else { return Vec::new() };
        let mut found: Vec<PathBuf> = entries
            .flatten()
            .filter(|e| e.file_name().to_str().is_some_and(|n| n.starts_with(&prefix)))
            .map(|e| e.path())
            .collect();
        found.sort();
        found
    }
}

/// False for a link, and for a folder that belongs to another user or that others can write to.
fn is_private_or_absent(root: &Path) -> bool {
    match std::fs::symlink_metadata(root) {
        Ok(meta) => meta.is_dir() && meta.uid() == sys::uid() && meta.mode() & 0o022 == 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Creates `dir` and its missing parents with mode 0700.
pub(crate) fn create_private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Returns `cwd` with links resolved, in NFC. A directory that does not exist is returned as spelled.
pub fn resolve_directory(cwd: &Path) -> String {
    let real = std::fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_path_buf());
    nfc(&real.to_string_lossy())
}

/// The directory name for an already resolved path.
pub fn project_name(path: &str) -> String {
    if utf16_len(path) <= NAME_LIMIT {
        return sanitised(path).collect();
    }
    let mut name: String = sanitised(path).take(NAME_LIMIT).collect();
    name.push('-');
    name.push_str(&base36(hash(path)));
    name
}

fn sanitised(path: &str) -> impl Iterator<Item = char> + '_ {
    path.encode_utf16().map(|unit| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
        _ => '-',
    })
}

fn utf16_len(path: &str) -> usize {
    path.encode_utf16().count()
}

/// A 32-bit signed, wrapping hash over UTF-16 code units.
fn hash(path: &str) -> u32 {
    path.encode_utf16().fold(0_i32, |h, unit| h.wrapping_mul(31).wrapping_add(i32::from(unit))).unsigned_abs()
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

pub(crate) fn nfc(text: &str) -> String {
    text.nfc().collect()
}

fn is_name(name: &str) -> bool {
    let plain = name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    plain && !is_device(name)
}

/// Names Windows reserves.
fn is_device(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let numbered = |stem: &str| upper.strip_prefix(stem).is_some_and(|n| matches!(n.as_bytes(), [b'1'..=b'9']));
    matches!(upper.as_str(), "CON" | "PRN" | "AUX" | "NUL") || numbered("COM") || numbered("LPT")
}

/// True when any transcript in `dir` was recorded in `path`.
fn holds_cwd(dir: &Path, path: &str) -> bool {
    let Ok(entries) = std::fs::read_dir(dir) else { return false };
    entries.flatten().any(|e| list::recorded_cwd(&e.path()).is_some_and(|cwd| nfc(&cwd) == path))
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
