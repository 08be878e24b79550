//! How what was taught enters the conversation: as lines of the transcript and messages to the model, in one order, so that a
//! resumed request has the same bytes.

use super::Touched;
use super::invoke::Invocation;
use super::slash::{self, Plan};
use crate::scribe::PromptSource;
use crate::session::{Attachment, Session, synthetic, user_message};
use store::StoreError;
use tokio_util::sync::CancellationToken;
use wire::sdk::Message;

impl Session {
    /// Loads the skills that the prompt named. The inner error is why they were not loaded.
    pub(crate) async fn load_typed(
        &mut self,
        plan: Option<Plan>,
        token: &CancellationToken,
    ) -> Result<Result<(), String>, StoreError> {
        let Some(plan) = plan else { return self.load_prompt().await };
        let outcome = slash::load(self, plan, token).await?;
        if let Err(why) = &outcome {
            let text = format!("<local-command-stderr>{why}</local-command-stderr>");
            self.inject(&text, PromptSource::Marker).await?;
        }
        Ok(outcome)
    }

    /// Adds what skills say, and lets what they declare hold.
    pub(crate) async fn take_up(&mut self, loaded: Vec<Invocation>) -> Result<(), StoreError> {
        for invocation in loaded {
            self.count_use(&invocation.skill.name);
            let text = self.io.lore.say(&invocation);
            let layer = invocation.hooks();
            let Invocation { skill, files, rules, tool_use_id, .. } = invocation;
            self.add_skill_text(&text, tool_use_id).await?;
            for file in files {
                let Some(attachment) = Attachment::file(&file) else { continue };
                self.attach(attachment)?;
            }
            self.io.grant_skill(rules);
            if let Some(layer) = layer {
                self.io.hooks.add(layer, &self.io.watch);
            }
            let allowed = self.io.watch.loaded.settings.available_models.as_deref();
            self.context.choose_for_turn(skill.model.as_deref(), skill.effort.as_deref(), allowed);
        }
        Ok(())
    }

    fn count_use(&self, name: &str) {
        let (env, name) = (self.io.watch.env.clone(), name.to_owned());
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
        let written = self.io.scribe.skill(message.clone(), tool_use_id)?;
        self.context.push_text(text, written.uuid.clone());
        self.io.host.send(Message::User(Box::new(synthetic(message, written, &self.io.host)))).await;
        Ok(())
    }

    /// Before a step: skills that came, changed or went since the model was last told.
    pub(crate) async fn tell_lore(&mut self) -> Result<(), StoreError> {
        self.io.lore.refresh().await;
        self.tell_listing().await
    }

    async fn tell_listing(&mut self) -> Result<(), StoreError> {
        let Some((attachment, warning)) = self.io.lore.due_listing() else { return Ok(()) };
        self.attach(attachment)?;
        if let Some(warning) = warning {
            self.io.host.notice(warning).await;
        }
        Ok(())
    }

    /// After calls: the skills they loaded, and the instructions that hold for the files they touched.
    pub(crate) async fn after_calls(&mut self, touched: &[Touched]) -> Result<(), StoreError> {
        let loaded = self.io.lore.take_loaded();
        self.take_up(loaded).await?;
        for file in self.io.lore.touch(touched).await {
            self.io.tell_instruction(&file);
            if let Some(attachment) = Attachment::nested_memory(&file) {
                self.attach(attachment)?;
            }
        }
        Ok(())
    }
}
