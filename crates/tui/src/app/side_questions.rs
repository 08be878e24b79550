//! `/btw`: side questions. They are asked immediately, also while a turn runs, and shown in a panel with the earlier
//! ones. They are not printed and not kept after the session.

use super::panel::{Panel, PanelBody, PanelSubject, PendingResponse, TextPage};
use super::spinner::faint;
use super::{App, AppEffect};
use serde_json::Value;
use std::collections::VecDeque;
use std::time::Duration;
use terminal::keys::{KeyCode, KeyPress};
use terminal::markdown;
use terminal::style::StyledLine;
use terminal::theme::ThemeToken;
use wire::control::{HostRequest, SideQuestion};

/// How many exchanges are kept.
const MAX_EXCHANGES: usize = 20;
const KEYS: &str = "↑↓ to move · ←→ others · c copy · f go on in a fork · x forget · esc to close";

#[derive(Debug, Default)]
pub struct SideQuestionLog {
    /// Oldest first.
    exchanges: VecDeque<SideExchange>,
    /// The index of the exchange that is shown.
    current: usize,
    count: u64,
}

#[derive(Debug)]
struct SideExchange {
    number: u64,
    question: String,
    /// `None` while the answer is pending.
    answer: Option<Result<String, String>>,
}

impl App {
    /// Asks a side question; an empty `question` shows the earlier ones.
    pub(super) fn open_side_question(&mut self, question: &str) {
        if question.is_empty() {
            if self.side_questions.exchanges.is_empty() {
                return self.hint("Usage: /btw <question>", Duration::from_secs(4));
            }
        } else {
            self.ask_side_question(question);
        }
        self.side_questions.current = self.side_questions.exchanges.len() - 1;
        let panel = self.side_question_panel();
        self.open_panel(panel);
    }

    fn ask_side_question(&mut self, question: &str) {
        let asides = &mut self.side_questions;
        asides.count += 1;
        let number = asides.count;
        if asides.exchanges.len() == MAX_EXCHANGES {
            asides.exchanges.pop_front();
        }
        asides.exchanges.push_back(SideExchange { number, question: question.to_owned(), answer: None });
        let request = HostRequest::SideQuestion(SideQuestion { question: question.to_owned() });
        self.request(request, PendingResponse::Aside(number));
    }

    pub(super) fn side_question_arrived(&mut self, number: u64, outcome: Result<Value, String>) {
        let text = |body: &Value| body.get("answer").and_then(Value::as_str).unwrap_or_default().to_owned();
        let answer = outcome.map(|body| text(&body));
        let Some(at) = self.side_questions.exchanges.iter().position(|known| known.number == number) else { return };
        self.side_questions.exchanges[at].answer = Some(answer);
        if at == self.side_questions.current {
            self.refresh_side_question();
        }
    }

    /// Handles the keys of the panel that do not scroll.
    pub(super) fn side_question_key(&mut self, key: KeyPress) {
        let asides = &mut self.side_questions;
        match (key.code, key.text()) {
            (KeyCode::Left, _) => asides.current = asides.current.saturating_sub(1),
            (KeyCode::Right, _) => asides.current = (asides.current + 1).min(asides.exchanges.len().saturating_sub(1)),
            (_, Some('c')) => return self.copy_side_question(),
            (_, Some('f')) => return self.fork_side_question(),
            (_, Some('x')) => {
                asides.exchanges.remove(asides.current);
                asides.current = asides.current.min(asides.exchanges.len().saturating_sub(1));
                if asides.exchanges.is_empty() {
                    return self.close_panels();
                }
            }
            _ => return,
        }
        self.refresh_side_question();
    }

    fn copy_side_question(&mut self) {
        if let Some(SideExchange { answer: Some(Ok(answer)), .. }) =
            self.side_questions.exchanges.get(self.side_questions.current)
        {
            self.effects.push(AppEffect::Copy(answer.clone()));
        }
    }

    /// Forks the session and asks the question there.
    fn fork_side_question(&mut self) {
        if self.is_busy() {
            return self.hint("Wait for the end of this turn, or stop it with esc", Duration::from_secs(4));
        }
        let Some(question) =
            self.side_questions.exchanges.get(self.side_questions.current).map(|known| known.question.clone())
        else {
            return;
        };
        match self.session.id.clone() {
            Some(session) if self.transcript.reply(1).is_some() => {
                self.close_panels();
                self.effects.push(AppEffect::Fork { session, prompt: question });
            }
            Some(_) | None => self.hint("There is no conversation to copy yet", Duration::from_secs(4)),
        }
    }

    /// Updates the panel and scrolls it to the top.
    fn refresh_side_question(&mut self) {
        let renewed = self.side_question_panel();
        if let Some(panel) = self.layers.all_mut::<Panel>().find(|panel| matches!(panel.subject, PanelSubject::Aside)) {
            *panel = renewed;
        }
    }

    fn side_question_panel(&self) -> Panel {
        let asides = &self.side_questions;
        let title = match asides.exchanges.len() {
            0 | 1 => "On the side".to_owned(),
            all => format!("On the side ({} of {all})", asides.current + 1),
        };
        let lines =
            asides.exchanges.get(asides.current).map(|known| self.side_question_lines(known)).unwrap_or_default();
        Panel {
            title,
            keys: KEYS.into(),
            body: PanelBody::Page(TextPage { lines, top: 0 }),
            subject: PanelSubject::Aside,
        }
    }

    fn side_question_lines(&self, exchange: &SideExchange) -> Vec<StyledLine> {
        let theme = &self.preferences.theme;
        let question = terminal::text::clean(&exchange.question);
        let mut lines: Vec<StyledLine> = question.lines().map(|line| faint(format!("> {line}"), theme)).collect();
        lines.push(StyledLine::new());
        match &exchange.answer {
            None => lines.push(faint("  …", theme)),
            Some(Ok(answer)) => lines.extend(markdown::render(answer, &self.markdown_options())),
            Some(Err(why)) => lines.push(StyledLine::styled(terminal::text::clean(why), theme.fg(ThemeToken::Error))),
        }
        lines
    }
}
