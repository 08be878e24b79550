//! Runs agents: builds the session of an agent, drives its turns and delivers its report. The tools that start agents
//! and send messages to them are here.

mod build;
mod judge;
mod report;
mod run;
mod send_message;
mod tool;

pub(crate) use send_message::SendMessage;
pub(crate) use tool::{AgentTool, AgentTypes};

use crate::agents::{AgentRefusal, AgentRunner, AgentSpawner};
use futures_util::future::BoxFuture;
use permission::Policy;
use session_parts::skills::invoke::ForkedSkill;
use std::sync::Arc;
use tools::{CallContext, ToolOutcome};

/// Runs the agents of every session in this process.
pub(crate) struct SessionAgents;

impl AgentRunner for SessionAgents {
    fn judge(
        &self,
        spawner: Arc<AgentSpawner>,
        task: String,
        model: Option<String>,
    ) -> BoxFuture<'static, Result<String, AgentRefusal>> {
        judge::judge(spawner, task, model)
    }

    fn run_forked_skill(
        &self,
        spawner: Arc<AgentSpawner>,
        fork: ForkedSkill,
        policy: &Policy,
        cx: CallContext,
    ) -> BoxFuture<'static, Result<ToolOutcome, AgentRefusal>> {
        tool::run_forked_skill(spawner, fork, policy, cx)
    }
}
