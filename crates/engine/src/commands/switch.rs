//! `/model`, `/effort` and `/autocompact`: choices that apply to this session and are not saved.

use super::CommandReply;
use crate::session::LiveSession;
use model::EffortLevel;
use std::fmt::Write;
use tokio_util::sync::CancellationToken;
use wire::counting::thousands;

/// `None` when the process must stop.
pub(super) async fn model(session: &mut LiveSession, wanted: &str, token: &CancellationToken) -> Option<CommandReply> {
    if wanted.is_empty() {
        let models = session.control.models();
        let listed = tokio::select! {
            listed = session.control.during(models) => listed?,
            () = token.cancelled() => return None,
        };
        let mut text = format!(
            "Model: {}. /model <name> switches it for this session: an alias (opus, sonnet, haiku, fable, \
             opusplan), an id, or `default`.",
            session.context.model()
        );
        for model in listed {
            write!(text, "\n  {}: {} ({})", model.value, model.display_name, model.description).ok();
        }
        return Some(CommandReply::for_user(text));
    }
    if wanted.contains(char::is_whitespace) {
        return Some(CommandReply::refused(format!("\"{wanted}\" is not the name of a model. Usage: /model <name>")));
    }
    let said = match session.switch_model(wanted, "command", token).await? {
        Ok(id) => {
            let known = if session.context.facts().known {
                ""
            } else {
                ". gimlet does not know this model; the name is used as given"
            };
            CommandReply::for_user(format!("Model set to {id} for this session{known}."))
        }
        Err(why) => CommandReply::refused(why),
    };
    Some(said)
}

impl LiveSession {
    /// Switches the model from the next request on. Returns its id, or why it was not switched; hooks may refuse.
    /// `None` when the process must stop.
    pub(crate) async fn switch_model(
        &mut self,
        wanted: &str,
        source: &'static str,
        token: &CancellationToken,
    ) -> Option<Result<String, String>> {
        let model = if wanted.eq_ignore_ascii_case("default") {
            self.context.default_model()
        } else {
            self.context.resolve(wanted)
        };
        let settings = &self.io.rules.watch.loaded.settings;
        let id = model.id.clone();
        let refused =
            model.plan_id.iter().chain([&id]).find_map(|id| session_parts::models::model_refused(settings, id));
        if let Some(why) = refused {
            return Some(Err(why));
        }
        let switch = self.describe_switch(&id, wanted, source);
        if switch.from_model == id && model.plan_id.is_none() {
            self.context.set_model(model);
            return Some(Ok(id));
        }
        if let Err(why) = self.before_switch(&switch, token).await? {
            return Some(Err(why));
        }
        self.context.set_model(model);
        if let Some(again) = &self.recipe {
            self.context.set_system(again.system(&self.io.rules.watch.loaded, &id));
        }
        self.after_switch(switch, token).await?;
        Some(Ok(id))
    }
}

pub(super) fn effort(session: &mut LiveSession, wanted: &str) -> CommandReply {
    let facts = session.context.facts();
    if facts.efforts.is_empty() {
        return CommandReply::for_user(format!("{} has no effort levels.", session.context.model()));
    }
    let names: Vec<&str> = facts.efforts.iter().map(|effort| effort.name()).collect();
    let status = |session: &LiveSession| session.context.effort().unwrap_or("not chosen").to_owned();
    match wanted {
        "" | "status" => CommandReply::for_user(format!(
            "Effort: {}. Levels of this model: {}, auto.",
            status(session),
            names.join(", ")
        )),
        "auto" => {
            session.context.set_effort(None);
            CommandReply::for_user(format!("Effort is back to the model's default: {}.", status(session)))
        }
        level => match EffortLevel::parse(level) {
            Some(_) => {
                session.context.set_effort(Some(level.to_owned()));
                let now = status(session);
                let note =
                    if now == level { "" } else { " (the nearest this model has, or set by CLAUDE_CODE_EFFORT_LEVEL)" };
                CommandReply::for_user(format!("Effort set to {now}{note} for this session."))
            }
            None => CommandReply::refused(format!(
                "\"{level}\" is not an effort level. Choose one of {}, auto.",
                names.join(", ")
            )),
        },
    }
}

pub(super) fn autocompact(session: &mut LiveSession, wanted: &str) -> CommandReply {
    let shown = |session: &mut LiveSession| match session.context.window() {
        (window, Some(limit)) => {
            format!("compacted automatically at about {} of {} tokens", thousands(limit), thousands(window))
        }
        (_, None) => "not compacted automatically".to_owned(),
    };
    let number = wanted.trim_end_matches(['k', 'K']).parse::<u64>().ok();
    match (wanted, number) {
        ("", _) => CommandReply::for_user(format!("The conversation is {}.", shown(session))),
        ("auto", _) => {
            session.context.compaction().set_window(None);
            CommandReply::for_user(format!("The conversation is {}.", shown(session)))
        }
        (text, Some(number)) => {
            let tokens = if text.ends_with(['k', 'K']) { number * 1000 } else { number };
            session.context.compaction().set_window(Some(tokens));
            CommandReply::for_user(format!("The conversation is {}, in this session.", shown(session)))
        }
        (text, None) => {
            CommandReply::refused(format!("\"{text}\" is not a number of tokens. Usage: /autocompact [auto|tokens]"))
        }
    }
}
