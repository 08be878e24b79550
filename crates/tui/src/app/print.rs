//! Lines for the scrollback: the welcome, prompts, notes and the resume hint, with labels for a screen reader. Each block
//! is separated from the one before it. Also the title of the window, and marks for screen readers.

use super::engine_events::record_look;
use super::record::RecordItem;
use super::record::build::local_output_items;
use super::transcript::RecordOrigin;
use super::{App, AppEffect, ScreenReaderMark};
use crate::screen_reader::{self, SpeakerLabel};
use std::time::Duration;
use terminal::style::StyledLine;
use terminal::theme::ThemeToken;
use wire::mode::PermissionMode;

/// A bell is rung after calls that took longer than this.
const LONG_CALL: Duration = Duration::from_secs(5);

impl App {
    /// Shows the banner; for a screen reader, prints it.
    pub fn welcome(&mut self, version: &str) {
        let Some(via) = self.preferences.screen_reader else { return self.hold_banner(version) };
        let lines = [
            via.announcement(),
            format!("gimlet {version}"),
            self.session.shown_cwd.clone(),
            "/ for commands · @ for files · ! for a shell command · ? for shortcuts".to_owned(),
        ];
        self.continue_block(lines.map(StyledLine::plain).to_vec());
    }

    /// The title of the window.
    pub fn title(&self) -> String {
        let place = self.session.shown_cwd.rsplit('/').next().unwrap_or_default();
        let mark = if self.is_busy() { "✳ " } else { "" };
        format!("{mark}gimlet · {place}")
    }

    /// Prints how to resume the session.
    pub fn print_resume_hint(&mut self) {
        self.print_banner();
        if let Some(id) = self.session.id.clone() {
            let faint = self.preferences.theme.fg(ThemeToken::Inactive);
            if self.has_screen_reader() && self.session.cost_usd > 0.0 {
                self.print_labelled(
                    SpeakerLabel::Cost,
                    vec![StyledLine::plain(format!("${:.2}", self.session.cost_usd))],
                );
            }
            if self.session.is_unsaved {
                return;
            }
            self.print_labelled(
                SpeakerLabel::None,
                vec![StyledLine::styled(format!("Continue with: gimlet --resume {id}"), faint)],
            );
        }
    }

    /// Adds a block of lines to the scrollback, separated by a blank line from earlier ones.
    pub(crate) fn print_block(&mut self, lines: Vec<StyledLine>) {
        if lines.is_empty() {
            return;
        }
        if self.printer.printed {
            self.printer.finished.push(StyledLine::new());
        }
        self.printer.printed = true;
        self.printer.ends_with_activity = false;
        self.printer.finished.extend(lines);
    }

    /// Adds lines to the scrollback without a blank line before them.
    pub(crate) fn continue_block(&mut self, lines: Vec<StyledLine>) {
        self.printer.printed |= !lines.is_empty();
        self.printer.ends_with_activity &= lines.is_empty();
        self.printer.finished.extend(lines);
    }

    /// Prints and records a prompt, or a shell command, as it was typed.
    pub(crate) fn print_prompt(&mut self, text: &str) {
        let command = text.trim().strip_prefix('!').map(str::trim).filter(|command| !command.is_empty());
        let item = match command {
            Some(command) => RecordItem::Shell(command.to_owned()),
            None => RecordItem::Prompt(text.to_owned()),
        };
        self.record_item(item, RecordOrigin::default());
    }

    /// Prints how long a turn took and what it cost.
    pub(super) fn print_turn_line(&mut self, took: Duration, cost_usd: f64) {
        if self.preferences.shows_turn_line && !self.has_screen_reader() {
            self.record_item(RecordItem::TurnEnd { took, cost_usd }, RecordOrigin::default());
        }
    }

    /// Prints a note of the interface in the scrollback.
    pub(crate) fn note(&mut self, text: &str, token: ThemeToken) {
        let text = terminal::text::clean(text);
        self.record_item(RecordItem::Note { text, token }, RecordOrigin::default());
    }

    /// Prints the output of a command that ran locally.
    pub(super) fn local_output(&mut self, content: &str) {
        for item in local_output_items(content) {
            self.record_item(item, RecordOrigin::default());
        }
    }

    /// Prints an item and adds it to the record.
    pub(super) fn record_item(&mut self, item: RecordItem, origin: RecordOrigin) {
        self.print_held_calls();
        self.print_item(&item);
        self.transcript.add_from(item, origin, None);
    }

    /// Prints an item of the record.
    pub(super) fn print_item(&mut self, item: &RecordItem) {
        let Some(item) = self.digest_item(item) else { return };
        if let RecordItem::Output { .. } = item {
            // A command may have changed the model, the effort or the session's name; the engine says so after it.
            self.interface_settings.are_outdated = true;
        }
        let lines = match item {
            RecordItem::Thinking { text, .. } if self.has_screen_reader() && !text.is_empty() => {
                vec![StyledLine::plain(terminal::text::clean(text.lines().next().unwrap_or_default()))]
            }
            _ => item.lines(&record_look!(self)),
        };
        if item.is_activity() {
            self.print_activity(item.speaker(), lines);
        } else if item.continues() && !self.has_screen_reader() {
            self.continue_block(lines);
        } else {
            self.print_labelled(item.speaker(), lines);
        }
    }

    /// Prints lines of thinking or of calls: they stand together without blank lines.
    pub(super) fn print_activity(&mut self, label: SpeakerLabel, lines: Vec<StyledLine>) {
        if lines.is_empty() {
            return;
        }
        if self.printer.ends_with_activity && !self.has_screen_reader() {
            self.continue_block(lines);
        } else {
            self.print_labelled(label, lines);
        }
        self.printer.ends_with_activity = true;
    }

    /// Prints the first warnings about the user's files.
    pub fn warn(&mut self, warnings: &[String]) {
        const MOST: usize = 5;
        for warning in warnings.iter().take(MOST) {
            self.note(warning, ThemeToken::Warning);
        }
        if warnings.len() > MOST {
            self.note(&format!("… and {} more", warnings.len() - MOST), ThemeToken::Warning);
        }
    }

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
        let gone = text_before.and_then(|before| screen_reader::deleted(before, self.prompt.editor.text()));
        if let Some(gone) = gone.filter(|gone| !gone.is_empty()) {
            let text = screen_reader::announce_deleted(gone);
            self.hint(text, Duration::from_secs(2));
        }
    }
}
