//! Which environment variables settings may set, and which ones children never see.

/// Variables that hold credentials of the product itself. Children do not inherit them.
#[rustfmt::skip]
pub const SECRET_VARIABLES: &[&str] = &[
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_FOUNDRY_API_KEY",
    "ANTHROPIC_FOUNDRY_AUTH_TOKEN", "ANTHROPIC_AWS_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_REFRESH_TOKEN", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
    "CLAUDE_API_KEY",
];

/// Identity that only the launching host may set.
#[rustfmt::skip]
const NEVER_FROM_FILES: &[&str] = &[
    "CLAUDE_CODE_REMOTE",
    "CLAUDE_CODE_REMOTE_SESSION_ID",
    "CLAUDE_CODE_ACCOUNT_UUID",
    "CLAUDE_CODE_BRIDGE_SESSION_ID",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_PROJECT_DIR_NAME",
    "CLAUDE_CONFIG_DIR",
];

#[rustfmt::skip]
const NEVER_FROM_PROJECT: &[&str] = &[
    "CLAUDE_CODE_PROCESS_WRAPPER",
    "CLAUDE_CODE_SYNC_SKILLS",
    "CLAUDE_CODE_SYNC_PLUGINS",
    "CLAUDE_CODE_PLUGIN_CACHE_DIR",
    "CLAUDE_CODE_PLUGIN_SEED_DIR",
];

/// Variables that decide what code is loaded, where traffic goes, or which home is used.
#[rustfmt::skip]
const REDIRECTING_VARIABLES: &[&str] = &[
    "PATH", "HOME", "SHELL", "IFS", "ENV", "BASH_ENV", "ZDOTDIR", "PROMPT_COMMAND", "PS4", "EDITOR", "VISUAL", "PAGER",
    "BROWSER", "TMPDIR", "XDG_CONFIG_HOME", "NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS",
    "NODE_TLS_REJECT_UNAUTHORIZED", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
    "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PERL5LIB", "PERL5OPT", "RUBYLIB", "RUBYOPT", "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS", "RUSTC_WRAPPER", "RUSTC", "CLOUD_ML_REGION",
];

#[rustfmt::skip]
const REDIRECTING_PREFIXES: &[&str] =
    &["LD_", "DYLD_", "GIT_", "AWS_", "GOOGLE_", "GCLOUD_", "AZURE_", "VERTEX_", "OTEL_", "NPM_CONFIG_", "CARGO_"];

/// Who sets a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableSetter {
    /// The user, the administrator, or the command line.
    User,
    /// A file of a folder the user trusts.
    TrustedFolder,
    /// A file of a folder nobody vouched for.
    UntrustedFolder,
}

/// Whether a settings file may set this variable.
pub fn may_set(name: &str, setter: VariableSetter) -> bool {
    let upper = name.to_ascii_uppercase();
    let name = upper.as_str();
    if name.is_empty() || name.contains(['=', '\0']) || NEVER_FROM_FILES.contains(&name) {
        return false;
    }
    match setter {
        VariableSetter::User => true,
        VariableSetter::TrustedFolder => !NEVER_FROM_PROJECT.contains(&name),
        VariableSetter::UntrustedFolder => !NEVER_FROM_PROJECT.contains(&name) && !is_redirecting(name),
    }
}

/// Whether the variable only tunes the product: models, limits, timeouts, switches.
pub(crate) fn is_tuning(name: &str) -> bool {
    let own = ["ANTHROPIC_", "CLAUDE_CODE_", "BASH_", "MCP_", "MAX_", "DISABLE_"];
    own.iter().any(|prefix| name.starts_with(prefix)) && may_set(name, VariableSetter::UntrustedFolder)
}

/// Whether the variable redirects credentials, traffic or code. `name` is in upper case.
fn is_redirecting(name: &str) -> bool {
    if name.starts_with("ANTHROPIC_") {
        return !name.ends_with("_MODEL");
    }
    if name.starts_with("CLAUDE_CODE_") {
        let tuning = ["MAX_", "TIMEOUT", "EFFORT", "_DISABLE_"];
        return !tuning.iter().any(|part| name.contains(part));
    }
    name.ends_with("_PROXY")
        || REDIRECTING_VARIABLES.contains(&name)
        || REDIRECTING_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip]
    fn untrusted_folders_cannot_steer() {
        // SC-D03 [CLI-81]
        for name in [
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_CUSTOM_HEADERS",
            "https_proxy",
            "HTTP_PROXY",
            "NODE_EXTRA_CA_CERTS",
            "LD_PRELOAD",
            "PATH",
            "BASH_ENV",
            "GIT_SSH_COMMAND",
            "CLAUDE_CODE_USE_BEDROCK",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "CLAUDE_CODE_PROCESS_WRAPPER",
            "CLAUDE_CONFIG_DIR",
            "a=b",
            "",
        ] {
            assert!(!may_set(name, VariableSetter::UntrustedFolder), "{name}");
        }
        for name in ["FOO", "RUST_LOG", "ANTHROPIC_MODEL", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "BASH_DEFAULT_TIMEOUT_MS"] {
            assert!(may_set(name, VariableSetter::UntrustedFolder), "{name}");
        }
        assert!(may_set("ANTHROPIC_BASE_URL", VariableSetter::TrustedFolder));
        assert!(!may_set("CLAUDE_CODE_SYNC_SKILLS", VariableSetter::TrustedFolder));
        assert!(!may_set("CLAUDE_CODE_REMOTE", VariableSetter::User));
    }
}
