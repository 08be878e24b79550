//! `gimlet project purge`: removes what is stored about a project. It first lists that and asks; the default answer is
//! no. Open sessions are kept.

use crate::confirm::confirm;
use config::state;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use store::StoreLayout;
use store::purge::{self, PurgeProject, PurgeScope};
use sys::Env;
use wire::counting::counted;

const USAGE: &str = "Usage: gimlet project purge [PATH] [--dry-run] [--yes | --interactive]
       gimlet project purge --all [--dry-run] [--yes | --interactive]

Deletes transcripts, task lists, debug logs, file history and prompt history of a project, and its saved state,
its trust included. Notes (memory/) stay. The default is the current directory.";

#[derive(Debug, Default)]
struct PurgeArgs {
    path: Option<PathBuf>,
    all: bool,
    dry_run: bool,
    yes: bool,
    interactive: bool,
}

/// Returns the text to print and the exit code; an error is ready to print.
pub(crate) fn run(rest: &[OsString], env: &Env) -> Result<(String, u8), String> {
    let asked = parse(rest)?;
    let layout = StoreLayout::new(env);
    let found = survey(&asked, &layout, env)?;
    if found.is_empty() {
        return Ok(("Nothing is stored.".into(), 0));
    }
    let shown = found.iter().map(|project| describe(project, env)).collect::<String>();
    if asked.dry_run {
        return Ok((format!("{shown}Nothing was deleted."), 0));
    }
    if !asked.yes && !std::io::stdin().is_terminal() {
        return Err(format!("{shown}Error: no terminal to ask on; check the list and add --yes"));
    }
    if !asked.yes {
        print_line(&shown);
    }
    if !asked.yes && !asked.interactive && !confirm("Delete all of this?") {
        return Ok(("Nothing was deleted.".into(), 1));
    }
    let mut deleted = PurgeCounts::default();
    for project in &found {
        deleted.purge(project, &asked, (&layout, env))?;
    }
    Ok((deleted.to_string(), 0))
}

fn parse(rest: &[OsString]) -> Result<PurgeArgs, String> {
    let mut words = rest.iter();
    if words.next().and_then(|word| word.to_str()) != Some("purge") {
        return Err(USAGE.into());
    }
    let mut asked = PurgeArgs::default();
    for word in words {
        match word.to_str() {
            Some("--dry-run") => asked.dry_run = true,
            Some("--yes" | "-y") => asked.yes = true,
            Some("--interactive" | "-i") => asked.interactive = true,
            Some("--all") => asked.all = true,
            Some(flag) if flag.starts_with('-') => return Err(USAGE.into()),
            _ if asked.path.is_none() => asked.path = Some(PathBuf::from(word)),
            _ => return Err(USAGE.into()),
        }
    }
    if (asked.all && asked.path.is_some()) || (asked.yes && asked.interactive) {
        return Err(USAGE.into());
    }
    Ok(asked)
}

fn survey(asked: &PurgeArgs, layout: &StoreLayout, env: &Env) -> Result<Vec<PurgeProject>, String> {
    if asked.all {
        return Ok(purge::survey(layout, PurgeScope::All));
    }
    let start =
        sys::launch::cwd(env).map_err(|error| format!("Error: the current directory is not available ({error})"))?;
    let path = start.join(asked.path.clone().unwrap_or_default());
    let mut found = purge::survey(layout, PurgeScope::One(&path));
    // A folder that has only an entry in the state file is purged too.
    let cwd = store::layout::resolve_directory(&path);
    if found.is_empty() && state::knows_project(env, &cwd) {
        found.push(PurgeProject { cwd, ..PurgeProject::default() });
    }
    Ok(found)
}

fn describe(project: &PurgeProject, env: &Env) -> String {
    let mut text = format!("{}\n", project.cwd);
    let (open, closed): (Vec<_>, Vec<_>) = project.sessions.iter().partition(|session| session.is_open);
    if !closed.is_empty() {
        let bytes: u64 = closed.iter().map(|session| session.bytes).sum();
        writeln!(
            text,
            "  {} with everything that belongs to them ({} kB)",
            counted(closed.len(), "session"),
            bytes / 1000
        )
        .ok();
    }
    if !open.is_empty() {
        writeln!(text, "  {} open, so they stay", counted(open.len(), "session")).ok();
    }
    if project.prompts > 0 {
        writeln!(text, "  {} of the history", counted(project.prompts, "prompt")).ok();
    }
    if state::knows_project(env, &project.cwd) {
        text.push_str("  the saved state of the folder, its trust included\n");
    }
    text
}

#[derive(Default)]
struct PurgeCounts {
    sessions: usize,
    prompts: usize,
    folders: usize,
}

impl std::fmt::Display for PurgeCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { sessions, prompts, folders } = self;
        write!(
            f,
            "Deleted: {}, {}, {}.",
            counted(*sessions, "session"),
            counted(*prompts, "prompt"),
            counted(*folders, "folder")
        )
    }
}

impl PurgeCounts {
    fn purge(
        &mut self,
        project: &PurgeProject,
        asked: &PurgeArgs,
        (layout, env): (&StoreLayout, &Env),
    ) -> Result<(), String> {
        let agreed = |what: &str| !asked.interactive || confirm(&format!("Delete {what} of {}?", project.cwd));
        let failed = |error: &dyn std::fmt::Display| format!("Error: {error}");
        let closed: Vec<_> = project.sessions.iter().filter(|session| !session.is_open).collect();
        if !closed.is_empty() && agreed(&counted(closed.len(), "session")) {
            for session in closed {
                purge::remove(session).map_err(|error| failed(&error))?;
                self.sessions += 1;
            }
        }
        if project.prompts > 0 && agreed(&counted(project.prompts, "prompt")) {
            self.prompts += purge::forget_prompts(layout, &project.cwd).map_err(|error| failed(&error))?;
        }
        if state::knows_project(env, &project.cwd) && agreed("the saved state") {
            let had = state::forget_project(env, &project.cwd).map_err(|error| failed(&error))?;
            self.folders += usize::from(had);
        }
        Ok(())
    }
}

fn print_line(text: &str) {
    std::io::stderr().write_all(text.as_bytes()).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_contradict_each_other_are_refused() {
        let words = |words: &[&str]| parse(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert!(words(&["purge", "x", "--dry-run"]).unwrap().dry_run);
        for wrong in [
            &[][..],
            &["list"],
            &["purge", "--all", "x"],
            &["purge", "-y", "-i"],
            &["purge", "--force"],
            &["purge", "a", "b"],
        ] {
            assert!(words(wrong).unwrap_err().starts_with("Usage"), "{wrong:?}");
        }
    }
}
