//! Changes of a file as rows with line numbers, signs and marked words. Rows are laid out for a width, so that numbers
//! and signs stay aligned.

use engine::compare::{DiffOp, DiffTag, compare, group_diff_ops};
use std::time::{Duration, Instant};
use terminal::highlight::{highlight, language_of};
use terminal::style::{Colour, StyledLine, StyledSpan, TextStyle};
use terminal::text;
use terminal::theme::{Theme, ThemeToken};

const CONTEXT: usize = 3;
/// The time limit of a comparison, so that a diff does not delay a frame.
const DEADLINE: Duration = Duration::from_millis(150);

/// The kind of a line in a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffSign {
    Same,
    Added,
    Removed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffRow {
    pub sign: DiffSign,
    /// The line number in the new file; for removed lines in the old file.
    pub number: usize,
    pub text: String,
    /// Byte ranges that differ from the corresponding line.
    pub marks: Vec<std::ops::Range<usize>>,
}

/// Consecutive rows; lines between hunks are left out.
pub type DiffRowHunk = Vec<DiffRow>;

/// The hunks in which two texts differ. `first_line` is the number of the first line of both.
pub fn diff_texts(old: &str, new: &str, first_line: usize) -> Vec<DiffRowHunk> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let row = |sign, lines: &[&str], at: usize| {
        let text = text::reveal(lines[at].trim_end_matches('\n').trim_end_matches('\r'));
        DiffRow { sign, number: at + first_line, text, marks: Vec::new() }
    };
    let ops = compare(&old, &new, Some(Instant::now() + DEADLINE));
    let hunk = |ops: &Vec<DiffOp>| {
        let mut rows: DiffRowHunk = Vec::new();
        for op in ops {
            if op.tag() == DiffTag::Equal {
                rows.extend(op.new_range().map(|at| row(DiffSign::Same, &new, at)));
                continue;
            }
            rows.extend(op.old_range().map(|at| row(DiffSign::Removed, &old, at)));
            rows.extend(op.new_range().map(|at| row(DiffSign::Added, &new, at)));
        }
        mark_words(&mut rows);
        rows
    };
    group_diff_ops(ops, CONTEXT).iter().map(hunk).collect()
}

/// Marks the words that differ between removed lines and the added lines that follow them.
pub fn mark_words(rows: &mut [DiffRow]) {
    let mut at = 0;
    while at < rows.len() {
        let removed = rows[at..].iter().take_while(|row| row.sign == DiffSign::Removed).count();
        let added = rows[at + removed..].iter().take_while(|row| row.sign == DiffSign::Added).count();
        for pair in 0..removed.min(added) {
            let (before, after) = (&rows[at + pair].text, &rows[at + removed + pair].text);
            if let Some((old, new)) = word_marks(before, after) {
                rows[at + pair].marks = old;
                rows[at + removed + pair].marks = new;
            }
        }
        at += (removed + added).max(1);
    }
}

type WordMarks = Vec<std::ops::Range<usize>>;

/// The ranges that differ; `None` when the lines have too little in common for marks to help.
fn word_marks(old: &str, new: &str) -> Option<(WordMarks, WordMarks)> {
    let (old_words, new_words) = (words(old), words(new));
    let deadline = Some(Instant::now() + DEADLINE / 10);
    let ops = compare(&old_words, &new_words, deadline);
    let starts = |words: &[&str]| -> Vec<usize> {
        let ends = words.iter().scan(0, |at, word| {
            *at += word.len();
            Some(*at)
        });
        std::iter::once(0).chain(ends).collect()
    };
    let (old_at, new_at) = (starts(&old_words), starts(&new_words));
    let (mut old_marks, mut new_marks, mut same) = (Vec::new(), Vec::new(), 0);
    for op in ops {
        let (old_range, new_range) = (op.old_range(), op.new_range());
        if let DiffOp::Equal { .. } = op {
            same += new_words[new_range].iter().map(|word| word.trim().len()).sum::<usize>();
            continue;
        }
        if !old_range.is_empty() {
            old_marks.push(old_at[old_range.start]..old_at[old_range.end]);
        }
        if !new_range.is_empty() {
            new_marks.push(new_at[new_range.start]..new_at[new_range.end]);
        }
    }
    (same * 3 >= old.trim().len().max(new.trim().len())).then_some((old_marks, new_marks))
}

/// Splits into runs of letters and digits, runs of blanks, and single other characters.
fn words(text: &str) -> Vec<&str> {
    let class = |c: char| {
        if c.is_alphanumeric() || c == '_' {
            1
        } else if c.is_whitespace() {
            2
        } else {
            0
        }
    };
    let mut words = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, c) in text.char_indices() {
        let now = class(c);
        if last.is_some_and(|last| last != now || now == 0) {
            words.push(&text[start..at]);
            start = at;
        }
        last = Some(now);
    }
    if start < text.len() {
        words.push(&text[start..]);
    }
    words
}

/// How a diff is drawn.
#[derive(Clone, Copy, Debug)]
pub struct DiffOptions<'a> {
    pub theme: &'a Theme,
    pub columns: usize,
    /// Selects the language for colouring.
    pub path: &'a str,
    /// The most lines drawn; the rest is counted. `usize::MAX` draws all.
    pub limit: usize,
}

/// The lines of a diff that stand in the stream; Ctrl+O and questions show all.
pub const STREAM_LINES: usize = 10;

pub fn render(hunks: &[DiffRowHunk], look: &DiffOptions<'_>) -> Vec<StyledLine> {
    let gutter = gutter_of(hunks);
    let total: usize = hunks.iter().map(Vec::len).sum();
    // A note about one line would take as much room as the line.
    let limit = if total == look.limit.saturating_add(1) { total } else { look.limit };
    let faint = look.theme.fg(ThemeToken::Inactive);
    let mut lines = Vec::new();
    let mut shown = 0;
    'all: for (index, hunk) in hunks.iter().enumerate() {
        if index > 0 && shown < limit {
            lines.push(StyledLine::styled(format!("{:>1$}", "⋮", gutter.digits), faint));
        }
        for row in hunk {
            if shown == limit {
                let more = format!("{:>1$}  {2} more lines · ctrl+o", "…", gutter.digits, total - shown);
                lines.push(StyledLine::styled(more, faint));
                break 'all;
            }
            lines.extend(draw(row, gutter, look));
            shown += 1;
        }
    }
    lines
}

/// How many rows stand before the first line that differs.
pub fn context_rows(hunks: &[DiffRowHunk], look: &DiffOptions<'_>) -> usize {
    let before = hunks.first().map_or(&[][..], Vec::as_slice).iter().take_while(|row| row.sign == DiffSign::Same);
    let gutter = gutter_of(hunks);
    before.map(|row| draw(row, gutter, look).len()).sum()
}

fn gutter_of(hunks: &[DiffRowHunk]) -> DiffGutter {
    let largest = hunks.iter().flatten().map(|row| row.number).max().unwrap_or(0);
    // Where nothing was before, a colour behind each row would tell nothing.
    let is_new = hunks.iter().flatten().all(|row| row.sign == DiffSign::Added);
    DiffGutter { digits: largest.to_string().len().max(3), is_tinted: !is_new }
}

/// What stands left of the text.
#[derive(Clone, Copy, Debug)]
struct DiffGutter {
    digits: usize,
    is_tinted: bool,
}

/// The number of added and of removed lines.
pub fn counts(hunks: &[DiffRowHunk]) -> (usize, usize) {
    let count = |sign| hunks.iter().flatten().filter(|row| row.sign == sign).count();
    (count(DiffSign::Added), count(DiffSign::Removed))
}

fn draw(row: &DiffRow, gutter: DiffGutter, look: &DiffOptions<'_>) -> Vec<StyledLine> {
    let theme = look.theme;
    let (sign, fill, word, tone) = match row.sign {
        DiffSign::Same => (' ', None, None, ThemeToken::Text),
        DiffSign::Added => {
            ('+', theme.colour(ThemeToken::DiffAdded), theme.colour(ThemeToken::DiffAddedWord), ThemeToken::Success)
        }
        DiffSign::Removed => {
            ('-', theme.colour(ThemeToken::DiffRemoved), theme.colour(ThemeToken::DiffRemovedWord), ThemeToken::Error)
        }
    };
    let fill = fill.filter(|_| gutter.is_tinted);
    let on_fill = |style: TextStyle| fill.map_or(style, |fill| theme.readable(style, fill));
    let room = look.columns.saturating_sub(gutter.digits + 3).max(8);
    let body = coloured(row, fill, word, look);
    let mut lines = Vec::new();
    for part in body.wrapped(room, 0) {
        let number = if lines.is_empty() { row.number.to_string() } else { String::new() };
        let mut line =
            StyledLine::styled(format!("{number:>0$} ", gutter.digits), on_fill(theme.fg(ThemeToken::Inactive)));
        line.push(format!("{sign} "), on_fill(theme.fg(tone)).bold());
        line.append(part);
        line.fill = fill;
        lines.push(line);
    }
    lines
}

/// The text with the colours of its language and with its marks. Tabs are expanded after the marks are placed.
fn coloured(row: &DiffRow, fill: Option<Colour>, word: Option<Colour>, look: &DiffOptions<'_>) -> StyledLine {
    let plain = highlight(&row.text, language_of(look.path), look.theme).into_iter().next().unwrap_or_default();
    let mut out = StyledLine::new();
    let mut at = 0;
    for span in plain.spans {
        let end = at + span.text.len();
        let mut cuts: Vec<usize> = vec![at, end];
        cuts.extend(row.marks.iter().flat_map(|mark| [mark.start, mark.end]).filter(|cut| at < *cut && *cut < end));
        cuts.sort_unstable();
        for pair in cuts.windows(2) {
            let is_marked = row.marks.iter().any(|mark| mark.start <= pair[0] && pair[1] <= mark.end);
            let style = match (is_marked, fill) {
                (true, _) => marked(span.style, word, look.theme),
                (false, Some(fill)) => look.theme.readable(span.style, fill),
                (false, None) => span.style,
            };
            let text = text::clean(&span.text[pair[0] - at..pair[1] - at]);
            out.push_span(StyledSpan { text, style, link: None });
        }
        at = end;
    }
    out
}

/// Bold in addition to the colour, so that marks are visible without colours.
fn marked(style: TextStyle, word: Option<Colour>, theme: &Theme) -> TextStyle {
    match word {
        Some(word) => theme.readable(style, word).bold(),
        None => style.bold().underline(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terminal::style::contrast;
    use terminal::theme::BaseTheme;

    fn shown(old: &str, new: &str, columns: usize) -> Vec<String> {
        let theme = Theme::default();
        let look = DiffOptions { theme: &theme, columns, path: "a.rs", limit: 100 };
        render(&diff_texts(old, new, 1), &look).iter().map(StyledLine::text).collect()
    }

    #[test]
    fn numbers_signs_and_context() {
        // [TST-242]
        let old = (1..=12).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
        let new = old.replace("line 6\n", "line six\n").replace("line 12\n", "line 12\nline 13\n");
        assert_eq!(
            shown(&old, &new, 40),
            [
                "  3   line 3",
                "  4   line 4",
                "  5   line 5",
                "  6 - line 6",
                "  6 + line six",
                "  7   line 7",
                "  8   line 8",
                "  9   line 9",
                " 10   line 10",
                " 11   line 11",
                " 12   line 12",
                " 13 + line 13",
            ]
        );
    }

    #[test]
    fn hunks_are_set_apart_and_long_diffs_cut() {
        let old = (1..=40).map(|n| format!("{n}\n")).collect::<Vec<_>>().concat();
        let new = old.replace("\n5\n", "\nfive\n").replace("\n30\n", "\nthirty\n");
        let hunks = diff_texts(&old, &new, 1);
        assert_eq!((hunks.len(), counts(&hunks)), (2, (2, 2)));
        let theme = Theme::default();
        let lines = render(&hunks, &DiffOptions { theme: &theme, columns: 40, path: "", limit: 4 });
        assert_eq!(lines.last().unwrap().text(), "  …  12 more lines · ctrl+o");
        assert_eq!(lines.len(), 5);
        let all = render(&hunks, &DiffOptions { theme: &theme, columns: 40, path: "", limit: usize::MAX });
        assert_eq!(all.len(), 17, "all rows and a mark between the hunks");
        let one_more = render(&hunks, &DiffOptions { theme: &theme, columns: 40, path: "", limit: 15 });
        assert_eq!(one_more.len(), 17, "a note about one line is not shorter than the line");
    }

    #[test]
    fn words_are_marked_when_lines_are_alike() {
        // [TST-242]
        let hunks = diff_texts("let count = 1;\n", "let total = 1;\n", 1);
        let only = std::slice::from_ref(&(4..9));
        assert_eq!(hunks[0][0].marks, only);
        assert_eq!(hunks[0][1].marks, only);
        assert!(diff_texts("abc\n", "xyz uvw\n", 1)[0].iter().all(|row| row.marks.is_empty()));
    }

    /// The rows in a theme.
    fn drawn(old: &str, new: &str, base: BaseTheme) -> Vec<StyledLine> {
        let look = DiffOptions { theme: &Theme::new(base), columns: 60, path: "a.rs", limit: usize::MAX };
        render(&diff_texts(old, new, 1), &look)
    }

    #[test]
    fn every_row_can_be_read_in_every_theme() {
        let (old, new) = ("// this note\nlet count = \"one\"; // 12\n", "// this other\nlet total = \"one\"; // 13\n");
        for base in BaseTheme::ALL {
            let lines = drawn(old, new, base);
            assert_eq!(lines.len(), 4);
            for line in &lines {
                let is_ansi = matches!(base, BaseTheme::DarkAnsi | BaseTheme::LightAnsi);
                assert_eq!(line.fill.is_none(), is_ansi, "{base:?}");
                for span in line.spans.iter().filter(|_| !is_ansi) {
                    let (fg, bg) = (span.style.fg.unwrap(), span.style.bg.unwrap());
                    assert!(contrast(fg, bg) >= 4.5, "{base:?} {:?}: {:.2}", span.text, contrast(fg, bg));
                }
            }
            let marked = |line: &StyledLine| {
                let strong = |span: &&StyledSpan| span.style.bold && !span.text.starts_with(['+', '-']);
                line.spans.iter().filter(strong).map(|span| span.text.clone()).collect::<String>()
            };
            assert_eq!(
                lines.iter().map(marked).collect::<Vec<_>>(),
                ["note", "count12", "other", "total13"],
                "{base:?}"
            );
        }
    }

    #[test]
    fn a_new_file_has_no_colour_behind_its_rows() {
        let lines = drawn("", "one\ntwo\n", BaseTheme::Dark);
        assert!(lines.iter().all(|line| line.fill.is_none() && line.spans.iter().all(|span| span.style.bg.is_none())));
        assert_eq!(lines.iter().map(StyledLine::text).collect::<Vec<_>>(), ["  1 + one", "  2 + two"]);
    }

    #[test]
    fn narrow_rows_wrap_under_their_text_and_tabs_have_a_width() {
        // [TST-242]
        assert_eq!(
            shown("", "\tword another 日本語日本語\n", 18),
            ["  1 +     word", "    + another 日本", "    + 語日本語"]
        );
    }
}
