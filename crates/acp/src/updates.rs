//! Turns the messages of a session into updates for the editor. Text is sent as it streams; a message that did not
//! stream (an error, a message of an old conversation) is sent once. Subagents show their calls, not their text.

use crate::call_display;
use crate::protocol::{
    ContentBlock, ContentChunk, Cost, MetaFields, PlanEntry, SessionUpdate, TaskStatus, ToolCall, ToolCallContent,
    ToolCallStatus, ToolCallUpdate,
};
use engine::{ToolClass, tool_facts};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use wire::block::BlockHead;
use wire::sdk::{AssistantMessage, SdkMessage, StreamEvent, SystemBody, TurnResult, UserMessage};

/// Whether messages are new or replayed from an old conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplayMode {
    Live,
    Again,
}

#[derive(Debug)]
pub(crate) struct UpdateBuilder {
    cwd: PathBuf,
    mode: ReplayMode,
    /// The client can display terminals (`terminal_output`).
    draws_terminals: bool,
    /// The id of the main-thread message that streams, or streamed last.
    streamed: Option<String>,
    /// The tool name of each open call, by call id.
    calls: HashMap<String, String>,
    /// The task list: subject and status by task number.
    tasks: BTreeMap<u64, (String, TaskStatus)>,
    /// Tokens of the newest response of the main thread.
    tokens: ResponseTokens,
}

impl UpdateBuilder {
    pub(crate) fn new(cwd: PathBuf, telling: ReplayMode, draws_terminals: bool) -> Self {
        Self {
            cwd,
            mode: telling,
            draws_terminals,
            streamed: None,
            calls: HashMap::new(),
            tasks: BTreeMap::new(),
            tokens: ResponseTokens::default(),
        }
    }

    pub(crate) fn updates_for(&mut self, message: &SdkMessage) -> Vec<SessionUpdate> {
        match message {
            SdkMessage::StreamEvent(event) => self.stream(event).into_iter().collect(),
            SdkMessage::Assistant(assistant) => self.assistant(assistant),
            SdkMessage::User(user) => self.user(user),
            SdkMessage::ToolProgress(progress) => vec![status(&progress.tool_use_id, ToolCallStatus::InProgress)],
            SdkMessage::Result(result) => self.usage(result).into_iter().collect(),
            SdkMessage::System(said) => system(&said.body).into_iter().collect(),
            SdkMessage::Init(_) | SdkMessage::RateLimit(_) | SdkMessage::Reset(_) => Vec::new(),
        }
    }

    fn stream(&mut self, event: &StreamEvent) -> Option<SessionUpdate> {
        if event.parent_tool_use_id.is_some() {
            return None;
        }
        let event: StreamedEvent<'_> = serde_json::from_str(event.event.get()).ok()?;
        if let Some(message) = event.message {
            self.streamed = Some(message.id.into_owned());
            self.tokens = message.usage;
            return None;
        }
        if let Some(usage) = event.usage {
            self.tokens.merge(&usage);
        }
        let delta = event.delta?;
        if let Some(text) = delta.text {
            return Some(SessionUpdate::AgentMessageChunk(self.chunk(&text)));
        }
        delta.thinking.map(|text| SessionUpdate::AgentThoughtChunk(self.chunk(&text)))
    }

    fn chunk(&self, text: &str) -> ContentChunk {
        ContentChunk { content: ContentBlock::text(text), message_id: self.streamed.clone() }
    }

    fn assistant(&mut self, assistant: &AssistantMessage) -> Vec<SessionUpdate> {
        let Ok(message) = serde_json::from_str::<AssistantBody<'_>>(assistant.message.get()) else { return Vec::new() };
        let is_main = assistant.parent_tool_use_id.is_none();
        let told = self.streamed.is_some() && self.streamed.as_deref() == message.id.as_deref();
        let mut updates = Vec::new();
        for block in message.content {
            match BlockHead::read(block) {
                Some(BlockHead::Text(text)) if is_main && !told => {
                    updates.push(SessionUpdate::AgentMessageChunk(whole_chunk(&text)));
                }
                Some(BlockHead::ToolUse { id, name, input }) => {
                    updates.extend(self.call(&id, &name, input, assistant.parent_tool_use_id.as_deref()));
                }
                Some(_) | None => {}
            }
        }
        updates
    }

    fn call(&mut self, id: &str, tool: &str, input: &RawValue, parent: Option<&str>) -> Option<SessionUpdate> {
        let input: Value = serde_json::from_str(input.get()).unwrap_or_default();
        self.calls.insert(id.to_owned(), tool.to_owned());
        if tool == "TodoWrite" {
            return todos(&input);
        }
        if tool == "TaskUpdate" {
            return self.record_changed_task(&input);
        }
        if is_silent(tool) {
            return None;
        }
        let shown = call_display::call(tool, &input, &self.cwd);
        let mut meta = meta(tool, parent);
        let mut content = shown.content;
        if is_shell(tool) && self.draws_terminals {
            content = vec![ToolCallContent::Terminal { terminal_id: id.to_owned() }];
            meta.insert("terminal_info".into(), json!({"terminal_id": id, "cwd": self.cwd}));
        }
        Some(SessionUpdate::ToolCall(ToolCall {
            tool_call_id: id.to_owned(),
            title: shown.title,
            name: tool.to_owned(),
            kind: shown.kind,
            content,
            locations: shown.locations,
            raw_input: input,
            meta,
        }))
    }

    fn user(&mut self, user: &UserMessage) -> Vec<SessionUpdate> {
        let Ok(message) = serde_json::from_str::<UserBody<'_>>(user.message.get()) else { return Vec::new() };
        let Ok(blocks) = serde_json::from_str::<Vec<&RawValue>>(message.content.get()) else {
            let text: String = serde_json::from_str(message.content.get()).unwrap_or_default();
            return self.prompt(&text).into_iter().collect();
        };
        blocks.into_iter().filter_map(|block| self.user_block(block, user.tool_use_result.as_deref())).collect()
    }

    fn user_block(&mut self, block: &RawValue, structured: Option<&RawValue>) -> Option<SessionUpdate> {
        match BlockHead::read(block)? {
            BlockHead::Text(text) => self.prompt(&text),
            BlockHead::ToolResult { tool_use_id } => self.finish_call(&tool_use_id, block, structured),
            BlockHead::Thinking
            | BlockHead::RedactedThinking
            | BlockHead::ToolUse { .. }
            | BlockHead::Image
            | BlockHead::Document
            | BlockHead::Other(_) => None,
        }
    }

    /// Returns prompts of a replayed conversation only: the client knows the prompts it sends.
    fn prompt(&self, text: &str) -> Option<SessionUpdate> {
        let hidden = self.mode == ReplayMode::Live || text.trim().is_empty() || text.starts_with('<');
        (!hidden).then(|| SessionUpdate::UserMessageChunk(whole_chunk(text)))
    }

    fn finish_call(&mut self, id: &str, block: &RawValue, structured: Option<&RawValue>) -> Option<SessionUpdate> {
        let tool = self.calls.remove(id)?;
        let outcome: AcpToolResult = serde_json::from_str(block.get()).unwrap_or_default();
        if tool == "TaskCreate" {
            return self.record_created_task(structured?);
        }
        if is_silent(&tool) {
            return None;
        }
        let state = if outcome.is_error { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
        let mut update = ToolCallUpdate {
            tool_call_id: id.to_owned(),
            status: Some(state),
            raw_output: structured.and_then(|raw| serde_json::from_str(raw.get()).ok()),
            ..ToolCallUpdate::default()
        };
        if is_shell(&tool) && self.draws_terminals {
            update.meta = Some(terminal_end(id, &outcome));
            return Some(SessionUpdate::ToolCallUpdate(update));
        }
        // A successful edit keeps its diff; the result text is for the model.
        let keeps_diff = !outcome.is_error && tool_facts(&tool).class == ToolClass::Edit;
        if !keeps_diff {
            update.content = Some(outcome.content(&tool));
        }
        Some(SessionUpdate::ToolCallUpdate(update))
    }

    fn record_created_task(&mut self, structured: &RawValue) -> Option<SessionUpdate> {
        #[derive(Deserialize)]
        struct CreatedTask {
            task: CreatedTaskHead,
        }
        #[derive(Deserialize)]
        struct CreatedTaskHead {
            id: String,
            subject: String,
        }
        let made: CreatedTask = serde_json::from_str(structured.get()).ok()?;
        self.tasks.insert(made.task.id.parse().ok()?, (made.task.subject, TaskStatus::Pending));
        Some(self.plan())
    }

    fn record_changed_task(&mut self, input: &Value) -> Option<SessionUpdate> {
        let id: u64 = input.get("taskId")?.as_str()?.parse().ok()?;
        match input.get("status").and_then(Value::as_str) {
            Some("deleted") => {
                self.tasks.remove(&id);
            }
            Some(status) => self.tasks.get_mut(&id)?.1 = plan_status(status),
            None => {}
        }
        if let (Some(subject), Some(task)) = (input.get("subject").and_then(Value::as_str), self.tasks.get_mut(&id)) {
            subject.clone_into(&mut task.0);
        }
        Some(self.plan())
    }

    fn plan(&self) -> SessionUpdate {
        let entry = |(subject, status): &(String, TaskStatus)| plan_entry(subject, *status);
        SessionUpdate::Plan { entries: self.tasks.values().map(entry).collect() }
    }

    fn usage(&self, result: &TurnResult) -> Option<SessionUpdate> {
        let size = result.model_usage.values().map(|usage| usage.context_window).max().filter(|size| *size > 0)?;
        let cost = Cost { amount: result.total_cost_usd, currency: "USD" };
        Some(SessionUpdate::UsageUpdate { used: self.tokens.total(), size, cost })
    }
}

fn meta(tool: &str, parent: Option<&str>) -> MetaFields {
    let mut own = json!({"toolName": tool});
    if let Some(parent) = parent {
        own["parentToolUseId"] = parent.into();
    }
    MetaFields::from_iter([("gimlet".to_owned(), own)])
}

fn system(body: &SystemBody) -> Option<SessionUpdate> {
    match body {
        SystemBody::Status { permission_mode: Some(mode), .. } => {
            Some(SessionUpdate::CurrentModeUpdate { current_mode_id: (*mode).to_owned() })
        }
        SystemBody::Informational { content, .. } | SystemBody::LocalCommandOutput { content, .. } => {
            Some(SessionUpdate::AgentMessageChunk(whole_chunk(content)))
        }
        _ => None,
    }
}

/// Tools that are shown as a plan, or not at all.
fn is_silent(tool: &str) -> bool {
    matches!(tool_facts(tool).class, ToolClass::TaskList | ToolClass::ToolSearch)
}

fn is_shell(tool: &str) -> bool {
    tool_facts(tool).class == ToolClass::Shell
}

fn whole_chunk(text: &str) -> ContentChunk {
    ContentChunk { content: ContentBlock::text(text), message_id: None }
}

fn status(id: &str, status: ToolCallStatus) -> SessionUpdate {
    let tool_call_id = id.to_owned();
    SessionUpdate::ToolCallUpdate(ToolCallUpdate { tool_call_id, status: Some(status), ..ToolCallUpdate::default() })
}

fn todos(input: &Value) -> Option<SessionUpdate> {
    let entry = |todo: &Value| {
        let status = plan_status(todo.get("status")?.as_str()?);
        Some(plan_entry(todo.get("content")?.as_str()?, status))
    };
    Some(SessionUpdate::Plan { entries: input.get("todos")?.as_array()?.iter().filter_map(entry).collect() })
}

fn plan_entry(subject: &str, status: TaskStatus) -> PlanEntry {
    PlanEntry { content: subject.to_owned(), priority: "medium", status }
}

fn plan_status(status: &str) -> TaskStatus {
    match status {
        "in_progress" => TaskStatus::InProgress,
        "completed" => TaskStatus::Completed,
        _ => TaskStatus::Pending,
    }
}

fn terminal_end(id: &str, outcome: &AcpToolResult) -> MetaFields {
    let exit = i32::from(outcome.is_error);
    MetaFields::from_iter([
        ("terminal_output".to_owned(), json!({"terminal_id": id, "data": outcome.text()})),
        ("terminal_exit".to_owned(), json!({"terminal_id": id, "exit_code": exit, "signal": null})),
    ])
}

#[derive(Deserialize)]
struct StreamedEvent<'a> {
    #[serde(borrow, default)]
    message: Option<StreamedMessage<'a>>,
    #[serde(borrow, default)]
    delta: Option<StreamedDelta<'a>>,
    #[serde(default)]
    usage: Option<ResponseTokens>,
}

#[derive(Deserialize)]
struct StreamedMessage<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(default)]
    usage: ResponseTokens,
}

#[derive(Deserialize)]
struct StreamedDelta<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    thinking: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct AssistantBody<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct UserBody<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
}

/// Tokens of a response. A later report replaces the fields it contains.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResponseTokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

impl ResponseTokens {
    fn merge(&mut self, later: &Self) {
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
        self.cache_creation_input_tokens = later.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.cache_read_input_tokens = later.cache_read_input_tokens.or(self.cache_read_input_tokens);
    }

    fn total(&self) -> u64 {
        let parts =
            [self.input_tokens, self.output_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens];
        parts.into_iter().flatten().sum()
    }
}

/// A `tool_result` block.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AcpToolResult {
    is_error: bool,
    content: Value,
}

impl AcpToolResult {
    fn text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(blocks) => {
                blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        }
    }

    fn content(&self, tool: &str) -> Vec<ToolCallContent> {
        let text = self.text();
        let mut content = Vec::new();
        if !text.trim().is_empty() {
            let is_verbatim = matches!(tool_facts(tool).class, ToolClass::Shell | ToolClass::Read);
            let shown = if is_verbatim { fenced(&text) } else { text };
            content.push(ToolCallContent::text(shown));
        }
        let blocks = self.content.as_array().map(Vec::as_slice).unwrap_or_default();
        content.extend(blocks.iter().filter_map(image));
        content
    }
}

fn image(block: &Value) -> Option<ToolCallContent> {
    let source = block.get("source").filter(|_| block.get("type").is_some_and(|kind| kind == "image"))?;
    let field = |key: &str| source.get(key).and_then(Value::as_str).map(str::to_owned);
    let content = ContentBlock::Image { data: field("data")?, mime_type: field("media_type")? };
    Some(ToolCallContent::Content { content })
}

/// Puts the text into a code fence that is longer than any fence inside it.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_longer_than_what_they_hold() {
        assert_eq!(fenced("a\n"), "```\na\n```");
        assert_eq!(fenced("```x"), "````\n```x\n````");
    }

    #[test]
    fn a_task_list_is_a_plan() {
        let mut story = UpdateBuilder::new("/p".into(), ReplayMode::Live, false);
        let raw = RawValue::from_string(r#"{"task":{"id":"1","subject":"Build"}}"#.into()).unwrap();
        let entries = |update: SessionUpdate| match update {
            SessionUpdate::Plan { entries } => entries,
            other => panic!("{other:?} is not a plan"),
        };
        assert_eq!(entries(story.record_created_task(&raw).unwrap()).len(), 1);
        let plan = story.record_changed_task(&json!({"taskId": "1", "status": "in_progress"})).unwrap();
        assert_eq!(entries(plan)[0].status, TaskStatus::InProgress);
        assert!(story.record_changed_task(&json!({"taskId": "7", "status": "completed"})).is_none());
        assert!(entries(story.record_changed_task(&json!({"taskId": "1", "status": "deleted"})).unwrap()).is_empty());
    }
}
