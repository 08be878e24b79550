//! Licence expressions of packages: `MIT OR Apache-2.0`, `(MIT OR Apache-2.0) AND Unicode-3.0`, `Unlicense/MIT`.

/// Licences under which we may distribute the binary.
const ALLOWED: &[&str] = &[
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unlicense",
    "Zlib",
];

/// Additional licences allowed for single packages: tables made from data of the Unicode consortium.
const EXCEPTIONS: &[(&str, &[&str])] =
    &[("Unicode-3.0", &["idna_mapping", "unicode-ident", "unicode-normalization", "unicode-properties"])];

/// Why a package may not be used; `None` when it may.
pub(super) fn refusal(package: &str, expression: &str) -> Option<String> {
    if expression.is_empty() {
        return Some("it names no licence".into());
    }
    let is_allowed = |licence: &str| {
        ALLOWED.contains(&licence)
            || EXCEPTIONS.iter().any(|(known, packages)| *known == licence && packages.contains(&package))
    };
    let words = words(expression);
    let mut parser = Parser { words: &words, at: 0, is_allowed: &is_allowed };
    match parser.either() {
        Some(_) if parser.at < words.len() => Some(format!("its licence {expression:?} cannot be read")),
        Some(true) => None,
        Some(false) => {
            Some(format!("its licence {expression:?} is not among the allowed ones (xtask/src/supply/licence.rs)"))
        }
        None => Some(format!("its licence {expression:?} cannot be read")),
    }
}

/// Splits an expression into names, operators and brackets. `WITH` and its exception belong to the licence; a slash
/// is an old form of `OR`.
fn words(expression: &str) -> Vec<String> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words: Vec<String> = Vec::new();
    let mut rest = spaced.split_whitespace();
    while let Some(word) = rest.next() {
        match (word, words.last_mut(), word == "WITH") {
            (_, Some(licence), true) => {
                licence.push_str(" WITH ");
                licence.push_str(rest.next().unwrap_or_default());
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

struct Parser<'a> {
    words: &'a [String],
    at: usize,
    is_allowed: &'a dyn Fn(&str) -> bool,
}

impl Parser<'_> {
    fn takes(&mut self, word: &str) -> bool {
        let is_next = self.words.get(self.at).is_some_and(|next| next == word);
        self.at += usize::from(is_next);
        is_next
    }

    fn either(&mut self) -> Option<bool> {
        let mut holds = self.both()?;
        while self.takes("OR") {
            holds |= self.both()?;
        }
        Some(holds)
    }

    fn both(&mut self) -> Option<bool> {
        let mut holds = self.one()?;
        while self.takes("AND") {
            holds &= self.one()?;
        }
        Some(holds)
    }

    fn one(&mut self) -> Option<bool> {
        if self.takes("(") {
            let holds = self.either()?;
            return self.takes(")").then_some(holds);
        }
        let word = self.words.get(self.at).filter(|word| !matches!(word.as_str(), ")" | "OR" | "AND"))?;
        self.at += 1;
        Some((self.is_allowed)(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_judged() {
        for licence in [
            "MIT",
            "Unlicense/MIT",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
            "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
            "ISC AND (Apache-2.0 OR GPL-3.0) AND BSD-3-Clause",
        ] {
            assert_eq!(refusal("x", licence), None, "{licence}");
        }
        for licence in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH Classpath-exception-2.0",
            "MIT OR",
            "(MIT",
            "MIT MIT",
            "AND",
        ] {
            assert!(refusal("x", licence).is_some(), "{licence}");
        }
        assert_eq!(refusal("unicode-ident", "(MIT OR Apache-2.0) AND Unicode-3.0"), None);
    }
}
