//! Parses server-sent events from bytes. Guarantees: the events do not depend on how the bytes were split into chunks;
//! every byte is examined once; an event larger than the limit is an error, not an allocation. Does not parse JSON.

use memchr::memchr2;

/// The largest accepted event, in bytes.
pub const MAX_EVENT: usize = 32 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseFrame {
    /// Empty when the event has no name.
    pub event: String,
    /// The `data` lines joined by newlines. Invalid UTF-8 is replaced with U+FFFD.
    pub data: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream sent an event larger than {MAX_EVENT} bytes")]
pub struct SseTooLarge;

/// Converts chunks of bytes into frames.
#[derive(Debug, Default)]
pub struct SseParser {
    /// Bytes of the unfinished line.
    line: Vec<u8>,
    event: String,
    data: Vec<u8>,
    has_data: bool,
    /// The last chunk ended in CR: a leading LF belongs to it.
    after_cr: bool,
    started: bool,
}

impl SseParser {
    /// Appends the frames that `chunk` completes to `out`.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<SseFrame>) -> Result<(), SseTooLarge> {
        let mut rest = chunk;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            self.take_line(&rest[..end], out)?;
            let ending = &rest[end..];
            rest = match ending {
                [b'\r', b'\n', after @ ..] => after,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                _ => &ending[1..],
            };
        }
        self.append_to_line(rest)
    }

    /// Ends the stream: a frame that lacks only its empty line is returned too.
    pub fn finish(&mut self, out: &mut Vec<SseFrame>) -> Result<(), SseTooLarge> {
        self.take_line(b"", out)?;
        self.dispatch(out);
        Ok(())
    }

    fn append_to_line(&mut self, part: &[u8]) -> Result<(), SseTooLarge> {
        if self.line.len() + self.data.len() + part.len() > MAX_EVENT {
            return Err(SseTooLarge);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    /// Completes the buffered line with `tail` and reads it.
    fn take_line(&mut self, tail: &[u8], out: &mut Vec<SseFrame>) -> Result<(), SseTooLarge> {
        if self.line.is_empty() {
            return self.read_line(tail, out);
        }
        self.append_to_line(tail)?;
        let mut line = std::mem::take(&mut self.line);
        let read = self.read_line(&line, out);
        line.clear();
        self.line = line;
        read
    }

    fn read_line(&mut self, line: &[u8], out: &mut Vec<SseFrame>) -> Result<(), SseTooLarge> {
        let line = if self.started { line } else { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) };
        self.started = true;
        if line.is_empty() {
            self.dispatch(out);
            return Ok(());
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(at) => (&line[..at], line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..])),
            None => (line, &b""[..]),
        };
        match field {
            b"data" => {
                if self.data.len() + value.len() >= MAX_EVENT {
                    return Err(SseTooLarge);
                }
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => self.event = String::from_utf8_lossy(value).into_owned(),
            // `id` and `retry` are for reconnection, which a model stream cannot do; an empty name is a comment.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, out: &mut Vec<SseFrame>) {
        let event = std::mem::take(&mut self.event);
        if !std::mem::take(&mut self.has_data) {
            return;
        }
        let data = String::from_utf8(std::mem::take(&mut self.data))
            .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
        out.push(SseFrame { event, data });
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
