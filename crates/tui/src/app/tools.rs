//! How calls are labelled, and which of them are shown together. Pure text functions: nothing here knows whether a call
//! runs.

pub mod output;
mod results;

use super::session::SessionDisplay;
use engine::{ToolClass, tool_facts};
use serde_json::Value;
use std::fmt::Write;
use terminal::text;

pub use output::{RecordLimits, more_line};
pub use results::{CallDetail, CallEnd, CallOutcome, CallTale, LEAST_TIME, duration_words, patch_hunks, tale};

/// The verb of calls that read files.
pub const READ_VERB: &str = "Read";
/// A search tool of older conversations, which gimlet does not have.
const LISTING: &str = "LS";

/// The label of a call in the list, such as `Run` and `cargo test`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLabel {
    /// The verb, or the name of a server.
    pub name: String,
    /// What the call is about.
    pub argument: String,
}

/// Groups of tools whose consecutive calls are shown as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallGroup {
    Read,
    /// Searches in files, or for files: the verb.
    Search(&'static str),
    /// Tools of one MCP server.
    Server(String),
}

pub fn group(tool: &str) -> Option<CallGroup> {
    match (tool_facts(tool).class, tool) {
        (ToolClass::Read, _) => Some(CallGroup::Read),
        (_, "Glob" | LISTING) => Some(CallGroup::Search("Find")),
        (ToolClass::Search, _) => Some(CallGroup::Search("Search")),
        _ => split_mcp_name(tool).map(|(server, _)| CallGroup::Server(server.to_owned())),
    }
}

fn field<'a>(input: &'a Value, name: &str) -> &'a str {
    input.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub fn label(tool: &str, input: &Value, session: &SessionDisplay) -> CallLabel {
    let path = |name: &str| session.short_path(field(input, name)).to_owned();
    let (name, argument) = match tool {
        "Bash" => ("Run", field(input, "command").trim_end().to_owned()),
        "Read" => ("Read", path("file_path")),
        "Edit" | "MultiEdit" => ("Edit", path("file_path")),
        "Write" => ("Write", path("file_path")),
        "NotebookEdit" => ("Edit", path("notebook_path")),
        "Grep" => ("Search", format!("\"{}\"{}", field(input, "pattern"), search_place(input, session))),
        "Glob" => ("Find", format!("{}{}", field(input, "pattern"), search_place(input, session))),
        LISTING => ("Find", path("path")),
        "WebFetch" => ("Fetch", field(input, "url").to_owned()),
        "WebSearch" => ("Search", format!("the web for \"{}\"", field(input, "query"))),
        "TodoWrite" => ("Tasks", tasks_done(input)),
        "TaskCreate" => ("Task", field(input, "subject").to_owned()),
        "TaskUpdate" => ("Task", task_argument(input)),
        "TaskGet" => ("Task", field(input, "taskId").to_owned()),
        "TaskList" => ("Tasks", String::new()),
        "TaskOutput" => ("Output", field(input, "task_id").to_owned()),
        "TaskStop" => ("Stop", [field(input, "task_id"), field(input, "shell_id")].concat()),
        "EnterPlanMode" | "ExitPlanMode" => ("Plan", String::new()),
        "ToolSearch" => ("Tools", field(input, "query").to_owned()),
        "Recall" => ("Recall", recalled(input)),
        "EnterWorktree" => ("Enter", format!("worktree {}{}", field(input, "name"), field(input, "path"))),
        "ExitWorktree" => ("Leave", format!("worktree {}", field(input, "action"))),
        "SendMessage" => ("Message", field(input, "to").to_owned()),
        "ListMcpResourcesTool" => (server_name(input), "resources".to_owned()),
        "ReadMcpResourceTool" => (server_name(input), field(input, "uri").to_owned()),
        "AskUserQuestion" => ("Ask", first_question(input)),
        "Skill" => ("Skill", field(input, "skill").to_owned()),
        "Agent" | "Task" => ("Agent", agent_argument(input)),
        _ => return other_label(tool, input),
    };
    CallLabel { name: name.to_owned(), argument: argument.trim_end().to_owned() }
}

/// What a call is called among others of its group: the name of the file, what was searched for, the tool of a server.
pub fn short_name(tool: &str, input: &Value, label: &CallLabel) -> String {
    match group(tool) {
        Some(CallGroup::Read) => label.argument.rsplit('/').next().unwrap_or_default().to_owned(),
        Some(CallGroup::Search(_)) if tool == "Grep" => format!("\"{}\"", field(input, "pattern")),
        Some(CallGroup::Server(_)) => split_mcp_name(tool).map_or_else(String::new, |(_, name)| name.to_owned()),
        Some(CallGroup::Search(_)) | None => label.argument.clone(),
    }
}

/// What goes on while a call of this tool runs, with the word that its line begins with.
pub fn activity(tool: &str) -> String {
    let words = match (tool_facts(tool).class, tool) {
        (ToolClass::Shell, _) => "Running a command",
        (ToolClass::Read, _) => "Reading",
        (_, "Write") => "Writing a file",
        (ToolClass::Edit, _) => "Editing",
        (_, "Glob" | LISTING) => "Finding files",
        (_, "WebSearch") => "Searching the web",
        (ToolClass::Search, _) => "Searching",
        (_, "WebFetch") => "Fetching",
        (ToolClass::Agent, _) => "Waiting for an agent",
        _ => match split_mcp_name(tool) {
            Some((server, _)) => return format!("Waiting for {}", text::clean(server).replace('\n', " ")),
            None => "Working",
        },
    };
    words.to_owned()
}

fn recalled(input: &Value) -> String {
    let query = field(input, "query");
    match input.get("around").and_then(Value::as_u64) {
        Some(line) if query.is_empty() => format!("around line {line}"),
        _ if query.is_empty() => "what was summarised".to_owned(),
        _ => format!("\"{query}\""),
    }
}

fn server_name(input: &Value) -> &str {
    Some(field(input, "server")).filter(|server| !server.is_empty()).unwrap_or("Servers")
}

fn agent_argument(input: &Value) -> String {
    let (kind, description) = (field(input, "subagent_type"), field(input, "description"));
    if kind.is_empty() { description.to_owned() } else { format!("{kind}: {description}") }
}

fn tasks_done(input: &Value) -> String {
    let todos = input.get("todos").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let done = todos.iter().filter(|todo| field(todo, "status") == "completed").count();
    if todos.is_empty() { String::new() } else { format!("{done} of {} done", todos.len()) }
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

fn other_label(tool: &str, input: &Value) -> CallLabel {
    let fields = compact(input);
    match split_mcp_name(tool) {
        Some((server, tool)) if fields.is_empty() => CallLabel { name: server.to_owned(), argument: tool.to_owned() },
        Some((server, tool)) => CallLabel { name: server.to_owned(), argument: format!("{tool} {fields}") },
        None => CallLabel { name: tool.to_owned(), argument: fields },
    }
}

/// Where a search looks, after what it looks for.
fn search_place(input: &Value, session: &SessionDisplay) -> String {
    let mut text = String::new();
    for (name, word) in [("path", "in"), ("glob", "in"), ("type", "in files of type")] {
        let value = field(input, name);
        if !value.is_empty() {
            write!(text, " {word} {}", session.short_path(value)).ok();
        }
    }
    text
}

fn compact(input: &Value) -> String {
    match input {
        Value::Null => String::new(),
        Value::Object(fields) => {
            let parts: Vec<String> = fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            parts.join(", ")
        }
        other => other.to_string(),
    }
}

/// One of two words, as the count wants it.
pub fn count_word<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

pub fn plural(count: usize, word: &str) -> String {
    wire::counting::plural(count, word)
}

/// A number with its word, such as `3 files`.
pub fn counted(count: usize, word: &str) -> String {
    format!("{count} {}", plural(count, word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_have_a_verb_and_an_object() {
        let session = SessionDisplay { cwd: "/project".into(), ..SessionDisplay::default() };
        let shown = |tool: &str, input: Value| {
            let CallLabel { name, argument } = label(tool, &input, &session);
            format!("{name}|{argument}")
        };
        assert_eq!(shown("Read", json!({"file_path": "/project/src/a.rs"})), "Read|src/a.rs");
        assert_eq!(shown("Read", json!({"file_path": "/projector/a.rs"})), "Read|/projector/a.rs");
        assert_eq!(shown("Bash", json!({"command": "# note\nrm -rf x\n"})), "Run|# note\nrm -rf x");
        assert_eq!(shown("Grep", json!({"pattern": "x", "path": "/project/src"})), "Search|\"x\" in src");
        assert_eq!(shown("Glob", json!({"pattern": "**/*.rs"})), "Find|**/*.rs");
        assert_eq!(shown("mcp__slack__send", json!({"to": "a"})), "slack|send to: \"a\"");
        let todos = json!({"todos": [{"status": "completed"}, {"status": "pending"}]});
        assert_eq!(shown("TodoWrite", todos), "Tasks|1 of 2 done");
        assert_eq!(
            shown("Agent", json!({"subagent_type": "Explore", "description": "Find it"})),
            "Agent|Explore: Find it"
        );
    }
}
