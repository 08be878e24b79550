//! From a `tool_use` block to a call that may run: find the tool, read the input, decide, ask the host where the decision
//! is to ask. A prepared call never comes back here.

use super::{ToolUse, interact};
use crate::ask::{self, Asker, Matter, Reply, Then};
use crate::cage::{self, Confinement, Made, Standing};
use crate::command::Event;
use crate::hooks::{Before, Ruling, Word};
use crate::session::Io;
use futures_util::future::BoxFuture;
use hooks::RequestDecision;
use permission::{Access, Decision, Facts, GitGuard, Held, Reason, Refusal, Request};
use serde_json::value::RawValue;
use std::fmt::Write;
use std::sync::{Arc, PoisonError};
use tokio_util::sync::CancellationToken;
use tools::cage::Cage;
use tools::{Call, CallCx, Met, Outcome, Sharing, Workspace};
use wire::control::{CommandPart, PermissionUpdate};
use wire::entry::PermissionDecision;
use wire::hooks::EventName;
use wire::mode::PermissionMode;
use wire::sdk::{PermissionDenial, SystemBody};

pub(super) enum Prepared {
    Ready(Box<dyn Call>, CallCx, Judged),
    Settled(Outcome),
    Refused(Outcome, Judged),
    /// A hook leaves it for a later run: there is no result.
    Deferred,
    /// The host was asked; `answered` goes on with its reply.
    Asking(Box<Pending>, BoxFuture<'static, Reply>),
}

/// Who let a call run or did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) decision: PermissionDecision,
    /// Why it did not run.
    pub(super) denial: Option<&'static str>,
    pub(super) sandboxed: bool,
}

impl Judged {
    fn refused(source: &'static str, reason: Option<&Reason>) -> Self {
        let reason_type = reason.map(Reason::kind);
        let denial = match source {
            "user_reject" => "user-rejected",
            "hook" => "hook",
            _ => "permission-rule",
        };
        let decision = PermissionDecision { decision: "reject", source, reason_type };
        Self { decision, denial: Some(denial), sandboxed: false }
    }
}

/// Leave to run.
fn accepted(source: &'static str, reason: Option<&Reason>) -> PermissionDecision {
    PermissionDecision { decision: "accept", source, reason_type: reason.map(Reason::kind) }
}

/// Pure: finds the tool and reads its input.
pub(super) fn parse(used: &ToolUse, io: &Io) -> Result<Box<dyn Call>, Outcome> {
    if let Some(text) = &used.malformed {
        return Err(Outcome::invalid(unreadable(used, text, io)));
    }
    read(used, &used.input, io)
}

/// What a model is told whose call could not be read: more with every failure in a row.
fn unreadable(used: &ToolUse, text: &str, io: &Io) -> String {
    let shown: String = text.chars().take(200).collect();
    let mut told = format!(
        "The input of {} was not valid JSON and nothing was run. It began: {shown}\nSend the call again with a complete \
         JSON object.",
        used.name
    );
    let failures = used.unreadable_before + 1;
    if failures >= 2 {
        let fault = match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text) {
            Err(error) => format!(" The fault: {error}."),
            Ok(_) => String::new(),
        };
        write!(
            told,
            "\nThis was failure {failures} in a row.{fault} The input must be one JSON object from {{ to }}: double quotes \
             around every key and text, and inside a text every quote, backslash and line break escaped as \\\" \\\\ \\n."
        )
        .ok();
    }
    if failures >= 3
        && let Some(tool) = io.registry.find(&used.name)
    {
        write!(told, "\nIts schema is: {}", tool.spec().schema).ok();
    }
    if failures >= 5 {
        told.push_str(
            "\nMake the input much smaller: one call per answer, no text before it, and long contents in several steps (a \
             short file first, then small edits).",
        );
    }
    told
}

fn read(used: &ToolUse, input: &RawValue, io: &Io) -> Result<Box<dyn Call>, Outcome> {
    let Some(tool) = io.registry.find(&used.name) else {
        return Err(Outcome::invalid(format!("No such tool available: {}", used.name)));
    };
    if let Some(refused) = io.state.masking.refusal(wire::names::canonical(&used.name), input) {
        return Err(refused);
    }
    tool.parse(input).map_err(|e| Outcome::invalid(e.to_string()))
}

/// A call as it stands before anybody has said anything about it.
pub(super) async fn draft(
    used: &ToolUse,
    call: Box<dyn Call>,
    io: &mut Io,
    cancel: CancellationToken,
) -> Result<Draft, Outcome> {
    io.adopt_mode().await;
    if let Some(outcome) = interact::misplaced(used, io) {
        return Err(outcome);
    }
    Draft::new(used, call, used.input.clone(), cancel, io).await
}

/// What PreToolUse hooks say about each of `calls`, all asked at once.
pub(super) async fn consult(calls: &[(&ToolUse, &Draft)], io: &mut Io) -> Vec<Ruling> {
    if !io.hooks.listens(EventName::PreToolUse) {
        return calls.iter().map(|_| Ruling::default()).collect();
    }
    let workspace = io.workspace();
    let asked = calls.iter().map(|(used, draft)| Before {
        used,
        accesses: draft.call.access(&workspace),
        cancel: &draft.cancel,
    });
    let asked = asked.collect();
    io.before_calls(asked).await
}

/// Decides; a refusal is told to the host before its result.
pub(super) async fn decide(used: &ToolUse, mut draft: Draft, ruling: Ruling, io: &mut Io) -> Prepared {
    match &ruling.word {
        Some(Word::Deny(message)) => return refuse(used, by_hook(message), io).await,
        Some(Word::Defer) => return Prepared::Deferred,
        Some(Word::Allow | Word::Ask(_)) | None => {}
    }
    if draft.cancel.is_cancelled() {
        return Prepared::Settled(Outcome::failed("Not run: the user interrupted the turn."));
    }
    if let Some(input) = ruling.input {
        let answered = ruling.word == Some(Word::Allow) && interact::stands_in(used, &input);
        draft = match draft.rewritten(used, input, io).await {
            Ok(draft) => Draft { answered, ..draft },
            Err(outcome) => return Prepared::Settled(outcome),
        };
    }
    let (decision, facts) = match &ruling.word {
        Some(Word::Allow) => judge(used, &draft, Leave::Hook, io),
        Some(Word::Ask(_) | Word::Deny(_) | Word::Defer) | None => judge(used, &draft, Leave::None, io),
    };
    match (decision, ruling.word) {
        // What a hook wants asked is asked, whatever else would have let it pass.
        (Decision::Allow(_), Some(Word::Ask(reason))) if io.mode == PermissionMode::DontAsk => {
            refuse(used, by_hook(&format!("dontAsk mode refuses what a hook asks about: {reason}")), io).await
        }
        (Decision::Allow(_), Some(Word::Ask(reason))) => ask(used, draft, by_hook(&reason), facts, io).await,
        (Decision::Allow(_), _) if draft.call.insists() && io.mode == PermissionMode::DontAsk => {
            refuse(used, insisting(used), io).await
        }
        (Decision::Allow(_), _) if draft.call.insists() => ask(used, draft, insisting(used), facts, io).await,
        (Decision::Allow(reason), word) => {
            tracing::debug!(tool = used.name, reason = %reason.describe(), "call allowed");
            draft.by = match (word, &reason) {
                (Some(Word::Allow), Reason::Hook(_)) => accepted("hook", Some(&reason)),
                _ => accepted("config", Some(&reason)),
            };
            guarded(used, draft, facts, io).await
        }
        (Decision::Deny(refusal), _) => refuse(used, refusal, io).await,
        (Decision::Ask(refusal), _) => match checked(used, draft, &facts, io).await {
            Ok(draft) => ask(used, draft, refusal, facts, io).await,
            Err(outcome) => Prepared::Settled(outcome),
        },
    }
}

/// A call that cannot succeed is answered before anybody is asked about it, as far as the model may see what that takes.
async fn checked(used: &ToolUse, mut draft: Draft, facts: &Facts, io: &Io) -> Result<Draft, Outcome> {
    let workspace = io.workspace();
    let changed = |access: Access| match access {
        Access::WritePath(path) => Some(Access::ReadPath(path)),
        _ => None,
    };
    let reads: Vec<Access> = draft.call.access(&workspace).into_iter().filter_map(changed).collect();
    if reads.is_empty() {
        return Ok(draft);
    }
    let request = Request::new("Read", &reads);
    let seen = crate::facts::gather(&io.policy, &request, &workspace.cwd);
    if !matches!(io.policy.decide(&request, &seen), Decision::Allow(_)) {
        return Ok(draft);
    }
    let cx = call_cx(used, facts.clone(), io, draft.cancel.clone());
    let call = draft.call;
    let checking = tokio::task::spawn_blocking(move || {
        let refused = call.check(&cx);
        (call, refused)
    });
    match checking.await {
        Ok((_, Some(refused))) => Err(refused),
        Ok((call, None)) => {
            draft.call = call;
            Ok(draft)
        }
        Err(_) => Err(Outcome::failed("The call could not be checked because of an internal error.")),
    }
}

fn by_hook(message: &str) -> Refusal {
    Refusal { message: message.to_owned(), reason: Reason::Hook(message.to_owned()), path: None }
}

/// The tool itself wants a person to agree.
fn insisting(used: &ToolUse) -> Refusal {
    Refusal {
        message: format!("Claude requested permissions to use {}, but you haven't granted it yet.", used.name),
        reason: Reason::SafetyCheck("the tool wants a person to agree to every call"),
        path: None,
    }
}

/// Whether a hook gave leave beforehand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leave {
    None,
    Hook,
}

/// A call that is not decided yet.
pub(super) struct Draft {
    call: Box<dyn Call>,
    /// As the model sent it, or as the host changed it.
    input: Box<RawValue>,
    cancel: CancellationToken,
    held: Held,
    /// Where a command is locked in.
    cage: Option<Arc<Cage>>,
    /// A hook stood in for the person whose answer the call needs.
    answered: bool,
    /// The person changed what the model proposed.
    changed: bool,
    git_guard: Option<GitGuard>,
    /// Who let it run, once somebody did.
    by: PermissionDecision,
}

impl Draft {
    async fn new(
        used: &ToolUse,
        call: Box<dyn Call>,
        input: Box<RawValue>,
        cancel: CancellationToken,
        io: &Io,
    ) -> Result<Self, Outcome> {
        if let Some(why) = io.fence.as_ref().and_then(|fence| fence.refuses(&call.access(&io.workspace()))) {
            return Err(Outcome::failed(why));
        }
        let (held, cage) = confine(used, &input, io)
            .await
            .map_err(|error| Outcome::failed(format!("The sandbox could not be set up: {error}")))?;
        Ok(Self {
            call,
            input,
            cancel,
            held,
            cage,
            answered: false,
            changed: false,
            git_guard: None,
            by: accepted("config", None),
        })
    }

    /// The same call with another input, which must be readable like the first.
    async fn rewritten(self, used: &ToolUse, input: Box<RawValue>, io: &Io) -> Result<Self, Outcome> {
        let input = interact::completed(&used.name, &input, interact::Author::Person, io).unwrap_or(input);
        let call = read(used, &input, io)?;
        Self::new(used, call, input, self.cancel, io).await
    }
}

/// Whether a command runs in the sandbox, in which one, and what that means for permission. Nothing without a sandbox.
async fn confine(used: &ToolUse, input: &RawValue, io: &Io) -> std::io::Result<(Held, Option<Arc<Cage>>)> {
    let outside = (Held::Not, None);
    let Some(confinement) = &io.watch.confinement else { return Ok(outside) };
    match wire::names::canonical(&used.name) {
        "Bash" => {}
        // Its commands have to be allowed as they are, and run inside all the same.
        "Skill" => return Ok((Held::Not, enclose(io).await?)),
        _ => return Ok(outside),
    }
    let Some((command, escaping)) = cage::bash_input(input.get()) else { return Ok(outside) };
    match confinement.standing(&command, escaping) {
        Standing::Outside(held) => Ok((held, None)),
        Standing::Inside => {
            let made = make_cage(confinement, io).await?;
            Ok((confinement.held(&made), Some(Arc::new(made.cage))))
        }
    }
}

/// The sandbox for commands that no call names, where there is one.
pub(super) async fn enclose(io: &Io) -> std::io::Result<Option<Arc<Cage>>> {
    let Some(confinement) = io.watch.confinement.as_ref().filter(|c| c.backend().is_some()) else { return Ok(None) };
    Ok(Some(Arc::new(make_cage(confinement, io).await?.cage)))
}

async fn make_cage(confinement: &Arc<Confinement>, io: &Io) -> std::io::Result<Made> {
    let (making, rules, mode) = (Arc::clone(confinement), io.watch.rules(), io.mode);
    let made = tokio::task::spawn_blocking(move || making.cage(&rules, mode)).await;
    let made = made.map_err(std::io::Error::other)??;
    for warning in &made.warnings {
        tracing::warn!(warning, "sandbox");
    }
    Ok(made)
}

/// A call the host was asked about.
pub(super) struct Pending {
    draft: Draft,
    /// What the question was about: where every path led when it was posed.
    facts: Facts,
}

impl Pending {
    pub(super) fn sharing(&self) -> Sharing {
        self.draft.call.sharing()
    }
}

/// Somebody must be asked: first the hooks that answer questions, then the host.
async fn ask(used: &ToolUse, mut draft: Draft, refusal: Refusal, facts: Facts, io: &mut Io) -> Prepared {
    match hook_answer(used, &draft, &facts, io).await {
        None => {}
        Some(RequestDecision::Deny { message, interrupt }) => {
            let message = message.unwrap_or_else(|| "Permission was refused by a hook.".into());
            let refused = refuse(used, by_hook(&message), io).await;
            if interrupt {
                io.hooks.stop.get_or_insert(message);
            }
            return refused;
        }
        Some(RequestDecision::Allow { updated_input, updated_permissions }) => {
            let updates = updated_permissions.into_iter().filter_map(|update| serde_json::from_value(update).ok());
            io.grant(updates.collect()).await;
            if let Some(input) = updated_input.and_then(|input| wire::raw::to_raw(&input).ok()) {
                let answered = interact::stands_in(used, &input);
                draft = match draft.rewritten(used, input, io).await {
                    Ok(draft) => Draft { answered, ..draft },
                    Err(outcome) => return Prepared::Settled(outcome),
                };
            }
            // Rules that deny or ask, and safety checks, stay in force.
            match judge(used, &draft, Leave::Hook, io) {
                (Decision::Allow(_), facts) if draft.call.insists() => {
                    return ask_host(used, draft, insisting(used), facts, io).await;
                }
                (Decision::Allow(_), facts) => {
                    draft.by = accepted("hook", Some(&Reason::Hook(String::new())));
                    return guarded(used, draft, facts, io).await;
                }
                (Decision::Deny(refusal), _) => return refuse(used, refusal, io).await,
                (Decision::Ask(refusal), facts) => return ask_host(used, draft, refusal, facts, io).await,
            }
        }
    }
    ask_host(used, draft, refusal, facts, io).await
}

async fn hook_answer(used: &ToolUse, draft: &Draft, facts: &Facts, io: &mut Io) -> Option<RequestDecision> {
    if !io.hooks.listens(EventName::PermissionRequest) {
        return None;
    }
    let accesses = draft.call.access(&io.workspace());
    let name = wire::names::canonical(&used.name);
    let request = Request::new(name, &accesses).with_input(draft.input.get());
    let suggestions = io.policy.suggest(&request, facts);
    io.answer_by_hook(used, &draft.input, accesses, &suggestions, &draft.cancel).await
}

async fn ask_host(used: &ToolUse, draft: Draft, refusal: Refusal, facts: Facts, io: &mut Io) -> Prepared {
    let host = match &io.asker {
        Asker::Host(host) => host,
        Asker::Nobody => return refuse(used, refusal, io).await,
        Asker::Tool(tool) => {
            let reply = ask_tool(tool.clone(), used, &draft, &refusal, io);
            return Prepared::Asking(Box::new(Pending { draft, facts }), reply);
        }
    };
    let name = wire::names::canonical(&used.name);
    let accesses = draft.call.access(&io.workspace());
    let request = Request::new(name, &accesses).with_input(draft.input.get()).held(draft.held);
    let suggestions = if io.watch.loaded.managed_rules_only { Vec::new() } else { io.policy.suggest(&request, &facts) };
    let matter = Matter {
        tool: &used.name,
        tool_use_id: &used.id,
        input: &draft.input,
        accesses: &accesses,
        refusal: &refusal,
        facts: &facts,
        suggestions: &suggestions,
        parts: command_parts(&io.policy.explain(&request, &facts)),
        agent_id: io.host.agent_id(),
    };
    let reply = ask::pose(host, &matter, draft.cancel.clone());
    tracing::debug!(tool = used.name, reason = %refusal.reason.describe(), "the host is asked");
    let notice = io.notify_of_question(&used.name);
    let reply = async move {
        let reply = reply.await;
        drop(notice);
        reply
    };
    Prepared::Asking(Box::new(Pending { draft, facts }), Box::pin(reply))
}

/// What each part of a compound command needs; one alone says nothing that the question does not.
fn command_parts(explained: &permission::Explanation) -> Vec<CommandPart> {
    if explained.parts.len() < 2 {
        return Vec::new();
    }
    let told = |part: &permission::Part| CommandPart {
        command: permission::visible(&part.text),
        decision: part.decision,
        reason: permission::visible(&part.reason.describe()),
    };
    explained.parts.iter().map(told).collect()
}

/// The tool of a server that decides in place of a person.
fn ask_tool(tool: String, used: &ToolUse, draft: &Draft, refusal: &Refusal, io: &Io) -> BoxFuture<'static, Reply> {
    let asked = crate::mcp::Asked {
        tool_name: used.name.clone(),
        input: draft.input.clone(),
        tool_use_id: used.id.clone(),
        needs_person: draft.call.insists(),
    };
    let (servers, cancel) = (Arc::clone(io.mcp.servers()), draft.cancel.clone());
    let (host, message) = (io.host.clone(), refusal.message.clone());
    Box::pin(async move {
        match crate::mcp::judge_by_tool(servers, tool, asked, cancel).await {
            Ok(reply) => reply,
            Err(missing) => {
                host.event(Event::Fault(missing)).await;
                Reply::Deny { message, then: Then::GoOn }
            }
        }
    })
}

/// What the host's answer comes to. Its leave covers what it was asked about: a rule that denies still does, and a path
/// that leads elsewhere by now is asked about again.
pub(super) async fn answered(
    used: &ToolUse,
    pending: Pending,
    reply: Reply,
    io: &mut Io,
    turn: &CancellationToken,
) -> Prepared {
    let Pending { mut draft, facts } = pending;
    let (input, updates) = match reply {
        Reply::Allow { input, updates } => (input, updates),
        Reply::Withdrawn => {
            return Prepared::Settled(Outcome::failed("Not run: the user interrupted the turn."));
        }
        Reply::Deny { message, then } => {
            if then == Then::EndTurn {
                turn.cancel();
            }
            note_denial(used, io);
            return Prepared::Refused(Outcome::failed(message), Judged::refused("user_reject", None));
        }
    };
    let lasts = updates.iter().any(PermissionUpdate::lasts);
    let by = accepted(if lasts { "user_permanent" } else { "user_temporary" }, None);
    if !updates.is_empty() {
        io.grant(updates).await;
    }
    io.adopt_mode().await;
    let is_changed = input.as_ref().is_some_and(|input| input.get() != draft.input.get());
    if let Some(input) = input.filter(|_| is_changed) {
        draft = match draft.rewritten(used, input, io).await {
            Ok(draft) => Draft { changed: true, ..draft },
            Err(outcome) => return Prepared::Settled(outcome),
        };
    }
    draft.by = by;
    match judge(used, &draft, Leave::None, io) {
        (Decision::Deny(refusal), _) => refuse(used, refusal, io).await,
        (Decision::Ask(refusal), now) if !is_changed && now != facts => ask_host(used, draft, refusal, now, io).await,
        (Decision::Allow(_), now) => guarded(used, draft, now, io).await,
        // A person agreed to the command as it is.
        (Decision::Ask(_), now) => ready(used, draft, now, io).await,
    }
}

fn judge(used: &ToolUse, draft: &Draft, leave: Leave, io: &Io) -> (Decision, Facts) {
    let workspace = io.workspace();
    let accesses = draft.call.access(&workspace);
    let name = wire::names::canonical(&used.name);
    let request = Request::new(name, &accesses).with_input(draft.input.get()).held(draft.held).answered(draft.answered);
    let facts = crate::facts::gather_with_repositories(&io.policy, &request, &workspace.cwd, &io.state.facts.env);
    let decision = match leave {
        Leave::None => io.policy.decide(&request, &facts),
        Leave::Hook => io.policy.decide_allowed(&request, &facts),
    };
    (decision, facts)
}

/// A call that nobody was asked about: git calls that only read get powerless configuration.
async fn guarded(used: &ToolUse, mut draft: Draft, facts: Facts, io: &mut Io) -> Prepared {
    // The sandbox confines whatever git would start.
    if draft.held != Held::Sandboxed {
        let accesses = draft.call.access(&io.workspace());
        let name = wire::names::canonical(&used.name);
        let request = Request::new(name, &accesses).with_input(draft.input.get()).held(draft.held);
        draft.git_guard = io.policy.git_guard(&request, &facts);
    }
    ready(used, draft, facts, io).await
}

async fn ready(used: &ToolUse, draft: Draft, facts: Facts, io: &mut Io) -> Prepared {
    interact::admitted(used, &draft.input, io).await;
    let Draft { call, cancel, cage, changed: changed_by_user, git_guard, by, .. } = draft;
    let judged = Judged { decision: by, denial: None, sandboxed: cage.is_some() };
    let cx = CallCx { cage, changed_by_user, git_guard, ..call_cx(used, facts, io, cancel) };
    Prepared::Ready(call, cx, judged)
}

fn note_denial(used: &ToolUse, io: &mut Io) {
    let denial =
        PermissionDenial { tool_name: used.name.clone(), tool_use_id: used.id.clone(), tool_input: used.input.clone() };
    // An agent has no result of its own: the session's names what it was denied.
    match io.host.agent_id() {
        Some(_) => io.spawner.agents.note_denial(denial),
        None => io.denials.push(denial),
    }
}

async fn refuse(used: &ToolUse, refusal: Refusal, io: &mut Io) -> Prepared {
    tracing::debug!(tool = used.name, reason = %refusal.reason.describe(), "call denied");
    note_denial(used, io);
    let body = SystemBody::PermissionDenied {
        tool_name: used.name.clone(),
        tool_use_id: used.id.clone(),
        message: refusal.message.clone(),
        agent_id: None,
        decision_reason_type: Some(refusal.reason.kind()),
        decision_reason: Some(refusal.reason.describe()),
    };
    io.host.system(body).await;
    let source = if matches!(refusal.reason, Reason::Hook(_)) { "hook" } else { "config" };
    let judged = Judged::refused(source, Some(&refusal.reason));
    Prepared::Refused(Outcome::failed(refusal.message), judged)
}

pub(super) fn call_cx(used: &ToolUse, facts: Facts, io: &Io, cancel: CancellationToken) -> CallCx {
    let workspace = io.workspace();
    let policy = Arc::clone(&io.policy);
    let folders = sys::real::Folders::default();
    CallCx {
        id: used.id.clone(),
        workspace,
        state: Arc::clone(&io.state),
        cancel,
        model: Arc::clone(&io.side) as Arc<dyn tools::SideModel>,
        may_read: Arc::new(move |path, met| {
            let real = match met {
                Met::Named => sys::real::path(path),
                Met::Walked => folders.file(path),
                // What was decided is what is opened.
                Met::Changed => return facts.real_location(path).is_none_or(|real| sys::real::path(path) == real),
            };
            !policy.hides(path, &real)
        }),
        cage: None,
        changed_by_user: false,
        git_guard: None,
    }
}

impl Io {
    /// The directories as they are now: the shell may have moved.
    pub(crate) fn workspace(&self) -> Workspace {
        let cwd = self.state.cwd.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Workspace { cwd, ..self.directories.clone() }
    }
}
