//! The hooks of a session: what its events fire and what their answers change.

mod calls;
mod lifecycle;
mod model;
mod tasks;
mod watch;

pub(crate) use calls::{FinishedCall, HookRuling, RulingKind, UndecidedCall};
pub(crate) use lifecycle::{PromptVerdict, SettingsCheckTime, StopState, StopVerdict};
use session_parts::hooks::CONTEXT_LIMIT;
use session_parts::hooks::PendingNotification;

use crate::session::SessionIo;
use hooks::{HookOccasion, MergedAnswer};
use session_parts::command::{Event, ScreenEvent};
use session_parts::hooks::{HookScope, HookTrigger};
use session_parts::worktree::WorktreeHooks;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use wire::hooks::{HookBase, HookEffort, HookEvent, HookEventName, MessageDisplay, Notification};
use wire::sdk::SystemBody;

const PREVIEW_CHARS: usize = 2_000;
/// How long a text waits for the hooks that may replace its display.
const DISPLAY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a question stays open before notification hooks run.
const NOTIFICATION_DELAY: Duration = Duration::from_secs(6);

impl SessionIo {
    /// Runs the handlers of an event and applies what all events have in common: messages, broken hooks, background
    /// hooks.
    pub(crate) async fn fire<E: HookEvent>(&mut self, event: &E, scope: HookScope<'_>) -> MergedAnswer {
        self.refresh_host_hooks();
        if !self.hooks.listens(E::EVENT) {
            return MergedAnswer::default();
        }
        let merged = self.run_event(event, scope).await;
        self.apply_hook_results(merged, scope.tool.map(|tool| tool.id)).await
    }

    /// Applies the hooks that the host registered meanwhile.
    pub(crate) fn refresh_host_hooks(&mut self) {
        if !Arc::ptr_eq(&self.hooks.host_matchers, &self.hooks.callers.host.declared()) {
            self.hooks.rebuild(&self.rules.watch);
        }
    }

    /// Runs the handlers of an event; the caller applies the result.
    async fn run_event<E: HookEvent>(&self, event: &E, scope: HookScope<'_>) -> MergedAnswer {
        if !self.hooks.listens(E::EVENT) {
            return MergedAnswer::default();
        }
        let base = self.hook_base(E::EVENT);
        let cwd = self.workspace().cwd;
        let hooks = Arc::clone(&self.hooks.current);
        let env_file = self.hooks.env_files.as_ref().and_then(|files| files.of(E::EVENT));
        let nothing = |_: &str| true;
        let occasion = HookOccasion {
            base: &base,
            cwd: &cwd,
            env_file: env_file.as_deref(),
            tool_use_id: scope.tool.map(|tool| tool.id),
            tool_input: scope.tool.map(|tool| tool.input),
            condition: scope.tool.map_or(&nothing, |tool| tool.condition),
            limit: scope.limit,
            cancel: scope.cancel,
            progress: &self.hooks.reporter,
        };
        Box::pin(hooks.fire(event, &occasion)).await
    }

    /// Runs the handlers of an event in the background; the result is ignored.
    pub(crate) fn observe<E: HookEvent + Send + 'static>(&mut self, event: E) {
        self.observe_after(Duration::ZERO, event);
    }

    /// Runs notification hooks when a question stays open for `NOTIFICATION_DELAY`. Dropping the guard cancels it.
    pub(crate) fn notify_of_question(&mut self, tool: &str) -> Option<PendingNotification> {
        if self.env.is_on("CLAUDE_CODE_DISABLE_PERMISSION_PROMPT_NOTIFY_HOOKS") {
            return None;
        }
        let event = Notification {
            message: format!("gimlet needs your permission to use {tool}"),
            title: None,
            notification_type: "permission_prompt".into(),
        };
        self.observe_after(NOTIFICATION_DELAY, event).map(PendingNotification)
    }

    /// The text to show instead of `text`; `None` when no hook replaces it or one fails.
    pub(crate) async fn replace_display(
        &self,
        message_id: &str,
        text: &str,
        token: &CancellationToken,
    ) -> Option<String> {
        if !self.watches_display() {
            return None;
        }
        let event = MessageDisplay {
            turn_id: self.output.transcript.prompt_id().unwrap_or_default().to_owned(),
            message_id: message_id.to_owned(),
            index: 0,
            r#final: true,
            delta: text.to_owned(),
        };
        let scope = HookScope { limit: Some(DISPLAY_TIMEOUT), ..HookScope::new(token) };
        self.run_event(&event, scope).await.display
    }

    pub(crate) fn watches_display(&self) -> bool {
        self.output.host.agent_id().is_none() && self.hooks.listens(HookEventName::MessageDisplay)
    }

    /// Runs notification hooks because the host has notified its user.
    pub(crate) fn notify(&mut self, notice: wire::control::NotifyRequest) {
        let wire::control::NotifyRequest { notification_type, message } = notice;
        self.observe(Notification { message, title: None, notification_type });
    }

    fn observe_after<E: HookEvent + Send + 'static>(&mut self, delay: Duration, event: E) -> Option<AbortHandle> {
        if !self.hooks.listens(E::EVENT) {
            return None;
        }
        let base = self.hook_base(E::EVENT);
        let cwd = self.workspace().cwd;
        let hooks = Arc::clone(&self.hooks.current);
        let listener = self.hooks.reporter.clone();
        let observing = async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let occasion = HookOccasion {
                base: &base,
                cwd: &cwd,
                env_file: None,
                tool_use_id: None,
                tool_input: None,
                condition: &|_| true,
                limit: None,
                cancel: &CancellationToken::new(),
                progress: &listener,
            };
            let merged = hooks.fire(&event, &occasion).await;
            for sequence in merged.sequences {
                listener.host.event(Event::Aside(ScreenEvent::Sequence(sequence))).await;
            }
            for problem in merged.problems {
                tracing::warn!(%problem, "a hook failed");
            }
        };
        Some(self.hooks.observers.spawn(observing))
    }

    /// For elicitations, which arrive while calls run: the current hooks; `None` when none handles elicitations.
    pub(crate) fn hook_trigger(&self) -> Option<HookTrigger> {
        let listens = |event| self.hooks.listens(event);
        (listens(HookEventName::Elicitation) || listens(HookEventName::ElicitationResult)).then(|| HookTrigger {
            hooks: Arc::clone(&self.hooks.current),
            base: self.hook_base(HookEventName::Elicitation),
            cwd: self.workspace().cwd,
            progress: Arc::new(self.hooks.reporter.clone()),
        })
    }

    async fn apply_hook_results(&mut self, mut merged: MergedAnswer, tool_use_id: Option<&str>) -> MergedAnswer {
        self.hooks.track_detached(std::mem::take(&mut merged.detached));
        self.hooks.runs.extend(session_parts::hooks::runs::lines(&merged, tool_use_id));
        for message in std::mem::take(&mut merged.messages) {
            let content = bounded(&message.text, &self.tooling.state.facts.session_dir);
            self.output.host.system(SystemBody::Informational { content, level: "warning" }).await;
        }
        for sequence in std::mem::take(&mut merged.sequences) {
            self.output.host.event(Event::Aside(ScreenEvent::Sequence(sequence))).await;
        }
        for problem in &merged.problems {
            let output = merged.reports.iter().find(|r| r.description == problem.description && r.name == problem.hook);
            self.hooks.report_problem(problem, output).await;
        }
        for context in &mut merged.contexts {
            context.text = bounded(&context.text, &self.tooling.state.facts.session_dir);
        }
        if let Some(reason) = merged.stop.clone() {
            self.hooks.stop.get_or_insert(reason);
        }
        merged
    }

    fn hook_base(&self, event: HookEventName) -> HookBase {
        let quiet = matches!(
            event,
            HookEventName::SessionStart
                | HookEventName::SessionEnd
                | HookEventName::Setup
                | HookEventName::SubagentStart
        );
        let with_effort = event.is_tool_event()
            || matches!(event, HookEventName::Stop | HookEventName::SubagentStop | HookEventName::PostToolBatch);
        let agent = self.hooks.agent.as_ref();
        let transcript = agent.map_or_else(|| self.output.transcript.transcript().path(), |agent| &agent.transcript);
        let level = self.tooling.state.facts.effort.clone().filter(|_| with_effort);
        HookBase {
            session_id: self.output.host.session_id.clone(),
            transcript_path: transcript.display().to_string(),
            cwd: self.workspace().cwd.display().to_string(),
            prompt_id: self.output.transcript.prompt_id().map(str::to_owned),
            permission_mode: (!quiet).then(|| self.rules.mode().as_str()),
            effort: level.map(|level| HookEffort { level }),
            agent_id: agent.map(|agent| agent.id.clone()),
            agent_type: agent.map(|agent| agent.kind.clone()).or_else(|| self.hooks.own_hooks.runs_as.clone()),
        }
    }
}

impl SessionIo {
    pub(crate) fn worktree_hooks(&self) -> WorktreeHooks {
        WorktreeHooks(HookTrigger {
            hooks: Arc::clone(&self.hooks.current),
            base: self.hook_base(HookEventName::WorktreeCreate),
            cwd: self.workspace().cwd,
            progress: Arc::new(self.hooks.reporter.clone()),
        })
    }
}

/// The text within its limit; a longer one is saved to a file, and the result is its beginning and the path.
fn bounded(text: &str, session_dir: &std::path::Path) -> String {
    if text.chars().count() <= CONTEXT_LIMIT {
        return text.to_owned();
    }
    let preview: String = text.chars().take(PREVIEW_CHARS).collect();
    let dir = session_dir.join("hook-outputs");
    let path = dir.join(format!("{}.txt", sys::id::uuid()));
    let saved = std::fs::create_dir_all(&dir).and_then(|()| sys::fs::atomic_write(&path, text.as_bytes(), 0o600));
    match saved {
        Ok(()) => format!("{preview}\n… [The whole text is in {}]", path.display()),
        Err(error) => format!("{preview}\n… [The rest was cut: it could not be saved ({error})]"),
    }
}
