//! Request bodies: the caller's pieces are sent in order without copying. Their total length is known beforehand,
//! because some gateways require `content-length`.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

pub(crate) fn from_parts(mut parts: Vec<Bytes>) -> reqwest::Body {
    parts.retain(|part| !part.is_empty());
    if parts.len() < 2 {
        return reqwest::Body::from(parts.pop().unwrap_or_default());
    }
    let left = parts.iter().map(|part| part.len() as u64).sum();
    reqwest::Body::wrap(BodyParts { parts: parts.into(), left })
}

struct BodyParts {
    parts: VecDeque<Bytes>,
    left: u64,
}

impl Body for BodyParts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        let Some(part) = this.parts.pop_front() else { return Poll::Ready(None) };
        this.left -= part.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.parts.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
