//! Rules: instruction files that may apply only to certain paths. A broken pattern matches nothing and is reported; the
//! others still apply.

use crate::memory::MemoryScope;
use crate::memory::collect::{MemoryCandidate, MemoryCollector};
use crate::scan;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::path::{Path, PathBuf};

/// Braces that would expand to more patterns than this are taken literally.
const MAX_EXPANSIONS: usize = 1_000;

/// Patterns relative to a directory.
#[derive(Clone, Debug)]
pub struct PathPatterns {
    texts: Vec<String>,
    set: GlobSet,
    base: PathBuf,
    real_base: PathBuf,
}

impl PathPatterns {
    /// Returns the usable patterns, and what is wrong with the others.
    pub fn new(texts: &[String], base: &Path) -> (Self, Vec<String>) {
        let mut set = GlobSetBuilder::new();
        let mut broken = Vec::new();
        for text in texts {
            match GlobBuilder::new(&prepared(text)).literal_separator(true).backslash_escape(true).build() {
                Ok(glob) => {
                    set.add(glob);
                }
                Err(error) => broken.push(format!("the pattern `{text}` matches nothing: {}", error.kind())),
            }
        }
        let set = set.build().unwrap_or_else(|_| GlobSet::empty());
        let real_base = sys::real_path::path(base);
        (Self { texts: texts.to_vec(), set, base: base.to_path_buf(), real_base }, broken)
    }

    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    /// `real` is `path` with links resolved.
    pub fn match_file(&self, path: &Path, real: &Path) -> bool {
        let below = |path: &Path, base: &Path| path.strip_prefix(base).is_ok_and(|rest| self.set.is_match(rest));
        below(path, &self.base) || below(real, &self.real_base)
    }
}

fn prepared(text: &str) -> String {
    let text = text.trim();
    let text = text.strip_prefix("./").or_else(|| text.strip_prefix('/')).unwrap_or(text);
    let whole = if text.ends_with('/') { format!("{text}**") } else { text.to_owned() };
    if expansions(&whole) > MAX_EXPANSIONS {
        return whole.replace('{', "\\{").replace('}', "\\}");
    }
    whole
}

/// An upper bound of the patterns to which the braces expand.
fn expansions(text: &str) -> usize {
    let mut total = 1_usize;
    let mut depth = 0_usize;
    let mut choices = 1_usize;
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            ',' if depth > 0 => choices += 1,
            '}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    total = total.saturating_mul(choices);
                    choices = 1;
                }
            }
            _ => {}
        }
    }
    total
}

/// Collects the rules of a `.claude` directory, sorted by path. Rules with patterns wait.
pub(crate) fn collect(collector: &mut MemoryCollector, dot_claude: &Path, base: &Path, scope: MemoryScope) {
    let top = dot_claude.join("rules");
    for (path, _) in scan::markdown_tree(&top).files {
        collector.add(MemoryCandidate { rule_base: Some(base.to_path_buf()), ..MemoryCandidate::at(path, scope) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> (PathPatterns, Vec<String>) {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        PathPatterns::new(&texts, Path::new("/nowhere/p"))
    }

    // [EXT-205]
    #[test]
    fn patterns_match_below_their_directory() {
        let (all, broken) = patterns(&["src/**/*.{ts,tsx}", "*.md", "docs/", "[broken"]);
        let matches = |path: &str| all.match_file(Path::new(path), Path::new(path));
        for path in ["/nowhere/p/src/a.ts", "/nowhere/p/src/x/y.tsx", "/nowhere/p/README.md", "/nowhere/p/docs/a/b"] {
            assert!(matches(path), "{path}");
        }
        for path in ["/nowhere/p/src/a.rs", "/nowhere/p/sub/README.md", "/nowhere/README.md", "/nowhere/p/[broken"] {
            assert!(!matches(path), "{path}");
        }
        assert_eq!(broken.len(), 1, "{broken:?}");
        let (many, broken) = patterns(&["{a,b,c,d,e,f,g,h,i,j}{a,b,c,d,e,f,g,h,i,j}{a,b,c,d,e,f,g,h,i,j}{a,b}"]);
        assert!(broken.is_empty() && !many.match_file(Path::new("/nowhere/p/aaaa"), Path::new("/nowhere/p/aaaa")));
    }
}
