//! Patterns of `Bash(…)` rules, matched against one normalised simple command.

/// A compiled specifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CommandPattern {
    /// No `*`: the whole text.
    Exact(String),
    /// `prefix:*` or `prefix *`: the words, and anything after a word boundary.
    Prefix(String),
    /// `*` stands for any run of characters, blanks included.
    Wild(String),
}

impl CommandPattern {
    pub(crate) fn parse(spec: &str) -> Self {
        let spec = spec.trim();
        let prefix = spec.strip_suffix(":*").or_else(|| spec.strip_suffix(" *"));
        match prefix {
            Some(prefix) if prefix.contains('*') => Self::Wild(format!("{} *", squeeze(prefix))),
            Some(prefix) => Self::Prefix(squeeze(prefix)),
            None if spec.contains('*') => Self::Wild(squeeze(spec)),
            None => Self::Exact(squeeze(spec)),
        }
    }

    /// `command` has single blanks between its words.
    pub(crate) fn matches(&self, command: &str) -> bool {
        match self {
            Self::Exact(text) => text == command,
            Self::Prefix(prefix) => starts_with_words(command, prefix),
            Self::Wild(pattern) => match pattern.strip_suffix(" *") {
                // A final space-star may also stand for nothing.
                Some(head) => wildcard(pattern, command) || wildcard(head, command),
                None => wildcard(pattern, command),
            },
        }
    }

    /// Whether the pattern itself begins with the words of `command`.
    pub(crate) fn names(&self, command: &str) -> bool {
        match self {
            Self::Exact(text) | Self::Prefix(text) | Self::Wild(text) => starts_with_words(text, command),
        }
    }

    pub(crate) fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }
}

fn starts_with_words(command: &str, prefix: &str) -> bool {
    command.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Runs of blanks and tabs become one blank; quoted text is left alone.
pub(crate) fn squeeze(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut quote = None;
    for c in text.trim().chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            _ => {}
        }
        if quote.is_none() && (c == ' ' || c == '\t') {
            if !out.ends_with(' ') {
                out.push(' ');
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Glob with `*` only, over the whole text, in time linear in practice (one backtracking point).
pub(crate) fn wildcard(pattern: &str, text: &str) -> bool {
    let (p, t) = (pattern.as_bytes(), text.as_bytes());
    let (mut pi, mut ti) = (0, 0);
    let mut star = None;
    while ti < t.len() {
        if pi < p.len() && p[pi] == b'*' {
            star = Some((pi + 1, ti));
            pi += 1;
        } else if pi < p.len() && p[pi] == t[ti] {
            pi += 1;
            ti += 1;
        } else if let Some((after, from)) = star {
            star = Some((after, from + 1));
            pi = after;
            ti = from + 1;
        } else {
            return false;
        }
    }
    p[pi..].iter().all(|&b| b == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_command_patterns() {
        // [CLI-131] [CLI-132] [CLI-133] [CLI-134] [CLI-135]
        let cases = [
            ("npm run build", "npm run build", true),
            ("npm run build", "npm run build:prod", false),
            ("ls *", "ls", true),
            ("ls *", "ls -la", true),
            ("ls *", "lsof", false),
            ("ls*", "ls", true),
            ("ls*", "ls -la", true),
            ("ls*", "lsof", true),
            ("ls:*", "ls -la", true),
            ("ls:*", "lsof", false),
            ("git:* push", "git push", false),
            ("git:* push", "git origin push", false),
            ("git * main", "git push origin main", true),
            ("git * main", "git push origin dev", false),
            ("git  commit   *", "git commit -m x", true),
            ("* --version", "node --version", true),
            ("git * --oneline *", "git log --oneline", true),
        ];
        for (pattern, command, expected) in cases {
            assert_eq!(CommandPattern::parse(pattern).matches(command), expected, "{pattern} on {command}");
        }
    }

    #[test]
    fn blanks_collapse_outside_quotes() {
        assert_eq!(squeeze("git   commit\t-m 'a  b'"), "git commit -m 'a  b'");
    }
}
