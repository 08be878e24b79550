//! Answers requests from a cassette, in its order, and reports where a conversation differs from the recorded one. From
//! then on every request fails with that first difference, not with its consequences.

use super::normalise::TextNormaliser;
use super::{CallKind, FORMAT, HeaderLine, PathPlaceholders, RecordedAnswer, RecordedExchange, RecordedMessage, tape};
use crate::client::AuthSecret;
use crate::error::{ErrorKind, ModelError};
use crate::fragment::Message;
use bytes::Bytes;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use sys::sync::{Mutex, MutexGuard};

/// Answers from a file. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CassettePlayer {
    normal: Arc<TextNormaliser>,
    /// Values that are recorded as `<secret>`.
    secrets: Arc<[AuthSecret]>,
    deck: Arc<Mutex<PlayerQueue>>,
}

#[derive(Debug)]
struct PlayerQueue {
    rest: VecDeque<PlayableExchange>,
    /// Number of exchanges answered so far.
    done: usize,
    /// The first difference to the recorded conversation; `None` while there is none.
    departure: Option<String>,
}

/// An exchange with its complete conversation; messages shared with other exchanges are stored once.
#[derive(Debug)]
struct PlayableExchange {
    call: CallKind,
    messages: Vec<Arc<RecordedMessage>>,
    /// A request that a tool made outside the conversation.
    is_side_call: bool,
    response: RecordedAnswer,
}

/// An answer in the form in which it is decoded.
#[derive(Debug)]
pub struct ReplayedResponse {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub chunks: Vec<Bytes>,
    pub cut: bool,
}

/// Far more than a long conversation; a device has no end.
const MAX_CASSETTE_BYTES: usize = 1 << 30;

impl CassettePlayer {
    /// Blocks while it reads the file.
    pub fn open(path: &Path, places: PathPlaceholders) -> Result<Self, ModelError> {
        let text = sys::fs::read_named_text(path, MAX_CASSETTE_BYTES)
            .map_err(|e| broken(format!("cannot read the cassette {}: {e}", path.display())))?;
        Self::from_text(&text, places)
    }

    /// The same from text, for bundled cassettes.
    pub fn from_text(text: &str, places: PathPlaceholders) -> Result<Self, ModelError> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let header = lines.next().and_then(|(_, line)| serde_json::from_str::<HeaderLine>(line).ok());
        match header {
            Some(header) if header.cassette == FORMAT => {}
            Some(header) => {
                return Err(broken(format!("this cassette has format {}, only {FORMAT} is known", header.cassette)));
            }
            None => return Err(broken("this file is not a cassette: its first line is not a cassette header".into())),
        }
        let parse = |(number, line): (usize, &str)| {
            serde_json::from_str::<RecordedExchange>(line)
                .map_err(|e| broken(format!("line {} of the cassette is not valid: {e}", number + 1)))
        };
        let normal = TextNormaliser::new(places);
        let mut rest = VecDeque::new();
        for line in lines {
            rest.push_back(whole(parse(line)?, rest.back(), &normal));
        }
        let deck = PlayerQueue { rest, done: 0, departure: None };
        Ok(Self { normal: Arc::new(normal), secrets: Arc::default(), deck: Arc::new(Mutex::new(deck)) })
    }

    /// The values that the recorder was given: they differ between runs and are compared as `<secret>`.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Vec<AuthSecret>) -> Self {
        self.secrets = secrets.into();
        self
    }

    /// Number of exchanges that were not requested yet.
    pub fn remaining(&self) -> usize {
        self.lock().rest.len()
    }

    /// The error message if the conversation ended before the cassette; `None` when all exchanges were used.
    pub fn unplayed(&self) -> Option<String> {
        let deck = self.lock();
        let next = deck.rest.front().filter(|_| deck.departure.is_none())?;
        let asked = next.messages.last().and_then(|m| m.blocks.last()).map(|b| excerpt(b, 0)).unwrap_or_default();
        let (number, left) = (deck.done + 1, deck.rest.len());
        let what = format!("it ended here, but {left} more were recorded\n  recorded: {asked}\n  now:      (nothing)");
        Some(departure(number, &what))
    }

    pub(crate) fn answer(&self, call: CallKind, turns: &[Message]) -> Result<ReplayedResponse, ModelError> {
        let (now, names) = self.normal.messages(turns, &self.secrets);
        let answer = self.lock().next(call, &now).map_err(broken)?;
        let chunks = tape::chunks(&answer, |json| names.reveal(self.normal.reveal(json)));
        Ok(ReplayedResponse { status: answer.status, headers: answer.headers, chunks, cut: answer.cut })
    }

    fn lock(&self) -> MutexGuard<'_, PlayerQueue> {
        self.deck.lock()
    }
}

impl PlayerQueue {
    /// The answer to the next exchange, if the request matches it.
    fn next(&mut self, call: CallKind, now: &[RecordedMessage]) -> Result<RecordedAnswer, String> {
        if let Some(departed) = &self.departure {
            return Err(departed.clone());
        }
        match self.find(call, now) {
            Ok(at) => {
                self.done += 1;
                Ok(self.rest.remove(at).map(|taped| taped.response).unwrap_or_default())
            }
            Err(what) => Err(self.departure.insert(departure(self.done + 1, &what)).clone()),
        }
    }

    /// The index of the first exchange or, among side calls that tools made at the same time, of any that matches.
    fn find(&self, call: CallKind, now: &[RecordedMessage]) -> Result<usize, String> {
        let Some(first) = self.rest.front() else {
            let asked = now.last().and_then(|m| m.blocks.last()).map(|b| excerpt(b, 0)).unwrap_or_default();
            let call = call.name();
            return Err(format!(
                "the cassette ends here, but another {call} request was made\n  recorded: (nothing)\n  now:      {asked}"
            ));
        };
        let Err(difference) = first.compare(call, now) else { return Ok(0) };
        let beside = self.rest.iter().take_while(|taped| taped.is_side_call);
        beside.enumerate().find(|(_, taped)| taped.compare(call, now).is_ok()).map(|(at, _)| at).ok_or(difference)
    }
}

impl PlayableExchange {
    fn compare(&self, call: CallKind, now: &[RecordedMessage]) -> Result<(), String> {
        if self.call != call {
            let (was, is) = (self.call.name(), call.name());
            return Err(format!("a {was} request was recorded, a {is} request was made"));
        }
        let recorded: Vec<&RecordedMessage> =
            self.messages.iter().map(|m| &**m).filter(|m| !m.blocks.is_empty()).collect();
        difference(&recorded, now).map_or(Ok(()), Err)
    }
}

/// The exchange with the messages it shares with the previous one. They are normalised again, so that a cassette
/// recorded with fewer rules still matches.
fn whole(exchange: RecordedExchange, before: Option<&PlayableExchange>, normal: &TextNormaliser) -> PlayableExchange {
    let again = |message: RecordedMessage| RecordedMessage {
        role: message.role,
        blocks: message.blocks.iter().map(|b| normal.text(b)).filter(|b| !b.is_empty()).collect(),
    };
    let kept = before.map(|b| b.messages.iter().take(exchange.kept).cloned()).into_iter().flatten();
    // The first request of a conversation has one message too, but it is not a side call.
    let stands_alone = before.is_some() && exchange.kept + exchange.messages.len() == 1;
    let messages = kept.chain(exchange.messages.into_iter().map(|m| Arc::new(again(m)))).collect();
    PlayableExchange { call: exchange.call, messages, is_side_call: stands_alone, response: exchange.response }
}

fn broken(message: String) -> ModelError {
    ModelError::new(ErrorKind::Cassette, message)
}

fn departure(exchange: usize, what: &str) -> String {
    format!("the conversation left the recorded way at exchange {exchange}: {what}")
}

fn difference(recorded: &[&RecordedMessage], now: &[RecordedMessage]) -> Option<String> {
    for (i, (was, is)) in recorded.iter().zip(now).enumerate() {
        if *was == is {
            continue;
        }
        let number = i + 1;
        if was.role != is.role {
            return Some(format!("message {number} was from the {}, now from the {}", was.role, is.role));
        }
        let (was, is) = first_difference(&was.blocks, &is.blocks);
        let role = &recorded[i].role;
        return Some(format!("message {number} ({role}) differs\n  recorded: {was}\n  now:      {is}"));
    }
    if recorded.len() == now.len() {
        return None;
    }
    let at = recorded.len().min(now.len());
    let first = |message: Option<&RecordedMessage>| {
        let block = message.and_then(|m| m.blocks.first());
        block.map_or_else(|| "(nothing)".to_owned(), |b| excerpt(b, 0))
    };
    let (was, is) = (first(recorded.get(at).copied()), first(now.get(at)));
    let counts = format!("{} messages were recorded, {} were sent", recorded.len(), now.len());
    Some(format!("{counts}\n  recorded: {was}\n  now:      {is}"))
}

/// Both versions of the first block that differs, cut to the text around the difference.
fn first_difference(was: &[String], is: &[String]) -> (String, String) {
    let at = was.iter().zip(is).position(|(a, b)| a != b).unwrap_or(was.len().min(is.len()));
    let side = |blocks: &[String]| blocks.get(at).cloned().unwrap_or_else(|| "(nothing)".to_owned());
    let (a, b) = (side(was), side(is));
    let same = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
    (excerpt(&a, same), excerpt(&b, same))
}

fn excerpt(text: &str, around: usize) -> String {
    const BEFORE: usize = 30;
    const SHOWN: usize = 160;
    let start = around.saturating_sub(BEFORE);
    let middle: String = text.chars().skip(start).take(SHOWN).collect();
    let head = if start > 0 { "…" } else { "" };
    let tail = if text.chars().count() > start + SHOWN { "…" } else { "" };
    format!("{head}{}{tail}", middle.replace('\n', "⏎"))
}
