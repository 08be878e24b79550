//! Paths and names that a result mentions.

use super::lines::likeness;

/// Words of a text that look like paths, without quotes and punctuation around them.
pub(super) fn mentioned(text: &str) -> Vec<String> {
    let cuts = |c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '<' | '>' | '(' | ')' | ',' | '|');
    let words = text.split(cuts).map(|word| word.trim_end_matches(['.', ':', ';', '?', '!', '…']));
    let mut found: Vec<String> = Vec::new();
    for word in words {
        let is_path =
            word.contains('/') || word.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && !end.is_empty());
        if is_path && word.len() > 2 && !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
    }
    found
}

pub(super) fn base_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

pub(super) fn parent(path: &str) -> &str {
    path.trim_end_matches('/').rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// A name in a folder; an empty folder is the working directory.
pub(super) fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The mentioned path whose name is most like that of `wanted`, other than `wanted` itself. A bare name lies in `folder`.
pub(super) fn suggested(text: &str, wanted: &str, folder: &str) -> Option<String> {
    let name = base_name(wanted).to_lowercase();
    let alike = |path: &String| likeness(&base_name(path).to_lowercase(), &name);
    let others = mentioned(text).into_iter().filter(|path| path != wanted && !wanted.ends_with(&format!("/{path}")));
    let found: Vec<String> = others.filter(|path| alike(path) >= 0.5).collect();
    let best = found.iter().map(alike).fold(0.0, f64::max);
    // Of equally good names the one with the same letters, then the one whose folders are most like the wanted ones.
    let letters = |path: &str| {
        let mut letters: Vec<char> = base_name(path).to_lowercase().chars().collect();
        letters.sort_unstable();
        letters
    };
    let rank = |path: &String| (letters(path) == letters(wanted), likeness(path, wanted));
    let best = found.iter().filter(|path| alike(path) >= best).max_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    })?;
    let is_bare = !best.contains('/');
    Some(if is_bare && !folder.is_empty() { format!("{}/{best}", folder.trim_end_matches('/')) } else { best.clone() })
}

/// A file outside the workspace that holds a whole output.
pub(super) fn output_file(text: &str, directory: Option<&str>) -> Option<String> {
    let inside = |path: &str| directory.is_some_and(|dir| path.starts_with(dir));
    let is_text = |path: &str| [".txt", ".output", ".log"].iter().any(|end| path.ends_with(end));
    let is_output = |path: &&String| path.starts_with('/') && !inside(path) && is_text(path);
    mentioned(text).iter().find(is_output).cloned()
}

/// The id of a task or an agent: eight to twenty small letters and digits, named as one, else the first word with both.
pub(super) fn task_id(text: &str) -> Option<String> {
    let is_small = |word: &&str| {
        (8..=20).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase())
    };
    let after = |mark: &str| {
        let rest = &text[text.find(mark)? + mark.len()..];
        let word = rest.trim_start().split(|c: char| !c.is_ascii_alphanumeric()).next();
        word.filter(is_small)
    };
    let named = ["as task ", "ID: ", "Id: ", "id: "].into_iter().find_map(after);
    let is_id = |word: &&str| {
        is_small(word) && word.bytes().any(|b| b.is_ascii_digit()) && word.bytes().any(|b| b.is_ascii_lowercase())
    };
    let any = || text.split(|c: char| !c.is_ascii_alphanumeric()).find(is_id);
    named.or_else(any).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggested_path_is_taken() {
        let text = "File does not exist: /w/src/confg.py. The current directory is /w. Did you mean /w/src/config.py?";
        assert_eq!(suggested(text, "/w/src/confg.py", "/w/src").as_deref(), Some("/w/src/config.py"));
        assert_eq!(
            suggested("File does not exist: /w/a/main.py. The current directory is /w.", "/w/a/main.py", "/w/a"),
            None
        );
        assert_eq!(suggested("settings.py\nlib/", "/w/src/settings.py", "/w/src"), None);
        assert_eq!(
            suggested("Settings.py\nlib/", "/w/src/settings.py", "/w/src").as_deref(),
            Some("/w/src/Settings.py")
        );
    }

    #[test]
    fn ids_and_output_files_are_found() {
        assert_eq!(task_id("Running as task b0f3k29ab. Output"), Some("b0f3k29ab".to_owned()));
        assert_eq!(task_id("Running in the background"), None);
        let letters = "Running as task bxudbchxl. Output goes to /tmp/99ae1757/x";
        assert_eq!(task_id(letters), Some("bxudbchxl".to_owned()), "an id need not have digits");
        assert_eq!(task_id("agentId: a1b2c3d4e5f6 (to continue)"), Some("a1b2c3d4e5f6".to_owned()));
        let text = "Full output saved to: /home/u/.claude/x/tool-results/abc.txt\n";
        assert_eq!(output_file(text, Some("/w")).as_deref(), Some("/home/u/.claude/x/tool-results/abc.txt"));
        assert_eq!(output_file("/w/project/file.py failed", Some("/w")), None);
    }
}
