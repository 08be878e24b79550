//! What is always true of a tool, whatever its input: what kind of tool it is, where its commands run, which file it
//! works on, how it is bounded, and who may use it. The session and the frontends read these facts; none of them
//! compares names of tools.

use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::time::Duration;

/// What kind of work a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolClass {
    /// Runs shell commands.
    Shell,
    /// Reads one file.
    Read,
    /// Changes one file.
    Edit,
    /// Finds files or text.
    Search,
    /// Reads from the network.
    Web,
    /// Keeps the list of what is to be done.
    TaskList,
    /// Watches or stops background tasks.
    Background,
    /// Asks the person.
    Question,
    /// Asks to enter plan mode.
    PlanEntry,
    /// Presents a plan and asks to leave plan mode.
    PlanExit,
    /// Starts a subagent.
    Agent,
    /// Sends a message to a subagent.
    Message,
    /// Loads a skill.
    Skill,
    /// Moves the session into a worktree, or back.
    Worktree,
    /// Finds deferred tools and loads them.
    ToolSearch,
    /// Searches what a compaction dropped.
    Recall,
    /// Lists or reads resources of MCP servers.
    Resource,
    /// Takes the final answer as structured data.
    Answer,
    /// A tool of an MCP server.
    Mcp,
    /// None of these, or not a tool of ours.
    Other,
}

impl ToolClass {
    /// Whether its calls are only of use where somebody can answer.
    pub const fn needs_answer(self) -> bool {
        matches!(self, Self::Question | Self::PlanEntry | Self::PlanExit)
    }

    /// Whether a call can be made again to get its result back: it only looks something up.
    pub const fn is_repeatable(self) -> bool {
        matches!(self, Self::Read | Self::Search | Self::Web | Self::Resource)
    }

    /// Whether its calls change something outside of the session, unless the tool says otherwise.
    const fn changes(self) -> bool {
        matches!(
            self,
            Self::Shell
                | Self::Edit
                | Self::Agent
                | Self::Message
                | Self::Skill
                | Self::Worktree
                | Self::Mcp
                | Self::Other
        )
    }
}

/// Where the commands of a tool run when the session has a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolConfinement {
    /// It runs no commands.
    None,
    /// Its input is a command, which runs in the sandbox; permission counts it as confined.
    Command,
    /// It runs commands of a text it loads. They run in the sandbox, but must be allowed as if they were unconfined.
    LoadedCommands,
}

/// What a call does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileContact {
    Read,
    Write,
}

/// The input field that names the one file a call works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileField {
    pub name: &'static str,
    pub contact: FileContact,
}

impl FileField {
    /// The path in an input, as the model wrote it.
    pub fn path_in(self, input: &RawValue) -> Option<String> {
        let fields: BTreeMap<String, &RawValue> = serde_json::from_str(input.get()).ok()?;
        serde_json::from_str(fields.get(self.name)?.get()).ok()
    }
}

/// What the failure of a call means for the calls after it in the same message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiblingFailure {
    /// They run.
    Independent,
    /// Those that have not started are not run: they were written in the belief that this one succeeds.
    CancelsLater,
}

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeBound {
    /// As long as its work: bounded by the size of its input, or by somebody's answer.
    Work,
    /// At most this long.
    Fixed(Duration),
    /// What its input asks for: `default` when it asks for nothing, `max` at most. Settings may change both.
    Requested { default: Duration, max: Duration },
}

/// What happens to a text result that is too long for the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputBound {
    /// Above `spill::GENERIC_LIMIT` it is saved to a file, and the model receives the beginning and the path.
    Spilled,
    /// The tool limits its output itself: it has pages, or its server names a maximum.
    Limited,
}

/// The bounds of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallBounds {
    pub time: TimeBound,
    pub output: OutputBound,
}

/// What happens to a call whose input contains a mask in the place of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskedInput {
    /// It runs: the input is written nowhere.
    Runs,
    /// It is refused, because the mask would replace the secret. The text tells the model what to do instead.
    Refused(&'static str),
}

/// What a PostToolUse hook may put in the place of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplacedOutput {
    /// Nothing.
    Nothing,
    /// An object with `stdout` and `stderr`.
    Streams,
    /// Any JSON value.
    Anything,
}

/// Which agents may have the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentUse {
    /// None: it needs the person at the terminal or the main thread.
    Never,
    /// Only those in plan mode.
    InPlanMode,
    /// Those whose result the caller waits for.
    Foreground,
    /// Those that may start agents themselves.
    Nested,
    /// All.
    Always,
}

/// How many sessions need the tool. What few need is sent when it is asked for, where the API can load tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolDemand {
    Common,
    Seldom,
    /// Only those in a project with notebooks.
    WithNotebooks,
}

/// The facts of one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolFacts {
    pub class: ToolClass,
    /// Whether its calls change something outside of the session.
    pub changes: bool,
    pub confinement: ToolConfinement,
    /// The file a call works on; `None` when it works on no file or on many.
    pub file: Option<FileField>,
    pub sibling_failure: SiblingFailure,
    pub bounds: CallBounds,
    pub masked_input: MaskedInput,
    pub replaced_output: ReplacedOutput,
    pub agents: AgentUse,
    pub demand: ToolDemand,
    /// Offered with `--bare`.
    pub is_basic: bool,
    /// Its calls read the state of the session (`CallContext::session`).
    pub reads_session: bool,
}

impl ToolFacts {
    /// The facts of a tool of a server: the session knows nothing of what it does.
    pub const MCP: Self = Self {
        bounds: CallBounds { time: TimeBound::Work, output: OutputBound::Limited },
        masked_input: MaskedInput::Refused(MASK_ADVICE),
        replaced_output: ReplacedOutput::Anything,
        agents: AgentUse::Always,
        ..Self::of(ToolClass::Mcp)
    };

    /// A tool that runs no commands, names no file, has no bounds of its own and is not for background agents.
    /// Others say so: `ToolFacts { agents: AgentUse::Always, ..ToolFacts::of(ToolClass::Search) }`.
    pub const fn of(class: ToolClass) -> Self {
        Self {
            class,
            changes: class.changes(),
            confinement: ToolConfinement::None,
            file: None,
            sibling_failure: SiblingFailure::Independent,
            bounds: CallBounds { time: TimeBound::Work, output: OutputBound::Spilled },
            masked_input: MaskedInput::Runs,
            replaced_output: ReplacedOutput::Nothing,
            agents: AgentUse::Foreground,
            demand: ToolDemand::Common,
            is_basic: false,
            reads_session: false,
        }
    }

    /// A tool that reads the file named by the input field `name`.
    #[must_use]
    pub const fn reads(self, name: &'static str) -> Self {
        Self { file: Some(FileField { name, contact: FileContact::Read }), ..self }
    }

    /// A tool that changes the file named by the input field `name`. A mask in its input would be written there.
    #[must_use]
    pub const fn writes(self, name: &'static str) -> Self {
        Self {
            file: Some(FileField { name, contact: FileContact::Write }),
            masked_input: MaskedInput::Refused(MASK_ADVICE),
            ..self
        }
    }
}

/// For tools that replace a text in a file.
pub(crate) const EDIT_MASK_ADVICE: &str = "Choose old_string and new_string so that they leave the secret out.";
const MASK_ADVICE: &str = "Change the file with Edit and leave the part with the secret out, or refer to a variable.";
