//! `history.jsonl`: prompts typed by the user, shared by all processes. Each prompt is appended in one write. Reading
//! starts at the newest and goes only as far as asked. Prompts of programs are not recorded here.

use crate::backward::BackwardLines;
use crate::error::StoreError;
use crate::layout::StoreLayout;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fs::File;

/// One prompt.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryPrompt {
    pub display: String,
    /// Maps the number of a paste to its text, or to the hash of its file.
    #[serde(default = "nothing_pasted")]
    pub pasted_contents: Box<RawValue>,
    #[serde(default)]
    pub timestamp: u64,
    #[serde(default)]
    pub project: String,
    #[serde(default)]
    pub session_id: String,
}

/// Returns `{}`.
pub fn nothing_pasted() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Records a prompt, unless it repeats the newest one of the same project.
pub fn append(layout: &StoreLayout, prompt: &HistoryPrompt) -> Result<(), StoreError> {
    let path = layout.history();
    let fail = |e| StoreError::write(&path, e);
    let repeated = newest(layout).next().is_some_and(|last| {
        last.display == prompt.display
            && last.project == prompt.project
            && last.pasted_contents.get() == prompt.pasted_contents.get()
    });
    if repeated {
        return Ok(());
    }
    crate::layout::create_private(layout.home()).map_err(fail)?;
    let mut line = wire::raw::to_line(prompt).map_err(|e| fail(e.into()))?;
    line.push('\n');
    sys::fs::AppendFile::open(&path).and_then(|mut file| file.append(line.as_bytes())).map_err(fail)
}

/// Iterates from the newest prompt. Lines that cannot be parsed are left out.
pub fn newest(layout: &StoreLayout) -> NewestPrompts {
    let file = File::open(layout.history()).ok();
    let len = file.as_ref().and_then(|f| f.metadata().ok()).map_or(0, |m| m.len());
    NewestPrompts { lines: file.map(|f| BackwardLines::new(f, len)) }
}

pub struct NewestPrompts {
    lines: Option<BackwardLines<File>>,
}

impl Iterator for NewestPrompts {
    type Item = HistoryPrompt;

    fn next(&mut self) -> Option<HistoryPrompt> {
        let lines = self.lines.as_mut()?;
        while let Ok(Some((_, line))) = lines.next_line() {
            if let Ok(prompt) = serde_json::from_slice(line) {
                return Some(prompt);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use sys::Env;

    fn prompt(display: &str) -> HistoryPrompt {
        HistoryPrompt {
            display: display.into(),
            pasted_contents: nothing_pasted(),
            timestamp: 1,
            project: "/p".into(),
            session_id: "S".into(),
        }
    }

    #[test]
    fn prompts_come_back_newest_first_without_repeats() {
        let dir = tempfile::tempdir().unwrap();
        let layout = StoreLayout::new(&Env::default().with([("CLAUDE_CONFIG_DIR", dir.path())]));
        for text in ["a", "b", "b", "!ls", "a"] {
            append(&layout, &prompt(text)).unwrap();
        }
        let all: Vec<String> = newest(&layout).map(|p| p.display).collect();
        assert_eq!(all, ["a", "!ls", "b", "a"]);
        let text = std::fs::read_to_string(layout.history()).unwrap();
        let first = r#"{"display":"a","pastedContents":{},"timestamp":1,"project":"/p","sessionId":"S"}"#;
        assert_eq!(text.lines().next(), Some(first));
        assert_eq!(layout.history().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn torn_and_foreign_lines_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let layout = StoreLayout::new(&Env::default().with([("CLAUDE_CONFIG_DIR", dir.path())]));
        std::fs::write(layout.history(), "{\"display\":\"x\",\"new\":1}\nnoise\n{\"displ").unwrap();
        append(&layout, &prompt("y")).unwrap();
        let all: Vec<String> = newest(&layout).map(|p| p.display).collect();
        assert_eq!(all, ["y", "x"]);
    }
}
