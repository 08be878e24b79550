//! Where a motion leads. Pure functions over a text.

use super::VimShape;
use super::find::{CharFind, FindRound};
use super::objects::{self, WordSize};
use super::parse::{VimMotion, VimOperator};
use crate::editor::motion;
use crate::text;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// What a motion is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MotionUse {
    Move,
    Select,
    Operator(VimOperator),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MotionReach {
    /// Up to the target.
    Exclusive,
    /// With the character at the target.
    Inclusive,
    /// Whole lines.
    Lines,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MotionTarget {
    pub(super) at: usize,
    pub(super) reach: MotionReach,
    /// The column that the next vertical motion aims at.
    pub(super) goal: Option<GoalColumn>,
}

/// The column that vertical motions aim at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GoalColumn {
    At(usize),
    /// The end of each line, after `$`.
    End,
}

/// What a motion starts from.
#[derive(Clone, Copy, Debug)]
pub(super) struct MotionStart<'a> {
    pub(super) text: &'a str,
    pub(super) from: usize,
    pub(super) goal: Option<GoalColumn>,
    /// The last search for a character.
    pub(super) find: Option<CharFind>,
    pub(super) purpose: MotionUse,
}

impl MotionStart<'_> {
    /// The target; `None` when the motion is not possible.
    pub(super) fn target(&self, motion: VimMotion, count: Option<usize>) -> Option<MotionTarget> {
        let (text, from) = (self.text, self.from);
        let times = count.unwrap_or(1);
        match motion {
            VimMotion::Left => self.left(times),
            VimMotion::Right => self.right(times),
            VimMotion::NextChar => Some(self.next_char(times)),
            VimMotion::Down | VimMotion::Up => self.vertical(motion, times),
            VimMotion::NextWord(size) => self.next_word(size, times),
            VimMotion::WordEnd(size) => Some(self.word_end(size, times)),
            VimMotion::WordStart(size) => self.word_start(size, times),
            VimMotion::LineStart => Some(exclusive(motion::line_start(text, from))),
            VimMotion::FirstNonBlank => Some(exclusive(objects::first_non_blank(text, from))),
            VimMotion::LineEnd => self.line_end(times),
            VimMotion::LastLine => Some(line(text, count.unwrap_or(usize::MAX))),
            VimMotion::FirstLine => Some(line(text, times)),
            VimMotion::Find(find) => self.find(find, times, FindRound::First),
            VimMotion::FindAgain => self.find(self.find?, times, FindRound::Repeated),
            VimMotion::FindBack => self.find(self.find?.reversed(), times, FindRound::Repeated),
        }
    }

    fn left(&self, times: usize) -> Option<MotionTarget> {
        let start = motion::line_start(self.text, self.from);
        if self.from == start && self.purpose == MotionUse::Move {
            return None;
        }
        Some(exclusive((0..times).fold(self.from, |at, _| motion::left(self.text, at)).max(start)))
    }

    fn right(&self, times: usize) -> Option<MotionTarget> {
        let end = match self.purpose {
            MotionUse::Move => last_of_line(self.text, self.from),
            MotionUse::Select | MotionUse::Operator(_) => motion::line_end(self.text, self.from),
        };
        if self.from >= end && self.purpose == MotionUse::Move {
            return None;
        }
        Some(exclusive((0..times).fold(self.from, |at, _| motion::right(self.text, at)).min(end)))
    }

    /// The space bar goes on in the next line.
    fn next_char(&self, times: usize) -> MotionTarget {
        let step = |at: usize| {
            let next = motion::right(self.text, at);
            let is_break = self.purpose == MotionUse::Move && self.text[next..].starts_with('\n');
            if is_break && !objects::is_empty_line(self.text, next) { next + 1 } else { next }
        };
        exclusive((0..times).fold(self.from, |at, _| step(at)))
    }

    fn vertical(&self, motion: VimMotion, times: usize) -> Option<MotionTarget> {
        let goal = self.goal.unwrap_or_else(|| GoalColumn::At(column(self.text, self.from)));
        let mut start = motion::line_start(self.text, self.from);
        for step in 0..times {
            let next = match motion {
                VimMotion::Down => self.text[start..].find('\n').map(|index| start + index + 1),
                _ => start.checked_sub(1).map(|end| motion::line_start(self.text, end)),
            };
            match next {
                Some(next) => start = next,
                None if step == 0 => return None,
                None => break,
            }
        }
        Some(MotionTarget { at: at_goal(self.text, start, goal), reach: MotionReach::Lines, goal: Some(goal) })
    }

    fn next_word(&self, size: WordSize, times: usize) -> Option<MotionTarget> {
        let (text, from) = (self.text, self.from);
        if let MotionUse::Operator(VimOperator::Change) = self.purpose
            && text[from..].chars().next().is_some_and(|c| !c.is_whitespace())
        {
            // `cw` does not change the blanks after the word.
            let end = objects::end_of_word_at(text, from, size);
            let end = (1..times).fold(end, |at, _| objects::word_end(text, at, size));
            return Some(MotionTarget { at: end, reach: MotionReach::Inclusive, goal: None });
        }
        let is_operator = matches!(self.purpose, MotionUse::Operator(_));
        let mut at = from;
        for step in 0..times {
            let is_last = is_operator && step + 1 == times;
            at = if is_last {
                objects::next_word_or_line_end(text, at, size)
            } else {
                objects::next_word(text, at, size)
            };
        }
        let stuck = at == from || (at == text.len() && from == last_of_line(text, text.len()));
        if stuck && self.purpose == MotionUse::Move {
            return None;
        }
        Some(exclusive(at))
    }

    fn word_end(&self, size: WordSize, times: usize) -> MotionTarget {
        let at = (0..times).fold(self.from, |at, _| objects::word_end(self.text, at, size));
        MotionTarget { at, reach: MotionReach::Inclusive, goal: None }
    }

    fn word_start(&self, size: WordSize, times: usize) -> Option<MotionTarget> {
        let mut at = self.from;
        for _ in 0..times {
            if at == 0 && (at == self.from || matches!(self.purpose, MotionUse::Operator(_))) {
                return None;
            }
            at = objects::word_start(self.text, at, size);
            if at == 0 && !objects::is_empty_line(self.text, 0) {
                break;
            }
        }
        Some(exclusive(at))
    }

    fn line_end(&self, times: usize) -> Option<MotionTarget> {
        let mut end = motion::line_end(self.text, self.from);
        for step in 1..times {
            if end == self.text.len() {
                if step == 1 {
                    return None;
                }
                break;
            }
            end = motion::line_end(self.text, end + 1);
        }
        let at = match self.purpose {
            MotionUse::Select => end,
            _ => last_of_line(self.text, end),
        };
        Some(MotionTarget { at, reach: MotionReach::Inclusive, goal: Some(GoalColumn::End) })
    }

    fn find(&self, find: CharFind, times: usize, round: FindRound) -> Option<MotionTarget> {
        let at = find.go(self.text, self.from, times, round)?;
        let reach = if find.is_forward() { MotionReach::Inclusive } else { MotionReach::Exclusive };
        Some(MotionTarget { at, reach, goal: None })
    }
}

fn exclusive(at: usize) -> MotionTarget {
    MotionTarget { at, reach: MotionReach::Exclusive, goal: None }
}

/// The first character of a line, counted from one.
fn line(text: &str, number: usize) -> MotionTarget {
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(index, _)| index + 1));
    let start = starts.take(number.max(1)).last().unwrap_or(0);
    MotionTarget { at: objects::first_non_blank(text, start), reach: MotionReach::Lines, goal: None }
}

/// The last position of the cursor in a line: on its last character.
pub(super) fn last_of_line(text: &str, at: usize) -> usize {
    let (start, end) = (motion::line_start(text, at), motion::line_end(text, at));
    if start == end { start } else { motion::left(text, end) }
}

/// The column on the screen.
pub(super) fn column(text: &str, at: usize) -> usize {
    text::width(&text[motion::line_start(text, at)..at])
}

/// The position in the line of `start` that is nearest to the goal.
pub(super) fn at_goal(text: &str, start: usize, goal: GoalColumn) -> usize {
    let end = motion::line_end(text, start);
    let GoalColumn::At(column) = goal else { return end };
    let mut used = 0;
    for (index, cluster) in text[start..end].grapheme_indices(true) {
        used += text::cluster_width(cluster);
        if used > column {
            return start + index;
        }
    }
    end
}

/// The text between the cursor and the target of a motion, as operators see it.
pub(super) fn span(text: &str, from: usize, target: &MotionTarget, operator: VimOperator) -> (Range<usize>, VimShape) {
    let (start, end) = (from.min(target.at), from.max(target.at));
    let whole = |to| (motion::line_start(text, start)..motion::line_end(text, to), VimShape::Lines);
    let range = match target.reach {
        MotionReach::Lines => return whole(end),
        MotionReach::Inclusive => start..motion::right(text, end).min(motion::line_end(text, end).max(end)),
        MotionReach::Exclusive => start..end,
    };
    let begins_line = text[motion::line_start(text, start)..start].chars().all(char::is_whitespace);
    let crosses = text[range.clone()].contains('\n');
    let mut range = range;
    if crosses && target.reach == MotionReach::Exclusive && range.end == motion::line_start(text, range.end) {
        if begins_line {
            return whole(range.end - 1);
        }
        range.end -= 1;
    }
    let ends_line = text[range.end..motion::line_end(text, range.end)].chars().all(char::is_whitespace);
    if operator == VimOperator::Delete && text[range.clone()].contains('\n') && begins_line && ends_line {
        return whole(range.end);
    }
    (range, VimShape::Chars)
}
