//! `cargo xtask first-change`, a stage of the test command: carries out the steps of CONTRIBUTING.md on a copy of the tree, builds it and runs it.

use crate::clients;
use crate::steps::{cargo_program, target_folder};
use crate::tree::Tree;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One numbered step that a program can carry out.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    NewFile {
        path: String,
        text: String,
    },
    /// Inserts `text` beside the only line that begins with `anchor`.
    Insert {
        path: String,
        side: Side,
        anchor: String,
        text: String,
    },
    Run {
        args: Vec<String>,
        prints: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Above,
    Below,
}

pub(crate) fn run(root: &Path) -> Result<()> {
    let page = std::fs::read_to_string(root.join("CONTRIBUTING.md")).context("CONTRIBUTING.md")?;
    let steps = steps_of(&page)?;
    let mut tree = Tree::read(root)?;
    for step in &steps {
        change(&mut tree, step).with_context(|| format!("{step:?}"))?;
    }
    let copy = target_folder(root).join("first-change");
    tree.write(&copy)?;
    let binary = build(root, &copy)?;
    let home = tempfile::tempdir()?;
    for step in &steps {
        try_out(step, &binary, home.path())?;
    }
    println!("   {} steps of CONTRIBUTING.md carried out", steps.len());
    Ok(())
}

/// The steps of the section "A first change". A numbered line of another kind is for people and is skipped.
fn steps_of(page: &str) -> Result<Vec<Step>> {
    let section =
        page.split("## A first change\n").nth(1).context("CONTRIBUTING.md has no section 'A first change'")?;
    let section = section.split("\n## ").next().unwrap_or(section);
    let mut steps = Vec::new();
    let mut lines = section.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((_, rest)) = line.split_once(". ").filter(|(number, _)| number.parse::<u32>().is_ok()) else {
            continue;
        };
        let quoted: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
        let block = || block_of(&mut lines.clone()).with_context(|| format!("no code after: {line}"));
        let rest = rest.strip_prefix("Use it. ").unwrap_or(rest);
        if rest.starts_with("New file `") {
            steps.push(Step::NewFile { path: quoted[0].into(), text: block()? });
        } else if rest.starts_with("In `") {
            let side = if rest.contains("`, above `") { Side::Above } else { Side::Below };
            ensure!(side == Side::Above || rest.contains("`, below `"), "a step without a place: {line}");
            steps.push(Step::Insert { path: quoted[0].into(), side, anchor: quoted[1].into(), text: block()? });
        } else if let Some(args) = rest.strip_prefix("Run `gimlet ") {
            let (args, prints) =
                args.split_once("`: it prints `").with_context(|| format!("what does it print? {line}"))?;
            let prints = prints.strip_suffix("`.").with_context(|| format!("an unfinished step: {line}"))?;
            steps.push(Step::Run { args: args.split(' ').map(str::to_owned).collect(), prints: prints.into() });
        }
    }
    Ok(steps)
}

/// The next fenced block, without the list indentation of three blanks.
fn block_of<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Option<String> {
    let next_step = |line: &str| line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    lines.find(|line| line.starts_with("   ```") || next_step(line)).filter(|line| line.starts_with("   ```"))?;
    let body: Vec<&str> = lines
        .take_while(|line| !line.starts_with("   ```"))
        .map(|line| line.strip_prefix("   ").unwrap_or(line))
        .collect();
    Some(format!("{}\n", body.join("\n")))
}

fn change(tree: &mut Tree, step: &Step) -> Result<()> {
    match step {
        Step::NewFile { path, text } => {
            ensure!(tree.0.insert(path.clone(), text.clone().into_bytes()).is_none(), "{path} exists");
        }
        Step::Insert { path, side, anchor, text } => {
            let old = tree.0.get(path).with_context(|| format!("there is no {path}"))?;
            let new = inserted(std::str::from_utf8(old)?, anchor, *side, text).with_context(|| path.clone())?;
            tree.0.insert(path.clone(), new.into_bytes());
        }
        Step::Run { .. } => {}
    }
    Ok(())
}

fn inserted(old: &str, anchor: &str, side: Side, text: &str) -> Result<String> {
    let found: Vec<&str> = old.split_inclusive('\n').filter(|line| line.trim_start().starts_with(anchor)).collect();
    let [line] = found[..] else { bail!("{} lines begin with `{anchor}`, not one", found.len()) };
    let new = match side {
        Side::Above => format!("{text}{line}"),
        Side::Below => format!("{line}{text}"),
    };
    Ok(old.replacen(line, &new, 1))
}

/// Builds the copy in our target folder, where third-party packages are already built.
fn build(root: &Path, copy: &Path) -> Result<PathBuf> {
    let mut command = Command::new(cargo_program());
    // The whole workspace selects the same features of those packages as the test command did.
    command.args(["build", "--quiet", "--offline", "--workspace", "--bin", "gimlet", "--message-format=json"]);
    // The copy is thrown away, so debug information is of no use.
    command.env("CARGO_TARGET_DIR", target_folder(root)).env("CARGO_PROFILE_DEV_DEBUG", "0");
    let output = command.current_dir(copy).output().context("cargo build")?;
    let messages = String::from_utf8_lossy(&output.stdout);
    let parsed = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let complaints: Vec<String> =
        parsed.filter_map(|line| line["message"]["rendered"].as_str().map(str::to_owned)).collect();
    if !output.status.success() || !complaints.is_empty() {
        bail!(
            "the steps of CONTRIBUTING.md do not build:\n{}{}",
            complaints.concat(),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    clients::executable(&messages).context("cargo build named no executable")
}

fn try_out(step: &Step, binary: &Path, home: &Path) -> Result<()> {
    let Step::Run { args, prints } = step else { return Ok(()) };
    let mut command = Command::new(binary);
    command.args(args).env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").env("ANTHROPIC_API_KEY", "none");
    let output = command.current_dir(home).output().context("gimlet")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(text.contains(prints.as_str()), "gimlet {} does not print `{prints}`:\n{text}", args.join(" "));
    println!("   gimlet {}: prints {prints}", args.join(" "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_from_the_page() {
        let page = "# X\n\n## A first change\n\n1. New file `a/b.md`, what it is:\n\n   ```text\n   one\n     two\n   ```\n\n2. In `c.rs`, above `fn x`:\n\n   ```rust\n   fn w() {}\n   ```\n\n3. Run `gimlet doctor --json`: it prints `ok`.\n4. Write a test.\n\n## Next\n\n1. New file `no`:\n";
        assert_eq!(
            steps_of(page).unwrap(),
            [
                Step::NewFile { path: "a/b.md".into(), text: "one\n  two\n".into() },
                Step::Insert {
                    path: "c.rs".into(),
                    side: Side::Above,
                    anchor: "fn x".into(),
                    text: "fn w() {}\n".into()
                },
                Step::Run { args: vec!["doctor".into(), "--json".into()], prints: "ok".into() },
            ]
        );
    }

    #[test]
    fn a_place_must_be_clear() {
        assert_eq!(inserted("a\n  b\nc\n", "b", Side::Below, "x\n").unwrap(), "a\n  b\nx\nc\n");
        assert_eq!(inserted("a\n  b\nc\n", "b", Side::Above, "x\n").unwrap(), "a\nx\n  b\nc\n");
        assert!(inserted("a\na\n", "a", Side::Below, "x\n").is_err());
        assert!(inserted("a\n", "z", Side::Below, "x\n").is_err());
    }

    /// The whole walk is a separate stage; this checks only that its files and anchors exist.
    #[test]
    fn every_place_of_the_walks_exists() {
        let root = crate::root();
        let steps = steps_of(&std::fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap()).unwrap();
        let of = |kind: fn(&Step) -> bool| steps.iter().filter(|step| kind(step)).count();
        assert!(
            of(|step| matches!(step, Step::Run { .. })) >= 4 && of(|step| matches!(step, Step::Insert { .. })) >= 5
        );
        for step in &steps {
            if let Step::Insert { path, side, anchor, text } = step {
                let old = std::fs::read_to_string(root.join(path)).unwrap();
                inserted(&old, anchor, *side, text).unwrap_or_else(|why| panic!("{path}: {why}"));
            }
        }
    }
}
