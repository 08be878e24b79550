//! `/model`, `/effort`, `/autocompact`: choices that hold for the session and are saved nowhere.

use super::Said;
use super::context_usage::thousands;
use crate::session::Session;
use model::Effort;
use std::fmt::Write;
use tokio_util::sync::CancellationToken;

/// `None` when the process must stop.
pub(super) async fn model(session: &mut Session, wanted: &str, token: &CancellationToken) -> Option<Said> {
    if wanted.is_empty() {
        let models = session.control.models();
        let listed = tokio::select! {
            listed = session.control.during(models) => listed?,
            () = token.cancelled() => return None,
        };
        let mut text = format!(
            "Model: {}. /model <name> switches it for this session: an alias (opus, sonnet, haiku, fable), an id, or \
             `default`.",
            session.context.model()
        );
        for model in listed {
            write!(text, "\n  {}: {} ({})", model.value, model.display_name, model.description).ok();
        }
        return Some(Said::shown(text));
    }
    if wanted.contains(char::is_whitespace) {
        return Some(Said::refused(format!("\"{wanted}\" is not the name of a model. Usage: /model <name>")));
    }
    let said = match session.switch_model(wanted, "command", token).await? {
        Ok(id) => {
            let known = if session.context.facts().known {
                ""
            } else {
                ". It is not a model gimlet knows; it is used as it is"
            };
            Said::shown(format!("Model set to {id} for this session{known}."))
        }
        Err(why) => Said::refused(why),
    };
    Some(said)
}

impl Session {
    /// Switches the model from the next request on; the id, or why not. Hooks may refuse. `None` when the process must stop.
    pub(crate) async fn switch_model(
        &mut self,
        wanted: &str,
        source: &'static str,
        token: &CancellationToken,
    ) -> Option<Result<String, String>> {
        let wish = if wanted.eq_ignore_ascii_case("default") {
            self.io.facts.default_model.clone()
        } else {
            wanted.to_owned()
        };
        let id = self.context.resolve(&wish);
        if let Some(why) = crate::open::model_refused(&self.io.watch.loaded.settings, &id) {
            return Some(Err(why));
        }
        let switch = self.describe_switch(&id, wanted, source);
        if switch.from_model == id {
            return Some(Ok(id));
        }
        if let Err(why) = self.before_switch(&switch, token).await? {
            return Some(Err(why));
        }
        self.context.set_model(id.clone());
        if let Some(again) = &self.again {
            self.context.set_system(again.system(&self.io.watch.loaded, &id));
        }
        self.after_switch(switch, token).await?;
        Some(Ok(id))
    }
}

pub(super) fn effort(session: &mut Session, wanted: &str) -> Said {
    let facts = session.context.facts();
    if facts.efforts.is_empty() {
        return Said::shown(format!("{} takes no effort level.", session.context.model()));
    }
    let names: Vec<&str> = facts.efforts.iter().map(|effort| effort.name()).collect();
    let status = |session: &Session| session.context.effort().unwrap_or("not chosen").to_owned();
    match wanted {
        "" | "status" => {
            Said::shown(format!("Effort: {}. Levels of this model: {}, auto.", status(session), names.join(", ")))
        }
        "auto" => {
            session.context.set_effort(None);
            Said::shown(format!("Effort is the model's own again: {}.", status(session)))
        }
        level => match Effort::parse(level) {
            Some(_) => {
                session.context.set_effort(Some(level.to_owned()));
                let now = status(session);
                let note =
                    if now == level { "" } else { " (the nearest this model has, or set by CLAUDE_CODE_EFFORT_LEVEL)" };
                Said::shown(format!("Effort set to {now}{note} for this session."))
            }
            None => {
                Said::refused(format!("\"{level}\" is not an effort level. Choose one of {}, auto.", names.join(", ")))
            }
        },
    }
}

pub(super) fn autocompact(session: &mut Session, wanted: &str) -> Said {
    let shown = |session: &mut Session| match session.context.window() {
        (window, Some(limit)) => {
            format!("summarised by itself at about {} of {} tokens", thousands(limit), thousands(window))
        }
        (_, None) => "not summarised by itself".to_owned(),
    };
    let number = wanted.trim_end_matches(['k', 'K']).parse::<u64>().ok();
    match (wanted, number) {
        ("", _) => Said::shown(format!("The conversation is {}.", shown(session))),
        ("auto", _) => {
            session.context.pressure().set_window(None);
            Said::shown(format!("The conversation is {}.", shown(session)))
        }
        (text, Some(number)) => {
            let tokens = if text.ends_with(['k', 'K']) { number * 1000 } else { number };
            session.context.pressure().set_window(Some(tokens));
            Said::shown(format!("The conversation is {}, in this session.", shown(session)))
        }
        (text, None) => Said::refused(format!("\"{text}\" is no number of tokens. Usage: /autocompact [auto|tokens]")),
    }
}
