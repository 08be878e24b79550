//! One response, from the network or from a cassette, with recording on the way through.

use super::Endpoint;
use crate::cassette::{Recorded, Tap};
use crate::error::{ErrorKind, ModelError, ResponseFacts};
use bytes::Bytes;
use std::collections::VecDeque;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    source: Source,
    tap: Option<Tap>,
    /// For taking secrets out of errors.
    endpoint: Endpoint,
}

#[derive(Debug)]
enum Source {
    Network(http::Response),
    Memory { chunks: VecDeque<Bytes>, cut: bool },
}

impl Reply {
    pub(super) fn network(response: http::Response, tap: Option<Tap>, endpoint: Endpoint) -> Self {
        let headers: Vec<_> = response.headers().map(|(k, v)| (k.to_ascii_lowercase(), v.to_owned())).collect();
        let status = response.status();
        let tap = tap.map(|tap| tap.answered(status, &headers));
        Self { status, headers, source: Source::Network(response), tap, endpoint }
    }

    pub(super) fn recorded(answer: Recorded, endpoint: Endpoint) -> Self {
        let Recorded { status, headers, chunks, cut } = answer;
        Self { status, headers, source: Source::Memory { chunks: chunks.into(), cut }, tap: None, endpoint }
    }

    pub(super) fn status(&self) -> u16 {
        self.status
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    pub(super) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(n, v)| (n.as_str(), v.as_str()))
    }

    pub(super) fn scrub(&self, error: ModelError) -> ModelError {
        self.endpoint.scrub(error)
    }

    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, ModelError> {
        let chunk = match &mut self.source {
            Source::Network(response) => response.chunk().await.map_err(ModelError::from),
            Source::Memory { chunks, cut } => match chunks.pop_front() {
                Some(chunk) => Ok(Some(chunk)),
                None if *cut => Err(ModelError::dropped("the recorded connection broke here")),
                None => Ok(None),
            },
        };
        if let Some(tap) = &mut self.tap {
            match &chunk {
                Ok(Some(bytes)) => tap.bytes(bytes),
                Ok(None) => tap.end(),
                Err(_) => {}
            }
        }
        chunk
    }

    /// The whole body, which must not exceed `limit`.
    pub(super) async fn body(&mut self, limit: usize) -> Result<Vec<u8>, ModelError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if body.len() + chunk.len() > limit {
                return Err(ModelError::new(ErrorKind::Malformed, format!("the answer is larger than {limit} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// This response as an error. Its body is read as far as it comes.
    pub(super) async fn into_error(mut self) -> ModelError {
        const LIMIT: usize = 64 * 1024;
        const PATIENCE: Duration = Duration::from_secs(10);
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(chunk)) = self.chunk().await {
                body.extend_from_slice(&chunk);
                if body.len() > LIMIT {
                    break;
                }
            }
        };
        if tokio::time::timeout(PATIENCE, read).await.is_err() {
            tracing::debug!("an error response did not end; its beginning is used");
        }
        let error = ModelError::from_response(self.facts(), &body);
        self.scrub(error)
    }

    fn facts(&self) -> ResponseFacts {
        ResponseFacts {
            status: self.status,
            request_id: self.header("request-id").or_else(|| self.header("x-request-id")).map(str::to_owned),
            retry_after: self.retry_after(),
            should_retry: self.header("x-should-retry").and_then(|v| v.trim().parse().ok()),
            quota: self
                .header("anthropic-ratelimit-unified-status")
                .filter(|status| *status == "rejected")
                .map(|_| self.header("anthropic-ratelimit-unified-reset").map(str::to_owned)),
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        let number = |name: &str| self.header(name)?.trim().parse::<f64>().ok();
        let seconds = number("retry-after-ms").map(|ms| ms / 1_000.0).or_else(|| number("retry-after"))?;
        Duration::try_from_secs_f64(seconds).ok()
    }
}
