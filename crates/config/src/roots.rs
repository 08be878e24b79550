//! The directories that may declare skills, commands, agents and styles, and how far each is trusted. Reads nothing
//! from them except what decides trust.

use crate::project::{ProjectConfig, SettingsSelection, managed_dir};
use crate::settings_files::between;
use crate::state::{GlobalState, config_home};
use serde_json::Value;
use std::path::{Path, PathBuf};
use sys::Env;
use wire::settings::SettingsSource;

/// Who declared a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DefinitionScope {
    /// The administrator's directory.
    Managed,
    /// `--agents`, or the SDK.
    CommandLine,
    /// `~/.claude`.
    User,
    /// `.claude` of the start directory or one above it in the repository.
    Project,
    /// `.claude` of a directory given with `--add-dir`.
    Added,
    /// `.claude` of a directory below the start directory.
    Nested,
}

impl DefinitionScope {
    /// The name in listings for hosts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Managed => "policySettings",
            Self::CommandLine => "flagSettings",
            Self::User => "userSettings",
            Self::Project | Self::Added | Self::Nested => "projectSettings",
        }
    }
}

impl DefinitionScope {
    /// The name shown to people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::CommandLine => "command line",
            Self::User => "user",
            Self::Project | Self::Nested => "project",
            Self::Added => "added directory",
        }
    }
}

/// Kinds of customisation that an administrator may reserve for plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomizationKind {
    Skills,
    Agents,
}

/// One `.claude` directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionRoot {
    /// The `.claude` directory itself.
    pub dir: PathBuf,
    pub scope: DefinitionScope,
    /// True when hooks and pre-approved tools of the skills there apply.
    pub skill_code: bool,
    /// True when hooks and servers of the agents there apply.
    pub agent_code: bool,
}

/// All `.claude` directories, in the order in which a skill of the same name wins.
#[derive(Clone, Debug, Default)]
pub struct DefinitionRoots {
    pub cwd: PathBuf,
    /// The root of the repository, or the start directory outside one.
    pub project: PathBuf,
    pub roots: Vec<DefinitionRoot>,
    skills_locked: bool,
    agents_locked: bool,
}

impl DefinitionRoots {
    /// `added` are the `--add-dir` directories, absolute.
    pub fn find(
        cwd: &Path,
        env: &Env,
        selection: &SettingsSelection,
        loaded: &ProjectConfig,
        added: &[PathBuf],
    ) -> Self {
        let repository = sys::git::root(cwd);
        let project = repository.clone().unwrap_or_else(|| cwd.to_path_buf());
        let mut found = Self {
            cwd: cwd.to_path_buf(),
            project,
            roots: Vec::new(),
            skills_locked: locked(loaded, "skills"),
            agents_locked: locked(loaded, "agents"),
        };
        if selection.safe_mode {
            return found;
        }
        if !selection.bare {
            let managed = selection.managed_dir.clone().unwrap_or_else(managed_dir).join(".claude");
            found.push(managed, DefinitionScope::Managed, CodePermission::ALWAYS);
            if let Some(home) = config_home(env).filter(|_| selection.reads(SettingsSource::User)) {
                found.push(home, DefinitionScope::User, CodePermission::ALWAYS);
            }
        }
        if !selection.reads(SettingsSource::Project) {
            return found;
        }
        if !selection.bare {
            let code = CodePermission { skills: loaded.project_code, agents: loaded.trusted };
            for dir in between(cwd, repository.as_deref()) {
                found.push(dir.join(".claude"), DefinitionScope::Project, code);
            }
        }
        if !added.is_empty() {
            let state = GlobalState::read(env);
            for dir in added {
                let trusted = folder_is_trusted(dir, &state) || dir.starts_with(&found.project) && loaded.trusted;
                found.push(
                    dir.join(".claude"),
                    DefinitionScope::Added,
                    CodePermission { skills: trusted, agents: trusted },
                );
            }
        }
        found
    }

    /// Adds each directory once: in the home directory the project's `.claude` is also the user's.
    fn push(&mut self, dir: PathBuf, scope: DefinitionScope, code: CodePermission) {
        if self.roots.iter().all(|root| root.dir != dir) {
            self.roots.push(DefinitionRoot { dir, scope, skill_code: code.skills, agent_code: code.agents });
        }
    }

    /// The directories that may declare this kind.
    pub fn open_to(&self, what: CustomizationKind) -> impl Iterator<Item = &DefinitionRoot> {
        let locked = match what {
            CustomizationKind::Skills => self.skills_locked,
            CustomizationKind::Agents => self.agents_locked,
        };
        self.roots.iter().filter(move |root| !locked || root.scope == DefinitionScope::Managed)
    }

    /// The root of a directory below the start directory.
    pub fn nested(&self, dir: &Path) -> DefinitionRoot {
        let own = self.roots.iter().find(|root| root.scope == DefinitionScope::Project);
        DefinitionRoot {
            dir: dir.join(".claude"),
            scope: DefinitionScope::Nested,
            skill_code: own.is_some_and(|root| root.skill_code),
            agent_code: own.is_some_and(|root| root.agent_code),
        }
    }

    /// True when project directories are read.
    pub fn reads_project(&self) -> bool {
        !self.skills_locked && self.roots.iter().any(|root| root.scope == DefinitionScope::Project)
    }
}

#[derive(Clone, Copy)]
struct CodePermission {
    skills: bool,
    agents: bool,
}

impl CodePermission {
    const ALWAYS: Self = Self { skills: true, agents: true };
}

/// `strictPluginOnlyCustomization`: true for all kinds, or a list of kinds.
fn locked(loaded: &ProjectConfig, kind: &str) -> bool {
    match &loaded.settings.strict_plugin_only_customization {
        Some(Value::Bool(all)) => *all,
        Some(Value::Array(kinds)) => kinds.iter().any(|named| named == kind),
        _ => false,
    }
}

/// Trust depends on the folder of a file, not on the start directory of the session.
fn folder_is_trusted(dir: &Path, state: &GlobalState) -> bool {
    let real = sys::real_path::path(dir);
    match sys::git::root(&real) {
        Some(root) => state.trusts(&root),
        None => real.ancestors().any(|folder| state.trusts(folder)),
    }
}
