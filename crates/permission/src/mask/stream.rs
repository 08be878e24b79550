//! Masks bytes that arrive in pieces. Bytes that could be the first part of something to hide wait for the next piece;
//! everything else goes on at once.

use super::formats::{KeyCharset, KeyTail, is_pem_byte};
use super::matcher::{LOOKBEHIND_BYTES, SecretMatch, SecretMatcher};
use std::borrow::Cow;
use std::sync::Arc;

const PEM_END: &[u8] = b"-----END ";
/// Longest last line of a private key, after its beginning.
const PEM_TITLE: usize = 64;

/// `Default` hides nothing.
#[derive(Default)]
pub struct MaskingStream {
    matcher: Option<Arc<SecretMatcher>>,
    /// Bytes that were neither passed on nor hidden yet.
    pending: Vec<u8>,
    /// The last bytes before `held`, as they came.
    preceding: Vec<u8>,
    /// What still belongs to a secret whose mask was passed on.
    rest: KeyTail,
    hidden: u64,
}

impl std::fmt::Debug for MaskingStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").field("hidden", &self.hidden).finish_non_exhaustive()
    }
}

impl MaskingStream {
    pub(super) fn new(matcher: Option<Arc<SecretMatcher>>) -> Self {
        Self { matcher, pending: Vec::new(), preceding: Vec::new(), rest: KeyTail::Nothing, hidden: 0 }
    }

    /// How many secrets were hidden so far.
    pub fn hidden(&self) -> u64 {
        self.hidden
    }

    pub fn push(&mut self, bytes: &[u8], out: &mut dyn FnMut(&[u8])) {
        let Some(matcher) = self.matcher.clone() else { return out(bytes) };
        if self.pending.is_empty() {
            let done = self.scan(&matcher, bytes, false, out);
            self.pending.extend_from_slice(&bytes[done..]);
            return;
        }
        let mut held = std::mem::take(&mut self.pending);
        held.extend_from_slice(bytes);
        let done = self.scan(&matcher, &held, false, out);
        held.drain(..done);
        self.pending = held;
    }

    /// There is nothing more to come.
    pub fn finish(&mut self, out: &mut dyn FnMut(&[u8])) {
        let Some(matcher) = self.matcher.clone() else { return };
        let held = std::mem::take(&mut self.pending);
        self.scan(&matcher, &held, true, out);
        self.preceding.clear();
        self.rest = KeyTail::Nothing;
    }

    /// Passes on what is settled and says how many bytes that were.
    fn scan(&mut self, matcher: &SecretMatcher, bytes: &[u8], ended: bool, out: &mut dyn FnMut(&[u8])) -> usize {
        let mut floor = None;
        let done = self.mask_next(matcher, bytes, ended, &mut floor, out);
        if floor.is_some() {
            self.preceding.clear();
        }
        self.preceding.extend_from_slice(&bytes[done.saturating_sub(LOOKBEHIND_BYTES).max(floor.unwrap_or(0))..done]);
        self.preceding.drain(..self.preceding.len().saturating_sub(LOOKBEHIND_BYTES));
        done
    }

    /// `floor` becomes the end of the last secret: nothing is looked at across it.
    fn mask_next(
        &mut self,
        matcher: &SecretMatcher,
        bytes: &[u8],
        ended: bool,
        floor: &mut Option<usize>,
        out: &mut dyn FnMut(&[u8]),
    ) -> usize {
        let mut hunt = matcher.search_candidates(bytes);
        let mut fresh = true;
        let mut at = 0;
        loop {
            let (skipped, open) = self.skip(&bytes[at..], ended);
            at += skipped;
            if skipped > 0 {
                *floor = Some(at);
            }
            if open {
                return at;
            }
            let shown = at;
            let limit = if ended { bytes.len() } else { matcher.unfinished(bytes, at) };
            let (found, length, mask) = loop {
                let Some(start) = hunt.next(at, fresh).filter(|start| *start < limit) else {
                    out(&bytes[shown..limit]);
                    return limit;
                };
                fresh = false;
                match matcher.judge(&bytes[start..], &self.before(bytes, start, *floor), ended) {
                    SecretMatch::Nothing => at = start + 1,
                    SecretMatch::Wait => {
                        out(&bytes[shown..start]);
                        return start;
                    }
                    SecretMatch::Secret { lead, length, rest, mask } => {
                        self.rest = rest;
                        break (start + lead, length, mask);
                    }
                }
            };
            out(&bytes[shown..found]);
            out(mask);
            self.hidden += 1;
            at = found + length;
            *floor = Some(at);
        }
    }

    /// The last bytes before `at`, some of which may have gone by earlier.
    fn before<'a>(&self, bytes: &'a [u8], at: usize, floor: Option<usize>) -> Cow<'a, [u8]> {
        if let Some(floor) = floor {
            return Cow::Borrowed(&bytes[at.saturating_sub(LOOKBEHIND_BYTES).max(floor)..at]);
        }
        let here = &bytes[at.saturating_sub(LOOKBEHIND_BYTES)..at];
        if here.len() == LOOKBEHIND_BYTES {
            return Cow::Borrowed(here);
        }
        let missing = LOOKBEHIND_BYTES - here.len();
        let earlier = &self.preceding[self.preceding.len().saturating_sub(missing)..];
        Cow::Owned([earlier, here].concat())
    }

    /// How many of `bytes` belong to the secret before them, and whether it may go on after them.
    fn skip(&mut self, bytes: &[u8], ended: bool) -> (usize, bool) {
        let (length, open) = match self.rest {
            KeyTail::Nothing => return (0, false),
            KeyTail::Class(class) => skip_class(class, bytes),
            KeyTail::Pem(left) => skip_pem(bytes, left, ended),
        };
        if !open {
            self.rest = KeyTail::Nothing;
        } else if let KeyTail::Pem(left) = &mut self.rest {
            *left = left.saturating_sub(length);
        }
        (length, open)
    }
}

fn skip_class(class: KeyCharset, bytes: &[u8]) -> (usize, bool) {
    let length = bytes.iter().take_while(|b| class.has(**b)).count();
    (length, length == bytes.len())
}

fn skip_pem(bytes: &[u8], left: usize, ended: bool) -> (usize, bool) {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let rest = &bytes[at..];
        if rest.starts_with(PEM_END) {
            let title = &rest[PEM_END.len()..rest.len().min(PEM_END.len() + PEM_TITLE)];
            let whole = title.windows(5).position(|w| w == b"-----").map(|end| at + PEM_END.len() + end + 5);
            let is_complete = ended || title.len() == PEM_TITLE;
            return match whole {
                Some(end) => (end, false),
                None if is_complete => (at + PEM_END.len(), false),
                None => (at, true),
            };
        }
        if !ended && PEM_END.starts_with(rest) {
            return (at, true);
        }
        if at >= left || !is_pem_byte(*byte) {
            return (at, false);
        }
        at += 1;
    }
    (at, true)
}
