//! Opens a turn: runs the hooks of the prompt, records it and notifies the host that the turn starts.

use crate::session::LiveSession;
use crate::session::hooks::{PromptVerdict, SettingsCheckTime};
use crate::turn_state::TurnOpener;
use crate::typed_skills::built_in;
use session_parts::messages::{Attachment, echo, plain_text};
use session_parts::skills::slash::{self, SkillRequest};
use session_parts::transcript_writer::PromptSource;
use store::StoreError;
use store::live_sessions::LiveStatus;
use tokio_util::sync::CancellationToken;
use wire::sdk::SdkMessage;
use wire::sdk::SystemBody;

/// The result of opening a turn.
pub(crate) enum TurnOpening {
    /// The prompt was accepted; the skills it named must still be loaded.
    Accepted(Option<SkillRequest>),
    /// Hooks refused the prompt, for this reason.
    Refused(String),
}

impl LiveSession {
    /// Accepts what opens a turn: records it and notifies the host that the turn starts. A prompt that hooks refuse is
    /// not recorded; the result contains the reason.
    pub(crate) async fn open_turn(
        &mut self,
        opener: Option<&TurnOpener>,
        token: &CancellationToken,
    ) -> Result<TurnOpening, StoreError> {
        self.set_state("running", LiveStatus::Busy).await;
        self.io.apply_chosen_mode().await;
        self.apply_changes().await;
        self.check_changes(SettingsCheckTime::Quiet, token).await;
        self.connect_servers().await;
        self.publish_for_hooks();
        self.io.knowledge.skills.refresh().await;
        let mut plan = None;
        let mut texts = Vec::new();
        let mut hint = None;
        let Some(opener) = opener else { return Ok(TurnOpening::Accepted(None)) };
        match opener {
            TurnOpener::Prompt(prompt) if self.io.output.host.agent_id().is_some() => self.accept_task(prompt).await?,
            TurnOpener::Prompt(prompt) => {
                match self.submit_hooks(&plain_text(&prompt.content), token).await {
                    PromptVerdict::GoOn(said) => texts = said,
                    PromptVerdict::Blocked(why) => {
                        self.announce().await;
                        return self.refuse_prompt(why).await;
                    }
                }
                self.io.end_grants();
                let mut replacement = None;
                self.io.knowledge.plan.note_prompt();
                if !prompt.verbatim {
                    let skills = self.io.knowledge.skills.skills();
                    plan = slash::parse_skills(&skills, &prompt.content).or_else(|| built_in(prompt, &self.io));
                }
                if let Some(plan) = &plan {
                    let expansion = plan.expansion(&prompt.content);
                    match self.expansion_hooks(expansion.payload(), token).await {
                        PromptVerdict::GoOn(said) => texts.extend(said),
                        PromptVerdict::Blocked(why) => {
                            self.announce().await;
                            return self.refuse_prompt(why).await;
                        }
                    }
                } else if !prompt.verbatim {
                    replacement = self.io.knowledge.mcp.keep_typed(&plain_text(&prompt.content));
                    if replacement.is_none() {
                        hint = self.io.commands().suggest(&plain_text(&prompt.content));
                    }
                }
                let replacement =
                    replacement.as_ref().or(plan.as_ref().map(|plan| &plan.content)).unwrap_or(&prompt.content);
                let recorded = self.record_prompt_as(prompt, replacement);
                self.announce().await;
                self.send_title().await;
                let written = recorded?;
                if self.io.output.flags.replay_user_messages || prompt.mid_turn.is_some() {
                    self.io
                        .output
                        .host
                        .send(SdkMessage::User(Box::new(echo(prompt, &written, &self.io.output.host))))
                        .await;
                }
            }
            TurnOpener::Notice(text) => {
                self.announce().await;
                self.inject(text, PromptSource::Notice).await?;
            }
            TurnOpener::Hook(beside) => {
                self.announce().await;
                self.add_hook_texts(vec![beside.clone()])?;
            }
        }
        self.add_session_context()?;
        if let (TurnOpener::Prompt(prompt), None) = (opener, self.io.output.host.agent_id()) {
            let text = plain_text(&prompt.content);
            self.note_mentions(&text)?;
            if !prompt.verbatim && plan.is_none() {
                self.attach_mentioned_files(&text, token).await?;
            }
            self.attach_resources(&text, token).await?;
        }
        if let Some(hint) = hint {
            self.attach(hint)?;
        }
        self.send_reminders().await?;
        self.write_hook_runs()?;
        let started = std::mem::take(&mut self.start.contexts);
        self.add_hook_texts(started.into_iter().chain(texts).collect())?;
        Ok(TurnOpening::Accepted(plan))
    }

    /// Tells the model to use the agents that the user named.
    fn note_mentions(&mut self, prompt: &str) -> Result<(), StoreError> {
        for agent_type in self.io.tooling.spawner.agents.mentioned(prompt) {
            let Some(attachment) = Attachment::agent_mention(&agent_type) else { continue };
            self.attach(attachment)?;
        }
        Ok(())
    }

    /// Refuses a prompt: the model never receives it; the user is shown the reason.
    async fn refuse_prompt(&mut self, why: String) -> Result<TurnOpening, StoreError> {
        self.io.output.host.system(SystemBody::Informational { content: why.clone(), level: "warning" }).await;
        let fields = serde_json::json!({"content": why, "level": "warning", "isMeta": false});
        // The file of a fork starts with its history, which is written with the first accepted prompt.
        if let (serde_json::Value::Object(fields), None) = (fields, &self.start.fork_of) {
            self.io.output.transcript.system("informational", fields)?;
        }
        Ok(TurnOpening::Refused(why))
    }
}
