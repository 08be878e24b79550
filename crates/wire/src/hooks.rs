//! Hook events: one table with the fixed properties of each event, and the payload of each event. A new event needs a
//! row here, a struct in `hooks/payload.rs`, and one place that fires it.

mod payload;

pub use payload::*;

use serde::Serialize;

/// What the `matcher` of a group is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatcherSubject {
    /// A tool name; older names of the tool match too.
    Tool,
    /// Another field of the event.
    Field,
    /// Like `Field`, but only `|` separates names, and a blank, comma or hyphen makes the text a regular expression.
    Narrow,
    /// The event has nothing to compare with: every group runs.
    Nothing,
}

/// Which handler types an event accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandlerSupport {
    All,
    /// All but `agent`.
    NoAgent,
    /// `command`, `http`, `mcp_tool`
    NoModel,
    /// `command`, `mcp_tool`
    Local,
}

/// What exit code 2 (or `decision: "block"`) means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockEffect {
    /// The action does not happen.
    Action,
    /// The agent continues instead of stopping.
    Stopping,
    /// The turn ends.
    Loop,
    /// The reason is sent to the model; nothing is undone.
    TellsModel,
    /// The reason is shown to the user.
    TellsUser,
    Nothing,
}

/// Which of the output fields `continue` and `systemMessage` have an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommonOutput {
    Both,
    MessageOnly,
    Neither,
    /// Standard output is not read at all, not even the fields specific to the event.
    NoOutput,
}

/// The fixed properties of an event.
#[derive(Clone, Copy, Debug)]
pub struct HookEventFacts {
    pub name: &'static str,
    pub matching: MatcherSubject,
    pub handlers: HandlerSupport,
    pub blocks: BlockEffect,
    pub common: CommonOutput,
    /// Plain text on standard output is added to the model's context.
    pub text_is_context: bool,
    /// Handlers get the variable `CLAUDE_ENV_FILE`.
    pub env_file: bool,
    /// Default time limit of command, HTTP and MCP handlers, in seconds.
    pub timeout: u32,
    /// One-line description for listings.
    pub about: &'static str,
}

macro_rules! hook_events {
    ($($name:ident: $matching:ident, $handlers:ident, $blocks:ident, $common:ident, $timeout:literal, $about:literal
        $(, $flag:ident)*;)*) => {
        /// Every event a hook can be attached to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub enum HookEventName { $($name),* }

        impl HookEventName {
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            pub fn facts(self) -> HookEventFacts {
                match self {
                    $(Self::$name => {
                        #[allow(unused_mut, reason = "most rows have no flag")]
                        let mut facts = HookEventFacts {
                            name: stringify!($name),
                            matching: MatcherSubject::$matching,
                            handlers: HandlerSupport::$handlers,
                            blocks: BlockEffect::$blocks,
                            common: CommonOutput::$common,
                            text_is_context: false,
                            env_file: false,
                            timeout: $timeout,
                            about: $about,
                        };
                        $(facts.$flag = true;)*
                        facts
                    })*
                }
            }
        }
    };
}

#[rustfmt::skip]
mod table {
    use super::{BlockEffect, CommonOutput, HookEventFacts, HandlerSupport, MatcherSubject, Serialize};
    hook_events! {
        PreToolUse: Tool, All, Action, Both, 600, "before a tool call is decided";
        PostToolUse: Tool, All, TellsModel, Both, 600, "after a tool call succeeded";
        PostToolUseFailure: Tool, All, TellsModel, Both, 600, "after a tool call failed";
        PostToolBatch: Nothing, All, Loop, Both, 600, "after all calls of one message";
        PermissionRequest: Tool, NoAgent, Nothing, Both, 600, "before someone is asked for permission";
        PermissionDenied: Tool, All, Nothing, Both, 600, "after auto mode refused a call";
        UserPromptSubmit: Nothing, All, Action, Both, 30, "before a prompt reaches the model", text_is_context;
        UserPromptExpansion: Field, All, Action, Both, 600, "before a typed command becomes a prompt", text_is_context;
        SessionStart: Field, Local, TellsUser, Both, 600, "a session begins or goes on", text_is_context, env_file;
        SessionEnd: Field, NoModel, TellsUser, NoOutput, 600, "a session ends";
        Setup: Field, Local, Nothing, NoOutput, 600, "--init, --maintenance and --init-only", env_file;
        Stop: Nothing, All, Stopping, Both, 600, "the agent is about to finish";
        StopFailure: Narrow, NoModel, Nothing, NoOutput, 600, "a turn ended on an API error";
        SubagentStart: Field, NoModel, TellsUser, Both, 600, "a subagent begins";
        SubagentStop: Field, All, Stopping, Both, 600, "a subagent is about to finish";
        PreCompact: Field, NoModel, Action, Neither, 600, "before the conversation is summarised";
        PostCompact: Field, NoModel, TellsUser, Neither, 600, "after the conversation was summarised";
        PreModelSwitch: Field, NoModel, Action, Both, 30, "before the model is changed";
        PostModelSwitch: Field, NoModel, TellsUser, Both, 30, "after the model was changed", text_is_context;
        Notification: Field, NoModel, Nothing, Neither, 600, "the user is notified";
        MessageDisplay: Nothing, NoModel, Nothing, Neither, 10, "assistant text is about to be shown";
        TaskCreated: Nothing, All, Action, MessageOnly, 600, "a task is put on the list";
        TaskCompleted: Nothing, All, Action, Both, 600, "a task is marked as done";
        TeammateIdle: Nothing, All, Stopping, Both, 600, "a teammate is about to go idle";
        Elicitation: Field, NoModel, Action, Neither, 600, "an MCP server asks the user";
        ElicitationResult: Field, NoModel, Action, Neither, 600, "the user answered an MCP server";
        ConfigChange: Field, NoModel, Action, Neither, 600, "a settings or skill file changed";
        InstructionsLoaded: Field, NoModel, Nothing, NoOutput, 600, "an instruction file was loaded";
        WorktreeCreate: Nothing, NoModel, Action, Neither, 600, "a worktree is needed";
        WorktreeRemove: Nothing, NoModel, Nothing, NoOutput, 600, "a worktree is removed";
        CwdChanged: Nothing, NoModel, TellsUser, MessageOnly, 600, "the shell changed its directory", env_file;
        FileChanged: Narrow, NoModel, TellsUser, MessageOnly, 600, "a watched file changed", env_file;
        DirectoryAdded: Field, NoModel, Nothing, MessageOnly, 600, "a working directory was added";
    }
}
pub use table::HookEventName;

impl HookEventName {
    pub fn as_str(self) -> &'static str {
        self.facts().name
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|event| event.as_str() == name)
    }

    /// True for events about tool calls; `if` filters apply only to those.
    pub fn is_tool_event(self) -> bool {
        self.facts().matching == MatcherSubject::Tool
    }
}

/// The payload of one hook event.
pub trait HookEvent: Serialize + Sync {
    const EVENT: HookEventName;

    /// The text that matchers are compared with; `None` when there is none.
    fn subject(&self) -> Option<&str> {
        None
    }
}

/// Fields that are part of every payload.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HookBase {
    pub session_id: String,
    pub transcript_path: String,
    pub cwd: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<HookEffort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct HookEffort {
    pub level: String,
}

#[derive(Serialize)]
struct HookEnvelope<'a, E> {
    #[serde(flatten)]
    base: &'a HookBase,
    hook_event_name: &'static str,
    #[serde(flatten)]
    event: &'a E,
}

/// The JSON object that a handler receives.
pub fn payload<E: HookEvent>(base: &HookBase, event: &E) -> Result<String, serde_json::Error> {
    crate::raw::to_line(&HookEnvelope { base, hook_event_name: E::EVENT.as_str(), event })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_and_the_settings_know_the_same_events() {
        let mut table: Vec<&str> = HookEventName::ALL.iter().map(|event| event.as_str()).collect();
        let mut settings = crate::settings::HOOK_EVENTS.to_vec();
        table.sort_unstable();
        settings.sort_unstable();
        assert_eq!(table, settings);
        assert_eq!(HookEventName::parse("PreToolUse"), Some(HookEventName::PreToolUse));
        assert_eq!(HookEventName::parse("pretooluse"), None);
    }

    #[test]
    fn a_payload_is_one_flat_object() {
        let base = HookBase { session_id: "s".into(), cwd: "/p".into(), ..HookBase::default() };
        let input = serde_json::value::RawValue::from_string(r#"{"b":1,"a":2.50}"#.into()).unwrap();
        let event = PreToolUse { tool_name: "Bash".into(), tool_input: input, tool_use_id: "t".into(), batch: None };
        let text = payload(&base, &event).unwrap();
        assert_eq!(
            text,
            r#"{"session_id":"s","transcript_path":"","cwd":"/p","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"b":1,"a":2.50},"tool_use_id":"t"}"#
        );
    }
}
