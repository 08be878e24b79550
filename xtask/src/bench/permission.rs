//! The cost of a permission decision, measured inside a small program: the start of a process would hide it.

use super::Bench;
use super::table::{Amount, Row};
use crate::steps::cargo_program;
use anyhow::{Context, Result, ensure};
use std::process::Command;
use std::time::Duration;

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let mut command = Command::new(cargo_program());
    command.args(["run", "--quiet", "--profile", &bench.profile, "--package", "gimlet-permission"]);
    let output = command.args(["--example", "decision_cost"]).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let figure = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let nanos = line.with_context(|| format!("no figure called {name}"))?.parse()?;
        anyhow::Ok(Amount::Time(Duration::from_nanos(nanos)))
    };
    Ok(vec![
        Row::new("decision, 200 rules, file tool", figure("file")?).budget(Amount::ms(0.05)),
        Row::new("decision, 200 rules, shell command", figure("command")?).budget(Amount::ms(0.5)),
        Row::new("start with 1,000 rules, added", figure("start")?).budget(Amount::ms(2.0)),
    ])
}
