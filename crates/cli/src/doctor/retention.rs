//! Tells which old conversations the next sweeps remove.

use super::{DoctorContext, DoctorFinding, good};
use std::time::Duration;
use store::StoreLayout;
use store::sweep::{DEFAULT_DAYS, plan};
use wire::counting::counted;

/// Nothing is said when nothing will be removed.
pub(super) fn old_sessions(context: &DoctorContext<'_>, findings: &mut Vec<DoctorFinding>) {
    let days = context.loaded.settings.cleanup_period_days.unwrap_or(DEFAULT_DAYS);
    let age = Duration::from_hours(24).saturating_mul(days);
    let plan = plan(&StoreLayout::new(context.env), age, Duration::from_millis(sys::clock::now_ms()));
    let sessions = plan.sessions.iter().filter(|session| session.kept.is_none()).count();
    if sessions > 0 {
        let text = format!(
            "{} older than {} will be removed after announcement: `gimlet sessions sweep --dry-run`",
            counted(sessions, "session"),
            counted(days, "day")
        );
        findings.push(good("old sessions", text));
    }
}
