//! The transcript view: the record without limits, with the text that is being written. Scrolling, searching, filtering
//! by agent or by changes, one entry as JSON, and copying it to the scrollback or an editor. It follows new output until
//! the user scrolls up.

use super::AppEffect;
use super::layers::effects::LayerEffect;
use super::layers::{KeyOutcome, Layer, LayerRank, LayerRows, LayerView};
use super::prompt_view::rule;
use super::record::RecordLook;
use super::reply::reply_lines;
use super::spinner::faint;
use super::tools::{RecordLimits, counted};
use super::transcript::TranscriptFilter;
use std::cell::RefCell;
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
    /// An entry as JSON, shown in place of the conversation.
    raw: Option<RawEntry>,
    /// The rows of the text that is being written, as last drawn.
    live: RefCell<LiveRows>,
}

/// The rows of a text that is being written, with its length and the width they were drawn for.
#[derive(Debug, Default)]
struct LiveRows {
    length: usize,
    columns: usize,
    rows: Vec<StyledLine>,
}

/// An entry as JSON.
#[derive(Debug)]
struct RawEntry {
    text: String,
    /// The first row shown.
    top: usize,
}

/// How the view draws the record.
fn look<'a>(view: &LayerView<'a>) -> RecordLook<'a> {
    RecordLook {
        theme: &view.preferences.theme,
        columns: view.size.columns,
        syntax: view.preferences.syntax,
        wrap: view.preferences.wrap,
        limits: RecordLimits::NONE,
    }
}

/// The rows of the text that is being written, after a blank one.
fn live_rows(view: &LayerView<'_>) -> Vec<StyledLine> {
    let lines = reply_lines(view.reply.text(), &look(view).markdown());
    let rows = lines.into_iter().flat_map(|line| line.cut_at(view.size.columns));
    let blank = (!view.reply.text().is_empty()).then(StyledLine::new);
    blank.into_iter().chain(rows).collect()
}

const HINT_DURATION: Duration = Duration::from_secs(4);
/// Columns before everything but the entries, which have a margin of their own.
const MARGIN: usize = 2;

/// The keys that are named below the conversation, with the rank in which they are left out where there is no room.
const KEYS: [(&str, u8); 4] = [("↑↓ space b g G to move", 4), ("/ to search", 3), ("? for keys", 2), ("q to close", 1)];

const HELP: [&str; 11] = [
    "↑ ↓ j k           one row",
    "space b           one page (also ctrl+f ctrl+b, page up and down)",
    "ctrl+u ctrl+d     half a page",
    "g G               to the beginning, to the end",
    "{ }               to the prompt before, to the next one",
    "/ n N             search, next hit, hit before",
    "a                 everything, or one agent after the other",
    "d                 only file changes, or everything",
    "r                 the entry on top as JSON",
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
            KeyAction::TranscriptExit | KeyAction::Interrupt if self.raw.take().is_some() => Some(Vec::new()),
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
            Some('d') => self.toggle_changes(),
            Some('r') => self.toggle_raw(view),
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
        view.transcript.lines(&self.part, &look(view))
    }

    /// The rows of the shown part of the record.
    fn record_height(&self, view: &LayerView<'_>) -> usize {
        view.transcript.height(&self.part, &look(view))
    }

    /// The rows of the text that is being written, when it belongs to the shown part.
    fn live_rows(&self, view: &LayerView<'_>) -> Vec<StyledLine> {
        if self.part != TranscriptFilter::All {
            return Vec::new();
        }
        let (length, columns) = (view.reply.text().len(), view.size.columns);
        let mut live = self.live.borrow_mut();
        if live.length != length || live.columns != columns {
            *live = LiveRows { length, columns, rows: live_rows(view) };
        }
        live.rows.clone()
    }

    /// The last row at which the window may begin.
    fn last_top(&self, view: &LayerView<'_>) -> usize {
        let height = match &self.raw {
            Some(raw) => raw_rows(&raw.text, view.size.columns).len(),
            None => self.record_height(view) + self.live_rows(view).len(),
        };
        height.saturating_sub(page(view.size))
    }

    fn scroll(&mut self, action: KeyAction, view: &LayerView<'_>) {
        let (page, last) = (page(view.size), self.last_top(view));
        let top = self.raw.as_ref().map(|raw| raw.top).or(self.top).unwrap_or(last).min(last);
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
        match &mut self.raw {
            Some(raw) => raw.top = to.min(last),
            None => self.top = (to < last).then_some(to),
        }
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
        let rows = view.transcript.find(&self.part, &self.query, &look(view));
        if rows.is_empty() {
            return vec![LayerEffect::Hint(format!("{} was not found", self.query), HINT_DURATION)];
        }
        self.go_to(&rows, towards, view);
        Vec::new()
    }

    fn go_to_prompt(&mut self, towards: JumpDirection, view: &LayerView<'_>) {
        let rows = view.transcript.prompts(&self.part, &look(view));
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
            TranscriptFilter::All | TranscriptFilter::Changes => agents.first(),
            TranscriptFilter::Agent(call) => {
                agents.iter().position(|known| known == call).and_then(|at| agents.get(at + 1))
            }
        };
        self.part = next.map_or(TranscriptFilter::All, |call| TranscriptFilter::Agent(call.clone()));
        self.top = None;
    }

    fn toggle_changes(&mut self) {
        let shows_changes = self.part == TranscriptFilter::Changes;
        self.part = if shows_changes { TranscriptFilter::All } else { TranscriptFilter::Changes };
        self.top = None;
    }

    /// Shows the entry on top as JSON, or the conversation again. At the end of the conversation the last entry counts.
    fn toggle_raw(&mut self, view: &LayerView<'_>) {
        if self.raw.take().is_some() {
            return;
        }
        let last_row = self.record_height(view).saturating_sub(1);
        let row = self.top.unwrap_or(last_row).min(last_row);
        let text = view.transcript.raw_at(&self.part, row, &look(view));
        self.raw = text.map(|text| RawEntry { text, top: 0 });
    }

    fn frame(&self, view: &LayerView<'_>) -> LiveFrame {
        let (theme, columns, page) = (&view.preferences.theme, view.size.columns, page(view.size));
        let border = rule(columns, theme.fg(ThemeToken::PromptBorder));
        if self.shows_help {
            let row = |row: &&str| StyledLine::plain(*row).indented(MARGIN);
            let mut lines: Vec<StyledLine> = HELP.iter().map(row).take(page).collect();
            lines.resize(page, StyledLine::new());
            lines.push(border);
            lines.push(faint("? back to the transcript", theme).indented(MARGIN));
            return LiveFrame { lines, caret: None };
        }
        let last = self.last_top(view);
        let top = self.raw.as_ref().map(|raw| raw.top).or(self.top).unwrap_or(last).min(last);
        let mut lines = self.page_rows(top, page, view);
        lines.resize(page, StyledLine::new());
        lines.push(border);
        if let Some(typing) = &self.typing {
            let label = format!("{}/{}", " ".repeat(MARGIN), text::clean(typing));
            let caret = Caret { row: lines.len(), column: text::width(&label).min(columns.saturating_sub(1)) };
            lines.push(StyledLine::plain(label));
            return LiveFrame { lines, caret: Some(caret) };
        }
        let whose = match (&self.raw, &self.part) {
            (Some(_), _) => "one entry as JSON · r for the transcript",
            (None, TranscriptFilter::All) => "transcript",
            (None, TranscriptFilter::Agent(_)) => "transcript of an agent",
            (None, TranscriptFilter::Changes) => "file changes",
        };
        let at = if top >= last { "end".to_owned() } else { format!("{} below", counted(last - top, "row")) };
        let facts = format!("{whose} · {at}");
        let room = columns.saturating_sub(MARGIN);
        let mut named = vec![(facts.as_str(), 0)];
        named.extend(KEYS);
        let shown = match view.hint {
            Some(hint) => format!("{facts} · {hint}"),
            None => text::keys_within(&named, room),
        };
        lines.push(faint(shown, theme).indented(MARGIN).truncated(columns));
        LiveFrame { lines, caret: None }
    }

    fn page_rows(&self, top: usize, page: usize, view: &LayerView<'_>) -> Vec<StyledLine> {
        if let Some(raw) = &self.raw {
            return raw_rows(&raw.text, view.size.columns).into_iter().skip(top).take(page).collect();
        }
        let height = self.record_height(view);
        let mut lines = view.transcript.window(&self.part, top..top + page, &look(view));
        let missing = page - lines.len().min(page);
        lines.extend(self.live_rows(view).into_iter().skip(top.saturating_sub(height)).take(missing));
        lines
    }
}

/// The rows of an entry as JSON.
fn raw_rows(json: &str, columns: usize) -> Vec<StyledLine> {
    let clean = text::clean(json);
    let lines = clean.split('\n').map(StyledLine::plain);
    lines.flat_map(|line| line.indented(MARGIN).wrapped(columns, 2 * MARGIN)).collect()
}
