//! Skills and slash commands: found by listing directories and reading heads, bodies only when one is invoked. A file with
//! a broken head still gives its command; what is wrong is named with file and line. Of two with one name the better
//! placed one counts, and the other is remembered as hidden.

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

/// A skill body larger than this is refused.
const MAX_BODY: usize = 4 * 1024 * 1024;

/// How a skill is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillForm {
    /// `skills/<name>/SKILL.md`
    Skill,
    /// `commands/<name>.md`
    Command,
}

/// Where a skill's text runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SkillContext {
    #[default]
    Inline,
    /// In a subagent of its own.
    Fork,
}

/// `skillOverrides`.
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
    /// What is typed after the slash.
    pub name: String,
    /// Other spellings that lead here.
    pub aliases: Vec<String>,
    /// `name` of the front matter.
    pub label: Option<String>,
    pub description: Option<String>,
    pub when_to_use: Option<String>,
    pub argument_hint: Option<String>,
    /// Names for positional arguments.
    pub arguments: Vec<String>,
    /// The model may load it.
    pub model_invocable: bool,
    /// The user may type it.
    pub user_invocable: bool,
    /// Tool rules granted for the turn.
    pub allowed_tools: Vec<String>,
    /// Tools taken away for the turn.
    pub disallowed_tools: Vec<String>,
    pub model: Option<String>,
    pub effort: Option<String>,
    pub context: SkillContext,
    /// The agent type of a fork.
    pub agent: Option<String>,
    pub background: Option<bool>,
    /// Registered when it is invoked. `None` also when the folder is not trusted.
    pub hooks: Option<Value>,
    /// Offered to the model only when a file matching one of these is in play.
    pub paths: Vec<String>,
    pub shell: SkillShell,
    pub form: SkillForm,
    pub scope: DefinitionScope,
    pub visibility: SkillVisibility,
    /// The file.
    pub path: PathBuf,
    /// The directory of its supporting files.
    pub dir: PathBuf,
}

impl Skill {
    /// Its text without the front matter, read now.
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

    /// In the model's listing, apart from `paths`.
    pub fn is_listed(&self) -> bool {
        self.model_invocable && matches!(self.visibility, SkillVisibility::On | SkillVisibility::NameOnly)
    }

    /// In menus and in `system/init`.
    pub fn is_user_visible(&self) -> bool {
        self.user_invocable && self.visibility != SkillVisibility::Off
    }

    /// Whether it brings nothing that needs leave.
    pub fn is_plain(&self) -> bool {
        self.allowed_tools.is_empty() && self.hooks.is_none()
    }
}

/// A skill that another one of the same name hides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenSkill {
    pub name: String,
    pub path: PathBuf,
    pub by: PathBuf,
}

/// All skills and commands of a session.
#[derive(Clone, Debug, Default)]
pub struct Skills {
    /// Best placed first; names are unique.
    pub all: Vec<Skill>,
    pub hidden: Vec<HiddenSkill>,
    pub findings: Vec<FileFinding>,
    pub(crate) stamps: PathStamps,
}

impl Skills {
    /// Lists every place. `nested` are directories below the start directory that have come into play.
    pub fn load(roots: &DefinitionRoots, nested: &[PathBuf], overrides: &BTreeMap<String, String>) -> Self {
        load::load(roots, nested, overrides)
    }

    /// Whether nothing changed on disk since they were listed: a stat per directory and file.
    pub fn are_current(&self) -> bool {
        self.stamps.are_unchanged()
    }

    /// By name or by another spelling that leads to it.
    pub fn find(&self, name: &str) -> Option<&Skill> {
        let by_name = self.all.iter().find(|skill| skill.name == name);
        by_name.or_else(|| self.all.iter().find(|skill| skill.aliases.iter().any(|alias| alias == name)))
    }

    /// Variants of a name that are declared in directories below.
    pub fn qualified<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Skill> {
        let belongs = move |skill: &&Skill| {
            skill.scope == DefinitionScope::Nested && skill.name.rsplit_once(':').is_some_and(|(_, last)| last == name)
        };
        self.all.iter().filter(belongs)
    }
}

/// Whether `dir` declares skills or commands of its own.
pub fn declares(dir: &Path) -> bool {
    [".claude/skills", ".claude/commands"].iter().any(|place| dir.join(place).is_dir())
}

#[cfg(test)]
#[path = "skills_tests.rs"]
mod tests;
