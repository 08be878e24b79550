//! Turns events of the engine into state and finished lines. The interface uses the same protocol as any host: typed
//! messages, and control lines as text.

mod control;

use super::AppEffect;
use super::calls::OpenCall;
use super::panel::PanelNews;
use super::reply::ReplyPart;
use super::session::{BackgroundTaskRow, CommandSummary};
use super::spinner::TurnWait;
use super::tools::{self, CallOutcome};
use super::transcript::TranscriptItemKind;
use super::{App, PendingResponse, todos};
use crate::screen_reader::SpeakerLabel;
use engine::{Event, ScreenEvent};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::time::Duration;
use terminal::style::StyledLine;
use terminal::theme::ThemeToken;
use wire::control::{HostRequest, ReloadPlugins};
use wire::mode::PermissionMode;
use wire::sdk::{AssistantMessage, InitMessage, SdkMessage, StreamEvent, SystemBody, TurnResult, UserMessage};

/// How many lines of a long prompt of a resumed conversation are shown.
const EARLIER_ROWS: usize = 8;

/// The fields of an API event that the interface uses.
#[derive(Deserialize)]
struct ApiEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Option<ApiDelta<'a>>,
    #[serde(borrow, default)]
    content_block: Option<ApiBlockStart<'a>>,
    #[serde(default)]
    usage: Option<OutputUsage>,
    #[serde(default)]
    message: Option<ApiMessageStart>,
}

#[derive(Deserialize)]
struct ApiDelta<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    thinking: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    partial_json: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ApiBlockStart<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct OutputUsage {
    #[serde(default)]
    output_tokens: u64,
}

#[derive(Deserialize)]
struct ApiMessageStart {
    #[serde(default)]
    usage: InputUsage,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InputUsage {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
}

#[derive(Deserialize)]
struct EventBody {
    #[serde(default)]
    content: EventContent,
    #[serde(default)]
    model: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum EventContent {
    Text(String),
    Blocks(Vec<EventBlock>),
}

impl Default for EventContent {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

#[derive(Deserialize)]
struct EventBlock {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    thinking: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    tool_use_id: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    is_error: bool,
}

/// The text of a tool result: a string, or its blocks, with `[kind]` for blocks that are not text.
fn result_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let parts = blocks.iter().map(|block| match block.get("type").and_then(Value::as_str) {
                Some("text") => block.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
                Some(kind) => format!("[{kind}]"),
                None => String::new(),
            });
            parts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// Like `App::markdown_options`, but borrows only the fields it needs, so that others can be changed meanwhile.
macro_rules! look {
    ($app:expr) => {
        terminal::markdown::MarkdownOptions {
            theme: &$app.preferences.theme,
            // Zero columns: tables become `header: value` lines, without rules.
            columns: if $app.preferences.screen_reader.is_some() { 0 } else { $app.size.columns },
            syntax: $app.preferences.syntax,
        }
    };
}

impl App {
    pub(super) fn event(&mut self, event: Event) {
        if let Some(turn) = &mut self.turn {
            turn.last_event_at = self.now;
        }
        match event {
            Event::Message(message) => self.message(message),
            Event::Ask { id, question } => self.handle_question(id, question),
            Event::AskWithdrawn { id } => self.withdraw_question(&id),
            Event::Response(response) => self.receive_control_response(response),
            Event::Notice(text) => self.note(&text, ThemeToken::Warning),
            Event::Fault(text) => self.note(&text, ThemeToken::Error),
            Event::Refused(error) => {
                self.note(&error.to_string(), ThemeToken::Error);
                self.effects.push(super::AppEffect::Exit);
            }
            Event::Aside(aside) => self.aside(aside),
            Event::Mirror(_) | Event::Dropped(_) => {}
        }
    }

    fn aside(&mut self, aside: ScreenEvent) {
        match aside {
            ScreenEvent::Doing { id, text } => {
                self.hook_statuses.push((id, terminal::text::clean(&text).replace('\n', " ")));
            }
            ScreenEvent::Done { id } => self.hook_statuses.retain(|(known, _)| *known != id),
            ScreenEvent::Display(text) => self.replacement_text = Some(text),
            // Only headless prints it; the screen shows what a turn waits for.
            ScreenEvent::Waiting(_) | ScreenEvent::ServerFailed(_) => {}
            ScreenEvent::Sequence(sequence) => self.effects.push(super::AppEffect::Sequence(sequence)),
        }
    }

    fn message(&mut self, message: SdkMessage) {
        match message {
            SdkMessage::Init(init) => self.init(&init),
            SdkMessage::StreamEvent(event) => self.stream(&event),
            SdkMessage::Assistant(message) => {
                self.assistant(&message);
                self.status.schedule_if_configured(self.now);
            }
            SdkMessage::User(message) => self.user(&message),
            SdkMessage::Result(result) => self.result(&result),
            SdkMessage::System(system) => self.system(system.body),
            SdkMessage::ToolProgress(_) => {}
            SdkMessage::Reset(_) => self.reset(),
        }
    }

    fn init(&mut self, init: &InitMessage) {
        self.session.id = Some(init.session_id.clone());
        self.session.model = Some(init.model.clone());
        // The first `init` confirms the working directory; a later one with another directory is a move.
        let was_placed = std::mem::replace(&mut self.session.has_engine_cwd, true);
        if was_placed && self.session.cwd != init.cwd {
            self.effects.push(AppEffect::Moved { session: init.session_id.clone(), cwd: init.cwd.clone() });
            self.refresh_after_move();
        }
        if let Some(mode) = PermissionMode::parse(init.permission_mode) {
            self.session.mode = mode;
        }
        self.session.cwd.clone_from(&init.cwd);
        if self.session.commands.is_empty() {
            let command = |name: &String| CommandSummary { name: name.clone(), ..CommandSummary::default() };
            self.session.commands =
                super::local_commands::merge_local_commands(init.slash_commands.iter().map(command).collect());
        }
    }

    /// Asks for the commands, agents and settings of the new directory.
    fn refresh_after_move(&mut self) {
        self.request(HostRequest::ReloadPlugins(ReloadPlugins::default()), PendingResponse::Place);
        self.request_settings();
        self.status.schedule_if_configured(self.now);
    }

    /// Another conversation begins in the same session channel.
    fn reset(&mut self) {
        self.transcript.clear();
        self.todos.clear();
        self.agents = super::agents::AgentTracker::default();
        self.status.schedule_if_configured(self.now);
        self.session.cost_usd = 0.0;
        self.session.context_used = 0;
        self.note("A new conversation.", ThemeToken::Inactive);
        if let Some(carried) = self.next_submission.take() {
            self.submit(carried);
        }
    }

    fn stream(&mut self, event: &StreamEvent) {
        if event.parent_tool_use_id.is_some() {
            return;
        }
        let Ok(event) = serde_json::from_str::<ApiEvent<'_>>(event.event.get()) else { return };
        let now = self.now;
        let Some(turn) = &mut self.turn else { return };
        match &*event.kind {
            "message_start" => {
                turn.tokens += std::mem::take(&mut turn.tokens_now);
                let usage = event.message.map(|message| message.usage).unwrap_or_default();
                self.session.context_used =
                    usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;
            }
            "content_block_start" => {
                turn.has_output = true;
                match event.content_block.as_ref().map(|block| &*block.kind) {
                    Some("thinking" | "redacted_thinking") => {
                        turn.thinking_since = Some(now);
                        turn.wait_for(TurnWait::Thinking);
                    }
                    Some(_) | None => turn.wait_for(TurnWait::Writing),
                }
            }
            "content_block_delta" => self.delta(event.delta),
            "content_block_stop" => {
                if let Some(since) = turn.thinking_since.take() {
                    turn.thinking_time += now.saturating_sub(since);
                }
            }
            "message_delta" => {
                if let Some(usage) = event.usage {
                    turn.tokens_now = usage.output_tokens;
                }
            }
            _ => {}
        }
    }

    fn delta(&mut self, delta: Option<ApiDelta<'_>>) {
        let (Some(delta), Some(turn)) = (delta, &mut self.turn) else { return };
        let size =
            [&delta.text, &delta.thinking, &delta.partial_json].into_iter().flatten().map(|t| t.len()).sum::<usize>();
        // An estimate, four bytes per token, until the provider reports the count.
        turn.tokens_now += (size as u64).div_ceil(4);
        if let Some(text) = delta.text {
            turn.wait_for(TurnWait::Writing);
            self.reply.push(&text);
            let look = look!(self);
            if let Some(part) = self.reply.take_closed(&look) {
                self.reply_part(part);
            }
        }
    }

    fn reply_part(&mut self, part: ReplyPart) {
        match part {
            ReplyPart::Begins(lines) => {
                self.print_held_calls();
                self.print_labelled(SpeakerLabel::Claude, lines);
            }
            ReplyPart::Continues(lines) if self.has_screen_reader() => self.print_labelled(SpeakerLabel::None, lines),
            ReplyPart::Continues(lines) => self.continue_block(lines),
        }
    }

    fn assistant(&mut self, message: &AssistantMessage) {
        let Ok(EventBody { content: EventContent::Blocks(blocks), model }) =
            serde_json::from_str(message.message.get())
        else {
            return;
        };
        if let Some(call) = &message.parent_tool_use_id {
            return self.record_agent_message(call, &blocks);
        }
        let time = message.timestamp.get(11..19).unwrap_or_default();
        let stamp = format!("{time} · {model}");
        for block in blocks {
            match block.kind.as_str() {
                "text" if message.is_api_error_message => self.note(&block.text, ThemeToken::Error),
                // The output of `/context` is Markdown and is rendered like a reply.
                "text" if message.local_command_run.is_some() && message.context_usage.is_none() => {
                    self.local_output(&block.text);
                }
                "text" => {
                    self.transcript.add_stamped(TranscriptItemKind::Reply, &block.text, stamp.clone(), None);
                    let shown = self.replacement_text.take().unwrap_or(block.text);
                    let look = look!(self);
                    if let Some(part) = self.reply.finish(&shown, &look) {
                        self.reply_part(part);
                    }
                }
                "thinking" | "redacted_thinking" => self.thought(&block.thinking, message.thinking_duration_ms),
                "tool_use" => self.call(block),
                _ => {}
            }
        }
    }

    /// Prints one line for a thinking block. The transcript view has the full text, when the provider sent one.
    fn thought(&mut self, text: &str, took_ms: Option<u64>) {
        let text = text.trim();
        let first = text.lines().next().unwrap_or_default();
        let took = took_ms.map(|ms| format!("Thought for {} s", ms.div_ceil(1_000).max(1)));
        if self.has_screen_reader() {
            let words = if first.is_empty() { took.unwrap_or_default() } else { terminal::text::clean(first) };
            if !words.is_empty() {
                self.print_labelled(SpeakerLabel::Thinking, vec![StyledLine::plain(words)]);
            }
        } else if let Some(took) = took {
            let more = if first.is_empty() { "" } else { " · ctrl+o" };
            let style = self.preferences.theme.fg(ThemeToken::Inactive);
            self.print_held_calls();
            self.print_labelled(SpeakerLabel::Thinking, vec![StyledLine::styled(format!("∴ {took}{more}"), style)]);
        }
        if !text.is_empty() {
            self.transcript.add(TranscriptItemKind::Thinking, text);
        }
    }

    /// Prints the output of a command that ran locally.
    fn local_output(&mut self, content: &str) {
        self.transcript.add(TranscriptItemKind::Result, content);
        let content = terminal::text::clean(content);
        let lines = terminal::style::lines_of(content.trim_end(), terminal::style::TextStyle::PLAIN);
        let lines = tools::with_corner(lines, &self.preferences.theme);
        if self.has_screen_reader() {
            self.print_labelled(SpeakerLabel::Tool, lines);
        } else {
            self.continue_block(lines);
        }
    }

    /// Adds the messages of an agent to the transcript view only.
    fn record_agent_message(&mut self, call: &str, blocks: &[EventBlock]) {
        for block in blocks {
            let (kind, text) = match block.kind.as_str() {
                "text" => (TranscriptItemKind::Reply, block.text.clone()),
                "thinking" => (TranscriptItemKind::Thinking, block.thinking.clone()),
                "tool_use" => (TranscriptItemKind::Call, format!("{} {}", block.name, block.input)),
                "tool_result" if block.is_error => (TranscriptItemKind::Failure, result_text(&block.content)),
                "tool_result" => (TranscriptItemKind::Result, result_text(&block.content)),
                _ => continue,
            };
            if !text.trim().is_empty() {
                self.transcript.add_stamped(kind, &text, String::new(), Some(call));
            }
        }
    }

    fn call(&mut self, block: EventBlock) {
        let label = tools::label(&block.name, &block.input, &self.session);
        self.transcript.add(TranscriptItemKind::Call, &format!("{} {}", block.name, block.input));
        if !self.calls.joins(&block.name) {
            self.print_held_calls();
        }
        if let Some(turn) = &mut self.turn {
            turn.wait_for(TurnWait::Tool(block.name.clone()));
        }
        self.calls.open(OpenCall {
            id: block.id,
            tool: block.name,
            input: block.input,
            label,
            since: self.now,
            refusal_text: None,
        });
    }

    /// Prints the calls that were held back to be grouped.
    pub(super) fn print_held_calls(&mut self) {
        let lines = self.calls.take_held(&self.preferences.theme);
        self.print_labelled(SpeakerLabel::Tool, lines);
    }

    fn user(&mut self, message: &UserMessage) {
        if message.is_replay && self.receive_delivered(&message.uuid) {
            return;
        }
        let Ok(EventBody { content, .. }) = serde_json::from_str(message.message.get()) else { return };
        if let Some(call) = &message.parent_tool_use_id {
            match content {
                EventContent::Text(text) => {
                    self.transcript.add_stamped(TranscriptItemKind::Prompt, &text, String::new(), Some(call));
                }
                EventContent::Blocks(blocks) => self.record_agent_message(call, &blocks),
            }
            return;
        }
        if message.is_replay {
            self.record_resumed(&message.session_id);
        }
        let blocks = match content {
            EventContent::Text(text) if message.is_replay => return self.earlier_prompt(&text),
            EventContent::Text(text) => return self.show_injected(&text),
            EventContent::Blocks(blocks) => blocks,
        };
        for block in blocks {
            match block.kind.as_str() {
                "tool_result" => {
                    let detail = message.tool_use_result.as_ref();
                    let detail = detail.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
                    let outcome = CallOutcome { text: result_text(&block.content), is_error: block.is_error, detail };
                    self.finish_call(&block.tool_use_id, &outcome);
                }
                "text" if message.is_replay => self.earlier_prompt(&block.text),
                "text" => self.show_injected(&block.text),
                _ => {}
            }
        }
    }

    /// Prints a prompt of a resumed conversation. Texts that begin with a tag come from programs and are skipped.
    fn earlier_prompt(&mut self, text: &str) {
        if text.starts_with("[Request interrupted") || text.starts_with('<') {
            return;
        }
        self.print_held_calls();
        let lines = text.lines().count();
        if lines <= EARLIER_ROWS + 1 {
            return self.print_prompt(text);
        }
        // A long text is probably a paste, so only its beginning is shown.
        let first: Vec<&str> = text.lines().take(EARLIER_ROWS).collect();
        self.print_prompt_as(text, &format!("{}\n… +{} lines", first.join("\n"), lines - EARLIER_ROWS));
    }

    /// Prints a text that the engine inserted into the conversation.
    fn show_injected(&mut self, text: &str) {
        if text.starts_with("[Request interrupted") {
            // A refusal ends the turn as well; the row of the call already shows it.
            let by_key = self.turn.as_ref().is_none_or(|turn| turn.waits == TurnWait::Interrupting);
            let question =
                if by_key { "Interrupted. What should be done instead?" } else { "What should be done instead?" };
            self.note(question, ThemeToken::Error);
        } else if let Some(output) = text_between(text, "<local-command-stdout>", "</local-command-stdout>") {
            self.note(output, ThemeToken::Text);
        } else if let Some(output) = text_between(text, "<local-command-stderr>", "</local-command-stderr>") {
            self.note(output, ThemeToken::Error);
        } else {
            self.transcript.note(text);
        }
    }

    fn finish_call(&mut self, id: &str, outcome: &CallOutcome) {
        let Some(call) = self.calls.close(id) else { return };
        // An agent that continues in the background keeps its row.
        if outcome.detail.get("status").and_then(Value::as_str) != Some("async_launched") {
            self.remove_agent(id);
        }
        self.ring_bell_after(self.now.saturating_sub(call.since));
        let kind = if outcome.is_error { TranscriptItemKind::Failure } else { TranscriptItemKind::Result };
        self.transcript.add(kind, &outcome.text);
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.waits != TurnWait::Interrupting) {
            turn.wait_for(self.calls.running().map_or(TurnWait::Model, |tool| TurnWait::Tool(tool.to_owned())));
        }
        let (theme, columns) = (&self.preferences.theme, self.size.columns);
        let lines = || call.lines(outcome, theme, columns);
        if self.calls.hold(&call, outcome, lines) {
            return;
        }
        // The result is shown in the todo list.
        if !outcome.is_error && todos::apply_task_call(&mut self.todos, &call.tool, &call.input, outcome) {
            return;
        }
        let lines = lines();
        self.print_held_calls();
        self.print_labelled(if outcome.is_error { SpeakerLabel::ToolError } else { SpeakerLabel::Tool }, lines);
    }

    /// Prints the calls that the end of the turn cut off.
    fn end_open_calls(&mut self) {
        self.print_held_calls();
        for call in self.calls.abandon() {
            let lines = call.interrupted_lines(&self.preferences.theme);
            self.print_labelled(SpeakerLabel::ToolError, lines);
        }
    }

    fn result(&mut self, result: &TurnResult) {
        self.end_open_calls();
        let look = look!(self);
        if !self.reply.is_empty()
            && let Some(part) = self.reply.abandon(&look)
        {
            self.reply_part(part);
        }
        self.session.cost_usd = result.total_cost_usd;
        self.session.is_unsaved = !result.warnings.is_empty();
        if let Some(usage) = self.session.model.as_ref().and_then(|model| result.model_usage.get(model)) {
            self.session.context_window = usage.context_window;
        }
        // An interruption was already shown where it happened.
        let is_shown_already = matches!(result.terminal_reason, Some("aborted_streaming" | "aborted_tools"));
        for error in result.errors.iter().flatten().filter(|_| !is_shown_already) {
            self.note(error, ThemeToken::Error);
        }
        if let Some(mut turn) = self.turn.take() {
            if turn.waits == TurnWait::Interrupting {
                self.return_prompt(&mut turn);
            }
            let took = self.now.saturating_sub(turn.started);
            if took >= Duration::from_secs(30) {
                self.print_block(vec![StyledLine::styled(
                    format!("∗ {}", super::spinner::elapsed(took)),
                    self.preferences.theme.fg(ThemeToken::Inactive),
                )]);
            }
        }
        self.keep_background_agents();
        self.status.schedule_always(self.now);
        self.hook_statuses.clear();
        self.alerts.start_idle(self.now);
        self.mark(super::ScreenReaderMark::Over);
        self.ring_bell();
        self.continue_queue(result.user_message_uuid.as_deref());
    }

    fn system(&mut self, body: SystemBody) {
        match body {
            SystemBody::Status { status, permission_mode, compact_result: _, compact_error, .. } => {
                if let Some(mode) = permission_mode.and_then(PermissionMode::parse) {
                    self.session.mode = mode;
                }
                if let Some(error) = compact_error {
                    self.note(&error, ThemeToken::Error);
                }
                if let Some(turn) = &mut self.turn {
                    turn.wait_for(match status {
                        Some("compacting") => TurnWait::Compacting,
                        Some(_) | None => TurnWait::Model,
                    });
                }
            }
            SystemBody::ApiRetry { attempt, max_retries, retry_delay_ms, .. } => {
                let until = self.now + Duration::from_millis(retry_delay_ms);
                if let Some(turn) = &mut self.turn {
                    turn.wait_for(TurnWait::Retry { until, attempt, of: max_retries });
                }
            }
            SystemBody::CompactBoundary { .. } => {
                self.status.schedule_if_configured(self.now);
                self.note("The conversation was compacted.", ThemeToken::Inactive);
            }
            SystemBody::TaskStarted(started) => {
                self.agents.record_start(&started, self.now);
                let name = match started.subagent_type {
                    Some(kind) => format!("{kind}: {}", started.description),
                    None => started.description,
                };
                self.session.agent_names.insert(started.task_id, name);
            }
            SystemBody::TaskProgress(progress) => self.agents.record_progress(&progress),
            SystemBody::TaskUpdated { task_id, patch, .. } if patch.end_time.is_some() => self.remove_agent(&task_id),
            SystemBody::BackgroundTasksChanged { tasks } => {
                self.session.background = tasks.into_iter().map(BackgroundTaskRow::of).collect();
                self.tell_panels(&PanelNews::TasksChanged);
                self.keep_background_agents();
            }
            SystemBody::TaskNotification(done) => {
                self.remove_agent(&done.task_id);
                self.note(&done.summary, ThemeToken::Inactive);
            }
            SystemBody::LocalCommandOutput { content } => self.local_output(&content),
            SystemBody::CommandsChanged { commands } => self.session.learn_commands(commands),
            SystemBody::Informational { content, level } => {
                let token =
                    if level == "warning" || level == "error" { ThemeToken::Warning } else { ThemeToken::Inactive };
                self.note(&content, token);
            }
            SystemBody::SessionWritesLost { error_code, .. } => {
                let text =
                    format!("The transcript cannot be written ({error_code}). What happens now is not recorded.");
                self.note(&text, ThemeToken::Error);
            }
            // Shown by what follows them: a result, a state change or a hook's message.
            _ => {}
        }
    }
}

fn text_between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.trim().strip_prefix(start)?.strip_suffix(end)
}

#[cfg(test)]
#[path = "engine_events_tests.rs"]
mod tests;
