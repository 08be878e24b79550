//! What the model is told beside the matches: how the pattern was understood, and when nothing was found, what was searched
//! and where there would be matches.

use super::collect::GrepMatches;
use super::plan::GrepPlan;
use super::{GrepMode, GrepQuery, IgnoreFiles, SearchHalt};
use crate::contract::{MayRead, Workspace};
use crate::walk::{self, HaltFlag, SmallestItems};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use wire::counting::counted;

/// How long each of the other searches may take.
const TIME: Duration = Duration::from_millis(150);

/// Lines for the end of the result.
pub(super) fn notes(
    query: &GrepQuery,
    found: &mut GrepMatches,
    at: &Workspace,
    flag: &HaltFlag,
    may_read: &MayRead,
) -> Vec<String> {
    let literal = found
        .literal
        .as_ref()
        .map(|why| format!("(The pattern is no regular expression ({why}); it was searched as literal text.)"));
    let mut notes: Vec<String> = literal.into_iter().collect();
    if found.files == 0 && !flag.is_set() {
        let other = |query: &GrepQuery, ignores| count(query, at, ignores, flag, may_read);
        let mut parts = vec![searched(query, found.searched)];
        if !query.ignore_case {
            let found = other(&GrepQuery { ignore_case: true, ..query.clone() }, IgnoreFiles::Honoured);
            parts.extend(found.text("ignoring case (`-i`)"));
        }
        let found = other(query, IgnoreFiles::Disregarded);
        parts.extend(found.text("among ignored files (name their folder in `path`)"));
        notes.push(format!("({})", parts.join("; ")));
    }
    notes.extend(unsearched(std::mem::replace(&mut found.unsearched, SmallestItems::new(0)), at));
    notes
}

/// Names files whose matches may be missing.
fn unsearched(files: SmallestItems<(PathBuf, String)>, at: &Workspace) -> Option<String> {
    let total = files.total;
    let mut named: Vec<String> = files
        .into_sorted()
        .into_iter()
        .map(|(path, why)| format!("{}: {why}", walk::display_path(&path, at)))
        .collect();
    let more = total - named.len() as u64;
    named.extend((more > 0).then(|| format!("and {more} more")));
    let files = counted(total, "file");
    (total > 0).then(|| format!("({files} could not be searched to the end; {})", named.join("; ")))
}

fn searched(query: &GrepQuery, files: u64) -> String {
    let is_filtered = query.glob.is_some() || query.file_type.is_some();
    let why = if files == 0 && is_filtered { ": none fits `glob` and `type`" } else { "" };
    format!("{} searched{why}", counted(files, "file"))
}

/// Files that another search found.
#[derive(Clone, Copy, Debug, Default)]
struct OtherMatches {
    files: u64,
    /// The time was up before all were found.
    is_partial: bool,
}

impl OtherMatches {
    /// A part of a note; `None` when there are none.
    fn text(self, how: &str) -> Option<String> {
        let more = if self.is_partial { "at least " } else { "" };
        let unit = if self.files == 1 { "file matches" } else { "files match" };
        (self.files > 0).then(|| format!("{more}{} {unit} {how}", self.files))
    }
}

/// Searches in another way, for a short time.
fn count(query: &GrepQuery, at: &Workspace, ignores: IgnoreFiles, flag: &HaltFlag, may_read: &MayRead) -> OtherMatches {
    let query = GrepQuery { mode: GrepMode::Files, limit: Some(0), offset: 0, ..query.clone() };
    let halt = SearchHalt { flag, until: Some(Instant::now() + TIME) };
    let found = GrepPlan::new(&query, at, ignores).ok().and_then(|plan| plan.run(&query, halt, may_read).ok());
    found.map_or_else(OtherMatches::default, |found| OtherMatches { files: found.files, is_partial: halt.is_set() })
}
