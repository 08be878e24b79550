//! The decision: one order for every tool and mode. Refuses to guess: what is not resolved or not understood asks.

mod command;
mod directory_tracker;
pub(crate) mod explain;
mod facts;
pub(crate) mod names;
mod reading;
mod removing;
pub(crate) mod repository;
mod rule_filter;
mod suggesting;

pub use facts::PathFacts;

use crate::access::Access;
use crate::decision::{
    DecisionReason, FileAccess, FilePlace, PermissionDecision, PermissionRefusal, RequestedAction, never_asks_message,
    not_granted_message,
};
use crate::path::{ResolvedPath, is_inside, normalise};
use crate::rule::{self, PermissionRule, RuleContext, RuleTarget, RuleWarning, ScalarInput};
use crate::sensitive;
use crate::shell::reading::CommandReading;
use crate::shell::removal_targets::RemovalVerdict;
use crate::shell::zsh;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use wire::mode::PermissionMode;
use wire::settings::{RuleBehaviour, RuleText};

/// Added to the question when a command wants out of the sandbox.
const OUTSIDE_SANDBOX_WARNING: &str = " Warning: the command would run outside the sandbox, with all of your rights.";

/// One call, as permission sees it.
#[derive(Clone, Copy, Debug)]
pub struct PermissionQuery<'a> {
    /// The tool's current name.
    pub tool: &'a str,
    pub accesses: &'a [Access],
    /// The input as sent, for rules on its fields. Without it such deny and ask rules cover the whole tool.
    pub input: Option<&'a str>,
    pub confinement: CommandConfinement,
    /// A host or hook has answered in place of the person.
    pub is_answered: bool,
}

/// How the operating system confines a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandConfinement {
    /// Nothing, or it does not count: the ordinary order applies.
    #[default]
    Not,
    /// The sandbox, and commands in it need no permission.
    Sandboxed,
    /// It asks to leave the sandbox.
    Escaping,
}

impl<'a> PermissionQuery<'a> {
    pub fn new(tool: &'a str, accesses: &'a [Access]) -> Self {
        Self { tool, accesses, input: None, confinement: CommandConfinement::Not, is_answered: false }
    }

    /// Whether the model may read files, as if it called Read.
    pub fn reading(accesses: &'a [Access]) -> Self {
        Self::new("Read", accesses)
    }

    /// `json` is the input object.
    #[must_use]
    pub fn with_input(self, json: &'a str) -> Self {
        Self { input: Some(json), ..self }
    }

    #[must_use]
    pub fn with_confinement(self, held: CommandConfinement) -> Self {
        Self { confinement: held, ..self }
    }

    #[must_use]
    pub fn with_answer(self, answered: bool) -> Self {
        Self { is_answered: answered, ..self }
    }
}

/// The directories a session may use. Spellings as the user gave them; the policy adds the resolved ones.
#[derive(Clone, Debug, Default)]
pub struct SessionDirectories {
    /// Where the session started: bare path rules are anchored here.
    pub cwd: PathBuf,
    pub home: Option<PathBuf>,
    /// Working directories: the start directory and the additional ones.
    pub roots: Vec<PathBuf>,
    /// Further places that may be read but not written: the session's spilled results and task output.
    pub readable: Vec<PathBuf>,
    /// The one file that may be written in plan mode.
    pub plan_file: Option<PathBuf>,
    /// Where the session keeps notes for later ones: Markdown files there are read and written without a question.
    pub notes: Vec<PathBuf>,
    /// The git remotes at the start, by name; `None` when they were not read.
    pub remotes: Option<BTreeMap<String, String>>,
    /// `permissions.blockReadsOutsideWorkingDirectories`: reads elsewhere are refused in every mode.
    pub block_reads_outside: bool,
    /// What commands find in their environment.
    pub variables: ShellEnvironment,
    /// Where the data for undo is kept.
    pub undo_store: Option<PathBuf>,
    /// Commands are run by zsh, not by bash.
    pub runs_zsh: bool,
}

/// Environment variables by name. Their values are not shown in debug output: they may be secrets.
#[derive(Clone, Default)]
pub struct ShellEnvironment(pub std::sync::Arc<BTreeMap<String, String>>);

impl std::fmt::Debug for ShellEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Rules, mode and directories of a session. Cheap to query, immutable apart from the mode.
#[derive(Clone, Debug)]
pub struct Policy {
    pub mode: PermissionMode,
    rules: Vec<PermissionRule>,
    directories: SessionDirectories,
}

impl Policy {
    /// `resolve` follows links; it is called for the directories of `place` and the anchors of path rules.
    pub fn new(
        mode: PermissionMode,
        rules: &[RuleText],
        mut place: SessionDirectories,
        resolve: &dyn Fn(&Path) -> PathBuf,
    ) -> (Self, Vec<RuleWarning>) {
        let mut warnings = Vec::new();
        let around = RuleContext { cwd: &place.cwd, home: place.home.as_deref(), resolve };
        let rules = rules.iter().filter_map(|text| rule::compile(text, &around, &mut warnings)).collect();
        add_resolved(&mut place.roots, resolve);
        add_resolved(&mut place.readable, resolve);
        add_resolved(&mut place.notes, resolve);
        (Self { mode, rules, directories: place }, warnings)
    }

    /// The same, with further rules.
    pub fn with_rules(&self, rules: &[RuleText], resolve: &dyn Fn(&Path) -> PathBuf) -> (Self, Vec<RuleWarning>) {
        let mut warnings = Vec::new();
        let around = RuleContext { cwd: &self.directories.cwd, home: self.directories.home.as_deref(), resolve };
        let further = rules.iter().filter_map(|text| rule::compile(text, &around, &mut warnings));
        let rules = self.rules.iter().cloned().chain(further).collect();
        (Self { mode: self.mode, rules, directories: self.directories.clone() }, warnings)
    }

    /// The directories of the session.
    pub fn directories(&self) -> &SessionDirectories {
        &self.directories
    }

    pub(crate) fn into_rules(self) -> Vec<PermissionRule> {
        self.rules
    }

    pub(crate) fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Whether a deny rule takes the whole tool away, so that the model is not offered it.
    pub fn removes(&self, tool: &str) -> bool {
        self.rules.iter().any(|rule| rule.behaviour == RuleBehaviour::Deny && rule.covers_tool(tool))
    }

    /// Whether any rule is about this tool as such. Rules on commands, paths and hosts are about what tools touch.
    pub fn names(&self, tool: &str) -> bool {
        self.rules.iter().any(|rule| rule.names(tool))
    }

    /// The paths whose real location `decide` will want to know.
    pub fn needs(&self, request: &PermissionQuery<'_>, cwd: &Path) -> Vec<PathBuf> {
        let mut needs = Vec::new();
        for access in request.accesses {
            match access {
                Access::ReadPath(path) | Access::WritePath(path) => needs.push(path.clone()),
                Access::Run(command) => needs.extend(self.command_needs(command, cwd)),
                Access::Reach { .. } | Access::Use | Access::Harmless | Access::Interact => {}
            }
        }
        needs
    }

    /// Whether search results must leave this file out. `real` may be `path` itself for an entry of a walk that does
    /// not follow links.
    pub fn hides(&self, path: &Path, real: &Path) -> bool {
        let spelled = ResolvedPath { given: path, real: Some(real) };
        let denied = self.path_rule(RuleBehaviour::Deny, PathAccess::Read, spelled).is_some();
        if denied || self.mode == PermissionMode::BypassPermissions {
            return denied;
        }
        spelled.any(sensitive::is_secret) && self.path_rule(RuleBehaviour::Allow, PathAccess::Read, spelled).is_none()
    }

    /// Decides the whole call: the strictest answer over its accesses. A call that declares nothing is judged by name.
    pub fn decide(&self, request: &PermissionQuery<'_>, facts: &PathFacts) -> PermissionDecision {
        self.decide_with(request, facts, PriorGrant::None)
    }

    /// As `decide`, for a call that a hook allows: the hook replaces mode, allow rules and question, never a deny
    /// rule, an ask rule, plan mode or a safety check.
    pub fn decide_allowed(&self, request: &PermissionQuery<'_>, facts: &PathFacts) -> PermissionDecision {
        self.decide_with(request, facts, PriorGrant::Hook)
    }

    fn decide_with(&self, request: &PermissionQuery<'_>, facts: &PathFacts, leave: PriorGrant) -> PermissionDecision {
        let judge = |access| self.decide_access(&self.access_request(request, access, facts), leave);
        let decisions = request.accesses.iter().map(judge);
        decisions.reduce(PermissionDecision::stricter).unwrap_or_else(|| judge(&Access::Use))
    }

    /// Everything that is read from the call, once.
    fn access_request<'a>(
        &self,
        request: &PermissionQuery<'a>,
        access: &'a Access,
        facts: &'a PathFacts,
    ) -> AccessRequest<'a> {
        let by_input = self.rules.iter().any(|rule| {
            matches!(rule.target, RuleTarget::Agent(_) | RuleTarget::Skill { .. } | RuleTarget::Parameter(_))
        });
        let input = request.input.filter(|_| by_input).map(ScalarInput::read);
        let reading = match access {
            Access::Run(command) => Some(CommandReading::of(command)),
            Access::ReadPath(_)
            | Access::WritePath(_)
            | Access::Reach { .. }
            | Access::Use
            | Access::Harmless
            | Access::Interact => None,
        };
        // Plan mode is about intent, which no sandbox judges.
        let in_sandbox = self.mode != PermissionMode::Plan && matches!(access, Access::Run(_));
        let held = match request.confinement {
            CommandConfinement::Sandboxed if !in_sandbox => CommandConfinement::Not,
            held => held,
        };
        AccessRequest {
            tool: request.tool,
            access,
            facts,
            input,
            reading,
            confinement: held,
            is_answered: request.is_answered,
        }
    }

    /// The order of the specification, for one access.
    fn decide_access(&self, asked: &AccessRequest<'_>, leave: PriorGrant) -> PermissionDecision {
        if let Some(rule) = self.forbidding_rule(RuleBehaviour::Deny, asked) {
            return deny_by_rule(asked, rule);
        }
        if let Some(path) = self.blocked_read(asked) {
            return deny_outside_read(asked, path);
        }
        let removals = self.removals(asked);
        if removals == RemovalVerdict::Refuse {
            let message = "Permission was denied: the command would remove or change the folder in which gimlet keeps what \
                           `gimlet undo` brings back. No mode and no rule allows that.";
            return PermissionDecision::Deny(
                asked.refusal(message.into(), DecisionReason::SafetyCheck("a removal of the data for undo")),
            );
        }
        if self.mode == PermissionMode::Plan
            && let Some(decision) = self.decide_plan_mode(asked)
        {
            return decision;
        }
        if let Some(rule) = self.forbidding_rule(RuleBehaviour::Ask, asked) {
            return self.ask(asked, rule_reason(rule));
        }
        if self.is_note(asked) {
            return PermissionDecision::Allow(DecisionReason::WorkingDirectory);
        }
        if let Some(reason) = self.hard_check(asked, &removals) {
            return self.ask(asked, reason);
        }
        if leave == PriorGrant::Hook {
            return PermissionDecision::Allow(DecisionReason::Hook(String::new()));
        }
        if let Some(decision) = self.decide_by_confinement(asked) {
            return decision;
        }
        if let Some(reason) = self.allowed_by_mode(asked) {
            return PermissionDecision::Allow(reason);
        }
        if let Some(rule) = self.allowing_rule(asked) {
            return PermissionDecision::Allow(rule_reason(rule));
        }
        self.decide_by_default(asked)
    }

    /// The path outside the working directories that the call would read, where settings forbid that.
    fn blocked_read(&self, asked: &AccessRequest<'_>) -> Option<PathBuf> {
        if !self.directories.block_reads_outside {
            return None;
        }
        match asked.access {
            Access::ReadPath(path) => (!self.may_read_here(asked.facts.resolve_path(path))).then(|| path.clone()),
            Access::Run(_) => self.command_read_outside(asked.reading.as_ref()?, asked.facts),
            Access::WritePath(_) | Access::Reach { .. } | Access::Use | Access::Harmless | Access::Interact => None,
        }
    }

    fn may_read_here(&self, path: ResolvedPath<'_>) -> bool {
        self.may_see(path) || path.both(|p| is_inside(p, &self.directories.notes))
    }

    fn is_note(&self, asked: &AccessRequest<'_>) -> bool {
        let (Access::WritePath(path) | Access::ReadPath(path)) = asked.access else { return false };
        let is_text = |p: &Path| p.extension().is_some_and(|extension| extension == "md");
        asked.facts.resolve_path(path).both(|p| is_text(p) && is_inside(p, &self.directories.notes))
    }

    /// A command in the sandbox needs no question; a command that leaves it always does.
    fn decide_by_confinement(&self, asked: &AccessRequest<'_>) -> Option<PermissionDecision> {
        match asked.confinement {
            CommandConfinement::Not => None,
            CommandConfinement::Sandboxed => Some(PermissionDecision::Allow(DecisionReason::Sandboxed)),
            CommandConfinement::Escaping if self.mode == PermissionMode::BypassPermissions => None,
            CommandConfinement::Escaping => Some(self.ask(asked, DecisionReason::SandboxOverride)),
        }
    }

    /// The first deny or ask rule that may cover this access.
    fn forbidding_rule(&self, behaviour: RuleBehaviour, asked: &AccessRequest<'_>) -> Option<&PermissionRule> {
        // The sandbox replaces an ask rule for every command; ask rules for named commands still apply.
        let served = behaviour == RuleBehaviour::Ask && asked.confinement == CommandConfinement::Sandboxed;
        let of_tool = |rule: &&PermissionRule| {
            rule.behaviour == behaviour && ((rule.covers_tool(asked.tool) && !served) || asked.has_input_for(rule))
        };
        if let Some(rule) = self.rules.iter().find(of_tool) {
            return Some(rule);
        }
        match asked.access {
            Access::ReadPath(path) => self.path_rule(behaviour, PathAccess::Read, asked.facts.resolve_path(path)),
            Access::WritePath(path) => self.path_rule(behaviour, PathAccess::Write, asked.facts.resolve_path(path)),
            Access::Run(_) => self.command_rule(behaviour, asked.reading.as_ref()?, asked.facts),
            Access::Reach { host } => self.domain_rule(behaviour, host),
            Access::Use | Access::Harmless | Access::Interact => None,
        }
    }

    fn path_rule(&self, behaviour: RuleBehaviour, kind: PathAccess, path: ResolvedPath<'_>) -> Option<&PermissionRule> {
        self.rules.iter().filter(|rule| rule.behaviour == behaviour).find(|rule| {
            // Who may edit a file may read it; who may not read it may not write it either.
            let ((RuleTarget::Read(pattern), PathAccess::Read, _)
            | (RuleTarget::Edit(pattern), PathAccess::Write, _)
            | (RuleTarget::Edit(pattern), PathAccess::Read, RuleBehaviour::Allow)
            | (RuleTarget::Read(pattern), PathAccess::Write, RuleBehaviour::Deny)) = (&rule.target, kind, behaviour)
            else {
                return false;
            };
            match behaviour {
                RuleBehaviour::Allow => path.both(|p| pattern.matches(p)),
                RuleBehaviour::Ask | RuleBehaviour::Deny => path.any(|p| pattern.matches(p)),
            }
        })
    }

    fn domain_rule(&self, behaviour: RuleBehaviour, host: &str) -> Option<&PermissionRule> {
        self.rules.iter().find(|rule| {
            rule.behaviour == behaviour
                && matches!(&rule.target, RuleTarget::Domain(pattern) if crate::domain::matches(pattern, host))
        })
    }

    /// Plan mode is a guarantee: no rule, hook or answer lifts it.
    fn decide_plan_mode(&self, asked: &AccessRequest<'_>) -> Option<PermissionDecision> {
        let changes = match asked.access {
            Access::WritePath(path) => {
                let plan = self.directories.plan_file.as_deref();
                if plan.is_some_and(|plan| asked.facts.resolve_path(path).both(|p| p == plan)) {
                    return Some(PermissionDecision::Allow(DecisionReason::Mode(PermissionMode::Plan)));
                }
                true
            }
            Access::Run(_) => !asked.reading.as_ref().is_some_and(|reading| self.only_reads(reading, asked.facts)),
            Access::Use => asked.tool.starts_with("mcp__"),
            Access::ReadPath(_) | Access::Reach { .. } | Access::Harmless | Access::Interact => false,
        };
        changes.then(|| {
            let message = format!(
                "Permission to {} was denied: plan mode is on, so nothing may be changed yet. Finish the plan first.",
                asked.requested_action()
            );
            PermissionDecision::Deny(asked.refusal(message, DecisionReason::Mode(PermissionMode::Plan)))
        })
    }

    /// What no allow rule approves (and, critical removals apart, only bypass does).
    fn hard_check(&self, asked: &AccessRequest<'_>, removals: &RemovalVerdict) -> Option<DecisionReason> {
        if let RemovalVerdict::Ask(why) = removals {
            return Some(DecisionReason::SafetyCheck(why));
        }
        if let Some(reason) = self.forbidden_reads(asked) {
            return Some(reason);
        }
        if let Some(reading) = &asked.reading
            && self.restricts_commands()
            && (reading.hides_program || self.sources_unknown(reading, asked.facts))
        {
            return Some(DecisionReason::SafetyCheck(
                "rules forbid some commands, and which program this starts is known only when it runs",
            ));
        }
        if self.means_something_else(asked) {
            return Some(DecisionReason::NotUnderstood("zsh, which runs it, may read it differently"));
        }
        if *asked.access == Access::Interact && !asked.is_answered {
            return Some(DecisionReason::Interaction);
        }
        if self.mode == PermissionMode::BypassPermissions || asked.confinement == CommandConfinement::Sandboxed {
            return None;
        }
        match asked.access {
            Access::WritePath(path) if asked.facts.resolve_path(path).any(sensitive::is_protected) => {
                Some(DecisionReason::SafetyCheck("a protected path: what is written there may run later"))
            }
            Access::ReadPath(path) => {
                let path = asked.facts.resolve_path(path);
                let secret = path.any(sensitive::is_secret);
                let named = secret && self.path_rule(RuleBehaviour::Allow, PathAccess::Read, path).is_some();
                (secret && !named).then_some(DecisionReason::SafetyCheck("a private key or credential file"))
            }
            Access::Run(_) => {
                self.unsafe_writing(asked.reading.as_ref()?, asked.facts).map(DecisionReason::SafetyCheck)
            }
            Access::Use if asked.tool == "EnterWorktree" => {
                Some(DecisionReason::SafetyCheck("a worktree outside .claude/worktrees"))
            }
            Access::WritePath(_) | Access::Reach { .. } | Access::Use | Access::Harmless | Access::Interact => None,
        }
    }

    /// Whether zsh may make something of a command that the rules, or the checks of removals, would have to know.
    fn means_something_else(&self, asked: &AccessRequest<'_>) -> bool {
        let (Access::Run(command), Some(reading)) = (asked.access, &asked.reading) else { return false };
        self.directories.runs_zsh
            && asked.confinement != CommandConfinement::Sandboxed
            && zsh::is_peculiar(command, reading)
            && (self.mode != PermissionMode::BypassPermissions
                || self.restricts_commands()
                || self.restricts_reading()
                || removing::mentions_removal(reading))
    }

    fn allowed_by_mode(&self, asked: &AccessRequest<'_>) -> Option<DecisionReason> {
        let allowed = match self.mode {
            PermissionMode::BypassPermissions => true,
            PermissionMode::AcceptEdits => match asked.access {
                // A write to one name of a file may change it under another, outside.
                Access::WritePath(path) => {
                    self.may_change(asked.facts.resolve_path(path)) && !asked.facts.is_shared(path)
                }
                Access::ReadPath(_)
                | Access::Run(_)
                | Access::Reach { .. }
                | Access::Use
                | Access::Harmless
                | Access::Interact => false,
            },
            PermissionMode::Default | PermissionMode::Plan | PermissionMode::Auto | PermissionMode::DontAsk => false,
        };
        allowed.then_some(DecisionReason::Mode(self.mode))
    }

    fn allowing_rule(&self, asked: &AccessRequest<'_>) -> Option<&PermissionRule> {
        let whole = |rule: &&PermissionRule| {
            rule.behaviour == RuleBehaviour::Allow && (rule.covers_tool(asked.tool) || asked.has_input_for(rule))
        };
        if let Some(rule) = self.rules.iter().find(whole) {
            return Some(rule);
        }
        match asked.access {
            Access::ReadPath(path) => {
                self.path_rule(RuleBehaviour::Allow, PathAccess::Read, asked.facts.resolve_path(path))
            }
            Access::WritePath(path) => {
                self.path_rule(RuleBehaviour::Allow, PathAccess::Write, asked.facts.resolve_path(path))
            }
            Access::Reach { host } => self.domain_rule(RuleBehaviour::Allow, host),
            Access::Run(_) | Access::Use | Access::Harmless | Access::Interact => None,
        }
    }

    fn decide_by_default(&self, asked: &AccessRequest<'_>) -> PermissionDecision {
        match asked.access {
            // The person has answered: `hard_check` runs before this.
            Access::Harmless | Access::Interact => PermissionDecision::Allow(DecisionReason::Harmless),
            Access::ReadPath(path) if self.may_see(asked.facts.resolve_path(path)) => {
                PermissionDecision::Allow(DecisionReason::WorkingDirectory)
            }
            Access::ReadPath(_) => self.ask(asked, DecisionReason::WorkingDirectory),
            Access::Run(_) => match &asked.reading {
                Some(reading) => self.decide_command(reading, asked),
                None => self.ask(asked, DecisionReason::NoRule),
            },
            Access::WritePath(path) if !self.may_change(asked.facts.resolve_path(path)) => {
                let real = asked.facts.real(path).unwrap_or(path).to_path_buf();
                let (access, place) = (FileAccess::Writes, FilePlace::Outside);
                self.ask(asked, DecisionReason::OpensFile { access, path: Some(real), place })
            }
            Access::WritePath(_) | Access::Reach { .. } | Access::Use => self.ask(asked, DecisionReason::NoRule),
        }
    }

    fn may_see(&self, path: ResolvedPath<'_>) -> bool {
        path.both(|p| is_inside(p, &self.directories.roots) || is_inside(p, &self.directories.readable))
    }

    fn may_change(&self, path: ResolvedPath<'_>) -> bool {
        path.both(|p| is_inside(p, &self.directories.roots))
    }

    /// A question, or, in a session that never asks, its refusal.
    fn ask(&self, asked: &AccessRequest<'_>, reason: DecisionReason) -> PermissionDecision {
        match self.mode {
            PermissionMode::DontAsk => {
                PermissionDecision::Deny(asked.refusal(never_asks_message(asked.requested_action()), reason))
            }
            PermissionMode::Default
            | PermissionMode::AcceptEdits
            | PermissionMode::Plan
            | PermissionMode::Auto
            | PermissionMode::BypassPermissions => {
                let mut message = not_granted_message(asked.requested_action());
                if reason == DecisionReason::SandboxOverride {
                    message.push_str(OUTSIDE_SANDBOX_WARNING);
                }
                if let DecisionReason::Reads(why) = &reason {
                    message = format!("{message} The reason: {why}.");
                }
                if let DecisionReason::RepositoryConfiguration(_) = &reason {
                    message = format!("{message} ({})", reason.describe());
                }
                PermissionDecision::Ask(asked.refusal(message, reason))
            }
        }
    }
}

/// Permission that was given before the decision.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PriorGrant {
    None,
    Hook,
}

/// One access of one call.
struct AccessRequest<'a> {
    tool: &'a str,
    access: &'a Access,
    facts: &'a PathFacts,
    input: Option<ScalarInput>,
    /// Of a shell command.
    reading: Option<CommandReading>,
    confinement: CommandConfinement,
    is_answered: bool,
}

impl AccessRequest<'_> {
    fn has_input_for(&self, rule: &PermissionRule) -> bool {
        rule.covers_input(self.tool, self.input.as_ref())
    }

    fn requested_action(&self) -> RequestedAction<'_> {
        match self.access {
            Access::ReadPath(path) => RequestedAction::Read(path),
            Access::WritePath(path) => RequestedAction::Write(path),
            Access::Run(_) | Access::Reach { .. } | Access::Use | Access::Harmless | Access::Interact => {
                RequestedAction::Use(self.tool)
            }
        }
    }

    fn refusal(&self, message: String, reason: DecisionReason) -> PermissionRefusal {
        let path = match self.access {
            Access::ReadPath(path) | Access::WritePath(path) => Some(path.clone()),
            Access::Run(_) | Access::Reach { .. } | Access::Use | Access::Harmless | Access::Interact => None,
        };
        PermissionRefusal { message, reason, path }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PathAccess {
    Read,
    Write,
}

fn rule_reason(rule: &PermissionRule) -> DecisionReason {
    DecisionReason::Rule { text: rule.text.clone(), source: rule.source }
}

fn deny_outside_read(asked: &AccessRequest<'_>, path: PathBuf) -> PermissionDecision {
    let message = format!(
        "Permission to read from {} has been denied: permissions.blockReadsOutsideWorkingDirectories is set, and this is \
         outside the working directories. --add-dir or /add-dir adds a directory.",
        path.display()
    );
    let reason = DecisionReason::SafetyCheck("permissions.blockReadsOutsideWorkingDirectories refuses reads outside");
    PermissionDecision::Deny(PermissionRefusal {
        message,
        reason,
        path: Some(path).filter(|_| asked.reading.is_none()),
    })
}

fn deny_by_rule(asked: &AccessRequest<'_>, rule: &PermissionRule) -> PermissionDecision {
    let message = format!("Permission to {} has been denied by the rule {}.", asked.requested_action(), rule.text);
    PermissionDecision::Deny(asked.refusal(message, rule_reason(rule)))
}

fn add_resolved(dirs: &mut Vec<PathBuf>, resolve: &dyn Fn(&Path) -> PathBuf) {
    for index in 0..dirs.len() {
        dirs[index] = normalise(&dirs[index]);
        let real = resolve(&dirs[index]);
        if !dirs.contains(&real) {
            dirs.push(real);
        }
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
