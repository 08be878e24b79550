//! What a session watches: the settings and rules of its place, where it may read and write, where it keeps notes.

use super::Opening;
use crate::hooks::Reduced;
use crate::reload::{Instructions, Watch};
use permission::Place;
use std::path::PathBuf;
use store::Persist;
use wire::settings::{Behaviour, RuleText, Source};

impl Opening {
    pub(super) fn watch(&self) -> Watch {
        let given = |texts: &[String], behaviour| {
            let rule = |text: &String| RuleText {
                behaviour,
                source: Source::CommandLine,
                text: text.clone(),
                root: self.cwd.clone(),
            };
            texts.iter().map(rule).collect::<Vec<_>>()
        };
        let allowed: &[String] = if self.loaded.managed_rules_only { &[] } else { &self.options.allowed_tools };
        let mut rules = given(allowed, Behaviour::Allow);
        rules.extend(given(&self.options.disallowed_tools, Behaviour::Deny));
        let plan_file = self.planning().file;
        let place = Place {
            cwd: self.cwd.clone(),
            home: self.env.home(),
            roots: vec![self.cwd.clone()],
            readable: vec![
                self.session_dir().join("tool-results"),
                store::agents::folder(&self.session_dir()),
                self.tasks_dir(),
                plan_file.clone(),
            ],
            plan_file: Some(plan_file),
            notes: self.notes_dir().into_iter().collect(),
            remotes: Some(sys::git::remotes(&self.cwd)),
            variables: crate::facts::variables(&self.env),
            undo_store: Some(store::Snapshots::at(self.layout.home()).folder().to_path_buf()),
        };
        Watch {
            instructions: Instructions::All,
            notes: self.usual_notes(),
            cwd: self.cwd.clone(),
            env: self.base_env.clone(),
            selection: self.selection.clone(),
            loaded: self.loaded.clone(),
            given: rules,
            granted: Vec::new(),
            given_directories: self.options.add_dirs.iter().map(|dir| self.cwd.join(dir)).collect(),
            granted_directories: Vec::new(),
            place,
            notices: Vec::new(),
            confinement: self.confinement.clone(),
            reduced: Reduced::from((self.options.bare, self.options.safe_mode)),
        }
    }

    /// One place for all worktrees and folders of a repository.
    fn usual_notes(&self) -> PathBuf {
        let root = sys::git::root(&self.cwd);
        let root = root.map_or(self.cwd.clone(), |root| sys::git::main_checkout(&root).unwrap_or(root));
        self.layout.project_dir(&root).join("memory")
    }

    /// Where this session may keep notes. A recorded run depends on nothing that another machine does not have.
    pub(super) fn notes_dir(&self) -> Option<PathBuf> {
        let without = self.options.bare || self.options.safe_mode || self.persist() == Persist::No;
        let recorded = self.options.record.is_some() || self.options.replay.is_some();
        if without || recorded {
            return None;
        }
        config::memory::auto_directory(&self.env, &self.loaded, Some(&self.usual_notes()))
    }
}
