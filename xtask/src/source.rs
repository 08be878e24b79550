//! Rust sources as text: comments and literals are blanked, tests are cut out. Exact enough for counting and much
//! cheaper than a parser.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// One source file of a crate.
pub(crate) struct SourceFile {
    /// The text with comments, literals and tests replaced by blanks; line numbers are unchanged.
    pub(crate) product: String,
    /// The folder or file below `src` that it belongs to; `None` for a crate root or a file outside `src`.
    pub(crate) module: Option<String>,
}

/// The folders of our crates.
pub(crate) fn crate_folders(root: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(root.join("crates")).context("crates")?;
    let mut folders: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    folders.push(root.join("xtask"));
    folders.sort();
    Ok(folders)
}

/// All files of the crate in `folder`. Test files are included; their `product` is blank.
pub(crate) fn crate_files(folder: &Path) -> Result<Vec<SourceFile>> {
    let mut paths = Vec::new();
    collect(folder, &mut paths)?;
    paths.sort();
    paths.into_iter().map(|path| read(folder, &path)).collect()
}

pub(crate) fn collect(folder: &Path, out: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, out)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
    Ok(())
}

fn read(folder: &Path, path: &Path) -> Result<SourceFile> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let inside = path.strip_prefix(folder).unwrap_or(path);
    let product = product(inside, &text);
    Ok(SourceFile { product, module: module_of(inside) })
}

/// The text with comments, literals and tests replaced by blanks. Of `inside`, the path of the file, only its parts count.
pub(crate) fn product(inside: &Path, text: &str) -> String {
    if is_test_file(inside) { blanked(text) } else { without_tests(&without_literals(text)) }
}

/// True when a line of a file is product code: neither test nor comment. Lines count from 1.
pub(crate) fn is_product_line(root: &Path, file: &str, line: usize) -> Result<bool> {
    let path = root.join(file);
    let folder = path.ancestors().find(|above| above.join("Cargo.toml").exists()).unwrap_or(root);
    let product = read(folder, &path)?.product;
    Ok(product.lines().nth(line.saturating_sub(1)).is_some_and(|text| !text.trim().is_empty()))
}

fn is_test_file(inside: &Path) -> bool {
    let stem = inside.file_stem().unwrap_or_default().to_string_lossy();
    let first = inside.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
    matches!(first.as_deref(), Some("tests" | "benches" | "examples")) || stem.ends_with("_tests") || stem == "tests"
}

fn module_of(inside: &Path) -> Option<String> {
    let below = inside.strip_prefix("src").ok()?;
    let name = Path::new(below.components().next()?.as_os_str()).file_stem()?.to_string_lossy().into_owned();
    (name != "lib" && name != "main").then_some(name)
}

fn blanked(text: &str) -> String {
    text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect()
}

/// Blanks comments, strings and characters. The number of lines stays the same.
fn without_literals(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = literal_end(&chars, at);
        if end == at {
            out.push(chars[at]);
            at += 1;
        } else {
            out.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out
}

/// The end of the comment or literal that begins at `at`; `at` itself when none begins there.
fn literal_end(chars: &[char], at: usize) -> usize {
    let starts =
        |text: &str| chars[at..].iter().copied().zip(text.chars()).filter(|(a, b)| a == b).count() == text.len();
    let is_word_start = at == 0 || !(chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    match chars[at] {
        '/' if starts("//") => find(chars, at, |rest| rest[0] == '\n'),
        '/' if starts("/*") => block_comment_end(chars, at),
        'r' | 'b' | 'c' if is_word_start => raw_string_end(chars, at),
        '"' => string_end(chars, at),
        '\'' => character_end(chars, at),
        _ => at,
    }
}

fn find(chars: &[char], from: usize, wanted: impl Fn(&[char]) -> bool) -> usize {
    (from..chars.len()).find(|at| wanted(&chars[*at..])).unwrap_or(chars.len())
}

fn block_comment_end(chars: &[char], at: usize) -> usize {
    let (mut depth, mut here) = (1, at + 2);
    while here < chars.len() && depth > 0 {
        match chars[here..] {
            ['/', '*', ..] => (depth, here) = (depth + 1, here + 2),
            ['*', '/', ..] => (depth, here) = (depth - 1, here + 2),
            _ => here += 1,
        }
    }
    here.min(chars.len())
}

fn raw_string_end(chars: &[char], at: usize) -> usize {
    let prefix = chars[at..].iter().take_while(|c| matches!(c, 'b' | 'c' | 'r')).count();
    let hashes = chars[at + prefix..].iter().take_while(|c| **c == '#').count();
    let is_raw = prefix <= 2 && chars[at + prefix - 1] == 'r' && chars.get(at + prefix + hashes) == Some(&'"');
    if !is_raw {
        return at;
    }
    let closing: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    (find(chars, at + prefix + hashes + 1, |rest| rest.starts_with(&closing)) + closing.len()).min(chars.len())
}

fn string_end(chars: &[char], at: usize) -> usize {
    let mut here = at + 1;
    while here < chars.len() && chars[here] != '"' {
        here += if chars[here] == '\\' { 2 } else { 1 };
    }
    (here + 1).min(chars.len())
}

/// The end of a character literal; `at` itself for a lifetime.
fn character_end(chars: &[char], at: usize) -> usize {
    match chars[at..] {
        ['\'', '\\', ..] => (find(chars, at + 3, |rest| rest[0] == '\'') + 1).min(chars.len()),
        ['\'', _, '\'', ..] => at + 3,
        _ => at,
    }
}

/// Blanks items after `#[cfg(test)]` and `#[test]`. `code` no longer contains comments and literals.
fn without_tests(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = next_test(rest) {
        let end = at + item_length(&rest[at..]);
        out.push_str(&rest[..at]);
        out.push_str(&blanked(&rest[at..end]));
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

fn next_test(code: &str) -> Option<usize> {
    ["#[cfg(test", "#[cfg(all(test", "#[cfg(any(test", "#[test", "#[tokio::test"]
        .iter()
        .filter_map(|mark| code.find(mark))
        .min()
}

/// The length of the item at the beginning of `code`, attributes included, up to its semicolon or closing brace.
fn item_length(code: &str) -> usize {
    let attribute = code.find(']').map_or(code.len(), |at| at + 1);
    let body = code[attribute..].find('{');
    let end = code[attribute..].find(';');
    match (body, end) {
        (Some(open), semicolon) if semicolon.is_none_or(|s| open < s) => {
            attribute + open + block_length(&code[attribute + open..])
        }
        (_, Some(semicolon)) => attribute + semicolon + 1,
        _ => code.len(),
    }
}

/// The length of the block at the beginning of `code`.
pub(crate) fn block_length(code: &str) -> usize {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return at + 1;
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_literals_and_tests_are_blank() {
        let text = "fn a<'x>(c: &'x str) { let _ = \"fn b\"; let _ = '\"'; let _ = '\\n'; } // fn c\n/* fn d /* e */ */ fn f() { r#\"fn \"g\"# }\n#[cfg(test)]\nmod tests { fn h() { } }\nfn i() {}\n";
        let product = without_tests(&without_literals(text));
        assert_eq!(product.lines().count(), text.lines().count());
        let names: Vec<&str> = product.split("fn ").skip(1).map(|rest| &rest[..1]).collect();
        assert_eq!(names, ["a", "f", "i"]);
    }

    #[test]
    fn the_module_is_the_first_name_below_src() {
        let module = |path: &str| module_of(Path::new(path));
        assert_eq!(module("src/agents/child.rs").as_deref(), Some("agents"));
        assert_eq!(module("src/turn.rs").as_deref(), Some("turn"));
        assert_eq!(module("src/lib.rs"), None);
        assert_eq!(module("tests/a.rs"), None);
    }
}
