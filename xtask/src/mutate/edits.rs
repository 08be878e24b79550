//! Changes to a source text by position. Changes may be nested: what is inserted around a part of the text encloses
//! what is inserted around a smaller part of it.

/// One insertion or replacement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edit {
    /// Byte offset in the original text.
    at: usize,
    side: Side,
    /// Orders edits at one position, so that brackets match.
    nesting: (usize, usize),
    /// How many bytes of the original text are left out.
    removed: usize,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Closes,
    Opens,
    Replaces,
}

impl Edit {
    /// Two edits that put `before` and `after` around the bytes from `start` to `end`. Of two pairs around the same
    /// bytes the one with the lower `number` is outside.
    pub(super) fn around(start: usize, end: usize, number: usize, before: &str, after: &str) -> [Self; 2] {
        let opens = Self {
            at: start,
            side: Side::Opens,
            nesting: (usize::MAX - end, number),
            removed: 0,
            text: before.to_owned(),
        };
        let closes = Self {
            at: end,
            side: Side::Closes,
            nesting: (usize::MAX - start, usize::MAX - number),
            removed: 0,
            text: after.to_owned(),
        };
        [opens, closes]
    }

    /// Inserts `text` at `at`, behind everything that closes there.
    pub(super) fn insert(at: usize, text: String) -> Self {
        Self { at, side: Side::Opens, nesting: (0, 0), removed: 0, text }
    }

    /// Replaces the bytes from `start` to `end`.
    pub(super) fn replace(start: usize, end: usize, text: String) -> Self {
        Self { at: start, side: Side::Replaces, nesting: (0, 0), removed: end - start, text }
    }
}

/// `text` with all `edits`.
pub(super) fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort();
    let mut out = String::with_capacity(text.len() + edits.iter().map(|edit| edit.text.len()).sum::<usize>());
    let mut copied = 0;
    for edit in edits {
        out.push_str(text.get(copied..edit.at).unwrap_or_default());
        out.push_str(&edit.text);
        copied = copied.max(edit.at + edit.removed);
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_around_the_same_and_around_inner_parts_match() {
        let text = "a == b && c";
        let mut edits = Vec::new();
        edits.extend(Edit::around(0, 6, 2, "{", "}"));
        edits.extend(Edit::around(0, 11, 1, "(", ")"));
        edits.extend(Edit::around(0, 6, 3, "<", ">"));
        edits.extend(Edit::around(0, 1, 4, "[", "]"));
        edits.extend(Edit::around(5, 6, 5, "[", "]"));
        edits.push(Edit::replace(2, 4, "!=".to_owned()));
        assert_eq!(apply(text, edits), "({<[a] != [b]>} && c)");
    }
}
