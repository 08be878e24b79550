//! Runs the checks of the `settings` and `frontmatter` fuzz targets on mutated files; every run uses the same inputs.
#![allow(clippy::unwrap_used, reason = "test code")]

#[path = "../../../../fuzz/checks/frontmatter.rs"]
mod frontmatter;
#[path = "../../../../fuzz/checks/mutate.rs"]
mod mutate;
#[path = "../../../../fuzz/checks/settings.rs"]
mod settings;

const SEEDS: [&str; 4] = [
    "---\nname: a\ndescription: Use when: it breaks\ntools: [Read, \"Bash(git:*)\"]\nhooks:\n  Stop:\n    - hooks: []\n---\nBody $1\n",
    "\u{feff}---\r\nname: a\r\ndescription: >-\r\n  one\r\n  two\r\n---\r\nBody",
    "---\na: &x [1, *x, {b: c}]\n? complex\n: value\nname:\tq\n\t- z\n",
    "\n---\n'quoted key': \"v\\u0041\"\nargument-hint: [a] | [b]\n...\nrest\n---\n",
];

#[test]
fn mutated_heads_hold_their_promises() {
    mutate::kept(include_str!("../../../../fuzz/corpus/frontmatter.txt"), frontmatter::check);
    mutate::smoke(&SEEDS, frontmatter::check, 1, 4_000);
}

#[test]
fn settings_survive_mutation() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let files = ["valid", "invalid"].map(|kind| std::fs::read_dir(format!("{dir}/{kind}")).unwrap());
    let mut paths: Vec<_> = files.into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let seeds: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    mutate::kept(include_str!("../../../../fuzz/corpus/settings.txt"), settings::check);
    mutate::smoke(&seeds, settings::check, 77, 400);
}
