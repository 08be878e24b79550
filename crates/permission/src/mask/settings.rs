//! Passwords among other settings: `Server=s;Password=…;`, `?user=u&password=…`, `host=h password=…`. Only the value is
//! hidden, with its quotes around it.

use super::formats::{KeyMatch, KeyTail, undecided};
use super::names;
use super::placeholders::is_placeholder;

/// Longest value, and how far its end is looked for.
const VALUE: usize = 256;
const BLANKS: usize = 3;

#[rustfmt::skip]
const SCHEMES: &[&str] = &[
    "postgres", "postgresql", "mysql", "mysql2", "mariadb", "mongodb", "mongodb+srv", "redis", "rediss", "amqp", "amqps", "mssql", "sqlserver",
    "oracle", "cockroachdb", "clickhouse", "ftp", "ftps", "sftp", "smtp", "smtps", "imap", "imaps", "ldap", "ldaps", "mqtt", "mqtts", "nats",
];

/// Settings that stand beside a password in the settings of a database, blanks between them.
#[rustfmt::skip]
const NEIGHBOURS: &[&str] = &[
    "host", "hostaddr", "port", "dbname", "database", "user", "username", "sslmode", "connect_timeout", "application_name", "options", "service",
    "sslrootcert", "target_session_attrs",
];

/// Whether the scheme of a server ends here, before `://`.
pub(super) fn is_server_scheme(behind: &[u8]) -> bool {
    let is_scheme = |b: &u8| b.is_ascii_alphanumeric() || *b == b'+';
    let length = behind.iter().rev().take_while(|b| is_scheme(b)).count();
    let scheme = String::from_utf8_lossy(&behind[behind.len() - length..]).to_ascii_lowercase();
    let scheme = scheme.split_once('+').map_or(scheme.as_str(), |(first, _)| first);
    SCHEMES.contains(&scheme)
}

/// Whether the name of a setting may begin after `behind`.
pub(super) fn separates(behind: &[u8]) -> bool {
    // The format begins at the second letter of the name.
    let Some((b'p' | b'P', behind)) = behind.split_last() else { return false };
    if matches!(behind.last(), Some(b';' | b'?' | b'&')) || behind.ends_with(b"; ") {
        return true;
    }
    let Some((b' ', before)) = behind.split_last() else { return false };
    follows_neighbour(before)
}

/// `host=db.prod.net`, and no host of this machine.
fn follows_neighbour(before: &[u8]) -> bool {
    let text = String::from_utf8_lossy(before).to_ascii_lowercase();
    let is_local = ["host=localhost", "host=127.", "hostaddr=127.", "host=/", "host=::1"];
    let last = text.rsplit([' ', '"', '\'']).next().unwrap_or_default();
    let name = last.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| NEIGHBOURS.contains(&name)) && !is_local.iter().any(|local| text.contains(local))
}

/// `bytes` follow the name.
pub(super) fn setting(bytes: &[u8], ended: bool) -> KeyMatch {
    let equals = bytes.iter().take(BLANKS).take_while(|b| **b == b' ').count();
    match bytes.get(equals) {
        None => return undecided(ended),
        Some(b'=') => {}
        Some(_) => return KeyMatch::No,
    }
    value(bytes, equals + 1, equals > 0, ended)
}

/// The value begins at `from`, perhaps after blanks.
pub(super) fn value(bytes: &[u8], from: usize, is_spaced: bool, ended: bool) -> KeyMatch {
    let start = from + bytes[from..].iter().take(BLANKS).take_while(|b| **b == b' ').count();
    match bytes.get(start) {
        None => undecided(ended),
        Some(b'\\') => match bytes.get(start + 1) {
            None => undecided(ended),
            Some(quote @ (b'"' | b'\'')) => quoted(bytes, start + 2, *quote, ended),
            Some(_) => KeyMatch::No,
        },
        Some(quote @ (b'"' | b'\'')) => quoted(bytes, start + 1, *quote, ended),
        Some(b'{') => quoted(bytes, start + 1, b'}', ended),
        Some(_) => plain(bytes, start, is_spaced, ended),
    }
}

/// A value up to its closing quote.
fn quoted(bytes: &[u8], start: usize, close: u8, ended: bool) -> KeyMatch {
    let window = &bytes[start..bytes.len().min(start + VALUE)];
    let stop = |b: &u8| *b == close || matches!(b, b'\n' | b'\r' | b'\\');
    let Some(end) = window.iter().position(stop) else {
        return if window.len() == VALUE { KeyMatch::No } else { undecided(ended) };
    };
    let secret = &window[..end];
    // Text in braces is more often a name than a password.
    let is_name = close == b'}' && !is_mixed_text(secret);
    if matches!(window[end], b'\n' | b'\r') || is_name {
        return KeyMatch::No;
    }
    hide(start, secret)
}

/// A value up to the next setting.
fn plain(bytes: &[u8], start: usize, is_spaced: bool, ended: bool) -> KeyMatch {
    let window = &bytes[start..bytes.len().min(start + VALUE)];
    let stop = |b: &u8| {
        matches!(b, b';' | b'&' | b'"' | b'\'' | b'`' | b'\\' | b'<' | b'>') || !(b.is_ascii_graphic() || *b == b' ')
    };
    let end = window.iter().position(stop);
    if end.is_none() && window.len() < VALUE && !ended {
        return KeyMatch::Wait;
    }
    let end = end.unwrap_or(window.len());
    // A blank belongs to the value only where another setting follows.
    let whole = window.get(end) == Some(&b';') && !is_spaced;
    let end = if whole { end } else { window[..end].iter().position(|b| *b == b' ').unwrap_or(end) };
    let secret = &window[..end];
    if end == VALUE || (is_spaced && !is_mixed_text(secret)) {
        return KeyMatch::No;
    }
    hide(start, secret)
}

/// Letters and digits, and nothing of which code is made.
fn is_mixed_text(secret: &[u8]) -> bool {
    super::formats::is_mixed(secret) && !secret.iter().any(|b| matches!(b, b'.' | b'(' | b')' | b'[' | b':' | b','))
}

fn hide(start: usize, secret: &[u8]) -> KeyMatch {
    // What a mask stands in was looked at before.
    let is_masked = secret.windows(7).any(|part| part == b"[secret");
    if names::is_worth_hiding(secret) && !is_placeholder(secret) && !is_code(secret) && !is_masked {
        return KeyMatch::After(start, secret.len(), KeyTail::Nothing);
    }
    KeyMatch::No
}

/// `self.password`, `config::value`, `a, b`: no digit, and marks of code.
fn is_code(secret: &[u8]) -> bool {
    let text = String::from_utf8_lossy(secret);
    !secret.iter().any(u8::is_ascii_digit) && (text.contains(['.', ',', '(', ')', '+', '?']) || text.contains("::"))
}
