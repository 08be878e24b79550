//! Lines that a result shows, and how an edit is brought into the form of lines that were shown.

/// A run of shown lines whose numbers rise by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShownBlock {
    pub(super) first: usize,
    pub(super) lines: Vec<String>,
}

/// The numbered lines of a result (`12<TAB>text`, `12→text`, `12: text`), in runs.
pub(super) fn numbered_blocks(text: &str) -> Vec<ShownBlock> {
    let mut blocks: Vec<ShownBlock> = Vec::new();
    for line in text.lines() {
        let Some((number, content)) = numbered(line) else { continue };
        match blocks.last_mut() {
            Some(block) if block.first + block.lines.len() == number => block.lines.push(content),
            _ => blocks.push(ShownBlock { first: number, lines: vec![content] }),
        }
    }
    blocks
}

/// Splits a numbered line. Drawn tabs and blanks count as what they stand for.
fn numbered(line: &str) -> Option<(usize, String)> {
    let trimmed = line.trim_start_matches([' ', '>', '*']);
    let digits = trimmed.len() - trimmed.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = trimmed.get(..digits)?.parse().ok()?;
    let rest = &trimmed[digits..];
    let content = rest.strip_prefix('\t').or_else(|| rest.strip_prefix('→')).or_else(|| rest.strip_prefix(": "))?;
    Some((number, content.replace("⇥\t", "\t").replace('⇥', "\t").replace('·', " ")))
}

/// The lines of a diff as they are now, markers removed.
pub(super) fn diff_block(text: &str) -> Option<ShownBlock> {
    let is_diff = text.lines().any(|l| l.starts_with('+')) && text.lines().any(|l| l.starts_with('-'));
    let now = text.lines().filter(|l| !l.starts_with("+++") && !l.starts_with('-'));
    let lines: Vec<String> = now.filter_map(|l| l.strip_prefix(['+', ' '])).map(str::to_owned).collect();
    (is_diff && !lines.is_empty()).then_some(ShownBlock { first: 1, lines })
}

/// The shown lines that are most like `wanted`, when they are like enough: the text to copy.
pub(super) fn best_match(blocks: &[ShownBlock], wanted: &str) -> Option<Vec<String>> {
    const LIKE_ENOUGH: f64 = 0.6;
    let wanted: Vec<&str> = wanted.trim_end_matches('\n').lines().collect();
    let mut best: Option<(f64, Vec<String>)> = None;
    for block in blocks.iter().filter(|block| block.lines.len() >= wanted.len() && !wanted.is_empty()) {
        for window in block.lines.windows(wanted.len()) {
            // Another name or number is another thing, however alike the rest is.
            let is_other = window.iter().zip(&wanted).any(|(shown, wanted)| !has_words_of(shown, wanted));
            let alike = window.iter().zip(&wanted).map(|(a, b)| likeness(a, b)).sum::<f64>() / wanted.len() as f64;
            let score = if is_other { 0.0 } else { alike };
            if best.as_ref().is_none_or(|(most, _)| score > *most) {
                best = Some((score, window.to_vec()));
            }
        }
    }
    best.filter(|(score, _)| *score >= LIKE_ENOUGH).map(|(_, lines)| lines)
}

/// Whether a shown line has every word of a believed one; letters may be swapped.
fn has_words_of(shown: &str, believed: &str) -> bool {
    let words = |line: &str| {
        let words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let sorted = words.map(|word| {
            let mut letters: Vec<char> = word.chars().collect();
            letters.sort_unstable();
            letters
        });
        sorted.collect::<Vec<_>>()
    };
    let shown = words(shown);
    words(believed).iter().all(|word| shown.contains(word))
}

/// Lines that a diff in a text replaces: each removed line with the line that came in its place.
pub(super) fn replaced_lines(text: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let (mut removed, mut added): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for line in text.lines().chain([""]) {
        let is_head = line.starts_with("---") || line.starts_with("+++");
        match line.chars().next().filter(|_| !is_head) {
            Some('-') if added.is_empty() => removed.push(&line[1..]),
            Some('+') => added.push(&line[1..]),
            _ => {
                if removed.len() == added.len() {
                    pairs.extend(removed.iter().zip(&added).map(|(a, b)| ((*a).to_owned(), (*b).to_owned())));
                }
                removed.clear();
                added.clear();
                removed.extend(line.strip_prefix('-').filter(|_| !is_head));
            }
        }
    }
    pairs
}

/// Lines of a text that a file shows only with other quotes: each with the line that is shown.
pub(super) fn requoted_lines(text: &str, shown: &[String]) -> Vec<(String, String)> {
    let missing = text.lines().filter(|line| !shown.iter().any(|other| other == line));
    let pairs = missing.filter_map(|line| {
        let mut alike = shown.iter().filter(|other| same_quotes(other) == same_quotes(line));
        match (alike.next(), alike.next()) {
            (Some(other), None) => Some((line.to_owned(), other.clone())),
            _ => None,
        }
    });
    pairs.collect()
}

/// The text with one kind of quotes.
pub(super) fn same_quotes(text: &str) -> String {
    text.replace('\'', "\"")
}

/// The text with replaced lines as they are now.
pub(super) fn brought_up_to_date(text: &str, news: &[(String, String)]) -> String {
    let now =
        |line: &str| news.iter().rev().find(|(before, _)| before == line).map_or(line, |(_, after)| after).to_owned();
    text.split('\n').map(now).collect::<Vec<_>>().join("\n")
}

/// How alike two lines are without their indentation, 0 to 1: shared pairs of characters.
pub(super) fn likeness(a: &str, b: &str) -> f64 {
    let (a, b) = (a.trim(), b.trim());
    if a == b {
        return 1.0;
    }
    let pairs = |text: &str| text.chars().zip(text.chars().skip(1)).collect::<Vec<_>>();
    let (a, mut b) = (pairs(a), pairs(b));
    let all = a.len() + b.len();
    let mut shared = 0;
    for pair in &a {
        if let Some(at) = b.iter().position(|other| other == pair) {
            b.swap_remove(at);
            shared += 2;
        }
    }
    if all == 0 { 0.0 } else { f64::from(shared) / all as f64 }
}

/// `new` written so that it replaces `copied`, given that `old` is what the model believed to stand there: lines the edit
/// keeps are taken from `copied`, the others get its indentation.
pub(super) fn transplant(old: &str, new: &str, copied: &[String]) -> String {
    let believed: Vec<&str> = old.trim_end_matches('\n').lines().collect();
    let indents: Vec<(&str, &str)> = believed
        .iter()
        .zip(copied)
        .filter(|(b, _)| !b.trim().is_empty())
        .map(|(b, c)| (indent(b), indent(c)))
        .collect();
    let mut used = vec![false; believed.len()];
    let mut out = Vec::new();
    for line in new.trim_end_matches('\n').lines() {
        let kept = believed
            .iter()
            .zip(&used)
            .position(|(b, used)| !used && b.trim() == line.trim() && !line.trim().is_empty());
        match kept.filter(|at| *at < copied.len()) {
            Some(at) => {
                used[at] = true;
                out.push(copied[at].clone());
            }
            None => out.push(format!("{}{}", moved_indent(indent(line), &indents), line.trim_start())),
        }
    }
    out.join("\n")
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// The indentation that stands for `own` in the file: as for a line known to correspond, or by the same change.
fn moved_indent(own: &str, known: &[(&str, &str)]) -> String {
    if let Some((_, there)) = known.iter().find(|(here, _)| *here == own) {
        return (*there).to_owned();
    }
    let nearest =
        known.iter().max_by_key(|(here, _)| own.bytes().zip(here.bytes()).take_while(|(a, b)| a == b).count());
    match nearest {
        Some((here, there)) if own.starts_with(here) => {
            let rest = &own[here.len()..];
            let tabs = there.contains('\t') || known.iter().any(|(_, t)| t.contains('\t'));
            let spaces = known.iter().any(|(_, t)| t.contains(' '));
            match (tabs, spaces) {
                (true, false) => format!("{there}{}", rest.replace("    ", "\t")),
                (false, true) => format!("{there}{}", rest.replace('\t', "    ")),
                _ => format!("{there}{rest}"),
            }
        }
        Some((here, there)) if here.starts_with(own) => {
            let less = here.len() - own.len();
            there.get(..there.len().saturating_sub(less)).unwrap_or_default().to_owned()
        }
        _ => own.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_lines_are_read_in_runs() {
        let blocks = numbered_blocks("x\n3\ta\n4\t\tb\nno\n9→c\n  10→d\nline 3: e");
        assert_eq!(blocks.len(), 2);
        assert_eq!(blocks[0], ShownBlock { first: 3, lines: vec!["a".into(), "\tb".into()] });
        assert_eq!(blocks[1].lines, ["c", "d"]);
        assert_eq!(numbered_blocks("7\t⇥x·=·1")[0].lines, ["\tx = 1"]);
    }

    #[test]
    fn the_nearest_lines_are_copied_and_far_ones_are_not() {
        let blocks = numbered_blocks("1\tfn main() {\n2\t\tprintln!(\"hello\");\n3\t}");
        let found = best_match(&blocks, "    println!(\"hlelo\");").unwrap();
        assert_eq!(found, ["\tprintln!(\"hello\");"]);
        assert_eq!(best_match(&blocks, "something else entirely"), None);
        assert_eq!(best_match(&blocks, "\tprintln!(\"hullo\");"), None, "another word");
    }

    #[test]
    fn a_line_with_another_number_is_another_line() {
        let blocks = numbered_blocks("4\tdef start_1(state):\n5\t    return 1");
        assert_eq!(best_match(&blocks, "def start_2(state):"), None);
        assert!(best_match(&blocks, "def strat_1(state):").is_some());
    }

    #[test]
    fn a_diff_brings_texts_up_to_date() {
        let news =
            replaced_lines("app.py changed:\n--- a\n+++ b\n@@ -1,3 +1,3 @@\n x\n-a 'b'\n-c\n+a \"b\"\n+d\n y\n-gone\n");
        assert_eq!(news, [("a 'b'".to_owned(), "a \"b\"".to_owned()), ("c".to_owned(), "d".to_owned())]);
        assert_eq!(brought_up_to_date("a 'b'\nz", &news), "a \"b\"\nz");
    }

    #[test]
    fn lines_with_other_quotes_are_copied_as_shown() {
        let shown = ["a = \"x\"".to_owned(), "b = 1".to_owned(), "c = \"y\"".to_owned(), "c = \"y\"".to_owned()];
        assert_eq!(requoted_lines("a = 'x'\nb = 1\nc = 'y'\nd", &shown), [("a = 'x'".to_owned(), shown[0].clone())]);
    }

    #[test]
    fn an_edit_moves_into_the_shown_indentation() {
        let copied = ["\tif x {".to_owned(), "\t\ty();".to_owned()];
        let new = transplant("    if x {\n        y();", "    if x {\n        y();\n        z();", &copied);
        assert_eq!(new, "\tif x {\n\t\ty();\n\t\tz();");
        assert_eq!(transplant("if x {\n    y();", "if x {\n    w();", &copied), "\tif x {\n\t\tw();");
    }
}
