//! What is printed to stay: the welcome, prompts, remarks, the last words; and the title of the window. Each block is set
//! off from the one before it.

use super::App;
use crate::reader::Label;
use crate::style::{Line, Style};
use crate::theme::Token;

impl App {
    /// A welcome, printed once.
    pub fn welcome(&mut self, version: &str) {
        let theme = &self.preferences.theme;
        let mut title = Line::styled("gimlet ", theme.fg(Token::Accent).bold());
        title.push(version, theme.fg(Token::Inactive));
        let place = Line::styled(self.session.place.clone(), theme.fg(Token::Inactive));
        let mut tips = Line::styled("/ for commands · @ for files · ! for a shell command", theme.fg(Token::Inactive));
        if self.is_spoken() {
            // Others read it below the prompt.
            tips.push(" · ? for shortcuts", theme.fg(Token::Inactive));
        }
        if let Some(via) = self.preferences.reader {
            self.continue_cell(vec![Line::plain(via.announcement())]);
        }
        self.say(Label::None, vec![title, place, tips]);
    }

    /// The title of the window.
    pub fn title(&self) -> String {
        let place = self.session.place.rsplit('/').next().unwrap_or_default();
        let mark = if self.is_busy() { "✳ " } else { "" };
        format!("{mark}gimlet · {place}")
    }

    /// The last words: how to come back.
    pub fn farewell(&mut self) {
        if let Some(id) = self.session.id.clone() {
            let faint = self.preferences.theme.fg(Token::Inactive);
            if self.is_spoken() && self.session.cost_usd > 0.0 {
                self.say(Label::Cost, vec![Line::plain(format!("${:.2}", self.session.cost_usd))]);
            }
            if self.session.is_unsaved {
                return;
            }
            self.say(Label::None, vec![Line::styled(format!("Continue with: gimlet --resume {id}"), faint)]);
        }
    }

    /// Adds a block of lines to the scrollback, set off from what stands there.
    pub(crate) fn cell(&mut self, lines: Vec<Line>) {
        if lines.is_empty() {
            return;
        }
        if self.printed {
            self.finished.push(Line::new());
        }
        self.printed = true;
        self.finished.extend(lines);
    }

    /// Lines that belong to the block before them.
    pub(crate) fn continue_cell(&mut self, lines: Vec<Line>) {
        self.printed |= !lines.is_empty();
        self.finished.extend(lines);
    }

    pub(super) fn print_prompt(&mut self, text: &str) {
        self.print_prompt_as(text, text);
    }

    /// `shown` is printed; the transcript view has the whole.
    pub(super) fn print_prompt_as(&mut self, text: &str, shown: &str) {
        let theme = &self.preferences.theme;
        let fill = theme.colour(Token::UserMessageBackground);
        let lines = crate::text::clean(shown)
            .split('\n')
            .enumerate()
            .map(|(index, line)| {
                let mut shown = Line::styled(if index == 0 { "> " } else { "  " }, theme.fg(Token::Inactive));
                shown.push(line, Style::PLAIN);
                shown.fill = fill;
                shown
            })
            .collect();
        self.transcript.prompt(text);
        self.say(Label::You, lines);
    }

    /// A remark of ours in the scrollback.
    pub(crate) fn note(&mut self, text: &str, token: Token) {
        let style = self.preferences.theme.fg(token);
        let text = crate::text::clean(text);
        self.transcript.note(&text);
        let label = match token {
            Token::Error => Label::Error,
            Token::Warning => Label::Warning,
            _ => Label::None,
        };
        self.say(label, crate::style::lines_of(text.trim_end(), style));
    }

    /// What is wrong with a file of the person's, the first few things.
    pub fn warn(&mut self, warnings: &[String]) {
        const MOST: usize = 5;
        for warning in warnings.iter().take(MOST) {
            self.note(warning, Token::Warning);
        }
        if warnings.len() > MOST {
            self.note(&format!("… and {} more", warnings.len() - MOST), Token::Warning);
        }
    }
}
