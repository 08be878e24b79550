//! The `sandbox` object. A repository may tighten it; values that loosen it apply only once the folder is trusted, and
//! helper programs are never taken from a repository.

use super::checks;
use super::shape::keys;
use serde_json::Value;
use std::collections::BTreeMap;

keys! {
    /// `sandbox`.
    pub struct SandboxSettings {
        /// Run shell commands inside the sandbox.
        "enabled" enabled: Option<bool> => loosens_unless(true);
        /// Refuse to run commands when the sandbox cannot be applied.
        "failIfUnavailable" fail_if_unavailable: Option<bool> => loosens_unless(true);
        /// Commands that run inside the sandbox need no approval.
        "autoAllowBashIfSandboxed" auto_allow_bash_if_sandboxed: Option<bool> => loosens_unless(false);
        /// Commands that run outside the sandbox, as Bash patterns.
        "excludedCommands" excluded_commands: Vec<String> => grant;
        /// Whether a command may ask to run outside the sandbox.
        "allowUnsandboxedCommands" allow_unsandboxed_commands: Option<bool> => loosens_unless(false);
        /// Weaker isolation that works inside containers.
        "enableWeakerNestedSandbox" enable_weaker_nested_sandbox: Option<bool> => loosens_unless(false);
        /// Allows the certificate service of macOS.
        "enableWeakerNetworkIsolation" enable_weaker_network_isolation: Option<bool> => loosens_unless(false), no_effect("gimlet has one kind of network isolation");
        /// Allows Apple events (macOS).
        "allowAppleEvents" allow_apple_events: Option<bool> => user_managed, no_effect("gimlet is not confined that way on macOS");
        /// The search program used inside the sandbox: command and arguments.
        "ripgrep" ripgrep: Option<Value> => user_managed, no_effect("gimlet searches by itself");
        /// Absolute path of bubblewrap.
        "bwrapPath" bwrap_path: Option<String> => managed;
        /// Absolute path of socat.
        "socatPath" socat_path: Option<String> => managed, no_effect("gimlet needs no such program");
        /// Violations that are not reported: part of the command to parts of the violation.
        "ignoreViolations" ignore_violations: BTreeMap<String, Vec<String>> => grant;
        /// Which files commands may read and write.
        "filesystem" filesystem: SandboxFilesystem;
        /// Which hosts and sockets commands may reach.
        "network" network: SandboxNetwork;
        /// Files and variables that commands must not see.
        "credentials" credentials: SandboxCredentials;
    }
}

keys! {
    /// `sandbox.filesystem`.
    pub struct SandboxFilesystem {
        /// More places that may be written.
        "allowWrite" allow_write: Vec<String> => grant;
        /// Places that must not be written.
        "denyWrite" deny_write: Vec<String>;
        /// Places that must not be read.
        "denyRead" deny_read: Vec<String>;
        /// Places inside denied ones that may be read.
        "allowRead" allow_read: Vec<String> => grant;
        /// Only the administrator's read paths count.
        "allowManagedReadPathsOnly" allow_managed_read_paths_only: Option<bool> => managed, sticky(true);
        /// No file isolation, only network isolation.
        "disabled" disabled: Option<bool> => user_managed;
    }
}

keys! {
    /// `sandbox.network`.
    pub struct SandboxNetwork {
        /// Hosts that may be reached: `example.com`, `*.example.com`, with an optional port.
        "allowedDomains" allowed_domains: Vec<String> => grant;
        /// Hosts that must not be reached; these win.
        "deniedDomains" denied_domains: Vec<String>;
        /// Unix sockets that may be used (macOS).
        "allowUnixSockets" allow_unix_sockets: Vec<String> => grant, no_effect("only allowAllUnixSockets is known");
        /// Mach services that may be looked up (macOS).
        "allowMachLookup" allow_mach_lookup: Vec<String> => grant, no_effect("gimlet is not confined that way on macOS");
        /// Every Unix socket may be used.
        "allowAllUnixSockets" allow_all_unix_sockets: Option<bool> => loosens_unless(false);
        /// Commands may listen on local ports (macOS).
        "allowLocalBinding" allow_local_binding: Option<bool> => loosens_unless(false), no_effect("a command in the sandbox has a network of its own");
        /// Port of an external HTTP proxy to use instead of our own.
        "httpProxyPort" http_proxy_port: Option<u32> => range(1, 65535), grant;
        /// Port of an external SOCKS proxy to use instead of our own.
        "socksProxyPort" socks_proxy_port: Option<u32> => range(1, 65535), grant;
        /// Refuse hosts that are not listed instead of asking.
        "strictAllowlist" strict_allowlist: Option<bool> => user_managed, sticky(true);
        /// Only the administrator's hosts count.
        "allowManagedDomainsOnly" allow_managed_domains_only: Option<bool> => managed, sticky(true);
        /// Inspect TLS with this authority: `caCertPath`, `caKeyPath`.
        "tlsTerminate" tls_terminate: Option<Value> => user_managed, no_effect("the proxy does not open TLS");
    }
}

keys! {
    /// `sandbox.credentials`.
    pub struct SandboxCredentials {
        /// Files to deny or mask: `path`, `mode` and options.
        "files" files: Vec<Value> => check(checks::credential_file);
        /// Variables to deny or mask: `name`, `mode` and options.
        "envVars" env_vars: Vec<Value> => check(checks::credential_variable);
        /// Allow masked values over plain HTTP.
        "allowPlaintextInject" allow_plaintext_inject: Option<bool> => user_managed, no_effect("credentials are hidden, never injected");
        /// Names of key pairs to sign requests with.
        "awsPairs" aws_pairs: Option<Value> => user_managed, no_effect("credentials are hidden, never injected");
        /// What to do with other signature forms.
        "sigv4" sigv4: Option<Value> => user_managed, no_effect("credentials are hidden, never injected");
    }
}
