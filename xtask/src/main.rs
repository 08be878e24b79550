//! Development tasks, listed in `USAGE`. They start programs one after another; the first failure ends the run with
//! its output on the screen.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks to the person who started it")]
#![expect(clippy::disallowed_methods, reason = "chores start programs and read the real environment")]

mod bench;
mod clients;
mod demo;
mod deps;
mod dist;
mod eval;
mod fuzz;
mod ids;
mod keep_data;
mod modules;
mod mutate;
mod plurals;
mod record;
mod settings;
mod shape;
mod sizes;
mod source;
mod steps;
mod supply;
mod test;
mod tool_names;
mod tree;
mod walk;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "Usage: cargo xtask <task>

  test                  format, edges, lints, all Rust tests, the short evaluation, documentation, the walks of CONTRIBUTING.md, then the clients of others and a real model
    --no-clients        without the clients and the real model
    --changed           only the crates that the uncommitted change touches, and those that depend on them
    --only TEXT         only the Rust tests whose full name contains TEXT
  test --long [NAME]    the full counts of tests that have a short form, in pieces that can be continued
  soak                  one session of 10,000 turns in the release build, with what it holds at the end (also test --long soak)
    --turns N           this many turns (200 at least); nothing is recorded
  flake [TEXT]          repeat the tests that start processes 20 times beside busy loops, in pieces that can be continued
    --minutes N         end after N minutes; the next run continues
    --build             only build
  mutate [NAME]         change deciding functions one by one and see which changes no test notices, in pieces that can be continued
    --sample N          this many changes (300)
    --seed S            another sample
  fuzz [NAME]           build the fuzz targets and run them with libFuzzer; time and executions of all runs add up
    --minutes N         of each target (2)
    --folder FOLDER     for programs, inputs and findings (target/fuzz)
    --build             only build
    --endless           run what is built, one target after the other until stopped, without touching the tree
    --record            add what an endless run has done so far to docs/testing.md and fuzz/corpus
  keep-data             write the data that later builds must read: one of each kind, as a fixture
  deps                  check the edges between our crates, cycles between the modules of a crate, and names of tools
  supply                check licences, sources and number of the packages we depend on
  ids                   check which items of the specification's checklists no test names
  settings              check that every settings key is read by code, or declared to have no effect
  clients               install the clients of others and run their tests
  dist                  package the published binary: archive, .deb, npm, bill of materials, checksums, install script
    --out FOLDER        where to (target/packages); a file server can serve it as it is
    --sign KEY.pem      sign the checksums with this Ed25519 key
    --url URL           fill this address into the install script
    --channel NAME      the channel that names this release: latest (default), stable; may be repeated
    --binary FILE       package this binary instead of building one
  dist --try            package the debug binary and install it in clean folders and in a clean Debian system
  first-change          carry out the walks of CONTRIBUTING.md on a copy of the tree, build it and try it
  bench [--quick]       measure the release binary against its budgets
  eval [OPTIONS]        run the tasks of eval/tasks against a model that slips, an endpoint or recorded conversations
    --help              what it can do
  code-order            record which functions a turn runs (with valgrind), for the linker script of the binary
    --binary FILE         trace this binary, which has symbols and was linked with an empty script
  sizes                 list the longest files and functions, and the largest cycle of modules of each crate
  record-demo           record the demo's cassette from its script
  pictures              draw docs/pictures from the interface in a terminal; a test compares them";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["test", "--long"] => test::long(&root(), None),
        ["test", "--long", name] => test::long(&root(), Some(name)),
        ["test", ref options @ ..] => test::run(&root(), options),
        ["flake", ref options @ ..] => test::flake(&root(), options),
        ["mutate", ref options @ ..] => mutate::run(&root(), options),
        ["fuzz", ref options @ ..] => fuzz::run(&root(), options),
        ["keep-data"] => keep_data::run(&root()),
        ["deps"] => steps::stage("crate and module edges", || deps::check(&root())),
        ["supply"] => steps::stage("dependencies", || supply::check(&root())),
        ["ids"] => steps::stage("checklist items", || ids::check(&root())),
        ["settings"] => steps::stage("settings keys", || settings::check(&root())),
        ["clients"] => {
            let mut stages = steps::Stages::default();
            let done = clients::run(&root(), None, &mut stages);
            stages.print();
            done
        }
        ["dist", "--try"] => dist::trial(&root(), None, true),
        ["dist", ref options @ ..] => steps::stage("packages", || dist::run(&root(), options)),
        ["first-change"] => steps::stage("first change", || walk::run(&root())),
        ["bench", ref options @ ..] => bench::run(options),
        ["eval", ref options @ ..] => eval::run(&root(), options),
        ["code-order"] => steps::stage("code order", || bench::code_order::write(&root(), None)),
        ["code-order", "--binary", file] => {
            steps::stage("code order", || bench::code_order::write(&root(), Some(file)))
        }
        ["soak"] => test::soak(&root(), None),
        ["soak", "--turns", turns] => match turns.parse() {
            Ok(turns) => test::soak(&root(), Some(turns)),
            Err(_) => Err(anyhow::anyhow!("--turns {turns}: no number")),
        },
        ["sizes"] => sizes::report(&root()),
        ["record-demo"] => demo::record(&root()),
        ["pictures"] => demo::pictures(&root()),
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

/// The root of the workspace this program was built in.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}
