//! Runs a command in the sandbox: its environment, its network proxy, and the report of blocked accesses. The
//! engine computes what is allowed; this module starts the command and reports.

use http::filter::{ExternalProxies, FilterProxy, HostJudge, HostVerdict};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use sys::Env;
use sys::process::{ChildProcess, SpawnSpec};
use sys::sandbox::{self, PROXY_PORT, SandboxBackend, SandboxProfile, SandboxSweep, SandboxedChild};
use sys::sync::Mutex;

/// Most violations that are listed; further ones are only counted.
const MAX_LISTED: usize = 10;

/// Everything a sandboxed command needs. Created for one call.
pub struct CommandSandbox {
    pub backend: SandboxBackend,
    pub profile: SandboxProfile,
    /// Decides which hosts may be reached.
    pub hosts: Arc<dyn HostJudge>,
    pub external: ExternalProxies,
    /// `TMPDIR` inside the sandbox; `None` leaves it unchanged.
    pub temp: Option<PathBuf>,
    /// Variables that are removed from the command's environment.
    pub unset: Vec<String>,
    /// The environment of gimlet itself, for the user's proxies.
    pub env: Env,
    /// `ignoreViolations`: maps a part of the command (or `*`) to parts of violations.
    pub ignored: Vec<(String, Vec<String>)>,
    pub escape: SandboxEscape,
}

/// Whether the model may ask to run a command outside the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxEscape {
    Offered,
    Forbidden,
}

/// The sandbox of a running command. It must be dropped after the command, and then cleans up.
pub struct SandboxRun {
    network: Option<tokio::task::JoinHandle<()>>,
    refused_hosts: Arc<RefusedHosts>,
    sweep: Option<SandboxSweep>,
}

impl CommandSandbox {
    /// Starts `spawn` in the sandbox. Must be called inside the runtime.
    pub fn start(&self, mut spawn: SpawnSpec) -> io::Result<(ChildProcess, SandboxRun)> {
        self.adapt(&mut spawn.env);
        let SandboxedChild { child, proxy_door: door, sweep } = sandbox::spawn(&self.backend, &self.profile, spawn)?;
        let refused = Arc::new(RefusedHosts { judge: Arc::clone(&self.hosts), seen: Mutex::default() });
        let filter = Arc::new(FilterProxy::new(Arc::clone(&refused) as Arc<dyn HostJudge>, self.external, &self.env));
        let network = door.map(|door| {
            tokio::spawn(async move {
                let served = match door.listener().await {
                    Ok(listener) => filter.serve(listener).await,
                    Err(error) => Err(error),
                };
                if let Err(error) = served {
                    tracing::debug!(%error, "the sandbox's network ended");
                }
            })
        });
        Ok((child, SandboxRun { network, refused_hosts: refused, sweep: Some(sweep) }))
    }

    fn adapt(&self, env: &mut Vec<(OsString, OsString)>) {
        let proxied = self.backend.has_proxy();
        let unset = |name: &OsString| self.unset.iter().any(|unset| name == unset.as_str());
        env.retain(|(name, _)| !unset(name) && (!proxied || !is_proxy(name)));
        let mut set = |name: &str, value: OsString| {
            env.retain(|(n, _)| n != name);
            env.push((name.into(), value));
        };
        set("SANDBOX_RUNTIME", "1".into());
        if let Some(temp) = &self.temp {
            set("TMPDIR", temp.clone().into());
        }
        if !proxied {
            return;
        }
        let (http, socks) = (format!("http://127.0.0.1:{PROXY_PORT}"), format!("socks5h://127.0.0.1:{PROXY_PORT}"));
        for (name, value) in [("HTTP_PROXY", &http), ("HTTPS_PROXY", &http), ("ALL_PROXY", &socks)] {
            set(name, value.into());
            set(&name.to_ascii_lowercase(), value.into());
        }
        for name in ["NO_PROXY", "no_proxy"] {
            set(name, "localhost,127.0.0.1,::1".into());
        }
    }

    /// The report of `violations` for the model; `None` when all of them are ignored.
    pub fn report(&self, command: &str, violations: Vec<String>) -> Option<String> {
        let ignored = |violation: &String| {
            self.ignored.iter().any(|(part, texts)| {
                (part == "*" || command.contains(part)) && texts.iter().any(|text| violation.contains(text))
            })
        };
        let mut left: Vec<String> = violations.into_iter().filter(|violation| !ignored(violation)).collect();
        if left.is_empty() {
            return None;
        }
        let more = left.len().saturating_sub(MAX_LISTED);
        left.truncate(MAX_LISTED);
        if more > 0 {
            left.push(format!("and {more} more"));
        }
        let advice = match self.escape {
            SandboxEscape::Offered => {
                "The command ran in the sandbox, which blocked this. If it is needed, run the command again with \
                 dangerouslyDisableSandbox: true; the user will be asked."
            }
            SandboxEscape::Forbidden => {
                "The command ran in the sandbox, which blocked this; it cannot be switched off here."
            }
        };
        Some(format!("<sandbox_violations>\n{}\n</sandbox_violations>\n{advice}", left.join("\n")))
    }
}

fn is_proxy(name: &OsString) -> bool {
    let name = name.to_string_lossy();
    ["http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy"].iter().any(|p| name.eq_ignore_ascii_case(p))
}

/// Lines of a failed command's output that look like refusals of the file system.
pub fn suspected_violations(output: &str) -> Vec<String> {
    let refusals =
        ["Read-only file system", "Permission denied", "Operation not permitted", "EROFS", "EACCES", "EPERM"];
    let lines = output.lines().filter(|line| refusals.iter().any(|refusal| line.contains(refusal)));
    let short = |line: &str| format!("file: {}", line.trim().chars().take(300).collect::<String>());
    lines.take(MAX_LISTED / 2).map(short).collect()
}

impl SandboxRun {
    /// Cleans up and returns what was blocked. Every process of the command must have ended.
    pub async fn finish(mut self) -> Vec<String> {
        let mut found = self.refused_hosts.take();
        if let Some(sweep) = self.sweep.take() {
            found.extend(tokio::task::spawn_blocking(move || sweep.finish()).await.unwrap_or_default());
        }
        found
    }
}

impl Drop for SandboxRun {
    fn drop(&mut self) {
        if let Some(network) = self.network.take() {
            network.abort();
        }
        for violation in self.sweep.take().map(SandboxSweep::finish).unwrap_or_default() {
            tracing::warn!(violation, "the sandbox undid a change");
        }
    }
}

/// Records the hosts that were refused.
struct RefusedHosts {
    judge: Arc<dyn HostJudge>,
    seen: Mutex<BTreeSet<String>>,
}

impl RefusedHosts {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.lock()).into_iter().collect()
    }
}

impl HostJudge for RefusedHosts {
    fn judge(&self, host: &str, port: u16) -> HostVerdict {
        let verdict = self.judge.judge(host, port);
        if let HostVerdict::Deny(why) = &verdict {
            let mut seen = self.seen.lock();
            if seen.len() < 1000 {
                seen.insert(format!("network {host}:{port}: {why}"));
            }
        }
        verdict
    }
}
