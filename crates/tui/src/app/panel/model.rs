//! The model picker, effort and thinking. Enter saves the choice for later sessions, `s` uses it for this session only.
//! A model id that is not listed can be typed. The shown model changes immediately; the engine applies it before its
//! next request or reports why not.

use super::{Panel, PanelBody, PanelJob, PanelSubject, PendingResponse};
use crate::app::App;
use crate::app::select::{SelectItem, TypingMode};
use crate::app::spinner::faint;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use terminal::keys::KeyPress;
use terminal::keys::bindings::{BindingMatch, KeyAction, KeyContext};
use terminal::style::StyledLine;
use terminal::theme::{Theme, ThemeToken};
use wire::control::{FieldChange, FlagSettings, HostRequest, SetModel, SetThinking};

const USER_SETTINGS: &str = "userSettings";
const HINT_DURATION: Duration = Duration::from_secs(4);

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelOption {
    pub value: String,
    #[serde(default)]
    display_name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    resolved_model: String,
    #[serde(default)]
    supported_effort_levels: Vec<String>,
}

#[derive(Debug, Default)]
pub struct ModelList {
    all: Vec<ModelOption>,
    /// The effort chosen here; `None` keeps the current one.
    effort: Option<String>,
}

/// How long a choice applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceScope {
    Saved,
    Session,
}

impl ModelList {
    /// The effort of the selected model.
    pub(super) fn about(&self, item: Option<usize>, theme: &Theme) -> Vec<StyledLine> {
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

impl App {
    pub(in crate::app) fn open_models(&mut self) {
        self.open_panel(Panel::waiting("Model", PanelSubject::Models(ModelList::default())));
        self.request(HostRequest::ListModels, PendingResponse::Models);
    }

    pub(super) fn models_arrived(&mut self, body: &Value) {
        let all =
            body.get("models").and_then(|models| Vec::<ModelOption>::deserialize(models).ok()).unwrap_or_default();
        let now = self.session.model.clone().unwrap_or_default();
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
        let panel =
            Panel::list("Model", items, TypingMode::Digits, PanelSubject::Models(ModelList { all, effort: None }))
                .keys("enter to use and keep · s for this session only · ←→ effort · esc to close");
        self.fill_list(|subject| matches!(subject, PanelSubject::Models(_)), panel);
    }

    fn models(&self) -> Option<&ModelList> {
        match self.panel().map(|panel| &panel.subject) {
            Some(PanelSubject::Models(models)) => Some(models),
            Some(_) | None => None,
        }
    }

    pub(super) fn model_key(&mut self, key: KeyPress) {
        let BindingMatch::KeyAction(action) = self.preferences.bindings.find(&[KeyContext::ModelPicker], &[key]) else {
            return;
        };
        let chosen = match self.panel().map(|panel| &panel.body) {
            Some(PanelBody::List(list)) => list.chosen(),
            Some(_) | None => None,
        };
        match action {
            KeyAction::ThisSessionOnly => {
                if let Some(item) = chosen {
                    self.model_chosen(item, ChoiceScope::Session);
                }
            }
            KeyAction::EffortDown => self.step_effort(chosen, -1),
            KeyAction::EffortUp => self.step_effort(chosen, 1),
            _ => {}
        }
    }

    fn step_effort(&mut self, item: Option<usize>, by: isize) {
        let Some(PanelSubject::Models(models)) = self.layers.find_mut::<Panel>().map(|panel| &mut panel.subject) else {
            return;
        };
        let Some(model) = item.and_then(|item| models.all.get(item)) else { return };
        let levels = &model.supported_effort_levels;
        if levels.is_empty() {
            return;
        }
        let at = models.effort.as_ref().and_then(|now| levels.iter().position(|level| level == now));
        let next = match at {
            Some(at) => at.saturating_add_signed(by).min(levels.len() - 1),
            None if by < 0 => 0,
            None => levels.len() - 1,
        };
        models.effort = Some(levels[next].clone());
    }

    pub(super) fn model_chosen(&mut self, item: usize, lasts: ChoiceScope) {
        let Some(models) = self.models() else { return };
        let Some(model) = models.all.get(item).cloned() else {
            let subject = PanelSubject::Models(ModelList { effort: models.effort.clone(), all: Vec::new() });
            return self.open_panel(Panel::entry("Another model", "id", "", subject));
        };
        let effort = models.effort.clone().filter(|level| model.supported_effort_levels.contains(level));
        self.close_panels();
        self.use_model(&model.value, lasts);
        if !model.resolved_model.is_empty() {
            self.session.model = Some(model.resolved_model);
        }
        if let Some(effort) = effort {
            self.use_effort(&effort, lasts);
        }
    }

    pub(super) fn model_named(&mut self, id: &str, lasts: ChoiceScope) {
        if id.contains(char::is_whitespace) {
            return self.hint("The id of a model has no blanks", HINT_DURATION);
        }
        self.close_panels();
        self.use_model(id, lasts);
        self.session.model = Some(id.to_owned());
    }

    fn use_model(&mut self, value: &str, lasts: ChoiceScope) {
        let named = (value != "default").then(|| value.to_owned());
        let shown = if value == "default" { "the default" } else { value };
        let words = match lasts {
            ChoiceScope::Saved => format!("The model is {shown} from now on."),
            ChoiceScope::Session => format!("The model is {shown} in this session."),
        };
        let request = HostRequest::SetModel(SetModel { model: named.clone() });
        self.request(request, PendingResponse::Done(words));
        if lasts == ChoiceScope::Saved {
            self.start_panel_job(PanelJob::Change {
                file: USER_SETTINGS,
                key: "model".into(),
                value: named.map(Value::String),
            });
        }
    }

    pub(in crate::app) fn open_efforts(&mut self) {
        let levels = ["auto", "low", "medium", "high", "xhigh", "max"].map(str::to_owned).to_vec();
        let about = ["the model's own", "", "", "", "", "this session only"];
        let items = levels.iter().zip(about).map(|(level, about)| SelectItem::new(level.clone(), about)).collect();
        let panel = Panel::list("Effort", items, TypingMode::Digits, PanelSubject::Efforts(levels));
        self.open_panel(panel.keys("enter to use in this session · esc to close"));
    }

    pub(super) fn effort_chosen(&mut self, item: usize) {
        let Some(PanelSubject::Efforts(levels)) = self.panel().map(|panel| &panel.subject) else { return };
        let Some(level) = levels.get(item).cloned() else { return };
        self.close_panels();
        self.use_effort(&level, ChoiceScope::Session);
    }

    fn use_effort(&mut self, level: &str, lasts: ChoiceScope) {
        let value = (level != "auto").then(|| Value::String(level.to_owned()));
        let settings = [("effortLevel".to_owned(), json!(value))].into_iter().collect();
        let request = HostRequest::ApplyFlagSettings(FlagSettings { settings });
        self.request(request, PendingResponse::Done(format!("Effort: {level}.")));
        if lasts == ChoiceScope::Saved && level != "max" {
            self.start_panel_job(PanelJob::Change { file: USER_SETTINGS, key: "effortLevel".into(), value });
        }
    }

    /// Alt+T: switches thinking on or off.
    pub(in crate::app) fn toggle_thinking(&mut self) {
        self.session.thinking_off = !self.session.thinking_off;
        let tokens = if self.session.thinking_off { FieldChange::Set(0) } else { FieldChange::Reset };
        let request = SetThinking { max_thinking_tokens: tokens, thinking_display: FieldChange::Keep };
        self.send_control_request(HostRequest::SetMaxThinkingTokens(request));
        let state = if self.session.thinking_off { "off" } else { "on" };
        self.hint(format!("Thinking is {state} from the next request on"), HINT_DURATION);
    }

    /// Alt+O: explains that there is no fast mode.
    pub(in crate::app) fn fast_mode(&mut self) {
        self.hint(
            "There is no fast mode here: it is a service of one provider that gimlet does not use",
            HINT_DURATION,
        );
    }
}
