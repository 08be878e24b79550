//! Glob: files by name pattern. Reports at most 100 paths, the most recently modified first, and the number of all
//! matches. Ignored files are left out and counted. `GIMLET_COMPAT_OUTPUT` gives the order and the files of the observed
//! reference: oldest first, ignored ones included. Patterns work as in a gitignore file: without a slash they match at any
//! depth.

use crate::contract::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};
use crate::facts::{AgentUse, ToolClass, ToolFacts};
use crate::input::ToolInput;
use crate::session_facts::is_compatible_output;
use crate::walk::{self, HaltFlag, SmallestItems, WalkEnd};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use permission::Access;
use serde::Serialize;
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};
use sys::Env;
use sys::sync::Mutex;

const LIMIT: usize = 100;

const FACTS: ToolFacts = ToolFacts { agents: AgentUse::Always, ..ToolFacts::of(ToolClass::Search) };

static SPEC: ToolSpec = ToolSpec::of("Glob", include_str!("glob.md"), include_str!("glob.schema.json"), FACTS);

pub struct GlobTool;

impl Tool for GlobTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of("Glob", input)?;
        let pattern = input.string("pattern")?;
        let path = input.opt_string("path")?.filter(|p| !p.is_empty());
        if pattern.is_empty() {
            return Err(input.refuse("pattern", "must not be empty"));
        }
        if pattern.contains('\0') {
            return Err(input.refuse("pattern", "contains a NUL character"));
        }
        if path.as_ref().is_some_and(|p| p.contains('\0')) {
            return Err(input.refuse("path", "contains a NUL character"));
        }
        Ok(Box::new(GlobCall { pattern, path }))
    }
}

struct GlobCall {
    pattern: String,
    path: Option<String>,
}

impl ToolCall for GlobCall {
    fn access(&self, at: &Workspace) -> Vec<Access> {
        vec![Access::ReadPath(self.scope(at).root)]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Shared
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        async move { self.search(cx).await.unwrap_or_else(|failure| failure) }.boxed()
    }
}

/// The directory to walk, and the pattern for paths below it.
#[derive(Debug, PartialEq)]
struct GlobScope {
    root: PathBuf,
    pattern: String,
}

impl GlobCall {
    fn scope(&self, at: &Workspace) -> GlobScope {
        let base = self.path.as_ref().map_or_else(|| at.cwd.clone(), |p| at.absolute(p));
        GlobScope::of(&base, &self.pattern, at)
    }

    async fn search(self, cx: CallContext) -> Result<ToolOutcome, ToolOutcome> {
        let started = Instant::now();
        let scope = self.scope(&cx.workspace);
        let matcher = compile(&scope.pattern)?;
        let env = &cx.state.facts.env;
        let limit = walk::time_limit(env);
        let ignores = honours_ignores(env);
        if ignores {
            walk::check_ignores(&scope.root)?;
        }
        let order = if is_compatible_output(env) { GlobOrder::OldestFirst } else { GlobOrder::NewestFirst };
        let builder = walker(&scope.root, env, ignores);
        let everything = ignores.then(|| walker(&scope.root, env, false));
        let may_read = cx.may_read.clone();
        let (root, at) = (scope.root, cx.workspace.clone());
        let base = self.path.as_ref().map(|p| at.absolute(p));
        let (found, ended) = walk::run(&cx, limit, move |halt| {
            base.map_or(Ok(()), |base| check_directory(&base, &at))?;
            let wanted = |entry: &DirEntry| {
                let path = entry.path();
                path.strip_prefix(&root).is_ok_and(|rest| matcher.is_match(rest))
                    && may_read(path, walk::discovery(entry))
            };
            let hits = collect(builder, ignores, order, halt, wanted);
            let is_all_shown = hits.total <= LIMIT as u64 && !halt.is_set();
            let ignored = everything
                .filter(|_| is_all_shown)
                .map(|everything| count_ignored(everything, hits.total, halt, wanted));
            Ok((hits, ignored.unwrap_or_default()))
        })
        .await?;
        let (hits, ignored) = found?;
        let notes = [ignored_note(ignored), walk::time_note(ended, limit)];
        Ok(report(hits, &cx.workspace, ended, started).outcome(notes.into_iter().flatten()))
    }
}

/// The order in which paths are listed; paths of equal age are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GlobOrder {
    NewestFirst,
    OldestFirst,
}

impl GlobOrder {
    /// A key that is smaller for files to be listed earlier.
    fn key(self, modified: SystemTime) -> i128 {
        let since = modified.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |age| age.as_nanos() as i128);
        match self {
            Self::NewestFirst => -since,
            Self::OldestFirst => since,
        }
    }
}

/// How long the matches among ignored files are counted.
const IGNORED_TIME: Duration = Duration::from_millis(100);

/// Matches among the files that ignore rules leave out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct IgnoredMatches {
    count: u64,
    /// The time was up before all were counted.
    is_partial: bool,
}

/// Walks everything and counts the matches beyond the `listed` ones.
fn count_ignored(
    mut everything: WalkBuilder,
    listed: u64,
    halt: &HaltFlag,
    wanted: impl Fn(&DirEntry) -> bool + Sync,
) -> IgnoredMatches {
    let until = Instant::now() + IGNORED_TIME;
    let (count, is_partial) = (AtomicU64::new(0), AtomicBool::new(false));
    walk::build_parallel(&mut everything, false).run(|| {
        Box::new(|entry| {
            if halt.is_set() || Instant::now() > until {
                is_partial.store(true, Ordering::Relaxed);
                return WalkState::Quit;
            }
            if entry.is_ok_and(|entry| wanted(&entry) && is_file(&entry)) {
                count.fetch_add(1, Ordering::Relaxed);
            }
            WalkState::Continue
        })
    });
    IgnoredMatches { count: count.into_inner().saturating_sub(listed), is_partial: is_partial.into_inner() }
}

fn ignored_note(ignored: IgnoredMatches) -> Option<String> {
    let more = if ignored.is_partial { "at least " } else { "" };
    let files = if ignored.count == 1 { "file matches" } else { "files match" };
    (ignored.count > 0)
        .then(|| format!("({more}{} ignored {files}; name their folder in the pattern to list them)", ignored.count))
}

impl GlobScope {
    /// Moves the leading plain components of `pattern` into the root: nothing beside them can match, and a pattern
    /// that leaves `base` (absolute, `~/`, `..`) declares the directory it really reads.
    fn of(base: &Path, pattern: &str, at: &Workspace) -> Self {
        let (mut root, mut rest) = match pattern.strip_prefix("~/") {
            Some(rest) if at.home.is_some() => (at.absolute("~/"), rest),
            _ if pattern.starts_with('/') => (PathBuf::from("/"), pattern.trim_start_matches('/')),
            _ => (base.to_path_buf(), pattern),
        };
        while let Some((first, tail)) = rest.split_once('/') {
            let plain = !first.contains(['*', '?', '[', ']', '{', '}', '\\', '!']);
            if tail.is_empty() || !plain || walk::is_vcs_name(first.as_ref()) {
                break;
            }
            match first {
                "" | "." => {}
                ".." => drop(root.pop()),
                name => root.push(name),
            }
            rest = tail.trim_start_matches('/');
        }
        let anchored = rest.len() != pattern.len() || rest.contains('/');
        let pattern = if anchored { rest.to_owned() } else { format!("**/{rest}") };
        Self { root, pattern }
    }
}

fn check_directory(path: &Path, at: &Workspace) -> Result<(), ToolOutcome> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Ok(()),
        Ok(_) => Err(ToolOutcome::invalid(format!("Path is not a directory: {}", path.display()))),
        Err(_) => Err(walk::missing_error("Directory", path, at)),
    }
}

/// Links to files count as files; links to directories are not followed.
fn is_file(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|t| t.is_file() || (t.is_symlink() && entry.path().is_file()))
}

/// A set with one pattern: unlike a single matcher it compares names and extensions without a regular expression.
fn compile(pattern: &str) -> Result<GlobSet, ToolOutcome> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
    let set = glob.and_then(|glob| GlobSetBuilder::new().add(glob).build());
    set.map_err(|e| ToolOutcome::invalid(format!("Invalid glob pattern: {e}")))
}

fn honours_ignores(env: &Env) -> bool {
    !env.flag("CLAUDE_CODE_GLOB_NO_IGNORE").unwrap_or(is_compatible_output(env))
}

fn walker(root: &Path, env: &Env, ignores: bool) -> WalkBuilder {
    let skip_hidden = env.flag("CLAUDE_CODE_GLOB_HIDDEN") == Some(false);
    let mut builder = WalkBuilder::new(root);
    builder.standard_filters(ignores).require_git(false).hidden(skip_hidden);
    builder
}

/// Ordered by the key of their age, then by path, so that files with equal times have a fixed order.
type GlobHits = SmallestItems<(i128, PathBuf)>;

/// Merges the matches of one thread when the walk drops its visitor.
struct GlobWorker<'a> {
    mine: GlobHits,
    all: &'a Mutex<GlobHits>,
}

impl Drop for GlobWorker<'_> {
    fn drop(&mut self) {
        let mine = std::mem::replace(&mut self.mine, GlobHits::new(0));
        self.all.lock().merge(mine);
    }
}

fn collect(
    mut builder: WalkBuilder,
    ignores: bool,
    order: GlobOrder,
    halt: &HaltFlag,
    wanted: impl Fn(&DirEntry) -> bool + Sync,
) -> GlobHits {
    let all = Mutex::new(GlobHits::new(LIMIT));
    walk::build_parallel(&mut builder, ignores).run(|| {
        let mut share = GlobWorker { mine: GlobHits::new(LIMIT), all: &all };
        let wanted = &wanted;
        Box::new(move |entry| {
            if halt.is_set() {
                return WalkState::Quit;
            }
            if let Ok(entry) = entry
                && wanted(&entry)
                && is_file(&entry)
            {
                let modified = walk::modified(entry.metadata().map_err(std::io::Error::other));
                share.mine.add((order.key(modified), entry.into_path()));
            }
            WalkState::Continue
        })
    });
    all.into_inner()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GlobOutput {
    filenames: Vec<String>,
    duration_ms: u64,
    num_files: usize,
    truncated: bool,
    total_matches: u64,
    count_is_complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    timed_out: Option<bool>,
}

fn report(found: GlobHits, at: &Workspace, ended: WalkEnd, started: Instant) -> GlobOutput {
    let total = found.total;
    let filenames: Vec<String> = found.into_sorted().iter().map(|(_, path)| walk::display_path(path, at)).collect();
    GlobOutput {
        duration_ms: started.elapsed().as_millis() as u64,
        num_files: filenames.len(),
        truncated: total > filenames.len() as u64,
        total_matches: total,
        count_is_complete: ended == WalkEnd::Complete,
        timed_out: (ended == WalkEnd::TimedOut).then_some(true),
        filenames,
    }
}

impl GlobOutput {
    fn outcome(&self, notes: impl Iterator<Item = String>) -> ToolOutcome {
        let mut lines = self.filenames.clone();
        if lines.is_empty() {
            lines.push("No files found".to_owned());
        }
        if self.truncated {
            let (shown, total) = (self.num_files, self.total_matches);
            lines.push(format!("(Showing {shown} of {total} matching files. Use a narrower pattern or path.)"));
        }
        lines.extend(notes);
        ToolOutcome::text(lines.join("\n"), wire::raw::to_raw(self).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(base: &str, pattern: &str) -> (String, String) {
        let at =
            Workspace { cwd: "/w".into(), project: "/w".into(), additional: Vec::new(), home: Some("/home/u".into()) };
        let scope = GlobScope::of(Path::new(base), pattern, &at);
        (scope.root.display().to_string(), scope.pattern)
    }

    #[test]
    fn plain_components_move_into_the_root() {
        let is = |pattern: &str, root: &str, rest: &str| {
            assert_eq!(scope("/w", pattern), (root.to_owned(), rest.to_owned()), "{pattern}");
        };
        is("*.rs", "/w", "**/*.rs");
        is("**/*.rs", "/w", "**/*.rs");
        is("src/**/*.rs", "/w/src", "**/*.rs");
        is("./src/*.rs", "/w/src", "*.rs");
        is("../x/*.rs", "/x", "*.rs");
        is("/etc/*.conf", "/etc", "*.conf");
        is("/*.conf", "/", "*.conf");
        is("~/notes/*", "/home/u/notes", "*");
        is("a/b.txt", "/w/a", "b.txt");
        is(".git/config", "/w", ".git/config");
        is("{a,b}/c", "/w", "{a,b}/c");
    }
}
