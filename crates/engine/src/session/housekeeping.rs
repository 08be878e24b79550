//! Cleans up in the background: old sessions, and unchanged worktrees that agents left. Runs some time after the
//! first request, at most once a day, and not at all when the settings have errors.

use crate::session::SessionIo;
use futures_util::future::BoxFuture;
use session_parts::host::HostSender;
use session_parts::worktree;
use std::path::PathBuf;
use std::time::Duration;
use store::sweep::{DEFAULT_DAYS, SweepCount, SweepResult, sweep};
use store::{Persistence, StoreLayout};
use sys::Env;
use wire::counting::counted;
use wire::settings::SettingsSource;

/// The first request has priority.
const START_DELAY: Duration = Duration::from_secs(1);

/// `None` when nothing may be removed.
pub(crate) fn cleanup(io: &SessionIo) -> Option<BoxFuture<'static, ()>> {
    let loaded = &io.rules.watch.loaded;
    let managed = loaded
        .layers
        .iter()
        .any(|layer| layer.source == SettingsSource::Managed && layer.effective.get("cleanupPeriodDays").is_some());
    let in_doubt =
        io.rules.watch.reduced == session_parts::hooks::HookRestriction::Bare || !loaded.diagnostics.is_empty();
    if (in_doubt && !managed) || io.output.transcript.persists() == Persistence::No {
        return None;
    }
    let days = loaded.settings.cleanup_period_days.unwrap_or(DEFAULT_DAYS);
    let age = Duration::from_hours(24).saturating_mul(days);
    let (env, host, project) = (io.rules.watch.env.clone(), io.output.host.clone(), io.rules.watch.cwd.clone());
    Some(Box::pin(async move {
        tokio::time::sleep(START_DELAY).await;
        remove_old(age, days, (env, host, project)).await;
    }))
}

/// Removes the records of processes that have ended, which others use to find live sessions, and their temporary
/// files.
pub(crate) fn remove_dead_records(io: &SessionIo) -> impl Future<Output = ()> + Send + use<> {
    let (env, own) = (io.rules.watch.env.clone(), io.tooling.state.facts.session_id.clone());
    async move {
        let work = move || {
            let layout = StoreLayout::new(&env);
            store::live_sessions::clear_stale(&layout);
            store::stale_folders::sweep(&layout, &own);
        };
        tokio::task::spawn_blocking(work).await.ok();
    }
}

fn announced_text(count: SweepCount, days: u32) -> String {
    let what = match (count.sessions, count.others) {
        (0, others) => counted(others as u64, "old file"),
        (sessions, 0) => counted(sessions as u64, "session"),
        (sessions, others) => {
            format!("{} and {}", counted(sessions as u64, "session"), counted(others as u64, "other file"))
        }
    };
    let days = counted(days, "day");
    format!(
        "{what} unused for {days} will be removed from tomorrow on. Named, tagged and archived sessions stay; `gimlet sessions \
         sweep --dry-run` lists the others. Set cleanupPeriodDays to keep sessions longer."
    )
}

async fn remove_old(age: Duration, days: u32, (env, host, project): (Env, HostSender, PathBuf)) {
    let layout = StoreLayout::new(&env);
    let now = Duration::from_millis(sys::clock::now_ms());
    let swept = tokio::task::spawn_blocking(move || sweep(&layout, age, now)).await;
    match swept {
        Ok(Ok(SweepResult::NotDue)) | Err(_) => return,
        Ok(Ok(SweepResult::Swept { removed, announcement })) => {
            if !removed.is_zero() {
                tracing::info!(sessions = removed.sessions, others = removed.others, "what was announced was removed");
            }
            if !announcement.count.is_zero() {
                host.notice(announced_text(announcement.count, days)).await;
            }
            // Only what was told may be removed.
            if let Ok(Err(error)) = tokio::task::spawn_blocking(move || announcement.record()).await {
                tracing::warn!(%error, "the announcement of a sweep could not be recorded");
            }
        }
        Ok(Err(error)) => tracing::warn!(%error, "old sessions could not be swept"),
    }
    worktree::sweep(&project, age, &env).await;
}
