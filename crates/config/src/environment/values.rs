//! The variables of the environment that hold a number or a switch, and what is said of one that holds something else.

use sys::Env;

/// What a variable holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VariableKind {
    /// A whole number that is not below the first and not above the second.
    Whole(u64, u64),
    /// Seconds, with a fraction.
    Seconds,
    Switch,
    /// `ENABLE_TOOL_SEARCH`: a switch, `auto` or `auto:N`.
    Deferral,
    /// A text that begins with a number.
    LeadingNumber,
    OneOf(&'static [&'static str]),
    /// A JSON object. It may hold anything, so its value is not shown.
    Object,
}

/// A number with any value.
const ANY: VariableKind = VariableKind::Whole(0, u64::MAX);
/// A number of which zero means nothing.
const POSITIVE: VariableKind = VariableKind::Whole(1, u64::MAX);
use VariableKind::{Deferral, LeadingNumber, Object, OneOf, Seconds, Switch, Whole};

const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max", "auto"];
const LOG_LEVELS: &[&str] = &["verbose", "debug", "info", "warn", "error"];

/// Name, kind, and what is used when the value is neither.
#[rustfmt::skip]
const VARIABLES: &[(&str, VariableKind, &str)] = &[
    ("API_TIMEOUT_MS", POSITIVE, "600000"),
    ("BASH_DEFAULT_TIMEOUT_MS", POSITIVE, "120000"),
    ("BASH_MAX_OUTPUT_LENGTH", POSITIVE, "30000"),
    ("BASH_MAX_TIMEOUT_MS", POSITIVE, "600000"),
    ("CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS", Switch, "off"),
    ("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", Whole(1, 100), "no override"),
    ("CLAUDE_AUTO_BACKGROUND_TASKS", Switch, "off"),
    ("CLAUDE_AX_PREPARK_MS", ANY, "50"),
    ("CLAUDE_AX_SCREEN_READER", Switch, "the setting axScreenReader"),
    ("CLAUDE_AX_STARTUP_QUIET_MS", ANY, "3000"),
    ("CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR", Switch, "off"),
    ("CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS", ANY, "the default of the endpoint"),
    ("CLAUDE_CODE_ACCESSIBILITY", Switch, "off"),
    ("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD", Switch, "off"),
    ("CLAUDE_CODE_API_KEY_HELPER_TTL_MS", ANY, "300000"),
    ("CLAUDE_CODE_AUTO_COMPACT_WINDOW", LeadingNumber, "the setting autoCompactWindow"),
    ("CLAUDE_CODE_DEBUG_LOG_LEVEL", OneOf(LOG_LEVELS), "debug"),
    ("CLAUDE_CODE_DISABLE_1M_CONTEXT", Switch, "off"),
    ("CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING", Switch, "off"),
    ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", Switch, "the setting autoMemoryEnabled"),
    ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", Switch, "off"),
    ("CLAUDE_CODE_DISABLE_CLAUDE_MDS", Switch, "off"),
    ("CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS", Switch, "off"),
    ("CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS", Switch, "off"),
    ("CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING", Switch, "off"),
    ("CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP", Switch, "off"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", Switch, "off"),
    ("CLAUDE_CODE_DISABLE_PERMISSION_PROMPT_NOTIFY_HOOKS", Switch, "off"),
    ("CLAUDE_CODE_DISABLE_TERMINAL_TITLE", Switch, "off"),
    ("CLAUDE_CODE_DISABLE_THINKING", Switch, "off"),
    ("CLAUDE_CODE_EFFORT_LEVEL", OneOf(EFFORTS), "the default of the model"),
    ("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", Switch, "off"),
    ("CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY", Switch, "off"),
    ("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", Switch, "off"),
    ("CLAUDE_CODE_ENABLE_TASKS", Switch, "the default of the model"),
    ("CLAUDE_CODE_ENABLE_TODO_TOOLS", Switch, "off"),
    ("CLAUDE_CODE_EXTRA_BODY", Object, "nothing"),
    ("CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS", POSITIVE, "25000"),
    ("CLAUDE_CODE_FORK_SUBAGENT", Switch, "off"),
    ("CLAUDE_CODE_FORWARD_SUBAGENT_TEXT", Switch, "off"),
    ("CLAUDE_CODE_GLOB_HIDDEN", Switch, "on"),
    ("CLAUDE_CODE_GLOB_NO_IGNORE", Switch, "off"),
    ("CLAUDE_CODE_GLOB_TIMEOUT_SECONDS", Seconds, "20"),
    ("CLAUDE_CODE_MAX_CONTEXT_TOKENS", ANY, "the window of the model"),
    ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", POSITIVE, "the limit of the model"),
    ("CLAUDE_CODE_MAX_RETRIES", ANY, "10"),
    ("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", ANY, "10"),
    ("CLAUDE_CODE_MAX_WEB_SEARCHES_PER_SESSION", ANY, "200"),
    ("CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS", ANY, "120000"),
    ("CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT", ANY, "300000, for local servers 1800000"),
    ("CLAUDE_CODE_PERFORCE_MODE", Switch, "off"),
    ("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", ANY, "600000"),
    ("CLAUDE_CODE_RETRY_WATCHDOG", Switch, "off"),
    ("CLAUDE_CODE_SAFE_MODE", Switch, "off"),
    ("CLAUDE_CODE_SDK_READS_SESSION_STATE", Switch, "off"),
    ("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS", ANY, "the timeouts of the hooks"),
    ("CLAUDE_CODE_SIMPLE", Switch, "off"),
    ("CLAUDE_CODE_SKIP_PROMPT_HISTORY", Switch, "off"),
    ("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", ANY, "8"),
    ("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB", Switch, "off"),
    ("CLAUDE_CODE_USE_BEDROCK", Switch, "off"),
    ("CLAUDE_CODE_USE_FOUNDRY", Switch, "off"),
    ("CLAUDE_CODE_USE_VERTEX", Switch, "off"),
    ("CLAUDE_CODE_WEBFETCH_CACHE_TTL_MS", ANY, "900000"),
    ("CLAUDE_ENABLE_BYTE_WATCHDOG", Switch, "on"),
    ("CLAUDE_ENABLE_STREAM_WATCHDOG", Switch, "on"),
    ("CLAUDE_STREAM_IDLE_TIMEOUT_MS", ANY, "300000"),
    ("CLAUDE_SUBAGENT_BG_SHELL_MAX_MS", ANY, "3600000"),
    ("DISABLE_AUTO_COMPACT", Switch, "off"),
    ("DISABLE_COMPACT", Switch, "off"),
    ("DISABLE_INTERLEAVED_THINKING", Switch, "off"),
    ("DISABLE_PROMPT_CACHING", Switch, "off"),
    ("DISABLE_PROMPT_CACHING_FABLE", Switch, "off"),
    ("DISABLE_PROMPT_CACHING_HAIKU", Switch, "off"),
    ("DISABLE_PROMPT_CACHING_OPUS", Switch, "off"),
    ("DISABLE_PROMPT_CACHING_SONNET", Switch, "off"),
    ("DISABLE_UPDATES", Switch, "off"),
    ("ENABLE_PROMPT_CACHING_1H", Switch, "off"),
    ("ENABLE_TOOL_SEARCH", Deferral, "true"),
    ("FORCE_PROMPT_CACHING_5M", Switch, "off"),
    ("GIMLET_COMPAT_OUTPUT", Switch, "off"),
    ("GIMLET_WEBFETCH_ALLOW_LOCAL", Switch, "off"),
    ("IS_SANDBOX", Switch, "off"),
    ("MAX_MCP_OUTPUT_TOKENS", POSITIVE, "25000"),
    ("MAX_STRUCTURED_OUTPUT_RETRIES", ANY, "5"),
    ("MAX_THINKING_TOKENS", ANY, "the default of the model"),
    ("MCP_CONNECTION_NONBLOCKING", Switch, "on"),
    ("MCP_CONNECT_TIMEOUT_MS", ANY, "5000"),
    ("MCP_OAUTH_CALLBACK_PORT", Whole(0, 65_535), "any free port"),
    ("MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE", POSITIVE, "20"),
    ("MCP_SERVER_CONNECTION_BATCH_SIZE", POSITIVE, "3"),
    ("MCP_TIMEOUT", POSITIVE, "30000"),
    ("MCP_TOOL_TIMEOUT", POSITIVE, "100000000"),
    ("SLASH_COMMAND_TOOL_CHAR_BUDGET", ANY, "a share of the window"),
    ("TASK_MAX_OUTPUT_LENGTH", ANY, "12000"),
];

/// The longest value that is repeated, in characters.
const MAX_SHOWN_CHARS: usize = 40;

/// One line for each variable whose value cannot be used: the value, what was expected, and what is used instead.
pub fn unusable_values(env: &Env) -> Vec<String> {
    let line = |(name, kind, instead): &(&str, VariableKind, &str)| {
        let value = env.non_empty(name).filter(|value| !value.trim().is_empty())?;
        let wanted = kind.complaint(env, name)?;
        if *kind == Object {
            return Some(format!("Warning: {name} is not {wanted}; used instead: {instead}"));
        }
        let shown: String = value.chars().take(MAX_SHOWN_CHARS).flat_map(char::escape_debug).collect();
        let cut = if value.chars().nth(MAX_SHOWN_CHARS).is_some() { "…" } else { "" };
        Some(format!("Warning: {name}={shown}{cut} is not {wanted}; used instead: {instead}"))
    };
    VARIABLES.iter().filter_map(line).collect()
}

impl VariableKind {
    /// What the value should be; `None` when it is that.
    fn complaint(self, env: &Env, name: &str) -> Option<String> {
        const SWITCH: &str = "true or false (1, yes, on; 0, no, off)";
        match self {
            Whole(least, most) => {
                let fits = env.number::<u64>(name).is_some_and(|number| (least..=most).contains(&number));
                let range = match (least, most) {
                    (0, u64::MAX) => String::new(),
                    (least, u64::MAX) => format!(" of at least {least}"),
                    (least, most) => format!(" from {least} to {most}"),
                };
                (!fits).then(|| format!("a whole number{range}"))
            }
            Seconds => {
                let fits = env.number::<f64>(name).is_some_and(|number| number.is_finite() && number > 0.0);
                (!fits).then(|| "a positive number".to_owned())
            }
            Switch => env.flag(name).is_none().then(|| SWITCH.to_owned()),
            Deferral => {
                let word = env.get(name).unwrap_or_default().trim();
                let percent = word.strip_prefix("auto:").is_some_and(|percent| percent.parse::<u64>().is_ok());
                let fits = word == "auto" || percent || env.flag(name).is_some();
                (!fits).then(|| "true, false, auto or auto:PERCENT".to_owned())
            }
            LeadingNumber => {
                let fits =
                    env.get(name).is_some_and(|text| text.trim_start().starts_with(|c: char| c.is_ascii_digit()));
                (!fits).then(|| "a whole number".to_owned())
            }
            OneOf(words) => {
                let word = env.get(name).unwrap_or_default().trim().to_ascii_lowercase();
                (!words.contains(&word.as_str())).then(|| format!("one of {}", words.join(", ")))
            }
            Object => {
                let value = serde_json::from_str::<serde_json::Value>(env.get(name).unwrap_or_default());
                (!value.is_ok_and(|value| value.is_object())).then(|| "a JSON object".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_kind_says_what_it_expects() {
        let env = Env::default().with([
            ("MCP_TIMEOUT", "abc"),
            ("API_TIMEOUT_MS", "0"),
            ("MCP_OAUTH_CALLBACK_PORT", "70000"),
            ("CLAUDE_CODE_GLOB_TIMEOUT_SECONDS", "-1"),
            ("DISABLE_COMPACT", "perhaps"),
            ("ENABLE_TOOL_SEARCH", "auto:x"),
            ("CLAUDE_CODE_MAX_RETRIES", " 2e1 "),
            ("DISABLE_AUTO_COMPACT", "On"),
            ("IS_SANDBOX", ""),
            ("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "500k"),
            ("CLAUDE_CODE_EFFORT_LEVEL", "extreme"),
            ("CLAUDE_CODE_EXTRA_BODY", "{\"key\": \"canary"),
            ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "64_000"),
        ]);
        assert_eq!(
            unusable_values(&env),
            [
                "Warning: API_TIMEOUT_MS=0 is not a whole number of at least 1; used instead: 600000",
                "Warning: CLAUDE_CODE_EFFORT_LEVEL=extreme is not one of low, medium, high, xhigh, max, auto; used instead: the default of the model",
                "Warning: CLAUDE_CODE_EXTRA_BODY is not a JSON object; used instead: nothing",
                "Warning: CLAUDE_CODE_GLOB_TIMEOUT_SECONDS=-1 is not a positive number; used instead: 20",
                "Warning: DISABLE_COMPACT=perhaps is not true or false (1, yes, on; 0, no, off); used instead: off",
                "Warning: ENABLE_TOOL_SEARCH=auto:x is not true, false, auto or auto:PERCENT; used instead: true",
                "Warning: MCP_OAUTH_CALLBACK_PORT=70000 is not a whole number from 0 to 65535; used instead: any free port",
                "Warning: MCP_TIMEOUT=abc is not a whole number of at least 1; used instead: 30000",
            ]
        );
    }

    /// `DEBUG` belongs to many programs, and the `GIMLET_TEST_` variables to tests.
    fn is_ours(name: &str) -> bool {
        name != "DEBUG" && !name.starts_with("GIMLET_TEST_")
    }

    // [F-B3]
    #[test]
    fn the_table_has_every_variable_that_is_read_as_a_number_or_a_switch() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let (mut folders, mut read) = (vec![crates.to_path_buf()], BTreeSet::new());
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                let name = entry.file_name().unwrap().to_str().unwrap().to_owned();
                if entry.is_dir() && name != "tests" {
                    folders.push(entry);
                } else if entry.extension().is_some_and(|kind| kind == "rs")
                    && !entry.ends_with("sys/src/env.rs")
                    && !name.ends_with("_tests.rs")
                {
                    read.extend(names_read(&std::fs::read_to_string(entry).unwrap()));
                }
            }
        }
        assert!(read.len() > 60, "{read:?}");
        let known: BTreeSet<&str> = VARIABLES.iter().map(|(name, ..)| *name).collect();
        let missing: Vec<&String> =
            read.iter().filter(|name| is_ours(name) && !known.contains(name.as_str())).collect();
        assert!(missing.is_empty(), "not in the table: {missing:?}");
    }

    /// The names given to `number`, `flag` and `is_on`, with or without a type.
    fn names_read(source: &str) -> Vec<String> {
        let calls = [".number", ".flag", ".is_on"].into_iter().flat_map(|call| source.match_indices(call));
        calls
            .filter_map(|(at, call)| {
                let rest = &source[at + call.len()..];
                let rest = rest.strip_prefix("::<").map_or(rest, |rest| rest.split_once('>').map_or("", |(_, r)| r));
                let name = rest.trim_start().strip_prefix("(\"")?.split_once('"')?.0;
                let plain = name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
                (plain && name.len() > 1).then(|| name.to_owned())
            })
            .collect()
    }
}
