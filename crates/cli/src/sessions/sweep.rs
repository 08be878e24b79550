//! `gimlet sessions sweep --dry-run`: which conversations the next sweeps remove, and why others stay.

use super::{SessionsArgs, SessionsCommand, SessionsError, clean};
use config::{ConfigLoader, SettingsSelection};
use engine::query;
use serde_json::json;
use std::io::Write;
use std::time::Duration;
use store::StoreLayout;
use store::sweep::{DEFAULT_DAYS, KeptReason, OldSession, SweepPlan, plan};
use wire::counting::counted;

pub(super) fn run(place: &SessionsCommand<'_>, asked: &SessionsArgs, out: &mut dyn Write) -> Result<u8, SessionsError> {
    if !asked.dry_run {
        let why = "Error: old sessions are removed in the background while gimlet is used, at most once a day; \
                   `gimlet sessions sweep --dry-run` shows what would go";
        return Err(SessionsError::Said(why.into()));
    }
    let loaded = ConfigLoader::open(&place.cwd, place.env, &SettingsSelection::default())
        .map_err(|error| format!("the settings could not be read: {error}"))?;
    let days = loaded.settings.cleanup_period_days.unwrap_or(DEFAULT_DAYS);
    let age = Duration::from_hours(24).saturating_mul(days);
    let now = Duration::from_millis(sys::clock::now_ms());
    let plan = plan(&StoreLayout::new(place.env), age, now);
    if asked.json {
        writeln!(out, "{}", as_json(&plan, days))?;
        return Ok(0);
    }
    if plan.sessions.is_empty() && plan.others.is_empty() {
        writeln!(out, "Nothing is older than {}", counted(u64::from(days), "day"))?;
        return Ok(0);
    }
    for session in &plan.sessions {
        tell(session, out)?;
    }
    let others = plan.others.len() as u64;
    if others > 0 {
        writeln!(out, "{} that no kept session needs (pastes, plans, logs)", counted(others, "other old file"))?;
    }
    Ok(0)
}

fn tell(session: &OldSession, out: &mut dyn Write) -> Result<(), SessionsError> {
    let title = session.title.as_deref().unwrap_or("(no prompt)");
    let age = query::age(session.modified_at);
    writeln!(out, "{}  {age:>8}  {}  {}", session.id, fate(session), clean(title))?;
    Ok(())
}

fn fate(session: &OldSession) -> &'static str {
    match (session.kept, session.is_announced) {
        (Some(KeptReason::Open), _) => "stays: open",
        (Some(KeptReason::Named), _) => "stays: named",
        (Some(KeptReason::Tagged), _) => "stays: tagged",
        (Some(KeptReason::Archived), _) => "stays: archived",
        (None, true) => "goes with the next sweep",
        (None, false) => "goes a day after it is announced",
    }
}

fn as_json(plan: &SweepPlan, days: u32) -> serde_json::Value {
    let session = |session: &OldSession| {
        let kept = session.kept.map(|reason| match reason {
            KeptReason::Open => "open",
            KeptReason::Named => "named",
            KeptReason::Tagged => "tagged",
            KeptReason::Archived => "archived",
        });
        json!({
            "sessionId": session.id,
            "title": session.title,
            "updatedAt": sys::clock::iso(session.modified_at),
            "paths": session.paths,
            "kept": kept,
            "announced": session.is_announced,
        })
    };
    let other = |entry: &store::sweep::OldEntry| json!({"path": entry.path, "announced": entry.is_announced});
    json!({
        "cleanupPeriodDays": days,
        "sessions": plan.sessions.iter().map(session).collect::<Vec<_>>(),
        "others": plan.others.iter().map(other).collect::<Vec<_>>(),
    })
}
