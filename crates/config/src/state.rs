//! The global state file, read only. A missing or broken file is an empty one: nothing is trusted, nobody is signed in.

use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use sys::Env;

/// `~/.claude.json` as it stood when it was read.
#[derive(Clone, Debug, Default)]
pub struct GlobalState {
    raw: Map<String, Value>,
    /// Why the file could not be used.
    pub problem: Option<String>,
}

/// `$CLAUDE_CONFIG_DIR` or `~/.claude`.
pub fn config_home(env: &Env) -> Option<PathBuf> {
    match env.non_empty("CLAUDE_CONFIG_DIR") {
        Some(dir) => Some(PathBuf::from(dir)),
        None => env.home().map(|home| home.join(".claude")),
    }
}

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
        match std::fs::read(&path) {
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

    /// The key a console login stored.
    pub fn primary_api_key(&self) -> Option<&str> {
        self.raw.get("primaryApiKey")?.as_str().filter(|key| !key.is_empty())
    }

    /// Whether the folder with this key was trusted by the user.
    pub fn trusts(&self, folder: &Path) -> bool {
        self.project_flag(folder, "hasTrustDialogAccepted")
    }

    /// Whether instruction files of this folder may import files from outside it.
    pub fn approves_external_imports(&self, folder: &Path) -> bool {
        self.project_flag(folder, "hasClaudeMdExternalIncludesApproved")
    }

    fn project_flag(&self, folder: &Path, flag: &str) -> bool {
        let entry = folder.to_str().and_then(|key| self.raw.get("projects")?.get(key));
        entry.and_then(|entry| entry.get(flag)).and_then(Value::as_bool) == Some(true)
    }
}
