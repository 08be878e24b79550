//! Chores of the workspace: `cargo xtask <chore>`.

mod bench;

use std::process::ExitCode;

const USAGE: &str = "cargo xtask bench [--quick]";

#[expect(clippy::print_stderr, reason = "a chore talks to whoever started it")]
fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (chore, rest) = args.split_first().map_or(("", &[][..]), |(chore, rest)| (chore.as_str(), rest));
    let done = match chore {
        "bench" => bench::run(rest),
        _ => Err(anyhow::anyhow!("usage: {USAGE}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
