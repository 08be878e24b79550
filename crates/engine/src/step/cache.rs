//! What is told about the provider's cache after a response.

use crate::session::SessionIo;
use model::ModelRequest;
use session_parts::cache_watch::CacheMiss;
use session_parts::context::ModelContext;
use std::sync::Arc;
use store::StoreError;
use wire::entry::{MetaEntry, MissedTokens};
use wire::sdk::SystemBody;
use wire::usage::Usage;

/// Compares the usage of a response with what the cache should have held; records and reports a miss.
pub(super) async fn account(
    request: &Arc<ModelRequest>,
    usage: &Usage,
    context: &mut ModelContext,
    io: &mut SessionIo,
) -> Result<(), StoreError> {
    if usage.total_input() == 0 {
        // The response ended before its usage was known.
        return Ok(());
    }
    let provider = io.provider.connection.base_url();
    let seen = (provider, usage, sys::clock::now_ms());
    let Some(miss) = context.cache.record(request, seen, io.output.ledger.catalog()) else { return Ok(()) };
    let CacheMiss { cause, detail, tokens, usd, model } = miss.clone();
    io.output.transcript.meta(MetaEntry::XCacheMiss {
        session_id: io.output.host.session_id.clone(),
        timestamp: sys::clock::now_iso(),
        model: model.clone(),
        cause: cause.name(),
        detail: detail.clone(),
        usage: MissedTokens { missed: tokens },
        cost_usd: usd,
    })?;
    io.output.ledger.record_miss(miss);
    if io.output.flags.cache_events {
        let body = SystemBody::XCacheMiss { cause: cause.name(), detail, model, missed_tokens: tokens, cost_usd: usd };
        io.output.host.system(body).await;
    }
    Ok(())
}
