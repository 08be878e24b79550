//! What a model did: slips and their ends, work it believes done, and the tokens a provider would have counted.

use super::intent::EditText;
use crate::captured::CapturedRequest;
use crate::message::ScriptedBlock;
use crate::reply::ScriptedReply;
use serde_json::{Value, json};

/// A call that followed a slip, with its result.
#[derive(Clone, Debug)]
pub struct FurtherCall {
    pub call: String,
    pub result: String,
}

/// How a slip ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlipOutcome {
    /// Not decided yet.
    Open,
    /// The work was done after so many further calls; none: the slip itself was carried out.
    Recovered(usize),
    Never,
}

#[derive(Clone, Debug)]
pub struct SlipEvent {
    pub slip: &'static str,
    /// The file the intent was about.
    pub file: Option<String>,
    pub sent: String,
    pub result: String,
    pub further: Vec<FurtherCall>,
    pub outcome: SlipOutcome,
}

impl SlipEvent {
    /// Bytes of calls and results that would not have been sent without the slip.
    pub fn bytes(&self) -> usize {
        if self.outcome == SlipOutcome::Recovered(0) {
            return 0;
        }
        let further: usize = self.further.iter().map(|f| f.call.len() + f.result.len()).sum();
        let last = match self.outcome {
            SlipOutcome::Recovered(_) => self.further.last().map_or(0, |f| f.call.len() + f.result.len()),
            SlipOutcome::Open | SlipOutcome::Never => 0,
        };
        self.sent.len() + self.result.len() + further - last
    }
}

/// Work the model believes it has done, to be compared with the disk.
#[derive(Clone, Debug)]
pub enum DoneWork {
    Edit {
        file: String,
        text: EditText,
    },
    Write {
        file: String,
        content: String,
    },
    /// What somebody else did meanwhile.
    Outside {
        command: String,
    },
}

#[derive(Clone, Debug, Default)]
pub(super) struct MindLog {
    pub(super) slips: Vec<SlipEvent>,
    pub(super) done: Vec<DoneWork>,
    pub(super) given_up: Vec<String>,
}

/// One message of the model.
#[derive(Clone, Debug)]
pub(super) struct Answer(pub(super) Vec<ScriptedBlock>);

impl Answer {
    pub(super) fn text(text: &str) -> Self {
        Self(vec![ScriptedBlock::text(text)])
    }
}

/// Simulates a provider's prompt cache: what a request shares with an earlier one at its beginning is read from it.
#[derive(Default)]
pub(super) struct CacheMeter {
    earlier: Vec<Vec<u8>>,
}

/// Bytes of a request that make one token.
const BYTES_PER_TOKEN: f64 = 3.25;

impl CacheMeter {
    pub(super) fn reply(&mut self, request: &CapturedRequest, answer: Answer) -> ScriptedReply {
        let bytes = cacheable(&request.json);
        let shared = self.earlier.iter().map(|old| old.iter().zip(&bytes).take_while(|(a, b)| a == b).count()).max();
        let shared = shared.unwrap_or(0);
        let out: usize = answer.0.iter().map(|block| format!("{block:?}").len()).sum();
        let usage = json!({"input_tokens": 4, "cache_read_input_tokens": tokens(shared), "output_tokens": 1,
            "cache_creation_input_tokens": tokens(bytes.len() - shared), "service_tier": "standard"});
        self.earlier.push(bytes);
        ScriptedReply::message(answer.0).usage(usage, json!({"output_tokens": tokens(out)}))
    }
}

fn tokens(bytes: usize) -> u64 {
    (bytes as f64 / BYTES_PER_TOKEN) as u64
}

/// The request in the order a cache sees it, without the marks.
fn cacheable(body: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in ["tools", "system", "messages"] {
        let mut value = body[part].clone();
        remove_marks(&mut value);
        bytes.extend_from_slice(value.to_string().trim_end_matches(']').as_bytes());
    }
    bytes
}

fn remove_marks(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(remove_marks);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_marks),
        _ => {}
    }
}
