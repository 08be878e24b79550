//! What stands for a secret and is none: templates, words of documentation, hosts of this machine. A value is compared
//! whole: a secret that begins like a placeholder is a secret.

/// Words of which placeholders are made.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "password", "passwd", "passwort", "passphrase", "passw0rd", "pass", "pwd", "pw", "postgres", "postgresql", "mysql", "mongo", "redis", "example",
    "changeme", "change", "changeit", "secret", "your", "my", "the", "some", "sample", "dummy", "placeholder", "redacted", "hidden", "token", "access",
    "api", "key", "auth", "bearer", "client", "app", "hunter2", "open", "sesame", "foo", "bar", "baz", "foobar", "user", "username", "name", "test",
    "testing", "admin", "root", "guest", "default", "insert", "replace", "with", "here", "strong", "super", "very", "long", "db", "database", "value",
    "string", "private", "public", "service", "account", "is", "not", "a", "real", "fake", "me", "it", "this", "please", "x", "xxx", "xxxx", "todo", "demo",
    "local", "dev", "development", "basic", "authentication", "credential", "credentials", "goes", "mock", "stub", "host", "login",
];

/// More digits than this are no numbering.
const MAX_DIGITS: usize = 4;
const MAX_BYTES: usize = 64;

/// `${X}`, `$X`, `$(x)`, `{{x}}`, `{x}`, `%s`, `<x>`, `[x]`, dots, and words that stand for a secret.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value).to_ascii_lowercase();
    is_template(&text) || is_made_of_words(&text)
}

fn is_template(text: &str) -> bool {
    let inside = |open: char, close: char| text.starts_with(open) && text.ends_with(close);
    let brackets = [('<', '>'), ('[', ']'), ('{', '}'), ('(', ')')].iter().any(|(open, close)| inside(*open, *close));
    let parts = ["${", "$(", "{{", "#{", "%{", "%(", "...", "…", "***", "<your", "[your"];
    let names = text.strip_prefix('$').is_some_and(|name| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    let formatted = text.starts_with('%') && text.len() <= 4;
    brackets || names || formatted || parts.iter().any(|part| text.contains(part)) || calls(text) || holds_braces(text)
}

/// Code that makes the value: `password()`, `self.password(x)`.
fn calls(text: &str) -> bool {
    text.ends_with(')') && text.contains('(')
}

/// A pattern with something to fill in: `{}`, `prefix{name}`.
fn holds_braces(text: &str) -> bool {
    text.find('{').is_some_and(|open| text[open..].contains('}'))
}

/// `your-access_token_1`, `Password123`, `mysecretpassword`.
fn is_made_of_words(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    if text.len() > MAX_BYTES || (digits > MAX_DIGITS && !WORDS.contains(&text)) {
        return false;
    }
    let letters = text.split(['-', '_', '.', ' ', '!', '*']).filter(|part| !part.is_empty());
    let mut any = false;
    let all = letters.into_iter().all(|part| {
        any = true;
        is_word_chain(part) || is_word_chain(part.trim_end_matches(|c: char| c.is_ascii_digit()))
    });
    any && all
}

/// Whether the text is one known word after another.
fn is_word_chain(text: &str) -> bool {
    let mut ends = vec![false; text.len() + 1];
    ends[0] = true;
    for at in 0..text.len() {
        if ends[at] {
            for word in WORDS.iter().filter(|word| text.as_bytes()[at..].starts_with(word.as_bytes())) {
                ends[at + word.len()] = true;
            }
        }
    }
    ends[text.len()]
}

/// Hosts of this machine, and those that documentation uses.
pub(super) fn is_sample_host(host: &[u8]) -> bool {
    let host = String::from_utf8_lossy(host).to_ascii_lowercase();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let local = matches!(name, "" | "localhost" | "::1" | "0.0.0.0" | "host" | "hostname" | "host.docker.internal");
    let loopback = name.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    let ends = |end: &str| name.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let sample = ["example", "example.com", "example.org", "example.net", "test", "invalid", "localhost"];
    let words = |label: &str| label.split(['-', '_']).any(|word| matches!(word, "your" | "example" | "placeholder"));
    local || loopback || is_template(name) || name.split('.').any(words) || sample.iter().any(|end| ends(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    // [F-A9]
    #[test]
    fn placeholders_are_compared_whole() {
        for text in [
            "password",
            "Password123",
            "postgres",
            "changeme",
            "change-me",
            "YOUR_ACCESS_TOKEN_1",
            "mysecretpassword",
            "${X}",
            "$DB_PASS",
            "<x>",
            "{pw}",
            "{{ pw }}",
            "%s",
            "xxxx",
            "example",
            "a...b",
            "getPassword()",
            "secret",
            "my-secret-token",
            "hunter2",
            "open sesame",
        ] {
            assert!(is_placeholder(text.as_bytes()), "{text}");
        }
        for text in [
            "secretZk38sKw02kd9",
            "postgresZk38",
            "example-Zk38sKw0",
            "changemeZk38",
            "password1234567",
            "passwordZk38",
            "pa$$w0rd#12x",
            "a(b1c2d3e4",
            "x<7kd9Zk3",
            "Zk38]sKw0",
        ] {
            assert!(!is_placeholder(text.as_bytes()), "{text}");
        }
        for host in [
            "localhost:5432",
            "127.0.0.1",
            "127.1.2.3:80",
            "[::1]:6379",
            "db.example.com",
            "your-host.com",
            "x.test",
            "${HOST}",
        ] {
            assert!(is_sample_host(host.as_bytes()), "{host}");
        }
        for host in [
            "127.0.0.1.nip.io",
            "127.0.0.1.prod.net",
            "db",
            "db.internal",
            "my-token-service.prod.net",
            "localhost.prod.net",
        ] {
            assert!(!is_sample_host(host.as_bytes()), "{host}");
        }
    }
}
