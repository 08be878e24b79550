//! Questions of the interface itself: trust in a folder, the warning about bypassing permissions, MCP servers of a
//! repository, how to resume a large conversation, quitting while tasks run. A harmless answer is preselected, Esc
//! never agrees, and keys typed before the question could be read do not answer it.

use super::AppEffect;
use super::dialog::{DialogArea, DialogLayout, KEY_GUARD_TIME};
use super::layers::effects::LayerEffect;
use super::layers::{KeyOutcome, Layer, LayerRank, LayerRows, LayerView};
use engine::preflight::{
    PreflightQuestion, ServerAnswer, ServerQuestion, TrustQuestion, TrustSection, TrustServer, TrustSubject,
};
use engine::query::SessionInfo;
use std::time::Duration;
use terminal::keys::bindings::KeyContext;
use terminal::keys::{KeyCode, KeyPress};
use terminal::style::{StyledLine, TextStyle};
use terminal::surface::Caret;
use terminal::text;
use terminal::theme::ThemeToken;
use wire::counting::counted;

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
    Leave(LeaveGoal),
}

/// Where to after this session.
#[derive(Clone, Debug)]
pub enum LeaveGoal {
    Exit,
    /// A copy of the conversation, and what is sent there first.
    Copy {
        session: String,
        prompt: String,
    },
    Another(Box<SessionInfo>),
    /// The session before this one, by its id.
    Previous(String),
}

impl LeaveGoal {
    /// What is said when the goal is reached.
    pub fn note(&self) -> Option<&'static str> {
        match self {
            LeaveGoal::Copy { .. } => Some("This is a copy now; /resume has the session it was made from."),
            LeaveGoal::Exit | LeaveGoal::Another(_) | LeaveGoal::Previous(_) => None,
        }
    }

    pub fn effect(self) -> AppEffect {
        match self {
            LeaveGoal::Exit => AppEffect::Exit,
            LeaveGoal::Copy { session, prompt } => AppEffect::Fork { session, prompt },
            LeaveGoal::Another(session) => AppEffect::Chosen(Some(session)),
            LeaveGoal::Previous(session) => AppEffect::ReturnTo(session),
        }
    }
}

#[derive(Debug)]
pub struct ConfirmDialog {
    subject: ConfirmSubject,
    /// Among the servers, and then the answers.
    chosen: usize,
    /// The first visible row of the text.
    top: usize,
    shown_at: Duration,
}

impl ConfirmDialog {
    /// A question that must be answered before a session starts.
    pub fn before_start(question: PreflightQuestion, now: Duration) -> Self {
        Self::new(ConfirmSubject::Entry(question), now)
    }

    /// Whether to leave although something runs in the background.
    pub fn leave(goal: LeaveGoal, now: Duration) -> Self {
        Self::new(ConfirmSubject::Leave(goal), now)
    }

    fn new(asked: ConfirmSubject, now: Duration) -> Self {
        let chosen = match &asked {
            ConfirmSubject::Entry(PreflightQuestion::Trust(_) | PreflightQuestion::Bypass)
            | ConfirmSubject::Host(..)
            | ConfirmSubject::Leave(_) => 1,
            ConfirmSubject::Entry(PreflightQuestion::Server(_)) => 2,
            ConfirmSubject::Entry(PreflightQuestion::Summary { .. }) => 0,
        };
        let dialog = Self { subject: asked, chosen, top: 0, shown_at: now };
        Self { chosen: chosen + dialog.servers().len(), ..dialog }
    }

    /// The servers that this question takes a yes or no for.
    fn servers(&self) -> &[TrustServer] {
        match &self.subject {
            ConfirmSubject::Entry(PreflightQuestion::Trust(asked)) => &asked.servers,
            _ => &[],
        }
    }

    fn say_of_server(&mut self, say: impl Fn(bool) -> bool) {
        if let ConfirmSubject::Entry(PreflightQuestion::Trust(asked)) = &mut self.subject
            && let Some(server) = asked.servers.get_mut(self.chosen)
        {
            server.is_allowed = say(server.is_allowed);
        }
    }

    fn choices(&self) -> Vec<&'static str> {
        match &self.subject {
            ConfirmSubject::Entry(PreflightQuestion::Trust(asked)) if asked.about == TrustSubject::Entries => {
                vec!["Yes, use them", "No, continue without them", "No, exit"]
            }
            ConfirmSubject::Entry(PreflightQuestion::Trust(asked)) => {
                let allowed = asked.servers.iter().filter(|server| server.is_allowed).count();
                let yes = match (asked.servers.len(), allowed) {
                    (0, _) => "Yes, I trust this folder",
                    (_, 0) => "Yes, I trust this folder, without its servers",
                    (all, allowed) if all == allowed => "Yes, I trust this folder, with its servers",
                    _ => "Yes, I trust this folder, with the servers marked yes",
                };
                vec![yes, "No, continue and run nothing from it", "No, exit"]
            }
            ConfirmSubject::Host(..) => vec!["Yes, send them there", "No"],
            ConfirmSubject::Entry(PreflightQuestion::Bypass) => vec!["Yes, bypass all checks", "No, exit"],
            ConfirmSubject::Entry(PreflightQuestion::Server(_)) => {
                vec!["Yes, use this server", "Yes, use all servers of this project", "Not now", "No, never"]
            }
            ConfirmSubject::Entry(PreflightQuestion::Summary { .. }) => {
                vec!["Continue from a summary", "Continue with everything"]
            }
            ConfirmSubject::Leave(_) => vec!["Exit and stop it", "Stay"],
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
            ConfirmSubject::Entry(PreflightQuestion::Summary { .. }) => "This session is large and old".into(),
            ConfirmSubject::Leave(_) => "Something is still running".into(),
        }
    }

    fn body(&self, background: usize) -> Vec<String> {
        match &self.subject {
            ConfirmSubject::Entry(PreflightQuestion::Trust(asked)) => trust_body(asked),
            ConfirmSubject::Host(..) => vec!["This folder's settings ask for it.".into()],
            ConfirmSubject::Entry(PreflightQuestion::Bypass) => vec![
                "Commands run and files change without a question, also when a text that the model reads asks for it."
                    .into(),
                "Use it only where nothing can be harmed: a container without network access and secrets.".into(),
            ],
            ConfirmSubject::Entry(PreflightQuestion::Server(server)) => {
                let mut lines = vec![text::clean(&server.text)];
                if server.others > 0 {
                    lines.push(format!("{} more after this one", server.others));
                }
                lines
            }
            ConfirmSubject::Entry(PreflightQuestion::Summary { tokens, idle_ms, prices }) => {
                let mut lines = vec![format!(
                    "About {}k tokens, last used {} ago: nothing of it is cached any more.",
                    tokens / 1_000,
                    counted(idle_ms / 3_600_000, "hour")
                )];
                if let Some(prices) = prices {
                    lines.push(format!("From a summary:  {}", prices.summary));
                    lines.push(format!("With everything: {}", prices.whole));
                }
                lines
            }
            ConfirmSubject::Leave(_) => {
                let (count, it) =
                    if background == 1 { ("1 task".into(), "it") } else { (format!("{background} tasks"), "them") };
                vec![format!("{count} in the background; exiting stops {it}.")]
            }
        }
    }

    /// The caret is at the chosen answer, so that a small screen shows that row.
    fn drawn_rows(&self, background: usize, place: &DialogArea<'_>) -> (Vec<StyledLine>, Option<Caret>) {
        let inner = &place.inner();
        let accent = place.theme.fg(ThemeToken::Permission);
        let head = StyledLine::styled(text::clean(&self.title()), accent.bold()).wrapped(inner.columns, 2);
        let (choices, chosen) = self.choice_rows(inner);
        let hint = match self.servers() {
            [] => "enter to choose · esc for no",
            _ => "enter to choose · space for yes or no to a server · esc for no",
        };
        let middle = self.middle(background, inner.columns);
        let layout = DialogLayout { head, middle, choices, chosen, hint: hint.into(), ..DialogLayout::default() };
        let (rows, caret) = layout.rows(place, Some(self.top), Some((chosen, 0)));
        (rows, caret.map(|(row, _)| Caret { row, column: 0 }))
    }

    fn middle(&self, background: usize, columns: usize) -> Vec<StyledLine> {
        let body = self.body(background);
        body.iter().flat_map(|line| StyledLine::plain(line.clone()).wrapped(columns, 4)).collect()
    }

    /// The servers and the answers, and the first row of the one that is chosen.
    fn choice_rows(&self, inner: &DialogArea<'_>) -> (Vec<StyledLine>, usize) {
        let accent = inner.theme.fg(ThemeToken::Permission);
        let (mut rows, mut chosen) = (Vec::new(), 0);
        let servers = self.servers();
        for (index, server) in servers.iter().enumerate() {
            let here = index == self.chosen;
            chosen = if here { rows.len() } else { chosen };
            let (pointer, style) = if here { ("❯", accent) } else { (" ", TextStyle::PLAIN) };
            let say = if server.is_allowed { "[yes]" } else { "[no] " };
            let line = format!("{pointer} {say} {}", text::clean(&server.text).replace('\n', " "));
            rows.extend(StyledLine::styled(line, style).wrapped(inner.columns, 8));
        }
        rows.extend((!servers.is_empty() && inner.rows >= 16).then(StyledLine::new));
        for (index, choice) in self.choices().iter().enumerate() {
            let here = index + servers.len() == self.chosen;
            chosen = if here { rows.len() } else { chosen };
            rows.extend(inner.option(index, choice, here));
        }
        (rows, chosen)
    }
}

fn trust_body(asked: &TrustQuestion) -> Vec<String> {
    if asked.about == TrustSubject::Entries {
        return entries_body(asked);
    }
    let mut lines = Vec::new();
    let sections = [
        (TrustSection::Runs, "Would run without further questions:"),
        (TrustSection::Allows, "Would be allowed:"),
        (TrustSection::Text, "Only text and settings:"),
    ];
    for (section, title) in sections {
        let mut groups = asked.groups.iter().filter(|group| group.section() == section).peekable();
        if groups.peek().is_some() {
            lines.extend((!lines.is_empty()).then(String::new));
            lines.push(title.to_owned());
        }
        for group in groups {
            lines.push(format!("  {}", group.kind.title()));
            lines.extend(group.lines.iter().map(|item| {
                let is_new = asked.changes.iter().any(|change| item.starts_with(change.as_str()));
                format!("    {}{}", text::clean(item).replace('\n', " "), if is_new { "  ← new" } else { "" })
            }));
        }
    }
    if !asked.servers.is_empty() {
        lines.extend((!lines.is_empty()).then(String::new));
        lines.push("MCP servers, with a yes or no for each:".into());
    }
    lines
}

/// The lines that were added to or removed from the settings since the folder was trusted.
fn entries_body(asked: &TrustQuestion) -> Vec<String> {
    let one_line = |text: &String| text::clean(text).replace('\n', " ");
    let mut lines = vec!["They were added after you trusted the folder, and not by gimlet:".to_owned()];
    lines.extend(asked.replaced.iter().map(|before| format!("- {}", one_line(before))));
    for group in &asked.groups {
        lines.push(format!("{}:", group.kind.title()));
        lines.extend(group.lines.iter().map(|item| format!("+ {}", one_line(item))));
    }
    lines
}

impl ConfirmDialog {
    /// The whole text for the scrollback, when the dialog does not show all of it.
    pub fn long_text(&self, background: usize) -> Option<Vec<StyledLine>> {
        let body = self.body(background);
        (body.len() > BODY_ROWS).then(|| {
            let title = StyledLine::styled(text::clean(&self.title()), TextStyle::PLAIN.bold());
            let servers = self.servers().iter().map(|server| format!("  {}", text::clean(&server.text)));
            std::iter::once(title).chain(body.into_iter().chain(servers).map(StyledLine::plain)).collect()
        })
    }

    fn choice_key(&mut self, key: KeyPress, view: &LayerView<'_>) -> Vec<LayerEffect> {
        let servers = self.servers().len();
        let answers = self.choices().len();
        let count = servers + answers;
        let at_server = self.chosen < servers;
        match (key.code, key.text().and_then(|c| c.to_digit(10))) {
            (_, Some(digit)) if (1..=answers).contains(&(digit as usize)) => {
                return self.answer(digit as usize - 1, view);
            }
            (KeyCode::Enter | KeyCode::Char(' '), _) if at_server => self.say_of_server(|say| !say),
            (KeyCode::Char('y'), _) if at_server => self.say_of_server(|_| true),
            (KeyCode::Char('n'), _) if at_server => self.say_of_server(|_| false),
            (KeyCode::Enter, _) => return self.answer(self.chosen - servers, view),
            (KeyCode::PageUp, _) => self.top = self.top.saturating_sub((view.size.rows / 3).max(1)),
            (KeyCode::PageDown, _) => {
                let rows = self.middle(view.session.background.len(), DialogArea::of(view).inner().columns).len();
                self.top = (self.top + (view.size.rows / 3).max(1)).min(rows.saturating_sub(1));
            }
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
            ConfirmSubject::Leave(goal) => return stay(goal),
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
            (ConfirmSubject::Leave(goal), 0) => {
                let note = goal.note().map(|note| LayerEffect::Note(note.into(), ThemeToken::Inactive));
                let leave = LayerEffect::Outside(goal.clone().effect());
                return [LayerEffect::Close].into_iter().chain(note).chain([leave]).collect();
            }
            (ConfirmSubject::Leave(goal), _) => return stay(goal),
        })
    }
}

fn stay(goal: &LeaveGoal) -> Vec<LayerEffect> {
    match goal {
        LeaveGoal::Another(_) => vec![LayerEffect::Close, LayerEffect::Outside(AppEffect::Chosen(None))],
        LeaveGoal::Exit | LeaveGoal::Copy { .. } | LeaveGoal::Previous(_) => vec![LayerEffect::Close],
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
        let (rows, caret) = self.drawn_rows(background, &DialogArea::of(view));
        LayerRows::InPlaceOfPrompt(rows, caret)
    }
}
