//! The fixed rules after a call that did not do what it was meant to: take a suggested path, tool or field; copy lines
//! that the result shows; follow a named offset or file; else look again.

use super::attempt::Attempt;
use super::call::PlannedCall;
use super::intent::{EditText, IntentKind};
use super::lines::{best_match, brought_up_to_date, diff_block, numbered_blocks, replaced_lines, transplant};
use super::paths::{base_name, mentioned, output_file, parent, suggested};
use super::view::{RequestView, ShownResult};
use serde_json::{Value, json};

pub(super) enum Move {
    /// Another try.
    Send(PlannedCall),
    /// A call that only looks.
    Look(PlannedCall),
    /// Nothing is left to do for this intent.
    Accept,
    GiveUp,
}

const MOST_LOOKS: usize = 4;

/// What to do after the last try failed with this result.
pub(super) fn after_failure(attempt: &Attempt, result: &ShownResult, view: &RequestView) -> Move {
    if let Some(call) = result.is_error.then(|| mended_form(attempt, &result.text, view)).flatten() {
        return Move::Send(call);
    }
    if attempt.looks >= MOST_LOOKS {
        return Move::GiveUp;
    }
    if let Some(field) = attempt.call.path_field().filter(|_| result.text.contains("has not been read yet")) {
        return Move::Look(PlannedCall::read(attempt.call.text(field)));
    }
    match attempt.call.tool.as_str() {
        "Read" => after_read(attempt, &result.text),
        "Edit" => after_edit(attempt, result),
        "Bash" => after_command(attempt, &result.text, view),
        "Grep" if attempt.call != attempt.right => Move::Send(attempt.right.clone()),
        "NotebookEdit" if speaks_of_path(&result.text) => wrong_path(attempt, &result.text),
        _ => Move::Send(attempt.right.clone()),
    }
}

/// What to do with the result of a look.
pub(super) fn after_look(attempt: &Attempt, look: &PlannedCall, result: &ShownResult) -> Move {
    match look.tool.as_str() {
        "Glob" => after_listing(attempt, look, &result.text),
        "Read" => after_reread(attempt, &result.text),
        "Grep" if attempt.is_fulfilled_by(result) => Move::Accept,
        _ => Move::Send(attempt.right.clone()),
    }
}

/// The call in the form that the error asks for; `None` when the error is about something else.
fn mended_form(attempt: &Attempt, text: &str, view: &RequestView) -> Option<PlannedCall> {
    let mut call = attempt.call.clone();
    if call.cut {
        call.cut = !text.contains("JSON");
        return (!call.cut).then_some(call);
    }
    let Some(schema) = view.schema(&call.tool) else {
        // The request lists the tools; a tool that the error names goes first.
        let named = view.tools.iter().map(|(name, _)| name).find(|name| is_named(text, name) && **name != call.tool);
        call.tool.clone_from(named.unwrap_or(&attempt.right.tool));
        return Some(call);
    };
    let unknown = call.input.keys().find(|key| schema["properties"].get(key.as_str()).is_none()).cloned();
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<&str> = required.filter(|field| !call.input.contains_key(*field)).collect();
    if let (Some(unknown), Some(field)) = (&unknown, missing.iter().find(|field| is_named(text, field))) {
        let value = call.input.remove(unknown)?;
        call.set(field, value);
        return Some(call);
    }
    // A field that was ignored is not what failed.
    let is_blamed = |unknown: &String| is_named(text, unknown) && !text.contains(&format!("ignored `{unknown}`"));
    if let Some(unknown) = unknown.filter(is_blamed) {
        call.input.remove(&unknown);
        return Some(call);
    }
    let wrong = call
        .input
        .iter()
        .find(|(name, value)| is_named(text, name) && !fits(value, &schema["properties"][name.as_str()]));
    let (name, value) = wrong.map(|(name, value)| (name.clone(), value.clone()))?;
    let value = converted(&value, &schema["properties"][name.as_str()])?;
    call.set(&name, value);
    Some(call)
}

fn is_named(text: &str, name: &str) -> bool {
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    text.match_indices(name)
        .any(|(at, _)| is_edge(text[..at].chars().next_back()) && is_edge(text[at + name.len()..].chars().next()))
}

fn fits(value: &Value, schema: &Value) -> bool {
    match schema["type"].as_str() {
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("number" | "integer") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        _ => true,
    }
}

/// The value in the type that the schema wants.
fn converted(value: &Value, schema: &Value) -> Option<Value> {
    match (schema["type"].as_str()?, value) {
        ("string", Value::Array(words)) => {
            Some(json!(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")))
        }
        ("array" | "number" | "integer" | "boolean" | "object", Value::String(text)) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

fn speaks_of_path(text: &str) -> bool {
    ["not exist", "No such file", "no such file", "directory"].iter().any(|words| text.contains(words))
}

fn after_read(attempt: &Attempt, text: &str) -> Move {
    let ranged = attempt.call.input.contains_key("offset");
    if ranged && !speaks_of_path(text) {
        let mut call = attempt.call.clone();
        call.input.remove("offset");
        call.input.remove("limit");
        return Move::Send(call);
    }
    wrong_path(attempt, text)
}

/// A path that leads nowhere: a suggestion of the text, else a look for the name.
fn wrong_path(attempt: &Attempt, text: &str) -> Move {
    let field = attempt.call.path_field().unwrap_or("file_path");
    let (sent, right) = (attempt.call.text(field), attempt.right.text(field));
    let is_folder = right.starts_with(&format!("{}/", sent.trim_end_matches('/')));
    let (wanted, folder) = if is_folder { (right, sent) } else { (sent, parent(sent)) };
    let named = if is_folder { entry(text, base_name(right), sent) } else { suggested(text, wanted, folder) };
    match named {
        Some(path) => Move::Send(with(&attempt.call, field, &path)),
        None if attempt.looks == 0 => Move::Look(PlannedCall::glob(&format!("**/{}", base_name(wanted)))),
        None => Move::GiveUp,
    }
}

/// A listed entry of a folder with this name.
fn entry(text: &str, name: &str, folder: &str) -> Option<String> {
    let is_listed = text.lines().any(|line| line.trim_start_matches(['-', ' ']).trim() == name)
        || mentioned(text).iter().any(|path| base_name(path) == name);
    is_listed.then(|| format!("{}/{name}", folder.trim_end_matches('/')))
}

fn with(call: &PlannedCall, field: &str, value: &str) -> PlannedCall {
    let mut call = call.clone();
    call.set(field, value);
    call
}

fn after_listing(attempt: &Attempt, look: &PlannedCall, text: &str) -> Move {
    let field = attempt.call.path_field().unwrap_or("file_path");
    let name = base_name(look.text("pattern"));
    // After a look for all files of a kind, the believed name decides.
    let wanted = if name.starts_with('*') { base_name(&attempt.believed_path) } else { name };
    // Each line of a listing is a path, also a bare name without an ending.
    let found = text.lines().map(str::trim).find(|path| base_name(path) == wanted).map(str::to_owned);
    match found.or_else(|| suggested(text, wanted, "")) {
        Some(path) => Move::Send(with(&attempt.call, field, &path)),
        None if attempt.looks < 2 => {
            let end = wanted.rsplit_once('.').map_or("*", |(_, end)| end);
            Move::Look(PlannedCall::glob(&format!("**/*.{end}")))
        }
        None => Move::GiveUp,
    }
}

fn after_edit(attempt: &Attempt, result: &ShownResult) -> Move {
    let text = &result.text;
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&["not exist", "No such file"]) {
        return wrong_path(attempt, text);
    }
    if has(&["already holds", "already applied", "seems to be done"]) {
        return Move::Accept;
    }
    if let Some(call) = brought_up(attempt, text) {
        return Move::Send(call);
    }
    // What the model sent itself teaches nothing.
    let told = text.replace(attempt.call.text("old_string").trim_end(), "");
    let mut blocks = numbered_blocks(&told);
    blocks.extend(diff_block(&told));
    if let Some(call) = copied(attempt, &blocks) {
        return Move::Send(call);
    }
    let is_ambiguous = has(&["unique", "times", "more than once", "several places"]);
    if is_ambiguous && attempt.call.text("old_string") != attempt.right.text("old_string") {
        // The lines around it stand in the Read result above.
        return Move::Send(attempt.right.clone());
    }
    Move::Look(PlannedCall::read(attempt.call.text("file_path")))
}

/// The edit with the lines that a difference in the text replaces as they are now; `None` when it has none of them.
fn brought_up(attempt: &Attempt, text: &str) -> Option<PlannedCall> {
    let belief = plainer(attempt.belief.as_ref()?);
    let news = replaced_lines(text);
    let old = brought_up_to_date(&belief.old, &news);
    if old == belief.old {
        return None;
    }
    let mut call = attempt.call.clone();
    call.set("old_string", old);
    call.set("new_string", brought_up_to_date(&belief.new, &news));
    Some(call)
}

/// The edit with the shown lines that are most like the believed ones; `None` when they teach nothing new.
fn copied(attempt: &Attempt, blocks: &[super::lines::ShownBlock]) -> Option<PlannedCall> {
    let belief = plainer(attempt.belief.as_ref()?);
    let lines = best_match(blocks, &belief.old)?;
    let old = lines.join("\n");
    if old == attempt.call.text("old_string") {
        return None;
    }
    let new = transplant(&belief.old, &belief.new, &lines);
    let mut call = attempt.call.clone();
    call.set("old_string", old);
    call.set("new_string", new);
    Some(call)
}

/// The believed texts without line numbers, spelled-out line breaks and carriage returns: what the model sees at once when
/// it has real lines before it.
fn plainer(belief: &EditText) -> EditText {
    let plain = |text: &str| {
        let text = text.replace("\r\n", "\n");
        let unescaped = if text.contains("\\n") && !text.contains('\n') {
            text.replace("\\n", "\n").replace("\\t", "\t")
        } else {
            text
        };
        let blocks = numbered_blocks(&unescaped);
        let count = unescaped.lines().count();
        match &blocks[..] {
            [block] if block.lines.len() == count => block.lines.join("\n"),
            _ => unescaped,
        }
    };
    EditText { old: plain(&belief.old), new: plain(&belief.new), all: belief.all }
}

fn after_reread(attempt: &Attempt, text: &str) -> Move {
    let blocks = numbered_blocks(text);
    let Some(belief) = attempt.belief.as_ref() else { return Move::Send(attempt.call.clone()) };
    let shown = blocks.iter().map(|block| block.lines.join("\n")).collect::<Vec<_>>().join("\n");
    let plain = plainer(belief);
    if shown.contains(&plain.new) && !shown.contains(&plain.old) {
        return Move::Accept;
    }
    match copied(attempt, &blocks) {
        Some(call) => Move::Send(call),
        // Nothing like it: another file was meant.
        None if attempt.call.text("file_path") != attempt.right.text("file_path") => {
            let end = attempt.right.text("file_path").rsplit_once('.').map_or("*", |(_, end)| end);
            Move::Look(PlannedCall::glob(&format!("**/*.{end}")))
        }
        None if attempt.looks < 2 => Move::Send(attempt.call.clone()),
        None => Move::GiveUp,
    }
}

fn after_command(attempt: &Attempt, text: &str, view: &RequestView) -> Move {
    let IntentKind::Run { expect, denied, .. } = &attempt.intent.kind else {
        return Move::Send(attempt.right.clone());
    };
    if *denied {
        return Move::Accept;
    }
    let timeout = attempt.call.input.get("timeout").and_then(Value::as_u64);
    let speaks_of_time = ["timeout", "timed out", "did not complete"].iter().any(|words| text.contains(words));
    if let Some(timeout) = timeout.filter(|ms| *ms < 1_000 && speaks_of_time) {
        let mut call = attempt.call.clone();
        call.set("timeout", timeout * 1_000);
        return Move::Send(call);
    }
    match (expect, output_file(text, view.directory.as_deref())) {
        (Some(wanted), Some(file)) if attempt.looks == 0 => {
            let input = json!({"pattern": escaped(wanted), "path": file, "output_mode": "content"});
            Move::Look(PlannedCall::new("Grep", &input))
        }
        _ => Move::Send(attempt.right.clone()),
    }
}

/// A text as a pattern for itself.
fn escaped(text: &str) -> String {
    let special = |c: char| r"\.+*?()|[]{}^$".contains(c);
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

/// Whether a text says to go on without a person.
pub(super) fn says_to_go_on(text: &str) -> bool {
    let text = text.to_lowercase();
    let words = ["nobody can", "no one can", "nobody is", "without it", "choose", "decide yourself", "do not ask"];
    words.iter().any(|word| text.contains(word))
}

/// Whether a text says that an edit is done already.
pub(super) fn says_done(text: &str) -> bool {
    ["already holds", "already applied", "seems to be done", "already there"].iter().any(|words| text.contains(words))
}
