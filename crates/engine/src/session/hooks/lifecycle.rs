//! Hooks around a session and its turns: start and end, prompts, stopping, changed settings.

use crate::session::{LiveSession, SessionIo};
use config::ChangeAuthor;
use hooks::MergedAnswer;
use serde_json::{Value, json};
use session_parts::compaction_policy::CompactionTrigger;
use session_parts::hooks::{HookScope, HookText, HookTextKind};
use std::time::Duration;
use store::StoreError;
use tokio_util::sync::CancellationToken;
use wire::hooks::{
    ConfigChange, HookBackgroundTask, HookEventName, InstructionsLoaded, NullableText, PostCompact, PreCompact,
    SessionEnd, SessionStart, Setup, Stop, StopFailure, SubagentStart, SubagentStop, UserPromptSubmit, clip,
};
use wire::sdk::SystemBody;
use wire::settings::SettingsSource;

/// Time limit for all SessionEnd handlers together, unless they ask for more.
const SESSION_END_TIMEOUT: Duration = Duration::from_millis(1500);
const MAX_SESSION_END_TIMEOUT: Duration = Duration::from_mins(1);
/// How often in a row Stop hooks may keep a turn going.
const MAX_STOP_CONTINUATIONS: u32 = 8;

/// The result of UserPromptSubmit.
pub(crate) enum PromptVerdict {
    GoOn(Vec<HookText>),
    /// The prompt is not recorded; the text is shown instead.
    Blocked(String),
}

/// The result of Stop hooks.
pub(crate) enum StopVerdict {
    End,
    /// `continue: false`
    Prevented,
    /// The text is sent to the model and the turn goes on.
    GoOn(String),
}

impl LiveSession {
    /// Setup and SessionStart, before anything else. Their texts are sent with the first prompt.
    pub(crate) async fn start_hooks(&mut self) {
        let listens = self.io.hooks.listens(HookEventName::SessionStart) || self.io.hooks.listens(HookEventName::Setup);
        if self.start.source != "clear" {
            self.show_hook_diagnostics().await;
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
                io.fire(&Setup { trigger: trigger.to_owned() }, HookScope::new(&token)).await;
            }
            let event =
                SessionStart { source: source.to_owned(), model: Some(model), agent_type: None, session_title: None };
            io.fire(&event, HookScope::new(&token)).await
        };
        let merged = control.during(phase).await;
        control.end_start();
        if let Some(merged) = merged {
            self.apply_start(merged);
        }
    }

    fn apply_start(&mut self, mut merged: MergedAnswer) {
        self.start.contexts = contexts(&merged, HookEventName::SessionStart);
        if let Some(title) = merged.session_title.take() {
            self.start.name.get_or_insert(title);
        }
        self.io.set_watch_paths(merged.watch_paths.take());
        if merged.reload_skills {
            self.io.knowledge.skills.relist();
        }
        if !self.start.only_hooks {
            self.control.queue_first(std::mem::take(&mut merged.initial_user_messages));
        }
        // A hook cannot stop the start itself, only the prompts that follow.
        if let Some(reason) = self.io.hooks.stop.take() {
            self.start.refused = Some(reason);
        }
    }

    async fn show_hook_diagnostics(&mut self) {
        for problem in self.io.hooks.current.catalogue().diagnostics.clone() {
            self.io.output.host.notice(format!("Warning: {problem}")).await;
        }
    }

    /// UserPromptSubmit. A blocked prompt is never recorded where the model could read it.
    pub(crate) async fn submit_hooks(&mut self, text: &str, token: &CancellationToken) -> PromptVerdict {
        if let Some(reason) = self.start.refused.clone() {
            return PromptVerdict::Blocked(reason);
        }
        self.io.output.transcript.announce_prompt();
        if !self.io.hooks.listens(HookEventName::UserPromptSubmit) {
            return PromptVerdict::GoOn(Vec::new());
        }
        self.connect_for(HookEventName::UserPromptSubmit).await;
        let event = UserPromptSubmit { prompt: text.to_owned(), session_title: None };
        let Self { control, io, .. } = self;
        let Some(mut merged) = control.during(io.fire(&event, HookScope::new(token))).await else {
            return PromptVerdict::GoOn(Vec::new());
        };
        let stop = self.io.hooks.stop.take();
        if let Some(reason) = merged.blocked().or(stop) {
            let original =
                if merged.suppress_original_prompt { String::new() } else { format!("\n\nOriginal prompt: {text}") };
            return PromptVerdict::Blocked(format!("UserPromptSubmit operation blocked by hook:\n{reason}{original}"));
        }
        if let Some(custom_title) = merged.session_title.take() {
            let (session_id, unsent) = (self.io.output.host.session_id.clone(), custom_title.clone());
            let title = wire::entry::MetaEntry::CustomTitle { custom_title, session_id };
            if let Err(error) = self.io.output.transcript.meta(title) {
                tracing::warn!(%error, "a title set by a hook could not be recorded");
            }
            self.start.unsent_title = Some(unsent);
        }
        PromptVerdict::GoOn(contexts(&merged, HookEventName::UserPromptSubmit))
    }

    /// Makes the connection that prompt handlers need, before the first step does.
    async fn connect_for(&mut self, event: HookEventName) {
        let asks =
            |entry: &std::sync::Arc<hooks::HookEntry>| matches!(entry.handler.kind, hooks::HandlerKind::Prompt(_));
        if self.io.hooks.current.catalogue().of(event).iter().any(asks)
            && let Some(Ok(client)) = self.connect().await
        {
            self.io.provider.side.set(client, self.context.model());
        }
    }

    /// Adds texts of hooks to the transcript and the conversation.
    pub(crate) fn add_hook_texts(&mut self, texts: Vec<HookText>) -> Result<(), StoreError> {
        for beside in texts {
            let line = beside.attachment().map(|line| self.io.output.transcript.attachment(line)).transpose()?;
            self.context.push_before_prompt(&beside.reminder(), line);
        }
        Ok(())
    }

    /// Records every hook run since the last call, for programs that show them. The model never receives these lines.
    pub(crate) fn write_hook_runs(&mut self) -> Result<(), StoreError> {
        for line in std::mem::take(&mut self.io.hooks.runs) {
            self.io.output.transcript.attachment(line)?;
        }
        Ok(())
    }

    /// Adds the texts of hooks that ran during a batch after its results.
    pub(crate) fn add_batch_texts(&mut self) -> Result<(), StoreError> {
        self.write_hook_runs()?;
        let texts = std::mem::take(&mut self.io.hooks.batch_texts);
        self.add_hook_texts(texts)
    }

    /// Stop, after everything was written: a hook that reads the transcript finds the last answer there.
    pub(crate) async fn stop_hooks(&mut self, state: StopState<'_>) -> Result<StopVerdict, StoreError> {
        let event = if self.io.hooks.agent().is_some() { HookEventName::SubagentStop } else { HookEventName::Stop };
        if !self.io.hooks.listens(event) {
            return Ok(StopVerdict::End);
        }
        self.io.output.transcript.barrier().await?;
        self.publish_for_hooks();
        let Self { control, io, .. } = self;
        let Some(merged) = control.during(io.fire_stop(state)).await else { return Ok(StopVerdict::End) };
        self.write_hook_runs()?;
        self.record_stop(&merged)?;
        if self.io.hooks.stop.take().is_some() {
            return Ok(StopVerdict::Prevented);
        }
        let feedback: Vec<&str> = merged.blocks.iter().map(|block| block.message.as_str()).collect();
        let advice: Vec<&str> = merged.contexts.iter().map(|context| context.text.as_str()).collect();
        let all: Vec<&str> = feedback.into_iter().chain(advice).collect();
        if all.is_empty() || state.token.is_cancelled() {
            return Ok(StopVerdict::End);
        }
        let cap = self.io.env.number("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP").unwrap_or(MAX_STOP_CONTINUATIONS);
        if state.continued >= cap {
            let content = format!("Stop hooks kept the turn going {cap} times in a row; it ends now.");
            self.io.output.host.system(SystemBody::Informational { content, level: "warning" }).await;
            return Ok(StopVerdict::End);
        }
        let text = format!("Stop hook keeps the turn going: {}", all.join("\n"));
        self.io.output.host.system(SystemBody::Notification { key: "stop-hook-blocked", text, priority: "low" }).await;
        Ok(StopVerdict::GoOn(session_parts::prompts::stop_feedback(&all)))
    }

    fn record_stop(&mut self, merged: &MergedAnswer) -> Result<(), StoreError> {
        if merged.reports.is_empty() {
            return Ok(());
        }
        let infos = merged.reports.iter().map(|r| json!({"command": r.description, "durationMs": r.duration_ms}));
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
        self.io.output.transcript.system("stop_hook_summary", fields)
    }

    /// PreCompact. Returns the reason when a hook refuses.
    pub(crate) async fn before_compaction(
        &mut self,
        trigger: &CompactionTrigger,
        token: &CancellationToken,
    ) -> Option<String> {
        if !self.io.hooks.listens(HookEventName::PreCompact) {
            return None;
        }
        let custom_instructions = trigger.instructions().map(str::to_owned);
        let event =
            PreCompact { trigger: trigger.name().to_owned(), custom_instructions: NullableText(custom_instructions) };
        let Self { control, io, .. } = self;
        let merged = control.during(io.fire(&event, HookScope::new(token))).await?;
        merged.blocked()
    }

    /// PostCompact, then SessionStart, whose texts are added after the summary.
    pub(crate) async fn after_compaction(
        &mut self,
        trigger: &CompactionTrigger,
        summary: String,
        token: &CancellationToken,
    ) -> Result<(), StoreError> {
        let listens = |event| self.io.hooks.listens(event);
        if !listens(HookEventName::PostCompact) && !listens(HookEventName::SessionStart) {
            return Ok(());
        }
        let over = PostCompact { trigger: trigger.name().to_owned(), compact_summary: summary };
        let model = Some(self.context.model().to_owned());
        let again = SessionStart { source: "compact".into(), model, agent_type: None, session_title: None };
        let Self { control, io, .. } = self;
        let phase = async {
            io.fire(&over, HookScope::new(token)).await;
            // An agent has no SessionStart.
            if io.hooks.agent().is_some() {
                return MergedAnswer::default();
            }
            io.fire(&again, HookScope::new(token)).await
        };
        let Some(merged) = control.during(phase).await else { return Ok(()) };
        let texts = contexts(&merged, HookEventName::SessionStart);
        self.add_hook_texts(texts)
    }

    /// StopFailure: an API error ended the turn.
    pub(crate) async fn stop_failure_hooks(&mut self, error: &'static str, text: &str) {
        if !self.io.hooks.listens(HookEventName::StopFailure) {
            return;
        }
        let event = StopFailure {
            error: error.to_owned(),
            error_details: Some(text.to_owned()),
            last_assistant_message: Some(text.to_owned()),
        };
        let token = CancellationToken::new();
        let Self { control, io, .. } = self;
        control.during(io.fire(&event, HookScope::new(&token))).await;
    }

    /// SessionEnd, within its time limit; also when the process is being stopped.
    pub(crate) async fn end_hooks(&mut self, reason: &str) {
        if !self.io.hooks.listens(HookEventName::SessionEnd) {
            return;
        }
        let limit = self.io.end_limit();
        let event = SessionEnd { reason: reason.to_owned() };
        let token = CancellationToken::new();
        self.io.fire(&event, HookScope { limit: Some(limit), ..HookScope::new(&token) }).await;
    }

    /// InstructionsLoaded, for the files every session starts with.
    pub(crate) fn report_instructions(&mut self) {
        if !self.io.hooks.listens(HookEventName::InstructionsLoaded) || self.io.hooks.agent().is_some() {
            return;
        }
        let begun = if self.context.compaction().has_compacted() { "compact" } else { "session_start" };
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

/// The state of a turn that is about to stop.
#[derive(Clone, Copy)]
pub(crate) struct StopState<'a> {
    /// Stop hooks kept it going before.
    pub active: bool,
    /// How often in a row.
    pub continued: u32,
    pub text: &'a str,
    pub token: &'a CancellationToken,
}

pub(super) fn contexts(merged: &MergedAnswer, event: HookEventName) -> Vec<HookText> {
    let beside = |context: &hooks::HookContext| HookText {
        kind: HookTextKind::Context,
        hook: context.hook.clone(),
        event,
        tool_use_id: None,
        text: context.text.clone(),
    };
    merged.contexts.iter().map(beside).collect()
}

impl SessionIo {
    /// Stop, or SubagentStop when this is an agent.
    async fn fire_stop(&mut self, state: StopState<'_>) -> MergedAnswer {
        let stop_hook_active = state.active;
        let last_assistant_message = Some(state.text.to_owned()).filter(|text| !text.is_empty());
        let (background_tasks, session_crons) = (self.background_tasks(), Vec::new());
        let Some(agent) = self.hooks.agent() else {
            let event = Stop { stop_hook_active, last_assistant_message, background_tasks, session_crons };
            return self.fire(&event, HookScope::new(state.token)).await;
        };
        let event = SubagentStop {
            kind: agent.kind.clone(),
            stop_hook_active,
            agent_transcript_path: self.output.transcript.transcript().path().display().to_string(),
            last_assistant_message,
            background_tasks,
            session_crons,
        };
        self.fire(&event, HookScope::new(state.token)).await
    }

    /// SubagentStart. It cannot refuse; its texts start the agent's conversation.
    pub(crate) async fn subagent_start(&mut self, cancel: &CancellationToken) -> Vec<HookText> {
        let Some(agent) = self.hooks.agent() else { return Vec::new() };
        let event = SubagentStart { kind: agent.kind.clone() };
        let merged = self.fire(&event, HookScope::new(cancel)).await;
        contexts(&merged, HookEventName::SubagentStart)
    }

    /// InstructionsLoaded, for a file that was loaded because of another one.
    pub(crate) fn report_instruction(&mut self, file: &config::MemoryFile) {
        if file.is_agents_md || !self.hooks.listens(HookEventName::InstructionsLoaded) {
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
        let entries = self.hooks.current.catalogue().of(HookEventName::SessionEnd);
        let own = entries.iter().filter(|entry| entry.origin.is_settings()).filter_map(|entry| entry.handler.timeout);
        own.max().map_or(SESSION_END_TIMEOUT, |most| most.clamp(SESSION_END_TIMEOUT, MAX_SESSION_END_TIMEOUT))
    }

    fn background_tasks(&self) -> Vec<HookBackgroundTask> {
        let task = |task: tools::tasks::TaskRecord| HookBackgroundTask {
            kind: if task.is_agent() { "subagent" } else { "shell" }.into(),
            id: task.id,
            status: task.status.as_str().into(),
            description: clip(&task.description),
            command: task.agent.is_none().then(|| clip(&task.command)),
            agent_type: task.agent.map(|agent| agent.agent_type),
        };
        self.tooling.state.tasks.running().into_iter().map(task).collect()
    }

    /// Applies changed settings. ConfigChange hooks may refuse them, except managed settings.
    pub(crate) async fn refresh_settings(&mut self, moment: SettingsCheckTime, cancel: &CancellationToken) {
        let ended = self.tooling.state.tasks.ended();
        let worked = std::mem::replace(&mut self.hooks.ended_tasks, ended) != ended;
        if self.rules.watch.loaded.is_current() {
            return;
        }
        let alone = || self.tooling.state.tasks.running().is_empty() && !sys::process::has_strays();
        // An agent cannot rule out that its siblings or the main thread wrote the file.
        let author = if moment == SettingsCheckTime::Quiet && !worked && self.hooks.agent.is_none() && alone() {
            ChangeAuthor::User
        } else {
            ChangeAuthor::Session
        };
        // Boxed: settings are large, and this is rare.
        Box::pin(self.apply_settings(author, cancel)).await;
        // The main thread finds the same changes and reports them once.
        for notice in self.rules.watch.take_notices().into_iter().filter(|_| self.hooks.agent.is_none()) {
            self.output.host.notice(notice).await;
        }
    }

    /// Applies changed settings unless a hook refuses them.
    async fn apply_settings(&mut self, author: ChangeAuthor, cancel: &CancellationToken) {
        let Some(changed) = self.rules.watch.changed(author) else { return };
        let previous = self.rules.watch.loaded.clone();
        let mut files = changed.changed_files(&previous);
        files.dedup();
        let mut refused = false;
        for (source, path) in files {
            refused |= self.is_change_refused(source, &path, cancel).await;
        }
        if refused {
            tracing::info!("a ConfigChange hook refused the changed settings");
            self.rules.watch.loaded = changed.ignore_changes(&previous);
            return;
        }
        self.rules.watch.apply(changed);
        self.rebuild_policy();
        self.hooks.rebuild(&self.rules.watch);
    }

    async fn is_change_refused(
        &mut self,
        source: SettingsSource,
        path: &std::path::Path,
        cancel: &CancellationToken,
    ) -> bool {
        let name = match source {
            SettingsSource::Managed => "policy_settings",
            SettingsSource::User => "user_settings",
            SettingsSource::Project => "project_settings",
            SettingsSource::Local => "local_settings",
            SettingsSource::CommandLine | SettingsSource::Flag | SettingsSource::Session => return false,
        };
        if !self.hooks.listens(HookEventName::ConfigChange) {
            return false;
        }
        let event = ConfigChange { source: name.to_owned(), file_path: Some(path.display().to_string()) };
        let word = self.hooks.callers.change_verdict(path);
        *word
            .get_or_init(|| async {
                let merged = self.fire(&event, HookScope::new(cancel)).await;
                source != SettingsSource::Managed && merged.blocked().is_some()
            })
            .await
    }
}

/// When settings are checked: `AfterCalls` when a call may just have changed them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingsCheckTime {
    Quiet,
    AfterCalls,
}
