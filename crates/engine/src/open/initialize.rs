//! Applies a first `initialize` request before the session is built. Later requests change less: see
//! `control::initialize`.

use super::{SessionAssembly, agent, main_model, mode};
use session_parts::command::{Command, EventSenders};
use session_parts::start_error::{StartError, StartFailure};
use session_parts::structured::StructuredOutput;
use std::collections::BTreeMap;
use tokio::sync::mpsc;
use wire::control::{HostRequest, InitializeRequest};
use wire::mode::PermissionMode;

/// The first command.
enum FirstCommand {
    /// An `initialize` request, answered once the session exists.
    Initialize {
        request_id: String,
        hooks_sent: bool,
        manifests: BTreeMap<String, &'static str>,
    },
    Other(Option<Command>),
}

impl SessionAssembly {
    /// Waits for the first command, so that `initialize` can affect the whole session, then serves the session to its
    /// end.
    pub(super) async fn serve(mut self, mut commands: mpsc::Receiver<Command>, out: EventSenders) {
        let first = commands.recv().await;
        if matches!(first, Some(Command::Shutdown)) {
            return;
        }
        let first = match self.take_first(first) {
            Ok(first) => first,
            Err(error) => return refuse(&out, error).await,
        };
        if let Some(error) = self.missing_agent.take() {
            return refuse(&out, error).await;
        }
        let stream = out.clone();
        let mut session = match self.build(commands, out) {
            Ok(session) => session,
            Err(error) => return refuse(&stream, error).await,
        };
        drop(stream);
        session.publish_view().await;
        match first {
            FirstCommand::Initialize { request_id, hooks_sent, manifests } => {
                session.control.view.is_initialized = true;
                let reply = session.control.initialize_reply(&request_id, hooks_sent, &manifests);
                session.control.send(reply).await;
            }
            FirstCommand::Other(command) => session.control.handle(command).await,
        }
        Box::pin(session.serve()).await;
    }

    /// Applies an `initialize` request; returns any other command.
    fn take_first(&mut self, first: Option<Command>) -> Result<FirstCommand, StartError> {
        let not_first = || {
            let message = "--await-initialize was given, but the first line was no initialize request";
            StartError::of(StartFailure::NotInitialized, message)
        };
        let (request_id, asked) = match first {
            Some(Command::Request { id, request: HostRequest::Initialize(asked) }) => (id, *asked),
            _ if self.options.host.await_initialize => return Err(not_first()),
            other => return Ok(FirstCommand::Other(other)),
        };
        let hooks_sent = asked.hooks.is_some();
        let manifests = asked.sdk_mcp_server_manifests.iter().flatten();
        let manifests = manifests.map(|(name, given)| (name.clone(), manifest_status(given.get()))).collect();
        self.apply_initialize(asked)?;
        Ok(FirstCommand::Initialize { request_id, hooks_sent, manifests })
    }

    fn apply_initialize(&mut self, mut asked: InitializeRequest) -> Result<(), StartError> {
        if let Some(agents) = asked.agents.take() {
            let given =
                config::agents::from_json(agents.get()).map_err(|e| StartError::of(StartFailure::Configuration, e))?;
            self.options.agents.definitions.retain(|known| !given.iter().any(|new| new.name == known.name));
            self.options.agents.definitions.extend(given);
            self.resolve_agent()?;
        }
        if let Some(schema) = asked.json_schema.take() {
            StructuredOutput::new(&schema).map_err(|e| StartError::of(StartFailure::Configuration, e))?;
            self.options.tools.output_schema = Some(schema);
        }
        if let Some(prompt) = asked.system_prompt.take() {
            self.system_blocks = Some(prompt.texts());
        }
        let options = &mut self.options;
        options.prompt.append = asked.append_system_prompt.take().or(options.prompt.append.take());
        options.agents.forward_text |= asked.forward_subagent_text == Some(true);
        if self.conversation.loaded.is_none() {
            options.conversation.name =
                asked.title.take().filter(|title| !title.trim().is_empty()).or(options.conversation.name.take());
        }
        self.initialize = asked;
        Ok(())
    }

    /// Chooses the definition of the main thread again, with the agents that the host declared.
    fn resolve_agent(&mut self) -> Result<(), StartError> {
        let main = agent::main(&self.options, &self.loaded, &self.conversation, self.roots.as_ref())?;
        self.missing_agent = None;
        let changed = main.definition.as_ref().map(|d| &d.name) != self.agent.as_ref().map(|d| &d.name);
        self.agent = main.definition;
        if !changed {
            return Ok(());
        }
        let wanted = mode(&self.options, &self.loaded, &self.conversation, self.agent.as_ref(), &self.env)?;
        self.mode = if wanted == PermissionMode::Auto { PermissionMode::Default } else { wanted };
        let place = (&*self.catalog, &self.env);
        (self.model, _) = main_model(&self.options, &self.loaded, &self.conversation, self.agent.as_ref(), place);
        Ok(())
    }
}

/// The status of a server manifest that the host sent.
fn manifest_status(manifest: &str) -> &'static str {
    match mcp::McpManifest::read(manifest) {
        None => "malformed",
        Some(manifest) if manifest.fits() => "parked",
        Some(_) => "protocol_version_mismatch",
    }
}

async fn refuse(out: &EventSenders, error: StartError) {
    out.stream.send(crate::Event::Refused(error)).await.ok();
}
