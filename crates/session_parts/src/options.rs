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

#[derive(Clone, Debug)]
pub struct SessionOptions {
    pub model: Option<String>,
    pub fallback_models: Vec<String>,
    pub effort: Option<String>,
    pub thinking: ThinkingOption,
    /// `summarized` or `omitted`.
    pub thinking_display: Option<String>,
    pub betas: Vec<String>,
    pub task_budget: Option<u64>,
    /// `--autocompact`: how much of the context window to use, in tokens.
    pub compact_window: Option<u64>,
    /// `Some("")` means no system prompt text at all.
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    /// `--agent`: the definition the main thread runs as.
    pub agent: Option<String>,
    /// `--agents`
    pub agents: Vec<config::agents::AgentDefinition>,
    /// `--worktree`
    pub worktree: Option<WorktreeChoice>,
    pub append_subagent_prompt: Option<String>,
    /// Send the text and thinking of subagents to the host too.
    pub forward_subagent_text: bool,
    /// `None` = the default set, `Some([])` = none.
    pub tools: Option<Vec<String>>,
    /// Permission rules, already split.
    pub allowed_tools: Vec<String>,
    pub disallowed_tools: Vec<String>,
    pub permission_mode: Option<PermissionMode>,
    pub allow_bypass: bool,
    /// `--permission-prompt-tool`.
    pub permission_prompt_tool: Option<String>,
    /// `--permission-prompts none`: every question is answered with a refusal.
    pub no_prompts: bool,
    pub add_dirs: Vec<PathBuf>,
    /// `--settings`: JSON text or a path.
    pub settings: Option<String>,
    /// `None` = all.
    pub setting_sources: Option<Vec<SettingSource>>,
    /// `--trust-workspace`, `--refuse-untrusted-code`
    pub trust: config::TrustChoice,
    /// Instruction files of the project may import files from outside it, in this run.
    pub external_imports: bool,
    pub max_turns: Option<u32>,
    pub max_budget_usd: Option<f64>,
    pub json_schema: Option<serde_json::Value>,
    pub session: SessionChoice,
    pub resume_at: Option<String>,
    pub resume_drops_turn: Option<String>,
    pub name: Option<String>,
    pub persist: bool,
    /// `--disable-slash-commands`: no skills, no commands.
    pub disable_slash_commands: bool,
    pub bare: bool,
    pub safe_mode: bool,
    pub record: Option<PathBuf>,
    pub replay: Option<PathBuf>,
    /// Send `stream_event`s.
    pub partial_messages: bool,
    /// Echo prompts with `isReplay`.
    pub replay_user_messages: bool,
    /// Send the end of a resumed conversation again, for hosts that show it.
    pub replay_history: bool,
    /// `--include-hook-events`: report every run of a hook.
    pub hook_events: bool,
    /// `--init`, `--maintenance`: which Setup hooks run first.
    pub setup: Option<&'static str>,
    /// `--init-only`: run the start hooks, then end.
    pub init_only: bool,
    /// `--mcp-config`: paths or JSON.
    pub mcp_config: Vec<String>,
    /// `--strict-mcp-config`: only the servers of `--mcp-config`.
    pub strict_mcp_config: bool,
    /// A person was asked about the servers of the repository: those not approved do not run.
    pub approves_servers: bool,
    /// stream-json input: the process serves several turns.
    pub multi_turn: bool,
    /// `--await-initialize`: the first line must be an `initialize` request.
    pub await_initialize: bool,
    /// `--session-mirror`: repeat every transcript line to the host.
    pub session_mirror: bool,
    /// Sent to the API and recorded in transcripts; from `CLAUDE_CODE_ENTRYPOINT` or the mode.
    pub entrypoint: String,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            model: None,
            fallback_models: Vec::new(),
            effort: None,
            thinking: ThinkingOption::Auto,
            thinking_display: None,
            betas: Vec::new(),
            task_budget: None,
            compact_window: None,
            system_prompt: None,
            append_system_prompt: None,
            agent: None,
            agents: Vec::new(),
            worktree: None,
            append_subagent_prompt: None,
            forward_subagent_text: false,
            tools: None,
            allowed_tools: Vec::new(),
            disallowed_tools: Vec::new(),
            permission_mode: None,
            allow_bypass: false,
            permission_prompt_tool: None,
            no_prompts: false,
            add_dirs: Vec::new(),
            settings: None,
            setting_sources: None,
            trust: config::TrustChoice::Stored,
            external_imports: false,
            max_turns: None,
            max_budget_usd: None,
            json_schema: None,
            session: SessionChoice::New { id: None },
            resume_at: None,
            resume_drops_turn: None,
            name: None,
            persist: true,
            disable_slash_commands: false,
            bare: false,
            safe_mode: false,
            record: None,
            replay: None,
            partial_messages: false,
            replay_user_messages: false,
            replay_history: false,
            hook_events: false,
            setup: None,
            init_only: false,
            mcp_config: Vec::new(),
            strict_mcp_config: false,
            approves_servers: false,
            multi_turn: false,
            await_initialize: false,
            session_mirror: false,
            entrypoint: "sdk-cli".into(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingOption {
    /// The default of the model's generation.
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
        settings: options.settings.clone(),
        sources: options.setting_sources.as_ref().map(|list| list.iter().map(source).collect()),
        bare: options.bare,
        safe_mode: options.safe_mode,
        managed_dir: None,
        trust: options.trust,
        external_imports: options.external_imports,
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
