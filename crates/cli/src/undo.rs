//! `gimlet undo`: lists what was saved before commands and edits, and restores it. The current state is saved before
//! anything is changed.

use crate::confirm::confirm;
use crate::option_words::OptionWords;
use permission::escape_invisible;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use store::snapshots::{ChangeKind, SnapshotHeader, UndoChoice, UndoResult, active};
use store::{Snapshots, StoreError, StoreLayout};
use sys::Env;
use wire::counting::counted;

const USAGE: &str = "Usage: gimlet undo [options]

Takes back the newest change that gimlet saved in this folder. Every undo can be undone.

Options:
  --list           show what was saved, newest first
  --all            with --list: of all folders
  --to <ID>        take back the change ID and everything its session changed after it
  --session <ID>   only changes of this session
  --dry-run        say what would happen, change nothing
  --force          also replace work that is newer than the change
  --json           one JSON object";

/// How many paths per kind are named in the text output.
const MAX_NAMED_PATHS: usize = 20;

#[derive(Default)]
struct UndoArgs {
    list: bool,
    all: bool,
    to: Option<String>,
    session: Option<String>,
    dry_run: bool,
    force: bool,
    json: bool,
}

/// Returns the text to print and the exit code; an error is ready to print.
pub(crate) fn run(rest: &[OsString], env: &Env) -> Result<(String, u8), String> {
    let Some(asked) = parse(rest)? else { return Ok((USAGE.into(), 0)) };
    let folder = sys::launch::cwd(env).ok().map(|dir| std::fs::canonicalize(&dir).unwrap_or(dir));
    let snapshots = Snapshots::at(StoreLayout::new(env).home());
    if asked.list {
        return Ok((list(&snapshots, &asked, folder.as_ref()), 0));
    }
    let choice = match &asked.to {
        Some(id) => UndoChoice::To(id.clone()),
        None => UndoChoice::Newest { folder, session: asked.session.clone() },
    };
    let undone = match (asked.dry_run, asked.force) {
        (true, _) => snapshots.preview(&choice),
        (false, true) => snapshots.undo(&choice),
        (false, false) => snapshots.undo_unless_newer(&choice),
    };
    let undone = match undone {
        Err(StoreError::NewerWork { paths }) if asked.json => return Ok((refused_json(&paths), 1)),
        Err(StoreError::NewerWork { paths }) if !std::io::stdin().is_terminal() => return Err(refused(&paths)),
        Err(StoreError::NewerWork { paths }) => {
            if !confirm(&format!("{}Replace it? What is there now is saved first.", newer_text(&paths))) {
                return Ok(("Nothing was changed.".into(), 1));
            }
            snapshots.undo(&choice)
        }
        other => other,
    };
    match undone {
        Ok(undone) => Ok((show(&undone, &asked), u8::from(!undone.problems.is_empty()))),
        Err(error @ StoreError::NothingToUndo) if asked.json => {
            Ok((json!({"error": error.to_string()}).to_string(), 1))
        }
        Err(error) => Err(format!("Error: {error}")),
    }
}

fn newer_text(paths: &[PathBuf]) -> String {
    let mut text = String::from("Changed after what is to be taken back; this newer work would be replaced:\n");
    list_paths(&mut text, "newer", paths);
    text
}

fn refused(paths: &[PathBuf]) -> String {
    format!(
        "{}Error: nothing was changed. Look at the paths, then repeat with --force to replace them; what is there now is saved \
         first and can be brought back.",
        newer_text(paths)
    )
}

fn refused_json(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    json!({"error": "newer work would be replaced; repeat with --force", "newer": paths}).to_string()
}

/// Returns `None` when help is requested.
fn parse(rest: &[OsString]) -> Result<Option<UndoArgs>, String> {
    let mut asked = UndoArgs::default();
    let mut words = OptionWords::new(rest);
    while let Some(name) = words.next() {
        match name.as_str() {
            "--list" | "-l" => asked.list = true,
            "--all" => asked.all = true,
            "--to" => asked.to = Some(words.value().ok_or(USAGE)?),
            "--session" => asked.session = Some(words.value().ok_or(USAGE)?),
            "--dry-run" | "-n" => asked.dry_run = true,
            "--force" | "-f" => asked.force = true,
            "--json" => asked.json = true,
            "--help" | "-h" | "help" => return Ok(None),
            _ => return Err(USAGE.into()),
        }
    }
    Ok(Some(asked))
}

fn list(snapshots: &Snapshots, asked: &UndoArgs, folder: Option<&PathBuf>) -> String {
    let headers = snapshots.list();
    let in_force = active(&headers);
    let near = |header: &&SnapshotHeader| {
        let same = |folder: &PathBuf| folder.starts_with(&header.cwd) || header.cwd.starts_with(folder);
        asked.session.as_ref().map_or(asked.all || folder.is_none_or(same), |id| *id == header.session)
    };
    let rows = headers.iter().rev().filter(near);
    if asked.json {
        let rows: Vec<Value> = rows.map(|header| row_json(header, in_force.contains(header.id.as_str()))).collect();
        return json!({ "snapshots": rows }).to_string();
    }
    let mut text = String::new();
    for header in rows {
        let mark = if in_force.contains(header.id.as_str()) { ' ' } else { '-' };
        let time = sys::clock::iso(header.at);
        let partial = if header.is_complete() { "" } else { "  (partly saved)" };
        let files = counted(header.files, "path");
        writeln!(
            text,
            "{mark} {}  {}  {files:>10}  {}{partial}",
            header.id,
            &time[..19],
            escape_invisible(&header.what)
        )
        .ok();
    }
    if text.is_empty() {
        return "Nothing was saved here.".into();
    }
    text.push_str("\n(-) was taken back. Go back to before a line with: gimlet undo --to ID");
    text
}

fn row_json(header: &SnapshotHeader, in_force: bool) -> Value {
    json!({
        "id": header.id,
        "time": sys::clock::iso(header.at),
        "kind": kind(header.kind),
        "what": header.what,
        "session_id": header.session,
        "cwd": header.cwd.display().to_string(),
        "paths": header.files,
        "bytes": header.bytes,
        "complete": header.is_complete(),
        "in_force": in_force,
    })
}

fn kind(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Command => "command",
        ChangeKind::Edit => "edit",
        ChangeKind::Undo => "undo",
        ChangeKind::Rewind => "rewind",
    }
}

fn show(undone: &UndoResult, asked: &UndoArgs) -> String {
    if asked.json {
        let paths = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        let problems = undone.problems.iter();
        return json!({
            "dry_run": asked.dry_run,
            "id": undone.id,
            "undone": undone.changes.iter().map(|header| row_json(header, false)).collect::<Vec<_>>(),
            "restored": paths(&undone.restored),
            "removed": paths(&undone.removed),
            "newer": paths(&undone.newer),
            "finished": undone.finished,
            "problems": problems.map(|p| json!({"path": p.path.display().to_string(), "why": p.why})).collect::<Vec<_>>(),
        })
        .to_string();
    }
    let mut text = String::new();
    for id in &undone.finished {
        writeln!(text, "Finished an undo that had been interrupted ({id}).").ok();
    }
    if let Some(first) = undone.changes.first() {
        let would = if asked.dry_run { "Would undo" } else { "Undone" };
        let more = undone.changes.len() - 1;
        let rest = if more > 0 { format!(" and {more} later changes") } else { String::new() };
        writeln!(text, "{would}: {}{rest}", escape_invisible(&first.what)).ok();
    }
    list_paths(&mut text, "restored", &undone.restored);
    list_paths(&mut text, "removed", &undone.removed);
    list_paths(
        &mut text,
        if asked.dry_run { "newer work that needs --force" } else { "newer work replaced" },
        &undone.newer,
    );
    for problem in &undone.problems {
        writeln!(text, "  not restored: {}: {}", escape_invisible(&problem.path.display().to_string()), problem.why)
            .ok();
    }
    if let Some(id) = &undone.id {
        writeln!(text, "Take this back with: gimlet undo --to {id}").ok();
    }
    text.truncate(text.trim_end().len());
    text
}

fn list_paths(text: &mut String, what: &str, paths: &[PathBuf]) {
    for path in paths.iter().take(MAX_NAMED_PATHS) {
        writeln!(text, "  {what}: {}", escape_invisible(&path.display().to_string())).ok();
    }
    if paths.len() > MAX_NAMED_PATHS {
        writeln!(text, "  {what}: {} more", paths.len() - MAX_NAMED_PATHS).ok();
    }
}
