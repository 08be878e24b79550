//! One conversation: the owner of its parts, and what happens between turns.

mod agents;
mod budgets;
pub(crate) mod builder;
mod changed_files;
pub(crate) mod checks;
mod choice;
pub(crate) mod compaction_pause;
mod grants;
pub(crate) mod hooks;
pub(crate) mod housekeeping;
pub(crate) mod init;
mod limits;
mod mcp;
mod mid_turn;
pub(crate) mod notes;
mod parts;
pub(crate) mod plan;
pub(crate) mod prompt_marks;
pub(crate) mod recall;
pub(crate) mod reminders;
mod resources;
pub(crate) mod results;
mod rewind;
mod side_question;
mod skills;
pub(crate) mod spending;
pub(crate) mod tasks;
mod undo_compaction;
mod worktree;

use crate::command_table::CommandList;
pub(crate) use init::init;
pub(crate) use parts::{
    RulesParts, SessionIo, SessionKnowledge, SessionOutput, SessionProvider, SessionRules, SessionTooling,
};

use crate::agents::recover::AgentRecovery;
use crate::control::SessionControl;
use crate::session::hooks::SettingsCheckTime;
use crate::session::tasks::send_events;
use session_parts::command::Prompt;
use session_parts::context::ModelContext;
use session_parts::host::StateFrames;
use session_parts::messages::{Attachment, echo, plain_text, synthetic, user_message};

use serde_json::value::RawValue;
use session_parts::prompts;
use session_parts::provider::ProviderConnectionError;
use session_parts::transcript_writer::{PromptSource, UserLine};
use store::StoreError;
use store::live_sessions::LiveStatus;
use tokio_util::sync::CancellationToken;
use wire::entry::MetaEntry;
use wire::mode::PermissionMode;
use wire::sdk::{SdkMessage, SystemBody, UserMessage};

/// Disjoint parts, so that a phase and the command channel never borrow the same one.
pub(crate) struct LiveSession {
    pub control: SessionControl,
    pub context: ModelContext,
    pub io: SessionIo,
    pub start: StartState,
    /// The inputs of the system prompt for another conversation; `None` for agents.
    pub recipe: Option<session_parts::prompt_recipe::PromptRecipe>,
}

/// What is applied with the first prompt.
#[derive(Default)]
pub(crate) struct StartState {
    /// The mark of an archived session; removed by the first prompt.
    pub unarchive: Option<std::path::PathBuf>,
    /// The conversation to copy into the new file.
    pub fork_of: Option<store::LoadedConversation>,
    /// How the session started, as SessionStart hooks receive it.
    pub source: &'static str,
    /// Which Setup hooks run first.
    pub setup: Option<&'static str>,
    /// `--init-only`
    pub only_hooks: bool,
    /// Texts of SessionStart hooks for the model.
    pub contexts: Vec<session_parts::hooks::HookText>,
    /// The reason of a SessionStart hook that returned `continue: false`.
    pub refused: Option<String>,
    /// `--name`
    pub name: Option<String>,
    /// A title that has not been sent to the host.
    pub unsent_title: Option<String>,
    /// The mode, when it differs from that of the resumed conversation.
    pub new_mode: Option<PermissionMode>,
    /// The definition the main thread runs as, to be recorded in the transcript.
    pub agent: Option<String>,
    /// Undelivered results of agents of a resumed conversation.
    pub agent_recovery: AgentRecovery,
    /// A call that a hook deferred to this run.
    pub deferred: Option<session_parts::tool_use::ToolUse>,
    /// The start of the turn was already announced to the host.
    pub is_announced: bool,
    /// The text that the agent definition puts before the first prompt.
    pub initial_prompt: Option<String>,
    /// The person was told what the first request costs and wants it.
    pub is_price_accepted: bool,
    /// A change of the worktree, to be recorded in the transcript.
    pub place_change: Option<PlaceChange>,
}

/// A change of the session's worktree to record.
pub(crate) enum PlaceChange {
    Inside,
    /// The worktree it was in no longer exists.
    Gone,
}

impl LiveSession {
    /// Tells the host that a turn starts, once.
    pub(crate) async fn announce(&mut self) {
        if std::mem::take(&mut self.start.is_announced) {
            return;
        }
        self.io.output.host.send(SdkMessage::Init(Box::new(init(&self.context, &self.io)))).await;
    }

    /// Sends a changed title to the host, once.
    pub(crate) async fn send_title(&mut self) {
        if let Some(title) = self.start.unsent_title.take() {
            self.io.output.host.system(SystemBody::SessionTitleChanged { title }).await;
        }
    }

    /// Checks for changed settings, a changed shell directory and watched files, and runs the hooks for them.
    pub(crate) async fn check_changes(&mut self, moment: SettingsCheckTime, token: &CancellationToken) {
        let Self { control, io, .. } = self;
        io.refresh_host_hooks();
        let look = async {
            io.refresh_settings(moment, token).await;
            io.check_watched(token).await;
        };
        // When the process must stop, the turn notices it itself.
        control.during(look).await;
    }

    /// Writes what precedes the first line of this process: the copied history of a fork, a changed mode, the name.
    pub(crate) fn begin(&mut self) -> Result<(), StoreError> {
        let (fork_of, new_mode) = (self.start.fork_of.take(), self.start.new_mode.take());
        let session_id = self.io.output.host.session_id.clone();
        if let Some(source) = fork_of {
            self.io.output.transcript.fork(&source, &session_id)?;
            self.record_relocation(&source)?;
        }
        if let Some(mark) = self.start.unarchive.take() {
            std::fs::remove_file(mark).ok();
        }
        let recovery = std::mem::take(&mut self.start.agent_recovery);
        self.apply_recovery(recovery)?;
        if let Some(agent_setting) = self.start.agent.take() {
            self.io
                .output
                .transcript
                .meta(MetaEntry::AgentSetting { agent_setting, session_id: session_id.clone() })?;
        }
        match self.start.place_change.take() {
            Some(PlaceChange::Inside) => {
                self.io.record_worktree(self.io.tooling.active_worktree.as_ref().map(|stay| stay.record()))?;
            }
            Some(PlaceChange::Gone) => self.io.record_worktree(None)?,
            None => {}
        }
        if let Some(mode) = new_mode {
            let permission_mode = mode.as_str().to_owned();
            self.io
                .output
                .transcript
                .meta(MetaEntry::PermissionMode { permission_mode, session_id: session_id.clone() })?;
        }
        if let Some(custom_title) = self.start.name.take() {
            self.start.unsent_title = Some(custom_title.clone());
            self.io.output.transcript.name(custom_title, session_id)?;
        }
        Ok(())
    }

    /// Records that a fork belongs to another directory than its source.
    fn record_relocation(&mut self, source: &store::LoadedConversation) -> Result<(), StoreError> {
        let cwd = self.io.rules.watch.cwd.display().to_string();
        let Some(from) = source.cwd.clone().filter(|from| *from != cwd && self.io.tooling.active_worktree.is_none())
        else {
            return Ok(());
        };
        let (timestamp, session_id) = (sys::clock::now_iso(), self.io.output.host.session_id.clone());
        self.io.output.transcript.meta(MetaEntry::Relocated { cwd, from, timestamp, session_id })
    }

    /// Records the results of calls whose agents ended undelivered; other ends are sent with the next request.
    fn apply_recovery(&mut self, recovery: AgentRecovery) -> Result<(), StoreError> {
        let session_dir = self.io.tooling.state.facts.session_dir.clone();
        for result in recovery.results {
            result.mark_delivered(&session_dir);
            let block = results::record_recovered(&mut self.io, result)?;
            let (blocks, lines) = block.into_iter().unzip();
            self.context.push_results(blocks, lines);
        }
        self.io.knowledge.pending_notices.extend(recovery.notices);
        Ok(())
    }

    /// Records the task of an agent.
    pub(crate) async fn accept_task(&mut self, prompt: &Prompt) -> Result<(), StoreError> {
        let recovery = std::mem::take(&mut self.start.agent_recovery);
        self.apply_recovery(recovery)?;
        let message = user_message(&prompt.content);
        let line = UserLine {
            message: message.clone(),
            uuid: None,
            mode: self.io.rules.mode(),
            source: &PromptSource::Task,
            origin: "",
        };
        let written = self.io.output.transcript.user(line)?;
        self.context.push_prompt(&prompt.content, written.uuid.clone());
        let user = UserMessage { is_replay: false, ..echo(prompt, &written, &self.io.output.host) };
        self.io.output.host.send(SdkMessage::User(Box::new(user))).await;
        Ok(())
    }

    pub(crate) async fn set_state(&mut self, state: &'static str, live: LiveStatus) {
        if let Some(record) = &self.io.output.live_record {
            record.set_status(live);
        }
        self.io.send_state(state).await;
    }

    pub(crate) fn record_prompt(
        &mut self,
        prompt: &Prompt,
    ) -> Result<session_parts::transcript_writer::WrittenLine, StoreError> {
        self.record_prompt_as(prompt, &prompt.content)
    }

    /// `content` is the prompt as recorded in the conversation.
    pub(crate) fn record_prompt_as(
        &mut self,
        prompt: &Prompt,
        content: &RawValue,
    ) -> Result<session_parts::transcript_writer::WrittenLine, StoreError> {
        self.begin()?;
        self.record_queued(prompt)?;
        let uuid = prompt.uuid.clone().unwrap_or_else(sys::id::uuid);
        self.io.begin_checkpoint(&uuid)?;
        self.io.mark_prompt(&uuid);
        let line = UserLine {
            message: user_message(content),
            uuid: Some(uuid),
            mode: self.io.rules.mode(),
            source: &PromptSource::Host,
            origin: if prompt.by_human { "human" } else { "sdk" },
        };
        let written = self.io.output.transcript.user(line)?;
        self.context.push_prompt(content, written.uuid.clone());
        self.context.last_prompt = plain_text(&prompt.content);
        Ok(written)
    }

    /// Records that a prompt was queued and dequeued.
    pub(crate) fn record_queued(&mut self, prompt: &Prompt) -> Result<(), StoreError> {
        let session_id = self.io.output.host.session_id.clone();
        let operations: &[&str] =
            if self.control.is_queue_recorded(prompt) { &["dequeue"] } else { &["enqueue", "dequeue"] };
        self.record_queue()?;
        for operation in operations.iter().copied() {
            let content = (operation == "enqueue").then(|| plain_text(&prompt.content));
            let timestamp = sys::clock::now_iso();
            let entry = MetaEntry::QueueOperation { operation, timestamp, content, session_id: session_id.clone() };
            self.io.output.transcript.meta(entry)?;
        }
        Ok(())
    }

    /// Adds the date and the instructions to the first prompt, and later a changed date.
    pub(crate) fn add_session_context(&mut self) -> Result<(), StoreError> {
        let is_first = !self.context.is_context_sent();
        let Some(attachment) = self.context.due_attachment() else { return Ok(()) };
        if is_first {
            self.report_instructions();
        }
        self.attach(attachment)
    }

    /// Records an attachment and sends it from now on.
    pub(crate) fn attach(&mut self, attachment: Attachment) -> Result<(), StoreError> {
        let uuid = self.io.output.transcript.attachment(attachment.line)?;
        self.context.push_before_prompt(&attachment.text, uuid);
        Ok(())
    }

    /// Adds a user message of our own.
    pub(crate) async fn inject(&mut self, text: &str, source: PromptSource) -> Result<(), StoreError> {
        let content = serde_json::json!([{"type": "text", "text": text}]);
        let Ok(content) = wire::raw::to_raw(&content) else { return Ok(()) };
        let message = user_message(&content);
        let line =
            UserLine { message: message.clone(), uuid: None, mode: self.io.rules.mode(), source: &source, origin: "" };
        let written = self.io.output.transcript.user(line)?;
        if source == PromptSource::Notice && prompts::is_task_notice(text) {
            self.context.push_before_prompt(text, written.uuid.clone());
        } else {
            self.context.push_text(text, written.uuid.clone());
        }
        if matches!(source, PromptSource::Marker | PromptSource::Nudge) {
            self.io
                .output
                .host
                .send(SdkMessage::User(Box::new(synthetic(message, written, &self.io.output.host))))
                .await;
        }
        Ok(())
    }

    pub(crate) fn is_over_budget(&mut self) -> bool {
        self.io.provider.side.drain_usage(&mut self.io.output.ledger);
        self.io.output.ledger.budgets().exhausted().is_some()
    }

    /// Sends the ends of background tasks since the last request to the host and the model.
    pub(crate) async fn send_notices(&mut self) {
        let texts = self.io.hooks.take_late_texts().await;
        if let Err(error) = self.add_hook_texts(texts) {
            tracing::warn!(%error, "what a hook said could not be recorded");
        }
        let mut notices = std::mem::take(&mut self.io.knowledge.pending_notices);
        notices.extend(send_events(&mut self.io).await);
        for notice in notices {
            if let Err(error) = self.inject(&notice, PromptSource::Notice).await {
                tracing::warn!(%error, "a task notification could not be recorded");
            }
        }
    }

    /// Warns the user when the disk starts to fail.
    pub(crate) async fn report_disk(&mut self) {
        if let Some(warning) = self.io.output.transcript.take_warning() {
            self.io.output.host.notice(warning).await;
        }
    }
}

impl LiveSession {
    /// One that this session of a person made is removed when it holds nothing new; every other one is kept.
    pub(crate) async fn leave_worktree(&mut self) {
        let Some(stay) = self.io.tooling.active_worktree.take() else { return };
        stay.worktree.unlock();
        let is_watched = self.io.knowledge.mcp.servers().is_watched();
        let is_removed = stay.worktree.is_new && is_watched && stay.worktree.remove_if_unchanged(None).await.is_none();
        let notice = if is_removed { stay.removal_notice() } else { stay.exit_notice().await };
        self.io.output.host.notice(notice).await;
    }
}

impl LiveSession {
    /// A client with a credential. `None` when the turn is interrupted or the process must stop.
    pub(crate) async fn connect(&mut self) -> Option<Result<model::ModelClient, ProviderConnectionError>> {
        let Self { control, io, .. } = self;
        control.until_interrupted(io.connect()).await
    }
}

impl SessionIo {
    /// A client with a credential. The helper that prints one may take its time.
    pub(crate) async fn connect(&mut self) -> Result<model::ModelClient, ProviderConnectionError> {
        let waiting = || "Waiting for your apiKeyHelper to print a key. Ctrl+C ends the run.".to_owned();
        self.output.host.explain_wait(waiting, Box::pin(self.provider.connection.client())).await
    }

    /// `idle`, `running` or `requires_action`, for hosts that asked for it.
    pub(crate) async fn send_state(&self, state: &'static str) {
        if let Some(frames) = self.output.flags.session_state {
            let body = SystemBody::SessionStateChanged { state, sdk_host_only: frames == StateFrames::SdkOnly };
            self.output.host.system(body).await;
        }
    }
}

impl SessionIo {
    /// Takes the checkpoint of the prompt that is recorded next.
    pub(crate) fn begin_checkpoint(&self, prompt: &str) -> Result<(), StoreError> {
        let is_off = self.rules.watch.loaded.settings.file_checkpointing_enabled == Some(false);
        if is_off || !self.output.flags.keeps_checkpoints {
            self.output.checkpoints.skip_prompt();
            return Ok(());
        }
        if let Some(pruning) = self.output.checkpoints.begin_prompt(prompt)? {
            tokio::task::spawn_blocking(move || pruning.run());
        }
        Ok(())
    }
}

impl SessionIo {
    /// The slash commands that a person may type now.
    pub(crate) fn commands(&self) -> CommandList {
        CommandList { has_commands: self.output.facts.has_commands, skills: self.knowledge.skills.skills() }
    }
}
