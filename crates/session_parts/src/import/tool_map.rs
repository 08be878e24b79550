//! Which tool here does what a call of another program did. Inputs are taken over field by field; a call whose input
//! does not fit is kept as text.

use super::json::{list, number, text};
use super::patch;
use serde_json::{Map, Value, json};
use std::path::Path;

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MappedCall {
    /// Calls of tools here: one, or several for a patch of several files.
    Calls(Vec<(String, Value)>),
    /// No tool here does this: the input as text.
    Text(String),
}

pub(super) fn map(tool: &str, input: &Value, cwd: &Path) -> MappedCall {
    let calls = match tool {
        "apply_patch" | "patch" => {
            text(input, &["input", "patchText", "patch"]).and_then(|text| patch::calls(text, cwd))
        }
        "todowrite" | "update_plan" | "write_todos" => todos(input).map(one),
        name if name.starts_with("mcp__") => Some(one((name.to_owned(), input.clone()))),
        name => mapped(name, input, cwd).or_else(|| shell(name, input, cwd)),
    };
    match calls {
        Some(calls) if !calls.is_empty() && calls.iter().all(|(name, input)| is_valid(name, input)) => {
            MappedCall::Calls(calls)
        }
        Some(_) | None => MappedCall::Text(shown(input)),
    }
}

fn one(call: (String, Value)) -> Vec<(String, Value)> {
    vec![call]
}

/// Whether a request may contain the call.
fn is_valid(name: &str, input: &Value) -> bool {
    let is_name = name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    is_name && input.is_object()
}

/// The input for people: a single text as it is, anything else as JSON.
fn shown(input: &Value) -> String {
    match input {
        Value::String(text) => text.clone(),
        Value::Object(members) if members.len() == 1 => {
            members.values().next().and_then(Value::as_str).map_or_else(|| input.to_string(), str::to_owned)
        }
        other => other.to_string(),
    }
}

/// An input that is put together from the fields of another one.
struct NewInput<'a> {
    from: &'a Value,
    made: Map<String, Value>,
}

impl<'a> NewInput<'a> {
    fn of(from: &'a Value) -> Self {
        Self { from, made: Map::new() }
    }

    /// A text that must be there.
    fn must(mut self, to: &str, keys: &[&str]) -> Option<Self> {
        self.made.insert(to.into(), text(self.from, keys)?.into());
        Some(self)
    }

    fn may(mut self, to: &str, keys: &[&str]) -> Self {
        if let Some(found) = text(self.from, keys).filter(|text| !text.is_empty()) {
            self.made.insert(to.into(), found.into());
        }
        self
    }

    fn may_count(mut self, to: &str, keys: &[&str]) -> Self {
        if let Some(found) = number(self.from, keys) {
            self.made.insert(to.into(), found.into());
        }
        self
    }

    /// Makes the path in this field absolute.
    fn absolute(mut self, field: &str, cwd: &Path) -> Self {
        if let Some(Value::String(path)) = self.made.get_mut(field) {
            *path = absolute(path, cwd);
        }
        self
    }

    fn call(self, tool: &str) -> Vec<(String, Value)> {
        one((tool.to_owned(), Value::Object(self.made)))
    }
}

pub(super) fn absolute(path: &str, cwd: &Path) -> String {
    cwd.join(path.strip_prefix("file://").unwrap_or(path)).display().to_string()
}

/// Tools for files and searches.
fn mapped(tool: &str, input: &Value, cwd: &Path) -> Option<Vec<(String, Value)>> {
    let new = NewInput::of(input);
    let file = ["file_path", "filePath", "absolute_path", "path"];
    let folder = ["path", "dir_path"];
    Some(match tool {
        "read" | "read_file" | "view_image" => new
            .must("file_path", &file)?
            .absolute("file_path", cwd)
            .may_count("offset", &["offset", "start_line"])
            .may_count("limit", &["limit"])
            .call("Read"),
        "write" | "write_file" => {
            new.must("file_path", &file)?.absolute("file_path", cwd).must("content", &["content"])?.call("Write")
        }
        "edit" | "replace" => {
            let mut new = new
                .must("file_path", &file)?
                .absolute("file_path", cwd)
                .must("old_string", &["old_string", "oldString"])?
                .must("new_string", &["new_string", "newString"])?;
            if replaces_all(input) {
                new.made.insert("replace_all".into(), true.into());
            }
            new.call("Edit")
        }
        "glob" => new.must("pattern", &["pattern"])?.may("path", &folder).absolute("path", cwd).call("Glob"),
        "list" | "list_directory" | "ls" => {
            let mut new = new.may("path", &folder).absolute("path", cwd);
            new.made.insert("pattern".into(), "*".into());
            new.call("Glob")
        }
        "grep" | "search_file_content" | "grep_search" => new
            .must("pattern", &["pattern"])?
            .may("path", &folder)
            .absolute("path", cwd)
            .may("glob", &["include", "include_pattern", "glob"])
            .call("Grep"),
        "webfetch" => {
            let mut new = new.must("url", &["url"])?;
            new.made.insert("prompt".into(), "The whole page".into());
            new.call("WebFetch")
        }
        "websearch" | "google_web_search" | "web_search" => new.must("query", &["query"])?.call("WebSearch"),
        _ => return None,
    })
}

fn replaces_all(input: &Value) -> bool {
    let is_true = |key: &str| input.get(key).and_then(Value::as_bool) == Some(true);
    is_true("replaceAll")
        || is_true("allow_multiple")
        || number(input, &["expected_replacements"]).is_some_and(|n| n > 1)
}

/// Commands. A patch that was applied by a command becomes the edits it made.
fn shell(tool: &str, input: &Value, cwd: &Path) -> Option<Vec<(String, Value)>> {
    let is_shell = matches!(
        tool,
        "bash" | "shell" | "exec_command" | "shell_command" | "container.exec" | "local_shell" | "run_shell_command"
    );
    if !is_shell {
        return None;
    }
    let command = match input.get("command").or_else(|| input.get("cmd"))? {
        Value::String(command) => command.clone(),
        Value::Array(words) => command_of(words)?,
        _ => return None,
    };
    if let Some(calls) = patch::of_command(&command).and_then(|text| patch::calls(text, cwd)) {
        return Some(calls);
    }
    let dir = text(input, &["workdir", "working_directory", "directory", "dir_path", "cwd"]);
    let elsewhere = dir.filter(|dir| !dir.is_empty() && cwd.join(dir) != cwd && *dir != ".");
    let command = match elsewhere {
        Some(dir) => format!("cd {} && {command}", quoted(dir)),
        None => command,
    };
    let mut made = Map::new();
    made.insert("command".into(), command.into());
    if let Some(description) = text(input, &["description"]).filter(|text| !text.is_empty()) {
        made.insert("description".into(), description.into());
    }
    Some(one(("Bash".into(), Value::Object(made))))
}

/// The command line of an argument list; the script itself where a shell runs one.
fn command_of(words: &[Value]) -> Option<String> {
    let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
    match words.as_slice() {
        [shell, "-c" | "-lc" | "-ic", script] if shell.ends_with("sh") => Some((*script).to_owned()),
        ["apply_patch", patch] => Some(format!("apply_patch <<'EOF'\n{patch}\nEOF")),
        [] => None,
        words => Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
    }
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn todos(input: &Value) -> Option<(String, Value)> {
    let items = ["todos", "plan"].iter().map(|key| list(input, key)).find(|items| !items.is_empty())?;
    let made: Vec<Value> = items
        .iter()
        .map(|item| {
            let what = text(item, &["content", "step", "description"])?;
            let status = match text(item, &["status"])? {
                "in_progress" => "in_progress",
                "completed" | "cancelled" => "completed",
                _ => "pending",
            };
            Some(json!({"content": what, "status": status, "activeForm": what}))
        })
        .collect::<Option<_>>()?;
    Some(("TodoWrite".into(), json!({"todos": made})))
}
