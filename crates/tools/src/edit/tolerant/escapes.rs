//! `old_string` spells out `\n`, `\t` or `\"`, as it would be written inside a string literal.

use super::{Place, TextDifference};
use crate::edit::apply::overlapping;

pub(super) fn places(text: &str, old: &str, new: &str) -> Vec<Place> {
    if old.contains('\n') || !["\\n", "\\t", "\\\""].iter().any(|escape| old.contains(escape)) {
        return Vec::new();
    }
    // Real line ends beside escapes: the escapes may be meant as they are.
    let change = (!new.contains('\n')).then(|| (unescaped(new), TextDifference::Escapes));
    let found = overlapping(text, &unescaped(old)).into_iter();
    found.map(|range| Place { range, change: change.clone() }).collect()
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some(quoted @ ('"' | '\'' | '\\')) => out.push(quoted),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}
