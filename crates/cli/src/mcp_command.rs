//! `gimlet mcp …`: declares servers, shows them with their health, signs in to them, and serves our own tools. Shows
//! declarations as written, never values of variables; starts no unapproved server of a repository.

mod add;
mod args;
mod health;
mod login;
mod serve;
mod show;
mod vault;

use args::{McpArgs, McpFlag};
use config::mcp::{DeclaredMcpServer, DeclaredMcpServers, McpAudience, McpChange, McpPlace, McpQuery};
use config::{ConfigLoader, ProjectConfig, SettingsSelection};
use std::ffi::OsString;
use std::path::PathBuf;
use sys::Env;

pub(crate) const USAGE: &str = "Usage: gimlet mcp <command> [options]

Commands:
  add <name> <url>                  add a remote server
  add <name> -- <command> [args]    add a server that gimlet starts
  add-json <name> <json>            add a server by its JSON object
  list                              list servers and check each
  get <name>                        one server in full
  remove <name>                     remove a server
  login <name> [--no-browser]       sign in to a remote server
  logout <name>                     sign out of a remote server
  reset-project-choices             reset which servers of .mcp.json were approved
  serve                             offer gimlet's own tools over stdio

Options of add and add-json:
  -s, --scope <scope>          local (default), project or user
  -t, --transport <transport>  stdio, http or sse; taken from the address when it is one
  -e, --env <KEY=value...>     variables of a started server
  -H, --header <\"Name: value\"...>  headers of a remote server
      --client-id <id>         a client registered with the authorization server
      --client-secret          ask for its secret, or take it from MCP_CLIENT_SECRET
      --callback-port <port>   the port its redirect address has

`remove` takes --scope too.";

/// Returns the text to print and the exit code.
pub(crate) fn run(rest: &[OsString], env: &Env) -> Result<(String, u8), String> {
    let mut words = rest.iter().map(|word| word.to_string_lossy().into_owned());
    let command = words.next().unwrap_or_default();
    let rest: Vec<String> = words.collect();
    let is_help = |word: &String| matches!(word.as_str(), "--help" | "-h");
    if rest.iter().take_while(|word| *word != "--").any(is_help) || matches!(command.as_str(), "help" | "--help" | "-h")
    {
        return Ok((USAGE.into(), 0));
    }
    match command.as_str() {
        "add" => add::run(rest, env),
        "add-json" => add::run_json(rest, env),
        "list" => McpCommand::open(env)?.list(&McpArgs::parse(rest, &[])?),
        "get" => McpCommand::open(env)?.get(&McpArgs::parse(rest, &[])?),
        "remove" => remove(&McpArgs::parse(rest, &[McpFlag::Scope])?, env),
        "login" => login::run(&McpArgs::parse(rest, &[McpFlag::NoBrowser])?, env),
        "logout" => login::logout(&McpArgs::parse(rest, &[])?, env),
        "reset-project-choices" => reset(&McpArgs::parse(rest, &[])?, env),
        "serve" => serve::run(&McpArgs::parse(rest, &[McpFlag::Debug, McpFlag::Verbose])?, env),
        "" => Err(USAGE.into()),
        "add-from-claude-desktop" => {
            Err("Error: gimlet does not import from other programs; add the servers with `gimlet mcp add`".into())
        }
        other => {
            let known =
                ["add", "add-json", "list", "get", "remove", "login", "logout", "reset-project-choices", "serve"];
            let meant = crate::nearest::nearest(other, known.into_iter());
            let hint = meant.map(|meant| format!(" Did you mean gimlet mcp {meant}?")).unwrap_or_default();
            Err(format!("error: unknown command '{other}'.{hint}"))
        }
    }
}

/// The directory of the command, with everything declared there.
struct McpCommand {
    cwd: PathBuf,
    env: Env,
    loaded: ProjectConfig,
    servers: DeclaredMcpServers,
}

impl McpCommand {
    fn open(env: &Env) -> Result<Self, String> {
        config::state::check(env).map_err(error_text)?;
        let cwd = sys::launch::cwd(env).unwrap_or_else(|_| PathBuf::from("/"));
        let selection = SettingsSelection::default();
        let loaded = ConfigLoader::open(&cwd, env, &selection).map_err(error_text)?;
        let request = McpQuery {
            cwd: &cwd,
            env,
            loaded: &loaded,
            selection: &selection,
            flags: &[],
            strict: false,
            audience: McpAudience::Person,
        };
        let servers = config::mcp::effective(&request).map_err(error_text)?;
        Ok(Self { cwd, env: env.clone(), loaded, servers })
    }

    fn change(&self) -> McpChange<'_> {
        McpChange { cwd: &self.cwd, env: &self.env, loaded: &self.loaded }
    }

    fn server(&self, name: &str) -> Result<&DeclaredMcpServer, String> {
        self.servers.get(name).ok_or_else(|| {
            let names = self.servers.servers.iter().map(|server| server.name.as_str());
            let meant = crate::nearest::nearest(name, names);
            let hint = meant.map(|meant| format!(". Did you mean {meant}?")).unwrap_or_default();
            format!("No MCP server found with name: {name}{hint}")
        })
    }
}

fn remove(words: &McpArgs, env: &Env) -> Result<(String, u8), String> {
    let name = words.one("mcp remove <name>")?;
    let place = McpCommand::open(env)?;
    let change = place.change();
    let wanted = match words.scope()? {
        Some(scope) => scope,
        None => match change.places_of(name).as_slice() {
            [only] => *only,
            [] => return Err(place.server(name).map_or_else(|why| why, |server| not_ours(server, name))),
            several => return Err(ambiguous(name, several)),
        },
    };
    // Removing the declaration also removes the stored sign-in.
    let remote = place.servers.get(name).and_then(|server| server.config.remote());
    let file = change.remove(wanted, name).map_err(error_text)?;
    if let Some(remote) = remote {
        let vault = vault::StoredTokens::new(env.clone());
        mcp::auth::forget(&vault, &mcp::auth::identity(name, remote)).ok();
    }
    Ok((format!("Removed MCP server {name} from {} config\nFile modified: {}", wanted.name(), file.display()), 0))
}

fn not_ours(server: &DeclaredMcpServer, name: &str) -> String {
    format!("MCP server {name} is declared by {} and cannot be removed here", server.scope.name())
}

fn ambiguous(name: &str, places: &[McpPlace]) -> String {
    let line = |place: &McpPlace| format!("  gimlet mcp remove {name} -s {}", place.name());
    let lines: Vec<String> = places.iter().map(line).collect();
    format!("MCP server {name} exists in several scopes. Say which one:\n{}", lines.join("\n"))
}

fn reset(words: &McpArgs, env: &Env) -> Result<(String, u8), String> {
    words.none("mcp reset-project-choices")?;
    let had = McpCommand::open(env)?.change().reset_choices().map_err(error_text)?;
    let text = if had {
        "The choices about servers of .mcp.json were reset. You will be asked again."
    } else {
        "There were no choices about servers of .mcp.json to reset."
    };
    Ok((text.into(), 0))
}

fn error_text(error: impl std::fmt::Display) -> String {
    format!("Error: {error}")
}

/// Runs work that needs the network or children.
fn block_on<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(8).build();
    let runtime = runtime.map_err(|error| format!("Error: could not start the runtime: {error}"))?;
    sys::process::configure(sys::process::KeeperConfig::OwnBinary);
    let result = runtime.block_on(work);
    sys::process::kill_all();
    runtime.shutdown_background();
    Ok(result)
}
