//! The table of slips. Each was seen in public reports of agents; each is a function that turns the right call into the
//! wrong one, or into a wrong way to behave.

use super::call::PlannedCall;
use super::call_slips as call;
use super::edit_slips as edit;
use super::intent::Intent;
use super::random::Dice;
use super::view::RequestView;

/// What a slip makes of a call.
#[derive(Clone, Debug)]
pub(super) enum SlipForm {
    /// Sent in place of the right call.
    Sent(PlannedCall),
    /// Sent first; the right call follows once this one has led on.
    Before(PlannedCall, BeforeGoal),
    /// The right call, sent once more after it has succeeded.
    Again,
    /// Sent unchanged until the result says something new.
    Repeated(PlannedCall),
    /// The right call and the next one in one message.
    Together,
    /// Not sent.
    Skipped,
    /// The right call for a file that somebody else changes with this command.
    Stale(String),
    /// Sent again although it was refused.
    Insisted,
}

/// When a call that was sent first has led on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BeforeGoal {
    /// The result names this file.
    Names(String),
    /// The result says that nobody will answer.
    GoOn,
    /// The call works.
    Works,
}

/// What a slip can see.
pub(super) struct SlipScene<'a> {
    pub(super) intent: &'a Intent,
    pub(super) next: Option<&'a Intent>,
    pub(super) view: &'a RequestView,
    pub(super) dice: &'a mut Dice,
    /// A background task was started.
    pub(super) has_background: bool,
    /// The session reminds of checks.
    pub(super) reminds: bool,
}

type SlipFunction = fn(&PlannedCall, &mut SlipScene<'_>) -> Option<SlipForm>;

/// Name, weight (slips that fit few calls are taken more often there), function.
pub(super) const SLIPS: &[(&str, usize, SlipFunction)] = &[
    ("tabs for spaces", 6, edit::tabs_for_spaces),
    ("constant indent", 8, edit::constant_indent),
    ("trailing blanks", 4, edit::trailing_blanks),
    ("numbered lines", 4, edit::numbered_lines),
    ("escaped newlines", 4, edit::escaped_newlines),
    ("retyped near miss", 6, edit::near_miss),
    ("non-unique", 30, edit::non_unique),
    ("stale", 30, edit::stale),
    ("already applied", 4, edit::already_applied),
    ("CRLF", 3, edit::crlf),
    ("lookalike dash", 6, edit::lookalike),
    ("two edits of one file at once", 10, edit::two_at_once),
    ("wrong folder", 3, call::wrong_folder),
    ("typo", 3, call::typo),
    ("wrong case of path", 5, call::wrong_case),
    ("directory read", 3, call::directory_read),
    ("offset past end", 3, call::offset_past_end),
    ("renamed field", 2, call::renamed_field),
    ("string number", 3, call::string_number),
    ("JSON string array", 20, call::json_string_array),
    ("array command", 5, call::array_command),
    ("extra field", 2, call::extra_field),
    ("wrong tool name", 2, call::wrong_tool_name),
    ("cut JSON", 2, call::cut_json),
    ("invalid regex", 20, call::invalid_regex),
    ("over-wide glob", 3, call::over_wide_glob),
    ("huge output wanted from the middle", 40, call::huge_output),
    ("timeout in seconds", 5, call::timeout_in_seconds),
    ("repeats itself", 8, edit::repeats_itself),
    ("asks where nobody is", 8, call::asks_nobody),
    ("polls with sleep", 20, call::polls_with_sleep),
    ("calls a denied thing again", 40, call::insists),
    ("forgets to check", 20, call::forgets_to_check),
];

/// Happens where a request wants a summary, not at an intent.
pub(super) const SUMMARY_SLIP: &str = "summary answered by a tool call";

/// Every slip, in the order of reports.
pub const SLIP_NAMES: [&str; 34] = {
    let mut names = [SUMMARY_SLIP; 34];
    let mut at = 0;
    while at < SLIPS.len() {
        names[at] = SLIPS[at].0;
        at += 1;
    }
    names
};

/// A slip that fits the call, chosen by the dice.
pub(super) fn choose(right: &PlannedCall, scene: &mut SlipScene<'_>) -> Option<(&'static str, SlipForm)> {
    let allowed = |name: &str| scene.intent.slips.is_empty() || scene.intent.slips.iter().any(|slip| slip == name);
    let mut left: Vec<usize> = (0..SLIPS.len()).filter(|at| allowed(SLIPS[*at].0)).collect();
    while !left.is_empty() {
        let total: usize = left.iter().map(|at| SLIPS[*at].1).sum();
        let mut ticket = scene.dice.below(total);
        let chosen = left.iter().position(|at| {
            let hit = ticket < SLIPS[*at].1;
            ticket = ticket.saturating_sub(SLIPS[*at].1);
            hit
        })?;
        let (name, _, make) = SLIPS[left.swap_remove(chosen)];
        if let Some(form) = make(right, scene) {
            return Some((name, form));
        }
    }
    None
}
