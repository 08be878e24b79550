//! `gimlet context`: what fills the window of a stored conversation. No request is made, and nothing is changed.

use crate::option_words::OptionWords;
use engine::query;
use engine::stored_context::{self, StoredContext};
use permission::escape_invisible;
use std::ffi::OsString;
use std::fmt::Write as _;
use store::StoreLayout;
use store::find::{self, LatestScope};
use sys::Env;
use wire::counting::thousands;

const USAGE: &str = "Usage: gimlet context [ID] [--json]

What fills the context window of a stored conversation: its size when the model last answered, and what it is made of.

ID       a session's id, the beginning of one, its title, or the path of its transcript; the newest of this folder otherwise
--json   the same fields as the reply to get_context_usage";

/// Returns the text to print and the exit code; an error is ready to print.
pub(crate) fn run(rest: &[OsString], env: &Env) -> Result<(String, u8), String> {
    let (mut target, mut as_json) = (None, false);
    let mut words = OptionWords::new(rest);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => as_json = true,
            "--help" | "-h" | "help" => return Ok((USAGE.into(), 0)),
            other if other.starts_with('-') || target.is_some() => return Err(USAGE.into()),
            _ => target = Some(word),
        }
    }
    let cwd = sys::launch::cwd(env).map_err(|e| format!("Error: the current directory is not available ({e})"))?;
    let cwd = std::fs::canonicalize(&cwd).unwrap_or(cwd);
    let path = match &target {
        Some(target) => query::transcript(env, &cwd, target).map_err(|error| format!("Error: {error}"))?,
        None => find::latest(&StoreLayout::new(env), &cwd, LatestScope::Headless)
            .ok_or("Error: there is no conversation in this folder; name one by its id")?,
    };
    let stored = stored_context::read(&path, env).map_err(|error| format!("Error: {error}"))?;
    Ok((if as_json { stored.usage.reply().to_string() } else { text(&stored) }, 0))
}

fn text(stored: &StoredContext) -> String {
    let usage = &stored.usage;
    let mut text = format!(
        "Session {}\n{} · {} of {} tokens ({} %)\n\n",
        stored.session_id,
        escape_invisible(&usage.model),
        thousands(usage.total()),
        thousands(usage.window),
        usage.percentage()
    );
    for row in usage.categories() {
        let share = row.tokens as f64 / usage.window.max(1) as f64 * 100.0;
        write!(text, "{:<22} {:>11}  {share:>5.1} %", row.name, thousands(row.tokens)).ok();
        for (lead, words) in [("from", row.from.as_str()), ("smaller with", row.smaller)] {
            if !words.is_empty() {
                write!(text, "\n    {lead}: {}", escape_invisible(words)).ok();
            }
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}
