//! The settings editor, and two settings with panels of their own: theme and output style. `config` checks and writes
//! the values; the engine decides when a settings file takes effect.

use super::{Panel, PanelJob, PanelSubject, rules};
use crate::app::select::{SelectItem, TypingMode};
use crate::app::spinner::faint;
use crate::app::{App, AppEffect, MotionLevel};
use crate::diff;
use engine::screens::{SETTINGS_FILES, SettingForm, SettingRow};
use serde_json::Value;
use std::time::Duration;
use terminal::editor::vim::Vim;
use terminal::keys::KeyPress;
use terminal::keys::bindings::{BindingMatch, KeyAction, KeyContext};
use terminal::markdown::SyntaxColouring;
use terminal::style::StyledLine;
use terminal::text;
use terminal::theme::{BaseTheme, Theme, ThemeToken};

const HINT_DURATION: Duration = Duration::from_secs(6);
const LOCAL_SETTINGS: &str = "localSettings";
const USER_SETTINGS: &str = "userSettings";

/// A setting being changed.
#[derive(Clone, Debug)]
pub struct SettingEdit {
    pub setting: SettingRow,
    /// The value of each row; `None` removes the key.
    values: Vec<Option<Value>>,
}

#[derive(Debug)]
pub struct ThemeList {
    pub before: Theme,
    /// The value of the setting and its colours.
    all: Vec<(String, Theme)>,
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text::clean(text),
        other => text::clean(&other.to_string()),
    }
}

pub(super) fn setting_about(setting: &SettingRow, theme: &Theme) -> Vec<StyledLine> {
    let form = match &setting.form {
        SettingForm::Switch => "true or false".to_owned(),
        SettingForm::OneOf(choices) => choices.join(", "),
        SettingForm::Text => "a text".into(),
        SettingForm::Number => "a number".into(),
        SettingForm::File => "edited in its file".into(),
    };
    vec![faint(format!("  {} [{form}]", setting.about.trim()), theme)]
}

/// A change in the colours of the theme.
pub(super) fn theme_sample(theme: &Theme, columns: usize) -> Vec<StyledLine> {
    let (old, new) = ("let answer = 41; // almost\n", "let answer = 42; // found\n");
    let look = diff::DiffOptions { theme, columns, path: "a.rs", limit: 4 };
    diff::render(&diff::diff_texts(old, new, 1), &look)
}

impl App {
    pub(in crate::app) fn open_settings(&mut self) {
        self.open_panel(Panel::waiting("Settings", PanelSubject::Settings(Vec::new())));
        self.start_panel_job(PanelJob::Settings);
    }

    pub(super) fn settings_arrived(&mut self, settings: Vec<SettingRow>) {
        let row = |setting: &SettingRow| {
            let detail = match (&setting.value, setting.source) {
                (Some(value), Some(source)) => format!("{} ({})", value_text(value), rules::place_name(source)),
                (Some(value), None) => value_text(value),
                (None, _) => setting.about.trim().to_owned(),
            };
            SelectItem::new(setting.key.clone(), detail)
        };
        let items = settings.iter().map(row).collect();
        let panel = Panel::list("Settings", items, TypingMode::Filters, PanelSubject::Settings(settings))
            .keys("type to search · enter to change · esc to close");
        self.fill_list(|subject| matches!(subject, PanelSubject::Settings(_)), panel);
    }

    pub(super) fn setting_chosen(&mut self, item: usize) {
        let Some(PanelSubject::Settings(rows)) = self.panel().map(|panel| &panel.subject) else { return };
        let Some(setting) = rows.get(item).cloned() else { return };
        if setting.files.is_empty() {
            return self.hint("Only an administrator can set this", HINT_DURATION);
        }
        let values: Vec<Option<Value>> = match &setting.form {
            SettingForm::Switch => vec![Some(true.into()), Some(false.into()), None],
            SettingForm::OneOf(choices) => choices.iter().map(|choice| Some((*choice).into())).chain([None]).collect(),
            SettingForm::Text | SettingForm::Number => {
                let now = setting.value.as_ref().map(value_text).unwrap_or_default();
                let title = setting.key.clone();
                let subject = PanelSubject::SettingValue(SettingEdit { setting, values: Vec::new() });
                return self.open_panel(Panel::entry(title, "value", &now, subject));
            }
            SettingForm::File => return self.choose_setting_file(SettingEdit { setting, values: Vec::new() }, None),
        };
        let row = |value: &Option<Value>| match value {
            Some(value) => SelectItem::new(value_text(value), "").current(setting.value.as_ref() == Some(value)),
            None => SelectItem::new("as it is by default", "take it out of the file"),
        };
        let items = values.iter().map(row).collect();
        let title = format!("{}: {}", setting.key, setting.about.trim());
        self.open_panel(Panel::list(
            title,
            items,
            TypingMode::Digits,
            PanelSubject::Setting(SettingEdit { setting, values }),
        ));
    }

    pub(super) fn setting_value_chosen(&mut self, item: usize) {
        let Some(PanelSubject::Setting(chosen)) = self.pop_panel() else { return };
        let Some(value) = chosen.values.get(item).cloned() else { return };
        self.choose_setting_file(chosen, value);
    }

    pub(super) fn setting_written(&mut self, text: &str) {
        let Some(PanelSubject::SettingValue(chosen)) = self.pop_panel() else { return };
        let value = match chosen.setting.form {
            SettingForm::Number => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
            _ => Value::String(text.to_owned()),
        };
        self.choose_setting_file(chosen, Some(value));
    }

    /// Asks which file the value is written to.
    fn choose_setting_file(&mut self, chosen: SettingEdit, value: Option<Value>) {
        let files = &chosen.setting.files;
        let item =
            |(file, about): &(&str, &str)| SelectItem::new(*about, "").current(chosen.setting.source == Some(*file));
        let items = SETTINGS_FILES.iter().filter(|(file, _)| files.contains(file)).map(item).collect();
        let title = match (&value, &chosen.setting.form) {
            (_, SettingForm::File) => format!("Edit {} in the settings of", chosen.setting.key),
            (Some(value), _) => format!("Set {} to {} in", chosen.setting.key, value_text(value)),
            (None, _) => format!("Take {} out of", chosen.setting.key),
        };
        self.open_panel(Panel::list(title, items, TypingMode::Digits, PanelSubject::SettingPlace(chosen, value)));
    }

    pub(super) fn setting_file_chosen(&mut self, item: usize) {
        let Some(PanelSubject::SettingPlace(chosen, value)) = self.pop_panel() else { return };
        let files: Vec<&'static str> =
            SETTINGS_FILES.iter().map(|(file, _)| *file).filter(|file| chosen.setting.files.contains(file)).collect();
        let Some(file) = files.get(item).copied() else { return };
        match chosen.setting.form {
            SettingForm::File => {
                self.close_panels();
                self.start_panel_job(PanelJob::EditSettings(file));
            }
            SettingForm::Switch | SettingForm::OneOf(_) | SettingForm::Text | SettingForm::Number => {
                self.start_panel_job(PanelJob::Change { file, key: chosen.setting.key, value });
            }
        }
    }

    /// `/config key=value …`: writes to the user's file.
    pub(in crate::app) fn set_directly(&mut self, arguments: &str) {
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
                let value_is = value.map_or("taken out".to_owned(), |value| format!("set to {}", value_text(value)));
                self.note(&format!("{key}: {value_is} ({file})"), ThemeToken::Inactive);
                self.apply_setting(key, value);
            }
        }
        if let Some(PanelSubject::Settings(_)) = self.panel().map(|panel| &panel.subject) {
            self.start_panel_job(PanelJob::Settings);
        }
    }

    /// Applies a changed setting to the interface.
    fn apply_setting(&mut self, key: &str, value: Option<&Value>) {
        match (key, value) {
            ("theme", value) => self.apply_theme(value.and_then(Value::as_str)),
            ("editorMode", value) => {
                self.preferences.vim = value.and_then(Value::as_str) == Some("vim");
                self.vim = self.preferences.vim.then(Vim::default);
            }
            ("prefersReducedMotion", value) => {
                let reduced = value.and_then(Value::as_bool) == Some(true);
                self.preferences.motion = if reduced { MotionLevel::Reduced } else { MotionLevel::Full };
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
    pub(in crate::app) fn toggle_vim(&mut self) {
        let mode = if self.preferences.vim { "normal" } else { "vim" };
        self.start_panel_job(PanelJob::Change {
            file: USER_SETTINGS,
            key: "editorMode".into(),
            value: Some(mode.into()),
        });
    }

    // Themes.

    pub(in crate::app) fn open_themes(&mut self) {
        let themes = ThemeList { before: self.preferences.theme.clone(), all: Vec::new() };
        self.open_panel(Panel::waiting("Theme", PanelSubject::Themes(themes)));
        self.start_panel_job(PanelJob::Themes);
    }

    pub(super) fn themes_arrived(&mut self, files: Vec<(String, String)>) {
        let built_in = BaseTheme::ALL.iter().map(|base| (base.name().to_owned(), Theme::new(*base)));
        let own = files.into_iter().map(|(name, text)| (format!("custom:{name}"), Theme::parse(&text)));
        let follow = std::iter::once(("auto".to_owned(), self.preferences.theme.clone()));
        let all: Vec<(String, Theme)> = follow.chain(built_in).chain(own).collect();
        let now = if self.follows_background { "auto" } else { self.preferences.theme.base().name() };
        let item = |(name, _): &(String, Theme)| {
            let about = if name == "auto" { "follows the terminal's background" } else { "" };
            SelectItem::new(name.clone(), about).current(name == now)
        };
        let items = all.iter().map(item).collect();
        let themes = ThemeList { before: self.preferences.theme.clone(), all };
        let syntax = self.preferences.bindings.keys_of(KeyAction::SyntaxToggle).unwrap_or_default();
        let panel = Panel::list("Theme", items, TypingMode::Digits, PanelSubject::Themes(themes))
            .keys(format!("enter to keep · {syntax} syntax colours · esc to leave it as it was"));
        self.fill_list(|subject| matches!(subject, PanelSubject::Themes(_)), panel);
    }

    /// Shows the theme of the selected row.
    pub(super) fn preview_theme(&mut self) {
        let Some(panel) = self.panel() else { return };
        let (PanelSubject::Themes(themes), super::PanelBody::List(list)) = (&panel.subject, &panel.body) else {
            return;
        };
        if let Some((_, theme)) = list.chosen().and_then(|item| themes.all.get(item)) {
            self.preferences.theme = theme.clone();
        }
    }

    pub(super) fn theme_chosen(&mut self, item: usize) {
        let Some(PanelSubject::Themes(themes)) = self.pop_panel() else { return };
        let Some((name, theme)) = themes.all.get(item) else { return };
        self.preferences.theme = theme.clone();
        self.start_panel_job(PanelJob::Change {
            file: USER_SETTINGS,
            key: "theme".into(),
            value: Some(Value::String(name.clone())),
        });
    }

    pub(super) fn theme_key(&mut self, key: KeyPress) {
        if self.preferences.bindings.find(&[KeyContext::ThemePicker], &[key])
            == BindingMatch::KeyAction(KeyAction::SyntaxToggle)
        {
            self.preferences.syntax = match self.preferences.syntax {
                SyntaxColouring::Coloured => SyntaxColouring::Plain,
                SyntaxColouring::Plain => SyntaxColouring::Coloured,
            };
        }
    }

    // Output styles.

    pub(in crate::app) fn open_styles(&mut self) {
        let styles = self.session.styles.clone();
        let now = self.session.style.clone();
        let items = styles.iter().map(|name| SelectItem::new(name.clone(), "").current(*name == now)).collect();
        let panel = Panel::list("Output style", items, TypingMode::Digits, PanelSubject::Styles(styles));
        self.open_panel(panel.keys("enter to choose; it holds from the next conversation on (/clear) · esc to close"));
    }

    pub(super) fn style_chosen(&mut self, item: usize) {
        let Some(PanelSubject::Styles(styles)) = self.panel().map(|panel| &panel.subject) else { return };
        let Some(name) = styles.get(item).cloned() else { return };
        self.close_panels();
        self.start_panel_job(PanelJob::Change {
            file: LOCAL_SETTINGS,
            key: "outputStyle".into(),
            value: Some(Value::String(name)),
        });
    }

    /// `/theme NAME`: sets the theme without opening the list.
    pub(in crate::app) fn theme_named(&mut self, name: &str) {
        if name != "auto" && BaseTheme::parse(name).is_none() {
            return self.note(&format!("There is no theme {name}. /theme lists them."), ThemeToken::Error);
        }
        let value = Some(Value::String(name.to_owned()));
        self.start_panel_job(PanelJob::Change { file: USER_SETTINGS, key: "theme".into(), value });
    }
}
