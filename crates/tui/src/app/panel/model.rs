//! The model picker, and effort. Enter saves the choice for later sessions, `s` uses it for this session only. A model
//! id that is not listed can be typed. The shown model changes immediately; the engine applies it before its next
//! request or reports why not.

use super::{Panel, PanelContent, PanelFrame, PanelJob, PanelNews, PanelReaction, PanelSource};
use crate::app::PendingResponse;
use crate::app::layers::effects::LayerEffect;
use crate::app::layers::{LayerRank, LayerView};
use crate::app::select::{SelectItem, TypingMode};
use crate::app::spinner::faint;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use terminal::keys::KeyPress;
use terminal::keys::bindings::{BindingMatch, KeyAction, KeyContext};
use terminal::style::StyledLine;
use terminal::theme::ThemeToken;
use wire::control::{FlagSettings, HostRequest, SetModel};

const TITLE: &str = "Model";
const USER_SETTINGS: &str = "userSettings";
const HINT_DURATION: Duration = Duration::from_secs(4);

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelOption {
    value: String,
    #[serde(default)]
    display_name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    resolved_model: String,
    #[serde(default)]
    supported_effort_levels: Vec<String>,
}

/// How long a choice applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChoiceScope {
    Saved,
    Session,
}

#[derive(Debug, Default)]
pub struct ModelList {
    all: Vec<ModelOption>,
    /// The effort chosen here; `None` keeps the current one.
    effort: Option<String>,
}

impl ModelList {
    pub fn panel() -> Panel {
        PanelFrame::waiting(TITLE).with(Self::default())
    }

    fn fill(&mut self, body: &Value, now: &str) -> PanelFrame {
        let all =
            body.get("models").and_then(|models| Vec::<ModelOption>::deserialize(models).ok()).unwrap_or_default();
        // The default resolves to a listed model, so the row of that model is marked instead when there is one.
        let named = all.iter().any(|model| model.value != "default" && model.resolved_model == now);
        let item = |model: &ModelOption| {
            let is_default = model.value == "default";
            let holds = if now.is_empty() { is_default } else { model.resolved_model == now && !(is_default && named) };
            let detail = format!("{} · {}", model.resolved_model, model.description);
            SelectItem::new(model.display_name.clone(), detail).current(holds)
        };
        let mut items: Vec<SelectItem> = all.iter().map(item).collect();
        items.push(SelectItem::new("Another model…", "its id, as the endpoint knows it"));
        *self = Self { all, effort: None };
        PanelFrame::list(TITLE, items, TypingMode::Digits)
            .keys("enter to use and keep · s for this session only · ←→ effort · esc to close")
    }

    fn step_effort(&mut self, item: Option<usize>, by: isize) {
        let Some(model) = item.and_then(|item| self.all.get(item)) else { return };
        let levels = &model.supported_effort_levels;
        if levels.is_empty() {
            return;
        }
        let at = self.effort.as_ref().and_then(|now| levels.iter().position(|level| level == now));
        let next = match at {
            Some(at) => at.saturating_add_signed(by).min(levels.len() - 1),
            None if by < 0 => 0,
            None => levels.len() - 1,
        };
        self.effort = Some(levels[next].clone());
    }

    fn use_row(&self, item: usize, lasts: ChoiceScope) -> Vec<LayerEffect> {
        let Some(model) = self.all.get(item) else {
            return vec![LayerEffect::OpenPanel(PanelFrame::entry("Another model", "id", "").with(ModelEntry))];
        };
        let mut effects = vec![LayerEffect::Dismiss(LayerRank::Panel)];
        effects.extend(use_model(&model.value, lasts));
        if !model.resolved_model.is_empty() {
            effects.push(LayerEffect::ShowModel(model.resolved_model.clone()));
        }
        if let Some(effort) = self.effort.as_ref().filter(|level| model.supported_effort_levels.contains(level)) {
            effects.extend(use_effort(effort, lasts));
        }
        effects
    }
}

impl PanelContent for ModelList {
    fn source(&self) -> Option<PanelSource> {
        Some(PanelSource::Engine(HostRequest::ListModels))
    }

    fn receive(&mut self, news: &PanelNews, view: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::Response(body) => {
                PanelReaction::show(self.fill(body, view.session.model.as_deref().unwrap_or_default()))
            }
            _ => PanelReaction::Ignored,
        }
    }

    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        self.use_row(item, ChoiceScope::Saved)
    }

    fn key(&mut self, key: KeyPress, item: Option<usize>, view: &LayerView<'_>) -> Vec<LayerEffect> {
        match view.preferences.bindings.find(&[KeyContext::ModelPicker], &[key]) {
            BindingMatch::KeyAction(KeyAction::ThisSessionOnly) => {
                return item.map(|item| self.use_row(item, ChoiceScope::Session)).unwrap_or_default();
            }
            BindingMatch::KeyAction(KeyAction::EffortDown) => self.step_effort(item, -1),
            BindingMatch::KeyAction(KeyAction::EffortUp) => self.step_effort(item, 1),
            BindingMatch::KeyAction(_) | BindingMatch::Prefix | BindingMatch::None => {}
        }
        Vec::new()
    }

    /// The effort of the selected model.
    fn details(&self, item: Option<usize>, view: &LayerView<'_>) -> Vec<StyledLine> {
        let theme = &view.preferences.theme;
        let Some(model) = item.and_then(|item| self.all.get(item)) else { return Vec::new() };
        if model.supported_effort_levels.is_empty() {
            return vec![faint("  effort: this model has no levels", theme)];
        }
        let now = self.effort.as_deref().unwrap_or("as it is");
        let levels = model.supported_effort_levels.join(" ");
        let line = StyledLine::styled(format!("  effort: {now}"), theme.fg(ThemeToken::Suggestion));
        vec![line.and(format!("  ({levels})"), theme.fg(ThemeToken::Inactive))]
    }
}

/// The id of a model that is not listed.
#[derive(Debug)]
struct ModelEntry;

impl PanelContent for ModelEntry {
    fn submit(&mut self, id: &str, _: &LayerView<'_>) -> Vec<LayerEffect> {
        if id.contains(char::is_whitespace) {
            return vec![LayerEffect::Hint("The id of a model has no blanks".into(), HINT_DURATION)];
        }
        let mut effects = vec![LayerEffect::Dismiss(LayerRank::Panel)];
        effects.extend(use_model(id, ChoiceScope::Saved));
        effects.push(LayerEffect::ShowModel(id.to_owned()));
        effects
    }
}

fn use_model(value: &str, lasts: ChoiceScope) -> Vec<LayerEffect> {
    let named = (value != "default").then(|| value.to_owned());
    let shown = if value == "default" { "the default" } else { value };
    let words = match lasts {
        ChoiceScope::Saved => format!("The model is {shown} from now on."),
        ChoiceScope::Session => format!("The model is {shown} in this session."),
    };
    let request = HostRequest::SetModel(SetModel { model: named.clone() });
    let mut effects = vec![LayerEffect::Request(request, PendingResponse::Done(words))];
    if lasts == ChoiceScope::Saved {
        let value = named.map(Value::String);
        effects.push(LayerEffect::Job(PanelJob::Change { file: USER_SETTINGS, key: "model".into(), value }));
    }
    effects
}

fn use_effort(level: &str, lasts: ChoiceScope) -> Vec<LayerEffect> {
    let value = (level != "auto").then(|| Value::String(level.to_owned()));
    let settings = [("effortLevel".to_owned(), json!(value))].into_iter().collect();
    let request = HostRequest::ApplyFlagSettings(FlagSettings { settings });
    let mut effects = vec![LayerEffect::Request(request, PendingResponse::Done(format!("Effort: {level}.")))];
    if lasts == ChoiceScope::Saved && level != "max" {
        effects.push(LayerEffect::Job(PanelJob::Change { file: USER_SETTINGS, key: "effortLevel".into(), value }));
    }
    effects
}

/// `/effort`, with what is said about each level.
#[derive(Debug)]
pub struct EffortList;

pub(in crate::app) const EFFORTS: [(&str, &str); 6] = [
    ("auto", "the model's own"),
    ("low", ""),
    ("medium", ""),
    ("high", ""),
    ("xhigh", ""),
    ("max", "this session only"),
];

impl EffortList {
    pub fn panel() -> Panel {
        let items = EFFORTS.iter().map(|(level, about)| SelectItem::new(*level, *about)).collect();
        PanelFrame::list("Effort", items, TypingMode::Digits)
            .keys("enter to use in this session · esc to close")
            .with(Self)
    }
}

impl PanelContent for EffortList {
    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let Some((level, _)) = EFFORTS.get(item) else { return Vec::new() };
        let mut effects = vec![LayerEffect::Dismiss(LayerRank::Panel)];
        effects.extend(use_effort(level, ChoiceScope::Session));
        effects
    }
}
