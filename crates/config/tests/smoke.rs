//! The check of the `frontmatter` fuzz target on mutated heads; the same inputs on every run.

#[path = "../../../fuzz/checks/frontmatter.rs"]
mod check;
#[path = "../../../fuzz/checks/mutate.rs"]
mod mutate;

const SEEDS: [&str; 4] = [
    "---\nname: a\ndescription: Use when: it breaks\ntools: [Read, \"Bash(git:*)\"]\nhooks:\n  Stop:\n    - hooks: []\n---\nBody $1\n",
    "\u{feff}---\r\nname: a\r\ndescription: >-\r\n  one\r\n  two\r\n---\r\nBody",
    "---\na: &x [1, *x, {b: c}]\n? complex\n: value\nname:\tq\n\t- z\n",
    "\n---\n'quoted key': \"v\\u0041\"\nargument-hint: [a] | [b]\n...\nrest\n---\n",
];

#[test]
fn mutated_heads_hold_their_promises() {
    for (seed, text) in SEEDS.iter().enumerate() {
        check::check(text.as_bytes());
        let mut mutator = mutate::Mutator::new(seed as u64 + 1);
        for _ in 0..4_000 {
            check::check(&mutator.mutate(text.as_bytes()));
        }
    }
}
