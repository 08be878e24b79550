//! The settings editor, and the two settings with a screen of their own: theme and output style. Values are checked and
//! written by `config`; a file that a session must not trust blindly takes effect as the engine says.

use super::{Errand, Panel, Subject, rules};
use crate::app::select::{Item, Typing};
use crate::app::spinner::faint;
use crate::app::{App, Effect, Motion};
use crate::diff;
use crate::editor::vim::Vim;
use crate::keys::Key;
use crate::keys::bindings::{Action, Context, Match};
use crate::markdown::Syntax;
use crate::style::Line;
use crate::text;
use crate::theme::{Base, Theme, Token};
use engine::screens::{FILES, Form, Setting};
use serde_json::Value;
use std::time::Duration;

const HINT: Duration = Duration::from_secs(6);
const LOCAL: &str = "localSettings";
const USER: &str = "userSettings";

/// A setting that is being changed.
#[derive(Clone, Debug)]
pub struct Chosen {
    pub setting: Setting,
    /// What its rows stand for; `None` takes the key out.
    values: Vec<Option<Value>>,
}

#[derive(Debug)]
pub struct Themes {
    pub before: Theme,
    /// Setting value and colours.
    all: Vec<(String, Theme)>,
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text::clean(text),
        other => text::clean(&other.to_string()),
    }
}

impl App {
    pub(in crate::app) fn open_settings(&mut self) {
        self.open_panel(Panel::waiting("Settings", Subject::Settings(Vec::new())));
        self.errand(Errand::Settings);
    }

    pub(super) fn settings_arrived(&mut self, settings: Vec<Setting>) {
        let row = |setting: &Setting| {
            let detail = match (&setting.value, setting.source) {
                (Some(value), Some(source)) => format!("{} ({})", shown(value), rules::place_name(source)),
                (Some(value), None) => shown(value),
                (None, _) => setting.about.trim().to_owned(),
            };
            Item::new(setting.key.clone(), detail)
        };
        let items = settings.iter().map(row).collect();
        let panel = Panel::list("Settings", items, Typing::Filters, Subject::Settings(settings))
            .keys("type to search · enter to change · esc to close");
        self.fill_list(|subject| matches!(subject, Subject::Settings(_)), panel);
    }

    pub(super) fn setting_about(&self, setting: &Setting) -> Vec<Line> {
        let theme = &self.preferences.theme;
        let form = match &setting.form {
            Form::Switch => "true or false".to_owned(),
            Form::OneOf(choices) => choices.join(", "),
            Form::Text => "a text".into(),
            Form::Number => "a number".into(),
            Form::File => "edited in its file".into(),
        };
        vec![faint(format!("  {} [{form}]", setting.about.trim()), theme)]
    }

    pub(super) fn setting_chosen(&mut self, item: usize) {
        let Some(Subject::Settings(rows)) = self.panels.last().map(|panel| &panel.subject) else { return };
        let Some(setting) = rows.get(item).cloned() else { return };
        if setting.files.is_empty() {
            return self.hint("Only an administrator can set this", HINT);
        }
        let values: Vec<Option<Value>> = match &setting.form {
            Form::Switch => vec![Some(true.into()), Some(false.into()), None],
            Form::OneOf(choices) => choices.iter().map(|choice| Some((*choice).into())).chain([None]).collect(),
            Form::Text | Form::Number => {
                let now = setting.value.as_ref().map(shown).unwrap_or_default();
                let title = setting.key.clone();
                let subject = Subject::SettingValue(Chosen { setting, values: Vec::new() });
                return self.open_panel(Panel::entry(title, "value", &now, subject));
            }
            Form::File => return self.place_setting(Chosen { setting, values: Vec::new() }, None),
        };
        let row = |value: &Option<Value>| match value {
            Some(value) => Item::new(shown(value), "").current(setting.value.as_ref() == Some(value)),
            None => Item::new("as it is by default", "take it out of the file"),
        };
        let items = values.iter().map(row).collect();
        let title = format!("{}: {}", setting.key, setting.about.trim());
        self.open_panel(Panel::list(title, items, Typing::Digits, Subject::Setting(Chosen { setting, values })));
    }

    pub(super) fn setting_value_chosen(&mut self, item: usize) {
        let Some(Panel { subject: Subject::Setting(chosen), .. }) = self.panels.pop() else { return };
        let Some(value) = chosen.values.get(item).cloned() else { return };
        self.place_setting(chosen, value);
    }

    pub(super) fn setting_written(&mut self, text: &str) {
        let Some(Panel { subject: Subject::SettingValue(chosen), .. }) = self.panels.pop() else { return };
        let value = match chosen.setting.form {
            Form::Number => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
            _ => Value::String(text.to_owned()),
        };
        self.place_setting(chosen, Some(value));
    }

    /// In which file?
    fn place_setting(&mut self, chosen: Chosen, value: Option<Value>) {
        let files = &chosen.setting.files;
        let item = |(file, about): &(&str, &str)| Item::new(*about, "").current(chosen.setting.source == Some(*file));
        let items = FILES.iter().filter(|(file, _)| files.contains(file)).map(item).collect();
        let title = match (&value, &chosen.setting.form) {
            (_, Form::File) => format!("Edit {} in the settings of", chosen.setting.key),
            (Some(value), _) => format!("Set {} to {} in", chosen.setting.key, shown(value)),
            (None, _) => format!("Take {} out of", chosen.setting.key),
        };
        self.open_panel(Panel::list(title, items, Typing::Digits, Subject::SettingPlace(chosen, value)));
    }

    pub(super) fn setting_placed(&mut self, item: usize) {
        let Some(Panel { subject: Subject::SettingPlace(chosen, value), .. }) = self.panels.pop() else { return };
        let files: Vec<&'static str> =
            FILES.iter().map(|(file, _)| *file).filter(|file| chosen.setting.files.contains(file)).collect();
        let Some(file) = files.get(item).copied() else { return };
        match chosen.setting.form {
            Form::File => {
                self.close_panels();
                self.errand(Errand::EditSettings(file));
            }
            Form::Switch | Form::OneOf(_) | Form::Text | Form::Number => {
                self.errand(Errand::Change { file, key: chosen.setting.key, value });
            }
        }
    }

    /// `/config key=value …`: into the user's file.
    pub(in crate::app) fn set_directly(&mut self, arguments: &str) {
        for pair in arguments.split_whitespace() {
            let Some((key, text)) = pair.split_once('=') else {
                return self.note("Usage: /config, or /config key=value", Token::Error);
            };
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
            self.errand(Errand::Change { file: USER, key: key.to_owned(), value: Some(value) });
        }
    }

    pub(super) fn setting_changed(&mut self, key: &str, value: Option<&Value>, outcome: Result<String, String>) {
        match outcome {
            Err(why) => self.note(&format!("{key} was not changed: {why}"), Token::Error),
            Ok(file) => {
                let value_is = value.map_or("taken out".to_owned(), |value| format!("set to {}", shown(value)));
                self.note(&format!("{key}: {value_is} ({file})"), Token::Inactive);
                self.apply_setting(key, value);
            }
        }
        if let Some(Subject::Settings(_)) = self.panels.last().map(|panel| &panel.subject) {
            self.errand(Errand::Settings);
        }
    }

    /// What changes in what is seen here and now.
    fn apply_setting(&mut self, key: &str, value: Option<&Value>) {
        match (key, value) {
            ("theme", value) => self.apply_theme(value.and_then(Value::as_str)),
            ("editorMode", value) => {
                self.preferences.vim = value.and_then(Value::as_str) == Some("vim");
                self.vim = self.preferences.vim.then(Vim::default);
            }
            ("prefersReducedMotion", value) => {
                let reduced = value.and_then(Value::as_bool) == Some(true);
                self.preferences.motion = if reduced { Motion::Reduced } else { Motion::Full };
            }
            _ => {}
        }
    }

    /// A theme of the person's own was put on when it was chosen.
    fn apply_theme(&mut self, name: Option<&str>) {
        self.follows_background = matches!(name, None | Some("auto"));
        if self.follows_background {
            self.effects.push(Effect::AskBackground);
        } else if let Some(base) = name.and_then(Base::parse) {
            self.preferences.theme = Theme::new(base);
        }
    }

    /// `/vim`
    pub(in crate::app) fn toggle_vim(&mut self) {
        let mode = if self.preferences.vim { "normal" } else { "vim" };
        self.errand(Errand::Change { file: USER, key: "editorMode".into(), value: Some(mode.into()) });
    }

    // Themes.

    pub(in crate::app) fn open_themes(&mut self) {
        let themes = Themes { before: self.preferences.theme.clone(), all: Vec::new() };
        self.open_panel(Panel::waiting("Theme", Subject::Themes(themes)));
        self.errand(Errand::Themes);
    }

    pub(super) fn themes_arrived(&mut self, files: Vec<(String, String)>) {
        let built_in = Base::ALL.iter().map(|base| (base.name().to_owned(), Theme::new(*base)));
        let own = files.into_iter().map(|(name, text)| (format!("custom:{name}"), Theme::parse(&text)));
        let follow = std::iter::once(("auto".to_owned(), self.preferences.theme.clone()));
        let all: Vec<(String, Theme)> = follow.chain(built_in).chain(own).collect();
        let now = if self.follows_background { "auto" } else { self.preferences.theme.base().name() };
        let item = |(name, _): &(String, Theme)| {
            let about = if name == "auto" { "follows the terminal's background" } else { "" };
            Item::new(name.clone(), about).current(name == now)
        };
        let items = all.iter().map(item).collect();
        let themes = Themes { before: self.preferences.theme.clone(), all };
        let syntax = self.preferences.bindings.keys_of(Action::SyntaxToggle).unwrap_or_default();
        let panel = Panel::list("Theme", items, Typing::Digits, Subject::Themes(themes))
            .keys(format!("enter to keep · {syntax} syntax colours · esc to leave it as it was"));
        self.fill_list(|subject| matches!(subject, Subject::Themes(_)), panel);
    }

    /// The row that is pointed at is seen at once.
    pub(super) fn theme_tried(&mut self) {
        let Some(panel) = self.panels.last() else { return };
        let (Subject::Themes(themes), super::Body::List(list)) = (&panel.subject, &panel.body) else { return };
        if let Some((_, theme)) = list.chosen().and_then(|item| themes.all.get(item)) {
            self.preferences.theme = theme.clone();
        }
    }

    pub(super) fn theme_chosen(&mut self, item: usize) {
        let Some(Panel { subject: Subject::Themes(themes), .. }) = self.panels.pop() else { return };
        let Some((name, theme)) = themes.all.get(item) else { return };
        self.preferences.theme = theme.clone();
        self.errand(Errand::Change { file: USER, key: "theme".into(), value: Some(Value::String(name.clone())) });
    }

    pub(super) fn theme_key(&mut self, key: Key) {
        if self.preferences.bindings.find(&[Context::ThemePicker], &[key]) == Match::Action(Action::SyntaxToggle) {
            self.preferences.syntax = match self.preferences.syntax {
                Syntax::Coloured => Syntax::Plain,
                Syntax::Plain => Syntax::Coloured,
            };
        }
    }

    pub(super) fn theme_sample(&self) -> Vec<Line> {
        let theme = &self.preferences.theme;
        let (old, new) = ("let answer = 41; // almost\n", "let answer = 42; // found\n");
        let columns = self.size.columns;
        let look = diff::Look { theme, columns, path: "a.rs", limit: 4 };
        diff::render(&diff::between(old, new, 1), &look)
    }

    // Output styles.

    pub(in crate::app) fn open_styles(&mut self) {
        let styles = self.session.styles.clone();
        let now = self.session.style.clone();
        let items = styles.iter().map(|name| Item::new(name.clone(), "").current(*name == now)).collect();
        let panel = Panel::list("Output style", items, Typing::Digits, Subject::Styles(styles));
        self.open_panel(panel.keys("enter to choose; it holds from the next conversation on (/clear) · esc to close"));
    }

    pub(super) fn style_chosen(&mut self, item: usize) {
        let Some(Subject::Styles(styles)) = self.panels.last().map(|panel| &panel.subject) else { return };
        let Some(name) = styles.get(item).cloned() else { return };
        self.close_panels();
        self.errand(Errand::Change { file: LOCAL, key: "outputStyle".into(), value: Some(Value::String(name)) });
    }

    /// A row of a list is chosen from outside: for commands that name it.
    pub(in crate::app) fn theme_named(&mut self, name: &str) {
        if name != "auto" && Base::parse(name).is_none() {
            return self.note(&format!("There is no theme {name}. /theme lists them."), Token::Error);
        }
        let value = Some(Value::String(name.to_owned()));
        self.errand(Errand::Change { file: USER, key: "theme".into(), value });
    }
}
