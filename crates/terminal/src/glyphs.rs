//! The signs of the interface, and what stands for them on terminals and in fonts that lack them.

use crate::style::StyledLine;
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GlyphSet {
    #[default]
    Unicode,
    Ascii,
}

impl GlyphSet {
    /// The set for a terminal. `locale` is the first value among `LC_ALL`, `LC_CTYPE` and `LANG` that is set. Only a locale that
    /// names another character set and the console of Linux, whose font has few signs, are known to lack them.
    pub fn of(term: &str, locale: &str) -> Self {
        let charset = locale.split_once('.').map(|(_, charset)| charset.split('@').next().unwrap_or_default());
        let is_other = charset.is_some_and(|name| !name.to_ascii_lowercase().replace('-', "").starts_with("utf8"));
        if is_other || term == "linux" { Self::Ascii } else { Self::Unicode }
    }
}

const ASCII: [(char, &str); 43] = [
    ('❯', ">"),
    ('◌', "o"),
    ('○', "O"),
    ('◆', "*"),
    ('✕', "x"),
    ('◇', "?"),
    ('⑂', "Y"),
    ('☐', "[ ]"),
    ('◧', "[~]"),
    ('☑', "[x]"),
    ('☒', "[x]"),
    ('∴', ".:"),
    ('✻', "*"),
    ('…', "..."),
    ('▌', "|"),
    ('●', "*"),
    ('⎿', "`-"),
    ('─', "-"),
    ('━', "-"),
    ('│', "|"),
    ('┼', "+"),
    ('⋮', ":"),
    ('·', "-"),
    ('✢', "+"),
    ('✳', "*"),
    ('✶', "*"),
    ('⏵', ">"),
    ('⏸', "="),
    ('↑', "^"),
    ('↓', "v"),
    ('←', "<-"),
    ('→', "->"),
    ('✔', "v"),
    ('✓', "v"),
    ('✘', "x"),
    ('−', "-"),
    ('∗', "*"),
    ('■', "#"),
    ('▣', "%"),
    ('▲', "^"),
    ('▪', "="),
    ('□', "."),
    ('▫', ","),
];

/// The line as the terminal can show it.
pub fn shown(line: &StyledLine, set: GlyphSet) -> Cow<'_, StyledLine> {
    let is_special = |c: char| ASCII.iter().any(|(glyph, _)| *glyph == c);
    if set == GlyphSet::Unicode || !line.spans.iter().any(|span| span.text.contains(is_special)) {
        return Cow::Borrowed(line);
    }
    let mut plain = line.clone();
    for span in &mut plain.spans {
        let mut text = String::with_capacity(span.text.len());
        for c in span.text.chars() {
            match ASCII.iter().find(|(glyph, _)| *glyph == c) {
                Some((_, form)) => text.push_str(form),
                None => text.push(c),
            }
        }
        span.text = text;
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_without_the_signs_get_letters() {
        assert_eq!(GlyphSet::of("xterm-256color", ""), GlyphSet::Unicode);
        assert_eq!(GlyphSet::of("xterm-256color", "C"), GlyphSet::Unicode);
        assert_eq!(GlyphSet::of("xterm-256color", "de_DE.UTF-8@euro"), GlyphSet::Unicode);
        assert_eq!(GlyphSet::of("xterm-256color", "de_DE.ISO-8859-15@euro"), GlyphSet::Ascii);
        assert_eq!(GlyphSet::of("linux", "de_DE.utf8"), GlyphSet::Ascii);
        let line = StyledLine::plain("❯ ◧ cart.rs · 2 changed…");
        assert_eq!(shown(&line, GlyphSet::Ascii).text(), "> [~] cart.rs - 2 changed...");
        assert_eq!(shown(&line, GlyphSet::Unicode).text(), line.text());
        assert!(ASCII.iter().all(|(_, form)| form.is_ascii()));
    }
}
