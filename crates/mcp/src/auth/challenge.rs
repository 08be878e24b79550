//! Parses `WWW-Authenticate: Bearer …`. Anything that does not parse is skipped, because a challenge contains only
//! hints.

/// What a server requires of a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuthChallenge {
    pub(crate) scope: Option<String>,
    pub(crate) resource_metadata: Option<String>,
    pub(crate) error: Option<String>,
}

impl AuthChallenge {
    pub(crate) fn parse(header: &str) -> Self {
        let mut found = Self::default();
        let mut rest = header.trim();
        let mut is_bearer = false;
        while !rest.is_empty() {
            let end = rest.find(|c: char| c == '=' || c == ',' || c.is_whitespace()).unwrap_or(rest.len());
            let word = &rest[..end];
            let after = rest[end..].trim_start();
            match after.strip_prefix('=') {
                Some(value) if !word.is_empty() => {
                    let (text, left) = value_of(value.trim_start());
                    if is_bearer {
                        found.take(word, text);
                    }
                    rest = left;
                }
                // Padding of a token68, or a stray equals sign.
                Some(value) => rest = value,
                None => {
                    if !word.is_empty() {
                        is_bearer = word.eq_ignore_ascii_case("bearer");
                    }
                    rest = after;
                }
            }
            rest = rest.trim_start_matches([',', ' ', '\t']);
        }
        found
    }

    fn take(&mut self, name: &str, value: String) {
        let slot = match name.to_ascii_lowercase().as_str() {
            "scope" => &mut self.scope,
            "resource_metadata" => &mut self.resource_metadata,
            "error" => &mut self.error,
            _ => return,
        };
        *slot = Some(value).filter(|value| !value.is_empty());
    }

    pub(crate) fn wants_more_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    pub(crate) fn scopes(&self) -> Vec<String> {
        self.scope.iter().flat_map(|scope| scope.split_whitespace()).map(str::to_owned).collect()
    }
}

/// Reads a token or a quoted string; returns it and the rest of the text.
fn value_of(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            c => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_found_among_other_schemes() {
        let header = r#"Basic realm="a, b", Bearer error="insufficient_scope", scope="x \"y\" z", resource_metadata=http://h/m , DPoP algs="ES256""#;
        let challenge = AuthChallenge::parse(header);
        assert_eq!(challenge.scope.as_deref(), Some("x \"y\" z"));
        assert_eq!(challenge.resource_metadata.as_deref(), Some("http://h/m"));
        assert!(challenge.wants_more_scope());
        for odd in
            ["", "Bearer", "Bearer abc==", "=", ",,", "Basic scope=\"x\"", "Bearer scope=\"unclosed", "Bearer scope="]
        {
            assert!(!AuthChallenge::parse(odd).wants_more_scope(), "{odd}");
        }
        assert_eq!(AuthChallenge::parse("Basic scope=x"), AuthChallenge::default());
        assert_eq!(AuthChallenge::parse("bearer scope=x").scopes(), ["x"]);
    }
}
