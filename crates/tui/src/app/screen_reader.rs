//! The view for screen readers: the same state without layout. Finished content has labels. The live region has only
//! what changes: what the turn waits for, a question with numbered answers, suggestions, the prompt.

use super::spinner::{RunningTurn, TurnWait};
use super::tools;
use crate::screen_reader::{self, SpeakerLabel};
use terminal::style::StyledLine;
use terminal::surface::{Caret, LiveFrame};
use terminal::text;

/// What the turn does; `doing` is the text of a hook that says more.
pub fn turn_line(turn: &RunningTurn, doing: Option<&str>) -> StyledLine {
    let what = match &turn.waits {
        TurnWait::Interrupting => "Stopping.".to_owned(),
        TurnWait::Tool(tool) => format!("{}. Escape to interrupt.", tools::activity(tool)),
        TurnWait::OwnCommand => "Running your command. Escape to interrupt.".to_owned(),
        TurnWait::Retry { attempt, of, .. } => format!("Retrying, attempt {attempt} of {of}."),
        TurnWait::Compacting => "Compacting the conversation. Escape to interrupt.".to_owned(),
        TurnWait::Model | TurnWait::Thinking | TurnWait::Writing | TurnWait::NextCall | TurnWait::Permission => {
            "Working. Escape to interrupt.".to_owned()
        }
    };
    StyledLine::plain(doing.map_or(what, str::to_owned))
}

pub fn queued_lines(rows: &[StyledLine]) -> impl Iterator<Item = StyledLine> {
    rows.iter().map(|row| StyledLine::plain(format!("queued: {}", screen_reader::plain(row))))
}

/// The last `room` rows of both parts; the caret belongs to the second one.
pub fn frame(mut lines: Vec<StyledLine>, bottom: Vec<StyledLine>, caret: Caret, room: usize) -> LiveFrame {
    let offset = lines.len();
    lines.extend(bottom);
    let over = lines.len().saturating_sub(room);
    lines.drain(..over);
    let caret = Caret { row: (caret.row + offset).saturating_sub(over), ..caret };
    LiveFrame { lines, caret: Some(caret) }
}

/// The prompt, after a hint and what is otherwise drawn below it.
pub fn prompt(
    hint: Option<&str>,
    below: &[StyledLine],
    (rows, (row, column)): (Vec<StyledLine>, (usize, usize)),
) -> (Vec<StyledLine>, Caret) {
    let mut lines: Vec<StyledLine> = hint.map(StyledLine::plain).into_iter().collect();
    lines.extend(below.iter().map(|row| StyledLine::plain(row.text())));
    let caret = Caret { row: lines.len() + row, column };
    let plain = |text: String| text.strip_prefix("❯ ").map_or(text.clone(), |rest| format!("> {rest}"));
    lines.extend(rows.into_iter().map(|row| StyledLine::plain(plain(row.text()))));
    (lines, caret)
}

/// A layer in place of the prompt. Without a caret, a last row says what can be typed.
pub fn question(speaker: SpeakerLabel, rows: &[StyledLine], caret: Option<Caret>) -> (Vec<StyledLine>, Caret) {
    let typed = caret.and_then(|caret| rows.get(caret.row)).map(StyledLine::text);
    let mut lines = screen_reader::labelled_lines(speaker, rows);
    if let (Some(caret), Some(typed)) = (caret, typed) {
        let row = lines.iter().position(|line| typed.contains(line.text().trim())).unwrap_or(lines.len() - 1);
        return (lines, Caret { row, ..caret });
    }
    let prompt = match speaker {
        SpeakerLabel::Permission => "Enter selection (y/n or a number): ",
        _ => "Enter selection: ",
    };
    lines.push(StyledLine::plain(prompt));
    let caret = Caret { row: lines.len() - 1, column: text::width(prompt) };
    (lines, caret)
}
