//! The global state file. For readers a missing or broken file is an empty one: nothing is trusted, nobody is signed
//! in. Writers hold a lock, read the file again, keep unknown keys, keep the last five versions, replace the file in
//! one step and flush it. A file that cannot be parsed is copied to a backup and never overwritten.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::Env;
use sys::fs::Durability;

const BACKUPS: usize = 5;
const SKILL_USES: &str = "skillUsage";
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// Why the state file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error("there is no home directory to keep .claude.json in; set HOME or CLAUDE_CONFIG_DIR")]
    NoHome,
    #[error("{path} cannot be parsed ({problem}). A copy was kept as {aside}. {way_back}")]
    Corrupt { path: String, problem: String, aside: String, way_back: String },
    #[error("{path}: {error}")]
    Io { path: String, error: std::io::Error },
}

/// The content of `~/.claude.json` when it was read.
#[derive(Clone, Debug, Default)]
pub struct GlobalState {
    raw: Map<String, Value>,
    /// Why the file could not be used; `None` when it could.
    pub problem: Option<String>,
}

/// `$CLAUDE_CONFIG_DIR` or `~/.claude`.
pub fn config_home(env: &Env) -> Option<PathBuf> {
    match env.non_empty("CLAUDE_CONFIG_DIR") {
        Some(dir) => Some(PathBuf::from(dir)),
        None => env.home().map(|home| home.join(".claude")),
    }
}

/// No state file is larger; a FIFO or device in its place is never waited for.
const MAX_BYTES: usize = 256 * 1024 * 1024;

/// `$CLAUDE_CONFIG_DIR/.claude.json` or `~/.claude.json`.
pub fn state_file(env: &Env) -> Option<PathBuf> {
    match env.non_empty("CLAUDE_CONFIG_DIR") {
        Some(dir) => Some(PathBuf::from(dir).join(".claude.json")),
        None => env.home().map(|home| home.join(".claude.json")),
    }
}

impl GlobalState {
    pub fn read(env: &Env) -> Self {
        let Some(path) = state_file(env) else { return Self::default() };
        match sys::fs::read_whole(&path, MAX_BYTES) {
            Ok(bytes) => Self::parse(&path, &bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::default(),
            Err(error) => Self { raw: Map::new(), problem: Some(format!("{}: {error}", path.display())) },
        }
    }

    fn parse(path: &Path, bytes: &[u8]) -> Self {
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(raw)) => Self { raw, problem: None },
            Ok(_) => Self { raw: Map::new(), problem: Some(format!("{}: not a JSON object", path.display())) },
            Err(error) => Self { raw: Map::new(), problem: Some(format!("{}: {error}", path.display())) },
        }
    }

    /// The key that a console login stored.
    pub fn primary_api_key(&self) -> Option<&str> {
        self.raw.get("primaryApiKey")?.as_str().filter(|key| !key.is_empty())
    }

    /// True when the user trusts the folder.
    pub fn trusts(&self, folder: &Path) -> bool {
        self.project_flag(folder, "hasTrustDialogAccepted")
    }

    /// True when instruction files of this folder may import files from outside it.
    pub fn approves_external_imports(&self, folder: &Path) -> bool {
        self.project_flag(folder, "hasClaudeMdExternalIncludesApproved")
    }

    fn project_flag(&self, folder: &Path, flag: &str) -> bool {
        self.project_value(folder, flag).and_then(Value::as_bool) == Some(true)
    }

    /// One member of the file.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.raw.get(name)
    }

    /// One member of a folder's entry.
    pub fn project_value(&self, folder: &Path, name: &str) -> Option<&Value> {
        self.raw.get("projects")?.get(folder.to_str()?)?.get(name)
    }

    pub(crate) fn trusted_folders(&self) -> Vec<String> {
        let projects = self.raw.get("projects").and_then(Value::as_object).into_iter().flatten();
        let trusted = |entry: &Value| entry.get("hasTrustDialogAccepted") == Some(&Value::Bool(true));
        projects.filter(|(_, entry)| trusted(entry)).map(|(folder, _)| folder.clone()).collect()
    }

    /// How often each skill was invoked.
    pub fn skill_uses(&self) -> BTreeMap<String, u64> {
        let all = self.raw.get(SKILL_USES).and_then(Value::as_object).into_iter().flatten();
        all.filter_map(|(name, entry)| Some((name.clone(), entry.get("usageCount")?.as_u64()?))).collect()
    }

    /// A field of the account of the login.
    pub fn account(&self, name: &str) -> Option<&str> {
        self.raw.get("oauthAccount")?.get(name)?.as_str()
    }
}

/// Trust in the home directory lasts for a session only, so a stored answer for it does not count.
pub(crate) fn is_trusted(dir: &Path, env: &Env, state: &GlobalState) -> bool {
    let home = env.home();
    let real = std::fs::canonicalize(dir).ok();
    let spellings = [Some(dir.to_path_buf()), real];
    spellings.iter().flatten().any(|dir| dir.parent().is_some() && Some(dir) != home.as_ref() && state.trusts(dir))
}

pub(crate) fn project_entry<'a>(state: &'a mut Map<String, Value>, key: &Path) -> &'a mut Map<String, Value> {
    object(object(state, "projects"), &key.display().to_string())
}

pub(crate) fn object<'a>(map: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let value = map.entry(name).or_insert_with(|| Value::Object(Map::new()));
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(inner) => inner,
        // Just made one above.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => unreachable!(),
    }
}

/// Counts one more use of a skill.
pub fn count_skill_use(env: &Env, name: &str, now_ms: u64) -> Result<(), StateError> {
    update(env, |state| {
        let Value::Object(all) = state.entry(SKILL_USES).or_insert_with(|| Value::Object(Map::new())) else { return };
        let count = all.get(name).and_then(|entry| entry.get("usageCount")?.as_u64()).unwrap_or(0);
        all.insert(name.to_owned(), serde_json::json!({"usageCount": count + 1, "lastUsedAt": now_ms}));
    })
}

/// Removes everything about a folder, including its trust. Returns whether there was anything.
pub fn forget_project(env: &Env, folder: &str) -> Result<bool, StateError> {
    if !knows_project(env, folder) {
        return Ok(false);
    }
    let mut had = false;
    update(env, |state| {
        let projects = state.get_mut("projects").and_then(Value::as_object_mut);
        had = projects.and_then(|projects| projects.remove(folder)).is_some();
    })?;
    Ok(had)
}

/// True when the file has an entry for this folder.
pub fn knows_project(env: &Env, folder: &str) -> bool {
    GlobalState::read(env).raw.get("projects").is_some_and(|projects| projects.get(folder).is_some())
}

/// Fails when the state file cannot be parsed: sessions without a person must not guess trust and accounts.
pub fn check(env: &Env) -> Result<(), StateError> {
    match read_for_change(env) {
        Ok(_) | Err(StateError::NoHome | StateError::Io { .. }) => Ok(()),
        Err(corrupt @ StateError::Corrupt { .. }) => Err(corrupt),
    }
}

/// Changes the state file under a lock that other gimlet processes use too.
pub fn update(env: &Env, change: impl FnOnce(&mut Map<String, Value>)) -> Result<(), StateError> {
    let path = state_file(env).ok_or(StateError::NoHome)?;
    let failed = |error| StateError::Io { path: path.display().to_string(), error };
    let lock = lock_file(env, &path).map_err(failed)?;
    sys::fs::with_lock(&lock, LOCK_TIMEOUT, || {
        let (mut state, before) = read_for_change(env)?;
        let old = state.clone();
        change(&mut state);
        if state == old && before.is_some() {
            return Ok(());
        }
        if let Some(before) = before {
            back_up(env, &before);
        }
        let mut text = serde_json::to_string_pretty(&state).unwrap_or_default();
        text.push('\n');
        write_private(&path, text.as_bytes()).map_err(failed)
    })
    .map_err(failed)?
}

/// The state, and the bytes it was read from; `None` when there was no file.
type StateRead = (Map<String, Value>, Option<Vec<u8>>);

fn read_for_change(env: &Env) -> Result<StateRead, StateError> {
    let path = state_file(env).ok_or(StateError::NoHome)?;
    let shown = path.display().to_string();
    let bytes = match sys::fs::read_whole(&path, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Map::new(), None)),
        Err(error) => return Err(StateError::Io { path: shown, error }),
    };
    if bytes.trim_ascii().is_empty() {
        return Ok((Map::new(), None));
    }
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(raw)) => Ok((raw, Some(bytes))),
        Ok(_) => Err(corrupt(env, shown, "it is not a JSON object".into(), &bytes)),
        Err(error) => Err(corrupt(env, shown, error.to_string(), &bytes)),
    }
}

fn corrupt(env: &Env, path: String, problem: String, bytes: &[u8]) -> StateError {
    let aside = back_up_as(env, "corrupted", bytes).map_or_else(|| "nothing".into(), |path| path.display().to_string());
    StateError::Corrupt { path, problem, aside, way_back: way_back(env) }
}

/// The backups that can be parsed, newest first.
pub fn good_backups(env: &Env) -> Vec<PathBuf> {
    let Some(dir) = config_home(env).map(|home| home.join("backups")) else { return Vec::new() };
    let is_good = |path: &PathBuf| {
        std::fs::read(path).is_ok_and(|bytes| serde_json::from_slice::<Map<String, Value>>(&bytes).is_ok())
    };
    backups(&dir, ".claude.json.backup.").into_iter().rev().filter(is_good).collect()
}

/// The advice for a file that cannot be parsed: names the good backups and how to restore the newest.
pub fn way_back(env: &Env) -> String {
    let path = state_file(env).map(|path| path.display().to_string()).unwrap_or_default();
    let backups = good_backups(env);
    let Some(newest) = backups.first() else {
        return format!("There is no good backup: repair {path}, or remove it to start again");
    };
    let named: Vec<String> = backups.iter().map(|path| path.display().to_string()).collect();
    let (from, to) = (quoted(&newest.display().to_string()), quoted(&path));
    format!(
        "Good backups, newest first: {}. To bring the newest back: cp {from} {to}. Or repair the file, or remove it to \
         begin anew",
        named.join(", ")
    )
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,@%".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Copies bytes into the backup directory. The same bytes are stored once.
fn back_up_as(env: &Env, kind: &str, bytes: &[u8]) -> Option<PathBuf> {
    let dir = config_home(env)?.join("backups");
    private_dir(&dir).ok()?;
    let prefix = format!(".claude.json.{kind}.");
    let known = backups(&dir, &prefix).into_iter().rev().find(|path| std::fs::read(path).is_ok_and(|old| old == bytes));
    if known.is_some() {
        return known;
    }
    let path = dir.join(format!("{prefix}{:013}{}", sys::clock::now_ms(), sys::id::base36(3)));
    write_private(&path, bytes).ok()?;
    Some(path)
}

/// Sorted oldest first.
fn backups(dir: &Path, prefix: &str) -> Vec<PathBuf> {
    let named = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
    let entries = std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(named).collect();
    found.sort();
    found
}

fn back_up(env: &Env, bytes: &[u8]) {
    let Some(dir) = config_home(env).map(|home| home.join("backups")) else { return };
    if back_up_as(env, "backup", bytes).is_none() {
        return;
    }
    let all = backups(&dir, ".claude.json.backup.");
    for old in all.iter().take(all.len().saturating_sub(BACKUPS)) {
        std::fs::remove_file(old).ok();
    }
}

/// The lock file of a file, kept in our own directory so that no lock appears in a repository.
pub(crate) fn lock_file(env: &Env, path: &Path) -> std::io::Result<PathBuf> {
    use sha2::{Digest, Sha256};
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    let home = config_home(env).ok_or_else(|| std::io::Error::from(ErrorKind::NotFound))?;
    let dir = home.join("locks");
    private_dir(&dir)?;
    let digest = Sha256::digest(sys::real_path::path(path).as_os_str().as_bytes());
    let name = digest.iter().take(8).fold(String::new(), |mut name, byte| {
        write!(name, "{byte:02x}").ok();
        name
    });
    Ok(dir.join(format!("{name}.lock")))
}

pub(crate) fn private_dir(dir: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Makes the file readable by the user only, even when it was not before.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if let Some(dir) = path.parent() {
        private_dir(dir)?;
    }
    if path.exists() {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    }
    sys::fs::atomic_write_with(path, bytes, 0o600, Durability::Disk)
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
