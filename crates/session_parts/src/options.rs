//! The parameters of a session, as parsed from the command line.

use config::SettingsSelection;
use std::path::PathBuf;
use sys::Env;
use wire::mode::PermissionMode;
use wire::settings::SettingsSource;

/// The parameters of `open`.
#[derive(Clone, Debug)]
pub struct StartRequest {
    pub env: Env,
    /// The working directory as the user named it (not resolved).
    pub cwd: PathBuf,
    pub options: SessionOptions,
}

/// How a session works. Everything has a default; the groups say what belongs together.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    pub model: ModelOptions,
    pub prompt: PromptOptions,
    pub agents: AgentOptions,
    pub tools: ToolOptions,
    pub servers: ServerOptions,
    pub permissions: PermissionOptions,
    pub configuration: ConfigurationOptions,
    pub conversation: ConversationOptions,
    pub limits: LimitOptions,
    pub host: HostOptions,
    pub cassette: CassetteOptions,
}

/// Which model is asked, and how.
#[derive(Clone, Debug, Default)]
pub struct ModelOptions {
    /// Alias or full id; `None` for the configured one.
    pub name: Option<String>,
    /// Models to use instead while the first one is overloaded, in this order.
    pub fallbacks: Vec<String>,
    pub effort: Option<String>,
    pub thinking: ThinkingOption,
    /// `summarized` or `omitted`.
    pub thinking_display: Option<String>,
    pub betas: Vec<String>,
    /// Tokens that a task may use in all. The model is sent this number.
    pub task_budget: Option<u64>,
    /// `--autocompact`: how much of the context window to use, in tokens.
    pub compact_window: Option<u64>,
}

/// The system prompt.
#[derive(Clone, Debug, Default)]
pub struct PromptOptions {
    /// Replaces the built-in text; `Some("")` means no text at all.
    pub system: Option<String>,
    pub append: Option<String>,
    /// Appended to the system prompt of every subagent.
    pub append_for_agents: Option<String>,
}

/// Agent definitions.
#[derive(Clone, Debug, Default)]
pub struct AgentOptions {
    /// `--agent`: the definition the main thread runs as.
    pub main: Option<String>,
    /// `--agents`: definitions besides those on disk.
    pub definitions: Vec<config::agents::AgentDefinition>,
    /// Send the text and thinking of subagents to the host too.
    pub forward_text: bool,
}

/// The tools of the model.
#[derive(Clone, Debug, Default)]
pub struct ToolOptions {
    /// Names of built-in tools: `None` for the default set, `Some([])` for none.
    pub offered: Option<Vec<String>>,
    /// The final answer must fit this JSON Schema.
    pub output_schema: Option<serde_json::Value>,
}

/// MCP servers.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// `--mcp-config`: paths or JSON.
    pub declared: Vec<String>,
    /// `--strict-mcp-config`: only the declared ones.
    pub is_strict: bool,
    /// A person was asked about the servers of the repository: those not approved do not run.
    pub needs_approval: bool,
}

/// What calls may do without a question, and who answers questions.
#[derive(Clone, Debug, Default)]
pub struct PermissionOptions {
    /// Permission rules, one each.
    pub allowed: Vec<String>,
    pub denied: Vec<String>,
    /// `None` for the configured mode.
    pub mode: Option<PermissionMode>,
    /// The mode `bypassPermissions` may be chosen later.
    pub allow_bypass: bool,
    /// `--permission-prompt-tool`: `stdio` asks the host, other names are tools of MCP servers.
    pub prompt_tool: Option<String>,
    /// `--permission-prompts none`: every question is answered with a refusal.
    pub no_prompts: bool,
    /// `--add-dir`: further directories the tools may work in.
    pub directories: Vec<PathBuf>,
}

/// Which configuration counts, and what of it runs at the start.
#[derive(Clone, Debug, Default)]
pub struct ConfigurationOptions {
    /// `--settings`: JSON text or a path.
    pub settings: Option<String>,
    /// `None` for all.
    pub sources: Option<Vec<SettingSource>>,
    /// `--trust-workspace`, `--refuse-untrusted-code`
    pub trust: config::TrustChoice,
    /// Instruction files of the project may import files from outside it, in this run.
    pub external_imports: bool,
    /// `--disable-slash-commands`: no skills, no commands.
    pub disable_slash_commands: bool,
    /// No instruction files, no definitions on disk, three tools.
    pub bare: bool,
    /// Without any customisation.
    pub safe_mode: bool,
    /// `--init`, `--maintenance`: which Setup hooks run first.
    pub setup: Option<&'static str>,
    /// `--init-only`: run the start hooks, then end.
    pub init_only: bool,
}

/// Which conversation goes on, and where it is recorded.
#[derive(Clone, Debug)]
pub struct ConversationOptions {
    pub choice: SessionChoice,
    /// The uuid of the last message to keep of a resumed conversation.
    pub resume_at: Option<String>,
    /// The uuid of a prompt whose turn is left out.
    pub resume_drops_turn: Option<String>,
    pub name: Option<String>,
    /// Write a transcript.
    pub persist: bool,
    /// `--worktree`
    pub worktree: Option<WorktreeChoice>,
    /// The person was told what the first request costs and wants it.
    pub is_price_accepted: bool,
}

impl Default for ConversationOptions {
    fn default() -> Self {
        Self {
            choice: SessionChoice::New { id: None },
            resume_at: None,
            resume_drops_turn: None,
            name: None,
            persist: true,
            worktree: None,
            is_price_accepted: false,
        }
    }
}

/// When a session stops by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct LimitOptions {
    /// Requests within one turn.
    pub max_turns: Option<u32>,
    /// Estimated cost of all requests, in US dollars.
    pub max_budget_usd: Option<f64>,
    /// Estimated cost of all requests of one turn.
    pub max_turn_usd: Option<f64>,
    /// A turn waits until a limit of the provider is lifted.
    pub wait_for_limits: bool,
}

/// What the host sends and wants to receive.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// It serves several turns and answers requests (stream-json input).
    pub multi_turn: bool,
    /// `--await-initialize`: the first line must be an `initialize` request.
    pub await_initialize: bool,
    /// Checkpoints are kept only when the environment asks for them: a host of another program serves the session.
    pub checkpoints_on_request: bool,
    /// Send `stream_event`s.
    pub partial_messages: bool,
    /// Echo prompts with `isReplay`.
    pub replay_user_messages: bool,
    /// Send the end of a resumed conversation again, for hosts that show it.
    pub replay_history: bool,
    /// `--include-hook-events`: report every run of a hook.
    pub hook_events: bool,
    /// `--include-cache-events`: report cache misses.
    pub cache_events: bool,
    /// `--session-mirror`: repeat every transcript line to the host.
    pub session_mirror: bool,
    /// Sent to the API and recorded in transcripts; from `CLAUDE_CODE_ENTRYPOINT` or the mode.
    pub entrypoint: String,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            multi_turn: false,
            await_initialize: false,
            checkpoints_on_request: false,
            partial_messages: false,
            replay_user_messages: false,
            replay_history: false,
            hook_events: false,
            cache_events: false,
            session_mirror: false,
            entrypoint: "sdk-cli".into(),
        }
    }
}

/// Recorded model traffic.
#[derive(Clone, Debug, Default)]
pub struct CassetteOptions {
    pub record: Option<PathBuf>,
    pub replay: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkingOption {
    /// The default of the model's generation.
    #[default]
    Auto,
    Adaptive,
    Disabled,
    Budget(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingSource {
    User,
    Project,
    Local,
}

/// The worktree a session starts in: a name, a pull request number or URL; empty for a generated name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorktreeChoice {
    /// For a run without a person.
    Anywhere(String),
    /// For a session at a terminal: it creates no worktree in a folder the user has not trusted.
    WhereTrusted(String),
}

impl WorktreeChoice {
    pub fn name(&self) -> &str {
        match self {
            Self::Anywhere(name) | Self::WhereTrusted(name) => name,
        }
    }

    /// The same choice with another name.
    #[must_use]
    pub fn named(&self, name: String) -> Self {
        match self {
            Self::Anywhere(_) => Self::Anywhere(name),
            Self::WhereTrusted(_) => Self::WhereTrusted(name),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionChoice {
    New {
        id: Option<String>,
    },
    /// The most recent conversation of this directory, or a new one when there is none.
    Continue {
        fork: Option<ForkTarget>,
    },
    /// By id, title or `.jsonl` path.
    Resume {
        target: String,
        fork: Option<ForkTarget>,
    },
}

/// Continue under a new id and leave the source unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForkTarget {
    pub id: Option<String>,
}

/// Why bypass mode is refused to root.
pub const BYPASS_ROOT: &str =
    "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons";

/// Whether root may use bypass mode: only with `IS_SANDBOX`. Signs of a container prove nothing about what it can
/// reach.
pub fn is_sandboxed(env: &Env) -> bool {
    env.is_on("IS_SANDBOX")
}

pub fn selection(options: &SessionOptions) -> SettingsSelection {
    let source = |s: &SettingSource| match s {
        SettingSource::User => SettingsSource::User,
        SettingSource::Project => SettingsSource::Project,
        SettingSource::Local => SettingsSource::Local,
    };
    SettingsSelection {
        settings: options.configuration.settings.clone(),
        sources: options.configuration.sources.as_ref().map(|list| list.iter().map(source).collect()),
        bare: options.configuration.bare,
        safe_mode: options.configuration.safe_mode,
        managed_dir: None,
        trust: options.configuration.trust,
        external_imports: options.configuration.external_imports,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // [F-B11] A container alone proves nothing: only the variable lifts the refusal, wherever this runs.
    #[test]
    fn only_the_variable_lets_root_bypass() {
        let with = |value: &str| is_sandboxed(&Env::default().with([("IS_SANDBOX", value)]));
        assert!(!is_sandboxed(&Env::default()) && !with("0") && !with("") && with("1"));
    }
}
