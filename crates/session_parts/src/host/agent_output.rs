//! Forwards an agent's messages to the host of its session, marked with the agent and the call that started it. Text
//! and thinking are forwarded only when the host asked for them; the agent's init and result messages never are.

use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Instant;
use sys::sync::Mutex;
use wire::block::BlockHead;
use wire::entry::MessageHead;
use wire::sdk::{AgentStamp, AssistantMessage, SdkMessage, SystemBody, TaskProgress, TaskUsage, UserMessage};
use wire::usage::Usage;

/// Which messages of an agent the host receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardMode {
    Calls,
    Text,
    /// Not even its calls.
    Nothing,
}

#[derive(Debug)]
pub struct AgentOutput {
    stamp: Arc<AgentStamp>,
    /// The call that started the agent.
    tool_use_id: String,
    run_id: String,
    forward: ForwardMode,
    since: Instant,
    tally: Mutex<AgentUsage>,
}

#[derive(Debug, Default)]
struct AgentUsage {
    tool_uses: u64,
    total_tokens: u64,
    /// The last text it wrote, when that was not forwarded.
    last_words: Option<Box<AssistantMessage>>,
}

/// What is sent to the host for one message of the agent.
#[derive(Debug, Default)]
pub struct ForwardedMessage {
    pub progress: Option<SystemBody>,
    pub message: Option<SdkMessage>,
}

impl AgentOutput {
    pub fn new(stamp: AgentStamp, tool_use_id: String, forward: ForwardMode) -> Self {
        Self {
            stamp: Arc::new(stamp),
            tool_use_id,
            run_id: sys::id::uuid(),
            forward,
            since: Instant::now(),
            tally: Mutex::default(),
        }
    }

    pub fn agent_id(&self) -> &str {
        &self.stamp.agent_id
    }

    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// What the agent has used so far.
    pub fn usage(&self) -> TaskUsage {
        let tally = self.tally.lock();
        let duration_ms = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        TaskUsage { total_tokens: tally.total_tokens, tool_uses: tally.tool_uses, duration_ms }
    }

    /// Records the final usage of a response.
    pub fn add_usage(&self, usage: &Usage) {
        let total = usage.total_input() + usage.output_tokens;
        self.tally.lock().total_tokens = total;
    }

    /// The last text it wrote; `None` when it was forwarded.
    pub fn take_last_words(&self) -> Option<Box<AssistantMessage>> {
        self.tally.lock().last_words.take()
    }

    pub fn forward(&self, message: SdkMessage) -> ForwardedMessage {
        match message {
            SdkMessage::Assistant(said) => self.forward_assistant(said),
            SdkMessage::User(user) => self.forward_user(user),
            SdkMessage::System(mut system) => {
                let wanted = match &mut system.body {
                    SystemBody::PermissionDenied { agent_id, .. } => {
                        *agent_id = Some(self.stamp.agent_id.clone());
                        true
                    }
                    SystemBody::TaskStarted(_)
                    | SystemBody::TaskProgress(_)
                    | SystemBody::TaskUpdated { .. }
                    | SystemBody::TaskNotification(_)
                    | SystemBody::BackgroundTasksChanged { .. }
                    | SystemBody::Informational { .. }
                    | SystemBody::HookStarted { .. }
                    | SystemBody::HookResponse { .. }
                    | SystemBody::ElicitationComplete { .. }
                    | SystemBody::SessionWritesLost { .. } => true,
                    // A reader of the stream would take a boundary for one of the main conversation.
                    SystemBody::Status { .. }
                    | SystemBody::CompactBoundary { .. }
                    | SystemBody::MicrocompactBoundary { .. }
                    | SystemBody::ApiRetry { .. }
                    | SystemBody::ModelRefusalFallback { .. }
                    | SystemBody::ModelRefusalNoFallback(_)
                    | SystemBody::ThinkingTokens { .. }
                    | SystemBody::XCacheMiss { .. }
                    | SystemBody::LocalCommandOutput { .. }
                    | SystemBody::SessionTitleChanged { .. }
                    | SystemBody::Notification { .. }
                    | SystemBody::CommandsChanged { .. }
                    | SystemBody::SessionStateChanged { .. } => false,
                };
                ForwardedMessage { progress: None, message: wanted.then_some(SdkMessage::System(system)) }
            }
            SdkMessage::ToolProgress(_) if self.forward == ForwardMode::Nothing => ForwardedMessage::default(),
            SdkMessage::ToolProgress(mut progress) => {
                progress.parent_tool_use_id = Some(self.tool_use_id.clone());
                ForwardedMessage { progress: None, message: Some(SdkMessage::ToolProgress(progress)) }
            }
            // The limit is that of the account, whoever meets it.
            SdkMessage::RateLimit(_) => ForwardedMessage { progress: None, message: Some(message) },
            SdkMessage::Init(_) | SdkMessage::Result(_) | SdkMessage::StreamEvent(_) | SdkMessage::Reset(_) => {
                ForwardedMessage::default()
            }
        }
    }

    /// A call is sent after a progress message; text is sent only when the host asked for it.
    fn forward_assistant(&self, mut said: Box<AssistantMessage>) -> ForwardedMessage {
        let head = AssistantSummary::read(&said.message);
        let progress = head.tool.map(|tool| self.progress(tool, head.tokens));
        if self.forward == ForwardMode::Nothing {
            return ForwardedMessage::default();
        }
        if progress.is_none() && said.is_api_error_message {
            return ForwardedMessage::default();
        }
        said.parent_tool_use_id = Some(self.tool_use_id.clone());
        said.agent = Some(Arc::clone(&self.stamp));
        if progress.is_none() && self.forward == ForwardMode::Calls {
            if head.is_text {
                self.tally.lock().last_words = Some(said);
            }
            return ForwardedMessage::default();
        }
        ForwardedMessage { progress, message: Some(SdkMessage::Assistant(said)) }
    }

    /// The agent's prompt and the results of its calls.
    fn forward_user(&self, mut user: Box<UserMessage>) -> ForwardedMessage {
        if self.forward == ForwardMode::Nothing || (user.is_synthetic && self.forward == ForwardMode::Calls) {
            return ForwardedMessage::default();
        }
        user.parent_tool_use_id = Some(self.tool_use_id.clone());
        user.agent = Some(Arc::clone(&self.stamp));
        ForwardedMessage { progress: None, message: Some(SdkMessage::User(user)) }
    }

    fn progress(&self, tool: String, tokens: u64) -> SystemBody {
        {
            let mut tally = self.tally.lock();
            tally.tool_uses += 1;
            tally.last_words = None;
            tally.total_tokens = tally.total_tokens.max(tokens);
        }
        SystemBody::TaskProgress(Box::new(TaskProgress {
            task_id: self.stamp.agent_id.clone(),
            run_id: self.run_id.clone(),
            tool_use_id: self.tool_use_id.clone(),
            description: self.stamp.task_description.clone(),
            subagent_type: self.stamp.subagent_type.clone(),
            usage: self.usage(),
            last_tool_name: tool,
        }))
    }
}

/// The parts of an assistant message that forwarding needs.
#[derive(Default)]
struct AssistantSummary {
    tool: Option<String>,
    is_text: bool,
    tokens: u64,
}

impl AssistantSummary {
    fn read(message: &RawValue) -> Self {
        let Some(head) = MessageHead::read(message) else { return Self::default() };
        let blocks = head.blocks().unwrap_or_default();
        let tool = blocks.iter().find_map(|block| match BlockHead::read(block)? {
            BlockHead::ToolUse { name, .. } => Some(name.into_owned()),
            _ => None,
        });
        let is_text = blocks.iter().any(|block| matches!(BlockHead::read(block), Some(BlockHead::Text(_))));
        let mut usage = Usage::default();
        if let Some(raw) = head.usage {
            usage.absorb(raw);
        }
        Self { tool, is_text, tokens: usage.total_input() + usage.output_tokens }
    }
}
