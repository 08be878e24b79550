//! `gimlet sessions import`: each file is taken over or named with what is wrong about it; one bad file stops no other.

use super::{SessionsArgs, SessionsCommand, SessionsError, USAGE, clean};
use engine::import::{self, ImportOutcome, ImportReport, ImportTarget, ImportedFile, SessionImporter};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use store::StoreLayout;
use wire::counting::counted;

pub(super) fn run(place: &SessionsCommand<'_>, asked: &SessionsArgs, out: &mut dyn Write) -> Result<u8, SessionsError> {
    if asked.words.is_empty() {
        return Err(SessionsError::Said(USAGE.into()));
    }
    let layout = StoreLayout::new(place.env);
    let target =
        ImportTarget { layout: &layout, cwd: &place.cwd, here: asked.here, copy: asked.copy, dry_run: asked.dry_run };
    let mut importer = SessionImporter::new(target);
    let (mut done, mut failed) = (0, 0);
    for file in files(place, &asked.words)? {
        match importer.import(&file) {
            Ok(imported) => {
                done += 1;
                tell(&imported, asked, out)?;
            }
            Err(why) => {
                failed += 1;
                tell_failure(&file, &why, asked, out)?;
            }
        }
    }
    if done + failed == 0 {
        headless::print_to_stderr("No sessions of Codex CLI, Gemini CLI, opencode or gimlet there");
    }
    Ok(u8::from(failed > 0 || done == 0))
}

/// The files that were named, and those in the folders that were named.
fn files(place: &SessionsCommand<'_>, words: &[String]) -> Result<Vec<PathBuf>, SessionsError> {
    let mut files = Vec::new();
    for word in words {
        let path = place.cwd.join(word);
        if !path.exists() {
            return Err(SessionsError::Said(format!("Error: {} does not exist", path.display())));
        }
        if !path.is_dir() {
            files.push(path);
            continue;
        }
        let found = import::find(&path);
        if found.others > 0 {
            let others = counted(found.others as u64, "file");
            headless::print_to_stderr(&format!("{others} in {} of other kinds passed over", path.display()));
        }
        files.extend(found.sessions);
    }
    Ok(files)
}

fn tell(imported: &ImportedFile, asked: &SessionsArgs, out: &mut dyn Write) -> io::Result<()> {
    if asked.json {
        return writeln!(out, "{}", serde_json::to_string(imported).map_err(io::Error::other)?);
    }
    let state = match imported.outcome {
        ImportOutcome::Imported => "imported",
        ImportOutcome::WouldImport => "would be imported",
        ImportOutcome::AlreadyHere => "is here already (--copy imports it again under a new id)",
    };
    let title = imported.title.as_deref().map(|title| format!(" \"{}\"", clean(title))).unwrap_or_default();
    writeln!(out, "{}  {}{title} {state}", imported.session_id, imported.source.label())?;
    if imported.outcome == ImportOutcome::AlreadyHere {
        return Ok(());
    }
    writeln!(out, "    from {}", clean(&imported.file.to_string_lossy()))?;
    writeln!(out, "    to   {}", clean(&imported.cwd.to_string_lossy()))?;
    tell_report(&imported.report, out)
}

fn tell_report(report: &ImportReport, out: &mut dyn Write) -> io::Result<()> {
    let (prompts, answers, calls) = (report.prompts as u64, report.answers as u64, report.calls as u64);
    writeln!(out, "    {}, {}, {}", counted(prompts, "prompt"), counted(answers, "answer"), counted(calls, "call"))?;
    for (what, names) in [("calls kept as text", &report.kept_as_text), ("left out", &report.left_out)] {
        if !names.is_empty() {
            writeln!(out, "    {what}: {}", listed(names))?;
        }
    }
    Ok(())
}

fn listed(names: &BTreeMap<String, usize>) -> String {
    let name = |(name, count): (&String, &usize)| match count {
        1 => clean(name),
        count => format!("{} ({count})", clean(name)),
    };
    names.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn tell_failure(file: &Path, why: &str, asked: &SessionsArgs, out: &mut dyn Write) -> io::Result<()> {
    if asked.json {
        return writeln!(out, "{}", json!({"file": file, "state": "failed", "reason": why}));
    }
    headless::print_to_stderr(&format!("Error: {why}"));
    Ok(())
}
