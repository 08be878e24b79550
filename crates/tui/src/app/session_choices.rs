//! Conversations that the argument of `/resume` can name: by title, or by the beginning of an id.

use super::menu::{self, MenuItem};
use crate::picker::{PickerRequest, PickerUpdate};
use engine::query::{self, SessionInfo, SessionScope};
use terminal::text;

/// The number of the list that is read for suggestions; lists of the picker have higher ones.
const ROUND: u64 = 0;
/// Characters of a title.
const TITLE_WIDTH: usize = 70;
/// An id is looked at from so many characters on.
const ID_LETTERS: usize = 4;

/// The conversations of this folder, newest first, as far as they were read.
#[derive(Debug, Default)]
pub struct SessionChoices {
    sessions: Vec<SessionInfo>,
    /// The list is being read; what is known stays until its first part arrives.
    is_outdated: bool,
}

impl SessionChoices {
    pub fn request() -> PickerRequest {
        PickerRequest::List { round: ROUND, scope: SessionScope::Folder }
    }

    /// What is known is read again.
    pub fn expect_news(&mut self) {
        self.is_outdated = true;
    }

    /// Takes a part of the list; `false` for what was read for the picker.
    pub fn receive(&mut self, update: &PickerUpdate) -> bool {
        let PickerUpdate::Sessions { round: ROUND, sessions, .. } = update else { return false };
        if std::mem::take(&mut self.is_outdated) {
            self.sessions.clear();
        }
        self.sessions.extend(sessions.iter().filter(|info| !info.archived && !info.is_sidechain).cloned());
        true
    }

    /// The suggestions for what was typed; the conversation that is open is none of them.
    pub fn items(&self, typed: &str, open: Option<&str>) -> Vec<MenuItem> {
        let others = || self.sessions.iter().filter(|info| Some(info.id.as_str()) != open);
        let item = |info: &SessionInfo| MenuItem::new(title(info), query::age(info.modified_at));
        let by_id: Vec<MenuItem> = others().filter(|info| begins(info, typed)).map(item).collect();
        if by_id.is_empty() { menu::choices(typed, others().map(item)) } else { by_id }
    }

    /// The one conversation that is named so; `None` when there is none or more than one.
    pub fn named(&self, typed: &str, open: Option<&str>) -> Option<&SessionInfo> {
        let is_meant = |info: &&SessionInfo| title(info).eq_ignore_ascii_case(typed) || begins(info, typed);
        let mut found = self.sessions.iter().filter(|info| Some(info.id.as_str()) != open).filter(is_meant);
        found.next().filter(|_| found.next().is_none())
    }
}

fn begins(info: &SessionInfo, typed: &str) -> bool {
    typed.len() >= ID_LETTERS && info.id.starts_with(typed)
}

/// The title in one line.
fn title(info: &SessionInfo) -> String {
    let words = text::clean(query::label(info)).split_whitespace().collect::<Vec<_>>().join(" ");
    text::truncate(&words, TITLE_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(id: &str, title: &str) -> SessionInfo {
        SessionInfo { id: id.into(), title: Some(title.into()), ..SessionInfo::default() }
    }

    fn choices() -> SessionChoices {
        let sessions = vec![
            info("aaaa1111", "Fix the cart"),
            info("aaaa2222", "Write\nthe docs"),
            info("bbbb3333", "Same"),
            info("cccc4444", "Same"),
        ];
        let mut choices = SessionChoices::default();
        let update = |round| PickerUpdate::Sessions { round, sessions: sessions.clone(), branch: None, is_all: true };
        assert!(!choices.receive(&update(1)), "it was read for the picker");
        assert!(choices.receive(&update(ROUND)));
        choices.expect_news();
        assert!(choices.receive(&update(ROUND)));
        choices
    }

    #[test]
    fn titles_and_beginnings_of_ids_are_suggested() {
        let choices = choices();
        let texts = |typed: &str| {
            let items = choices.items(typed, Some("bbbb3333"));
            items.into_iter().map(|item| item.text).collect::<Vec<_>>()
        };
        assert_eq!(texts(""), ["Fix the cart", "Write the docs", "Same"], "the open one is left out");
        assert_eq!(texts("the ca"), ["Fix the cart"]);
        assert_eq!(texts("aaaa2"), ["Write the docs"]);
    }

    #[test]
    fn only_one_conversation_of_a_name_is_meant() {
        let choices = choices();
        let named = |typed: &str, open| choices.named(typed, open).map(|info| info.id.as_str());
        assert_eq!(named("write the docs", None), Some("aaaa2222"));
        assert_eq!(named("aaaa1", None), Some("aaaa1111"));
        for open in ["aaaa", "Same", "cart", ""] {
            assert_eq!(named(open, None), None, "{open:?}");
        }
        assert_eq!(named("Same", Some("cccc4444")), Some("bbbb3333"));
    }
}
