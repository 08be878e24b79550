//! Plan mode in a session: where the plan is stored, when the model is informed about the mode, and which mode follows
//! it. The permission policy, not this module, ensures that nothing is changed in plan mode.

mod name;
pub mod texts;

use std::path::{Path, PathBuf};
use wire::mode::PermissionMode;

/// Maximum size of a plan that is read, in bytes.
const PLAN_LIMIT: usize = 256 * 1024;

/// The plan mode state of one conversation.
#[derive(Clone, Debug)]
pub struct PlanState {
    pub file: PathBuf,
    /// The name recorded on transcript lines.
    pub slug: String,
    /// The model was informed that the mode is on.
    pub is_announced: bool,
    /// There was a prompt since the last reminder.
    pub has_new_prompt: bool,
    /// The mode to return to when a plan is approved.
    previous_mode: PermissionMode,
    /// Instructions for planning from the host; `None` for the built-in ones.
    pub method: Option<String>,
}

impl PlanState {
    /// The file name depends only on the session id.
    pub fn new(dir: &Path, session_id: &str) -> Self {
        let slug = name::plan_name(session_id);
        let file = sys::real_path::path(&dir.join(format!("{slug}.md")));
        Self {
            file,
            slug,
            is_announced: false,
            has_new_prompt: false,
            previous_mode: PermissionMode::Default,
            method: None,
        }
    }

    /// Sets the host's instructions for planning.
    #[must_use]
    pub fn with_method(self, method: Option<String>) -> Self {
        Self { method, ..self }
    }

    /// The plan of an agent, in a file beside the main thread's.
    #[must_use]
    pub fn for_agent(&self, agent_id: &str) -> Self {
        let file = self.file.with_file_name(format!("{}-agent-{agent_id}.md", self.slug));
        Self { file, is_announced: false, has_new_prompt: false, ..self.clone() }
    }

    /// Takes the previous mode over when the conversation moves to another directory.
    pub fn take_mode_from(&mut self, before: &Self) {
        self.previous_mode = before.previous_mode;
    }

    pub fn note_prompt(&mut self) {
        self.has_new_prompt = true;
    }

    /// Records a change of the mode from `from` to `to`.
    pub fn note_mode(&mut self, from: PermissionMode, to: PermissionMode) {
        if to == PermissionMode::Plan && from != PermissionMode::Plan {
            self.previous_mode = from;
        }
    }

    /// The mode to return to when a plan is approved.
    pub fn previous_mode(&self) -> PermissionMode {
        self.previous_mode
    }

    /// Forgets the announcement, because a tool result ended the mode or a compaction removed it.
    pub fn reset_announced(&mut self) {
        self.is_announced = false;
    }

    /// Makes the text of the plan this one again.
    pub fn put_back(&self, text: Option<&str>) -> std::io::Result<()> {
        match text {
            _ if self.text().as_deref() == text => Ok(()),
            Some(text) => sys::fs::atomic_write(&self.file, text.as_bytes(), 0o600),
            None => std::fs::remove_file(&self.file),
        }
    }

    /// The text of the plan; `None` when there is none.
    pub fn text(&self) -> Option<String> {
        let read = sys::fs::read_limited(&self.file, PLAN_LIMIT).ok()?;
        let text = String::from_utf8_lossy(&read.bytes).into_owned();
        (!text.trim().is_empty()).then_some(text)
    }
}

/// `plansDirectory`, when it is inside the project or the configuration home; otherwise `plans` in the latter.
pub fn directory(setting: Option<&str>, project: &Path, config_home: &Path) -> PathBuf {
    let default = config_home.join("plans");
    let Some(wanted) = setting.filter(|dir| !dir.trim().is_empty()) else { return default };
    let wanted = sys::real_path::path(&project.join(wanted));
    let inside = [project, config_home].iter().any(|root| wanted.starts_with(sys::real_path::path(root)));
    if inside {
        return wanted;
    }
    tracing::warn!(dir = %wanted.display(), "plansDirectory lies outside the project; plans are kept in the default place");
    default
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_stay_inside_the_project_or_the_configuration() {
        let temp = tempfile::tempdir().unwrap();
        let (project, home) = (temp.path().join("p"), temp.path().join("home"));
        std::fs::create_dir_all(&project).unwrap();
        std::fs::create_dir_all(&home).unwrap();
        let at = |setting| directory(setting, &project, &home);
        assert_eq!(at(None), home.join("plans"));
        assert_eq!(at(Some("docs/plans")), sys::real_path::path(&project).join("docs/plans"));
        for outside in ["../elsewhere", "/etc", " "] {
            assert_eq!(at(Some(outside)), home.join("plans"), "{outside}");
        }
    }

    #[test]
    fn a_conversation_keeps_its_file() {
        let dir = Path::new("/nowhere/plans");
        let plan = PlanState::new(dir, "5f2f1c1e-0000-4000-8000-0000000000aa");
        assert_eq!(plan.file, PlanState::new(dir, "5f2f1c1e-0000-4000-8000-0000000000aa").file);
        assert_ne!(plan.file, PlanState::new(dir, "5f2f1c1e-0000-4000-8000-0000000000ab").file);
        assert_eq!(plan.slug.split('-').count(), 3);
        assert!(plan.for_agent("a1").file.to_string_lossy().ends_with("-agent-a1.md"));
    }
}
