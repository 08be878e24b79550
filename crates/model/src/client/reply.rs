//! One response, from the network or from a cassette; it is recorded while it is read.

use super::Endpoint;
use crate::cassette::{ExchangeRecorder, ReplayedResponse};
use crate::error::{ErrorKind, ModelError, ResponseFacts};
use crate::limits::RateLimits;
use bytes::Bytes;
use std::collections::VecDeque;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct ModelReply {
    status: u16,
    headers: Vec<(String, String)>,
    source: ReplySource,
    recorder: Option<ExchangeRecorder>,
    /// The proxy the response came through; `None` for a direct connection.
    proxy: Option<String>,
    /// Used to remove secrets from errors.
    endpoint: Endpoint,
}

#[derive(Debug)]
enum ReplySource {
    Network(http::HttpResponse),
    Memory { chunks: VecDeque<Bytes>, cut: bool },
}

impl ModelReply {
    pub(super) fn network(
        response: http::HttpResponse,
        tap: Option<ExchangeRecorder>,
        endpoint: Endpoint,
        proxy: Option<String>,
    ) -> Self {
        let headers: Vec<_> = response.headers().map(|(k, v)| (k.to_ascii_lowercase(), v.to_owned())).collect();
        let status = response.status();
        let tap = tap.map(|tap| tap.with_answer(status, &headers));
        Self { status, headers, source: ReplySource::Network(response), recorder: tap, proxy, endpoint }
    }

    pub(super) fn recorded(answer: ReplayedResponse, endpoint: Endpoint) -> Self {
        let ReplayedResponse { status, headers, chunks, cut } = answer;
        let source = ReplySource::Memory { chunks: chunks.into(), cut };
        Self { status, headers, source, recorder: None, proxy: None, endpoint }
    }

    pub(super) fn status(&self) -> u16 {
        self.status
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    pub(super) fn headers(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.headers.iter().map(|(n, v)| (n.as_str(), v.as_str()))
    }

    pub(super) fn mask_secrets(&self, error: ModelError) -> ModelError {
        self.endpoint.mask_secrets(error)
    }

    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, ModelError> {
        let chunk = match &mut self.source {
            ReplySource::Network(response) => response.chunk().await.map_err(ModelError::from),
            ReplySource::Memory { chunks, cut } => match chunks.pop_front() {
                Some(chunk) => Ok(Some(chunk)),
                None if *cut => Err(ModelError::dropped("the recorded connection broke here")),
                None => Ok(None),
            },
        };
        if let Some(tap) = &mut self.recorder {
            match &chunk {
                Ok(Some(bytes)) => tap.bytes(bytes),
                Ok(None) => tap.end(),
                Err(_) => {}
            }
        }
        chunk
    }

    /// The complete body, which must not exceed `limit` bytes.
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

    /// Converts this response into an error. The body is read as far as it arrives.
    pub(super) async fn into_error(mut self) -> ModelError {
        const LIMIT: usize = 64 * 1024;
        const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(chunk)) = self.chunk().await {
                body.extend_from_slice(&chunk);
                if body.len() > LIMIT {
                    break;
                }
            }
        };
        if tokio::time::timeout(ERROR_BODY_TIMEOUT, read).await.is_err() {
            tracing::debug!("an error response did not end; its beginning is used");
        }
        // A page about a missing address says nothing about a model.
        if self.status == 404 && body.trim_ascii_start().starts_with(b"<") {
            return self.mask_secrets(self.foreign(&body));
        }
        let error = ModelError::from_response(self.facts(), &body);
        self.mask_secrets(error)
    }

    /// The error for a success response that did not come from the API; `head` is the beginning of its body.
    pub(super) fn foreign(&self, head: &[u8]) -> ModelError {
        let kind = self.header("content-type").unwrap_or("no content type");
        let words = String::from_utf8_lossy(head).split_whitespace().collect::<Vec<_>>().join(" ");
        let shown: String = words.chars().take(120).collect();
        let what = if shown.is_empty() {
            format!("status {} and nothing in it ({kind})", self.status)
        } else {
            format!("status {} and {kind} (it begins: {shown})", self.status)
        };
        let via = self.header("via").map(|via| via.chars().filter(|c| !c.is_control()).take(80).collect::<String>());
        let way = match &self.proxy {
            None if via.is_some() => {
                format!("The answer came through {}, which", via.unwrap_or_default())
            }
            Some(proxy) => format!("The request went through the proxy {proxy}. That proxy, or a sign-in page,"),
            None => "A proxy, a sign-in page or another server".to_owned(),
        };
        ModelError::new(
            ErrorKind::Foreign,
            format!(
                "{} answered with {what} instead of a model's answer. {way} probably answered in place of the API: check \
                 ANTHROPIC_BASE_URL, HTTPS_PROXY and the network",
                self.endpoint.base_url
            ),
        )
    }

    fn facts(&self) -> ResponseFacts {
        ResponseFacts {
            status: self.status,
            request_id: self.header("request-id").or_else(|| self.header("x-request-id")).map(str::to_owned),
            retry_after: self.retry_after(),
            limits: RateLimits::read(&self.headers(), self.status == 429).map(Box::new),
            should_retry: self.header("x-should-retry").and_then(|v| v.trim().parse().ok()),
            quota: self
                .header("anthropic-ratelimit-unified-status")
                .filter(|status| *status == "rejected")
                .map(|_| self.header("anthropic-ratelimit-unified-reset").map(str::to_owned)),
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        let ms = self.header("retry-after-ms").and_then(|text| seconds(text, 0.001));
        ms.or_else(|| {
            let text = self.header("retry-after")?;
            seconds(text, 1.0).or_else(|| until(text, sys::clock::now_ms()))
        })
    }
}

/// Parses a number and multiplies it by `unit` seconds; a number too large for a duration becomes `Duration::MAX`.
fn seconds(text: &str, unit: f64) -> Option<Duration> {
    let number = text.trim().parse::<f64>().ok().filter(|number| *number >= 0.0)?;
    Some(Duration::try_from_secs_f64(number * unit).unwrap_or(Duration::MAX))
}

/// The time left until an HTTP date; `None` when it cannot be parsed.
fn until(date: &str, now_ms: u64) -> Option<Duration> {
    let at = sys::clock::parse_http_date(date.trim())?;
    Some(Duration::from_millis(at.saturating_sub(now_ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_a_number_or_a_date() {
        assert_eq!(seconds("1.5", 1.0), Some(Duration::from_millis(1_500)));
        assert_eq!(seconds("250", 0.001), Some(Duration::from_millis(250)));
        assert_eq!(seconds("1e300", 1.0), Some(Duration::MAX));
        assert_eq!((seconds("-1", 1.0), seconds("NaN", 1.0), seconds("soon", 1.0)), (None, None, None));
        let date = "Wed, 21 Oct 2015 07:28:00 GMT";
        assert_eq!(until(date, 1_445_412_480_000 - 60_000), Some(Duration::from_mins(1)));
        assert_eq!(until(date, 1_445_412_480_000 + 60_000), Some(Duration::ZERO));
        assert_eq!(until("tomorrow", 0), None);
    }
}
