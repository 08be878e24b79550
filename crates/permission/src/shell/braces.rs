//! Brace lists, as the shell expands them before anything else: one word becomes several. Serves deny, ask and the safety
//! checks only; in the strict reading braces are refused.

/// More words than this are not spelled out.
const MAX_WORDS: usize = 256;

/// The words after brace expansion; `None` when there are absurdly many.
pub(super) fn expand(words: &[String]) -> Option<Vec<String>> {
    let mut out = Vec::new();
    for word in words {
        let mut pending = vec![word.clone()];
        while let Some(word) = pending.pop() {
            match split(&word) {
                // The last alternative is put first on the pile, so that they come out in order.
                Some(alternatives) => pending.extend(alternatives.into_iter().rev()),
                None => out.push(word),
            }
            if out.len() + pending.len() > MAX_WORDS {
                return None;
            }
        }
    }
    Some(out)
}

pub(super) fn has_list(word: &str) -> bool {
    split(word).is_some()
}

/// The alternatives of the first list that is complete: `a{b,c}d` is `abd` and `acd`.
fn split(word: &str) -> Option<Vec<String>> {
    let opens = word.char_indices().filter(|(at, c)| *c == '{' && !word[..*at].ends_with('$'));
    opens.map(|(at, _)| at).find_map(|open| {
        let (parts, close) = list(&word[open + 1..])?;
        let (before, after) = (&word[..open], &word[open + 1 + close + 1..]);
        Some(parts.into_iter().map(|part| format!("{before}{part}{after}")).collect())
    })
}

/// The parts up to the closing brace and where that is; `None` without a comma on this level.
fn list(text: &str) -> Option<(Vec<&str>, usize)> {
    let (mut depth, mut from, mut parts) = (0_u32, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                parts.push(&text[from..at]);
                return (parts.len() > 1).then_some((parts, at));
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_become_words() {
        let expanded = |text: &str| expand(&[text.to_owned()]).unwrap().join(" ");
        assert_eq!(expanded("{curl,x}"), "curl x");
        assert_eq!(expanded("c{u,}rl"), "curl crl");
        assert_eq!(expanded("{a,{b,c}d}e"), "ae bde cde");
        assert_eq!(expanded("{a,b}{1,2}"), "a1 a2 b1 b2");
        for plain in ["{}", "{a}", "${a,b}", "HEAD@{1}", "{a,b", "a,b}", "x"] {
            assert_eq!(expanded(plain), plain);
        }
        assert_eq!(expand(&["{a,b}".repeat(20)]), None);
    }
}
