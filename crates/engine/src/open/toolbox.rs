//! Which tools a session offers.

use super::Opening;
use crate::lore::{Lore, tool as skill_tool};
use crate::structured::StructuredOutput;
use permission::Policy;
use std::sync::Arc;
use tools::Registry;
use tools::task_list::offer::Lists;

/// What `--bare` leaves.
const BARE: [&str; 3] = ["Bash", "Read", "Edit"];
pub(super) fn registry(
    opening: &Opening,
    policy: &Policy,
    structured: Option<Arc<StructuredOutput>>,
    lore: &Lore,
) -> Registry {
    let lists = lists(opening);
    let mut registry = Registry::new(|name| is_wanted(name, opening, lists) && !policy.removes(name));
    if opening.has_skills() && is_wanted(skill_tool::NAME, opening, lists) && !policy.removes(skill_tool::NAME) {
        registry.add(lore.tool());
    }
    if let Some(tool) = structured {
        registry.add(tool);
    }
    registry
}

fn is_wanted(name: &str, opening: &Opening, lists: Lists) -> bool {
    match chosen(opening) {
        Some(list) => names(list, name),
        None if opening.options.bare => BARE.contains(&name),
        None => lists.keeps(name),
    }
}

/// `--tools`, unless it asks for the default.
fn chosen(opening: &Opening) -> Option<&[String]> {
    opening.options.tools.as_deref().filter(|list| !list.iter().any(|n| n == "default"))
}

fn lists(opening: &Opening) -> Lists {
    let newest = opening.catalog.lookup(&opening.model).hides_todo_tools;
    Lists::choose(newest, &opening.env, |name| names(&opening.options.allowed_tools, name))
}

fn names(list: &[String], name: &str) -> bool {
    list.iter().any(|n| wire::names::canonical(n) == name)
}
