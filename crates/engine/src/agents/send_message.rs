//! SendMessage: reaches a running agent, or takes up one that has ended, with everything it knew. An agent that a person
//! stopped stays stopped.

use super::child::{Purpose, Sheet};
use super::run::{First, Running};
use super::tool::{self, Admitted, Candidate};
use super::{Refused, Room, Spawner};
use crate::command::{Command, Prompt};
use crate::worktree::{Holder, Worktree};
use futures_util::future::BoxFuture;
use permission::Access;
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::Arc;
use store::agents::Stored;
use store::resume::LoadOptions;
use tools::input::Input;
use tools::{Call, CallCx, InputError, Outcome, Sharing, Spec, Tool, Workspace};
use wire::mode::PermissionMode;

pub(super) const NAME: &str = "SendMessage";

static SPEC: Spec = Spec::of(NAME, include_str!("send_message.md"), include_str!("send_message.schema.json"));

pub(crate) struct SendMessage {
    spawner: Arc<Spawner>,
}

impl SendMessage {
    pub(crate) fn new(spawner: Arc<Spawner>) -> Self {
        Self { spawner }
    }
}

impl Tool for SendMessage {
    fn spec(&self) -> &Spec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn Call>, InputError> {
        let input = Input::of(NAME, input)?;
        let (to, message) = (input.string("to")?, input.string("message")?);
        Ok(Box::new(Message { to, message, spawner: Arc::clone(&self.spawner) }))
    }
}

struct Message {
    to: String,
    message: String,
    spawner: Arc<Spawner>,
}

/// Who a message is for.
enum Addressee {
    Running(crate::command::Commands, String),
    Ended(String),
}

impl Call for Message {
    fn access(&self, _at: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn sharing(&self) -> Sharing {
        Sharing::Exclusive
    }

    fn run(self: Box<Self>, cx: CallCx) -> BoxFuture<'static, Outcome> {
        Box::pin(async move { self.send(cx).await.unwrap_or_else(Outcome::failed) })
    }
}

impl Message {
    async fn send(&self, cx: CallCx) -> Result<Outcome, Refused> {
        let content = wire::raw::to_raw(&self.message).map_err(|e| e.to_string())?;
        let id = match self.addressee()? {
            Addressee::Running(commands, id) => {
                let prompt = Prompt::new(content.clone());
                if commands.send(Command::Submit(prompt)).await.is_ok() {
                    let text = format!("The message waits for agent {id}; it reads it after what it is doing now.");
                    let structured = json!({"success": true, "message": text, "agentId": id});
                    return Ok(Outcome::text(text, wire::raw::to_raw(&structured).ok()));
                }
                // It has just ended.
                id
            }
            Addressee::Ended(id) => id,
        };
        self.take_up(&id, content, &cx).await
    }

    fn addressee(&self) -> Result<Addressee, Refused> {
        let rows = self.spawner.agents.rows();
        if let Some(row) = rows.iter().find(|row| row.id == self.to) {
            return Ok(row
                .commands
                .clone()
                .map_or(Addressee::Ended(row.id.clone()), |commands| Addressee::Running(commands, row.id.clone())));
        }
        let named: Vec<_> = rows.iter().filter(|row| row.name.as_deref() == Some(self.to.as_str())).collect();
        match named.as_slice() {
            [] => Ok(Addressee::Ended(self.to.clone())),
            [row] => Ok(row
                .commands
                .clone()
                .map_or(Addressee::Ended(row.id.clone()), |commands| Addressee::Running(commands, row.id.clone()))),
            several => {
                let list: Vec<String> =
                    several.iter().map(|row| format!("{} ({}: {})", row.id, row.agent_type, row.description)).collect();
                Err(format!(
                    "The name '{}' has been given to several agents. Send the message to an id: {}",
                    self.to,
                    list.join(", ")
                ))
            }
        }
    }

    fn stored(&self, id: &str) -> Result<Stored, Refused> {
        let all = store::agents::list(&self.spawner.agents.kit().session_dir);
        let mut named: Vec<Stored> =
            all.into_iter().filter(|s| s.id == id || s.sidecar.name.as_deref() == Some(id)).collect();
        match (named.pop(), named.is_empty()) {
            (Some(stored), true) => Ok(stored),
            (Some(_), false) => Err(format!("The name '{id}' has been given to several agents; use an id.")),
            (None, _) => Err(format!("There is no agent '{id}' in this session.")),
        }
    }

    async fn take_up(&self, id: &str, content: Box<RawValue>, cx: &CallCx) -> Result<Outcome, Refused> {
        let spawner = &self.spawner;
        let Stored { id, mut sidecar, transcript } = self.stored(id)?;
        if sidecar.stopped_by_user {
            return Err(format!("Agent {id} was stopped by the user and goes on only when the user says so."));
        }
        let definition =
            spawner.agents.find(&sidecar.agent_type).ok_or_else(|| spawner.agents.unknown(&sidecar.agent_type))?;
        if !tool::is_continuable(&definition) {
            return Err(format!("Agents of type {} answer once and cannot be continued.", definition.name));
        }
        let live = spawner.live()?;
        let options = LoadOptions { sidechain: true, ..LoadOptions::default() };
        let path = transcript.clone();
        let past = tokio::task::spawn_blocking(move || store::resume::load(&path, &options))
            .await
            .map_err(|e| e.to_string())?
            .map_err(|e| format!("Agent {id} cannot be continued: {e}"))?;
        let kit = &spawner.agents.kit();
        let worktree = match sidecar.worktree_path.clone() {
            Some(path) => {
                let commit = sidecar.other.get("worktreeBaseCommit").and_then(|c| c.as_str()).unwrap_or_default();
                let gone = format!("Agent {id} cannot be continued: its worktree {} is gone.", path.display());
                let branch = sidecar.worktree_branch.clone();
                let worktree = Worktree::reopen(path, branch, commit.to_owned(), &kit.env).ok_or(gone)?;
                worktree.hold(Holder::Agent(&id))?;
                Some(worktree)
            }
            None => None,
        };
        let mode = tool::mode_of(&definition, &live, &kit.env);
        let sheet = Sheet {
            model: sidecar.model.clone().unwrap_or_else(|| live.model.clone()),
            effort: definition.effort.clone(),
            place: worktree.as_ref().map_or_else(|| live.place.clone(), |worktree| worktree.path.clone()),
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
            purpose: Purpose::Task,
        };
        sidecar.is_backgrounded = true;
        sidecar.status = None;
        sidecar.permission_mode = Some(PermissionMode::as_str(mode).to_owned());
        sidecar.other.insert("resumeToolUseId".into(), cx.id.clone().into());
        let scope = spawner.scope.child_token();
        let candidate = Candidate { sheet, sidecar, scope: scope.clone(), room: Room::Granted, past: Some(past) };
        match tool::admit(spawner, live, candidate) {
            Admitted::Refused(_, why) => Err(why),
            Admitted::Running(running) => Ok(self.launch(running, &scope, content, cx).await),
        }
    }

    async fn launch(
        &self,
        mut running: Box<Running>,
        scope: &tokio_util::sync::CancellationToken,
        content: Box<RawValue>,
        cx: &CallCx,
    ) -> Outcome {
        super::run::write_sidecar(&self.spawner.agents, &running.sheet.id, running.sidecar.clone()).await;
        running.announce(&self.message, First::No).await;
        let task = tool::launch(running, scope, content, cx).await;
        let text = format!(
            "Agent {} had ended and goes on in the background with your message. You will be told when it has ended.\n\
             output_file: {}",
            task.id,
            task.output.display()
        );
        let structured = json!({"success": true, "message": text, "agentId": task.id,
                                "outputFile": task.output.display().to_string()});
        Outcome::text(text, wire::raw::to_raw(&structured).ok())
    }
}
