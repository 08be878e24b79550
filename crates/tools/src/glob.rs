//! Glob: files by name pattern. Reports at most 100 paths, the least recently modified first, and the number of all
//! matches. The order is that of the observed reference; its documentation says newest first. Patterns work as in a
//! gitignore file: without a slash they match at any depth.

use crate::contract::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};
use crate::facts::{AgentUse, ToolClass, ToolFacts};
use crate::input::ToolInput;
use crate::walk::{self, HaltFlag, SmallestItems, WalkEnd};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use permission::Access;
use serde::Serialize;
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};
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
        let (builder, may_read) = (walker(&scope.root, env), cx.may_read.clone());
        let (root, at) = (scope.root, cx.workspace.clone());
        let base = self.path.as_ref().map(|p| at.absolute(p));
        let (found, ended) = walk::run(&cx, limit, move |halt| {
            base.map_or(Ok(()), |base| check_directory(&base, &at))?;
            Ok(collect(builder, ignores, halt, |entry| {
                let path = entry.path();
                path.strip_prefix(&root).is_ok_and(|rest| matcher.is_match(rest))
                    && may_read(path, walk::discovery(entry))
            }))
        })
        .await?;
        Ok(report(found?, &cx.workspace, ended, started).outcome(walk::time_note(ended, limit)))
    }
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
    env.flag("CLAUDE_CODE_GLOB_NO_IGNORE") == Some(false)
}

fn walker(root: &Path, env: &Env) -> WalkBuilder {
    let skip_hidden = env.flag("CLAUDE_CODE_GLOB_HIDDEN") == Some(false);
    let mut builder = WalkBuilder::new(root);
    builder.standard_filters(honours_ignores(env)).require_git(false).hidden(skip_hidden);
    builder
}

/// Ordered by age, then by path, so that files with equal times have a fixed order.
type GlobHits = SmallestItems<(SystemTime, PathBuf)>;

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
                share.mine.add((walk::modified(entry.metadata().map_err(std::io::Error::other)), entry.into_path()));
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
    fn outcome(&self, note: Option<String>) -> ToolOutcome {
        let mut lines = self.filenames.clone();
        if lines.is_empty() {
            lines.push("No files found".to_owned());
        }
        if self.truncated {
            let (shown, total) = (self.num_files, self.total_matches);
            lines.push(format!("(Showing {shown} of {total} matching files. Use a narrower pattern or path.)"));
        }
        lines.extend(note);
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
