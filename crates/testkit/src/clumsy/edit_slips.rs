//! Slips of edits: the text to replace is not quite the text of the file.

use super::call::PlannedCall;
use super::intent::IntentKind;
use super::slips::{SlipForm, SlipScene};
use serde_json::Value;

/// The old and new text of an Edit call.
fn texts(right: &PlannedCall) -> Option<(String, String)> {
    let both = right.tool == "Edit" && right.input.get("replace_all").and_then(Value::as_bool) != Some(true);
    let (old, new) = (right.text("old_string"), right.text("new_string"));
    let is_long_enough = old.chars().filter(|c| !c.is_whitespace()).count() >= 12;
    (both && is_long_enough).then(|| (old.to_owned(), new.to_owned()))
}

fn sent(right: &PlannedCall, old: String, new: String) -> Option<SlipForm> {
    if old == right.text("old_string") || old == new {
        return None;
    }
    let mut call = right.clone();
    call.set("old_string", old);
    call.set("new_string", new);
    Some(SlipForm::Sent(call))
}

fn each_line(text: &str, change: impl Fn(&str) -> String) -> String {
    text.split('\n')
        .map(|line| if line.is_empty() { String::new() } else { change(line) })
        .collect::<Vec<_>>()
        .join("\n")
}

fn split_indent(line: &str) -> (&str, &str) {
    line.split_at(line.len() - line.trim_start().len())
}

pub(super) fn tabs_for_spaces(right: &PlannedCall, _: &mut SlipScene<'_>) -> Option<SlipForm> {
    let (old, new) = texts(right)?;
    let has_tabs = old.lines().any(|line| line.starts_with('\t'));
    let swap = |line: &str| {
        let (indent, rest) = split_indent(line);
        let other = if has_tabs { indent.replace('\t', "    ") } else { indent.replace("    ", "\t") };
        format!("{other}{rest}")
    };
    sent(right, each_line(&old, swap), each_line(&new, swap))
}

pub(super) fn constant_indent(right: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<SlipForm> {
    let (old, new) = texts(right)?;
    let extra = if old.contains('\t') { "\t" } else { "    " };
    let is_indented = |text: &str| text.lines().filter(|l| !l.is_empty()).all(|l| l.starts_with(extra));
    if is_indented(&old) && is_indented(&new) && scene.dice.percent(60) {
        let less = |line: &str| line.strip_prefix(extra).unwrap_or(line).to_owned();
        let (old, new) = (each_line(&old, less), each_line(&new, less));
        // At the start of a line the rest of it would match inside the line; the model would have been right.
        return if old.contains('\n') { sent(right, old, new) } else { None };
    }
    let more = |line: &str| format!("{extra}{line}");
    sent(right, each_line(&old, more), each_line(&new, more))
}

pub(super) fn trailing_blanks(right: &PlannedCall, _: &mut SlipScene<'_>) -> Option<SlipForm> {
    let (old, new) = texts(right)?;
    if !old.contains('\n') {
        return None;
    }
    sent(right, each_line(&old, |line| format!("{} ", line.trim_end())), new)
}

pub(super) fn numbered_lines(right: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<SlipForm> {
    let (old, new) = texts(right)?;
    let first = 5 + scene.dice.below(90);
    let number = |text: &str| {
        let lines = text.split('\n').enumerate();
        lines.map(|(at, l)| format!("{}\t{l}", first + at)).collect::<Vec<_>>().join("\n")
    };
    sent(right, number(&old), number(&new))
}

pub(super) fn escaped_newlines(right: &PlannedCall, _: &mut SlipScene<'_>) -> Option<SlipForm> {
    let (old, new) = texts(right)?;
    if !old.contains('\n') || old.contains('\\') || new.contains('\\') {
        return None;
    }
    let spell = |text: &str| text.replace('\n', "\\n").replace('\t', "\\t");
    sent(right, spell(&old), spell(&new))
}

/// One word of the old text is retyped from memory: two letters swapped, or a blank lost.
pub(super) fn near_miss(right: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<SlipForm> {
    let (old, new) = texts(right)?;
    let chars: Vec<char> = old.chars().collect();
    let is_word =
        |at: &usize| chars[*at].is_alphanumeric() && chars[at + 1].is_alphanumeric() && chars[*at] != chars[at + 1];
    let places: Vec<usize> = (1..chars.len().saturating_sub(1)).filter(is_word).collect();
    let at = *places.get(scene.dice.below(places.len()))?;
    let mut missed = chars;
    missed.swap(at, at + 1);
    sent(right, missed.into_iter().collect(), new)
}

/// Only the first changed line, without the lines around it that make it unique.
pub(super) fn non_unique(right: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<SlipForm> {
    let (old, new) = texts(right)?;
    if !scene.intent.slips.iter().any(|slip| slip == "non-unique") || old.lines().count() != new.lines().count() {
        return None;
    }
    let (old_line, new_line) = old.lines().zip(new.lines()).find(|(a, b)| a != b)?;
    sent(right, old_line.to_owned(), new_line.to_owned())
}

pub(super) fn stale(right: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<SlipForm> {
    let IntentKind::Edit { stale: Some(stale), .. } = &scene.intent.kind else { return None };
    (right.tool == "Edit").then(|| SlipForm::Stale(stale.command.clone()))
}

pub(super) fn already_applied(right: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<SlipForm> {
    let (old, new) = texts(right)?;
    // An edit that can be applied twice would be wrong, not a slip of memory.
    (!new.contains(&old) && !scene.intent.with_next).then_some(SlipForm::Again)
}

pub(super) fn crlf(right: &PlannedCall, _: &mut SlipScene<'_>) -> Option<SlipForm> {
    let (old, new) = texts(right)?;
    sent(right, old.replace('\n', "\r\n"), new.replace('\n', "\r\n"))
}

/// A dash or blank of a line that goes away is sent as its typographic likeness.
pub(super) fn lookalike(right: &PlannedCall, _: &mut SlipScene<'_>) -> Option<SlipForm> {
    let (old, new) = texts(right)?;
    let gone = |line: &str| !new.lines().any(|kept| kept == line);
    let line = old.lines().find(|line| gone(line) && (line.trim().contains(' ') || line.contains('-')))?;
    let (indent, rest) = split_indent(line);
    let changed = if rest.contains('-') { rest.replacen('-', "\u{2013}", 1) } else { rest.replacen(' ', "\u{a0}", 1) };
    sent(right, old.replacen(line, &format!("{indent}{changed}"), 1), new.clone())
}

pub(super) fn two_at_once(right: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<SlipForm> {
    let (IntentKind::Edit { file, .. }, Some(next)) = (&scene.intent.kind, scene.next) else { return None };
    let IntentKind::Edit { file: other, .. } = &next.kind else { return None };
    let same = right.tool == "Edit" && file == other && next.turn == scene.intent.turn;
    (same && next.unless_told.is_none() && scene.intent.unless_told.is_none()).then_some(SlipForm::Together)
}

/// Another slip of the text, sent again and again.
pub(super) fn repeats_itself(right: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<SlipForm> {
    match near_miss(right, scene)? {
        SlipForm::Sent(call) => Some(SlipForm::Repeated(call)),
        _ => None,
    }
}
