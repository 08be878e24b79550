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
    /// In tokens.
    #[serde(default, rename = "x_context_window")]
    context_window: u64,
    /// USD per million tokens of input; `None` when it is not known.
    #[serde(default, rename = "x_price_input")]
    price_input: Option<f64>,
    #[serde(default, rename = "x_price_output")]
    price_output: Option<f64>,
}

impl ModelOption {
    /// Context window, and the prices of a million tokens of input and output: `1M · $5 / $25`.
    fn facts(&self) -> String {
        let window = match self.context_window {
            0 => None,
            tokens if tokens % 1_000_000 == 0 => Some(format!("{}M", tokens / 1_000_000)),
            tokens => Some(format!("{}k", tokens / 1_000)),
        };
        let dollars = |price: f64| if price.fract() == 0.0 { format!("${price:.0}") } else { format!("${price:.2}") };
        let prices = self.price_input.zip(self.price_output);
        let prices = prices.map(|(input, output)| format!("{} / {}", dollars(input), dollars(output)));
        window.into_iter().chain(prices).collect::<Vec<_>>().join(" · ")
    }
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
            SelectItem::new(model.display_name.clone(), model.description.clone()).value(model.facts()).current(holds)
        };
        let mut items: Vec<SelectItem> = all.iter().map(item).collect();
        items.push(SelectItem::new("Another model…", "type a model id"));
        *self = Self { all, effort: None };
        PanelFrame::list(TITLE, items, TypingMode::Digits)
            .counted("model")
            .keys("enter to use from now on · s for this session only · ←→ effort · esc to close")
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
            return vec![LayerEffect::OpenPanel(PanelFrame::entry("Another model", "Id", "").with(ModelEntry))];
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

    /// The id of the selected model, what its figures mean, and its effort.
    fn details(&self, item: Option<usize>, view: &LayerView<'_>) -> Vec<StyledLine> {
        let theme = &view.preferences.theme;
        let Some(model) = item.and_then(|item| self.all.get(item)) else { return Vec::new() };
        let mut id = faint(format!("  {}", model.resolved_model), theme);
        if model.context_window > 0 {
            let prices = if model.price_input.is_some() { ", price of a million tokens in / out" } else { "" };
            id.push(format!(" · context window{prices}"), theme.fg(ThemeToken::Inactive));
        }
        if model.supported_effort_levels.is_empty() {
            return vec![id, faint("  Effort: this model has no levels", theme)];
        }
        let now = self.effort.as_deref().unwrap_or("unchanged");
        let levels = model.supported_effort_levels.join(" ");
        let line = StyledLine::styled(format!("  Effort: {now}"), theme.fg(ThemeToken::Suggestion));
        vec![id, line.and(format!("  ({levels})"), theme.fg(ThemeToken::Inactive))]
    }
}

/// The id of a model that is not listed.
#[derive(Debug)]
struct ModelEntry;

impl PanelContent for ModelEntry {
    fn submit(&mut self, id: &str, _: &LayerView<'_>) -> Vec<LayerEffect> {
        if id.contains(char::is_whitespace) {
            return vec![LayerEffect::Hint("A model id has no spaces".into(), HINT_DURATION)];
        }
        let mut effects = vec![LayerEffect::Dismiss(LayerRank::Panel)];
        effects.extend(use_model(id, ChoiceScope::Saved));
        effects.push(LayerEffect::ShowModel(id.to_owned()));
        effects
    }
}

fn use_model(value: &str, lasts: ChoiceScope) -> Vec<LayerEffect> {
    let named = (value != "default").then(|| value.to_owned());
    let shown = value;
    let words = match lasts {
        ChoiceScope::Saved => format!("Model: {shown}, from now on."),
        ChoiceScope::Session => format!("Model: {shown}, for this session."),
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
    ("auto", "the model's default level"),
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
            .keys("enter to use for this session · esc to close")
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
