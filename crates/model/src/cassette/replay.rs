//! Answers from a cassette, in its order, and says where a conversation leaves the recorded way.

use super::normal::Normal;
use super::{CallKind, Exchange, FORMAT, HeaderLine, Message, Places, tape};
use crate::error::{ErrorKind, ModelError};
use crate::fragment::Turn;
use bytes::Bytes;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Answers from a file. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Player {
    normal: Arc<Normal>,
    deck: Arc<Mutex<Deck>>,
}

#[derive(Debug)]
struct Deck {
    rest: VecDeque<Exchange>,
    /// Answered so far.
    done: usize,
    /// The messages of the last exchange answered, as recorded.
    before: Vec<Message>,
}

/// An answer as it will be decoded.
#[derive(Debug)]
pub struct Recorded {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub chunks: Vec<Bytes>,
    pub cut: bool,
}

impl Player {
    /// Blocking.
    pub fn open(path: &Path, places: Places) -> Result<Self, ModelError> {
        let text = std::fs::read_to_string(path)
            .map_err(|e| broken(format!("cannot read the cassette {}: {e}", path.display())))?;
        Self::from_text(&text, places)
    }

    /// The same from text, for bundled cassettes.
    pub fn from_text(text: &str, places: Places) -> Result<Self, ModelError> {
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
            serde_json::from_str(line)
                .map_err(|e| broken(format!("line {} of the cassette is not valid: {e}", number + 1)))
        };
        let rest = lines.map(parse).collect::<Result<VecDeque<Exchange>, _>>()?;
        let deck = Deck { rest, done: 0, before: Vec::new() };
        Ok(Self { normal: Arc::new(Normal::new(places)), deck: Arc::new(Mutex::new(deck)) })
    }

    /// Exchanges not asked for yet.
    pub fn remaining(&self) -> usize {
        self.lock().rest.len()
    }

    pub(crate) fn answer(&self, call: CallKind, turns: &[Turn]) -> Result<Recorded, ModelError> {
        let now = self.normal.messages(turns, &[]);
        let mut deck = self.lock();
        let number = deck.done + 1;
        let Some(exchange) = deck.rest.front() else {
            let asked = call.name();
            return Err(diverged(number, &format!("the cassette ends here, but another {asked} request was made")));
        };
        if exchange.call != call {
            let (was, is) = (exchange.call.name(), call.name());
            return Err(diverged(number, &format!("a {was} request was recorded, a {is} request was made")));
        }
        let recorded = self.recorded_messages(&deck.before, exchange);
        if let Some(difference) = difference(&recorded, &now) {
            return Err(diverged(number, &difference));
        }
        let Some(exchange) = deck.rest.pop_front() else { return Err(diverged(number, "the cassette ends here")) };
        deck.done = number;
        deck.before = recorded;
        drop(deck);
        let answer = exchange.response;
        let chunks = tape::chunks(&answer, &self.normal);
        Ok(Recorded { status: answer.status, headers: answer.headers, chunks, cut: answer.cut })
    }

    /// Normalised again, so that a cassette made with fewer rules still fits.
    fn recorded_messages(&self, before: &[Message], exchange: &Exchange) -> Vec<Message> {
        let again = |message: &Message| Message {
            role: message.role.clone(),
            blocks: message.blocks.iter().map(|b| self.normal.text(b)).filter(|b| !b.is_empty()).collect(),
        };
        before.iter().take(exchange.kept).cloned().chain(exchange.messages.iter().map(again)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Deck> {
        self.deck.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn broken(message: String) -> ModelError {
    ModelError::new(ErrorKind::Cassette, message)
}

fn diverged(exchange: usize, what: &str) -> ModelError {
    broken(format!("the conversation left the recorded way at exchange {exchange}: {what}"))
}

fn difference(recorded: &[Message], now: &[Message]) -> Option<String> {
    for (i, (was, is)) in recorded.iter().zip(now).enumerate() {
        if was == is {
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
    (recorded.len() != now.len()).then(|| format!("{} messages were recorded, {} were sent", recorded.len(), now.len()))
}

/// Both sides of the first block that differs, cut to its neighbourhood.
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
