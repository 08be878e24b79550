//! What fills the context window of a stored conversation. Its size is what the provider reported for the last response;
//! what stands before the conversation is the rest of it, because transcripts do not hold tools and system prompt.

use crate::context::usage::ContextUsage;
use crate::history::History;
use crate::resume::restore;
use model::ModelCatalog;
use model::catalog::ServingParty;
use std::path::Path;
use store::StoreError;
use store::resume::{LoadOptions, load, weight};
use sys::Env;

pub struct StoredContext {
    pub session_id: String,
    pub usage: ContextUsage,
}

/// Reads the conversation in `transcript`. Blocking.
pub fn read(transcript: &Path, env: &Env) -> Result<StoredContext, StoreError> {
    let mut loaded = load(transcript, &LoadOptions::default())?;
    let session_id = loaded.session_id.clone();
    let model = loaded.model.clone().unwrap_or_default();
    let restored = restore(&mut loaded);
    let mut history: History = restored.history.into();
    let own = history.weight();
    let reported = weight(transcript).map_or(0, |weight| weight.tokens);
    let facts = ModelCatalog::default().lookup(&model);
    let usage = ContextUsage {
        window: facts.window(env, ServingParty::FirstParty),
        model,
        total: reported.max(own),
        factor: 1.0,
        system: reported.saturating_sub(own),
        shares: history.shares(),
        ..ContextUsage::default()
    };
    Ok(StoredContext { session_id, usage })
}
