//! One word as a program would receive it. Characters that the shell still matches against file names are bare, the same
//! characters as plain text stand behind a backslash.

use std::path::{Component, Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShellField {
    pattern: String,
}

/// What matters to a glob library inside a name.
const SPECIAL: [char; 7] = ['\\', '*', '?', '[', ']', '{', '}'];

impl ShellField {
    /// Plain text, whatever characters it holds.
    pub(crate) fn literal(text: &str) -> Self {
        let mut field = Self::default();
        field.push_literal(text);
        field
    }

    /// `pattern` in the escaped form of this type.
    pub(crate) fn from_pattern(pattern: impl Into<String>) -> Self {
        Self { pattern: pattern.into() }
    }

    pub(super) fn push_literal(&mut self, text: &str) {
        for c in text.chars() {
            if SPECIAL.contains(&c) {
                self.pattern.push('\\');
            }
            self.pattern.push(c);
        }
    }

    /// Unquoted text: its pattern characters count. A bracket that never closes is text.
    pub(super) fn push_active(&mut self, text: &str) {
        for (at, c) in text.char_indices() {
            let is_text = matches!(c, '\\' | '{' | '}')
                || (c == '[' && !text[at..].contains(']'))
                || (c == ']' && !text[..at].contains('[') && !self.pattern.contains('['));
            if is_text {
                self.pattern.push('\\');
            }
            self.pattern.push(c);
        }
    }

    pub(super) fn push_field(&mut self, other: &Self) {
        self.pattern.push_str(&other.pattern);
    }

    pub(crate) fn pattern(&self) -> &str {
        &self.pattern
    }

    pub(crate) fn is_pattern(&self) -> bool {
        let mut escaped = false;
        self.pattern.chars().any(|c| {
            let active = !escaped && matches!(c, '*' | '?' | '[');
            escaped = !escaped && c == '\\';
            active
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pattern.is_empty()
    }

    /// The characters themselves: of a pattern, the text of the pattern.
    pub(crate) fn text(&self) -> String {
        let mut out = String::with_capacity(self.pattern.len());
        let mut chars = self.pattern.chars();
        while let Some(c) = chars.next() {
            out.extend(if c == '\\' { chars.next() } else { Some(c) });
        }
        out
    }

    /// The field seen from `dir`: absolute, `.` and `..` taken away, names of `/proc` that stand for the shell's own
    /// directories replaced.
    pub(crate) fn seen_from(&self, dir: &Self, cwd: &Self) -> Self {
        let joined = if self.pattern.starts_with('/') {
            self.pattern.clone()
        } else {
            format!("{}/{}", dir.pattern.trim_end_matches('/'), self.pattern)
        };
        let path = through_proc(&normalise_text(&joined), &cwd.pattern);
        Self { pattern: normalise_text(&path) }
    }

    /// As the program would open it: `..` counts after links, so it stays.
    pub(crate) fn opened_from(&self, dir: &Self) -> Self {
        if !self.pattern.split('/').any(|name| name == "..") {
            return self.seen_from(dir, dir);
        }
        if self.pattern.starts_with('/') {
            return self.clone();
        }
        Self { pattern: format!("{}/{}", dir.pattern.trim_end_matches('/'), self.pattern) }
    }

    /// The names of an absolute field.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.pattern.split('/').filter(|name| !name.is_empty())
    }

    /// The part before the first name that is a pattern, as a path.
    pub(crate) fn fixed(&self) -> PathBuf {
        let mut path = PathBuf::from("/");
        for name in self.names() {
            let name = Self::from_pattern(name);
            if name.is_pattern() {
                break;
            }
            path.push(name.text());
        }
        path
    }

    /// Whether the absolute field may stand for `path`. A leading dot is matched by a dot only.
    pub(crate) fn may_be(&self, path: &Path) -> bool {
        let parts: Vec<String> = path
            .components()
            .filter_map(|part| match part {
                Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
                Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
            })
            .collect();
        let names: Vec<&str> = self.names().collect();
        names.len() == parts.len() && names.iter().zip(&parts).all(|(name, part)| name_fits(name, part))
    }
}

/// Whether one name of a pattern matches one real name.
pub fn name_fits(pattern: &str, name: &str) -> bool {
    let field = ShellField::from_pattern(pattern);
    if !field.is_pattern() {
        return field.text() == name;
    }
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let glob = globset::GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
    // A pattern that the library cannot read may stand for anything.
    glob.map_or(true, |glob| glob.compile_matcher().is_match(name))
}

/// Without `.`, `..` and empty names.
fn normalise_text(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

/// `/proc/self/cwd/x` is `x`, `/proc/self/root/x` is `/x`.
fn through_proc(path: &str, cwd: &str) -> String {
    let mut names = path.split('/').skip(1);
    if names.next() != Some("proc") {
        return path.to_owned();
    }
    let process = names.next().unwrap_or_default();
    let mut rest: Vec<&str> = names.collect();
    if rest.first() == Some(&"task") && rest.len() > 2 {
        rest.drain(..2);
    }
    let is_process = matches!(process, "self" | "thread-self") || process.contains(|c: char| !c.is_ascii_alphabetic());
    match rest.first() {
        Some(&"cwd") if is_process => format!("{cwd}/{}", rest[1..].join("/")),
        Some(&"root") if is_process => format!("/{}", rest[1..].join("/")),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_seen_from_a_directory() {
        let (root, cwd) = (ShellField::literal("/w/app"), ShellField::literal("/w/app"));
        let seen = |text: &str| ShellField::from_pattern(text).seen_from(&root, &cwd).pattern().to_owned();
        assert_eq!(seen("a/../b"), "/w/app/b");
        assert_eq!(seen("/proc/self/cwd/x"), "/w/app/x");
        assert_eq!(seen("/proc/1234/root/etc"), "/etc");
        assert_eq!(seen("/proc/self/task/1/cwd"), "/w/app");
        assert_eq!(seen("/proc/self/root/proc/self/cwd/k"), "/proc/self/cwd/k");
    }

    #[test]
    fn names_match_as_in_the_shell() {
        let fits = |pattern: &str, path: &str| ShellField::from_pattern(pattern).may_be(Path::new(path));
        assert!(fits("/home/*", "/home/u"));
        assert!(fits("/h?me/[tu]", "/home/u"));
        assert!(!fits("/home/*", "/home/.u"));
        assert!(fits("/home/.*", "/home/.u"));
        assert!(!fits("/home/\\*", "/home/u"));
        assert!(!fits("/home", "/home/u"));
    }
}
