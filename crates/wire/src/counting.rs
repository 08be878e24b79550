//! Numbers of things in words: `1 tool`, `0 rows`, `2 matches`. Every count that a person or a model reads is written
//! by these functions; `cargo xtask deps` finds plurals that are made by hand.

use std::fmt::Display;

/// A number and its noun, given in the singular.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    format!("{count} {}", plural(count, noun))
}

/// The noun alone, as it stands after this number.
pub fn plural<N: Copy + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) {
        return noun.to_owned();
    }
    let vowel = |c: char| matches!(c, 'a' | 'e' | 'i' | 'o' | 'u');
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(vowel) => format!("{stem}ies"),
        _ if noun.ends_with(['s', 'x']) || noun.ends_with("ch") || noun.ends_with("sh") => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

/// `12,345`
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_agree_with_their_number() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "tool use")), ["0 tool uses", "1 tool use", "2 tool uses"]);
        assert_eq!(counted(2_u64, "match"), "2 matches");
        assert_eq!(counted(3_usize, "directory"), "3 directories");
        assert_eq!([plural(1, "reply"), plural(2, "reply"), plural(2, "key")], ["reply", "replies", "keys"]);
    }

    #[test]
    fn long_numbers_are_grouped() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}
