//! Requests that only read: settings, rules, hooks, usage, cost. Files are read on a blocking thread.

use super::dispatch::RequestOutcome;
use super::handles::SessionHandles;
use super::{HostConnection, SessionControl};
use config::{ConfigLoader, ProjectConfig};
use serde_json::{Map, Value, json};
use session_parts::command::RequestRefusal;
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

impl SessionControl {
    pub(super) fn settings(&self, front: &HostConnection) -> RequestOutcome {
        let (model, effort) = (self.view.model.clone(), self.view.effort);
        let (model_name, session_name) = (front.handles.catalog.display_name(&model), self.view.name.clone());
        let session_colour = self.view.colour.clone();
        front.handles.with_settings(move |loaded| {
            let sources: Vec<Value> = loaded
                .layers
                .iter()
                .map(|layer| json!({"source": layer.source.as_str(), "path": layer.path, "settings": layer.raw}))
                .collect();
            let errors: Vec<String> = loaded.diagnostics.iter().map(ToString::to_string).collect();
            json!({
                "effective": loaded.merged, "sources": sources, "errors": errors,
                "applied": {"model": model, "effort": effort},
                "shown": {"modelName": model_name, "sessionName": session_name, "sessionColor": session_colour},
            })
        })
    }

    pub(super) fn rules(&self, front: &HostConnection) -> RequestOutcome {
        let active = self.view.rules.read();
        let rules: Vec<Value> = active.rules.iter().map(rule).collect();
        let directories: Vec<Value> = active
            .directories
            .iter()
            .map(|path| json!({"path": path, "source": SettingsSource::Session.as_str()}))
            .collect();
        RequestOutcome::Now(json!({"state": {
            "rules": rules, "workspaceDirectories": directories,
            "originalCwd": front.handles.cwd, "managedOnly": active.managed_only,
        }}))
    }

    pub(super) fn hooks_listing(&self, front: &HostConnection) -> RequestOutcome {
        let reduced = front.handles.reduced;
        let own = front.handles.host_hooks.declared();
        let layers = session_parts::hooks::OwnHooks {
            layers: self.view.own_hooks.clone(),
            ..session_parts::hooks::OwnHooks::default()
        };
        front.handles.with_settings(move |loaded| {
            let (catalogue, _) = session_parts::hooks::with_own(loaded, reduced, &layers);
            let mut hooks: Vec<Value> = catalogue
                .iter()
                .map(|entry| {
                    json!({
                        "event": entry.event.as_str(), "matcher": entry.matcher_text,
                        "source": entry.origin.label(), "handler": format!("{:?}", entry.handler.kind).split('(').next().unwrap_or_default().to_lowercase(),
                        "command": permission::escape_invisible(&permission::masked_formats(&entry.handler.kind.text())),
                    })
                })
                .collect();
            for (event, matchers) in own.iter() {
                let rows = matchers.iter().map(|m| json!({"event": event, "matcher": m.matcher, "source": "host", "handler": "callback"}));
                hooks.extend(rows);
            }
            let events: std::collections::BTreeSet<String> =
                hooks.iter().filter_map(|hook| hook["event"].as_str().map(str::to_owned)).collect();
            let all: Vec<&str> = wire::hooks::HookEventName::ALL.iter().map(|event| event.as_str()).collect();
            json!({
                "events": events, "hooks": hooks, "eventCatalog": all, "errors": catalogue.diagnostics,
                "policy": {
                    "disableAllHooks": loaded.settings.disable_all_hooks,
                    "allowManagedHooksOnly": loaded.settings.allow_managed_hooks_only,
                },
            })
        })
    }

    pub(super) fn usage(&self, front: &HostConnection) -> RequestOutcome {
        let ledger = &front.handles.ledger;
        let whole = u64::try_from(front.handles.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        RequestOutcome::Now(json!({
            "session": {
                "total_cost_usd": ledger.cost(), "total_api_duration_ms": self.view.api_ms, "total_duration_ms": whole,
                "total_lines_added": ledger.lines().0, "total_lines_removed": ledger.lines().1, "model_usage": ledger.models(),
            },
            "subscription_type": null, "rate_limits_available": false, "rate_limits": null, "behaviors": null,
        }))
    }

    pub(super) fn cost(front: &HostConnection) -> RequestOutcome {
        let ledger = &front.handles.ledger;
        let mut text = format!("Total cost: ${:.4}", ledger.cost());
        for (model, usage) in ledger.models() {
            let line = format!(
                "\n{model}: {} input, {} output, {} cache read, {} cache write (${:.4})",
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_input_tokens,
                usage.cache_creation_input_tokens,
                usage.cost_usd
            );
            text.push_str(&line);
        }
        RequestOutcome::Now(json!({ "text": text }))
    }

    /// Lists the skills on disk; the session itself reloads them before each request.
    pub(super) fn reload_skills(front: &HostConnection) -> RequestOutcome {
        let (roots, overrides) = (front.handles.roots.clone(), front.handles.skill_overrides.clone());
        RequestOutcome::later(move || {
            let skills = roots.map(|roots| config::skills::Skills::load(&roots, &[], &overrides)).unwrap_or_default();
            let typed = skills.all.iter().filter(|skill| skill.is_user_visible());
            Ok(json!({"skills": typed.map(crate::command_table::of_skill).collect::<Vec<_>>()}))
        })
    }

    pub(super) fn reload_styles(front: &HostConnection) -> RequestOutcome {
        let roots = front.handles.roots.clone();
        RequestOutcome::later(move || {
            let names = roots.as_ref().map_or_else(|| vec!["default".to_owned()], config::styles::names);
            Ok(json!({ "available_output_styles": names }))
        })
    }

    pub(super) fn reload_plugins(&self, front: &HostConnection, refuse_if_busy: bool) -> RequestOutcome {
        if refuse_if_busy && self.running {
            return RequestOutcome::Refused(RequestRefusal {
                error: "A turn is running; plugins are not reloaded".into(),
                code: Some("reload_plugins_busy"),
            });
        }
        let (commands, agents) = (json!(self.view.commands), json!(self.view.agents));
        let servers = front.handles.mcp.handle(wire::control::McpRequest::Status, None);
        RequestOutcome::Later(Box::pin(async move {
            let servers = servers.await?;
            Ok(json!({
                "commands": commands, "agents": agents, "plugins": [], "mcpServers": servers["mcpServers"], "error_count": 0,
            }))
        }))
    }
}

impl SessionHandles {
    /// Runs `show` on the settings as they are now.
    fn with_settings(&self, show: impl FnOnce(&ProjectConfig) -> Value + Send + 'static) -> RequestOutcome {
        let (cwd, env, selection) = (self.cwd.clone(), self.base_env.clone(), self.selection.clone());
        RequestOutcome::later(move || {
            let loaded =
                ConfigLoader::open(&cwd, &env, &selection).map_err(|error| RequestRefusal::new(error.to_string()))?;
            Ok(show(&loaded))
        })
    }
}

fn rule(rule: &RuleText) -> Value {
    let editability = match rule.source {
        SettingsSource::Local | SettingsSource::Project | SettingsSource::User => "editable",
        SettingsSource::Session => "session",
        SettingsSource::Managed | SettingsSource::CommandLine | SettingsSource::Flag => "readOnly",
    };
    let behaviour = match rule.behaviour {
        RuleBehaviour::Allow => "allow",
        RuleBehaviour::Ask => "ask",
        RuleBehaviour::Deny => "deny",
    };
    let mut shown = Map::new();
    shown.insert("behavior".into(), json!(behaviour));
    shown.insert("source".into(), json!(rule.source.as_str()));
    shown.insert("rule".into(), json!(rule.text));
    shown.insert("editability".into(), json!(editability));
    Value::Object(shown)
}
