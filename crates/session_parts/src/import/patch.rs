//! Patches in the form that Codex CLI and opencode use (`*** Begin Patch`), as edits: a new file is a Write, each hunk of
//! a changed one an Edit. A patch that deletes or moves files has no counterpart.

use super::tool_map::absolute;
use serde_json::{Value, json};
use std::path::Path;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// The patch that a command applies; `None` for any other command.
pub(super) fn of_command(command: &str) -> Option<&str> {
    let is_only = command.trim_start().starts_with("apply_patch");
    let start = command.find(BEGIN).filter(|_| is_only)?;
    let end = command[start..].find(END)? + start + END.len();
    Some(&command[start..end])
}

/// The edits of a patch; `None` when one of them cannot be told so.
pub(super) fn calls(patch: &str, cwd: &Path) -> Option<Vec<(String, Value)>> {
    let mut calls = Vec::new();
    let mut file: Option<ChangedFile> = None;
    for line in patch.trim().lines() {
        if line.starts_with(BEGIN) || line.starts_with(END) || line == "*** End of File" {
            continue;
        }
        if let Some(head) = line.strip_prefix("*** ") {
            finish(file.take(), cwd, &mut calls);
            let (what, path) = head.split_once(": ")?;
            file = Some(match what {
                "Add File" => ChangedFile { path: path.trim().into(), change: FileChange::New(String::new()) },
                "Update File" => ChangedFile { path: path.trim().into(), change: FileChange::Hunks(Vec::new()) },
                _ => return None,
            });
            continue;
        }
        file.as_mut()?.add(line)?;
    }
    finish(file, cwd, &mut calls);
    Some(calls)
}

struct ChangedFile {
    path: String,
    change: FileChange,
}

enum FileChange {
    New(String),
    /// The text before and after, hunk by hunk.
    Hunks(Vec<(String, String)>),
}

impl ChangedFile {
    fn add(&mut self, line: &str) -> Option<()> {
        match &mut self.change {
            FileChange::New(content) => {
                content.push_str(line.strip_prefix('+')?);
                content.push('\n');
            }
            FileChange::Hunks(hunks) => {
                if line.starts_with("@@") {
                    hunks.push((String::new(), String::new()));
                    return Some(());
                }
                if hunks.is_empty() {
                    hunks.push((String::new(), String::new()));
                }
                let (before, after) = hunks.last_mut()?;
                let (sign, rest) = line.split_at(line.chars().next().map_or(0, char::len_utf8));
                match sign {
                    "+" => add_line(after, rest),
                    "-" => add_line(before, rest),
                    " " | "" => {
                        add_line(before, rest);
                        add_line(after, rest);
                    }
                    _ => return None,
                }
            }
        }
        Some(())
    }
}

fn add_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn finish(file: Option<ChangedFile>, cwd: &Path, calls: &mut Vec<(String, Value)>) {
    let Some(ChangedFile { path, change }) = file else { return };
    let path = absolute(&path, cwd);
    match change {
        FileChange::New(content) => calls.push(("Write".into(), json!({"file_path": path, "content": content}))),
        FileChange::Hunks(hunks) => {
            for (before, after) in hunks.into_iter().filter(|(before, after)| before != after) {
                let edit = json!({"file_path": path, "old_string": before, "new_string": after});
                calls.push(("Edit".into(), edit));
            }
        }
    }
}
