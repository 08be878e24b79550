//! `mcp login` and `mcp logout`.

use super::args::{McpArgs, McpFlag};
use super::{McpCommand, block_on, vault};
use config::mcp::{DeclaredMcpServer, McpApproval};
use http::Http;
use mcp::auth::{HelperPlace, Keyring, LoginOutcome, McpLogin};
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use sys::Env;
use tokio::sync::mpsc;
use wire::mcp::{McpScope, McpTransport, RemoteConfig};

pub(super) fn run(words: &McpArgs, env: &Env) -> Result<(String, u8), String> {
    let name = words.one("mcp login <name> [--no-browser]")?;
    let here = McpCommand::open(env)?;
    let server = here.server(name)?;
    allowed(server)?;
    let remote = remote(server)?;
    let browser = if words.has(McpFlag::NoBrowser) { None } else { browser(env) };
    let outcome = block_on(sign_in(server, remote, &here, browser))?;
    match outcome.map_err(|error| format!("Error: {name}: {error}"))? {
        LoginOutcome::SignedIn => Ok((format!("Signed in to {name}."), 0)),
        LoginOutcome::NotNeeded => Ok((format!("{name} works without signing in."), 0)),
    }
}

pub(super) fn logout(words: &McpArgs, env: &Env) -> Result<(String, u8), String> {
    let name = words.one("mcp logout <name>")?;
    let here = McpCommand::open(env)?;
    let key = mcp::auth::identity(name, remote(here.server(name)?)?);
    let had = mcp::auth::forget(&vault::StoredTokens::new(env.clone()), &key).map_err(super::error_text)?;
    Ok((if had { format!("Signed out of {name}.") } else { format!("You were not signed in to {name}.") }, 0))
}

/// Refuses servers that may not be used.
fn allowed(server: &DeclaredMcpServer) -> Result<(), String> {
    let why = match &server.approval {
        McpApproval::Approved | McpApproval::Disabled => return Ok(()),
        McpApproval::Pending => "it comes with the repository and was not approved yet".to_owned(),
        McpApproval::Rejected => "it was rejected; `gimlet mcp reset-project-choices` resets that".to_owned(),
        McpApproval::Forbidden(why) => why.clone(),
    };
    Err(format!("Error: cannot sign in to {}: {why}", server.name))
}

fn remote(server: &DeclaredMcpServer) -> Result<&RemoteConfig, String> {
    match &server.config.transport {
        McpTransport::Http(remote) | McpTransport::Sse(remote) => Ok(remote),
        McpTransport::Stdio(_) | McpTransport::Ws(_) | McpTransport::Sdk { .. } => {
            Err(format!("Error: {}: {}", server.name, mcp::auth::AuthError::NotRemote))
        }
    }
}

/// The directory of a server's helper, and whether a repository declared it.
pub(super) fn helper_place(server: &DeclaredMcpServer) -> HelperPlace {
    HelperPlace {
        cwd: server.root.clone(),
        is_from_repository: matches!(server.scope, McpScope::Project | McpScope::Plugin),
    }
}

async fn sign_in(
    server: &DeclaredMcpServer,
    remote: &RemoteConfig,
    here: &McpCommand,
    browser: Option<Browser>,
) -> Result<LoginOutcome, String> {
    let env = &here.loaded.env;
    let http = Http::new(env.clone());
    // Settings may set variables; the place of stored credentials does not depend on them.
    let vault: Arc<dyn mcp::auth::TokenVault> = Arc::new(vault::StoredTokens::new(here.env.clone()));
    let mut headers: Vec<(String, String)> = remote.headers.clone().into_iter().collect();
    if remote.headers_helper.is_some() {
        let plain = RemoteConfig { oauth: None, ..remote.clone() };
        let keyring = Keyring::new(http.clone(), env.clone(), Arc::new(EmptyVault));
        let printed =
            keyring.headers(&server.name, &plain, &helper_place(server), &mcp::HeaderOccasion::Connect).await?;
        headers.extend(printed.into_iter().flatten());
    }
    let mut typed = typed_lines();
    let login = McpLogin { http: &http, env, vault, name: &server.name, remote, headers };
    let show = |url: &str| show_login_url(&server.name, url, browser.as_ref(), env);
    login.run(show, &mut typed).await.map_err(|error| error.to_string())
}

/// Without tokens: keeps the stored token out of a helper's headers.
struct EmptyVault;

impl mcp::auth::TokenVault for EmptyVault {
    fn read(&self, _: &str) -> Option<String> {
        None
    }

    fn write(&self, _: &str, _: Option<&str>) -> std::io::Result<()> {
        Ok(())
    }

    fn lock(&self, _: &str) -> std::io::Result<Box<dyn Send>> {
        Ok(Box::new(()))
    }
}

fn show_login_url(name: &str, url: &str, browser: Option<&Browser>, env: &Env) {
    let mut text = format!("To sign in to {name}, open this address:\n\n  {url}\n\n");
    let opened = match browser.map(|browser| browser.open(url, env)) {
        Some(Ok(())) => "Your browser should open. ".to_owned(),
        Some(Err(error)) => format!("No browser could be started ({error}). "),
        None => String::new(),
    };
    text.push_str(&opened);
    if std::io::stdin().is_terminal() {
        text.push_str(
            "If the browser runs on another machine, paste the address it ends up at here and press Enter.\n",
        );
    } else {
        text.push('\n');
    }
    crate::print(&text);
}

/// Lines that the user types; none when standard input is closed.
fn typed_lines() -> mpsc::Receiver<String> {
    let (lines, typed) = mpsc::channel(1);
    // Reading cannot be interrupted; the thread ends with the process.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if lines.blocking_send(line).is_err() {
                break;
            }
        }
    });
    typed
}

/// A program that opens URLs, with its arguments before the URL.
struct Browser {
    program: PathBuf,
    args: Vec<String>,
}

/// `BROWSER`, or the program with which the system opens URLs. `None` when there is none.
fn browser(env: &Env) -> Option<Browser> {
    if let Some(chosen) = env.non_empty("BROWSER") {
        // A list of commands; the first one that exists is used.
        let mut found = chosen.split(':').filter_map(|command| {
            let mut words = command.split_whitespace().map(str::to_owned);
            Some(Browser { program: find(&words.next()?, env)?, args: words.collect() })
        });
        return found.next();
    }
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    // Without a display nothing can be opened, and some programs would start a text browser in our terminal.
    let has_display =
        cfg!(target_os = "macos") || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|v| env.non_empty(v).is_some());
    find(opener, env).filter(|_| has_display).map(|program| Browser { program, args: Vec::new() })
}

fn find(program: &str, env: &Env) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = env.get("PATH")?;
    path.split(':')
        .filter(|dir| dir.starts_with('/'))
        .map(|dir| PathBuf::from(dir).join(program))
        .find(|file| file.is_file())
}

impl Browser {
    /// Passes the URL as one argument, never as a part of a shell command.
    fn open(&self, url: &str, env: &Env) -> std::io::Result<()> {
        let mut args: Vec<std::ffi::OsString> =
            self.args.iter().map(|arg| arg.replace("%s", url).replace("%%", "%").into()).collect();
        if !self.args.iter().any(|arg| arg.contains("%s")) {
            args.push(url.into());
        }
        let secrets = config::environment::SECRET_VARIABLES.iter().copied();
        let env = env.without(secrets).iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        sys::process::detached(&self.program, &args, env)
    }
}
