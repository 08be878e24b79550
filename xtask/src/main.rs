//! Chores: `cargo xtask test | deps | ids | settings | bench | soak | sizes | record-demo | demo-svg | pictures`. Plain programs started one after another; the first failure ends the run
//! with its output on the screen.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks to the person who started it")]
#![expect(clippy::disallowed_methods, reason = "chores start programs and read the real environment")]

mod bench;
mod clients;
mod demo;
mod deps;
mod ids;
mod settings;
mod sizes;
mod steps;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "Usage: cargo xtask <task>

  test [--no-clients]   fmt, clippy, crate edges, all Rust tests, then the clients of others and a real model
  deps                  check the edges between our crates
  ids                   check which items of the specification's checklists no test names
  settings              check that every settings key is read by code, or declared to have no effect
  clients               install the clients of others and run their tests
  bench [--quick]       measure the release binary against its budgets
  soak                  2,000 turns in one interactive session, in the release profile
  sizes                 list the longest files and functions
  record-demo           record the demo's cassette from its script
  demo-svg              draw docs/demo.svg from the demo's output
  pictures              draw docs/pictures from the interface in a terminal";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["test"] => steps::test(&root(), steps::Clients::Run),
        ["test", "--no-clients"] => steps::test(&root(), steps::Clients::Skip),
        ["deps"] => steps::stage("crate edges", || deps::check(&root())),
        ["ids"] => steps::stage("checklist items", || ids::check(&root())),
        ["settings"] => steps::stage("settings keys", || settings::check(&root())),
        ["clients"] => clients::run(&root()),
        ["bench", ref options @ ..] => bench::run(options),
        ["soak"] => steps::soak(&root()),
        ["sizes"] => sizes::report(&root()),
        ["record-demo"] => demo::record(&root()),
        ["pictures"] => demo::pictures(&root()),
        ["demo-svg"] => demo::picture(&root()),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace this chore was built in.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}
