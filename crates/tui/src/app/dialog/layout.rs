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

/// The parts of a dialog. When there is too little room, each part keeps its first row in this order: the focused choice, the
/// question, the keys, what it is about. `RowShares` divides what is left.
#[derive(Default)]
pub struct DialogLayout {
    pub head: Vec<StyledLine>,
    /// The rows of the head that are the question itself, and what stands there when not all of them fit.
    pub short_head: Option<(usize, StyledLine)>,
    pub middle: Vec<StyledLine>,
    /// The row of the middle that matters most: the first one that is shown where not all fit.
    pub anchor: usize,
    pub info: Vec<StyledLine>,
    pub choices: Vec<StyledLine>,
    /// The row of the choices that must be visible.
    pub chosen: usize,
    pub hint: String,
}

/// The rows that the parts of a dialog get.
#[derive(Debug, Default)]
struct RowShares {
    left: usize,
    rule: usize,
    head: usize,
    middle: usize,
    info: usize,
    choices: usize,
    hint: usize,
    gaps: usize,
}

/// Gives rows to a part, up to `most` of them or as many as are left.
fn give(part: &mut usize, most: usize, left: &mut usize) {
    let more = most.saturating_sub(*part).min(*left);
    *part += more;
    *left -= more;
}

impl RowShares {
    /// Divides `rows`, from what matters most to what matters least. `hint` is the number of rows of the keys.
    fn of(layout: &DialogLayout, rows: usize, hint: usize) -> Self {
        let mut share = Self { left: rows, ..Self::default() };
        let left = &mut share.left;
        let (head, middle, info) = (layout.head.len(), layout.middle.len(), layout.info.len());
        give(&mut share.choices, layout.choices.len().min(1), left);
        give(&mut share.head, head.min(1), left);
        give(&mut share.hint, hint.min(1), left);
        give(&mut share.middle, middle.min(1), left);
        give(&mut share.choices, layout.choices.len(), left);
        give(&mut share.head, head.min(rows / 6), left);
        give(&mut share.middle, middle.min(3), left);
        give(&mut share.info, info.min(2), left);
        give(&mut share.rule, usize::from(rows > 8), left);
        give(&mut share.hint, hint.min(rows / 6), left);
        give(&mut share.middle, middle.min(PREVIEW_ROWS / 2), left);
        give(&mut share.info, info.min(rows / 3), left);
        // Below the question, each of the parts, and above the keys.
        let wanted = 1 + usize::from(middle > 0) + usize::from(info > 0) + usize::from(hint > 0);
        if rows >= ROOMY && *left >= wanted {
            give(&mut share.gaps, wanted, left);
        }
        give(&mut share.middle, middle.min(PREVIEW_ROWS.max(rows / 2)), left);
        give(&mut share.info, info, left);
        share
    }
}

impl DialogLayout {
    /// `top` is the first visible row of the middle, when it was scrolled; `caret` is relative to the choices, the result to
    /// the dialog. The parts are wrapped for the inside of `place`.
    pub fn rows(
        mut self,
        place: &DialogArea<'_>,
        top: Option<usize>,
        caret: Option<(usize, usize)>,
    ) -> (Vec<StyledLine>, Option<(usize, usize)>) {
        let (margin, faint) = (place.margin(), place.theme.fg(ThemeToken::Inactive));
        let whole_hint = hint_rows(&self.hint, place);
        let share = RowShares::of(&self, place.rows.max(2), whole_hint.len());
        let hint = self.hint_within(&share, whole_hint, place);
        let head = self.head_within(&share, place);
        let skipped = (self.chosen + 1).saturating_sub(share.choices).min(self.choices.len() - share.choices);
        let top = top.unwrap_or(if self.anchor < share.middle.saturating_sub(1) { 0 } else { self.anchor });
        let middle = window(self.middle, top, share.middle, faint);
        self.info.truncate(share.info);
        let gap = |is_wanted: bool| (share.gaps > 0 && is_wanted).then(StyledLine::new);
        let mut inside = head;
        for mut part in [middle, self.info] {
            inside.extend(gap(!part.is_empty()));
            inside.append(&mut part);
        }
        inside.extend(gap(true));
        let above = inside.len() + share.rule;
        let caret = caret.map(|(row, column)| (above + row.saturating_sub(skipped), column + margin));
        inside.extend(self.choices.into_iter().skip(skipped).take(share.choices));
        inside.extend(gap(!hint.is_empty()));
        inside.extend(hint);
        let rule = StyledLine::styled("─".repeat(place.columns), place.theme.fg(ThemeToken::Permission));
        let indented = inside.into_iter().map(|line| indent(line, margin));
        (std::iter::repeat_n(rule, share.rule).chain(indented).collect(), caret)
    }

    /// The keys in their share of rows.
    fn hint_within(&self, share: &RowShares, whole: Vec<StyledLine>, place: &DialogArea<'_>) -> Vec<StyledLine> {
        if whole.len() <= share.hint {
            return whole;
        }
        let scrolls = self.middle.len() > share.middle;
        let mut rows = hint_rows(&short_hint(&self.hint, scrolls, share.hint, place.inner().columns), place);
        rows.truncate(share.hint);
        rows
    }

    /// The question in its share of rows: the short one where the whole one does not fit.
    fn head_within(&mut self, share: &RowShares, place: &DialogArea<'_>) -> Vec<StyledLine> {
        let mut head = std::mem::take(&mut self.head);
        if let Some((rows, short)) = self.short_head.take().filter(|(rows, _)| *rows > share.head) {
            head.splice(..rows.min(head.len()), [short.truncated(place.inner().columns)]);
        }
        let mut head = with_count(head, place);
        head.truncate(share.head);
        head
    }
}

fn hint_rows(hint: &str, place: &DialogArea<'_>) -> Vec<StyledLine> {
    if hint.is_empty() {
        return Vec::new();
    }
    StyledLine::styled(hint, place.theme.fg(ThemeToken::Inactive)).wrapped(place.inner().columns, 0)
}

/// As many of the keys as fit in `rows`, the first one always. Where a row of the middle is all that can be seen, the key that
/// scrolls comes right after it.
fn short_hint(hint: &str, scrolls: bool, rows: usize, columns: usize) -> String {
    let mut parts: Vec<&str> = hint.split(" · ").collect();
    if scrolls && rows == 1 {
        parts.insert(1, "pgdn");
    }
    while parts.len() > 1 && StyledLine::plain(parts.join(" · ")).wrapped(columns, 0).len() > rows {
        parts.pop();
    }
    parts.join(" · ")
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
    if room <= 1 {
        return lines.into_iter().skip(top).take(room).collect();
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
