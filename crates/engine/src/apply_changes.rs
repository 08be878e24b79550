//! Applies the changes a host requested between two phases, and publishes the state of the session to `control`.

use crate::control::changes::SessionChanges;
use crate::session::LiveSession;
use config::ConfigLoader;
use model::Fragment;
use serde_json::{Map, Value};
use session_parts::context::usage::ContextUsage;
use session_parts::tasks;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use wire::control::{AgentInfo, FieldChange, SlashCommand};
use wire::entry::MetaEntry;
use wire::hooks::{DirectoryAdded, HookEventName};
use wire::sdk::SystemBody;

impl LiveSession {
    /// Applies the requested changes; the next request to the model uses them.
    pub(crate) async fn apply_changes(&mut self) {
        let changes = self.control.take_changes();
        if changes.is_empty() {
            return;
        }
        let SessionChanges {
            model,
            thinking_tokens,
            thinking_display,
            effort,
            agent,
            flag_settings,
            mode,
            updates,
            agents,
            tasks,
            notice,
            repositories,
            questions,
            rewinds,
            retract,
            credentials,
        } = changes;
        if let Some(options) = credentials {
            self.io.provider.connection.renew(&self.io.rules.watch.loaded, options);
        }
        if retract {
            self.retract_prompt();
        }
        if let Some(notice) = notice {
            self.io.notify(notice);
        }
        if mode {
            self.io.apply_chosen_mode().await;
        }
        if let Some(settings) = flag_settings {
            self.apply_flag_settings(settings);
        }
        if !updates.is_empty() {
            self.io.grant(updates).await;
        }
        self.switch_agent(&agent);
        self.context.choose_effort(&effort);
        self.apply_model(&model).await;
        self.context.choose_thinking(&thinking_tokens, &thinking_display);
        if let Some(agents) = agents {
            self.io.tooling.spawner.agents.declare(agents);
        }
        if tasks {
            tasks::send_running(&self.io.output.host, &self.io.tooling.state.tasks).await;
        }
        for directory in repositories {
            let directory = directory.display().to_string();
            self.io.observe(DirectoryAdded { directory, source: "register_repo_root".into() });
        }
        for (request_id, asked) in rewinds {
            self.answer_rewind(request_id, &asked).await;
        }
        for (request_id, question) in questions {
            self.start_side_question(request_id, &question).await;
        }
        self.publish_view().await;
    }

    /// Removes the prompt of a turn that ended before any answer, from the history and, by a mark, from the
    /// transcript.
    fn retract_prompt(&mut self) {
        let Some(uuids) = self.context.withdraw_prompt(crate::turn_state::MARKER_STREAM) else { return };
        let session_id = self.io.output.host.session_id.clone();
        if let Err(error) = self.io.output.transcript.meta(MetaEntry::XRetracted { uuids, session_id }) {
            tracing::warn!(%error, "a prompt that was taken back could not be marked");
        }
    }

    /// Switches to the host's model. Hooks may refuse it like one typed by a person; the host is sent the reason.
    async fn apply_model(&mut self, wanted: &FieldChange<String>) {
        if !self.io.hooks.listens(HookEventName::PreModelSwitch)
            && !self.io.hooks.listens(HookEventName::PostModelSwitch)
        {
            return self.context.choose_model(wanted);
        }
        let wanted = match wanted {
            FieldChange::Keep => return,
            FieldChange::Reset => "default",
            FieldChange::Set(name) => name,
        };
        if let Some(Err(content)) = self.switch_model(wanted, "sdk", &CancellationToken::new()).await {
            self.io.output.host.system(SystemBody::Informational { content, level: "warning" }).await;
        }
    }

    /// Replaces the flag layer of the settings. Settings files that changed meanwhile cannot grant more than they did
    /// before.
    fn apply_flag_settings(&mut self, settings: Map<String, Value>) {
        let watch = &mut self.io.rules.watch;
        watch.selection.settings = Some(Value::Object(settings).to_string());
        let place = (watch.cwd.as_path(), &watch.env, &watch.selection);
        match ConfigLoader::reopen(&watch.loaded, place) {
            Ok(loaded) => {
                watch.apply(loaded);
                self.io.rebuild_policy();
            }
            Err(error) => tracing::warn!(%error, "the host's settings could not be read"),
        }
    }

    /// Makes the main thread run as this agent from now on: its prompt, tools and model.
    fn switch_agent(&mut self, wanted: &FieldChange<String>) {
        let definition = match wanted {
            FieldChange::Keep => return,
            FieldChange::Reset => None,
            FieldChange::Set(name) => self.io.tooling.spawner.agents.find(name),
        };
        let (Some(tools), Some(again)) = (self.control.tools(), &mut self.recipe) else { return };
        again.set_agent(definition.as_ref());
        let system = again.system(&self.io.rules.watch.loaded, self.context.model());
        let policy = self.io.rules.policy();
        let registry =
            tools.only(|name| crate::agents::toolset::of_agent(definition.as_ref(), name) && !policy.removes(name));
        self.context.set_prompt_parts(system, registry.tool_fragments().into_iter().map(Fragment::new).collect());
        self.io.tooling.registry = Arc::new(registry);
        self.io.knowledge.mcp.set_base(Arc::clone(&self.io.tooling.registry));
        if let Some(model) = definition.and_then(|definition| definition.model).filter(|model| model != "inherit") {
            self.context.choose_model(&FieldChange::Set(model));
        }
    }

    /// Updates the view that control requests are answered from.
    pub(crate) async fn publish_view(&mut self) {
        if !self.control.accepts_requests() {
            return;
        }
        self.io.knowledge.skills.refresh().await;
        let commands = self.io.commands().listing();
        let view = &mut self.control.view;
        let prompts = self.io.knowledge.mcp.prompt_commands().into_iter().map(|(name, description, argument_hint)| {
            SlashCommand { name, description, argument_hint, aliases: Vec::new(), builtin: false }
        });
        let commands: Vec<SlashCommand> = commands.into_iter().chain(prompts).collect();
        if view.commands != commands && !view.commands.is_empty() && view.is_initialized {
            self.io.output.host.system(SystemBody::CommandsChanged { commands: commands.clone() }).await;
        }
        view.commands = commands;
        view.agents = self
            .io
            .tooling
            .spawner
            .agents
            .all()
            .iter()
            .map(|agent| AgentInfo {
                name: agent.name.clone(),
                description: agent.description.clone(),
                model: agent.model.clone(),
            })
            .collect();
        view.output_style.clone_from(&self.io.output.facts.output_style);
        view.output_styles.clone_from(&self.io.output.facts.output_styles);
        self.context.model().clone_into(&mut view.model);
        view.effort = self.context.effort();
        self.io.rules.publish();
        view.own_hooks = self.io.hooks.own_layers();
        self.publish_usage();
    }

    /// What fills the context window now.
    pub(crate) fn context_usage(&mut self) -> ContextUsage {
        let has_listing = self.io.has_skill_tool();
        let last = self.io.output.ledger.last_usage();
        let is_known = last.input_tokens + last.output_tokens > 0;
        let mut usage = ContextUsage {
            skills: if has_listing { self.io.knowledge.skills.listing_tokens() } else { Vec::new() },
            agents: self.io.tooling.spawner.agents.listing_tokens(),
            mcp_tools: self.io.server_tools(),
            reported: if is_known { serde_json::to_value(last).ok() } else { None },
            ..self.context.usage()
        };
        if has_listing {
            usage.add_unsent(self.io.knowledge.skills.unsent_tokens());
        }
        usage
    }

    /// Updates the context usage in the view after a step.
    pub(crate) fn publish_usage(&mut self) {
        if !self.control.accepts_requests() {
            return;
        }
        let usage = self.context_usage();
        let view = &mut self.control.view;
        view.usage = usage;
        let last = self.io.output.ledger.last_usage();
        view.last_usage = (last.input_tokens + last.output_tokens > 0).then(|| last.clone());
        view.last_at_ms = self.io.output.ledger.last_at_ms();
        view.cache_ttl = self.context.cache_ttl();
        view.prompt_id = self.io.output.transcript.prompt_id().map(str::to_owned);
        view.thinks = self.context.thinks();
        view.agent = self.io.hooks.runs_as();
        view.worktree = self.io.tooling.active_worktree.as_ref().map(|stay| stay.record());
        if let Some(name) = &self.start.name {
            view.name = Some(name.clone());
        }
    }
}
