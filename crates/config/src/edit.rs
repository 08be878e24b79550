//! Changes settings files without losing anything: comments, unknown keys, order and spacing stay. Under a lock the file is
//! read again, edited, written beside, flushed and renamed. A file that does not parse is not touched.

use crate::layer::{JSONC, ReadFailure, parse_object, read_text};
use crate::state::{lock_file, private_dir};
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use sys::Env;
use sys::fs::Durability;

const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    Set(Value),
    /// Appends to a list what is not in it yet.
    Add(Vec<Value>),
    /// Takes entries out of a list.
    Take(Vec<Value>),
    Remove,
}

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
}

/// Who may read a file that has to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    Private,
    Shared,
}

/// Changes one key (a path of member names). Says whether the file changed.
pub fn edit(path: &Path, keys: &[&str], edit: &Edit, privacy: Privacy, env: &Env) -> Result<bool, EditError> {
    let shown = path.display().to_string();
    let io = |error| EditError::Io { path: shown.clone(), error };
    let lock = lock_file(env, path).map_err(io)?;
    sys::fs::with_lock(&lock, PATIENCE, || locked(path, keys, edit, privacy)).map_err(io)?
}

fn locked(path: &Path, keys: &[&str], edit: &Edit, privacy: Privacy) -> Result<bool, EditError> {
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
    // What we are about to write must be readable; a failure here is ours and must not reach the file.
    if let Err((_, problem)) = parse_object(&after) {
        return Err(EditError::Unreadable { path: shown, problem });
    }
    write(path, after.as_bytes(), privacy).map_err(|error| EditError::Io { path: shown, error })?;
    Ok(true)
}

fn write(path: &Path, bytes: &[u8], privacy: Privacy) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let mode = match privacy {
        Privacy::Private => {
            private_dir(dir)?;
            0o600
        }
        Privacy::Shared => {
            std::fs::create_dir_all(dir)?;
            0o644
        }
    };
    sys::fs::atomic_write_with(path, bytes, mode, Durability::Disk)
}

pub(crate) fn apply(text: &str, keys: &[&str], edit: &Edit, shown: &str) -> Result<String, EditError> {
    let unreadable = |problem: String| EditError::Unreadable { path: shown.to_owned(), problem };
    parse_object(text).map_err(|(line, problem)| {
        unreadable(line.map_or(problem.clone(), |line| format!("{problem} on line {line}")))
    })?;
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root = CstRootNode::parse(if bare.trim().is_empty() { "{}\n" } else { bare }, &JSONC)
        .map_err(|error| unreadable(error.to_string()))?;
    let object = root.object_value_or_set();
    let Some((last, parents)) = keys.split_last() else { return Ok(text.to_owned()) };
    let wanted = matches!(edit, Edit::Set(_) | Edit::Add(_));
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

fn change(object: &CstObject, name: &str, edit: &Edit, not_a_list: &dyn Fn() -> EditError) -> Result<bool, EditError> {
    match edit {
        Edit::Set(value) => match object.get(name) {
            Some(property) if property.to_serde_value().as_ref() == Some(value) => return Ok(false),
            Some(property) => property.set_value(input(value)),
            None => drop(object.append(name, input(value))),
        },
        Edit::Remove => match object.get(name) {
            Some(property) => property.remove(),
            None => return Ok(false),
        },
        Edit::Add(values) => {
            let list = object.array_value_or_create(name).ok_or_else(not_a_list)?;
            let present: Vec<Value> = list.elements().iter().filter_map(CstNode::to_serde_value).collect();
            let new: Vec<&Value> = values.iter().filter(|value| !present.contains(value)).collect();
            for value in &new {
                list.append(input(value));
            }
            return Ok(!new.is_empty());
        }
        Edit::Take(values) => {
            let Some(property) = object.get(name) else { return Ok(false) };
            let list = property.array_value().ok_or_else(not_a_list)?;
            let gone: Vec<_> = list
                .elements()
                .into_iter()
                .filter(|element| element.to_serde_value().is_some_and(|value| values.contains(&value)))
                .collect();
            let any = !gone.is_empty();
            gone.into_iter().for_each(CstNode::remove);
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
