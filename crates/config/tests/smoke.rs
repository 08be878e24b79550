//! The check of the `settings` fuzz target on mutated files; the same inputs on every run.
#![allow(clippy::unwrap_used, reason = "test code")]

#[path = "../../../fuzz/checks/settings.rs"]
mod check;
#[path = "../../../fuzz/checks/mutate.rs"]
mod mutate;

#[test]
fn settings_survive_mutation() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let files = ["valid", "invalid"].map(|kind| std::fs::read_dir(format!("{dir}/{kind}")).unwrap());
    let mut paths: Vec<_> = files.into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    for (n, path) in paths.iter().enumerate() {
        let seed = std::fs::read(path).unwrap();
        check::check(&seed);
        let mut mutator = mutate::Mutator::new(n as u64 + 77);
        for _ in 0..400 {
            check::check(&mutator.mutate(&seed));
        }
    }
}
