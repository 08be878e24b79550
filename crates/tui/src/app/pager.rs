//! The transcript view: scrolling, searching, filtering by agent, and copying it to the scrollback or an editor. It
//! follows new output until the user scrolls up.

use super::spinner::faint;
use super::transcript::TranscriptFilter;
use super::{App, AppEffect, Overlay};
use terminal::keys::bindings::KeyAction;
use terminal::keys::{KeyCode, KeyPress};
use terminal::style::StyledLine;
use terminal::surface::{Caret, LiveFrame};
use terminal::text;
use terminal::theme::ThemeToken;

/// The state of the transcript view.
#[derive(Debug, Default)]
pub struct Pager {
    /// The first row shown; `None` follows new output.
    top: Option<usize>,
    /// The search text being typed after `/`; `None` when none is typed.
    typing: Option<String>,
    query: String,
    part: TranscriptFilter,
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
        self.load_earlier();
        self.overlay = match self.overlay {
            Some(Overlay::Transcript(_)) => None,
            Some(_) | None => Some(Overlay::Transcript(Pager::default())),
        };
    }

    pub(super) fn page(&self) -> usize {
        self.size.rows.saturating_sub(2).max(1)
    }

    fn part(&self) -> TranscriptFilter {
        match &self.overlay {
            Some(Overlay::Transcript(pager)) => pager.part.clone(),
            Some(_) | None => TranscriptFilter::All,
        }
    }

    /// The last row at which the window may begin.
    fn last_top(&self) -> usize {
        let height = self.transcript.height(&self.part(), self.size.columns, &self.preferences.theme);
        height.saturating_sub(self.page())
    }

    pub(super) fn scroll(&mut self, action: KeyAction) {
        let (page, last) = (self.page(), self.last_top());
        let Some(Overlay::Transcript(pager)) = &mut self.overlay else { return };
        let top = pager.top.unwrap_or(last).min(last);
        let to = match action {
            KeyAction::ScrollLineUp => top.saturating_sub(1),
            KeyAction::ScrollHalfUp => top.saturating_sub(page.div_ceil(2)),
            KeyAction::ScrollPageUp | KeyAction::ScrollFullUp => top.saturating_sub(page),
            KeyAction::ScrollTop => 0,
            KeyAction::ScrollLineDown => top + 1,
            KeyAction::ScrollHalfDown => top + page.div_ceil(2),
            KeyAction::ScrollPageDown | KeyAction::ScrollFullDown => top + page,
            _ => last,
        };
        pager.top = (to < last).then_some(to);
    }

    /// Whether a search text is being typed, so that keys are letters.
    pub(super) fn is_typing_search(&self) -> bool {
        matches!(&self.overlay, Some(Overlay::Transcript(pager)) if pager.typing.is_some())
    }

    /// Handles a key without a binding in the view, or any key while a search text is typed.
    pub(super) fn pager_key(&mut self, key: KeyPress) {
        let Some(Overlay::Transcript(pager)) = &mut self.overlay else { return };
        if let Some(typing) = &mut pager.typing {
            match (key.text(), key.code) {
                (Some(c), _) => typing.push(c),
                (None, KeyCode::Backspace) => {
                    if typing.pop().is_none() {
                        pager.typing = None;
                    }
                }
                (None, KeyCode::Enter) => {
                    pager.query = pager.typing.take().unwrap_or_default();
                    self.go_to_hit(JumpDirection::Here);
                }
                (None, _) => pager.typing = None,
            }
            return;
        }
        match key.text() {
            Some('/') => pager.typing = Some(String::new()),
            Some('n') => self.go_to_hit(JumpDirection::End),
            Some('N') => self.go_to_hit(JumpDirection::Beginning),
            Some('{') => self.go_to_prompt(JumpDirection::Beginning),
            Some('}') => self.go_to_prompt(JumpDirection::End),
            Some('a') => self.next_part(),
            Some('?') => pager.shows_help = !pager.shows_help,
            Some('[') => {
                let lines = self.transcript.lines(&self.part(), &self.preferences.theme);
                self.toggle_transcript();
                self.print_block(lines);
            }
            Some('v') => {
                let lines = self.transcript.lines(&self.part(), &self.preferences.theme);
                let text: Vec<String> = lines.iter().map(StyledLine::text).collect();
                self.effects.push(AppEffect::View(text.join("\n")));
            }
            Some(_) | None => {}
        }
    }

    fn go_to_hit(&mut self, towards: JumpDirection) {
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

    fn go_to_prompt(&mut self, towards: JumpDirection) {
        let rows = self.transcript.prompts(&self.part(), self.size.columns, &self.preferences.theme);
        self.go_to(&rows, towards);
    }

    /// Scrolls so that the nearest of these rows is on top, where possible.
    fn go_to(&mut self, rows: &[usize], towards: JumpDirection) {
        let last = self.last_top();
        let Some(Overlay::Transcript(pager)) = &mut self.overlay else { return };
        let top = pager.top.unwrap_or(last);
        let to = match towards {
            // Search backwards from here: the newest match is the likeliest.
            JumpDirection::Here => rows.iter().rev().find(|row| **row <= top + 1).or(rows.last()),
            JumpDirection::End => rows.iter().find(|row| **row > top),
            JumpDirection::Beginning => rows.iter().rev().find(|row| **row < top),
        };
        if let Some(to) = to {
            pager.top = (*to < last).then_some(*to);
        }
    }

    fn next_part(&mut self) {
        let agents = self.transcript.agents();
        let Some(Overlay::Transcript(pager)) = &mut self.overlay else { return };
        let next = match &pager.part {
            TranscriptFilter::All => agents.first(),
            TranscriptFilter::Agent(call) => {
                agents.iter().position(|known| known == call).and_then(|at| agents.get(at + 1))
            }
        };
        pager.part = next.map_or(TranscriptFilter::All, |call| TranscriptFilter::Agent(call.clone()));
        pager.top = None;
    }

    pub(super) fn pager_frame(&self, pager: &Pager) -> LiveFrame {
        let (theme, columns, page) = (&self.preferences.theme, self.size.columns, self.page());
        if pager.shows_help {
            let mut lines: Vec<StyledLine> = HELP.iter().map(|row| StyledLine::plain(*row)).take(page).collect();
            lines.resize(page, StyledLine::new());
            lines.push(self.rule(ThemeToken::PromptBorder));
            lines.push(faint("? back to the transcript", theme));
            return LiveFrame { lines, caret: None };
        }
        let last = self.last_top();
        let top = pager.top.unwrap_or(last).min(last);
        let mut lines = self.transcript.window(&pager.part, top..top + page, columns, theme);
        lines.resize(page, StyledLine::new());
        lines.push(self.rule(ThemeToken::PromptBorder));
        if let Some(typing) = &pager.typing {
            let label = format!("/{}", text::clean(typing));
            let caret = Caret { row: lines.len(), column: text::width(&label).min(columns.saturating_sub(1)) };
            lines.push(StyledLine::plain(label));
            return LiveFrame { lines, caret: Some(caret) };
        }
        let whose = match &pager.part {
            TranscriptFilter::All => "transcript",
            TranscriptFilter::Agent(_) => "transcript of an agent",
        };
        let at = if top >= last { "end".to_owned() } else { format!("{} rows below", last - top) };
        let keys = match &self.hint {
            Some((text, _)) => text.clone(),
            None => "↑↓ space b g G to move · / to search · ? for keys · q to close".to_owned(),
        };
        lines.push(faint(format!("{whose} · {at} · {keys}"), theme));
        LiveFrame { lines, caret: None }
    }
}

#[derive(Clone, Copy)]
enum JumpDirection {
    Here,
    Beginning,
    End,
}
