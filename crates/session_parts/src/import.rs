//! Takes over conversations of other programs: rollouts of Codex CLI, chats and checkpoints of Gemini CLI, exports of
//! opencode, and transcripts in this program's own format, exported or copied. Files of others are only read; no session
//! is ever replaced. Calls become calls of the tools here where one matches, else text; the report counts what could not
//! be taken over.

mod codex;
mod conversation;
mod copy;
mod files;
mod gemini;
mod json;
mod lines;
mod opencode;
mod patch;
mod tool_map;

pub use files::{FoundFiles, find};

use conversation::ImportedConversation;
use json::PLAIN_JSON_BYTES;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use store::StoreLayout;

/// The program that wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportSource {
    Codex,
    Gemini,
    Opencode,
    /// The format of this program's own transcripts.
    Transcript,
}

impl ImportSource {
    /// The name shown to people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Codex => "Codex CLI",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::Transcript => "transcript",
        }
    }
}

/// What an import took over, and what it could not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    pub prompts: usize,
    pub answers: usize,
    /// Calls that became calls of tools of this program.
    pub calls: usize,
    /// Calls without a counterpart, by name: their input and output are kept as text.
    pub kept_as_text: BTreeMap<String, usize>,
    /// What was left out, by kind.
    pub left_out: BTreeMap<String, usize>,
}

impl ImportReport {
    fn leave_out(&mut self, what: &str) {
        *self.left_out.entry(what.to_owned()).or_default() += 1;
    }

    fn keep_as_text(&mut self, tool: &str) {
        *self.kept_as_text.entry(tool.to_owned()).or_default() += 1;
    }
}

/// Where imported sessions go.
#[derive(Clone, Debug)]
pub struct ImportTarget<'a> {
    pub layout: &'a StoreLayout,
    /// The current directory: for sessions whose own directory does not exist here.
    pub cwd: &'a Path,
    /// All sessions go to the current directory.
    pub here: bool,
    /// A session that exists already is imported again, under a new id.
    pub copy: bool,
    /// Nothing is written.
    pub dry_run: bool,
}

/// What became of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum ImportOutcome {
    Imported,
    WouldImport,
    /// A session with this id exists. It is left alone.
    AlreadyHere,
}

/// The result of one file.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportedFile {
    pub source: ImportSource,
    /// The version of the program that wrote the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_version: Option<String>,
    pub file: PathBuf,
    pub session_id: String,
    /// The directory the session belongs to.
    pub cwd: PathBuf,
    /// The transcript.
    pub path: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(flatten)]
    pub outcome: ImportOutcome,
    #[serde(flatten)]
    pub report: ImportReport,
}

/// Imports files one after another; knows the sessions that exist.
pub struct SessionImporter<'a> {
    target: ImportTarget<'a>,
    known: BTreeSet<String>,
}

impl<'a> SessionImporter<'a> {
    pub fn new(target: ImportTarget<'a>) -> Self {
        let known = store::list::everywhere(target.layout).into_iter().map(|row| row.id).collect();
        Self { target, known }
    }

    /// Imports one file. An error says what is wrong with it.
    pub fn import(&mut self, file: &Path) -> Result<ImportedFile, String> {
        let text = read(file)?;
        match recognise(&text) {
            Some(ForeignFile::Transcript) => self.copy(file, &text),
            Some(ForeignFile::ExportedJson(export)) => {
                let lines = copy::lines_of_export(&export).ok_or_else(|| damaged(file))?;
                self.copy(file, &lines)
            }
            Some(ForeignFile::Codex) => self.convert(file, codex::read(&text)),
            Some(ForeignFile::GeminiLines) => self.convert(file, gemini::read_lines(&text)),
            Some(ForeignFile::GeminiJson(value)) => self.convert(file, gemini::read_json(&value)),
            Some(ForeignFile::Opencode(value)) => self.convert(file, opencode::read(&value)),
            None => Err(damaged(file)),
        }
    }

    fn convert(&mut self, file: &Path, mut read: ImportedConversation) -> Result<ImportedFile, String> {
        let cwd = self.place(read.cwd.as_deref());
        let base = read.cwd.as_deref().map_or_else(|| cwd.clone(), PathBuf::from);
        let messages = read.assemble(&base);
        if read.report.prompts + read.report.answers == 0 {
            return Err(format!("{} holds no conversation", file.display()));
        }
        let id = read.source_id.as_deref().map_or_else(sys::id::uuid, lines::session_id);
        let (id, outcome) = self.decide(id);
        let path = self.target.layout.transcript(&cwd, &id);
        if outcome == ImportOutcome::Imported {
            let text = lines::transcript(&read, messages, &id, &cwd)?;
            store::place::place_transcript(&path, text.as_bytes()).map_err(|error| error.to_string())?;
        }
        self.known.insert(id.clone());
        let (source, source_version, title) = (read.source, read.source_version, read.title);
        let file = file.to_path_buf();
        Ok(ImportedFile {
            source,
            source_version,
            file,
            session_id: id,
            cwd,
            path,
            title,
            outcome,
            report: read.report,
        })
    }

    fn copy(&mut self, file: &Path, text: &str) -> Result<ImportedFile, String> {
        let found = copy::FoundTranscript::read(file, text).ok_or_else(|| damaged(file))?;
        let cwd = self.place(found.cwd.as_deref());
        let (id, outcome) = self.decide(found.id.clone());
        let path = self.target.layout.transcript(&cwd, &id);
        if outcome == ImportOutcome::Imported {
            let text = found.text_for(text, &id, &cwd);
            store::place::place_transcript(&path, text.as_bytes()).map_err(|error| error.to_string())?;
        }
        self.known.insert(id.clone());
        let (source, title, report) = (ImportSource::Transcript, found.title, found.report);
        let file = file.to_path_buf();
        Ok(ImportedFile { source, source_version: None, file, session_id: id, cwd, path, title, outcome, report })
    }

    /// The directory a session goes to: its own when it exists here.
    fn place(&self, recorded: Option<&str>) -> PathBuf {
        let own = recorded.map(Path::new).filter(|dir| !self.target.here && dir.is_absolute() && dir.is_dir());
        PathBuf::from(store::layout::resolve_directory(own.unwrap_or(self.target.cwd)))
    }

    fn decide(&self, id: String) -> (String, ImportOutcome) {
        let is_known = self.known.contains(&id);
        match (is_known, self.target.copy, self.target.dry_run) {
            (true, false, _) => (id, ImportOutcome::AlreadyHere),
            (true, true, true) => (sys::id::uuid(), ImportOutcome::WouldImport),
            (true, true, false) => (sys::id::uuid(), ImportOutcome::Imported),
            (false, _, true) => (id, ImportOutcome::WouldImport),
            (false, _, false) => (id, ImportOutcome::Imported),
        }
    }
}

fn damaged(file: &Path) -> String {
    format!(
        "{} is not a whole session of Codex CLI, Gemini CLI, opencode (its export) or gimlet, as far as it can be read",
        file.display()
    )
}

fn read(file: &Path) -> Result<String, String> {
    let said = |error: std::io::Error| format!("{} could not be read: {error}", file.display());
    let meta = std::fs::metadata(file).map_err(said)?;
    if !meta.is_file() {
        return Err(format!("{} is not a file", file.display()));
    }
    if meta.len() > PLAIN_JSON_BYTES {
        return Err(format!("{} is larger than 1 GB", file.display()));
    }
    let bytes = std::fs::read(file).map_err(said)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// A file whose format was recognised.
enum ForeignFile {
    Codex,
    GeminiLines,
    GeminiJson(Value),
    Opencode(Value),
    Transcript,
    /// `gimlet sessions export --format json`
    ExportedJson(Box<serde_json::value::RawValue>),
}

/// Tells the format from the content. `None` for a file of another kind.
fn recognise(text: &str) -> Option<ForeignFile> {
    let objects = text.lines().filter(|line| !line.trim().is_empty());
    for line in objects.take(20) {
        let Ok(value) = serde_json::from_str::<Value>(line) else { break };
        if let Some(found) = by_line(&value) {
            return Some(found);
        }
    }
    by_whole(text)
}

fn by_line(value: &Value) -> Option<ForeignFile> {
    let has = |key: &str| value.get(key).is_some();
    let kind = json::text(value, &["type"]).unwrap_or_default();
    if has("payload") && matches!(kind, "session_meta" | "response_item" | "turn_context" | "event_msg" | "compacted") {
        return Some(ForeignFile::Codex);
    }
    if has("sessionId") && has("projectHash") && !has("messages") {
        return Some(ForeignFile::GeminiLines);
    }
    // The first rollouts had no envelope: a head with instructions, then the items themselves.
    if kind.is_empty() && has("instructions") && has("timestamp") && has("id") {
        return Some(ForeignFile::Codex);
    }
    let is_message = matches!(kind, "user" | "assistant" | "system" | "attachment") && has("uuid");
    let is_note = !kind.is_empty() && (has("sessionId") || has("leafUuid") || has("messageId"));
    (is_message || is_note).then_some(ForeignFile::Transcript)
}

fn by_whole(text: &str) -> Option<ForeignFile> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    if value.get("entries").is_some() && value.get("session_id").is_some() {
        return serde_json::from_str(text).ok().map(ForeignFile::ExportedJson);
    }
    if value.get("info").is_some() && value.get("messages").is_some_and(Value::is_array) {
        return Some(ForeignFile::Opencode(value));
    }
    let is_chat = value.get("projectHash").is_some() && value.get("messages").is_some_and(Value::is_array);
    (is_chat || gemini::checkpoint(&value).is_some()).then_some(ForeignFile::GeminiJson(value))
}

#[cfg(test)]
#[path = "import/tests.rs"]
mod tests;
