//! Calls that nearly fit: names and fields of other tool sets, JSON as text, commands as lists of words. What is meant
//! with certainty is brought into the form that hooks, rules and tools take, and said. Nothing is guessed: a required
//! field is taken from another one only when it is missing and exactly one listed alias of it was sent.

use crate::contract::ToolSpec;
use crate::registry::ToolRegistry;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The parts of a call that differ from what was sent.
#[derive(Debug, Default)]
pub struct NormalForm {
    /// The name of the tool that was meant; `None` when it is the one that was sent.
    pub name: Option<String>,
    /// The input for it; `None` when it is unchanged.
    pub input: Option<Box<RawValue>>,
    /// What the model is told, in one line; `None` when there is nothing to say.
    pub note: Option<String>,
}

/// Names of other tool sets, without case and separators, and the tool that is meant. A name that stands for several
/// tools is taken for the only one of them that has the fields that were sent.
const TOOL_ALIASES: [(&str, &[&str]); 8] = [
    ("Read", &["readfile", "view", "viewfile", "openfile", "cat", "ls", "listdir", "listdirectory"]),
    ("Write", &["writefile", "createfile", "savefile", "create"]),
    ("Edit", &["editfile", "strreplace", "searchreplace", "replaceinfile", "replace", "strreplaceeditor"]),
    (
        "Bash",
        &[
            "shell",
            "sh",
            "exec",
            "terminal",
            "runcommand",
            "executecommand",
            "runterminalcmd",
            "runshellcommand",
            "localshell",
        ],
    ),
    ("Glob", &["findfiles", "filesearch", "listfiles", "searchfiles"]),
    (
        "Grep",
        &["search", "grepsearch", "ripgrep", "rg", "searchcontent", "searchfilecontent", "searchfiles", "codesearch"],
    ),
    ("WebFetch", &["fetch", "fetchurl", "urlfetch", "httpget"]),
    ("WebSearch", &["searchweb", "googlesearch", "googlewebsearch"]),
];

/// Fields of other tool sets: the tool, its required field, and the names taken for it.
const FIELD_ALIASES: [(&str, &str, &[&str]); 16] = [
    ("Read", "file_path", FILE_PATH),
    ("Write", "file_path", FILE_PATH),
    ("Edit", "file_path", FILE_PATH),
    ("MultiEdit", "file_path", FILE_PATH),
    ("NotebookEdit", "notebook_path", &["path", "file_path", "filename", "notebook"]),
    ("NotebookEdit", "new_source", &["source", "content", "new_content"]),
    ("Write", "content", &["text", "contents", "file_text", "file_content", "data"]),
    ("Edit", "old_string", OLD_STRING),
    ("Edit", "new_string", NEW_STRING),
    ("Bash", "command", &["cmd", "script", "shell_command", "commands"]),
    ("Grep", "pattern", &["regex", "query", "search", "regexp"]),
    ("Glob", "pattern", &["glob", "glob_pattern", "query"]),
    ("WebFetch", "url", &["uri", "link", "address"]),
    ("WebSearch", "query", &["q", "search", "search_query"]),
    ("TaskStop", "task_id", &["shell_id", "id"]),
    ("TaskOutput", "task_id", &["bash_id", "id"]),
];
const FILE_PATH: &[&str] =
    &["path", "filename", "file", "filepath", "file_name", "filePath", "absolute_path", "target_file"];
const OLD_STRING: &[&str] = &["old_str", "old_text", "oldText", "oldString", "old", "search"];
const NEW_STRING: &[&str] = &["new_str", "new_text", "newText", "newString", "new", "replacement"];

/// The name without case and separators.
fn bare(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// The tool of `registry` that `name` means, when that is another name.
fn meant_tool(name: &str, fields: Option<&Map<String, Value>>, registry: &ToolRegistry) -> Option<String> {
    if registry.find(name).is_some() || name.starts_with("mcp__") {
        return None;
    }
    let wanted = bare(name);
    let mut alike = registry.names().filter(|other| bare(other) == wanted);
    if let (Some(one), None) = (alike.next(), alike.next()) {
        return Some(one.to_owned());
    }
    let listed = TOOL_ALIASES.iter().filter(|(_, names)| names.contains(&wanted.as_str()));
    let mut meant: Vec<&str> = listed.map(|(tool, _)| *tool).filter(|tool| registry.find(tool).is_some()).collect();
    if meant.len() > 1 {
        meant.retain(|tool| fields.is_some_and(|fields| takes_all(tool, fields, registry)));
    }
    match meant.as_slice() {
        [one] => Some((*one).to_owned()),
        _ => None,
    }
}

/// Whether the tool has every field that was sent, under its own name or another one.
fn takes_all(tool: &str, fields: &Map<String, Value>, registry: &ToolRegistry) -> bool {
    let schema = registry.find(tool).map(|tool| InputSchema::of(tool.spec())).unwrap_or_default();
    let is_alias = |field: &String| {
        FIELD_ALIASES.iter().any(|(owner, _, names)| *owner == tool && names.contains(&field.as_str()))
    };
    fields.keys().all(|field| schema.properties.contains_key(field) || is_alias(field))
}

/// The call as it is meant. `name` and `input` are as the model sent them.
pub fn normalise(name: &str, input: &RawValue, registry: &ToolRegistry) -> NormalForm {
    let fields = serde_json::from_str::<Map<String, Value>>(input.get()).ok();
    let meant = meant_tool(name, fields.as_ref(), registry);
    let mut form = NormalForm::default();
    let mut said = Vec::new();
    let mut tool = meant.clone().unwrap_or_else(|| name.to_owned());
    if meant.is_some() {
        said.push(format!("{name} was taken for {tool}"));
    }
    let Some(known) = registry.find(&tool) else { return form };
    let Some(mut fields) = fields else {
        form.name = meant;
        return form;
    };
    let mut schema = InputSchema::of(known.spec());
    if tool.starts_with("mcp__") {
        // The server says what it does with other fields.
        if convert_values(&schema, &mut fields) | convert_scalars(&schema, &mut fields) {
            form.input = wire::raw::to_raw(&fields).ok();
        }
        return form;
    }
    if tool == "Edit"
        && fields.contains_key("edits")
        && !fields.contains_key("old_string")
        && registry.find("MultiEdit").is_some()
    {
        "MultiEdit".clone_into(&mut tool);
        schema = registry.find(&tool).map_or_else(InputSchema::default, |tool| InputSchema::of(tool.spec()));
        said.push("a list of edits is MultiEdit".to_owned());
    }
    let renamed = rename_fields(wire::names::canonical(&tool), &schema, &mut fields);
    let converted = convert_values(&schema, &mut fields);
    said.extend(renamed.iter().map(|(from, to)| format!("`{from}` was taken for `{to}`")));
    said.extend(schema.ignored(&tool, &fields));
    if !renamed.is_empty() || converted {
        form.input = wire::raw::to_raw(&fields).ok();
    }
    form.name = (tool != name && wire::names::canonical(name) != tool).then_some(tool);
    form.note = (!said.is_empty()).then(|| format!("({})", said.join("; ")));
    form
}

/// What a tool takes, from its schema.
#[derive(Default)]
struct InputSchema {
    properties: BTreeMap<String, Value>,
    required: Vec<String>,
    /// Other fields are not part of the input.
    is_closed: bool,
}

impl InputSchema {
    fn of(spec: &ToolSpec) -> Self {
        let mut schema: Map<String, Value> = serde_json::from_str(&spec.schema).unwrap_or_default();
        let properties = match schema.remove("properties") {
            Some(Value::Object(properties)) => properties.into_iter().collect(),
            _ => BTreeMap::new(),
        };
        let required = schema.remove("required").and_then(|names| serde_json::from_value(names).ok());
        let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        Self { properties, required: required.unwrap_or_default(), is_closed }
    }

    fn has_type(&self, field: &str, kind: &str) -> bool {
        self.properties.get(field).and_then(|property| property.get("type")).is_some_and(|found| found == kind)
    }

    /// Says which fields have no effect, and which there are.
    fn ignored(&self, tool: &str, fields: &Map<String, Value>) -> Option<String> {
        let unknown: Vec<String> = fields
            .keys()
            .filter(|field| self.is_closed && !self.properties.contains_key(*field))
            .map(|field| format!("`{field}`"))
            .collect();
        let optional: Vec<&str> =
            self.properties.keys().filter(|field| !self.required.contains(field)).map(String::as_str).collect();
        let has = if optional.is_empty() { String::new() } else { format!("; {tool} has {}", optional.join(", ")) };
        (!unknown.is_empty()).then(|| format!("ignored {}{has}", unknown.join(", ")))
    }
}

/// Renames aliases of missing required fields; returns the pairs.
fn rename_fields(tool: &str, schema: &InputSchema, fields: &mut Map<String, Value>) -> Vec<(String, &'static str)> {
    let mut renamed = Vec::new();
    for (_, field, aliases) in FIELD_ALIASES.iter().filter(|(owner, ..)| *owner == tool) {
        if fields.get(*field).is_some_and(|value| !value.is_null()) {
            continue;
        }
        let sent: Vec<&str> = aliases
            .iter()
            .copied()
            .filter(|alias| fields.contains_key(*alias) && !schema.properties.contains_key(*alias))
            .collect();
        if let [alias] = sent.as_slice()
            && let Some(value) = fields.remove(*alias)
        {
            fields.insert((*field).to_owned(), value);
            renamed.push(((*alias).to_owned(), *field));
        }
    }
    renamed
}

/// Reads JSON text where a list or an object belongs, and joins a command that was sent as words. Returns whether
/// anything was changed.
fn convert_values(schema: &InputSchema, fields: &mut Map<String, Value>) -> bool {
    let mut any = false;
    for (field, value) in fields.iter_mut() {
        let converted = match value {
            Value::String(text) if schema.has_type(field, "array") => parsed(text, Value::is_array),
            Value::String(text) if schema.has_type(field, "object") => parsed(text, Value::is_object),
            Value::Array(words) if field == "command" && schema.has_type(field, "string") => shell_words(words),
            _ => None,
        };
        if let Some(converted) = converted {
            *value = converted;
            any = true;
        }
    }
    any
}

/// Reads numbers and truth values that were sent as text, and writes numbers as text where text belongs. Tools of ours
/// take both. Returns whether anything was changed.
fn convert_scalars(schema: &InputSchema, fields: &mut Map<String, Value>) -> bool {
    let mut any = false;
    for (field, value) in fields.iter_mut() {
        let converted = match value {
            Value::String(text) if schema.has_type(field, "integer") => {
                parsed(text.trim(), |read| read.is_i64() || read.is_u64())
            }
            Value::String(text) if schema.has_type(field, "number") => parsed(text.trim(), Value::is_number),
            Value::String(text) if schema.has_type(field, "boolean") => {
                parsed(&text.trim().to_ascii_lowercase(), Value::is_boolean)
            }
            Value::Number(number) if schema.has_type(field, "string") => Some(number.to_string().into()),
            Value::Number(number) if schema.has_type(field, "integer") && !number.is_i64() && !number.is_u64() => {
                whole(number)
            }
            _ => None,
        };
        if let Some(converted) = converted {
            *value = converted;
            any = true;
        }
    }
    any
}

/// `3.0` as `3`; `None` when that would change the value.
fn whole(number: &serde_json::Number) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let value = number.as_f64().filter(|value| value.fract() == 0.0 && value.abs() < EXACT)?;
    Some((value as i64).into())
}

fn parsed(text: &str, fits: impl Fn(&Value) -> bool) -> Option<Value> {
    serde_json::from_str(text).ok().filter(fits)
}

/// The words of a command, quoted where the shell needs it. `["bash", "-lc", TEXT]` is the text.
fn shell_words(words: &[Value]) -> Option<Value> {
    let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
    if let ["bash" | "sh" | "zsh", "-c" | "-lc", text] = words.as_slice() {
        return Some((*text).into());
    }
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    (!quoted.is_empty()).then(|| quoted.join(" ").into())
}

fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The answer to a tool name that does not exist: the nearest tool and what it requires.
pub fn unknown_tool(name: &str, registry: &ToolRegistry) -> String {
    let wanted = bare(name);
    let offered = registry.specs().map(|spec| (crate::file_work::changed_letters(&wanted, &bare(&spec.name)), spec));
    let near = offered
        .filter(|(distance, spec)| *distance * 2 <= spec.name.len().max(3))
        .min_by_key(|(distance, _)| *distance);
    let Some((_, spec)) = near else {
        let names: Vec<&str> =
            registry.specs().map(|spec| &*spec.name).filter(|name| !name.starts_with("mcp__")).collect();
        return format!("No such tool available: {name}. The tools are {}.", names.join(", "));
    };
    let required = InputSchema::of(spec).required;
    format!("No such tool available: {name}. The nearest is {}, which requires {}.", spec.name, required.join(", "))
}

/// The answer to an input that does not fit: `fault`, what was sent, what the tool takes, and an example.
pub fn wrong_input(fault: &str, spec: &ToolSpec, input: &RawValue) -> String {
    let schema = InputSchema::of(spec);
    if schema.required.is_empty() {
        return fault.to_owned();
    }
    let fields: Map<String, Value> = serde_json::from_str(input.get()).unwrap_or_default();
    let sent: Vec<&str> = fields.keys().map(String::as_str).collect();
    let sent = if sent.is_empty() { "no fields".to_owned() } else { sent.join(", ") };
    let example: Map<String, Value> =
        schema.required.iter().map(|field| (field.clone(), example_of(&schema.properties, field))).collect();
    let example = serde_json::to_string(&example).unwrap_or_default();
    format!("{fault}. Sent: {sent}. Required: {}. Example: {example}", schema.required.join(", "))
}

fn example_of(properties: &BTreeMap<String, Value>, field: &str) -> Value {
    let property = properties.get(field);
    let first_choice = property.and_then(|p| p.get("enum")).and_then(Value::as_array).and_then(|all| all.first());
    if let Some(choice) = first_choice {
        return choice.clone();
    }
    match property.and_then(|p| p.get("type")).and_then(Value::as_str) {
        Some("array") => Value::Array(Vec::new()),
        Some("object") => Value::Object(Map::new()),
        Some("boolean") => Value::Bool(false),
        Some("integer" | "number") => 1.into(),
        _ if field.ends_with("_path") => "src/main.rs".into(),
        _ => "…".into(),
    }
}

#[cfg(test)]
#[path = "normal_form_tests.rs"]
mod tests;
