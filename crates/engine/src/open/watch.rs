//! The settings and rules that a session watches, its readable and writable paths, and its notes folder.

use super::SessionAssembly;
use permission::SessionDirectories;
use session_parts::hooks::HookRestriction;
use session_parts::settings_watch::{InstructionScope, SettingsWatch};
use std::path::PathBuf;
use store::Persistence;
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

impl SessionAssembly {
    pub(super) fn settings_watch(&self) -> SettingsWatch {
        let rules = self.flag_rules();
        let plan_file = self.planning().file;
        let place = SessionDirectories {
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
            block_reads_outside: self.loaded.settings.permissions.block_reads_outside == Some(true),
            variables: session_parts::facts::variables(&self.env),
            undo_store: Some(store::Snapshots::at(self.layout.home()).folder().to_path_buf()),
            runs_zsh: tools::bash::runs_zsh(&self.env),
        };
        SettingsWatch {
            instructions: InstructionScope::All,
            notes: self.default_notes_dir(),
            cwd: self.cwd.clone(),
            env: self.base_env.clone(),
            selection: self.selection.clone(),
            loaded: self.loaded.clone(),
            flag_rules: rules,
            granted_rules: Vec::new(),
            flag_directories: self.options.permissions.directories.iter().map(|dir| self.cwd.join(dir)).collect(),
            granted_directories: Vec::new(),
            place,
            notices: Vec::new(),
            sandbox: self.sandbox.clone(),
            reduced: HookRestriction::from((self.options.configuration.bare, self.options.configuration.safe_mode)),
        }
    }

    /// The rules of the command line.
    fn flag_rules(&self) -> Vec<RuleText> {
        let rule = |text: &String, behaviour| RuleText {
            behaviour,
            source: SettingsSource::CommandLine,
            text: text.clone(),
            root: self.cwd.clone(),
        };
        let allowed: &[String] = if self.loaded.managed_rules_only { &[] } else { &self.options.permissions.allowed };
        let allowed = allowed.iter().map(|text| rule(text, RuleBehaviour::Allow));
        allowed.chain(self.options.permissions.denied.iter().map(|text| rule(text, RuleBehaviour::Deny))).collect()
    }

    /// Warnings for rules that cannot be parsed, each with its file and the reason.
    pub(super) fn broken_rules(&self) -> Vec<String> {
        let home = self.env.home();
        let given = self.flag_rules();
        let all = self.loaded.rules.iter().chain(&given);
        all.filter_map(|rule| {
            let problem = permission::ignored_reason(rule, &self.cwd, home.as_deref())?;
            let place = match self.loaded.place_of(rule) {
                Some((path, Some(line))) => format!("{}:{line}", path.display()),
                Some((path, None)) => path.display().to_string(),
                None => rule.source.as_str().to_owned(),
            };
            Some(format!("Warning: {place}: the permission rule {}: {problem}", rule.text))
        })
        .collect()
    }

    /// The notes folder, shared by all worktrees and folders of a repository.
    fn default_notes_dir(&self) -> PathBuf {
        let root = sys::git::root(&self.cwd);
        let root = root.map_or(self.cwd.clone(), |root| sys::git::main_checkout(&root).unwrap_or(root));
        self.layout.project_dir(&root).join("memory")
    }

    /// The notes folder of this session; `None` when it has none. A recorded run has none, because it must not depend
    /// on this machine.
    pub(super) fn notes_dir(&self) -> Option<PathBuf> {
        let without = self.options.configuration.bare
            || self.options.configuration.safe_mode
            || self.persist() == Persistence::No;
        let recorded = self.options.cassette.record.is_some() || self.options.cassette.replay.is_some();
        if without || recorded {
            return None;
        }
        config::memory::auto_directory(&self.env, &self.loaded, Some(&self.default_notes_dir()))
    }
}
