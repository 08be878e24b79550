//! Reads the answer of one handler. Exit code and output are read exactly as documented: exit 2 blocks, and nothing in
//! the output can undo it; with any other code the JSON decides, if there is any; plain text is context only for events
//! that allow it.

use crate::declaration::HandlerKind;
use serde_json::{Map, Value};
use wire::hooks::{BlockEffect, CommonOutput, HookEventName, Judgement};

/// How a handler ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandlerResult {
    Exited {
        code: Option<i32>,
        stdout: String,
        stderr: String,
        cut: bool,
    },
    /// An HTTP response with status 2xx, the text of an MCP tool, or the answer of a host.
    Replied {
        body: String,
    },
    /// The answer of the model of a prompt or agent handler.
    Judged {
        text: String,
    },
    /// The handler could not be started, or the other side failed.
    Failed {
        why: String,
    },
    TimedOut {
        after: std::time::Duration,
    },
    Cancelled,
    /// The host registered its callbacks again before one of them had answered.
    Superseded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookPermission {
    Allow,
    Ask,
    Defer,
    Deny,
}

impl HookPermission {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "allow" => Self::Allow,
            "ask" => Self::Ask,
            "defer" => Self::Defer,
            "deny" => Self::Deny,
            _ => return None,
        })
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Defer => "defer",
            Self::Deny => "deny",
        }
    }
}

/// The decision of a PermissionRequest handler.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestDecision {
    Allow { updated_input: Option<Value>, updated_permissions: Vec<Value> },
    Deny { message: Option<String>, interrupt: bool },
}

/// The answer of one handler, before it is merged with those of the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookAnswer {
    /// The reason of exit 2, `decision: "block"`, or a negative judgement. `None`: the handler does not block.
    pub block: Option<String>,
    /// The reason of `continue: false`; `None` without it.
    pub stop: Option<String>,
    pub message: Option<String>,
    pub context: Option<String>,
    pub permission: Option<(HookPermission, Option<String>)>,
    pub updated_input: Option<Value>,
    pub request: Option<RequestDecision>,
    pub updated_output: Option<Value>,
    pub retry: bool,
    pub initial_user_message: Option<String>,
    pub session_title: Option<String>,
    pub watch_paths: Option<Vec<String>>,
    pub reload_skills: bool,
    pub suppress_original_prompt: bool,
    pub worktree_path: Option<String>,
    /// `action` and `content` of an elicitation.
    pub action: Option<(String, Option<Value>)>,
    /// Text that is shown instead of a message.
    pub display: Option<String>,
    /// A terminal sequence as the handler wrote it; the terminal interface decides whether to send it.
    pub sequence: Option<String>,
    /// Why the handler gave no usable answer; the action continues.
    pub problem: Option<String>,
    /// Messages for the log about parts of the output that have no effect.
    pub remarks: Vec<String>,
}

impl HookAnswer {
    fn problem(text: impl Into<String>) -> Self {
        Self { problem: Some(text.into()), ..Self::default() }
    }
}

/// Converts the result of a handler into its answer.
pub fn read(event: HookEventName, kind: &HandlerKind, ran: &HandlerResult) -> HookAnswer {
    match ran {
        HandlerResult::Exited { code, stdout, stderr, cut } => {
            read_exit(event, *code, HandlerStreams { stdout, stderr, cut: *cut })
        }
        HandlerResult::Replied { body } => read_reply(event, body),
        HandlerResult::Judged { text } => read_judgement(event, kind, text),
        HandlerResult::Failed { why } => HookAnswer::problem(why.clone()),
        HandlerResult::TimedOut { after } => {
            HookAnswer::problem(format!("timed out after {} s and was stopped", seconds(*after)))
        }
        HandlerResult::Cancelled => HookAnswer::default(),
        HandlerResult::Superseded => superseded_answer(event),
    }
}

/// Blocks events that wait for a decision, because there is none; the user may try again.
fn superseded_answer(event: HookEventName) -> HookAnswer {
    let waits = matches!(
        event,
        HookEventName::PreToolUse | HookEventName::UserPromptSubmit | HookEventName::UserPromptExpansion
    );
    let text = "The host registered its hooks again before it had answered. Try again.";
    HookAnswer { block: waits.then(|| text.to_owned()), ..HookAnswer::default() }
}

fn seconds(duration: std::time::Duration) -> String {
    let text = format!("{:.1}", duration.as_secs_f64());
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[derive(Clone, Copy)]
struct HandlerStreams<'a> {
    stdout: &'a str,
    stderr: &'a str,
    cut: bool,
}

fn read_exit(event: HookEventName, code: Option<i32>, streams: HandlerStreams<'_>) -> HookAnswer {
    let HandlerStreams { stdout, stderr, cut } = streams;
    let facts = event.facts();
    let said = if facts.common == CommonOutput::NoOutput { ParsedStdout::Nothing } else { parse_stdout(stdout, cut) };
    if code == Some(2) {
        return exit_two(event, &said, stderr);
    }
    match said {
        ParsedStdout::Object(fields) => match from_json(event, &fields) {
            Ok(answer) => answer,
            Err(problem) => HookAnswer::problem(problem),
        },
        ParsedStdout::Broken(problem) => HookAnswer::problem(problem),
        ParsedStdout::Text(_) | ParsedStdout::Nothing if code != Some(0) => HookAnswer::problem(failed(code, stderr)),
        ParsedStdout::Text(text) if facts.text_is_context => {
            HookAnswer { context: Some(text), ..HookAnswer::default() }
        }
        ParsedStdout::Text(_) | ParsedStdout::Nothing => HookAnswer::default(),
    }
}

fn failed(code: Option<i32>, stderr: &str) -> String {
    let first = stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or("No stderr output");
    match code {
        Some(_) => format!("Failed with non-blocking status code: {first}"),
        None => format!("was killed by a signal: {first}"),
    }
}

fn exit_two(event: HookEventName, said: &ParsedStdout, stderr: &str) -> HookAnswer {
    let mut answer = match said {
        ParsedStdout::Object(fields) => match from_json(event, fields) {
            Ok(answer) => answer,
            Err(problem) => HookAnswer { remarks: vec![problem], ..HookAnswer::default() },
        },
        ParsedStdout::Text(_) | ParsedStdout::Nothing | ParsedStdout::Broken(_) => HookAnswer::default(),
    };
    // Exit 2 blocks even if the output allows the call.
    let denial = match answer.permission.take() {
        Some((HookPermission::Deny, reason)) => reason,
        Some(_) | None => None,
    };
    let stderr = stderr.trim();
    let own = answer.block.take().or(denial);
    let fallback = || if stderr.is_empty() { "No stderr output".to_owned() } else { stderr.to_owned() };
    match event.facts().blocks {
        BlockEffect::Nothing => answer.remarks.push(format!("exit code 2 has no effect here: {stderr}")),
        BlockEffect::TellsUser => answer.problem = Some(own.unwrap_or_else(fallback)),
        BlockEffect::Action | BlockEffect::Stopping | BlockEffect::Loop | BlockEffect::TellsModel => {
            answer.block = Some(own.unwrap_or_else(fallback));
        }
    }
    if matches!(event, HookEventName::Elicitation | HookEventName::ElicitationResult) {
        answer.action = Some(("decline".into(), None));
    }
    answer
}

/// Standard output by kind.
enum ParsedStdout {
    Nothing,
    Text(String),
    Object(Map<String, Value>),
    Broken(String),
}

fn parse_stdout(stdout: &str, cut: bool) -> ParsedStdout {
    let text = stdout.trim();
    if text.is_empty() {
        return ParsedStdout::Nothing;
    }
    if cut && text.starts_with('{') {
        return ParsedStdout::Broken("its output is too large to be read as JSON".into());
    }
    if !text.starts_with('{') || !text.ends_with('}') {
        return ParsedStdout::Text(text.to_owned());
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(fields)) => ParsedStdout::Object(fields),
        Ok(_) => ParsedStdout::Text(text.to_owned()),
        Err(error) => {
            lines(text).unwrap_or_else(|| ParsedStdout::Broken(format!("its output is not valid JSON: {error}")))
        }
    }
}

/// Several JSON lines are the hook's log and count as text, unless one of them contains an output key.
fn lines(text: &str) -> Option<ParsedStdout> {
    let objects: Option<Vec<Map<String, Value>>> = text.lines().map(|line| serde_json::from_str(line).ok()).collect();
    let ours = |object: &Map<String, Value>| object.keys().any(|key| KNOWN_KEYS.contains(&key.as_str()));
    (!objects?.iter().any(ours)).then(|| ParsedStdout::Text(text.to_owned()))
}

const KNOWN_KEYS: [&str; 10] = [
    "continue",
    "stopReason",
    "suppressOutput",
    "systemMessage",
    "terminalSequence",
    "decision",
    "reason",
    "hookSpecificOutput",
    "async",
    "asyncTimeout",
];
/// Keys that users put at the top level although they have an effect only inside `hookSpecificOutput`.
const MISPLACED_KEYS: [&str; 5] =
    ["additionalContext", "permissionDecision", "permissionDecisionReason", "updatedInput", "updatedToolOutput"];

fn read_reply(event: HookEventName, body: &str) -> HookAnswer {
    match parse_stdout(body, false) {
        ParsedStdout::Nothing => HookAnswer::default(),
        ParsedStdout::Object(fields) => from_json(event, &fields).unwrap_or_else(HookAnswer::problem),
        ParsedStdout::Text(_) => HookAnswer::problem("answered with something else than a JSON object"),
        ParsedStdout::Broken(problem) => HookAnswer::problem(problem),
    }
}

/// Reads the output object; the error names the invalid field.
pub(crate) fn from_json(event: HookEventName, fields: &Map<String, Value>) -> Result<HookAnswer, String> {
    let facts = event.facts();
    let top = AnswerFields(fields);
    if top.flag("async")? == Some(true) {
        // The host continues on its own; there is no answer for this event.
        return Ok(HookAnswer::default());
    }
    let mut answer = HookAnswer { remarks: remarks(fields), ..HookAnswer::default() };
    let stops = top.flag("continue")? == Some(false);
    let reason = top.text("stopReason")?;
    top.flag("suppressOutput")?;
    if stops && facts.common == CommonOutput::Both {
        answer.stop = Some(reason.unwrap_or_default());
    }
    let message = top.text("systemMessage")?;
    if matches!(facts.common, CommonOutput::Both | CommonOutput::MessageOnly) {
        answer.message = message;
    }
    answer.sequence = top.text("terminalSequence")?.filter(|text| !text.is_empty());
    let reason = top.text("reason")?;
    match top.text("decision")?.as_deref() {
        None => {}
        Some("block") => decide_block(event, reason, &mut answer),
        Some("approve") if event == HookEventName::PreToolUse => {
            answer.permission = Some((HookPermission::Allow, reason));
        }
        Some("approve") => answer.remarks.push("decision \"approve\" means nothing here".into()),
        Some(other) => return Err(format!("decision must be \"block\", not {other:?}")),
    }
    match fields.get("hookSpecificOutput") {
        None | Some(Value::Null) => {}
        Some(Value::Object(own)) => specific(event, own, &mut answer)?,
        Some(_) => return Err("hookSpecificOutput must be an object".into()),
    }
    Ok(answer)
}

fn decide_block(event: HookEventName, reason: Option<String>, answer: &mut HookAnswer) {
    let text = reason.unwrap_or_else(|| "Blocked by hook".into());
    match (event, event.facts().blocks) {
        (HookEventName::PreToolUse, _) => answer.permission = Some((HookPermission::Deny, Some(text))),
        (_, BlockEffect::Nothing | BlockEffect::TellsUser) => {
            answer.remarks.push("decision \"block\" has no effect here".into());
        }
        (_, BlockEffect::Action | BlockEffect::Stopping | BlockEffect::Loop | BlockEffect::TellsModel) => {
            answer.block = Some(text);
        }
    }
}

fn remarks(fields: &Map<String, Value>) -> Vec<String> {
    let remark = |key: &String| {
        if MISPLACED_KEYS.contains(&key.as_str()) {
            return Some(format!("{key} has no effect at the top; it belongs into hookSpecificOutput"));
        }
        (!KNOWN_KEYS.contains(&key.as_str())).then(|| format!("{key} is not a known field"))
    };
    fields.keys().filter_map(remark).collect()
}

fn specific(event: HookEventName, own: &Map<String, Value>, answer: &mut HookAnswer) -> Result<(), String> {
    let own_fields = AnswerFields(own);
    match own_fields.text("hookEventName")?.as_deref() {
        Some(name) if name == event.as_str() => {}
        Some(name) => return Err(format!("hookEventName is {name:?}, but the event is {}", event.as_str())),
        None => return Err("hookSpecificOutput lacks hookEventName".into()),
    }
    let context = own_fields.text("additionalContext")?.filter(|text| !text.is_empty());
    if takes_context(event) {
        answer.context = context;
    } else if context.is_some() {
        answer.remarks.push("additionalContext has no effect here".into());
    }
    if matches!(event, HookEventName::PreToolUse | HookEventName::PreModelSwitch) {
        permission(&own_fields, answer)?;
    }
    answer.updated_input = own_fields.object("updatedInput")?.filter(|_| event == HookEventName::PreToolUse);
    if event == HookEventName::PermissionRequest {
        answer.request = request(own)?;
    }
    if event == HookEventName::PostToolUse {
        let output = own.get("updatedToolOutput").or_else(|| own.get("updatedMCPToolOutput"));
        answer.updated_output = output.filter(|value| !value.is_null()).cloned();
    }
    answer.retry = own_fields.flag("retry")? == Some(true);
    answer.initial_user_message = own_fields.text("initialUserMessage")?;
    answer.session_title = own_fields.text("sessionTitle")?;
    answer.watch_paths = own_fields.texts("watchPaths")?;
    answer.reload_skills = own_fields.flag("reloadSkills")? == Some(true);
    answer.suppress_original_prompt = own_fields.flag("suppressOriginalPrompt")? == Some(true);
    answer.worktree_path = own_fields.text("worktreePath")?;
    answer.display = own_fields.text("displayContent")?.filter(|_| event == HookEventName::MessageDisplay);
    if let Some(action) = own_fields.text("action")? {
        answer.action = Some((action, own.get("content").cloned()));
    }
    Ok(())
}

fn takes_context(event: HookEventName) -> bool {
    matches!(
        event,
        HookEventName::PreToolUse
            | HookEventName::PostToolUse
            | HookEventName::PostToolUseFailure
            | HookEventName::PostToolBatch
            | HookEventName::UserPromptSubmit
            | HookEventName::UserPromptExpansion
            | HookEventName::SessionStart
            | HookEventName::SubagentStart
            | HookEventName::Stop
            | HookEventName::SubagentStop
            | HookEventName::PostModelSwitch
    )
}

fn permission(own: &AnswerFields<'_>, answer: &mut HookAnswer) -> Result<(), String> {
    let reason = own.text("permissionDecisionReason")?;
    match own.text("permissionDecision")? {
        None => {}
        Some(text) => {
            let permission = HookPermission::parse(&text).ok_or(format!("permissionDecision {text:?} is not known"))?;
            // A `block` in the same output is a deny, and a deny is never weakened.
            let before = answer.permission.take();
            let stricter = before.filter(|(before, _)| *before > permission);
            answer.permission = stricter.or(Some((permission, reason)));
        }
    }
    Ok(())
}

fn request(own: &Map<String, Value>) -> Result<Option<RequestDecision>, String> {
    let decision = match own.get("decision") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(decision)) => decision,
        Some(_) => return Err("decision must be an object".into()),
    };
    let fields = AnswerFields(decision);
    match fields.text("behavior")?.as_deref() {
        Some("allow") => {
            let updated_permissions = match decision.get("updatedPermissions") {
                None | Some(Value::Null) => Vec::new(),
                Some(Value::Array(updates)) => updates.clone(),
                Some(_) => return Err("updatedPermissions must be a list".into()),
            };
            let updated_input = fields.object("updatedInput")?;
            Ok(Some(RequestDecision::Allow { updated_input, updated_permissions }))
        }
        Some("deny") => {
            let interrupt = fields.flag("interrupt")? == Some(true);
            Ok(Some(RequestDecision::Deny { message: fields.text("message")?, interrupt }))
        }
        other => Err(format!("behavior must be \"allow\" or \"deny\", not {other:?}")),
    }
}

fn read_judgement(event: HookEventName, kind: &HandlerKind, text: &str) -> HookAnswer {
    let Some(judgement) = judgement(text) else {
        return HookAnswer::problem("the model did not answer with {\"ok\": …}");
    };
    if judgement.ok {
        return HookAnswer::default();
    }
    let reason = judgement.reason.unwrap_or_else(|| "The hook's condition is not met".into());
    let goes_on = match kind {
        HandlerKind::Prompt(ask) => ask.continue_on_block,
        HandlerKind::Agent(_)
        | HandlerKind::Command(_)
        | HandlerKind::Http(_)
        | HandlerKind::McpTool(_)
        | HandlerKind::Callback { .. } => true,
    };
    let mut answer = HookAnswer::default();
    match event {
        HookEventName::Stop | HookEventName::SubagentStop if judgement.impossible => answer.remarks.push(reason),
        HookEventName::PermissionRequest | HookEventName::PermissionDenied => answer.remarks.push(reason),
        HookEventName::PreToolUse => {
            answer.stop = (!goes_on).then(|| reason.clone());
            answer.permission = Some((HookPermission::Deny, Some(reason)));
        }
        HookEventName::PostToolUse => {
            answer.stop = (!goes_on).then(|| reason.clone());
            answer.block = Some(reason);
        }
        HookEventName::PostToolBatch | HookEventName::UserPromptSubmit | HookEventName::UserPromptExpansion => {
            answer.stop = Some(reason.clone());
            answer.block = Some(reason);
        }
        _ => answer.block = Some(reason),
    }
    answer
}

/// The JSON object in the model's text: from the first `{` to the last `}`. `None` when that is not a judgement.
fn judgement(text: &str) -> Option<Judgement> {
    let start = text.find('{')?;
    let end = text.rfind('}')?;
    serde_json::from_str(text.get(start..=end)?).ok()
}

struct AnswerFields<'a>(&'a Map<String, Value>);

impl AnswerFields<'_> {
    fn text(&self, name: &str) -> Result<Option<String>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("{name} must be a string")),
        }
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(on)) => Ok(Some(*on)),
            Some(_) => Err(format!("{name} must be true or false")),
        }
    }

    fn object(&self, name: &str) -> Result<Option<Value>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value @ Value::Object(_)) => Ok(Some(value.clone())),
            Some(_) => Err(format!("{name} must be an object")),
        }
    }

    fn texts(&self, name: &str) -> Result<Option<Vec<String>>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(entries)) => {
                let texts: Option<Vec<String>> = entries.iter().map(|e| e.as_str().map(str::to_owned)).collect();
                texts.map(Some).ok_or(format!("{name} must hold strings"))
            }
            Some(_) => Err(format!("{name} must be a list of strings")),
        }
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
