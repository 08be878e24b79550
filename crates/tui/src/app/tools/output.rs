//! Which lines of an output are shown, and how many further ones there are.

use super::plural;
use crate::ansi;
use terminal::style::{StyledLine, TextStyle};
use terminal::theme::{Theme, ThemeToken};

/// How much of a record is shown in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLimits {
    /// Rows of an output.
    pub output: usize,
    /// Rows of the output of a failure.
    pub failure: usize,
    /// Rows of a diff.
    pub diff: usize,
    /// Lines of a prompt.
    pub prompt: usize,
    /// Characters of the object of a call.
    pub object: usize,
}

impl RecordLimits {
    /// The limits of what is printed while a turn runs.
    pub const STREAM: Self = Self { output: 3, failure: 8, diff: 10, prompt: 8, object: 400 };
    /// No limits.
    pub const NONE: Self =
        Self { output: usize::MAX, failure: usize::MAX, diff: usize::MAX, prompt: usize::MAX, object: usize::MAX };

    pub fn is_whole(self) -> bool {
        self.output == usize::MAX
    }
}

/// The line that says how many lines are not shown, and where they are.
pub fn more_line(lines: usize, theme: &Theme) -> StyledLine {
    StyledLine::styled(format!("… {lines} more {} · ctrl+o", plural(lines, "line")), theme.fg(ThemeToken::Inactive))
}

/// The beginning of an output in at most `limit` rows of `columns`, and the number of further lines.
pub fn beginning(output: &str, limit: usize, columns: usize, style: TextStyle, theme: &Theme) -> Vec<StyledLine> {
    let lines = trimmed_lines(output, style);
    let all: Vec<usize> = (0..lines.len()).collect();
    within(&lines, &all, limit, columns, theme)
}

/// The lines of a failure that look like its cause, in at most `limit` rows of `columns`.
pub fn causes(output: &str, limit: usize, columns: usize, style: TextStyle, theme: &Theme) -> Vec<StyledLine> {
    let lines = trimmed_lines(output, style);
    let chosen = if lines.len() <= limit { (0..lines.len()).collect() } else { likely_causes(&lines, limit) };
    within(&lines, &chosen, limit, columns, theme)
}

/// The lines of an output with their colours, without blank ones at both ends.
fn trimmed_lines(output: &str, style: TextStyle) -> Vec<StyledLine> {
    let mut lines: Vec<StyledLine> = ansi::output_lines(output).into_iter().map(|line| line.over(style)).collect();
    let is_blank = |line: &StyledLine| line.text().trim().is_empty();
    lines.truncate(lines.iter().rposition(|line| !is_blank(line)).map_or(0, |last| last + 1));
    lines.drain(..lines.iter().position(|line| !is_blank(line)).unwrap_or(0));
    lines
}

/// The lines at `chosen` in at most `limit` rows; one more row says how many are left out. That row is not used for a
/// single one.
fn within(lines: &[StyledLine], chosen: &[usize], limit: usize, columns: usize, theme: &Theme) -> Vec<StyledLine> {
    let mut rows: Vec<StyledLine> = Vec::new();
    let mut shown = 0;
    for at in chosen {
        let wrapped = lines[*at].wrapped(columns.max(8), 0);
        let room = limit.saturating_sub(rows.len());
        let is_last_row = wrapped.len() == 1 && room == 0 && shown + 1 == lines.len();
        if wrapped.len() <= room || is_last_row {
            rows.extend(wrapped);
            shown += 1;
            continue;
        }
        if shown == 0 {
            // A single long line: its beginning.
            rows.extend(wrapped.into_iter().take(room));
            if let Some(last) = rows.last_mut() {
                last.push("…", theme.fg(ThemeToken::Inactive));
            }
            shown = 1;
        }
        break;
    }
    if shown < lines.len() {
        rows.push(more_line(lines.len() - shown, theme));
    }
    rows
}

/// Words in lines that say why something failed.
const CAUSES: [&str; 22] = [
    "error",
    "failed",
    "failure",
    "fatal",
    "panicked",
    "exception",
    "traceback",
    "assert",
    "cannot",
    "can't",
    "could not",
    "not found",
    "no such",
    "denied",
    "undefined",
    "unexpected",
    "unable to",
    "refused",
    "missing",
    "invalid",
    "killed",
    "timed out",
];
/// Lines after a likely cause that belong to it.
const AFTER_CAUSE: usize = 2;

/// The first likely causes with the lines after them; the last lines where nothing looks like a cause.
fn likely_causes(lines: &[StyledLine], limit: usize) -> Vec<usize> {
    let is_cause = |line: &StyledLine| {
        let text = line.text().to_lowercase();
        // A summary such as `0 failed` names no cause.
        let counts_none = text.contains(" 0 failed") || text.contains(" 0 errors") || text.contains("... ok");
        text.starts_with("e  ") || !counts_none && CAUSES.iter().any(|word| text.contains(word))
    };
    let mut chosen: Vec<usize> = Vec::new();
    for at in (0..lines.len()).filter(|at| is_cause(&lines[*at])) {
        let end = (at + 1 + AFTER_CAUSE).min(lines.len());
        chosen.extend((at..end).filter(|at| chosen.last().is_none_or(|last| last < at)).collect::<Vec<_>>());
        if chosen.len() >= limit {
            chosen.truncate(limit);
            return chosen;
        }
    }
    let last = lines.len().saturating_sub(limit - chosen.len());
    let rest = chosen.last().map_or(last, |cause| last.max(cause + 1));
    chosen.extend(rest..lines.len());
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &[StyledLine]) -> Vec<String> {
        lines.iter().map(StyledLine::text).collect()
    }

    fn start(output: &str, columns: usize) -> Vec<String> {
        texts(&beginning(output, 3, columns, TextStyle::PLAIN, &Theme::default()))
    }

    #[test]
    fn three_rows_are_shown_and_the_rest_counted() {
        assert_eq!(start("a\nb\nc\n", 40), ["a", "b", "c"]);
        assert_eq!(start("a\nb\nc\nd\n", 40), ["a", "b", "c", "d"], "a row that would only say one more");
        assert_eq!(start("\n a\nb\nc\nd\ne\n", 40), [" a", "b", "c", "… 2 more lines · ctrl+o"]);
        assert_eq!(start(&"word ".repeat(20), 20).len(), 3);
        assert!(start(&"word ".repeat(20), 20)[2].ends_with('…'));
        assert!(start(" \n\n", 40).is_empty());
    }

    #[test]
    fn a_failure_shows_what_looks_like_its_cause() {
        let mut output: Vec<String> = (0..40).map(|n| format!("test case_{n} ... ok")).collect();
        output.insert(20, "error[E0308]: mismatched types".into());
        output.insert(21, " --> src/a.rs:3:5".into());
        output.push("build stopped".into());
        let rows = texts(&causes(&output.join("\n"), 8, 60, TextStyle::PLAIN, &Theme::default()));
        assert_eq!(rows[..2], ["error[E0308]: mismatched types", " --> src/a.rs:3:5"]);
        assert_eq!(rows[7..], ["build stopped", "… 35 more lines · ctrl+o"]);
        let plain: Vec<String> = (0..40).map(|n| format!("step {n}")).collect();
        let rows = texts(&causes(&plain.join("\n"), 8, 60, TextStyle::PLAIN, &Theme::default()));
        assert_eq!(rows[0], "step 32", "without a cause the end is shown");
    }
}
