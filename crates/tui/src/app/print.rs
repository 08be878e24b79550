//! Lines for the scrollback: the welcome, prompts, notes and the resume hint, with labels for a screen reader. Each block
//! is separated from the one before it. Also the title of the window, and marks for screen readers.

use super::{App, AppEffect, ScreenReaderMark};
use crate::screen_reader::{self, SpeakerLabel};
use std::fmt::Write;
use std::time::Duration;
use terminal::markdown::ProseWrap;
use terminal::style::{StyledLine, TextStyle};
use terminal::theme::ThemeToken;
use wire::mode::PermissionMode;

/// A bell is rung after calls that took longer than this.
const LONG_CALL: Duration = Duration::from_secs(5);
/// Costs from half a cent on are shown.
const LEAST_COST: f64 = 0.005;

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
        let lines = self.prompt_band(shown);
        self.transcript.prompt(text);
        self.print_labelled(SpeakerLabel::You, lines);
    }

    /// Words of the interface: after a margin, and wrapped as the setting says.
    fn with_margin(&self, lines: &[StyledLine]) -> Vec<StyledLine> {
        let room = match self.preferences.wrap {
            ProseWrap::Words => self.size.columns.saturating_sub(4).clamp(8, 100),
            ProseWrap::Terminal => usize::MAX,
        };
        let wrapped = lines.iter().flat_map(|line| line.wrapped(room, 0));
        wrapped.map(|row| if row.is_empty() { row } else { row.indented(2) }).collect()
    }

    /// A prompt with a colour behind it, up to the edge.
    fn prompt_band(&self, shown: &str) -> Vec<StyledLine> {
        let theme = &self.preferences.theme;
        let fill = theme.colour(ThemeToken::UserMessageBackground);
        let on_fill = |style: TextStyle| fill.map_or(style, |fill| theme.readable(style, fill));
        let is_wrapped = self.preferences.wrap == ProseWrap::Words && !self.has_screen_reader();
        let room = if is_wrapped { self.size.columns.saturating_sub(4).clamp(8, 100) } else { usize::MAX };
        let mut rows = Vec::new();
        for line in terminal::text::clean(shown).split('\n') {
            for part in StyledLine::styled(line, on_fill(TextStyle::PLAIN)).wrapped(room, 0) {
                let mut row = StyledLine::styled("▌ ", on_fill(theme.fg(ThemeToken::Accent)));
                row.append(part);
                row.fill = fill;
                rows.push(row);
            }
        }
        rows
    }

    /// Prints how long a turn took and what it cost.
    pub(super) fn print_turn_line(&mut self, took: Duration, cost_usd: f64) {
        if !self.preferences.shows_turn_line || self.has_screen_reader() {
            return;
        }
        let mut text = format!("  ✻ {}", duration_words(took));
        if cost_usd >= LEAST_COST {
            write!(text, " · ${cost_usd:.2}").ok();
        }
        let style = self.preferences.theme.fg(ThemeToken::Inactive);
        self.print_block(vec![StyledLine::styled(text, style)]);
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
        let lines = terminal::style::lines_of(text.trim_end(), style);
        let lines = if self.has_screen_reader() { lines } else { self.with_margin(&lines) };
        self.print_labelled(label, lines);
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

/// `1.2 s`, `12 s`, `2 min 5 s`, `1 h 2 min`.
fn duration_words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{}.{} s", seconds, time.subsec_millis() / 100),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_exact_as_they_are_useful() {
        let words = |ms| duration_words(Duration::from_millis(ms));
        assert_eq!(
            [words(1_250), words(12_900), words(125_000), words(3_725_000)],
            ["1.2 s", "12 s", "2 min 5 s", "1 h 2 min"]
        );
    }
}
