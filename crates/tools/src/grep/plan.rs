//! Prepares and runs a search: compiled pattern, file filters, and one searcher per thread.

use super::collect::GrepMatches;
use super::sink::{HaltingReader, LineCollector, MatchCounter};
use super::{GrepMode, GrepQuery, IgnoreFiles, SearchHalt};
use crate::contract::{MayRead, PathDiscovery, ToolOutcome, Workspace};
use crate::walk;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use sys::sync::Mutex;

/// Most bytes one thread may use for a single line, or for a whole file when matches span lines. A file that needs
/// more is named in the result.
const HEAP_LIMIT: usize = 64 << 20;
const REGEX_LIMIT: usize = 32 << 20;

pub(super) struct GrepPlan {
    pattern: CompiledPattern,
    target: GrepTarget,
    ignores: IgnoreFiles,
    at: Workspace,
}

struct CompiledPattern {
    matcher: RegexMatcher,
    /// Why it was taken as literal text.
    literal: Option<String>,
}

enum GrepTarget {
    /// A single file that was named: searched even if ignore files exclude it.
    File(PathBuf),
    Tree(Box<WalkBuilder>),
}

impl GrepPlan {
    pub(super) fn new(query: &GrepQuery, at: &Workspace, ignores: IgnoreFiles) -> Result<Self, ToolOutcome> {
        let root = query.root(at);
        let Ok(meta) = std::fs::metadata(&root) else { return Err(walk::missing_error("Path", &root, at)) };
        let pattern = compile(query)?;
        let target = if meta.is_dir() {
            let mut builder = WalkBuilder::new(&root);
            match ignores {
                IgnoreFiles::Honoured => {
                    walk::check_ignores(&root)?;
                    builder.require_git(false).add_custom_ignore_filename(".rgignore");
                }
                IgnoreFiles::Disregarded => {
                    builder.standard_filters(false);
                }
            }
            builder.hidden(false);
            builder.overrides(overrides(query, at)?).types(types(query)?);
            GrepTarget::Tree(Box::new(builder))
        } else if meta.is_file() {
            GrepTarget::File(root)
        } else {
            return Err(ToolOutcome::invalid(format!("Not a regular file or directory: {}", root.display())));
        };
        Ok(Self { pattern, target, ignores, at: at.clone() })
    }

    pub(super) fn run(
        self,
        query: &GrepQuery,
        halt: SearchHalt<'_>,
        may_read: &MayRead,
    ) -> Result<GrepMatches, String> {
        let all = Mutex::new(GrepMatches::new(query));
        let searched = AtomicU64::new(0);
        let worker = || GrepWorker {
            searcher: searcher(query),
            matcher: self.pattern.matcher.clone(),
            query,
            halt,
            all: &all,
            searched: &searched,
            at: &self.at,
        };
        match self.target {
            GrepTarget::File(path) if may_read(&path, PathDiscovery::Named) => {
                let mut worker = worker();
                worker.searcher.set_binary_detection(BinaryDetection::convert(0));
                let done = worker.search(&path);
                done.map_err(|error| format!("Could not search {}: {}", path.display(), failure_text(&error, query)))?;
            }
            GrepTarget::File(_) => {}
            GrepTarget::Tree(mut builder) => walk::build_parallel(&mut builder, self.ignores == IgnoreFiles::Honoured)
                .run(|| {
                    let mut worker = worker();
                    Box::new(move |entry| worker.visit(entry, may_read))
                }),
        }
        let mut all = all.into_inner();
        (all.searched, all.literal) = (searched.into_inner(), self.pattern.literal);
        Ok(all)
    }
}

struct GrepWorker<'a> {
    searcher: Searcher,
    matcher: RegexMatcher,
    query: &'a GrepQuery,
    halt: SearchHalt<'a>,
    all: &'a Mutex<GrepMatches>,
    /// How many files were searched to their end.
    searched: &'a AtomicU64,
    at: &'a Workspace,
}

impl GrepWorker<'_> {
    fn visit(&mut self, entry: Result<DirEntry, ignore::Error>, may_read: &MayRead) -> WalkState {
        if self.halt.is_set() {
            return WalkState::Quit;
        }
        if let Ok(entry) = entry
            && entry.file_type().is_some_and(|t| t.is_file())
            && may_read(entry.path(), walk::discovery(&entry))
            && let Err(error) = self.search(entry.path())
            && error.kind() != io::ErrorKind::NotFound
            && !self.halt.is_set()
        {
            self.all().add_unsearched(entry.path(), failure_text(&error, self.query));
        }
        WalkState::Continue
    }

    /// Adds the matches of one file; those before a failure too.
    fn search(&mut self, path: &Path) -> io::Result<()> {
        let file = HaltingReader { inner: sys::fs::open_regular(path)?.0, halt: self.halt };
        let done = match self.query.mode {
            GrepMode::Files | GrepMode::Count => {
                let mut tally = MatchCounter::new(&self.matcher, self.query);
                let done = self.searcher.search_reader(&self.matcher, file, &mut tally);
                match (self.query.mode, tally.matches()) {
                    (_, 0) => {}
                    (GrepMode::Count, matches) => self.all().add_count(path, matches, self.at),
                    (GrepMode::Files | GrepMode::Content, _) => {
                        self.all().add_file(path, walk::modified(path.metadata()));
                    }
                }
                done
            }
            GrepMode::Content => {
                let room = self.all().room(path);
                let mut lines = LineCollector::new(&self.matcher, self.query, walk::display_path(path, self.at), room);
                let done = self.searcher.search_reader(&self.matcher, file, &mut lines);
                if lines.total > 0 {
                    self.all().add_lines(path, lines.kept, lines.total);
                }
                done
            }
        };
        if done.is_ok() {
            self.searched.fetch_add(1, Ordering::Relaxed);
        }
        done
    }

    fn all(&self) -> sys::sync::MutexGuard<'_, GrepMatches> {
        self.all.lock()
    }
}

/// Why a file could not be searched.
fn failure_text(error: &io::Error, query: &GrepQuery) -> String {
    const MIB: usize = HEAP_LIMIT >> 20;
    // The searcher tells its limit by this text alone.
    if !error.to_string().contains("allocation limit") {
        return error.to_string();
    }
    if query.multiline {
        format!("it has more than {MIB} MiB, the most with `multiline`")
    } else {
        format!("a line is longer than {MIB} MiB")
    }
}

fn searcher(query: &GrepQuery) -> Searcher {
    SearcherBuilder::new()
        .line_number(query.mode == GrepMode::Content && query.line_numbers)
        .multi_line(query.multiline)
        .before_context(query.before)
        .after_context(query.after)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(HEAP_LIMIT))
        .build()
}

/// Compiles the pattern. One that is no regular expression is taken as literal text.
fn compile(query: &GrepQuery) -> Result<CompiledPattern, ToolOutcome> {
    let mut builder = builder(query);
    let error = match builder.build(&query.pattern) {
        Ok(matcher) => return Ok(CompiledPattern { matcher, literal: None }),
        Err(error) => error.to_string(),
    };
    let hint = unsupported_hint(&error);
    if hint.is_none()
        && error.contains("regex parse error")
        && let Ok(matcher) = builder.fixed_strings(true).build(&query.pattern)
    {
        let problem = error.lines().next_back().unwrap_or_default();
        let problem = problem.strip_prefix("error: ").unwrap_or(problem).to_owned();
        return Ok(CompiledPattern { matcher, literal: Some(problem) });
    }
    Err(ToolOutcome::failed(format!("{error}{}", hint.unwrap_or_default())))
}

/// What to do instead, for patterns that other engines understand.
fn unsupported_hint(error: &str) -> Option<&'static str> {
    if error.contains("\"\\n\"") {
        return Some("\nTo match across lines, set multiline to true.");
    }
    let is_unsupported = error.contains("look-around") || error.contains("backreferences");
    is_unsupported.then_some("\nSearch for the part that must be there, or use `rg -P` or `grep -P` in the shell.")
}

fn builder(query: &GrepQuery) -> RegexMatcherBuilder {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(query.ignore_case).multi_line(true).unicode(true).octal(false);
    builder.size_limit(REGEX_LIMIT).dfa_size_limit(REGEX_LIMIT);
    if query.multiline {
        builder.dot_matches_new_line(true);
    } else {
        builder.line_terminator(Some(b'\n'));
    }
    builder
}

/// Patterns with a slash are relative to the working directory, as with `rg --glob`.
fn overrides(query: &GrepQuery, at: &Workspace) -> Result<Override, ToolOutcome> {
    let root = query.root(at);
    let base = if root.starts_with(&at.cwd) { &at.cwd } else { &root };
    let mut builder = OverrideBuilder::new(base);
    for glob in query.glob.iter().flat_map(|globs| split_globs(globs)) {
        builder.add(glob).map_err(|e| ToolOutcome::failed(format!("Invalid glob: {e}")))?;
    }
    builder.build().map_err(|e| ToolOutcome::failed(format!("Invalid glob: {e}")))
}

fn types(query: &GrepQuery) -> Result<Types, ToolOutcome> {
    let mut builder = TypesBuilder::new();
    if let Some(name) = &query.file_type {
        builder.add_defaults().select(name);
    }
    builder.build().map_err(|e| {
        ToolOutcome::failed(format!("{e}. Use a type that ripgrep knows (rust, py, js, …), or the glob field."))
    })
}

/// Splits several globs in one field, separated by blanks or by commas outside braces and brackets.
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
