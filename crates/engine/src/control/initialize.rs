//! `initialize`: what the host receives about the session, and what a repeated request changes. The reply never waits
//! for a server, a hook or the network.

use super::{HostConnection, SessionControl};
use model::catalog::ServingParty;
use serde_json::{Map, Value, json};
use session_parts::command::RequestRefusal;
use session_parts::questions::QuestionKind;
use std::collections::BTreeMap;
use std::sync::Arc;
use wire::control::{ControlResponse, InitializeRequest, ModelInfo};

impl SessionControl {
    /// The models that can be chosen. The endpoint is queried again when its list is old.
    pub(crate) fn models(&self) -> impl Future<Output = Vec<ModelInfo>> + Send + use<> {
        let known = self.host.as_ref().map(|front| (models(front), front.handles.offered.clone()));
        async move {
            let Some((mut all, offered)) = known else { return Vec::new() };
            let more = offered.fresh_rows(all.clone()).await;
            all.extend(more);
            all
        }
    }

    /// The same for `list_models`, with the window in tokens and the prices in USD per million tokens where they are
    /// known.
    pub(crate) fn listed_models(&self) -> impl Future<Output = Vec<Value>> + Send + use<> {
        let handles = self.host.as_ref().map(|front| (Arc::clone(&front.handles.catalog), front.handles.env.clone()));
        let models = self.models();
        async move {
            let Some((catalog, env)) = handles else { return Vec::new() };
            let served = match env.non_empty("ANTHROPIC_BASE_URL") {
                Some(url) if !model::is_first_party(url) => ServingParty::Gateway,
                Some(_) | None => ServingParty::FirstParty,
            };
            let row = |info: ModelInfo| {
                let facts = catalog.lookup(&info.resolved_model);
                let mut row = json!(info);
                row["x_context_window"] = json!(facts.window(&env, served));
                if let Some(tier) = facts.prices.first() {
                    row["x_price_input"] = json!(tier.price.input);
                    row["x_price_output"] = json!(tier.price.output);
                }
                row
            };
            models.await.into_iter().map(row).collect()
        }
    }

    /// A repeated `initialize`: replaces hooks and agents, keeps the rest.
    pub(super) fn reinitialize(
        &mut self,
        request_id: &str,
        asked: InitializeRequest,
    ) -> Result<ControlResponse, RequestRefusal> {
        let Some(front) = &self.host else { return Err(RequestRefusal::new("There is no host here")) };
        if let Some(agents) = &asked.agents {
            self.changes.agents = Some(config::agents::from_json(agents.get()).map_err(RequestRefusal::new)?);
        }
        let hooks_sent = asked.hooks.is_some();
        if let Some(hooks) = asked.hooks.clone() {
            front.questions.fail_programs("the host was connected anew; try again");
            front.handles.host_hooks.replace(hooks);
        }
        self.changes.tasks = true;
        if !std::mem::replace(&mut self.view.is_initialized, true) {
            self.view.apply_initialize(&asked);
        }
        let manifests = asked.sdk_mcp_server_manifests.unwrap_or_default();
        let manifests = manifests.into_keys().map(|name| (name, "not_honoured")).collect();
        Ok(self.initialize_reply(request_id, hooks_sent, &manifests))
    }

    /// The complete reply.
    pub(crate) fn initialize_reply(
        &self,
        request_id: &str,
        hooks_sent: bool,
        manifests: &BTreeMap<String, &'static str>,
    ) -> ControlResponse {
        let Some(front) = &self.host else { return ControlResponse::success(request_id, Value::Null) };
        let mut reply = Map::new();
        let mut put = |key: &str, value: Value| reply.insert(key.to_owned(), value);
        put("commands", json!(self.view.commands));
        put("agents", json!(self.view.agents));
        put("output_style", json!(self.view.output_style));
        put("available_output_styles", json!(self.view.output_styles));
        put("models", json!(cached_models(front)));
        put("account", json!(front.handles.account));
        put("pid", json!(sys::pid()));
        put("claude_code_version", json!(wire::version::COMPAT));
        put("current_permission_mode", json!(self.view.rules.read().mode));
        put("hook_on_failure_supported", json!(true));
        if hooks_sent {
            put("hooks_applied", json!(true));
        }
        if !manifests.is_empty() {
            put("sdk_mcp_manifests_parked", json!(manifests));
        }
        put("fast_mode_state", json!("off"));
        put("session_state", json!(if self.running { "running" } else { "idle" }));
        put("capabilities", json!(super::dispatch::CAPABILITIES));
        ControlResponse::Success {
            request_id: request_id.to_owned(),
            response: Some(Value::Object(reply)),
            pending_permission_requests: Some(front.questions.pending(QuestionKind::Permission)),
            pending_user_dialog_requests: Some(front.questions.pending(QuestionKind::Dialog)),
            pending_elicitation_requests: Some(front.questions.pending(QuestionKind::Elicitation)),
        }
    }
}

/// The models known without a request.
fn cached_models(front: &HostConnection) -> Vec<ModelInfo> {
    let mut all = models(front);
    let more = front.handles.offered.cached_rows(&all);
    all.extend(more);
    all
}

/// The default comes first: hosts take the first entry for the current model.
fn models(front: &HostConnection) -> Vec<ModelInfo> {
    let handles = &front.handles;
    let row = |value: &str, described: &str| {
        let id = handles.catalog.resolve(value, &handles.env);
        let facts = handles.catalog.lookup(&id);
        let efforts: Vec<&'static str> = facts.efforts.iter().map(|effort| effort.name()).collect();
        let name = handles.catalog.display_name(&id);
        ModelInfo {
            value: value.to_owned(),
            display_name: if value == "default" { format!("Default ({name})") } else { name },
            description: described.to_owned(),
            resolved_model: id,
            supports_effort: !efforts.is_empty(),
            supported_effort_levels: efforts,
            supports_adaptive_thinking: facts.thinking == model::catalog::ThinkingKind::Adaptive,
        }
    };
    let mut all = vec![row("default", "What the session was configured with")];
    all[0].resolved_model.clone_from(&handles.default_model);
    let known: [(&str, &str); 4] = [
        ("opus", "For hard problems and long work"),
        ("sonnet", "For everyday coding"),
        ("haiku", "The fastest, for small tasks"),
        ("fable", "The most capable"),
    ];
    let listed = |value: &str| {
        handles.settings.available_models.as_ref().is_none_or(|list| list.iter().any(|entry| entry == value))
    };
    all.extend(known.iter().filter(|(value, _)| listed(value)).map(|(value, described)| row(value, described)));
    let named = handles
        .settings
        .available_models
        .iter()
        .flatten()
        .filter(|entry| !known.iter().any(|(value, _)| value == entry));
    all.extend(named.map(|entry| row(entry, "Allowed by settings")));
    all
}
