//! Passwords in addresses of databases, which people write with any character: `postgres://u:a/b#c@host`,
//! `jdbc:oracle:thin:u/password@host`.

use super::formats::{KeyMatch, KeyTail, undecided};
use super::names;
use super::placeholders::{is_placeholder, is_sample_host};

/// Looks no further for the end.
const ADDRESS: usize = 320;
/// Longest way to the host behind a blank.
const BEHIND_BLANK: usize = 64;

/// `bytes` follow `://`. The password goes to the last `@` that a host follows.
pub(super) fn loose_password(bytes: &[u8], ended: bool) -> KeyMatch {
    let Some(window) = line(bytes, ended) else { return KeyMatch::Wait };
    let colon = window.iter().position(|b| matches!(b, b':' | b'/' | b'@' | b' ')).filter(|at| window[*at] == b':');
    let Some(colon) = colon else { return KeyMatch::No };
    let rest = &window[colon + 1..];
    let blank = rest.iter().position(|b| *b == b' ').unwrap_or(rest.len());
    let before = rest[..blank].iter().rposition(|b| *b == b'@').filter(|at| has_host(&rest[at + 1..]));
    let behind = || {
        let near = &rest[..rest.len().min(BEHIND_BLANK)];
        near.iter().position(|b| *b == b'@').filter(|at| has_host(&rest[at + 1..]) && is_single_word_gap(&rest[..*at]))
    };
    match before.or_else(behind) {
        // A port and a path.
        Some(at) if rest[..at].iter().take_while(|b| b.is_ascii_digit()).count() < first_slash(&rest[..at]) => {
            hide(colon + 1, &rest[..at], host(&rest[at + 1..]))
        }
        _ => KeyMatch::No,
    }
}

/// `bytes` follow `oracle:thin:`.
pub(super) fn slash_password(bytes: &[u8], ended: bool) -> KeyMatch {
    let Some(window) = line(bytes, ended) else { return KeyMatch::Wait };
    let window = &window[..window.iter().position(|b| *b == b' ').unwrap_or(window.len())];
    let slash = window.iter().position(|b| matches!(b, b'/' | b'@')).filter(|at| window[*at] == b'/' && *at > 0);
    let Some(slash) = slash else { return KeyMatch::No };
    let rest = &window[slash + 1..];
    match rest.iter().rposition(|b| *b == b'@') {
        Some(at) => hide(slash + 1, &rest[..at], host(rest[at + 1..].trim_ascii_start())),
        None => KeyMatch::No,
    }
}

/// The rest of the line up to a quote; `None` when it has not come yet.
fn line(bytes: &[u8], ended: bool) -> Option<&[u8]> {
    let window = &bytes[..bytes.len().min(ADDRESS)];
    let stop = |b: &u8| matches!(b, b'"' | b'\'' | b'`' | b'\\' | b'<' | b'>') || (b.is_ascii_control());
    match window.iter().position(stop) {
        Some(end) => Some(&window[..end]),
        None if window.len() == ADDRESS || undecided(ended) == KeyMatch::No => Some(window),
        None => None,
    }
}

fn host(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_prefix(b"//").unwrap_or(bytes);
    let is_host = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'[' | b']' | b':');
    &bytes[..bytes.iter().position(|b| !is_host(b)).unwrap_or(bytes.len())]
}

fn has_host(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
}

/// Where the first `/` is, or one more than the length.
fn first_slash(text: &[u8]) -> usize {
    text.iter().position(|b| *b == b'/').unwrap_or(text.len() + 1)
}

/// One or two blanks inside a password; more are a sentence.
fn is_single_word_gap(text: &[u8]) -> bool {
    text.split(|b| *b == b' ').count() <= 3 && super::formats::is_mixed(text)
}

fn hide(start: usize, secret: &[u8], host: &[u8]) -> KeyMatch {
    let hidden = names::is_worth_hiding(secret) && !is_placeholder(secret) && !is_sample_host(host);
    if hidden { KeyMatch::After(start, secret.len(), KeyTail::Nothing) } else { KeyMatch::No }
}
