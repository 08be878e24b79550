//! Reads the keys of a command. Pure: the same keys always mean the same.

use super::VimMode;
use super::find::{CharFind, FindKind};
use super::objects::{ObjectReach, WordSize};

/// Larger counts are cut: a prompt is small, and a slip must not freeze it.
const MAX_COUNT: usize = 999;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VimOperator {
    Delete,
    Change,
    Yank,
    Indent,
    Outdent,
}

/// Whether a register or range consists of characters or of whole lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum VimShape {
    #[default]
    Chars,
    Lines,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VimMotion {
    Left,
    Right,
    NextChar,
    Down,
    Up,
    NextWord(WordSize),
    WordEnd(WordSize),
    WordStart(WordSize),
    LineStart,
    FirstNonBlank,
    LineEnd,
    LastLine,
    FirstLine,
    Find(CharFind),
    FindAgain,
    FindBack,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextObject {
    pub(super) reach: ObjectReach,
    pub(super) kind: char,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperatorTarget {
    Lines,
    Motion(VimMotion),
    Object(TextObject),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VimVerb {
    Move(VimMotion),
    Operate(VimOperator, OperatorTarget),
    /// `i a I A o O`
    Insert(char),
    /// `x X s`: characters of this line.
    Shorthand(char),
    /// `p` or `P`
    Put(char),
    Join,
    FlipCase,
    Replace(char),
    Undo,
    Repeat,
    Select(VimShape),
    SelectObject(TextObject),
    SwapEnds,
    OperateSelection(VimOperator),
    /// `p r ~ u U J` on a selection; the second letter is what `r` writes.
    ChangeSelection(char, Option<char>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VimCommand {
    pub(super) count: Option<usize>,
    pub(super) verb: VimVerb,
}

/// Why keys are no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoCommand {
    /// More keys are needed.
    Incomplete,
    Nonsense,
}

/// The command that these keys are in a mode.
pub(super) fn command(keys: &str, mode: VimMode) -> Result<VimCommand, NoCommand> {
    let (count, rest) = count(keys);
    let first = rest.chars().next().ok_or(NoCommand::Incomplete)?;
    if mode == VimMode::Normal
        && let Some(operator) = operator(first)
    {
        return operation(count, operator, first, &rest[1..]);
    }
    let verb = if mode == VimMode::Normal { normal(first, rest) } else { visual(first, rest) };
    Ok(VimCommand { count, verb: verb? })
}

fn operator(key: char) -> Option<VimOperator> {
    Some(match key {
        'd' => VimOperator::Delete,
        'c' => VimOperator::Change,
        'y' => VimOperator::Yank,
        '>' => VimOperator::Indent,
        '<' => VimOperator::Outdent,
        _ => return None,
    })
}

fn operation(before: Option<usize>, operator: VimOperator, name: char, rest: &str) -> Result<VimCommand, NoCommand> {
    let (after, rest) = count(rest);
    let count = match (before, after) {
        (None, None) => None,
        (a, b) => Some((a.unwrap_or(1) * b.unwrap_or(1)).min(MAX_COUNT)),
    };
    let first = rest.chars().next().ok_or(NoCommand::Incomplete)?;
    let target = match first {
        _ if first == name => OperatorTarget::Lines,
        'i' | 'a' => OperatorTarget::Object(object(rest)?),
        _ => OperatorTarget::Motion(motion(rest)?),
    };
    Ok(VimCommand { count, verb: VimVerb::Operate(operator, target) })
}

fn normal(first: char, rest: &str) -> Result<VimVerb, NoCommand> {
    Ok(match first {
        'i' | 'a' | 'I' | 'A' | 'o' | 'O' => VimVerb::Insert(first),
        'x' | 'X' | 's' => VimVerb::Shorthand(first),
        'D' => VimVerb::Operate(VimOperator::Delete, OperatorTarget::Motion(VimMotion::LineEnd)),
        'C' => VimVerb::Operate(VimOperator::Change, OperatorTarget::Motion(VimMotion::LineEnd)),
        'S' => VimVerb::Operate(VimOperator::Change, OperatorTarget::Lines),
        'Y' => VimVerb::Operate(VimOperator::Yank, OperatorTarget::Lines),
        'p' | 'P' => VimVerb::Put(first),
        'J' => VimVerb::Join,
        '~' => VimVerb::FlipCase,
        'r' => VimVerb::Replace(second(rest)?),
        'u' => VimVerb::Undo,
        '.' => VimVerb::Repeat,
        'v' => VimVerb::Select(VimShape::Chars),
        'V' => VimVerb::Select(VimShape::Lines),
        _ => VimVerb::Move(motion(rest)?),
    })
}

fn visual(first: char, rest: &str) -> Result<VimVerb, NoCommand> {
    Ok(match first {
        'v' => VimVerb::Select(VimShape::Chars),
        'V' => VimVerb::Select(VimShape::Lines),
        'o' => VimVerb::SwapEnds,
        'i' | 'a' => VimVerb::SelectObject(object(rest)?),
        'd' | 'x' => VimVerb::OperateSelection(VimOperator::Delete),
        'c' | 's' => VimVerb::OperateSelection(VimOperator::Change),
        'y' => VimVerb::OperateSelection(VimOperator::Yank),
        '>' => VimVerb::OperateSelection(VimOperator::Indent),
        '<' => VimVerb::OperateSelection(VimOperator::Outdent),
        'p' | 'u' | 'U' | '~' | 'J' => VimVerb::ChangeSelection(first, None),
        'r' => VimVerb::ChangeSelection(first, Some(second(rest)?)),
        _ => VimVerb::Move(motion(rest)?),
    })
}

fn second(keys: &str) -> Result<char, NoCommand> {
    keys.chars().nth(1).ok_or(NoCommand::Incomplete)
}

fn object(keys: &str) -> Result<TextObject, NoCommand> {
    let kind = second(keys)?;
    let reach = if keys.starts_with('a') { ObjectReach::Around } else { ObjectReach::Inside };
    let is_known = "wW\"'`()b[]{}B".contains(kind);
    is_known.then_some(TextObject { reach, kind }).ok_or(NoCommand::Nonsense)
}

fn motion(keys: &str) -> Result<VimMotion, NoCommand> {
    let first = keys.chars().next().ok_or(NoCommand::Incomplete)?;
    Ok(match first {
        'h' => VimMotion::Left,
        'l' => VimMotion::Right,
        ' ' => VimMotion::NextChar,
        'j' => VimMotion::Down,
        'k' => VimMotion::Up,
        'w' => VimMotion::NextWord(WordSize::Small),
        'W' => VimMotion::NextWord(WordSize::Big),
        'e' => VimMotion::WordEnd(WordSize::Small),
        'E' => VimMotion::WordEnd(WordSize::Big),
        'b' => VimMotion::WordStart(WordSize::Small),
        'B' => VimMotion::WordStart(WordSize::Big),
        '0' => VimMotion::LineStart,
        '^' => VimMotion::FirstNonBlank,
        '$' => VimMotion::LineEnd,
        'G' => VimMotion::LastLine,
        'g' if second(keys)? == 'g' => VimMotion::FirstLine,
        ';' => VimMotion::FindAgain,
        ',' => VimMotion::FindBack,
        _ => {
            let kind = FindKind::parse(first).ok_or(NoCommand::Nonsense)?;
            VimMotion::Find(CharFind { kind, what: second(keys)? })
        }
    })
}

/// Splits off a leading count; a leading zero is a motion.
fn count(keys: &str) -> (Option<usize>, &str) {
    let digits = keys.len() - keys.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 || keys.starts_with('0') {
        return (None, keys);
    }
    (Some(keys[..digits].parse::<usize>().unwrap_or(MAX_COUNT).min(MAX_COUNT)), &keys[digits..])
}
