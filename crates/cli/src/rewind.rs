//! `gimlet rewind`: lists the prompts of a conversation, and takes files, conversation or both back to before one of them.
//! What is there now is saved first, so a rewind can be taken back itself.

use crate::confirm::confirm;
use crate::option_words::OptionWords;
use engine::rewinding::{self, DiffDetail, FileReturn, RewindReport};
use permission::escape_invisible;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use store::checkpoints::{CheckpointLog, OverwriteChoice, PromptPoint, RewindPart, RewindRequest, RewindTarget};
use store::find::{self, LatestScope};
use store::{Snapshots, StoreLayout};
use sys::Env;
use wire::counting::counted;

const USAGE: &str = "Usage: gimlet rewind [options]

Takes a conversation back to before one of its prompts: files, what was said, or both.
Without --to the prompts are listed. Every rewind can be taken back (gimlet undo).

Options:
  --session <ID>   the conversation: id, beginning of one, title or file; the newest of this folder otherwise
  --to <PROMPT>    the prompt's number (1 = the first) or its uuid
  --code           only the files
  --conversation   only the conversation: the next prompt continues from there
  --both           files and conversation (the default)
  --dry-run        say what would change, with line counts; change nothing
  --force          also replace files that somebody else changed since
  --json           one JSON object

Exit code: 0 done (or listed); 1 nothing was done, or a file could not be brought back.";

/// How many paths per kind are named in the text output.
const MAX_NAMED_PATHS: usize = 20;
/// How much of a prompt a list shows, in characters.
const SHOWN_CHARS: usize = 60;

#[derive(Default)]
struct RewindArgs {
    session: Option<String>,
    to: Option<String>,
    part: Option<RewindPart>,
    dry_run: bool,
    force: bool,
    json: bool,
}

/// Returns the text to print and the exit code; an error is ready to print.
pub(crate) fn run(rest: &[OsString], env: &Env) -> Result<(String, u8), String> {
    let Some(asked) = parse(rest)? else { return Ok((USAGE.into(), 0)) };
    let done = carry_out(&asked, env);
    match done {
        Err(message) if asked.json => Ok((json!({ "error": message }).to_string(), 1)),
        Err(message) => Err(format!("Error: {message}")),
        Ok(done) => Ok(done),
    }
}

fn carry_out(asked: &RewindArgs, env: &Env) -> Result<(String, u8), String> {
    let cwd = sys::launch::cwd(env).map_err(|error| format!("the current directory is not available ({error})"))?;
    let cwd = std::fs::canonicalize(&cwd).unwrap_or(cwd);
    let layout = StoreLayout::new(env);
    let snapshots = Snapshots::at(layout.home());
    let finished = snapshots.finish_interrupted().map_err(|error| error.to_string())?;
    let log = read_log(asked, &layout, &cwd)?;
    let Some(name) = &asked.to else { return Ok((list(&log, asked.json), 0)) };
    let point = log.find(name).ok_or_else(|| {
        format!("there is no prompt {name} in session {}; `gimlet rewind` lists them", log.session_id)
    })?;
    let part = asked.part.unwrap_or(RewindPart::Both);
    let request = rewinding::request(&layout, &log, std::slice::from_ref(&cwd));
    let mut report = RewindReport::default();
    if asked.dry_run {
        if part.has_code() {
            report = rewinding::preview(&request, &log, RewindTarget::Before(point), DiffDetail::Counts)
                .map_err(|e| e.to_string())?;
        }
    } else {
        refuse_open_elsewhere(part, &layout, &log)?;
        let overwrite = overwrite(asked, part, &request, &log, point)?;
        report = rewinding::apply(&request, &log, RewindTarget::Before(point), part, &overwrite)
            .map_err(|error| error.to_string())?;
    }
    report.finished.splice(0..0, finished);
    let code = u8::from(!report.problems.is_empty());
    Ok((show(&report, asked, part, (&log, point)), code))
}

fn read_log(asked: &RewindArgs, layout: &StoreLayout, cwd: &Path) -> Result<CheckpointLog, String> {
    let path = match &asked.session {
        Some(target) => find::target(layout, cwd, target).map_err(|error| error.to_string())?,
        None => find::latest(layout, cwd, LatestScope::Headless)
            .ok_or("there is no conversation in this folder; --session names one of another folder")?,
    };
    let path = store::relocate::finish_move(layout, &path);
    CheckpointLog::read(&path).map_err(|error| error.to_string())
}

/// Two processes must not move one conversation.
fn refuse_open_elsewhere(part: RewindPart, layout: &StoreLayout, log: &CheckpointLog) -> Result<(), String> {
    let owner = store::live_sessions::live_owner(layout, &log.session_id).filter(|_| part.has_conversation());
    owner.map_or(Ok(()), |owner| {
        Err(format!(
            "this conversation is open in another process ({}); end it first, or take back only the files (--code)",
            owner.pid
        ))
    })
}

/// Asks about files that somebody else changed, where a person can answer.
fn overwrite(
    asked: &RewindArgs,
    part: RewindPart,
    request: &RewindRequest,
    log: &CheckpointLog,
    point: &PromptPoint,
) -> Result<OverwriteChoice, String> {
    if asked.force {
        return Ok(OverwriteChoice::All);
    }
    if asked.json || !part.has_code() || !std::io::stdin().is_terminal() {
        return Ok(OverwriteChoice::None);
    }
    let newer = rewinding::preview(request, log, RewindTarget::Before(point), DiffDetail::Counts)
        .map_err(|error| error.to_string())?
        .kept;
    if newer.is_empty() {
        return Ok(OverwriteChoice::None);
    }
    let mut question = String::from("Changed by somebody else since:\n");
    list_paths(&mut question, "newer", &newer);
    question.push_str("Replace them? What is there now is saved first. Otherwise they stay.");
    Ok(if confirm(&question) { OverwriteChoice::These(newer) } else { OverwriteChoice::None })
}

/// Returns `None` when help is requested.
fn parse(rest: &[OsString]) -> Result<Option<RewindArgs>, String> {
    let mut asked = RewindArgs::default();
    let mut words = OptionWords::new(rest);
    while let Some(name) = words.next() {
        let part = match name.as_str() {
            "--session" => {
                asked.session = Some(words.value().ok_or(USAGE)?);
                continue;
            }
            "--to" => {
                asked.to = Some(words.value().ok_or(USAGE)?);
                continue;
            }
            "--code" => RewindPart::Code,
            "--conversation" => RewindPart::Conversation,
            "--both" => RewindPart::Both,
            "--dry-run" | "-n" => {
                asked.dry_run = true;
                continue;
            }
            "--force" | "-f" => {
                asked.force = true;
                continue;
            }
            "--json" => {
                asked.json = true;
                continue;
            }
            "--help" | "-h" | "help" => return Ok(None),
            _ => return Err(USAGE.into()),
        };
        if asked.part.is_some_and(|before| before != part) {
            return Err("Error: choose one of --code, --conversation and --both".into());
        }
        asked.part = Some(part);
    }
    Ok(Some(asked))
}

fn list(log: &CheckpointLog, as_json: bool) -> String {
    if as_json {
        return rewinding::list(log).to_string();
    }
    let mut text = format!("Session {}\n", log.session_id);
    for point in log.prompts.iter().filter(|point| point.number.is_some()) {
        let number = point.number.unwrap_or_default();
        let time = sys::clock::iso(point.at);
        writeln!(text, "{number:>4}  {}  {:60}  {}", &time[..19], first_line(&point.text), changes(point)).ok();
    }
    if !log.branches.is_empty() {
        text.push_str("\nOther branches (left by an earlier rewind):\n");
    }
    for branch in &log.branches {
        let prompts = counted(branch.prompts.len(), "prompt");
        let resume = format!("gimlet --resume {} --resume-session-at {}", log.session_id, branch.leaf);
        writeln!(text, "      {}  {prompts}: {resume}", first_line(&branch.text)).ok();
    }
    text.push_str("\nGo back to before a prompt with: gimlet rewind --to NUMBER");
    text
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut shown: String = line.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.trim_end().len() {
        shown = shown.chars().take(SHOWN_CHARS - 1).collect();
        shown.push('…');
    }
    escape_invisible(&shown)
}

/// What the turn of a prompt changed.
fn changes(point: &PromptPoint) -> String {
    if !point.has_checkpoint {
        return "no checkpoint".into();
    }
    if point.files == 0 && !point.has_shell_effects {
        return "no code changes".into();
    }
    let files = counted(point.files, "file");
    let shell = if point.has_shell_effects { ", with commands" } else { "" };
    format!("+{} −{} in {files}{shell}", point.added, point.removed)
}

fn show(
    report: &RewindReport,
    asked: &RewindArgs,
    part: RewindPart,
    (log, point): (&CheckpointLog, &PromptPoint),
) -> String {
    if asked.json {
        return report_json(report, asked, part, (log, point)).to_string();
    }
    let mut text = String::new();
    for id in &report.finished {
        writeln!(text, "Finished a rewind that had been interrupted ({id}).").ok();
    }
    let did = if asked.dry_run { "Would go back to before" } else { "Back to before" };
    writeln!(text, "{did}: {}", first_line(&point.text)).ok();
    let of = |change| report.files.iter().filter(move |file| file.change == change).map(|file| file.path.clone());
    list_paths(&mut text, "restored", &of(FileReturn::Restored).collect::<Vec<_>>());
    list_paths(&mut text, "removed", &of(FileReturn::Removed).collect::<Vec<_>>());
    let kept = if asked.dry_run {
        "would be kept, changed by somebody else (--force replaces it)"
    } else {
        "kept, changed by somebody else"
    };
    list_paths(&mut text, kept, &report.kept);
    list_paths(&mut text, "left alone, outside of this session's folders", &report.outside);
    for problem in &report.problems {
        writeln!(text, "  not restored: {}: {}", escape_invisible(&problem.path.display().to_string()), problem.why)
            .ok();
    }
    for effect in &report.not_covered {
        writeln!(text, "  not covered: `{}`: {}", escape_invisible(&effect.what), effect.why).ok();
    }
    if part.has_code() {
        let files = counted(report.files.len(), "path");
        writeln!(text, "Files: {files}, +{} −{} lines", report.insertions, report.deletions).ok();
    }
    if part.has_conversation() && !asked.dry_run {
        writeln!(text, "The conversation goes on before this prompt: gimlet --resume {}", log.session_id).ok();
    }
    if let Some(id) = &report.id {
        writeln!(text, "Take the files forward again with: gimlet undo --to {id}").ok();
    }
    text.truncate(text.trim_end().len());
    text
}

fn report_json(
    report: &RewindReport,
    asked: &RewindArgs,
    part: RewindPart,
    (log, point): (&CheckpointLog, &PromptPoint),
) -> Value {
    let part = match part {
        RewindPart::Code => "code",
        RewindPart::Conversation => "conversation",
        RewindPart::Both => "both",
    };
    let mut value = serde_json::to_value(report).unwrap_or_default();
    value["sessionId"] = log.session_id.clone().into();
    value["dryRun"] = asked.dry_run.into();
    value["part"] = part.into();
    value["prompt"] = rewinding::prompt(point);
    value
}

fn list_paths(text: &mut String, what: &str, paths: &[PathBuf]) {
    for path in paths.iter().take(MAX_NAMED_PATHS) {
        writeln!(text, "  {what}: {}", escape_invisible(&path.display().to_string())).ok();
    }
    if paths.len() > MAX_NAMED_PATHS {
        writeln!(text, "  {what}: {} more", paths.len() - MAX_NAMED_PATHS).ok();
    }
}
