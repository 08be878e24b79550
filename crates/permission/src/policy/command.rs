//! Deciding shell commands. Deny, ask and the safety checks use the generous reading of the command, everything that
//! allows uses the strict one; a command is allowed only when each of its parts is.

use super::directory_tracker::{DirectoryTracker, ReadFootprint, ReadOperand};
use super::names::FoundNames;
use super::repository::{self, GitCall};
use super::{AccessRequest, DecisionReason, PathAccess, PathFacts, PermissionDecision, Policy, rule_reason};
use crate::decision::{FileAccess, FilePlace};
use crate::path::{ResolvedPath, is_inside, normalise};
use crate::rule::{PermissionRule, RuleTarget};
use crate::sensitive;
use crate::shell::pattern::CommandPattern;
use crate::shell::reading::CommandReading;
use crate::shell::script::{FileRedirect, ShellWord, SimpleCommand, join_raw};
use crate::shell::suspects::PossibleCommand;
use crate::shell::{files, flags, git, outputs, script_languages, wrapper};
use std::path::{Path, PathBuf};
use wire::mode::PermissionMode;
use wire::settings::RuleBehaviour;

/// More paths than this are not resolved, and what is not resolved is not allowed.
const MAX_NEEDS: usize = 256;

impl Policy {
    pub(super) fn command_needs(&self, command: &str, cwd: &Path) -> Vec<PathBuf> {
        let home = self.directories.home.as_deref();
        let reading = CommandReading::of(command);
        let mut needs = vec![cwd.to_path_buf()];
        needs.extend(files::touched_files(&reading.suspects, cwd, home).into_iter().map(|file| file.path));
        needs.extend(reading.sourced.iter().map(|file| cwd.join(file)));
        if self.restricts_commands() {
            reading.any_call(|words| {
                needs.extend(words.first().filter(|name| name.contains('/')).map(|name| cwd.join(name)));
                false
            });
        }
        let mut walk = DirectoryTracker::new(cwd, home, None);
        for unit in reading.units() {
            needs.extend(unit.redirects.iter().filter_map(|redirect| walk.path(&redirect.word)));
            let paths = walk.step(unit).map(|parts| parts.paths).unwrap_or_default();
            needs.extend(paths.into_iter().map(|path| path.open));
            needs.extend(output_files(&unit.words).iter().filter_map(|word| walk.path(word)));
            let changed = changed_operands(wrapper::strip_wrappers(&unit.words)).into_iter().flatten();
            needs.extend(changed.filter_map(|word| walk.path(word)));
        }
        needs.extend(self.removal_needs(&reading, command, cwd));
        needs.sort();
        needs.dedup();
        needs.truncate(MAX_NEEDS);
        needs
    }

    /// The first deny or ask rule that any part of the command might fall under.
    pub(super) fn command_rule(
        &self,
        behaviour: RuleBehaviour,
        reading: &CommandReading,
        facts: &PathFacts,
    ) -> Option<&PermissionRule> {
        let by_text = self.command_rules(behaviour).find(|(_, pattern)| {
            reading.any_spelling(|text| pattern.matches(text))
                || reading.any_call(|words| flags::covers(pattern, words))
        });
        let by_link =
            || self.command_rules(behaviour).find(|(_, pattern)| Self::covers_linked(pattern, reading, facts));
        by_text.or_else(by_link).map(|(rule, _)| rule).or_else(|| self.file_rule(behaviour, &reading.suspects, facts))
    }

    /// Whether a rule covers the program that a path of the command leads to.
    fn covers_linked(pattern: &CommandPattern, reading: &CommandReading, facts: &PathFacts) -> bool {
        reading.any_call(|words| {
            let Some((program, arguments)) = words.split_first().filter(|(name, _)| name.contains('/')) else {
                return false;
            };
            let Some(real) = facts.real(&facts.cwd.join(program)).and_then(Path::file_name) else { return false };
            let real = real.to_string_lossy();
            if real == wrapper::base_name(program) {
                return false;
            }
            let words: Vec<String> = [real.into_owned()].into_iter().chain(arguments.iter().cloned()).collect();
            pattern.matches(&words.join(" ")) || flags::covers(pattern, &words)
        })
    }

    /// Whether the command runs a file as part of itself that is no existing file of the working directories, or is
    /// written by the same command.
    pub(super) fn sources_unknown(&self, reading: &CommandReading, facts: &PathFacts) -> bool {
        let written = || files::written_files(&reading.suspects, &facts.cwd, self.directories.home.as_deref());
        reading.sourced.iter().any(|file| {
            let path = facts.cwd.join(file);
            let moves = reading.suspects.iter().any(|s| s.any_program(|program, _| matches!(program, "cd" | "pushd")));
            moves || !facts.is_present(&path) || !self.may_see(facts.resolve_path(&path)) || written().contains(&path)
        })
    }

    fn command_rules(&self, behaviour: RuleBehaviour) -> impl Iterator<Item = (&PermissionRule, &CommandPattern)> {
        self.rules.iter().filter(move |rule| rule.behaviour == behaviour).filter_map(|rule| match &rule.target {
            RuleTarget::Command(pattern) => Some((rule, pattern)),
            RuleTarget::Tool(_)
            | RuleTarget::Read(_)
            | RuleTarget::Edit(_)
            | RuleTarget::Domain(_)
            | RuleTarget::Agent(_)
            | RuleTarget::Skill { .. }
            | RuleTarget::Parameter(_)
            | RuleTarget::Unjudged(_) => None,
        })
    }

    pub(super) fn restricts_commands(&self) -> bool {
        [RuleBehaviour::Deny, RuleBehaviour::Ask]
            .into_iter()
            .any(|behaviour| self.command_rules(behaviour).next().is_some())
    }

    /// Path rules also cover the files that well-known programs and redirections touch.
    fn file_rule(
        &self,
        behaviour: RuleBehaviour,
        suspects: &[PossibleCommand],
        facts: &PathFacts,
    ) -> Option<&PermissionRule> {
        if !self.has_path_rules(behaviour) {
            return None;
        }
        let files = files::touched_files(suspects, &facts.cwd, self.directories.home.as_deref());
        files.iter().find_map(|file| {
            let given = normalise(&file.path);
            let kind = if file.writes { PathAccess::Write } else { PathAccess::Read };
            self.path_rule(behaviour, kind, ResolvedPath { given: &given, real: facts.real(&file.path) })
        })
    }

    fn has_path_rules(&self, behaviour: RuleBehaviour) -> bool {
        let speaks_of_paths = |rule: &PermissionRule| matches!(rule.target, RuleTarget::Read(_) | RuleTarget::Edit(_));
        self.rules.iter().any(|rule| rule.behaviour == behaviour && speaks_of_paths(rule))
    }

    /// The first file outside the working directories that the command visibly reads.
    pub(super) fn command_read_outside(&self, reading: &CommandReading, facts: &PathFacts) -> Option<PathBuf> {
        let harmless = |path: &Path| path == Path::new("/dev/null") || path.starts_with("/dev/fd");
        let files = files::touched_files(&reading.suspects, &facts.cwd, self.directories.home.as_deref());
        files.into_iter().filter(|file| !file.writes).map(|file| file.path).find(|path| {
            let given = normalise(path);
            !harmless(&given) && !self.may_read_here(ResolvedPath { given: &given, real: facts.real(path) })
        })
    }

    /// Redirections and file commands that reach protected files or the network names of bash.
    pub(super) fn unsafe_writing(&self, reading: &CommandReading, facts: &PathFacts) -> Option<&'static str> {
        let socket = |target: &String| target.starts_with("/dev/tcp/") || target.starts_with("/dev/udp/");
        if reading.suspects.iter().any(|s| s.reads.iter().chain(&s.writes).any(socket)) {
            return Some("a redirection that opens a network connection");
        }
        let targets = files::written_files(&reading.suspects, &facts.cwd, self.directories.home.as_deref());
        let protected = targets.iter().any(|open| {
            let given = normalise(open);
            facts.is_process_bound(open)
                || ResolvedPath { given: &given, real: facts.real(open) }.any(sensitive::is_protected)
        });
        let in_tree = facts.protected_trees.as_ref().is_some_and(|trees| !trees.is_empty());
        (protected || in_tree)
            .then_some("the shell would write to a protected path: what is written there may run later")
    }

    /// The folders that the commands of the request copy or move with all that is in them.
    pub fn copied_trees(&self, request: &super::PermissionQuery<'_>, cwd: &Path) -> Vec<PathBuf> {
        let commands = request.accesses.iter().filter_map(|access| match access {
            super::Access::Run(command) => Some(command),
            _ => None,
        });
        let home = self.directories.home.as_deref();
        commands.flat_map(|command| files::copied_trees(&CommandReading::of(command).suspects, cwd, home)).collect()
    }

    /// Whether the command is read-only as a whole.
    pub(super) fn only_reads(&self, reading: &CommandReading, facts: &PathFacts) -> bool {
        let units = reading.units();
        let parts = self.judge_units(units, facts, GrantScope::Nothing);
        !units.is_empty() && parts.iter().all(|part| part.grant.is_some())
    }

    /// The last two steps of the order for a command: allow rules part by part, then the read-only default.
    pub(super) fn decide_command(&self, reading: &CommandReading, asked: &AccessRequest<'_>) -> PermissionDecision {
        if let Some(rule) = self.exact_rule(reading) {
            return PermissionDecision::Allow(rule_reason(rule));
        }
        let units = match &reading.strict {
            Ok(units) => units,
            Err(_) if self.only_reads(reading, asked.facts) => {
                return PermissionDecision::Allow(DecisionReason::ReadOnlyCommand);
            }
            Err(why) => return self.ask(asked, DecisionReason::NotUnderstood(why)),
        };
        // The reason is that of the first part that needed more than reading.
        let mut decisive = None;
        let judged = self.judge_units(units, asked.facts, GrantScope::RulesAndMode);
        if let Some(file) = self.rewrites_configuration(reading, &judged, asked.facts) {
            return self.ask(asked, DecisionReason::RepositoryConfiguration(file));
        }
        for part in judged {
            match part.grant {
                None => {
                    return self.ask(asked, self.named_reason(part.missing_reason(), reading, asked.facts));
                }
                Some(DecisionReason::ReadOnlyCommand) => {}
                Some(reason) => {
                    decisive.get_or_insert(reason);
                }
            }
        }
        PermissionDecision::Allow(decisive.unwrap_or(DecisionReason::ReadOnlyCommand))
    }

    /// Where no rule is missing but the wish to change something elsewhere, that is the reason.
    fn named_reason(&self, reason: DecisionReason, reading: &CommandReading, facts: &PathFacts) -> DecisionReason {
        if reason != DecisionReason::NoRule {
            return reason;
        }
        let written = files::written_files(&reading.suspects, &facts.cwd, self.directories.home.as_deref());
        let is_real = |path: &&PathBuf| path.is_absolute() && !path.starts_with("/dev");
        let mut found = written
            .iter()
            .filter(is_real)
            .map(|path| self.opened_file(FileAccess::Writes, Some(normalise(path)), facts));
        let outside = found.find(|file| file.place != FilePlace::Inside);
        outside.map_or(reason, DecisionReason::from)
    }

    /// The allow rule that is this very command.
    pub(super) fn exact_rule(&self, reading: &CommandReading) -> Option<&PermissionRule> {
        let exact =
            |(_, pattern): &(&PermissionRule, &CommandPattern)| pattern.is_exact() && pattern.matches(&reading.whole);
        self.command_rules(RuleBehaviour::Allow).find(exact).map(|(rule, _)| rule)
    }

    /// What grants each part, in order.
    pub(super) fn judge_units(
        &self,
        units: &[SimpleCommand],
        facts: &PathFacts,
        grants: GrantScope,
    ) -> Vec<UnitVerdict> {
        // Names on disk stay what they are only while no part writes anything.
        let judged = self.judge_units_with(units, facts, grants, Some(&facts.names));
        let only_reads = |part: &UnitVerdict| part.grant == Some(DecisionReason::ReadOnlyCommand) && !part.writes;
        if facts.names.is_empty() || judged.iter().all(only_reads) {
            return judged;
        }
        // What the names forbid stays forbidden.
        let without_names = self.judge_units_with(units, facts, grants, None);
        let is_read = |part: &UnitVerdict| part.grant == Some(DecisionReason::ReadOnlyCommand);
        let stricter = judged.into_iter().zip(without_names);
        stricter.map(|(with, without)| if is_read(&without) && !is_read(&with) { with } else { without }).collect()
    }

    fn judge_units_with(
        &self,
        units: &[SimpleCommand],
        facts: &PathFacts,
        grants: GrantScope,
        names: Option<&FoundNames>,
    ) -> Vec<UnitVerdict> {
        let mut walk = DirectoryTracker::new(&facts.cwd, self.directories.home.as_deref(), names);
        let judge = |unit| self.judge_unit(unit, &mut walk, facts, grants);
        let mut judged: Vec<UnitVerdict> = units.iter().map(judge).collect();
        for (at, unit) in units.iter().enumerate() {
            if repository::is_ambiguous_call(&judged, at, unit) {
                judged[at].grant = self.unit_rule(unit, facts).map(rule_reason);
                judged[at].git.clear();
            }
        }
        judged
    }

    fn judge_unit(
        &self,
        unit: &SimpleCommand,
        walk: &mut DirectoryTracker<'_>,
        facts: &PathFacts,
        grants: GrantScope,
    ) -> UnitVerdict {
        let opened = self.opened_files(unit, walk, facts, grants);
        let writes = unit.redirects.iter().any(|redirect| redirect.writes) || !output_files(&unit.words).is_empty();
        let step = walk.step(unit);
        let unseen = step.as_ref().and_then(|parts| self.unseen_file(parts, facts));
        let reads = step.filter(|parts| self.may_read_all(parts, facts));
        let obstacle = reads.as_ref().and_then(|parts| self.obstacle(parts, facts));
        let loads = unit.assignments.iter().find(|assignment| !wrapper::is_inert(assignment)).cloned();
        let obeys_folder = repository::obeys_folder(unit, walk.has_moved(), facts);
        let reads = reads.filter(|_| obstacle.is_none() && !obeys_folder);
        let (base, git) = match (grants, reads) {
            _ if loads.is_some() => (None, Vec::new()),
            (_, Some(parts)) => (Some(DecisionReason::ReadOnlyCommand), parts.repositories),
            (GrantScope::Nothing, None) => (None, Vec::new()),
            (GrantScope::RulesAndMode, None) => (self.unit_grant(unit, walk, facts), Vec::new()),
        };
        let (grant, git) = if opened.is_empty() { (base.clone(), git) } else { (None, Vec::new()) };
        UnitVerdict {
            text: unit.text(),
            written: unit.written.clone(),
            grant,
            base,
            opened,
            unseen,
            loads,
            writes,
            obstacle,
            git,
            arguments: repository::arguments(unit),
        }
    }

    /// The first file that keeps a command that only reads from being granted as such.
    fn unseen_file(&self, parts: &ReadFootprint, facts: &PathFacts) -> Option<OpenedFile> {
        let path = parts.paths.iter().find(|path| !self.may_read(path, facts))?;
        Some(self.opened_file(FileAccess::Reads, Some(normalise(&path.open)), facts))
    }

    /// The files of redirections and of output options that may not be opened without a question.
    fn opened_files(
        &self,
        unit: &SimpleCommand,
        walk: &DirectoryTracker<'_>,
        facts: &PathFacts,
        grants: GrantScope,
    ) -> Vec<OpenedFile> {
        let outputs = Self::output_redirects(unit, walk, facts);
        let refused = unit.redirects.iter().chain(&outputs);
        let refused = refused.filter(|redirect| !self.may_redirect(redirect, walk, facts, grants));
        let file = |redirect: &FileRedirect| {
            let access = if redirect.writes { FileAccess::Writes } else { FileAccess::Reads };
            self.opened_file(access, walk.path(&redirect.word).map(|path| normalise(&path)), facts)
        };
        refused.map(file).collect()
    }

    fn opened_file(&self, access: FileAccess, path: Option<PathBuf>, facts: &PathFacts) -> OpenedFile {
        let Some(path) = path else { return OpenedFile { access, path: None, place: FilePlace::Inside } };
        let spelled = facts.resolve_path(&path);
        let place = if spelled.any(sensitive::is_secret) {
            FilePlace::Secret
        } else if self.may_change(spelled) {
            FilePlace::Inside
        } else {
            FilePlace::Outside
        };
        OpenedFile { access, path: Some(path), place }
    }

    /// A redirection is a read or a write of that file, whatever the command in front of it may do.
    fn may_redirect(
        &self,
        redirect: &FileRedirect,
        walk: &DirectoryTracker<'_>,
        facts: &PathFacts,
        grants: GrantScope,
    ) -> bool {
        let Some(open) = walk.path(&redirect.word) else { return false };
        if !redirect.writes {
            return self.may_read(&ReadOperand { open }, facts);
        }
        if grants == GrantScope::Nothing {
            return false;
        }
        let given = normalise(&open);
        let path = ResolvedPath { given: &given, real: facts.real(&open) };
        let whole = |rule: &PermissionRule| {
            rule.behaviour == RuleBehaviour::Allow && (rule.covers_tool("Edit") || rule.covers_tool("Write"))
        };
        let by_mode = self.mode == PermissionMode::AcceptEdits && self.may_change(path) && !facts.is_shared(&open);
        let ordinary = !path.any(sensitive::is_protected) && !path.any(sensitive::is_secret);
        let named =
            || self.path_rule(RuleBehaviour::Allow, PathAccess::Write, path).is_some() || self.rules.iter().any(whole);
        (by_mode && ordinary) || named()
    }

    /// A file that an option makes the program write is judged like a redirection to it.
    fn output_redirects(unit: &SimpleCommand, walk: &DirectoryTracker<'_>, facts: &PathFacts) -> Vec<FileRedirect> {
        // A file whose name looks like an option is one where a pattern puts it among the arguments.
        // In which order the shell puts such names is not known, so a file called `--` protects from nothing.
        let mut words = DirectoryTracker::at(walk, &facts.names).expand(&unit.words);
        words.retain(|word| !word.matched || word.text != "--");
        let Some(program) = wrapper::strip_wrappers(&words).first() else { return Vec::new() };
        let program = wrapper::base_name(&program.text);
        // A rule that allows a program whose purpose is to write allows the writing; protected files are checked elsewhere.
        if outputs::exists_to_write(program) {
            return Vec::new();
        }
        output_files(&words).into_iter().map(|word| FileRedirect { word, writes: true }).collect()
    }

    fn unit_grant(
        &self,
        unit: &SimpleCommand,
        walk: &DirectoryTracker<'_>,
        facts: &PathFacts,
    ) -> Option<DecisionReason> {
        if let Some(rule) = self.unit_rule(unit, facts) {
            return Some(rule_reason(rule));
        }
        let accepts = self.mode == PermissionMode::AcceptEdits && self.edits_in_scope(unit, walk, facts);
        accepts.then_some(DecisionReason::Mode(self.mode))
    }

    /// Whether `git push` goes where it went when the session started.
    fn pushes_to_known_remote(&self, words: &[ShellWord], facts: &PathFacts) -> bool {
        let (Some(known), Some(target)) = (&self.directories.remotes, git::push_target(words)) else { return true };
        match target {
            git::PushTarget::Default => *known == facts.remotes,
            git::PushTarget::Named(name) => {
                let same = |name: &str| known.get(name) == facts.remotes.get(name);
                known.contains_key(name) && same(name) && same("")
            }
        }
    }

    fn unit_rule(&self, unit: &SimpleCommand, facts: &PathFacts) -> Option<&PermissionRule> {
        let inner = wrapper::strip_wrappers(&unit.words);
        let exact_only = wrapper::needs_exact_rule(&unit.words) || wrapper::needs_exact_rule(inner);
        let mut texts = vec![unit.text(), join_raw(inner)];
        texts.extend(git::without_directory(inner));
        let lossy = git::loses_work(inner);
        let exact_only = exact_only || !self.pushes_to_known_remote(inner, facts);
        let fits = |pattern: &CommandPattern| {
            let speaks_of_it = lossy.as_deref().is_none_or(|command| pattern.names(command));
            (pattern.is_exact() || (!exact_only && speaks_of_it)) && texts.iter().any(|text| pattern.matches(text))
        };
        self.command_rules(RuleBehaviour::Allow).find(|(_, pattern)| fits(pattern)).map(|(rule, _)| rule)
    }

    /// Simple file commands on ordinary files of the working directories.
    fn edits_in_scope(&self, unit: &SimpleCommand, walk: &DirectoryTracker<'_>, facts: &PathFacts) -> bool {
        let Some(words) = changed_operands(wrapper::strip_wrappers(&unit.words)) else { return false };
        words.iter().all(|word| {
            let Some(open) = walk.path(word) else { return false };
            let given = normalise(&open);
            let path = ResolvedPath { given: &given, real: facts.real(&open) };
            self.may_change(path)
                && !facts.is_shared(&open)
                && !path.any(sensitive::is_protected)
                && !path.any(sensitive::is_secret)
        })
    }

    /// Whether everything a read-only command looks at may be read.
    fn may_read_all(&self, parts: &ReadFootprint, facts: &PathFacts) -> bool {
        let real_cwd = facts.real(&facts.cwd);
        let at_home =
            ResolvedPath { given: &facts.cwd, real: real_cwd }.both(|p| is_inside(p, &self.directories.roots));
        // `forbidden_reads` compared the files with the rules before, unless the caller did not compute them.
        let below_denied = parts.opens_unseen && self.restricts_reading() && facts.reads.is_none();
        at_home && !below_denied && parts.paths.iter().all(|path| self.may_read(path, facts))
    }

    fn may_read(&self, path: &ReadOperand, facts: &PathFacts) -> bool {
        let given = normalise(&path.open);
        let spelled = ResolvedPath { given: &given, real: facts.real(&path.open) };
        let named = || self.path_rule(RuleBehaviour::Allow, PathAccess::Read, spelled).is_some();
        let mut forbidding = [RuleBehaviour::Deny, RuleBehaviour::Ask].into_iter();
        if forbidding.any(|behaviour| self.path_rule(behaviour, PathAccess::Read, spelled).is_some()) {
            return false;
        }
        if spelled.any(sensitive::is_secret) {
            return named();
        }
        self.may_see(spelled) || named() || SYSTEM_FACTS.iter().any(|fact| given == Path::new(fact))
    }
}

/// Files of the system that tell what it is, and nothing about anybody.
#[rustfmt::skip]
const SYSTEM_FACTS: &[&str] = &[
    "/etc/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/alpine-release", "/etc/redhat-release", "/etc/shells", "/etc/timezone",
    "/proc/cpuinfo", "/proc/meminfo", "/proc/version", "/proc/loadavg", "/proc/uptime", "/proc/filesystems", "/proc/modules",
];

/// A file that a part of a command opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenedFile {
    pub(super) access: FileAccess,
    /// Normalised; `None` when it is known only when the command runs.
    pub(super) path: Option<PathBuf>,
    pub(super) place: FilePlace,
}

impl From<OpenedFile> for DecisionReason {
    fn from(file: OpenedFile) -> Self {
        Self::OpensFile { access: file.access, path: file.path, place: file.place }
    }
}

/// One part of a command and what grants it.
pub(super) struct UnitVerdict {
    pub(super) text: String,
    pub(super) written: String,
    pub(super) grant: Option<DecisionReason>,
    /// What would grant it if it opened no files by redirections and options.
    pub(super) base: Option<DecisionReason>,
    /// The files, opened that way, that need a permission of their own.
    pub(super) opened: Vec<OpenedFile>,
    /// The first file that it may not read without a question, were it to be granted because it only reads.
    pub(super) unseen: Option<OpenedFile>,
    /// An assignment in front of it that may change what runs.
    pub(super) loads: Option<String>,
    /// A redirection or an option makes it write a file.
    pub(super) writes: bool,
    /// What keeps a git call that only reads from being granted as such.
    pub(super) obstacle: Option<String>,
    /// The git calls that are granted because they only read.
    pub(super) git: Vec<GitCall>,
    /// What follows the name of the program.
    pub(super) arguments: Vec<String>,
}

impl UnitVerdict {
    /// Why a part that nothing grants is asked about.
    pub(super) fn missing_reason(self) -> DecisionReason {
        if let Some(assignment) = self.loads {
            let name = assignment.split_once('=').map_or(&*assignment, |(name, _)| name.trim_end_matches('+'));
            return DecisionReason::SetsVariable(name.to_owned());
        }
        if let Some(key) = self.obstacle {
            return DecisionReason::RepositoryConfiguration(key);
        }
        // A file of the project is the reason only where nothing else is.
        let needs_rule = self.base.is_none();
        let opened = self.opened.into_iter().find(|file| !needs_rule || file.place != FilePlace::Inside);
        let file = opened.or(self.unseen);
        file.map_or(DecisionReason::NoRule, DecisionReason::from)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GrantScope {
    /// Only what reads.
    Nothing,
    RulesAndMode,
}

/// The files that options of the command make it write.
fn output_files(words: &[ShellWord]) -> Vec<ShellWord> {
    let Some((program, arguments)) = wrapper::strip_wrappers(words).split_first() else { return Vec::new() };
    let texts: Vec<String> = arguments.iter().map(|word| word.text.clone()).collect();
    let files = outputs::written_by(wrapper::base_name(&program.text), &texts).files;
    let files = files.into_iter().filter(|file| file != "/dev/null");
    files
        .map(|text| ShellWord { raw: text.clone(), tilde: text.starts_with('~'), text, ..ShellWord::default() })
        .collect()
}

/// The operands of a command that creates, moves or removes files; `None` for anything else.
fn changed_operands(words: &[ShellWord]) -> Option<Vec<&ShellWord>> {
    let (name, arguments) = words.split_first()?;
    if name.raw == "sed" {
        return script_languages::sed_in_place(arguments);
    }
    let flags = match name.raw.as_str() {
        "mkdir" | "rmdir" => "pv",
        "touch" => "acm",
        "rm" => "rRfdv",
        "mv" => "fnv",
        "cp" => "rRapfnv",
        _ => return None,
    };
    let mut operands = Vec::new();
    for word in arguments {
        match word.text.strip_prefix('-') {
            Some(letters) if !letters.is_empty() && letters.chars().all(|c| flags.contains(c)) => {}
            Some(_) => return None,
            None if word.glob => return None,
            None => operands.push(word),
        }
    }
    (!operands.is_empty()).then_some(operands)
}
