//! Draws the picker for any terminal size: the query and at least one session are always visible.

use super::SessionPicker;
use super::list::{ForkRelation, PickerRow};
use engine::query::{self, SessionScope, Speaker};
use terminal::style::{StyledLine, TextStyle};
use terminal::surface::{Caret, TerminalSize};
use terminal::text;
use terminal::theme::{Theme, ThemeToken};

/// Terminal rows from which a rule, a title and the keys are shown too.
const ROOMY: usize = 10;
const NARROW: usize = 32;
/// Terminal rows from which the list has a blank row above and below.
const AIRY: usize = 16;
const MARGIN: &str = "  ";
/// The keys with a rank; where there is no room, those with the highest rank are left out first.
const KEYS: [(&str, u8); 7] = [
    ("enter resume", 0),
    ("space preview", 2),
    ("ctrl+r rename", 4),
    ("ctrl+a all", 3),
    ("ctrl+w worktrees", 5),
    ("ctrl+b branch", 6),
    ("esc close", 1),
];

impl SessionPicker {
    pub fn drawn_rows(&self, theme: &Theme, size: TerminalSize) -> (Vec<StyledLine>, Option<Caret>) {
        let is_roomy = size.rows >= ROOMY;
        let margin = if is_roomy && size.columns >= NARROW { MARGIN } else { "" };
        let columns = size.columns - margin.len();
        let faint = theme.fg(ThemeToken::Inactive);
        let mut rows = Vec::new();
        let accent = theme.fg(ThemeToken::Suggestion);
        if is_roomy {
            rows.push(StyledLine::styled("Resume a session ", accent.bold()).and(self.facts(), faint));
        }
        let (label, editor) = match &self.rename {
            Some(name) => ("Name: ", name),
            None => ("Search: ", &self.query),
        };
        let before = text::clean(&editor.text()[..editor.cursor()]);
        let caret = Caret {
            row: rows.len() + usize::from(is_roomy),
            column: margin.len() + (text::width(label) + text::width(&before)).min(columns.saturating_sub(1)),
        };
        rows.push(StyledLine::styled(label, faint).and(text::clean(editor.text()), TextStyle::PLAIN));
        // A rule above, the keys below, and in a high window a blank row on both sides of the list.
        let blanks = if size.rows >= AIRY { 2 } else { 0 };
        let room = size.rows.saturating_sub(rows.len() + 3 * usize::from(is_roomy) + blanks).max(1);
        rows.extend((blanks > 0).then(StyledLine::new));
        match &self.preview {
            Some(_) => rows.extend(self.preview_rows(theme, columns, room)),
            None => rows.extend(self.session_rows(theme, columns, room)),
        }
        rows.extend((blanks > 0).then(StyledLine::new));
        if is_roomy {
            let hint = match (&self.problem, &self.rename, &self.preview) {
                (Some(problem), ..) => StyledLine::styled(text::clean(problem), theme.fg(ThemeToken::Error)),
                (None, Some(_), _) => StyledLine::styled("enter to name · esc to cancel", faint),
                (None, None, Some(_)) => StyledLine::styled("enter to resume · ↑↓ others · esc to close", faint),
                (None, None, None) => StyledLine::styled(text::keys_within(&KEYS, columns), faint),
            };
            rows.push(hint);
        }
        let placed = rows.iter().map(|row| StyledLine::plain(margin).and_line(row.truncated(columns)));
        let rule = is_roomy.then(|| StyledLine::styled("─".repeat(size.columns), accent));
        (rule.into_iter().chain(placed).collect(), Some(caret))
    }

    fn facts(&self) -> String {
        let mut facts = vec![match self.scope {
            SessionScope::Folder => "this folder".to_owned(),
            SessionScope::Worktrees => "all worktrees".to_owned(),
            SessionScope::Everywhere => "all projects".to_owned(),
        }];
        facts.extend(self.list.only_branch().map(|branch| format!("branch {}", text::clean(branch))));
        let (total, is_all) = self.list.total();
        facts.push(match (self.query.is_empty(), is_all) {
            (true, true) => total.to_string(),
            (true, false) => format!("{total}…"),
            (false, _) => format!("{} of {total}", self.list.len()),
        });
        if self.is_searching {
            facts.push("searching…".into());
        }
        facts.join(" · ")
    }

    fn session_rows(&self, theme: &Theme, columns: usize, room: usize) -> Vec<StyledLine> {
        if self.list.len() == 0 {
            let text = match (self.list.total().1, self.is_searching) {
                (_, true) => "searching…",
                (false, false) => "reading…",
                (true, false) if self.query.is_empty() => "No sessions here; ctrl+a shows those of all projects",
                (true, false) => "Nothing found",
            };
            return vec![StyledLine::styled(text, theme.fg(ThemeToken::Inactive))];
        }
        let each = if room >= 6 { 2 } else { 1 };
        let capacity = (room / each).max(1);
        let start = (self.chosen + 1).saturating_sub(capacity);
        let mut rows = Vec::with_capacity(room);
        for at in start..(start + capacity).min(self.list.len()) {
            let Some(row) = self.list.row(at) else { break };
            let style = if at == self.chosen { theme.fg(ThemeToken::Suggestion) } else { TextStyle::PLAIN };
            let mark = if at == self.chosen { "❯ " } else { "  " };
            rows.push(title_row(&row, mark, style, columns));
            if each == 2 {
                rows.push(match row.hit {
                    Some(hit) => snippet_row(hit, theme, columns),
                    None => StyledLine::styled(facts_of(&row), theme.fg(ThemeToken::Inactive)),
                });
            }
        }
        rows
    }

    /// The last messages of the conversation that fit.
    fn preview_rows(&self, theme: &Theme, columns: usize, room: usize) -> Vec<StyledLine> {
        let faint = theme.fg(ThemeToken::Inactive);
        let Some(row) = self.list.row(self.chosen) else { return Vec::new() };
        let head = title_row(&row, "", TextStyle::PLAIN.bold(), columns);
        let Some(messages) = self.preview.as_ref().and_then(|preview| preview.messages.as_ref()) else {
            return vec![head, StyledLine::styled("reading…", faint)];
        };
        let mut rows = Vec::new();
        for (speaker, words) in messages {
            let (mark, style, limit) = match speaker {
                Speaker::User => ("> ", TextStyle::PLAIN.bold(), 6),
                Speaker::Assistant => ("● ", TextStyle::PLAIN, 12),
                Speaker::Call => ("● ", faint, 1),
                Speaker::Result | Speaker::Summary => ("  ⎿ ", faint, 2),
            };
            let hang = text::width(mark);
            let lines = text::clean(words.trim());
            for (number, line) in lines.split('\n').take(limit).enumerate() {
                let lead = if number == 0 { mark.to_owned() } else { " ".repeat(hang) };
                let line: String = line.chars().take(4 * columns).collect();
                rows.extend(StyledLine::styled(format!("{lead}{line}"), style).wrapped(columns, hang));
            }
        }
        let from = rows.len().saturating_sub(room.saturating_sub(1));
        let mut shown = vec![head];
        shown.extend(rows.drain(from..));
        shown
    }
}

/// The title with the age at the right end.
fn title_row(row: &PickerRow<'_>, mark: &str, style: TextStyle, columns: usize) -> StyledLine {
    // A narrow screen has room for the title only.
    let age = if columns >= NARROW { query::age(row.info.modified_at) } else { String::new() };
    let kin = if row.relation == ForkRelation::Fork { "└ " } else { "" };
    let current = if row.is_current { "(open) " } else { "" };
    let title = text::clean(query::label(row.info)).replace('\n', " ");
    let lead = format!("{mark}{kin}{current}");
    let room = columns.saturating_sub(text::width(&lead) + text::width(&age) + 2);
    let title = text::truncate(&title, room.max(8));
    let gap = room.saturating_sub(text::width(&title)) + 2;
    StyledLine::styled(format!("{lead}{title}{}{age}", " ".repeat(gap)), style)
}

fn facts_of(row: &PickerRow<'_>) -> String {
    let info = row.info;
    let branch = info.branch.as_deref().filter(|branch| *branch != "HEAD").map(text::clean);
    let folder = info.cwd.as_deref().and_then(|cwd| cwd.rsplit('/').next()).map(text::clean);
    let request = info.pr_url.as_deref().map(text::clean);
    let facts: Vec<String> = branch.into_iter().chain([query::size(info.size)]).chain(folder).chain(request).collect();
    format!("    {}", facts.join(" · "))
}

/// The text around a hit; on a narrow screen it begins later, so that the hit itself is visible.
fn snippet_row(hit: &super::list::Snippet, theme: &Theme, columns: usize) -> StyledLine {
    let faint = theme.fg(ThemeToken::Inactive);
    let (before, rest) = hit.text.split_at(hit.place.start);
    let (word, after) = rest.split_at(hit.place.len());
    let before = text::clean(before);
    let room = columns.saturating_sub(8 + text::width(word)) / 2;
    let skip = before.chars().count().saturating_sub(room);
    let lead: String = before.chars().skip(skip).collect();
    let cut = if skip > 0 { "…" } else { "" };
    StyledLine::styled(format!("    {cut}{lead}"), faint)
        .and(text::clean(word), theme.fg(ThemeToken::Suggestion).bold())
        .and(text::clean(after), faint)
}
