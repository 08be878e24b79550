//! A response that is being received: bytes become frames and events, with time limits for silence.

use super::reply::ModelReply;
use super::whole_message;
use crate::client::ModelTimeouts;
use crate::error::{ErrorKind, ModelError};
use crate::event::{EventKind, ModelEvent};
use crate::limits::RateLimits;
use crate::spending::SpendingMeter;
use crate::sse::{SseFrame, SseParser};
use bytes::Bytes;
use std::collections::VecDeque;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Time allowed for the end of the body after `message_stop`, so that the connection can be reused.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(50);

/// Bytes kept of a body that may not be an event stream.
const MAX_HEAD_BYTES: usize = 400;

/// A response that is being received. Dropping it closes the connection.
#[derive(Debug)]
pub struct ResponseStream {
    reply: ModelReply,
    timeouts: ModelTimeouts,
    parser: SseParser,
    frames: VecDeque<SseFrame>,
    batch: Vec<SseFrame>,
    state: StreamState,
    /// The beginning of the body, until the first event has arrived.
    head: Vec<u8>,
    /// An event has arrived, so the response is from the API.
    has_events: bool,
    /// Time spent waiting since the last event that was not a ping.
    silence: Duration,
    /// Reports what the response costs.
    meter: Option<SpendingMeter>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamState {
    Receiving,
    /// The stop reason is known; later failures are ignored.
    Stopped,
    /// `message_stop` was seen.
    Draining,
    Ended,
}

impl ResponseStream {
    pub(super) async fn open(
        reply: ModelReply,
        timeouts: ModelTimeouts,
        meter: Option<SpendingMeter>,
    ) -> Result<Self, ModelError> {
        let is = |kind: &str| reply.header("content-type").is_some_and(|t| t.trim_start().starts_with(kind));
        let (whole, page) = (is("application/json"), is("text/html"));
        let mut stream = Self {
            reply,
            timeouts,
            parser: SseParser::default(),
            frames: VecDeque::new(),
            batch: Vec::new(),
            state: StreamState::Receiving,
            head: Vec::new(),
            has_events: false,
            silence: Duration::ZERO,
            meter,
        };
        if page {
            let head = stream.reply.chunk().await.ok().flatten().unwrap_or_default();
            return Err(stream.reply.foreign(&head[..head.len().min(MAX_HEAD_BYTES)]));
        }
        if whole {
            // The gateway does not stream: the message arrived in one piece.
            let body = stream.reply.body(crate::sse::MAX_EVENT).await?;
            stream.frames = whole_message::frames(&body)
                .map_err(|error| match error.kind {
                    ErrorKind::Malformed => stream.reply.foreign(&body[..body.len().min(MAX_HEAD_BYTES)]),
                    _ => error,
                })?
                .into();
        }
        Ok(stream)
    }

    /// The next event; `None` at the end. A stream that breaks after its stop reason ends normally. Cancel-safe:
    /// dropping a waiting call loses nothing.
    pub async fn next(&mut self) -> Result<Option<ModelEvent>, ModelError> {
        loop {
            match self.step().await {
                Err(_) if matches!(self.state, StreamState::Stopped | StreamState::Draining | StreamState::Ended) => {
                    self.state = StreamState::Ended;
                    return Ok(None);
                }
                Err(mut error) => {
                    self.state = StreamState::Ended;
                    error.request_id = error.request_id.or_else(|| self.request_id().map(Into::into));
                    return Err(self.reply.mask_secrets(error));
                }
                Ok(StreamStep::Event(event)) => return Ok(Some(event)),
                Ok(StreamStep::End) => return Ok(None),
                Ok(StreamStep::More) => {}
            }
        }
    }

    async fn step(&mut self) -> Result<StreamStep, ModelError> {
        if self.state == StreamState::Draining {
            self.drain().await;
        }
        if self.state == StreamState::Ended {
            return Ok(StreamStep::End);
        }
        while let Some(frame) = self.frames.pop_front() {
            if let Some(event) = self.read(&frame)? {
                return Ok(StreamStep::Event(event));
            }
        }
        self.receive().await
    }

    fn read(&mut self, frame: &SseFrame) -> Result<Option<ModelEvent>, ModelError> {
        if frame.data.is_empty() || frame.data == "[DONE]" {
            return Ok(None);
        }
        let event = ModelEvent::parse(&frame.event, &frame.data)?;
        self.has_events = true;
        if let Some(meter) = &mut self.meter {
            meter.take(&event);
        }
        match &event.kind {
            EventKind::Ping => return Ok(Some(event)),
            EventKind::MessageStop => self.state = StreamState::Draining,
            EventKind::MessageDelta(delta) if delta.stop_reason.is_some() => self.state = StreamState::Stopped,
            EventKind::MessageStart { .. }
            | EventKind::BlockStart { .. }
            | EventKind::Delta { .. }
            | EventKind::BlockStop { .. }
            | EventKind::MessageDelta(_)
            | EventKind::Unknown => {}
        }
        self.silence = Duration::ZERO;
        Ok(Some(event))
    }

    /// Waits for the next piece of the body, as long as both time limits allow.
    async fn receive(&mut self) -> Result<StreamStep, ModelError> {
        // A fast server is ahead of us: what has arrived needs no time limit.
        if let Poll::Ready(chunk) = poll_once(self.reply.chunk()).await {
            return self.accept(chunk?);
        }
        let began = Instant::now();
        let event_room = self.timeouts.events.map(|limit| limit.saturating_sub(self.silence));
        let limit = self.timeouts.bytes.into_iter().chain(event_room).min();
        let chunk = match limit {
            Some(limit) => tokio::time::timeout(limit, self.reply.chunk())
                .await
                .map_err(|_| stalled(self.silence + began.elapsed()))?,
            None => self.reply.chunk().await,
        };
        self.silence += began.elapsed();
        self.accept(chunk?)
    }

    /// Takes the next piece of the body; `None` is its end.
    fn accept(&mut self, chunk: Option<Bytes>) -> Result<StreamStep, ModelError> {
        let too_large = |e: crate::sse::SseTooLarge| ModelError::new(ErrorKind::Malformed, e.to_string());
        if let Some(bytes) = chunk {
            if !self.has_events && self.head.len() < MAX_HEAD_BYTES {
                self.head.extend_from_slice(&bytes[..bytes.len().min(MAX_HEAD_BYTES - self.head.len())]);
            }
            self.parser.push(&bytes, &mut self.batch).map_err(too_large)?;
            self.frames.extend(self.batch.drain(..));
            return Ok(StreamStep::More);
        }
        self.parser.finish(&mut self.batch).map_err(too_large)?;
        if self.batch.is_empty() {
            return self.at_end();
        }
        self.frames.extend(self.batch.drain(..));
        Ok(StreamStep::More)
    }

    fn at_end(&mut self) -> Result<StreamStep, ModelError> {
        if self.state == StreamState::Receiving && !self.has_events {
            return Err(self.reply.foreign(&self.head));
        }
        if self.state == StreamState::Receiving {
            return Err(ModelError::dropped("the connection closed before the answer was complete"));
        }
        self.state = StreamState::Ended;
        Ok(StreamStep::End)
    }

    async fn drain(&mut self) {
        self.state = StreamState::Ended;
        let rest = async { while let Ok(Some(_)) = self.reply.chunk().await {} };
        if tokio::time::timeout(DRAIN_TIMEOUT, rest).await.is_err() {
            tracing::debug!("the response stayed open after its end; its connection is not reused");
        }
    }

    pub fn request_id(&self) -> Option<&str> {
        self.reply.header("request-id").or_else(|| self.reply.header("x-request-id"))
    }

    /// What the headers say about the limits of the account.
    pub fn rate_limits(&self) -> Option<RateLimits> {
        RateLimits::read(&self.reply.headers(), false)
    }
}

/// Polls a future that may be dropped at any time, once.
async fn poll_once<T>(future: impl Future<Output = T>) -> Poll<T> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}

enum StreamStep {
    Event(ModelEvent),
    More,
    End,
}

fn stalled(after: Duration) -> ModelError {
    ModelError::new(ErrorKind::Stalled(after), format!("the stream was silent for {} s", after.as_secs()))
}
