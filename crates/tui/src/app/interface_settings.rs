//! Interface settings from all settings files. The engine is asked once the session is open, because only it knows
//! which files apply. Settings needed before the first frame were read from the user's file. A setting changed here
//! applies at once.

use super::focus::{self, ViewMode};
use super::panel::settings::{SettingList, value_text};
use super::panel::{Panel, PanelJob, PanelNews};
use super::spinner::{RunningTurn, TurnWait};
use super::{App, AppEffect, MotionLevel};
use crate::notify::AlertChannel;
use serde_json::Value;
use std::time::Duration;
use terminal::markdown::ProseWrap;
use terminal::theme::{BaseTheme, Theme, ThemeToken};
use wire::control::HostRequest;

const USER_SETTINGS: &str = "userSettings";
/// How long a change is confirmed on the settings screen.
const CHANGE_HINT: Duration = Duration::from_secs(4);

#[derive(Debug, Default)]
pub struct InterfaceSettings {
    pub(super) request_id: Option<String>,
    /// Verbs of the user for the spinner line.
    verbs: Vec<String>,
    /// The verbs are added to the built-in ones instead of replacing them.
    adds_verbs: bool,
    /// A command may have changed what the engine said; it is asked again after the turn.
    pub(in crate::app) are_outdated: bool,
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
        self.session.apply_shown(body);
        self.print_complete_banner();
        let Some(settings) = body.get("effective") else { return true };
        let flag = |name: &str| settings.get(name).and_then(Value::as_bool);
        let channel = settings.get("preferredNotifChannel").and_then(Value::as_str).and_then(AlertChannel::parse);
        self.preferences.channel = channel.unwrap_or(self.preferences.channel);
        self.preferences.progress = flag("terminalProgressBarEnabled").unwrap_or(self.preferences.progress);
        if let Some(reduced) = flag("prefersReducedMotion") {
            self.preferences.motion = if reduced { MotionLevel::Reduced } else { MotionLevel::Full };
        }
        if let Some(wrap) = settings.get("wrap").and_then(Value::as_str).and_then(ProseWrap::parse) {
            self.preferences.wrap = wrap;
        }
        if self.preferences.follows_view_setting {
            self.preferences.view = ViewMode::of_settings(settings);
        }
        self.preferences.shows_turn_line = flag("showTurnDuration").unwrap_or(self.preferences.shows_turn_line);
        if settings.get("statusLine").is_some() {
            self.status.schedule_now(self.now);
        }
        if let Some(verbs) = settings.get("spinnerVerbs") {
            self.interface_settings.read_verbs(verbs);
        }
        true
    }

    /// `/config key=value …`: writes to the user's file.
    pub(super) fn set_directly(&mut self, arguments: &str) {
        for pair in arguments.split_whitespace() {
            let Some((key, text)) = pair.split_once('=') else {
                return self.note("Usage: /config, or /config key=value", ThemeToken::Error);
            };
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
            self.start_panel_job(PanelJob::Change { file: USER_SETTINGS, key: key.to_owned(), value: Some(value) });
        }
    }

    pub(super) fn setting_changed(&mut self, key: &str, value: Option<&Value>, outcome: Result<String, String>) {
        match outcome {
            Err(why) => self.note(&format!("{key} was not changed: {why}"), ThemeToken::Error),
            Ok(file) => {
                let value_is =
                    value.map_or("back to the default".to_owned(), |value| format!("set to {}", value_text(value)));
                let text = format!("{key}: {value_is} ({file})");
                // The settings screen shows the new value itself; a switch of the view says what it means.
                let is_shown = self.layers.find::<Panel>().is_some_and(Panel::is_about::<SettingList>);
                if is_shown {
                    self.hint(text, CHANGE_HINT);
                } else if key != focus::SETTING {
                    self.note(&text, ThemeToken::Inactive);
                }
                self.apply_setting(key, value);
            }
        }
        self.update_panels(&PanelNews::SettingChanged);
    }

    /// Applies a changed setting to the interface.
    fn apply_setting(&mut self, key: &str, value: Option<&Value>) {
        match (key, value) {
            ("theme", value) => self.apply_theme(value.and_then(Value::as_str)),
            ("editorMode", value) => {
                self.preferences.vim = value.and_then(Value::as_str) == Some("vim");
                self.prompt.set_vim(self.preferences.vim);
            }
            ("prefersReducedMotion", value) => {
                let reduced = value.and_then(Value::as_bool) == Some(true);
                self.preferences.motion = if reduced { MotionLevel::Reduced } else { MotionLevel::Full };
            }
            ("showTurnDuration", value) => {
                self.preferences.shows_turn_line = value.and_then(Value::as_bool) != Some(false);
            }
            (focus::SETTING, value) => {
                self.set_view(value.and_then(Value::as_str).and_then(ViewMode::parse).unwrap_or_default());
            }
            ("wrap", value) => {
                let wrap = value.and_then(Value::as_str).and_then(ProseWrap::parse);
                self.preferences.wrap = wrap.unwrap_or(ProseWrap::Words);
            }
            _ => {}
        }
    }

    /// Applies a theme setting. A custom theme was already applied when it was chosen.
    fn apply_theme(&mut self, name: Option<&str>) {
        self.follows_background = matches!(name, None | Some("auto"));
        if self.follows_background {
            self.effects.push(AppEffect::AskBackground);
        } else if let Some(base) = name.and_then(BaseTheme::parse) {
            self.preferences.theme = Theme::new(base);
        }
    }

    /// `/vim`: switches the editor mode.
    pub(super) fn toggle_vim(&mut self) {
        let mode = if self.preferences.vim { "normal" } else { "vim" };
        self.start_panel_job(PanelJob::Change {
            file: USER_SETTINGS,
            key: "editorMode".into(),
            value: Some(mode.into()),
        });
    }

    /// `/theme NAME`: sets the theme without opening the list.
    pub(super) fn theme_named(&mut self, name: &str) {
        if name != "auto" && BaseTheme::parse(name).is_none() {
            return self.note(&format!("No theme {name}. /theme lists them."), ThemeToken::Error);
        }
        let value = Some(Value::String(name.to_owned()));
        self.start_panel_job(PanelJob::Change { file: USER_SETTINGS, key: "theme".into(), value });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_of_the_person_stand_beside_or_in_the_place_of_ours() {
        let mut interface = InterfaceSettings::default();
        let mut turn = RunningTurn::new(Duration::ZERO);
        assert_eq!(interface.verb(&turn), None);
        interface.read_verbs(&json!({"mode": "replace", "verbs": ["Brewing…", "", "\u{1b}[2JPondering"]}));
        assert_eq!(interface.verbs, ["Brewing", "Pondering"]);
        assert_eq!(interface.verb(&turn), Some("Brewing"));
        turn.started = Duration::from_millis(7);
        assert_eq!(interface.verb(&turn), Some("Pondering"));
        turn.waits = TurnWait::Tool("Bash".into());
        assert_eq!(interface.verb(&turn), None);
        interface.read_verbs(&json!({"verbs": ["Brewing"]}));
        turn.waits = TurnWait::Model;
        assert_eq!(interface.verb(&turn), None, "one of the choices is ours");
    }
}
