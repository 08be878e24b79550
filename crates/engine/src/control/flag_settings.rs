//! The flag layer of the settings, which the host controls. A change is applied as a whole or refused when a value is
//! invalid. What it grants counts; settings files that changed meanwhile cannot grant more than before.

use super::dispatch::RequestOutcome;
use super::{HostConnection, SessionControl};
use config::edit::{SettingsEdit, SettingsTarget};
use config::{ConfigLoader, SettingsSelection};
use model::EffortLevel;
use serde_json::{Map, Value, json};
use session_parts::command::RequestRefusal;
use wire::control::UpdateSettings;
use wire::settings::SettingsSource;

impl SessionControl {
    /// Top-level keys replace earlier values; null removes a key.
    pub(super) fn apply_flag_settings(&mut self, asked: &Map<String, Value>) -> RequestOutcome {
        let Some(front) = &mut self.host else { return RequestOutcome::refused("There is no host here") };
        let changed = match merge_flag_settings(front, asked) {
            Ok(changed) => changed,
            Err(refusal) => return RequestOutcome::Refused(refusal),
        };
        front.handles.selection.settings = Some(Value::Object(changed.clone()).to_string());
        self.changes.flag_settings = Some(changed);
        if let Some(model) = asked.get("model") {
            self.changes.model = crate::control::changes::flag_change(model);
        }
        if let Some(effort) = asked.get("effortLevel") {
            self.changes.effort = crate::control::changes::flag_change(effort);
        }
        if let Some(agent) = asked.get("agent") {
            self.changes.agent = crate::control::changes::flag_change(agent);
        }
        RequestOutcome::Now(json!({}))
    }

    /// Writes to a settings file, limited to the keys a host may set for the user.
    pub(super) fn update_settings(front: &HostConnection, asked: &UpdateSettings) -> RequestOutcome {
        let (source, allowed) = match asked.source.as_str() {
            "localSettings" => (SettingsSource::Local, "outputStyle"),
            "userSettings" => (SettingsSource::User, "effortLevel"),
            other => return RequestOutcome::refused(format!("Settings of {other} cannot be changed by a host")),
        };
        if let Some(key) = asked.settings.keys().find(|key| *key != allowed) {
            return RequestOutcome::refused(format!("A host may only change {allowed} there, not {key}"));
        }
        let Some(value) = asked.settings.get(allowed).filter(|value| value.is_string()).cloned() else {
            return RequestOutcome::refused(format!("{allowed} must be a string"));
        };
        let (cwd, env) = (front.handles.cwd.clone(), front.handles.base_env.clone());
        RequestOutcome::later(move || {
            let target = SettingsTarget { source, cwd: &cwd, env: &env };
            target
                .change(&[allowed], &SettingsEdit::Set(value))
                .map_err(|error| RequestRefusal::new(error.to_string()))?;
            Ok(json!({}))
        })
    }
}

/// The layer with the changes; an error when a value is invalid.
fn merge_flag_settings(
    front: &HostConnection,
    asked: &Map<String, Value>,
) -> Result<Map<String, Value>, RequestRefusal> {
    let mut layer = current_flag_settings(&front.handles.selection);
    for (key, value) in asked {
        check(front, key, value)?;
        if value.is_null() {
            layer.remove(key);
        } else {
            layer.insert(key.clone(), value.clone());
        }
    }
    // `max` is valid for a session but not in files.
    let mut written = layer.clone();
    written.retain(|key, value| !(key == "effortLevel" && value == "max"));
    let selection =
        SettingsSelection { settings: Some(Value::Object(written).to_string()), ..front.handles.selection.clone() };
    let loaded = ConfigLoader::open(&front.handles.cwd, &front.handles.base_env, &selection)
        .map_err(|error| RequestRefusal::new(error.to_string()))?;
    let of_asked = |key: &str| asked.contains_key(key.split('.').next().unwrap_or(key));
    match loaded.diagnostics.iter().find(|d| d.source == SettingsSource::Flag && d.key.as_deref().is_none_or(of_asked))
    {
        Some(problem) => Err(RequestRefusal::new(format!("Invalid settings: {problem}"))),
        None => Ok(layer),
    }
}

/// Whether the session can switch to this value.
fn check(front: &HostConnection, key: &str, value: &Value) -> Result<(), RequestRefusal> {
    match (key, value) {
        (_, Value::Null) | ("model", Value::String(_)) => Ok(()),
        ("effortLevel", Value::String(level)) if EffortLevel::parse(level).is_some() => Ok(()),
        ("effortLevel", other) => Err(RequestRefusal::new(format!("Invalid settings: effortLevel cannot be {other}"))),
        ("agent", Value::String(name)) if front.handles.agents.find(name).is_some() => Ok(()),
        ("agent", other) => Err(RequestRefusal::new(format!("Invalid settings: there is no agent {other}"))),
        ("model", other) => Err(RequestRefusal::new(format!("Invalid settings: model cannot be {other}"))),
        _ => Ok(()),
    }
}

/// `--settings` as an object; a file is read again.
fn current_flag_settings(selection: &SettingsSelection) -> Map<String, Value> {
    let Some(given) = &selection.settings else { return Map::new() };
    let text = if given.trim_start().starts_with('{') {
        given.clone()
    } else {
        sys::fs::read_text(std::path::Path::new(given), config::layer::MAX_BYTES).unwrap_or_default()
    };
    serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default()
}
