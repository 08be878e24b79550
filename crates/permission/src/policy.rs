//! The decision: one order for every tool and mode. Refuses to guess: what is not resolved or not understood asks.

mod command;
mod concern;
pub(crate) mod explain;
mod reading;
mod removing;
mod suggesting;

use crate::access::Access;
use crate::decision::{Decision, Reason, Refusal, Wish, never_asks, not_granted};
use crate::path::{Spelled, inside, normalise};
use crate::reads::Reads;
use crate::rule::{self, Input, Rule, Surroundings, Target, Warning};
use crate::sensitive;
use crate::shell::reading::Reading;
use crate::shell::targets::Verdict;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use wire::mode::PermissionMode;
use wire::settings::{Behaviour, RuleText};

/// Added to the question when a command wants out of the sandbox.
const OUTSIDE: &str = " Warning: the command would run outside the sandbox, with all of your rights.";

/// One call, as permission sees it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The tool's current name.
    pub tool: &'a str,
    pub accesses: &'a [Access],
    /// The input as sent, for rules that speak of its fields. Without it such deny and ask rules cover the whole tool.
    pub input: Option<&'a str>,
    pub held: Held,
    /// Somebody stood in for the person who would have to answer.
    pub answered: bool,
}

/// What the operating system would hold a command to, whatever it tries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Held {
    /// Nothing, or it does not count: the ordinary order applies.
    #[default]
    Not,
    /// The sandbox, and commands in it need no leave.
    Sandboxed,
    /// It asks to leave the sandbox.
    Escaping,
}

impl<'a> Request<'a> {
    pub fn new(tool: &'a str, accesses: &'a [Access]) -> Self {
        Self { tool, accesses, input: None, held: Held::Not, answered: false }
    }

    /// `json` is the input object.
    #[must_use]
    pub fn with_input(self, json: &'a str) -> Self {
        Self { input: Some(json), ..self }
    }

    #[must_use]
    pub fn held(self, held: Held) -> Self {
        Self { held, ..self }
    }

    #[must_use]
    pub fn answered(self, answered: bool) -> Self {
        Self { answered, ..self }
    }
}

/// The directories a session may use. Spellings as the user gave them; the policy adds the resolved ones.
#[derive(Clone, Debug, Default)]
pub struct Place {
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
    /// The git remotes at the start, by name; `None` when nobody looked.
    pub remotes: Option<BTreeMap<String, String>>,
    /// What commands find in their environment.
    pub variables: Variables,
    /// Where the data for undo is kept.
    pub undo_store: Option<PathBuf>,
}

/// Environment variables by name. Their values are not shown in debug output: they may be secrets.
#[derive(Clone, Default)]
pub struct Variables(pub std::sync::Arc<BTreeMap<String, String>>);

impl std::fmt::Debug for Variables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// What the caller found out about the paths of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Where the shell stands.
    pub cwd: PathBuf,
    real: BTreeMap<PathBuf, PathBuf>,
    /// Files that have other names, perhaps elsewhere.
    shared: BTreeSet<PathBuf>,
    /// Paths at which there is a file.
    present: BTreeSet<PathBuf>,
    /// Git, run where the shell stands, uses the repository the session started in.
    own_repository: bool,
    /// The git remotes as they are now.
    remotes: BTreeMap<String, String>,
    /// What the command would read (see `Policy::read_plan`); `None` when nobody looked.
    reads: Option<Reads>,
}

impl Facts {
    /// Resolves every path of `needs` (see `Policy::needs`). For what does not exist, `resolve` follows the links of
    /// the nearest existing parent.
    pub fn gather(cwd: PathBuf, needs: Vec<PathBuf>, resolve: impl Fn(&Path) -> PathBuf) -> Self {
        let real = needs.into_iter().map(|path| (path.clone(), resolve(&path))).collect();
        Self { cwd, real, ..Self::default() }
    }

    /// Marks the files that `is_shared` says have several names (hard links).
    #[must_use]
    pub fn sharing(mut self, is_shared: impl Fn(&Path) -> bool) -> Self {
        self.shared = self.real.iter().filter(|(_, real)| is_shared(real)).map(|(path, _)| path.clone()).collect();
        self
    }

    /// Marks the paths of the request at which `is_file` finds a file.
    #[must_use]
    pub fn with_files(mut self, is_file: impl Fn(&Path) -> bool) -> Self {
        self.present = self.real.iter().filter(|(_, real)| is_file(real)).map(|(path, _)| path.clone()).collect();
        self
    }

    fn is_present(&self, path: &Path) -> bool {
        self.present.contains(path)
    }

    /// Where the shell stands, git uses the repository the session started in.
    #[must_use]
    pub fn in_own_repository(self) -> Self {
        Self { own_repository: true, ..self }
    }

    #[must_use]
    pub fn with_remotes(self, remotes: BTreeMap<String, String>) -> Self {
        Self { remotes, ..self }
    }

    #[must_use]
    pub fn with_reads(self, reads: Reads) -> Self {
        Self { reads: Some(reads), ..self }
    }

    fn is_shared(&self, path: &Path) -> bool {
        self.shared.contains(path)
    }

    /// Where a path of the request really is, if it was resolved.
    pub fn real_location(&self, path: &Path) -> Option<&Path> {
        self.real(path)
    }

    fn real(&self, path: &Path) -> Option<&Path> {
        self.real.get(path).map(PathBuf::as_path)
    }

    fn spelled<'a>(&'a self, given: &'a Path) -> Spelled<'a> {
        Spelled { given, real: self.real(given) }
    }
}

/// Rules, mode and directories of a session. Cheap to query, immutable apart from the mode.
#[derive(Clone, Debug)]
pub struct Policy {
    pub mode: PermissionMode,
    rules: Vec<Rule>,
    place: Place,
}

impl Policy {
    /// `resolve` follows links; it is called for the directories of `place` and the anchors of path rules.
    pub fn new(
        mode: PermissionMode,
        rules: &[RuleText],
        mut place: Place,
        resolve: &dyn Fn(&Path) -> PathBuf,
    ) -> (Self, Vec<Warning>) {
        let mut warnings = Vec::new();
        let around = Surroundings { cwd: &place.cwd, home: place.home.as_deref(), resolve };
        let rules = rules.iter().filter_map(|text| rule::compile(text, &around, &mut warnings)).collect();
        add_resolved(&mut place.roots, resolve);
        add_resolved(&mut place.readable, resolve);
        add_resolved(&mut place.notes, resolve);
        (Self { mode, rules, place }, warnings)
    }

    /// The same, with further rules.
    pub fn with_rules(&self, rules: &[RuleText], resolve: &dyn Fn(&Path) -> PathBuf) -> (Self, Vec<Warning>) {
        let mut warnings = Vec::new();
        let around = Surroundings { cwd: &self.place.cwd, home: self.place.home.as_deref(), resolve };
        let further = rules.iter().filter_map(|text| rule::compile(text, &around, &mut warnings));
        let rules = self.rules.iter().cloned().chain(further).collect();
        (Self { mode: self.mode, rules, place: self.place.clone() }, warnings)
    }

    /// The directories of the session.
    pub fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn into_rules(self) -> Vec<Rule> {
        self.rules
    }

    pub(crate) fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Whether a deny rule takes the whole tool away, so that the model is not offered it.
    pub fn removes(&self, tool: &str) -> bool {
        self.rules.iter().any(|rule| rule.behaviour == Behaviour::Deny && rule.covers_tool(tool))
    }

    /// Whether any rule is about this tool as such. Rules on commands, paths and hosts are about what tools touch.
    pub fn names(&self, tool: &str) -> bool {
        self.rules.iter().any(|rule| rule.names(tool))
    }

    /// The paths whose real location `decide` will want to know.
    pub fn needs(&self, request: &Request<'_>, cwd: &Path) -> Vec<PathBuf> {
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
        let spelled = Spelled { given: path, real: Some(real) };
        let denied = self.path_rule(Behaviour::Deny, Kind::Read, spelled).is_some();
        if denied || self.mode == PermissionMode::BypassPermissions {
            return denied;
        }
        spelled.any(sensitive::is_secret) && self.path_rule(Behaviour::Allow, Kind::Read, spelled).is_none()
    }

    /// Decides the whole call: the strictest answer over its accesses. A call that declares nothing is judged by name.
    pub fn decide(&self, request: &Request<'_>, facts: &Facts) -> Decision {
        self.decide_with(request, facts, Leave::None)
    }

    /// As `decide`, for a call that a hook allows: its word stands in for mode, allow rules and question, never for a deny
    /// rule, an ask rule, plan mode or a safety check.
    pub fn decide_allowed(&self, request: &Request<'_>, facts: &Facts) -> Decision {
        self.decide_with(request, facts, Leave::Hook)
    }

    fn decide_with(&self, request: &Request<'_>, facts: &Facts, leave: Leave) -> Decision {
        let judge = |access| self.decide_access(&self.asked(request, access, facts), leave);
        let decisions = request.accesses.iter().map(judge);
        decisions.reduce(Decision::stricter).unwrap_or_else(|| judge(&Access::Use))
    }

    /// Everything that is read from the call, once.
    fn asked<'a>(&self, request: &Request<'a>, access: &'a Access, facts: &'a Facts) -> Asked<'a> {
        let by_input = self
            .rules
            .iter()
            .any(|rule| matches!(rule.target, Target::Agent(_) | Target::Skill { .. } | Target::Parameter(_)));
        let input = request.input.filter(|_| by_input).map(Input::read);
        let reading = match access {
            Access::Run(command) => Some(Reading::of(command)),
            Access::ReadPath(_)
            | Access::WritePath(_)
            | Access::Reach { .. }
            | Access::Use
            | Access::Harmless
            | Access::Interact => None,
        };
        // Plan mode is about intent, which no sandbox judges.
        let in_sandbox = self.mode != PermissionMode::Plan && matches!(access, Access::Run(_));
        let held = match request.held {
            Held::Sandboxed if !in_sandbox => Held::Not,
            held => held,
        };
        Asked { tool: request.tool, access, facts, input, reading, held, answered: request.answered }
    }

    /// The order of the specification, for one access.
    fn decide_access(&self, asked: &Asked<'_>, leave: Leave) -> Decision {
        if let Some(rule) = self.forbidding(Behaviour::Deny, asked) {
            return denied_by_rule(asked, rule);
        }
        let removals = self.removals(asked);
        if removals == Verdict::Refuse {
            let message = "Permission was denied: the command would remove the folder in which gimlet keeps what `gimlet \
                           undo` brings back. No mode and no rule allows that.";
            return Decision::Deny(
                asked.refusal(message.into(), Reason::SafetyCheck("a removal of the data for undo")),
            );
        }
        if self.mode == PermissionMode::Plan
            && let Some(decision) = self.planning(asked)
        {
            return decision;
        }
        if let Some(rule) = self.forbidding(Behaviour::Ask, asked) {
            return self.ask(asked, because(rule));
        }
        if self.is_note(asked) {
            return Decision::Allow(Reason::WorkingDirectory);
        }
        if let Some(reason) = self.hard_check(asked, &removals) {
            return self.ask(asked, reason);
        }
        if leave == Leave::Hook {
            return Decision::Allow(Reason::Hook(String::new()));
        }
        if let Some(decision) = self.by_confinement(asked) {
            return decision;
        }
        if let Some(reason) = self.allowed_by_mode(asked) {
            return Decision::Allow(reason);
        }
        if let Some(rule) = self.allowing(asked) {
            return Decision::Allow(because(rule));
        }
        self.by_default(asked)
    }

    fn is_note(&self, asked: &Asked<'_>) -> bool {
        let (Access::WritePath(path) | Access::ReadPath(path)) = asked.access else { return false };
        let is_text = |p: &Path| p.extension().is_some_and(|extension| extension == "md");
        asked.facts.spelled(path).both(|p| is_text(p) && inside(p, &self.place.notes))
    }

    /// The sandbox stands in for a question; leaving it is always one.
    fn by_confinement(&self, asked: &Asked<'_>) -> Option<Decision> {
        match asked.held {
            Held::Not => None,
            Held::Sandboxed => Some(Decision::Allow(Reason::Sandboxed)),
            Held::Escaping if self.mode == PermissionMode::BypassPermissions => None,
            Held::Escaping => Some(self.ask(asked, Reason::SandboxOverride)),
        }
    }

    /// The first deny or ask rule that might speak of this access.
    fn forbidding(&self, behaviour: Behaviour, asked: &Asked<'_>) -> Option<&Rule> {
        // Whoever wants to be asked about every command is served by the sandbox; who named commands still is.
        let served = behaviour == Behaviour::Ask && asked.held == Held::Sandboxed;
        let of_tool = |rule: &&Rule| {
            rule.behaviour == behaviour && ((rule.covers_tool(asked.tool) && !served) || asked.has_input_for(rule))
        };
        if let Some(rule) = self.rules.iter().find(of_tool) {
            return Some(rule);
        }
        match asked.access {
            Access::ReadPath(path) => self.path_rule(behaviour, Kind::Read, asked.facts.spelled(path)),
            Access::WritePath(path) => self.path_rule(behaviour, Kind::Write, asked.facts.spelled(path)),
            Access::Run(_) => self.command_rule(behaviour, asked.reading.as_ref()?, asked.facts),
            Access::Reach { host } => self.domain_rule(behaviour, host),
            Access::Use | Access::Harmless | Access::Interact => None,
        }
    }

    fn path_rule(&self, behaviour: Behaviour, kind: Kind, path: Spelled<'_>) -> Option<&Rule> {
        self.rules.iter().filter(|rule| rule.behaviour == behaviour).find(|rule| {
            // Who may edit a file may read it; who may not read it may not write it either.
            let ((Target::Read(pattern), Kind::Read, _)
            | (Target::Edit(pattern), Kind::Write, _)
            | (Target::Edit(pattern), Kind::Read, Behaviour::Allow)
            | (Target::Read(pattern), Kind::Write, Behaviour::Deny)) = (&rule.target, kind, behaviour)
            else {
                return false;
            };
            match behaviour {
                Behaviour::Allow => path.both(|p| pattern.matches(p)),
                Behaviour::Ask | Behaviour::Deny => path.any(|p| pattern.matches(p)),
            }
        })
    }

    fn domain_rule(&self, behaviour: Behaviour, host: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| {
            rule.behaviour == behaviour
                && matches!(&rule.target, Target::Domain(pattern) if crate::domain::matches(pattern, host))
        })
    }

    /// Plan mode is a guarantee: no rule, hook or answer lifts it.
    fn planning(&self, asked: &Asked<'_>) -> Option<Decision> {
        let changes = match asked.access {
            Access::WritePath(path) => {
                let plan = self.place.plan_file.as_deref();
                if plan.is_some_and(|plan| asked.facts.spelled(path).both(|p| p == plan)) {
                    return Some(Decision::Allow(Reason::Mode(PermissionMode::Plan)));
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
                asked.wish()
            );
            Decision::Deny(asked.refusal(message, Reason::Mode(PermissionMode::Plan)))
        })
    }

    /// What no allow rule approves (and, critical removals apart, only bypass does).
    fn hard_check(&self, asked: &Asked<'_>, removals: &Verdict) -> Option<Reason> {
        if let Verdict::Ask(why) = removals {
            return Some(Reason::SafetyCheck(why));
        }
        if let Some(reason) = self.forbidden_reads(asked) {
            return Some(reason);
        }
        if let Some(reading) = &asked.reading
            && self.restricts_commands()
            && (reading.hides_program || self.sources_unknown(reading, asked.facts))
        {
            return Some(Reason::SafetyCheck(
                "rules forbid some commands, and which program this starts is known only when it runs",
            ));
        }
        if *asked.access == Access::Interact && !asked.answered {
            return Some(Reason::Interaction);
        }
        if self.mode == PermissionMode::BypassPermissions || asked.held == Held::Sandboxed {
            return None;
        }
        match asked.access {
            Access::WritePath(path) if asked.facts.spelled(path).any(sensitive::is_protected) => {
                Some(Reason::SafetyCheck("a protected path: what is written there may run later"))
            }
            Access::ReadPath(path) => {
                let path = asked.facts.spelled(path);
                let secret = path.any(sensitive::is_secret);
                let named = secret && self.path_rule(Behaviour::Allow, Kind::Read, path).is_some();
                (secret && !named).then_some(Reason::SafetyCheck("a private key or credential file"))
            }
            Access::Run(_) => self.unsafe_writing(asked.reading.as_ref()?, asked.facts).map(Reason::SafetyCheck),
            Access::Use if asked.tool == "EnterWorktree" => {
                Some(Reason::SafetyCheck("a worktree outside .claude/worktrees"))
            }
            Access::WritePath(_) | Access::Reach { .. } | Access::Use | Access::Harmless | Access::Interact => None,
        }
    }

    fn allowed_by_mode(&self, asked: &Asked<'_>) -> Option<Reason> {
        let allowed = match self.mode {
            PermissionMode::BypassPermissions => true,
            PermissionMode::AcceptEdits => match asked.access {
                // A write to one name of a file may change it under another, outside.
                Access::WritePath(path) => self.may_change(asked.facts.spelled(path)) && !asked.facts.is_shared(path),
                Access::ReadPath(_)
                | Access::Run(_)
                | Access::Reach { .. }
                | Access::Use
                | Access::Harmless
                | Access::Interact => false,
            },
            PermissionMode::Default | PermissionMode::Plan | PermissionMode::Auto | PermissionMode::DontAsk => false,
        };
        allowed.then_some(Reason::Mode(self.mode))
    }

    fn allowing(&self, asked: &Asked<'_>) -> Option<&Rule> {
        let whole = |rule: &&Rule| {
            rule.behaviour == Behaviour::Allow && (rule.covers_tool(asked.tool) || asked.has_input_for(rule))
        };
        if let Some(rule) = self.rules.iter().find(whole) {
            return Some(rule);
        }
        match asked.access {
            Access::ReadPath(path) => self.path_rule(Behaviour::Allow, Kind::Read, asked.facts.spelled(path)),
            Access::WritePath(path) => self.path_rule(Behaviour::Allow, Kind::Write, asked.facts.spelled(path)),
            Access::Reach { host } => self.domain_rule(Behaviour::Allow, host),
            Access::Run(_) | Access::Use | Access::Harmless | Access::Interact => None,
        }
    }

    fn by_default(&self, asked: &Asked<'_>) -> Decision {
        match asked.access {
            // Whoever was to be asked has answered: `hard_check` comes before this.
            Access::Harmless | Access::Interact => Decision::Allow(Reason::Harmless),
            Access::ReadPath(path) if self.may_see(asked.facts.spelled(path)) => {
                Decision::Allow(Reason::WorkingDirectory)
            }
            Access::ReadPath(_) => self.ask(asked, Reason::WorkingDirectory),
            Access::Run(_) => match &asked.reading {
                Some(reading) => self.decide_command(reading, asked),
                None => self.ask(asked, Reason::NoRule),
            },
            Access::WritePath(_) | Access::Reach { .. } | Access::Use => self.ask(asked, Reason::NoRule),
        }
    }

    fn may_see(&self, path: Spelled<'_>) -> bool {
        path.both(|p| inside(p, &self.place.roots) || inside(p, &self.place.readable))
    }

    fn may_change(&self, path: Spelled<'_>) -> bool {
        path.both(|p| inside(p, &self.place.roots))
    }

    /// A question, or, in a session that never asks, its refusal.
    fn ask(&self, asked: &Asked<'_>, reason: Reason) -> Decision {
        match self.mode {
            PermissionMode::DontAsk => Decision::Deny(asked.refusal(never_asks(asked.wish()), reason)),
            PermissionMode::Default
            | PermissionMode::AcceptEdits
            | PermissionMode::Plan
            | PermissionMode::Auto
            | PermissionMode::BypassPermissions => {
                let mut message = not_granted(asked.wish());
                if reason == Reason::SandboxOverride {
                    message.push_str(OUTSIDE);
                }
                if let Reason::Reads(why) = &reason {
                    message = format!("{message} The reason: {why}.");
                }
                Decision::Ask(asked.refusal(message, reason))
            }
        }
    }
}

/// Leave that was given beforehand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leave {
    None,
    Hook,
}

/// One access of one call.
struct Asked<'a> {
    tool: &'a str,
    access: &'a Access,
    facts: &'a Facts,
    input: Option<Input>,
    /// Of a shell command.
    reading: Option<Reading>,
    held: Held,
    answered: bool,
}

impl Asked<'_> {
    fn has_input_for(&self, rule: &Rule) -> bool {
        rule.covers_input(self.tool, self.input.as_ref())
    }

    fn wish(&self) -> Wish<'_> {
        match self.access {
            Access::ReadPath(path) => Wish::Read(path),
            Access::WritePath(path) => Wish::Write(path),
            Access::Run(_) | Access::Reach { .. } | Access::Use | Access::Harmless | Access::Interact => {
                Wish::Use(self.tool)
            }
        }
    }

    fn refusal(&self, message: String, reason: Reason) -> Refusal {
        let path = match self.access {
            Access::ReadPath(path) | Access::WritePath(path) => Some(path.clone()),
            Access::Run(_) | Access::Reach { .. } | Access::Use | Access::Harmless | Access::Interact => None,
        };
        Refusal { message, reason, path }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
}

fn because(rule: &Rule) -> Reason {
    Reason::Rule { text: rule.text.clone(), source: rule.source }
}

fn denied_by_rule(asked: &Asked<'_>, rule: &Rule) -> Decision {
    let message = format!("Permission to {} has been denied by the rule {}.", asked.wish(), rule.text);
    Decision::Deny(asked.refusal(message, because(rule)))
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
