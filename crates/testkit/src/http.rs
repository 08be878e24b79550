//! A minimal HTTP/1.1 reader: one request at a time, with a content length, chunks or no body.

use crate::captured::CapturedRequest;
use serde_json::Value;
use std::io;
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes read ahead of the request being parsed.
#[derive(Default)]
pub(crate) struct RequestReader {
    buffer: Vec<u8>,
}

impl RequestReader {
    /// The next request; `None` when the client closed between requests.
    pub(crate) async fn next<R: AsyncRead + Unpin>(&mut self, stream: &mut R) -> io::Result<Option<CapturedRequest>> {
        let Some(head_end) = self.fill_until_head(stream).await? else { return Ok(None) };
        let head = String::from_utf8_lossy(&self.buffer[..head_end]).into_owned();
        self.buffer.drain(..head_end + 4);
        let mut lines = head.split("\r\n");
        let mut start = lines.next().unwrap_or_default().split(' ');
        let (method, target) = (start.next().unwrap_or_default(), start.next().unwrap_or_default());
        let headers: Vec<(String, String)> = lines
            .filter_map(|l| l.split_once(':'))
            .map(|(n, v)| (n.trim().to_ascii_lowercase(), v.trim().to_owned()))
            .collect();
        let body = self.body(stream, &headers).await?;
        let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q.to_owned())));
        Ok(Some(CapturedRequest {
            method: method.to_owned(),
            path: path.to_owned(),
            query,
            headers,
            json: serde_json::from_slice(&body).unwrap_or(Value::Null),
            body,
            received_at: Instant::now(),
        }))
    }

    async fn fill_until_head<R: AsyncRead + Unpin>(&mut self, stream: &mut R) -> io::Result<Option<usize>> {
        loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                return Ok(Some(at));
            }
            if stream.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }

    async fn body<R: AsyncRead + Unpin>(
        &mut self,
        stream: &mut R,
        headers: &[(String, String)],
    ) -> io::Result<Vec<u8>> {
        let header = |name: &str| headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        if header("transfer-encoding").is_some_and(|v| v.eq_ignore_ascii_case("chunked")) {
            return self.chunks(stream).await;
        }
        let length = header("content-length").and_then(|v| v.parse().ok()).unwrap_or(0);
        self.take(stream, length).await
    }

    async fn chunks<R: AsyncRead + Unpin>(&mut self, stream: &mut R) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line_end = loop {
                if let Some(at) = find(&self.buffer, b"\r\n") {
                    break at;
                }
                self.fill(stream).await?;
            };
            let size = String::from_utf8_lossy(&self.buffer[..line_end]).into_owned();
            self.buffer.drain(..line_end + 2);
            let size = usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16)
                .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
            body.extend(self.take(stream, size).await?);
            self.take(stream, 2).await?;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    async fn take<R: AsyncRead + Unpin>(&mut self, stream: &mut R, length: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < length {
            self.fill(stream).await?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    async fn fill<R: AsyncRead + Unpin>(&mut self, stream: &mut R) -> io::Result<()> {
        match stream.read_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|w| w == needle)
}

pub(crate) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        413 => "Payload Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        529 => "Overloaded",
        _ => "Status",
    }
}
