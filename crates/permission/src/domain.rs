//! Host patterns of `WebFetch(domain:…)`: hosts are compared whole, never as substrings.

/// `*` = all; `*.x` = any depth of subdomain, not the apex; elsewhere `*` stays within one label.
pub fn matches(pattern: &str, host: &str) -> bool {
    let pattern = clean(pattern);
    let host = clean(host);
    if pattern == "*" {
        return !host.is_empty();
    }
    if let Some(apex) = pattern.strip_prefix("*.") {
        return labels_match_tail(apex, &host);
    }
    let (wanted, got): (Vec<_>, Vec<_>) = (pattern.split('.').collect(), host.split('.').collect());
    wanted.len() == got.len() && wanted.iter().zip(&got).all(|(w, g)| label_matches(w, g))
}

fn labels_match_tail(apex: &str, host: &str) -> bool {
    let (wanted, got): (Vec<_>, Vec<_>) = (apex.split('.').collect(), host.split('.').collect());
    got.len() > wanted.len()
        && wanted.iter().rev().zip(got.iter().rev()).all(|(w, g)| label_matches(w, g))
        && got.iter().all(|label| !label.is_empty())
}

fn label_matches(pattern: &str, label: &str) -> bool {
    !label.is_empty() && crate::shell::pattern::wildcard(pattern, label)
}

fn clean(host: &str) -> String {
    host.trim().trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn wildcards_stay_where_they_belong() {
        // [CLI-159]
        let cases = [
            ("example.com", "example.com", true),
            ("example.com", "EXAMPLE.com.", true),
            ("example.com", "example.com.evil.example", false),
            ("example.com", "a.example.com", false),
            ("*.example.com", "a.b.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "badexample.com", false),
            ("example.*", "example.org", true),
            ("example.*", "example.evil.com", false),
            ("*", "anything.example", true),
            ("*", "", false),
        ];
        for (pattern, host, expected) in cases {
            assert_eq!(matches(pattern, host), expected, "{pattern} against {host}");
        }
    }
}
