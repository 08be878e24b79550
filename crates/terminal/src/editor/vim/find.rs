//! `f F t T ; ,`: characters of the current line.

use crate::editor::motion;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FindKind {
    To,
    Before,
    BackTo,
    BackAfter,
}

impl FindKind {
    pub(super) fn parse(key: char) -> Option<Self> {
        Some(match key {
            'f' => Self::To,
            't' => Self::Before,
            'F' => Self::BackTo,
            'T' => Self::BackAfter,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CharFind {
    pub(super) kind: FindKind,
    pub(super) what: char,
}

/// Whether a find repeats the last one: then a character just beside the cursor is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FindRound {
    First,
    Repeated,
}

impl CharFind {
    pub(super) fn is_forward(self) -> bool {
        matches!(self.kind, FindKind::To | FindKind::Before)
    }

    pub(super) fn reversed(self) -> Self {
        let kind = match self.kind {
            FindKind::To => FindKind::BackTo,
            FindKind::Before => FindKind::BackAfter,
            FindKind::BackTo => FindKind::To,
            FindKind::BackAfter => FindKind::Before,
        };
        Self { kind, ..self }
    }

    /// The position of the `count`th match.
    pub(super) fn go(self, text: &str, from: usize, count: usize, round: FindRound) -> Option<usize> {
        let skips = round == FindRound::Repeated && count == 1;
        let nth = count.saturating_sub(1);
        if self.is_forward() {
            let end = motion::line_end(text, from);
            let mut after = motion::right(text, from).min(end);
            if skips && self.kind == FindKind::Before && text[after..end].starts_with(self.what) {
                after += self.what.len_utf8();
            }
            let (index, _) = text[after..end].match_indices(self.what).nth(nth)?;
            let found = after + index;
            Some(if self.kind == FindKind::To { found } else { motion::left(text, found) })
        } else {
            let start = motion::line_start(text, from);
            let mut before = from;
            if skips && self.kind == FindKind::BackAfter && text[start..before].ends_with(self.what) {
                before -= self.what.len_utf8();
            }
            let (index, _) = text[start..before].rmatch_indices(self.what).nth(nth)?;
            let found = start + index;
            Some(if self.kind == FindKind::BackTo { found } else { found + self.what.len_utf8() })
        }
    }
}
