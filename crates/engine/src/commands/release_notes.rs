//! `/release-notes`: the newest part of the change log, newest lines first. Lines are added at the end of their list.

use super::CommandReply;
use std::fmt::Write;
use wire::counting::counted;

/// Entries of each list that are shown.
const MOST_ENTRIES: usize = 5;
/// Characters of an entry.
const ENTRY_LENGTH: usize = 240;

pub(super) fn run() -> CommandReply {
    let notes = newest(include_str!("../../../../CHANGELOG.md"));
    CommandReply::for_user(format!("gimlet {}: {notes}", env!("CARGO_PKG_VERSION")))
}

/// The first section of the log, each of its lists from its end.
fn newest(log: &str) -> String {
    let section = log.split("\n## ").nth(1).unwrap_or(log).trim();
    let mut lists = section.split("\n### ");
    let mut text = lists.next().unwrap_or_default().trim().to_owned();
    let mut left_out = 0;
    for list in lists {
        let (heading, entries) = list.split_once('\n').unwrap_or((list, ""));
        let entries = entries_of(entries);
        left_out += entries.len().saturating_sub(MOST_ENTRIES);
        write!(text, "\n\n{heading}").ok();
        for entry in entries.iter().rev().take(MOST_ENTRIES) {
            write!(text, "\n- {}", shortened(entry)).ok();
        }
    }
    if left_out > 0 {
        write!(text, "\n\n… {} in CHANGELOG.md of gimlet", counted(left_out, "earlier entry")).ok();
    }
    text
}

/// The entries of a list, each in one line.
fn entries_of(list: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for line in list.lines() {
        match (line.strip_prefix("- "), entries.last_mut()) {
            (Some(first), _) => entries.push(first.trim().to_owned()),
            (None, Some(entry)) if !line.trim().is_empty() => write!(entry, " {}", line.trim()).unwrap_or_default(),
            (None, _) => {}
        }
    }
    entries
}

fn shortened(entry: &str) -> String {
    match entry.char_indices().nth(ENTRY_LENGTH) {
        Some((at, _)) => format!("{}…", entry[..at].trim_end()),
        None => entry.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_entries_come_first_and_older_versions_are_left_out() {
        let many = (0..12).map(|n| format!("- Fix {n}")).collect::<Vec<_>>().join("\n");
        let log = format!(
            "# Changelog\n\n## 0.2\n\n### Added\n- Old\n- New,\n  in two lines\n- {}\n\n### Fixed\n{many}\n\n## 0.1\n- Gone\n",
            "long ".repeat(80)
        );
        let text = newest(&log);
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows[0], "0.2");
        assert!(rows[3].starts_with("- long long") && rows[3].ends_with('…') && rows[3].chars().count() < 250);
        assert_eq!(rows[4..7], ["- New, in two lines", "- Old", ""]);
        assert_eq!(rows[7..9], ["Fixed", "- Fix 11"]);
        assert_eq!(rows[12..], ["- Fix 7", "", "… 7 earlier entries in CHANGELOG.md of gimlet"]);
        assert!(!text.contains("Gone"));
    }
}
