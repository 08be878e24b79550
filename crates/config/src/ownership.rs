//! Decides which entries of a folder's settings files belong to the user. The folder itself is no evidence: an entry
//! belongs to the user when gimlet wrote it, when the user accepted it, or when the folder was trusted before gimlet
//! first read the file. All of that is recorded in the state file, outside the folder, by the content of each entry.

use crate::activation::ActivationItem;
use crate::entries;
use crate::layer::{LayerOrigin, ParsedSettings, SettingsLayer, parse_object, read_text};
use crate::settings_edit::SettingsEdit;
use crate::state::{self, GlobalState, StateError, is_trusted, object, project_entry};
use crate::{activation, settings_files};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use sys::Env;
use wire::settings::SettingsSource;

/// In the state file's entry of the directory that contains `.claude`. If present, gimlet has read the folder before.
const RECORD: &str = "gimletEntries";
/// Entries that gimlet wrote for the user.
const OWN: &str = "own";
/// Entries that the user accepted, or that a trusted folder had when gimlet first read it.
const APPROVED: &str = "approved";
/// Entries that the user refused: the question is not repeated.
const REFUSED: &str = "refused";

/// An entry that does not apply yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingEntry {
    pub item: ActivationItem,
    /// The text of the accepted entry that it replaces.
    pub before: Option<String>,
    /// The user has already refused it.
    pub refused: bool,
}

/// A settings folder that gimlet reads for the first time, and the entries that count as accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FirstSight {
    dir: PathBuf,
    accepted: Vec<ActivationItem>,
}

/// The recorded decisions about the entries of one directory.
#[derive(Clone, Copy)]
pub(crate) struct OwnershipRecord<'a>(Option<&'a Map<String, Value>>);

impl<'a> OwnershipRecord<'a> {
    pub(crate) fn of(state: &'a GlobalState, dir: &Path) -> Self {
        Self(state.project_value(dir, RECORD).and_then(Value::as_object))
    }

    fn list(self, name: &str) -> Option<&'a Map<String, Value>> {
        self.0?.get(name)?.as_object()
    }

    pub(crate) fn has_own(self) -> bool {
        self.list(OWN).is_some_and(|list| !list.is_empty())
    }

    /// True when gimlet wrote the entry.
    pub(crate) fn is_own(self, mark: &str) -> bool {
        self.list(OWN).is_some_and(|list| list.contains_key(mark))
    }

    fn is_users(self, mark: &str) -> bool {
        self.is_own(mark) || self.list(APPROVED).is_some_and(|list| list.contains_key(mark))
    }

    pub(crate) fn is_refused(self, mark: &str) -> bool {
        self.list(REFUSED).is_some_and(|list| list.contains_key(mark))
    }

    fn waiting(self, item: ActivationItem) -> WaitingEntry {
        WaitingEntry { before: self.before(&item.id), refused: self.is_refused(&item.mark), item }
    }

    /// The text of the accepted entry with the same id.
    fn before(self, id: &str) -> Option<String> {
        let mut entries = [APPROVED, OWN].into_iter().filter_map(|name| self.list(name)).flat_map(Map::values);
        let found = entries.find(|entry| entry.get("id").and_then(Value::as_str) == Some(id))?;
        found.get("text")?.as_str().map(str::to_owned)
    }
}

/// The real directory to which a settings file belongs: for a linked file or `.claude`, the one that contains the link.
pub(crate) fn settings_dir(file: &Path) -> PathBuf {
    let dir = file.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    sys::real_path::path(dir)
}

/// The parts of a local settings file that apply and that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LocalFile {
    pub(crate) path: PathBuf,
    pub(crate) effective: Map<String, Value>,
    pub(crate) waiting: Vec<WaitingEntry>,
    pub(crate) first_sight: Option<FirstSight>,
}

/// What decides about a local settings file.
pub(crate) struct LocalJudge<'a> {
    pub(crate) state: &'a GlobalState,
    /// `--trust-workspace`
    pub(crate) granted: bool,
    /// Returns whether the user trusts exactly this directory.
    pub(crate) trusts: &'a dyn Fn(&Path) -> bool,
}

impl LocalJudge<'_> {
    /// `layer` is `None` when the file does not exist.
    pub(crate) fn local(&self, path: &Path, layer: Option<&SettingsLayer>) -> LocalFile {
        let dir = settings_dir(path);
        let known = OwnershipRecord::of(self.state, &dir);
        let is_unseen = known.0.is_none();
        let adopts = is_unseen && (self.trusts)(&dir);
        let mut file = LocalFile { path: path.to_path_buf(), ..LocalFile::default() };
        let (mut accepted, mut is_empty) = (Vec::new(), true);
        if let Some(layer) = layer {
            file.effective = entries::filter_entries(&layer.valid, &mut |entry| {
                if entry.only_refuses() {
                    return true;
                }
                is_empty = false;
                let item = activation::entry_item(entry, path);
                let is_users = adopts || self.granted || known.is_users(&item.mark);
                match (adopts, is_users) {
                    (true, _) => accepted.push(item),
                    (false, true) => {}
                    (false, false) => file.waiting.push(known.waiting(item)),
                }
                is_users
            });
        }
        let is_news = is_unseen && (adopts || !is_empty);
        file.first_sight = is_news.then_some(FirstSight { dir, accepted });
        file
    }
}

/// For a directory that the user trusts and gimlet has not read yet: accepts everything its local file contains now.
pub(crate) fn adoption(env: &Env, state: &GlobalState, dir: &Path) -> Option<FirstSight> {
    if OwnershipRecord::of(state, dir).0.is_some() || !is_trusted(dir, env, state) {
        return None;
    }
    let path = dir.join(settings_files::LOCAL);
    let values = read_text(&path).ok().and_then(|text| Some(parse_object(&text).ok()?.object));
    let accepted = values.map(|values| items_of(SettingsSource::Local, &path, values)).unwrap_or_default();
    Some(FirstSight { dir: dir.to_path_buf(), accepted })
}

/// Records what was read for the first time. Records made meanwhile are kept.
pub(crate) fn record_first_sights(state: &mut Map<String, Value>, sights: &[FirstSight]) {
    for sight in sights {
        let entry = project_entry(state, &sight.dir);
        if !entry.contains_key(RECORD) {
            insert(object(object(entry, RECORD), APPROVED), &sight.accepted);
        }
    }
}

/// Records that the user accepted these entries of local files, and that `dirs` were read, with or without a file.
pub(crate) fn accept(state: &mut Map<String, Value>, dirs: &[PathBuf], items: &[&ActivationItem]) {
    for dir in dirs {
        object(project_entry(state, dir), RECORD);
    }
    for item in items {
        let record = object(project_entry(state, &settings_dir(&item.file)), RECORD);
        object(record, APPROVED).insert(item.mark.clone(), item_record(item));
        object(record, REFUSED).remove(&item.mark);
    }
}

/// Records that the user refused these entries.
pub(crate) fn refuse(state: &mut Map<String, Value>, items: &[ActivationItem]) {
    for item in items {
        let record = object(project_entry(state, &settings_dir(&item.file)), RECORD);
        object(record, REFUSED).insert(item.mark.clone(), item_record(item));
    }
}

/// Removes what the user accepted; entries that gimlet wrote are kept.
pub(crate) fn forget_accepted(state: &mut Map<String, Value>, dirs: &[PathBuf]) {
    for dir in dirs {
        let known = state.get_mut("projects").and_then(|all| all.get_mut(dir.to_str()?)?.get_mut(RECORD));
        if let Some(Value::Object(record)) = known {
            record.remove(APPROVED);
        }
    }
}

fn insert(list: &mut Map<String, Value>, items: &[ActivationItem]) {
    list.extend(items.iter().map(|item| (item.mark.clone(), item_record(item))));
}

fn item_record(item: &ActivationItem) -> Value {
    json!({"id": item.id, "text": item.text})
}

/// Records a change that gimlet makes to a folder's settings file for the user: what it writes belongs to the user;
/// what it removes or replaces no longer does.
pub(crate) fn record_change(
    env: &Env,
    (source, path): (SettingsSource, &Path),
    keys: &[&str],
    edit: &SettingsEdit,
) -> Result<(), StateError> {
    let items = |value: Value| items_of(source, path, nest(keys, value));
    let current = || read_text(path).ok().and_then(|text| at(parse_object(&text).ok()?.object, keys));
    let (written, gone) = match edit {
        SettingsEdit::Set(value) => (items(value.clone()), current().map(items).unwrap_or_default()),
        SettingsEdit::Add(values) => (items(Value::Array(values.clone())), Vec::new()),
        SettingsEdit::Take(values) => (Vec::new(), items(Value::Array(values.clone()))),
        SettingsEdit::Remove => (Vec::new(), current().map(items).unwrap_or_default()),
    };
    if written.is_empty() && gone.is_empty() {
        return Ok(());
    }
    let dir = settings_dir(path);
    let before = GlobalState::read(env);
    let adoption = adoption(env, &before, &dir);
    if written.is_empty() && adoption.is_none() && OwnershipRecord::of(&before, &dir).0.is_none() {
        return Ok(());
    }
    state::update(env, |state| {
        record_first_sights(state, adoption.as_slice());
        let record = object(project_entry(state, &dir), RECORD);
        for item in &gone {
            object(record, OWN).remove(&item.mark);
            object(record, APPROVED).remove(&item.mark);
        }
        for item in &written {
            object(record, REFUSED).remove(&item.mark);
        }
        insert(object(record, OWN), &written);
    })
}

fn nest(keys: &[&str], value: Value) -> Map<String, Value> {
    let wrap = |value: Value, key: &&str| json!({*key: value});
    match keys.iter().rev().fold(value, wrap) {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

fn at(values: Map<String, Value>, keys: &[&str]) -> Option<Value> {
    keys.iter().try_fold(Value::Object(values), |value, key| value.get(key).cloned())
}

fn items_of(source: SettingsSource, path: &Path, values: Map<String, Value>) -> Vec<ActivationItem> {
    let origin = LayerOrigin { source, path: Some(path.to_path_buf()), root: PathBuf::new() };
    let layer =
        SettingsLayer::decode(origin, ParsedSettings { object: values, ..ParsedSettings::default() }, &mut Vec::new());
    let mut items = Vec::new();
    if source == SettingsSource::Local {
        entries::filter_entries(&layer.valid, &mut |entry| {
            if !entry.only_refuses() {
                items.push(activation::entry_item(entry, path));
            }
            true
        });
    } else {
        activation::list_layer(&layer, &mut items);
    }
    items
}
