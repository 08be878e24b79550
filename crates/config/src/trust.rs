//! Whether the user trusts a folder, and which of its entries. Keyed on the real repository root; pointers that a repository
//! supplies about itself count only when the other side confirms them. An approval is bound to what was there: a hook,
//! server or helper that is new or changed makes the folder untrusted again. Allow rules, directories and all entries of
//! the local settings file do not: each of them stays without effect until the user accepts it.

use crate::activation::{self, ActivationItem, TrustDifference};
use crate::layer::SettingsLayer;
use crate::ownership::{self, FirstSight, LocalFile, LocalJudge, OwnershipRecord, WaitingEntry};
use crate::project_config::ProjectConfig;
use crate::selection::TrustChoice;
use crate::settings_files;
use crate::state::{self, GlobalState, StateError, is_trusted, object, project_entry};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use sys::Env;
use wire::settings::SettingsSource;

/// The key next to the reference's flag, in the folder's entry of the state file.
const RECORD: &str = "gimletTrust";
const FLAG: &str = "hasTrustDialogAccepted";

/// The inputs of a trust decision.
pub(crate) struct TrustInputs<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) env: &'a Env,
    pub(crate) layers: &'a [SettingsLayer],
    pub(crate) refuse: bool,
    /// Whether local settings files are read.
    pub(crate) reads_local: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FolderTrust {
    pub(crate) trusted: bool,
    /// The folder the answer is recorded under.
    pub(crate) key: PathBuf,
    pub(crate) changes: Vec<TrustDifference>,
    pub(crate) adopts: bool,
    /// Names of the servers in `.mcp.json`, where they are refused.
    pub(crate) servers: Vec<String>,
    /// Local settings files and what of them counts.
    pub(crate) local: Vec<LocalFile>,
    /// Entries of all files that have no effect until the user accepts them one by one.
    pub(crate) waiting: Vec<WaitingEntry>,
    /// Entries of the shared settings file that gimlet wrote for this user.
    pub(crate) own: BTreeSet<String>,
    pub(crate) first_sights: Vec<FirstSight>,
}

impl FolderTrust {
    pub(crate) fn of(folder: &TrustInputs<'_>, state: &GlobalState, choice: TrustChoice) -> Self {
        let (repository, key) = key_of(folder.cwd);
        let flagged = match &repository {
            // A clone inside a trusted folder is not trusted by that.
            Some(_) => is_trusted(&key, folder.env, state),
            None => folder.cwd.ancestors().any(|dir| is_trusted(dir, folder.env, state)),
        };
        let mut trust = Self {
            trusted: flagged,
            key,
            changes: Vec::new(),
            adopts: false,
            servers: Vec::new(),
            local: Vec::new(),
            waiting: Vec::new(),
            own: own_entries(folder, state),
            first_sights: Vec::new(),
        };
        trust.judge_local(folder, state, choice);
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

    fn compare(&mut self, folder: &TrustInputs<'_>, state: &GlobalState) {
        let start = start_of(folder.cwd, &self.key);
        let record = state.project_value(&self.key, RECORD);
        let approved = record.and_then(|record| record.get("starts")?.get(&start)?.as_object());
        match (record, approved) {
            (None, _) => self.adopts = true,
            // The reference's flag trusts the whole folder.
            (Some(record), None) if record.get("adopted") == Some(&Value::Bool(true)) => self.adopts = true,
            (Some(_), approved) => {
                let items = activation::list(folder.layers, folder.cwd);
                let foreign = items.into_iter().filter(|item| !self.own.contains(&item.mark));
                let (alone, whole): (Vec<ActivationItem>, Vec<ActivationItem>) =
                    foreign.partition(ActivationItem::waits_alone);
                self.changes = differences(&whole, approved);
                self.trusted = self.changes.is_empty();
                let known = OwnershipRecord::of(state, &sys::real_path::path(folder.cwd));
                let waits =
                    |item: ActivationItem| WaitingEntry { before: None, refused: known.is_refused(&item.mark), item };
                self.waiting.extend(alone.into_iter().filter(|item| !is_approved(item, approved)).map(waits));
            }
        }
    }

    fn judge_local(&mut self, folder: &TrustInputs<'_>, state: &GlobalState, choice: TrustChoice) {
        if !folder.reads_local {
            return;
        }
        let trusts = |dir: &Path| is_trusted(dir, folder.env, state);
        let judge = LocalJudge { state, granted: choice == TrustChoice::Granted, trusts: &trusts };
        for path in settings_files::local_files(folder.cwd, folder.env) {
            let of_path =
                |layer: &&SettingsLayer| layer.source == SettingsSource::Local && layer.path.as_ref() == Some(&path);
            let mut file = judge.local(&path, folder.layers.iter().find(of_path));
            self.waiting.append(&mut file.waiting);
            self.first_sights.extend(file.first_sight.take());
            self.local.push(file);
        }
    }

    /// Whether an entry of the shared settings file needs acceptance of its own.
    pub(crate) fn holds_back(&self, mark: &str) -> bool {
        self.waiting.iter().any(|waiting| waiting.item.mark == mark)
    }

    /// What counts of a local settings file.
    pub(crate) fn effective_entries(&self, path: Option<&Path>) -> Map<String, Value> {
        let file = self.local.iter().find(|file| Some(file.path.as_path()) == path);
        file.map(|file| file.effective.clone()).unwrap_or_default()
    }
}

fn own_entries(folder: &TrustInputs<'_>, state: &GlobalState) -> BTreeSet<String> {
    let known = OwnershipRecord::of(state, &sys::real_path::path(folder.cwd));
    let mut items = Vec::new();
    if !known.has_own() {
        return BTreeSet::new();
    }
    for layer in folder.layers.iter().filter(|layer| layer.source == SettingsSource::Project) {
        activation::list_layer(layer, &mut items);
    }
    items.into_iter().map(|item| item.mark).filter(|mark| known.is_own(mark)).collect()
}

/// The directories whose local settings files apply in `cwd`, and the folder itself.
fn settings_dirs(cwd: &Path, env: &Env, key: &Path) -> Vec<PathBuf> {
    let files = settings_files::local_files(cwd, env);
    let mut dirs: Vec<PathBuf> = files.iter().map(|file| ownership::settings_dir(file)).collect();
    let key = sys::real_path::path(key);
    if !dirs.contains(&key) {
        dirs.push(key);
    }
    dirs
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

fn differences(items: &[ActivationItem], approved: Option<&Map<String, Value>>) -> Vec<TrustDifference> {
    let mut found = Vec::new();
    for item in items.iter().filter(|item| !is_approved(item, approved)) {
        let before = approved.and_then(|approved| approved.get(&item.id));
        let before = before.map(|before| before.get("text").and_then(Value::as_str).unwrap_or_default().to_owned());
        found.push(TrustDifference { kind: item.kind, id: item.id.clone(), before, now: item.text.clone() });
    }
    found
}

fn is_approved(item: &ActivationItem, approved: Option<&Map<String, Value>>) -> bool {
    let before = approved.and_then(|approved| approved.get(&item.id)?.get("digest")?.as_str());
    before == Some(&item.digest)
}

/// Everything the folder would activate, for the question: what its shared files declare, and the entries of local settings
/// files that wait. Entries that count by themselves already are left out.
pub fn activations(cwd: &Path, loaded: &ProjectConfig) -> Vec<ActivationItem> {
    let known = OwnershipRecord::of(&loaded.state, &sys::real_path::path(cwd));
    let mut items = activation::list(&loaded.layers, cwd);
    items.retain(|item| !(item.waits_alone() && known.is_own(&item.mark)));
    let local = loaded.waiting.iter().map(|waiting| &waiting.item).filter(|item| item.is_local);
    items.extend(local.cloned());
    sys::compact_sort::sort_by(&mut items, |a, b| (a.kind, &a.id).cmp(&(b.kind, &b.id)));
    items
}

/// The source of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalOrigin {
    /// The user accepted the list that was shown.
    Asked,
    /// The reference's flag was found; it counts for what is there now.
    Adopted,
}

/// Records that the user trusts `cwd` with exactly these items.
pub fn approve(cwd: &Path, env: &Env, items: &[ActivationItem], approval: ApprovalOrigin) -> Result<(), StateError> {
    let (_, key) = key_of(cwd);
    let start = start_of(cwd, &key);
    let dirs = settings_dirs(cwd, env, &key);
    // Entries that applied because the folder was trusted before keep applying.
    let before = GlobalState::read(env);
    let adopted: Vec<FirstSight> = dirs.iter().filter_map(|dir| ownership::adoption(env, &before, dir)).collect();
    let (local, shared): (Vec<&ActivationItem>, Vec<&ActivationItem>) = items.iter().partition(|item| item.is_local);
    state::update(env, |state| {
        let entry = project_entry(state, &key);
        if approval == ApprovalOrigin::Asked {
            entry.insert(FLAG.into(), true.into());
        }
        let record = object(entry, RECORD);
        record.insert("adopted".into(), (approval == ApprovalOrigin::Adopted).into());
        record.insert("at".into(), sys::clock::now_iso().into());
        let approved = shared.iter().map(|item| approved_item(item)).collect();
        object(record, "starts").insert(start, Value::Object(approved));
        ownership::record_first_sights(state, &adopted);
        if approval == ApprovalOrigin::Asked {
            ownership::accept(state, &dirs, &local);
        }
    })
}

fn approved_item(item: &ActivationItem) -> (String, Value) {
    (item.id.clone(), json!({"digest": item.digest, "text": item.text}))
}

/// Records that the user accepts these entries, in addition to earlier ones. Does not change trust in the rest of the folder.
pub fn approve_entries(cwd: &Path, env: &Env, items: &[ActivationItem]) -> Result<(), StateError> {
    let (_, key) = key_of(cwd);
    let start = start_of(cwd, &key);
    let (local, shared): (Vec<&ActivationItem>, Vec<&ActivationItem>) = items.iter().partition(|item| item.is_local);
    state::update(env, |state| {
        if !shared.is_empty() {
            let record = object(project_entry(state, &key), RECORD);
            object(object(record, "starts"), &start).extend(shared.iter().map(|item| approved_item(item)));
        }
        ownership::accept(state, &[], &local);
    })
}

/// Records that the user refused these entries: they have no effect, and the question is not repeated.
pub fn refuse_entries(env: &Env, items: &[ActivationItem]) -> Result<(), StateError> {
    state::update(env, |state| ownership::refuse(state, items))
}

/// Whether a folder that gimlet reads for the first time needs a record.
pub fn is_first_sight(loaded: &ProjectConfig) -> bool {
    loaded.adopts_trust || !loaded.first_sights.is_empty()
}

/// Records what `loaded` found in a folder that gimlet reads for the first time. A folder that was trusted before is trusted for
/// what is there now; whatever comes later waits.
pub fn record_first_sight(cwd: &Path, env: &Env, loaded: &ProjectConfig) -> Result<(), StateError> {
    if loaded.adopts_trust {
        let items = activation::list(&loaded.layers, cwd);
        approve(cwd, env, &items, ApprovalOrigin::Adopted)?;
    }
    if loaded.first_sights.is_empty() {
        return Ok(());
    }
    state::update(env, |state| ownership::record_first_sights(state, &loaded.first_sights))
}

/// Forgets an approval. `false` when there was none.
pub fn revoke(cwd: &Path, env: &Env) -> Result<bool, StateError> {
    let (_, key) = key_of(cwd);
    let dirs = settings_dirs(cwd, env, &key);
    let mut had = false;
    state::update(env, |state| {
        let entry = project_entry(state, &key);
        had = entry.get(FLAG) == Some(&Value::Bool(true));
        entry.remove(RECORD);
        if had {
            entry.insert(FLAG.into(), false.into());
        }
        ownership::forget_accepted(state, &dirs);
    })?;
    Ok(had)
}

/// The folders that are trusted.
pub fn trusted_folders(env: &Env) -> Vec<String> {
    GlobalState::read(env).trusted_folders()
}
