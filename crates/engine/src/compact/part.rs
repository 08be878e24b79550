//! Summarises the part of the conversation that a host chose: from a prompt on, or everything before it. The other part stays
//! as it is, word for word.

use super::CompactionOutcome;
use crate::session::LiveSession;
use serde_json::{Value, json};
use session_parts::command::RequestRefusal;
use session_parts::compaction_policy::{CompactionTrigger, PartCompaction, PartDirection};
use store::live_sessions::LiveStatus;
use wire::block::BlockHead;
use wire::control::CompactPart;

/// How much of the chosen prompt the model is shown, in characters.
const PROMPT_CHARS: usize = 300;

impl LiveSession {
    /// Carries out a host's request between two turns, and answers it.
    pub(crate) async fn answer_compact_part(&mut self, request_id: String, asked: &CompactPart) {
        let token = self.control.begin_turn();
        self.set_state("running", LiveStatus::Busy).await;
        let replied = match self.chosen_part(asked) {
            Ok(part) => self.compact_part(part, &token).await,
            Err(why) => Err(why),
        };
        self.control.end_turn();
        self.set_state("idle", LiveStatus::Idle).await;
        let replied = replied.map_err(RequestRefusal::new);
        self.control.start_reply(request_id, async move { replied });
    }

    fn chosen_part(&mut self, asked: &CompactPart) -> Result<PartCompaction, String> {
        let direction = PartDirection::parse(&asked.direction).ok_or("direction must be from or up_to")?;
        if !self.context.compaction().is_manual_allowed() {
            return Err("Compaction is disabled (DISABLE_COMPACT).".into());
        }
        let history = self.context.history();
        let unknown = || {
            format!(
                "The conversation as it is sent now holds no prompt {}; it may have been summarised already",
                asked.user_message_id
            )
        };
        let at = history.prompt_start(&asked.user_message_id).ok_or_else(unknown)?;
        let part = if direction == PartDirection::UpTo { 0..at } else { at..history.turns().len() };
        if part.is_empty() || !history.entries(part).any(|entry| entry.turn.role == model::Role::Assistant) {
            return Err("There is nothing to summarise in that part yet".into());
        }
        let prompt = self.prompt_text(&asked.user_message_id);
        let instructions = asked.instructions.clone().filter(|text| !text.trim().is_empty());
        Ok(PartCompaction { direction, at, prompt, instructions })
    }

    /// The beginning of a prompt.
    fn prompt_text(&self, line: &str) -> String {
        let history = self.context.history();
        let entries = history.entries(0..history.turns().len());
        let mut texts = entries.filter(|entry| entry.lines.iter().any(|own| own == line)).flat_map(|entry| {
            entry.turn.blocks.iter().filter_map(|block| match BlockHead::read(block.raw()) {
                Some(BlockHead::Text(text)) => Some(text.chars().take(PROMPT_CHARS).collect::<String>()),
                _ => None,
            })
        });
        texts.next().unwrap_or_default()
    }

    async fn compact_part(
        &mut self,
        part: PartCompaction,
        token: &tokio_util::sync::CancellationToken,
    ) -> Result<Value, String> {
        let direction = part.direction.name();
        let before = self.context.tokens();
        match self.compact(&CompactionTrigger::Part(part), token).await {
            Ok(Some(CompactionOutcome::Done(_))) => {
                let after = self.context.tokens();
                Ok(json!({"compacted": true, "direction": direction, "pre_tokens": before, "post_tokens": after}))
            }
            Ok(Some(CompactionOutcome::Interrupted)) => Err("Interrupted: nothing was summarised".into()),
            Ok(Some(CompactionOutcome::Failed(why))) => Err(why),
            Ok(None) => Err("Nothing was summarised".into()),
            Err(error) => Err(error.to_string()),
        }
    }
}
