//! Carries out what the host wished for, between two phases, and tells `control` how the session stands.

use crate::control::wishes::Wishes;
use crate::session::Session;
use crate::tasks;
use wire::control::AgentInfo;

impl Session {
    /// The next request to the model follows what the host wished for.
    pub(crate) async fn adopt_wishes(&mut self) {
        let wishes = self.control.take_wishes();
        if wishes.is_empty() {
            return;
        }
        let Wishes { model, thinking_tokens, thinking_display, flag_settings: _, mode, agents, tasks } = wishes;
        if mode {
            self.io.adopt_mode().await;
        }
        self.context.choose_model(&model);
        self.context.choose_thinking(&thinking_tokens, &thinking_display);
        if let Some(agents) = agents {
            self.io.spawner.agents.declare(agents);
        }
        if tasks {
            tasks::tell_running(&self.io.host, &self.io.state.tasks).await;
        }
        self.post().await;
    }

    /// What requests are answered from, as it is now.
    pub(crate) async fn post(&mut self) {
        if self.io.host.agent_id().is_some() {
            return;
        }
        self.io.lore.refresh().await;
        let commands = crate::commands::listing(&self.io);
        let board = &mut self.control.board;
        board.commands = commands;
        board.agents = self
            .io
            .spawner
            .agents
            .all()
            .into_iter()
            .map(|agent| AgentInfo { name: agent.name, description: agent.description, model: agent.model })
            .collect();
        board.output_style.clone_from(&self.io.facts.output_style);
        board.output_styles.clone_from(&self.io.facts.output_styles);
        board.mode = self.io.mode.as_str();
        self.context.model().clone_into(&mut board.model);
        board.policy = Some(std::sync::Arc::clone(&self.io.policy));
    }
}
