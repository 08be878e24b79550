//! Secrets that are recognised by the text around them: the credential of an `Authorization` or `x-api-key` header, the
//! password behind `curl -u`, in an address or in a connection string. Only the secret itself is hidden. Placeholders, samples of documentation and
//! passwords for this very machine are not secrets.

use super::formats::{KeyCharset, KeyMatch, KeyTail, is_mixed, undecided};
use super::names;
use super::placeholders::{is_placeholder, is_sample_host};

/// Looks no further for the end of a user and password.
const AUTHORITY: usize = 512;
const HEADER: usize = 2048;
/// Shorter credentials of headers are words.
const SHORTEST_TOKEN: usize = 16;

/// Longest way from the name of a header to its scheme: quotes, colons, blanks.
const GAP: usize = 12;
#[rustfmt::skip]
const SCHEMES: &[&str] = &[
    "bearer", "basic", "token", "apikey", "api-key", "api_key", "key", "bot", "jwt", "oauth", "ssws", "geniekey", "splunk",
    "negotiate", "ntlm", "zoho-oauthtoken", "deepl-auth-key", "klaviyo-api-key", "private-token", "x-api-key",
];
/// The text between scheme and credential, in a header and in an address.
const BETWEEN: &[&[u8]] = &[b" ", b"%20", b"+", b": ", b" token=", b" Token="];

/// `bytes` follow the name of the header.
pub(super) fn authorization(bytes: &[u8], ended: bool) -> KeyMatch {
    let between =
        |b: &u8| matches!(b, b'"' | b'\'' | b'\\' | b':' | b'=' | b'>' | b',' | b'(' | b'[' | b']' | b'`' | b' ');
    let gap = bytes.iter().take(GAP + 1).take_while(|b| between(b)).count();
    let rest = &bytes[gap..];
    if gap == 0 || gap > GAP {
        return if bytes.is_empty() { undecided(ended) } else { KeyMatch::No };
    }
    let lead = match scheme(rest) {
        SchemeEnd::At(lead) => lead,
        SchemeEnd::Unfinished => return undecided(ended),
        SchemeEnd::Unknown => return KeyMatch::No,
    };
    let credential = &rest[lead..];
    let run = credential.iter().take(HEADER).take_while(|b| KeyCharset::Credential.has(**b)).count();
    if run == credential.len() && run < HEADER && !ended {
        return KeyMatch::Wait;
    }
    // What a mask follows was looked at before.
    if credential.get(run) != Some(&b'[') && is_credential(&credential[..run]) {
        return KeyMatch::After(gap + lead, run, KeyTail::Class(KeyCharset::Credential));
    }
    KeyMatch::No
}

/// `bytes` follow the name of the header: `: key`, `=key`, `": "key"`, `', 'key'`.
pub(super) fn key_header(bytes: &[u8], ended: bool) -> KeyMatch {
    let between = |b: &u8| matches!(b, b'"' | b'\'' | b'\\' | b':' | b'=' | b'>' | b',' | b'`' | b' ');
    let gap = bytes.iter().take(GAP + 1).take_while(|b| between(b)).count();
    if gap == bytes.len() && gap <= GAP {
        return undecided(ended);
    }
    let (gap_text, credential) = bytes.split_at(gap);
    // In code a name without quotes is no value.
    let is_plain = matches!(gap_text, b":" | b": " | b"=" | b" = ");
    let is_quoted = gap_text.iter().any(|b| matches!(b, b':' | b'=' | b','))
        && matches!(gap_text.last(), Some(b'"' | b'\'' | b'`'));
    if gap > GAP || !(is_plain || is_quoted) {
        return KeyMatch::No;
    }
    let run = credential.iter().take(HEADER).take_while(|b| KeyCharset::Credential.has(**b)).count();
    if run == credential.len() && run < HEADER && !ended {
        return KeyMatch::Wait;
    }
    let (key, next) = (&credential[..run], credential.get(run));
    // `process.env.KEY`, `key(…)`, and what was looked at before.
    let is_code = key.contains(&b'.') || matches!(next, Some(b'(' | b'[' | b'{' | b':' | b'$' | b'<'));
    if run >= SHORTEST_TOKEN && is_mixed(key) && !is_code && !is_placeholder(key) && names::is_worth_hiding(key) {
        return KeyMatch::After(gap, run, KeyTail::Class(KeyCharset::Credential));
    }
    KeyMatch::No
}

/// Whether a call of `curl` begins on the line that ends with `behind`. Nothing is looked at across a hidden secret.
pub(super) fn follows_curl(behind: &[u8]) -> bool {
    const MASK_END: &[u8] = b" by gimlet]";
    let line = behind.rsplit(|b| *b == b'\n').next().unwrap_or_default();
    let masked = line.windows(MASK_END.len()).rposition(|part| part == MASK_END);
    let line = &line[masked.map_or(0, |at| at + MASK_END.len())..];
    let is_name = |at: usize| at == 0 || !(line[at - 1].is_ascii_alphanumeric() || matches!(line[at - 1], b'_' | b'-'));
    let mut calls = line.windows(4).enumerate().filter(|(_, word)| word == b"curl");
    calls.any(|(at, _)| is_name(at) && line.get(at + 4).is_none_or(|b| *b == b' '))
}

/// `bytes` follow an option whose value is `user:password`.
pub(super) fn user_option(bytes: &[u8], ended: bool) -> KeyMatch {
    let window = &bytes[..bytes.len().min(AUTHORITY)];
    let gap = window.iter().take(2).take_while(|b| matches!(b, b'"' | b'\'' | b'\\')).count();
    let stop = |b: &u8| matches!(b, b'"' | b'\'' | b'\\' | b'`' | b'<' | b'>') || !b.is_ascii_graphic();
    let end = window[gap..].iter().position(stop);
    if end.is_none() && window.len() < AUTHORITY && !ended {
        return KeyMatch::Wait;
    }
    let pair = &window[gap..end.map_or(window.len(), |end| gap + end)];
    let Some(colon) = pair.iter().position(|b| *b == b':') else { return KeyMatch::No };
    let secret = &pair[colon + 1..];
    let is_masked = secret.windows(7).any(|part| part == b"[secret");
    let hidden = names::is_worth_hiding(secret) && !is_placeholder(secret) && !secret.contains(&b'$') && !is_masked;
    if hidden { KeyMatch::After(gap + colon + 1, secret.len(), KeyTail::Nothing) } else { KeyMatch::No }
}

enum SchemeEnd {
    At(usize),
    Unfinished,
    Unknown,
}

/// Where the credential begins after its scheme.
fn scheme(rest: &[u8]) -> SchemeEnd {
    let mut unfinished = false;
    let mut longest = None;
    for name in SCHEMES {
        let length = name.len().min(rest.len());
        if !rest[..length].eq_ignore_ascii_case(&name.as_bytes()[..length]) {
            continue;
        }
        let after = &rest[length..];
        for between in BETWEEN {
            if length == name.len() && after.starts_with(between) {
                longest = longest.max(Some(length + between.len()));
            }
            unfinished |= between.starts_with(after) && between.len() > after.len();
        }
    }
    match longest {
        _ if unfinished => SchemeEnd::Unfinished,
        Some(end) if end < rest.len() => SchemeEnd::At(end),
        Some(_) => SchemeEnd::Unfinished,
        None => SchemeEnd::Unknown,
    }
}

fn is_credential(text: &[u8]) -> bool {
    // A pair that is a sample must not count as a token.
    match decoded(text).filter(|pair| pair.contains(&b':') && pair.iter().all(|b| b.is_ascii_graphic() || *b == b' ')) {
        Some(pair) => is_pair(&pair),
        None => text.len() >= SHORTEST_TOKEN && is_mixed(text) && !is_placeholder(text),
    }
}

/// `user:password` with a password that is worth hiding.
fn is_pair(text: &[u8]) -> bool {
    let password = text.iter().position(|b| *b == b':').map(|at| &text[at + 1..]);
    password.is_some_and(|password| !is_placeholder(password) && names::is_worth_hiding(password))
}

/// `bytes` follow `://`.
pub(super) fn password(bytes: &[u8], ended: bool) -> KeyMatch {
    let window = &bytes[..bytes.len().min(AUTHORITY)];
    let stop = |byte: &u8| {
        matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'\\' | b'<' | b'>') || byte.is_ascii_whitespace()
    };
    let end = window.iter().position(stop).unwrap_or(window.len());
    let open = end == window.len() && !ended && window.len() < AUTHORITY;
    let Some(at) = window[..end].iter().rposition(|b| *b == b'@') else {
        return if open { undecided(ended) } else { KeyMatch::No };
    };
    if open {
        // The host may still turn out to be this machine, or another `@` may follow.
        return KeyMatch::Wait;
    }
    let Some(colon) = window[..at].iter().position(|b| *b == b':') else { return KeyMatch::No };
    let (secret, host) = (&window[colon + 1..at], &window[at + 1..end]);
    let hidden = names::is_worth_hiding(secret) && !is_placeholder(secret) && !is_sample_host(host);
    if hidden { KeyMatch::After(colon + 1, secret.len(), KeyTail::Nothing) } else { KeyMatch::No }
}

/// Base64 in either alphabet, padding optional.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let body = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    let (mut bits, mut held, mut out) = (0_u32, 0, Vec::new());
    for byte in body {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(out)
}
