//! Lists the texts that a model may be sent, with their bytes: whole files (prompts, descriptions, schemas), the text
//! modules of the crates, and the sentences of results and errors where they stand in the source.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Crates whose texts a model reads.
const CRATES: [&str; 5] = ["tools", "session_parts", "engine", "mcp", "permission"];
/// Functions that make a result or an error for the model.
const MAKERS: [&str; 8] =
    ["invalid(", "failed(", "ToolOutcome::text(", "reminder(", "InputError(", "refuse(", "notices.push(", "deny("];
/// Shorter literals are names and separators.
const SHORTEST: usize = 16;

struct ModelText {
    crate_name: String,
    place: String,
    text: String,
}

pub(super) fn print(root: &Path) -> Result<()> {
    let mut sums: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for found in collect(root)? {
        let shown: String = found.text.chars().take(110).collect::<String>().replace('\n', "⏎");
        println!("{:>6}  {:<52} {shown}", found.text.len(), found.place);
        let sum = sums.entry(found.crate_name).or_default();
        *sum = (sum.0 + 1, sum.1 + found.text.len());
    }
    println!("\n{:<16} {:>6} {:>8}", "crate", "texts", "bytes");
    for (name, (count, bytes)) in &sums {
        println!("{name:<16} {count:>6} {bytes:>8}");
    }
    Ok(())
}

fn collect(root: &Path) -> Result<Vec<ModelText>> {
    let mut found = Vec::new();
    for name in CRATES {
        let folder = root.join("crates").join(name).join("src");
        for file in source_files(&folder)? {
            let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            let place = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            let of = |place: String, text: String| ModelText { crate_name: name.to_owned(), place, text };
            if has_end(&file, &["md", "json"]) {
                found.push(of(place, text));
            } else {
                let is_text_module =
                    ["texts.rs", "prompts.rs"].iter().any(|end| place.ends_with(end)) || place.contains("/texts/");
                let sentences = sentences(&text, is_text_module);
                found.extend(sentences.into_iter().map(|(line, text)| of(format!("{place}:{line}"), text)));
            }
        }
    }
    Ok(found)
}

fn has_end(file: &Path, ends: &[&str]) -> bool {
    file.extension().is_some_and(|end| ends.iter().any(|wanted| end == *wanted))
}

fn source_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let is_test = path.to_string_lossy().ends_with("_tests.rs");
        if path.is_dir() {
            found.extend(source_files(&path)?);
        } else if !is_test && has_end(&path, &["rs", "md", "json"]) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The literals with words in them, with their lines: all of a text module, else those that go to a maker.
fn sentences(source: &str, all: bool) -> Vec<(usize, String)> {
    let product = source.split("#[cfg(test)]").next().unwrap_or(source);
    let literals = literals(product);
    let goes_to_maker = |at: usize| {
        let start = product.floor_char_boundary(at.saturating_sub(120));
        let before = &product[start..at];
        let statement = before.rfind([';', '{', '}']).map_or(before, |end| &before[end..]);
        MAKERS.iter().any(|maker| statement.contains(maker))
    };
    let wanted = literals
        .into_iter()
        .filter(|(at, text)| text.len() >= SHORTEST && text.contains(' ') && (all || goes_to_maker(*at)));
    wanted.map(|(at, text)| (product[..at].matches('\n').count() + 1, text)).collect()
}

/// Every string literal with the place where it begins; comments are skipped, line continuations joined.
fn literals(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut rest = source.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        match c {
            '/' if rest.peek().is_some_and(|(_, next)| *next == '/') => {
                while rest.next_if(|(_, c)| *c != '\n').is_some() {}
            }
            // A character, not a lifetime: its quote must not open a literal.
            '\'' if source[at..].starts_with("'\"'") || source[at..].starts_with("'\\\"'") => {
                while rest.next_if(|(_, c)| *c != '\'').is_some() {}
                rest.next();
            }
            '"' => {
                let mut text = String::new();
                while let Some((_, c)) = rest.next() {
                    match c {
                        '"' => break,
                        '\\' => match rest.next() {
                            Some((_, '\n')) => while rest.next_if(|(_, c)| c.is_whitespace()).is_some() {},
                            Some((_, 'n')) => text.push('\n'),
                            Some((_, 't')) => text.push('\t'),
                            Some((_, other)) => text.push(other),
                            None => break,
                        },
                        other => text.push(other),
                    }
                }
                found.push((at, text));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    // [MX-45]
    #[test]
    fn sentences_of_results_are_found() {
        let source = "// \"no literal here\"\nfn x() { let c = '\"'; return ToolOutcome::invalid(format!(\"{} is a \\\n     folder, not a file.\", p)); }\nconst A: &str = \"names and other words\";\n";
        assert_eq!(sentences(source, false), [(2, "{} is a folder, not a file.".to_owned())]);
        assert_eq!(sentences(source, true).len(), 2);
    }

    // [MX-45]
    #[test]
    fn the_product_has_texts() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let found = collect(&root).unwrap();
        assert!(found.len() > 100, "{}", found.len());
        assert!(found.iter().any(|text| text.place.ends_with("system.md")));
        assert!(found.iter().any(|text| text.place.contains("tools/src/edit")));
    }
}
