//! Hooks around a session and its turns: beginning and end, prompts, the wish to stop, changed settings.

use super::declared::Reduced;
use super::{Beside, BesideKind, Scope};
use crate::compact::Trigger;
use crate::session::{Io, Session};
use config::Author;
use hooks::Merged;
use serde_json::{Value, json};
use std::time::Duration;
use store::StoreError;
use tokio_util::sync::CancellationToken;
use wire::hooks::{
    BackgroundTask, ConfigChange, EventName, InstructionsLoaded, Nullable, PostCompact, PreCompact, SessionEnd,
    SessionStart, Setup, Stop, StopFailure, SubagentStart, SubagentStop, UserPromptSubmit, clip,
};
use wire::sdk::SystemBody;
use wire::settings::Source;

/// All SessionEnd handlers together, unless they ask for more.
const END_LIMIT: Duration = Duration::from_millis(1500);
const END_MOST: Duration = Duration::from_mins(1);
/// How often Stop hooks may keep a turn going without a pause.
const STOP_CAP: u32 = 8;

/// What UserPromptSubmit came to.
pub(crate) enum PromptSays {
    GoOn(Vec<Beside>),
    /// The prompt never happened; this is told instead.
    Blocked(String),
}

/// What Stop hooks came to.
pub(crate) enum StopSays {
    End,
    /// `continue: false`
    Prevented,
    /// The text keeps the turn going.
    GoOn(String),
}

impl Session {
    /// Setup and SessionStart, before anything else. What they say waits for the first prompt.
    pub(crate) async fn start_hooks(&mut self) {
        let listens = self.io.hooks.listens(EventName::SessionStart) || self.io.hooks.listens(EventName::Setup);
        if self.start.source != "clear" {
            self.tell_hook_diagnostics().await;
        }
        if !listens {
            return;
        }
        let token = self.control.begin_turn();
        let source = self.start.source;
        let trigger = self.start.setup;
        let model = self.context.model().to_owned();
        let Self { control, io, .. } = self;
        let phase = async {
            if let Some(trigger) = trigger {
                io.fire(&Setup { trigger: trigger.to_owned() }, Scope::new(&token)).await;
            }
            let event =
                SessionStart { source: source.to_owned(), model: Some(model), agent_type: None, session_title: None };
            io.fire(&event, Scope::new(&token)).await
        };
        let Some(merged) = control.during(phase).await else { return };
        self.take_start(merged);
    }

    fn take_start(&mut self, mut merged: Merged) {
        self.start.contexts = contexts(&merged, EventName::SessionStart);
        if let Some(title) = merged.session_title.take() {
            self.start.name.get_or_insert(title);
        }
        self.io.set_watch_paths(merged.watch_paths.take());
        if merged.reload_skills {
            self.io.lore.list_again();
        }
        if !self.start.only_hooks {
            self.control.put_first(std::mem::take(&mut merged.initial_user_messages));
        }
        // A start cannot be stopped, only what follows it.
        if let Some(reason) = self.io.hooks.stop.take() {
            self.start.refused = Some(reason);
        }
    }

    async fn tell_hook_diagnostics(&mut self) {
        for problem in self.io.hooks.current.catalogue().diagnostics.clone() {
            self.io.host.notice(format!("Warning: {problem}")).await;
        }
    }

    /// UserPromptSubmit. A blocked prompt is recorded nowhere the model could see it.
    pub(crate) async fn submit_hooks(&mut self, text: &str, token: &CancellationToken) -> PromptSays {
        if let Some(reason) = self.start.refused.clone() {
            return PromptSays::Blocked(reason);
        }
        self.io.scribe.announce_prompt();
        if !self.io.hooks.listens(EventName::UserPromptSubmit) {
            return PromptSays::GoOn(Vec::new());
        }
        self.open_model_for(EventName::UserPromptSubmit).await;
        let event = UserPromptSubmit { prompt: text.to_owned(), session_title: None };
        let Self { control, io, .. } = self;
        let Some(mut merged) = control.during(io.fire(&event, Scope::new(token))).await else {
            return PromptSays::GoOn(Vec::new());
        };
        let stop = self.io.hooks.stop.take();
        if let Some(reason) = merged.blocked().or(stop) {
            let original =
                if merged.suppress_original_prompt { String::new() } else { format!("\n\nOriginal prompt: {text}") };
            return PromptSays::Blocked(format!("UserPromptSubmit operation blocked by hook:\n{reason}{original}"));
        }
        if let Some(custom_title) = merged.session_title.take() {
            let (session_id, told) = (self.io.host.session_id.clone(), custom_title.clone());
            let title = wire::entry::MetaEntry::CustomTitle { custom_title, session_id };
            if let Err(error) = self.io.scribe.meta(title) {
                tracing::warn!(%error, "a title set by a hook could not be recorded");
            }
            self.start.told_title = Some(told);
        }
        PromptSays::GoOn(contexts(&merged, EventName::UserPromptSubmit))
    }

    /// Prompt handlers need a connection before the first step has made one.
    async fn open_model_for(&mut self, event: EventName) {
        let asks = |entry: &std::sync::Arc<hooks::Entry>| matches!(entry.handler.kind, hooks::Kind::Prompt(_));
        if self.io.hooks.current.catalogue().of(event).iter().any(asks)
            && let Ok(client) = self.io.link.client().await
        {
            self.io.side.set(client, self.context.model());
        }
    }

    /// Puts texts of hooks into the transcript and the conversation.
    pub(crate) fn place(&mut self, texts: Vec<Beside>) -> Result<(), StoreError> {
        for beside in texts {
            let line = beside.attachment().map(|line| self.io.scribe.attachment(line)).transpose()?;
            self.context.push_beside(&beside.reminder(), line);
        }
        Ok(())
    }

    /// A line for every hook that ran since this was last done, for programs that show them. The model never reads them.
    pub(crate) fn write_hook_runs(&mut self) -> Result<(), StoreError> {
        for line in std::mem::take(&mut self.io.hooks.runs) {
            self.io.scribe.attachment(line)?;
        }
        Ok(())
    }

    /// What hooks said during a batch goes behind its results.
    pub(crate) fn place_beside(&mut self) -> Result<(), StoreError> {
        self.write_hook_runs()?;
        let texts = std::mem::take(&mut self.io.hooks.beside);
        self.place(texts)
    }

    /// Stop, after everything is in the file: a hook that reads the transcript finds the last answer there.
    pub(crate) async fn stop_hooks(&mut self, state: StopState<'_>) -> Result<StopSays, StoreError> {
        let event = if self.io.hooks.agent().is_some() { EventName::SubagentStop } else { EventName::Stop };
        if !self.io.hooks.listens(event) {
            return Ok(StopSays::End);
        }
        self.io.scribe.barrier().await?;
        self.publish_for_hooks();
        let Self { control, io, .. } = self;
        let Some(merged) = control.during(io.fire_stop(state)).await else { return Ok(StopSays::End) };
        self.write_hook_runs()?;
        self.record_stop(&merged)?;
        if self.io.hooks.stop.take().is_some() {
            return Ok(StopSays::Prevented);
        }
        let feedback: Vec<&str> = merged.blocks.iter().map(|block| block.message.as_str()).collect();
        let advice: Vec<&str> = merged.contexts.iter().map(|context| context.text.as_str()).collect();
        let all: Vec<&str> = feedback.into_iter().chain(advice).collect();
        if all.is_empty() || state.token.is_cancelled() {
            return Ok(StopSays::End);
        }
        let cap = self.io.env.number("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP").unwrap_or(STOP_CAP);
        if state.continued >= cap {
            let content = format!("Stop hooks kept the turn going {cap} times in a row; it ends now.");
            self.io.host.system(SystemBody::Informational { content, level: "warning" }).await;
            return Ok(StopSays::End);
        }
        let text = format!("Stop hook keeps the turn going: {}", all.join("\n"));
        self.io.host.system(SystemBody::Notification { key: "stop-hook-blocked", text, priority: "low" }).await;
        Ok(StopSays::GoOn(crate::prompts::stop_feedback(&all)))
    }

    fn record_stop(&mut self, merged: &Merged) -> Result<(), StoreError> {
        if merged.reports.is_empty() {
            return Ok(());
        }
        let infos = merged.reports.iter().map(|r| json!({"command": r.what, "durationMs": r.duration_ms}));
        let errors = merged.problems.iter().map(ToString::to_string);
        let contexts = merged.contexts.iter().map(|context| context.text.clone());
        let fields = json!({
            "hookCount": merged.reports.len(),
            "hookInfos": infos.collect::<Vec<_>>(),
            "hookErrors": errors.chain(merged.blocks.iter().map(|b| b.message.clone())).collect::<Vec<_>>(),
            "hookAdditionalContext": contexts.collect::<Vec<_>>(),
            "preventedContinuation": merged.stop.is_some(),
            "stopReason": merged.stop.clone().unwrap_or_default(),
            "hasOutput": merged.reports.iter().any(|r| !r.stdout.is_empty() || !r.stderr.is_empty()),
            "level": "suggestion",
            "toolUseID": sys::id::uuid(),
        });
        let Value::Object(fields) = fields else { return Ok(()) };
        self.io.scribe.system("stop_hook_summary", fields)
    }

    /// StopFailure: an API error ended the turn.
    /// PreCompact. The reason, when hooks refuse.
    pub(crate) async fn before_compaction(&mut self, trigger: &Trigger, token: &CancellationToken) -> Option<String> {
        if !self.io.hooks.listens(EventName::PreCompact) {
            return None;
        }
        let custom_instructions = match trigger {
            Trigger::Manual { instructions } => instructions.clone(),
            Trigger::Crowded | Trigger::Overflow => None,
        };
        let event =
            PreCompact { trigger: trigger.name().to_owned(), custom_instructions: Nullable(custom_instructions) };
        let Self { control, io, .. } = self;
        let merged = control.during(io.fire(&event, Scope::new(token))).await?;
        merged.blocked()
    }

    /// PostCompact, then SessionStart: what that says is told behind the summary.
    pub(crate) async fn after_compaction(
        &mut self,
        trigger: &Trigger,
        summary: String,
        token: &CancellationToken,
    ) -> Result<(), StoreError> {
        let listens = |event| self.io.hooks.listens(event);
        if !listens(EventName::PostCompact) && !listens(EventName::SessionStart) {
            return Ok(());
        }
        let over = PostCompact { trigger: trigger.name().to_owned(), compact_summary: summary };
        let model = Some(self.context.model().to_owned());
        let again = SessionStart { source: "compact".into(), model, agent_type: None, session_title: None };
        let Self { control, io, .. } = self;
        let phase = async {
            io.fire(&over, Scope::new(token)).await;
            // An agent is no session of its own.
            if io.hooks.agent().is_some() {
                return Merged::default();
            }
            io.fire(&again, Scope::new(token)).await
        };
        let Some(merged) = control.during(phase).await else { return Ok(()) };
        let texts = contexts(&merged, EventName::SessionStart);
        self.place(texts)
    }

    pub(crate) async fn stop_failure_hooks(&mut self, error: &'static str, text: &str) {
        if !self.io.hooks.listens(EventName::StopFailure) {
            return;
        }
        let event = StopFailure {
            error: error.to_owned(),
            error_details: Some(text.to_owned()),
            last_assistant_message: Some(text.to_owned()),
        };
        let token = CancellationToken::new();
        let Self { control, io, .. } = self;
        control.during(io.fire(&event, Scope::new(&token))).await;
    }

    /// SessionEnd, within its limit. Also when the process was told to stop.
    pub(crate) async fn end_hooks(&mut self, reason: &str) {
        if !self.io.hooks.listens(EventName::SessionEnd) {
            return;
        }
        let limit = self.io.end_limit();
        let event = SessionEnd { reason: reason.to_owned() };
        let token = CancellationToken::new();
        self.io.fire(&event, Scope { limit: Some(limit), ..Scope::new(&token) }).await;
    }

    /// InstructionsLoaded, for what every session begins with.
    pub(crate) fn tell_instructions(&mut self) {
        if !self.io.hooks.listens(EventName::InstructionsLoaded) || self.io.hooks.agent().is_some() {
            return;
        }
        let begun = if self.context.pressure().has_compacted() { "compact" } else { "session_start" };
        for (path, memory_type, parent) in self.context.instruction_files() {
            self.io.observe(InstructionsLoaded {
                file_path: path,
                memory_type: memory_type.to_owned(),
                load_reason: if parent.is_some() { "include" } else { begun }.to_owned(),
                globs: None,
                trigger_file_path: None,
                parent_file_path: parent,
            });
        }
    }
}

/// How the turn stands when it is about to stop.
#[derive(Clone, Copy)]
pub(crate) struct StopState<'a> {
    /// Stop hooks kept it going before.
    pub active: bool,
    /// How often in a row.
    pub continued: u32,
    pub text: &'a str,
    pub token: &'a CancellationToken,
}

pub(super) fn contexts(merged: &Merged, event: EventName) -> Vec<Beside> {
    let beside = |context: &hooks::Context| Beside {
        kind: BesideKind::Context,
        hook: context.hook.clone(),
        event,
        tool_use_id: None,
        text: context.text.clone(),
    };
    merged.contexts.iter().map(beside).collect()
}

impl Io {
    /// Stop, or SubagentStop when this is an agent.
    async fn fire_stop(&mut self, state: StopState<'_>) -> Merged {
        let stop_hook_active = state.active;
        let last_assistant_message = Some(state.text.to_owned()).filter(|text| !text.is_empty());
        let (background_tasks, session_crons) = (self.background_tasks(), Vec::new());
        let Some(agent) = self.hooks.agent() else {
            let event = Stop { stop_hook_active, last_assistant_message, background_tasks, session_crons };
            return self.fire(&event, Scope::new(state.token)).await;
        };
        let event = SubagentStop {
            kind: agent.kind.clone(),
            stop_hook_active,
            agent_transcript_path: self.scribe.transcript().path().display().to_string(),
            last_assistant_message,
            background_tasks,
            session_crons,
        };
        self.fire(&event, Scope::new(state.token)).await
    }

    /// SubagentStart. It cannot refuse; what it says stands at the beginning of the agent's conversation.
    pub(crate) async fn subagent_start(&mut self, cancel: &CancellationToken) -> Vec<Beside> {
        let Some(agent) = self.hooks.agent() else { return Vec::new() };
        let event = SubagentStart { kind: agent.kind.clone() };
        let merged = self.fire(&event, Scope::new(cancel)).await;
        contexts(&merged, EventName::SubagentStart)
    }

    /// InstructionsLoaded, for a file that others brought in.
    pub(crate) fn tell_instruction(&mut self, file: &config::MemoryFile) {
        if file.is_agents_md || !self.hooks.listens(EventName::InstructionsLoaded) {
            return;
        }
        let shown = |path: &std::path::PathBuf| path.display().to_string();
        self.observe(InstructionsLoaded {
            file_path: shown(&file.path),
            memory_type: file.scope.hook_name().to_owned(),
            load_reason: file.reason.hook_name().to_owned(),
            globs: Some(file.globs.clone()).filter(|globs| !globs.is_empty()),
            trigger_file_path: file.trigger.as_ref().map(shown),
            parent_file_path: file.imported_by.as_ref().map(shown),
        });
    }

    fn end_limit(&self) -> Duration {
        if let Some(given) = self.env.number("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS") {
            return Duration::from_millis(given);
        }
        let entries = self.hooks.current.catalogue().of(EventName::SessionEnd);
        let own = entries.iter().filter(|entry| entry.origin.is_settings()).filter_map(|entry| entry.handler.timeout);
        own.max().map_or(END_LIMIT, |most| most.clamp(END_LIMIT, END_MOST))
    }

    fn background_tasks(&self) -> Vec<BackgroundTask> {
        let task = |task: tools::tasks::Task| BackgroundTask {
            kind: if task.is_agent() { "subagent" } else { "shell" }.into(),
            id: task.id,
            status: task.status.as_str().into(),
            description: clip(&task.description),
            command: task.agent.is_none().then(|| clip(&task.command)),
            agent_type: task.agent.map(|agent| agent.agent_type),
        };
        self.state.tasks.running().into_iter().map(task).collect()
    }

    /// Takes changed settings into force. ConfigChange hooks may refuse them, except the administrator's.
    pub(crate) async fn refresh_settings(&mut self, moment: Moment, cancel: &CancellationToken) {
        let ended = self.state.tasks.ended();
        let worked = std::mem::replace(&mut self.hooks.ended_tasks, ended) != ended;
        if self.watch.loaded.is_current() {
            return;
        }
        let alone = || self.state.tasks.running().is_empty() && !sys::process::has_strays();
        // An agent never works alone: its siblings and the main thread may have written what is found here.
        let author = if moment == Moment::Quiet && !worked && self.hooks.agent.is_none() && alone() {
            Author::User
        } else {
            Author::Session
        };
        // Settings are large, and this is rare.
        Box::pin(self.take_settings(author, cancel)).await;
        // The main thread finds the same and says so once.
        for notice in self.watch.take_notices().into_iter().filter(|_| self.hooks.agent.is_none()) {
            self.host.notice(notice).await;
        }
    }

    /// Changed settings, unless a hook refuses them.
    async fn take_settings(&mut self, author: Author, cancel: &CancellationToken) {
        let Some(changed) = self.watch.changed(author) else { return };
        let previous = self.watch.loaded.clone();
        let mut files = changed.changed_files(&previous);
        files.dedup();
        let mut refused = false;
        for (source, path) in files {
            refused |= self.refuses(source, &path, cancel).await;
        }
        if refused {
            tracing::info!("a ConfigChange hook refused the changed settings");
            self.watch.loaded = changed.set_aside(&previous);
            return;
        }
        self.watch.adopt(changed);
        self.renew_policy();
        self.hooks.renew(&self.watch);
    }

    async fn refuses(&mut self, source: Source, path: &std::path::Path, cancel: &CancellationToken) -> bool {
        let name = match source {
            Source::Managed => "policy_settings",
            Source::User => "user_settings",
            Source::Project => "project_settings",
            Source::Local => "local_settings",
            Source::CommandLine | Source::Flag | Source::Session => return false,
        };
        if !self.hooks.listens(EventName::ConfigChange) {
            return false;
        }
        let event = ConfigChange { source: name.to_owned(), file_path: Some(path.display().to_string()) };
        let word = self.hooks.callers.word_about(path);
        *word
            .get_or_init(|| async {
                let merged = self.fire(&event, Scope::new(cancel)).await;
                source != Source::Managed && merged.blocked().is_some()
            })
            .await
    }
}

/// When settings are looked at: whether a call may have changed them just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Quiet,
    AfterCalls,
}

impl From<(bool, bool)> for Reduced {
    /// `--bare`, `--safe-mode`
    fn from((bare, safe): (bool, bool)) -> Self {
        match (bare, safe) {
            (true, _) => Self::Bare,
            (false, true) => Self::Safe,
            (false, false) => Self::No,
        }
    }
}
