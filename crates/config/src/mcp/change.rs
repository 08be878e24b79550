//! Writes declarations of servers, and the user's decisions about servers of a repository. Unknown keys of the state
//! file and comments in a repository's file are kept; a file that cannot be parsed is not changed.

use crate::edit::{EditError, FilePrivacy, SettingsEdit, SettingsTarget, change_file, edit};
use crate::layer::{parse_object, read_text};
use crate::project::ProjectConfig;
use crate::settings_files::{self, server_files};
use crate::state::{self, StateError, object, state_file};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use sys::Env;
use wire::mcp::RESERVED_NAMES;
use wire::settings::SettingsSource;

const SERVERS: &str = "mcpServers";
const CHOICES: [&str; 3] = ["enabledMcpjsonServers", "disabledMcpjsonServers", "enableAllProjectMcpServers"];

/// Where a declaration is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum McpPlace {
    /// For this user, in this folder.
    #[default]
    Local,
    /// For everybody who has the repository.
    Project,
    /// For this user, everywhere.
    User,
}

impl McpPlace {
    pub const ALL: [Self; 3] = [Self::Local, Self::Project, Self::User];

    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Project => "project",
            Self::User => "user",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.name() == text)
    }
}

/// A decision about a server of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpDecision {
    Approve(String),
    Reject(String),
    ApproveAll,
}

#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error("MCP server {name} already exists in {place} config")]
    Exists { name: String, place: &'static str },
    #[error("No {place}-scoped MCP server found with name: {name}")]
    NotThere { name: String, place: &'static str },
    #[error("Invalid name {0:?}: a server's name may have letters, digits, hyphens and underscores only")]
    BadName(String),
    #[error("{0:?} is a reserved server name; choose another one")]
    Reserved(String),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error("there is no home directory; set HOME or CLAUDE_CONFIG_DIR")]
    NoHome,
}

pub fn check_name(name: &str) -> Result<(), ChangeError> {
    if RESERVED_NAMES.contains(&name) {
        return Err(ChangeError::Reserved(name.to_owned()));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(plain) {
        return Err(ChangeError::BadName(name.to_owned()));
    }
    Ok(())
}

/// Changes what is declared for one folder.
#[derive(Clone, Copy, Debug)]
pub struct McpChange<'a> {
    pub cwd: &'a Path,
    pub env: &'a Env,
    pub loaded: &'a ProjectConfig,
}

impl McpChange<'_> {
    /// The file in which `place` stores declarations.
    pub fn file(&self, place: McpPlace) -> Option<PathBuf> {
        match place {
            McpPlace::Local | McpPlace::User => state_file(self.env),
            McpPlace::Project => Some(self.project_file()),
        }
    }

    /// The nearest MCP file of the repository, or a new one in the working directory.
    fn project_file(&self) -> PathBuf {
        let nearest = server_files(self.cwd).into_iter().find(|path| path.exists());
        nearest.unwrap_or_else(|| self.cwd.join(".mcp.json"))
    }

    /// Declares a server. Refuses a name that `place` already declares.
    pub fn add(&self, place: McpPlace, name: &str, value: Value) -> Result<PathBuf, ChangeError> {
        check_name(name)?;
        let file = self.file(place).ok_or(ChangeError::NoHome)?;
        let taken = || ChangeError::Exists { name: name.to_owned(), place: place.name() };
        match place {
            McpPlace::Project => {
                if declares(&file, name) {
                    return Err(taken());
                }
                edit(&file, &[SERVERS, name], &SettingsEdit::Set(value), FilePrivacy::Shared, self.env)?;
            }
            McpPlace::Local | McpPlace::User => {
                let mut added = false;
                state::update(self.env, |state| {
                    let servers = self.servers(place, state);
                    if !servers.contains_key(name) {
                        servers.insert(name.to_owned(), value);
                        added = true;
                    }
                })?;
                if !added {
                    return Err(taken());
                }
            }
        }
        Ok(file)
    }

    pub fn remove(&self, place: McpPlace, name: &str) -> Result<PathBuf, ChangeError> {
        let file = self.file(place).ok_or(ChangeError::NoHome)?;
        let mut had = false;
        match place {
            McpPlace::Project => {
                let files = server_files(self.cwd);
                let Some(path) = files.into_iter().find(|path| declares(path, name)) else {
                    return Err(ChangeError::NotThere { name: name.to_owned(), place: place.name() });
                };
                edit(&path, &[SERVERS, name], &SettingsEdit::Remove, FilePrivacy::Shared, self.env)?;
                return Ok(path);
            }
            McpPlace::User => state::update(self.env, |state| {
                had = self.servers(place, state).remove(name).is_some();
            })?,
            McpPlace::Local => state::update(self.env, |state| {
                for folder in super::folders(self.loaded, self.cwd) {
                    let entry =
                        state.get_mut("projects").and_then(|all| all.get_mut(folder.to_str()?)?.get_mut(SERVERS));
                    let servers = entry.and_then(Value::as_object_mut);
                    had |= servers.is_some_and(|servers| servers.remove(name).is_some());
                }
            })?,
        }
        if had { Ok(file) } else { Err(ChangeError::NotThere { name: name.to_owned(), place: place.name() }) }
    }

    /// The places that declare a server of this name.
    pub fn places_of(&self, name: &str) -> Vec<McpPlace> {
        let state = &self.loaded.state;
        let has = |place: &McpPlace| match place {
            McpPlace::User => state.value(SERVERS).is_some_and(|servers| servers.get(name).is_some()),
            McpPlace::Local => super::folders(self.loaded, self.cwd)
                .iter()
                .any(|folder| state.project_value(folder, SERVERS).is_some_and(|all| all.get(name).is_some())),
            McpPlace::Project => server_files(self.cwd).iter().any(|path| declares(path, name)),
        };
        McpPlace::ALL.into_iter().filter(has).collect()
    }

    fn servers<'s>(&self, place: McpPlace, state: &'s mut Map<String, Value>) -> &'s mut Map<String, Value> {
        let owner = match place {
            McpPlace::User | McpPlace::Project => state,
            McpPlace::Local => object(object(state, "projects"), &self.loaded.trust_key.display().to_string()),
        };
        object(owner, SERVERS)
    }

    /// Records a decision about a repository's server, in the user's local settings file of this folder.
    pub fn decide(&self, decision: &McpDecision) -> Result<(), ChangeError> {
        let target = SettingsTarget { source: SettingsSource::Local, cwd: self.cwd, env: self.env };
        let write = |key: &str, change: &SettingsEdit| target.change(&[key], change).map(drop);
        match decision {
            McpDecision::Approve(name) => {
                write(CHOICES[1], &SettingsEdit::Take(vec![name.as_str().into()]))?;
                write(CHOICES[0], &SettingsEdit::Add(vec![name.as_str().into()]))?;
            }
            McpDecision::Reject(name) => {
                write(CHOICES[0], &SettingsEdit::Take(vec![name.as_str().into()]))?;
                write(CHOICES[1], &SettingsEdit::Add(vec![name.as_str().into()]))?;
            }
            McpDecision::ApproveAll => write(CHOICES[2], &SettingsEdit::Set(true.into()))?,
        }
        Ok(())
    }

    /// Removes every decision about the repository's servers. Returns whether there was one.
    pub fn reset_choices(&self) -> Result<bool, ChangeError> {
        let mut had = false;
        for file in settings_files::local_files(self.cwd, self.env) {
            for key in CHOICES {
                had |= file.exists()
                    && change_file((SettingsSource::Local, &file), &[key], &SettingsEdit::Remove, self.env)?;
            }
        }
        let folders = super::folders(self.loaded, self.cwd);
        let has_choices = |folder: &PathBuf| {
            CHOICES.iter().any(|key| self.loaded.state.project_value(folder, key).is_some_and(holds_something))
        };
        if folders.iter().any(has_choices) {
            state::update(self.env, |state| {
                for folder in &folders {
                    let entry =
                        state.get_mut("projects").and_then(|all| all.get_mut(folder.to_str()?)?.as_object_mut());
                    let Some(entry) = entry else { continue };
                    for key in CHOICES {
                        had |= entry.remove(key).is_some_and(|value| holds_something(&value));
                    }
                }
            })?;
        }
        Ok(had)
    }
}

/// Whether a server is used in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpSwitch {
    On,
    Off,
}

/// Records for `folder` that a server is switched off or on.
pub fn switch(env: &Env, folder: &Path, name: &str, to: McpSwitch) -> Result<(), ChangeError> {
    const SWITCHED_OFF: &str = "disabledMcpServers";
    state::update(env, |state| {
        let entry = object(object(state, "projects"), &folder.display().to_string());
        let mut list = entry.get(SWITCHED_OFF).and_then(Value::as_array).cloned().unwrap_or_default();
        list.retain(|known| known.as_str() != Some(name));
        if to == McpSwitch::Off {
            list.push(name.into());
        }
        entry.insert(SWITCHED_OFF.to_owned(), list.into());
    })?;
    Ok(())
}

/// False for empty lists, which the reference writes for every folder.
fn holds_something(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false)) && value.as_array().is_none_or(|list| !list.is_empty())
}

fn declares(path: &Path, name: &str) -> bool {
    let Some(text) = read_text(path).ok() else { return false };
    parse_object(&text).is_ok_and(|parsed| parsed.object.get(SERVERS).is_some_and(|all| all.get(name).is_some()))
}
