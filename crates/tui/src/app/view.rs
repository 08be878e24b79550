//! The frame of the live region: streaming text, running calls, todos, queued messages, the prompt or a dialog, and the
//! footer. It is built from the bottom up, so that the prompt is always visible and the rest gets the remaining rows.

use super::agents::AgentRowContent;
use super::calls::CallRowsPlace;
use super::dialog::Dialog;
use super::engine_events::record_look;
use super::footer::{Footer, model_name};
use super::layers::{LayerRank, LayerRows};
use super::prompt_view::{border_style, border_token, named_rule, prompt_rows, rule};
use super::{App, screen_reader, todos};
use engine::query;
use std::ops::Range;
use std::path::Path;
use terminal::keys::bindings::KeyAction;
use terminal::style::StyledLine;
use terminal::surface::{Caret, LiveFrame};

/// Rows that stay free above the live region in a window of usual height: when it is dragged narrower, the terminal wraps the
/// lines around the prompt, and moves as many rows into the scrollback.
const ROWS_FOR_REFLOW: usize = 3;
/// A window that has less room shows as much as it can.
const ROOM_FOR_REFLOW: usize = 12;

/// The rows for text that streams.
fn tail_room(room: usize) -> usize {
    room.saturating_sub(if room > ROOM_FOR_REFLOW { 1 + ROWS_FOR_REFLOW } else { 1 })
}

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

    /// Everything above the prompt, in at most `room` rows.
    fn top(&self, room: usize) -> Vec<StyledLine> {
        let theme = &self.preferences.theme;
        let full_room = room;
        let mut lower = Vec::new();
        if let Some(turn) = &self.activity.turn {
            lower.push(StyledLine::new());
            let doing = self
                .activity
                .hook_statuses
                .last()
                .map(|(_, text)| text.as_str())
                .or_else(|| todos::active(&self.todos));
            let doing = doing.or_else(|| self.interface_settings.verb(turn));
            lower.push(turn.line(self.now, doing, theme));
            lower.extend(turn.reason(theme).map(|line| line.truncated(self.size.columns)));
        }
        let work = self.work_rows();
        if lower.is_empty() && !work.is_empty() {
            lower.push(StyledLine::new());
        }
        lower.extend(work);
        lower.extend(self.queue.rows(theme, &self.preferences.bindings));
        lower.drain(..lower.len().saturating_sub(room));
        let room = room - lower.len();
        let waits = |id: &str| self.layers.all::<Dialog>().any(|dialog| dialog.request.tool_use_id == id);
        // An agent has a row of its own above the prompt.
        let agent = |call: &str| self.agents.has_call(call).then_some(AgentRowContent::Hidden);
        let key = self.preferences.bindings.keys_of(KeyAction::Background);
        let place = CallRowsPlace { look: record_look!(self), now: self.now, background_key: key.as_deref() };
        let mut calls =
            if self.has_focus_view() { self.digest_rows() } else { self.activity.calls.rows(&place, waits, agent) };
        let follows = self.printer.ends_with_activity && self.activity.reply.is_empty();
        if !calls.is_empty() && !follows {
            calls.insert(0, StyledLine::new());
        }
        calls.drain(..calls.len().saturating_sub(room));
        let room = room - calls.len();
        let mut lines = self.activity.reply.tail(&self.markdown_options(), tail_room(room));
        if !lines.is_empty() {
            lines.insert(0, StyledLine::new());
        }
        lines.extend(calls);
        lines.extend(lower);
        let banner = self.banner_rows();
        if !banner.is_empty() && lines.len() + banner.len() < full_room {
            lines.splice(0..0, banner);
        }
        // A blank row separates finished text from the prompt.
        if (lines.is_empty() || self.banner.is_some()) && room > 3 && lines.last().is_none_or(|line| !line.is_empty()) {
            lines.push(StyledLine::new());
        }
        lines
    }

    /// The prompt or a layer in its place, and the rows below it.
    fn bottom(&self) -> (Vec<StyledLine>, Option<Caret>) {
        let below = match self.layers.rows(&self.layer_view()) {
            Some((_, LayerRows::InPlaceOfPrompt(rows, caret))) => return (rows, caret),
            Some((_, LayerRows::BelowPrompt(rows))) => rows,
            Some((_, LayerRows::WholeScreen(_))) | None => self.below_prompt(),
        };
        let theme = &self.preferences.theme;
        let token = border_token(self.prompt.editor.text(), self.session.mode);
        let style = border_style(theme, token, self.session.colour.as_deref());
        let border = rule(self.size.columns, style);
        let mut lines = vec![named_rule(theme, self.size.columns, style, self.session.name.as_deref())];
        let (rows, (row, column)) = prompt_rows(&self.prompt.editor, &self.file_mentions(), self.size, theme);
        let caret = Caret { row: lines.len() + row, column };
        lines.extend(rows);
        lines.push(border);
        lines.extend(below);
        (lines, Some(caret))
    }

    /// Where the prompt names files and folders that are sent with it.
    fn file_mentions(&self) -> Vec<Range<usize>> {
        let text = self.prompt.editor.text();
        if !text.contains('@') || text.starts_with(['!', '/']) {
            return Vec::new();
        }
        query::file_mentions(text, Path::new(&self.session.cwd), self.preferences.home.as_deref())
    }

    /// The status line of the user and the footer.
    fn below_prompt(&self) -> Vec<StyledLine> {
        let mut lines = self.status.rows(self.size.columns);
        let footer = self.footer().line(&self.preferences.theme, self.size.columns);
        if lines.is_empty() || !footer.text().trim().is_empty() {
            lines.push(footer);
        }
        lines
    }

    fn footer(&self) -> Footer<'_> {
        // The user's status line replaces some facts.
        let has_status_line = self.status.is_configured;
        Footer {
            hint: self.keys.hint.as_ref().map(|(text, _)| text.as_str()),
            border: border_token(self.prompt.editor.text(), self.session.mode),
            mode: self.session.mode,
            model: self.session.model.as_deref().map(|id| model_name(&self.session, id)),
            effort: self.session.effort.as_deref().filter(|effort| !effort.is_empty()),
            offers_help: self.preferences.shows_hints
                && self.prompt.editor.is_empty()
                && !self.is_busy()
                && !has_status_line,
            vim: self.prompt.vim_mode().filter(|_| !self.status.hides_vim),
            background_tasks: self.session.background.len(),
            context_used: Some(self.session.context_percent()).filter(|_| !has_status_line),
            cost_usd: Some(self.session.cost_usd).filter(|_| !has_status_line),
        }
    }

    fn screen_reader_view(&self) -> LiveFrame {
        let turn = self.activity.turn.as_ref().filter(|_| !self.layers.has(LayerRank::Question));
        let doing = self.activity.hook_statuses.last().map(|(_, text)| text.as_str());
        let mut lines: Vec<StyledLine> = turn.map(|turn| screen_reader::turn_line(turn, doing)).into_iter().collect();
        let queued = self.queue.rows(&self.preferences.theme, &self.preferences.bindings);
        lines.extend(screen_reader::queued_lines(&queued));
        let (rows, caret) = self.screen_reader_bottom();
        screen_reader::frame(lines, rows, caret, self.size.rows)
    }

    /// A question, or the prompt with what belongs to it.
    fn screen_reader_bottom(&self) -> (Vec<StyledLine>, Caret) {
        let below = match self.layers.rows(&self.layer_view()) {
            Some((layer, LayerRows::InPlaceOfPrompt(rows, caret))) => {
                return screen_reader::question(layer.speaker(), &rows, caret);
            }
            Some((_, LayerRows::BelowPrompt(rows))) => rows,
            Some((_, LayerRows::WholeScreen(_))) | None => Vec::new(),
        };
        let hint = self.keys.hint.as_ref().map(|(text, _)| text.as_str());
        screen_reader::prompt(hint, &below, prompt_rows(&self.prompt.editor, &[], self.size, &self.preferences.theme))
    }
}
