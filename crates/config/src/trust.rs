//! Whether the user vouched for a folder, and for what in it. Keyed on the real repository root; pointers that a repository
//! supplies about itself count only when the other side confirms them. An approval is bound to what was there: a hook,
//! server or helper that is new or changed makes the folder untrusted again.

use crate::activation::{self, Item};
use crate::layer::Layer;
use crate::project::{Loaded, TrustChoice};
use crate::state::{self, GlobalState, StateError};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use sys::Env;

/// Beside the reference's flag, in the folder's entry of the state file.
const RECORD: &str = "gimletTrust";
const FLAG: &str = "hasTrustDialogAccepted";

/// What is looked at when trust is settled.
pub(crate) struct Folder<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) env: &'a Env,
    pub(crate) layers: &'a [Layer],
    pub(crate) refuse: bool,
}

/// Something that needs an approval: new, or other than what was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub id: String,
    /// What was approved; `None` for something new.
    pub before: Option<String>,
    pub now: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trust {
    pub(crate) trusted: bool,
    /// The folder the answer is recorded under.
    pub(crate) key: PathBuf,
    pub(crate) changes: Vec<Difference>,
    pub(crate) adopts: bool,
    /// Names of the servers in `.mcp.json`, where they are refused.
    pub(crate) servers: Vec<String>,
}

impl Trust {
    pub(crate) fn of(folder: &Folder<'_>, state: &GlobalState, choice: TrustChoice) -> Self {
        let (repository, key) = key_of(folder.cwd);
        let flagged = match &repository {
            // A clone inside a trusted folder is not trusted by that.
            Some(_) => vouched(&key, folder.env, state),
            None => folder.cwd.ancestors().any(|dir| vouched(dir, folder.env, state)),
        };
        let mut trust = Self { trusted: flagged, key, changes: Vec::new(), adopts: false, servers: Vec::new() };
        if choice == TrustChoice::Granted {
            trust.trusted = true;
        } else if flagged {
            trust.compare(folder, state);
        }
        if folder.refuse && !trust.trusted {
            trust.servers = activation::server_names(folder.cwd);
        }
        trust
    }

    fn compare(&mut self, folder: &Folder<'_>, state: &GlobalState) {
        let start = start_of(folder.cwd, &self.key);
        let record = state.project_value(&self.key, RECORD);
        let approved = record.and_then(|record| record.get("starts")?.get(&start)?.as_object());
        match (record, approved) {
            (None, _) => self.adopts = true,
            // A flag of the reference said yes to the whole folder.
            (Some(record), None) if record.get("adopted") == Some(&Value::Bool(true)) => self.adopts = true,
            (Some(_), approved) => {
                let items = activation::list(folder.layers, folder.cwd);
                self.changes = differences(&items, approved);
                self.trusted = self.changes.is_empty();
            }
        }
    }
}

/// The repository root, and the folder trust is recorded under: the main checkout for a worktree it knows of.
fn key_of(cwd: &Path) -> (Option<PathBuf>, PathBuf) {
    let repository = sys::git::root(cwd);
    let key = match &repository {
        Some(root) => sys::git::main_checkout(root).unwrap_or_else(|| root.clone()),
        None => cwd.to_path_buf(),
    };
    (repository, key)
}

/// The starting directory inside the folder; each has its own settings.
fn start_of(cwd: &Path, key: &Path) -> String {
    cwd.strip_prefix(key).map_or_else(|_| cwd.display().to_string(), |rest| rest.display().to_string())
}

fn differences(items: &[Item], approved: Option<&Map<String, Value>>) -> Vec<Difference> {
    let mut found = Vec::new();
    for item in items {
        let before = approved.and_then(|approved| approved.get(&item.id));
        if before.and_then(|before| before.get("digest")?.as_str()) == Some(&item.digest) {
            continue;
        }
        let before = before.map(|before| before.get("text").and_then(Value::as_str).unwrap_or_default().to_owned());
        found.push(Difference { id: item.id.clone(), before, now: item.text.clone() });
    }
    found
}

/// Trust in the home directory lasts for a session only, so a stored answer for it does not count.
fn vouched(dir: &Path, env: &Env, state: &GlobalState) -> bool {
    let home = env.home();
    let real = std::fs::canonicalize(dir).ok();
    let spellings = [Some(dir.to_path_buf()), real];
    spellings.iter().flatten().any(|dir| dir.parent().is_some() && Some(dir) != home.as_ref() && state.trusts(dir))
}

/// Everything the folder would activate, for the question.
pub fn activations(cwd: &Path, loaded: &Loaded) -> Vec<Item> {
    activation::list(&loaded.layers, cwd)
}

/// How an approval came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// The user saw the list and said yes.
    Asked,
    /// The reference's flag was found; it counts for what is there now.
    Adopted,
}

/// Records that the user vouched for `cwd` with exactly these items.
pub fn approve(cwd: &Path, env: &Env, items: &[Item], approval: Approval) -> Result<(), StateError> {
    let (_, key) = key_of(cwd);
    let start = start_of(cwd, &key);
    let approved: Map<String, Value> =
        items.iter().map(|item| (item.id.clone(), json!({"digest": item.digest, "text": item.text}))).collect();
    state::update(env, |state| {
        let entry = project_entry(state, &key);
        if approval == Approval::Asked {
            entry.insert(FLAG.into(), true.into());
        }
        let record = object(entry, RECORD);
        record.insert("adopted".into(), (approval == Approval::Adopted).into());
        record.insert("at".into(), sys::clock::now_iso().into());
        object(record, "starts").insert(start, Value::Object(approved));
    })
}

/// Forgets an approval. `false` when there was none.
pub fn revoke(cwd: &Path, env: &Env) -> Result<bool, StateError> {
    let (_, key) = key_of(cwd);
    let mut had = false;
    state::update(env, |state| {
        let entry = project_entry(state, &key);
        had = entry.get(FLAG) == Some(&Value::Bool(true));
        entry.remove(RECORD);
        if had {
            entry.insert(FLAG.into(), false.into());
        }
    })?;
    Ok(had)
}

/// The folders that are trusted.
pub fn trusted_folders(env: &Env) -> Vec<String> {
    GlobalState::read(env).trusted_folders()
}

fn project_entry<'a>(state: &'a mut Map<String, Value>, key: &Path) -> &'a mut Map<String, Value> {
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
