//! Fits the parts of a dialog into a height.

use super::DialogArea;
use terminal::style::{StyledLine, TextStyle};
use terminal::theme::ThemeToken;

/// Rows of a preview inside the dialog, where there is room; the rest can be scrolled to.
pub const PREVIEW_ROWS: usize = 12;
/// Terminal rows from which blank rows separate the parts.
const ROOMY: usize = 16;

/// The parts of a dialog. When there is too little room, the choices matter most, then the title, then the preview.
pub struct DialogLayout {
    pub head: Vec<StyledLine>,
    pub middle: Vec<StyledLine>,
    pub info: Vec<StyledLine>,
    pub choices: Vec<StyledLine>,
    /// The row of the choices that must be visible.
    pub chosen: usize,
    pub hint: String,
}

impl DialogLayout {
    /// `top` is the first visible row of the middle; `caret` is relative to the choices, the result to the dialog.
    pub fn rows(
        self,
        place: &DialogArea<'_>,
        top: usize,
        caret: Option<(usize, usize)>,
    ) -> (Vec<StyledLine>, Option<(usize, usize)>) {
        let (theme, rows, columns) = (place.theme, place.rows.max(2), place.columns);
        let faint = theme.fg(ThemeToken::Inactive);
        let mut hint: Vec<StyledLine> = StyledLine::styled(self.hint, faint).wrapped(columns, 0);
        hint.truncate(rows / 6);
        let rule = if rows > 8 {
            vec![StyledLine::styled("─".repeat(columns), theme.fg(ThemeToken::Permission))]
        } else {
            Vec::new()
        };
        let mut head = self.head;
        head.truncate((rows / 6).max(1));
        let mut choices = self.choices;
        let most = rows - rule.len() - head.len() - hint.len();
        // With nothing in between, the gap separates the choices from the question.
        let is_bare = self.middle.is_empty() && self.info.is_empty();
        let parts = (usize::from(!self.middle.is_empty()) + usize::from(!self.info.is_empty())).max(1);
        let gaps = if rows >= ROOMY && choices.len() + parts < most { parts } else { 0 };
        let skipped =
            if choices.len() > most { self.chosen.saturating_sub(most - 1).min(choices.len() - most) } else { 0 };
        choices.drain(..skipped);
        choices.truncate(most);
        let left = most - choices.len() - gaps;
        let mut info = self.info;
        info.truncate(left.saturating_sub(self.middle.len().min(PREVIEW_ROWS)).max(left / 3));
        let room = left - info.len().min(left);
        let mut out = rule;
        out.append(&mut head);
        if gaps > 0 && is_bare {
            out.push(StyledLine::new());
        }
        for mut part in [window(self.middle, top, room.min(PREVIEW_ROWS.max(rows / 2)), faint), info] {
            let gap = usize::from(gaps > 0 && !part.is_empty());
            out.append(&mut part);
            out.extend(std::iter::repeat_n(StyledLine::new(), gap));
        }
        let caret = caret.map(|(row, column)| (out.len() + row.saturating_sub(skipped), column));
        out.append(&mut choices);
        out.append(&mut hint);
        (out, caret)
    }
}

/// The lines that fit, with a count of the hidden ones.
fn window(lines: Vec<StyledLine>, top: usize, room: usize, faint: TextStyle) -> Vec<StyledLine> {
    if lines.len() <= room {
        return lines;
    }
    if room == 0 {
        return Vec::new();
    }
    let all = lines.len();
    let shown = room - 1;
    let top = top.min(all - shown);
    let mut out: Vec<StyledLine> = lines.into_iter().skip(top).take(shown).collect();
    let (above, below) = (top, all - top - shown);
    out.push(StyledLine::styled(format!("  … {above} rows above, {below} below (pgup, pgdn)"), faint));
    out
}
