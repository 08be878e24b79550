//! Pages to read: context usage as a grid, cost, status, uncommitted changes. All numbers come from the engine.

use super::{
    Panel, PanelContent, PanelFrame, PanelJob, PanelJobResult, PanelNews, PanelReaction, PanelSource, PlainPage,
};
use crate::app::layers::LayerView;
use crate::app::session::SessionDisplay;
use crate::app::spinner::{faint, short_count};
use crate::app::tools;
use serde::Deserialize;
use serde_json::{Value, json};
use terminal::keys::bindings::{KeyAction, KeyBindings, KeyContext};
use terminal::style::{StyledLine, TextStyle, lines_of};
use terminal::text;
use terminal::theme::{Theme, ThemeToken};
use wire::control::{GetContextUsage, HostRequest};
use wire::counting::{counted, thousands};

/// Rows of a diff that are shown; the rest is counted.
const DIFF_ROWS: usize = 5_000;

pub(super) fn plain(text: &str) -> Vec<StyledLine> {
    lines_of(text::clean(text).trim_end(), TextStyle::PLAIN)
}

#[derive(Deserialize)]
struct ContextUsageRow {
    name: String,
    tokens: u64,
    #[serde(default)]
    kind: String,
    /// What put it there, and what would make it smaller.
    #[serde(default, rename = "x_from")]
    from: String,
    #[serde(default, rename = "x_smaller")]
    smaller: String,
}

/// A colour and a sign for each category, so that they can be distinguished without colours.
const MARKS: [(ThemeToken, &str); 7] = [
    (ThemeToken::PromptBorder, "■"),
    (ThemeToken::Inactive, "▣"),
    (ThemeToken::Permission, "●"),
    (ThemeToken::Accent, "▲"),
    (ThemeToken::Warning, "◆"),
    (ThemeToken::Suggestion, "▪"),
    (ThemeToken::Success, "■"),
];

/// `/context`
#[derive(Debug)]
pub struct ContextPage;

impl ContextPage {
    pub fn panel() -> Panel {
        PanelFrame::waiting("Context").with(Self)
    }
}

impl PanelContent for ContextPage {
    fn source(&self) -> Option<PanelSource> {
        Some(PanelSource::Engine(HostRequest::GetContextUsage(GetContextUsage::default())))
    }

    fn receive(&mut self, news: &PanelNews, view: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::Response(body) => {
                PanelReaction::show(PanelFrame::page("Context", context_lines(body, &view.preferences.theme)))
            }
            _ => PanelReaction::Ignored,
        }
    }
}

fn context_lines(body: &Value, theme: &Theme) -> Vec<StyledLine> {
    let categories =
        body.get("categories").and_then(|all| Vec::<ContextUsageRow>::deserialize(all).ok()).unwrap_or_default();
    let number = |name: &str| body.get(name).and_then(Value::as_u64).unwrap_or(0);
    let (total, window) = (number("totalTokens"), number("maxTokens"));
    let model = body.get("model").and_then(Value::as_str).unwrap_or_default();
    let mut lines = vec![StyledLine::plain(format!(
        "{} · {} of {} tokens ({} %)",
        text::clean(model),
        thousands(total),
        thousands(window),
        number("percentage")
    ))];
    lines.push(StyledLine::new());
    lines.extend(grid(&categories, window, theme));
    lines.push(StyledLine::new());
    for (index, category) in categories.iter().enumerate() {
        lines.push(legend(index, category, window, theme));
    }
    for (name, title) in [("memoryFiles", "Memory files"), ("mcpTools", "MCP tools"), ("agents", "Agents")] {
        section(&mut lines, body.get(name), title, theme);
    }
    section(&mut lines, body.pointer("/skills/skillFrontmatter"), "Skills", theme);
    if let Some(at) = body.get("autoCompactThreshold").and_then(Value::as_u64) {
        lines.push(StyledLine::new());
        let left = body
            .get("x_turnsLeft")
            .and_then(Value::as_u64)
            .map(|turns| format!(", in about {} at this pace", counted(turns, "turn")));
        let left = left.unwrap_or_default();
        let text = format!("Compacts automatically at about {} tokens{left}; /compact does it now.", thousands(at));
        lines.push(faint(text, theme));
    }
    lines.extend(origins(&categories, theme));
    lines
}

/// What put each row there, and what would make it smaller.
fn origins(categories: &[ContextUsageRow], theme: &Theme) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    for row in categories.iter().filter(|row| !row.from.is_empty() && row.kind == "used") {
        lines.push(StyledLine::new());
        lines.push(StyledLine::styled(text::clean(&row.name), TextStyle::PLAIN.bold()));
        lines.push(StyledLine::plain(format!("  from {}", text::clean(&row.from))));
        if !row.smaller.is_empty() {
            lines.push(faint(format!("  smaller with {}", text::clean(&row.smaller)), theme));
        }
    }
    lines
}

/// `/usage`
#[derive(Debug)]
pub struct UsagePage;

impl UsagePage {
    pub fn panel() -> Panel {
        PanelFrame::waiting("Usage").with(Self)
    }
}

impl PanelContent for UsagePage {
    fn source(&self) -> Option<PanelSource> {
        Some(PanelSource::Engine(HostRequest::GetUsage))
    }

    fn receive(&mut self, news: &PanelNews, view: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::Response(body) => {
                PanelReaction::show(PanelFrame::page("Usage", usage_lines(body, &view.preferences.theme)))
            }
            _ => PanelReaction::Ignored,
        }
    }
}

fn usage_lines(body: &Value, theme: &Theme) -> Vec<StyledLine> {
    let session = body.get("session").unwrap_or(&Value::Null);
    let seconds = |name: &str| session.get(name).and_then(Value::as_u64).unwrap_or(0) / 1000;
    let time = |seconds: u64| crate::app::spinner::elapsed(std::time::Duration::from_secs(seconds));
    let cost = session.get("total_cost_usd").and_then(Value::as_f64).unwrap_or(0.0);
    let models = session.get("model_usage").and_then(Value::as_object);
    let unknown = models.is_some_and(|all| all.values().any(|usage| usage.get("costBasis") == Some(&json!("unknown"))));
    let mut lines = vec![
        StyledLine::styled(format!("Total cost: ${cost:.4}"), TextStyle::PLAIN.bold())
            .and(if unknown { " (without models of unknown price)" } else { "" }, theme.fg(ThemeToken::Warning)),
        StyledLine::plain(format!(
            "Time: {} waiting for the model, {} in total",
            time(seconds("total_api_duration_ms")),
            time(seconds("total_duration_ms"))
        )),
    ];
    for (name, usage) in models.into_iter().flatten() {
        let count = |field: &str| short_count(usage.get(field).and_then(Value::as_u64).unwrap_or(0));
        let cost = match usage.get("costBasis").and_then(Value::as_str) {
            Some("unknown") => "price unknown".to_owned(),
            _ => format!("${:.4}", usage.get("costUSD").and_then(Value::as_f64).unwrap_or(0.0)),
        };
        lines.push(StyledLine::new());
        lines.push(
            StyledLine::styled(text::clean(name), TextStyle::PLAIN.bold()).and(format!("  {cost}"), TextStyle::PLAIN),
        );
        lines.push(StyledLine::plain(format!(
            "  {} input · {} output · {} cache read · {} cache write",
            count("inputTokens"),
            count("outputTokens"),
            count("cacheReadInputTokens"),
            count("cacheCreationInputTokens"),
        )));
    }
    if models.is_none_or(serde_json::Map::is_empty) {
        lines.push(StyledLine::plain("No model has been used yet."));
    }
    lines.push(StyledLine::new());
    lines.push(faint("Subscription limits are not known here: gimlet pays by key.", theme));
    lines
}

/// `/status`
#[derive(Debug)]
pub struct StatusPage;

impl StatusPage {
    pub fn panel() -> Panel {
        PanelFrame::waiting("Status").with(Self)
    }
}

impl PanelContent for StatusPage {
    fn source(&self) -> Option<PanelSource> {
        Some(PanelSource::Engine(HostRequest::GetSettings))
    }

    fn receive(&mut self, news: &PanelNews, view: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::Response(body) => {
                let lines = status_lines(body, view.session, &view.preferences.theme);
                PanelReaction::show(PanelFrame::page("Status", lines))
            }
            _ => PanelReaction::Ignored,
        }
    }
}

fn status_lines(body: &Value, session: &SessionDisplay, theme: &Theme) -> Vec<StyledLine> {
    let effort = body.pointer("/applied/effort").and_then(Value::as_str).unwrap_or("not chosen");
    let model = body.pointer("/applied/model").and_then(Value::as_str).or(session.model.as_deref());
    let mut rows = vec![
        ("Version", wire::version::line()),
        ("Session", session.id.clone().unwrap_or_else(|| "starts with the first prompt".into())),
        ("Directory", session.cwd.clone()),
        ("Model", model.unwrap_or("not known yet").to_owned()),
        ("Effort", effort.to_owned()),
        ("Mode", session.mode.as_str().to_owned()),
        ("Credentials", session.account.clone()),
        ("Output style", session.style.clone()),
        ("Cost", format!("${:.4}", session.cost_usd)),
    ];
    for source in body.get("sources").and_then(Value::as_array).into_iter().flatten() {
        let name = source.get("source").and_then(Value::as_str).unwrap_or_default();
        let path = source.get("path").and_then(Value::as_str).unwrap_or("(command line)");
        rows.push(("Settings", format!("{} · {path}", super::rules::place_name(name))));
    }
    let line = |(name, value): &(&str, String)| {
        StyledLine::styled(format!("{name:<13} "), theme.fg(ThemeToken::Inactive))
            .and(text::clean(value), TextStyle::PLAIN)
    };
    let mut lines: Vec<StyledLine> = rows.iter().filter(|(_, value)| !value.is_empty()).map(line).collect();
    for error in body.get("errors").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        lines.push(StyledLine::styled(format!("Problem: {}", text::clean(error)), theme.fg(ThemeToken::Warning)));
    }
    lines
}

/// `/doctor`
#[derive(Debug)]
pub struct DoctorPage;

impl DoctorPage {
    pub fn panel() -> Panel {
        PanelFrame::waiting("Doctor").with(Self)
    }
}

impl PanelContent for DoctorPage {
    fn source(&self) -> Option<PanelSource> {
        Some(PanelSource::Job(PanelJob::Doctor))
    }

    fn receive(&mut self, news: &PanelNews, _: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::Job(PanelJobResult::Doctor(report)) => {
                PanelReaction::show(PanelFrame::page("Doctor", plain(report)))
            }
            _ => PanelReaction::Ignored,
        }
    }
}

/// `/diff`
#[derive(Debug)]
pub struct DiffPage;

impl DiffPage {
    pub fn panel() -> Panel {
        PanelFrame::waiting("Uncommitted changes").with(Self)
    }
}

impl PanelContent for DiffPage {
    fn source(&self) -> Option<PanelSource> {
        Some(PanelSource::Job(PanelJob::Diff))
    }

    fn receive(&mut self, news: &PanelNews, view: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::Job(PanelJobResult::Diff(diff)) => {
                let lines = match diff {
                    Err(why) => plain(why),
                    Ok(text) if text.trim().is_empty() => plain("No uncommitted changes."),
                    Ok(text) => diff_lines(text, &view.preferences.theme),
                };
                PanelReaction::show(PanelFrame::page("Uncommitted changes", lines))
            }
            _ => PanelReaction::Ignored,
        }
    }
}

/// `/keybindings`: every action with its keys.
pub(in crate::app) fn key_page(bindings: &KeyBindings, theme: &Theme) -> Panel {
    let mut lines = Vec::new();
    for (context, name) in KeyContext::ALL {
        let mut rows = Vec::new();
        for action in KeyAction::ALL.iter().filter(|action| action.context() == context) {
            let keys = bindings.all_keys_of(*action);
            let keys = if keys.is_empty() { "(not bound)".to_owned() } else { keys.join(", ") };
            let line = StyledLine::plain(format!("  {keys:<24} {}", action.help()));
            rows.push(line.and(format!("  {}", action.name()), theme.fg(ThemeToken::Inactive)));
        }
        if !rows.is_empty() {
            lines.push(StyledLine::styled(name, TextStyle::PLAIN.bold()));
            lines.extend(rows);
        }
    }
    PanelFrame::page("Keys", lines).with(PlainPage)
}

/// Ten rows of ten squares, one percent of the context window each.
fn grid(categories: &[ContextUsageRow], window: u64, theme: &Theme) -> Vec<StyledLine> {
    let mut cells: Vec<(ThemeToken, &str)> = Vec::with_capacity(100);
    for (index, category) in categories.iter().enumerate().filter(|(_, category)| category.kind != "deferred") {
        let share = (category.tokens as f64 / window.max(1) as f64 * 100.0).round() as usize;
        let share = if category.tokens > 0 { share.max(1) } else { 0 };
        let room = 100 - cells.len();
        cells.extend(std::iter::repeat_n(category_mark(index, category), share.min(room)));
    }
    cells.resize(100, (ThemeToken::Inactive, "□"));
    let row = |cells: &[(ThemeToken, &str)]| {
        let mut line = StyledLine::plain("  ");
        for (token, sign) in cells {
            line.push(format!("{sign} "), theme.fg(*token));
        }
        line
    };
    cells.chunks(10).map(row).collect()
}

fn category_mark(index: usize, category: &ContextUsageRow) -> (ThemeToken, &'static str) {
    match category.kind.as_str() {
        "free" => (ThemeToken::Inactive, "□"),
        "buffer" => (ThemeToken::Inactive, "▫"),
        _ => MARKS[index % MARKS.len()],
    }
}

fn legend(index: usize, category: &ContextUsageRow, window: u64, theme: &Theme) -> StyledLine {
    let (token, sign) = category_mark(index, category);
    let percent = category.tokens as f64 / window.max(1) as f64 * 100.0;
    StyledLine::styled(format!("  {sign} "), theme.fg(token))
        .and(text::clean(&category.name), TextStyle::PLAIN)
        .and(format!("  {} tokens ({percent:.1} %)", thousands(category.tokens)), theme.fg(ThemeToken::Inactive))
}

fn section(lines: &mut Vec<StyledLine>, rows: Option<&Value>, title: &'static str, theme: &Theme) {
    let rows = rows.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if rows.is_empty() {
        return;
    }
    lines.push(StyledLine::new());
    lines.push(StyledLine::styled(title, TextStyle::PLAIN.bold()));
    for row in rows {
        let name = ["path", "name", "agentType"].into_iter().find_map(|field| row.get(field)?.as_str());
        let tokens = row.get("tokens").and_then(Value::as_u64).unwrap_or(0);
        let line = StyledLine::plain(format!("  {}", text::clean(name.unwrap_or_default())));
        lines.push(line.and(format!("  {}", thousands(tokens)), theme.fg(ThemeToken::Inactive)));
    }
}

/// Colours a unified diff.
fn diff_lines(text: &str, theme: &Theme) -> Vec<StyledLine> {
    let clean = text::clean(text);
    let all: Vec<&str> = clean.trim_end().split('\n').collect();
    let line = |row: &&str| {
        let (style, fill) = match row.as_bytes().first() {
            _ if row.starts_with("+++") || row.starts_with("---") || row.starts_with("index ") => {
                (theme.fg(ThemeToken::Inactive), None)
            }
            _ if row.starts_with("diff --git") || row.starts_with("New files:") => (TextStyle::PLAIN.bold(), None),
            Some(b'+') => (TextStyle::PLAIN, theme.colour(ThemeToken::DiffAdded)),
            Some(b'-') => (TextStyle::PLAIN, theme.colour(ThemeToken::DiffRemoved)),
            Some(b'@') => (theme.fg(ThemeToken::Suggestion), None),
            Some(_) | None => (TextStyle::PLAIN, None),
        };
        let mut line = StyledLine::styled(*row, style);
        line.fill = fill;
        line
    };
    let mut lines: Vec<StyledLine> = all.iter().take(DIFF_ROWS).map(line).collect();
    if all.len() > DIFF_ROWS {
        let rest = all.len() - DIFF_ROWS;
        lines.push(faint(format!("… +{rest} {}", tools::plural(rest, "line")), theme));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_a_hundred_squares() {
        let category = |tokens, kind: &str| ContextUsageRow {
            name: "x".into(),
            tokens,
            kind: kind.into(),
            from: String::new(),
            smaller: String::new(),
        };
        for all in [vec![], vec![category(1, "used"), category(999_999, "free")], vec![category(5, "used")]] {
            let rows = grid(&all, 1_000, &Theme::default());
            assert_eq!(rows.len(), 10);
            assert!(rows.iter().all(|row| row.text().split_whitespace().count() == 10));
        }
    }
}
