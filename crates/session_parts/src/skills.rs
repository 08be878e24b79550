//! Skills, custom commands, and instruction files that apply to the files a session touches. Listed when a turn
//! starts, checked by stat before every step, and sent as additions, so that earlier requests keep their bytes.

pub mod invoke;
pub mod slash;

use crate::messages::Attachment;
use crate::prompts::{self, SkillListingKind};
use crate::tool_use::ToolUse;
use config::memory::MemoryFile;
use config::nested_memory::LazyMemory;
use config::roots::DefinitionRoots;
use config::rules::PathPatterns;
use config::skills::{ListingBudget, Skill, SkillListing, SkillVisibility, Skills};
use invoke::SkillInvocation;
use permission::Policy;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::Env;
use sys::sync::Mutex;
use tokio::task::JoinHandle;
use tools::Workspace;
use tools::facts::FileContact;
use wire::settings::{RuleText, Settings};

/// Shared by the session and its Skill tool.
#[derive(Default)]
pub struct SkillState {
    pub skills: Arc<Skills>,
    /// `None` until another conversation starts.
    pub facts: Option<Arc<SkillFacts>>,
}

pub type SharedSkills = Arc<Mutex<SkillState>>;

/// Facts that are fixed for the whole conversation.
#[derive(Clone, Debug)]
pub struct SkillFacts {
    pub env: Env,
    pub session_id: String,
    pub project: PathBuf,
    pub budget: ListingBudget,
    /// `disableSkillShellExecution`
    pub shell_disabled: bool,
    /// Only the allow rules of managed settings count.
    pub managed_rules_only: bool,
    /// `rulesOnWrite`
    pub rules_on_write: bool,
}

pub struct SessionSkills {
    pub facts: Arc<SkillFacts>,
    /// `None` when skills are switched off.
    roots: Option<DefinitionRoots>,
    overrides: BTreeMap<String, String>,
    /// The only skills the model is offered; `None` for all.
    only: Option<Vec<String>>,
    shared: SharedSkills,
    /// The first listing, made in the background at start.
    first_listing: Option<JoinHandle<Skills>>,
    /// The first listing has just been taken.
    is_fresh: bool,
    /// Directories below the start directory that contain skills.
    nested: Vec<PathBuf>,
    /// Skills with `paths` whose files were touched.
    active_by_path: BTreeSet<String>,
    /// Lines of the listing that were sent to the model, by name.
    sent_lines: BTreeMap<String, String>,
    is_cut_reported: bool,
    /// The listing may differ from what was sent.
    is_listing_stale: bool,
    lazy: LazyMemory,
    /// Rules of active skills, until the next prompt.
    pub grants: Vec<RuleText>,
    /// The skill that was last loaded since the prompt.
    pub active: Option<String>,
    /// The last text of each skill, to send it only once; newest last.
    sent_texts: Vec<(String, String)>,
}

/// The parameters of `SessionSkills::new`.
#[derive(Clone)]
pub struct SessionSkillsParts {
    pub facts: SkillFacts,
    pub roots: Option<DefinitionRoots>,
    pub overrides: BTreeMap<String, String>,
    /// The only skills the model is offered; `None` for all.
    pub only: Option<Vec<String>>,
    pub lazy: LazyMemory,
    /// Lines of the listing that a resumed conversation already contains.
    pub sent_lines: Vec<String>,
}

/// The template from which skills of the main thread and of every agent are built.
#[derive(Clone)]
pub struct SkillsTemplate(pub SessionSkillsParts);

impl SkillsTemplate {
    /// `sent_lines` are lines of the listing that the conversation already contains.
    pub fn build(&self, sent_lines: Vec<String>) -> SessionSkills {
        SessionSkills::new(SessionSkillsParts { sent_lines, ..self.0.clone() })
    }
}

impl SessionSkills {
    /// Starts to list skills. Must be called inside the runtime.
    pub fn new(parts: SessionSkillsParts) -> Self {
        let first = parts.roots.clone().map(|roots| {
            let overrides = parts.overrides.clone();
            tokio::task::spawn_blocking(move || Skills::load(&roots, &[], &overrides))
        });
        Self {
            facts: Arc::new(parts.facts),
            roots: parts.roots,
            overrides: parts.overrides,
            only: parts.only,
            shared: SharedSkills::default(),
            first_listing: first,
            is_fresh: false,
            nested: Vec::new(),
            active_by_path: BTreeSet::new(),
            sent_lines: parts.sent_lines.into_iter().map(|line| (name_in(&line).to_owned(), line)).collect(),
            is_cut_reported: false,
            is_listing_stale: true,
            lazy: parts.lazy,
            grants: Vec::new(),
            active: None,
            sent_texts: Vec::new(),
        }
    }

    pub fn shared(&self) -> (SharedSkills, Arc<SkillFacts>) {
        (Arc::clone(&self.shared), Arc::clone(&self.facts))
    }

    fn state(&self) -> sys::sync::MutexGuard<'_, SkillState> {
        self.shared.lock()
    }

    pub fn skills(&self) -> Arc<Skills> {
        Arc::clone(&self.state().skills)
    }

    /// Takes the first listing; later, lists again when something changed on disk.
    pub async fn refresh(&mut self) {
        if let Some(first) = self.first_listing.take() {
            match first.await {
                Ok(skills) => self.set_skills(skills),
                Err(error) => tracing::error!(%error, "skills could not be listed"),
            }
            self.is_fresh = true;
            return;
        }
        // The first step follows directly after the first listing.
        if std::mem::take(&mut self.is_fresh) {
            return;
        }
        if self.roots.is_some() && !self.skills().are_current() {
            self.reload().await;
        }
    }

    /// Lists skills again because a hook wrote some; file times may not show it.
    pub fn relist(&mut self) {
        let Some(roots) = self.roots.clone() else { return };
        let (nested, overrides) = (self.nested.clone(), self.overrides.clone());
        self.first_listing = Some(tokio::task::spawn_blocking(move || Skills::load(&roots, &nested, &overrides)));
    }

    async fn reload(&mut self) {
        let Some(roots) = self.roots.clone() else { return };
        let (nested, overrides) = (self.nested.clone(), self.overrides.clone());
        match tokio::task::spawn_blocking(move || Skills::load(&roots, &nested, &overrides)).await {
            Ok(skills) => self.set_skills(skills),
            Err(error) => tracing::error!(%error, "skills could not be listed"),
        }
    }

    fn set_skills(&mut self, mut skills: Skills) {
        if let Some(only) = &self.only {
            let named = |name: &str| only.iter().any(|wanted| wanted == name || name.ends_with(&format!(":{wanted}")));
            for skill in
                skills.all.iter_mut().filter(|skill| !named(&skill.name) && skill.visibility != SkillVisibility::Off)
            {
                skill.visibility = SkillVisibility::UserOnly;
            }
        }
        for finding in &skills.findings {
            tracing::warn!("{finding}");
        }
        self.state().skills = Arc::new(skills);
        self.is_listing_stale = true;
    }

    /// Names of the skills that the model may use, for `system/init`.
    pub fn names(&self) -> Vec<String> {
        let skills = self.skills();
        skills.all.iter().filter(|skill| skill.is_listed()).map(|skill| skill.name.clone()).collect()
    }

    /// The lines of the listing that were sent, or that the first prompt will send.
    pub fn listed_lines(&self) -> BTreeMap<String, String> {
        if self.is_unsent() { self.listing().lines.into_iter().collect() } else { self.sent_lines.clone() }
    }

    /// Whether nothing of the listing was sent yet.
    fn is_unsent(&self) -> bool {
        self.is_listing_stale && self.sent_lines.is_empty()
    }

    /// Estimated tokens of the listing that the first request will add; 0 once it was sent.
    pub fn unsent_tokens(&self) -> u64 {
        if !self.is_unsent() {
            return 0;
        }
        self.listing().lines.iter().map(|(_, line)| model::estimate::text(line.len())).sum()
    }

    /// The changes of the listing to send, and a warning for the user.
    pub fn due_listing(&mut self) -> Option<(Attachment, Option<String>)> {
        if !std::mem::take(&mut self.is_listing_stale) {
            return None;
        }
        let listing = self.listing();
        let known = &self.sent_lines;
        let fresh: Vec<&(String, String)> =
            listing.lines.iter().filter(|(name, line)| known.get(name) != Some(line)).collect();
        let gone = removed_names(known, &listing);
        if fresh.is_empty() && gone.is_empty() {
            return None;
        }
        let lines: Vec<&str> = fresh.iter().map(|(_, line)| line.as_str()).collect();
        let kind = if known.is_empty() { SkillListingKind::First } else { SkillListingKind::Again };
        let text = prompts::skill_listing(&lines, &gone, kind);
        let names: Vec<&str> = fresh.iter().map(|(name, _)| name.as_str()).collect();
        let attachment = Attachment::skill_listing(&text, &names, kind)?;
        let warning = self.cut_warning(&listing);
        self.sent_lines = listing.lines.into_iter().collect();
        Some((attachment, warning))
    }

    fn listing(&self) -> SkillListing {
        let skills = self.skills();
        let visible =
            |skill: &&Skill| skill.is_listed() && (skill.paths.is_empty() || self.active_by_path.contains(&skill.name));
        let uses = uses(&self.facts.env, &skills);
        config::skills::list(skills.all.iter().filter(visible), self.facts.budget, |name| {
            uses.get(name).copied().unwrap_or(0)
        })
    }

    /// Name, scope and estimated tokens of each listed skill.
    pub fn listing_tokens(&self) -> Vec<(String, &'static str, u64)> {
        let skills = self.skills();
        let source = |name: &str| skills.find(name).map_or("project", |skill| skill.scope.name());
        let row = |(name, line): (&String, &String)| (name.clone(), source(name), model::estimate::text(line.len()));
        self.listed_lines().iter().map(row).collect()
    }

    /// A warning, once, about skills that are listed without description.
    fn cut_warning(&mut self, listing: &SkillListing) -> Option<String> {
        if listing.cut.is_empty() || std::mem::replace(&mut self.is_cut_reported, true) {
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

    /// Files were read or changed: returns the instructions that apply to them.
    pub async fn touch(&mut self, files: &[FileTouch]) -> Vec<MemoryFile> {
        let mut instructions = Vec::new();
        let mut new_skills = false;
        for FileTouch { path: file, by } in files {
            if *by == FileContact::Write && !self.facts.rules_on_write {
                self.activate_by_path(file);
                continue;
            }
            let found = self.lazy.file_touched(file);
            instructions.extend(found.files);
            new_skills |= !found.skill_dirs.is_empty();
            self.nested.extend(found.skill_dirs);
            self.activate_by_path(file);
        }
        if new_skills {
            self.reload().await;
        }
        instructions
    }

    fn activate_by_path(&mut self, file: &Path) {
        let Some(roots) = &self.roots else { return };
        let skills = self.skills();
        let bound =
            skills.all.iter().filter(|skill| !skill.paths.is_empty() && !self.active_by_path.contains(&skill.name));
        let real = sys::real_path::path(file);
        let matching: Vec<String> = bound
            .filter(|skill| PathPatterns::new(&skill.paths, &roots.project).0.match_file(file, &real))
            .map(|skill| skill.name.clone())
            .collect();
        self.is_listing_stale |= !matching.is_empty();
        self.active_by_path.extend(matching);
    }

    /// The text to add for an invocation: its whole text, or a note that it is unchanged.
    pub fn text_to_send(&mut self, invocation: &SkillInvocation) -> String {
        let name = &invocation.skill.name;
        let before = self.sent_texts.iter().position(|(said, _)| said == name).map(|at| self.sent_texts.remove(at).1);
        self.sent_texts.push((name.clone(), invocation.text.clone()));
        self.active = Some(name.clone());
        if before.as_ref() == Some(&invocation.text) {
            return prompts::skill_unchanged(name);
        }
        invocation.text.clone()
    }

    /// Resets what was sent and granted, for a new conversation.
    pub fn begin_session(&mut self, id: &str, lazy: LazyMemory) {
        self.facts = Arc::new(SkillFacts { session_id: id.to_owned(), ..(*self.facts).clone() });
        self.state().facts = Some(Arc::clone(&self.facts));
        self.grants.clear();
        self.active = None;
        self.sent_texts.clear();
        self.active_by_path.clear();
        self.reset_sent(lazy);
    }

    /// The conversation goes on from an earlier point, which contains these lines of the listing.
    pub fn go_back(&mut self, sent_lines: Vec<String>) {
        self.sent_lines = sent_lines.into_iter().map(|line| (name_in(&line).to_owned(), line)).collect();
        self.is_listing_stale = true;
        self.sent_texts.clear();
        self.grants.clear();
        self.active = None;
    }

    /// After a compaction: the listing and the instructions for touched files are sent again.
    pub fn reset_sent(&mut self, lazy: LazyMemory) {
        self.lazy = lazy;
        self.sent_lines.clear();
        self.is_listing_stale = true;
    }

    /// The texts of skills to send again after a compaction, newest first, within limits. Texts that do not fit are
    /// sent in full at the next invocation.
    pub fn texts_to_resend(&mut self) -> Vec<String> {
        let mut left = MAX_TEXTS_BYTES;
        let mut again = Vec::new();
        for (name, text) in std::mem::take(&mut self.sent_texts).into_iter().rev() {
            let text = cut(&text, MAX_TEXT_BYTES.min(left));
            if text.is_empty() {
                continue;
            }
            left -= text.len();
            again.push((name, text));
        }
        let texts = again.iter().map(|(_, text)| text.clone()).collect();
        self.sent_texts = again.into_iter().rev().collect();
        texts
    }
}

/// 5,000 and 25,000 tokens, in bytes.
const MAX_TEXT_BYTES: usize = 5_000 * 13 / 4;
const MAX_TEXTS_BYTES: usize = 5 * MAX_TEXT_BYTES;

fn cut(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_owned()
}

impl SessionSkills {
    /// The skill that the model was last given.
    pub fn active(&self) -> Option<&str> {
        self.active.as_deref()
    }

    /// The current rules of active skills.
    pub fn grants(&self) -> &[RuleText] {
        &self.grants
    }
}

pub fn with_rules(policy: &Policy, rules: &[RuleText]) -> Policy {
    let (policy, warnings) = policy.with_rules(rules, &sys::real_path::path);
    for warning in warnings {
        tracing::warn!(?warning, "a rule of a skill cannot work as written");
    }
    policy
}

/// The skill name in a line of the listing.
fn name_in(line: &str) -> &str {
    let line = line.strip_prefix("- ").unwrap_or(line);
    line.split_once(": ").map_or(line, |(name, _)| name)
}

/// How often each skill was invoked, from the state file. Read only when there are more than `ALWAYS_LISTED` skills.
fn uses(env: &Env, skills: &Skills) -> BTreeMap<String, u64> {
    const ALWAYS_LISTED: usize = 20;
    if skills.all.len() <= ALWAYS_LISTED {
        return BTreeMap::new();
    }
    config::GlobalState::read(env).skill_uses()
}

/// Skills that were sent and are no longer listed.
fn removed_names<'a>(known: &'a BTreeMap<String, String>, listing: &SkillListing) -> Vec<&'a str> {
    if known.is_empty() {
        return Vec::new();
    }
    let now: BTreeSet<&str> = listing.lines.iter().map(|(name, _)| name.as_str()).collect();
    known.keys().map(String::as_str).filter(|name| !now.contains(name)).collect()
}

/// How many characters the listing may take.
pub fn budget(env: &Env, settings: &Settings, window: u64) -> ListingBudget {
    let fraction = settings.skill_listing_budget_fraction.unwrap_or(0.01);
    let share = if window == 0 { ListingBudget::FALLBACK } else { ListingBudget::of_window(window, fraction) };
    let chosen = env.number("SLASH_COMMAND_TOOL_CHAR_BUDGET");
    let is_chosen = chosen.is_some() || settings.skill_listing_budget_fraction.is_some();
    ListingBudget {
        all: chosen.unwrap_or(share),
        whole: (!is_chosen).then(|| share.min(ListingBudget::FALLBACK)),
        each: settings.skill_listing_max_desc_chars.map_or(ListingBudget::EACH, |chars| chars as usize),
    }
}

/// A file that a call touched.
#[derive(Clone, Debug)]
pub struct FileTouch {
    path: PathBuf,
    by: FileContact,
}

/// The file that each call names; `None` for calls without one.
pub fn named_files(uses: &[ToolUse]) -> Vec<Option<(String, FileContact)>> {
    let named = |used: &ToolUse| {
        let file = tools::builtin::facts_of(wire::names::canonical(&used.name))?.file?;
        Some((file.path_in(&used.input)?, file.contact))
    };
    uses.iter().map(named).collect()
}

/// The files of the calls that succeeded.
pub fn touched_files(
    named: Vec<Option<(String, FileContact)>>,
    results: &[Arc<RawValue>],
    at: &Workspace,
) -> Vec<FileTouch> {
    let failed = |result: &Arc<RawValue>| {
        serde_json::from_str::<ResultFlag>(result.get()).is_ok_and(|verdict| verdict.is_error == Some(true))
    };
    let done = named.into_iter().zip(results).filter(|(_, result)| !failed(result));
    done.filter_map(|(named, _)| named).map(|(path, by)| FileTouch { path: at.absolute(&path), by }).collect()
}

#[derive(serde::Deserialize)]
struct ResultFlag {
    #[serde(default)]
    is_error: Option<bool>,
}
