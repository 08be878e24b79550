//! The view for screen readers: the same state without layout. Finished content has labels. The live region has only
//! what changes: what the turn waits for, a question with numbered answers, suggestions, the prompt.

use super::layers::{LayerRank, LayerRows};
use super::spinner::TurnWait;
use super::{App, AppEffect, ScreenReaderMark};
use crate::screen_reader::{self, SpeakerLabel};
use std::time::Duration;
use terminal::style::StyledLine;
use terminal::surface::{Caret, LiveFrame};
use terminal::text;
use wire::mode::PermissionMode;

/// A bell is rung after calls that took longer than this.
const LONG_CALL: Duration = Duration::from_secs(5);

impl App {
    pub(super) fn has_screen_reader(&self) -> bool {
        self.preferences.screen_reader.is_some()
    }

    /// Adds a block, with its label when a screen reader is used.
    pub(super) fn print_labelled(&mut self, label: SpeakerLabel, lines: Vec<StyledLine>) {
        if self.has_screen_reader() {
            let lines = screen_reader::labelled_lines(label, &lines);
            self.continue_block(lines);
        } else {
            self.print_block(lines);
        }
    }

    pub(super) fn ring_bell(&mut self) {
        if self.has_screen_reader() {
            self.effects.push(AppEffect::Mark(ScreenReaderMark::Bell));
        }
    }

    pub(super) fn ring_bell_after(&mut self, took: Duration) {
        if took > LONG_CALL {
            self.ring_bell();
        }
    }

    pub(super) fn mark(&mut self, mark: ScreenReaderMark) {
        if self.has_screen_reader() {
            self.effects.push(AppEffect::Mark(mark));
        }
    }

    /// Announces a changed mode and deleted text, which would not be read out otherwise.
    pub(super) fn announce_change(&mut self, mode_before: PermissionMode, text_before: Option<&str>) {
        if !self.has_screen_reader() {
            return;
        }
        if self.session.mode != mode_before {
            let text = format!("mode: {}", self.session.mode.as_str());
            self.continue_block(vec![StyledLine::plain(text)]);
        }
        let gone = text_before.and_then(|before| screen_reader::deleted(before, self.editor.text()));
        if let Some(gone) = gone.filter(|gone| !gone.is_empty()) {
            let text = screen_reader::announce_deleted(gone);
            self.hint(text, Duration::from_secs(2));
        }
    }

    pub(super) fn screen_reader_view(&self) -> LiveFrame {
        let mut lines: Vec<StyledLine> = Vec::new();
        if let Some(turn) = self.turn.as_ref().filter(|_| !self.layers.has(LayerRank::Question)) {
            let doing = self.hook_statuses.last().map(|(_, text)| text.as_str());
            let what = match &turn.waits {
                TurnWait::Interrupting => "Stopping.".to_owned(),
                TurnWait::Tool(tool) => format!("Running {tool}. Escape to interrupt."),
                TurnWait::Retry { attempt, of, .. } => format!("Retrying, attempt {attempt} of {of}."),
                TurnWait::Compacting => "Compacting the conversation. Escape to interrupt.".to_owned(),
                TurnWait::Model | TurnWait::Thinking | TurnWait::Writing | TurnWait::Permission => {
                    "Working. Escape to interrupt.".to_owned()
                }
            };
            lines.push(StyledLine::plain(doing.map_or(what, str::to_owned)));
        }
        let queued = self.queue_rows();
        lines.extend(queued.iter().map(|row| StyledLine::plain(format!("queued: {}", screen_reader::plain(row)))));
        let (rows, caret) = self.screen_reader_bottom();
        let offset = lines.len();
        lines.extend(rows);
        let over = lines.len().saturating_sub(self.size.rows);
        lines.drain(..over);
        let caret = Caret { row: (caret.row + offset).saturating_sub(over), ..caret };
        LiveFrame { lines, caret: Some(caret) }
    }

    /// A question, or the prompt with its suggestions.
    fn screen_reader_bottom(&self) -> (Vec<StyledLine>, Caret) {
        let mut lines = Vec::new();
        if let Some((hint, _)) = &self.hint {
            lines.push(StyledLine::plain(hint.clone()));
        }
        match self.layers.rows(&self.layer_view()) {
            Some((layer, LayerRows::InPlaceOfPrompt(rows, caret))) => {
                return screen_reader_question(layer.speaker(), &rows, caret);
            }
            Some((_, LayerRows::BelowPrompt(rows))) => {
                lines.extend(rows.into_iter().map(|row| StyledLine::plain(row.text())));
            }
            Some((_, LayerRows::WholeScreen(_))) | None => {}
        }
        let (rows, (row, column)) = self.prompt_rows();
        let caret = Caret { row: lines.len() + row, column: column + 2 };
        lines.extend(rows.into_iter().map(|row| StyledLine::plain(row.text())));
        (lines, caret)
    }
}

fn screen_reader_question(
    speaker: SpeakerLabel,
    rows: &[StyledLine],
    caret: Option<Caret>,
) -> (Vec<StyledLine>, Caret) {
    let typed = caret.and_then(|caret| rows.get(caret.row)).map(StyledLine::text);
    let mut lines = screen_reader::labelled_lines(speaker, rows);
    if let (Some(caret), Some(typed)) = (caret, typed) {
        let row = lines.iter().position(|line| typed.contains(line.text().trim())).unwrap_or(lines.len() - 1);
        return (lines, Caret { row, ..caret });
    }
    let prompt = match speaker {
        SpeakerLabel::Permission => "Enter selection (y/n or a number): ",
        _ => "Enter selection: ",
    };
    lines.push(StyledLine::plain(prompt));
    let caret = Caret { row: lines.len() - 1, column: text::width(prompt) };
    (lines, caret)
}
