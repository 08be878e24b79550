//! Questions of the interface itself: may this folder run things, is bypassing understood, which of a repository's servers
//! may start, how a large conversation goes on, whether to leave although something runs. The harmless answer is
//! chosen at first, Esc is never a yes, and keys that were on their way do not answer.

use super::dialog::GUARD;
use super::{App, Effect};
use crate::keys::{Code, Key};
use crate::style::{Line, Style};
use crate::surface::Caret;
use crate::text;
use crate::theme::{Theme, Token};
use engine::entry::{About, Question, Server, ServerAnswer, Trust};
use std::time::Duration;

/// Rows of a question's text inside it; the whole stands above when it is longer.
const BODY: usize = 10;

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Trusted(Box<Trust>),
    /// Go on, but without what was asked about.
    Untrusted(Box<Trust>),
    Bypassed,
    /// `None`: another time.
    Server(Server, Option<ServerAnswer>),
    Summary(Continued),
    /// The session that was asked about does not start.
    Declined,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continued {
    FromSummary,
    AsItIs,
}

#[derive(Clone, Debug)]
enum Asked {
    Entry(Question),
    /// Credentials would go to the host of this number.
    Host(Box<Trust>, usize),
    Leave,
}

#[derive(Debug)]
pub struct Gate {
    asked: Asked,
    chosen: usize,
    shown_at: Duration,
}

impl Gate {
    fn new(asked: Asked, now: Duration) -> Self {
        let chosen = match &asked {
            Asked::Entry(Question::Trust(_) | Question::Bypass) | Asked::Host(..) | Asked::Leave => 1,
            Asked::Entry(Question::Server(_)) => 2,
            Asked::Entry(Question::Summary { .. }) => 0,
        };
        Self { asked, chosen, shown_at: now }
    }

    fn choices(&self) -> Vec<&'static str> {
        match &self.asked {
            Asked::Entry(Question::Trust(asked)) if asked.about == About::Entries => {
                vec!["Yes, use them", "No, go on without them", "No, leave"]
            }
            Asked::Entry(Question::Trust(_)) => {
                vec!["Yes, I trust this folder", "No, go on and run nothing of it", "No, leave"]
            }
            Asked::Host(..) => vec!["Yes, that is meant", "No"],
            Asked::Entry(Question::Bypass) => vec!["Yes, I accept that", "No, leave"],
            Asked::Entry(Question::Server(_)) => {
                vec!["Yes, use this server", "Yes, use all servers of this project", "Not now", "No, never"]
            }
            Asked::Entry(Question::Summary { .. }) => {
                vec!["Go on from a summary (quicker and cheaper)", "Go on with everything"]
            }
            Asked::Leave => vec!["Leave and stop it", "Stay"],
        }
    }

    fn title(&self) -> String {
        match &self.asked {
            Asked::Entry(Question::Trust(asked)) if asked.about == About::Entries => {
                format!("Use new entries in the settings of {}?", asked.folder.display())
            }
            Asked::Entry(Question::Trust(asked)) if !asked.changes.is_empty() => {
                format!("{} has changed since you trusted it", asked.folder.display())
            }
            Asked::Entry(Question::Trust(asked)) => format!("Do you trust {}?", asked.folder.display()),
            Asked::Host(asked, at) => {
                format!("Send your requests and credentials to {}?", text::clean(&asked.hosts[*at]))
            }
            Asked::Entry(Question::Bypass) => "Bypass all permission checks?".into(),
            Asked::Entry(Question::Server(_)) => "Use an MCP server of this project?".into(),
            Asked::Entry(Question::Summary { .. }) => "This conversation is large and old".into(),
            Asked::Leave => "Something is still running".into(),
        }
    }

    fn body(&self, background: usize) -> Vec<String> {
        match &self.asked {
            Asked::Entry(Question::Trust(asked)) => trust_body(asked),
            Asked::Host(..) => vec!["This folder's settings say so.".into()],
            Asked::Entry(Question::Bypass) => vec![
                "Every command runs and every file changes without a question, also what a text the model reads".into(),
                "tells it to do. Use it only where nothing can be harmed: a container without network and secrets."
                    .into(),
            ],
            Asked::Entry(Question::Server(server)) => {
                let mut lines = vec![text::clean(&server.text)];
                if server.others > 0 {
                    lines.push(format!("{} more after this one", server.others));
                }
                lines
            }
            Asked::Entry(Question::Summary { tokens, idle_ms }) => vec![format!(
                "About {}k tokens, last used {} hours ago: the first answer would read all of it again.",
                tokens / 1_000,
                idle_ms / 3_600_000
            )],
            Asked::Leave => {
                let (count, it) =
                    if background == 1 { ("1 task".into(), "it") } else { (format!("{background} tasks"), "them") };
                vec![format!("{count} in the background; leaving stops {it}.")]
            }
        }
    }

    /// The cursor stands at the chosen answer, so that this is what a small screen shows.
    pub(super) fn rows(&self, background: usize, theme: &Theme, columns: usize) -> (Vec<Line>, Option<Caret>) {
        let accent = theme.fg(Token::Permission);
        let faint = theme.fg(Token::Inactive);
        let mut rows = vec![Line::styled("─".repeat(columns), accent)];
        rows.extend(Line::styled(text::clean(&self.title()), accent.bold()).wrapped(columns, 0));
        let body = self.body(background);
        for line in body.iter().take(BODY) {
            rows.extend(Line::plain(format!("  {line}")).wrapped(columns, 4));
        }
        if body.len() > BODY {
            rows.push(Line::styled(format!("  … +{} lines; all of it stands above", body.len() - BODY), faint));
        }
        let mut caret = None;
        for (index, choice) in self.choices().iter().enumerate() {
            let chosen = index == self.chosen;
            if chosen {
                caret = Some(Caret { row: rows.len(), column: 0 });
            }
            let mark = if chosen { "❯" } else { " " };
            let style = if chosen { accent } else { Style::PLAIN };
            rows.extend(Line::styled(format!("{mark} {}. {choice}", index + 1), style).wrapped(columns, 5));
        }
        rows.push(Line::styled("enter to choose · esc for no", faint));
        (rows, caret)
    }
}

fn trust_body(asked: &Trust) -> Vec<String> {
    if asked.about == About::Entries {
        return entries_body(asked);
    }
    let mut lines = vec!["If you say yes, this happens without further questions:".to_owned()];
    for (title, items) in &asked.groups {
        lines.push(format!("{title}:"));
        lines.extend(items.iter().map(|item| {
            let is_new = asked.changes.iter().any(|change| item.starts_with(change.as_str()));
            format!("  {}{}", text::clean(item).replace('\n', " "), if is_new { "  ← new" } else { "" })
        }));
    }
    lines
}

/// The difference to what was accepted before.
fn entries_body(asked: &Trust) -> Vec<String> {
    let one_line = |text: &String| text::clean(text).replace('\n', " ");
    let mut lines = vec!["They were added after you trusted the folder, and not by gimlet:".to_owned()];
    lines.extend(asked.replaced.iter().map(|before| format!("- {}", one_line(before))));
    for (title, items) in &asked.groups {
        lines.push(format!("{title}:"));
        lines.extend(items.iter().map(|item| format!("+ {}", one_line(item))));
    }
    lines
}

impl App {
    /// Something has to be answered before a session starts.
    pub fn ask_entry(&mut self, question: Question) {
        self.open_gate(Asked::Entry(question));
    }

    fn open_gate(&mut self, asked: Asked) {
        let gate = Gate::new(asked, self.now);
        let body = gate.body(self.session.background.len());
        if body.len() > BODY {
            let mut lines = vec![Line::styled(text::clean(&gate.title()), Style::PLAIN.bold())];
            lines.extend(body.into_iter().map(Line::plain));
            self.cell(lines);
        }
        self.gate = Some(gate);
    }

    /// Leaves, unless something runs that would be lost.
    pub(super) fn leave(&mut self) {
        if self.session.background.is_empty() {
            self.effects.push(Effect::Exit);
        } else {
            self.open_gate(Asked::Leave);
        }
    }

    /// Whether the key was meant for the question.
    pub(super) fn gate_key(&mut self, key: Key) -> bool {
        let Some(gate) = &mut self.gate else { return false };
        if key == Key::ctrl('z') || key == Key::ctrl('l') {
            return false;
        }
        let rested = |since: Duration| self.now.saturating_sub(since) >= GUARD;
        if key == Key::ctrl('c') || key == Key::ctrl('d') {
            self.refuse();
            return true;
        }
        if !rested(gate.shown_at) || !rested(self.typed_at) {
            // Typed for something else, before the question could be read.
            self.typed_at = self.now;
            return true;
        }
        let count = gate.choices().len();
        match (key.code, key.text().and_then(|c| c.to_digit(10))) {
            (_, Some(digit)) if (1..=count).contains(&(digit as usize)) => self.answer_gate(digit as usize - 1),
            (Code::Enter, _) => {
                let chosen = gate.chosen;
                self.answer_gate(chosen);
            }
            (Code::Up, _) => gate.chosen = gate.chosen.checked_sub(1).unwrap_or(count - 1),
            (Code::Down | Code::Tab, _) => gate.chosen = (gate.chosen + 1) % count,
            (Code::Escape, _) => self.refuse(),
            _ => {}
        }
        true
    }

    /// Esc and Ctrl+C: what changes nothing.
    fn refuse(&mut self) {
        let Some(gate) = self.gate.take() else { return };
        self.after_dialog();
        match gate.asked {
            Asked::Entry(Question::Trust(_) | Question::Bypass) | Asked::Host(..) => {
                self.effects.push(Effect::Entry(Answer::Declined));
            }
            Asked::Entry(Question::Server(server)) => self.effects.push(Effect::Entry(Answer::Server(server, None))),
            Asked::Entry(Question::Summary { .. }) => {
                self.effects.push(Effect::Entry(Answer::Summary(Continued::AsItIs)));
            }
            Asked::Leave => {}
        }
    }

    fn answer_gate(&mut self, choice: usize) {
        let Some(gate) = self.gate.take() else { return };
        // A question of the engine that waited behind it is seen only now.
        self.after_dialog();
        let answer = match (gate.asked, choice) {
            (Asked::Entry(Question::Trust(asked)), 0) => return self.confirm_hosts(Box::new(asked), 0),
            (Asked::Entry(Question::Trust(asked)), 1) => Answer::Untrusted(Box::new(asked)),
            (Asked::Host(asked, at), 0) => return self.confirm_hosts(asked, at + 1),
            (Asked::Entry(Question::Bypass), 0) => Answer::Bypassed,
            (Asked::Entry(Question::Trust(_) | Question::Bypass) | Asked::Host(..), _) => Answer::Declined,
            (Asked::Entry(Question::Server(server)), at) => {
                let answers =
                    [Some(ServerAnswer::Approve), Some(ServerAnswer::ApproveAll), None, Some(ServerAnswer::Reject)];
                Answer::Server(server, answers.get(at).copied().flatten())
            }
            (Asked::Entry(Question::Summary { .. }), 0) => Answer::Summary(Continued::FromSummary),
            (Asked::Entry(Question::Summary { .. }), _) => Answer::Summary(Continued::AsItIs),
            (Asked::Leave, 0) => return self.effects.push(Effect::Exit),
            (Asked::Leave, _) => return,
        };
        self.effects.push(Effect::Entry(answer));
    }

    /// A place that would receive credentials is agreed to by itself.
    fn confirm_hosts(&mut self, asked: Box<Trust>, at: usize) {
        if at < asked.hosts.len() {
            self.open_gate(Asked::Host(asked, at));
        } else {
            self.effects.push(Effect::Entry(Answer::Trusted(asked)));
        }
    }
}
