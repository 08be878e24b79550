//! Converts a stored conversation into the history that is sent: the same blocks, byte for byte, regardless of which
//! program wrote them.

use crate::cache_watch::ResumedPrompt;
use crate::carried::CarriedRecord;
use crate::history::HistoryPart;
use crate::mcp::RestoredServers;
use crate::messages::attachment::LATEST_WORDS;
use crate::messages::plain_text;
use crate::prompts;
use model::{Fragment, Message, Role};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{BTreeSet, HashSet};
use store::resume::EntryKind;
use store::{LoadedConversation, LoadedEntry};
use wire::block::{BlockHead, MessageContent, tool_result};
use wire::entry::ResultReplacement;

/// The state a resumed session starts with.
#[derive(Default)]
pub struct RestoredConversation {
    /// Each turn with the uuid of its line, in the order of the file.
    pub history: Vec<(Message, HistoryPart, String)>,
    /// The date that was last sent to the model.
    pub sent_date: Option<String>,
    pub is_context_sent: bool,
    /// Lines of the skill listing that were sent.
    pub sent_skill_lines: Vec<String>,
    /// What the conversation contains about MCP servers.
    pub servers: RestoredServers,
    /// The last request of the conversation.
    pub last_prompt: Option<ResumedPrompt>,
    /// What the last compaction carried on.
    pub carried: CarriedRecord,
    /// Ids of the calls that the person refused.
    pub refused: BTreeSet<String>,
}

/// Builds the history. Each body is dropped after its conversion, so that a long conversation is never in memory
/// twice. The entries stay, because a fork needs their positions in the file.
pub fn restore(loaded: &mut LoadedConversation) -> RestoredConversation {
    let carried = CarriedRecord::read(loaded.boundary.as_ref().and_then(|at| at.metadata.as_deref()));
    let mut restored = RestoredConversation { carried, ..RestoredConversation::default() };
    let LoadedConversation { entries, replacements, .. } = loaded;
    let local = local_commands(entries);
    let is_answer = |entry: &&LoadedEntry| entry.kind == EntryKind::Assistant && !entry.is_retracted;
    let last = entries.iter().rev().find(is_answer);
    restored.last_prompt =
        last.and_then(|entry| ResumedPrompt::read(entry.body.as_deref()?, entry.timestamp.as_deref()));
    for (at, entry) in entries.iter_mut().enumerate() {
        if entry.is_retracted || local.contains(&at) {
            entry.body = None;
            continue;
        }
        match entry.kind {
            EntryKind::User => {
                if let Some(body) = entry.body.as_deref().filter(|_| entry.is_tool_result()) {
                    restored.servers.record_result(body);
                }
                if entry.is_refusal {
                    restored.refused.extend(entry.calls.iter().map(ToString::to_string));
                }
                restored.extend(entry, part_of(entry), user(entry, replacements));
            }
            EntryKind::Assistant => restored.extend(entry, HistoryPart::Other, assistant(entry)),
            EntryKind::Attachment => attachment(entry, &mut restored),
            EntryKind::System => {}
        }
        entry.body = None;
    }
    restored
}

/// The indexes of commands whose output was only for people: the command before its `local_command` line, and the
/// caveat before that. They were never sent to the model.
pub(crate) fn local_commands(entries: &[LoadedEntry]) -> HashSet<usize> {
    let says = |at: usize, tag: &str| {
        let entry = entries.get(at).filter(|entry| entry.kind == EntryKind::User);
        let content = entry.and_then(LoadedEntry::message).and_then(|message| message.content);
        content.is_some_and(|content| plain_text(content).starts_with(tag))
    };
    let mut local = HashSet::new();
    for (at, entry) in entries.iter().enumerate() {
        let is_output = entry.kind == EntryKind::System && entry.subtype.as_deref() == Some("local_command");
        let Some(command) = at.checked_sub(1).filter(|at| is_output && says(*at, "<command-name>")) else { continue };
        local.insert(command);
        local.extend(command.checked_sub(1).filter(|at| says(*at, "<local-command-caveat>")));
    }
    local
}

impl RestoredConversation {
    fn extend(&mut self, entry: &LoadedEntry, part: HistoryPart, turn: Option<Message>) {
        self.history.extend(turn.map(|turn| (turn, part, entry.uuid.to_string())));
    }

    /// Adds a text that was sent beside a prompt.
    fn push_before_prompt(&mut self, entry: &LoadedEntry, text: &str) {
        self.extend(entry, HistoryPart::Beside, Some(Message::user_text(text)));
    }
}

/// The part of a user entry, as in the live conversation.
fn part_of(entry: &LoadedEntry) -> HistoryPart {
    let is_notice = || {
        let content = entry.message().and_then(|message| message.content);
        content.is_some_and(|content| prompts::is_task_notice(&plain_text(content)))
    };
    if entry.is_compact_summary {
        return HistoryPart::Summary;
    }
    if entry.is_tool_result() {
        return HistoryPart::Other;
    }
    match entry.is_meta {
        true if is_notice() => HistoryPart::Beside,
        true => HistoryPart::Other,
        false if !entry.is_prompt && is_of_program(entry) => HistoryPart::Other,
        false => HistoryPart::Prompt,
    }
}

/// Commands that ran here, their output, and marks of interrupts: the person sees them and did not type them.
fn is_of_program(entry: &LoadedEntry) -> bool {
    let content = entry.message().and_then(|message| message.content);
    let text = content.map(plain_text).unwrap_or_default();
    ["<local-command-", "<command-", "<bash-", "[Request interrupted"].iter().any(|mark| text.starts_with(mark))
}

fn raw(text: &str) -> Option<&RawValue> {
    serde_json::from_str(text).ok()
}

fn user(entry: &LoadedEntry, replacements: &[ResultReplacement]) -> Option<Message> {
    let mut turn = Message::from_content(Role::User, entry.message()?.content?);
    if entry.is_tool_result() && !replacements.is_empty() {
        for block in &mut turn.blocks {
            if let Some(short) = replaced(block, replacements) {
                *block = short;
            }
        }
    }
    Some(turn)
}

/// A large result that was already sent in a short form stays short, so that the prompt cache still matches.
fn replaced(block: &Fragment, replacements: &[ResultReplacement]) -> Option<Fragment> {
    let BlockHead::ToolResult { tool_use_id } = BlockHead::read(block.raw())? else { return None };
    let found = replacements.iter().rev().find(|r| r.tool_use_id == tool_use_id)?;
    let short = tool_result(&tool_use_id, &MessageContent::Text(found.replacement.clone()), false).ok()?;
    Some(Fragment::new(short))
}

/// Error messages of our own are not the model's and are never sent.
fn assistant(entry: &LoadedEntry) -> Option<Message> {
    let model = entry.model.as_deref().unwrap_or_default();
    if entry.is_api_error || model == "<synthetic>" {
        return None;
    }
    let blocks = Message::from_content(Role::Assistant, entry.message()?.content?).blocks;
    Some(Message::assistant(model, blocks))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredAttachment<'a> {
    #[serde(default)]
    agent_type: Option<String>,
    #[serde(rename = "type", default)]
    kind: String,
    /// A string in the kinds we read; a list in others.
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    hook_name: Option<String>,
    #[serde(default)]
    new_date: Option<String>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    filename: Option<String>,
    /// A prompt that was typed while a turn ran: text or blocks.
    #[serde(borrow, default)]
    prompt: Option<&'a RawValue>,
}

/// Restores the attachments we know; others are notes of the program that wrote them.
fn attachment(entry: &LoadedEntry, restored: &mut RestoredConversation) {
    let Some(body) = entry.body.as_deref().and_then(raw) else { return };
    let Ok(attached) = serde_json::from_str::<StoredAttachment<'_>>(body.get()) else { return };
    if let Some(text) = restored.servers.read_attachment(&attached.kind, body) {
        return restored.push_before_prompt(entry, &text);
    }
    if let ("hook_additional_context" | "hook_blocking_error", Some(content)) =
        (attached.kind.as_str(), attached.content)
    {
        let say = if attached.kind == "hook_blocking_error" { prompts::hook_feedback } else { prompts::hook_context };
        let hook = attached.hook_name.unwrap_or_default();
        for text in texts(content) {
            restored.push_before_prompt(entry, &say(&hook, &text));
        }
        return;
    }
    if let Some(text) = attached.content.and_then(|content| serde_json::from_str::<String>(content.get()).ok()) {
        match (attached.kind.as_str(), &attached.path, &attached.filename) {
            ("skill_listing", ..) => return listing(entry, &text, restored),
            ("nested_memory", Some(path), _) => {
                return restored.push_before_prompt(entry, &prompts::nested_memory(path, &text));
            }
            ("file", _, Some(path)) => {
                return restored.push_before_prompt(entry, &prompts::attached_file(path, &text));
            }
            _ => {}
        }
    }
    if let ("agent_mention", Some(agent_type)) = (attached.kind.as_str(), &attached.agent_type) {
        return restored.push_before_prompt(entry, &prompts::agent_mention(agent_type));
    }
    match (attached.kind.as_str(), attached.content, attached.new_date, attached.prompt) {
        ("x_session_context", Some(content), ..) => {
            let Ok(text) = serde_json::from_str::<String>(content.get()) else { return };
            restored.is_context_sent = true;
            restored.sent_date = date_in(&text).or(restored.sent_date.take());
            restored.push_before_prompt(entry, &text);
        }
        (kind, Some(content), ..)
            if kind.starts_with("x_") || kind.starts_with("plan_") || kind == "unknown_command_fallback" =>
        {
            let text = serde_json::from_str::<String>(content.get()).ok();
            let part = if kind == LATEST_WORDS { HistoryPart::Repeated } else { HistoryPart::Beside };
            restored.extend(entry, part, text.map(|text| Message::user_text(&text)));
        }
        ("date_change", _, Some(date), _) => {
            restored.push_before_prompt(entry, &prompts::date_change(&date));
            restored.sent_date = Some(date);
        }
        ("queued_command", .., Some(prompt)) => {
            restored.extend(entry, HistoryPart::Joined, Some(Message::from_content(Role::User, prompt)));
        }
        _ => {}
    }
}

fn listing(entry: &LoadedEntry, text: &str, restored: &mut RestoredConversation) {
    restored.push_before_prompt(entry, &prompts::reminder(text));
    let gone: Vec<&str> =
        text.lines().filter_map(|l| l.strip_prefix(prompts::SKILLS_GONE)).flat_map(|l| l.split(", ")).collect();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("- ")).collect();
    let name = |line: &str| line[2..].split_once(": ").map_or(line[2..].to_owned(), |(name, _)| name.to_owned());
    let fresh: Vec<String> = lines.iter().map(|line| name(line)).collect();
    restored.sent_skill_lines.retain(|line| !fresh.contains(&name(line)) && !gone.contains(&name(line).as_str()));
    restored.sent_skill_lines.extend(lines.into_iter().map(str::to_owned));
}

/// A string, or a list of them.
fn texts(content: &RawValue) -> Vec<String> {
    let one = serde_json::from_str::<String>(content.get()).map(|text| vec![text]);
    one.or_else(|_| serde_json::from_str(content.get())).unwrap_or_default()
}

fn date_in(context: &str) -> Option<String> {
    let rest = context.split_once("Today's date is ")?.1;
    Some(rest.split_once(".\n")?.0.to_owned())
}
