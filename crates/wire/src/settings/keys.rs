//! All settings keys. A new key is one line here; validation, merging, schema and documentation are derived from it.

use super::SandboxSettings;
use super::checks;
use super::shape::BrokenValue::{EmptyList, True};
use super::shape::{TextOrOff, keys};
use serde_json::Value;
use std::collections::BTreeMap;

/// Events a hook can be attached to.
#[rustfmt::skip]
pub const HOOK_EVENTS: &[&str] = &[
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "PermissionRequest", "PermissionDenied",
    "UserPromptSubmit", "UserPromptExpansion", "SessionStart", "SessionEnd", "Setup", "Stop", "StopFailure",
    "SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "PreModelSwitch", "PostModelSwitch", "Notification", "MessageDisplay", "TaskCreated",
    "TaskCompleted", "TeammateIdle", "Elicitation", "ElicitationResult", "ConfigChange", "InstructionsLoaded",
    "WorktreeCreate", "WorktreeRemove", "CwdChanged", "FileChanged", "DirectoryAdded",
];

const EXPIRY: &[&str] = &["60s", "5m", "10m", "never"];
const MODES: &[&str] =
    &["default", "manual", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions", "delegate"];
#[rustfmt::skip]
const CHANNELS: &[&str] =
    &["auto", "terminal_bell", "iterm2", "iterm2_with_bell", "kitty", "ghostty", "notifications_disabled"];

keys! {
    /// `permissions`.
    pub struct PermissionSettings {
        /// Rules for calls that need no approval.
        "allow" allow: Vec<String> => grant;
        /// Rules for calls that always need approval.
        "ask" ask: Vec<String>;
        /// Rules for calls that are refused.
        "deny" deny: Vec<String>;
        /// More directories the tools may work in.
        "additionalDirectories" additional_directories: Vec<String> => grant;
        /// The mode a session starts in.
        "defaultMode" default_mode: Option<String> => one_of(MODES);
        /// Refuse to read outside the working directories, in every mode.
        "blockReadsOutsideWorkingDirectories" block_reads_outside: Option<bool> => loosens_unless(true), sticky(true);
        /// `disable` takes bypass mode away.
        "disableBypassPermissionsMode" disable_bypass_permissions_mode: Option<String> => one_of(&["disable"]);
        /// `disable` takes auto mode away.
        "disableAutoMode" disable_auto_mode: Option<String> => one_of(&["disable"]), no_effect("gimlet has no auto mode yet");
    }
}

keys! {
    /// `attribution`.
    pub struct AttributionSettings {
        /// Trailer of commits; empty or `false` for none.
        "commit" commit: Option<TextOrOff>;
        /// Line in pull requests; empty or `false` for none.
        "pr" pr: Option<TextOrOff>;
        /// Link to the hosted session.
        "sessionUrl" session_url: Option<bool> => no_effect("gimlet uses no hosted services");
    }
}

keys! {
    /// `worktree`.
    pub struct WorktreeSettings {
        /// What a new worktree starts from.
        "baseRef" base_ref: Option<String> => one_of(&["fresh", "head"]);
        /// Directories shared with the main checkout by links.
        "symlinkDirectories" symlink_directories: Vec<String>;
        /// Paths of a sparse checkout.
        "sparsePaths" sparse_paths: Vec<String>;
        /// Whether background sessions get a worktree.
        "bgIsolation" bg_isolation: Option<String> => one_of(&["worktree", "none"]), no_effect("gimlet has no teams yet");
    }
}

keys! {
    /// `budgets`. Of every budget the lowest of all files counts.
    pub struct BudgetSettings {
        /// Most that one turn may cost, in US dollars.
        "turnUsd" turn_usd: Option<f64> => between(0.0, 1e9), lowest;
        /// Most that one conversation may cost.
        "sessionUsd" session_usd: Option<f64> => between(0.0, 1e9), lowest;
        /// Most that all conversations of a project may cost in a day.
        "projectDailyUsd" project_daily_usd: Option<f64> => between(0.0, 1e9), lowest;
        /// Most that all conversations may cost in a day.
        "dailyUsd" daily_usd: Option<f64> => between(0.0, 1e9), lowest;
        /// Most that all conversations may cost in a month.
        "monthlyUsd" monthly_usd: Option<f64> => between(0.0, 1e9), lowest;
        /// Most tokens of one turn, in and out, cached or not.
        "turnTokens" turn_tokens: Option<u32> => range(1, u32::MAX as i64), lowest;
        /// Most tokens of one conversation.
        "sessionTokens" session_tokens: Option<u32> => range(1, u32::MAX as i64), lowest;
        /// Most tokens of a project in a day.
        "projectDailyTokens" project_daily_tokens: Option<u32> => range(1, u32::MAX as i64), lowest;
        /// Most tokens in a day.
        "dailyTokens" daily_tokens: Option<u32> => range(1, u32::MAX as i64), lowest;
        /// Most tokens in a month.
        "monthlyTokens" monthly_tokens: Option<u32> => range(1, u32::MAX as i64), lowest;
    }
}

keys! {
    /// A settings file.
    pub struct Settings {
        /// Model alias or id for the main conversation.
        "model" model: Option<String> => check(checks::model);
        /// Models that may be chosen; empty means only the default.
        "availableModels" available_models: Option<Vec<String>> => fail_closed(EmptyList);
        /// Makes the default model obey `availableModels`.
        "enforceAvailableModels" enforce_available_models: Option<bool> => fail_closed(True);
        /// Models tried in order when the main one is unavailable.
        "fallbackModel" fallback_model: Option<Vec<String>> => replace;
        /// Model ids to the ids of a provider.
        "modelOverrides" model_overrides: BTreeMap<String, String> => no_effect("gimlet supports no cloud providers yet");
        /// Model of the server-side advisor.
        "advisorModel" advisor_model: Option<String> => no_effect("gimlet has no advisor model");
        /// How much effort the model spends.
        "effortLevel" effort_level: Option<String> => one_of(&["low", "medium", "high", "xhigh"]);
        /// `false` turns extended thinking off where the model allows it.
        "alwaysThinkingEnabled" always_thinking_enabled: Option<bool>;
        /// Show summaries of the thinking.
        "showThinkingSummaries" show_thinking_summaries: Option<bool>;
        /// Fast mode of the models that have one.
        "fastMode" fast_mode: Option<bool> => no_effect("gimlet has no fast mode");
        /// Do not start in a saved fast mode.
        "fastModePerSessionOptIn" fast_mode_per_session_opt_in: Option<bool> => no_effect("gimlet has no fast mode");
        /// Switch models when a safety classifier objects, instead of asking.
        "switchModelsOnFlag" switch_models_on_flag: Option<bool> => no_effect("gimlet switches models only through fallbackModel");
        /// Start at `xhigh` with workflow planning.
        "ultracode" ultracode: Option<bool> => no_effect("gimlet has no workflows");
        /// Language the model should answer in.
        "language" language: Option<String>;
        /// Name of an output style.
        "outputStyle" output_style: Option<String>;

        /// Rules, directories and mode.
        "permissions" permissions: PermissionSettings;
        /// `disable` takes auto mode away.
        "disableAutoMode" disable_auto_mode: Option<String> => one_of(&["disable"]), no_effect("gimlet has no auto mode yet");
        /// Only the administrator's allow rules count.
        "allowManagedPermissionRulesOnly" allow_managed_permission_rules_only: Option<bool> => managed, fail_closed(True);
        /// Prose for the classifier of auto mode.
        "autoMode" auto_mode: BTreeMap<String, Value> => user_managed, no_effect("gimlet has no auto mode yet");
        /// Let the classifier review shell commands in plan mode.
        "useAutoModeDuringPlan" use_auto_mode_during_plan: Option<bool> => user_local_managed, sticky(false), no_effect("gimlet has no auto mode yet");
        /// Skip the one-time notice of auto mode.
        "skipAutoPermissionPrompt" skip_auto_permission_prompt: Option<bool> => user_managed, no_effect("gimlet has no auto mode yet");
        /// Skip the warning of bypass mode.
        "skipDangerousModePermissionPrompt" skip_dangerous_mode_permission_prompt: Option<bool> => user_local_managed;
        /// Run nothing a folder brings along (hooks, servers, helpers, variables) before the folder is trusted.
        "refuseUntrustedProjectCode" refuse_untrusted_project_code: Option<bool> => user_managed, sticky(true), fail_closed(True);
        /// Hide credentials in tool output. On unless set to `false`.
        "maskSecrets" mask_secrets: Option<bool> => user_managed, fail_closed(True);
        /// Save what commands and edits are about to destroy, for `gimlet undo`. On unless set to `false`.
        "snapshotsEnabled" snapshots_enabled: Option<bool> => user_local_managed;
        /// Most that is saved before one command, in MiB. 1024 unless set.
        "snapshotLimitMegabytes" snapshot_limit_megabytes: Option<u32> => range(1, 1_048_576), user_local_managed;
        /// Isolation of shell commands.
        "sandbox" sandbox: SandboxSettings;

        /// Summarise the conversation when it gets long.
        "autoCompactEnabled" auto_compact_enabled: Option<bool>;
        /// Size of the window, in tokens, at which that happens.
        "autoCompactWindow" auto_compact_window: Option<u32> => range(100_000, 1_000_000);
        /// Ask at the terminal before the conversation is summarised by itself.
        "autoCompactPause" auto_compact_pause: Option<bool>;
        /// Show the summary of an automatic compaction in the terminal before it is used.
        "autoCompactReview" auto_compact_review: Option<bool>;
        /// Most that may be spent, in US dollars and in tokens.
        "budgets" budgets: BudgetSettings;
        /// Ask before a request whose input is not cached and costs more than this, in US dollars. 1.00 unless set.
        "costWarnUsd" cost_warn_usd: Option<f64> => between(0.0, 1e9), grant;
        /// How long the provider keeps the conversation cached; `auto` chooses by the pauses of the last hour.
        "cacheTtl" cache_ttl: Option<String> => one_of(&["5m", "1h", "auto"]);
        /// Whether a turn waits when a limit of the provider resets far away. `ask` in the terminal and `never` elsewhere unless set.
        "limitWait" limit_wait: Option<String> => one_of(&["never", "ask", "auto"]);
        /// Keep notes between sessions.
        "autoMemoryEnabled" auto_memory_enabled: Option<bool>;
        /// Where those notes are kept.
        "autoMemoryDirectory" auto_memory_directory: Option<String> => grant;
        /// The administrator's instructions.
        "claudeMd" claude_md: Option<String> => managed;
        /// Globs on absolute paths of instruction files to leave out.
        "claudeMdExcludes" claude_md_excludes: Vec<String>;
        /// Tell the model at the start what the project is: its files, branch, changes, how it is built. On unless set to `false`.
        "projectFacts" project_facts: Option<bool>;
        /// A file that is written brings its rules and instructions into play, as one that is read does.
        "rulesOnWrite" rules_on_write: Option<bool>;
        /// Environment variables for the session and its children.
        "env" env: BTreeMap<String, String>;
        /// Keep a checkpoint of each prompt, so that files can be taken back to it (`gimlet rewind`). On unless set to `false`.
        "fileCheckpointingEnabled" file_checkpointing_enabled: Option<bool>;
        /// Where plans are kept, relative to the project.
        "plansDirectory" plans_directory: Option<String>;
        /// Share of the context window for the list of skills.
        "skillListingBudgetFraction" skill_listing_budget_fraction: Option<f64> => between(0.0, 1.0);
        /// Longest description of a skill in that list.
        "skillListingMaxDescChars" skill_listing_max_desc_chars: Option<u32> => range(1, i64::MAX);

        /// Colours: auto, dark, light, a variant of these, or `custom:` and a name.
        "theme" theme: Option<String>;
        /// Renderer.
        "tui" tui: Option<String> => one_of(&["default", "fullscreen"]), no_effect("the terminal interface has no such option");
        /// How often a turn may repeat a call with the same result before it is ended; 0 for no limit. 12 unless set.
        "maxRepeats" max_repeats: Option<u32> => range(0, 10_000);
        /// `remind` asks the model once to check its work when a turn ends with edits and nothing run since.
        "verifyBeforeEnd" verify_before_end: Option<String> => one_of(&["off", "remind"]);
        /// `exact` refuses edits whose text differs from the file in white space or lookalikes only.
        "editMatching" edit_matching: Option<String> => one_of(&["tolerant", "exact"]);
        /// How much of the conversation is shown.
        "viewMode" view_mode: Option<String> => one_of(&["default", "verbose", "focus"]);
        /// Show tool output in full.
        "verbose" verbose: Option<bool>;
        /// Keys of the prompt editor.
        "editorMode" editor_mode: Option<String> => one_of(&["normal", "vim"]);
        /// Two characters that leave insert mode.
        "vimInsertModeRemaps" vim_insert_mode_remaps: BTreeMap<String, String> => user_managed, no_effect("the terminal interface has no such option");
        /// What Ctrl+W deletes.
        "keybindingFlavor" keybinding_flavor: Option<String> => one_of(&["classic", "readline"]), no_effect("the terminal interface has no such option");
        /// Command that prints the status line.
        "statusLine" status_line: Option<Value> => helper, check(checks::status_line);
        /// Command that prints the status line of subagents.
        "subagentStatusLine" subagent_status_line: Option<Value> => helper, check(checks::status_line);
        /// Command that suggests files.
        "fileSuggestion" file_suggestion: Option<Value> => helper, no_effect("the file picker has no such option");
        /// Badges made from matches in the output.
        "footerLinksRegexes" footer_links_regexes: Vec<Value> => user_managed, no_effect("the terminal interface has no such option");
        /// When an unanswered question gives up.
        "askUserQuestionTimeout" ask_user_question_timeout: Option<String> => one_of(EXPIRY), user_managed;
        /// When a forwarded dialog gives up.
        "dialogExpiry" dialog_expiry: Option<String> => one_of(EXPIRY), user_managed, no_effect("the terminal interface has no such option");
        /// Follow new output.
        "autoScrollEnabled" auto_scroll_enabled: Option<bool> => no_effect("the terminal interface has no such option");
        /// Output for screen readers.
        "axScreenReader" ax_screen_reader: Option<bool>;
        /// Announcements shown at start.
        "companyAnnouncements" company_announcements: Vec<String> => no_effect("the terminal interface has no such option");
        /// Shell of `!` commands.
        "defaultShell" default_shell: Option<String> => one_of(&["bash", "powershell"]), no_effect("gimlet does not run on Windows");
        /// Complete emoji names.
        "emojiCompletionEnabled" emoji_completion_enabled: Option<bool> => no_effect("the terminal interface has no such option");
        /// Who wraps prose in the terminal: gimlet at words, or the terminal itself, anew after each resize.
        "wrap" wrap: Option<String> => one_of(&["words", "terminal"]);
        /// Fewer animations.
        "prefersReducedMotion" prefers_reduced_motion: Option<bool>;
        /// Suggest the next prompt.
        "promptSuggestionEnabled" prompt_suggestion_enabled: Option<bool> => no_effect("the terminal interface has no such option");
        /// Leave ignored files out of the file picker.
        "respectGitignore" respect_gitignore: Option<bool> => no_effect("the file picker has no such option");
        /// Answer after `!` commands.
        "respondToBashCommands" respond_to_bash_commands: Option<bool>;
        /// Offer to clear the context when a plan is accepted.
        "showClearContextOnPlanAccept" show_clear_context_on_plan_accept: Option<bool>;
        /// Show how long a turn took.
        "showTurnDuration" show_turn_duration: Option<bool>;
        /// Spelling: enabled, checker, language, colour.
        "spellcheck" spellcheck: Option<Value> => user_managed, no_effect("the terminal interface has no such option");
        /// Tips while waiting.
        "spinnerTipsEnabled" spinner_tips_enabled: Option<bool> => no_effect("the terminal interface has no such option");
        /// Tips of your own.
        "spinnerTipsOverride" spinner_tips_override: Option<Value> => no_effect("the terminal interface has no such option");
        /// Words shown while waiting.
        "spinnerVerbs" spinner_verbs: Option<Value> => check(checks::spinner_verbs);
        /// No colours in code.
        "syntaxHighlightingDisabled" syntax_highlighting_disabled: Option<bool> => no_effect("the terminal interface has no such option");
        /// Progress in the terminal's own bar.
        "terminalProgressBarEnabled" terminal_progress_bar_enabled: Option<bool>;
        /// Renaming a session changes the terminal's title.
        "terminalTitleFromRename" terminal_title_from_rename: Option<bool> => no_effect("the terminal interface has no such option");
        /// Dictation.
        "voice" voice: Option<Value> => no_effect("the terminal interface has no such option");
        /// Dictation, older form.
        "voiceEnabled" voice_enabled: Option<bool> => deprecated, no_effect("the terminal interface has no such option");
        /// Faster scrolling with the wheel.
        "wheelScrollAccelerationEnabled" wheel_scroll_acceleration_enabled: Option<bool> => no_effect("the terminal interface has no such option");

        /// What commits and pull requests say about their origin.
        "attribution" attribution: AttributionSettings;
        /// Older form of `attribution`.
        "includeCoAuthoredBy" include_co_authored_by: Option<bool> => deprecated, no_effect("gimlet gives no git instructions of its own");
        /// Tell the model at the start where git stands (branch, changes, last commits). On unless set to `false`.
        "includeGitInstructions" include_git_instructions: Option<bool>;
        /// Address of pull requests, with placeholders.
        "prUrlTemplate" pr_url_template: Option<String> => no_effect("the terminal interface has no such option");

        /// Commands that run at certain moments: event to matchers.
        "hooks" hooks: BTreeMap<String, Vec<Value>> => code, named(HOOK_EVENTS);
        /// Run no hooks, status line or file suggestion.
        "disableAllHooks" disable_all_hooks: Option<bool> => grant;
        /// Only the administrator's hooks run.
        "allowManagedHooksOnly" allow_managed_hooks_only: Option<bool> => managed, fail_closed(True);
        /// Addresses HTTP hooks may call; empty for none.
        "allowedHttpHookUrls" allowed_http_hook_urls: Option<Vec<String>> => grant;
        /// Variables HTTP hooks may send.
        "httpHookAllowedEnvVars" http_hook_allowed_env_vars: Option<Vec<String>> => grant;
        /// No workflows.
        "disableWorkflows" disable_workflows: Option<bool> => sticky(true), no_effect("gimlet has no workflows");
        /// Workflows.
        "enableWorkflows" enable_workflows: Option<bool> => sticky(false), no_effect("gimlet has no workflows");
        /// Start workflows by keyword.
        "workflowKeywordTriggerEnabled" workflow_keyword_trigger_enabled: Option<bool> => no_effect("gimlet has no workflows");
        /// How many agents a workflow should use.
        "workflowSizeGuideline" workflow_size_guideline: Option<String> => one_of(&["unrestricted", "small", "medium", "large"]), no_effect("gimlet has no workflows");

        /// Plugins by `name@marketplace`.
        "enabledPlugins" enabled_plugins: BTreeMap<String, bool> => code, no_effect("gimlet has no plugins yet");
        /// More marketplaces, by name.
        "extraKnownMarketplaces" extra_known_marketplaces: BTreeMap<String, Value> => per_entry, grant, no_effect("gimlet has no plugins yet");
        /// Another name of `extraKnownMarketplaces`.
        "additionalMarketplaces" additional_marketplaces: BTreeMap<String, Value> => per_entry, grant, no_effect("gimlet has no plugins yet");
        /// The only marketplaces allowed; empty for none.
        "strictKnownMarketplaces" strict_known_marketplaces: Option<Vec<Value>> => managed, fail_closed(EmptyList), no_effect("gimlet has no plugins yet");
        /// Another name of `strictKnownMarketplaces`.
        "allowedMarketplaces" allowed_marketplaces: Option<Vec<Value>> => managed, fail_closed(EmptyList), no_effect("gimlet has no plugins yet");
        /// Marketplaces that are refused.
        "blockedMarketplaces" blocked_marketplaces: Vec<Value> => managed, no_effect("gimlet has no plugins yet");
        /// Options of plugins.
        "pluginConfigs" plugin_configs: BTreeMap<String, Value> => user_managed;
        /// Marketplaces plugins are suggested from.
        "pluginSuggestionMarketplaces" plugin_suggestion_marketplaces: Vec<String> => managed, no_effect("gimlet has no plugins yet");
        /// Text shown when a plugin is to be trusted.
        "pluginTrustMessage" plugin_trust_message: Option<String> => managed, no_effect("gimlet has no plugins yet");
        /// No plugin sources that run commands.
        "disableCommandPluginSources" disable_command_plugin_sources: Option<bool> => managed, fail_closed(True), no_effect("gimlet has no plugins yet");
        /// Only plugins may bring skills, agents, hooks or servers.
        "strictPluginOnlyCustomization" strict_plugin_only_customization: Option<Value> => managed;
        /// Message channels.
        "channelsEnabled" channels_enabled: Option<bool> => managed, no_effect("gimlet uses no hosted services");
        /// Plugins that may use channels.
        "allowedChannelPlugins" allowed_channel_plugins: Vec<Value> => managed, no_effect("gimlet uses no hosted services");
        /// Leave out the skills that come with the product.
        "disableBundledSkills" disable_bundled_skills: Option<bool> => no_effect("gimlet has no built-in skills");
        /// Skills run no shell commands while they load.
        "disableSkillShellExecution" disable_skill_shell_execution: Option<bool>;
        /// Skills by name: on, name-only, user-invocable-only, off.
        "skillOverrides" skill_overrides: BTreeMap<String, String> => check(checks::skill_override);
        /// `false` keeps hosted skills away.
        "syncClaudeAiSkills" sync_claude_ai_skills: Option<bool> => user_local_managed, sticky(false), no_effect("gimlet uses no hosted services");
        /// MCP servers that may be used; empty for none.
        "allowedMcpServers" allowed_mcp_servers: Option<Vec<Value>> => grant, fail_closed(EmptyList), check(checks::allowed_server);
        /// MCP servers that are refused; these win.
        "deniedMcpServers" denied_mcp_servers: Vec<Value> => check(checks::denied_server);
        /// Only the administrator's list of servers counts.
        "allowManagedMcpServersOnly" allow_managed_mcp_servers_only: Option<bool> => managed, fail_closed(True);
        /// Hosted connectors need no listing.
        "allowAllClaudeAiMcps" allow_all_claude_ai_mcps: Option<bool> => managed, no_effect("gimlet uses no hosted services");
        /// No hosted connectors.
        "disableClaudeAiConnectors" disable_claude_ai_connectors: Option<bool> => sticky(true), no_effect("gimlet uses no hosted services");
        /// Approve every server of `.mcp.json`.
        "enableAllProjectMcpServers" enable_all_project_mcp_servers: Option<bool> => own;
        /// Approved servers of `.mcp.json`.
        "enabledMcpjsonServers" enabled_mcpjson_servers: Vec<String> => own;
        /// Rejected servers of `.mcp.json`.
        "disabledMcpjsonServers" disabled_mcpjson_servers: Vec<String>;

        /// Agent of the main conversation.
        "agent" agent: Option<String>;
        /// What happens to messages of other sessions.
        "crossSessionInbound" cross_session_inbound: Option<String> => one_of(&["accept", "hold", "refuse"]), no_effect("gimlet has no teams yet");
        /// Treat other machines as strangers.
        "isolatePeerMachines" isolate_peer_machines: Option<bool> => sticky(true), no_effect("gimlet has no teams yet");
        /// No view of background sessions.
        "disableAgentView" disable_agent_view: Option<bool> => no_effect("gimlet has no teams yet");
        /// Words put before every command we start.
        "processWrapper" process_wrapper: Option<String> => user_managed, no_effect("gimlet starts programs directly");
        /// Where teammates run.
        "teammateMode" teammate_mode: Option<String> => one_of(&["in-process", "auto", "tmux", "iterm2"]), no_effect("gimlet has no teams yet");
        /// How worktrees are made.
        "worktree" worktree: WorktreeSettings;
        /// Push notifications from agents.
        "agentPushNotifEnabled" agent_push_notif_enabled: Option<bool> => no_effect("gimlet uses no hosted services");
        /// Push notifications when input is needed.
        "inputNeededNotifEnabled" input_needed_notif_enabled: Option<bool> => no_effect("gimlet uses no hosted services");
        /// Summary of what happened while you were away.
        "awaySummaryEnabled" away_summary_enabled: Option<bool> => no_effect("the terminal interface has no such option");
        /// How you are notified.
        "preferredNotifChannel" preferred_notif_channel: Option<String> => one_of(CHANNELS);
        /// No artifacts.
        "disableArtifact" disable_artifact: Option<bool> => no_effect("gimlet uses no hosted services");
        /// Artifacts.
        "enableArtifact" enable_artifact: Option<bool> => user_managed, no_effect("gimlet uses no hosted services");
        /// `disable` leaves the link handler alone.
        "disableDeepLinkRegistration" disable_deep_link_registration: Option<String> => one_of(&["disable"]), no_effect("gimlet uses no hosted services");
        /// No remote control.
        "disableRemoteControl" disable_remote_control: Option<bool> => no_effect("gimlet uses no hosted services");
        /// Remote control from the start.
        "remoteControlAtStartup" remote_control_at_startup: Option<bool> => loosens_unless(false), no_effect("gimlet uses no hosted services");
        /// Hosted sessions.
        "remote" remote: Option<Value> => no_effect("gimlet uses no hosted services");
        /// Machines the desktop application may reach.
        "sshConfigs" ssh_configs: Vec<Value> => user_managed, no_effect("it belongs to a desktop application");
        /// Hosts the desktop application may reach.
        "sshHostAllowlist" ssh_host_allowlist: Vec<Value> => managed, no_effect("it belongs to a desktop application");
        /// Desktop application only.
        "browserExternalPageTools" browser_external_page_tools: Option<Value> => managed, no_effect("it belongs to a desktop application");
        /// Desktop application only.
        "disableBrowserExternalNavigation" disable_browser_external_navigation: Option<Value> => managed, no_effect("it belongs to a desktop application");
        /// Desktop application only.
        "disableMobileSimulatorTools" disable_mobile_simulator_tools: Option<Value> => managed, no_effect("it belongs to a desktop application");

        /// Shell command that prints an API key.
        "apiKeyHelper" api_key_helper: Option<String> => helper;
        /// Command that refreshes AWS credentials.
        "awsAuthRefresh" aws_auth_refresh: Option<String> => helper, no_effect("gimlet supports no cloud providers yet");
        /// Command that prints AWS credentials.
        "awsCredentialExport" aws_credential_export: Option<String> => helper, no_effect("gimlet supports no cloud providers yet");
        /// Command that refreshes Google Cloud credentials.
        "gcpAuthRefresh" gcp_auth_refresh: Option<String> => helper, no_effect("gimlet supports no cloud providers yet");
        /// Command that prints headers for telemetry.
        "otelHeadersHelper" otel_headers_helper: Option<String> => helper, no_effect("gimlet sends no telemetry");
        /// The only way to sign in.
        "forceLoginMethod" force_login_method: Option<String> => one_of(&["claudeai", "console", "gateway"]);
        /// Gateway to sign in to.
        "forceLoginGatewayUrl" force_login_gateway_url: Option<String> => managed, no_effect("gimlet uses no hosted services");
        /// Organisations that may be used.
        "forceLoginOrgUUID" force_login_org_uuid: Option<Vec<String>> => fail_closed(EmptyList);
        /// Which releases are installed.
        "autoUpdatesChannel" auto_updates_channel: Option<String> => one_of(&["latest", "stable"]);
        /// Where `gimlet update` and `gimlet install` find releases: a web address, or a folder.
        "updateUrl" update_url: Option<String> => user_managed;
        /// The Ed25519 public key that releases are signed with, in base64.
        "updateKey" update_key: Option<String> => user_managed;
        /// Never install an older version than this.
        "minimumVersion" minimum_version: Option<String> => no_effect("it refers to versions of another program");
        /// Refuse to start below this version.
        "requiredMinimumVersion" required_minimum_version: Option<String> => managed, no_effect("it refers to versions of another program");
        /// Refuse to start above this version.
        "requiredMaximumVersion" required_maximum_version: Option<String> => managed, no_effect("it refers to versions of another program");
        /// Days a transcript is kept.
        "cleanupPeriodDays" cleanup_period_days: Option<u32> => grant, range(1, i64::MAX);
        /// How often to ask for feedback.
        "feedbackSurveyRate" feedback_survey_rate: Option<f64> => between(0.0, 1.0), no_effect("gimlet uses no hosted services");
        /// Skip the look-up of host names before fetching.
        "skipWebFetchPreflight" skip_web_fetch_preflight: Option<bool> => loosens_unless(false), no_effect("gimlet looks up no host names before it fetches");
        /// Reject flags that bring plugins, agents or servers.
        "disableSideloadFlags" disable_sideload_flags: Option<bool> => managed;
        /// Refuse to start without fresh hosted policy.
        "forceRemoteSettingsRefresh" force_remote_settings_refresh: Option<bool> => managed, no_effect("gimlet uses no hosted services");
        /// What settings of an embedding program mean.
        "parentSettingsBehavior" parent_settings_behavior: Option<String> => one_of(&["first-wins", "merge"]), managed, no_effect("settings of an embedding program always add to the others");
        /// Program that prints the policy.
        "policyHelper" policy_helper: Option<Value> => managed;
        /// Read the policy of Windows inside WSL.
        "wslInheritsWindowsSettings" wsl_inherits_windows_settings: Option<bool> => managed, no_effect("gimlet does not run on Windows");
        /// Older form of deny rules for reading.
        "ignorePatterns" ignore_patterns: Vec<String> => deprecated;
    }
}

impl Settings {
    /// Keys without a documented meaning: accepted and kept.
    #[rustfmt::skip]
    pub const KNOWN_ELSEWHERE: &'static [&'static str] = &[
        "$schema", "skippedMarketplaces", "skippedPlugins", "managedMcpServers", "requireCoworkFullVmSandbox",
        "allowedProviders", "prependPlugins", "appendPlugins", "allowClaudeInChromeWithManagedMcp",
        "claudeInChromeDefaultEnabled", "copyFullResponse", "defaultToAgentsView", "leftArrowOpensAgents",
        "prStatusFooterEnabled",
    ];

    /// Keys of the global state file; they have no effect in settings files.
    #[rustfmt::skip]
    pub const STATE_KEYS: &'static [&'static str] = &[
        "autoConnectIde", "autoInstallIdeExtension", "diffTool", "externalEditorContext", "permissionExplainerEnabled",
        "teammateDefaultModel",
    ];
}
