//! Changes settings files and keeps comments, unknown keys, order and spacing. Under a lock the file is read again,
//! edited, written to a temporary file, flushed and renamed. A file that does not parse is not changed.

use crate::layer::{JSONC, ReadFailure, parse_object, read_text};
use crate::state::{StateError, config_home, lock_file, private_dir};
use crate::{ownership, settings_files};
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::Env;
use sys::fs::Durability;
use wire::settings::SettingsSource;

pub use crate::settings_edit::SettingsEdit;

const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("{path} was not changed: it {problem}")]
    Unreadable { path: String, problem: String },
    #[error("{path} was not changed: {key} is not a list there")]
    NotAList { path: String, key: String },
    #[error("{path} was not changed: {key} lies inside something that is not an object")]
    NotAnObject { path: String, key: String },
    #[error("{path}: {error}")]
    Io { path: String, error: std::io::Error },
    #[error("{path} was not changed: your choice could not be recorded ({error})")]
    Unrecorded { path: String, error: StateError },
    #[error("there is no home directory; set HOME or CLAUDE_CONFIG_DIR")]
    NoHome,
    #[error("{path} was not changed: it is a link to {target}, which counts for all your projects. Remove the link")]
    LeadsHome { path: String, target: String },
}

/// Who may read a file that must be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePrivacy {
    Private,
    Shared,
}

/// A settings file, named by its source and the directory it applies to. Other crates change settings only through this
/// type: what it writes to a file of a folder is recorded as the user's own, so that it needs no approval.
#[derive(Clone, Copy, Debug)]
pub struct SettingsTarget<'a> {
    pub source: SettingsSource,
    pub cwd: &'a Path,
    pub env: &'a Env,
}

/// The result of a change.
#[derive(Debug)]
pub struct SettingsChange {
    pub path: PathBuf,
    pub changed: bool,
    /// Git's list of ignored files, if a new local file was added to it.
    pub ignored: std::io::Result<Option<PathBuf>>,
}

impl SettingsTarget<'_> {
    /// Changes one key, given as a path of member names.
    pub fn change(&self, keys: &[&str], edit: &SettingsEdit) -> Result<SettingsChange, EditError> {
        let path = settings_files::file_of(self.source, self.cwd, self.env).ok_or(EditError::NoHome)?;
        let is_new = !path.exists();
        let changed = change_file((self.source, &path), keys, edit, self.env)?;
        let must_ignore = self.source == SettingsSource::Local && is_new && changed;
        let ignored = if must_ignore { settings_files::exclude_local_files(&path, self.env) } else { Ok(None) };
        Ok(SettingsChange { path, changed, ignored })
    }
}

/// Changes one key of a settings file on behalf of the user. The record is written first, so that a session that reads
/// the file in between does not hold the entry back.
pub(crate) fn change_file(
    (source, path): (SettingsSource, &Path),
    keys: &[&str],
    change: &SettingsEdit,
    env: &Env,
) -> Result<bool, EditError> {
    if matches!(source, SettingsSource::Local | SettingsSource::Project) {
        check_stays_in_folder(path, env)?;
        ownership::record_change(env, (source, path), keys, change)
            .map_err(|error| EditError::Unrecorded { path: path.display().to_string(), error })?;
    }
    let privacy = if source == SettingsSource::Project { FilePrivacy::Shared } else { FilePrivacy::Private };
    edit(path, keys, change, privacy, env)
}

/// Refuses a link that leads into the configuration home: a grant for one folder would apply to all projects.
fn check_stays_in_folder(path: &Path, env: &Env) -> Result<(), EditError> {
    let real = sys::real_path::path(path);
    let Some(home) = config_home(env).map(|home| sys::real_path::path(&home)) else { return Ok(()) };
    let expected = path.strip_prefix(path.parent().and_then(Path::parent).unwrap_or(Path::new("/")));
    let expected = expected.map(|name| ownership::settings_dir(path).join(name));
    if !real.starts_with(&home) || expected.is_ok_and(|expected| expected == real) {
        return Ok(());
    }
    Err(EditError::LeadsHome { path: path.display().to_string(), target: real.display().to_string() })
}

/// Changes one key (a path of member names). Returns whether the file changed.
pub fn edit(
    path: &Path,
    keys: &[&str],
    edit: &SettingsEdit,
    privacy: FilePrivacy,
    env: &Env,
) -> Result<bool, EditError> {
    let shown = path.display().to_string();
    let io = |error| EditError::Io { path: shown.clone(), error };
    let lock = lock_file(env, path).map_err(io)?;
    sys::fs::with_lock(&lock, LOCK_TIMEOUT, || edit_locked(path, keys, edit, privacy)).map_err(io)?
}

fn edit_locked(path: &Path, keys: &[&str], edit: &SettingsEdit, privacy: FilePrivacy) -> Result<bool, EditError> {
    let shown = path.display().to_string();
    let before = match read_text(path) {
        Ok(text) => text,
        Err(ReadFailure::Missing) => String::new(),
        Err(ReadFailure::Unusable(problem)) => return Err(EditError::Unreadable { path: shown, problem }),
    };
    let after = apply(&before, keys, edit, &shown)?;
    if after == before {
        return Ok(false);
    }
    // The new text must parse; a failure here is our bug and must not reach the file.
    if let Err((_, problem)) = parse_object(&after) {
        return Err(EditError::Unreadable { path: shown, problem });
    }
    write(path, after.as_bytes(), privacy).map_err(|error| EditError::Io { path: shown, error })?;
    Ok(true)
}

fn write(path: &Path, bytes: &[u8], privacy: FilePrivacy) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let mode = match privacy {
        FilePrivacy::Private => {
            private_dir(dir)?;
            0o600
        }
        FilePrivacy::Shared => {
            std::fs::create_dir_all(dir)?;
            0o644
        }
    };
    sys::fs::atomic_write_with(path, bytes, mode, Durability::Disk)
}

pub(crate) fn apply(text: &str, keys: &[&str], edit: &SettingsEdit, shown: &str) -> Result<String, EditError> {
    let unreadable = |problem: String| EditError::Unreadable { path: shown.to_owned(), problem };
    parse_object(text).map_err(|(line, problem)| {
        unreadable(line.map_or(problem.clone(), |line| format!("{problem} on line {line}")))
    })?;
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root = CstRootNode::parse(if bare.trim().is_empty() { "{}\n" } else { bare }, &JSONC)
        .map_err(|error| unreadable(error.to_string()))?;
    let object = root.object_value_or_set();
    let Some((last, parents)) = keys.split_last() else { return Ok(text.to_owned()) };
    let wanted = matches!(edit, SettingsEdit::Set(_) | SettingsEdit::Add(_));
    let Some(object) = descend(object, parents, wanted, shown)? else { return Ok(text.to_owned()) };
    let changed = change(&object, last, edit, &|| EditError::NotAList { path: shown.to_owned(), key: keys.join(".") })?;
    Ok(if changed { root.to_string() } else { text.to_owned() })
}

fn descend(mut object: CstObject, parents: &[&str], make: bool, shown: &str) -> Result<Option<CstObject>, EditError> {
    for name in parents {
        let found = if make { object.object_value_or_create(name) } else { object.object_value(name) };
        match found {
            Some(inner) => object = inner,
            None if make => {
                return Err(EditError::NotAnObject { path: shown.to_owned(), key: (*name).to_owned() });
            }
            None => return Ok(None),
        }
    }
    Ok(Some(object))
}

fn change(
    object: &CstObject,
    name: &str,
    edit: &SettingsEdit,
    not_a_list: &dyn Fn() -> EditError,
) -> Result<bool, EditError> {
    match edit {
        SettingsEdit::Set(value) => match object.get(name) {
            Some(property) if property.to_serde_value().as_ref() == Some(value) => return Ok(false),
            Some(property) => property.set_value(input(value)),
            None => drop(object.append(name, input(value))),
        },
        SettingsEdit::Remove => match object.get(name) {
            Some(property) => property.remove(),
            None => return Ok(false),
        },
        SettingsEdit::Add(values) => {
            let list = object.array_value_or_create(name).ok_or_else(not_a_list)?;
            let present: Vec<Value> = list.elements().iter().filter_map(CstNode::to_serde_value).collect();
            let new: Vec<&Value> = values.iter().filter(|value| !present.contains(value)).collect();
            for value in &new {
                list.append(input(value));
            }
            return Ok(!new.is_empty());
        }
        SettingsEdit::Take(values) => {
            let Some(property) = object.get(name) else { return Ok(false) };
            let list = property.array_value().ok_or_else(not_a_list)?;
            let gone: Vec<_> = list
                .elements()
                .into_iter()
                .filter(|element| element.to_serde_value().is_some_and(|value| values.contains(&value)))
                .collect();
            let any = !gone.is_empty();
            gone.into_iter().for_each(CstNode::remove);
            // An empty list says nothing, and would look like an entry that somebody else wrote.
            if any && list.elements().is_empty() {
                property.remove();
            }
            return Ok(any);
        }
    }
    Ok(true)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(entries) => CstInputValue::Array(entries.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
