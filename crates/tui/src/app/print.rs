//! Lines for the scrollback: the welcome, prompts, notes and the resume hint. Also the title of the window. Each block
//! is separated from the one before it.

use super::App;
use crate::screen_reader::SpeakerLabel;
use terminal::style::{StyledLine, TextStyle};
use terminal::theme::ThemeToken;

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
        if self.printed {
            self.finished.push(StyledLine::new());
        }
        self.printed = true;
        self.finished.extend(lines);
    }

    /// Adds lines to the scrollback without a blank line before them.
    pub(crate) fn continue_block(&mut self, lines: Vec<StyledLine>) {
        self.printed |= !lines.is_empty();
        self.finished.extend(lines);
    }

    pub(super) fn print_prompt(&mut self, text: &str) {
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
}
