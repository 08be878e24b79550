//! From a query to a running search: compiled pattern, file filters, and one searcher per thread.

use super::collect::Collected;
use super::sink::{Guarded, Lines, Tally};
use super::{Mode, Query};
use crate::contract::{MayRead, Met, Outcome, Workspace};
use crate::walk::{self, Halt};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What one thread may hold for a single line, or for a whole file when matches span lines. A file that needs more is
/// passed over.
const HEAP_LIMIT: usize = 64 << 20;
const REGEX_LIMIT: usize = 32 << 20;

pub(super) struct Plan {
    matcher: RegexMatcher,
    target: Target,
    at: Workspace,
}

enum Target {
    /// A file that was named: searched whatever the ignore files say.
    File(PathBuf),
    Tree(Box<WalkBuilder>),
}

impl Plan {
    pub(super) fn new(query: &Query, at: &Workspace) -> Result<Self, Outcome> {
        let root = query.root(at);
        let Ok(meta) = std::fs::metadata(&root) else { return Err(walk::missing("Path", &root, at)) };
        let matcher = matcher(query)?;
        let target = if meta.is_dir() {
            walk::check_ignores(&root)?;
            let mut builder = WalkBuilder::new(&root);
            builder.hidden(false).require_git(false).add_custom_ignore_filename(".rgignore");
            builder.overrides(overrides(query, at)?).types(types(query)?);
            Target::Tree(Box::new(builder))
        } else if meta.is_file() {
            Target::File(root)
        } else {
            return Err(Outcome::invalid(format!("Not a regular file or directory: {}", root.display())));
        };
        Ok(Self { matcher, target, at: at.clone() })
    }

    pub(super) fn run(self, query: &Query, halt: &Halt, may_read: &MayRead) -> Result<Collected, String> {
        let all = Mutex::new(Collected::new(query));
        let worker = || Worker {
            searcher: searcher(query),
            matcher: self.matcher.clone(),
            query,
            halt,
            all: &all,
            at: &self.at,
        };
        match self.target {
            Target::File(path) if may_read(&path, Met::Named) => {
                let mut worker = worker();
                worker.searcher.set_binary_detection(BinaryDetection::convert(0));
                let done = worker.search(&path);
                done.map_err(|error| format!("Could not search {}: {error}", path.display()))?;
            }
            Target::File(_) => {}
            Target::Tree(mut builder) => walk::parallel(&mut builder, true).run(|| {
                let mut worker = worker();
                Box::new(move |entry| worker.visit(entry, may_read))
            }),
        }
        Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Worker<'a> {
    searcher: Searcher,
    matcher: RegexMatcher,
    query: &'a Query,
    halt: &'a Halt,
    all: &'a Mutex<Collected>,
    at: &'a Workspace,
}

impl Worker<'_> {
    fn visit(&mut self, entry: Result<DirEntry, ignore::Error>, may_read: &MayRead) -> WalkState {
        if self.halt.is_set() {
            return WalkState::Quit;
        }
        if let Ok(entry) = entry
            && entry.file_type().is_some_and(|t| t.is_file())
            && may_read(entry.path(), walk::met(&entry))
            && let Err(error) = self.search(entry.path())
        {
            tracing::debug!(path = %entry.path().display(), %error, "not searched");
        }
        WalkState::Continue
    }

    fn search(&mut self, path: &Path) -> std::io::Result<()> {
        let file = Guarded { inner: sys::fs::open_regular(path)?.0, halt: self.halt };
        match self.query.mode {
            Mode::Files | Mode::Count => {
                let mut tally = Tally::new(&self.matcher, self.query);
                self.searcher.search_reader(&self.matcher, file, &mut tally)?;
                match (self.query.mode, tally.matches()) {
                    (_, 0) => {}
                    (Mode::Count, matches) => self.all().add_count(path, matches, self.at),
                    (Mode::Files | Mode::Content, _) => self.all().add_file(path, walk::modified(path.metadata())),
                }
            }
            Mode::Content => {
                let room = self.all().room(path);
                let mut lines = Lines::new(&self.matcher, self.query, walk::shown(path, self.at), room);
                self.searcher.search_reader(&self.matcher, file, &mut lines)?;
                if lines.total > 0 {
                    self.all().add_lines(path, lines.kept, lines.total);
                }
            }
        }
        Ok(())
    }

    fn all(&self) -> std::sync::MutexGuard<'_, Collected> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn searcher(query: &Query) -> Searcher {
    SearcherBuilder::new()
        .line_number(query.mode == Mode::Content && query.line_numbers)
        .multi_line(query.multiline)
        .before_context(query.before)
        .after_context(query.after)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(HEAP_LIMIT))
        .build()
}

fn matcher(query: &Query) -> Result<RegexMatcher, Outcome> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(query.ignore_case).multi_line(true).unicode(true).octal(false);
    builder.size_limit(REGEX_LIMIT).dfa_size_limit(REGEX_LIMIT);
    if query.multiline {
        builder.dot_matches_new_line(true);
    } else {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(&query.pattern).map_err(|error| {
        let error = error.to_string();
        let hint = if error.contains("\"\\n\"") { "\nTo match across lines, set multiline to true." } else { "" };
        Outcome::failed(format!("{error}{hint}"))
    })
}

/// As with `rg --glob`, patterns with a slash are relative to the working directory.
fn overrides(query: &Query, at: &Workspace) -> Result<Override, Outcome> {
    let root = query.root(at);
    let base = if root.starts_with(&at.cwd) { &at.cwd } else { &root };
    let mut builder = OverrideBuilder::new(base);
    for glob in query.glob.iter().flat_map(|globs| split_globs(globs)) {
        builder.add(glob).map_err(|e| Outcome::failed(format!("Invalid glob: {e}")))?;
    }
    builder.build().map_err(|e| Outcome::failed(format!("Invalid glob: {e}")))
}

fn types(query: &Query) -> Result<Types, Outcome> {
    let mut builder = TypesBuilder::new();
    if let Some(name) = &query.file_type {
        builder.add_defaults().select(name);
    }
    builder.build().map_err(|e| {
        Outcome::failed(format!("{e}. Use a type that ripgrep knows (rust, py, js, …), or the glob field."))
    })
}

/// Several globs may stand in one field, separated by blanks or by commas outside braces and brackets.
fn split_globs(globs: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let parts = globs.split(move |c: char| {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    parts.filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_split_outside_braces() {
        assert_eq!(split_globs("*.rs"), ["*.rs"]);
        assert_eq!(split_globs("*.{ts,tsx} !x/** , *.js"), ["*.{ts,tsx}", "!x/**", "*.js"]);
        assert_eq!(split_globs("[,]*.c"), ["[,]*.c"]);
    }
}
