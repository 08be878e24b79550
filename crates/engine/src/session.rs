//! One conversation: who owns what, and what happens between turns.

mod attachment;
mod messages;

pub(crate) use attachment::Attachment;
use messages::preceded;
pub(crate) use messages::{echo, plain_text, synthetic, text_message, user_message};

use crate::agents::Spawner;
use crate::agents::recover::Owed;
use crate::ask::Asker;
use crate::calls;
use crate::command::{Aside, Event, Prompt};
use crate::commands;
use crate::context::Context;
use crate::control::{Control, Wake};
use crate::grants::{Bypass, ModeOf};
use crate::hooks::{Moment, PromptSays};
use crate::host::Host;
use crate::housekeeping;
use crate::ledger::Ledger;
use crate::lore::slash::{self, Plan};
use crate::prompts;
use crate::result;
use crate::scribe::{PromptSource, Scribe, UserLine};
use crate::side::Side;
use crate::structured::StructuredOutput;
use crate::tasks;
use crate::turn::{self, Opener};
use crate::worktree::{Fence, Stay};
use permission::Policy;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;
use store::registry::{LiveRecord, Status as LiveStatus};
use sys::Env;
use tokio_util::sync::CancellationToken;
use tools::state::ToolState;
use tools::tasks::TaskEvent;
use tools::{Registry, Workspace};
use wire::entry::MetaEntry;
use wire::mode::PermissionMode;
use wire::sdk::{Message, PermissionDenial, SystemBody, User};

/// How long a run without further input waits for its background work.
const WAIT_CEILING_MS: u64 = 600_000;

/// Disjoint parts with one owner each, so that a phase and the command channel never fight over a borrow.
pub(crate) struct Session {
    pub control: Control,
    pub context: Context,
    pub io: Io,
    pub start: Start,
    /// What another conversation is made from; agents have only one.
    pub again: Option<crate::open::Recipe>,
}

/// What the first prompt brings with it.
#[derive(Default)]
pub(crate) struct Start {
    /// The mark of a session that was put away; what is said brings it back.
    pub unarchive: Option<std::path::PathBuf>,
    /// The conversation to copy into the new file.
    pub fork_of: Option<store::Loaded>,
    /// How the session came to be, as SessionStart hooks are told.
    pub source: &'static str,
    /// Which Setup hooks run first.
    pub setup: Option<&'static str>,
    /// `--init-only`
    pub only_hooks: bool,
    /// What SessionStart hooks want the model to know.
    pub contexts: Vec<crate::hooks::Beside>,
    /// A SessionStart hook said `continue: false`.
    pub refused: Option<String>,
    /// `--name`
    pub name: Option<String>,
    /// A title the host has not heard of.
    pub told_title: Option<String>,
    /// The mode, when it is not the one the resumed conversation was left in.
    pub new_mode: Option<PermissionMode>,
    /// The definition the main thread runs as, when the file does not say so yet.
    pub agent: Option<String>,
    /// What agents left for a conversation that is taken up again.
    pub owed: Owed,
    /// A call that a hook left for this run.
    pub deferred: Option<calls::ToolUse>,
    /// The host already knows that the turn has begun.
    pub is_announced: bool,
    /// What the agent the main thread runs as wants said before the first prompt.
    pub initial: Option<String>,
    /// The worktree the session is in, when the file does not say so yet.
    pub place: Option<Placed>,
}

/// What the file is told about the session's place.
pub(crate) enum Placed {
    Inside,
    /// The worktree it was in is gone.
    Gone,
}

/// What wakes an idle session besides its host.
enum News {
    Task(tools::tasks::TaskEvent),
    Hook(crate::hooks::Beside),
    /// An MCP server came, went or changed.
    Servers,
}

/// What became of what opened a turn.
pub(crate) enum Opened {
    /// The skills it named are still to be loaded.
    Accepted(Option<Plan>),
    /// Hooks refused the prompt, for this reason.
    Refused(String),
}

/// Everything a phase needs to act.
pub(crate) struct Io {
    pub env: Env,
    pub host: Host,
    pub hooks: crate::hooks::Hooking,
    pub scribe: Scribe,
    pub link: crate::link::Link,
    pub side: Arc<Side>,
    pub policy: Arc<Policy>,
    pub watch: crate::reload::Watch,
    pub mode: PermissionMode,
    /// What the host chose with `set_permission_mode`.
    pub chosen_mode: tokio::sync::watch::Receiver<Option<PermissionMode>>,
    pub bypass: Bypass,
    pub mode_of: ModeOf,
    /// How many of the session's grants are in force here.
    pub grants_seen: usize,
    pub asker: Asker,
    pub registry: Arc<Registry>,
    pub state: Arc<ToolState>,
    pub directories: Workspace,
    pub structured: Option<Arc<StructuredOutput>>,
    pub ledger: Ledger,
    pub denials: Vec<PermissionDenial>,
    /// Shared calls that may run at once.
    pub concurrency: usize,
    pub live: Option<Arc<LiveRecord>>,
    pub flags: HostFlags,
    pub facts: InitFacts,
    pub lore: crate::lore::Lore,
    pub mcp: crate::mcp::Shelf,
    pub results: u64,
    /// Starts agents for this session.
    pub spawner: Arc<Spawner>,
    /// What keeps an agent with a worktree of its own inside it.
    pub fence: Option<Arc<Fence>>,
    /// The worktree this session works in.
    pub stay: Option<Arc<Stay>>,
    /// Notices for the next request.
    pub owed: Vec<String>,
    pub plan: crate::plan::Planning,
}

/// What the host asked to be told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostFlags {
    pub partial_messages: bool,
    pub replay_user_messages: bool,
    /// It shows the conversation to a person: what display hooks replace is not told as it arrives.
    pub has_screen: bool,
    /// The run ends with the result of this turn: nothing may go on behind it.
    pub ends_after_turn: bool,
    pub session_state: Option<StateFrames>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateFrames {
    /// For any reader.
    Open,
    /// Marked as meant for the SDK alone.
    SdkOnly,
}

/// The parts of `system/init` that do not change.
#[derive(Clone, Debug)]
pub(crate) struct InitFacts {
    /// Slash commands are not switched off.
    pub has_commands: bool,
    pub cwd: String,
    pub api_key_source: &'static str,
    pub output_style: String,
    /// What it could be.
    pub output_styles: Vec<String>,
    pub betas: Vec<String>,
    /// Which tool is meant when the model names another.
    pub tool_aliases: std::collections::BTreeMap<String, String>,
}

impl Session {
    /// Serves turns until the host has no more, then closes the session.
    pub(crate) async fn serve(mut self) {
        let state = Arc::clone(&self.io.state);
        let mut chores = tokio::task::JoinSet::new();
        if let Some(chore) = housekeeping::chore(&self.io) {
            chores.spawn(chore);
        }
        chores.spawn(housekeeping::forget_the_dead(&self.io));
        if let Some(offered) = self.control.offered_models() {
            chores.spawn(offered.refresh_later());
        }
        self.io.mcp.servers().begin_at_start();
        self.start_hooks().await;
        let mut seen = 0;
        loop {
            let servers = Arc::clone(self.io.mcp.servers());
            let hooks = &mut self.io.hooks;
            let news = async {
                tokio::select! {
                    event = state.tasks.next_event(None) => News::Task(event),
                    beside = hooks.next_wake() => News::Hook(beside),
                    () = servers.host.changed(seen) => News::Servers,
                }
            };
            match self.control.next_wake(news).await {
                Wake::Prompt(prompt) if prompt.query => self.accept(prompt).await,
                Wake::Prompt(prompt) => {
                    if let Err(error) = self.record_prompt(&prompt) {
                        tracing::warn!(%error, "a prompt could not be recorded");
                    }
                }
                Wake::Wishes => self.adopt_wishes().await,
                Wake::Event(News::Hook(beside)) => {
                    Box::pin(turn::run(&mut self, Opener::Hook(beside))).await;
                }
                Wake::Event(News::Task(event)) => {
                    self.hear(event).await;
                }
                Wake::Event(News::Servers) => {
                    seen = servers.host.version();
                    self.hear_servers().await;
                }
                Wake::Closed => break,
            }
        }
        self.await_background().await;
        self.close().await;
    }

    /// Something ended while the session was idle: the model hears of it in a turn of its own, unless a person ended it.
    async fn hear(&mut self, event: TaskEvent) {
        match tasks::tell(event, &self.io).await {
            Some(notice) if notice.wakes => {
                Box::pin(turn::run(self, Opener::Notice(notice.text))).await;
            }
            Some(notice) => self.io.owed.push(notice.text),
            None => {}
        }
    }

    /// No more input comes, but something goes on in the background: its end is waited for, within a limit, and the model
    /// hears of it in a turn of its own. What outlasts the limit is stopped with the result of one last turn.
    async fn await_background(&mut self) {
        let ceiling = self.io.env.number("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS").unwrap_or(WAIT_CEILING_MS);
        let ceiling = (ceiling > 0).then(|| Duration::from_millis(ceiling));
        let deadline = ceiling.map(|ceiling| tokio::time::Instant::now() + ceiling);
        let state = Arc::clone(&self.io.state);
        let mut told = Vec::new();
        while self.is_owed_work() && !self.control.is_shut_down() {
            let running = self.awaited();
            let ids: Vec<String> = running.iter().map(|task| task.id.clone()).collect();
            if !ids.is_empty() && told != ids {
                let line = tasks::waiting_words(&running, ceiling);
                self.io.host.event(Event::Aside(Aside::Waiting(line))).await;
                told = ids;
            }
            let next = async {
                match deadline {
                    Some(deadline) => tokio::time::timeout_at(deadline, state.tasks.next_event(None)).await.ok(),
                    None => Some(state.tasks.next_event(None).await),
                }
            };
            match self.control.during(next).await {
                Some(Some(event)) => self.hear(event).await,
                Some(None) => return self.take_last_turn().await,
                None => return,
            }
        }
    }

    /// What of the main thread's is waited for. Where a person sits at the screen only agents are.
    fn awaited(&self) -> Vec<tools::tasks::Task> {
        let mut running = self.io.state.tasks.running();
        running.retain(|task| task.owner.is_none() && (task.is_agent() || !self.io.flags.has_screen));
        running
    }

    fn is_owed_work(&self) -> bool {
        let tasks = &self.io.state.tasks;
        if self.io.flags.has_screen { tasks.owes_agents(None) } else { tasks.owes(None) }
    }

    /// The wait is over. The model says what there is to say; what still runs then is stopped.
    async fn take_last_turn(&mut self) {
        let row = |task: tools::tasks::Task| (task.id, task.description, task.output.display().to_string());
        let text = prompts::still_running(&self.awaited().into_iter().map(row).collect::<Vec<_>>());
        self.io.flags.ends_after_turn = true;
        Box::pin(turn::run(self, Opener::Notice(text))).await;
    }

    /// A prompt is a command of ours or opens a turn.
    async fn accept(&mut self, mut prompt: Prompt) {
        if let Some(content) = self.start.initial.take().and_then(|initial| preceded(&initial, &prompt.content)) {
            prompt.content = content;
        }
        commands::accept(self, prompt).await;
    }

    /// Accepts what opens a turn: records it, tells the host that the turn begins. A prompt that hooks refuse is not
    /// recorded; the text says why.
    pub(crate) async fn open_turn(
        &mut self,
        opener: Option<&Opener>,
        token: &CancellationToken,
    ) -> Result<Opened, StoreError> {
        self.set_state("running", LiveStatus::Busy).await;
        self.io.adopt_mode().await;
        self.adopt_wishes().await;
        self.look(Moment::Quiet, token).await;
        self.ready_servers().await;
        self.publish_for_hooks();
        self.io.lore.refresh().await;
        let mut plan = None;
        let mut texts = Vec::new();
        let mut hint = None;
        let Some(opener) = opener else { return Ok(Opened::Accepted(None)) };
        match opener {
            Opener::Prompt(prompt) if self.io.host.agent_id().is_some() => self.take_task(prompt).await?,
            Opener::Prompt(prompt) => {
                match self.submit_hooks(&plain_text(&prompt.content), token).await {
                    PromptSays::GoOn(said) => texts = said,
                    PromptSays::Blocked(why) => {
                        self.announce().await;
                        return self.refuse_prompt(why).await;
                    }
                }
                self.io.end_grants();
                let mut stands = None;
                self.io.plan.note_prompt();
                if !prompt.verbatim {
                    let skills = self.io.lore.skills();
                    plan = slash::plan(&skills, &prompt.content).or_else(|| slash::built_in(prompt, &self.io));
                }
                if let Some(plan) = &plan {
                    let expansion = plan.expansion(&prompt.content);
                    match self.expansion_hooks(expansion.as_hooks_see_it(), token).await {
                        PromptSays::GoOn(said) => texts.extend(said),
                        PromptSays::Blocked(why) => {
                            self.announce().await;
                            return self.refuse_prompt(why).await;
                        }
                    }
                } else if !prompt.verbatim {
                    stands = self.io.mcp.note_typed(&plain_text(&prompt.content));
                    if stands.is_none() {
                        hint = commands::hint(&plain_text(&prompt.content), &self.io);
                    }
                }
                let stands = stands.as_ref().or(plan.as_ref().map(|plan| &plan.content)).unwrap_or(&prompt.content);
                let recorded = self.record_prompt_as(prompt, stands);
                self.announce().await;
                self.tell_title().await;
                let written = recorded?;
                if self.io.flags.replay_user_messages || prompt.joins.is_some() {
                    self.io.host.send(Message::User(Box::new(echo(prompt, &written, &self.io.host)))).await;
                }
            }
            Opener::Notice(text) => {
                self.announce().await;
                self.inject(text, PromptSource::Notice).await?;
            }
            Opener::Hook(beside) => {
                self.announce().await;
                self.place(vec![beside.clone()])?;
            }
        }
        self.add_session_context()?;
        if let (Opener::Prompt(prompt), None) = (opener, self.io.host.agent_id()) {
            let text = plain_text(&prompt.content);
            self.note_mentions(&text)?;
            self.attach_resources(&text, token).await?;
        }
        if let Some(hint) = hint {
            self.attach(hint)?;
        }
        self.write_hook_runs()?;
        let started = std::mem::take(&mut self.start.contexts);
        self.place(started.into_iter().chain(texts).collect())?;
        Ok(Opened::Accepted(plan))
    }

    /// Agents that hooks ask start from what holds now.
    pub(crate) fn publish_for_hooks(&self) {
        if self.io.hooks.ask_agents() {
            self.io.spawner.publish(&self.io, &self.context);
        }
    }

    /// Agents the user named: the model is told to use them.
    fn note_mentions(&mut self, prompt: &str) -> Result<(), StoreError> {
        for agent_type in self.io.spawner.agents.mentioned(prompt) {
            let Some(attachment) = Attachment::agent_mention(&agent_type) else { continue };
            self.attach(attachment)?;
        }
        Ok(())
    }

    /// Tells the host that a turn begins, once.
    pub(crate) async fn announce(&mut self) {
        if std::mem::take(&mut self.start.is_announced) {
            return;
        }
        self.io.host.send(Message::Init(Box::new(result::init(&self.context, &self.io)))).await;
    }

    /// Tells the host what the session is called now, once.
    pub(crate) async fn tell_title(&mut self) {
        if let Some(title) = self.start.told_title.take() {
            self.io.host.system(SystemBody::SessionTitleChanged { title }).await;
        }
    }

    /// Notices changed settings, a moved shell and watched files, and tells the hooks that care.
    pub(crate) async fn look(&mut self, moment: Moment, token: &CancellationToken) {
        let Self { control, io, .. } = self;
        io.renew_host_hooks();
        let look = async {
            io.refresh_settings(moment, token).await;
            io.look_around(token).await;
        };
        // Told to stop meanwhile: the turn notices by itself.
        control.during(look).await;
    }

    /// The model never sees it; the user hears why.
    async fn refuse_prompt(&mut self, why: String) -> Result<Opened, StoreError> {
        self.io.host.system(SystemBody::Informational { content: why.clone(), level: "warning" }).await;
        let fields = serde_json::json!({"content": why, "level": "warning", "isMeta": false});
        // A fork's file begins with its history, which comes with the first prompt that is accepted.
        if let (serde_json::Value::Object(fields), None) = (fields, &self.start.fork_of) {
            self.io.scribe.system("informational", fields)?;
        }
        Ok(Opened::Refused(why))
    }

    /// Before the first line of this process: the copied history of a fork, a changed mode, the name.
    pub(crate) fn begin(&mut self) -> Result<(), StoreError> {
        let (fork_of, new_mode) = (self.start.fork_of.take(), self.start.new_mode.take());
        let session_id = self.io.host.session_id.clone();
        if let Some(source) = fork_of {
            self.io.scribe.fork(&source, &session_id)?;
            self.place_fork(&source)?;
        }
        if let Some(mark) = self.start.unarchive.take() {
            std::fs::remove_file(mark).ok();
        }
        let owed = std::mem::take(&mut self.start.owed);
        self.settle_owed(owed)?;
        if let Some(agent_setting) = self.start.agent.take() {
            self.io.scribe.meta(MetaEntry::AgentSetting { agent_setting, session_id: session_id.clone() })?;
        }
        match self.start.place.take() {
            Some(Placed::Inside) => self.io.record_stay(self.io.stay.as_ref().map(|stay| stay.record()))?,
            Some(Placed::Gone) => self.io.record_stay(None)?,
            None => {}
        }
        if let Some(mode) = new_mode {
            let permission_mode = mode.as_str().to_owned();
            self.io.scribe.meta(MetaEntry::PermissionMode { permission_mode, session_id: session_id.clone() })?;
        }
        if let Some(custom_title) = self.start.name.take() {
            self.start.told_title = Some(custom_title.clone());
            self.io.scribe.name(custom_title, session_id)?;
        }
        Ok(())
    }

    /// A copy that was made in another directory belongs to that one.
    fn place_fork(&mut self, source: &store::Loaded) -> Result<(), StoreError> {
        let cwd = self.io.watch.cwd.display().to_string();
        let Some(from) = source.cwd.clone().filter(|from| *from != cwd && self.io.stay.is_none()) else {
            return Ok(());
        };
        let (timestamp, session_id) = (sys::clock::now_iso(), self.io.host.session_id.clone());
        self.io.scribe.meta(MetaEntry::Relocated { cwd, from, timestamp, session_id })
    }

    /// Answers the calls whose agents ended unheard; the other ends are told with the next request.
    fn settle_owed(&mut self, owed: Owed) -> Result<(), StoreError> {
        let session_dir = self.io.state.facts.session_dir.clone();
        for result in owed.results {
            result.settle(&session_dir);
            let block = calls::record_owed(&mut self.io, result)?;
            let (blocks, lines) = block.into_iter().unzip();
            self.context.push_results(blocks, lines);
        }
        self.io.owed.extend(owed.notices);
        Ok(())
    }

    /// An agent is told what to do.
    async fn take_task(&mut self, prompt: &Prompt) -> Result<(), StoreError> {
        let owed = std::mem::take(&mut self.start.owed);
        self.settle_owed(owed)?;
        let message = user_message(&prompt.content);
        let line = UserLine {
            message: message.clone(),
            uuid: None,
            mode: self.io.mode,
            source: &PromptSource::Task,
            origin: "",
        };
        let written = self.io.scribe.user(line)?;
        self.context.push_prompt(&prompt.content, written.uuid.clone());
        let user = User { is_replay: false, ..echo(prompt, &written, &self.io.host) };
        self.io.host.send(Message::User(Box::new(user))).await;
        Ok(())
    }

    pub(crate) async fn set_state(&mut self, state: &'static str, live: LiveStatus) {
        if let Some(record) = &self.io.live {
            record.set_status(live);
        }
        self.io.tell_state(state).await;
    }

    pub(crate) fn record_prompt(&mut self, prompt: &Prompt) -> Result<crate::scribe::Written, StoreError> {
        self.record_prompt_as(prompt, &prompt.content)
    }

    /// `content` is how the prompt stands in the conversation.
    fn record_prompt_as(&mut self, prompt: &Prompt, content: &RawValue) -> Result<crate::scribe::Written, StoreError> {
        self.begin()?;
        self.record_queueing(prompt)?;
        let line = UserLine {
            message: user_message(content),
            uuid: prompt.uuid.clone(),
            mode: self.io.mode,
            source: &PromptSource::Host,
            origin: if prompt.by_human { "human" } else { "sdk" },
        };
        let written = self.io.scribe.user(line)?;
        self.context.push_prompt(content, written.uuid.clone());
        self.context.last_prompt = plain_text(&prompt.content);
        Ok(written)
    }

    /// That a prompt came and was taken up.
    pub(crate) fn record_queueing(&mut self, prompt: &Prompt) -> Result<(), StoreError> {
        let session_id = self.io.host.session_id.clone();
        let operations: &[&str] = if self.control.was_noted(prompt) { &["dequeue"] } else { &["enqueue", "dequeue"] };
        self.record_queue()?;
        for operation in operations.iter().copied() {
            let content = (operation == "enqueue").then(|| plain_text(&prompt.content));
            let timestamp = sys::clock::now_iso();
            let entry = MetaEntry::QueueOperation { operation, timestamp, content, session_id: session_id.clone() };
            self.io.scribe.meta(entry)?;
        }
        Ok(())
    }

    /// Date and instructions stand beside the first prompt; a new day is told when it comes.
    pub(crate) fn add_session_context(&mut self) -> Result<(), StoreError> {
        let is_first = !self.context.is_context_told();
        let Some(attachment) = self.context.due_attachment() else { return Ok(()) };
        if is_first {
            self.tell_instructions();
        }
        self.attach(attachment)
    }

    /// Records what stands beside the conversation and sends it from now on.
    pub(crate) fn attach(&mut self, attachment: Attachment) -> Result<(), StoreError> {
        let uuid = self.io.scribe.attachment(attachment.line)?;
        self.context.push_beside(&attachment.text, uuid);
        Ok(())
    }

    /// Adds a user message of our own.
    pub(crate) async fn inject(&mut self, text: &str, source: PromptSource) -> Result<(), StoreError> {
        let content = serde_json::json!([{"type": "text", "text": text}]);
        let Ok(content) = wire::raw::to_raw(&content) else { return Ok(()) };
        let message = user_message(&content);
        let line = UserLine { message: message.clone(), uuid: None, mode: self.io.mode, source: &source, origin: "" };
        let written = self.io.scribe.user(line)?;
        if source == PromptSource::Notice && prompts::is_task_notice(text) {
            self.context.push_beside(text, written.uuid.clone());
        } else {
            self.context.push_text(text, written.uuid.clone());
        }
        if matches!(source, PromptSource::Marker | PromptSource::Nudge) {
            self.io.host.send(Message::User(Box::new(synthetic(message, written, &self.io.host)))).await;
        }
        Ok(())
    }

    pub(crate) fn is_over_budget(&mut self) -> bool {
        self.io.side.drain_usage(&mut self.io.ledger);
        self.context.max_budget_usd.is_some_and(|max| self.io.ledger.spent_here() >= max)
    }

    /// Background tasks that ended since the last request are told to the host and to the model.
    pub(crate) async fn deliver_notices(&mut self) {
        let texts = self.io.hooks.take_later().await;
        if let Err(error) = self.place(texts) {
            tracing::warn!(%error, "what a hook said could not be recorded");
        }
        let mut notices = std::mem::take(&mut self.io.owed);
        notices.extend(tasks::settled(&mut self.io).await);
        for notice in notices {
            if let Err(error) = self.inject(&notice, PromptSource::Notice).await {
                tracing::warn!(%error, "a task notification could not be recorded");
            }
        }
    }

    /// A disk that begins to refuse is told to the user.
    pub(crate) async fn tell_disk(&mut self) {
        if let Some(warning) = self.io.scribe.warning() {
            self.io.host.notice(warning).await;
        }
    }

    pub(crate) async fn close(&mut self) {
        if !self.control.is_shut_down() {
            tasks::wait_briefly(&mut self.io).await;
            if let Some(rest) = self.io.link.unplayed() {
                self.io.host.event(Event::Fault(format!("Error: {rest}"))).await;
            }
        }
        self.end_hooks("other").await;
        self.io.hooks.end().await;
        self.io.mcp.close().await;
        self.io.state.shutdown().await;
        self.leave_worktree().await;
        if let Some(files) = &self.io.hooks.env_files {
            files.remove();
        }
        self.io.live = None;
        if let Err(error) = self.io.scribe.transcript().close().await {
            tracing::warn!(%error, "the transcript could not be closed");
            result::tell_lost_writes(&self.io, &error).await;
        }
    }
}

impl Session {
    /// Nobody can be asked what should become of it, so it stays.
    async fn leave_worktree(&mut self) {
        let Some(stay) = self.io.stay.take() else { return };
        stay.worktree.let_go();
        self.io.host.notice(stay.farewell().await).await;
    }
}

impl Io {
    /// `idle`, `running` or `requires_action`, for hosts that asked to be told.
    pub(crate) async fn tell_state(&self, state: &'static str) {
        if let Some(frames) = self.flags.session_state {
            let body = SystemBody::SessionStateChanged { state, sdk_host_only: frames == StateFrames::SdkOnly };
            self.host.system(body).await;
        }
    }
}
