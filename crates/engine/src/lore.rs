//! What users and projects taught the session: skills, commands, and instruction files that come with the files it touches.
//! Listed when a turn opens, checked by stat before every step, told as additions so that what was sent stays as it was.

pub(crate) mod invoke;
pub(crate) mod slash;
mod telling;
pub(crate) mod tool;

use crate::agents::Spawner;
use crate::calls::ToolUse;
use crate::prompts::{self, Telling};
use crate::session::{Attachment, Io};
use config::memory::MemoryFile;
use config::nested::Lazy;
use config::roots::Roots;
use config::rules::Patterns;
use config::skills::{Budget, Listing, Shown, Skill, Skills};
use invoke::Invocation;
use permission::Policy;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use sys::Env;
use tokio::task::JoinHandle;
use tools::Workspace;
use wire::settings::{RuleText, Settings};

/// What the session and its Skill tool both see.
#[derive(Default)]
pub(crate) struct Shelf {
    skills: Arc<Skills>,
    /// `None` until another conversation begins.
    fixed: Option<Arc<Fixed>>,
    /// The rules in force, for commands inside skills.
    policy: Option<Arc<Policy>>,
    /// Starts the skills that are agents.
    spawner: Option<Arc<Spawner>>,
    /// Skills that calls of this batch loaded.
    loaded: Vec<Invocation>,
}

pub(crate) type Shared = Arc<Mutex<Shelf>>;

/// Facts that hold for the whole session.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    pub env: Env,
    pub session_id: String,
    pub project: PathBuf,
    pub budget: Budget,
    /// `disableSkillShellExecution`
    pub shell_disabled: bool,
    /// Only the administrator's allow rules count.
    pub managed_rules_only: bool,
    /// `rulesOnWrite`
    pub rules_on_write: bool,
}

pub(crate) struct Lore {
    fixed: Arc<Fixed>,
    /// `None` where skills are switched off.
    roots: Option<Roots>,
    overrides: BTreeMap<String, String>,
    /// The only skills the model is offered, when the host says so.
    only: Option<Vec<String>>,
    shared: Shared,
    /// The first listing, made beside everything else that happens at start.
    first: Option<JoinHandle<Skills>>,
    /// It was made just now.
    is_fresh: bool,
    /// Directories below the start directory that brought skills.
    nested: Vec<PathBuf>,
    /// Skills bound to paths whose files came into play.
    in_play: BTreeSet<String>,
    /// Lines of the listing the model knows, by name.
    told: BTreeMap<String, String>,
    told_cut: bool,
    /// The listing may differ from what was told.
    unsettled: bool,
    lazy: Lazy,
    /// What active skills grant and take away until the next prompt.
    grants: Vec<RuleText>,
    /// The skill that was last taken up since the prompt.
    active: Option<String>,
    /// What each skill last said, to say it only once; the newest last.
    said: Vec<(String, String)>,
}

/// What `Lore::new` is made of.
#[derive(Clone)]
pub(crate) struct Parts {
    pub fixed: Fixed,
    pub roots: Option<Roots>,
    pub overrides: BTreeMap<String, String>,
    /// The only skills the model is offered.
    pub only: Option<Vec<String>>,
    pub lazy: Lazy,
    /// Lines of the listing that a resumed conversation already holds.
    pub told: Vec<String>,
}

/// What the main thread and every agent are taught from.
#[derive(Clone)]
pub(crate) struct Teaching(pub(crate) Parts);

impl Teaching {
    /// `told` are lines of the listing that the conversation already holds.
    pub(crate) fn begin(&self, told: Vec<String>) -> Lore {
        Lore::new(Parts { told, ..self.0.clone() })
    }
}

impl Lore {
    /// Begins to list skills. Inside the runtime only.
    pub(crate) fn new(parts: Parts) -> Self {
        let first = parts.roots.clone().map(|roots| {
            let overrides = parts.overrides.clone();
            tokio::task::spawn_blocking(move || Skills::load(&roots, &[], &overrides))
        });
        Self {
            fixed: Arc::new(parts.fixed),
            roots: parts.roots,
            overrides: parts.overrides,
            only: parts.only,
            shared: Shared::default(),
            first,
            is_fresh: false,
            nested: Vec::new(),
            in_play: BTreeSet::new(),
            told: parts.told.into_iter().map(|line| (name_in(&line).to_owned(), line)).collect(),
            told_cut: false,
            unsettled: true,
            lazy: parts.lazy,
            grants: Vec::new(),
            active: None,
            said: Vec::new(),
        }
    }

    pub(crate) fn tool(&self) -> Arc<tool::SkillTool> {
        Arc::new(tool::SkillTool::new(Arc::clone(&self.shared), Arc::clone(&self.fixed)))
    }

    fn shelf(&self) -> std::sync::MutexGuard<'_, Shelf> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn skills(&self) -> Arc<Skills> {
        Arc::clone(&self.shelf().skills)
    }

    /// Waits for the first listing; later, lists again when something changed on disk.
    pub(crate) async fn refresh(&mut self) {
        if let Some(first) = self.first.take() {
            match first.await {
                Ok(skills) => self.take_in(skills),
                Err(error) => tracing::error!(%error, "skills could not be listed"),
            }
            self.is_fresh = true;
            return;
        }
        // The first step comes right behind the first listing.
        if std::mem::take(&mut self.is_fresh) {
            return;
        }
        if self.roots.is_some() && !self.skills().are_current() {
            self.reload().await;
        }
    }

    /// A hook wrote skills: the next look lists them, whatever the clock of the disk says.
    pub(crate) fn list_again(&mut self) {
        let Some(roots) = self.roots.clone() else { return };
        let (nested, overrides) = (self.nested.clone(), self.overrides.clone());
        self.first = Some(tokio::task::spawn_blocking(move || Skills::load(&roots, &nested, &overrides)));
    }

    async fn reload(&mut self) {
        let Some(roots) = self.roots.clone() else { return };
        let (nested, overrides) = (self.nested.clone(), self.overrides.clone());
        match tokio::task::spawn_blocking(move || Skills::load(&roots, &nested, &overrides)).await {
            Ok(skills) => self.take_in(skills),
            Err(error) => tracing::error!(%error, "skills could not be listed"),
        }
    }

    fn take_in(&mut self, mut skills: Skills) {
        if let Some(only) = &self.only {
            let named = |name: &str| only.iter().any(|wanted| wanted == name || name.ends_with(&format!(":{wanted}")));
            for skill in skills.all.iter_mut().filter(|skill| !named(&skill.name) && skill.shown != Shown::Off) {
                skill.shown = Shown::UserOnly;
            }
        }
        for finding in &skills.findings {
            tracing::warn!("{finding}");
        }
        self.shelf().skills = Arc::new(skills);
        self.unsettled = true;
    }

    /// Names of the skills that the model may use, for `system/init`.
    pub(crate) fn names(&self) -> Vec<String> {
        let skills = self.skills();
        skills.all.iter().filter(|skill| skill.is_listed()).map(|skill| skill.name.clone()).collect()
    }

    /// The lines of the listing that the model knows, or will be told with the first prompt.
    pub(crate) fn listed_lines(&self) -> BTreeMap<String, String> {
        if self.is_untold() { self.listing().lines.into_iter().collect() } else { self.told.clone() }
    }

    /// Nothing of the listing was told yet.
    fn is_untold(&self) -> bool {
        self.unsettled && self.told.is_empty()
    }

    /// What the listing adds to the first request, as long as it was not sent.
    pub(crate) fn untold_tokens(&self) -> u64 {
        if !self.is_untold() {
            return 0;
        }
        self.listing().lines.iter().map(|(_, line)| model::estimate::text(line.len())).sum()
    }

    /// What of the listing the model does not know yet.
    pub(crate) fn due_listing(&mut self) -> Option<(Attachment, Option<String>)> {
        if !std::mem::take(&mut self.unsettled) {
            return None;
        }
        let listing = self.listing();
        let known = &self.told;
        let fresh: Vec<&(String, String)> =
            listing.lines.iter().filter(|(name, line)| known.get(name) != Some(line)).collect();
        let gone = gone(known, &listing);
        if fresh.is_empty() && gone.is_empty() {
            return None;
        }
        let lines: Vec<&str> = fresh.iter().map(|(_, line)| line.as_str()).collect();
        let telling = if known.is_empty() { Telling::First } else { Telling::Again };
        let text = prompts::skill_listing(&lines, &gone, telling);
        let names: Vec<&str> = fresh.iter().map(|(name, _)| name.as_str()).collect();
        let attachment = Attachment::skill_listing(&text, &names, telling)?;
        let warning = self.cut_warning(&listing);
        self.told = listing.lines.into_iter().collect();
        Some((attachment, warning))
    }

    fn listing(&self) -> Listing {
        let skills = self.skills();
        let visible =
            |skill: &&Skill| skill.is_listed() && (skill.paths.is_empty() || self.in_play.contains(&skill.name));
        let uses = uses(&self.fixed.env, &skills);
        config::skills::list(skills.all.iter().filter(visible), self.fixed.budget, |name| {
            uses.get(name).copied().unwrap_or(0)
        })
    }

    /// What the listing weighs, by skill.
    pub(crate) fn weights(&self) -> Vec<(String, &'static str, u64)> {
        let skills = self.skills();
        let source = |name: &str| skills.find(name).map_or("project", |skill| skill.scope.name());
        let row = |(name, line): (&String, &String)| (name.clone(), source(name), model::estimate::text(line.len()));
        self.listed_lines().iter().map(row).collect()
    }

    /// Once: which skills are listed without their description.
    fn cut_warning(&mut self, listing: &Listing) -> Option<String> {
        if listing.cut.is_empty() || std::mem::replace(&mut self.told_cut, true) {
            return None;
        }
        let shown: Vec<&str> = listing.cut.iter().take(5).map(String::as_str).collect();
        let more = listing.cut.len().saturating_sub(shown.len());
        let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
        Some(format!(
            "Warning: the descriptions of {} skills do not fit and are not shown to the model: {}{rest}. Shorten \
             descriptions, or raise skillListingBudgetFraction.",
            listing.cut.len(),
            shown.join(", ")
        ))
    }

    /// Files were read or changed: the instructions that hold for them.
    pub(crate) async fn touch(&mut self, files: &[Touched]) -> Vec<MemoryFile> {
        let mut brought = Vec::new();
        let mut new_skills = false;
        for Touched { path: file, by } in files {
            if *by == Contact::Write && !self.fixed.rules_on_write {
                self.note_in_play(file);
                continue;
            }
            let found = self.lazy.touch(file);
            brought.extend(found.files);
            new_skills |= !found.skill_dirs.is_empty();
            self.nested.extend(found.skill_dirs);
            self.note_in_play(file);
        }
        if new_skills {
            self.reload().await;
        }
        brought
    }

    fn note_in_play(&mut self, file: &Path) {
        let Some(roots) = &self.roots else { return };
        let skills = self.skills();
        let bound = skills.all.iter().filter(|skill| !skill.paths.is_empty() && !self.in_play.contains(&skill.name));
        let real = sys::real::path(file);
        let matching: Vec<String> = bound
            .filter(|skill| Patterns::new(&skill.paths, &roots.project).0.match_file(file, &real))
            .map(|skill| skill.name.clone())
            .collect();
        self.unsettled |= !matching.is_empty();
        self.in_play.extend(matching);
    }

    /// Before a batch of calls: the rules that commands inside skills are judged by, and who starts agents for them.
    pub(crate) fn share(&self, policy: &Arc<Policy>, spawner: &Arc<Spawner>) {
        let mut shelf = self.shelf();
        shelf.policy = Some(Arc::clone(policy));
        shelf.spawner = Some(Arc::clone(spawner));
    }

    /// After a batch: the skills it loaded.
    pub(crate) fn take_loaded(&self) -> Vec<Invocation> {
        std::mem::take(&mut self.shelf().loaded)
    }

    /// The text to add for an invocation: the whole of it, or a note that nothing changed.
    pub(crate) fn say(&mut self, invocation: &Invocation) -> String {
        let name = &invocation.skill.name;
        let before = self.said.iter().position(|(said, _)| said == name).map(|at| self.said.remove(at).1);
        self.said.push((name.clone(), invocation.text.clone()));
        self.active = Some(name.clone());
        if before.as_ref() == Some(&invocation.text) {
            return prompts::skill_again(name);
        }
        invocation.text.clone()
    }

    /// Another conversation begins: nothing was told, said or granted in it yet.
    pub(crate) fn begin_session(&mut self, id: &str, lazy: Lazy) {
        self.fixed = Arc::new(Fixed { session_id: id.to_owned(), ..(*self.fixed).clone() });
        self.shelf().fixed = Some(Arc::clone(&self.fixed));
        self.grants.clear();
        self.active = None;
        self.said.clear();
        self.in_play.clear();
        self.begin_anew(lazy);
    }

    /// The conversation was summarised: what was told beside it is gone, and instructions that come with files come again.
    pub(crate) fn begin_anew(&mut self, lazy: Lazy) {
        self.lazy = lazy;
        self.told.clear();
        self.unsettled = true;
    }

    /// What skills said before a summary, the newest first, within limits. The others may be said again in full.
    pub(crate) fn said_again(&mut self) -> Vec<String> {
        let mut left = SAID_IN_ALL;
        let mut again = Vec::new();
        for (name, text) in std::mem::take(&mut self.said).into_iter().rev() {
            let text = cut(&text, SAID_EACH.min(left));
            if text.is_empty() {
                continue;
            }
            left -= text.len();
            again.push((name, text));
        }
        let texts = again.iter().map(|(_, text)| text.clone()).collect();
        self.said = again.into_iter().rev().collect();
        texts
    }
}

/// 5,000 and 25,000 tokens, in bytes.
const SAID_EACH: usize = 5_000 * 13 / 4;
const SAID_IN_ALL: usize = 5 * SAID_EACH;

fn cut(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_owned()
}

impl Lore {
    /// The skill that the model follows, as far as it can be told.
    pub(crate) fn active(&self) -> Option<&str> {
        self.active.as_deref()
    }

    /// What skills grant and take away now.
    pub(crate) fn grants(&self) -> &[RuleText] {
        &self.grants
    }
}

impl Io {
    /// A new prompt ends what skills granted.
    pub(crate) fn end_grants(&mut self) {
        self.lore.active = None;
        if !std::mem::take(&mut self.lore.grants).is_empty() {
            self.renew_policy();
        }
    }

    /// What a skill grants and takes away holds from now on.
    pub(crate) fn grant_skill(&mut self, rules: Vec<RuleText>) {
        if !rules.is_empty() {
            self.lore.grants.extend(rules);
            self.renew_policy();
        }
    }
}

pub(crate) fn with_rules(policy: &Policy, rules: &[RuleText]) -> Policy {
    let (policy, warnings) = policy.with_rules(rules, &sys::real::path);
    for warning in warnings {
        tracing::warn!(?warning, "a rule of a skill cannot work as written");
    }
    policy
}

/// The name a line of the listing is about.
fn name_in(line: &str) -> &str {
    let line = line.strip_prefix("- ").unwrap_or(line);
    line.split_once(": ").map_or(line, |(name, _)| name)
}

/// How often each skill was invoked, from the state file. Read only when there is something to choose.
fn uses(env: &Env, skills: &Skills) -> BTreeMap<String, u64> {
    const FEW: usize = 20;
    if skills.all.len() <= FEW {
        return BTreeMap::new();
    }
    config::GlobalState::read(env).skill_uses()
}

/// What the model was told of and is no longer listed.
fn gone<'a>(known: &'a BTreeMap<String, String>, listing: &Listing) -> Vec<&'a str> {
    if known.is_empty() {
        return Vec::new();
    }
    let now: BTreeSet<&str> = listing.lines.iter().map(|(name, _)| name.as_str()).collect();
    known.keys().map(String::as_str).filter(|name| !now.contains(name)).collect()
}

/// How many characters descriptions may take.
pub(crate) fn budget(env: &Env, settings: &Settings, window: u64) -> Budget {
    let fraction = settings.skill_listing_budget_fraction.unwrap_or(0.01);
    let share = if window == 0 { Budget::FALLBACK } else { Budget::of_window(window, fraction) };
    Budget {
        all: env.number("SLASH_COMMAND_TOOL_CHAR_BUDGET").unwrap_or(share),
        each: settings.skill_listing_max_desc_chars.map_or(Budget::EACH, |chars| chars as usize),
    }
}

/// Tools whose calls bring a file into play, by the field that names it.
const TOUCHING: [(&str, &str); 5] = [
    ("Read", "file_path"),
    ("Edit", "file_path"),
    ("MultiEdit", "file_path"),
    ("Write", "file_path"),
    ("NotebookEdit", "notebook_path"),
];

/// What a call did with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contact {
    Read,
    Write,
}

/// A file that came into play.
#[derive(Clone, Debug)]
pub(crate) struct Touched {
    path: PathBuf,
    by: Contact,
}

/// The file each call names, if it works on one.
pub(crate) fn touching(uses: &[ToolUse]) -> Vec<Option<(String, Contact)>> {
    let named = |used: &ToolUse| {
        let (tool, field) = TOUCHING.iter().find(|(tool, _)| *tool == wire::names::canonical(&used.name))?;
        let input: BTreeMap<String, &RawValue> = serde_json::from_str(used.input.get()).ok()?;
        let by = if *tool == "Read" { Contact::Read } else { Contact::Write };
        Some((serde_json::from_str(input.get(*field)?.get()).ok()?, by))
    };
    uses.iter().map(named).collect()
}

/// The files of the calls that succeeded.
pub(crate) fn touched(
    named: Vec<Option<(String, Contact)>>,
    results: &[Arc<RawValue>],
    at: &Workspace,
) -> Vec<Touched> {
    let failed = |result: &Arc<RawValue>| {
        serde_json::from_str::<Verdict>(result.get()).is_ok_and(|verdict| verdict.is_error == Some(true))
    };
    let done = named.into_iter().zip(results).filter(|(_, result)| !failed(result));
    done.filter_map(|(named, _)| named).map(|(path, by)| Touched { path: at.absolute(&path), by }).collect()
}

#[derive(serde::Deserialize)]
struct Verdict {
    #[serde(default)]
    is_error: Option<bool>,
}
