//! Patterns of path rules, relative to their anchor. Those made of plain names, `*` and `**` (nearly all) are matched name
//! by name and cost nothing to make; the others are compiled when a path first needs them.

use crate::shell::pattern::wildcard;
use globset::{Glob, GlobBuilder, GlobMatcher};
use std::path::{Component, Path};
use std::sync::OnceLock;

#[derive(Clone, Debug)]
pub(crate) enum PathGlob {
    Names(Vec<GlobSegment>),
    Compiled { glob: Box<Glob>, matcher: OnceLock<GlobMatcher> },
}

#[derive(Clone, Debug)]
pub(crate) enum GlobSegment {
    /// `**`: any number of names; at the end at least one.
    Any,
    Literal(String),
    /// With `*`, which stays within the name.
    Wild(String),
}

impl PathGlob {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let plain = |part: &str| part == "**" || !part.contains("**");
        let parts = || text.split('/');
        if !text.contains(['[', ']', '{', '}', '?', '\\', '!']) && parts().all(plain) {
            return Ok(Self::Names(parts().filter(|part| !part.is_empty()).map(GlobSegment::parse).collect()));
        }
        let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
        let glob = Box::new(glob.map_err(|error| error.to_string())?);
        Ok(Self::Compiled { glob, matcher: OnceLock::new() })
    }

    /// `path` is relative to the anchor.
    pub(crate) fn matches(&self, path: &Path) -> bool {
        match self {
            Self::Compiled { glob, matcher } => matcher.get_or_init(|| glob.compile_matcher()).is_match(path),
            Self::Names(names) => {
                let parts: Vec<_> = path
                    .components()
                    .filter_map(|part| match part {
                        Component::Normal(name) => Some(name.to_string_lossy()),
                        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
                    })
                    .collect();
                fits(names, &parts)
            }
        }
    }
}

impl GlobSegment {
    fn parse(part: &str) -> Self {
        match part {
            "**" => Self::Any,
            part if part.contains('*') => Self::Wild(part.to_owned()),
            part => Self::Literal(part.to_owned()),
        }
    }

    fn fits(&self, part: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Literal(name) => name == part,
            Self::Wild(pattern) => wildcard(pattern, part),
        }
    }
}

/// One point of return, as for `*` within a name: a later `**` takes over what an earlier one left.
fn fits(names: &[GlobSegment], parts: &[std::borrow::Cow<'_, str>]) -> bool {
    let (mut at, mut part) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while part < parts.len() {
        match names.get(at) {
            Some(GlobSegment::Any) => {
                // At the end it takes all that is left, which is at least this part.
                if at + 1 == names.len() {
                    return true;
                }
                back = Some((at + 1, part));
                at += 1;
            }
            Some(name) if name.fits(&parts[part]) => {
                at += 1;
                part += 1;
            }
            _ => match back {
                Some((after, from)) => {
                    back = Some((after, from + 1));
                    at = after;
                    part = from + 1;
                }
                None => return false,
            },
        }
    }
    at == names.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip]
    fn names_match_as_the_library_does() {
        let patterns = ["a", "*", "**", "**/a", "a/**", "**/a/**", "a/*/c", "a/**/c", "*.rs", "**/*.rs", "a*/**/b*", ".*", "**/a/b", "a/**/b/**", "src/*.rs"];
        let paths = ["", "a", "b", "a/b", "a/b/c", "a/c", "x/a", "x/a/b", "x/y/a/b/c", "m.rs", "src/m.rs", "src/x/m.rs", ".env", "x/.env", "a/a/a", "ab/x/bc", "a/x/b/y", "a/b/x/b/y"];
        for pattern in patterns {
            let library = GlobBuilder::new(pattern).literal_separator(true).build().unwrap().compile_matcher();
            let ours = PathGlob::parse(pattern).unwrap();
            assert!(matches!(ours, PathGlob::Names(_)), "{pattern}");
            for path in paths.iter().filter(|path| !path.is_empty()) {
                assert_eq!(ours.matches(Path::new(path)), library.is_match(path), "{pattern} on {path}");
            }
        }
        assert!(PathGlob::parse("[a").is_err());
        assert!(PathGlob::parse("[ab]?").unwrap().matches(Path::new("bx")));
    }
}
