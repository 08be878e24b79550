//! Requests that only look: settings, rules, hooks, usage, what was spent. Files are read off the runtime.

use super::dispatch::{Refusal, Said};
use super::reach::Reach;
use super::{Control, Front};
use config::{Loaded, Project};
use serde_json::{Map, Value, json};
use wire::settings::{Behaviour, RuleText, Source};

impl Control {
    pub(super) fn settings(&self, front: &Front) -> Said {
        let (model, effort) = (self.board.model.clone(), self.board.effort);
        front.reach.with_settings(move |loaded| {
            let sources: Vec<Value> = loaded
                .layers
                .iter()
                .map(|layer| json!({"source": layer.source.as_str(), "path": layer.path, "settings": layer.raw}))
                .collect();
            let errors: Vec<String> = loaded.diagnostics.iter().map(ToString::to_string).collect();
            json!({
                "effective": loaded.merged, "sources": sources, "errors": errors,
                "applied": {"model": model, "effort": effort},
            })
        })
    }

    pub(super) fn rules(&self, front: &Front) -> Said {
        let rules: Vec<Value> = self.board.rules.iter().map(rule).collect();
        let directories: Vec<Value> = self
            .board
            .directories
            .iter()
            .map(|path| json!({"path": path, "source": Source::Session.as_str()}))
            .collect();
        Said::Now(json!({"state": {
            "rules": rules, "workspaceDirectories": directories,
            "originalCwd": front.reach.cwd, "managedOnly": self.board.managed_only,
        }}))
    }

    pub(super) fn hooks_listing(&self, front: &Front) -> Said {
        let reduced = front.reach.reduced;
        let own = front.reach.host_hooks.declared();
        let layers = crate::hooks::Own { layers: self.board.own_hooks.clone(), ..crate::hooks::Own::default() };
        front.reach.with_settings(move |loaded| {
            let (catalogue, _) = crate::hooks::with_own(loaded, reduced, &layers);
            let mut hooks: Vec<Value> = catalogue
                .iter()
                .map(|entry| {
                    json!({
                        "event": entry.event.as_str(), "matcher": entry.matcher_text,
                        "source": entry.origin.label(), "handler": format!("{:?}", entry.handler.kind).split('(').next().unwrap_or_default().to_lowercase(),
                        "command": permission::visible(&entry.handler.kind.text()),
                    })
                })
                .collect();
            for (event, matchers) in own.iter() {
                let rows = matchers.iter().map(|m| json!({"event": event, "matcher": m.matcher, "source": "host", "handler": "callback"}));
                hooks.extend(rows);
            }
            let events: std::collections::BTreeSet<String> =
                hooks.iter().filter_map(|hook| hook["event"].as_str().map(str::to_owned)).collect();
            let all: Vec<&str> = wire::hooks::EventName::ALL.iter().map(|event| event.as_str()).collect();
            json!({
                "events": events, "hooks": hooks, "eventCatalog": all, "errors": catalogue.diagnostics,
                "policy": {
                    "disableAllHooks": loaded.settings.disable_all_hooks,
                    "allowManagedHooksOnly": loaded.settings.allow_managed_hooks_only,
                },
            })
        })
    }

    pub(super) fn usage(&self, front: &Front) -> Said {
        let ledger = &front.reach.ledger;
        let whole = u64::try_from(front.reach.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        Said::Now(json!({
            "session": {
                "total_cost_usd": ledger.cost(), "total_api_duration_ms": self.board.api_ms, "total_duration_ms": whole,
                "total_lines_added": ledger.lines().0, "total_lines_removed": ledger.lines().1, "model_usage": ledger.models(),
            },
            "subscription_type": null, "rate_limits_available": false, "rate_limits": null, "behaviors": null,
        }))
    }

    pub(super) fn cost(front: &Front) -> Said {
        let ledger = &front.reach.ledger;
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
        Said::Now(json!({ "text": text }))
    }

    /// Lists that the session makes anew by itself before it needs them.
    pub(super) fn reload_skills(front: &Front) -> Said {
        let (roots, overrides) = (front.reach.roots.clone(), front.reach.skill_overrides.clone());
        Said::later(move || {
            let skills = roots.map(|roots| config::skills::Skills::load(&roots, &[], &overrides)).unwrap_or_default();
            let typed = skills.all.iter().filter(|skill| skill.is_typed());
            Ok(json!({"skills": typed.map(crate::commands::of_skill).collect::<Vec<_>>()}))
        })
    }

    pub(super) fn reload_styles(front: &Front) -> Said {
        let roots = front.reach.roots.clone();
        Said::later(move || {
            let names = roots.as_ref().map_or_else(|| vec!["default".to_owned()], config::styles::names);
            Ok(json!({ "available_output_styles": names }))
        })
    }

    pub(super) fn reload_plugins(&self, front: &Front, refuse_if_busy: bool) -> Said {
        if refuse_if_busy && self.running {
            return Said::Refused(Refusal {
                error: "A turn is running; plugins are not reloaded".into(),
                code: Some("reload_plugins_busy"),
            });
        }
        let (commands, agents) = (json!(self.board.commands), json!(self.board.agents));
        let servers = front.reach.mcp.handle(wire::control::McpRequest::Status, None);
        Said::Later(Box::pin(async move {
            let servers = servers.await?;
            Ok(json!({
                "commands": commands, "agents": agents, "plugins": [], "mcpServers": servers["mcpServers"], "error_count": 0,
            }))
        }))
    }
}

impl Reach {
    /// Reads the settings as they are now.
    fn with_settings(&self, show: impl FnOnce(&Loaded) -> Value + Send + 'static) -> Said {
        let (cwd, env, selection) = (self.cwd.clone(), self.base_env.clone(), self.selection.clone());
        Said::later(move || {
            let loaded = Project::open(&cwd, &env, &selection).map_err(|error| Refusal::new(error.to_string()))?;
            Ok(show(&loaded))
        })
    }
}

fn rule(rule: &RuleText) -> Value {
    let editability = match rule.source {
        Source::Local | Source::Project | Source::User => "editable",
        Source::Session => "session",
        Source::Managed | Source::CommandLine | Source::Flag => "readOnly",
    };
    let behaviour = match rule.behaviour {
        Behaviour::Allow => "allow",
        Behaviour::Ask => "ask",
        Behaviour::Deny => "deny",
    };
    let mut shown = Map::new();
    shown.insert("behavior".into(), json!(behaviour));
    shown.insert("source".into(), json!(rule.source.as_str()));
    shown.insert("rule".into(), json!(rule.text));
    shown.insert("editability".into(), json!(editability));
    Value::Object(shown)
}
