//! Pages to read: context as a grid with numbers, cost, status, uncommitted changes. Numbers are those of the engine.

use super::{Awaited, Errand, Panel, Subject};
use crate::app::spinner::{faint, short_count};
use crate::app::{App, tools};
use crate::style::{Line, Style, lines_of};
use crate::text;
use crate::theme::{Theme, Token};
use serde::Deserialize;
use serde_json::{Value, json};

/// Rows of a large diff; the rest is counted.
const DIFF_ROWS: usize = 5_000;

pub(super) fn plain(text: &str) -> Vec<Line> {
    lines_of(text::clean(text).trim_end(), Style::PLAIN)
}

#[derive(Deserialize)]
struct Category {
    name: String,
    tokens: u64,
    #[serde(default)]
    kind: String,
}

/// A colour and a sign each, so that they can be told apart without colours too.
const MARKS: [(Token, &str); 7] = [
    (Token::PromptBorder, "⛁"),
    (Token::Inactive, "⛁"),
    (Token::Permission, "⛀"),
    (Token::Accent, "⛃"),
    (Token::Warning, "⛂"),
    (Token::Suggestion, "⛃"),
    (Token::Success, "⛀"),
];

impl App {
    pub(in crate::app) fn open_context(&mut self) {
        self.open_panel(Panel::waiting("Context", Subject::Context));
        self.request(&json!({"subtype": "get_context_usage"}), Awaited::Context);
    }

    pub(super) fn context_arrived(&mut self, body: &Value) {
        let categories =
            body.get("categories").and_then(|all| Vec::<Category>::deserialize(all).ok()).unwrap_or_default();
        let number = |name: &str| body.get(name).and_then(Value::as_u64).unwrap_or(0);
        let (total, window) = (number("totalTokens"), number("maxTokens"));
        let theme = &self.preferences.theme;
        let model = body.get("model").and_then(Value::as_str).unwrap_or_default();
        let mut lines = vec![Line::plain(format!(
            "{} · {} of {} tokens ({}%)",
            text::clean(model),
            thousands(total),
            thousands(window),
            number("percentage")
        ))];
        lines.push(Line::new());
        lines.extend(grid(&categories, window, theme));
        lines.push(Line::new());
        for (index, category) in categories.iter().enumerate() {
            lines.push(legend(index, category, window, theme));
        }
        for (name, title) in [("memoryFiles", "Memory files"), ("mcpTools", "MCP tools"), ("agents", "Agents")] {
            section(&mut lines, body.get(name), title, theme);
        }
        section(&mut lines, body.pointer("/skills/skillFrontmatter"), "Skills", theme);
        if let Some(at) = body.get("autoCompactThreshold").and_then(Value::as_u64) {
            lines.push(Line::new());
            lines.push(faint(
                format!("Summarised by itself at about {} tokens; /compact does it now.", thousands(at)),
                theme,
            ));
        }
        self.fill(|subject| matches!(subject, Subject::Context), lines);
    }

    pub(in crate::app) fn open_usage(&mut self) {
        self.open_panel(Panel::waiting("Usage", Subject::Usage));
        self.request(&json!({"subtype": "get_usage"}), Awaited::Usage);
    }

    pub(super) fn usage_arrived(&mut self, body: &Value) {
        let session = body.get("session").unwrap_or(&Value::Null);
        let seconds = |name: &str| session.get(name).and_then(Value::as_u64).unwrap_or(0) / 1000;
        let time = |seconds: u64| crate::app::spinner::elapsed(std::time::Duration::from_secs(seconds));
        let cost = session.get("total_cost_usd").and_then(Value::as_f64).unwrap_or(0.0);
        let theme = &self.preferences.theme;
        let models = session.get("model_usage").and_then(Value::as_object);
        let unknown =
            models.is_some_and(|all| all.values().any(|usage| usage.get("costBasis") == Some(&json!("unknown"))));
        let mut lines = vec![
            Line::styled(format!("Total cost: ${cost:.4}"), Style::PLAIN.bold()).and(
                if unknown { " (without the models whose prices are not known)" } else { "" },
                theme.fg(Token::Warning),
            ),
            Line::plain(format!(
                "Time: {} at the model, {} in all",
                time(seconds("total_api_duration_ms")),
                time(seconds("total_duration_ms"))
            )),
        ];
        for (name, usage) in models.into_iter().flatten() {
            let count = |field: &str| short_count(usage.get(field).and_then(Value::as_u64).unwrap_or(0));
            let cost = match usage.get("costBasis").and_then(Value::as_str) {
                Some("unknown") => "price not known".to_owned(),
                _ => format!("${:.4}", usage.get("costUSD").and_then(Value::as_f64).unwrap_or(0.0)),
            };
            lines.push(Line::new());
            lines.push(Line::styled(text::clean(name), Style::PLAIN.bold()).and(format!("  {cost}"), Style::PLAIN));
            lines.push(Line::plain(format!(
                "  {} input · {} output · {} cache read · {} cache write",
                count("inputTokens"),
                count("outputTokens"),
                count("cacheReadInputTokens"),
                count("cacheCreationInputTokens"),
            )));
        }
        if models.is_none_or(serde_json::Map::is_empty) {
            lines.push(Line::plain("No model was used yet."));
        }
        lines.push(Line::new());
        lines.push(faint("Subscription limits are not known here: gimlet pays by key.", theme));
        self.fill(|subject| matches!(subject, Subject::Usage), lines);
    }

    pub(in crate::app) fn open_status(&mut self) {
        self.open_panel(Panel::waiting("Status", Subject::Status));
        self.request(&json!({"subtype": "get_settings"}), Awaited::Status);
    }

    pub(super) fn status_arrived(&mut self, body: &Value) {
        let session = &self.session;
        let theme = &self.preferences.theme;
        let effort = body.pointer("/applied/effort").and_then(Value::as_str).unwrap_or("not chosen");
        let model = body.pointer("/applied/model").and_then(Value::as_str).or(session.model.as_deref());
        let mut rows = vec![
            ("Version", wire::version::line()),
            ("Session", session.id.clone().unwrap_or_else(|| "begins with the first message".into())),
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
            Line::styled(format!("{name:<13} "), theme.fg(Token::Inactive)).and(text::clean(value), Style::PLAIN)
        };
        let mut lines: Vec<Line> = rows.iter().filter(|(_, value)| !value.is_empty()).map(line).collect();
        for error in body.get("errors").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            lines.push(Line::styled(format!("Problem: {}", text::clean(error)), theme.fg(Token::Warning)));
        }
        self.fill(|subject| matches!(subject, Subject::Status), lines);
    }

    pub(in crate::app) fn open_doctor(&mut self) {
        self.open_panel(Panel::waiting("Doctor", Subject::Doctor));
        self.errand(Errand::Doctor);
    }

    pub(in crate::app) fn open_diff(&mut self) {
        self.open_panel(Panel::waiting("Uncommitted changes", Subject::Diff));
        self.errand(Errand::Diff);
    }

    pub(super) fn diff_arrived(&mut self, diff: Result<String, String>) {
        let lines = match diff {
            Err(why) => plain(&why),
            Ok(text) if text.trim().is_empty() => plain("Nothing is uncommitted here."),
            Ok(text) => diff_lines(&text, &self.preferences.theme),
        };
        self.fill(|subject| matches!(subject, Subject::Diff), lines);
    }

    /// `/keybindings` and `?`: every key with what it does, the user's own first.
    pub(in crate::app) fn open_keys(&mut self) {
        use crate::keys::bindings::{Action, Context};
        let mut lines = Vec::new();
        for (context, name) in Context::ALL {
            let mut rows = Vec::new();
            for action in Action::ALL.iter().filter(|action| action.context() == context) {
                let keys = self.preferences.bindings.all_keys_of(*action);
                let keys = if keys.is_empty() { "(not bound)".to_owned() } else { keys.join(", ") };
                let line = Line::plain(format!("  {keys:<24} {}", action.help()));
                rows.push(line.and(format!("  {}", action.name()), self.preferences.theme.fg(Token::Inactive)));
            }
            if !rows.is_empty() {
                lines.push(Line::styled(name, Style::PLAIN.bold()));
                lines.extend(rows);
            }
        }
        self.open_panel(Panel::page("Keys", lines, Subject::Agents));
    }
}

/// Ten rows of ten squares, one percent each.
fn grid(categories: &[Category], window: u64, theme: &Theme) -> Vec<Line> {
    let mut cells: Vec<(Token, &str)> = Vec::with_capacity(100);
    for (index, category) in categories.iter().enumerate() {
        let share = (category.tokens as f64 / window.max(1) as f64 * 100.0).round() as usize;
        let share = if category.tokens > 0 { share.max(1) } else { 0 };
        let room = 100 - cells.len();
        cells.extend(std::iter::repeat_n(mark(index, category), share.min(room)));
    }
    cells.resize(100, (Token::Inactive, "⛶"));
    let row = |cells: &[(Token, &str)]| {
        let mut line = Line::plain("  ");
        for (token, sign) in cells {
            line.push(format!("{sign} "), theme.fg(*token));
        }
        line
    };
    cells.chunks(10).map(row).collect()
}

fn mark(index: usize, category: &Category) -> (Token, &'static str) {
    match category.kind.as_str() {
        "free" => (Token::Inactive, "⛶"),
        "buffer" => (Token::Inactive, "⛝"),
        _ => MARKS[index % MARKS.len()],
    }
}

fn legend(index: usize, category: &Category, window: u64, theme: &Theme) -> Line {
    let (token, sign) = mark(index, category);
    let percent = category.tokens as f64 / window.max(1) as f64 * 100.0;
    Line::styled(format!("  {sign} "), theme.fg(token))
        .and(text::clean(&category.name), Style::PLAIN)
        .and(format!("  {} tokens ({percent:.1}%)", thousands(category.tokens)), theme.fg(Token::Inactive))
}

fn section(lines: &mut Vec<Line>, rows: Option<&Value>, title: &'static str, theme: &Theme) {
    let rows = rows.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if rows.is_empty() {
        return;
    }
    lines.push(Line::new());
    lines.push(Line::styled(title, Style::PLAIN.bold()));
    for row in rows {
        let name = ["path", "name", "agentType"].into_iter().find_map(|field| row.get(field)?.as_str());
        let tokens = row.get("tokens").and_then(Value::as_u64).unwrap_or(0);
        let line = Line::plain(format!("  {}", text::clean(name.unwrap_or_default())));
        lines.push(line.and(format!("  {}", thousands(tokens)), theme.fg(Token::Inactive)));
    }
}

/// `12,345`
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|part| std::str::from_utf8(part).unwrap_or_default()).collect();
    parts.join(",")
}

/// A unified diff with its colours.
fn diff_lines(text: &str, theme: &Theme) -> Vec<Line> {
    let clean = text::clean(text);
    let all: Vec<&str> = clean.trim_end().split('\n').collect();
    let line = |row: &&str| {
        let (style, fill) = match row.as_bytes().first() {
            _ if row.starts_with("+++") || row.starts_with("---") || row.starts_with("index ") => {
                (theme.fg(Token::Inactive), None)
            }
            _ if row.starts_with("diff --git") || row.starts_with("New files:") => (Style::PLAIN.bold(), None),
            Some(b'+') => (Style::PLAIN, theme.colour(Token::DiffAdded)),
            Some(b'-') => (Style::PLAIN, theme.colour(Token::DiffRemoved)),
            Some(b'@') => (theme.fg(Token::Suggestion), None),
            Some(_) | None => (Style::PLAIN, None),
        };
        let mut line = Line::styled(*row, style);
        line.fill = fill;
        line
    };
    let mut lines: Vec<Line> = all.iter().take(DIFF_ROWS).map(line).collect();
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
    fn the_grid_has_a_hundred_squares_and_numbers_are_legible() {
        let category = |tokens, kind: &str| Category { name: "x".into(), tokens, kind: kind.into() };
        for all in [vec![], vec![category(1, "used"), category(999_999, "free")], vec![category(5, "used")]] {
            let rows = grid(&all, 1_000, &Theme::default());
            assert_eq!(rows.len(), 10);
            assert!(rows.iter().all(|row| row.text().split_whitespace().count() == 10));
        }
        assert_eq!([thousands(0), thousands(999), thousands(1_234_567)], ["0", "999", "1,234,567"]);
    }
}
