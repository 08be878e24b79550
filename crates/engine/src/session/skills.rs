//! Adds skills and instructions to the conversation: as transcript lines and messages to the model, in a fixed order,
//! so that a resumed request has the same bytes.

use crate::calls;
use crate::session::LiveSession;
use crate::session::SessionIo;
use session_parts::messages::{Attachment, synthetic, user_message};
use session_parts::skills::FileTouch;
use session_parts::skills::invoke::{InvocationContext, SkillInvocation, mentioned_files, mentions_files};
use std::sync::Arc;
use store::StoreError;
use tokio_util::sync::CancellationToken;
use tools::ToolClass;
use wire::sdk::SdkMessage;
use wire::settings::RuleText;

impl LiveSession {
    /// Adds the texts of skills and applies their rules, hooks and model settings.
    pub(crate) async fn add_invocations(&mut self, loaded: Vec<SkillInvocation>) -> Result<(), StoreError> {
        for invocation in loaded {
            self.count_use(&invocation.skill.name);
            let text = self.io.knowledge.skills.text_to_send(&invocation);
            let layer = invocation.hooks();
            let SkillInvocation { skill, files, rules, tool_use_id, .. } = invocation;
            self.add_skill_text(&text, tool_use_id).await?;
            for file in files {
                let Some(attachment) = Attachment::file(&file) else { continue };
                self.attach(attachment)?;
            }
            self.io.grant_skill(rules);
            if let Some(layer) = layer {
                self.io.hooks.add(layer, &self.io.rules.watch);
            }
            let allowed = self.io.rules.watch.loaded.settings.available_models.as_deref();
            self.context.choose_for_turn(skill.model.as_deref(), skill.effort.as_deref(), allowed);
        }
        Ok(())
    }

    /// Attaches the files and folders that a prompt names with `@`, as far as they may be read without a question.
    pub(crate) async fn attach_mentioned_files(
        &mut self,
        prompt: &str,
        token: &CancellationToken,
    ) -> Result<(), StoreError> {
        if !prompt.contains('@') || !mentions_files(prompt, &self.io.workspace()) {
            return Ok(());
        }
        let cx = match calls::context_for(&self.io, "mention", token.child_token()).await {
            Ok(cx) => cx,
            Err(error) => {
                tracing::warn!(%error, "files that are mentioned with @ are not attached");
                return Ok(());
            }
        };
        let invocation = InvocationContext {
            facts: Arc::clone(&self.io.knowledge.skills.facts),
            policy: Arc::clone(self.io.rules.policy()),
            cx,
        };
        let Some(files) = self.control.during(mentioned_files(prompt, &invocation)).await else { return Ok(()) };
        for attachment in files.iter().filter_map(Attachment::file) {
            self.attach(attachment)?;
        }
        Ok(())
    }

    fn count_use(&self, name: &str) {
        let (env, name) = (self.io.rules.watch.env.clone(), name.to_owned());
        tokio::task::spawn_blocking(move || {
            if let Err(error) = config::state::count_skill_use(&env, &name, sys::clock::now_ms()) {
                tracing::debug!(%error, "the use of a skill could not be counted");
            }
        });
    }

    pub(crate) async fn add_skill_text(&mut self, text: &str, tool_use_id: Option<String>) -> Result<(), StoreError> {
        let content = serde_json::json!([{"type": "text", "text": text}]);
        let Ok(content) = wire::raw::to_raw(&content) else { return Ok(()) };
        let message = user_message(&content);
        let written = self.io.output.transcript.skill(message.clone(), tool_use_id)?;
        self.context.push_text(text, written.uuid.clone());
        self.io.output.host.send(SdkMessage::User(Box::new(synthetic(message, written, &self.io.output.host)))).await;
        Ok(())
    }

    /// Before a step: sends skills that were added, changed or removed.
    pub(crate) async fn send_skill_changes(&mut self) -> Result<(), StoreError> {
        self.io.knowledge.skills.refresh().await;
        self.send_listing().await
    }

    /// The listing goes only where a tool can load what it names.
    async fn send_listing(&mut self) -> Result<(), StoreError> {
        if !self.io.has_skill_tool() {
            return Ok(());
        }
        let Some((attachment, warning)) = self.io.knowledge.skills.due_listing() else { return Ok(()) };
        self.attach(attachment)?;
        if let Some(warning) = warning {
            self.io.output.host.notice(warning).await;
        }
        Ok(())
    }

    /// After calls: adds the skills they loaded, and the instructions for the files they touched.
    pub(crate) async fn after_calls(&mut self, touched: &[FileTouch]) -> Result<(), StoreError> {
        let loaded = std::mem::take(&mut self.io.knowledge.loaded_skills);
        self.add_invocations(loaded).await?;
        for file in self.io.knowledge.skills.touch(touched).await {
            self.io.report_instruction(&file);
            if let Some(attachment) = Attachment::nested_memory(&file) {
                self.attach(attachment)?;
            }
        }
        Ok(())
    }
}

impl SessionIo {
    pub(crate) fn has_skill_tool(&self) -> bool {
        self.tooling.registry.of_class(ToolClass::Skill).is_some()
    }

    /// Drops the rules of skills, because a new prompt arrived.
    pub(crate) fn end_grants(&mut self) {
        self.knowledge.skills.active = None;
        if !std::mem::take(&mut self.knowledge.skills.grants).is_empty() {
            self.rebuild_policy();
        }
    }

    /// Applies the rules of a skill from now on.
    pub(crate) fn grant_skill(&mut self, rules: Vec<RuleText>) {
        if !rules.is_empty() {
            self.knowledge.skills.grants.extend(rules);
            self.rebuild_policy();
        }
    }
}
