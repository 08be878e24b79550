//! Fuzzy matching: the letters of the query in order, anywhere in the candidate. Matches at the start of words, in runs
//! and in the file name count more; shorter candidates win among equals.

/// The score of a match, higher is better; `None` when the candidate does not match. An upper-case letter in the query
/// matches only itself.
pub fn score(query: &str, candidate: &str) -> Option<i32> {
    if query.is_empty() {
        return Some(0);
    }
    Some(best_walk(query, candidate, &mut |_| {})? - (candidate.len() / 8) as i32)
}

/// The bytes of the candidate that the letters of the query match.
pub fn matched(query: &str, candidate: &str) -> Vec<usize> {
    let mut found = Vec::new();
    if best_walk(query, candidate, &mut |at| found.push(at)).is_none() {
        return Vec::new();
    }
    // A first walk that failed reported its positions too.
    found.split_off(found.len() - query.len())
}

/// A match in the file name is preferred to one in the whole path.
fn best_walk(query: &str, candidate: &str, found: &mut dyn FnMut(usize)) -> Option<i32> {
    let (query, bytes) = (query.as_bytes(), candidate.as_bytes());
    let name_start = bytes.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let in_name = walk(query, bytes, name_start, found).map(|score| score + 15);
    in_name.or_else(|| walk(query, bytes, 0, found))
}

fn same(query: u8, candidate: u8) -> bool {
    query == candidate || (query.is_ascii_lowercase() && query == candidate.to_ascii_lowercase())
}

/// Matches each letter at its first possible position and adds up the bonuses.
fn walk(query: &[u8], candidate: &[u8], from: usize, report: &mut dyn FnMut(usize)) -> Option<i32> {
    let mut total = 0;
    let mut at = from;
    let mut last = None;
    for letter in query {
        let found = at + candidate[at..].iter().position(|byte| same(*letter, *byte))?;
        let starts_word = found == from || !candidate[found - 1].is_ascii_alphanumeric();
        let hump = found > 0 && candidate[found].is_ascii_uppercase() && candidate[found - 1].is_ascii_lowercase();
        total += match last {
            Some(last) if last + 1 == found => 12,
            Some(last) => 2 - ((found - last) as i32).min(8),
            None => 4 - ((found - from) as i32).min(8),
        };
        if starts_word || hump {
            total += 10;
        }
        report(found);
        last = Some(found);
        at = found + 1;
    }
    // The typed letters end where a word ends.
    if candidate.get(at).is_none_or(|next| !next.is_ascii_alphanumeric()) {
        total += 6;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best<'a>(query: &str, candidates: &[&'a str]) -> Option<&'a str> {
        candidates.iter().filter_map(|c| Some((score(query, c)?, *c))).max_by_key(|(s, _)| *s).map(|(_, c)| c)
    }

    #[test]
    fn names_words_and_runs_win() {
        assert_eq!(best("main", &["src/domain/x.rs", "src/main.rs", "m/a/i/n.rs"]), Some("src/main.rs"));
        assert_eq!(best("sm", &["src/main.rs", "awesome.rs"]), Some("src/main.rs"));
        assert_eq!(best("main", &["src/mainly.rs", "src/main.rs"]), Some("src/main.rs"));
        assert_eq!(best("README", &["readme.txt", "README.md"]), Some("README.md"));
        assert_eq!(score("zzz", "abc"), None);
        assert_eq!(score("", "abc"), Some(0));
        assert!(score("é", "café").is_some());
    }

    #[test]
    fn the_matched_letters_are_those_that_were_scored() {
        assert_eq!(matched("mai", "src/main.rs"), [4, 5, 6]);
        assert_eq!(matched("sm", "src/main.rs"), [0, 4]);
        assert_eq!(matched("é", "café"), [3, 4]);
        assert!(matched("zz", "abc").is_empty() && matched("", "abc").is_empty());
    }
}
