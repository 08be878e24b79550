//! Which variables hold credentials, and which of their values are worth hiding. A value that is short, a path, a plain
//! word or shared with an ordinary variable is left alone.

use super::KnownSecret;
use std::collections::HashSet;

pub(super) const MIN_SECRET_BYTES: usize = 8;
/// Longer values are not credentials but documents that contain some.
const MAX_SECRET_BYTES: usize = 16 * 1024;
/// Below this a value of lower-case letters only is taken for a word.
const WORD: usize = 16;
const FEWEST_DISTINCT: usize = 5;

/// Names that no pattern below would find.
const EXACT: &[&str] =
    &["MYSQL_PWD", "SSHPASS", "REDISCLI_AUTH", "DOCKER_AUTH_CONFIG", "SNYK_CFG_API", "AWS_BEARER_TOKEN_BEDROCK"];

#[rustfmt::skip]
const PARTS: &[&str] = &[
    "TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "APIKEY", "PAT", "PASS",
    "AUTHTOKEN", "SECRETKEY", "ACCESSKEY", "PRIVATEKEY", "DSN", "BEARER", "COOKIE", "COOKIES", "SALT", "PW", "PASSCODE", "CREDS",
];

/// Names that end so speak about a credential and do not hold it.
#[rustfmt::skip]
const NON_SECRET_SUFFIXES: &[&str] = &[
    "ID", "FILE", "PATH", "URL", "URI", "NAME", "TYPE", "HOST", "PORT", "USER", "LIMIT", "COUNT", "SIZE", "TTL", "MS",
    "SECONDS", "TIMEOUT", "EXPIRY", "ENABLED", "DISABLED", "DIR", "SOCK", "VERSION", "ALGORITHM", "REGION", "ENDPOINT",
];

const COMMON: &[&str] = &[
    "password",
    "passw0rd",
    "password1",
    "password123",
    "changeme",
    "changeit",
    "postgres",
    "example",
    "localhost",
    "development",
];

pub(super) fn secrets_of<'a>(variables: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Vec<KnownSecret> {
    let all: Vec<(String, &[u8])> =
        variables.into_iter().map(|(name, value)| (String::from_utf8_lossy(name).into_owned(), value)).collect();
    let ordinary: HashSet<&[u8]> = all
        .iter()
        .filter(|(name, _)| !is_credential(name) && !name.ends_with("_HEADERS"))
        .map(|(_, value)| *value)
        .collect();
    let mut found = Vec::new();
    for (name, value) in &all {
        for part in secret_parts(name, value) {
            if is_worth_hiding(part) && !ordinary.contains(part) {
                found.push(KnownSecret { name: name.clone(), value: part.to_vec() });
            }
        }
    }
    found
}

/// The whole value of a credential variable, the values in a list of headers, the password in any address.
fn secret_parts<'a>(name: &str, value: &'a [u8]) -> Vec<&'a [u8]> {
    if let Some(password) = password_of(value) {
        return vec![password];
    }
    if name.ends_with("_HEADERS") {
        let lines = value.split(|b| matches!(b, b'\n' | b','));
        return lines.filter_map(|line| after(line, |b| matches!(b, b':' | b'='))).map(bearer).collect();
    }
    if is_credential(name) { vec![value.trim_ascii()] } else { Vec::new() }
}

/// Headers whose value is a credential, by a part of their name.
const HEADERS: &[&str] = &["auth", "key", "token", "secret", "cookie", "password", "credential"];

pub(super) fn secret_of_header(name: &str, value: &str) -> Option<KnownSecret> {
    let lower = name.to_ascii_lowercase();
    let value = bearer(value.trim().as_bytes());
    let secret = HEADERS.iter().any(|part| lower.contains(part)) && is_worth_hiding(value);
    secret.then(|| KnownSecret { name: format!("header {name}"), value: value.to_vec() })
}

fn after(line: &[u8], separator: impl Fn(u8) -> bool) -> Option<&[u8]> {
    let at = line.iter().position(|b| separator(*b))?;
    Some(line[at + 1..].trim_ascii())
}

/// `Bearer x` is `x` with a word before it.
fn bearer(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"Bearer ").or_else(|| value.strip_prefix(b"Basic ")).unwrap_or(value)
}

/// `scheme://user:password@host`.
fn password_of(value: &[u8]) -> Option<&[u8]> {
    let scheme = value.windows(3).position(|w| w == b"://")?;
    let rest = &value[scheme + 3..];
    let authority = &rest[..rest.iter().position(|b| matches!(b, b'/' | b'?' | b'#')).unwrap_or(rest.len())];
    let user = &authority[..authority.iter().rposition(|b| *b == b'@')?];
    after(user, |b| b == b':')
}

fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if EXACT.contains(&name.as_str()) {
        return true;
    }
    let parts: Vec<&str> = name.split('_').collect();
    let last = parts.last().copied().unwrap_or_default();
    if NON_SECRET_SUFFIXES.contains(&last) || parts.iter().any(|part| part.starts_with("PUBLI")) {
        return false;
    }
    parts.iter().any(|part| PARTS.contains(part))
        || ["PASSWORD", "SECRET", "APIKEY"].iter().any(|word| name.contains(word))
        || (matches!(last, "KEY" | "AUTH" | "PWD") && parts.len() > 1)
        || (name != "OLDPWD" && ["PW", "PWD", "PASS"].iter().any(|end| name.len() > end.len() && name.ends_with(end)))
}

/// The name of an option or assignment on a command line whose value is a credential.
pub(super) fn credential_option(name: &str) -> Option<&str> {
    let plain: String = name.trim_start_matches('-').chars().map(|c| if c == '-' { '_' } else { c }).collect();
    let is_name = plain.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && is_credential(&plain)).then_some(name)
}

pub(super) fn is_worth_hiding(value: &[u8]) -> bool {
    if !(MIN_SECRET_BYTES..=MAX_SECRET_BYTES).contains(&value.len()) {
        return false;
    }
    let distinct: HashSet<u8> = value.iter().copied().collect();
    let plain_word = value.len() < WORD && value.iter().all(|b| b.is_ascii_lowercase() || *b == b'-' || *b == b'_');
    let number = value.len() < WORD && value.iter().all(|b| b.is_ascii_digit() || *b == b'.');
    let text = String::from_utf8_lossy(value);
    let place = ["/", "~/", "./", "../"].iter().any(|start| text.starts_with(start)) || text.contains("://");
    let common = COMMON.iter().any(|word| text.eq_ignore_ascii_case(word));
    distinct.len() >= FEWEST_DISTINCT && !plain_word && !number && !place && !common
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(vars: &[(&str, &str)]) -> Vec<String> {
        let found = secrets_of(vars.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())));
        found.iter().map(|k| format!("{}={}", k.name, String::from_utf8_lossy(&k.value))).collect()
    }

    #[test]
    fn credentials_are_told_from_settings() {
        let value = "Zx81-aBcD-77";
        for name in [
            "ANTHROPIC_API_KEY",
            "GH_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "PGPASSWORD",
            "DB_PASS",
            "MYSQL_PWD",
            "CLIENT_SECRET",
            "github_token",
            "SIGNING_KEY",
            "NPM_AUTH",
            "SENTRY_DSN",
            "FOO_SECRET_BAR",
            "X_PWD",
            "KUBE_BEARER",
            "SESSION_COOKIE",
            "SIGNING_SALT",
            "DBPW",
            "ROOTPWD",
        ] {
            assert_eq!(names(&[(name, value)]), [format!("{name}={value}")], "{name}");
        }
        for name in [
            "PWD",
            "OLDPWD",
            "COOKIE_NAME",
            "HOME",
            "AWS_ACCESS_KEY_ID",
            "STRIPE_PUBLISHABLE_KEY",
            "KEY",
            "TOKEN_FILE",
            "MAX_TOKENS",
            "KEYBOARD",
        ] {
            assert_eq!(names(&[(name, value)]), Vec::<String>::new(), "{name}");
        }
    }

    #[test]
    fn common_values_are_left_alone() {
        for value in [
            "short",
            "true",
            "12345678",
            "password",
            "development",
            "/run/secrets/key",
            "aaaaaaaaaaaa",
            "https://x.example/a",
        ] {
            assert_eq!(names(&[("A_TOKEN", value)]), Vec::<String>::new(), "{value}");
        }
        assert_eq!(names(&[("A_TOKEN", "host-name-7"), ("HOSTNAME", "host-name-7")]), Vec::<String>::new());
    }

    #[test]
    fn passwords_of_addresses_and_headers_are_found() {
        assert_eq!(names(&[("DATABASE_URL", "postgres://u:s3cr3t-pw@db/x")]), ["DATABASE_URL=s3cr3t-pw"]);
        assert_eq!(names(&[("DATABASE_URL", "postgres://db/x")]), Vec::<String>::new());
        let headers = "x-team: 7\nAuthorization: Bearer abcDEF123456";
        assert_eq!(names(&[("ANTHROPIC_CUSTOM_HEADERS", headers)]), ["ANTHROPIC_CUSTOM_HEADERS=abcDEF123456"]);
    }
}
