//! The demo's cassette and its picture. Both are made with the real binary: the cassette by recording a scripted
//! conversation, the picture by drawing the output of `gimlet demo`.

use crate::steps::{self, cargo_program};
use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const COLUMNS: usize = 96;
const LINE: usize = 18;
const CHARACTER: f64 = 7.83;
const MARGIN: usize = 20;
const TITLE_BAR: usize = 34;

/// Runs `crates/cli/demo/script.json` and stores the output of `--record`.
pub(crate) fn record(root: &Path) -> Result<()> {
    let args = ["test", "-p", "gimlet-cli", "--test", "hosts", "--quiet", "--", "--ignored", "record_the_demo"];
    steps::run(Command::new(cargo_program()).args(args).current_dir(root))
}

/// Draws `docs/demo.svg`.
pub(crate) fn picture(root: &Path) -> Result<()> {
    let run = Command::new(cargo_program())
        .args(["run", "--quiet", "-p", "gimlet-cli", "--", "demo"])
        .current_dir(root)
        .output();
    let run = run.context("could not start the demo")?;
    if !run.status.success() {
        bail!("the demo failed: {}", String::from_utf8_lossy(&run.stderr));
    }
    let text = String::from_utf8(run.stdout)?;
    remove_folder(&text)?;
    std::fs::write(root.join("docs/demo.svg"), svg(&text)).context("could not write docs/demo.svg")
}

/// Draws `docs/pictures` from the real interface.
pub(crate) fn pictures(root: &Path) -> Result<()> {
    let args = ["test", "-p", "gimlet-cli", "--test", "terminal", "--", "--ignored", "pictures::"];
    steps::run(Command::new(cargo_program()).args(args).current_dir(root))
}

fn remove_folder(text: &str) -> Result<()> {
    let folder = text.lines().find_map(|l| l.trim_start().strip_prefix("folder")).map(str::trim).unwrap_or_default();
    if folder.contains("gimlet-demo-") {
        std::fs::remove_dir_all(folder).with_context(|| format!("could not remove {folder}"))?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Ink {
    Plain,
    Bold,
    Dim,
    Call,
    Good,
    Bad,
}

impl Ink {
    fn class(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => " class=\"b\"",
            Self::Dim => " class=\"d\"",
            Self::Call => " class=\"c\"",
            Self::Good => " class=\"g\"",
            Self::Bad => " class=\"r\"",
        }
    }
}

/// The lines of the demo in a terminal frame, up to its verdict; the rest is advice with paths of this machine.
fn svg(text: &str) -> String {
    let typed = "$ gimlet demo";
    let end = text.lines().position(|l| l.starts_with('✓')).map_or(usize::MAX, |at| at + 1);
    let lines: Vec<&str> = std::iter::once(typed).chain(text.lines().take(end)).collect();
    let width = MARGIN * 2 + (COLUMNS as f64 * CHARACTER) as usize;
    let height = TITLE_BAR + MARGIN * 2 + lines.len() * LINE;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"gimlet demo: a failing test is found, fixed and run again\">\n<style>\n\
         text {{ font: 13px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #d6d9e0; white-space: pre }}\n\
         .b {{ font-weight: 600; fill: #ffffff }} .d {{ fill: #8b93a3 }} .c {{ font-weight: 600; fill: #56c8d8 }}\n\
         .g {{ fill: #7ecb7a }} .r {{ fill: #ec7f78 }} .t {{ fill: #9aa2b1; font-size: 12px }}\n</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"10\" fill=\"#1b1e25\"/>\n\
         <path d=\"M0 {TITLE_BAR}V10A10 10 0 0 1 10 0H{}A10 10 0 0 1 {width} 10V{TITLE_BAR}Z\" fill=\"#282c35\"/>\n",
        width - 10
    );
    for (at, colour) in ["#ec6a5e", "#f4bf4f", "#61c554"].iter().enumerate() {
        writeln!(out, "<circle cx=\"{}\" cy=\"17\" r=\"6\" fill=\"{colour}\"/>", 22 + at * 20).ok();
    }
    writeln!(out, "<text x=\"{}\" y=\"21\" class=\"t\" text-anchor=\"middle\">gimlet demo</text>", width / 2).ok();
    for (at, line) in lines.iter().enumerate() {
        let y = TITLE_BAR + MARGIN + 12 + at * LINE;
        let spans: String = inked(line).iter().map(|(ink, part)| span(*ink, part)).collect();
        if !spans.is_empty() {
            writeln!(out, "<text x=\"{MARGIN}\" y=\"{y}\" xml:space=\"preserve\">{spans}</text>").ok();
        }
    }
    out + "</svg>\n"
}

fn span(ink: Ink, text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    match ink {
        Ink::Plain => escaped,
        _ => format!("<tspan{}>{escaped}</tspan>", ink.class()),
    }
}

/// The colours of a line, derived from its form, because captured output has no colours.
fn inked(line: &str) -> Vec<(Ink, String)> {
    let whole = |ink| vec![(ink, fit(line))];
    if let Some(rest) = line.strip_prefix("● ") {
        let (name, what) = rest.split_once("  ").unwrap_or((rest, ""));
        return vec![(Ink::Call, format!("● {name}")), (Ink::Plain, format!("  {what}"))];
    }
    if let Some(rest) = line.strip_prefix("  │ ") {
        let ink = match rest.get(..2) {
            Some("- ") => Ink::Bad,
            Some("+ ") => Ink::Good,
            _ => Ink::Dim,
        };
        return vec![(Ink::Dim, "  │ ".into()), (ink, fit(rest))];
    }
    if let Some((title, rest)) = line.split_once(": ").filter(|(t, _)| *t == "gimlet demo") {
        return vec![(Ink::Bold, title.into()), (Ink::Plain, format!(": {rest}"))];
    }
    match line.split_once("  ").map(|(_, rest)| rest.split_once("  ")) {
        _ if line.starts_with("> ") || line.starts_with("$ ") => whole(Ink::Bold),
        _ if line.starts_with('✓') => {
            let (verdict, rest) = line.split_once(". ").unwrap_or((line, ""));
            vec![(Ink::Good, format!("{verdict}.")), (Ink::Plain, format!(" {rest}"))]
        }
        Some(Some((label, value))) if line.starts_with("  ") => {
            vec![(Ink::Plain, format!("  {label}  ")), (Ink::Dim, stable(value))]
        }
        Some(_) | None => whole(Ink::Plain),
    }
}

/// Replaces the random part of the folder name, so that the picture changes only when the demo does.
fn stable(value: &str) -> String {
    match value.split_once("/gimlet-demo-") {
        Some(_) => value.replace(value.trim(), "/tmp/gimlet-demo-1f9c2a7b"),
        None => value.to_owned(),
    }
}

fn fit(line: &str) -> String {
    if line.chars().count() <= COLUMNS {
        return line.to_owned();
    }
    line.chars().take(COLUMNS - 1).chain(['…']).collect()
}
