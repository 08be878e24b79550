//! Release numbers: `N.N.N`, with an optional part after a hyphen that makes it older than the plain number.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// The number of a release of gimlet. It is safe as a part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReleaseNumber {
    numbers: [u64; 3],
    /// The text after the hyphen. `None`: a final release.
    preview: Option<String>,
}

impl FromStr for ReleaseNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a release number (N.N.N)");
        let (plain, preview) = match text.split_once('-') {
            Some((plain, preview)) => (plain, Some(preview)),
            None => (text, None),
        };
        let is_plain_word =
            |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if preview.is_some_and(|preview| preview.len() > 64 || !preview.split('.').all(is_plain_word)) {
            return Err(wrong());
        }
        let mut numbers = [0; 3];
        let mut parts = plain.split('.');
        for number in &mut numbers {
            let part = parts.next().filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
            *number = part.and_then(|part| part.parse().ok()).ok_or_else(wrong)?;
        }
        if parts.next().is_some() {
            return Err(wrong());
        }
        Ok(Self { numbers, preview: preview.map(str::to_owned) })
    }
}

impl fmt::Display for ReleaseNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        self.preview.as_ref().map_or(Ok(()), |preview| write!(f, "-{preview}"))
    }
}

impl Ord for ReleaseNumber {
    fn cmp(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| match (&self.preview, &other.preview) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(mine), Some(theirs)) => {
                mine.split('.').map(PreviewPart::of).cmp(theirs.split('.').map(PreviewPart::of))
            }
        })
    }
}

impl PartialOrd for ReleaseNumber {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// One part of a preview's name: numbers are older than words.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum PreviewPart<'a> {
    Number(u64),
    Word(&'a str),
}

impl<'a> PreviewPart<'a> {
    fn of(text: &'a str) -> Self {
        text.parse().map_or(Self::Word(text), Self::Number)
    }
}

#[cfg(test)]
mod tests {
    use super::ReleaseNumber;

    #[test]
    fn releases_are_ordered_by_number() {
        let ordered = ["0.1.0-2", "0.1.0-alpha", "0.1.0-rc.2", "0.1.0-rc.10", "0.1.0", "0.2.0", "0.10.0", "1.0.0"];
        let parsed: Vec<ReleaseNumber> = ordered.iter().map(|text| text.parse().unwrap()).collect();
        assert!(parsed.is_sorted_by(|a, b| a < b), "{parsed:?}");
        assert_eq!(parsed.iter().map(ToString::to_string).collect::<Vec<_>>(), ordered);
    }

    #[test]
    fn only_plain_numbers_are_read() {
        for wrong in ["", "1", "1.2", "1.2.3.4", "v1.2.3", "1.2.x", "1.2.3-", "1.2.3-a/../b", "1.2.3-a..b", "+1.2.3"] {
            assert!(wrong.parse::<ReleaseNumber>().is_err(), "{wrong}");
        }
    }
}
