//! Questions of the interface itself: trust in a folder, the warning about bypassing permissions, MCP servers of a
//! repository, how to resume a large conversation, quitting while tasks run. A harmless answer is preselected, Esc
//! never agrees, and keys typed before the question could be read do not answer it.

use super::AppEffect;
use super::dialog::KEY_GUARD_TIME;
use super::layers::effects::LayerEffect;
use super::layers::{KeyOutcome, Layer, LayerRank, LayerRows, LayerView};
use engine::preflight::{PreflightQuestion, ServerAnswer, ServerQuestion, TrustQuestion, TrustSubject};
use std::time::Duration;
use terminal::keys::bindings::KeyContext;
use terminal::keys::{KeyCode, KeyPress};
use terminal::style::{StyledLine, TextStyle};
use terminal::surface::Caret;
use terminal::text;
use terminal::theme::{Theme, ThemeToken};

/// Rows of the question's text inside the dialog; a longer text is also printed in full above it.
const BODY_ROWS: usize = 10;

/// The answer to a question asked before a session starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartAnswer {
    Trusted(Box<TrustQuestion>),
    /// Continue without what was asked about.
    Untrusted(Box<TrustQuestion>),
    Bypassed,
    /// `None` postpones the decision.
    Server(ServerQuestion, Option<ServerAnswer>),
    Summary(SummaryChoice),
    /// The session does not start.
    Declined,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryChoice {
    FromSummary,
    AsItIs,
}

#[derive(Clone, Debug)]
enum ConfirmSubject {
    Entry(PreflightQuestion),
    /// Asks whether credentials may be sent to the host with this index in `hosts`.
    Host(Box<TrustQuestion>, usize),
    Leave,
}

#[derive(Debug)]
pub struct ConfirmDialog {
    subject: ConfirmSubject,
    chosen: usize,
    shown_at: Duration,
}

impl ConfirmDialog {
    /// A question that must be answered before a session starts.
    pub fn before_start(question: PreflightQuestion, now: Duration) -> Self {
        Self::new(ConfirmSubject::Entry(question), now)
    }

    /// Whether to leave although something runs in the background.
    pub fn leave(now: Duration) -> Self {
        Self::new(ConfirmSubject::Leave, now)
    }

    fn new(asked: ConfirmSubject, now: Duration) -> Self {
        let chosen = match &asked {
            ConfirmSubject::Entry(PreflightQuestion::Trust(_) | PreflightQuestion::Bypass)
            | ConfirmSubject::Host(..)
            | ConfirmSubject::Leave => 1,
            ConfirmSubject::Entry(PreflightQuestion::Server(_)) => 2,
            ConfirmSubject::Entry(PreflightQuestion::Summary { .. }) => 0,
        };
        Self { subject: asked, chosen, shown_at: now }
    }

    fn choices(&self) -> Vec<&'static str> {
        match &self.subject {
            ConfirmSubject::Entry(PreflightQuestion::Trust(asked)) if asked.about == TrustSubject::Entries => {
                vec!["Yes, use them", "No, go on without them", "No, leave"]
            }
            ConfirmSubject::Entry(PreflightQuestion::Trust(_)) => {
                vec!["Yes, I trust this folder", "No, go on and run nothing of it", "No, leave"]
            }
            ConfirmSubject::Host(..) => vec!["Yes, that is meant", "No"],
            ConfirmSubject::Entry(PreflightQuestion::Bypass) => vec!["Yes, I accept that", "No, leave"],
            ConfirmSubject::Entry(PreflightQuestion::Server(_)) => {
                vec!["Yes, use this server", "Yes, use all servers of this project", "Not now", "No, never"]
            }
            ConfirmSubject::Entry(PreflightQuestion::Summary { .. }) => {
                vec!["Go on from a summary (quicker and cheaper)", "Go on with everything"]
            }
            ConfirmSubject::Leave => vec!["Leave and stop it", "Stay"],
        }
    }

    fn title(&self) -> String {
        match &self.subject {
            ConfirmSubject::Entry(PreflightQuestion::Trust(asked)) if asked.about == TrustSubject::Entries => {
                format!("Use new entries in the settings of {}?", asked.folder.display())
            }
            ConfirmSubject::Entry(PreflightQuestion::Trust(asked)) if !asked.changes.is_empty() => {
                format!("{} has changed since you trusted it", asked.folder.display())
            }
            ConfirmSubject::Entry(PreflightQuestion::Trust(asked)) => {
                format!("Do you trust {}?", asked.folder.display())
            }
            ConfirmSubject::Host(asked, at) => {
                format!("Send your requests and credentials to {}?", text::clean(&asked.hosts[*at]))
            }
            ConfirmSubject::Entry(PreflightQuestion::Bypass) => "Bypass all permission checks?".into(),
            ConfirmSubject::Entry(PreflightQuestion::Server(_)) => "Use an MCP server of this project?".into(),
            ConfirmSubject::Entry(PreflightQuestion::Summary { .. }) => "This conversation is large and old".into(),
            ConfirmSubject::Leave => "Something is still running".into(),
        }
    }

    fn body(&self, background: usize) -> Vec<String> {
        match &self.subject {
            ConfirmSubject::Entry(PreflightQuestion::Trust(asked)) => trust_body(asked),
            ConfirmSubject::Host(..) => vec!["This folder's settings say so.".into()],
            ConfirmSubject::Entry(PreflightQuestion::Bypass) => vec![
                "Every command runs and every file changes without a question, also what a text the model reads".into(),
                "tells it to do. Use it only where nothing can be harmed: a container without network and secrets."
                    .into(),
            ],
            ConfirmSubject::Entry(PreflightQuestion::Server(server)) => {
                let mut lines = vec![text::clean(&server.text)];
                if server.others > 0 {
                    lines.push(format!("{} more after this one", server.others));
                }
                lines
            }
            ConfirmSubject::Entry(PreflightQuestion::Summary { tokens, idle_ms }) => vec![format!(
                "About {}k tokens, last used {} hours ago: the first answer would read all of it again.",
                tokens / 1_000,
                idle_ms / 3_600_000
            )],
            ConfirmSubject::Leave => {
                let (count, it) =
                    if background == 1 { ("1 task".into(), "it") } else { (format!("{background} tasks"), "them") };
                vec![format!("{count} in the background; leaving stops {it}.")]
            }
        }
    }

    /// The caret is at the chosen answer, so that a small screen shows that row.
    fn drawn_rows(&self, background: usize, theme: &Theme, columns: usize) -> (Vec<StyledLine>, Option<Caret>) {
        let accent = theme.fg(ThemeToken::Permission);
        let faint = theme.fg(ThemeToken::Inactive);
        let mut rows = vec![StyledLine::styled("─".repeat(columns), accent)];
        rows.extend(StyledLine::styled(text::clean(&self.title()), accent.bold()).wrapped(columns, 0));
        let body = self.body(background);
        for line in body.iter().take(BODY_ROWS) {
            rows.extend(StyledLine::plain(format!("  {line}")).wrapped(columns, 4));
        }
        if body.len() > BODY_ROWS {
            rows.push(StyledLine::styled(
                format!("  … +{} lines; all of it stands above", body.len() - BODY_ROWS),
                faint,
            ));
        }
        let mut caret = None;
        for (index, choice) in self.choices().iter().enumerate() {
            let chosen = index == self.chosen;
            if chosen {
                caret = Some(Caret { row: rows.len(), column: 0 });
            }
            let mark = if chosen { "❯" } else { " " };
            let style = if chosen { accent } else { TextStyle::PLAIN };
            rows.extend(StyledLine::styled(format!("{mark} {}. {choice}", index + 1), style).wrapped(columns, 5));
        }
        rows.push(StyledLine::styled("enter to choose · esc for no", faint));
        (rows, caret)
    }
}

fn trust_body(asked: &TrustQuestion) -> Vec<String> {
    if asked.about == TrustSubject::Entries {
        return entries_body(asked);
    }
    let mut lines = vec!["If you say yes, this happens without further questions:".to_owned()];
    for (title, items) in &asked.groups {
        // Trust alone starts none of them.
        let asked_later = title.starts_with("MCP servers");
        let aside =
            if asked_later { " (each is asked about before it starts, unless settings approve it)" } else { "" };
        lines.push(format!("{title}{aside}:"));
        lines.extend(items.iter().map(|item| {
            let is_new = asked.changes.iter().any(|change| item.starts_with(change.as_str()));
            format!("  {}{}", text::clean(item).replace('\n', " "), if is_new { "  ← new" } else { "" })
        }));
    }
    lines
}

/// The lines that were added to or removed from the settings since the folder was trusted.
fn entries_body(asked: &TrustQuestion) -> Vec<String> {
    let one_line = |text: &String| text::clean(text).replace('\n', " ");
    let mut lines = vec!["They were added after you trusted the folder, and not by gimlet:".to_owned()];
    lines.extend(asked.replaced.iter().map(|before| format!("- {}", one_line(before))));
    for (title, items) in &asked.groups {
        lines.push(format!("{title}:"));
        lines.extend(items.iter().map(|item| format!("+ {}", one_line(item))));
    }
    lines
}

impl ConfirmDialog {
    /// The whole text for the scrollback, when the dialog does not show all of it.
    pub fn long_text(&self, background: usize) -> Option<Vec<StyledLine>> {
        let body = self.body(background);
        (body.len() > BODY_ROWS).then(|| {
            let title = StyledLine::styled(text::clean(&self.title()), TextStyle::PLAIN.bold());
            std::iter::once(title).chain(body.into_iter().map(StyledLine::plain)).collect()
        })
    }

    fn choice_key(&mut self, key: KeyPress, view: &LayerView<'_>) -> Vec<LayerEffect> {
        let count = self.choices().len();
        match (key.code, key.text().and_then(|c| c.to_digit(10))) {
            (_, Some(digit)) if (1..=count).contains(&(digit as usize)) => {
                return self.answer(digit as usize - 1, view);
            }
            (KeyCode::Enter, _) => return self.answer(self.chosen, view),
            (KeyCode::Up, _) => self.chosen = self.chosen.checked_sub(1).unwrap_or(count - 1),
            (KeyCode::Down | KeyCode::Tab, _) => self.chosen = (self.chosen + 1) % count,
            (KeyCode::Escape, _) => return self.cancel(),
            _ => {}
        }
        Vec::new()
    }

    /// Esc and Ctrl+C: gives the answer that changes nothing.
    fn cancel(&self) -> Vec<LayerEffect> {
        let answer = match &self.subject {
            ConfirmSubject::Entry(PreflightQuestion::Trust(_) | PreflightQuestion::Bypass)
            | ConfirmSubject::Host(..) => StartAnswer::Declined,
            ConfirmSubject::Entry(PreflightQuestion::Server(server)) => StartAnswer::Server(server.clone(), None),
            ConfirmSubject::Entry(PreflightQuestion::Summary { .. }) => StartAnswer::Summary(SummaryChoice::AsItIs),
            ConfirmSubject::Leave => return vec![LayerEffect::Close],
        };
        close_with(answer)
    }

    fn answer(&self, choice: usize, view: &LayerView<'_>) -> Vec<LayerEffect> {
        close_with(match (&self.subject, choice) {
            (ConfirmSubject::Entry(PreflightQuestion::Trust(asked)), 0) => {
                return confirm_hosts(Box::new(asked.clone()), 0, view);
            }
            (ConfirmSubject::Entry(PreflightQuestion::Trust(asked)), 1) => {
                StartAnswer::Untrusted(Box::new(asked.clone()))
            }
            (ConfirmSubject::Host(asked, at), 0) => return confirm_hosts(asked.clone(), at + 1, view),
            (ConfirmSubject::Entry(PreflightQuestion::Bypass), 0) => StartAnswer::Bypassed,
            (
                ConfirmSubject::Entry(PreflightQuestion::Trust(_) | PreflightQuestion::Bypass)
                | ConfirmSubject::Host(..),
                _,
            ) => StartAnswer::Declined,
            (ConfirmSubject::Entry(PreflightQuestion::Server(server)), at) => {
                let answers =
                    [Some(ServerAnswer::Approve), Some(ServerAnswer::ApproveAll), None, Some(ServerAnswer::Reject)];
                StartAnswer::Server(server.clone(), answers.get(at).copied().flatten())
            }
            (ConfirmSubject::Entry(PreflightQuestion::Summary { .. }), 0) => {
                StartAnswer::Summary(SummaryChoice::FromSummary)
            }
            (ConfirmSubject::Entry(PreflightQuestion::Summary { .. }), _) => {
                StartAnswer::Summary(SummaryChoice::AsItIs)
            }
            (ConfirmSubject::Leave, 0) => return vec![LayerEffect::Close, LayerEffect::Outside(AppEffect::Exit)],
            (ConfirmSubject::Leave, _) => return vec![LayerEffect::Close],
        })
    }
}

fn close_with(answer: StartAnswer) -> Vec<LayerEffect> {
    vec![LayerEffect::Close, LayerEffect::Outside(AppEffect::Entry(answer))]
}

/// Asks about every host that would receive credentials, one at a time, then sends the answer.
fn confirm_hosts(asked: Box<TrustQuestion>, at: usize, view: &LayerView<'_>) -> Vec<LayerEffect> {
    if at >= asked.hosts.len() {
        return close_with(StartAnswer::Trusted(asked));
    }
    let next = ConfirmDialog::new(ConfirmSubject::Host(asked, at), view.now);
    let mut effects = vec![LayerEffect::Close];
    effects.extend(next.long_text(view.session.background.len()).map(LayerEffect::Print));
    effects.push(LayerEffect::Open(Box::new(next)));
    effects
}

impl Layer for ConfirmDialog {
    fn rank(&self) -> LayerRank {
        LayerRank::Confirm
    }

    /// Its keys are fixed.
    fn contexts(&self) -> &'static [KeyContext] {
        &[]
    }

    fn key(&mut self, key: KeyPress, view: &LayerView<'_>) -> KeyOutcome {
        if key == KeyPress::ctrl('z') || key == KeyPress::ctrl('l') {
            return KeyOutcome::Passed;
        }
        if key == KeyPress::ctrl('c') || key == KeyPress::ctrl('d') {
            return KeyOutcome::Taken(self.cancel());
        }
        let is_read = view.is_past(self.shown_at, KEY_GUARD_TIME) && view.is_past(view.typed_at, KEY_GUARD_TIME);
        // A key typed before the question could be read does nothing.
        KeyOutcome::Taken(if is_read { self.choice_key(key, view) } else { vec![LayerEffect::Typed] })
    }

    fn rows(&self, view: &LayerView<'_>) -> LayerRows {
        let background = view.session.background.len();
        let (rows, caret) = self.drawn_rows(background, &view.preferences.theme, view.size.columns);
        LayerRows::InPlaceOfPrompt(rows, caret)
    }
}
