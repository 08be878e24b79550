//! The permission rules that apply, with their sources; adding and removing rules. A change is sent to the engine,
//! which applies it from the next call on and saves it in the chosen place.

use super::{Panel, PanelContent, PanelFrame, PanelNews, PanelReaction, PanelSource};
use crate::app::PendingResponse;
use crate::app::layers::LayerView;
use crate::app::layers::effects::LayerEffect;
use crate::app::select::{SelectItem, TypingMode};
use crate::app::spinner::faint;
use crate::app::tools;
use serde::Deserialize;
use serde_json::{Value, json};
use terminal::style::StyledLine;
use terminal::theme::ThemeToken;
use wire::control::{HostRequest, UpdatePermissions};
use wire::mode::PermissionMode;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RuleRow {
    behavior: String,
    source: String,
    rule: String,
    #[serde(default)]
    editability: String,
}

impl RuleRow {
    fn is_same(&self, other: &Self) -> bool {
        self.rule == other.rule && self.behavior == other.behavior && self.source == other.source
    }
}

const BEHAVIOURS: [(&str, &str); 3] =
    [("allow", "runs without asking"), ("ask", "always asks"), ("deny", "never runs")];
/// The behaviour shown for a row that is a working directory besides the main one.
const DIRECTORY: &str = "dir";
const PLACES: [(&str, &str); 4] = [
    ("session", "this session"),
    ("localSettings", "this project, only you"),
    ("projectSettings", "this project, shared"),
    ("userSettings", "all your projects"),
];

/// The name of a rule source, as shown.
pub(in crate::app) fn place_name(source: &str) -> &str {
    match source_name(source) {
        "" => source,
        name => name,
    }
}

/// Like `place_name`; empty for a source that is not known.
pub(in crate::app) fn source_name(source: &str) -> &'static str {
    match source {
        "session" => "this session",
        "localSettings" => "local",
        "projectSettings" => "project",
        "userSettings" => "user",
        "policySettings" => "administrator",
        "cliArg" | "flagSettings" => "command line",
        _ => "",
    }
}

#[derive(Debug, Default)]
pub struct RuleList {
    title: String,
    rules: Vec<RuleRow>,
}

impl RuleList {
    pub fn panel() -> Panel {
        PanelFrame::waiting("Permissions").with(Self::default())
    }

    fn read(body: &Value, mode: PermissionMode) -> Self {
        let state = body.get("state").unwrap_or(&Value::Null);
        let mut rules =
            state.get("rules").and_then(|rules| Vec::<RuleRow>::deserialize(rules).ok()).unwrap_or_default();
        sys::compact_sort::sort_by_key(&mut rules, |rule| {
            BEHAVIOURS.iter().rev().position(|(name, _)| *name == rule.behavior)
        });
        // Directories are listed with the rules, because they grant access too.
        for directory in state.get("workspaceDirectories").and_then(Value::as_array).into_iter().flatten() {
            let text = |name: &str| directory.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let behavior = DIRECTORY.to_owned();
            rules.push(RuleRow { behavior, source: text("source"), rule: text("path"), editability: "session".into() });
        }
        let mut title = format!("Permissions · mode {}", mode.as_str());
        if state.get("managedOnly").and_then(Value::as_bool) == Some(true) {
            title.push_str(" · only the administrator's rules apply");
        }
        Self { title, rules }
    }

    fn frame(&self) -> PanelFrame {
        let row =
            |rule: &RuleRow| SelectItem::new(format!("{:<5} {}", rule.behavior, rule.rule), place_name(&rule.source));
        let items = std::iter::once(SelectItem::new("Add a rule…", "")).chain(self.rules.iter().map(row)).collect();
        let count = match self.rules.len() {
            0 => "no rules".to_owned(),
            count => format!("{count} {}", tools::plural(count, "rule")),
        };
        PanelFrame::list(format!("{} · {count}", self.title), items, TypingMode::Filters)
            .keys("enter to add or remove · esc to close")
    }
}

impl PanelContent for RuleList {
    fn source(&self) -> Option<PanelSource> {
        Some(PanelSource::Engine(HostRequest::ListPermissionRules))
    }

    fn receive(&mut self, news: &PanelNews, view: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::Response(body) => *self = Self::read(body, view.session.mode),
            PanelNews::RuleAdded(rule) => self.rules.insert(0, rule.clone()),
            PanelNews::RuleRemoved(rule) => self.rules.retain(|known| !known.is_same(rule)),
            _ => return PanelReaction::Ignored,
        }
        PanelReaction::show(self.frame())
    }

    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let Some(at) = item.checked_sub(1) else {
            let items = BEHAVIOURS.iter().map(|(name, about)| SelectItem::new(*name, *about)).collect();
            let frame = PanelFrame::list("New rule", items, TypingMode::Digits);
            return vec![LayerEffect::OpenPanel(frame.with(RuleBehaviour))];
        };
        let Some(rule) = self.rules.get(at).cloned() else { return Vec::new() };
        let from = place_name(&rule.source);
        if rule.editability == "readOnly" {
            let text = format!("{} comes from the {from} and cannot be changed here.", rule.rule);
            return vec![LayerEffect::Note(text, ThemeToken::Warning)];
        }
        let title = format!("Remove {} {} ({from})?", rule.behavior, rule.rule);
        let items = vec![SelectItem::new("No, keep it", ""), SelectItem::new("Yes, remove it", "")];
        let frame = PanelFrame::list(title, items, TypingMode::Digits);
        vec![LayerEffect::OpenPanel(frame.with(RuleRemoval { rule }))]
    }
}

/// Whether a rule is removed.
#[derive(Debug)]
struct RuleRemoval {
    rule: RuleRow,
}

impl PanelContent for RuleRemoval {
    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        if item == 0 {
            return vec![LayerEffect::Close];
        }
        let news = PanelNews::RuleRemoved(self.rule.clone());
        vec![LayerEffect::Close, update("removeRules", &self.rule), LayerEffect::UpdatePanels(news)]
    }
}

/// What a new rule does.
#[derive(Debug)]
struct RuleBehaviour;

impl PanelContent for RuleBehaviour {
    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let Some((behaviour, _)) = BEHAVIOURS.get(item) else { return Vec::new() };
        let frame = PanelFrame::entry(format!("New rule: {behaviour}"), "Rule", "");
        vec![LayerEffect::Close, LayerEffect::OpenPanel(frame.with(RuleText { behaviour }))]
    }
}

/// The text of a new rule.
#[derive(Debug)]
struct RuleText {
    behaviour: &'static str,
}

impl PanelContent for RuleText {
    fn submit(&mut self, text: &str, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let title = format!("Save {} {text} for", self.behaviour);
        let items = PLACES.iter().map(|(_, about)| SelectItem::new(*about, "")).collect();
        let frame = PanelFrame::list(title, items, TypingMode::Digits);
        let place = RulePlace { behaviour: self.behaviour, text: text.to_owned() };
        vec![LayerEffect::Close, LayerEffect::OpenPanel(frame.with(place))]
    }

    fn details(&self, _: Option<usize>, view: &LayerView<'_>) -> Vec<StyledLine> {
        let text =
            "  Bash(npm run test *) · Edit(src/**) · Read(~/.ssh/**) · WebFetch(domain:example.com) · mcp__server";
        vec![faint(text, &view.preferences.theme)]
    }
}

/// Where a new rule is saved.
#[derive(Debug)]
struct RulePlace {
    behaviour: &'static str,
    text: String,
}

impl PanelContent for RulePlace {
    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let mut effects = vec![LayerEffect::Close];
        if let Some((place, _)) = PLACES.get(item) {
            let rule = RuleRow {
                behavior: self.behaviour.to_owned(),
                source: (*place).to_owned(),
                rule: std::mem::take(&mut self.text),
                editability: "editable".into(),
            };
            effects.extend([update("addRules", &rule), LayerEffect::UpdatePanels(PanelNews::RuleAdded(rule))]);
        }
        effects
    }
}

fn update(kind: &str, row: &RuleRow) -> LayerEffect {
    let RuleRow { behavior, source: destination, rule, .. } = row;
    let (tool, content) = split(rule);
    let update = match behavior.as_str() {
        DIRECTORY => json!({"type": "removeDirectories", "directories": [rule], "destination": destination}),
        _ => json!({
            "type": kind, "behavior": behavior, "destination": destination,
            "rules": [{"toolName": tool, "ruleContent": content}],
        }),
    };
    let updates = serde_json::from_value(update).into_iter().collect();
    let done = if kind == "addRules" { "added" } else { "removed" };
    let words = format!("{behavior} {rule}: {done} ({}).", place_name(destination));
    let request = HostRequest::UpdatePermissions(UpdatePermissions { updates });
    LayerEffect::Request(request, PendingResponse::Done(words))
}

/// Splits a rule such as `Bash(git *)` into tool name and content.
pub(in crate::app) fn split(rule: &str) -> (&str, Option<&str>) {
    match rule.split_once('(').and_then(|(tool, rest)| Some((tool, rest.strip_suffix(')')?))) {
        Some((tool, content)) => (tool, Some(content)),
        None => (rule, None),
    }
}
