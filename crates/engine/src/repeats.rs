//! Notices calls that repeat themselves: the same call that fails again and again, the same call with the same result,
//! and short cycles of calls. The model is told with the result, and a turn that only repeats itself is ended. Waiting
//! for background work does not count.

use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use tools::ToolClass;

/// From this failure in a row on the model is told; from the later one it is asked what blocks it.
const FIRST_TOLD: usize = 3;
const ASKED: usize = 5;
/// So many equal calls with equal results within so many calls are a repeat.
const EQUAL_CALLS: usize = 8;
const WINDOW: usize = 12;
/// A cycle of two or three calls counts from this many rounds on.
const ROUNDS: usize = 4;
/// How many repeats end a turn, unless settings say otherwise.
pub(crate) const MAX_REPEATS: u32 = 12;

/// One call as it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CallTrace {
    call: u64,
    result: u64,
    failed: bool,
}

/// A finished call.
pub(crate) struct RepeatableCall<'a> {
    pub name: &'a str,
    pub class: ToolClass,
    pub input: &'a RawValue,
    pub result: &'a str,
    pub failed: bool,
}

/// The calls of the current turn, newest last.
#[derive(Debug, Default)]
pub(crate) struct RepeatWatch {
    recent: VecDeque<CallTrace>,
    /// How often the repeated call was made, once the limit is reached.
    exceeded: Option<usize>,
}

impl RepeatWatch {
    /// Forgets everything: a new turn starts, or the conversation no longer holds the results.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// How many repeats there were when the limit was reached.
    pub(crate) fn exceeded(&self) -> Option<usize> {
        self.exceeded
    }

    /// Records a call. Returns what the model is told with its result. `max` is the limit, 0 for none.
    pub(crate) fn note(&mut self, call: &RepeatableCall<'_>, max: u32) -> Option<String> {
        let trace = CallTrace { call: call_key(call), result: result_key(call.result), failed: call.failed };
        self.recent.push_back(trace);
        let max = max as usize;
        while self.recent.len() > WINDOW.max(3 * max) {
            self.recent.pop_front();
        }
        let failures = self.row(|other| other.failed && *other == trace);
        let equal = |span: usize| self.recent.iter().rev().take(span).filter(|other| **other == trace).count();
        let rounds = [2, 3].into_iter().map(|length| self.rounds(length)).max().unwrap_or(0);
        if max > 0 {
            let most = equal(max + max / 2).max(rounds);
            self.exceeded = (most >= max).then_some(most).or(self.exceeded);
        }
        let other_way = other_way(call.class);
        if failures >= FIRST_TOLD {
            let mut text = format!("Same call, same failure, {} time. {other_way}", ordinal(failures));
            if failures >= ASKED {
                text.push_str(" Say what blocks you if there is no other way.");
            }
            return Some(text);
        }
        let within = equal(WINDOW);
        if within >= EQUAL_CALLS {
            return Some(format!("Same call, same result, {within} times in the last {WINDOW} calls. {other_way}"));
        }
        (rounds >= ROUNDS).then(|| format!("The same few calls, with the same results, {rounds} times. {other_way}"))
    }

    /// How many of the newest calls in a row fit.
    fn row(&self, fits: impl Fn(&CallTrace) -> bool) -> usize {
        self.recent.iter().rev().take_while(|trace| fits(trace)).count()
    }

    /// How often the newest `length` calls, which are not all the same, were made one round after the other.
    fn rounds(&self, length: usize) -> usize {
        let newest: Vec<&CallTrace> = self.recent.iter().rev().take(length).collect();
        if newest.len() < length || newest.iter().all(|trace| **trace == *newest[0]) {
            return 0;
        }
        let fitting = self.recent.iter().rev().enumerate().take_while(|(at, trace)| *trace == newest[at % length]);
        fitting.count() / length
    }
}

fn ordinal(count: usize) -> String {
    const NAMES: [&str; 6] = ["third", "fourth", "fifth", "sixth", "seventh", "eighth"];
    count.checked_sub(3).and_then(|at| NAMES.get(at)).map_or_else(|| format!("{count}th"), |name| (*name).to_owned())
}

/// One concrete other way for the tool.
fn other_way(class: ToolClass) -> &'static str {
    match class {
        ToolClass::Edit => "Read the lines again and copy them exactly, or write the whole file anew.",
        ToolClass::Read => "Look for the file with Glob, or ask for other lines.",
        ToolClass::Search => "Use another pattern, or look in another folder.",
        ToolClass::Shell => {
            "Look at the cause first: run a smaller part of it, or read the file that the message names."
        }
        ToolClass::Recall => "Use one rare word, or leave out kind.",
        ToolClass::Web | ToolClass::Resource => "Use another address, or look for it elsewhere.",
        ToolClass::Agent | ToolClass::Message => "Do this part yourself, or give a different task.",
        ToolClass::TaskList
        | ToolClass::Background
        | ToolClass::Question
        | ToolClass::PlanEntry
        | ToolClass::PlanExit
        | ToolClass::Skill
        | ToolClass::Worktree
        | ToolClass::ToolSearch
        | ToolClass::Answer
        | ToolClass::Mcp
        | ToolClass::Other => "Change the input, or use another tool.",
    }
}

/// The tool and its input, without the order of its fields and without the description of a command.
fn call_key(call: &RepeatableCall<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.name.hash(&mut hasher);
    match serde_json::from_str::<Value>(call.input.get()) {
        Ok(mut input) => {
            if let (ToolClass::Shell, Some(fields)) = (call.class, input.as_object_mut()) {
                fields.remove("description");
            }
            hash_value(&input, &mut hasher);
        }
        Err(_) => call.input.get().hash(&mut hasher),
    }
    hasher.finish()
}

fn hash_value(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            sys::compact_sort::sort_by_key(&mut fields, |(name, _)| *name);
            for (name, value) in fields {
                name.hash(hasher);
                hash_value(value, hasher);
            }
        }
        Value::Array(items) => {
            items.len().hash(hasher);
            for item in items {
                hash_value(item, hasher);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string().hash(hasher),
    }
}

fn result_key(result: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    result.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(watch: &mut RepeatWatch, input: &str, result: &str, failed: bool, max: u32) -> Option<String> {
        let input = RawValue::from_string(input.to_owned()).unwrap();
        let call = RepeatableCall { name: "Bash", class: ToolClass::Shell, input: &input, result, failed };
        watch.note(&call, max)
    }

    /// [MX-32]
    #[test]
    fn the_third_failure_in_a_row_is_told_and_the_fifth_asks() {
        let mut watch = RepeatWatch::default();
        let fields = [r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, r#"{"b":2,"a":1,"description":"x"}"#];
        let mut told = Vec::new();
        for at in 0..5 {
            told.push(note(&mut watch, fields[at % 3], "no", true, 12));
        }
        assert!(told[0].is_none() && told[1].is_none());
        assert!(told[2].as_ref().unwrap().starts_with("Same call, same failure, third time. Look at the cause"));
        assert!(!told[3].as_ref().unwrap().contains("blocks you"));
        assert!(told[4].as_ref().unwrap().ends_with("Say what blocks you if there is no other way."));
        assert_eq!(note(&mut watch, "{}", "no", true, 12), None, "another call");
    }

    /// [MX-32]
    #[test]
    fn equal_results_and_cycles_are_told() {
        let mut watch = RepeatWatch::default();
        let told: Vec<bool> = (0..12)
            .map(|at| {
                note(&mut watch, &format!("{{\"a\":{}}}", if at % 3 == 2 { at } else { 0 }), "ok", false, 0).is_some()
            })
            .collect();
        assert_eq!(told.iter().position(|told| *told), Some(10), "eight of the last twelve: {told:?}");
        let mut watch = RepeatWatch::default();
        let told: Vec<bool> =
            (0..12).map(|at| note(&mut watch, &format!("{{\"a\":{}}}", at % 3), "ok", false, 0).is_some()).collect();
        assert_eq!(told.iter().position(|told| *told), Some(11), "{told:?}");
    }

    /// [MX-32] Different results are progress.
    #[test]
    fn the_limit_counts_repeats_only() {
        let mut watch = RepeatWatch::default();
        for at in 0..40 {
            assert_eq!(note(&mut watch, "{}", &format!("{at}"), at % 2 == 0, 12), None);
        }
        assert_eq!(watch.exceeded(), None);
        for _ in 0..12 {
            note(&mut watch, "{}", "same", false, 12);
        }
        assert_eq!(watch.exceeded(), Some(12));
        let mut watch = RepeatWatch::default();
        for at in 0..24 {
            note(&mut watch, &format!("{{\"a\":{}}}", at % 2), "same", false, 12);
        }
        assert_eq!(watch.exceeded(), Some(12), "twelve rounds of a cycle");
    }
}
