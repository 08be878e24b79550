//! `autoCompactPause`: the person at the terminal is asked before the conversation is summarised by itself.

use super::LiveSession;
use super::choice::ChoiceQuestion;
use crate::turn_state::TurnState;
use session_parts::compaction_policy::CompactionTrigger;

/// What happens when the conversation fills its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PauseChoice {
    Compact,
    /// The request is sent as it is.
    GoOn,
    Stop,
}

impl LiveSession {
    /// Asks the person, when they want to be asked and can be. Without an answer the turn stops, so that nothing is
    /// forgotten unasked.
    pub(crate) async fn ask_before_compaction(
        &mut self,
        trigger: &CompactionTrigger,
        turn: &mut TurnState,
    ) -> PauseChoice {
        let is_crowded = *trigger == CompactionTrigger::Crowded;
        if is_crowded && turn.declines_summary {
            return PauseChoice::GoOn;
        }
        let is_wanted = self.io.rules.watch.loaded.settings.auto_compact_pause == Some(true);
        if !is_wanted || self.io.output.host.agent_id().is_some() || !self.has_person() {
            return PauseChoice::Compact;
        }
        let (tokens, (_, window)) = (self.context.tokens(), self.context.compaction_sizes());
        let percent = (tokens * 100).checked_div(window).unwrap_or(100).min(100);
        let mut answers = vec![(
            "Compact".to_owned(),
            "Summarise it now and go on. Your messages, changed files and open tasks are kept".to_owned(),
        )];
        if is_crowded {
            answers.push(("Not now".to_owned(), "Go on without a summary as long as it fits".to_owned()));
        }
        answers
            .push(("Stop".to_owned(), "End the turn. /compact [what to keep] summarises with your words".to_owned()));
        let question = if is_crowded {
            format!("The conversation fills {percent} % of its window. Summarise it?")
        } else {
            "The conversation no longer fits its window. Summarise it?".to_owned()
        };
        let last = answers.len() - 1;
        let asked = ChoiceQuestion { header: "Compact", question, answers };
        match self.choose(&asked, &turn.token).await {
            Some(0) => PauseChoice::Compact,
            Some(at) if at < last => {
                turn.declines_summary = true;
                PauseChoice::GoOn
            }
            Some(_) | None => PauseChoice::Stop,
        }
    }
}
