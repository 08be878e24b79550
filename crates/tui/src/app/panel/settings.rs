//! The settings editor, and output styles. `config` checks and writes the values; the engine decides when a settings
//! file takes effect.

use super::{
    Panel, PanelContent, PanelFrame, PanelJob, PanelJobResult, PanelNews, PanelReaction, PanelSource, rules,
    setting_names,
};
use crate::app::layers::effects::LayerEffect;
use crate::app::layers::{LayerRank, LayerView};
use crate::app::select::{SelectItem, TypingMode};
use crate::app::session::SessionDisplay;
use crate::app::spinner::faint;
use crate::app::tools;
use engine::screens::{SETTINGS_FILES, SettingForm, SettingRow};
use serde_json::Value;
use std::time::Duration;
use terminal::keys::{KeyCode, KeyPress};
use terminal::style::StyledLine;
use terminal::text;
use terminal::theme::ThemeToken;

const TITLE: &str = "Settings";
const HINT_DURATION: Duration = Duration::from_secs(6);

/// A value as it is shown.
pub(in crate::app) fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text::clean(text),
        other => text::clean(&other.to_string()),
    }
}

#[derive(Debug, Default)]
pub struct SettingList {
    rows: Vec<SettingRow>,
}

impl SettingList {
    pub fn panel() -> Panel {
        PanelFrame::waiting(TITLE).with(Self::default())
    }

    fn fill(&mut self, settings: &[SettingRow]) -> PanelFrame {
        self.rows = settings.to_vec();
        sys::compact_sort::sort_by_key(&mut self.rows, |row| (row.no_effect.is_some(), setting_names::place(&row.key)));
        let item = |setting: &SettingRow| {
            let (value, source) = shown_value(setting);
            SelectItem::new(setting_names::name(&setting.key), source)
                .value(value)
                .search(setting.key.clone())
                .dimmed(setting.no_effect.is_some())
        };
        PanelFrame::list(TITLE, self.rows.iter().map(item).collect(), TypingMode::Filters)
            .counted("setting")
            .keys("enter to change · tab to choose where · del for the default · esc to close")
    }

    /// Opens the values of a setting, or the line to type one.
    fn open(setting: SettingRow) -> Vec<LayerEffect> {
        if let SettingForm::Text | SettingForm::Number = setting.form {
            let now = setting.value.as_ref().map(value_text).unwrap_or_default();
            let frame = PanelFrame::entry(setting_names::name(&setting.key), "Value", &now);
            return vec![LayerEffect::OpenPanel(frame.with(SettingEntry { setting }))];
        }
        let choices: Vec<Value> = match &setting.form {
            SettingForm::Switch => vec![true.into(), false.into()],
            SettingForm::OneOf(choices) => choices.iter().map(|choice| (*choice).into()).collect(),
            SettingForm::Text | SettingForm::Number | SettingForm::File => {
                return vec![LayerEffect::OpenPanel(SettingPlace::panel(setting, None))];
            }
        };
        let values: Vec<Option<Value>> = choices.into_iter().map(Some).chain([None]).collect();
        let row = |value: &Option<Value>| match value {
            Some(value) => SelectItem::new(state_text(value), "").current(setting.value.as_ref() == Some(value)),
            None => SelectItem::new("Default", "removes it from the file").current(setting.value.is_none()),
        };
        let items = values.iter().map(row).collect();
        let frame = PanelFrame::list(setting_names::name(&setting.key), items, TypingMode::Digits);
        vec![LayerEffect::OpenPanel(frame.with(SettingValues { setting, values }))]
    }

    /// The setting of a row, when it can be changed here; otherwise why not.
    fn changeable(&self, item: usize) -> Result<SettingRow, Vec<LayerEffect>> {
        let Some(setting) = self.rows.get(item).cloned() else { return Err(Vec::new()) };
        let why = match (setting.no_effect, setting.files.is_empty(), setting.source) {
            (Some(why), _, _) => format!("This has no effect: {why}"),
            (None, true, _) => "Only an administrator can set this".to_owned(),
            (None, false, Some("policySettings")) => "The administrator has set this".to_owned(),
            (None, false, Some("flagSettings")) => "The command line has set this for this session".to_owned(),
            (None, false, _) => return Ok(setting),
        };
        Err(vec![LayerEffect::Hint(why, HINT_DURATION)])
    }
}

/// A state as it is shown: switches are on or off.
fn state_text(value: &Value) -> String {
    match value {
        Value::Bool(true) => "on".into(),
        Value::Bool(false) => "off".into(),
        Value::Array(all) => format!("{} {}", all.len(), tools::count_word(all.len(), "entry", "entries")),
        Value::Object(all) => format!("{} {}", all.len(), tools::count_word(all.len(), "entry", "entries")),
        other => value_text(other),
    }
}

/// The value of a setting and where it comes from.
fn shown_value(setting: &SettingRow) -> (String, &'static str) {
    match (&setting.value, setting.no_effect) {
        (None, Some(_)) => (String::new(), "no effect"),
        (Some(value), Some(_)) => (state_text(value), "no effect"),
        (Some(value), None) => (state_text(value), setting.source.map_or("", rules::source_name)),
        (None, None) => match setting_names::default_state(&setting.key) {
            Some(state) => (state_text(&state.into()), "default"),
            None => ("default".into(), ""),
        },
    }
}

/// The file that a change is written to without asking: the one the value comes from, except that what a project
/// shares is overridden for this person only.
fn usual_file(setting: &SettingRow) -> Option<&'static str> {
    let wanted = match setting.source {
        Some("localSettings" | "projectSettings") => "localSettings",
        Some(_) | None => "userSettings",
    };
    let own = setting.files.iter().find(|file| **file == wanted).or_else(|| setting.files.first());
    own.copied()
}

/// The value after Enter, for settings that are switched in place.
fn next_value(setting: &SettingRow) -> Option<Value> {
    match (&setting.form, &setting.value) {
        (SettingForm::Switch, Some(value)) => Some(Value::Bool(value != &Value::Bool(true))),
        (SettingForm::Switch, None) => Some(Value::Bool(!setting_names::default_state(&setting.key).unwrap_or(false))),
        (SettingForm::OneOf([one, two]), value) => {
            let now = value.as_ref().and_then(Value::as_str).unwrap_or(one);
            Some(Value::from(if now == *two { *one } else { *two }))
        }
        (SettingForm::OneOf(_) | SettingForm::Text | SettingForm::Number | SettingForm::File, _) => None,
    }
}

fn change(setting: &SettingRow, value: Option<Value>) -> Vec<LayerEffect> {
    let Some(file) = usual_file(setting) else { return Vec::new() };
    vec![LayerEffect::Job(PanelJob::Change { file, key: setting.key.clone(), value })]
}

impl PanelContent for SettingList {
    fn source(&self) -> Option<PanelSource> {
        Some(PanelSource::Job(PanelJob::Settings))
    }

    fn receive(&mut self, news: &PanelNews, _: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::Job(PanelJobResult::Settings(Ok(rows))) => PanelReaction::show(self.fill(rows)),
            PanelNews::SettingChanged => PanelReaction::AskAgain,
            _ => PanelReaction::Ignored,
        }
    }

    /// Switches in place, or opens the values.
    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        match self.changeable(item) {
            Err(effects) => effects,
            Ok(setting) => match next_value(&setting) {
                Some(value) => change(&setting, Some(value)),
                None => Self::open(setting),
            },
        }
    }

    fn key(&mut self, key: KeyPress, item: Option<usize>, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let Some(item) = item else { return Vec::new() };
        match (key.code, self.changeable(item)) {
            (KeyCode::Tab, Ok(setting)) => Self::open(setting),
            (KeyCode::Delete, Ok(setting)) if setting.value.is_some() => {
                let from = setting.source.filter(|source| setting.files.contains(source));
                let Some(file) = from.or_else(|| usual_file(&setting)) else { return Vec::new() };
                vec![LayerEffect::Job(PanelJob::Change { file, key: setting.key, value: None })]
            }
            (KeyCode::Tab | KeyCode::Delete, Err(effects)) => effects,
            _ => Vec::new(),
        }
    }

    /// What the setting does; then its key and the values it takes.
    fn details(&self, item: Option<usize>, view: &LayerView<'_>) -> Vec<StyledLine> {
        let Some(setting) = item.and_then(|item| self.rows.get(item)) else { return Vec::new() };
        let form = match &setting.form {
            SettingForm::Switch => "true or false".to_owned(),
            SettingForm::OneOf(choices) => choices.join(", "),
            SettingForm::Text => "a text".into(),
            SettingForm::Number => "a number".into(),
            SettingForm::File => "edit in its file".into(),
        };
        let (theme, columns) = (&view.preferences.theme, view.size.columns);
        let about = match setting.no_effect {
            Some(why) => format!("  No effect: {why}"),
            None => format!("  {}", setting.about.trim()),
        };
        let key = StyledLine::styled(format!("  {}", setting.key), theme.fg(ThemeToken::Suggestion));
        vec![faint(about, theme).truncated(columns), key.and_line(faint(format!("  {form}"), theme)).truncated(columns)]
    }
}

/// The values a setting can have.
#[derive(Debug)]
struct SettingValues {
    setting: SettingRow,
    /// The value of each row; `None` removes the key.
    values: Vec<Option<Value>>,
}

impl PanelContent for SettingValues {
    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let mut effects = vec![LayerEffect::Close];
        let value = self.values.get(item).cloned();
        effects.extend(value.map(|value| LayerEffect::OpenPanel(SettingPlace::panel(self.setting.clone(), value))));
        effects
    }
}

/// A value that is typed.
#[derive(Debug)]
struct SettingEntry {
    setting: SettingRow,
}

impl PanelContent for SettingEntry {
    fn submit(&mut self, text: &str, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let value = match self.setting.form {
            SettingForm::Number => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
            _ => Value::String(text.to_owned()),
        };
        let place = SettingPlace::panel(self.setting.clone(), Some(value));
        vec![LayerEffect::Close, LayerEffect::OpenPanel(place)]
    }

    fn details(&self, _: Option<usize>, view: &LayerView<'_>) -> Vec<StyledLine> {
        vec![faint(format!("  {}", self.setting.about.trim()), &view.preferences.theme)]
    }
}

/// Which file a value is written to.
#[derive(Debug)]
struct SettingPlace {
    setting: SettingRow,
    value: Option<Value>,
}

impl SettingPlace {
    fn panel(setting: SettingRow, value: Option<Value>) -> Panel {
        let item = |(file, about): &(&str, &str)| SelectItem::new(*about, "").current(setting.source == Some(*file));
        let items = SETTINGS_FILES.iter().filter(|(file, _)| setting.files.contains(file)).map(item).collect();
        let name = setting_names::name(&setting.key);
        let title = match (&value, &setting.form) {
            (_, SettingForm::File) => format!("{name}: edit in the settings for"),
            (Some(value), _) => format!("{name}: set to {} for", state_text(value)),
            (None, _) => format!("{name}: use the default for"),
        };
        PanelFrame::list(title, items, TypingMode::Digits).with(Self { setting, value })
    }
}

impl PanelContent for SettingPlace {
    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let mut files = SETTINGS_FILES.iter().map(|(file, _)| *file).filter(|file| self.setting.files.contains(file));
        let Some(file) = files.nth(item) else { return vec![LayerEffect::Close] };
        match self.setting.form {
            SettingForm::File => {
                vec![LayerEffect::Dismiss(LayerRank::Panel), LayerEffect::Job(PanelJob::EditSettings(file))]
            }
            SettingForm::Switch | SettingForm::OneOf(_) | SettingForm::Text | SettingForm::Number => {
                let (key, value) = (self.setting.key.clone(), self.value.take());
                vec![LayerEffect::Close, LayerEffect::Job(PanelJob::Change { file, key, value })]
            }
        }
    }
}

/// `/output-style`
#[derive(Debug)]
pub struct StyleList {
    names: Vec<String>,
}

impl StyleList {
    pub fn panel(session: &SessionDisplay) -> Panel {
        let item = |name: &String| SelectItem::new(name.clone(), "").current(*name == session.style);
        PanelFrame::list("Output style", session.styles.iter().map(item).collect(), TypingMode::Digits)
            .keys("enter to choose, from the next session on (/clear) · esc to close")
            .with(Self { names: session.styles.clone() })
    }
}

impl PanelContent for StyleList {
    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let Some(name) = self.names.get(item).cloned() else { return Vec::new() };
        let value = Some(Value::String(name));
        let job = PanelJob::Change { file: "localSettings", key: "outputStyle".into(), value };
        vec![LayerEffect::Dismiss(LayerRank::Panel), LayerEffect::Job(job)]
    }
}
