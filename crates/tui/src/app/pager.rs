//! The transcript view: scrolling, searching, filtering by agent, and copying it to the scrollback or an editor. It
//! follows new output until the user scrolls up.

use super::AppEffect;
use super::layers::effects::LayerEffect;
use super::layers::{KeyOutcome, Layer, LayerRank, LayerRows, LayerView};
use super::prompt_view::rule;
use super::spinner::faint;
use super::transcript::TranscriptFilter;
use std::time::Duration;
use terminal::keys::bindings::{KeyAction, KeyContext};
use terminal::keys::{KeyCode, KeyPress};
use terminal::style::StyledLine;
use terminal::surface::{Caret, LiveFrame, TerminalSize};
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

const HINT_DURATION: Duration = Duration::from_secs(4);

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

/// Rows of the conversation that are shown at once.
fn page(size: TerminalSize) -> usize {
    size.rows.saturating_sub(2).max(1)
}

#[derive(Clone, Copy)]
enum JumpDirection {
    Here,
    Beginning,
    End,
}

impl Layer for Pager {
    fn rank(&self) -> LayerRank {
        LayerRank::Transcript
    }

    fn contexts(&self) -> &'static [KeyContext] {
        &[KeyContext::Transcript, KeyContext::Scroll, KeyContext::Global]
    }

    fn key(&mut self, key: KeyPress, view: &LayerView<'_>) -> KeyOutcome {
        // While a search text is typed, keys are letters.
        match self.typing {
            Some(_) => KeyOutcome::Taken(self.search_key(key, view)),
            None => KeyOutcome::Bindings,
        }
    }

    fn action(&mut self, action: KeyAction, view: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        match action {
            KeyAction::TranscriptExit | KeyAction::Interrupt => Some(vec![LayerEffect::Close]),
            KeyAction::ScrollLineUp
            | KeyAction::ScrollLineDown
            | KeyAction::ScrollPageUp
            | KeyAction::ScrollPageDown
            | KeyAction::ScrollHalfUp
            | KeyAction::ScrollHalfDown
            | KeyAction::ScrollFullUp
            | KeyAction::ScrollFullDown
            | KeyAction::ScrollTop
            | KeyAction::ScrollBottom => {
                self.scroll(action, view);
                Some(Vec::new())
            }
            _ => None,
        }
    }

    fn unbound_key(&mut self, key: KeyPress, view: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        match key.text() {
            Some('/') => self.typing = Some(String::new()),
            Some('n') => return Some(self.go_to_hit(JumpDirection::End, view)),
            Some('N') => return Some(self.go_to_hit(JumpDirection::Beginning, view)),
            Some('{') => self.go_to_prompt(JumpDirection::Beginning, view),
            Some('}') => self.go_to_prompt(JumpDirection::End, view),
            Some('a') => self.next_part(view),
            Some('?') => self.shows_help = !self.shows_help,
            Some('[') => return Some(vec![LayerEffect::Close, LayerEffect::Print(self.lines(view))]),
            Some('v') => {
                let text: Vec<String> = self.lines(view).iter().map(StyledLine::text).collect();
                return Some(vec![LayerEffect::Outside(AppEffect::View(text.join("\n")))]);
            }
            Some(_) | None => {}
        }
        Some(Vec::new())
    }

    fn rows(&self, view: &LayerView<'_>) -> LayerRows {
        LayerRows::WholeScreen(self.frame(view))
    }

    fn covers_screen(&self) -> bool {
        true
    }
}

impl Pager {
    /// The conversation of the agent that this call started.
    pub fn of_agent(call: &str) -> Self {
        Self { part: TranscriptFilter::Agent(call.to_owned()), ..Self::default() }
    }

    /// The shown part of the conversation.
    fn lines(&self, view: &LayerView<'_>) -> Vec<StyledLine> {
        view.transcript.lines(&self.part, &view.preferences.theme)
    }

    /// The last row at which the window may begin.
    fn last_top(&self, view: &LayerView<'_>) -> usize {
        let height = view.transcript.height(&self.part, view.size.columns, &view.preferences.theme);
        height.saturating_sub(page(view.size))
    }

    fn scroll(&mut self, action: KeyAction, view: &LayerView<'_>) {
        let (page, last) = (page(view.size), self.last_top(view));
        let top = self.top.unwrap_or(last).min(last);
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
        self.top = (to < last).then_some(to);
    }

    fn search_key(&mut self, key: KeyPress, view: &LayerView<'_>) -> Vec<LayerEffect> {
        let Some(typing) = &mut self.typing else { return Vec::new() };
        match (key.text(), key.code) {
            (Some(c), _) => typing.push(c),
            (None, KeyCode::Backspace) => {
                if typing.pop().is_none() {
                    self.typing = None;
                }
            }
            (None, KeyCode::Enter) => {
                self.query = self.typing.take().unwrap_or_default();
                return self.go_to_hit(JumpDirection::Here, view);
            }
            (None, _) => self.typing = None,
        }
        Vec::new()
    }

    fn go_to_hit(&mut self, towards: JumpDirection, view: &LayerView<'_>) -> Vec<LayerEffect> {
        if self.query.is_empty() {
            return Vec::new();
        }
        let rows = view.transcript.find(&self.part, &self.query, view.size.columns, &view.preferences.theme);
        if rows.is_empty() {
            return vec![LayerEffect::Hint(format!("{} is not there", self.query), HINT_DURATION)];
        }
        self.go_to(&rows, towards, view);
        Vec::new()
    }

    fn go_to_prompt(&mut self, towards: JumpDirection, view: &LayerView<'_>) {
        let rows = view.transcript.prompts(&self.part, view.size.columns, &view.preferences.theme);
        self.go_to(&rows, towards, view);
    }

    /// Scrolls so that the nearest of these rows is on top, where possible.
    fn go_to(&mut self, rows: &[usize], towards: JumpDirection, view: &LayerView<'_>) {
        let last = self.last_top(view);
        let top = self.top.unwrap_or(last);
        let to = match towards {
            // Search backwards from here: the newest match is the likeliest.
            JumpDirection::Here => rows.iter().rev().find(|row| **row <= top + 1).or(rows.last()),
            JumpDirection::End => rows.iter().find(|row| **row > top),
            JumpDirection::Beginning => rows.iter().rev().find(|row| **row < top),
        };
        if let Some(to) = to {
            self.top = (*to < last).then_some(*to);
        }
    }

    fn next_part(&mut self, view: &LayerView<'_>) {
        let agents = view.transcript.agents();
        let next = match &self.part {
            TranscriptFilter::All => agents.first(),
            TranscriptFilter::Agent(call) => {
                agents.iter().position(|known| known == call).and_then(|at| agents.get(at + 1))
            }
        };
        self.part = next.map_or(TranscriptFilter::All, |call| TranscriptFilter::Agent(call.clone()));
        self.top = None;
    }

    fn frame(&self, view: &LayerView<'_>) -> LiveFrame {
        let (theme, columns, page) = (&view.preferences.theme, view.size.columns, page(view.size));
        let border = rule(theme, columns, ThemeToken::PromptBorder);
        if self.shows_help {
            let mut lines: Vec<StyledLine> = HELP.iter().map(|row| StyledLine::plain(*row)).take(page).collect();
            lines.resize(page, StyledLine::new());
            lines.push(border);
            lines.push(faint("? back to the transcript", theme));
            return LiveFrame { lines, caret: None };
        }
        let last = self.last_top(view);
        let top = self.top.unwrap_or(last).min(last);
        let mut lines = view.transcript.window(&self.part, top..top + page, columns, theme);
        lines.resize(page, StyledLine::new());
        lines.push(border);
        if let Some(typing) = &self.typing {
            let label = format!("/{}", text::clean(typing));
            let caret = Caret { row: lines.len(), column: text::width(&label).min(columns.saturating_sub(1)) };
            lines.push(StyledLine::plain(label));
            return LiveFrame { lines, caret: Some(caret) };
        }
        let whose = match &self.part {
            TranscriptFilter::All => "transcript",
            TranscriptFilter::Agent(_) => "transcript of an agent",
        };
        let at = if top >= last { "end".to_owned() } else { format!("{} rows below", last - top) };
        let keys = view.hint.unwrap_or("↑↓ space b g G to move · / to search · ? for keys · q to close");
        lines.push(faint(format!("{whose} · {at} · {keys}"), theme));
        LiveFrame { lines, caret: None }
    }
}
