//! What the keys of common services look like. A format is how the text begins and what must follow; formats are wide
//! enough to find real keys and narrow enough to leave names, hashes and prose alone. The table is in `table`.

use super::{address, settings, structure};

/// Bytes a kind of key is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyCharset {
    Alnum,
    /// Capital letters and digits.
    Upper,
    Hex,
    /// `Hex` and `-`.
    HexDash,
    /// Letters, digits, `_`, `-`.
    Word,
    /// `Word` and `.`.
    Dotted,
    /// `Word` and `/`.
    Path,
    /// What a path of an address may hold.
    Url,
    Base64,
    /// The credential after `Bearer` in a header.
    Credential,
    /// What a value in the query of an address is made of.
    Query,
}

impl KeyCharset {
    pub(super) fn has(self, byte: u8) -> bool {
        let word = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::HexDash => byte.is_ascii_hexdigit() || byte == b'-',
            Self::Word => word,
            Self::Dotted => word || byte == b'.',
            Self::Path => word || byte == b'/',
            Self::Url => word || matches!(byte, b'/' | b'@' | b'.' | b'%'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Self::Credential => word || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'='),
            Self::Query => word || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=' | b'%'),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyBody {
    /// At least so many bytes of a class, a letter and a digit among them.
    Run(KeyCharset, usize),
    /// Exactly so many.
    Exact(KeyCharset, usize),
    /// Exactly so many, a letter and a digit or both cases among them, and this text behind them.
    Ending(KeyCharset, usize, &'static str),
    /// Parts of these lengths with this byte between them.
    Parts(KeyCharset, u8, &'static [usize]),
    /// As `Parts`, with the fewest and the most bytes of each.
    Spans(KeyCharset, u8, &'static [(usize, usize)]),
    Jwt,
    Pem,
    /// The scheme and credential of a header, after its name.
    Authorization,
    /// The value of a header that holds nothing but a key, after its name.
    KeyHeader,
    /// `user:password` behind an option.
    UserOption,
    /// `user:password@host` of an address.
    Password,
    /// The same for databases, whose passwords are written with any character.
    LoosePassword,
    /// `user/password@host` of an Oracle address.
    SlashPassword,
    /// The value of a password among other settings, after its name.
    Setting,
    /// The same after the name and `=`.
    SettingValue,
}

/// The characters that may precede the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyBoundary {
    /// Anything: the beginning is unmistakable.
    Any,
    /// Nothing that would make it part of a longer word.
    Word,
    /// As `Word`, and no dash either: the beginning is an ordinary word.
    Alone,
    /// At least eight digits.
    Digits,
    /// Exactly so many letters and digits, at the beginning of a word.
    Letters(usize),
    /// The scheme of a database or a mail or file server.
    Scheme,
    /// What separates the settings of a connection string: `;`, `?`, `&`, or another setting of a database and a blank.
    Settings,
    /// `?` or `&`.
    Query,
    /// A call of `curl` on the same line.
    Curl,
}

pub(super) struct KeyFormat {
    pub(super) start: &'static str,
    pub(super) name: &'static str,
    pub(super) body: KeyBody,
    pub(super) edge: KeyBoundary,
}

use KeyBody::{
    Authorization, Ending, Exact, Jwt, KeyHeader, LoosePassword, Parts, Password, Pem, Run, Setting, SettingValue,
    SlashPassword, Spans, UserOption,
};
use KeyCharset::{Base64, Word};

/// Whether the bytes after a beginning are those of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyMatch {
    No,
    /// More bytes are needed to tell.
    Wait,
    /// So many bytes belong to it, and whatever follows of the rest.
    Yes(usize, KeyTail),
    /// So many bytes stay visible, so many more are hidden, and whatever follows of the rest.
    After(usize, usize, KeyTail),
}

/// What else belongs to a key, however long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum KeyTail {
    #[default]
    Nothing,
    Class(KeyCharset),
    /// The lines of a private key, of which so many bytes may still come.
    Pem(usize),
}

/// Looks no further than this for the shape of a token or the first line of a key.
const JWT_BYTES: usize = 8 * 1024;
const PEM_BYTES: usize = 512;
const PEM_LINE: usize = 32;
const PEM_WHOLE: usize = 32 * 1024;

/// `bytes` follow the format's beginning; `ended` says that there will be no more.
pub(super) fn match_body(body: KeyBody, bytes: &[u8], ended: bool) -> KeyMatch {
    match body {
        Run(class, least) => judge_run(class, least, bytes, ended),
        Exact(class, length) => judge_exact(class, length, bytes, ended),
        Ending(class, length, ending) => judge_ending(class, length, ending.as_bytes(), bytes, ended),
        Parts(class, between, lengths) => judge_parts(class, between, lengths, bytes, ended),
        Spans(class, between, spans) => judge_spans(class, between, spans, bytes, ended),
        Authorization => structure::authorization(bytes, ended),
        KeyHeader => structure::key_header(bytes, ended),
        UserOption => structure::user_option(bytes, ended),
        Password => structure::password(bytes, ended),
        LoosePassword => address::loose_password(bytes, ended),
        SlashPassword => address::slash_password(bytes, ended),
        Setting => settings::setting(bytes, ended),
        SettingValue => settings::value(bytes, 0, false, ended),
        Jwt => judge_jwt(bytes, ended),
        Pem => judge_pem(bytes, ended),
    }
}

pub(super) fn undecided(ended: bool) -> KeyMatch {
    if ended { KeyMatch::No } else { KeyMatch::Wait }
}

pub(super) fn is_mixed(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_digit) && bytes.iter().any(u8::is_ascii_alphabetic)
}

/// How far beyond its shortest length a key may go on with digits only, or letters only.
const UNMIXED: usize = 64;

fn judge_run(class: KeyCharset, least: usize, bytes: &[u8], ended: bool) -> KeyMatch {
    let run = bytes.iter().take(least + UNMIXED).take_while(|b| class.has(**b)).count();
    match run {
        run if run >= least && is_mixed(&bytes[..run]) => KeyMatch::Yes(least, KeyTail::Class(class)),
        run if run < least + UNMIXED && run == bytes.len() => undecided(ended),
        _ => KeyMatch::No,
    }
}

fn judge_exact(class: KeyCharset, length: usize, bytes: &[u8], ended: bool) -> KeyMatch {
    let run = bytes.iter().take(length + 1).take_while(|b| class.has(**b)).count();
    // Documentation marks its sample keys.
    let sample = run == length && bytes[..run].ends_with(b"EXAMPLE");
    match run {
        run if run == bytes.len() && run <= length && !ended => KeyMatch::Wait,
        run if run == length && is_random(&bytes[..run]) && !sample => KeyMatch::Yes(length, KeyTail::Nothing),
        _ => KeyMatch::No,
    }
}

fn judge_ending(class: KeyCharset, length: usize, ending: &[u8], bytes: &[u8], ended: bool) -> KeyMatch {
    let run = bytes.iter().take(length).take_while(|b| class.has(**b)).count();
    let rest = &bytes[run..];
    match run {
        run if run < length && rest.is_empty() => undecided(ended),
        run if run < length => KeyMatch::No,
        _ if rest.len() < ending.len() && ending.starts_with(rest) => undecided(ended),
        _ if !rest.starts_with(ending) || !is_random(&bytes[..run]) => KeyMatch::No,
        _ => match rest.get(ending.len()) {
            None if !ended => KeyMatch::Wait,
            Some(byte) if Word.has(*byte) => KeyMatch::No,
            _ => KeyMatch::Yes(length + ending.len(), KeyTail::Nothing),
        },
    }
}

/// Letters and digits, or letters of both cases: some services use no digits.
fn is_random(bytes: &[u8]) -> bool {
    let case = bytes.iter().any(u8::is_ascii_lowercase) && bytes.iter().any(u8::is_ascii_uppercase);
    case || is_mixed(bytes)
}

fn judge_parts(class: KeyCharset, between: u8, lengths: &[usize], bytes: &[u8], ended: bool) -> KeyMatch {
    let mut at = 0;
    for (index, length) in lengths.iter().enumerate() {
        if index > 0 {
            match bytes.get(at) {
                None => return undecided(ended),
                Some(byte) if *byte == between => at += 1,
                Some(_) => return KeyMatch::No,
            }
        }
        let part = bytes[at..].iter().take(*length).take_while(|b| class.has(**b)).count();
        at += part;
        if part < *length {
            return if at == bytes.len() { undecided(ended) } else { KeyMatch::No };
        }
    }
    match bytes.get(at) {
        None if !ended => KeyMatch::Wait,
        Some(byte) if class.has(*byte) => KeyMatch::No,
        _ if is_mixed(&bytes[..at]) => KeyMatch::Yes(at, KeyTail::Nothing),
        _ => KeyMatch::No,
    }
}

fn judge_spans(class: KeyCharset, between: u8, spans: &[(usize, usize)], bytes: &[u8], ended: bool) -> KeyMatch {
    let mut at = 0;
    for (index, (least, most)) in spans.iter().enumerate() {
        if index > 0 {
            match bytes.get(at) {
                None => return undecided(ended),
                Some(byte) if *byte == between => at += 1,
                Some(_) => return KeyMatch::No,
            }
        }
        let part = bytes[at..].iter().take(most + 1).take_while(|b| class.has(**b)).count();
        if at + part == bytes.len() && part <= *most && !ended {
            return KeyMatch::Wait;
        }
        if part < *least || part > *most {
            return KeyMatch::No;
        }
        at += part;
    }
    if is_mixed(&bytes[..at]) { KeyMatch::Yes(at, KeyTail::Nothing) } else { KeyMatch::No }
}

/// `header.payload.signature`, the payload a JSON object as well.
fn judge_jwt(bytes: &[u8], ended: bool) -> KeyMatch {
    const SIGNATURE: usize = 20;
    let window = &bytes[..bytes.len().min(JWT_BYTES)];
    let unsure = || if window.len() == JWT_BYTES { KeyMatch::No } else { undecided(ended) };
    let part = |from: usize| from + window[from..].iter().take_while(|b| Word.has(**b)).count();
    let header = part(0);
    let payload = part((header + 1).min(window.len()));
    let signature = part((payload + 1).min(window.len()));
    for dot in [header, payload] {
        match window.get(dot) {
            None => return unsure(),
            Some(b'.') => {}
            Some(_) => return KeyMatch::No,
        }
    }
    if !b"eyJ".iter().zip(&window[header + 1..]).all(|(a, b)| a == b) {
        return KeyMatch::No;
    }
    match signature - (payload + 1) {
        length if length >= SIGNATURE => KeyMatch::Yes(payload + 1 + SIGNATURE, KeyTail::Class(Word)),
        _ if signature == window.len() => unsure(),
        _ => KeyMatch::No,
    }
}

/// The title must be one of a private key, and a line of it must follow: texts that only mention the title stay.
fn judge_pem(bytes: &[u8], ended: bool) -> KeyMatch {
    let window = &bytes[..bytes.len().min(PEM_BYTES)];
    let unsure = || if window.len() == PEM_BYTES { KeyMatch::No } else { undecided(ended) };
    let title = window.iter().take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || **b == b' ').count();
    if title > 48 {
        return KeyMatch::No;
    }
    if title == window.len() {
        return unsure();
    }
    if !window[..title].windows(11).any(|w| w == b"PRIVATE KEY") {
        return KeyMatch::No;
    }
    let mut run = 0;
    for (at, byte) in window.iter().enumerate().skip(title) {
        run = if Base64.has(*byte) { run + 1 } else { 0 };
        if !is_pem_byte(*byte) {
            return KeyMatch::No;
        }
        if run >= PEM_LINE && is_mixed(&window[at + 1 - PEM_LINE..=at]) {
            return KeyMatch::Yes(at + 1, KeyTail::Pem(PEM_WHOLE));
        }
    }
    unsure()
}

/// Base64, line numbers and prefixes of tools, escaped line ends, headers of encrypted keys.
pub(super) fn is_pem_byte(byte: u8) -> bool {
    Base64.has(byte)
        || byte.is_ascii_whitespace()
        || matches!(byte, b'\\' | b'-' | b':' | b',' | b'.' | b'_' | b'|')
        || !byte.is_ascii()
}
