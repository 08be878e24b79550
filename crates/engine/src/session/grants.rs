//! Applies what the person or the host grants: rules, directories and modes.

use crate::session::SessionIo;
use config::edit::{SettingsEdit, SettingsTarget};
use serde_json::Value;
use session_parts::grants::ModeOwner;
use session_parts::grants::wanted_mode;
use std::path::PathBuf;
use wire::control::PermissionUpdate;
use wire::entry::MetaEntry;
use wire::mode::PermissionMode;
use wire::sdk::SystemBody;
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

/// A change to one key of a settings file.
struct SettingsListEdit {
    keys: [&'static str; 2],
    edit: SettingsEdit,
}

impl SessionIo {
    /// Applies `updates` in order. When saving fails, the host is warned and the grant still applies to the session.
    pub(crate) async fn grant(&mut self, updates: Vec<PermissionUpdate>) {
        self.apply_shared_grants(&updates).await;
        for update in updates {
            let to = update.destination.unwrap_or(SettingsSource::Session);
            if matches!(to, SettingsSource::Managed | SettingsSource::Flag) {
                tracing::warn!(kind = update.kind, "a permission update for settings nobody may change is ignored");
                continue;
            }
            if let Some(change) = self.apply_update(update, to).await {
                self.save(to, change).await;
            }
        }
        self.rebuild_policy();
    }

    /// Applies what the host granted to other threads of the session: the main thread or its agents.
    async fn apply_shared_grants(&mut self, own: &[PermissionUpdate]) {
        let agents = std::sync::Arc::clone(&self.tooling.spawner.agents);
        let news = agents.grant(own, &mut self.rules.grants_seen);
        if news.is_empty() {
            return;
        }
        for update in news {
            let to = update.destination.unwrap_or(SettingsSource::Session);
            let plans = update.mode.as_deref() == Some(PermissionMode::Plan.as_str());
            let is_mode = update.kind == "setMode" && self.rules.mode_owner == ModeOwner::Definition && !plans;
            if !is_mode && !matches!(to, SettingsSource::Managed | SettingsSource::Flag) {
                // The thread that was granted it has saved it.
                self.apply_update(update, to).await;
            }
        }
        self.rebuild_policy();
    }

    async fn apply_update(&mut self, update: PermissionUpdate, to: SettingsSource) -> Option<SettingsListEdit> {
        let rules: Vec<String> = update.rules.iter().flatten().map(wire::control::UpdatedRule::text).collect();
        let directories = update.directories.unwrap_or_default();
        match (update.kind.as_str(), update.behavior, update.mode) {
            ("addRules", Some(behaviour), _) => self.add_rules(rules, behaviour, to),
            ("removeRules", Some(behaviour), _) => Some(self.remove_rules(&rules, behaviour, to)),
            ("replaceRules", Some(behaviour), _) => self.replace_rules(rules, behaviour, to),
            ("setMode", _, Some(mode)) => self.choose_mode(&mode).await.map(|mode| SettingsListEdit {
                keys: ["permissions", "defaultMode"],
                edit: SettingsEdit::Set(mode.as_str().into()),
            }),
            ("addDirectories", ..) => Some(self.add_directories(directories)),
            ("removeDirectories", ..) => Some(self.remove_directories(directories)),
            (kind, ..) => {
                tracing::warn!(kind, "a permission update that is not understood is ignored");
                None
            }
        }
    }

    fn add_rules(
        &mut self,
        rules: Vec<String>,
        behaviour: RuleBehaviour,
        to: SettingsSource,
    ) -> Option<SettingsListEdit> {
        if behaviour == RuleBehaviour::Allow && self.rules.watch.loaded.managed_rules_only {
            tracing::warn!("only the administrator's allow rules count; the host's are ignored");
            return None;
        }
        let root = self.rules.watch.cwd.clone();
        for text in &rules {
            let rule = RuleText { behaviour, source: to, text: text.clone(), root: root.clone() };
            if !self.rules.watch.granted_rules.contains(&rule) {
                self.rules.watch.granted_rules.push(rule);
            }
        }
        let edit = SettingsEdit::Add(storable(rules).map(Value::from).collect());
        Some(SettingsListEdit { keys: list(behaviour), edit })
    }

    fn remove_rules(&mut self, rules: &[String], behaviour: RuleBehaviour, to: SettingsSource) -> SettingsListEdit {
        let gone = |rule: &RuleText| rule.behaviour == behaviour && rule.source == to && rules.contains(&rule.text);
        self.rules.watch.remove_rules(gone);
        SettingsListEdit {
            keys: list(behaviour),
            edit: SettingsEdit::Take(rules.iter().cloned().map(Value::from).collect()),
        }
    }

    fn replace_rules(
        &mut self,
        rules: Vec<String>,
        behaviour: RuleBehaviour,
        to: SettingsSource,
    ) -> Option<SettingsListEdit> {
        self.rules.watch.remove_rules(|rule| rule.behaviour == behaviour && rule.source == to);
        let SettingsListEdit { keys, edit } = self.add_rules(rules, behaviour, to)?;
        let SettingsEdit::Add(values) = edit else { return None };
        Some(SettingsListEdit { keys, edit: SettingsEdit::Set(Value::Array(values)) })
    }

    fn add_directories(&mut self, directories: Vec<String>) -> SettingsListEdit {
        for dir in &directories {
            let dir = self.absolute(dir);
            if !self.rules.watch.granted_directories.contains(&dir) {
                self.rules.watch.granted_directories.push(dir);
            }
        }
        let values = directories.into_iter().map(Value::from).collect();
        SettingsListEdit { keys: ["permissions", "additionalDirectories"], edit: SettingsEdit::Add(values) }
    }

    /// Directories from `--add-dir` stay.
    fn remove_directories(&mut self, directories: Vec<String>) -> SettingsListEdit {
        let gone: Vec<PathBuf> = directories.iter().map(|dir| self.absolute(dir)).collect();
        self.rules.watch.granted_directories.retain(|dir| !gone.contains(dir));
        self.rules.watch.loaded.additional_directories.retain(|dir| !gone.contains(dir));
        let values = directories.into_iter().map(Value::from).collect();
        SettingsListEdit { keys: ["permissions", "additionalDirectories"], edit: SettingsEdit::Take(values) }
    }

    fn absolute(&self, dir: &str) -> PathBuf {
        self.tooling.directories.absolute(dir)
    }

    async fn choose_mode(&mut self, text: &str) -> Option<PermissionMode> {
        match wanted_mode(text, self.rules.bypass) {
            Ok(mode) => {
                self.set_mode(mode).await;
                Some(mode)
            }
            Err(why) => {
                tracing::warn!(why, "a mode the host asked for is refused");
                None
            }
        }
    }

    /// Switches the mode for the next decision and informs the host.
    pub(crate) async fn set_mode(&mut self, mode: PermissionMode) {
        if mode == self.rules.mode() {
            return;
        }
        self.knowledge.plan.note_mode(self.rules.mode(), mode);
        self.rules.set_mode(mode);
        self.rebuild_policy();
        let body = SystemBody::mode(mode.as_str());
        self.output.host.system(body).await;
        if self.output.host.agent_id().is_some() {
            return;
        }
        let session_id = self.output.host.session_id.clone();
        let entry = MetaEntry::PermissionMode { permission_mode: mode.as_str().to_owned(), session_id };
        if let Err(error) = self.output.transcript.meta(entry) {
            tracing::warn!(%error, "the new mode could not be recorded");
        }
    }

    /// Applies a mode the host chose by a control request since the last check, and what it granted to other threads.
    pub(crate) async fn apply_chosen_mode(&mut self) {
        self.apply_shared_grants(&[]).await;
        if self.rules.chosen_mode.has_changed().unwrap_or(false) {
            let chosen = *self.rules.chosen_mode.borrow_and_update();
            let holds =
                |mode: &PermissionMode| self.rules.mode_owner == ModeOwner::Session || *mode == PermissionMode::Plan;
            if let Some(mode) = chosen.filter(holds) {
                self.set_mode(mode).await;
            }
        }
    }

    /// Rebuilds the policy after rules, mode or directories changed.
    pub(crate) fn rebuild_policy(&mut self) {
        let policy = self.rules.watch.policy(self.rules.mode());
        let granted = self.knowledge.skills.grants();
        let policy = if granted.is_empty() { policy } else { session_parts::skills::with_rules(&policy, granted) };
        self.rules.set_policy(policy);
        self.tooling.directories.additional = self.rules.watch.additional();
    }

    async fn save(&self, to: SettingsSource, change: SettingsListEdit) {
        if config::settings_files::file_of(to, &self.rules.watch.cwd, &self.rules.watch.env).is_none() {
            return;
        }
        let (cwd, env) = (self.rules.watch.cwd.clone(), self.rules.watch.env.clone());
        let saved = tokio::task::spawn_blocking(move || {
            let written = SettingsTarget { source: to, cwd: &cwd, env: &env }.change(&change.keys, &change.edit)?;
            if let Err(error) = written.ignored {
                tracing::warn!(%error, "git could not be told to ignore the local settings");
            }
            Ok::<(), config::edit::EditError>(())
        });
        let problem = match saved.await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        self.output.host.notice(format!("Warning: the permission applies to this session only: {problem}")).await;
    }
}

fn list(behaviour: RuleBehaviour) -> [&'static str; 2] {
    match behaviour {
        RuleBehaviour::Allow => ["permissions", "allow"],
        RuleBehaviour::Ask => ["permissions", "ask"],
        RuleBehaviour::Deny => ["permissions", "deny"],
    }
}

fn storable(rules: Vec<String>) -> impl Iterator<Item = String> {
    rules.into_iter().filter(|rule| {
        let fine = permission::suggest::may_be_saved(rule);
        if !fine {
            tracing::warn!("a rule that may hold a credential is not saved");
        }
        fine
    })
}
