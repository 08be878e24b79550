//! Takes over transcripts that are already in this program's format: every line stays as it is, byte for byte. Lines are
//! changed only where the session gets a new id, and lines are added only where the file would choose something that an
//! imported file must not choose: the permission mode, the worktree, another directory.

use super::ImportReport;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::path::Path;
use wire::entry::{MetaEntry, TranscriptEntry};

/// A transcript outside of the store.
pub(super) struct FoundTranscript {
    pub(super) id: String,
    pub(super) cwd: Option<String>,
    pub(super) title: Option<String>,
    pub(super) report: ImportReport,
    /// The permission mode in force at the end.
    mode: Option<String>,
    in_worktree: bool,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct LineFacts<'a> {
    #[serde(rename = "type")]
    kind: Option<String>,
    session_id: Option<String>,
    cwd: Option<String>,
    custom_title: Option<String>,
    ai_title: Option<String>,
    permission_mode: Option<String>,
    is_meta: bool,
    is_sidechain: bool,
    uuid: Option<String>,
    #[serde(borrow)]
    worktree_session: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

impl FoundTranscript {
    /// `None` when the text holds no message.
    pub(super) fn read(file: &Path, text: &str) -> Option<Self> {
        let mut found = Self {
            id: String::new(),
            cwd: None,
            title: None,
            report: ImportReport::default(),
            mode: None,
            in_worktree: false,
        };
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match serde_json::from_str::<LineFacts<'_>>(line) {
                Ok(facts) => found.take(facts),
                Err(_) => found.report.leave_out("line that is not whole"),
            }
        }
        // The name of a transcript is the id of its session.
        let stem = file.file_stem().and_then(|stem| stem.to_str()).filter(|stem| sys::id::is_uuid(stem));
        if let Some(stem) = stem.filter(|_| file.extension().is_some_and(|end| end == "jsonl")) {
            stem.clone_into(&mut found.id);
        }
        let is_conversation = found.report.prompts + found.report.answers > 0 && sys::id::is_uuid(&found.id);
        is_conversation.then_some(found)
    }

    fn take(&mut self, facts: LineFacts<'_>) {
        let kind = facts.kind.as_deref().unwrap_or_default();
        if self.id.is_empty() {
            self.id = facts.session_id.clone().unwrap_or_default();
        }
        let is_result = facts.message.is_some_and(|message| message.get().contains("\"tool_result\""));
        let is_told = facts.uuid.is_some() && !facts.is_meta && !facts.is_sidechain;
        match kind {
            "user" if is_told && !is_result => self.report.prompts += 1,
            "assistant" if is_told => {
                self.report.answers += 1;
                self.report.calls +=
                    usize::from(facts.message.is_some_and(|message| message.get().contains("\"tool_use\"")));
            }
            "worktree-state" => self.in_worktree = facts.worktree_session.is_some_and(|state| state.get() != "null"),
            _ => {}
        }
        self.mode = facts.permission_mode.or(self.mode.take());
        if kind == "relocated" || self.cwd.is_none() {
            self.cwd = facts.cwd.or(self.cwd.take());
        }
        self.title = facts.custom_title.or(facts.ai_title).or(self.title.take());
    }

    /// The file of the session `id` in `cwd`.
    pub(super) fn text_for(&self, text: &str, id: &str, cwd: &Path) -> String {
        let mut made = if id == self.id { text.to_owned() } else { renamed(text, id) };
        if !made.ends_with('\n') {
            made.push('\n');
        }
        let cwd = cwd.display().to_string();
        if self.cwd.as_deref().is_some_and(|recorded| recorded != cwd) {
            let from = self.cwd.clone().unwrap_or_default();
            let timestamp = sys::clock::now_iso();
            add(&mut made, MetaEntry::Relocated { cwd, from, timestamp, session_id: id.to_owned() });
        }
        if self.mode.as_deref().is_some_and(|mode| !matches!(mode, "default" | "plan")) {
            let permission_mode = wire::mode::PermissionMode::default().as_str().to_owned();
            add(&mut made, MetaEntry::PermissionMode { permission_mode, session_id: id.to_owned() });
        }
        if self.in_worktree {
            add(&mut made, MetaEntry::WorktreeState { worktree_session: None, session_id: id.to_owned() });
        }
        made
    }
}

fn add(text: &mut String, entry: MetaEntry) {
    if let Ok(line) = TranscriptEntry::Meta(entry).to_line() {
        text.push_str(&line);
        text.push('\n');
    }
}

/// Every line under another session id.
fn renamed(text: &str, id: &str) -> String {
    let mut made = String::with_capacity(text.len());
    for line in text.lines() {
        match store::fork::with_session_id(line, id) {
            Some(line) => made.push_str(&line),
            None => made.push_str(line),
        }
        made.push('\n');
    }
    made
}

/// The lines in a JSON export, as they were in the transcript.
pub(super) fn lines_of_export(export: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct ExportedSession<'a> {
        #[serde(borrow)]
        entries: Vec<&'a RawValue>,
    }
    let exported: ExportedSession<'_> = serde_json::from_str(export.get()).ok()?;
    let mut lines = String::with_capacity(export.get().len());
    for entry in exported.entries {
        lines.push_str(entry.get());
        lines.push('\n');
    }
    Some(lines)
}
