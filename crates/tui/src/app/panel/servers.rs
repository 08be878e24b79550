//! MCP servers and their actions, hooks and agents, as the engine reports them.

use super::{Panel, PanelSubject, PendingResponse, pages};
use crate::app::App;
use crate::app::select::{SelectItem, TypingMode};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use terminal::style::{StyledLine, TextStyle};
use terminal::text;
use terminal::theme::ThemeToken;
use wire::control::{HostRequest, McpRequest, McpToggle, ReconnectMcpServer};

#[derive(Clone, Debug, Deserialize)]
pub struct McpServerRow {
    pub name: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    tools: Vec<McpToolRow>,
    #[serde(default)]
    config: Value,
}

#[derive(Clone, Debug, Deserialize)]
struct McpToolRow {
    name: String,
    #[serde(default)]
    description: Option<String>,
}

/// Characters of a command of a hook that are shown.
const HOOK_COMMAND_WIDTH: usize = 120;

/// How often the list is asked for while a server is being connected.
const REFRESH: Duration = Duration::from_millis(500);

const ACTIONS: [&str; 4] = ["Its tools", "Connect again", "Switch on", "Switch off"];

impl App {
    pub(in crate::app) fn open_servers(&mut self) {
        self.open_panel(Panel::waiting("MCP servers", PanelSubject::Servers(Vec::new())));
        self.request_servers();
    }

    pub(super) fn request_servers(&mut self) {
        self.request(HostRequest::Mcp(McpRequest::Status), PendingResponse::Servers);
    }

    /// The list follows servers that are still being connected.
    pub(in crate::app) fn refresh_servers(&mut self) {
        if self.servers_due.take_if(|due| *due <= self.now).is_some() && self.shows_servers() {
            self.request_servers();
        }
    }

    fn shows_servers(&self) -> bool {
        self.layers.all::<Panel>().any(|panel| matches!(panel.subject, PanelSubject::Servers(_)))
    }

    pub(super) fn servers_arrived(&mut self, body: &Value) {
        let servers =
            body.get("mcpServers").and_then(|all| Vec::<McpServerRow>::deserialize(all).ok()).unwrap_or_default();
        if servers.is_empty() {
            let text = "No MCP server is declared here. `gimlet mcp add` in a shell declares one; .mcp.json declares \
                        those of a project.";
            return self.fill(|subject| matches!(subject, PanelSubject::Servers(_)), pages::plain(text));
        }
        let is_connecting = servers.iter().any(|server| server.status == "pending");
        self.servers_due = (is_connecting && self.shows_servers()).then(|| self.now + REFRESH);
        let row = |server: &McpServerRow| {
            let mut detail = format!("{} · {}", server.status, server.scope);
            if server.status == "connected" {
                detail = format!("{detail} · {} tools", server.tools.len());
            }
            if let Some(error) = &server.error {
                detail = format!("{detail} · {error}");
            }
            SelectItem::new(server.name.clone(), detail)
        };
        let items = servers.iter().map(row).collect();
        let panel = Panel::list("MCP servers", items, TypingMode::Digits, PanelSubject::Servers(servers));
        self.fill_list(|subject| matches!(subject, PanelSubject::Servers(_)), panel);
    }

    pub(super) fn server_chosen(&mut self, item: usize) {
        let Some(PanelSubject::Servers(servers)) = self.panel().map(|panel| &panel.subject) else { return };
        let Some(server) = servers.get(item).cloned() else { return };
        let command = server.config.get("command").or_else(|| server.config.get("url")).and_then(Value::as_str);
        let title = format!("{} · {} · {}", server.name, server.status, command.unwrap_or_default());
        let items = ACTIONS.iter().map(|action| SelectItem::new(*action, "")).collect();
        self.open_panel(Panel::list(text::clean(&title), items, TypingMode::Digits, PanelSubject::Server(server)));
    }

    pub(super) fn perform_server_action(&mut self, item: usize) {
        let Some(PanelSubject::Server(server)) = self.panel().map(|panel| &panel.subject) else { return };
        let name = server.name.clone();
        if item == 0 {
            let lines = self.tool_lines(server);
            self.pop_panel();
            return self.open_panel(Panel::page(format!("Tools of {name}"), lines, PanelSubject::Agents));
        }
        self.pop_panel();
        match item {
            1 => self.reconnect(&name),
            2 => self.switch_server(&name, true),
            _ => self.switch_server(&name, false),
        }
    }

    pub(in crate::app) fn reconnect(&mut self, name: &str) {
        let request = McpRequest::Reconnect(ReconnectMcpServer { server_name: name.to_owned() });
        self.request(HostRequest::Mcp(request), PendingResponse::ServersAgain(format!("{name}: connected again.")));
    }

    pub(in crate::app) fn switch_server(&mut self, name: &str, enabled: bool) {
        let request = McpRequest::Toggle(McpToggle { server_name: name.to_owned(), enabled });
        let state = if enabled { "on" } else { "off" };
        self.request(HostRequest::Mcp(request), PendingResponse::ServersAgain(format!("{name}: switched {state}.")));
    }

    fn tool_lines(&self, server: &McpServerRow) -> Vec<StyledLine> {
        if server.tools.is_empty() {
            return vec![StyledLine::plain("  none while it is not connected")];
        }
        let faint = self.preferences.theme.fg(ThemeToken::Inactive);
        let line = |tool: &McpToolRow| {
            let about =
                tool.description.as_deref().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
            StyledLine::styled(format!("  {}", text::clean(&tool.name)), TextStyle::PLAIN.bold())
                .and(format!("  {}", text::clean(&about)), faint)
        };
        server.tools.iter().map(line).collect()
    }

    pub(in crate::app) fn open_hooks(&mut self) {
        self.open_panel(Panel::waiting("Hooks", PanelSubject::Hooks));
        self.request(HostRequest::GetHooksListing, PendingResponse::Hooks);
    }

    pub(super) fn hooks_arrived(&mut self, body: &Value) {
        let field = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let theme = &self.preferences.theme;
        let (faint, warning) = (theme.fg(ThemeToken::Inactive), theme.fg(ThemeToken::Warning));
        let mut lines = Vec::new();
        if body.pointer("/policy/disableAllHooks").and_then(Value::as_bool) == Some(true) {
            lines.push(StyledLine::styled("  All hooks are switched off (disableAllHooks).", warning));
        }
        let hooks = body.get("hooks").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut event = String::new();
        for hook in hooks {
            if field(hook, "event") != event {
                event = field(hook, "event");
                lines.push(StyledLine::styled(event.clone(), TextStyle::PLAIN.bold()));
            }
            let matcher = Some(field(hook, "matcher")).filter(|matcher| !matcher.is_empty());
            let matcher = matcher.unwrap_or_else(|| "every".into());
            let what: String = field(hook, "command").split_whitespace().collect::<Vec<_>>().join(" ");
            let shown: String = what.chars().take(HOOK_COMMAND_WIDTH).collect();
            let line = StyledLine::plain(format!(
                "  {} · {} {}",
                text::clean(&matcher),
                field(hook, "handler"),
                text::clean(&shown)
            ));
            lines.push(line.and(format!("  {}", text::clean(&field(hook, "source"))), faint));
        }
        if hooks.is_empty() {
            lines.push(StyledLine::plain("  No hooks are declared. They stand under `hooks` in settings files."));
        }
        for error in body.get("errors").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            lines.push(StyledLine::styled(format!("  {}", text::clean(error)), warning));
        }
        lines.push(StyledLine::styled("`gimlet hooks test <event>` in a shell runs them.", faint));
        self.fill(|subject| matches!(subject, PanelSubject::Hooks), lines);
    }

    /// `/agents`, or ← on an empty prompt: running agents, then those that can be started.
    pub(in crate::app) fn open_agents(&mut self) {
        let theme = &self.preferences.theme;
        let faint = theme.fg(ThemeToken::Inactive);
        let mut lines = Vec::new();
        for task in self.session.background.iter().filter(|task| task.is_agent) {
            lines.push(
                StyledLine::styled("● ", theme.fg(ThemeToken::Success))
                    .and(text::clean(&task.description), TextStyle::PLAIN),
            );
        }
        lines.push(StyledLine::styled("The model can start", TextStyle::PLAIN.bold()));
        for (name, about) in &self.session.agents {
            let about = about.lines().next().unwrap_or_default();
            lines.push(
                StyledLine::plain(format!("  {}", text::clean(name))).and(format!("  {}", text::clean(about)), faint),
            );
        }
        lines.push(StyledLine::styled(
            "To make one, write a Markdown file with `name` and `description` in its head to .claude/agents/ (this \
             project) or agents/ in the configuration directory; its text is the agent's prompt. /tasks shows and stops \
             what runs.",
            faint,
        ));
        self.open_panel(Panel::page("Agents", lines, PanelSubject::Agents));
    }
}
