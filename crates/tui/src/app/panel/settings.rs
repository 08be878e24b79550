//! The settings editor, and output styles. `config` checks and writes the values; the engine decides when a settings
//! file takes effect.

use super::{Panel, PanelContent, PanelFrame, PanelJob, PanelJobResult, PanelNews, PanelReaction, PanelSource, rules};
use crate::app::layers::effects::LayerEffect;
use crate::app::layers::{LayerRank, LayerView};
use crate::app::select::{SelectItem, TypingMode};
use crate::app::session::SessionDisplay;
use crate::app::spinner::faint;
use engine::screens::{SETTINGS_FILES, SettingForm, SettingRow};
use serde_json::Value;
use std::time::Duration;
use terminal::style::StyledLine;
use terminal::text;

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
        let row = |setting: &SettingRow| {
            let detail = match (&setting.value, setting.source) {
                (Some(value), Some(source)) => format!("{} ({})", value_text(value), rules::place_name(source)),
                (Some(value), None) => value_text(value),
                (None, _) => setting.about.trim().to_owned(),
            };
            SelectItem::new(setting.key.clone(), detail)
        };
        self.rows = settings.to_vec();
        PanelFrame::list(TITLE, settings.iter().map(row).collect(), TypingMode::Filters)
            .keys("type to search · enter to change · esc to close")
    }
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

    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let Some(setting) = self.rows.get(item).cloned() else { return Vec::new() };
        if setting.files.is_empty() {
            return vec![LayerEffect::Hint("Only an administrator can set this".into(), HINT_DURATION)];
        }
        let values: Vec<Option<Value>> = match &setting.form {
            SettingForm::Switch => vec![Some(true.into()), Some(false.into()), None],
            SettingForm::OneOf(choices) => choices.iter().map(|choice| Some((*choice).into())).chain([None]).collect(),
            SettingForm::Text | SettingForm::Number => {
                let now = setting.value.as_ref().map(value_text).unwrap_or_default();
                let frame = PanelFrame::entry(setting.key.clone(), "value", &now);
                return vec![LayerEffect::OpenPanel(frame.with(SettingEntry { setting }))];
            }
            SettingForm::File => return vec![LayerEffect::OpenPanel(SettingPlace::panel(setting, None))],
        };
        let row = |value: &Option<Value>| match value {
            Some(value) => SelectItem::new(value_text(value), "").current(setting.value.as_ref() == Some(value)),
            None => SelectItem::new("as it is by default", "take it out of the file"),
        };
        let items = values.iter().map(row).collect();
        let title = format!("{}: {}", setting.key, setting.about.trim());
        let frame = PanelFrame::list(title, items, TypingMode::Digits);
        vec![LayerEffect::OpenPanel(frame.with(SettingValues { setting, values }))]
    }

    fn details(&self, item: Option<usize>, view: &LayerView<'_>) -> Vec<StyledLine> {
        let Some(setting) = item.and_then(|item| self.rows.get(item)) else { return Vec::new() };
        let form = match &setting.form {
            SettingForm::Switch => "true or false".to_owned(),
            SettingForm::OneOf(choices) => choices.join(", "),
            SettingForm::Text => "a text".into(),
            SettingForm::Number => "a number".into(),
            SettingForm::File => "edited in its file".into(),
        };
        vec![faint(format!("  {} [{form}]", setting.about.trim()), &view.preferences.theme)]
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
        let title = match (&value, &setting.form) {
            (_, SettingForm::File) => format!("Edit {} in the settings of", setting.key),
            (Some(value), _) => format!("Set {} to {} in", setting.key, value_text(value)),
            (None, _) => format!("Take {} out of", setting.key),
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
            .keys("enter to choose; it holds from the next conversation on (/clear) · esc to close")
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
