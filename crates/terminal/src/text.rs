//! Width, wrapping and truncation of text in columns. Works on grapheme clusters and never splits one. Assumes nothing
//! about how the terminal shows a cluster except its number of columns.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Replacement for tabs in shown text.
pub const TAB: &str = "    ";

/// Columns of one grapheme cluster; 0 for a control character.
pub fn cluster_width(cluster: &str) -> usize {
    let mut chars = cluster.chars();
    if let (Some(only), None) = (chars.next(), chars.next())
        && only.is_control()
    {
        return 0;
    }
    cluster.width().min(2)
}

/// Columns of a text without line breaks.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.bytes().filter(|byte| (0x20..0x7f).contains(byte)).count();
    }
    if text.chars().all(is_single) {
        return text.chars().count();
    }
    text.graphemes(true).map(cluster_width).sum()
}

/// True for characters that take one column and never combine with others: letters, punctuation, and the lines and
/// boxes that frames contain.
fn is_single(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{2ff}' | '\u{2010}'..='\u{2027}' | '\u{2500}'..='\u{259f}')
}

/// Makes foreign text safe and measurable: tabs become spaces, other control characters and direction overrides are
/// removed, line breaks are kept.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\t' => out.push_str(TAB),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\n' | '\r' => out.push('\n'),
            '\u{1b}' => skip_sequence(&mut rest),
            c if c.is_control() || is_override(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Spells out what would hide or reorder text: controls, invisible characters and direction overrides. Tabs and line breaks stay,
/// and so does what only joins or colours emoji.
pub fn reveal(text: &str) -> String {
    if text.chars().all(|c| matches!(c, ' '..='~' | '\t' | '\n')) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let joins = match c {
            '\u{200d}' => is_symbol(before) && rest.peek().copied().is_some_and(is_symbol),
            '\u{fe0e}' | '\u{fe0f}' => is_symbol(before),
            _ => matches!(c, '\t' | '\n'),
        };
        if joins {
            out.push(c);
        } else {
            out.push_str(&wire::deceptive::escape_invisible(c.encode_utf8(&mut [0; 4])));
        }
        before = if matches!(c, '\u{fe0f}') { before } else { c };
    }
    out
}

/// Emoji and signs that may be shown as one.
fn is_symbol(c: char) -> bool {
    matches!(c, '\u{203c}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}' | '©' | '®')
}

/// Drops the rest of an escape sequence, so that its letters do not show up as text.
fn skip_sequence(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            while let Some(&c) = rest.peek() {
                if !c.is_ascii() || c.is_control() {
                    return;
                }
                rest.next();
                if ('@'..='~').contains(&c) {
                    return;
                }
            }
        }
        Some(']' | 'P' | '_' | '^' | 'X') => {
            rest.next();
            while let Some(&c) = rest.peek() {
                if c == '\n' {
                    return;
                }
                rest.next();
                if c == '\u{7}' || c == '\u{9c}' {
                    return;
                }
                if c == '\u{1b}' {
                    rest.next_if_eq(&'\\');
                    return;
                }
            }
        }
        Some(c) if c.is_ascii_graphic() => {
            rest.next();
        }
        Some(_) | None => {}
    }
}

/// Characters that reorder or hide the text next to them.
pub fn is_override(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{feff}')
}

/// Byte length of the longest prefix of at most `columns`.
pub fn fit(text: &str, columns: usize) -> usize {
    let mut used = 0;
    for (at, cluster) in text.grapheme_indices(true) {
        used += cluster_width(cluster);
        if used > columns {
            return at;
        }
    }
    text.len()
}

/// The text cut to at most `columns`, with an ellipsis if something was cut.
pub fn truncate(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    format!("{}…", &text[..fit(text, room)])
}

/// The end of a text in at most `columns`, with a sign for what is missing before it.
pub fn truncate_start(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let starts = text.char_indices().map(|(at, _)| at).find(|at| width(&text[*at..]) <= room);
    format!("…{}", &text[starts.unwrap_or(text.len())..])
}

/// Joins hints with dots. While they do not fit, the one with the highest number is left out; the one with the lowest
/// number always stays.
pub fn keys_within(keys: &[(&str, u8)], columns: usize) -> String {
    let mut shown = keys.to_vec();
    loop {
        let text = shown.iter().map(|(key, _)| *key).collect::<Vec<_>>().join(" · ");
        if shown.len() <= 1 || width(&text) <= columns {
            return text;
        }
        let last = shown.iter().map(|(_, rank)| *rank).max();
        shown.retain(|(_, rank)| Some(*rank) != last);
    }
}

/// Breaks `text` into rows of at most `columns` (the first row: at most `first`). Rows are broken at blanks, and between
/// characters of scripts that are written without them. Returns byte ranges without the blanks at the breaks. A word that
/// is too long for a row is cut. Never empty.
pub fn wrap(text: &str, first: usize, columns: usize) -> Vec<std::ops::Range<usize>> {
    let mut rows = Vec::new();
    wrap_from(text, 0, first, columns, &mut rows);
    rows
}

/// Like `wrap`, for the part of `text` from `start` on, which begins a row of at most `first` columns. Adds to `rows`.
pub fn wrap_from(text: &str, start: usize, first: usize, columns: usize, rows: &mut Vec<std::ops::Range<usize>>) {
    let mut filler = RowFiller {
        rows,
        start,
        used: 0,
        room: first.max(1),
        columns: columns.max(1),
        place: None,
        before: ClusterKind::Blank,
    };
    let is_simple = text[start..].chars().all(is_single);
    loop {
        let (from, rest) = (filler.start.min(text.len()), text.get(filler.start..).unwrap_or_default());
        let mut is_done = true;
        if is_simple {
            for (at, c) in rest.char_indices() {
                is_done = filler.add(from + at, 1, if c == ' ' { ClusterKind::Blank } else { ClusterKind::Letter });
                if !is_done {
                    break;
                }
            }
        } else {
            for (at, cluster) in rest.grapheme_indices(true) {
                is_done = filler.add(from + at, cluster_width(cluster), ClusterKind::of(cluster));
                if !is_done {
                    break;
                }
            }
        }
        if is_done {
            break;
        }
        filler.restart();
    }
    let start = filler.start.min(text.len());
    rows.push(start..text.len());
}

/// What decides whether a row may be broken beside a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClusterKind {
    Blank,
    Letter,
    /// Written without blanks: a row may be broken before and after it.
    Ideograph,
    /// Punctuation that does not begin a row.
    Closing,
    /// Punctuation that does not end a row.
    Opening,
}

impl ClusterKind {
    fn of(cluster: &str) -> Self {
        match cluster.chars().next() {
            Some(' ') => Self::Blank,
            Some(
                '、' | '。' | '，' | '．' | '：' | '；' | '？' | '！' | '）' | '」' | '』' | '】' | '〕' | '〉' | '》'
                | '］' | '｝' | 'ー' | '々' | '・' | '…',
            ) => Self::Closing,
            Some('（' | '「' | '『' | '【' | '〔' | '〈' | '《' | '［' | '｛') => Self::Opening,
            Some(
                '\u{2e80}'..='\u{2fff}'
                | '\u{3040}'..='\u{33ff}'
                | '\u{3400}'..='\u{4dbf}'
                | '\u{4e00}'..='\u{9fff}'
                | '\u{f900}'..='\u{faff}'
                | '\u{ff66}'..='\u{ff9f}'
                | '\u{20000}'..='\u{3ffff}',
            ) => Self::Ideograph,
            Some(_) | None => Self::Letter,
        }
    }

    /// Whether a row may be broken between `self` and `next`.
    fn breaks_before(self, next: Self) -> bool {
        matches!(
            (self, next),
            (Self::Ideograph | Self::Closing, Self::Ideograph | Self::Letter | Self::Opening)
                | (Self::Letter, Self::Ideograph | Self::Opening)
        )
    }
}

/// A position at which the row can be broken.
#[derive(Clone, Copy)]
struct BreakPlace {
    end: usize,
    /// Where the next row begins.
    next: usize,
    /// Columns up to `next`.
    used: usize,
}

struct RowFiller<'a> {
    rows: &'a mut Vec<std::ops::Range<usize>>,
    /// The row being filled.
    start: usize,
    used: usize,
    room: usize,
    /// The room of all later rows.
    columns: usize,
    place: Option<BreakPlace>,
    before: ClusterKind,
}

impl RowFiller<'_> {
    /// Adds a cluster to the row, or to the next one. `false` when the text from the new row on has to be added again, because a
    /// part of it that fitted in the first row does not fit in the narrower second one.
    fn add(&mut self, at: usize, wide: usize, kind: ClusterKind) -> bool {
        let before = std::mem::replace(&mut self.before, kind);
        if kind == ClusterKind::Blank {
            if self.used + wide > self.room {
                // A blank never starts a row: the row is broken there.
                self.end_row(at, at + 1, self.used);
                return true;
            }
            self.used += wide;
            self.place = Some(BreakPlace { end: at, next: at + 1, used: self.used });
            return true;
        }
        if at > self.start && before.breaks_before(kind) {
            self.place = Some(BreakPlace { end: at, next: at, used: self.used });
        }
        if self.used + wide > self.room && at > self.start {
            match self.place.filter(|place| place.end > self.start) {
                Some(place) => self.end_row(place.end, place.next, place.used),
                None => self.end_row(at, at, self.used),
            }
            if self.used > self.room {
                return false;
            }
            if self.used + wide > self.room && at > self.start {
                self.end_row(at, at, self.used);
            }
        }
        self.used += wide;
        true
    }

    /// Begins the current row anew.
    fn restart(&mut self) {
        self.used = 0;
        self.place = None;
        self.before = ClusterKind::Blank;
    }

    fn end_row(&mut self, end: usize, next: usize, used: usize) {
        self.rows.push(self.start..end);
        self.start = next;
        self.used -= used;
        self.room = self.columns;
        self.place = None;
    }
}

/// The rows in which a terminal that breaks rows anywhere shows `text`, as byte ranges. Never empty.
pub fn cut_rows(text: &str, columns: usize) -> Vec<std::ops::Range<usize>> {
    let columns = columns.max(2);
    let (mut rows, mut start, mut used) = (Vec::new(), 0, 0);
    for (at, cluster) in text.grapheme_indices(true) {
        let wide = cluster_width(cluster);
        if used + wide > columns {
            rows.push(start..at);
            (start, used) = (at, 0);
        }
        used += wide;
    }
    rows.push(start..text.len());
    rows
}

/// The row, counted from 0, in which a terminal that breaks rows anywhere shows the cell at `column` of `text`. A wide
/// character is not split, so it may leave the last column empty.
pub fn rows_before(text: &str, column: usize, columns: usize) -> usize {
    let columns = columns.max(2);
    let (mut row, mut used, mut seen) = (0, 0, 0);
    for cluster in text.graphemes(true) {
        let wide = cluster_width(cluster);
        if used + wide > columns {
            (row, used) = (row + 1, 0);
        }
        if seen + wide > column {
            return row;
        }
        used += wide;
        seen += wide;
    }
    // Blank cells after the text.
    row + (used + column.saturating_sub(seen)) / columns
}

/// Number of rows that such a terminal needs for `text`.
pub fn rows_of(text: &str, columns: usize) -> usize {
    rows_before(text, width(text).saturating_sub(1), columns) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(text: &str, columns: usize) -> Vec<&str> {
        wrap(text, columns, columns).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn what_counts_as_single_is_one_cluster_of_one_column() {
        for c in ('\0'..'\u{10000}').filter(|c| is_single(*c)) {
            let among = format!("a{c}\u{2500}{c}é");
            assert_eq!(among.graphemes(true).count(), 5, "{c:?}");
            assert_eq!(cluster_width(c.encode_utf8(&mut [0; 4])), 1, "{c:?}");
        }
    }

    #[test]
    fn widths_are_those_of_clusters() {
        assert_eq!(width("abc"), 3);
        assert_eq!(width("日本"), 4);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(width("👩‍👩‍👧"), 2);
        assert_eq!(width("a\u{7}b"), 2);
        assert_eq!(width("é\u{7}"), 1);
    }

    #[test]
    fn words_are_kept_whole_where_possible() {
        assert_eq!(rows("the quick brown", 9), ["the quick", "brown"]);
        assert_eq!(rows("the quick brown", 8), ["the", "quick", "brown"]);
        assert_eq!(rows("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(rows("", 3), [""]);
        assert_eq!(rows("日本語", 3), ["日", "本", "語"]);
        assert_eq!(rows("see 日本語、日本「語」です", 10), ["see 日本", "語、日本", "「語」です"]);
        assert_eq!(rows("see https://a.b/c-d_e?f=g now", 18), ["see", "https://a.b/c-d_e?", "f=g now"]);
        assert_eq!(rows("read https://a.b/c?d=e now", 20), ["read", "https://a.b/c?d=e", "now"]);
        assert_eq!(rows("👩‍👩‍👧👩‍👩‍👧 e\u{301}e\u{301}e\u{301}", 4), ["👩‍👩‍👧👩‍👩‍👧", "e\u{301}e\u{301}e\u{301}"]);
        assert_eq!(rows("ab  cd", 3), ["ab ", "cd"]);
    }

    #[test]
    fn cutting_leaves_a_mark_and_never_half_a_cluster() {
        assert_eq!(truncate("hello", 5), "hello");
        assert_eq!(truncate("hello!", 5), "hell…");
        assert_eq!(truncate("日本語", 4), "日…");
        assert_eq!(truncate("x", 0), "");
    }

    #[test]
    fn foreign_text_loses_its_powers() {
        assert_eq!(clean("a\u{1b}[31mred\u{1b}[0m\tb\r\nc\rd"), "ared    b\nc\nd");
        assert_eq!(clean("x\u{1b}]0;title\u{7}y\u{1b}]8;;u\u{1b}\\z"), "xyz");
        assert_eq!(clean("a\u{202e}b\u{9b}c\u{7f}"), "abc");
        assert_eq!(clean("end\u{1b}"), "end");
        assert_eq!(clean("\u{1b}[31"), "");
    }

    #[test]
    fn a_terminal_does_not_split_wide_characters() {
        assert_eq!(rows_of("", 5), 1);
        assert_eq!(rows_of("abcde", 5), 1);
        assert_eq!(rows_of("abcdef", 5), 2);
        assert_eq!(rows_of("日本語", 5), 2);
        assert_eq!(rows_of("日本語日本", 5), 3);
        assert_eq!(rows_before("abcdef", 5, 5), 1);
        assert_eq!(rows_before("ab", 7, 5), 1);
    }

    proptest! {
        #[test]
        fn rows_fit_and_lose_only_blanks(text in "[ a-c日é、「]{0,40}", columns in 2usize..12, first in 2usize..12) {
            let ranges = wrap(&text, first, columns);
            let mut at = 0;
            for (index, range) in ranges.iter().enumerate() {
                prop_assert!(text[at..range.start].chars().all(|c| c == ' '));
                prop_assert!(range.start - at <= 1);
                let room = if index == 0 { first } else { columns };
                prop_assert!(width(&text[range.clone()]) <= room, "{ranges:?}");
                at = range.end;
            }
            prop_assert!(text.len() - at <= 1);
        }

        #[test]
        fn rows_can_be_continued_from_any_of_them(
            text in "[ a-c日é、🙂]{0,60}", more in "[ a-c日é]{0,20}", columns in 2usize..12, first in 2usize..12,
        ) {
            let whole = format!("{text}{more}");
            let before = wrap(&text, first, columns);
            // Everything that decided where a row begins stands before the end of that row.
            let mut rows = before[..before.len().saturating_sub(2)].to_vec();
            let (start, room) = match before.get(rows.len()) {
                Some(row) if !rows.is_empty() => (row.start, columns),
                Some(_) | None => (0, first),
            };
            wrap_from(&whole, start, room, columns, &mut rows);
            prop_assert_eq!(rows, wrap(&whole, first, columns));
        }

        #[test]
        fn a_terminal_cuts_where_it_is_computed(text in "[ a-c日é]{0,40}", columns in 2usize..12) {
            let rows = cut_rows(&text, columns);
            prop_assert_eq!(rows.len(), rows_of(&text, columns));
            prop_assert_eq!(rows.iter().map(|row| &text[row.clone()]).collect::<String>(), text);
        }

        #[test]
        fn clean_text_has_no_controls(text in "\\PC*|[\\x00-\\x7f]*") {
            prop_assert!(clean(&text).chars().all(|c| c == '\n' || !c.is_control()));
        }
    }
}
