//! Continues a conversation in another directory of the same process. The session is rebuilt from the configuration
//! of that directory (settings, trust, instructions, skills, servers, rules) as if it had been started there. What
//! belongs to the conversation is kept: history, totals, read files, background tasks, granted permissions and
//! choices.

use super::SessionAssembly;
use super::conversation::ConversationChoice;
use crate::session::LiveSession;
use config::TrustChoice;
use session_parts::budgets::SpendingBudgets;
use session_parts::command::EventSenders;
use session_parts::ledger::Ledger;
use session_parts::options::selection;
use session_parts::options::{SessionChoice, SessionOptions, StartRequest};
use session_parts::prompt_recipe::SessionOrigin;
use session_parts::start_error::{StartError, StartFailure};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::StoreLayout;
use store::live_sessions::LiveRecord;
use tokio::sync::mpsc;
use tools::state::ToolState;

impl SessionAssembly {
    pub(super) fn origin(&self) -> SessionOrigin {
        SessionOrigin {
            options: self.options.clone(),
            env: self.base_env.clone(),
            initialize: self.initialize.clone(),
            system_blocks: self.system_blocks.clone(),
        }
    }
}

/// State that the new session shares with the old one.
pub(super) struct CarriedState {
    pub(super) state: Arc<ToolState>,
    pub(super) ledger: Ledger,
    pub(super) live: Option<Arc<LiveRecord>>,
}

/// The session as built for another directory.
pub(crate) struct RelocatedSession {
    session: Box<LiveSession>,
    /// For the user.
    pub(crate) notices: Vec<String>,
    pub(crate) transcript: PathBuf,
    /// Commands that the directory declares may run.
    pub(crate) trusted: bool,
}

impl SessionAssembly {
    pub(super) fn ledger(&self) -> Ledger {
        if let Some(carried) = &self.carried_state {
            return carried.ledger.clone();
        }
        let conversation = &self.conversation;
        let before = conversation.loaded.as_ref().filter(|_| !conversation.is_fork);
        let home = StoreLayout::new(&self.env).home().to_owned();
        let budgets = SpendingBudgets::new(Arc::clone(&self.catalog), &home, self.cwd.clone());
        Ledger::new(Arc::clone(&self.catalog), self.env.clone(), self.served(), Arc::new(budgets))
            .continue_from(before.and_then(|loaded| loaded.cost_state.as_deref()))
    }
}

impl LiveSession {
    /// Builds this session for `cwd`, which is resolved. Changes nothing yet.
    pub(crate) fn build_relocated(&self, cwd: &Path) -> Result<RelocatedSession, StartError> {
        let missing = || StartError::new(StartFailure::Internal, "This session cannot be moved.");
        let origin = &self.recipe.as_ref().ok_or_else(missing)?.origin;
        let out =
            EventSenders { replies: self.control.replies().ok_or_else(missing)?, stream: self.io.output.host.stream() };
        let boot = StartRequest { env: origin.env.clone(), cwd: cwd.to_path_buf(), options: self.options_for(origin) };
        let selection = selection(&boot.options);
        let session_id = self.io.output.host.session_id.clone();
        let transcript = StoreLayout::new(&boot.env).transcript(cwd, &session_id);
        let conversation =
            ConversationChoice { session_id, path: Some(transcript.clone()), loaded: None, is_fork: false };
        let mut assembly = SessionAssembly::for_conversation(boot, selection, (cwd.to_path_buf(), None), conversation)?;
        assembly.initialize = origin.initialize.clone();
        assembly.system_blocks.clone_from(&origin.system_blocks);
        assembly.carried_state = Some(CarriedState {
            state: Arc::clone(&self.io.tooling.state),
            ledger: self.io.output.ledger.clone(),
            live: self.io.output.live_record.clone(),
        });
        let mut notices = assembly.notices();
        notices.extend(assembly.missing_agent.take().map(|error| error.to_string()));
        let trusted = assembly.loaded.trusted || config::trust::activations(cwd, &assembly.loaded).is_empty();
        let session = Box::new(assembly.build(mpsc::channel(1).1, out)?);
        Ok(RelocatedSession { session, notices, transcript, trusted })
    }

    /// The options of the start, with what was chosen since.
    fn options_for(&self, origin: &SessionOrigin) -> SessionOptions {
        let (watch, given) = (&self.io.rules.watch, &origin.options);
        let absolute = |text: &String| {
            let path = watch.cwd.join(text);
            if !text.trim_start().starts_with('{') && path.is_file() {
                path.display().to_string()
            } else {
                text.clone()
            }
        };
        let mut options = given.clone();
        options.model.name = Some(self.context.model().to_owned());
        options.model.effort = self.context.chosen_effort().map(str::to_owned);
        options.permissions.mode = Some(self.io.rules.mode());
        options.permissions.directories.clone_from(&watch.flag_directories);
        options.agents.main = self.io.hooks.runs_as();
        options.servers.declared = given.servers.declared.iter().map(absolute).collect();
        options.configuration.settings = watch.selection.settings.as_ref().map(absolute);
        // The command line trusted the folder it named, not this one.
        options.configuration.trust = TrustChoice::StoredOrRefuse;
        options.configuration.external_imports = false;
        options.configuration.setup = None;
        options.conversation.choice = SessionChoice::New { id: None };
        options.conversation.worktree = None;
        options.conversation.name = None;
        options
    }

    /// Whether requests are recorded or replayed: a cassette is bound to one directory.
    pub(crate) fn uses_cassette(&self) -> bool {
        let options = self.recipe.as_ref().map(|again| &again.origin.options);
        options.is_some_and(|options| options.cassette.record.is_some() || options.cassette.replay.is_some())
    }

    /// Continues as `elsewhere` and shuts down the old parts. `metadata` are transcript lines that must stay near the
    /// end of the file.
    pub(crate) async fn relocate(&mut self, elsewhere: RelocatedSession, metadata: &[String]) {
        let LiveSession { control, context, io, recipe: again, .. } = *elsewhere.session;
        let mut before = std::mem::replace(&mut self.io, io);
        let mut old = std::mem::replace(&mut self.context, context);
        self.context.take_history_from(&mut old);
        self.control.take_host_from(control);
        self.recipe = again;
        let io = &mut self.io;
        io.output.transcript.take_state_from(&before.output.transcript, metadata);
        // Commands in the background still note what they changed, now in the moved file.
        let (home, base) = (io.tooling.state.facts.config_home.clone(), io.rules.watch.cwd.clone());
        io.output.checkpoints = before.output.checkpoints.clone();
        let (transcript, id) = (io.output.transcript.transcript(), io.output.host.session_id.as_str());
        io.output.checkpoints.begin_session(transcript, &home, id, &base);
        io.rules.chosen_mode = before.rules.chosen_mode;
        io.output.results = before.output.results;
        io.knowledge.pending_notices = std::mem::take(&mut before.knowledge.pending_notices);
        io.rules.denials = std::mem::take(&mut before.rules.denials);
        io.knowledge.plan.take_mode_from(&before.knowledge.plan);
        io.rules.watch.granted_rules = std::mem::take(&mut before.rules.watch.granted_rules);
        io.rules.watch.granted_directories = std::mem::take(&mut before.rules.watch.granted_directories);
        // Tasks that were started before still write to their old directory.
        io.rules.watch.place.readable.push(before.tooling.state.facts.tasks_dir.clone());
        io.knowledge.mcp.go_on(before.knowledge.mcp.told());
        io.rebuild_policy();
        if let Some(live) = &io.output.live_record {
            live.set_cwd(&io.rules.watch.cwd);
        }
        before.hooks.end().await;
        before.knowledge.mcp.close().await;
        self.io.knowledge.mcp.servers().begin_at_start();
        self.publish_view().await;
    }
}
