//! `/compact undo`: the conversation goes on from before its last compaction. Nothing is deleted: a line marks that the
//! compaction does not count on this branch, and what was said since stays as another one.

use super::LiveSession;
use serde_json::Map;
use session_parts::resume;
use std::ops::ControlFlow;
use store::LoadedConversation;
use store::compactions;
use store::resume::{LoadOptions, UNDONE_SUBTYPE};
use wire::counting::thousands;

/// What was compacted last.
struct LastCompaction {
    boundary: String,
    /// The last line before it.
    leaf: Option<String>,
    before: LoadedConversation,
}

impl LiveSession {
    /// Returns what was done, for the user; the error is why nothing was done.
    pub(crate) async fn undo_compaction(&mut self) -> Result<String, String> {
        let Some(summary) = self.context.history().summary_line().map(str::to_owned) else {
            return Err("There is no compaction to take back.".into());
        };
        let saved = self.io.output.transcript.file().map(std::path::Path::to_path_buf);
        let path = saved.ok_or("This conversation is not saved, so there is nothing to go back to.")?;
        let flushed = self.io.output.transcript.transcript().flush().await;
        flushed.map_err(|error| error.to_string())?;
        let read = tokio::task::spawn_blocking(move || last_compaction(&path, summary));
        let found = read.await.map_err(|error| error.to_string())??;
        let LastCompaction { boundary, leaf, mut before } = found;
        let restored = resume::restore(&mut before);
        let tokens = self.context.tokens_with(restored.history.iter().map(|(turn, ..)| turn));
        let (window, limit) = self.context.window();
        let most = limit.unwrap_or(window);
        if tokens >= most {
            return Err(format!(
                "The conversation before the summary has about {} tokens; here it would be summarised again at {}. A model \
                 with a larger window (/model) or a larger /autocompact makes room.",
                thousands(tokens),
                thousands(most)
            ));
        }
        self.io.output.transcript.go_on_after(leaf);
        let mut fields = Map::new();
        fields.insert("content".into(), "Compaction taken back".into());
        fields.insert("isMeta".into(), false.into());
        fields.insert("level".into(), "info".into());
        fields.insert("boundaryUuid".into(), boundary.into());
        self.io.output.transcript.system(UNDONE_SUBTYPE, fields).map_err(|error| error.to_string())?;
        self.take_up(restored);
        self.io.output.ledger.forget_last();
        self.publish_view().await;
        Ok(format!(
            "The conversation goes on from before the summary, with about {} tokens. What was said since then stays as \
             another branch (/rewind).",
            thousands(tokens)
        ))
    }
}

fn last_compaction(path: &std::path::Path, summary: String) -> Result<LastCompaction, String> {
    let options = LoadOptions { at: Some(summary), ..LoadOptions::default() };
    let mut found = None;
    let walked = compactions::walk(path, &options, &mut |record| {
        found = Some(LastCompaction {
            boundary: record.boundary.uuid.to_string(),
            leaf: record.before.leaf_uuid.as_deref().map(str::to_owned),
            before: record.before.clone(),
        });
        ControlFlow::Break(())
    });
    walked.map_err(|error| error.to_string())?;
    let found = found
        .filter(|found| !found.before.entries.is_empty())
        .ok_or("What was said before the summary is not in the transcript any more.")?;
    if found.before.path != *path {
        return Err(
            "This is a copy; what was said before the summary is only in the session it was copied from.".into()
        );
    }
    Ok(found)
}
