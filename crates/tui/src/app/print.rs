//! Lines for the scrollback: the welcome, prompts, notes and the resume hint, with labels for a screen reader. Each block
//! is separated from the one before it. Also the title of the window, and marks for screen readers.

use super::{App, AppEffect, ScreenReaderMark};
use crate::screen_reader::{self, SpeakerLabel};
use std::time::Duration;
use terminal::style::{StyledLine, TextStyle};
use terminal::theme::ThemeToken;
use wire::mode::PermissionMode;

/// A bell is rung after calls that took longer than this.
const LONG_CALL: Duration = Duration::from_secs(5);

impl App {
    /// Prints the welcome.
    pub fn welcome(&mut self, version: &str) {
        let theme = &self.preferences.theme;
        let mut title = StyledLine::styled("gimlet ", theme.fg(ThemeToken::Accent).bold());
        title.push(version, theme.fg(ThemeToken::Inactive));
        let place = StyledLine::styled(self.session.shown_cwd.clone(), theme.fg(ThemeToken::Inactive));
        let mut tips =
            StyledLine::styled("/ for commands · @ for files · ! for a shell command", theme.fg(ThemeToken::Inactive));
        if self.has_screen_reader() {
            // Without a screen reader this hint is below the prompt.
            tips.push(" · ? for shortcuts", theme.fg(ThemeToken::Inactive));
        }
        if let Some(via) = self.preferences.screen_reader {
            self.continue_block(vec![StyledLine::plain(via.announcement())]);
        }
        self.print_labelled(SpeakerLabel::None, vec![title, place, tips]);
    }

    /// The title of the window.
    pub fn title(&self) -> String {
        let place = self.session.shown_cwd.rsplit('/').next().unwrap_or_default();
        let mark = if self.is_busy() { "✳ " } else { "" };
        format!("{mark}gimlet · {place}")
    }

    /// Prints how to resume the session.
    pub fn print_resume_hint(&mut self) {
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
        self.printer.finished.extend(lines);
    }

    /// Adds lines to the scrollback without a blank line before them.
    pub(crate) fn continue_block(&mut self, lines: Vec<StyledLine>) {
        self.printer.printed |= !lines.is_empty();
        self.printer.finished.extend(lines);
    }

    pub(crate) fn print_prompt(&mut self, text: &str) {
        self.print_prompt_as(text, text);
    }

    /// Prints `shown`; the transcript view gets the full `text`.
    pub(super) fn print_prompt_as(&mut self, text: &str, shown: &str) {
        let theme = &self.preferences.theme;
        let fill = theme.colour(ThemeToken::UserMessageBackground);
        let lines = terminal::text::clean(shown)
            .split('\n')
            .enumerate()
            .map(|(index, line)| {
                let mut shown =
                    StyledLine::styled(if index == 0 { "> " } else { "  " }, theme.fg(ThemeToken::Inactive));
                shown.push(line, TextStyle::PLAIN);
                shown.fill = fill;
                shown
            })
            .collect();
        self.transcript.prompt(text);
        self.print_labelled(SpeakerLabel::You, lines);
    }

    /// Prints a note of the interface in the scrollback.
    pub(crate) fn note(&mut self, text: &str, token: ThemeToken) {
        let style = self.preferences.theme.fg(token);
        let text = terminal::text::clean(text);
        self.transcript.note(&text);
        let label = match token {
            ThemeToken::Error => SpeakerLabel::Error,
            ThemeToken::Warning => SpeakerLabel::Warning,
            _ => SpeakerLabel::None,
        };
        self.print_labelled(label, terminal::style::lines_of(text.trim_end(), style));
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
