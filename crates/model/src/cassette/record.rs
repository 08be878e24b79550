//! Writes a cassette. Each exchange is written when it ends, in the order of the requests. A file that can no longer be
//! written is reported in the log and does not disturb the session.

use super::names::Names;
use super::normal::{Normal, without};
use super::{Answer, CallKind, Exchange, FORMAT, HeaderLine, Message, Places, tape};
use crate::client::Secret;
use crate::error::{ErrorKind, ModelError};
use crate::fragment::Turn;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sys::fs::AppendFile;

/// Writes exchanges to a file. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Recorder {
    normal: Arc<Normal>,
    /// Values besides the credential that must not be written.
    secrets: Arc<[Secret]>,
    tape: Arc<Mutex<Tape>>,
}

#[derive(Debug)]
struct Tape {
    file: AppendFile,
    begun: u64,
    written: u64,
    /// Ended exchanges that wait for an earlier one; `None`: there was no answer.
    waiting: BTreeMap<u64, Option<(Vec<Message>, Exchange)>>,
    /// The messages of the last exchange written.
    before: Vec<Message>,
}

/// Headers worth replaying; all others stay out.
const KEPT_HEADERS: &[&str] = &["content-type", "request-id", "retry-after", "retry-after-ms", "x-should-retry"];

impl Recorder {
    /// Starts a new file at `path`; what was there is replaced. Blocking, and short.
    pub fn create(path: &Path, places: Places) -> Result<Self, ModelError> {
        let failed = |e: std::io::Error| {
            ModelError::new(ErrorKind::Cassette, format!("cannot record to {}: {e}", path.display()))
        };
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(failed(e)),
            _ => {}
        }
        let mut file = AppendFile::open(path).map_err(failed)?;
        let made_by = format!("{} {}", wire::version::PRODUCT, wire::version::OWN);
        let line = wire::raw::to_line(&HeaderLine { cassette: FORMAT, made_by }).unwrap_or_default();
        file.append(format!("{line}\n").as_bytes()).map_err(failed)?;
        let tape = Tape { file, begun: 0, written: 0, waiting: BTreeMap::new(), before: Vec::new() };
        Ok(Self { normal: Arc::new(Normal::new(places)), secrets: Arc::default(), tape: Arc::new(Mutex::new(tape)) })
    }

    /// Further values to keep out of the file.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Vec<Secret>) -> Self {
        self.secrets = secrets.into();
        self
    }

    /// Called before a request is sent. The exchange is written when the tap is dropped.
    pub(crate) fn begin(&self, call: CallKind, turns: &[Turn], credentials: &[Secret]) -> Tap {
        let secrets: Vec<Secret> = self.secrets.iter().chain(credentials).cloned().collect();
        let (messages, names) = self.normal.messages(turns, &secrets);
        let mut tape = self.lock();
        let number = tape.begun;
        tape.begun += 1;
        drop(tape);
        Tap { recorder: self.clone(), number, call, messages, names, secrets, answer: None, bytes: Vec::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Tape> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tape {
    fn end(&mut self, number: u64, exchange: Option<(Vec<Message>, Exchange)>) {
        self.waiting.insert(number, exchange);
        while let Some(next) = self.waiting.remove(&self.written) {
            self.written += 1;
            let Some((messages, mut exchange)) = next else { continue };
            exchange.kept = messages.iter().zip(&self.before).take_while(|(a, b)| a == b).count();
            exchange.messages = messages[exchange.kept..].to_vec();
            self.before = messages;
            let written = wire::raw::to_line(&exchange)
                .map_err(std::io::Error::from)
                .and_then(|line| self.file.append(format!("{line}\n").as_bytes()));
            if let Err(error) = written {
                tracing::warn!(%error, "an exchange could not be recorded");
            }
        }
    }
}

/// Listens to one exchange.
#[derive(Debug)]
pub struct Tap {
    recorder: Recorder,
    number: u64,
    call: CallKind,
    messages: Vec<Message>,
    names: Names,
    secrets: Vec<Secret>,
    answer: Option<Answer>,
    bytes: Vec<u8>,
}

impl Tap {
    pub(crate) fn answered(mut self, status: u16, headers: &[(String, String)]) -> Self {
        let kept = |name: &str| KEPT_HEADERS.contains(&name) || name.starts_with("anthropic-ratelimit-");
        let headers = headers.iter().filter(|(name, _)| kept(name)).cloned().collect();
        self.answer = Some(Answer { status, headers, cut: true, ..Answer::default() });
        self
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn end(&mut self) {
        if let Some(answer) = &mut self.answer {
            answer.cut = false;
        }
    }

    fn exchange(&mut self) -> Option<(Vec<Message>, Exchange)> {
        let mut answer = self.answer.take()?;
        let clean = |text: &str| self.names.hide(self.recorder.normal.hide(&without(text, &self.secrets)));
        match tape::events(&self.bytes, clean) {
            Some(events) => {
                // After its last event a stream is whole, even if the client left without waiting for the end.
                answer.cut &= !events.last().is_some_and(|e| e.get().contains(r#""message_stop""#));
                answer.events = events;
            }
            None => answer.body = Some(clean(&String::from_utf8_lossy(&self.bytes))),
        }
        let exchange = Exchange { call: self.call, kept: 0, messages: Vec::new(), response: answer };
        Some((std::mem::take(&mut self.messages), exchange))
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        let exchange = self.exchange();
        self.recorder.lock().end(self.number, exchange);
    }
}
