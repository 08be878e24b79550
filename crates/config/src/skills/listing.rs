//! The list of skills sent to the model: every name, and as many descriptions as the budget allows. The least used
//! skills lose their descriptions first; the result names them.

use super::{Skill, SkillVisibility};
use std::borrow::Cow;

/// Limits for descriptions, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListingBudget {
    /// For all descriptions together.
    pub all: usize,
    /// For the whole listing, with its names; `None` when the user chose how much descriptions may take.
    pub whole: Option<usize>,
    /// For each description.
    pub each: usize,
}

impl ListingBudget {
    /// Used when the size of the context window is unknown, and the most that is used in any window.
    pub const FALLBACK: usize = 8_000;
    /// What a line of the listing takes besides name and description.
    const LINE: usize = "- : \n".len();
    pub const EACH: usize = 1_536;

    /// A fraction of a window of `tokens`, at four characters per token.
    pub fn of_window(tokens: u64, fraction: f64) -> usize {
        (tokens as f64 * 4.0 * fraction) as usize
    }

    /// What descriptions may take beside the names of these skills.
    fn beside(self, skills: &[&Skill]) -> usize {
        let names = || skills.iter().map(|skill| skill.name.len() + Self::LINE).sum();
        self.whole.map_or(self.all, |whole| self.all.min(whole.saturating_sub(names())))
    }
}

/// One line per skill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillListing {
    /// Name and line, in order.
    pub lines: Vec<(String, String)>,
    /// Names listed without their description because the budget is used up.
    pub cut: Vec<String>,
}

/// `uses` returns how often a skill was invoked.
pub fn list<'a>(
    skills: impl Iterator<Item = &'a Skill>,
    budget: ListingBudget,
    uses: impl Fn(&str) -> u64,
) -> SkillListing {
    let skills: Vec<&Skill> = skills.collect();
    let mut texts: Vec<Option<Cow<'_, str>>> = skills.iter().map(|skill| text(skill, budget.each)).collect();
    let lengths: Vec<usize> = texts.iter().map(|text| text.as_ref().map_or(0, |text| text.chars().count())).collect();
    let mut size: usize = lengths.iter().sum();
    let most = budget.beside(&skills);
    let mut cut = Vec::new();
    if size > most {
        let mut order: Vec<(u64, usize, usize)> = texts
            .iter()
            .enumerate()
            .filter(|(_, text)| text.is_some())
            .map(|(at, _)| (uses(&skills[at].name), lengths[at], at))
            .collect();
        // Of equally used ones the longest is removed first, so that more of the others stay.
        sys::compact_sort::sort_by_key(&mut order, |(used, length, at)| (*used, std::cmp::Reverse(*length), *at));
        for (_, length, at) in order {
            if size <= most {
                break;
            }
            size -= length;
            texts[at] = None;
            cut.push(skills[at].name.clone());
        }
    }
    let line = |skill: &&Skill, text: &Option<Cow<'_, str>>| match text {
        Some(text) => ["- ", &skill.name, ": ", text].concat(),
        None => ["- ", &skill.name].concat(),
    };
    let lines = skills.iter().zip(&texts).map(|(skill, text)| (skill.name.clone(), line(skill, text))).collect();
    SkillListing { lines, cut }
}

/// True for printable ASCII with single blanks between words, as in nearly all descriptions: no copy is needed.
fn is_tidy(text: &str) -> bool {
    let bytes = text.as_bytes();
    let doubled = |pair: &[u8]| pair == b"  ";
    bytes.iter().all(|b| (b' '..=b'~').contains(b))
        && bytes.first().is_some_and(|first| *first != b' ')
        && bytes.last() != Some(&b' ')
        && !bytes.windows(2).any(doubled)
}

/// The description on one line, cut to `each` characters. `None` when there is none to show.
fn text(skill: &Skill, each: usize) -> Option<Cow<'_, str>> {
    if skill.visibility == SkillVisibility::NameOnly {
        return None;
    }
    let parts = [&skill.description, &skill.when_to_use];
    if let [Some(only), None] | [None, Some(only)] = parts
        && only.len() <= each
        && is_tidy(only)
    {
        return Some(Cow::Borrowed(only));
    }
    let room = parts.into_iter().flatten().map(|part| part.len() + 1).sum();
    let mut line = String::with_capacity(room);
    for part in parts.into_iter().flatten() {
        for word in part.split_whitespace() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    match line.char_indices().nth(each) {
        None => Some(line).filter(|line| !line.is_empty()).map(Cow::Owned),
        Some((end, _)) => Some(format!("{}…", &line[..end]).into()),
    }
}
