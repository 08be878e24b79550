//! The transcript view: moving, searching, whose part is shown, and the ways out of it (the scrollback, an editor). It
//! follows what is new until somebody scrolls up.

use super::spinner::faint;
use super::transcript::Part;
use super::{App, Effect, Overlay};
use crate::keys::bindings::Action;
use crate::keys::{Code, Key};
use crate::style::Line;
use crate::surface::{Caret, Frame};
use crate::text;
use crate::theme::Token;

/// Where the view is.
#[derive(Debug, Default)]
pub struct Pager {
    /// The first row shown; `None` follows what is new.
    top: Option<usize>,
    /// What is being typed after `/`.
    typing: Option<String>,
    query: String,
    part: Part,
    shows_help: bool,
}

const HELP: [&str; 9] = [
    "↑ ↓ j k           one row",
    "space b           one page (also ctrl+f ctrl+b, page up and down)",
    "ctrl+u ctrl+d     half a page",
    "g G               to the beginning, to the end",
    "{ }               to the prompt before, to the next one",
    "/ n N             search, next hit, hit before",
    "a                 all of it, or one agent after the other",
    "[ v               print it into the scrollback, open it in your editor",
    "q esc ctrl+c      close",
];

impl App {
    pub(super) fn toggle_transcript(&mut self) {
        self.want_earlier();
        self.overlay = match self.overlay {
            Some(Overlay::Transcript(_)) => None,
            Some(_) | None => Some(Overlay::Transcript(Pager::default())),
        };
    }

    pub(super) fn page(&self) -> usize {
        self.size.rows.saturating_sub(2).max(1)
    }

    fn part(&self) -> Part {
        match &self.overlay {
            Some(Overlay::Transcript(pager)) => pager.part.clone(),
            Some(_) | None => Part::All,
        }
    }

    /// The last row the window may begin at.
    fn last_top(&self) -> usize {
        let height = self.transcript.height(&self.part(), self.size.columns, &self.preferences.theme);
        height.saturating_sub(self.page())
    }

    pub(super) fn scroll(&mut self, action: Action) {
        let (page, last) = (self.page(), self.last_top());
        let Some(Overlay::Transcript(pager)) = &mut self.overlay else { return };
        let top = pager.top.unwrap_or(last).min(last);
        let to = match action {
            Action::ScrollLineUp => top.saturating_sub(1),
            Action::ScrollHalfUp => top.saturating_sub(page.div_ceil(2)),
            Action::ScrollPageUp | Action::ScrollFullUp => top.saturating_sub(page),
            Action::ScrollTop => 0,
            Action::ScrollLineDown => top + 1,
            Action::ScrollHalfDown => top + page.div_ceil(2),
            Action::ScrollPageDown | Action::ScrollFullDown => top + page,
            _ => last,
        };
        pager.top = (to < last).then_some(to);
    }

    /// Whether a text for the search is being typed, so that keys are letters.
    pub(super) fn pager_types(&self) -> bool {
        matches!(&self.overlay, Some(Overlay::Transcript(pager)) if pager.typing.is_some())
    }

    /// A key without a binding in the view, or any key while a search is typed.
    pub(super) fn pager_key(&mut self, key: Key) {
        let Some(Overlay::Transcript(pager)) = &mut self.overlay else { return };
        if let Some(typing) = &mut pager.typing {
            match (key.text(), key.code) {
                (Some(c), _) => typing.push(c),
                (None, Code::Backspace) => {
                    if typing.pop().is_none() {
                        pager.typing = None;
                    }
                }
                (None, Code::Enter) => {
                    pager.query = pager.typing.take().unwrap_or_default();
                    self.go_to_hit(Towards::Here);
                }
                (None, _) => pager.typing = None,
            }
            return;
        }
        match key.text() {
            Some('/') => pager.typing = Some(String::new()),
            Some('n') => self.go_to_hit(Towards::End),
            Some('N') => self.go_to_hit(Towards::Beginning),
            Some('{') => self.go_to_prompt(Towards::Beginning),
            Some('}') => self.go_to_prompt(Towards::End),
            Some('a') => self.next_part(),
            Some('?') => pager.shows_help = !pager.shows_help,
            Some('[') => {
                let lines = self.transcript.lines(&self.part(), &self.preferences.theme);
                self.toggle_transcript();
                self.cell(lines);
            }
            Some('v') => {
                let lines = self.transcript.lines(&self.part(), &self.preferences.theme);
                let text: Vec<String> = lines.iter().map(Line::text).collect();
                self.effects.push(Effect::View(text.join("\n")));
            }
            Some(_) | None => {}
        }
    }

    fn go_to_hit(&mut self, towards: Towards) {
        let Some(Overlay::Transcript(pager)) = &self.overlay else { return };
        if pager.query.is_empty() {
            return;
        }
        let rows = self.transcript.find(&pager.part, &pager.query, self.size.columns, &self.preferences.theme);
        if rows.is_empty() {
            let text = format!("{} is not there", pager.query);
            return self.hint(text, std::time::Duration::from_secs(4));
        }
        self.go_to(&rows, towards);
    }

    fn go_to_prompt(&mut self, towards: Towards) {
        let rows = self.transcript.prompts(&self.part(), self.size.columns, &self.preferences.theme);
        self.go_to(&rows, towards);
    }

    /// Shows the nearest of these rows on top, as far as the window reaches.
    fn go_to(&mut self, rows: &[usize], towards: Towards) {
        let last = self.last_top();
        let Some(Overlay::Transcript(pager)) = &mut self.overlay else { return };
        let top = pager.top.unwrap_or(last);
        let to = match towards {
            // From where we are backwards: the newest is the likeliest.
            Towards::Here => rows.iter().rev().find(|row| **row <= top + 1).or(rows.last()),
            Towards::End => rows.iter().find(|row| **row > top),
            Towards::Beginning => rows.iter().rev().find(|row| **row < top),
        };
        if let Some(to) = to {
            pager.top = (*to < last).then_some(*to);
        }
    }

    fn next_part(&mut self) {
        let agents = self.transcript.agents();
        let Some(Overlay::Transcript(pager)) = &mut self.overlay else { return };
        let next = match &pager.part {
            Part::All => agents.first(),
            Part::Agent(call) => agents.iter().position(|known| known == call).and_then(|at| agents.get(at + 1)),
        };
        pager.part = next.map_or(Part::All, |call| Part::Agent(call.clone()));
        pager.top = None;
    }

    pub(super) fn pager_frame(&self, pager: &Pager) -> Frame {
        let (theme, columns, page) = (&self.preferences.theme, self.size.columns, self.page());
        if pager.shows_help {
            let mut lines: Vec<Line> = HELP.iter().map(|row| Line::plain(*row)).take(page).collect();
            lines.resize(page, Line::new());
            lines.push(self.rule(Token::PromptBorder));
            lines.push(faint("? back to the transcript", theme));
            return Frame { lines, caret: None };
        }
        let last = self.last_top();
        let top = pager.top.unwrap_or(last).min(last);
        let mut lines = self.transcript.window(&pager.part, top..top + page, columns, theme);
        lines.resize(page, Line::new());
        lines.push(self.rule(Token::PromptBorder));
        if let Some(typing) = &pager.typing {
            let label = format!("/{}", text::clean(typing));
            let caret = Caret { row: lines.len(), column: text::width(&label).min(columns.saturating_sub(1)) };
            lines.push(Line::plain(label));
            return Frame { lines, caret: Some(caret) };
        }
        let whose = match &pager.part {
            Part::All => "transcript",
            Part::Agent(_) => "transcript of an agent",
        };
        let at = if top >= last { "end".to_owned() } else { format!("{} rows below", last - top) };
        let keys = match &self.hint {
            Some((text, _)) => text.clone(),
            None => "↑↓ space b g G to move · / to search · ? for keys · q to close".to_owned(),
        };
        lines.push(faint(format!("{whose} · {at} · {keys}"), theme));
        Frame { lines, caret: None }
    }
}

#[derive(Clone, Copy)]
enum Towards {
    Here,
    Beginning,
    End,
}
