//! A conversation as one HTML page that needs nothing else: no script, no font, no image from elsewhere, and a policy in
//! the page that forbids them. Calls and results are folded, changes are shown as coloured differences, and the page
//! follows the light or dark setting of its reader.

use super::{ExportHeading, MAX_CALL_CHARS, MAX_RESULT_CHARS, cut};
use serde_json::Value;
use std::io::{self, Write};
use store::narrative::NarrativeItem;
use terminal::html::{code, escaped, markdown};
use wire::counting::counted;

const STYLE: &str = include_str!("page.css");
/// Nothing is loaded, sent or run.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
/// In characters: what is shown of an input beside the name of a call.
const LABEL_CHARS: usize = 90;

pub(super) fn begin(heading: &ExportHeading, out: &mut dyn Write) -> io::Result<()> {
    let title = escaped(heading.title.as_deref().unwrap_or("Conversation"));
    let place = escaped(heading.cwd.as_deref().unwrap_or_default());
    let id = escaped(&heading.session_id);
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n\
         <p class=\"place\">{id} · {place}</p>\n</header>\n<main>\n"
    )
}

pub(super) fn end(out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"</main>\n</body>\n</html>\n")
}

pub(super) fn write_item(item: NarrativeItem<'_>, out: &mut dyn Write) -> io::Result<()> {
    match item {
        NarrativeItem::User(text) => {
            writeln!(
                out,
                "<section class=\"user\">\n<h2>You</h2>\n<p class=\"said\">{}</p>\n</section>",
                escaped(text.trim_end())
            )
        }
        NarrativeItem::Assistant(text) => writeln!(out, "<section class=\"answer\">\n{}</section>", markdown(text)),
        NarrativeItem::Call { tool, input } => call(tool, input, out),
        NarrativeItem::Result { text, is_error } => result(text, is_error, out),
        NarrativeItem::Image => out.write_all(b"<p class=\"place\">(image)</p>\n"),
        NarrativeItem::Summary(_) => Ok(()),
    }
}

fn call(tool: &str, input: &str, out: &mut dyn Write) -> io::Result<()> {
    let value: Value = serde_json::from_str(input).unwrap_or_default();
    let change = change(&value);
    let label = escaped(&cut(label(&value).lines().next().unwrap_or_default(), LABEL_CHARS));
    write!(out, "<details class=\"call\">\n<summary><b>{}</b> <code>{label}</code>", escaped(tool))?;
    if let Some(lines) = &change {
        let count = |sign: char| lines.iter().filter(|line| line.starts_with(sign)).count();
        write!(out, " <span class=\"add\">+{}</span> <span class=\"del\">−{}</span>", count('+'), count('-'))?;
    }
    let body = match (change, value.get("command").and_then(Value::as_str)) {
        (Some(lines), _) => diff(&lines.join("\n")),
        (None, Some(command)) => code(&cut(command, MAX_CALL_CHARS), "sh"),
        (None, None) => {
            let shown = serde_json::to_string_pretty(&value).unwrap_or_else(|_| input.to_owned());
            code(&cut(&shown, MAX_CALL_CHARS), "json")
        }
    };
    writeln!(out, "</summary>\n<pre>{body}</pre>\n</details>")
}

/// What a call is about: the first of these fields that its input has.
fn label(input: &Value) -> &str {
    let fields = ["file_path", "notebook_path", "command", "pattern", "url", "query", "description", "path", "prompt"];
    fields.iter().find_map(|field| input.get(field)?.as_str()).unwrap_or_default()
}

/// The lines that a call changes, each with its sign; `None` for a call that changes no file.
fn change(input: &Value) -> Option<Vec<String>> {
    let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
    let edits: Vec<(String, String)> = match input.get("edits").and_then(Value::as_array) {
        Some(edits) => {
            edits.iter().filter_map(|edit| Some((text(edit, "old_string")?, text(edit, "new_string")?))).collect()
        }
        None => match (text(input, "old_string"), text(input, "new_string"), text(input, "content")) {
            (Some(old), Some(new), _) => vec![(old, new)],
            (_, _, Some(content)) if input.get("file_path").is_some() => vec![(String::new(), content)],
            _ => return None,
        },
    };
    let mut lines = Vec::new();
    for (old, new) in &edits {
        for hunk in tools::patch::structured(old, new) {
            if !lines.is_empty() {
                lines.push("@@".to_owned());
            }
            lines.extend(hunk.lines);
        }
    }
    Some(lines)
}

fn result(text: &str, is_error: bool, out: &mut dyn Write) -> io::Result<()> {
    let text = text.trim_end();
    let (word, class) = if is_error { ("Failed", " error") } else { ("Result", "") };
    let lines = counted(text.lines().count() as u64, "line");
    let shown = cut(text, MAX_RESULT_CHARS);
    let body = if is_diff(&shown) { diff(&shown) } else { escaped(&shown) };
    writeln!(
        out,
        "<details class=\"result{class}\">\n<summary>{word} <span class=\"place\">{lines}</span></summary>\n<pre>{body}</pre>\n\
         </details>"
    )
}

fn is_diff(text: &str) -> bool {
    text.starts_with("diff --git ") || (text.contains("\n@@ -") && text.contains("\n+++ "))
}

fn diff(text: &str) -> String {
    code(text, "diff")
}
