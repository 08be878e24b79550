//! Grep: file contents by regular expression, with ripgrep's libraries and semantics. Every search covers the whole
//! tree, so that totals are exact and the shown part does not depend on thread timing; only entries that may be
//! shown are kept in memory.

mod collect;
mod elsewhere;
mod plan;
mod render;
mod sink;

use crate::contract::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};
use crate::facts::{AgentUse, ToolClass, ToolFacts};
use crate::input::ToolInput;
use crate::walk::{self, HaltFlag};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use permission::Access;
use serde_json::value::RawValue;
use std::path::PathBuf;
use std::time::Instant;

const DEFAULT_LIMIT: u64 = 250;

const FACTS: ToolFacts = ToolFacts { agents: AgentUse::Always, ..ToolFacts::of(ToolClass::Search) };

static SPEC: ToolSpec = ToolSpec::of("Grep", include_str!("grep.md"), include_str!("grep.schema.json"), FACTS);

pub struct GrepTool;

impl Tool for GrepTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of("Grep", input)?;
        for name in ["pattern", "path", "glob"] {
            if input.opt_string(name)?.is_some_and(|text| text.contains('\0')) {
                return Err(input.refuse(name, "contains a NUL character"));
            }
        }
        Ok(Box::new(GrepCall(query(&input)?)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GrepMode {
    Files,
    Content,
    Count,
}

#[derive(Clone, Debug)]
struct GrepQuery {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    file_type: Option<String>,
    mode: GrepMode,
    before: usize,
    after: usize,
    line_numbers: bool,
    ignore_case: bool,
    only_matching: bool,
    multiline: bool,
    /// Most entries to show; `None` means all.
    limit: Option<usize>,
    offset: usize,
}

fn query(input: &ToolInput<'_>) -> Result<GrepQuery, InputError> {
    let mode = match input.opt_choice("output_mode", &["files_with_matches", "content", "count"])? {
        Some("content") => GrepMode::Content,
        Some("count") => GrepMode::Count,
        _ => GrepMode::Files,
    };
    let number = |name| input.opt_number(name).map(|n| n.map(|n| usize::try_from(n).unwrap_or(usize::MAX)));
    let switch = |name| input.opt_bool(name).map(|on| on.unwrap_or(false));
    let around = match number("-C")? {
        None => number("context")?,
        set => set,
    };
    let only_matching = mode == GrepMode::Content && switch("-o")?;
    // Parts of lines have no context lines.
    let context = |own: Option<usize>| match mode {
        GrepMode::Content if !only_matching => own.or(around).unwrap_or(0),
        GrepMode::Content | GrepMode::Files | GrepMode::Count => 0,
    };
    let limit = number("head_limit")?.unwrap_or(DEFAULT_LIMIT as usize);
    Ok(GrepQuery {
        pattern: input.string("pattern")?,
        path: input.opt_string("path")?.filter(|p| !p.is_empty()),
        glob: input.opt_string("glob")?.filter(|g| !g.trim().is_empty()),
        file_type: input.opt_string("type")?.filter(|t| !t.is_empty()),
        mode,
        before: context(number("-B")?),
        after: context(number("-A")?),
        line_numbers: input.opt_bool("-n")?.unwrap_or(true),
        ignore_case: switch("-i")?,
        only_matching,
        multiline: switch("multiline")?,
        limit: (limit != 0).then_some(limit),
        offset: number("offset")?.unwrap_or(0),
    })
}

impl GrepQuery {
    fn root(&self, at: &Workspace) -> PathBuf {
        self.path.as_ref().map_or_else(|| at.cwd.clone(), |p| at.absolute(p))
    }

    /// Most entries that must be kept: limit plus offset.
    fn window(&self) -> usize {
        self.limit.map_or(usize::MAX, |limit| limit.saturating_add(self.offset))
    }

    fn has_context(&self) -> bool {
        self.before > 0 || self.after > 0
    }
}

/// Whether files named by ignore files are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IgnoreFiles {
    Honoured,
    Disregarded,
}

/// Tells the workers of a search to stop.
#[derive(Clone, Copy, Debug)]
struct SearchHalt<'a> {
    flag: &'a HaltFlag,
    /// The end of a search that has little time; others are ended through the flag.
    until: Option<Instant>,
}

impl SearchHalt<'_> {
    fn is_set(self) -> bool {
        self.flag.is_set() || self.until.is_some_and(|until| Instant::now() > until)
    }
}

struct GrepCall(GrepQuery);

impl ToolCall for GrepCall {
    fn access(&self, at: &Workspace) -> Vec<Access> {
        vec![Access::ReadPath(self.0.root(at))]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Shared
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        async move { search(self.0, cx).await.unwrap_or_else(|failure| failure) }.boxed()
    }
}

async fn search(query: GrepQuery, cx: CallContext) -> Result<ToolOutcome, ToolOutcome> {
    let limit = walk::time_limit(&cx.state.facts.env);
    let (asked, at, may_read) = (query.clone(), cx.workspace.clone(), cx.may_read.clone());
    let (found, ended) = walk::run(&cx, limit, move |flag| {
        let halt = SearchHalt { flag, until: None };
        let plan = plan::GrepPlan::new(&asked, &at, IgnoreFiles::Honoured)?;
        let mut found = plan.run(&asked, halt, &may_read).map_err(ToolOutcome::failed)?;
        let notes = elsewhere::notes(&asked, &mut found, &at, flag, &may_read);
        Ok((found, notes))
    })
    .await?;
    let (found, mut notes) = found?;
    notes.extend(walk::time_note(ended, limit));
    Ok(render::outcome(&query, found, &cx.workspace, &notes, ended))
}
