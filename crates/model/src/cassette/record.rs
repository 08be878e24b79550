//! Writes a cassette. Exchanges are written when they have ended, in the order of the requests. A write error is logged
//! and does not disturb the session.

use super::names::RandomNames;
use super::normalise::{TextNormaliser, without};
use super::{CallKind, FORMAT, HeaderLine, PathPlaceholders, RecordedAnswer, RecordedExchange, RecordedMessage, tape};
use crate::client::AuthSecret;
use crate::error::{ErrorKind, ModelError};
use crate::fragment::Message;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use sys::fs::AppendFile;
use sys::sync::{Mutex, MutexGuard};

/// Writes exchanges to a file. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CassetteRecorder {
    normal: Arc<TextNormaliser>,
    /// Values other than the credential that must not be written.
    secrets: Arc<[AuthSecret]>,
    tape: Arc<Mutex<CassetteTape>>,
}

#[derive(Debug)]
struct CassetteTape {
    file: AppendFile,
    begun: u64,
    written: u64,
    /// Ended exchanges that wait for an earlier one; `None`: there was no answer.
    waiting: BTreeMap<u64, Option<(Vec<RecordedMessage>, RecordedExchange)>>,
    /// The messages of the last written exchange.
    before: Vec<RecordedMessage>,
}

/// Headers that are recorded; all others are left out.
const KEPT_HEADERS: &[&str] = &["content-type", "request-id", "retry-after", "retry-after-ms", "x-should-retry"];

impl CassetteRecorder {
    /// Creates a new file at `path`, replacing an existing one. Blocks briefly.
    pub fn create(path: &Path, places: PathPlaceholders) -> Result<Self, ModelError> {
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
        let tape = CassetteTape { file, begun: 0, written: 0, waiting: BTreeMap::new(), before: Vec::new() };
        Ok(Self {
            normal: Arc::new(TextNormaliser::new(places)),
            secrets: Arc::default(),
            tape: Arc::new(Mutex::new(tape)),
        })
    }

    /// Adds values that must not be written.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Vec<AuthSecret>) -> Self {
        self.secrets = secrets.into();
        self
    }

    /// Called before a request is sent. The exchange is written when the `ExchangeRecorder` is dropped.
    pub(crate) fn begin(&self, call: CallKind, turns: &[Message], credentials: &[AuthSecret]) -> ExchangeRecorder {
        let secrets: Vec<AuthSecret> = self.secrets.iter().chain(credentials).cloned().collect();
        let (messages, names) = self.normal.messages(turns, &secrets);
        let mut tape = self.lock();
        let number = tape.begun;
        tape.begun += 1;
        drop(tape);
        ExchangeRecorder {
            recorder: self.clone(),
            number,
            call,
            messages,
            names,
            secrets,
            answer: None,
            bytes: Vec::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, CassetteTape> {
        self.tape.lock()
    }
}

impl CassetteTape {
    fn end(&mut self, number: u64, exchange: Option<(Vec<RecordedMessage>, RecordedExchange)>) {
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

/// Records one exchange.
#[derive(Debug)]
pub struct ExchangeRecorder {
    recorder: CassetteRecorder,
    number: u64,
    call: CallKind,
    messages: Vec<RecordedMessage>,
    names: RandomNames,
    secrets: Vec<AuthSecret>,
    answer: Option<RecordedAnswer>,
    bytes: Vec<u8>,
}

impl ExchangeRecorder {
    pub(crate) fn with_answer(mut self, status: u16, headers: &[(String, String)]) -> Self {
        let kept = |name: &str| KEPT_HEADERS.contains(&name) || name.starts_with("anthropic-ratelimit-");
        let headers = headers.iter().filter(|(name, _)| kept(name)).cloned().collect();
        self.answer = Some(RecordedAnswer { status, headers, cut: true, ..RecordedAnswer::default() });
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

    fn exchange(&mut self) -> Option<(Vec<RecordedMessage>, RecordedExchange)> {
        let mut answer = self.answer.take()?;
        let clean = |text: &str| self.names.hide(self.recorder.normal.hide(&without(text, &self.secrets)));
        match tape::events(&self.bytes, clean) {
            Some(events) => {
                // After its last event a stream is complete, even if the client did not wait for the end.
                answer.cut &= !events.last().is_some_and(|e| e.get().contains(r#""message_stop""#));
                answer.events = events;
            }
            None => answer.body = Some(clean(&String::from_utf8_lossy(&self.bytes))),
        }
        let exchange = RecordedExchange { call: self.call, kept: 0, messages: Vec::new(), response: answer };
        Some((std::mem::take(&mut self.messages), exchange))
    }
}

impl Drop for ExchangeRecorder {
    fn drop(&mut self) {
        let exchange = self.exchange();
        self.recorder.lock().end(self.number, exchange);
    }
}
