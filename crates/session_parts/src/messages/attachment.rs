//! Attachments beside a prompt. Each is one transcript line and one text, so that a resumed request has the same
//! bytes.

use crate::prompts::{self, SkillListingKind};
use serde_json::value::RawValue;
use std::path::PathBuf;

/// The kind of line with the user's latest words after a compaction.
pub const LATEST_WORDS: &str = "x_latest_words";

/// The transcript line of an attachment and the text for the model.
pub struct Attachment {
    pub line: Box<RawValue>,
    pub text: String,
}

/// A file that a skill mentions.
#[derive(Clone, Debug)]
pub struct AttachedFile {
    pub path: PathBuf,
    pub display: String,
    pub content: String,
}

impl Attachment {
    pub fn session_context(text: String) -> Option<Self> {
        Self::note("x_session_context", text)
    }

    /// A reminder of our own kind: `kind` begins with `x_`.
    pub fn note(kind: &str, text: String) -> Option<Self> {
        let line = wire::raw::to_raw(&serde_json::json!({"type": kind, "content": text})).ok()?;
        Some(Self { line, text })
    }

    pub fn skill_listing(text: &str, names: &[&str], telling: SkillListingKind) -> Option<Self> {
        #[derive(serde::Serialize)]
        #[serde(rename_all = "camelCase", tag = "type", rename = "skill_listing")]
        struct SkillListingLine<'a> {
            content: &'a str,
            is_initial: bool,
            names: &'a [&'a str],
            skill_count: usize,
        }
        let line = SkillListingLine {
            content: text,
            is_initial: telling == SkillListingKind::First,
            names,
            skill_count: names.len(),
        };
        Some(Self { line: wire::raw::to_raw(&line).ok()?, text: prompts::reminder(text) })
    }

    pub fn agent_mention(agent_type: &str) -> Option<Self> {
        let line = wire::raw::to_raw(&serde_json::json!({"type": "agent_mention", "agentType": agent_type})).ok()?;
        Some(Self { line, text: prompts::agent_mention(agent_type) })
    }

    pub fn nested_memory(file: &config::MemoryFile) -> Option<Self> {
        let path = file.path.display().to_string();
        let line = serde_json::json!({
            "type": "nested_memory", "path": path, "displayPath": path, "content": file.text,
        });
        Some(Self { line: wire::raw::to_raw(&line).ok()?, text: prompts::nested_memory(&path, &file.text) })
    }

    pub fn file(file: &AttachedFile) -> Option<Self> {
        let path = file.path.display().to_string();
        let line = serde_json::json!({
            "type": "file", "filename": path, "displayPath": file.display, "content": file.content,
        });
        Some(Self { line: wire::raw::to_raw(&line).ok()?, text: prompts::attached_file(&path, &file.content) })
    }

    pub fn date_change(date: &str) -> Option<Self> {
        let line = wire::raw::to_raw(&serde_json::json!({"type": "date_change", "newDate": date})).ok()?;
        Some(Self { line, text: prompts::date_change(date) })
    }
}
