//! SendMessage: sends a message to a running agent, or resumes an ended agent with its whole conversation. An agent
//! that the user stopped is not resumed.

use super::build::{AgentPurpose, AgentSpec};
use super::run::{AgentRun, FirstRun};
use super::tool::{self, AdmissionResult, AgentCandidate};
use crate::agents::{AgentRefusal, AgentSpawner, SlotCheck};
use crate::tool_facts;
use crate::view::SessionView;
use futures_util::future::BoxFuture;
use permission::Access;
use serde_json::json;
use serde_json::value::RawValue;
use session_parts::command::{Command, Prompt};
use session_parts::worktree::{Worktree, WorktreeHolder};
use std::sync::Arc;
use store::agents::StoredAgent;
use store::resume::LoadOptions;
use tools::input::ToolInput;
use tools::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};
use wire::mode::PermissionMode;

static SPEC: ToolSpec = ToolSpec::of(
    SendMessage::NAME,
    include_str!("send_message.md"),
    include_str!("send_message.schema.json"),
    tool_facts::SEND_MESSAGE.1,
);

pub(crate) struct SendMessage {
    spawner: Arc<AgentSpawner>,
}

impl SendMessage {
    pub(crate) const NAME: &'static str = tool_facts::SEND_MESSAGE.0;

    pub(crate) fn new(spawner: Arc<AgentSpawner>) -> Self {
        Self { spawner }
    }
}

impl Tool for SendMessage {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of(Self::NAME, input)?;
        let (to, message) = (input.string("to")?, input.string("message")?);
        Ok(Box::new(SendMessageCall { to, message, spawner: Arc::clone(&self.spawner) }))
    }
}

struct SendMessageCall {
    to: String,
    message: String,
    spawner: Arc<AgentSpawner>,
}

/// The agent a message is for: running, with its channel and id, or ended, with its id or name.
enum MessageTarget {
    Running(session_parts::command::CommandSender, String),
    Ended(String),
}

impl ToolCall for SendMessageCall {
    fn access(&self, _at: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Exclusive
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move { self.send(cx).await.unwrap_or_else(ToolOutcome::failed) })
    }
}

impl SendMessageCall {
    async fn send(&self, cx: CallContext) -> Result<ToolOutcome, AgentRefusal> {
        let content = wire::raw::to_raw(&self.message).map_err(|e| e.to_string())?;
        let id = match self.resolve_target()? {
            MessageTarget::Running(commands, id) => {
                let prompt = Prompt::new(content.clone());
                if commands.send(Command::Submit(prompt)).await.is_ok() {
                    let text = format!("The message waits for agent {id}; it reads it after what it is doing now.");
                    let structured = json!({"success": true, "message": text, "agentId": id});
                    return Ok(ToolOutcome::text(text, wire::raw::to_raw(&structured).ok()));
                }
                // It has just ended: resume it.
                id
            }
            MessageTarget::Ended(id) => id,
        };
        self.resume(&id, content, &cx).await
    }

    fn resolve_target(&self) -> Result<MessageTarget, AgentRefusal> {
        let rows = self.spawner.agents.entries();
        if let Some(row) = rows.iter().find(|row| row.id == self.to) {
            return Ok(row.commands.clone().map_or(MessageTarget::Ended(row.id.clone()), |commands| {
                MessageTarget::Running(commands, row.id.clone())
            }));
        }
        let named: Vec<_> = rows.iter().filter(|row| row.name.as_deref() == Some(self.to.as_str())).collect();
        match named.as_slice() {
            [] => Ok(MessageTarget::Ended(self.to.clone())),
            [row] => Ok(row.commands.clone().map_or(MessageTarget::Ended(row.id.clone()), |commands| {
                MessageTarget::Running(commands, row.id.clone())
            })),
            several => {
                let list: Vec<String> =
                    several.iter().map(|row| format!("{} ({}: {})", row.id, row.agent_type, row.description)).collect();
                Err(format!(
                    "The name '{}' has been given to several agents. Send the message to an id: {}",
                    self.to,
                    list.join(", ")
                )
                .into())
            }
        }
    }

    fn stored(&self, id: &str) -> Result<StoredAgent, AgentRefusal> {
        let all = store::agents::list(&self.spawner.agents.template().session_dir);
        let mut named: Vec<StoredAgent> =
            all.into_iter().filter(|s| s.id == id || s.sidecar.name.as_deref() == Some(id)).collect();
        match (named.pop(), named.is_empty()) {
            (Some(stored), true) => Ok(stored),
            (Some(_), false) => Err(format!("The name '{id}' has been given to several agents; use an id.").into()),
            (None, _) => Err(format!("There is no agent '{id}' in this session.").into()),
        }
    }

    async fn resume(&self, id: &str, content: Box<RawValue>, cx: &CallContext) -> Result<ToolOutcome, AgentRefusal> {
        let spawner = &self.spawner;
        let StoredAgent { id, mut sidecar, transcript } = self.stored(id)?;
        if sidecar.stopped_by_user {
            return Err(format!("Agent {id} was stopped by the user and goes on only when the user says so.").into());
        }
        let definition = spawner
            .agents
            .find(&sidecar.agent_type)
            .ok_or_else(|| spawner.agents.unknown_type_message(&sidecar.agent_type))?;
        if !tool::is_continuable(&definition) {
            return Err(format!("Agents of type {} answer once and cannot be continued.", definition.name).into());
        }
        let view = SessionView::clone(&*SessionView::of(cx)?);
        let options = LoadOptions { sidechain: true, ..LoadOptions::default() };
        let path = transcript.clone();
        let past = tokio::task::spawn_blocking(move || store::resume::load(&path, &options))
            .await
            .map_err(|e| e.to_string())?
            .map_err(|e| format!("Agent {id} cannot be continued: {e}"))?;
        let template = &spawner.agents.template();
        let worktree = match sidecar.worktree_path.clone() {
            Some(path) => {
                let commit = sidecar.other.get("worktreeBaseCommit").and_then(|c| c.as_str()).unwrap_or_default();
                let gone = format!("Agent {id} cannot be continued: its worktree {} is gone.", path.display());
                let branch = sidecar.worktree_branch.clone();
                let worktree = Worktree::reopen(path, branch, commit.to_owned(), &template.env).ok_or(gone)?;
                worktree.lock(WorktreeHolder::Agent(&id))?;
                Some(worktree)
            }
            None => None,
        };
        let mode = tool::mode_of(&definition, &view, &template.env);
        let spec = AgentSpec {
            model: sidecar.model.clone().unwrap_or_else(|| view.model.clone()),
            effort: definition.effort.clone(),
            project_dir: worktree.as_ref().map_or_else(|| view.project_dir.clone(), |worktree| worktree.path.clone()),
            description: sidecar.description.clone(),
            name: sidecar.name.clone(),
            tool_use_id: cx.id.clone(),
            depth: sidecar.spawn_depth.unwrap_or(spawner.depth + 1),
            parent: spawner.id.clone(),
            background: true,
            id: id.clone(),
            mode,
            definition,
            worktree,
            hooks: None,
            purpose: AgentPurpose::Task,
        };
        sidecar.is_backgrounded = true;
        sidecar.status = None;
        sidecar.permission_mode = Some(PermissionMode::as_str(mode).to_owned());
        sidecar.other.insert("resumeToolUseId".into(), cx.id.clone().into());
        let scope = spawner.scope.child_token();
        let candidate = AgentCandidate {
            spec,
            sidecar,
            scope: scope.clone(),
            slot_check: SlotCheck::Granted,
            restored: Some(past),
        };
        match tool::admit(spawner, view, candidate) {
            AdmissionResult::Refused(_, why) => Err(why),
            AdmissionResult::Running(running) => Ok(self.launch(running, &scope, content, cx).await),
        }
    }

    async fn launch(
        &self,
        mut running: Box<AgentRun>,
        scope: &tokio_util::sync::CancellationToken,
        content: Box<RawValue>,
        cx: &CallContext,
    ) -> ToolOutcome {
        super::run::write_sidecar(&self.spawner.agents, &running.spec.id, running.sidecar.clone()).await;
        running.announce(&self.message, FirstRun::No).await;
        let task = tool::launch(running, scope, content, cx).await;
        let text = format!(
            "Agent {} had ended and goes on in the background with your message. You will be told when it has ended.\n\
             output_file: {}",
            task.id,
            task.output.display()
        );
        let structured = json!({"success": true, "message": text, "agentId": task.id,
                                "outputFile": task.output.display().to_string()});
        ToolOutcome::text(text, wire::raw::to_raw(&structured).ok())
    }
}
