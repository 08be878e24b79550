//! WebSearch: the provider's search, requested beside the conversation. The number of searches is limited; beyond
//! the limit the call returns a text that says so instead of an error.

use crate::contract::{
    CallConcurrency, CallContext, InputError, SidePurpose, SideReply, SideRequest, Tool, ToolCall, ToolOutcome,
    ToolSpec, Workspace,
};
use crate::facts::{AgentUse, CallBounds, OutputBound, TimeBound, ToolClass, ToolFacts};
use crate::foreign_text::defused;
use crate::input::ToolInput;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use permission::Access;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::time::{Duration, Instant};
use sys::Env;

const MAX_USES: u32 = 8;
const DEFAULT_PER_SESSION: u64 = 200;
const MAX_TOKENS: u32 = 8192;
const TIMEOUT: Duration = Duration::from_mins(3);

const FACTS: ToolFacts = ToolFacts {
    bounds: CallBounds { time: TimeBound::Fixed(TIMEOUT), output: OutputBound::Spilled },
    agents: AgentUse::Always,
    ..ToolFacts::of(ToolClass::Web)
};

static SPEC: ToolSpec =
    ToolSpec::of("WebSearch", include_str!("web_search.md"), include_str!("web_search.schema.json"), FACTS);

fn per_session(env: &Env) -> u64 {
    env.number("CLAUDE_CODE_MAX_WEB_SEARCHES_PER_SESSION").unwrap_or(DEFAULT_PER_SESSION)
}

pub struct WebSearchTool;

impl Tool for WebSearchTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of("WebSearch", input)?;
        let domains = |name| input.opt_strings(name).map(|list| list.filter(|list| !list.is_empty()));
        let call = WebSearchCall {
            query: input.string("query")?,
            allowed_domains: domains("allowed_domains")?,
            blocked_domains: domains("blocked_domains")?,
        };
        if call.query.trim().chars().count() < 2 {
            return Err(input.refuse("query", "must have at least two characters"));
        }
        if call.allowed_domains.is_some() && call.blocked_domains.is_some() {
            return Err(input.refuse("blocked_domains", "cannot be used together with allowed_domains"));
        }
        Ok(Box::new(call))
    }
}

struct WebSearchCall {
    query: String,
    allowed_domains: Option<Vec<String>>,
    blocked_domains: Option<Vec<String>>,
}

impl ToolCall for WebSearchCall {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Use]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Shared
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        let cancel = cx.cancel.clone();
        async move {
            let interrupted = || ToolOutcome::failed("The search was interrupted before it finished.");
            let work = self.search(&cx);
            cancel
                .run_until_cancelled(work)
                .await
                .map_or_else(interrupted, |done| done.unwrap_or_else(ToolOutcome::failed))
        }
        .boxed()
    }
}

/// The declaration of the provider's search tool.
#[derive(Serialize)]
struct WebSearchDeclaration<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    max_uses: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_domains: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_domains: Option<&'a [String]>,
}

impl WebSearchCall {
    async fn search(&self, cx: &CallContext) -> Result<ToolOutcome, String> {
        let started = Instant::now();
        let limit = per_session(&cx.state.facts.env);
        if !cx.state.searches.take(limit) {
            let notice = format!(
                "This session has used all of its {limit} web searches. Go on with what is known, or ask the user; \
                 CLAUDE_CODE_MAX_WEB_SEARCHES_PER_SESSION sets the number."
            );
            return Ok(self.outcome(vec![SearchPiece::Text(notice.clone())], notice, started));
        }
        let reply = cx.model.ask(self.request()?).await.map_err(|error| format!("The web search failed: {error}"))?;
        let pieces = pieces(&reply);
        let text = self.text(&pieces);
        Ok(self.outcome(pieces, text, started))
    }

    fn request(&self) -> Result<SideRequest, String> {
        let tool = WebSearchDeclaration {
            kind: "web_search_20250305",
            name: "web_search",
            max_uses: MAX_USES,
            allowed_domains: self.allowed_domains.as_deref(),
            blocked_domains: self.blocked_domains.as_deref(),
        };
        let tool = wire::raw::to_raw(&tool).map_err(|error| error.to_string())?;
        Ok(SideRequest {
            purpose: SidePurpose::Main,
            prompt: format!("Search the web for: {}", self.query),
            system: Some("Use the web_search tool, then sum up in a few sentences what the results say.".to_owned()),
            server_tools: vec![tool],
            max_tokens: MAX_TOKENS,
            timeout: TIMEOUT,
        })
    }

    /// The text for the model. Links directly follow the heading, because readers match that. Text before the first
    /// search is left out.
    fn text(&self, pieces: &[SearchPiece]) -> String {
        let mut text = format!("Web search results for query: \"{}\"", self.query);
        let first = pieces.iter().position(|piece| matches!(piece, SearchPiece::Links { .. })).unwrap_or(0);
        for piece in &pieces[first..] {
            text.push_str("\n\n");
            match piece {
                SearchPiece::Text(words) => text.push_str(words.trim()),
                SearchPiece::Links { content, .. } => {
                    text.push_str("Links: ");
                    text.push_str(&wire::raw::to_line(content).unwrap_or_else(|_| "[]".to_owned()));
                }
            }
        }
        if pieces.is_empty() {
            text.push_str("\n\nNo results.");
        }
        text
    }

    fn outcome(&self, results: Vec<SearchPiece>, text: String, started: Instant) -> ToolOutcome {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct WebSearchOutput<'a> {
            query: &'a str,
            search_count: usize,
            results: Vec<SearchPiece>,
            duration_seconds: f64,
        }
        let output = WebSearchOutput {
            query: &self.query,
            search_count: results.iter().filter(|piece| matches!(piece, SearchPiece::Links { .. })).count(),
            results,
            duration_seconds: started.elapsed().as_secs_f64(),
        };
        ToolOutcome::text(defused(text), wire::raw::to_raw(&output).ok())
    }
}

/// One element of the answer: the hits of one search, or text.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum SearchPiece {
    Links { tool_use_id: String, content: Vec<SearchLink> },
    Text(String),
}

#[derive(Debug, Serialize, Deserialize)]
struct SearchLink {
    #[serde(default)]
    title: String,
    url: String,
}

#[derive(Deserialize)]
struct SearchBlock<'a> {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    tool_use_id: Option<String>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct SearchError {
    error_code: String,
}

fn pieces(reply: &SideReply) -> Vec<SearchPiece> {
    let mut pieces = Vec::new();
    for raw in &reply.blocks {
        let Ok(block) = serde_json::from_str::<SearchBlock<'_>>(raw.get()) else { continue };
        match (block.kind.as_str(), block.text, block.content) {
            // Citations split a sentence into several blocks.
            ("text", Some(words), _) => match pieces.last_mut() {
                Some(SearchPiece::Text(before)) => before.push_str(&words),
                _ => pieces.push(SearchPiece::Text(words)),
            },
            ("web_search_tool_result", _, Some(content)) => {
                pieces.push(hits(block.tool_use_id.unwrap_or_default(), content));
            }
            _ => {}
        }
    }
    pieces.retain(|piece| !matches!(piece, SearchPiece::Text(words) if words.trim().is_empty()));
    pieces
}

fn hits(tool_use_id: String, content: &RawValue) -> SearchPiece {
    if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(content.get()) {
        let content = items.iter().filter_map(|item| serde_json::from_str(item.get()).ok()).collect();
        return SearchPiece::Links { tool_use_id, content };
    }
    let code = serde_json::from_str::<SearchError>(content.get()).map_or_else(|_| "unknown".into(), |e| e.error_code);
    SearchPiece::Text(format!("Web search error: {code}"))
}
