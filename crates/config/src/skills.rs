//! Skills and slash commands: found by listing directories and reading front matter; bodies are read only on
//! invocation. A file with broken front matter still gives its command; the defect is reported with file and line. Of
//! two skills with the same name the one with higher priority is used, and the other is recorded as hidden.

mod listing;
mod load;
pub mod render;

pub use listing::{ListingBudget, SkillListing, list};
pub(crate) use load::EFFORTS;

use crate::frontmatter::{self, FileFinding};
use crate::roots::{DefinitionRoots, DefinitionScope};
use crate::stamp::PathStamps;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// In bytes. A larger skill body is refused.
const MAX_BODY: usize = 4 * 1024 * 1024;

/// How a skill is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillForm {
    /// `skills/<name>/SKILL.md`
    Skill,
    /// `commands/<name>.md`
    Command,
}

/// Where a skill runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SkillContext {
    #[default]
    Inline,
    /// In a new subagent.
    Fork,
}

/// The value in `skillOverrides`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SkillVisibility {
    #[default]
    On,
    /// Listed without its description.
    NameOnly,
    /// Not listed for the model.
    UserOnly,
    Off,
}

/// The shell that runs injected commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SkillShell {
    #[default]
    Bash,
    PowerShell,
}

/// One skill or command: everything but its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Skill {
    /// The name typed after the slash.
    pub name: String,
    /// Other names of the skill.
    pub aliases: Vec<String>,
    /// The `name` in the front matter.
    pub label: Option<String>,
    pub description: Option<String>,
    pub when_to_use: Option<String>,
    pub argument_hint: Option<String>,
    /// Names for positional arguments.
    pub arguments: Vec<String>,
    /// The model may invoke it.
    pub model_invocable: bool,
    /// The user may invoke it.
    pub user_invocable: bool,
    /// Tool rules granted for the turn.
    pub allowed_tools: Vec<String>,
    /// Tools not available in the turn.
    pub disallowed_tools: Vec<String>,
    pub model: Option<String>,
    pub effort: Option<String>,
    pub context: SkillContext,
    /// The agent type of a fork.
    pub agent: Option<String>,
    pub background: Option<bool>,
    /// Registered on invocation. `None` also when the folder is not trusted.
    pub hooks: Option<Value>,
    /// If not empty, listed for the model only when a file that matches one of these patterns is in use.
    pub paths: Vec<String>,
    pub shell: SkillShell,
    pub form: SkillForm,
    pub scope: DefinitionScope,
    pub visibility: SkillVisibility,
    /// The Markdown file.
    pub path: PathBuf,
    /// The directory of its supporting files.
    pub dir: PathBuf,
}

impl Skill {
    /// Reads the text without the front matter.
    pub fn body(&self) -> Result<String, String> {
        let shown = self.path.display();
        let bytes = sys::fs::read_whole(&self.path, MAX_BODY).map_err(|error| match error.kind() {
            ErrorKind::FileTooLarge | ErrorKind::InvalidInput | ErrorKind::IsADirectory => {
                format!("{shown} is not a file of at most {} MiB", MAX_BODY >> 20)
            }
            _ => format!("{shown} cannot be read: {error}"),
        })?;
        Ok(frontmatter::body(&String::from_utf8_lossy(&bytes)).trim_matches('\n').to_owned())
    }

    /// True when the skill is in the model's listing; `paths` is not checked here.
    pub fn is_listed(&self) -> bool {
        self.model_invocable && matches!(self.visibility, SkillVisibility::On | SkillVisibility::NameOnly)
    }

    /// True when the skill is in menus and in `system/init`.
    pub fn is_user_visible(&self) -> bool {
        self.user_invocable && self.visibility != SkillVisibility::Off
    }

    /// True when the skill grants no tools and has no hooks, so that it needs no permission.
    pub fn is_plain(&self) -> bool {
        self.allowed_tools.is_empty() && self.hooks.is_none()
    }
}

/// A skill that is hidden by another one of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenSkill {
    pub name: String,
    pub path: PathBuf,
    pub by: PathBuf,
}

/// All skills and commands of a session.
#[derive(Clone, Debug, Default)]
pub struct Skills {
    /// Highest priority first; names are unique.
    pub all: Vec<Skill>,
    pub hidden: Vec<HiddenSkill>,
    pub findings: Vec<FileFinding>,
    pub(crate) stamps: PathStamps,
}

impl Skills {
    /// Reads all directories. `nested` are directories below the start directory that became relevant.
    pub fn load(roots: &DefinitionRoots, nested: &[PathBuf], overrides: &BTreeMap<String, String>) -> Self {
        load::load(roots, nested, overrides)
    }

    /// True when nothing changed on disk since the skills were read: costs a stat per directory and file.
    pub fn are_current(&self) -> bool {
        self.stamps.are_unchanged()
    }

    /// Finds a skill by name or alias.
    pub fn find(&self, name: &str) -> Option<&Skill> {
        let by_name = self.all.iter().find(|skill| skill.name == name);
        by_name.or_else(|| self.all.iter().find(|skill| skill.aliases.iter().any(|alias| alias == name)))
    }

    /// Skills of this name that are declared in directories below the start directory.
    pub fn qualified<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Skill> {
        let belongs = move |skill: &&Skill| {
            skill.scope == DefinitionScope::Nested && skill.name.rsplit_once(':').is_some_and(|(_, last)| last == name)
        };
        self.all.iter().filter(belongs)
    }
}

/// True when `dir` declares skills or commands.
pub fn declares(dir: &Path) -> bool {
    [".claude/skills", ".claude/commands"].iter().any(|place| dir.join(place).is_dir())
}

#[cfg(test)]
#[path = "skills_tests.rs"]
mod tests;
