//! How a call is displayed in an editor: a title, a kind, the paths it touches, and the change it would make.
//! Computed from the call's input alone, so that a permission request shows the same as the call.

use crate::protocol::{Diff, ToolCallContent, ToolCallLocation, ToolKind};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Longest title, in characters. Titles are one line.
const TITLE: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct CallDisplay {
    pub(crate) title: String,
    pub(crate) kind: ToolKind,
    pub(crate) content: Vec<ToolCallContent>,
    pub(crate) locations: Vec<ToolCallLocation>,
}

pub(crate) fn call(tool: &str, input: &Value, cwd: &Path) -> CallDisplay {
    let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
    let file = || path(input, cwd);
    match tool {
        "Bash" => run(text("command"), text("description")),
        "Read" => at(&format!("Read {}", name(&file(), cwd)), ToolKind::Read, file(), line(input)),
        "Write" => CallDisplay {
            content: vec![diff(&file(), None, text("content"))],
            ..at(&format!("Write {}", name(&file(), cwd)), ToolKind::Edit, file(), None)
        },
        "Edit" => CallDisplay {
            content: vec![diff(&file(), Some(text("old_string")), text("new_string"))],
            ..at(&format!("Edit {}", name(&file(), cwd)), ToolKind::Edit, file(), None)
        },
        "MultiEdit" => CallDisplay {
            content: edits(input, &file()),
            ..at(&format!("Edit {}", name(&file(), cwd)), ToolKind::Edit, file(), None)
        },
        "NotebookEdit" => at(&format!("Edit {}", name(&file(), cwd)), ToolKind::Edit, file(), None),
        "Glob" | "Grep" => plain(&format!("{tool} {}", text("pattern")), ToolKind::Search),
        "WebFetch" => plain(&format!("Fetch {}", text("url")), ToolKind::Fetch),
        "Recall" => plain(&format!("Recall {}", text("query")), ToolKind::Search),
        "WebSearch" => plain(&format!("Search the web for {}", text("query")), ToolKind::Fetch),
        "Agent" | "Task" => plain(text("description"), ToolKind::Think),
        "Skill" => plain(&format!("Skill {}", text("skill")), ToolKind::Think),
        "EnterPlanMode" => plain("Start planning", ToolKind::SwitchMode),
        "ExitPlanMode" => CallDisplay {
            content: vec![ToolCallContent::text(text("plan"))],
            ..plain("Ready to carry out the plan?", ToolKind::SwitchMode)
        },
        other => plain(other, ToolKind::Other),
    }
}

fn run(command: &str, description: &str) -> CallDisplay {
    let content = if description.is_empty() { Vec::new() } else { vec![ToolCallContent::text(description)] };
    CallDisplay { content, ..plain(&format!("`{command}`"), ToolKind::Execute) }
}

fn plain(title: &str, kind: ToolKind) -> CallDisplay {
    CallDisplay { title: one_line(title), kind, ..CallDisplay::default() }
}

fn at(title: &str, kind: ToolKind, path: PathBuf, line: Option<u32>) -> CallDisplay {
    let locations = vec![ToolCallLocation { path, line }];
    CallDisplay { locations, ..plain(title, kind) }
}

fn edits(input: &Value, path: &Path) -> Vec<ToolCallContent> {
    let list = input.get("edits").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .map(|edit| {
            let text = |key: &str| edit.get(key).and_then(Value::as_str).unwrap_or_default();
            diff(path, Some(text("old_string")), text("new_string"))
        })
        .collect()
}

fn diff(path: &Path, old_text: Option<&str>, new_text: &str) -> ToolCallContent {
    let (old_text, new_text) = (old_text.map(str::to_owned), new_text.to_owned());
    ToolCallContent::Diff(Diff { path: path.to_owned(), old_text, new_text })
}

fn path(input: &Value, cwd: &Path) -> PathBuf {
    let named = ["file_path", "notebook_path", "path"].iter().find_map(|key| input.get(*key)?.as_str());
    cwd.join(named.unwrap_or_default())
}

fn name(path: &Path, cwd: &Path) -> String {
    path.strip_prefix(cwd).unwrap_or(path).display().to_string()
}

fn line(input: &Value) -> Option<u32> {
    input.get("offset").and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok())
}

fn one_line(title: &str) -> String {
    let flat: String = title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match flat.char_indices().nth(TITLE) {
        Some((at, _)) => format!("{}…", &flat[..at]),
        None => flat,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_edit_shows_its_change_and_its_file() {
        let input = json!({"file_path": "/p/src/a.rs", "old_string": "one", "new_string": "two"});
        let shown = call("Edit", &input, Path::new("/p"));
        assert_eq!(shown.title, "Edit src/a.rs");
        assert_eq!(shown.locations[0].path, Path::new("/p/src/a.rs"));
        let ToolCallContent::Diff(diff) = &shown.content[0] else { panic!("no diff") };
        assert_eq!((diff.old_text.as_deref(), diff.new_text.as_str()), (Some("one"), "two"));
    }

    #[test]
    fn a_command_is_one_line() {
        let shown = call("Bash", &json!({"command": "cat <<X\na\nX"}), Path::new("/p"));
        assert_eq!(shown.title, "`cat <<X a X`");
        assert_eq!(shown.kind, ToolKind::Execute);
    }

    #[test]
    fn unknown_tools_and_broken_inputs_are_named() {
        assert_eq!(call("mcp__x__y", &Value::Null, Path::new("/")).title, "mcp__x__y");
        assert_eq!(call("Read", &json!([1]), Path::new("/p")).title, "Read ");
    }
}
