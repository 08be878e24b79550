//! Names of worktrees: chosen by a user or model, derived from a pull request, or generated.

/// The name of a worktree and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeName {
    pub text: String,
    /// The pull or merge request it starts from.
    pub request: Option<u64>,
    /// Whether a user or model chose it.
    pub chosen: bool,
}

const MAX_NAME_LENGTH: usize = 64;
const ADJECTIVES: [&str; 16] = [
    "amber", "brisk", "calm", "clear", "early", "fond", "green", "kind", "late", "lucid", "mild", "quick", "quiet",
    "sharp", "still", "warm",
];
const NOUNS: [&str; 16] = [
    "alder", "birch", "brook", "cliff", "delta", "dune", "fern", "field", "grove", "heron", "larch", "marsh", "otter",
    "reed", "ridge", "wren",
];

impl WorktreeName {
    /// Parses `feature/x`, `#123`, or the URL of a pull or merge request; generates a name for an empty text.
    pub fn parse(given: &str) -> Result<Self, String> {
        let given = given.trim();
        if given.is_empty() {
            return Ok(Self::random());
        }
        if let Some(number) = request(given) {
            return Ok(Self { text: format!("pr-{number}"), request: Some(number), chosen: true });
        }
        let fits = |segment: &str| {
            !segment.is_empty()
                && !matches!(segment, "." | "..")
                && segment.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        };
        if given.len() > MAX_NAME_LENGTH || !given.split('/').all(fits) || given.starts_with('-') {
            return Err(format!(
                "\"{given}\" cannot name a worktree: use letters, digits, dots, dashes and underscores, at most \
                 {MAX_NAME_LENGTH} characters, with / between parts."
            ));
        }
        Ok(Self { text: given.replace('/', "+"), request: None, chosen: true })
    }

    pub fn of_agent(id: &str) -> Self {
        Self { text: format!("agent-{id}"), request: None, chosen: false }
    }

    fn random() -> Self {
        let random = sys::id::uuid();
        let mut digits = random.bytes().filter_map(|b| char::from(b).to_digit(16)).map(|digit| digit as usize);
        let mut next = || digits.next().unwrap_or_default();
        let (adjective, noun) = (ADJECTIVES[next()], NOUNS[next()]);
        Self { text: format!("{adjective}-{noun}-{}", &random[24..30]), request: None, chosen: false }
    }
}

fn request(given: &str) -> Option<u64> {
    if let Some(number) = given.strip_prefix('#') {
        return number.parse().ok();
    }
    let path = given.strip_prefix("https://").or_else(|| given.strip_prefix("http://"))?;
    let mut parts = path.split(['/', '?', '#']).skip_while(|part| !matches!(*part, "pull" | "merge_requests"));
    parts.nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_single_folders() {
        let text = |given: &str| WorktreeName::parse(given).map(|name| name.text);
        assert_eq!(text("fix-1.2_b").unwrap(), "fix-1.2_b");
        assert_eq!(text("feature/login").unwrap(), "feature+login");
        for (given, number) in [
            ("#12", 12),
            ("https://git.example/o/r/pull/7", 7),
            ("https://git.example/o/r/pull/7/files?x=1", 7),
            ("https://gl.example/g/s/r/-/merge_requests/9", 9),
        ] {
            let name = WorktreeName::parse(given).unwrap();
            assert_eq!((name.request, name.text), (Some(number), format!("pr-{number}")), "{given}");
        }
        for bad in ["..", "a/../b", "a b", "/abs", "a//b", "-x", "#x", "é", &"x".repeat(65)] {
            assert!(WorktreeName::parse(bad).is_err(), "{bad}");
        }
        let (one, two) = (WorktreeName::parse("").unwrap(), WorktreeName::parse(" ").unwrap());
        assert!(!one.chosen && one.text != two.text && WorktreeName::parse(&one.text).is_ok());
    }
}
