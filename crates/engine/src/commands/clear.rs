//! `/clear`: starts a new conversation for the same host. It gets a new id, transcript, totals and plan; what belongs
//! to the process (settings, servers, hooks, mode, model) stays.

use super::changes::set_name;
use super::{TypedCommand, begin};
use crate::decide::EndReason;
use crate::result;
use crate::session::hooks::SettingsCheckTime;
use crate::session::{LiveSession, StartState};
use model::RequestIdentity;
use session_parts::command::Prompt;
use session_parts::context::FreshContext;
use session_parts::messages::session_name;
use session_parts::plan::{self, PlanState};
use session_parts::tasks;
use std::path::PathBuf;
use std::sync::Arc;
use store::StoreLayout;
use tools::state::{SessionFacts, ToolState};
use wire::mode::PermissionMode;
use wire::sdk::{ConversationReset, SdkMessage};

pub(super) async fn run(session: &mut LiveSession, typed: TypedCommand, prompt: Prompt) {
    let mut turn = begin(session, typed.row.name, &prompt).await;
    let token = turn.token.clone();
    session.check_changes(SettingsCheckTime::Quiet, &token).await;
    let name = session_name(&typed.arguments);
    if !name.is_empty()
        && !session.context.history().is_empty()
        && let Err(error) = set_name(session, &name)
    {
        tracing::warn!(%error, "the old conversation could not be named");
    }
    session.end_hooks("clear").await;
    let reset = ConversationReset {
        kind: "conversation_reset",
        new_conversation_id: sys::id::uuid(),
        trigger: "clear",
        user_message_uuid: prompt.uuid,
        timestamp: sys::clock::now_iso(),
        session_id: session.io.output.host.session_id.clone(),
        uuid: sys::id::uuid(),
    };
    session.io.output.host.send(SdkMessage::Reset(Box::new(reset))).await;
    session.stop_background().await;
    if let Err(error) = session.io.output.transcript.transcript().close().await {
        tracing::warn!(%error, "the transcript of the old conversation could not be closed");
    }
    session.begin_conversation(&sys::id::uuid());
    tasks::send_running(&session.io.output.host, &session.io.tooling.state.tasks).await;
    session.start_hooks().await;
    session.announce().await;
    turn.text = "A new session begins.".into();
    result::conclude(session, turn, EndReason::Completed).await;
}

/// The paths of one conversation.
struct ConversationPaths {
    transcript: PathBuf,
    session_dir: PathBuf,
    tasks_dir: PathBuf,
    plan: PlanState,
}

impl LiveSession {
    /// Stops the background tasks of the old conversation and discards their events.
    async fn stop_background(&mut self) {
        self.io.tooling.spawner.agents.stop_all_for_user().await;
        self.io.tooling.state.tasks.stop_all().await;
        self.io.tooling.state.tasks.take_events(None);
        self.io.knowledge.pending_notices.clear();
    }

    /// Resets everything that belongs to one conversation and continues under the new `id`.
    fn begin_conversation(&mut self, id: &str) {
        let places = self.places(id);
        let io = &mut self.io;
        io.output.host.begin_session(id);
        io.hooks.begin_session(id);
        io.output.transcript.begin_session(&places.transcript, id);
        let home = io.tooling.state.facts.config_home.clone();
        let base = io.rules.watch.cwd.clone();
        io.output.checkpoints.begin_session(io.output.transcript.transcript(), &home, id, &base);
        if let Some(live) = &io.output.live_record {
            live.set_session(id);
        }
        let identity = Arc::new(RequestIdentity { session_id: id.to_owned(), ..(**self.context.identity()).clone() });
        io.provider.side.begin_session(Arc::clone(&identity));
        let cwd = io.workspace().cwd;
        let facts = SessionFacts {
            session_id: id.to_owned(),
            session_dir: places.session_dir.clone(),
            tasks_dir: places.tasks_dir.clone(),
            plan_file: Some(places.plan.file.clone()),
            ..io.tooling.state.facts.clone()
        };
        // Nothing of the old conversation runs any more, so nothing of it can search.
        io.tooling.state = Arc::new(ToolState { searches: Arc::default(), ..io.tooling.state.for_agent(facts, cwd) });
        io.rules.watch.place.readable = vec![
            places.session_dir.join("tool-results"),
            store::agents::folder(&places.session_dir),
            places.tasks_dir,
            places.plan.file.clone(),
        ];
        io.rules.watch.place.plan_file = Some(places.plan.file.clone());
        io.knowledge.plan = places.plan;
        let memory = io.rules.watch.memory();
        io.knowledge.skills.begin_session(id, memory.lazy.clone());
        io.knowledge.mcp.begin_conversation();
        io.rebuild_policy();
        io.output.ledger.begin_session();
        io.rules.denials.clear();
        let agents = Arc::clone(&io.tooling.spawner.agents);
        agents.begin_session(|template| {
            template.host.begin_session(id);
            template.identity = Arc::clone(&identity);
            template.request.identity = Arc::clone(&identity);
            id.clone_into(&mut template.tail.session_id);
            template.session_dir.clone_from(&places.session_dir);
            template.transcript.clone_from(&places.transcript);
            template.state = Arc::clone(&io.tooling.state);
            id.clone_into(&mut template.skills.0.facts.session_id);
        });
        let system = self.recipe.as_ref().map(|again| again.system(&self.io.rules.watch.loaded, self.context.model()));
        self.io.output.facts.output_style = session_parts::prompt_recipe::style_name(&self.io.rules.watch.loaded);
        let facts = self.context.facts_again();
        self.context.begin_session(FreshContext { identity, files: memory.files, system, facts });
        self.control.begin_session(id, &self.io.tooling.state, self.io.output.transcript.transcript());
        let mode = Some(self.io.rules.mode()).filter(|mode| *mode != PermissionMode::Default);
        self.start = StartState { source: "clear", new_mode: mode, ..StartState::default() };
    }

    fn places(&self, id: &str) -> ConversationPaths {
        let watch = &self.io.rules.watch;
        let layout = StoreLayout::new(&watch.env);
        let setting = watch.loaded.settings.plans_directory.as_deref();
        let plans = plan::directory(setting, &watch.cwd, layout.home());
        ConversationPaths {
            transcript: layout.transcript(&watch.cwd, id),
            session_dir: layout.session_dir(&watch.cwd, id),
            tasks_dir: layout.tasks_dir(&watch.cwd, id),
            plan: PlanState::new(&plans, id),
        }
    }
}
