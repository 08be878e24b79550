//! Arguments of a program as they may be shown: values of options that are named like credentials are hidden, and
//! everything that has the format of a secret.

use super::{Mask, mask_text, names};

/// `--api-key VALUE`, `--token=VALUE`, `postgres://u:password@host`, keys of known services.
pub fn masked_arguments<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let formats = Mask::of([], &[]);
    let mut shown = Vec::new();
    let mut credential_follows = None;
    for argument in arguments {
        let option = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-'));
        let (name, value) = match (option, argument.split_once('=')) {
            (_, Some((name, value))) => (Some(name), Some(value)),
            (Some(_), None) => (Some(argument), None),
            (None, None) => (None, None),
        };
        let credential = name.and_then(names::credential_option);
        let hides = |text: &str| !text.is_empty() && !super::placeholders::is_placeholder(text.as_bytes());
        let text = match (credential_follows.take(), &credential, value) {
            (Some(before), ..) if option.is_none() && hides(argument) => mask_text(before),
            (_, Some(name), Some(value)) if hides(value) => {
                let whole = argument.len() - value.len();
                format!("{}{}", &argument[..whole], mask_text(name))
            }
            _ => formats.text(argument).into_owned(),
        };
        if option.is_some() && value.is_none() {
            credential_follows = credential;
        }
        shown.push(text);
    }
    shown
}

/// A program with its arguments in one line, as it may be shown. Blanks inside quotes do not end an argument. Not for
/// shell commands: the value of an option is hidden whatever it is, and a shell could run it.
pub fn masked_line(line: &str) -> String {
    let mut quote = None;
    let mut ends = |c: char| {
        match quote {
            Some(open) if open == c => quote = None,
            None if matches!(c, '\'' | '"') => quote = Some(c),
            Some(_) | None => {}
        }
        c == ' ' && quote.is_none()
    };
    let quoted: Vec<&str> = line.split(&mut ends).collect();
    let arguments = if quote.is_none() { quoted } else { line.split(' ').collect() };
    let masked = masked_arguments(arguments.iter().map(|argument| unquoted(argument).unwrap_or(argument)));
    let shown = arguments.iter().zip(masked).map(|(argument, masked)| match unquoted(argument) {
        Some(_) => format!("'{masked}'"),
        None => masked,
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// The inside of an argument in quotes.
fn unquoted(argument: &str) -> Option<&str> {
    argument.strip_prefix('\'')?.strip_suffix('\'')
}

/// An address as it may be shown: without the password of a user, and without values of parameters that are named like
/// credentials.
pub fn masked_address(url: &str) -> String {
    let formats = Mask::of([], &[]);
    let (url, fragment) = url.split_once('#').map_or((url, None), |(url, fragment)| (url, Some(fragment)));
    let (place, query) = url.split_once('?').map_or((url, None), |(place, query)| (place, Some(query)));
    let start = place.find("://").map_or(0, |at| at + 3);
    let end = place[start..].find('/').map_or(place.len(), |at| start + at);
    let user = place[start..end].rsplit_once('@').map(|(user, _)| user);
    let password = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
    let mut shown = match password.filter(|password| !password.is_empty()) {
        Some(password) => place.replacen(&format!(":{password}@"), &format!(":{}@", mask_text("password")), 1),
        None => formats.text(place).into_owned(),
    };
    if let Some(query) = query {
        shown.push('?');
        shown.push_str(&masked_arguments(query.split('&')).join("&"));
    }
    if let Some(fragment) = fragment {
        shown.push('#');
        shown.push_str(&formats.text(fragment));
    }
    shown
}

/// A text as it may be shown: everything that has the format of a secret is hidden.
pub fn masked_formats(text: &str) -> String {
    Mask::of([], &[]).text(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // [F-A9]
    #[test]
    fn a_line_is_masked_argument_by_argument() {
        let shown = masked_line("db: node db.js  --token 'two words' --port 5 --password=hunter22x");
        assert!(shown.starts_with("db: node db.js  --token ") && shown.contains(" --port 5 "), "{shown}");
        assert!(!shown.contains("words") && !shown.contains("hunter22x"), "{shown}");
        assert!(!masked_line("run '--token=two words' -v").contains("words"));
        assert!(!masked_line("it's --token hunter22x").contains("hunter22x"));
        assert_eq!(masked_line("PreToolUse [Bash]: echo it's fine"), "PreToolUse [Bash]: echo it's fine");
    }

    // [F-A9]
    #[test]
    fn credentials_of_addresses_are_hidden() {
        let hidden = masked_address("https://me:hunter22@h.example:8/mcp?api_key=tok22value&team=blue&x#part");
        let key = masked_arguments(["api_key=tok22value"]).remove(0);
        let password = mask_text("password");
        assert_eq!(hidden, format!("https://me:{password}@h.example:8/mcp?{key}&team=blue&x#part"));
        assert!(!key.contains("tok22value"));
        for plain in ["https://h.example/mcp", "http://127.0.0.1:1/mcp?team=blue", "h:8/a@b:c?x", "", "http://me@h/"] {
            assert_eq!(masked_address(plain), plain);
        }
    }

    // [F-A9]
    #[test]
    fn credentials_of_options_are_hidden() {
        let key = format!("sk-ant-{}", "aB3dE6gH9".repeat(4));
        let given = [
            "-y",
            "server",
            "--api-key",
            "short",
            "--token=abc",
            "--port",
            "80",
            "DB_PASSWORD=hunter22",
            "--header",
            "Authorization: Bearer aB3dE6gH9aB3dE6gH9",
            "postgres://bob:kX9mP2qR7@db.prod.net/x",
            &key,
            "--api-key",
            "${KEY}",
            "--key-file",
            "k.pem",
        ];
        let hidden = |name: &str| format!("[secret {name} hidden by gimlet]");
        let expected = [
            "-y".to_owned(),
            "server".into(),
            "--api-key".into(),
            hidden("--api-key"),
            format!("--token={}", hidden("--token")),
            "--port".into(),
            "80".into(),
            format!("DB_PASSWORD={}", hidden("DB_PASSWORD")),
            "--header".into(),
            format!("Authorization: Bearer {}", hidden("authorization header")),
            format!("postgres://bob:{}@db.prod.net/x", hidden("password")),
            hidden("Anthropic key"),
            "--api-key".into(),
            "${KEY}".into(),
            "--key-file".into(),
            "k.pem".into(),
        ];
        assert_eq!(masked_arguments(given), expected);
    }
}
