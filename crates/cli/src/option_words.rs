//! The words after a subcommand, one by one. An option's value stands behind `=` or is the next word.

use std::ffi::OsString;

pub(crate) struct OptionWords {
    rest: std::vec::IntoIter<String>,
    /// The current word as it was typed.
    typed: String,
    /// The text behind `=` of the current word, until it is taken.
    inline: Option<String>,
}

impl OptionWords {
    pub(crate) fn new(words: &[OsString]) -> Self {
        let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Self { rest: words.into_iter(), typed: String::new(), inline: None }
    }

    /// The next word; of an option with `=` the part before it.
    pub(crate) fn next(&mut self) -> Option<String> {
        self.typed = self.rest.next()?;
        let (name, inline) = match self.typed.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (self.typed.as_str(), None),
        };
        self.inline = inline;
        Some(name.to_owned())
    }

    /// The whole word that `next` gave.
    pub(crate) fn typed(&self) -> &str {
        &self.typed
    }

    /// The value of the option that `next` gave; `None` when there is no further word.
    pub(crate) fn value(&mut self) -> Option<String> {
        self.inline.take().or_else(|| self.rest.next())
    }

    /// The value of the option, or an error that names it.
    pub(crate) fn needed_value(&mut self, name: &str) -> Result<String, String> {
        self.value().ok_or_else(|| format!("error: option '{name}' needs a value"))
    }

    /// The words that were not looked at, as they were typed.
    pub(crate) fn into_rest(self) -> impl Iterator<Item = String> {
        self.rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_behind_an_equals_sign_or_in_the_next_word() {
        let typed = ["--to=3=4", "--session", "a=b", "x=y", "--json", "--to"].map(OsString::from);
        let mut words = OptionWords::new(&typed);
        assert_eq!((words.next().as_deref(), words.value().as_deref()), (Some("--to"), Some("3=4")));
        assert_eq!(words.typed(), "--to=3=4");
        assert_eq!((words.next().as_deref(), words.value().as_deref()), (Some("--session"), Some("a=b")));
        assert_eq!(words.next().as_deref(), Some("x=y"), "no option");
        assert_eq!(words.next().as_deref(), Some("--json"));
        assert_eq!(words.next().as_deref(), Some("--to"));
        assert_eq!(words.needed_value("--to").unwrap_err(), "error: option '--to' needs a value");
        assert_eq!(words.next(), None);
    }
}
