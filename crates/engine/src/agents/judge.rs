//! An agent that a hook asks whether something holds. It reads and searches, changes nothing, asks nobody, and answers in one
//! JSON object. It is bound by the session's rules; its tokens count, its words stay with the hook.

use super::child::{Purpose, Sheet};
use super::tool::{self, Admitted, Candidate};
use super::{Refused, Room, Spawner};
use config::agents::{Definition, Prompt};
use config::roots::Scope;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use wire::mode::PermissionMode;

const NAME: &str = "hook-agent";
const TOOLS: [&str; 3] = ["Read", "Glob", "Grep"];
const MAX_TURNS: u32 = 50;

/// What an agent answers to `task`. Dropping the future ends the agent. Boxed: a turn can hold a judge, which has turns.
pub(crate) fn judge(
    spawner: &Arc<Spawner>,
    task: String,
    model: Option<String>,
) -> BoxFuture<'static, Result<String, Refused>> {
    let spawner = Arc::clone(spawner);
    Box::pin(async move {
        let live = spawner.live()?;
        if spawner.agents.is_over_budget() {
            return Err("the budget is spent".into());
        }
        let sheet = sheet(&spawner, model, &live);
        let scope = spawner.scope.child_token();
        let sidecar = tool::sidecar_of(&sheet);
        let candidate = Candidate { sheet, sidecar, scope, room: Room::Granted, past: None };
        let content = wire::raw::to_raw(&task).map_err(|error| error.to_string())?;
        match tool::admit(&spawner, live, candidate) {
            Admitted::Running(running) => running.answer(content).await,
            Admitted::Refused(_, why) => Err(why),
        }
    })
}

fn sheet(spawner: &Spawner, model: Option<String>, live: &super::Live) -> Sheet {
    let kit = &spawner.agents.kit();
    let id = store::agents::new_id();
    let tools = TOOLS.iter().filter(|name| kit.tools.iter().any(|known| known == *name));
    let definition = Definition {
        tools: Some(tools.map(|name| (*name).to_owned()).collect()),
        max_turns: Some(MAX_TURNS),
        permission_mode: Some(PermissionMode::DontAsk),
        omit_claude_md: true,
        ..Definition::new(NAME, "Judges a condition for a hook", Prompt::Text(prompt()), Scope::Managed)
    };
    Sheet {
        description: "Judges a condition for a hook".into(),
        name: None,
        // No call of the conversation: a resumed session must not take it for one.
        tool_use_id: format!("hook_{id}"),
        model: model.map_or_else(|| kit.small_model.clone(), |name| kit.catalog.resolve(&name, &kit.env)),
        mode: PermissionMode::DontAsk,
        effort: None,
        background: false,
        depth: spawner.depth + 1,
        parent: spawner.id.clone(),
        place: live.place.clone(),
        worktree: None,
        hooks: None,
        purpose: Purpose::Judgement,
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
