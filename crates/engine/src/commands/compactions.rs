//! `/compact show` and `/compact undo`: what earlier compactions did, and going on from before the last one.

use super::{CommandReply, ReplyAudience};
use crate::session::LiveSession;
use session_parts::compaction_report::{self, CompactionReport};
use std::path::Path;
use store::resume::LoadOptions;

/// How many dropped steps are shown of each compaction.
const SHOWN_STEPS: usize = 40;

/// What the first word after `/compact` asks for, when it is one of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompactionRequest {
    /// All compactions, or one of them.
    Show(Option<usize>),
    Undo,
    /// Compact, and let the person edit the summary.
    Edit,
}

impl CompactionRequest {
    /// Also the arguments that are left. Anything else is an instruction for the summary.
    pub(super) fn read(arguments: &str) -> Option<(Self, &str)> {
        let (word, rest) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
        let rest = rest.trim();
        match (word, rest) {
            ("show", "") => Some((Self::Show(None), "")),
            ("show", number) => Some((Self::Show(Some(number.parse().ok()?)), "")),
            ("undo", "") => Some((Self::Undo, "")),
            ("edit", rest) => Some((Self::Edit, rest)),
            _ => None,
        }
    }
}

/// Whether this asks the model nothing.
pub(super) fn is_local(arguments: &str) -> bool {
    matches!(CompactionRequest::read(arguments), Some((CompactionRequest::Show(_) | CompactionRequest::Undo, _)))
}

pub(super) async fn run(session: &mut LiveSession, arguments: &str) -> CommandReply {
    match CompactionRequest::read(arguments) {
        Some((CompactionRequest::Show(number), _)) => show(session, number).await,
        Some((CompactionRequest::Undo, _)) => match session.undo_compaction().await {
            Ok(done) => CommandReply::for_user(done),
            Err(why) => CommandReply::refused(why),
        },
        // `/compact` itself carries out everything else.
        Some((CompactionRequest::Edit, _)) | None => CommandReply::for_user(""),
    }
}

async fn show(session: &mut LiveSession, number: Option<usize>) -> CommandReply {
    let reports = match read(session).await {
        Ok(reports) => reports,
        Err(why) => return CommandReply::refused(format!("The compactions could not be read: {why}")),
    };
    if reports.is_empty() {
        return CommandReply::for_user("This conversation was not compacted.");
    }
    let last = reports.len();
    let is_wanted = |report: &CompactionReport| number.is_none_or(|number| report.number == number);
    let shown: Vec<CompactionReport> = reports.into_iter().filter(is_wanted).collect();
    if let (true, Some(number)) = (shown.is_empty(), number) {
        return CommandReply::refused(format!("There is no compaction {number}; the last one is {last}."));
    }
    let most = if number.is_some() { usize::MAX } else { SHOWN_STEPS };
    let text = compaction_report::as_text(&shown, last, most);
    CommandReply { audience: ReplyAudience::Moment, ..CommandReply::for_user(text) }
}

/// The compactions behind this conversation: those of its branch.
async fn read(session: &LiveSession) -> Result<Vec<CompactionReport>, String> {
    let transcript = &session.io.output.transcript;
    let Some(summary) = session.context.history().summary_line().map(str::to_owned) else { return Ok(Vec::new()) };
    let Some(path) = transcript.file().map(Path::to_path_buf) else { return Ok(Vec::new()) };
    transcript.transcript().flush().await.map_err(|error| error.to_string())?;
    let options = LoadOptions { at: Some(summary), ..LoadOptions::default() };
    let read = tokio::task::spawn_blocking(move || compaction_report::list(&path, &options));
    read.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_words_are_taken() {
        let read = CompactionRequest::read;
        assert_eq!(read("show"), Some((CompactionRequest::Show(None), "")));
        assert_eq!(read("show 2"), Some((CompactionRequest::Show(Some(2)), "")));
        assert_eq!(read("undo"), Some((CompactionRequest::Undo, "")));
        assert_eq!(read("edit"), Some((CompactionRequest::Edit, "")));
        assert_eq!(read("edit keep the names"), Some((CompactionRequest::Edit, "keep the names")));
        for instruction in ["", "show the API", "undo nothing", "keep the names", "showy"] {
            assert_eq!(read(instruction), None, "{instruction}");
        }
    }
}
