//! Interface settings from all settings files. The engine is asked once the session is open, because only it knows
//! which files apply. Settings needed before the first frame were read from the user's file.

use super::spinner::{RunningTurn, TurnWait};
use super::{App, MotionLevel};
use crate::notify::AlertChannel;
use serde_json::Value;
use wire::control::HostRequest;

#[derive(Debug, Default)]
pub struct InterfaceSettings {
    request_id: Option<String>,
    /// Verbs of the user for the spinner line.
    verbs: Vec<String>,
    /// The verbs are added to the built-in ones instead of replacing them.
    adds_verbs: bool,
}

impl InterfaceSettings {
    /// The user's verb for this turn; `None` when the built-in text applies.
    pub fn verb(&self, turn: &RunningTurn) -> Option<&str> {
        if self.verbs.is_empty() || !matches!(turn.waits, TurnWait::Model | TurnWait::Thinking | TurnWait::Writing) {
            return None;
        }
        let choices = self.verbs.len() + usize::from(self.adds_verbs);
        let at = (turn.started.as_millis() as usize / 7) % choices;
        self.verbs.get(at).map(String::as_str)
    }

    fn read_verbs(&mut self, value: &Value) {
        let words = value.get("verbs").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let clean = |word: &Value| {
            let word = terminal::text::clean(word.as_str()?).replace('\n', " ");
            let word = word.trim().trim_end_matches('…').to_owned();
            (!word.is_empty()).then_some(word)
        };
        self.verbs = words.iter().filter_map(clean).collect();
        self.adds_verbs = value.get("mode").and_then(Value::as_str) != Some("replace");
    }
}

impl App {
    pub(super) fn request_settings(&mut self) {
        self.interface_settings.request_id = Some(self.send_control_request(HostRequest::GetSettings));
    }

    /// Applies the answer of `get_settings`; `false` when `request_id` is another request.
    pub(super) fn receive_settings(&mut self, request_id: &str, body: &Value) -> bool {
        if self.interface_settings.request_id.take_if(|asked| asked == request_id).is_none() {
            return false;
        }
        let Some(settings) = body.get("effective") else { return true };
        let flag = |name: &str| settings.get(name).and_then(Value::as_bool);
        let channel = settings.get("preferredNotifChannel").and_then(Value::as_str).and_then(AlertChannel::parse);
        self.preferences.channel = channel.unwrap_or(self.preferences.channel);
        self.preferences.progress = flag("terminalProgressBarEnabled").unwrap_or(self.preferences.progress);
        if let Some(reduced) = flag("prefersReducedMotion") {
            self.preferences.motion = if reduced { MotionLevel::Reduced } else { MotionLevel::Full };
        }
        if settings.get("statusLine").is_some() {
            self.status.schedule_now(self.now);
        }
        if let Some(verbs) = settings.get("spinnerVerbs") {
            self.interface_settings.read_verbs(verbs);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;

    #[test]
    fn words_of_the_person_stand_beside_or_in_the_place_of_ours() {
        let mut wishes = InterfaceSettings::default();
        let mut turn = RunningTurn::new(Duration::ZERO);
        assert_eq!(wishes.verb(&turn), None);
        wishes.read_verbs(&json!({"mode": "replace", "verbs": ["Brewing…", "", "\u{1b}[2JPondering"]}));
        assert_eq!(wishes.verbs, ["Brewing", "Pondering"]);
        assert_eq!(wishes.verb(&turn), Some("Brewing"));
        turn.started = Duration::from_millis(7);
        assert_eq!(wishes.verb(&turn), Some("Pondering"));
        turn.waits = TurnWait::Tool("Bash".into());
        assert_eq!(wishes.verb(&turn), None);
        wishes.read_verbs(&json!({"verbs": ["Brewing"]}));
        turn.waits = TurnWait::Model;
        assert_eq!(wishes.verb(&turn), None, "one of the choices is ours");
    }
}
