//! Turns a `tool_use` block into a call that may run: finds the tool, parses the input, decides, and asks the host
//! where the decision is to ask. A prepared call never returns to this phase.

use super::advice::{nobody_advice, refusal_advice};
use super::{inspect, interact};
use crate::session::SessionIo;
use crate::session::hooks::{HookRuling, RulingKind, UndecidedCall};
use crate::tool_facts::tool_facts;
use futures_util::future::BoxFuture;
use hooks::RequestDecision;
use permission::{
    CommandConfinement, DecisionReason, GitGuard, PathFacts, PermissionDecision, PermissionQuery, PermissionRefusal,
};
use serde_json::value::RawValue;
use session_parts::command::Event;
use session_parts::permission_prompt::{self, AfterDenial, PermissionChannel, PermissionQuestion, PermissionReply};
use session_parts::sandbox::{self, CommandPlacement, PreparedSandbox, SessionSandbox};
use session_parts::tool_use::ToolUse;
use std::fmt::Write;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tools::facts::ToolConfinement;
use tools::sandbox::CommandSandbox;
use tools::{CallConcurrency, CallContext, PathDiscovery, ToolCall, ToolOutcome, Workspace};
use tools::{masked_calls, normal_form};
use wire::control::{CommandPart, PermissionUpdate};
use wire::entry::RecordedDecision;
use wire::hooks::HookEventName;
use wire::mode::PermissionMode;
use wire::sdk::{PermissionDenial, SystemBody};

pub(super) enum PreparedCall {
    Ready(Box<dyn ToolCall>, CallContext, CallVerdict),
    Settled(ToolOutcome),
    Refused(ToolOutcome, CallVerdict),
    /// A hook deferred the call to a later run: there is no result.
    Deferred,
    /// The host was asked; `apply_reply` continues with its reply.
    Asking(Box<PendingCall>, BoxFuture<'static, PermissionReply>),
}

/// Why a call did not run, on the line of its result: a person refused it.
const REFUSED_BY_PERSON: &str = "user-rejected";

/// Who allowed or refused a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallVerdict {
    pub(super) decision: RecordedDecision,
    /// Why it did not run; `None` when it was allowed.
    pub(super) denial: Option<&'static str>,
    pub(super) sandboxed: bool,
}

impl CallVerdict {
    /// Whether a person refused the call.
    pub(super) fn is_by_person(self) -> bool {
        self.denial == Some(REFUSED_BY_PERSON)
    }

    fn refused(source: &'static str, reason: Option<&DecisionReason>) -> Self {
        let reason_type = reason.map(DecisionReason::kind);
        let denial = match source {
            "user_reject" => REFUSED_BY_PERSON,
            "hook" => "hook",
            _ => "permission-rule",
        };
        let decision = RecordedDecision { decision: "reject", source, reason_type };
        Self { decision, denial: Some(denial), sandboxed: false }
    }
}

/// A decision that allows the call.
fn accepted(source: &'static str, reason: Option<&DecisionReason>) -> RecordedDecision {
    RecordedDecision { decision: "accept", source, reason_type: reason.map(DecisionReason::kind) }
}

/// Replaces names of tool and fields that are not ours by those that are meant with certainty.
pub(super) fn take_normal_form(used: &mut ToolUse, io: &SessionIo) {
    if used.malformed.is_some() {
        return;
    }
    let form = normal_form::normalise(&used.name, &used.input, &io.tooling.registry);
    if let Some(name) = form.name {
        used.name = name;
    }
    if let Some(input) = form.input {
        used.input = input;
    }
    used.form_note = form.note;
}

/// Finds the tool and parses the input, without side effects.
pub(super) fn parse(used: &ToolUse, io: &SessionIo) -> Result<Box<dyn ToolCall>, ToolOutcome> {
    if let Some(text) = &used.malformed {
        return Err(ToolOutcome::invalid(unreadable(used, text, io)));
    }
    read(used, &used.input, io)
}

/// The error for a call with unreadable input; it gets more detailed with every failure in a row.
fn unreadable(used: &ToolUse, text: &str, io: &SessionIo) -> String {
    let shown: String = text.chars().take(200).collect();
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let fault = if is_json { "no JSON object" } else { "not valid JSON" };
    let mut message = format!(
        "The input of {} was {fault} and nothing was run. It began: {shown}\nSend the call again with a complete JSON \
         object.",
        used.name
    );
    let failures = used.unreadable_before + 1;
    if failures >= 2 {
        let fault = match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text) {
            Err(error) => format!(" The fault: {error}."),
            Ok(_) => String::new(),
        };
        write!(
            message,
            "\nThis was failure {failures} in a row.{fault} The input must be one JSON object from {{ to }}: double quotes \
             around every key and text, and inside a text every quote, backslash and line break escaped as \\\" \\\\ \\n."
        )
        .ok();
    }
    if failures >= 3
        && let Some(tool) = io.tooling.registry.find(&used.name)
    {
        write!(message, "\nIts schema is: {}", tool.spec().schema).ok();
    }
    if failures >= 5 {
        message.push_str(
            "\nMake the input much smaller: one call per answer, no text before it, and long contents in several steps (a \
             short file first, then small edits).",
        );
    }
    message
}

pub(super) fn read(used: &ToolUse, input: &RawValue, io: &SessionIo) -> Result<Box<dyn ToolCall>, ToolOutcome> {
    let Some(tool) = io.tooling.registry.find(&used.name) else {
        let mut text = normal_form::unknown_tool(&used.name, &io.tooling.registry);
        // Such tools are not offered where nobody can answer.
        let class = tool_facts(&used.name).class;
        if class.needs_answer() && matches!(io.rules.permission_channel, PermissionChannel::Nobody) {
            write!(text, "\n{}", nobody_advice(class, io)).ok();
        }
        return Err(ToolOutcome::invalid(text));
    };
    if let Some(refused) = masked_calls::refusal(&io.tooling.state.masking, &tool.spec().facts, input) {
        return Err(refused);
    }
    tool.parse(input)
        .map_err(|fault| ToolOutcome::invalid(normal_form::wrong_input(&fault.to_string(), tool.spec(), input)))
}

/// Builds the draft of a call, before hooks and rules decide about it.
pub(super) async fn draft(
    used: &ToolUse,
    call: Box<dyn ToolCall>,
    io: &mut SessionIo,
    cancel: CancellationToken,
) -> Result<CallDraft, ToolOutcome> {
    io.apply_chosen_mode().await;
    if let Some(outcome) = interact::refuse_in_mode(used, io) {
        return Err(outcome);
    }
    CallDraft::new(used, call, used.input.clone(), cancel, io).await
}

/// The decisions of the PreToolUse hooks about `calls`; the hooks of all calls run together.
pub(super) async fn ask_hooks(calls: &[(&ToolUse, &CallDraft)], io: &mut SessionIo) -> Vec<HookRuling> {
    if !io.hooks.listens(HookEventName::PreToolUse) {
        return calls.iter().map(|_| HookRuling::default()).collect();
    }
    let workspace = io.workspace();
    let asked = calls.iter().map(|(used, draft)| UndecidedCall {
        used,
        accesses: draft.call.access(&workspace),
        cancel: &draft.cancel,
    });
    let asked = asked.collect();
    io.before_calls(asked).await
}

/// Decides about a call. A refusal is sent to the host before the call's result.
pub(super) async fn decide(
    used: &ToolUse,
    mut draft: CallDraft,
    ruling: HookRuling,
    io: &mut SessionIo,
) -> PreparedCall {
    match &ruling.kind {
        Some(RulingKind::Deny(message)) => return refuse(used, hook_refusal(message), io).await,
        Some(RulingKind::Defer) => return PreparedCall::Deferred,
        Some(RulingKind::Allow | RulingKind::Ask(_)) | None => {}
    }
    if draft.cancel.is_cancelled() {
        return PreparedCall::Settled(ToolOutcome::failed("Not run: the user interrupted the turn."));
    }
    if let Some(input) = ruling.input {
        let answered = ruling.kind == Some(RulingKind::Allow) && interact::answers_for_person(used, &input);
        draft = match draft.with_input(used, input, io).await {
            Ok(draft) => CallDraft { answered, ..draft },
            Err(outcome) => return PreparedCall::Settled(outcome),
        };
    }
    let (decision, facts) = match &ruling.kind {
        Some(RulingKind::Allow) => decide_access(used, &draft, PriorApproval::Hook, io),
        Some(RulingKind::Ask(_) | RulingKind::Deny(_) | RulingKind::Defer) | None => {
            decide_access(used, &draft, PriorApproval::None, io)
        }
    };
    match (decision, ruling.kind) {
        // When a hook wants the user to be asked, the user is asked even if rules would allow the call.
        (PermissionDecision::Allow(_), Some(RulingKind::Ask(reason))) if io.rules.mode() == PermissionMode::DontAsk => {
            refuse(used, hook_refusal(&format!("dontAsk mode refuses what a hook asks about: {reason}")), io).await
        }
        (PermissionDecision::Allow(_), Some(RulingKind::Ask(reason))) => {
            ask(used, draft, hook_refusal(&reason), facts, io).await
        }
        (PermissionDecision::Allow(_), _)
            if draft.call.needs_person() && io.rules.mode() == PermissionMode::DontAsk =>
        {
            refuse(used, person_refusal(used), io).await
        }
        (PermissionDecision::Allow(_), _) if draft.call.needs_person() => {
            ask(used, draft, person_refusal(used), facts, io).await
        }
        (PermissionDecision::Allow(reason), word) => {
            tracing::debug!(tool = used.name, reason = %reason.describe(), "call allowed");
            draft.by = match (word, &reason) {
                (Some(RulingKind::Allow), DecisionReason::Hook(_)) => accepted("hook", Some(&reason)),
                _ => accepted("config", Some(&reason)),
            };
            guard_git(used, draft, facts, io).await
        }
        (PermissionDecision::Deny(refusal), _) => refuse(used, refusal, io).await,
        (PermissionDecision::Ask(refusal), _) => match draft.checked(used, &facts, io).await {
            Ok(draft) => ask(used, draft, refusal, facts, io).await,
            Err(outcome) => PreparedCall::Settled(outcome),
        },
    }
}

fn hook_refusal(message: &str) -> PermissionRefusal {
    PermissionRefusal { message: message.to_owned(), reason: DecisionReason::Hook(message.to_owned()), path: None }
}

/// The question for a tool that needs a person's consent for every call.
fn person_refusal(used: &ToolUse) -> PermissionRefusal {
    PermissionRefusal {
        message: format!("Claude requested permissions to use {}, but you haven't granted it yet.", used.name),
        reason: DecisionReason::SafetyCheck("the tool wants a person to agree to every call"),
        path: None,
    }
}

/// Whether a hook allowed the call before the rules were asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PriorApproval {
    None,
    Hook,
}

/// A call that is not decided yet.
pub(super) struct CallDraft {
    call: Box<dyn ToolCall>,
    /// The input as the model sent it or as a hook or the host changed it.
    input: Box<RawValue>,
    cancel: CancellationToken,
    confinement: CommandConfinement,
    /// The sandbox a command runs in; `None` outside of one.
    sandbox: Option<Arc<CommandSandbox>>,
    /// A hook answered in place of the person whose answer the call needs.
    answered: bool,
    /// The person changed the input that the model proposed.
    changed: bool,
    git_guard: Option<GitGuard>,
    /// Who allowed the call.
    by: RecordedDecision,
}

impl CallDraft {
    async fn new(
        used: &ToolUse,
        call: Box<dyn ToolCall>,
        input: Box<RawValue>,
        cancel: CancellationToken,
        io: &SessionIo,
    ) -> Result<Self, ToolOutcome> {
        if let Some(why) =
            io.tooling.worktree_guard.as_ref().and_then(|guard| guard.refuses(&call.access(&io.workspace())))
        {
            return Err(ToolOutcome::failed(why));
        }
        let (held, sandbox) = confine(used, &input, io)
            .await
            .map_err(|error| ToolOutcome::failed(format!("The sandbox could not be set up: {error}")))?;
        Ok(Self {
            call,
            input,
            cancel,
            confinement: held,
            sandbox,
            answered: false,
            changed: false,
            git_guard: None,
            by: accepted("config", None),
        })
    }

    async fn checked(self, used: &ToolUse, facts: &PathFacts, io: &SessionIo) -> Result<Self, ToolOutcome> {
        let call = inspect::check(used, self.call, facts, io, &self.cancel).await?;
        Ok(Self { call, ..self })
    }

    /// The same call with another input, which is parsed and checked again.
    async fn with_input(self, used: &ToolUse, input: Box<RawValue>, io: &SessionIo) -> Result<Self, ToolOutcome> {
        let input = interact::complete_input(&used.name, &input, interact::InputAuthor::Person, io).unwrap_or(input);
        let call = read(used, &input, io)?;
        Self::new(used, call, input, self.cancel, io).await
    }
}

/// Whether a command runs in a sandbox, in which one, and how that affects permissions.
async fn confine(
    used: &ToolUse,
    input: &RawValue,
    io: &SessionIo,
) -> std::io::Result<(CommandConfinement, Option<Arc<CommandSandbox>>)> {
    let outside = (CommandConfinement::Not, None);
    let Some(confinement) = &io.rules.watch.sandbox else { return Ok(outside) };
    match io.tooling.facts(&used.name).confinement {
        ToolConfinement::Command => {}
        ToolConfinement::LoadedCommands => return Ok((CommandConfinement::Not, session_sandbox(io).await?)),
        ToolConfinement::None => return Ok(outside),
    }
    let Some((command, escaping)) = sandbox::bash_input(input.get()) else { return Ok(outside) };
    match confinement.placement(&command, escaping) {
        CommandPlacement::Outside(held) => Ok((held, None)),
        CommandPlacement::Inside => {
            let made = prepare_sandbox(confinement, io).await?;
            Ok((confinement.confinement(&made), Some(Arc::new(made.sandbox))))
        }
    }
}

/// The sandbox for commands that are not calls; `None` when the session has none.
pub(super) async fn session_sandbox(io: &SessionIo) -> std::io::Result<Option<Arc<CommandSandbox>>> {
    let Some(confinement) = io.rules.watch.sandbox.as_ref().filter(|c| c.backend().is_some()) else { return Ok(None) };
    Ok(Some(Arc::new(prepare_sandbox(confinement, io).await?.sandbox)))
}

async fn prepare_sandbox(confinement: &Arc<SessionSandbox>, io: &SessionIo) -> std::io::Result<PreparedSandbox> {
    let (making, rules, mode) = (Arc::clone(confinement), io.rules.watch.rules(), io.rules.mode());
    let made = tokio::task::spawn_blocking(move || making.prepare(&rules, mode)).await;
    let made = made.map_err(std::io::Error::other)??;
    for warning in &made.warnings {
        tracing::warn!(warning, "sandbox");
    }
    Ok(made)
}

/// A call that the host was asked about.
pub(super) struct PendingCall {
    draft: CallDraft,
    /// The path facts at the time of the question: where each path resolved to.
    facts: PathFacts,
}

impl PendingCall {
    pub(super) fn sharing(&self) -> CallConcurrency {
        self.draft.call.concurrency()
    }
}

/// Asks for permission: first the PermissionRequest hooks, then the host.
async fn ask(
    used: &ToolUse,
    mut draft: CallDraft,
    refusal: PermissionRefusal,
    facts: PathFacts,
    io: &mut SessionIo,
) -> PreparedCall {
    match hook_answer(used, &draft, &facts, io).await {
        None => {}
        Some(RequestDecision::Deny { message, interrupt }) => {
            let message = message.unwrap_or_else(|| "Permission was refused by a hook.".into());
            let refused = refuse(used, hook_refusal(&message), io).await;
            if interrupt {
                io.hooks.stop.get_or_insert(message);
            }
            return refused;
        }
        Some(RequestDecision::Allow { updated_input, updated_permissions }) => {
            let updates = updated_permissions.into_iter().filter_map(|update| serde_json::from_value(update).ok());
            io.grant(updates.collect()).await;
            if let Some(input) = updated_input.and_then(|input| wire::raw::to_raw(&input).ok()) {
                let answered = interact::answers_for_person(used, &input);
                draft = match draft.with_input(used, input, io).await {
                    Ok(draft) => CallDraft { answered, ..draft },
                    Err(outcome) => return PreparedCall::Settled(outcome),
                };
            }
            // Rules that deny or ask, and safety checks, still apply.
            match decide_access(used, &draft, PriorApproval::Hook, io) {
                (PermissionDecision::Allow(_), facts) if draft.call.needs_person() => {
                    return ask_host(used, draft, person_refusal(used), facts, io).await;
                }
                (PermissionDecision::Allow(_), facts) => {
                    draft.by = accepted("hook", Some(&DecisionReason::Hook(String::new())));
                    return guard_git(used, draft, facts, io).await;
                }
                (PermissionDecision::Deny(refusal), _) => return refuse(used, refusal, io).await,
                (PermissionDecision::Ask(refusal), facts) => return ask_host(used, draft, refusal, facts, io).await,
            }
        }
    }
    ask_host(used, draft, refusal, facts, io).await
}

async fn hook_answer(
    used: &ToolUse,
    draft: &CallDraft,
    facts: &PathFacts,
    io: &mut SessionIo,
) -> Option<RequestDecision> {
    if !io.hooks.listens(HookEventName::PermissionRequest) {
        return None;
    }
    let accesses = draft.call.access(&io.workspace());
    let name = wire::names::canonical(&used.name);
    let request = PermissionQuery::new(name, &accesses).with_input(draft.input.get());
    let suggestions = io.rules.policy().suggest(&request, facts);
    io.answer_by_hook(used, &draft.input, accesses, &suggestions, &draft.cancel).await
}

async fn ask_host(
    used: &ToolUse,
    draft: CallDraft,
    refusal: PermissionRefusal,
    facts: PathFacts,
    io: &mut SessionIo,
) -> PreparedCall {
    let host = match &io.rules.permission_channel {
        PermissionChannel::Host(host) => host,
        PermissionChannel::Nobody => {
            let advice = nobody_advice(io.tooling.facts(&used.name).class, io);
            return refuse_with(used, refusal, Some(advice), io).await;
        }
        PermissionChannel::Tool(tool) => {
            let reply = ask_tool(tool.clone(), used, &draft, &refusal, io);
            return PreparedCall::Asking(Box::new(PendingCall { draft, facts }), reply);
        }
    };
    let name = wire::names::canonical(&used.name);
    let accesses = draft.call.access(&io.workspace());
    let request =
        PermissionQuery::new(name, &accesses).with_input(draft.input.get()).with_confinement(draft.confinement);
    let suggestions =
        if io.rules.watch.loaded.managed_rules_only { Vec::new() } else { io.rules.policy().suggest(&request, &facts) };
    let question = PermissionQuestion {
        tool: &used.name,
        tool_use_id: &used.id,
        input: &draft.input,
        accesses: &accesses,
        refusal: &refusal,
        facts: &facts,
        suggestions: &suggestions,
        parts: command_parts(&io.rules.policy().explain(&request, &facts)),
        agent_id: io.output.host.agent_id(),
    };
    let reply = permission_prompt::ask_host(host, &question, draft.cancel.clone());
    tracing::debug!(tool = used.name, reason = %refusal.reason.describe(), "the host is asked");
    let notice = io.notify_of_question(&used.name);
    let reply = async move {
        let reply = reply.await;
        drop(notice);
        reply
    };
    PreparedCall::Asking(Box::new(PendingCall { draft, facts }), Box::pin(reply))
}

/// The decision for each part of a compound command; empty for a command with one part.
fn command_parts(explained: &permission::DecisionExplanation) -> Vec<CommandPart> {
    if explained.parts.len() < 2 {
        return Vec::new();
    }
    let command_part = |part: &permission::ExplainedPart| CommandPart {
        command: permission::escape_invisible(&part.text),
        decision: part.decision.into(),
        reason: permission::escape_invisible(&part.reason.describe()),
    };
    explained.parts.iter().map(command_part).collect()
}

/// Asks the MCP tool that decides in place of a person.
fn ask_tool(
    tool: String,
    used: &ToolUse,
    draft: &CallDraft,
    refusal: &PermissionRefusal,
    io: &SessionIo,
) -> BoxFuture<'static, PermissionReply> {
    let asked = session_parts::mcp::PromptToolRequest {
        tool_name: used.name.clone(),
        input: draft.input.clone(),
        tool_use_id: used.id.clone(),
        needs_person: draft.call.needs_person(),
    };
    let (servers, cancel) = (Arc::clone(io.knowledge.mcp.servers()), draft.cancel.clone());
    let (host, message) = (io.output.host.clone(), refusal.message.clone());
    Box::pin(async move {
        match session_parts::mcp::judge_by_tool(servers, tool, asked, cancel).await {
            Ok(reply) => reply,
            Err(missing) => {
                host.event(Event::Fault(missing)).await;
                PermissionReply::Deny { message, then: AfterDenial::GoOn }
            }
        }
    })
}

/// Applies the host's answer. Its permission covers what it was asked about: a rule that denies still applies, and
/// when a path resolves to another place now, the host is asked again.
pub(super) async fn apply_reply(
    used: &ToolUse,
    pending: PendingCall,
    reply: PermissionReply,
    io: &mut SessionIo,
    turn: &CancellationToken,
) -> PreparedCall {
    let PendingCall { mut draft, facts } = pending;
    let (input, updates) = match reply {
        PermissionReply::Allow { input, updates } => (input, updates),
        PermissionReply::Withdrawn => {
            return PreparedCall::Settled(ToolOutcome::failed("Not run: the user interrupted the turn."));
        }
        PermissionReply::Deny { message, then } => {
            if then == AfterDenial::EndTurn {
                turn.cancel();
            }
            record_denial(used, io);
            return PreparedCall::Refused(ToolOutcome::failed(message), CallVerdict::refused("user_reject", None));
        }
    };
    let lasts = updates.iter().any(PermissionUpdate::lasts);
    let by = accepted(if lasts { "user_permanent" } else { "user_temporary" }, None);
    if !updates.is_empty() {
        io.grant(updates).await;
    }
    io.apply_chosen_mode().await;
    let is_changed = input.as_ref().is_some_and(|input| !wire::raw::is_same_value(input, &draft.input));
    if let Some(input) = input.filter(|_| is_changed) {
        draft = match draft.with_input(used, input, io).await {
            Ok(draft) => CallDraft { changed: true, ..draft },
            Err(outcome) => return PreparedCall::Settled(outcome),
        };
    }
    draft.by = by;
    match decide_access(used, &draft, PriorApproval::None, io) {
        (PermissionDecision::Deny(refusal), _) => refuse(used, refusal, io).await,
        (PermissionDecision::Ask(refusal), now) if !is_changed && now != facts => {
            ask_host(used, draft, refusal, now, io).await
        }
        (PermissionDecision::Allow(_), now) => guard_git(used, draft, now, io).await,
        // A person agreed to this command, so git runs with its normal configuration.
        (PermissionDecision::Ask(_), now) => admit(used, draft, now, io).await,
    }
}

fn decide_access(
    used: &ToolUse,
    draft: &CallDraft,
    prior: PriorApproval,
    io: &SessionIo,
) -> (PermissionDecision, PathFacts) {
    let workspace = io.workspace();
    let accesses = draft.call.access(&workspace);
    let name = wire::names::canonical(&used.name);
    let request = PermissionQuery::new(name, &accesses)
        .with_input(draft.input.get())
        .with_confinement(draft.confinement)
        .with_answer(draft.answered);
    let facts = session_parts::facts::gather_with_repositories(
        io.rules.policy(),
        &request,
        &workspace.cwd,
        &io.tooling.state.facts.env,
    );
    let decision = match prior {
        PriorApproval::None => io.rules.policy().decide(&request, &facts),
        PriorApproval::Hook => io.rules.policy().decide_allowed(&request, &facts),
    };
    (decision, facts)
}

/// Admits a call that nobody was asked about: git commands that only read run with neutral configuration.
async fn guard_git(used: &ToolUse, mut draft: CallDraft, facts: PathFacts, io: &mut SessionIo) -> PreparedCall {
    // The sandbox already confines every program that git starts.
    if draft.confinement != CommandConfinement::Sandboxed {
        let accesses = draft.call.access(&io.workspace());
        let name = wire::names::canonical(&used.name);
        let request =
            PermissionQuery::new(name, &accesses).with_input(draft.input.get()).with_confinement(draft.confinement);
        draft.git_guard = io.rules.policy().git_guard(&request, &facts);
    }
    admit(used, draft, facts, io).await
}

async fn admit(used: &ToolUse, draft: CallDraft, facts: PathFacts, io: &mut SessionIo) -> PreparedCall {
    interact::apply_mode(used, &draft.input, io).await;
    let CallDraft { call, cancel, sandbox, changed: changed_by_user, git_guard, by, .. } = draft;
    let judged = CallVerdict { decision: by, denial: None, sandboxed: sandbox.is_some() };
    let cx = CallContext { sandbox, changed_by_user, git_guard, ..call_cx(used, facts, io, cancel) };
    PreparedCall::Ready(call, cx, judged)
}

fn record_denial(used: &ToolUse, io: &mut SessionIo) {
    let denial =
        PermissionDenial { tool_name: used.name.clone(), tool_use_id: used.id.clone(), tool_input: used.input.clone() };
    // Agents have no result message; the session's result lists their denials.
    match io.output.host.agent_id() {
        Some(_) => io.tooling.spawner.agents.record_denial(denial),
        None => io.rules.denials.push(denial),
    }
}

async fn refuse(used: &ToolUse, refusal: PermissionRefusal, io: &mut SessionIo) -> PreparedCall {
    let advice = refusal_advice(used, &refusal, io);
    refuse_with(used, refusal, advice, io).await
}

/// The host gets the refusal as it is; the model also reads the advice.
async fn refuse_with(
    used: &ToolUse,
    refusal: PermissionRefusal,
    advice: Option<String>,
    io: &mut SessionIo,
) -> PreparedCall {
    tracing::debug!(tool = used.name, reason = %refusal.reason.describe(), "call denied");
    record_denial(used, io);
    let body = SystemBody::PermissionDenied {
        tool_name: used.name.clone(),
        tool_use_id: used.id.clone(),
        message: refusal.message.clone(),
        agent_id: None,
        decision_reason_type: Some(refusal.reason.kind()),
        decision_reason: Some(refusal.reason.describe()),
    };
    io.output.host.system(body).await;
    let source = if matches!(refusal.reason, DecisionReason::Hook(_)) { "hook" } else { "config" };
    let judged = CallVerdict::refused(source, Some(&refusal.reason));
    let text = advice.map_or_else(|| refusal.message.clone(), |advice| format!("{}\n{advice}", refusal.message));
    PreparedCall::Refused(ToolOutcome::failed(text), judged)
}

pub(super) fn call_cx(used: &ToolUse, facts: PathFacts, io: &SessionIo, cancel: CancellationToken) -> CallContext {
    let workspace = io.workspace();
    let policy = Arc::clone(io.rules.policy());
    let folders = sys::real_path::ResolvedFolders::default();
    CallContext {
        session: io.tooling.view.clone().map(|view| view as _),
        id: used.id.clone(),
        workspace,
        state: Arc::clone(&io.tooling.state),
        cancel,
        model: Arc::clone(&io.provider.side) as Arc<dyn tools::SideModel>,
        may_read: Arc::new(move |path, met| {
            let real = match met {
                PathDiscovery::Named => sys::real_path::path(path),
                PathDiscovery::Walked => folders.file(path),
                // The file that is opened must be the one that was decided about.
                PathDiscovery::Changed => {
                    return facts.real_location(path).is_none_or(|real| sys::real_path::path(path) == real);
                }
            };
            !policy.hides(path, &real)
        }),
        sandbox: None,
        changed_by_user: false,
        input_note: used.input_note.clone(),
        git_guard: None,
    }
}

impl SessionIo {
    /// The current directories: a shell command may have changed the working directory.
    pub(crate) fn workspace(&self) -> Workspace {
        let cwd = self.tooling.state.cwd.lock().clone();
        Workspace { cwd, ..self.tooling.directories.clone() }
    }
}
