//! What the engine tells, turned into state and finished lines. The engine speaks to us as to any host: the typed
//! messages of the protocol, and control lines as text.

mod control;

use super::Effect;
use super::calls::OpenCall;
use super::panel::Awaited;
use super::reply::Part;
use super::session::{Background, SlashCommand};
use super::spinner::Waits;
use super::tools::{self, Outcome};
use super::transcript::Kind;
use super::{App, todos};
use crate::reader::Label;
use crate::style::Line;
use crate::theme::Token;
use engine::{Aside, Event};
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::time::Duration;
use wire::mode::PermissionMode;
use wire::sdk::{Assistant, Init, Message, StreamEvent, SystemBody, TurnResult, User};

/// Lines of a prompt of a resumed conversation that are shown.
const EARLIER_ROWS: usize = 8;

/// The few fields of an API event that are shown.
#[derive(Deserialize)]
struct ApiEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    content_block: Option<Started<'a>>,
    #[serde(default)]
    usage: Option<OutputUsage>,
    #[serde(default)]
    message: Option<StartedMessage>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    thinking: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    partial_json: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Started<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct OutputUsage {
    #[serde(default)]
    output_tokens: u64,
}

#[derive(Deserialize)]
struct StartedMessage {
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
struct Body {
    #[serde(default)]
    content: Content,
    #[serde(default)]
    model: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

impl Default for Content {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

#[derive(Deserialize)]
struct Block {
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

/// Text of a tool result: a string, or its text blocks.
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

/// `App::look` on its own fields, so that others can be changed meanwhile.
macro_rules! look {
    ($app:expr) => {
        crate::markdown::Look {
            theme: &$app.preferences.theme,
            // Tables as `header: value`, no rules.
            columns: if $app.preferences.reader.is_some() { 0 } else { $app.size.columns },
            syntax: $app.preferences.syntax,
        }
    };
}

impl App {
    pub(super) fn event(&mut self, event: Event) {
        if let Some(turn) = &mut self.turn {
            turn.heard_at = self.now;
        }
        match event {
            Event::Message(message) => self.message(message),
            Event::Control(line) => self.control_line(&line),
            Event::Notice(text) => self.note(&text, Token::Warning),
            Event::Fault(text) => self.note(&text, Token::Error),
            Event::Refused(error) => {
                self.note(&error.message, Token::Error);
                self.effects.push(super::Effect::Exit);
            }
            Event::Aside(aside) => self.aside(aside),
            Event::Mirror(_) | Event::Dropped(_) => {}
        }
    }

    fn aside(&mut self, aside: Aside) {
        match aside {
            Aside::Doing { id, text } => self.doing.push((id, crate::text::clean(&text).replace('\n', " "))),
            Aside::Done { id } => self.doing.retain(|(known, _)| *known != id),
            Aside::Display(text) => self.display = Some(text),
            // Nothing is waited for while the screen is there.
            Aside::Waiting(_) => {}
            Aside::Sequence(sequence) => self.effects.push(super::Effect::Sequence(sequence)),
        }
    }

    fn message(&mut self, message: Message) {
        match message {
            Message::Init(init) => self.init(&init),
            Message::StreamEvent(event) => self.stream(&event),
            Message::Assistant(message) => {
                self.assistant(&message);
                self.status.changed(self.now);
            }
            Message::User(message) => self.user(&message),
            Message::Result(result) => self.result(&result),
            Message::System(system) => self.system(system.body),
            Message::ToolProgress(_) => {}
            Message::Reset(_) => self.reset(),
        }
    }

    fn init(&mut self, init: &Init) {
        self.session.id = Some(init.session_id.clone());
        self.session.model = Some(init.model.clone());
        // The first one tells the real name of the place; a later one, that it is another.
        let was_placed = std::mem::replace(&mut self.session.is_placed, true);
        if was_placed && self.session.cwd != init.cwd {
            self.effects.push(Effect::Moved { session: init.session_id.clone(), cwd: init.cwd.clone() });
            self.learn_place();
        }
        if let Some(mode) = PermissionMode::parse(init.permission_mode) {
            self.session.mode = mode;
        }
        self.session.cwd.clone_from(&init.cwd);
        if self.session.commands.is_empty() {
            let command = |name: &String| SlashCommand { name: name.clone(), ..SlashCommand::default() };
            self.session.commands = super::local::with_own(init.slash_commands.iter().map(command).collect());
        }
    }

    /// Commands, agents and settings are those of another place.
    fn learn_place(&mut self) {
        self.request(&json!({"subtype": "reload_plugins"}), Awaited::Place);
        self.ask_settings();
        self.status.changed(self.now);
    }

    /// Another conversation begins behind the same pair of channels.
    fn reset(&mut self) {
        self.transcript.clear();
        self.todos.clear();
        self.agents = super::agents::Agents::default();
        self.status.changed(self.now);
        self.session.cost_usd = 0.0;
        self.session.context_used = 0;
        self.note("A new conversation.", Token::Inactive);
        if let Some(carried) = self.carried.take() {
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
                turn.spoke = true;
                match event.content_block.as_ref().map(|block| &*block.kind) {
                    Some("thinking" | "redacted_thinking") => {
                        turn.thinking_since = Some(now);
                        turn.wait_for(Waits::Thinking);
                    }
                    Some(_) | None => turn.wait_for(Waits::Writing),
                }
            }
            "content_block_delta" => self.delta(event.delta),
            "content_block_stop" => {
                if let Some(since) = turn.thinking_since.take() {
                    turn.thought += now.saturating_sub(since);
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

    fn delta(&mut self, delta: Option<Delta<'_>>) {
        let (Some(delta), Some(turn)) = (delta, &mut self.turn) else { return };
        let size =
            [&delta.text, &delta.thinking, &delta.partial_json].into_iter().flatten().map(|t| t.len()).sum::<usize>();
        // An estimate until the provider counts.
        turn.tokens_now += (size as u64).div_ceil(4);
        if let Some(text) = delta.text {
            turn.wait_for(Waits::Writing);
            self.reply.push(&text);
            let look = look!(self);
            if let Some(part) = self.reply.take_closed(&look) {
                self.reply_part(part);
            }
        }
    }

    fn reply_part(&mut self, part: Part) {
        match part {
            Part::Begins(lines) => {
                self.print_held();
                self.say(Label::Claude, lines);
            }
            Part::Continues(lines) if self.is_spoken() => self.say(Label::None, lines),
            Part::Continues(lines) => self.continue_cell(lines),
        }
    }

    fn assistant(&mut self, message: &Assistant) {
        let Ok(Body { content: Content::Blocks(blocks), model }) = serde_json::from_str(message.message.get()) else {
            return;
        };
        if let Some(call) = &message.parent_tool_use_id {
            return self.agent_said(call, &blocks);
        }
        let time = message.timestamp.get(11..19).unwrap_or_default();
        let stamp = format!("{time} · {model}");
        for block in blocks {
            match block.kind.as_str() {
                "text" if message.is_api_error_message => self.note(&block.text, Token::Error),
                // `/context` is Markdown, shown as an answer is.
                "text" if message.local_command_run.is_some() && message.context_usage.is_none() => {
                    self.local_output(&block.text);
                }
                "text" => {
                    self.transcript.add_stamped(Kind::Reply, &block.text, stamp.clone(), None);
                    let shown = self.display.take().unwrap_or(block.text);
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

    /// One line stays of it; the detailed view has the text, where the provider sent one.
    fn thought(&mut self, text: &str, took_ms: Option<u64>) {
        let text = text.trim();
        let first = text.lines().next().unwrap_or_default();
        let took = took_ms.map(|ms| format!("Thought for {} s", ms.div_ceil(1_000).max(1)));
        if self.is_spoken() {
            let words = if first.is_empty() { took.unwrap_or_default() } else { crate::text::clean(first) };
            if !words.is_empty() {
                self.say(Label::Thinking, vec![Line::plain(words)]);
            }
        } else if let Some(took) = took {
            let more = if first.is_empty() { "" } else { " · ctrl+o" };
            let style = self.preferences.theme.fg(Token::Inactive);
            self.print_held();
            self.say(Label::Thinking, vec![Line::styled(format!("∴ {took}{more}"), style)]);
        }
        if !text.is_empty() {
            self.transcript.add(Kind::Thinking, text);
        }
    }

    /// What a command that ran here said.
    fn local_output(&mut self, content: &str) {
        self.transcript.add(Kind::Result, content);
        let content = crate::text::clean(content);
        let lines = crate::style::lines_of(content.trim_end(), crate::style::Style::PLAIN);
        let lines = tools::hung(lines, &self.preferences.theme);
        if self.is_spoken() {
            self.say(Label::Tool, lines);
        } else {
            self.continue_cell(lines);
        }
    }

    /// What an agent says stands in the transcript only.
    fn agent_said(&mut self, call: &str, blocks: &[Block]) {
        for block in blocks {
            let (kind, text) = match block.kind.as_str() {
                "text" => (Kind::Reply, block.text.clone()),
                "thinking" => (Kind::Thinking, block.thinking.clone()),
                "tool_use" => (Kind::Call, format!("{} {}", block.name, block.input)),
                "tool_result" if block.is_error => (Kind::Failure, result_text(&block.content)),
                "tool_result" => (Kind::Result, result_text(&block.content)),
                _ => continue,
            };
            if !text.trim().is_empty() {
                self.transcript.add_stamped(kind, &text, String::new(), Some(call));
            }
        }
    }

    fn call(&mut self, block: Block) {
        let label = tools::label(&block.name, &block.input, &self.session);
        self.transcript.add(Kind::Call, &format!("{} {}", block.name, block.input));
        if !self.calls.joins(&block.name) {
            self.print_held();
        }
        if let Some(turn) = &mut self.turn {
            turn.wait_for(Waits::Tool(block.name.clone()));
        }
        self.calls.open(OpenCall {
            id: block.id,
            tool: block.name,
            input: block.input,
            label,
            since: self.now,
            said: None,
        });
    }

    /// Reads and searches that were waiting for company.
    pub(super) fn print_held(&mut self) {
        let lines = self.calls.take_held(&self.preferences.theme);
        self.say(Label::Tool, lines);
    }

    fn user(&mut self, message: &User) {
        if message.is_replay && self.taken_up(&message.uuid) {
            return;
        }
        let Ok(Body { content, .. }) = serde_json::from_str(message.message.get()) else { return };
        if let Some(call) = &message.parent_tool_use_id {
            match content {
                Content::Text(text) => self.transcript.add_stamped(Kind::Prompt, &text, String::new(), Some(call)),
                Content::Blocks(blocks) => self.agent_said(call, &blocks),
            }
            return;
        }
        if message.is_replay {
            self.resumed(&message.session_id);
        }
        let blocks = match content {
            Content::Text(text) if message.is_replay => return self.earlier_prompt(&text),
            Content::Text(text) => return self.injected(&text),
            Content::Blocks(blocks) => blocks,
        };
        for block in blocks {
            match block.kind.as_str() {
                "tool_result" => {
                    let detail = message.tool_use_result.as_ref();
                    let detail = detail.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
                    let outcome = Outcome { text: result_text(&block.content), is_error: block.is_error, detail };
                    self.settled(&block.tool_use_id, &outcome);
                }
                "text" if message.is_replay => self.earlier_prompt(&block.text),
                "text" => self.injected(&block.text),
                _ => {}
            }
        }
    }

    /// A prompt of a resumed conversation. What programs put there begins with a tag.
    fn earlier_prompt(&mut self, text: &str) {
        if text.starts_with("[Request interrupted") || text.starts_with('<') {
            return;
        }
        self.print_held();
        let lines = text.lines().count();
        if lines <= EARLIER_ROWS + 1 {
            return self.print_prompt(text);
        }
        // A paste: what was typed showed as a label, too.
        let first: Vec<&str> = text.lines().take(EARLIER_ROWS).collect();
        self.print_prompt_as(text, &format!("{}\n… +{} lines", first.join("\n"), lines - EARLIER_ROWS));
    }

    /// Text the engine put into the conversation.
    fn injected(&mut self, text: &str) {
        if text.starts_with("[Request interrupted") {
            // A no ends the turn as well; its row has said so.
            let by_key = self.turn.as_ref().is_none_or(|turn| turn.waits == Waits::Interrupting);
            let said =
                if by_key { "Interrupted. What should be done instead?" } else { "What should be done instead?" };
            self.note(said, Token::Error);
        } else if let Some(output) = between(text, "<local-command-stdout>", "</local-command-stdout>") {
            self.note(output, Token::Text);
        } else if let Some(output) = between(text, "<local-command-stderr>", "</local-command-stderr>") {
            self.note(output, Token::Error);
        } else {
            self.transcript.note(text);
        }
    }

    fn settled(&mut self, id: &str, outcome: &Outcome) {
        let Some(call) = self.calls.close(id) else { return };
        // One that goes on in the background has a row of its own.
        if outcome.detail.get("status").and_then(Value::as_str) != Some("async_launched") {
            self.agent_ended(id);
        }
        self.ring_after(self.now.saturating_sub(call.since));
        let kind = if outcome.is_error { Kind::Failure } else { Kind::Result };
        self.transcript.add(kind, &outcome.text);
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.waits != Waits::Interrupting) {
            turn.wait_for(self.calls.running().map_or(Waits::Model, |tool| Waits::Tool(tool.to_owned())));
        }
        let (theme, columns) = (&self.preferences.theme, self.size.columns);
        let lines = || call.lines(outcome, theme, columns);
        if self.calls.hold(&call, outcome, lines) {
            return;
        }
        // Shown as the list itself.
        if !outcome.is_error && todos::follow(&mut self.todos, &call.tool, &call.input, outcome) {
            return;
        }
        let lines = lines();
        self.print_held();
        self.say(if outcome.is_error { Label::ToolError } else { Label::Tool }, lines);
    }

    /// A call without a result was cut off with the turn.
    fn cut_calls_off(&mut self) {
        self.print_held();
        for call in self.calls.abandon() {
            let lines = call.cut_off(&self.preferences.theme);
            self.say(Label::ToolError, lines);
        }
    }

    fn result(&mut self, result: &TurnResult) {
        self.cut_calls_off();
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
        // An interruption was told where it happened.
        let was_told = matches!(result.terminal_reason, Some("aborted_streaming" | "aborted_tools"));
        for error in result.errors.iter().flatten().filter(|_| !was_told) {
            self.note(error, Token::Error);
        }
        if let Some(mut turn) = self.turn.take() {
            if turn.waits == Waits::Interrupting {
                self.return_prompt(&mut turn);
            }
            let took = self.now.saturating_sub(turn.started);
            if took >= Duration::from_secs(30) {
                self.cell(vec![Line::styled(
                    format!("∗ {}", super::spinner::elapsed(took)),
                    self.preferences.theme.fg(Token::Inactive),
                )]);
            }
        }
        self.keep_background_agents();
        self.status.settings_may_differ(self.now);
        self.doing.clear();
        self.alerts.rests(self.now);
        self.mark(super::Mark::Over);
        self.ring();
        self.go_on_with_queue(result.user_message_uuid.as_deref());
    }

    fn system(&mut self, body: SystemBody) {
        match body {
            SystemBody::Status { status, permission_mode, compact_result: _, compact_error, .. } => {
                if let Some(mode) = permission_mode.and_then(PermissionMode::parse) {
                    self.session.mode = mode;
                }
                if let Some(error) = compact_error {
                    self.note(&error, Token::Error);
                }
                if let Some(turn) = &mut self.turn {
                    turn.wait_for(match status {
                        Some("compacting") => Waits::Compacting,
                        Some(_) | None => Waits::Model,
                    });
                }
            }
            SystemBody::ApiRetry { attempt, max_retries, retry_delay_ms, .. } => {
                let until = self.now + Duration::from_millis(retry_delay_ms);
                if let Some(turn) = &mut self.turn {
                    turn.wait_for(Waits::Retry { until, attempt, of: max_retries });
                }
            }
            SystemBody::CompactBoundary { .. } => {
                self.status.changed(self.now);
                self.note("The conversation was compacted.", Token::Inactive);
            }
            SystemBody::TaskStarted(started) => {
                self.agents.started(&started, self.now);
                let name = match started.subagent_type {
                    Some(kind) => format!("{kind}: {}", started.description),
                    None => started.description,
                };
                self.session.agent_names.insert(started.task_id, name);
            }
            SystemBody::TaskProgress(progress) => self.agents.progressed(&progress),
            SystemBody::TaskUpdated { task_id, patch, .. } if patch.end_time.is_some() => self.agent_ended(&task_id),
            SystemBody::BackgroundTasksChanged { tasks } => {
                self.session.background = tasks.into_iter().map(Background::of).collect();
                self.tasks_changed();
                self.keep_background_agents();
            }
            SystemBody::TaskNotification(done) => {
                self.agent_ended(&done.task_id);
                self.note(&done.summary, Token::Inactive);
            }
            SystemBody::LocalCommandOutput { content } => self.local_output(&content),
            SystemBody::CommandsChanged { commands } => self.session.learn_commands(commands),
            SystemBody::Informational { content, level } => {
                let token = if level == "warning" || level == "error" { Token::Warning } else { Token::Inactive };
                self.note(&content, token);
            }
            SystemBody::SessionWritesLost { error_code, .. } => {
                let text =
                    format!("The transcript cannot be written ({error_code}). What happens now is not recorded.");
                self.note(&text, Token::Error);
            }
            // Told by what follows them: a result, a state, a hook's own message.
            _ => {}
        }
    }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.trim().strip_prefix(start)?.strip_suffix(end)
}

#[cfg(test)]
#[path = "feed_tests.rs"]
mod tests;
