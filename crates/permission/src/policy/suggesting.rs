//! Suggestions from the same reading the decision came from. Each is checked: with it in force the call is not asked about.

use super::command::{GrantScope, OpenedFile, UnitVerdict};
use super::{Access, DecisionReason, PathFacts, PermissionDecision, PermissionQuery, Policy};
use crate::decision::{FileAccess, FilePlace};
use crate::path::normalise;
use crate::sensitive;
use crate::shell::pattern::CommandPattern;
use crate::shell::reading::{self, CommandReading};
use crate::shell::script::{ShellWord, SimpleCommand, UnitJoin, join_raw};
use crate::shell::{files, git, wrapper};
use crate::suggest::prefixes::{CommandInput, offered_prefix, speaks_for_itself};
use crate::suggest::{RuleSuggestion, SuggestionDestination, looks_secret};
use std::path::{Path, PathBuf};
use wire::mode::PermissionMode;
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

/// More rules than this are not offered for one command.
const MAX_RULES: usize = 5;

/// A longer command is not typed twice, and hard to read as a rule.
const MAX_EXACT: usize = 200;

/// Folders of the system: nothing is offered that writes below them.
#[rustfmt::skip]
const SYSTEM_FOLDERS: &[&str] = &[
    "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/boot", "/dev", "/proc", "/sys", "/run", "/root", "/var", "/opt", "/snap",
    "/private/etc", "/private/var", "/System", "/Library", "/Applications", "/nix",
];

/// Below these the folders of the system are everybody's.
const SHARED_FOLDERS: &[&str] = &["/var/tmp", "/private/var/tmp", "/private/var/folders", "/var/folders"];

/// Variables in front of a command that change what it prints or how much it does, not what runs.
#[rustfmt::skip]
const TAME_VARIABLES: &[&str] = &[
    "RUST_TEST_THREADS", "RUST_MIN_STACK", "RUSTFLAGS", "RUSTDOCFLAGS", "CARGO_INCREMENTAL", "PROPTEST_CASES", "INSTA_UPDATE", "PORT", "HOST",
    "LOG_LEVEL", "VERBOSE", "MIX_ENV", "RAILS_ENV", "RACK_ENV", "APP_ENV", "FLASK_ENV", "FLASK_DEBUG", "DJANGO_SETTINGS_MODULE", "CGO_ENABLED",
    "HEADLESS", "TEST", "SKIP", "CYPRESS_RECORD", "JEST_WORKERS", "GOMAXPROCS", "SQLX_OFFLINE", "TURBO_TELEMETRY_DISABLED",
    "NEXT_TELEMETRY_DISABLED", "UPDATE_SNAPSHOTS", "UPDATE_GOLDEN", "PGHOST", "PGPORT", "TARGET",
];

impl Policy {
    /// What to save so that this call is not asked about again; empty when nothing narrow would do.
    pub fn suggest(&self, request: &PermissionQuery<'_>, facts: &PathFacts) -> Vec<RuleSuggestion> {
        // What a rule or a safety check asks about, no allow rule answers.
        let PermissionDecision::Ask(refusal) = self.decide(request, facts) else { return Vec::new() };
        let is_answered_by_rules = match refusal.reason {
            DecisionReason::NoRule
            | DecisionReason::WorkingDirectory
            | DecisionReason::SetsVariable(_)
            | DecisionReason::NotUnderstood(_) => true,
            DecisionReason::OpensFile { path, place, .. } => path.is_some() && place != FilePlace::Secret,
            _ => false,
        };
        if !is_answered_by_rules {
            return Vec::new();
        }
        let accesses = if request.accesses.is_empty() { &[Access::Use] } else { request.accesses };
        let runs = accesses.iter().any(|access| matches!(access, Access::Run(_)));
        let offered: Vec<_> =
            accesses.iter().flat_map(|access| self.suggest_access(request.tool, access, facts)).collect();
        if runs && !self.would_allow(&offered, request, facts) {
            return Vec::new();
        }
        offered
    }

    /// Whether the call is allowed once the offered rules are in force.
    fn would_allow(&self, offered: &[RuleSuggestion], request: &PermissionQuery<'_>, facts: &PathFacts) -> bool {
        let rules = offered.iter().flat_map(|suggestion| match suggestion {
            RuleSuggestion::AddRules { rules, .. } => rules.as_slice(),
            RuleSuggestion::SetMode { .. } | RuleSuggestion::AddDirectories { .. } => &[],
        });
        let text = |(tool, content): &(String, Option<String>)| RuleText {
            behaviour: RuleBehaviour::Allow,
            source: SettingsSource::Local,
            text: content.as_ref().map_or_else(|| tool.clone(), |content| format!("{tool}({content})")),
            root: facts.cwd.clone(),
        };
        let texts: Vec<RuleText> = rules.map(text).collect();
        let resolve = |path: &Path| facts.real(path).unwrap_or(path).to_path_buf();
        let (policy, warnings) = self.with_rules(&texts, &resolve);
        warnings.is_empty() && policy.decide(request, facts).is_allow()
    }

    fn suggest_access(&self, tool: &str, access: &Access, facts: &PathFacts) -> Vec<RuleSuggestion> {
        let save = |content: Option<String>| {
            let rules = vec![(tool.to_owned(), content)];
            vec![RuleSuggestion::AddRules { rules, destination: SuggestionDestination::LocalSettings }]
        };
        match access {
            Access::Run(command) => self.suggest_command(tool, command, facts),
            Access::Reach { host } => save(Some(format!("domain:{host}"))),
            Access::Use => save(None),
            Access::ReadPath(path) => {
                let secret = facts.resolve_path(path).any(sensitive::is_secret);
                let rule = if secret { None } else { self.reading_rule(path) };
                rule.map(|rule| for_session(vec![rule])).into_iter().collect()
            }
            Access::WritePath(path) => self.suggest_edits(path, facts),
            Access::Harmless | Access::Interact => Vec::new(),
        }
    }

    fn suggest_edits(&self, path: &Path, facts: &PathFacts) -> Vec<RuleSuggestion> {
        if self.may_change(facts.resolve_path(path)) {
            let destination = SuggestionDestination::Session;
            return vec![RuleSuggestion::SetMode { mode: PermissionMode::AcceptEdits, destination }];
        }
        let real = facts.real(path).unwrap_or(path);
        let Some(dir) = self.writable_folder(real) else { return Vec::new() };
        let Some(rule) = path_rule_text("Edit", dir, "/**") else { return Vec::new() };
        let directories = vec![dir.to_string_lossy().into_owned()];
        let destination = SuggestionDestination::Session;
        vec![RuleSuggestion::AddDirectories { directories, destination }, for_session(vec![rule])]
    }

    /// The folder of a file elsewhere, if a person may be asked to open all of it for writing.
    fn writable_folder<'a>(&self, file: &'a Path) -> Option<&'a Path> {
        let dir = file.parent().filter(|dir| dir.parent().is_some())?;
        let home = self.directories.home.as_deref();
        let holds_ours =
            self.directories.roots.iter().map(PathBuf::as_path).chain(home).any(|own| own.starts_with(dir));
        let below_home = home.and_then(|home| dir.strip_prefix(home).ok());
        let of_system = below_home.is_none()
            && SYSTEM_FOLDERS.iter().any(|folder| dir.starts_with(folder))
            && !SHARED_FOLDERS.iter().any(|folder| dir.starts_with(folder));
        let is_hidden = |part: std::path::Component<'_>| part.as_os_str().to_string_lossy().starts_with('.');
        let hidden = below_home.is_some_and(|dir| dir.components().any(is_hidden));
        let is_sensitive = sensitive::is_protected(file) || sensitive::is_secret(file);
        (!holds_ours && !of_system && !hidden && !is_sensitive).then_some(dir)
    }

    /// Reading below the folder of a file; of a folder that holds everything of a person, only the file.
    fn reading_rule(&self, file: &Path) -> Option<OfferedRule> {
        let dir = file.parent()?;
        let is_wide =
            dir.parent().is_none() || self.directories.home.as_deref().is_some_and(|home| home.starts_with(dir));
        if is_wide { path_rule_text("Read", file, "") } else { path_rule_text("Read", dir, "/**") }
    }

    fn suggest_command(&self, tool: &str, command: &str, facts: &PathFacts) -> Vec<RuleSuggestion> {
        let reading = CommandReading::of(command);
        let touched = files::touched_files(&reading.suspects, &facts.cwd, self.directories.home.as_deref());
        let is_secret = |path: &Path| facts.resolve_path(path).any(sensitive::is_secret);
        if touched.iter().any(|file| is_secret(&normalise(&file.path)) || is_secret(&file.path)) {
            return Vec::new();
        }
        let offer = match &reading.strict {
            Ok(units) => self.offer_for_parts(tool, units, &reading, facts),
            Err(_) => self.offer_with_expansions(tool, command, &reading, facts),
        };
        let Some(CommandOffer { saved, session }) = offer else { return Vec::new() };
        if saved.len() + session.len() > MAX_RULES {
            return Vec::new();
        }
        let destination = SuggestionDestination::LocalSettings;
        let saved = (!saved.is_empty()).then_some(RuleSuggestion::AddRules { rules: saved, destination });
        let session = (!session.is_empty()).then(|| for_session(session));
        saved.into_iter().chain(session).collect()
    }

    fn offer_for_parts(
        &self,
        tool: &str,
        units: &[SimpleCommand],
        reading: &CommandReading,
        facts: &PathFacts,
    ) -> Option<CommandOffer> {
        let mut offer = CommandOffer::default();
        for (unit, judged) in units.iter().zip(self.judge_units(units, facts, GrantScope::RulesAndMode)) {
            if judged.grant.is_some() {
                continue;
            }
            if judged.loads.is_some() {
                // Rules for parts say nothing of variables, so only a command of one part can be saved with them.
                let tame = unit.assignments.iter().all(|assignment| is_tame(assignment));
                let alone = units.len() == 1 && judged.opened.is_empty() && tame;
                let rule = exact_rule(&reading.whole, &unit.words, CommandInput::of(unit)).filter(|_| alone)?;
                offer.add_saved(tool, rule);
                continue;
            }
            if judged.base.is_none() {
                self.offer_for_part(tool, unit, &judged, facts, &mut offer)?;
            }
            for file in &judged.opened {
                offer.add_session(self.rule_for_file(file)?);
            }
        }
        Some(offer)
    }

    fn offer_for_part(
        &self,
        tool: &str,
        unit: &SimpleCommand,
        judged: &UnitVerdict,
        facts: &PathFacts,
        offer: &mut CommandOffer,
    ) -> Option<()> {
        if let Some(dir) = cd_target(unit) {
            offer.add_session(path_rule_text("Read", &normalise(&facts.cwd.join(dir)), "/**")?);
            return Some(());
        }
        // A program that only reads would be fine, were it not for where it reads.
        if let Some(OpenedFile { path: Some(path), place: FilePlace::Outside, .. }) = &judged.unseen
            && path.extension().is_some()
        {
            offer.add_session(self.reading_rule(path)?);
            return Some(());
        }
        offer.add_saved(tool, rule_for(unit)?);
        Some(())
    }

    fn rule_for_file(&self, file: &OpenedFile) -> Option<OfferedRule> {
        let path = file.path.as_deref()?;
        match (file.access, file.place) {
            (_, FilePlace::Secret) => None,
            (FileAccess::Reads, _) => self.reading_rule(path),
            (FileAccess::Writes, FilePlace::Inside) => {
                path_rule_text("Edit", path, "").filter(|_| !sensitive::is_protected(path))
            }
            (FileAccess::Writes, FilePlace::Outside) => path_rule_text("Edit", self.writable_folder(path)?, "/**"),
        }
    }

    /// The very command, where what its expansions become is the output of commands that only read, or no secret.
    fn offer_with_expansions(
        &self,
        tool: &str,
        command: &str,
        reading: &CommandReading,
        facts: &PathFacts,
    ) -> Option<CommandOffer> {
        let units = reading::with_expansions(command)?;
        let (unit, nested) = units.split_last()?;
        let judged = self.judge_units(nested, facts, GrantScope::Nothing);
        let is_fixed = |word: &ShellWord| word.variables.is_empty() && word.substituted.is_none();
        let only_harmless = judged.iter().all(|part| part.grant.is_some())
            && unit.assignments.is_empty()
            && unit.redirects.is_empty()
            && unit.words.first().is_some_and(is_fixed)
            && crate::shell::shows_no_secret(unit);
        let rule = exact_rule(&reading.whole, &unit.words, CommandInput::of(unit)).filter(|_| only_harmless)?;
        let mut offer = CommandOffer::default();
        offer.add_saved(tool, rule);
        Some(offer)
    }
}

/// The tool and the specifier of a rule.
type OfferedRule = (String, Option<String>);

/// Rules that answer a question about a command.
#[derive(Default)]
struct CommandOffer {
    saved: Vec<OfferedRule>,
    /// Files and folders are opened for the session only.
    session: Vec<OfferedRule>,
}

impl CommandOffer {
    fn add_saved(&mut self, tool: &str, content: String) {
        add_once(&mut self.saved, (tool.to_owned(), Some(content)));
    }

    fn add_session(&mut self, rule: OfferedRule) {
        add_once(&mut self.session, rule);
    }
}

fn add_once(rules: &mut Vec<OfferedRule>, rule: OfferedRule) {
    if !rules.contains(&rule) {
        rules.push(rule);
    }
}

fn for_session(rules: Vec<OfferedRule>) -> RuleSuggestion {
    RuleSuggestion::AddRules { rules, destination: SuggestionDestination::Session }
}

impl CommandInput {
    fn of(unit: &SimpleCommand) -> Self {
        if unit.join == UnitJoin::Pipe || unit.has_own_input { Self::Given } else { Self::Own }
    }
}

fn is_tame(assignment: &str) -> bool {
    let name = assignment.split_once('=').map_or(assignment, |(name, _)| name);
    wrapper::is_inert(assignment) || (TAME_VARIABLES.contains(&name) && !assignment.contains(['$', '`']))
}

/// The target of a `cd` that is not read-only by itself.
fn cd_target(unit: &SimpleCommand) -> Option<&str> {
    match unit.words.as_slice() {
        [cd, dir] if cd.raw == "cd" && !dir.glob && !dir.tilde && !dir.text.starts_with('-') => Some(&dir.text),
        _ => None,
    }
}

/// The specifier that would allow this part: a prefix for well-known tools, otherwise the part itself.
fn rule_for(unit: &SimpleCommand) -> Option<String> {
    let inner = wrapper::strip_wrappers(&unit.words);
    let exact_only = wrapper::needs_exact_rule(&unit.words) || wrapper::needs_exact_rule(inner);
    if !exact_only && git::loses_work(inner).is_none() {
        let words: Vec<_> = inner.iter().map(|word| word.raw.as_str()).collect();
        if let Some(prefix) = offered_prefix(&words).filter(|prefix| !looks_secret(prefix)) {
            return Some(format!("{prefix} *"));
        }
    }
    exact_rule(&unit.text(), &unit.words, CommandInput::of(unit))
}

/// `text` as a rule of its own, when it says what the command does.
fn exact_rule(text: &str, words: &[ShellWord], input: CommandInput) -> Option<String> {
    let inner = wrapper::strip_wrappers(words);
    let wrappers = &words[..words.len() - inner.len()];
    let texts: Vec<&str> = inner.iter().map(|word| word.text.as_str()).collect();
    let is_known = !wrappers.iter().any(|word| word.text == "xargs")
        && !inner.iter().any(|word| word.glob)
        && speaks_for_itself(&texts, input);
    let pattern = CommandPattern::parse(text);
    let storable = !text.contains('\n')
        && text.matches('(').count() == text.matches(')').count()
        && text.chars().count() <= MAX_EXACT
        && !looks_secret(text)
        && pattern.is_exact()
        && (pattern.matches(text) || pattern.matches(&join_raw(inner)));
    (is_known && storable).then(|| text.to_owned())
}

/// A rule on one file, or with `/**` on what is below a folder.
fn path_rule_text(tool: &str, path: &Path, ending: &str) -> Option<OfferedRule> {
    let path = path.to_str().filter(|path| path.len() > 1)?;
    let mut escaped = String::from("/");
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    Some((tool.to_owned(), Some(format!("{escaped}{ending}"))))
}
