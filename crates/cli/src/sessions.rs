//! `gimlet sessions`: lists, finds, shows, exports and renames conversations from the shell, takes over those of other
//! programs, and says which old ones will be removed. A search prints results while it runs. Transcripts are only read,
//! except that renaming appends a line.

mod import;
mod sweep;

use engine::compaction_report;
use engine::export::{self, ExportFormat, ExportRedaction};
use engine::query::{
    self, SearchQuery, SearchRequest, SearchResult, SessionCatalogue, SessionInfo, SessionScope, Speaker,
};
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use store::resume::LoadOptions;
use sys::Env;

const USAGE: &str = "Usage: gimlet sessions list [--all] [--archived] [--limit N] [--json]
       gimlet sessions search [--here] [--limit N] [--json] WORDS...
       gimlet sessions show ID
       gimlet sessions export ID [--format text|md|html|json|jsonl] [--redact PATTERN]... [FILE]
       gimlet sessions import FILE|DIR... [--dry-run] [--here] [--copy] [--json]
       gimlet sessions rename ID NAME
       gimlet sessions compactions ID [--json]
       gimlet sessions sweep --dry-run [--json]

list     sessions of this directory, newest first; --all: of every directory
search   sessions with all WORDS in one message, in either case; \"two words\"
         in quotes must be adjacent; --here: only those of this directory
show     what was said
compactions  each summary: tokens before and after, what was kept, its text, and the steps it replaced
export   the same as a file; its ending names the format; without FILE to standard output. Credentials are
         hidden, except in json and jsonl, which hold the lines as they are; --redact: also what matches PATTERN
import   sessions of Codex CLI, Gemini CLI and opencode (its export), transcripts, and exports in jsonl or json;
         each goes to its own directory when that exists, else to this one; --here: to this one in any case;
         --copy: again, under a new id, where it is here already
sweep    which old sessions will be removed, and which stay
ID       a session's id, the beginning of one, its title, or the path of its transcript";

const MAX_SESSIONS: usize = 50;
const HITS_PER_SESSION: usize = 3;

/// Returns the exit code; an error is ready to print.
pub(crate) fn run(rest: &[OsString], env: &Env) -> Result<u8, String> {
    let words: Vec<String> = rest.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let cwd = sys::launch::cwd(env).map_err(|e| format!("Error: the current directory is not available ({e})"))?;
    let place = SessionsCommand { env, cwd: std::fs::canonicalize(&cwd).unwrap_or(cwd) };
    let mut out = BufWriter::new(io::stdout().lock());
    let (command, rest) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let done = match command {
        "list" | "ls" => place.list(&SessionsArgs::read(rest)?, &mut out),
        "search" => place.search(&SessionsArgs::read(rest)?, &mut out),
        "show" => place.show(&SessionsArgs::read(rest)?, &mut out),
        "export" => place.export(&SessionsArgs::read(rest)?, &mut out),
        "import" => import::run(&place, &SessionsArgs::read(rest)?, &mut out),
        "compactions" => place.compactions(&SessionsArgs::read(rest)?, &mut out),
        "rename" => place.rename(&SessionsArgs::read(rest)?, &mut out),
        "sweep" => sweep::run(&place, &SessionsArgs::read(rest)?, &mut out),
        "" | "help" | "--help" | "-h" => writeln!(out, "{USAGE}").map(|()| 0).map_err(SessionsError::Output),
        other => Err(SessionsError::Said(format!("Error: unknown command: sessions {other}\n{USAGE}"))),
    };
    match done.and_then(|code| out.flush().map(|()| code).map_err(SessionsError::Output)) {
        Ok(code) => Ok(code),
        // The reader of our output has closed it.
        Err(SessionsError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        Err(SessionsError::Output(error)) => Err(format!("Error: {error}")),
        Err(SessionsError::Said(message)) => Err(message),
    }
}

enum SessionsError {
    Said(String),
    Output(io::Error),
}

impl From<io::Error> for SessionsError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<String> for SessionsError {
    fn from(message: String) -> Self {
        Self::Said(format!("Error: {message}"))
    }
}

#[derive(Default)]
struct SessionsArgs {
    all: bool,
    here: bool,
    archived: bool,
    copy: bool,
    dry_run: bool,
    json: bool,
    redact: Vec<String>,
    limit: Option<usize>,
    format: Option<ExportFormat>,
    words: Vec<String>,
}

impl SessionsArgs {
    fn read(rest: &[String]) -> Result<Self, String> {
        let mut asked = Self::default();
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--all" | "-a" => asked.all = true,
                "--here" => asked.here = true,
                "--archived" => asked.archived = true,
                "--json" => asked.json = true,
                "--copy" => asked.copy = true,
                "--dry-run" => asked.dry_run = true,
                "--redact" => asked.redact.push(words.next().ok_or(USAGE)?.clone()),
                "--limit" | "-n" => asked.limit = Some(words.next().and_then(|n| n.parse().ok()).ok_or(USAGE)?),
                "--format" | "-f" => {
                    let name = words.next().ok_or(USAGE)?;
                    let unknown = || format!("Error: unknown format {name}: text, md, html, json or jsonl");
                    asked.format = Some(ExportFormat::parse(name).ok_or_else(unknown)?);
                }
                "--" => asked.words.extend(words.by_ref().cloned()),
                flag if flag.starts_with('-') && flag.len() > 1 => {
                    return Err(format!("Error: unknown option {flag}\n{USAGE}"));
                }
                _ => asked.words.push(word.clone()),
            }
        }
        Ok(asked)
    }
}

struct SessionsCommand<'a> {
    env: &'a Env,
    cwd: PathBuf,
}

/// A session in JSON output.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionListing<'a> {
    session_id: &'a str,
    title: &'a str,
    cwd: Option<&'a str>,
    git_branch: Option<&'a str>,
    updated_at: String,
    /// `working` while the last turn has no end, else `idle`.
    state: &'static str,
    size: u64,
    path: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pr_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hits: Vec<SessionHit<'a>>,
}

/// One hit in a session.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionHit<'a> {
    role: &'static str,
    uuid: &'a str,
    timestamp: Option<&'a str>,
    text: &'a str,
}

fn listed<'a>(info: &'a SessionInfo, found: Option<&'a SearchResult>) -> SessionListing<'a> {
    let hit = |hit: &'a query::SearchHit| SessionHit {
        role: role(hit.speaker),
        uuid: &hit.uuid,
        timestamp: hit.timestamp.as_deref(),
        text: &hit.snippet,
    };
    SessionListing {
        session_id: &info.id,
        title: query::label(info),
        cwd: info.cwd.as_deref(),
        git_branch: info.branch.as_deref(),
        updated_at: sys::clock::iso(info.modified_at),
        state: if query::is_working(info) { "working" } else { "idle" },
        size: info.size,
        path: &info.path,
        forked_from: info.forked_from.as_deref(),
        pr_url: info.pr_url.as_deref(),
        hits: found.into_iter().flat_map(|found| &found.hits).map(hit).collect(),
    }
}

fn role(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::User => "user",
        Speaker::Assistant => "assistant",
        Speaker::Call => "call",
        Speaker::Result => "result",
        Speaker::Summary => "summary",
    }
}

impl SessionsCommand<'_> {
    fn list(&self, asked: &SessionsArgs, out: &mut dyn Write) -> Result<u8, SessionsError> {
        let scope = if asked.all { SessionScope::Everywhere } else { SessionScope::Folder };
        let catalogue = SessionCatalogue::open(self.env, &self.cwd, scope);
        let infos = catalogue.rows.iter().filter_map(|row| catalogue.info(row));
        let mut told = 0;
        for info in infos.filter(|info| asked.archived || !info.archived).take(asked.limit.unwrap_or(usize::MAX)) {
            told += 1;
            if asked.json {
                line(&listed(&info, None), out)?;
            } else {
                write_heading(&info, asked.all, HitHighlight::Plain, out)?;
            }
        }
        if told == 0 && !asked.json {
            let hint = if asked.all { "" } else { " in this directory; --all shows those of others" };
            headless::print_to_stderr(&format!("No sessions{hint}"));
        }
        Ok(0)
    }

    fn search(&self, asked: &SessionsArgs, out: &mut dyn Write) -> Result<u8, SessionsError> {
        // A word with blanks was quoted in the shell: it must match as a whole.
        let quoted = |word: &String| if word.contains(' ') { format!("\"{word}\"") } else { word.clone() };
        let query = match asked.words.as_slice() {
            [one] => one.clone(),
            several => several.iter().map(quoted).collect::<Vec<_>>().join(" "),
        };
        let needle = SearchQuery::new(&query).ok_or_else(|| SessionsError::Said(USAGE.into()))?;
        let scope = if asked.here { SessionScope::Folder } else { SessionScope::Everywhere };
        let catalogue = SessionCatalogue::open(self.env, &self.cwd, scope);
        let wanted =
            SearchRequest { needle: &needle, per_session: HITS_PER_SESSION, cancelled: &AtomicBool::new(false) };
        let look = if io::stdout().is_terminal() { HitHighlight::Marked } else { HitHighlight::Plain };
        let limit = asked.limit.unwrap_or(MAX_SESSIONS);
        let (mut told, mut failed) = (0, None);
        query::search(&catalogue.rows, wanted, &mut |found| {
            let Some(info) = catalogue.info(&found.row) else { return ControlFlow::Continue(()) };
            told += 1;
            // Each result is printed while the search continues.
            let written = write_hits(&info, &found, (asked, look), out).and_then(|()| out.flush());
            failed = written.err();
            if failed.is_some() || told >= limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        if told == limit && !asked.json {
            headless::print_to_stderr(&format!("The newest {limit}; --limit N shows more"));
        }
        Ok(u8::from(told == 0))
    }

    fn show(&self, asked: &SessionsArgs, out: &mut dyn Write) -> Result<u8, SessionsError> {
        let [target] = asked.words.as_slice() else { return Err(SessionsError::Said(USAGE.into())) };
        let transcript = query::transcript(self.env, &self.cwd, target)?;
        let format = asked.format.unwrap_or(ExportFormat::Text);
        let shown = ExportRedaction::default();
        export::write(&transcript, &query::heading(&transcript), (format, &shown), out).map_err(|e| e.to_string())?;
        Ok(0)
    }

    fn redaction(&self, asked: &SessionsArgs) -> Result<ExportRedaction, String> {
        let secrets = ExportRedaction::of_secrets(self.env);
        asked.redact.iter().try_fold(secrets, |redaction, pattern| redaction.and(pattern))
    }

    fn compactions(&self, asked: &SessionsArgs, out: &mut dyn Write) -> Result<u8, SessionsError> {
        let [target] = asked.words.as_slice() else { return Err(SessionsError::Said(USAGE.into())) };
        let transcript = query::transcript(self.env, &self.cwd, target)?;
        let reports = compaction_report::list(&transcript, &LoadOptions::default()).map_err(|e| e.to_string())?;
        if asked.json {
            let id = query::heading(&transcript).session_id;
            let value = serde_json::json!({"sessionId": id, "compactions": reports});
            writeln!(out, "{value}")?;
        } else if reports.is_empty() {
            writeln!(out, "This conversation was not compacted.")?;
        } else {
            writeln!(out, "{}", clean_lines(&compaction_report::as_text(&reports, reports.len(), usize::MAX)))?;
        }
        Ok(0)
    }

    fn export(&self, asked: &SessionsArgs, out: &mut dyn Write) -> Result<u8, SessionsError> {
        let (target, file) = match asked.words.as_slice() {
            [target] => (target, None),
            [target, file] => (target, Some(self.cwd.join(file))),
            _ => return Err(SessionsError::Said(USAGE.into())),
        };
        let redaction = self.redaction(asked)?;
        let transcript = query::transcript(self.env, &self.cwd, target)?;
        let heading = query::heading(&transcript);
        let Some(file) = file else {
            let format = asked.format.unwrap_or(ExportFormat::Markdown);
            export::write(&transcript, &heading, (format, &redaction), out).map_err(|e| e.to_string())?;
            return Ok(0);
        };
        let format = asked.format.unwrap_or_else(|| ExportFormat::of_file(&file));
        let said = |error: io::Error| format!("{} could not be written: {error}", file.display());
        let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&file).map_err(said)?;
        let mut made = BufWriter::new(made);
        export::write(&transcript, &heading, (format, &redaction), &mut made).map_err(|e| e.to_string())?;
        made.flush().map_err(said)?;
        writeln!(out, "{}", file.display())?;
        Ok(0)
    }

    fn rename(&self, asked: &SessionsArgs, out: &mut dyn Write) -> Result<u8, SessionsError> {
        let [target, name @ ..] = asked.words.as_slice() else { return Err(SessionsError::Said(USAGE.into())) };
        let transcript = query::transcript(self.env, &self.cwd, target)?;
        let name = query::rename(&transcript, &name.join(" "))?;
        writeln!(out, "{name}")?;
        Ok(0)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HitHighlight {
    Plain,
    /// For terminals: hits are highlighted.
    Marked,
}

fn line(listed: &SessionListing<'_>, out: &mut dyn Write) -> io::Result<()> {
    let text = serde_json::to_string(listed).map_err(io::Error::other)?;
    writeln!(out, "{text}")
}

fn write_hits(
    info: &SessionInfo,
    found: &SearchResult,
    (asked, look): (&SessionsArgs, HitHighlight),
    out: &mut dyn Write,
) -> io::Result<()> {
    if asked.json {
        return line(&listed(info, Some(found)), out);
    }
    write_heading(info, !asked.here, look, out)?;
    for hit in &found.hits {
        let (before, rest) = hit.snippet.split_at(hit.place.start);
        let (word, after) = rest.split_at(hit.place.len());
        let (on, off) = if look == HitHighlight::Marked { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        writeln!(out, "    {}: {}{on}{}{off}{}", role(hit.speaker), clean(before), clean(word), clean(after))?;
    }
    Ok(())
}

/// A row for people: id, age, size, title, branch, and the directory if requested.
fn write_heading(info: &SessionInfo, with_place: bool, look: HitHighlight, out: &mut dyn Write) -> io::Result<()> {
    let age = query::age(info.modified_at);
    let (on, off) = if look == HitHighlight::Marked { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    write!(out, "{}  {age:>8}  {:>8}  {on}{}{off}", info.id, query::size(info.size), clean(query::label(info)))?;
    if let Some(branch) = info.branch.as_deref().filter(|branch| *branch != "HEAD") {
        write!(out, "  [{}]", clean(branch))?;
    }
    if with_place && let Some(cwd) = &info.cwd {
        write!(out, "  {}", clean(cwd))?;
    }
    writeln!(out)
}

/// The same, line by line.
fn clean_lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}

/// Text of others must not control the terminal.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
