//! The 40 slips of the first measurement as a fixed list: each is sent once and its answer judged. Absorbed: the call did
//! what was meant. Answered: the result holds what the next call needs. Left: a further look is needed, or nothing helps.

use super::budgets::text_of;
use super::probe::{Probe, call};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::path::Path;
use testkit::ScriptedReply;

mod table;

/// How a slip is judged.
pub(super) struct ListedSlip {
    name: &'static str,
    /// Calls before it, as `(tool, input)`.
    before: Vec<(&'static str, Value)>,
    tool: &'static str,
    /// The input; a text is sent as it is, for broken JSON.
    input: Value,
    done: Done,
    /// What the next call needs, all of it.
    holds: &'static [&'static str],
}

/// What makes it absorbed.
pub(super) enum Done {
    /// This text stands in this file.
    File(&'static str, &'static str),
    /// The result is no error and holds this text.
    Result(&'static str),
    /// Nothing could be carried out.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Absorbed,
    Answered,
    Left,
}

pub(super) fn print(binary: &Path) -> Result<()> {
    let mut counts = [0; 3];
    for slip in table::slips() {
        let (verdict, shown) = judge(binary, &slip).with_context(|| slip.name)?;
        counts[verdict as usize] += 1;
        let shown: String = shown.chars().take(110).collect::<String>().replace('\n', "⏎");
        println!("{:<9} {:<34} {shown}", format!("{verdict:?}").to_lowercase(), slip.name);
    }
    println!("\n{} absorbed, {} answered with what the next call needs, {} left", counts[0], counts[1], counts[2]);
    println!("targets: 22, 16, 2");
    Ok(())
}

/// Runs one slip in a workspace of its own; also returns the result.
fn judge(binary: &Path, slip: &ListedSlip) -> Result<(Verdict, String)> {
    let mut probe = Probe::new(binary);
    probe.sandbox.set("CLAUDE_CODE_ENABLE_TASKS", "0");
    table::workspace(&probe)?;
    let root = probe.sandbox.project().display().to_string();
    let mut script: Vec<ScriptedReply> = Vec::new();
    for (at, (tool, input)) in slip.before.iter().enumerate() {
        script.push(call(&format!("before-{at}"), tool, &placed(input, &root)));
    }
    script.push(match &slip.input {
        Value::String(raw) => ScriptedReply::message(vec![testkit::ScriptedBlock::Tool {
            id: Some("slip".into()),
            name: slip.tool.into(),
            input: raw.replace('@', &root),
        }]),
        input => call("slip", slip.tool, &placed(input, &root)),
    });
    // A model whose sessions have the list of one call.
    let requests = probe.run(script, &["--model", "claude-haiku-4-5"])?;
    let results = requests.last().context("no request")?.tool_results();
    let result = results.iter().find(|result| result["tool_use_id"] == "slip").context("no result")?;
    let text = text_of(&result["content"]);
    let is_error = result["is_error"] == true;
    let is_done = match &slip.done {
        Done::File(file, wanted) => std::fs::read_to_string(probe.sandbox.project().join(file))?.contains(wanted),
        Done::Result(wanted) => !is_error && text.contains(wanted),
        Done::Nothing => false,
    };
    let told = told(&text, &slip.input);
    let verdict = match (is_done, slip.holds.iter().all(|needed| told.contains(needed))) {
        (true, _) => Verdict::Absorbed,
        (false, true) if !slip.holds.is_empty() => Verdict::Answered,
        _ => Verdict::Left,
    };
    Ok((verdict, text))
}

/// The result without what the model itself sent, and with drawn tabs and blanks as what they stand for.
fn told(result: &str, input: &Value) -> String {
    let old = input["old_string"].as_str().unwrap_or_default();
    let text = if old.is_empty() { result.to_owned() } else { result.replace(old, "") };
    text.replace('⇥', "\t").replace('·', " ")
}

/// The input with `@/` as the workspace.
fn placed(input: &Value, root: &str) -> Value {
    match input {
        Value::String(text) => json!(text.replace("@/", &format!("{root}/"))),
        Value::Array(items) => items.iter().map(|item| placed(item, root)).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), placed(value, root))).collect())
        }
        other => other.clone(),
    }
}
