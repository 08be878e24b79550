//! The checks of the permission fuzz targets on mutated inputs; the same inputs on every run.
#![allow(clippy::unwrap_used, reason = "test code")]

#[path = "../../../../fuzz/checks/command.rs"]
mod command;
#[path = "../../../../fuzz/checks/mutate.rs"]
mod mutate;
#[path = "../../../../fuzz/checks/path.rs"]
mod path;
#[path = "../../../../fuzz/checks/rules.rs"]
mod rules;

/// Runs a check on what fuzzing has kept and on changed copies of `seeds`.
fn smoke(kept: &str, seeds: &[&[u8]], check: fn(&[u8]), times: usize) {
    mutate::kept(kept, check);
    mutate::smoke(seeds, check, 71, times);
}

#[test]
fn rule_lists_survive_mutation() {
    smoke(
        include_str!("../../../../fuzz/corpus/rules.txt"),
        &[
            b"Bash(git log:*), Edit(src/**) Read(//etc/[a-z]*/x) WebFetch(domain:*.example.com)",
            b"mcp__s__* Agent(model:opus) Skill(x *) Bash(a \\(b\\) c) Cd(~/x)",
            b"Read(!x) Edit({a,b}/**/[!c]) Write(x) Bash() Tool(",
        ],
        rules::check,
        400,
    );
}

#[test]
fn commands_survive_mutation() {
    // [CLI-188]
    smoke(
        include_str!("../../../../fuzz/corpus/command.txt"),
        &[
            b"cd src && FOO=1 timeout 5 cargo test -- --nocapture 2>&1 | tail -40",
            b"cat <<'E' | sh -c \"$(echo `id`)\"\ntext ${a:-$((1+2))}\nE\n",
            b"if [[ -v a[$(id)] ]]; then { f() { ls; }; f; } fi; case $x in a|b) ls;; esac",
            b"find . -name '*.rs' -exec rm {} + ; rm -rf \"$X\"/* {a,b}{1..3} ~/x >| out <(ls)",
        ],
        command::check,
        300,
    );
}

#[test]
fn path_rules_survive_mutation() {
    smoke(
        include_str!("../../../../fuzz/corpus/path.txt"),
        &[b"//etc/**\xff/etc/passwd", b"~/[a-z]*\xffsrc/main.rs", b"dir/**\xff../x/dir/y", b"\xff"],
        path::check,
        800,
    );
}
