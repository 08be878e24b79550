//! The frame of the live region: streaming text, running calls, todos, queued messages, the prompt or a dialog, and the
//! footer. It is built from the bottom up, so that the prompt is always visible and the rest gets the remaining rows.

use super::dialog::Dialog;
use super::layers::LayerRows;
use super::spinner::faint;
use super::{App, todos};
use terminal::editor::layout::EditorLayout;
use terminal::keys::bindings::KeyAction;
use terminal::style::{StyledLine, TextStyle};
use terminal::surface::{Caret, LiveFrame, TerminalSize};
use terminal::text;
use terminal::theme::{Theme, ThemeToken};
use wire::mode::PermissionMode;

/// The minimum for the number of prompt rows that can be shown.
const PROMPT_ROWS: usize = 3;

impl App {
    /// The live region below the finished lines.
    pub fn view(&self) -> LiveFrame {
        if self.has_screen_reader() {
            return self.screen_reader_view();
        }
        let mut frame = self.drawn_view();
        if frame.caret.is_none() && self.preferences.tracks_cursor {
            let chosen = frame.lines.iter().rposition(|line| line.text().trim_start().starts_with('❯'));
            let row = chosen.unwrap_or(frame.lines.len().saturating_sub(1));
            frame.caret = Some(Caret { row, column: 0 });
        }
        frame
    }

    fn drawn_view(&self) -> LiveFrame {
        let rows = self.size.rows;
        let (mut bottom, caret) = self.bottom();
        let mut caret = caret;
        // When the bottom part is too tall, its end is cut first: hints, then suggestions.
        if bottom.len() > rows {
            let over = bottom.len() - rows;
            let above = caret.map_or(0, |caret| caret.row.saturating_sub(rows / 2)).min(over);
            bottom.drain(..above);
            bottom.truncate(rows);
            caret = caret.map(|caret| Caret { row: caret.row.saturating_sub(above).min(rows - 1), ..caret });
        }
        let mut lines = self.top(rows - bottom.len());
        let offset = lines.len();
        lines.extend(bottom);
        LiveFrame { lines, caret: caret.map(|caret| Caret { row: caret.row + offset, ..caret }) }
    }

    /// The frame that covers the whole screen; `None` when nothing does.
    pub fn cover(&self) -> Option<LiveFrame> {
        self.layers.cover(&self.layer_view())
    }

    pub(super) fn editor_columns(&self) -> usize {
        self.size.columns.saturating_sub(2).max(1)
    }

    /// Everything above the prompt, in at most `room` rows.
    fn top(&self, room: usize) -> Vec<StyledLine> {
        let theme = &self.preferences.theme;
        let mut lower = Vec::new();
        if let Some(turn) = &self.turn {
            lower.push(StyledLine::new());
            let doing = self.hook_statuses.last().map(|(_, text)| text.as_str()).or_else(|| todos::active(&self.todos));
            let doing = doing.or_else(|| self.interface_settings.verb(turn));
            lower.push(turn.line(self.now, doing, theme));
        }
        if self.shows_todos && self.is_busy() {
            lower.extend(todos::rows(&self.todos, theme));
        }
        lower.extend(self.queue_rows());
        lower.drain(..lower.len().saturating_sub(room));
        let room = room - lower.len();
        let waits = |id: &str| self.layers.all::<Dialog>().any(|dialog| dialog.request.tool_use_id == id);
        let agent = |call: &str| self.agents.row_of_call(call, self.now);
        let mut calls = self.calls.rows(self.now, theme, waits, agent);
        if !calls.is_empty() {
            calls.insert(0, StyledLine::new());
        }
        calls.drain(..calls.len().saturating_sub(room));
        let room = room - calls.len();
        let mut lines = self.reply.tail(&self.markdown_options(), room.saturating_sub(1));
        if !lines.is_empty() {
            lines.insert(0, StyledLine::new());
        }
        lines.extend(calls);
        lines.extend(lower);
        // A blank row separates finished text from the prompt.
        if lines.is_empty() && room > 3 {
            lines.push(StyledLine::new());
        }
        lines
    }

    /// The prompt or a dialog, and the rows below it.
    pub(super) fn bottom(&self) -> (Vec<StyledLine>, Option<Caret>) {
        let below = match self.layers.rows(&self.layer_view()) {
            Some((_, LayerRows::InPlaceOfPrompt(rows, caret))) => return (rows, caret),
            Some((_, LayerRows::BelowPrompt(rows))) => rows,
            Some((_, LayerRows::WholeScreen(_))) | None => self.below_prompt(),
        };
        let border = rule(&self.preferences.theme, self.size.columns, self.border());
        let mut lines = vec![border.clone()];
        let (rows, (row, column)) = self.prompt_rows();
        let caret = Caret { row: lines.len() + row, column: column + 2 };
        lines.extend(rows);
        lines.push(border);
        lines.extend(below);
        (lines, Some(caret))
    }

    /// The status line of the user, the footer and running agents.
    fn below_prompt(&self) -> Vec<StyledLine> {
        let mut lines = self.status.rows(self.size.columns);
        let footer = self.footer();
        if lines.is_empty() || !footer.text().trim().is_empty() {
            lines.push(footer);
        }
        lines.extend(self.agent_rows());
        lines
    }

    fn border(&self) -> ThemeToken {
        if self.editor.text().starts_with('!') {
            return ThemeToken::BashBorder;
        }
        match self.session.mode {
            PermissionMode::Default | PermissionMode::DontAsk => ThemeToken::PromptBorder,
            PermissionMode::AcceptEdits | PermissionMode::Auto => ThemeToken::AutoAccept,
            PermissionMode::Plan => ThemeToken::PlanMode,
            PermissionMode::BypassPermissions => ThemeToken::Error,
        }
    }

    /// The visible rows of the prompt, and the position of the caret in them.
    pub(super) fn prompt_rows(&self) -> (Vec<StyledLine>, (usize, usize)) {
        let theme = &self.preferences.theme;
        let text = self.editor.text();
        let layout = EditorLayout::new(text, self.editor_columns());
        let (row, column) = layout.position(text, self.editor.cursor());
        let limit = prompt_limit(self.size);
        let start = row.saturating_sub(limit - 1).min(layout.rows.len().saturating_sub(limit));
        let end = (start + limit).min(layout.rows.len());
        let mut lines = Vec::with_capacity(end - start);
        for (index, range) in layout.rows[start..end].iter().enumerate() {
            let mark = if start + index == 0 { "> " } else { "  " };
            let mut line = StyledLine::styled(mark, theme.fg(ThemeToken::Inactive));
            self.push_prompt_text(&mut line, range.clone());
            lines.push(line);
        }
        (lines, (row - start, column))
    }

    /// Adds a part of the prompt with chips and a leading command coloured.
    fn push_prompt_text(&self, line: &mut StyledLine, range: std::ops::Range<usize>) {
        let text = self.editor.text();
        let chips = self.editor.chips.find(text);
        let style = self.preferences.theme.fg(ThemeToken::Suggestion);
        let mut at = range.start;
        for (chip, _) in &chips {
            let (from, to) = (chip.start.max(at), chip.end.min(range.end));
            if from < to {
                line.push(&text[at..from], TextStyle::PLAIN);
                line.push(&text[from..to], style);
                at = to;
            }
        }
        line.push(&text[at..range.end], TextStyle::PLAIN);
    }

    /// Left: a hint or the mode; right: the number of background tasks, context and cost.
    fn footer(&self) -> StyledLine {
        let theme = &self.preferences.theme;
        let left = match (&self.hint, mode_text(self.session.mode)) {
            (Some((text, _)), _) => StyledLine::styled(text.clone(), theme.fg(ThemeToken::Warning)),
            (None, Some(text)) => {
                let cycle = self.preferences.bindings.keys_of(KeyAction::CycleMode).unwrap_or_default();
                StyledLine::styled(text, theme.fg(self.border()))
                    .and(format!(" ({cycle} to cycle)"), theme.fg(ThemeToken::Inactive))
            }
            (None, None) if self.editor.is_empty() && !self.is_busy() && !self.status.is_configured => {
                faint("? for shortcuts", theme)
            }
            (None, None) => StyledLine::new(),
        };
        let left = match &self.vim {
            Some(vim) if self.hint.is_none() && !self.status.hides_vim => {
                let mut line = faint(format!("-- {} -- ", vim.mode().name()), theme);
                line.append(left);
                line
            }
            Some(_) | None => left,
        };
        let mut facts = Vec::new();
        match self.session.background.len() {
            0 => {}
            1 => facts.push("1 background task".to_owned()),
            n => facts.push(format!("{n} background tasks")),
        }
        // The user's status line replaces these.
        let own = self.status.is_configured;
        if let Some(left) = self.session.context_left().filter(|left| *left < 60 && !own) {
            facts.push(format!("{left}% context left"));
        }
        if self.session.cost_usd >= 0.005 && !own {
            facts.push(format!("${:.2}", self.session.cost_usd));
        }
        let right = facts.join(" · ");
        let gap = self.size.columns.saturating_sub(2 + left.width() + text::width(&right) + 1);
        let mut line = StyledLine::plain("  ");
        line.append(left);
        if gap > 0 && !right.is_empty() {
            line.push(" ".repeat(gap), TextStyle::PLAIN);
            line.push(right, theme.fg(ThemeToken::Inactive));
        }
        line
    }
}

/// How many rows the prompt may have.
pub(super) fn prompt_limit(size: TerminalSize) -> usize {
    (size.rows / 2).max(PROMPT_ROWS)
}

/// A line across the screen.
pub(super) fn rule(theme: &Theme, columns: usize, token: ThemeToken) -> StyledLine {
    StyledLine::styled("─".repeat(columns), theme.fg(token))
}

/// The text for a mode in the footer; `None` for the default mode.
fn mode_text(mode: PermissionMode) -> Option<&'static str> {
    match mode {
        PermissionMode::Default => None,
        PermissionMode::AcceptEdits => Some("⏵⏵ accept edits on"),
        PermissionMode::Plan => Some("⏸ plan mode on"),
        PermissionMode::Auto => Some("⏵⏵ auto mode on"),
        PermissionMode::DontAsk => Some("⏵⏵ don't ask on"),
        PermissionMode::BypassPermissions => Some("⏵⏵ bypass permissions on"),
    }
}
