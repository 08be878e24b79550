//! How calls are labelled. Pure text functions: nothing here knows whether a call runs.

mod results;

use super::session::SessionDisplay;
use engine::{ToolClass, tool_facts};
use serde_json::Value;
use std::fmt::Write;
use terminal::style::{StyledLine, TextStyle};
use terminal::text;
use terminal::theme::{Theme, ThemeToken};

pub use results::{CallOutcome, INTERRUPTED, hunks_of, result, summary, with_corner};

/// A search tool of older conversations, which gimlet does not have.
const LISTING: &str = "LS";
/// Arguments are cut at this many characters; the transcript view has the whole input.
const ARGUMENT: usize = 400;

/// The label of a call in the list, such as `Bash(cargo test)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLabel {
    pub name: String,
    pub argument: String,
}

impl CallLabel {
    /// Name and argument combined.
    pub fn full_name(&self) -> String {
        if self.argument.is_empty() { self.name.clone() } else { format!("{}({})", self.name, self.argument) }
    }
}

/// Groups of tools whose consecutive calls are shown as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallGroup {
    Read,
    Search,
    /// Tools of one MCP server.
    Server(String),
}

pub fn group(tool: &str) -> Option<CallGroup> {
    match (tool_facts(tool).class, tool) {
        (ToolClass::Read, _) => Some(CallGroup::Read),
        (ToolClass::Search, _) | (_, LISTING) => Some(CallGroup::Search),
        _ => split_mcp_name(tool).map(|(server, _)| CallGroup::Server(server.to_owned())),
    }
}

fn field<'a>(input: &'a Value, name: &str) -> &'a str {
    input.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub fn label(tool: &str, input: &Value, session: &SessionDisplay) -> CallLabel {
    let path = |name: &str| session.short_path(field(input, name)).to_owned();
    let (name, argument) = match tool {
        "Bash" => ("Bash", field(input, "command").to_owned()),
        "Read" => ("Read", path("file_path")),
        "Edit" | "MultiEdit" => ("Update", path("file_path")),
        "Write" => ("Write", path("file_path")),
        "NotebookEdit" => ("Update", path("notebook_path")),
        "Glob" | "Grep" => ("Search", search_argument(input, session)),
        "WebFetch" => ("Fetch", field(input, "url").to_owned()),
        "WebSearch" => ("Web search", field(input, "query").to_owned()),
        "TodoWrite" => ("Update todos", String::new()),
        "TaskCreate" => ("New task", field(input, "subject").to_owned()),
        "TaskUpdate" => ("Update task", task_argument(input)),
        "TaskGet" => ("Task", field(input, "taskId").to_owned()),
        "TaskList" => ("Tasks", String::new()),
        "TaskOutput" => ("Output", field(input, "task_id").to_owned()),
        "TaskStop" => ("Stop", [field(input, "task_id"), field(input, "shell_id")].concat()),
        "EnterPlanMode" => ("Plan first", String::new()),
        "ExitPlanMode" => ("Plan", String::new()),
        "ToolSearch" => ("Find tools", field(input, "query").to_owned()),
        "EnterWorktree" => ("Enter worktree", [field(input, "name"), field(input, "path")].concat()),
        "ExitWorktree" => ("Leave worktree", field(input, "action").to_owned()),
        "SendMessage" => ("Message", field(input, "to").to_owned()),
        "ListMcpResourcesTool" => ("List resources", field(input, "server").to_owned()),
        "ReadMcpResourceTool" => ("Read resource", field(input, "uri").to_owned()),
        "AskUserQuestion" => ("Question", first_question(input)),
        "Skill" => ("Skill", field(input, "skill").to_owned()),
        "Agent" | "Task" => {
            let kind = field(input, "subagent_type");
            return CallLabel {
                name: if kind.is_empty() { "Agent" } else { kind }.into(),
                argument: field(input, "description").into(),
            };
        }
        _ => return CallLabel { name: other_name(tool), argument: shorten(&compact(input)) },
    };
    CallLabel { name: name.to_owned(), argument: shorten(&argument) }
}

fn task_argument(input: &Value) -> String {
    let (id, status) = (field(input, "taskId"), field(input, "status"));
    if status.is_empty() { id.to_owned() } else { format!("{id}: {}", status.replace('_', " ")) }
}

fn first_question(input: &Value) -> String {
    let first = input.get("questions").and_then(|questions| questions.get(0));
    first.map(|question| field(question, "question")).unwrap_or_default().to_owned()
}

fn split_mcp_name(tool: &str) -> Option<(&str, &str)> {
    tool.strip_prefix("mcp__")?.split_once("__")
}

fn other_name(tool: &str) -> String {
    match split_mcp_name(tool) {
        Some((server, tool)) => format!("{server} - {tool} (MCP)"),
        None => tool.to_owned(),
    }
}

fn search_argument(input: &Value, session: &SessionDisplay) -> String {
    let mut text = format!("pattern: \"{}\"", field(input, "pattern"));
    for name in ["path", "glob", "type"] {
        let value = field(input, name);
        if !value.is_empty() {
            write!(text, ", {name}: \"{}\"", session.short_path(value)).ok();
        }
    }
    text
}

fn compact(input: &Value) -> String {
    match input {
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::Object(fields) => {
            let parts: Vec<String> = fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            parts.join(", ")
        }
        other => other.to_string(),
    }
}

fn shorten(argument: &str) -> String {
    match argument.char_indices().nth(ARGUMENT) {
        Some((at, _)) => format!("{}…", &argument[..at]),
        None => argument.to_owned(),
    }
}

/// The state of a call, shown by the colour of its dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    Running,
    Done,
    Failed,
}

/// The lines with the label of a call; all lines of a multi-line command are shown.
pub fn title(label: &CallLabel, mood: CallState, theme: &Theme) -> Vec<StyledLine> {
    let dot = match mood {
        CallState::Running => theme.fg(ThemeToken::Inactive),
        CallState::Done => theme.fg(ThemeToken::Success),
        CallState::Failed => theme.fg(ThemeToken::Error),
    };
    let mut line = StyledLine::styled("● ", dot);
    line.push(text::clean(&label.name), TextStyle::PLAIN.bold());
    if label.argument.is_empty() {
        return vec![line];
    }
    let argument = text::clean(&label.argument);
    let mut parts = argument.trim_end().split('\n');
    line.push(format!("({}", parts.next().unwrap_or_default()), TextStyle::PLAIN);
    let mut lines = vec![line];
    lines.extend(parts.map(|part| StyledLine::plain(format!("      {part}"))));
    if let Some(last) = lines.last_mut() {
        last.push(")", TextStyle::PLAIN);
    }
    lines
}

/// One of two words, as the count wants it.
pub fn count_word<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

pub fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn session() -> SessionDisplay {
        SessionDisplay { cwd: "/project".into(), ..SessionDisplay::default() }
    }

    fn texts(lines: &[StyledLine]) -> Vec<String> {
        lines.iter().map(StyledLine::text).collect()
    }

    #[test]
    fn calls_have_one_legible_line() {
        let shown = |tool: &str, input: Value| {
            let lines = title(&label(tool, &input, &session()), CallState::Done, &Theme::default());
            texts(&lines).join("\n")
        };
        assert_eq!(shown("Read", json!({"file_path": "/project/src/a.rs"})), "● Read(src/a.rs)");
        assert_eq!(shown("Read", json!({"file_path": "/projector/a.rs"})), "● Read(/projector/a.rs)");
        assert_eq!(shown("Bash", json!({"command": "# note\nrm -rf x"})), "● Bash(# note\n      rm -rf x)");
        assert_eq!(
            shown("Grep", json!({"pattern": "x", "path": "/project/src"})),
            "● Search(pattern: \"x\", path: \"src\")"
        );
        assert_eq!(shown("mcp__slack__send", json!({"to": "a"})), "● slack - send (MCP)(to: \"a\")");
        assert_eq!(shown("TodoWrite", json!({"todos": []})), "● Update todos");
        assert_eq!(shown("Bash", json!({"command": "a\u{1b}[2Jb"})), "● Bash(ab)");
    }
}
