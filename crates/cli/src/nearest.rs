//! Finds the name that was probably meant.

/// The candidate closest to `name`; `None` when all differ too much.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).clamp(1, 3);
    let scored = candidates.map(|candidate| (distance(&name.to_lowercase(), &candidate.to_lowercase()), candidate));
    scored.filter(|(distance, _)| *distance <= allowed).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// The number of letters that must be changed, added or removed.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let keys = ["model", "permissions", "cleanupPeriodDays", "env"];
        let near = |name| nearest(name, keys.into_iter());
        assert_eq!(near("permisions"), Some("permissions"));
        assert_eq!(near("Model"), Some("model"));
        assert_eq!(near("cleanupperiodday"), Some("cleanupPeriodDays"));
        assert_eq!((near("theme"), near("x")), (None, None));
    }
}
