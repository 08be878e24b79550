//! One word as a program would receive it. Characters that the shell still matches against file names are bare, the same
//! characters as plain text stand behind a backslash.

use crate::shell::name_pattern::{self, NamePattern};
use std::path::{Component, Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShellField {
    pattern: String,
}

/// What means something inside a name.
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
            // In a bracket that may still close, quotes take away the meaning of more than the pattern characters.
            if SPECIAL.contains(&c) || (c.is_ascii_punctuation() && c != '/' && self.is_in_bracket()) {
                self.pattern.push('\\');
            }
            self.pattern.push(c);
        }
    }

    /// Unquoted text: its pattern characters count. Whether a bracket closes is known only when the word is complete.
    pub(super) fn push_active(&mut self, text: &str) {
        for c in text.chars() {
            if matches!(c, '\\' | '{' | '}') {
                self.pattern.push('\\');
            }
            self.pattern.push(c);
        }
    }

    /// Whether a bracket is open in the last name.
    fn is_in_bracket(&self) -> bool {
        let last = self.pattern.rsplit('/').next().unwrap_or_default();
        let mut escaped = false;
        last.char_indices().any(|(at, c)| {
            let opens = c == '[' && !escaped && !name_pattern::closes(&last[at + 1..]);
            escaped = c == '\\' && !escaped;
            opens
        })
    }

    pub(super) fn push_field(&mut self, other: &Self) {
        self.pattern.push_str(&other.pattern);
    }

    pub(crate) fn pattern(&self) -> &str {
        &self.pattern
    }

    pub(crate) fn is_pattern(&self) -> bool {
        self.pattern.contains(['*', '?', '['])
            && self.pattern.split('/').any(|name| NamePattern::parse(name).is_pattern())
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
    /// directories replaced. `None` when it leads through a descriptor of the process that opens it.
    pub(crate) fn seen_from(&self, dir: &Self, cwd: &Self) -> Option<Self> {
        Self::through_process(&self.joined(dir), &cwd.pattern, ParentNames::Resolved)
    }

    /// As the program would open it: `..` counts after links, so it stays.
    pub(crate) fn opened_from(&self, dir: &Self) -> Option<Self> {
        Self::through_process(&self.joined(dir), &dir.pattern, ParentNames::Kept)
    }

    fn joined(&self, dir: &Self) -> String {
        if self.pattern.starts_with('/') {
            return self.pattern.clone();
        }
        format!("{}/{}", dir.pattern.trim_end_matches('/'), self.pattern)
    }

    /// Follows the names one by one. `/proc/self/cwd/x` is `x`, `/proc/self/root/x` is `/x`, `/dev/fd/..` is `/proc/self`.
    fn through_process(path: &str, cwd: &str, parents: ParentNames) -> Option<Self> {
        let mut out: Vec<String> = Vec::new();
        let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        for (at, name) in names.iter().enumerate() {
            let place = process_place(&out);
            let is_last = at + 1 == names.len();
            match (*name, &place) {
                ("..", None) if parents == ParentNames::Kept => out.push((*name).to_owned()),
                ("..", _) => {
                    out.pop();
                }
                ("fd", _) if out == ["dev"] => out = ["proc", "self", "fd"].map(str::to_owned).to_vec(),
                (standard @ ("stdin" | "stdout" | "stderr"), _) if out == ["dev"] => {
                    let number = if standard == "stdin" { "0" } else { "1" };
                    out = ["proc", "self", "fd", number].map(str::to_owned).to_vec();
                    if !is_last {
                        return None;
                    }
                }
                ("cwd", Some(ProcessPlace::Top)) => {
                    out = cwd.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
                }
                ("root", Some(ProcessPlace::Top)) => out.clear(),
                (name, Some(ProcessPlace::Top)) if Self::from_pattern(name).is_pattern() => return None,
                // A descriptor: what it leads to is known only when it runs.
                (_, Some(ProcessPlace::Descriptors)) if !is_last => return None,
                (name, _) => out.push(name.to_owned()),
            }
        }
        Some(Self { pattern: format!("/{}", out.join("/")) })
    }

    /// Whether it ends in a slash, so that a link at its end is followed.
    pub(crate) fn follows_last(&self) -> bool {
        self.pattern.ends_with('/') || self.pattern.ends_with("/.")
    }

    /// Whether it is a descriptor of the process that opens it.
    pub(crate) fn is_descriptor(&self) -> bool {
        let names: Vec<String> = self.names().map(str::to_owned).collect();
        names.split_last().is_some_and(|(_, before)| process_place(before) == Some(ProcessPlace::Descriptors))
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
    let parsed = NamePattern::parse(pattern);
    if name.starts_with('.') && !pattern.trim_start_matches('\\').starts_with('.') && parsed.is_pattern() {
        return false;
    }
    parsed.matches(name)
}

/// What becomes of `..` behind a name that may be a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParentNames {
    Resolved,
    Kept,
}

/// A folder of `/proc` that belongs to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProcessPlace {
    /// `/proc/self`, or a thread of it.
    Top,
    /// Its open files.
    Descriptors,
}

fn process_place(names: &[String]) -> Option<ProcessPlace> {
    let [proc, process, rest @ ..] = names else { return None };
    let is_process =
        matches!(process.as_str(), "self" | "thread-self") || process.contains(|c: char| !c.is_ascii_alphabetic());
    if proc != "proc" || !is_process {
        return None;
    }
    let rest = match rest {
        [task, _, rest @ ..] if task == "task" => rest,
        rest => rest,
    };
    match rest {
        [] => Some(ProcessPlace::Top),
        [only] if only == "fd" || only == "fdinfo" || only == "map_files" => Some(ProcessPlace::Descriptors),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_seen_from_a_directory() {
        let (root, cwd) = (ShellField::literal("/w/app"), ShellField::literal("/w/app"));
        let found = |text: &str| ShellField::from_pattern(text).seen_from(&root, &cwd);
        let seen = |text: &str| found(text).unwrap().pattern().to_owned();
        assert_eq!(seen("a/../b"), "/w/app/b");
        assert_eq!(seen("/proc/self/cwd/x"), "/w/app/x");
        assert_eq!(seen("/proc/1234/root/etc"), "/etc");
        assert_eq!(seen("/proc/self/task/1/cwd"), "/w/app");
        assert_eq!(seen("/proc/self/root/proc/self/cwd/k"), "/w/app/k");
        assert_eq!(seen("/dev/fd/../cwd/k"), "/w/app/k");
        assert_eq!(seen("/dev/fd/../root/home/u"), "/home/u");
        assert_eq!(seen("/proc/self/fd/3"), "/proc/self/fd/3");
        for unknown in ["/dev/fd/3/x", "/proc/self/fd/3/*", "/dev/stdin/x", "/proc/self/c?d/x", "/proc/1/task/2/fd/4/x"]
        {
            assert_eq!(found(unknown), None, "{unknown}");
        }
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
