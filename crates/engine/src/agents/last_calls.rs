//! What an agent did last, for reports of agents that did not say it themselves. The inputs are an agent's text: the caller
//! makes them harmless with the rest of the report.

use store::agents::RecordedCall;

/// How much of the input of a call is shown.
const INPUT_CHARS: usize = 120;

/// The report of an agent that ended without a word.
pub(crate) fn ended_without_words<'a>(calls: impl IntoIterator<Item = &'a RecordedCall>) -> String {
    format!("(The agent ended without a report.{})", last_calls(calls))
}

/// ` Its last calls were: …`, or nothing.
pub(crate) fn last_calls<'a>(calls: impl IntoIterator<Item = &'a RecordedCall>) -> String {
    let shown: Vec<String> =
        calls.into_iter().map(|call| format!("{} {}", call.tool, shortened(&call.input))).collect();
    if shown.is_empty() { String::new() } else { format!(" Its last calls were: {}", shown.join("; ")) }
}

fn shortened(input: &str) -> String {
    match input.char_indices().nth(INPUT_CHARS) {
        Some((at, _)) => format!("{}…", &input[..at]),
        None => input.to_owned(),
    }
}
