//! The host's own layer of settings. Changed as a whole or not at all: a value that does not fit refuses the call. What it
//! grants is the host's to grant; what files say meanwhile is held back as it always is.

use super::dispatch::{Refusal, Said};
use super::{Control, Front};
use config::edit::{Edit, Target};
use config::{Project, Selection};
use model::Effort;
use serde_json::{Map, Value, json};
use wire::control::UpdateSettings;
use wire::settings::Source;

impl Control {
    /// Top-level keys replace what was there; null takes one back.
    pub(super) fn apply_flag_settings(&mut self, asked: &Map<String, Value>) -> Said {
        let Some(front) = &mut self.front else { return Said::refused("There is no host here") };
        let changed = match merged(front, asked) {
            Ok(changed) => changed,
            Err(refusal) => return Said::Refused(refusal),
        };
        front.reach.selection.settings = Some(Value::Object(changed.clone()).to_string());
        self.wishes.flag_settings = Some(changed);
        if let Some(model) = asked.get("model") {
            self.wishes.model = crate::control::wishes::wished(model);
        }
        if let Some(effort) = asked.get("effortLevel") {
            self.wishes.effort = crate::control::wishes::wished(effort);
        }
        if let Some(agent) = asked.get("agent") {
            self.wishes.agent = crate::control::wishes::wished(agent);
        }
        Said::Now(json!({}))
    }

    /// Writes a settings file; only what a host may choose for the user.
    pub(super) fn update_settings(front: &Front, asked: &UpdateSettings) -> Said {
        let (source, allowed) = match asked.source.as_str() {
            "localSettings" => (Source::Local, "outputStyle"),
            "userSettings" => (Source::User, "effortLevel"),
            other => return Said::refused(format!("Settings of {other} cannot be changed by a host")),
        };
        if let Some(key) = asked.settings.keys().find(|key| *key != allowed) {
            return Said::refused(format!("A host may only change {allowed} there, not {key}"));
        }
        let Some(value) = asked.settings.get(allowed).filter(|value| value.is_string()).cloned() else {
            return Said::refused(format!("{allowed} must be a string"));
        };
        let (cwd, env) = (front.reach.cwd.clone(), front.reach.base_env.clone());
        Said::later(move || {
            let target = Target { source, cwd: &cwd, env: &env };
            target.change(&[allowed], &Edit::Set(value)).map_err(|error| Refusal::new(error.to_string()))?;
            Ok(json!({}))
        })
    }
}

/// The layer as it would be, if everything in it fits.
fn merged(front: &Front, asked: &Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
    let mut layer = current(&front.reach.selection);
    for (key, value) in asked {
        check(front, key, value)?;
        if value.is_null() {
            layer.remove(key);
        } else {
            layer.insert(key.clone(), value.clone());
        }
    }
    // `max` is for sessions only, so files may not say it.
    let mut written = layer.clone();
    written.retain(|key, value| !(key == "effortLevel" && value == "max"));
    let selection = Selection { settings: Some(Value::Object(written).to_string()), ..front.reach.selection.clone() };
    let loaded = Project::open(&front.reach.cwd, &front.reach.base_env, &selection)
        .map_err(|error| Refusal::new(error.to_string()))?;
    let of_asked = |key: &str| asked.contains_key(key.split('.').next().unwrap_or(key));
    match loaded.diagnostics.iter().find(|d| d.source == Source::Flag && d.key.as_deref().is_none_or(of_asked)) {
        Some(problem) => Err(Refusal::new(format!("Invalid settings: {problem}"))),
        None => Ok(layer),
    }
}

/// What the session can be switched to.
fn check(front: &Front, key: &str, value: &Value) -> Result<(), Refusal> {
    match (key, value) {
        (_, Value::Null) | ("model", Value::String(_)) => Ok(()),
        ("effortLevel", Value::String(level)) if Effort::parse(level).is_some() => Ok(()),
        ("effortLevel", other) => Err(Refusal::new(format!("Invalid settings: effortLevel cannot be {other}"))),
        ("agent", Value::String(name)) if front.reach.agents.find(name).is_some() => Ok(()),
        ("agent", other) => Err(Refusal::new(format!("Invalid settings: there is no agent {other}"))),
        ("model", other) => Err(Refusal::new(format!("Invalid settings: model cannot be {other}"))),
        _ => Ok(()),
    }
}

/// `--settings` as an object; a path is read once more.
fn current(selection: &Selection) -> Map<String, Value> {
    let Some(given) = &selection.settings else { return Map::new() };
    let text = if given.trim_start().starts_with('{') {
        given.clone()
    } else {
        std::fs::read_to_string(given).unwrap_or_default()
    };
    serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default()
}
