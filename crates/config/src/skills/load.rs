//! Loads skills from directories.

use super::{HiddenSkill, Skill, SkillContext, SkillForm, SkillShell, SkillVisibility, Skills};
use crate::frontmatter::{FileFinding, FrontMatter, FrontMatterDefect};
use crate::roots::{CustomizationKind, DefinitionRoot, DefinitionRoots, DefinitionScope};
use crate::scan::{self, ScannedHead};
use crate::stamp::{PathStamp, PathStamps};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// The folder of account skills; it cannot be the name of a skill.
const RESERVED: &str = "synced";

const FIELDS: &[&str] = &[
    "name",
    "description",
    "when_to_use",
    "argument-hint",
    "arguments",
    "disable-model-invocation",
    "user-invocable",
    "allowed-tools",
    "disallowed-tools",
    "model",
    "effort",
    "context",
    "agent",
    "background",
    "hooks",
    "paths",
    "shell",
    "metadata",
    "license",
    "compatibility",
];

pub(crate) const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];

/// A file that may declare a skill and was not read yet.
struct SkillCandidate<'a> {
    root: &'a DefinitionRoot,
    form: SkillForm,
    path: PathBuf,
    name: String,
    aliases: Vec<String>,
}

impl AsRef<Path> for SkillCandidate<'_> {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

/// The result of reading a candidate.
enum CandidateOutcome {
    /// A folder without SKILL.md is not a skill; it may become one.
    Absent,
    Unreadable(String),
    Read(Box<Skill>, Vec<FrontMatterDefect>, PathStamp),
}

pub(super) fn load(roots: &DefinitionRoots, nested: &[PathBuf], overrides: &BTreeMap<String, String>) -> Skills {
    let mut places: Vec<DefinitionRoot> = roots.open_to(CustomizationKind::Skills).cloned().collect();
    if roots.reads_project() {
        places.extend(nested.iter().map(|dir| roots.nested(dir)));
    }
    let mut stamps = PathStamps::default();
    let mut seen = BTreeSet::new();
    let mut candidates = Vec::new();
    for root in &places {
        skill_folders(root, &mut candidates, &mut stamps, &mut seen);
    }
    for root in &places {
        command_files(root, &mut candidates, &mut stamps);
    }
    let outcomes = scan::map_heads(&candidates, |candidate, head| match head {
        None => CandidateOutcome::Absent,
        Some(Err(problem)) => CandidateOutcome::Unreadable(problem),
        Some(Ok(head)) => build(candidate, head, &roots.cwd),
    });
    let all = Vec::with_capacity(outcomes.len());
    stamps.reserve(outcomes.len());
    let taken = HashMap::with_capacity(outcomes.len());
    let mut loader = SkillLoader { skills: Skills { all, stamps, ..Skills::default() }, taken, cwd: &roots.cwd };
    for (candidate, outcome) in candidates.into_iter().zip(outcomes) {
        loader.add(candidate, outcome);
    }
    let mut skills = loader.skills;
    apply_overrides(&mut skills, overrides);
    skills
}

fn skill_folders<'a>(
    root: &'a DefinitionRoot,
    found: &mut Vec<SkillCandidate<'a>>,
    stamps: &mut PathStamps,
    seen: &mut BTreeSet<PathBuf>,
) {
    let dir = root.dir.join("skills");
    stamps.add(dir.clone());
    let entries = scan::entries(&dir);
    found.reserve(entries.len());
    for entry in entries {
        if !(entry.is_dir || entry.is_link) || entry.name.eq_ignore_ascii_case(RESERVED) {
            continue;
        }
        // Only a link can lead to a folder that was already listed.
        if entry.is_link {
            let Ok(real) = std::fs::canonicalize(dir.join(&entry.name)) else { continue };
            let inside = real.parent().and_then(|parent| std::fs::canonicalize(&dir).ok().map(|own| own == parent));
            if inside == Some(true) || !seen.insert(real) {
                continue;
            }
        }
        let path = [dir.as_path(), Path::new(&entry.name), Path::new("SKILL.md")].iter().collect();
        found.push(SkillCandidate { root, form: SkillForm::Skill, path, name: entry.name, aliases: Vec::new() });
    }
}

fn command_files<'a>(root: &'a DefinitionRoot, found: &mut Vec<SkillCandidate<'a>>, stamps: &mut PathStamps) {
    let dir = root.dir.join("commands");
    let tree = scan::markdown_tree(&dir);
    if tree.dirs.is_empty() {
        stamps.add(dir);
    }
    for dir in tree.dirs {
        stamps.add(dir);
    }
    let stems: Vec<&str> = tree.files.iter().map(|(path, _)| stem(path)).collect();
    for (at, (path, folders)) in tree.files.iter().enumerate() {
        let short = stems[at].to_owned();
        let long = folders.iter().map(String::as_str).chain([stems[at]]).collect::<Vec<_>>().join(":");
        let aliases = if short == long { Vec::new() } else { vec![short] };
        found.push(SkillCandidate { root, form: SkillForm::Command, path: path.clone(), name: long, aliases });
    }
}

fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

struct SkillLoader<'a> {
    skills: Skills,
    /// Maps a name to its index in the list.
    taken: HashMap<String, usize>,
    cwd: &'a Path,
}

impl SkillLoader<'_> {
    fn add(&mut self, candidate: SkillCandidate<'_>, outcome: CandidateOutcome) {
        let (mut skill, defects, stamp) = match outcome {
            CandidateOutcome::Absent => return self.skills.stamps.add(candidate.path),
            CandidateOutcome::Unreadable(problem) => {
                self.skills.findings.push(FileFinding::new(&candidate.path, 1, format!("{problem}; it is ignored")));
                return self.skills.stamps.add(candidate.path);
            }
            CandidateOutcome::Read(skill, defects, stamp) => (skill, defects, stamp),
        };
        if let Some(by) = self.taken.get(&skill.name) {
            let Some(qualified) = self.qualified(&candidate).filter(|name| !self.taken.contains_key(name)) else {
                let by = self.skills.all[*by].path.clone();
                self.skills.stamps.add_seen(candidate.path, stamp);
                self.skills.hidden.push(HiddenSkill { name: skill.name, path: skill.path, by });
                return;
            };
            skill.name = qualified;
        }
        let found = |defect: FrontMatterDefect| FileFinding::new(&candidate.path, defect.line, defect.message);
        self.skills.findings.extend(defects.into_iter().map(found));
        self.skills.stamps.add_seen(candidate.path, stamp);
        self.taken.insert(skill.name.clone(), self.skills.all.len());
        self.skills.all.push(*skill);
    }

    /// Such as `apps/web:deploy` for a skill of a directory below the start directory.
    fn qualified(&self, candidate: &SkillCandidate<'_>) -> Option<String> {
        if candidate.root.scope != DefinitionScope::Nested {
            return None;
        }
        let dir = candidate.root.dir.parent()?.strip_prefix(self.cwd).ok()?;
        Some(format!("{}:{}", dir.display(), candidate.name))
    }
}

fn build(candidate: &SkillCandidate<'_>, head: ScannedHead, project: &Path) -> CandidateOutcome {
    let ScannedHead { mut read, opening, stamp } = head;
    read.report_misspelled(FIELDS);
    let SkillCandidate { root, form, path, name, aliases } = candidate;
    let dir = path.parent().map(Path::to_path_buf).unwrap_or_default();
    let description = read.text("description").or(opening);
    let mut skill = Skill {
        name: name.clone(),
        aliases: aliases.clone(),
        label: read.text("name"),
        description,
        when_to_use: read.text("when_to_use"),
        argument_hint: read.text("argument-hint"),
        arguments: read.names("arguments").unwrap_or_default(),
        model_invocable: !read.flag("disable-model-invocation").unwrap_or(false),
        user_invocable: read.flag("user-invocable").unwrap_or(true),
        allowed_tools: read.rules("allowed-tools").unwrap_or_default(),
        disallowed_tools: read.rules("disallowed-tools").unwrap_or_default(),
        model: read.text("model").filter(|model| model != "inherit"),
        effort: read.choice("effort", EFFORTS).map(str::to_owned),
        context: match read.choice("context", &["fork", "inline"]) {
            Some("fork") => SkillContext::Fork,
            _ => SkillContext::Inline,
        },
        agent: read.text("agent"),
        background: read.flag("background"),
        hooks: read.json("hooks", Value::is_object),
        paths: if *form == SkillForm::Skill { read.globs("paths").unwrap_or_default() } else { Vec::new() },
        shell: match read.choice("shell", &["bash", "powershell"]) {
            Some("powershell") => SkillShell::PowerShell,
            _ => SkillShell::Bash,
        },
        form: *form,
        scope: root.scope,
        visibility: SkillVisibility::On,
        path: path.clone(),
        dir,
    };
    if !root.skill_code {
        remove_untrusted_parts(&mut skill, &mut read);
    }
    substitute_places(&mut skill, project);
    CandidateOutcome::Read(Box::new(skill), read.defects, stamp)
}

/// Removes what an untrusted folder may not declare.
fn remove_untrusted_parts(skill: &mut Skill, read: &mut FrontMatter) {
    if skill.hooks.take().is_some() {
        read.refuse("hooks", "waits until the folder is trusted");
    }
    if !std::mem::take(&mut skill.allowed_tools).is_empty() {
        read.refuse("allowed-tools", "waits until the folder is trusted");
    }
}

fn substitute_places(skill: &mut Skill, project: &Path) {
    for rule in &mut skill.allowed_tools {
        for (variable, dir) in [("${CLAUDE_SKILL_DIR}", skill.dir.as_path()), ("${CLAUDE_PROJECT_DIR}", project)] {
            if rule.contains(variable) {
                *rule = rule.replace(variable, &dir.display().to_string());
            }
        }
    }
}

fn apply_overrides(skills: &mut Skills, overrides: &BTreeMap<String, String>) {
    if overrides.is_empty() {
        return;
    }
    for skill in &mut skills.all {
        skill.visibility = match overrides.get(&skill.name).map(String::as_str) {
            Some("name-only") => SkillVisibility::NameOnly,
            Some("user-invocable-only") => SkillVisibility::UserOnly,
            Some("off") => SkillVisibility::Off,
            Some(_) | None => SkillVisibility::On,
        };
    }
}
