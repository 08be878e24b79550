//! The view for screen readers: the same state, flat. Finished content carries labels; below it stands only what changes:
//! what the turn waits for, a question with numbered answers, suggestions, the prompt.

use super::menu::Menu;
use super::spinner::Waits;
use super::{App, Effect, Mark};
use crate::reader::{self, Label};
use crate::style::Line;
use crate::surface::{Caret, Frame};
use crate::text;
use std::time::Duration;
use wire::mode::PermissionMode;

/// A call that took this long is worth a bell.
const LONG: Duration = Duration::from_secs(5);

impl App {
    pub(super) fn is_spoken(&self) -> bool {
        self.preferences.reader.is_some()
    }

    /// Adds a block that somebody said.
    pub(super) fn say(&mut self, label: Label, lines: Vec<Line>) {
        if self.is_spoken() {
            let lines = reader::spoken(label, &lines);
            self.continue_cell(lines);
        } else {
            self.cell(lines);
        }
    }

    pub(super) fn ring(&mut self) {
        if self.is_spoken() {
            self.effects.push(Effect::Mark(Mark::Bell));
        }
    }

    pub(super) fn ring_after(&mut self, took: Duration) {
        if took > LONG {
            self.ring();
        }
    }

    pub(super) fn mark(&mut self, mark: Mark) {
        if self.is_spoken() {
            self.effects.push(Effect::Mark(mark));
        }
    }

    /// What changed without a word of its own.
    pub(super) fn announce_change(&mut self, mode_before: PermissionMode, text_before: Option<&str>) {
        if !self.is_spoken() {
            return;
        }
        if self.session.mode != mode_before {
            let text = format!("mode: {}", self.session.mode.as_str());
            self.continue_cell(vec![Line::plain(text)]);
        }
        let gone = text_before.and_then(|before| reader::deleted(before, self.editor.text()));
        if let Some(gone) = gone.filter(|gone| !gone.is_empty()) {
            let text = reader::announce_deleted(gone);
            self.hint(text, Duration::from_secs(2));
        }
    }

    pub(super) fn spoken_view(&self) -> Frame {
        let mut lines: Vec<Line> = Vec::new();
        if let Some(turn) = self.turn.as_ref().filter(|_| self.dialogs.is_empty()) {
            let doing = self.doing.last().map(|(_, text)| text.as_str());
            let what = match &turn.waits {
                Waits::Interrupting => "Stopping.".to_owned(),
                Waits::Tool(tool) => format!("Running {tool}. Escape to interrupt."),
                Waits::Retry { attempt, of, .. } => format!("Retrying, attempt {attempt} of {of}."),
                Waits::Compacting => "Compacting the conversation. Escape to interrupt.".to_owned(),
                Waits::Model | Waits::Thinking | Waits::Writing | Waits::Permission => {
                    "Working. Escape to interrupt.".to_owned()
                }
            };
            lines.push(Line::plain(doing.map_or(what, str::to_owned)));
        }
        let queued = self.queue_rows();
        lines.extend(queued.iter().map(|row| Line::plain(format!("queued: {}", reader::plain(row)))));
        let (rows, caret) = self.spoken_bottom();
        let offset = lines.len();
        lines.extend(rows);
        let over = lines.len().saturating_sub(self.size.rows);
        lines.drain(..over);
        let caret = Caret { row: (caret.row + offset).saturating_sub(over), ..caret };
        Frame { lines, caret: Some(caret) }
    }

    /// A question, or the prompt with what is suggested for it.
    fn spoken_bottom(&self) -> (Vec<Line>, Caret) {
        if self.dialogs.front().is_some() || self.has_panel() || self.onboarding.is_some() || self.search.is_some() {
            let (rows, caret) = self.bottom();
            return self.spoken_question(&rows, caret);
        }
        let mut lines = Vec::new();
        if let Some((hint, _)) = &self.hint {
            lines.push(Line::plain(hint.clone()));
        }
        if let Some(menu) = &self.menu {
            lines.extend(spoken_menu(menu));
        }
        let (rows, (row, column)) = self.prompt_rows();
        let caret = Caret { row: lines.len() + row, column: column + 2 };
        lines.extend(rows.into_iter().map(|row| Line::plain(row.text())));
        (lines, caret)
    }

    fn spoken_question(&self, rows: &[Line], caret: Option<Caret>) -> (Vec<Line>, Caret) {
        let asks = self.dialogs.front().is_some_and(|dialog| dialog.questions.is_none() && dialog.form.is_none());
        let typed = caret.and_then(|caret| rows.get(caret.row)).map(Line::text);
        let mut lines = reader::spoken(if asks { Label::Permission } else { Label::None }, rows);
        if let (Some(caret), Some(typed)) = (caret, typed) {
            let row = lines.iter().position(|line| typed.contains(line.text().trim())).unwrap_or(lines.len() - 1);
            return (lines, Caret { row, ..caret });
        }
        let prompt = if asks { "Enter selection (y/n or a number): " } else { "Enter selection: " };
        lines.push(Line::plain(prompt));
        let caret = Caret { row: lines.len() - 1, column: text::width(prompt) };
        (lines, caret)
    }
}

fn spoken_menu(menu: &Menu) -> Vec<Line> {
    let window = menu.window();
    let rows = menu.items.iter().enumerate().skip(window.start).take(window.len());
    let row = |(index, item): (usize, &super::menu::Item)| {
        let chosen = if index == menu.chosen { "selected: " } else { "" };
        let note = if item.note.is_empty() { String::new() } else { format!(", {}", item.note) };
        Line::plain(format!("{}. {chosen}{}{note}", index + 1, item.text))
    };
    rows.map(row).collect()
}
