//! Random names that a conversation introduces and uses later: ids of background tasks, files of long results,
//! temporary folders, UUIDs. On replay, a recorded answer that contains such a name must contain the name of the
//! current run. Names are searched in texts whose paths are already placeholders, and numbered in the order in which
//! results mention them, which is the same in both runs as long as the conversations are.

use regex::Regex;
use std::sync::LazyLock;

/// The names of one request, in order of appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct RandomNames {
    found: Vec<String>,
}

/// The group that matched is the name.
static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let table = [
        r"(?:/tasks|<<tasks>>)/([a-z][0-9a-z]{8})\.output",
        r"/tool-results/([0-9a-z]{9})\.",
        r"/tmp\.([A-Za-z0-9]{6,16})\b",
        r"\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b",
    ];
    Regex::new(&table.join("|")).ok()
});

impl RandomNames {
    pub(super) fn learn(&mut self, text: &str) {
        let Some(pattern) = &*NAME else { return };
        for found in pattern.captures_iter(text) {
            let Some(name) = found.iter().skip(1).flatten().next() else { continue };
            if !self.found.iter().any(|known| known == name.as_str()) {
                self.found.push(name.as_str().to_owned());
            }
        }
    }

    pub(super) fn hide(&self, text: String) -> String {
        self.numbered().fold(text, |text, (name, mark)| text.replace(name, &mark))
    }

    /// Replaces marks with names. Works inside JSON text too, because names need no escapes.
    pub(super) fn reveal(&self, text: String) -> String {
        self.numbered().fold(text, |text, (name, mark)| text.replace(&mark, name))
    }

    fn numbered(&self) -> impl Iterator<Item = (&str, String)> {
        self.found.iter().enumerate().map(|(at, name)| (name.as_str(), format!("<<name-{}>>", at + 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::RandomNames;

    #[test]
    fn names_are_numbered_by_appearance_and_come_back_as_this_runs() {
        let (mut then, mut now) = (RandomNames::default(), RandomNames::default());
        then.learn("running as b1234abcd, see /x/tasks/b1234abcd.output; saved to /c/tool-results/zz9zz9zz9.txt");
        now.learn("running as bzzzz0000, see /y/tasks/bzzzz0000.output; saved to /d/tool-results/aa1aa1aa1.txt");
        let taped = then.hide("wait for b1234abcd, then read zz9zz9zz9".to_owned());
        assert_eq!(taped, "wait for <<name-1>>, then read <<name-2>>");
        assert_eq!(now.reveal(taped), "wait for bzzzz0000, then read aa1aa1aa1");
    }

    #[test]
    fn words_are_not_names() {
        let mut names = RandomNames::default();
        names.learn("task backwards, tasks/a.output, /tasks/readme.output, tool-results");
        assert!(names.found.is_empty(), "{names:?}");
    }
}
