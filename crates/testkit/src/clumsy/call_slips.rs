//! Slips of paths, fields, tools and behaviour.

use super::call::PlannedCall;
use super::intent::IntentKind;
use super::paths::{base_name, joined, parent};
use super::slips::{BeforeGoal, SlipForm, SlipScene};
use serde_json::{Value, json};

fn sent(right: &PlannedCall, change: impl FnOnce(&mut PlannedCall)) -> Option<SlipForm> {
    let mut call = right.clone();
    change(&mut call);
    (call != *right).then_some(SlipForm::Sent(call))
}

/// The path of a call that needs an existing file.
fn existing(right: &PlannedCall) -> Option<&str> {
    let reads = ["Read", "Edit", "NotebookEdit"].contains(&right.tool.as_str());
    let field = right.path_field().filter(|_| reads)?;
    Some(right.text(field))
}

fn with_path(right: &PlannedCall, path: String) -> Option<SlipForm> {
    let field = right.path_field()?;
    sent(right, |call| call.set(field, path))
}

pub(super) fn wrong_folder(right: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<SlipForm> {
    let path = existing(right)?.to_owned();
    let root = scene.view.directory.clone()?;
    let inner = path.strip_prefix(&root)?.trim_start_matches('/');
    let folder = ["lib", "app", "core"][scene.dice.below(3)];
    // Another folder, or none where there is one.
    let wrong = if inner.contains('/') && scene.dice.percent(50) {
        format!("{root}/{}", base_name(inner))
    } else {
        format!("{root}/{folder}/{}", base_name(inner))
    };
    with_path(right, wrong)
}

pub(super) fn typo(right: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<SlipForm> {
    let path = existing(right)?.to_owned();
    let name: Vec<char> = base_name(&path).chars().collect();
    let end = name.iter().rposition(|c| *c == '.').unwrap_or(name.len());
    let places: Vec<usize> = (0..end.saturating_sub(1)).filter(|at| name[*at] != name[at + 1]).collect();
    let at = *places.get(scene.dice.below(places.len()))?;
    let mut wrong = name;
    wrong.swap(at, at + 1);
    let wrong: String = wrong.into_iter().collect();
    with_path(right, joined(parent(&path), &wrong))
}

pub(super) fn wrong_case(right: &PlannedCall, _: &mut SlipScene<'_>) -> Option<SlipForm> {
    let path = existing(right)?.to_owned();
    let name = base_name(&path);
    let mut letters = name.chars();
    let first = letters.next()?;
    let other = if first.is_uppercase() { first.to_lowercase().to_string() } else { first.to_uppercase().to_string() };
    with_path(right, joined(parent(&path), &format!("{other}{}", letters.as_str())))
}

pub(super) fn directory_read(right: &PlannedCall, _: &mut SlipScene<'_>) -> Option<SlipForm> {
    if right.tool != "Read" {
        return None;
    }
    let folder = parent(existing(right)?);
    with_path(right, if folder.is_empty() { ".".to_owned() } else { folder.to_owned() })
}

pub(super) fn offset_past_end(right: &PlannedCall, _: &mut SlipScene<'_>) -> Option<SlipForm> {
    if right.tool != "Read" {
        return None;
    }
    sent(right, |call| {
        call.set("offset", 100_000);
        call.set("limit", 50);
    })
}

/// Field names of other agents' tools.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("file_path", "path"),
    ("command", "cmd"),
    ("old_string", "old_str"),
    ("pattern", "regex"),
    ("content", "text"),
    ("file_path", "filename"),
];

pub(super) fn renamed_field(right: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<SlipForm> {
    let fits: Vec<&(&str, &str)> = OTHER_NAMES.iter().filter(|(own, _)| right.input.contains_key(*own)).collect();
    let (own, other) = **fits.get(scene.dice.below(fits.len()))?;
    sent(right, |call| {
        if let Some(value) = call.input.remove(own) {
            call.set(other, value);
        }
    })
}

pub(super) fn string_number(right: &PlannedCall, _: &mut SlipScene<'_>) -> Option<SlipForm> {
    match right.tool.as_str() {
        "Read" => sent(right, |call| {
            call.set("offset", "1");
            call.set("limit", "200");
        }),
        "Bash" => sent(right, |call| call.set("timeout", "60000")),
        "Grep" => sent(right, |call| call.set("head_limit", "50")),
        _ => None,
    }
}

pub(super) fn json_string_array(right: &PlannedCall, _: &mut SlipScene<'_>) -> Option<SlipForm> {
    let (field, value) = right.input.iter().find(|(_, value)| value.is_array())?;
    let (field, text) = (field.clone(), value.to_string());
    sent(right, |call| call.set(&field, text))
}

pub(super) fn array_command(right: &PlannedCall, _: &mut SlipScene<'_>) -> Option<SlipForm> {
    let command = right.text("command");
    let is_plain =
        right.tool == "Bash" && !command.is_empty() && !command.contains(|c: char| "|&;<>$'\"\\\n*".contains(c));
    let words: Vec<&str> = command.split_whitespace().collect();
    if !is_plain {
        return None;
    }
    sent(right, |call| call.set("command", json!(words)))
}

pub(super) fn extra_field(right: &PlannedCall, _: &mut SlipScene<'_>) -> Option<SlipForm> {
    let (field, value) = match right.tool.as_str() {
        "Read" => ("view_range", json!([1, 80])),
        "Bash" => ("explanation", json!("to see what happens")),
        "Edit" => ("instructions", json!("change these lines")),
        "Grep" | "Glob" => ("recursive", json!(true)),
        _ => return None,
    };
    sent(right, |call| call.set(field, value))
}

pub(super) fn wrong_tool_name(right: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<SlipForm> {
    let names: &[&str] = match right.tool.as_str() {
        "Read" => &["read_file", "read", "view_file"],
        "Edit" => &["str_replace", "edit_file", "edit"],
        "Bash" => &["bash", "run_command", "shell"],
        "Grep" => &["grep", "search_files"],
        "Write" => &["write_file", "create_file"],
        _ => return None,
    };
    let name = names[scene.dice.below(names.len())];
    sent(right, |call| name.clone_into(&mut call.tool))
}

pub(super) fn cut_json(right: &PlannedCall, _: &mut SlipScene<'_>) -> Option<SlipForm> {
    sent(right, |call| call.cut = true)
}

pub(super) fn invalid_regex(right: &PlannedCall, _: &mut SlipScene<'_>) -> Option<SlipForm> {
    let IntentLiteral(literal) = IntentLiteral::of(right)?;
    sent(right, |call| call.set("pattern", literal))
}

/// The pattern as the literal text it stands for, when that text is no pattern.
struct IntentLiteral(String);

impl IntentLiteral {
    fn of(right: &PlannedCall) -> Option<Self> {
        let pattern = right.text("pattern");
        let is_escaped =
            right.tool == "Grep" && (pattern.contains("\\(") || pattern.contains("\\{") || pattern.contains("\\["));
        is_escaped.then(|| Self(pattern.replace('\\', "")))
    }
}

pub(super) fn over_wide_glob(right: &PlannedCall, _: &mut SlipScene<'_>) -> Option<SlipForm> {
    let path = existing(right).filter(|_| right.tool == "Read")?;
    let name = base_name(path);
    let wide = match name.rsplit_once('.') {
        Some((_, end)) => format!("**/*.{end}"),
        None => "**/*".to_owned(),
    };
    Some(SlipForm::Before(PlannedCall::glob(&wide), BeforeGoal::Names(name.to_owned())))
}

/// The whole output is printed, although what is wanted lies in its middle.
pub(super) fn huge_output(right: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<SlipForm> {
    let IntentKind::Run { is_long: true, command, .. } = &scene.intent.kind else { return None };
    let whole = command.split(" | ").next()?.to_owned();
    let mut call = right.clone();
    call.set("command", whole);
    Some(SlipForm::Sent(call))
}

pub(super) fn timeout_in_seconds(right: &PlannedCall, _: &mut SlipScene<'_>) -> Option<SlipForm> {
    let in_background = right.input.get("run_in_background").and_then(Value::as_bool) == Some(true);
    if right.tool != "Bash" || in_background {
        return None;
    }
    sent(right, |call| call.set("timeout", 60))
}

pub(super) fn asks_nobody(_: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<SlipForm> {
    let option = |label: &str| json!({"label": label, "description": "one of the two"});
    let question = json!({"question": "Which of the two ways should I take?", "header": "Way", "multiSelect": false,
        "options": [option("The first"), option("The second")]});
    let fits =
        !scene.intent.with_next && matches!(scene.intent.kind, IntentKind::Edit { .. } | IntentKind::Write { .. });
    let call = PlannedCall::new("AskUserQuestion", &json!({"questions": [question]}));
    fits.then_some(SlipForm::Before(call, BeforeGoal::GoOn))
}

pub(super) fn polls_with_sleep(_: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<SlipForm> {
    let call = PlannedCall::bash("sleep 1 && echo still waiting");
    scene.has_background.then_some(SlipForm::Before(call, BeforeGoal::Works))
}

pub(super) fn insists(_: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<SlipForm> {
    matches!(scene.intent.kind, IntentKind::Run { denied: true, .. }).then_some(SlipForm::Insisted)
}

pub(super) fn forgets_to_check(_: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<SlipForm> {
    let is_check = matches!(scene.intent.kind, IntentKind::Run { verifies: true, .. });
    (is_check && scene.reminds).then_some(SlipForm::Skipped)
}
