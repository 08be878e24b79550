//! MCP servers and their actions, hooks and agents, as the engine reports them.

use super::{Panel, PanelContent, PanelFrame, PanelNews, PanelReaction, PanelSource, PlainPage, pages};
use crate::app::PendingResponse;
use crate::app::layers::LayerView;
use crate::app::layers::effects::LayerEffect;
use crate::app::select::{SelectItem, TypingMode};
use crate::app::tools;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use terminal::style::{StyledLine, TextStyle};
use terminal::text;
use terminal::theme::{Theme, ThemeToken};
use wire::control::{HostRequest, McpRequest, McpToggle, ReconnectMcpServer};

#[derive(Clone, Debug, Deserialize)]
struct McpServerRow {
    name: String,
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
/// Columns of a matcher.
const MATCHER_WIDTH: usize = 20;

/// How often the list is asked for while a server is being connected.
const REFRESH: Duration = Duration::from_millis(500);

const TITLE: &str = "MCP servers";
/// Characters of an error in the list; all of it is shown by an action.
const ERROR_WIDTH: usize = 60;

/// What can be done with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerAction {
    ShowError,
    ShowTools,
    Reconnect,
    Enable,
    Disable,
}

impl ServerAction {
    fn label(self) -> &'static str {
        match self {
            Self::ShowError => "Show why it failed",
            Self::ShowTools => "Show its tools",
            Self::Reconnect => "Reconnect",
            Self::Enable => "Enable",
            Self::Disable => "Disable",
        }
    }
}

/// `/mcp`
#[derive(Debug, Default)]
pub struct ServerList {
    servers: Vec<McpServerRow>,
    refresh_at: Option<Duration>,
}

impl ServerList {
    pub fn panel() -> Panel {
        PanelFrame::waiting(TITLE).with(Self::default())
    }

    fn fill(&mut self, body: &Value, now: Duration) -> PanelFrame {
        self.servers =
            body.get("mcpServers").and_then(|all| Vec::<McpServerRow>::deserialize(all).ok()).unwrap_or_default();
        if self.servers.is_empty() {
            let text = "No MCP servers. Add one with `gimlet mcp add` in a shell, or in .mcp.json for everyone in this \
                        project.";
            return PanelFrame::page(TITLE, pages::plain(text));
        }
        // The list follows servers that are still being connected.
        let is_connecting = self.servers.iter().any(|server| server.status == "pending");
        self.refresh_at = is_connecting.then(|| now + REFRESH);
        PanelFrame::list(TITLE, self.servers.iter().map(McpServerRow::item).collect(), TypingMode::Digits)
            .counted("server")
            .keys("enter for tools and actions · esc to close")
    }
}

impl McpServerRow {
    fn item(&self) -> SelectItem {
        let mut detail = self.scope.clone();
        if self.status == "connected" {
            let count = self.tools.len();
            detail = format!("{detail} · {count} {}", tools::plural(count, "tool"));
        }
        if let Some(error) = &self.error {
            let line = error.trim().lines().next().unwrap_or_default();
            detail = format!("{detail} · {}", text::truncate(&text::clean(line), ERROR_WIDTH));
        }
        SelectItem::new(self.name.clone(), detail).value(self.status_text())
    }

    /// A mark and a word, so that the state is seen without colours.
    fn status_text(&self) -> String {
        match self.status.as_str() {
            "connected" => "◆ connected".into(),
            "pending" => "◌ connecting".into(),
            "failed" => "✕ failed".into(),
            "needs-auth" => "◇ needs sign-in".into(),
            "disabled" => "☐ disabled".into(),
            other => other.to_owned(),
        }
    }

    fn actions(&self) -> Vec<ServerAction> {
        let all = [ServerAction::ShowTools, ServerAction::Reconnect, ServerAction::Enable, ServerAction::Disable];
        self.error.as_ref().map(|_| ServerAction::ShowError).into_iter().chain(all).collect()
    }

    fn tool_lines(&self, theme: &Theme) -> Vec<StyledLine> {
        if self.tools.is_empty() {
            return vec![StyledLine::plain("No tools while it is not connected.")];
        }
        let faint = theme.fg(ThemeToken::Inactive);
        let line = |tool: &McpToolRow| {
            let about =
                tool.description.as_deref().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
            StyledLine::styled(text::clean(&tool.name), TextStyle::PLAIN.bold())
                .and(format!("  {}", text::clean(&about)), faint)
        };
        self.tools.iter().map(line).collect()
    }
}

impl PanelContent for ServerList {
    fn source(&self) -> Option<PanelSource> {
        Some(PanelSource::Engine(HostRequest::Mcp(McpRequest::Status)))
    }

    fn receive(&mut self, news: &PanelNews, view: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::Response(body) => PanelReaction::show(self.fill(body, view.now)),
            PanelNews::ServersChanged => PanelReaction::AskAgain,
            _ => PanelReaction::Ignored,
        }
    }

    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let Some(server) = self.servers.get(item).cloned() else { return Vec::new() };
        let command = server.config.get("command").or_else(|| server.config.get("url")).and_then(Value::as_str);
        let title = format!("{} · {} · {}", server.name, server.status_text(), command.unwrap_or_default());
        let items = server.actions().into_iter().map(|action| SelectItem::new(action.label(), "")).collect();
        let frame = PanelFrame::list(text::clean(&title), items, TypingMode::Digits);
        vec![LayerEffect::OpenPanel(frame.with(ServerActions { server }))]
    }

    fn refresh_at(&self) -> Option<Duration> {
        self.refresh_at
    }

    fn stop_refresh(&mut self) {
        self.refresh_at = None;
    }
}

/// The list of what can be done with a server.
#[derive(Debug)]
struct ServerActions {
    server: McpServerRow,
}

impl PanelContent for ServerActions {
    fn choose(&mut self, item: usize, view: &LayerView<'_>) -> Vec<LayerEffect> {
        let name = &self.server.name;
        let page = |title: String, lines| LayerEffect::OpenPanel(PanelFrame::page(title, lines).with(PlainPage));
        let Some(action) = self.server.actions().get(item).copied() else { return Vec::new() };
        let next = match action {
            ServerAction::ShowError => {
                page(format!("{name} failed"), pages::plain(self.server.error.as_deref().unwrap_or_default()))
            }
            ServerAction::ShowTools => {
                page(format!("Tools of {name}"), self.server.tool_lines(&view.preferences.theme))
            }
            ServerAction::Reconnect => reconnect(name).into(),
            ServerAction::Enable => switch_server(name, true).into(),
            ServerAction::Disable => switch_server(name, false).into(),
        };
        vec![LayerEffect::Close, next]
    }
}

/// A request about a server, and what to say when it is done.
pub(in crate::app) struct ServerRequest(pub HostRequest, pub PendingResponse);

impl From<ServerRequest> for LayerEffect {
    fn from(ServerRequest(request, answer): ServerRequest) -> Self {
        Self::Request(request, answer)
    }
}

pub(in crate::app) fn reconnect(name: &str) -> ServerRequest {
    let request = McpRequest::Reconnect(ReconnectMcpServer { server_name: name.to_owned() });
    ServerRequest(HostRequest::Mcp(request), PendingResponse::ServersAgain(format!("{name}: reconnected.")))
}

pub(in crate::app) fn switch_server(name: &str, enabled: bool) -> ServerRequest {
    let request = McpRequest::Toggle(McpToggle { server_name: name.to_owned(), enabled });
    let state = if enabled { "enabled" } else { "disabled" };
    ServerRequest(HostRequest::Mcp(request), PendingResponse::ServersAgain(format!("{name}: {state}.")))
}

/// `/hooks`
#[derive(Debug)]
pub struct HookPage;

impl HookPage {
    pub fn panel() -> Panel {
        PanelFrame::waiting("Hooks").with(Self)
    }
}

impl PanelContent for HookPage {
    fn source(&self) -> Option<PanelSource> {
        Some(PanelSource::Engine(HostRequest::GetHooksListing))
    }

    fn receive(&mut self, news: &PanelNews, view: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::Response(body) => {
                let count = body.get("hooks").and_then(Value::as_array).map_or(0, Vec::len);
                let title = format!("Hooks  {count} {}", tools::plural(count, "hook"));
                PanelReaction::show(PanelFrame::page(title, hook_lines(body, &view.preferences.theme)))
            }
            _ => PanelReaction::Ignored,
        }
    }
}

fn hook_lines(body: &Value, theme: &Theme) -> Vec<StyledLine> {
    let field = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (faint, warning) = (theme.fg(ThemeToken::Inactive), theme.fg(ThemeToken::Warning));
    let mut lines = Vec::new();
    if body.pointer("/policy/disableAllHooks").and_then(Value::as_bool) == Some(true) {
        lines.push(StyledLine::styled("All hooks are disabled (disableAllHooks).", warning));
    }
    let hooks = body.get("hooks").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let matcher = |hook: &Value| {
        let matcher = text::clean(&field(hook, "matcher"));
        if matcher.is_empty() || matcher == "*" { "always".to_owned() } else { matcher }
    };
    let widest = hooks.iter().map(|hook| text::width(&matcher(hook))).max().unwrap_or(0).min(MATCHER_WIDTH);
    let mut event = String::new();
    for hook in hooks {
        if field(hook, "event") != event {
            event = field(hook, "event");
            lines.push(StyledLine::styled(event.clone(), TextStyle::PLAIN.bold()));
        }
        let what: String = field(hook, "command").split_whitespace().collect::<Vec<_>>().join(" ");
        let shown: String = what.chars().take(HOOK_COMMAND_WIDTH).collect();
        let matcher = text::truncate(&matcher(hook), widest);
        let gap = " ".repeat(widest - text::width(&matcher) + 2);
        let line = StyledLine::plain(format!("  {matcher}{gap}")).and(text::clean(&shown), TextStyle::PLAIN);
        let origin = format!("  {} · {}", text::clean(&field(hook, "handler")), text::clean(&field(hook, "source")));
        lines.push(line.and(origin, faint));
    }
    if hooks.is_empty() {
        lines.push(StyledLine::plain("No hooks. Add them under `hooks` in a settings file."));
    }
    for error in body.get("errors").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        lines.push(StyledLine::styled(text::clean(error), warning));
    }
    lines.push(StyledLine::new());
    lines.push(StyledLine::styled("`gimlet hooks test <event>` in a shell runs them.", faint));
    lines
}
