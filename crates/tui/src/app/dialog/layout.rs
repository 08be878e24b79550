//! The frame of a dialog: a thin rule, the question, what it is about, the answers and the keys. Fits them into a height.

use super::DialogArea;
use terminal::style::{StyledLine, TextStyle};
use terminal::text;
use terminal::theme::ThemeToken;
use wire::counting::counted;

/// Rows of a preview inside the dialog, where there is room; the rest can be scrolled to.
pub const PREVIEW_ROWS: usize = 12;
/// Terminal rows from which blank rows separate the parts.
const ROOMY: usize = 16;
/// Columns from which there is a margin.
const WIDE: usize = 32;

impl DialogArea<'_> {
    /// Blank columns at the left edge.
    pub fn margin(&self) -> usize {
        if self.columns >= WIDE { 2 } else { 0 }
    }

    /// The place inside the margin, for which the parts are wrapped.
    #[must_use]
    pub fn inner(&self) -> Self {
        Self { columns: self.columns - self.margin(), ..*self }
    }

    /// One answer among others, with its number.
    pub fn option(&self, index: usize, label: &str, is_chosen: bool) -> Vec<StyledLine> {
        let style = if is_chosen { self.theme.fg(ThemeToken::Permission) } else { TextStyle::PLAIN };
        let mark = if is_chosen { "❯" } else { " " };
        StyledLine::styled(format!("{mark} {}. {label}", index + 1), style).wrapped(self.columns, 5)
    }
}

/// The parts of a dialog. When there is too little room, the choices matter most, then the title, then the preview.
#[derive(Default)]
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
    /// `top` is the first visible row of the middle; `caret` is relative to the choices, the result to the dialog. The
    /// parts are wrapped for the inside of `place`.
    pub fn rows(
        self,
        place: &DialogArea<'_>,
        top: usize,
        caret: Option<(usize, usize)>,
    ) -> (Vec<StyledLine>, Option<(usize, usize)>) {
        let (theme, rows, margin) = (place.theme, place.rows.max(2), place.margin());
        let faint = theme.fg(ThemeToken::Inactive);
        let mut hint: Vec<StyledLine> = StyledLine::styled(self.hint, faint).wrapped(place.inner().columns, 0);
        hint.truncate(rows / 6);
        let rule = (rows > 8).then(|| StyledLine::styled("─".repeat(place.columns), theme.fg(ThemeToken::Permission)));
        let mut head = with_count(self.head, place);
        head.truncate((rows / 6).max(1));
        let mut choices = self.choices;
        let most = rows - rule.iter().len() - head.len() - hint.len();
        // Below the question, each of the parts, and above the keys.
        let parts = usize::from(!self.middle.is_empty()) + usize::from(!self.info.is_empty());
        let wanted = 1 + parts + usize::from(!hint.is_empty());
        let gaps = if rows >= ROOMY && choices.len() + wanted + parts <= most { wanted } else { 0 };
        let skipped =
            if choices.len() > most { self.chosen.saturating_sub(most - 1).min(choices.len() - most) } else { 0 };
        choices.drain(..skipped);
        choices.truncate(most);
        let left = most - choices.len() - gaps;
        let mut info = self.info;
        info.truncate(left.saturating_sub(self.middle.len().min(PREVIEW_ROWS)).max(left / 3));
        let room = left - info.len().min(left);
        let middle = window(self.middle, top, room.min(PREVIEW_ROWS.max(rows / 2)), faint);
        let mut inside = head;
        for mut part in [middle, info] {
            inside.extend((gaps > 0 && !part.is_empty()).then(StyledLine::new));
            inside.append(&mut part);
        }
        inside.extend((gaps > 0).then(StyledLine::new));
        let above = inside.len() + rule.iter().len();
        let caret = caret.map(|(row, column)| (above + row.saturating_sub(skipped), column + margin));
        inside.append(&mut choices);
        inside.extend((gaps > 0 && !hint.is_empty()).then(StyledLine::new));
        inside.append(&mut hint);
        let indented = inside.into_iter().map(|line| indent(line, margin));
        (rule.into_iter().chain(indented).collect(), caret)
    }
}

/// How many questions there are, at the right edge of the question.
fn with_count(mut head: Vec<StyledLine>, place: &DialogArea<'_>) -> Vec<StyledLine> {
    if place.waiting == 0 {
        return head;
    }
    let count = format!("1 of {}", place.waiting + 1);
    let columns = place.inner().columns;
    let faint = place.theme.fg(ThemeToken::Inactive);
    let room = head.first().and_then(|title| columns.checked_sub(title.width() + text::width(&count)));
    match (head.first_mut(), room.filter(|room| *room >= 2)) {
        (Some(title), Some(room)) => title.push(format!("{}{count}", " ".repeat(room)), faint),
        _ => head.push(StyledLine::styled(count, faint)),
    }
    head
}

/// The line behind `columns` blanks; a background goes on to both edges.
pub(super) fn indent(line: StyledLine, columns: usize) -> StyledLine {
    if line.is_empty() || columns == 0 {
        return line;
    }
    let mut row = StyledLine::plain(" ".repeat(columns));
    row.fill = line.fill;
    row.append(line);
    row
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
    let rows = |count: usize| counted(count, "row");
    let hidden = match (above, below) {
        (0, below) => format!("… {} below · pgdn", rows(below)),
        (above, 0) => format!("… {} above · pgup", rows(above)),
        (above, below) => format!("… {} above, {below} below · pgup pgdn", rows(above)),
    };
    out.push(StyledLine::styled(format!("  {hidden}"), faint));
    out
}

/// The text of rows inside the margin.
#[cfg(test)]
pub(in crate::app) fn inside_margin(rows: &[StyledLine], place: &DialogArea<'_>) -> Vec<String> {
    let margin = " ".repeat(place.margin());
    let inside = |row: &StyledLine| row.text().strip_prefix(&margin).map_or_else(|| row.text(), str::to_owned);
    rows.iter().map(inside).collect()
}
