//! Which environment variables settings may set, and which ones children never see.

mod steering;
mod values;

pub use values::unusable_values;

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

/// Limits and switches of the product outside its own prefixes.
#[rustfmt::skip]
const TUNING: &[&str] = &[
    "BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS", "BASH_MAX_OUTPUT_LENGTH", "MCP_TIMEOUT", "MCP_TOOL_TIMEOUT",
    "MCP_CONNECT_TIMEOUT_MS", "MCP_CONNECTION_NONBLOCKING", "MCP_SERVER_CONNECTION_BATCH_SIZE",
    "MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "CLAUDE_EFFORT",
];

/// Who sets a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableSetter {
    /// The user, the administrator, or the command line.
    User,
    /// A file of a folder the user trusts.
    TrustedFolder,
    /// A file of an untrusted folder.
    UntrustedFolder,
}

/// Whether a settings file may set this variable.
pub fn may_set(name: &str, setter: VariableSetter) -> bool {
    let upper = name.to_ascii_uppercase();
    if name.is_empty() || name.contains(['=', '\0']) || NEVER_FROM_FILES.contains(&upper.as_str()) {
        return false;
    }
    match setter {
        VariableSetter::User => true,
        VariableSetter::TrustedFolder => !NEVER_FROM_PROJECT.contains(&upper.as_str()),
        VariableSetter::UntrustedFolder => {
            is_plain_name(name)
                && !NEVER_FROM_PROJECT.contains(&upper.as_str())
                && (is_tuning(name) || !steering::is_steering(&upper))
        }
    }
}

/// Shells give other names a meaning of their own: `BASH_FUNC_ls%%` is a function.
fn is_plain_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// Whether the variable only tunes the product: models, limits, timeouts, switches.
pub(crate) fn is_tuning(name: &str) -> bool {
    if !is_plain_name(name) || NEVER_FROM_FILES.contains(&name) || NEVER_FROM_PROJECT.contains(&name) {
        return false;
    }
    if name.starts_with("ANTHROPIC_") {
        return name.ends_with("_MODEL");
    }
    if let Some(rest) = name.strip_prefix("CLAUDE_CODE_") {
        return ["MAX_", "TIMEOUT", "EFFORT", "DISABLE_"].iter().any(|part| rest.contains(part));
    }
    TUNING.contains(&name)
        || (["MAX_", "DISABLE_"].iter().any(|own| name.starts_with(own)) && !steering::is_steering(name))
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
            "CLAUDE_ENV_FILE",
            "a=b",
            "",
            "BASH_FUNC_ls%%",
            "BASH_FUNC_ls",
            "BASH_MAX_TIMEOUT_MS%%",
            "MAX_X()",
            "DISABLE_A B",
            "1A",
            "MAX_SHELL",
        ] {
            assert!(!may_set(name, VariableSetter::UntrustedFolder), "{name}");
        }
        for name in ["FOO", "RUST_LOG", "ANTHROPIC_MODEL", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "BASH_DEFAULT_TIMEOUT_MS"] {
            assert!(may_set(name, VariableSetter::UntrustedFolder), "{name}");
            assert_eq!(is_tuning(name), name.contains('_') && !name.starts_with("RUST"), "{name}");
        }
        assert!(may_set("ANTHROPIC_BASE_URL", VariableSetter::TrustedFolder));
        assert!(!may_set("CLAUDE_CODE_SYNC_SKILLS", VariableSetter::TrustedFolder));
        assert!(!may_set("CLAUDE_CODE_REMOTE", VariableSetter::User));
    }

    // [F-A1]
    #[test]
    fn what_runs_or_loads_code_waits_for_trust() {
        let steering = "RIPGREP_CONFIG_PATH TAR_OPTIONS LUA_INIT LUA_INIT_5_4 OPENSSL_CONF PIP_PYTHON DOCKER_HOST JDK_JAVA_OPTIONS \
            GCONV_PATH LD_AUDIT DYLD_INSERT_LIBRARIES BASH_ENV BASHOPTS SHELLOPTS PYTHONSTARTUP PYTHONPATH PYTHONBREAKPOINT NODE_OPTIONS \
            NODE_PATH PERL5OPT PERL5DB RUBYOPT JAVA_TOOL_OPTIONS _JAVA_OPTIONS GIT_SSH GIT_EXTERNAL_DIFF SSH_AUTH_SOCK SSH_ASKPASS PAGER \
            MANPAGER SYSTEMD_PAGER AWS_PAGER GH_PAGER EDITOR KUBE_EDITOR MAKEFLAGS MAKEFILES RUSTC_WRAPPER RUSTC RUSTFLAGS CARGO_HOME \
            CARGO_BUILD_RUSTC npm_config_registry NPM_CONFIG_PREFIX YARN_RC_FILENAME PNPM_HOME PIP_INDEX_URL GEM_HOME BUNDLE_GEMFILE \
            COMPOSER_HOME GOFLAGS GOPROXY GOTOOLCHAIN CC CXX LD AR CFLAGS LESSOPEN LESS TERMINFO LOCPATH NLSPATH CURL_HOME WGETRC INPUTRC \
            ZDOTDIR ENV PS4 PROMPT_COMMAND IFS PATH HOME XDG_CONFIG_HOME TMPDIR KUBECONFIG AWS_CONFIG_FILE HTTPS_PROXY all_proxy \
            SSL_CERT_FILE VIMINIT EXINIT GREP_OPTIONS HGRCPATH PHPRC PHP_INI_SCAN_DIR CLASSPATH MAVEN_OPTS GRADLE_OPTS DOTNET_STARTUP_HOOKS \
            CORECLR_PROFILER ERL_FLAGS R_PROFILE JULIA_LOAD_PATH TF_CLI_CONFIG_FILE HELM_PLUGINS ANSIBLE_CONFIG PGSERVICEFILE PSQLRC \
            PSQL_PAGER NIX_PATH GTK_MODULES QT_PLUGIN_PATH GIO_EXTRA_MODULES HOSTALIASES GNUPGHOME SVN_SSH RSYNC_RSH CVS_RSH XZ_OPT \
            DIRENV_CONFIG CMAKE_TOOLCHAIN_FILE PKG_CONFIG_PATH SOME_TOOL_PLUGINS OTHER_OPTS FOORC SUDO_ASKPASS UV_INDEX_URL POETRY_HOME \
            DENO_DIR BUN_INSTALL VIRTUAL_ENV CONDA_PREFIX FPATH CDPATH MCP_CLIENT_SECRET CLAUDE_CODE_SHELL CLAUDE_CODE_SHELL_PREFIX";
        for name in steering.split_whitespace() {
            assert!(!may_set(name, VariableSetter::UntrustedFolder), "{name}");
            assert!(!is_tuning(name), "{name}");
            assert!(may_set(name, VariableSetter::TrustedFolder), "{name}");
        }
    }

    // [F-A1]
    #[test]
    fn ordinary_variables_of_projects_do_not_wait() {
        let ordinary = "FOO RUST_LOG RUST_BACKTRACE NODE_ENV CI DEBUG PORT HOST API_URL APP_ENV APP_NAME DATABASE_URL REDIS_URL LOG_LEVEL TZ \
            LANG LC_ALL LANGUAGE NO_COLOR FORCE_COLOR COLUMNS LINES TERM COLORTERM PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE RAILS_ENV \
            FEATURE_FLAG_X ENVIRONMENT STAGE REGION PGHOST PGUSER PGDATABASE PGPORT MY_SECRET TEST_TIMEOUT CARGO_TERM_COLOR MODE VERBOSE \
            SERVICE_NAME GREETING USERNAME USER_ID AREA ASSETS_URL CCY PATHWAY TEMPERATURE TMP_LIMIT MANAGER LEXICON ARTICLES DEBIAN_FRONTEND \
            CI_JOB HOSTNAME VERSION";
        let waiting: Vec<&str> =
            ordinary.split_whitespace().filter(|name| !may_set(name, VariableSetter::UntrustedFolder)).collect();
        assert_eq!(waiting, [""; 0]);
    }
}
