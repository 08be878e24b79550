//! The agent of an agent hook: it judges a condition. It reads and searches, changes nothing, asks nobody and answers
//! with one JSON object. The session's rules apply to it and its tokens count, but its messages go only to the hook.

use super::build::{AgentPurpose, AgentSpec};
use super::tool::{self, AdmissionResult, AgentCandidate};
use crate::agents::{AgentRefusal, AgentSpawner, SlotCheck};
use crate::tool_facts::tool_facts;
use crate::view::SessionView;
use config::agents::{AgentDefinition, AgentPrompt};
use config::roots::DefinitionScope;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use tools::ToolClass;
use wire::mode::PermissionMode;

const JUDGE_NAME: &str = "hook-agent";
const MAX_TURNS: u32 = 50;

/// The agent's answer to `task`. Dropping the future ends the agent. Boxed, because a turn can contain a judge and a
/// judge runs turns.
pub(super) fn judge(
    spawner: Arc<AgentSpawner>,
    task: String,
    model: Option<String>,
) -> BoxFuture<'static, Result<String, AgentRefusal>> {
    Box::pin(async move {
        let view = SessionView::clone(&*spawner.hook_view()?);
        if spawner.agents.is_over_budget() {
            return Err("the budget is spent".into());
        }
        let spec = judge_spec(&spawner, model, &view);
        let scope = spawner.scope.child_token();
        let sidecar = tool::sidecar_of(&spec);
        let candidate = AgentCandidate { spec, sidecar, scope, slot_check: SlotCheck::Granted, restored: None };
        let content = wire::raw::to_raw(&task).map_err(|error| error.to_string())?;
        match tool::admit(&spawner, view, candidate) {
            AdmissionResult::Running(running) => running.answer(content).await,
            AdmissionResult::Refused(_, why) => Err(why),
        }
    })
}

fn judge_spec(spawner: &AgentSpawner, model: Option<String>, view: &SessionView) -> AgentSpec {
    let template = &spawner.agents.template();
    let id = store::agents::new_id();
    let reads = |name: &&str| matches!(tool_facts(name).class, ToolClass::Read | ToolClass::Search);
    let tools = template.tools.iter().map(String::as_str).filter(reads);
    let definition = AgentDefinition {
        tools: Some(tools.map(|name| (*name).to_owned()).collect()),
        max_turns: Some(MAX_TURNS),
        permission_mode: Some(PermissionMode::DontAsk),
        omit_claude_md: true,
        ..AgentDefinition::new(
            JUDGE_NAME,
            "Judges a condition for a hook",
            AgentPrompt::Text(prompt()),
            DefinitionScope::Managed,
        )
    };
    AgentSpec {
        description: "Judges a condition for a hook".into(),
        name: None,
        // Not the id of a call in the conversation, so that a resumed session does not match the two.
        tool_use_id: format!("hook_{id}"),
        model: model
            .map_or_else(|| template.small_model.clone(), |name| template.catalog.resolve(&name, &template.env)),
        mode: PermissionMode::DontAsk,
        effort: None,
        background: false,
        depth: spawner.depth + 1,
        parent: spawner.id.clone(),
        project_dir: view.project_dir.clone(),
        worktree: None,
        hooks: None,
        purpose: AgentPurpose::Judgement,
        id,
        definition,
    }
}

fn prompt() -> String {
    format!(
        "{}\n\nFind out before you answer: read and search what you need, but change nothing.",
        hooks::prompt::SYSTEM
    )
}
