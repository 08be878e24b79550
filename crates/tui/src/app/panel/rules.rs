//! The permission rules that apply, with their sources; adding and removing rules. A change is sent to the engine,
//! which applies it from the next call on and saves it in the chosen place.

use super::{Panel, PanelSubject, PendingResponse};
use crate::app::App;
use crate::app::select::{SelectItem, TypingMode};
use crate::app::spinner::faint;
use serde::Deserialize;
use serde_json::{Value, json};
use terminal::style::StyledLine;
use terminal::theme::{Theme, ThemeToken};
use wire::control::{HostRequest, UpdatePermissions};

#[derive(Clone, Debug, Deserialize)]
pub struct RuleRow {
    behavior: String,
    source: String,
    rule: String,
    #[serde(default)]
    editability: String,
}

/// A rule being added.
#[derive(Clone, Debug, Default)]
pub struct NewRule {
    behaviour: &'static str,
    text: String,
}

const BEHAVIOURS: [(&str, &str); 3] =
    [("allow", "runs without a question"), ("ask", "always asks"), ("deny", "never runs")];
/// The behaviour shown for a row that is a working directory besides the main one.
const DIRECTORY: &str = "dir";
const PLACES: [(&str, &str); 4] = [
    ("session", "this session"),
    ("localSettings", "this project, only you"),
    ("projectSettings", "this project, shared"),
    ("userSettings", "all your projects"),
];

pub(super) fn examples(theme: &Theme) -> Vec<StyledLine> {
    let text = "  Bash(npm run test *) · Edit(src/**) · Read(~/.ssh/**) · WebFetch(domain:example.com) · mcp__server";
    vec![faint(text, theme)]
}

/// The name of a rule source, as shown.
pub(in crate::app) fn place_name(source: &str) -> &str {
    match source {
        "session" => "this session",
        "localSettings" => "local",
        "projectSettings" => "project",
        "userSettings" => "user",
        "policySettings" => "administrator",
        "cliArg" | "flagSettings" => "command line",
        other => other,
    }
}

impl App {
    pub(in crate::app) fn open_rules(&mut self) {
        self.open_panel(Panel::waiting("Permissions", PanelSubject::Rules(Vec::new())));
        self.request(HostRequest::ListPermissionRules, PendingResponse::Rules);
    }

    pub(super) fn rules_arrived(&mut self, body: &Value) {
        let state = body.get("state").unwrap_or(&Value::Null);
        let mut rules =
            state.get("rules").and_then(|rules| Vec::<RuleRow>::deserialize(rules).ok()).unwrap_or_default();
        rules.sort_by_key(|rule| BEHAVIOURS.iter().rev().position(|(name, _)| *name == rule.behavior));
        // Directories are listed with the rules, because they grant access too.
        for directory in state.get("workspaceDirectories").and_then(Value::as_array).into_iter().flatten() {
            let text = |name: &str| directory.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let behavior = DIRECTORY.to_owned();
            rules.push(RuleRow { behavior, source: text("source"), rule: text("path"), editability: "session".into() });
        }
        let mut title = format!("Permissions · mode {} · {} rules", self.session.mode.as_str(), rules.len());
        if state.get("managedOnly").and_then(Value::as_bool) == Some(true) {
            title.push_str(" · only the administrator's count");
        }
        let panel = rule_list(title, rules);
        self.fill_list(|subject| matches!(subject, PanelSubject::Rules(_)), panel);
    }

    pub(super) fn rule_chosen(&mut self, item: usize) {
        let Some(PanelSubject::Rules(rules)) = self.panel().map(|panel| &panel.subject) else { return };
        if item == 0 {
            let items = BEHAVIOURS.iter().map(|(name, about)| SelectItem::new(*name, *about)).collect();
            return self.open_panel(Panel::list("A new rule", items, TypingMode::Digits, PanelSubject::RuleBehaviour));
        }
        let Some(rule) = rules.get(item - 1).cloned() else { return };
        if rule.editability == "readOnly" {
            let from = place_name(&rule.source);
            return self.note(
                &format!("{} comes from the {from} and cannot be changed here.", rule.rule),
                ThemeToken::Warning,
            );
        }
        let title = format!("Remove {} {} ({})?", rule.behavior, rule.rule, place_name(&rule.source));
        let items = vec![SelectItem::new("No, keep it", ""), SelectItem::new("Yes, remove it", "")];
        self.open_panel(Panel::list(title, items, TypingMode::Digits, PanelSubject::RuleRemoval(rule)));
    }

    pub(super) fn rule_removed(&mut self, item: usize) {
        let Some(PanelSubject::RuleRemoval(rule)) = self.pop_panel() else { return };
        if item == 0 {
            return;
        }
        self.update_rules("removeRules", &rule.behavior, &rule.rule, &rule.source);
        self.with_rules(|rules| {
            rules.retain(|known| {
                !(known.rule == rule.rule && known.behavior == rule.behavior && known.source == rule.source)
            });
        });
    }

    pub(super) fn rule_behaviour(&mut self, item: usize) {
        let Some((behaviour, _)) = BEHAVIOURS.get(item) else { return };
        self.pop_panel();
        let new = NewRule { behaviour, text: String::new() };
        let panel = Panel::entry(format!("A new rule: {behaviour}"), "rule", "", PanelSubject::RuleText(new));
        self.open_panel(panel);
    }

    pub(super) fn rule_written(&mut self, text: String) {
        let Some(PanelSubject::RuleText(new)) = self.pop_panel() else { return };
        let title = format!("Where shall {} {text} hold?", new.behaviour);
        let items = PLACES.iter().map(|(_, about)| SelectItem::new(*about, "")).collect();
        self.open_panel(Panel::list(
            title,
            items,
            TypingMode::Digits,
            PanelSubject::RulePlace(NewRule { text, ..new }),
        ));
    }

    pub(super) fn rule_place(&mut self, item: usize) {
        let Some(PanelSubject::RulePlace(new)) = self.pop_panel() else { return };
        let Some((place, _)) = PLACES.get(item) else { return };
        self.update_rules("addRules", new.behaviour, &new.text, place);
        let rule = RuleRow {
            behavior: new.behaviour.to_owned(),
            source: (*place).to_owned(),
            rule: new.text,
            editability: "editable".into(),
        };
        self.with_rules(|rules| rules.insert(0, rule));
    }

    fn update_rules(&mut self, kind: &str, behaviour: &str, rule: &str, destination: &str) {
        let (tool, content) = split(rule);
        let update = match behaviour {
            DIRECTORY => json!({"type": "removeDirectories", "directories": [rule], "destination": destination}),
            _ => json!({
                "type": kind, "behavior": behaviour, "destination": destination,
                "rules": [{"toolName": tool, "ruleContent": content}],
            }),
        };
        let updates = serde_json::from_value(update).into_iter().collect();
        let done = if kind == "addRules" { "added" } else { "removed" };
        let words = format!("{behaviour} {rule}: {done} ({}).", place_name(destination));
        let request = HostRequest::UpdatePermissions(UpdatePermissions { updates });
        self.request(request, PendingResponse::Done(words));
    }

    /// Changes the rules and updates the list.
    fn with_rules(&mut self, change: impl FnOnce(&mut Vec<RuleRow>)) {
        let Some(panel) = self.layers.find_mut::<Panel>() else { return };
        let PanelSubject::Rules(rules) = &mut panel.subject else { return };
        change(rules);
        let filled = rule_list(panel.title.clone(), std::mem::take(rules));
        self.fill_list(|subject| matches!(subject, PanelSubject::Rules(_)), filled);
    }
}

fn rule_list(title: String, rules: Vec<RuleRow>) -> Panel {
    let row = |rule: &RuleRow| SelectItem::new(format!("{:<5} {}", rule.behavior, rule.rule), place_name(&rule.source));
    let items = std::iter::once(SelectItem::new("Add a rule…", "")).chain(rules.iter().map(row)).collect();
    Panel::list(title, items, TypingMode::Filters, PanelSubject::Rules(rules))
        .keys("enter to add or remove · esc to close")
}

/// Splits a rule such as `Bash(git *)` into tool name and content.
pub(in crate::app) fn split(rule: &str) -> (&str, Option<&str>) {
    match rule.split_once('(').and_then(|(tool, rest)| Some((tool, rest.strip_suffix(')')?))) {
        Some((tool, content)) => (tool, Some(content)),
        None => (rule, None),
    }
}
