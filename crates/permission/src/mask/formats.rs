//! What the keys of common services look like. A row is how the text begins and what must follow; rows are wide enough
//! to find real keys and narrow enough to leave names, hashes and prose alone.

/// Bytes a kind of key is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Alnum,
    Upper,
    Hex,
    /// Letters, digits, `_`, `-`.
    Word,
    /// `Word` and `.`.
    Dotted,
    /// `Word` and `/`.
    Path,
    Base64,
}

impl Class {
    pub(super) fn has(self, byte: u8) -> bool {
        let word = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Word => word,
            Self::Dotted => word || byte == b'.',
            Self::Path => word || byte == b'/',
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// At least so many bytes of a class, a letter and a digit among them.
    Run(Class, usize),
    /// Exactly so many.
    Exact(Class, usize),
    Jwt,
    Pem,
}

/// What may stand before the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// Anything: the beginning is unmistakable.
    Any,
    /// Nothing that would make it part of a longer word.
    Word,
}

pub(super) struct Format {
    pub(super) start: &'static str,
    pub(super) name: &'static str,
    pub(super) body: Body,
    pub(super) edge: Edge,
}

const fn row(start: &'static str, name: &'static str, body: Body, edge: Edge) -> Format {
    Format { start, name, body, edge }
}

use Body::{Exact, Jwt, Pem, Run};
use Class::{Alnum, Base64, Dotted, Hex, Path, Upper, Word};

/// Longer beginnings before their prefixes. At most 64: the vectorised search takes no more.
#[rustfmt::skip]
pub(super) const FORMATS: &[Format] = &[
    row("-----BEGIN ", "private key", Pem, Edge::Any),
    row("sk-ant-", "Anthropic key", Run(Word, 20), Edge::Any),
    row("sk-or-v1-", "OpenRouter key", Run(Hex, 40), Edge::Any),
    row("sk-proj-", "OpenAI key", Run(Word, 32), Edge::Word),
    row("sk-svcacct-", "OpenAI key", Run(Word, 32), Edge::Word),
    row("sk-admin-", "OpenAI key", Run(Word, 32), Edge::Word),
    row("sk-", "API key", Run(Alnum, 40), Edge::Word),
    row("ghp_", "GitHub token", Run(Alnum, 36), Edge::Any),
    row("gho_", "GitHub token", Run(Alnum, 36), Edge::Any),
    row("ghu_", "GitHub token", Run(Alnum, 36), Edge::Any),
    row("ghs_", "GitHub token", Run(Alnum, 36), Edge::Any),
    row("ghr_", "GitHub token", Run(Alnum, 36), Edge::Any),
    row("github_pat_", "GitHub token", Run(Word, 50), Edge::Any),
    row("glpat-", "GitLab token", Run(Dotted, 20), Edge::Any),
    row("gldt-", "GitLab token", Run(Word, 20), Edge::Word),
    row("glptt-", "GitLab token", Run(Word, 20), Edge::Word),
    row("xoxb-", "Slack token", Run(Word, 20), Edge::Any),
    row("xoxp-", "Slack token", Run(Word, 20), Edge::Any),
    row("xoxa-", "Slack token", Run(Word, 20), Edge::Any),
    row("xoxs-", "Slack token", Run(Word, 20), Edge::Any),
    row("xapp-", "Slack token", Run(Word, 30), Edge::Word),
    row("hooks.slack.com/services/", "Slack webhook", Run(Path, 30), Edge::Any),
    row("AKIA", "AWS access key", Exact(Upper, 16), Edge::Word),
    row("ASIA", "AWS access key", Exact(Upper, 16), Edge::Word),
    row("AIza", "Google API key", Exact(Word, 35), Edge::Word),
    row("ya29.", "Google token", Run(Dotted, 30), Edge::Word),
    row("GOCSPX-", "Google client secret", Run(Word, 24), Edge::Any),
    row("AccountKey=", "Azure storage key", Run(Base64, 60), Edge::Any),
    row("sk_live_", "Stripe key", Run(Alnum, 20), Edge::Any),
    row("rk_live_", "Stripe key", Run(Alnum, 20), Edge::Any),
    row("sk_test_", "Stripe key", Run(Alnum, 20), Edge::Any),
    row("whsec_", "webhook secret", Run(Base64, 24), Edge::Word),
    row("npm_", "npm token", Exact(Alnum, 36), Edge::Word),
    row("pypi-AgE", "PyPI token", Run(Word, 50), Edge::Any),
    row("SG.", "SendGrid key", Run(Dotted, 60), Edge::Word),
    row("hf_", "Hugging Face token", Run(Alnum, 30), Edge::Word),
    row("gsk_", "Groq key", Run(Alnum, 40), Edge::Word),
    row("xai-", "xAI key", Run(Alnum, 60), Edge::Word),
    row("r8_", "Replicate token", Run(Alnum, 36), Edge::Word),
    row("pplx-", "Perplexity key", Run(Alnum, 40), Edge::Word),
    row("nvapi-", "NVIDIA key", Run(Word, 50), Edge::Word),
    row("dop_v1_", "DigitalOcean token", Run(Hex, 60), Edge::Any),
    row("dapi", "Databricks token", Exact(Hex, 32), Edge::Word),
    row("shpat_", "Shopify token", Run(Hex, 32), Edge::Any),
    row("shpss_", "Shopify token", Run(Hex, 32), Edge::Any),
    row("dckr_pat_", "Docker token", Run(Word, 20), Edge::Any),
    row("hvs.", "Vault token", Run(Word, 24), Edge::Word),
    row("lin_api_", "Linear key", Run(Alnum, 32), Edge::Any),
    row("figd_", "Figma token", Run(Word, 30), Edge::Word),
    row("glsa_", "Grafana token", Run(Word, 32), Edge::Word),
    row("sbp_", "Supabase token", Run(Hex, 40), Edge::Word),
    row("sntrys_", "Sentry token", Run(Base64, 40), Edge::Any),
    row("tskey-", "Tailscale key", Run(Word, 20), Edge::Word),
    row("ATATT3", "Atlassian token", Run(Word, 60), Edge::Word),
    row("NRAK-", "New Relic key", Run(Upper, 27), Edge::Word),
    row("AGE-SECRET-KEY-1", "age key", Run(Upper, 50), Edge::Any),
    row("eyJhbGci", "JSON web token", Jwt, Edge::Word),
    row("eyJ0eXAi", "JSON web token", Jwt, Edge::Word),
    row("eyJraWQi", "JSON web token", Jwt, Edge::Word),
];

/// Whether the bytes after a beginning are those of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    No,
    /// More bytes are needed to tell.
    Wait,
    /// So many bytes belong to it, and whatever follows of the rest.
    Yes(usize, Rest),
}

/// What else belongs to a key, however long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rest {
    #[default]
    Nothing,
    Class(Class),
    /// The lines of a private key, of which so many bytes may still come.
    Pem(usize),
}

/// Looks no further than this for the shape of a token or the first line of a key.
const JWT_BYTES: usize = 8 * 1024;
const PEM_BYTES: usize = 512;
const PEM_LINE: usize = 32;
const PEM_WHOLE: usize = 32 * 1024;

/// `bytes` follow the format's beginning; `ended` says that there will be no more.
pub(super) fn judge(body: Body, bytes: &[u8], ended: bool) -> Verdict {
    match body {
        Run(class, least) => judge_run(class, least, bytes, ended),
        Exact(class, length) => judge_exact(class, length, bytes, ended),
        Jwt => judge_jwt(bytes, ended),
        Pem => judge_pem(bytes, ended),
    }
}

fn unsure(ended: bool) -> Verdict {
    if ended { Verdict::No } else { Verdict::Wait }
}

fn mixed(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_digit) && bytes.iter().any(u8::is_ascii_alphabetic)
}

fn judge_run(class: Class, least: usize, bytes: &[u8], ended: bool) -> Verdict {
    let run = bytes.iter().take(least).take_while(|b| class.has(**b)).count();
    match run {
        run if run == least && mixed(&bytes[..least]) => Verdict::Yes(least, Rest::Class(class)),
        run if run < least && run == bytes.len() => unsure(ended),
        _ => Verdict::No,
    }
}

fn judge_exact(class: Class, length: usize, bytes: &[u8], ended: bool) -> Verdict {
    let run = bytes.iter().take(length + 1).take_while(|b| class.has(**b)).count();
    // Documentation marks its sample keys.
    let sample = run == length && bytes[..run].ends_with(b"EXAMPLE");
    match run {
        run if run == bytes.len() && run <= length && !ended => Verdict::Wait,
        run if run == length && mixed(&bytes[..run]) && !sample => Verdict::Yes(length, Rest::Nothing),
        _ => Verdict::No,
    }
}

/// `header.payload.signature`, the payload a JSON object as well.
fn judge_jwt(bytes: &[u8], ended: bool) -> Verdict {
    const SIGNATURE: usize = 20;
    let window = &bytes[..bytes.len().min(JWT_BYTES)];
    let unsure = || if window.len() == JWT_BYTES { Verdict::No } else { unsure(ended) };
    let part = |from: usize| from + window[from..].iter().take_while(|b| Word.has(**b)).count();
    let header = part(0);
    let payload = part((header + 1).min(window.len()));
    let signature = part((payload + 1).min(window.len()));
    for dot in [header, payload] {
        match window.get(dot) {
            None => return unsure(),
            Some(b'.') => {}
            Some(_) => return Verdict::No,
        }
    }
    if !b"eyJ".iter().zip(&window[header + 1..]).all(|(a, b)| a == b) {
        return Verdict::No;
    }
    match signature - (payload + 1) {
        length if length >= SIGNATURE => Verdict::Yes(payload + 1 + SIGNATURE, Rest::Class(Word)),
        _ if signature == window.len() => unsure(),
        _ => Verdict::No,
    }
}

/// The title must be one of a private key, and a line of it must follow: texts that only mention the title stay.
fn judge_pem(bytes: &[u8], ended: bool) -> Verdict {
    let window = &bytes[..bytes.len().min(PEM_BYTES)];
    let unsure = || if window.len() == PEM_BYTES { Verdict::No } else { unsure(ended) };
    let title = window.iter().take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || **b == b' ').count();
    if title > 48 {
        return Verdict::No;
    }
    if title == window.len() {
        return unsure();
    }
    if !window[..title].windows(11).any(|w| w == b"PRIVATE KEY") {
        return Verdict::No;
    }
    let mut run = 0;
    for (at, byte) in window.iter().enumerate().skip(title) {
        run = if Base64.has(*byte) { run + 1 } else { 0 };
        if !in_pem(*byte) {
            return Verdict::No;
        }
        if run >= PEM_LINE && mixed(&window[at + 1 - PEM_LINE..=at]) {
            return Verdict::Yes(at + 1, Rest::Pem(PEM_WHOLE));
        }
    }
    unsure()
}

/// Base64, line numbers and prefixes of tools, escaped line ends, headers of encrypted keys.
pub(super) fn in_pem(byte: u8) -> bool {
    Base64.has(byte)
        || byte.is_ascii_whitespace()
        || matches!(byte, b'\\' | b'-' | b':' | b',' | b'.' | b'_' | b'|')
        || !byte.is_ascii()
}
