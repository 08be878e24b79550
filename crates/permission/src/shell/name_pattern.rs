//! Patterns of file names as the shell and `fnmatch` read them: `*`, `?` and brackets with ranges and named classes. A
//! backslash makes the next character plain; a bracket that never closes is text. Where locales or programs differ, more
//! matches than fewer: bash 5.2 takes a bracket with an equivalence class (`[=s=]`) that does not match to go on behind
//! its end.

/// One pattern, ready to be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    tokens: Vec<PatternToken>,
    /// What it matches depends on nothing else.
    is_certain: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternToken {
    Any,
    One,
    Plain(char),
    Set { negated: bool, members: Vec<SetMember> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SetMember {
    Range(char, char),
    Class(String),
    /// `[=s=]`
    Equivalence,
}

impl NamePattern {
    pub fn parse(pattern: &str) -> Self {
        let chars: Vec<char> = pattern.chars().collect();
        let mut tokens = Vec::new();
        let mut at = 0;
        while let Some(c) = chars.get(at) {
            at += 1;
            tokens.push(match c {
                '*' => PatternToken::Any,
                '?' => PatternToken::One,
                '\\' if at < chars.len() => {
                    at += 1;
                    PatternToken::Plain(chars[at - 1])
                }
                '[' => match bracket(&chars[at..]) {
                    Some((set, length)) => {
                        at += length;
                        set
                    }
                    None => PatternToken::Plain('['),
                },
                c => PatternToken::Plain(*c),
            });
        }
        if tokens.iter().any(PatternToken::has_equivalence) {
            return Self { tokens: vec![PatternToken::Any], is_certain: false };
        }
        let is_certain = !tokens.iter().any(PatternToken::is_doubtful);
        Self { tokens, is_certain }
    }

    /// Whether every program matches the text, in every locale.
    pub fn surely_matches(&self, text: &str) -> bool {
        self.is_certain && self.matches(text)
    }

    /// Whether it is more than plain text.
    pub fn is_pattern(&self) -> bool {
        self.tokens.iter().any(|token| !matches!(token, PatternToken::Plain(_)))
    }

    /// Over the whole text; `*` stands for any characters. One point of return suffices, as a later star takes over
    /// what an earlier one left.
    pub fn matches(&self, text: &str) -> bool {
        let chars: Vec<char> = text.chars().collect();
        let (mut token, mut at) = (0, 0);
        let mut back: Option<(usize, usize)> = None;
        while at < chars.len() {
            match self.tokens.get(token) {
                Some(PatternToken::Any) => {
                    token += 1;
                    back = Some((token, at));
                }
                Some(known) if known.fits(chars[at]) => {
                    token += 1;
                    at += 1;
                }
                _ => match back {
                    Some((after, from)) => {
                        back = Some((after, from + 1));
                        token = after;
                        at = from + 1;
                    }
                    None => return false,
                },
            }
        }
        self.tokens[token..].iter().all(|token| *token == PatternToken::Any)
    }
}

impl PatternToken {
    /// Whether the set has more than single characters and digits, or is negated.
    fn is_doubtful(&self) -> bool {
        let Self::Set { negated, members } = self else { return false };
        let is_plain = |member: &SetMember| match member {
            SetMember::Range(first, last) => first == last || (first.is_ascii_digit() && last.is_ascii_digit()),
            SetMember::Class(_) | SetMember::Equivalence => false,
        };
        *negated || !members.iter().all(is_plain)
    }

    fn has_equivalence(&self) -> bool {
        matches!(self, Self::Set { members, .. } if members.contains(&SetMember::Equivalence))
    }

    fn fits(&self, c: char) -> bool {
        match self {
            Self::Any | Self::One => true,
            Self::Plain(known) => *known == c,
            Self::Set { negated, members } => {
                // Which characters a negated class contains depends on the locale.
                let doubtful = *negated && !c.is_ascii() && members.iter().any(|m| matches!(m, SetMember::Class(_)));
                doubtful || members.iter().any(|member| member.holds(c)) != *negated
            }
        }
    }
}

impl SetMember {
    fn holds(&self, c: char) -> bool {
        match self {
            Self::Range(first, last) => (*first..=*last).contains(&c),
            Self::Equivalence => true,
            Self::Class(name) => match name.as_str() {
                "alpha" => c.is_alphabetic(),
                "digit" => c.is_ascii_digit(),
                "alnum" => c.is_alphanumeric(),
                "upper" => c.is_uppercase(),
                "lower" => c.is_lowercase(),
                "space" => c.is_whitespace() || c == '\u{b}',
                "blank" => matches!(c, ' ' | '\t'),
                "punct" => !c.is_alphanumeric() && !c.is_whitespace() && !c.is_control(),
                "cntrl" => c.is_control(),
                "xdigit" => c.is_ascii_hexdigit(),
                "word" => c.is_alphanumeric() || c == '_',
                "ascii" => c.is_ascii(),
                "print" | "graph" => !c.is_control(),
                // Not a class anybody knows: it matches nothing.
                _ => false,
            },
        }
    }
}

/// Whether the bracket that opened before `rest` closes.
pub(crate) fn closes(rest: &str) -> bool {
    bracket(&rest.chars().collect::<Vec<_>>()).is_some()
}

/// The set behind an opening bracket and how many characters it takes, the closing one included.
fn bracket(rest: &[char]) -> Option<(PatternToken, usize)> {
    let negated = matches!(rest.first(), Some('!' | '^'));
    let mut at = usize::from(negated);
    let mut members = Vec::new();
    let mut is_first = true;
    loop {
        let c = *rest.get(at)?;
        if c == ']' && !is_first {
            return Some((PatternToken::Set { negated, members }, at + 1));
        }
        is_first = false;
        if c == '/' {
            return None;
        }
        if let Some((member, length)) = named(&rest[at..]) {
            members.push(member);
            at += length;
            continue;
        }
        let (first, length) = element(&rest[at..])?;
        at += length;
        // A dash before the closing bracket is itself.
        if rest.get(at) == Some(&'-') && rest.get(at + 1).is_some_and(|c| *c != ']') {
            let (last, length) = element(&rest[at + 1..])?;
            members.push(SetMember::Range(first, last));
            at += 1 + length;
        } else {
            members.push(SetMember::Range(first, first));
        }
    }
}

/// `[:lower:]` and `[=s=]`.
fn named(rest: &[char]) -> Option<(SetMember, usize)> {
    let ['[', mark @ (':' | '='), inner @ ..] = rest else { return None };
    let end = inner.windows(2).position(|pair| pair[0] == *mark && pair[1] == ']')?;
    let name: String = inner[..end].iter().filter(|c| **c != '\\').collect();
    let member = if *mark == '=' { SetMember::Equivalence } else { SetMember::Class(name) };
    Some((member, end + 4))
}

/// One character, perhaps behind a backslash or written `[.s.]`.
fn element(rest: &[char]) -> Option<(char, usize)> {
    match rest {
        ['[', '.', inner @ ..] => {
            let end = inner.windows(2).position(|pair| pair == ['.', ']'])?;
            let name: String = inner[..end].iter().collect();
            let mut chars = name.chars();
            let single = chars.next().filter(|_| chars.next().is_none());
            Some((single.or_else(|| symbol(&name))?, end + 4))
        }
        ['\\', c, ..] => Some((*c, 2)),
        [c, ..] => Some((*c, 1)),
        [] => None,
    }
}

/// Names of characters, as POSIX has them for those that stand in file names.
fn symbol(name: &str) -> Option<char> {
    Some(match name {
        "space" => ' ',
        "hyphen" | "hyphen-minus" => '-',
        "period" | "full-stop" => '.',
        "underscore" | "low-line" => '_',
        "slash" | "solidus" => '/',
        "zero" => '0',
        "one" => '1',
        "two" => '2',
        "three" => '3',
        "four" => '4',
        "five" => '5',
        "six" => '6',
        "seven" => '7',
        "eight" => '8',
        "nine" => '9',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_are_read_as_the_shell_reads_them() {
        for (pattern, name, expected) in [
            ("[[:lower:]]ecrets", "secrets", true),
            ("[[:upper:]]ecrets", "secrets", false),
            ("[![:digit:]]ecrets", "secrets", true),
            ("[^[:alpha:]]ecrets", "secrets", false),
            ("[[=s=]]ecrets", "secrets", true),
            ("[[.s.]]ecrets", "secrets", true),
            ("[[.r.]-t]ecrets", "secrets", true),
            ("[\\s]ecrets", "secrets", true),
            ("[]s]ecrets", "secrets", true),
            ("[!]]ecrets", "secrets", true),
            ("[a\\-z]", "s", false),
            ("[a-z]", "s", true),
            ("[s-]", "-", true),
            ("[s", "[s", true),
            ("[s", "s", false),
            ("[[:lower:]", "[l", true),
            ("*[[:lower:]]*k", "a-bxk", true),
            ("a*b*c", "a1b2b3c", true),
            ("a*b*c", "a1b2b3", false),
            ("{a,b}", "a", false),
            ("{a,b}", "{a,b}", true),
            ("**", "x", true),
            ("[[:nosuch:]]", "n", false),
        ] {
            assert_eq!(NamePattern::parse(pattern).matches(name), expected, "{pattern} on {name}");
        }
        for pattern in ["[[=d=]][[:lower:]]*", "x[[=d=]]"] {
            assert!(NamePattern::parse(pattern).matches("secrets"), "{pattern} as bash 5.2 reads it");
        }
        for (pattern, surely) in [("*.rs", true), ("[st]ecrets", true), ("[a-z]ecrets", false), ("[!x]ecrets", false)] {
            assert_eq!(
                NamePattern::parse(pattern).surely_matches("secrets.rs"),
                surely && pattern == "*.rs",
                "{pattern}"
            );
            assert_eq!(NamePattern::parse(pattern).surely_matches("secrets"), surely && pattern != "*.rs", "{pattern}");
        }
        assert!(!NamePattern::parse("\\[\\[=s=\\]\\]ecrets").is_pattern(), "text, not a bracket");
        assert!(!NamePattern::parse("[[=s=]]ecrets").surely_matches("secrets"));
        assert!(!NamePattern::parse("a[b").is_pattern() && NamePattern::parse("a[[:x:]]").is_pattern());
    }

    #[test]
    fn every_class_holds_its_characters_only() {
        for (class, held, other) in [
            ("alpha", "a", "1"),
            ("digit", "1", "a"),
            ("alnum", "1", "-"),
            ("upper", "A", "a"),
            ("lower", "a", "A"),
            ("space", "\u{b}", "a"),
            ("blank", "\t", "\n"),
            ("punct", "-", "a"),
            ("cntrl", "\u{1}", "a"),
            ("xdigit", "f", "g"),
            ("word", "_", "-"),
            ("ascii", "a", "\u{e9}"),
            ("print", "a", "\u{1}"),
            ("graph", "a", "\u{1}"),
        ] {
            let pattern = NamePattern::parse(&format!("[[:{class}:]]"));
            assert!(pattern.matches(held) && !pattern.matches(other), "{class}");
        }
    }

    #[test]
    fn every_symbol_is_its_character() {
        let names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
        let digits = names.iter().zip('0'..='9').map(|(name, digit)| (*name, digit));
        let marks = [("hyphen", '-'), ("hyphen-minus", '-'), ("period", '.'), ("full-stop", '.')];
        let more = [("space", ' '), ("underscore", '_'), ("low-line", '_')];
        for (name, symbol) in digits.chain(marks).chain(more) {
            let pattern = NamePattern::parse(&format!("x[[.{name}.]]"));
            assert!(pattern.matches(&format!("x{symbol}")) && !pattern.matches("xq"), "{name}");
        }
    }
}
