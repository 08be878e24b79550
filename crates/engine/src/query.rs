//! What a host may ask before a session exists: which sessions there are, and what was said in one. Reads only; a
//! question costs what it answers.

use crate::options::StartError;
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};
use store::resume::{EntryKind, LoadOptions, load};
use store::{Layout, LoadedEntry, find, list};
use sys::Env;
use wire::sdk::{Message, Past};

/// One session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    pub id: String,
    pub cwd: PathBuf,
    pub title: Option<String>,
    /// RFC 3339.
    pub updated_at: String,
}

/// Sessions of one directory, or of all, newest first: `count` of them after the first `skip`. Only those are opened.
pub fn sessions(env: &Env, cwd: Option<&Path>, skip: usize, count: usize) -> Vec<SessionRow> {
    let layout = Layout::new(env);
    let rows = match cwd {
        Some(cwd) => list::project(&layout, cwd),
        None => list::everywhere(&layout),
    };
    let read = |row: &list::Row| {
        let info = row.info()?;
        let title = info.title.or(info.summary).or(info.first_prompt).or(info.last_prompt);
        Some(SessionRow { id: info.id, cwd: info.cwd?.into(), title, updated_at: sys::clock::iso(info.modified_at) })
    };
    rows.iter().filter_map(read).skip(skip).take(count).collect()
}

/// What was said in a session since its last compaction, as the messages a host would have been sent.
pub fn conversation(env: &Env, cwd: &Path, session: &str) -> Result<Vec<Message>, StartError> {
    let layout = Layout::new(env);
    let path = find::target(&layout, cwd, session).map_err(|error| StartError::new(error.to_string()))?;
    let loaded = load(&path, &LoadOptions::default()).map_err(|error| StartError::new(error.to_string()))?;
    let said = loaded.entries.iter().filter(|entry| !entry.is_meta && !entry.is_compact_summary);
    Ok(said.filter_map(|entry| message(entry, &loaded.session_id)).collect())
}

fn message(entry: &LoadedEntry, session_id: &str) -> Option<Message> {
    let past = Past {
        message: RawValue::from_string(entry.body.as_deref()?.to_owned()).ok()?,
        session_id: session_id.to_owned(),
        uuid: entry.uuid.to_string(),
        timestamp: entry.timestamp.as_deref().unwrap_or_default().to_owned(),
    };
    match entry.kind {
        EntryKind::User => Some(past.user()),
        EntryKind::Assistant => Some(past.assistant()),
        EntryKind::System | EntryKind::Attachment => None,
    }
}
