//! `/btw`: questions on the side. They are asked at once, also while a turn runs, and shown in a screen of their own with those
//! before them; nothing of them is printed or kept beyond the session.

use super::panel::{Awaited, Body, Page, Panel, Subject};
use super::spinner::faint;
use super::{App, Effect};
use crate::keys::{Code, Key};
use crate::markdown;
use crate::style::Line;
use crate::theme::Token;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::time::Duration;

/// Exchanges that can be looked at again.
const KEPT: usize = 20;
const KEYS: &str = "↑↓ to move · ←→ others · c copy · f go on in a fork · x forget · esc to close";

#[derive(Debug, Default)]
pub struct Asides {
    /// Oldest first.
    exchanges: VecDeque<Exchange>,
    /// The one that is shown.
    at: usize,
    asked: u64,
}

#[derive(Debug)]
struct Exchange {
    number: u64,
    question: String,
    /// `None` while it is waited for.
    answer: Option<Result<String, String>>,
}

impl App {
    /// Asks; without a question, shows what was asked before.
    pub(super) fn open_aside(&mut self, question: &str) {
        if question.is_empty() {
            if self.asides.exchanges.is_empty() {
                return self.hint("Usage: /btw <question>", Duration::from_secs(4));
            }
        } else {
            self.ask_aside(question);
        }
        self.asides.at = self.asides.exchanges.len() - 1;
        let panel = self.aside_panel();
        self.open_panel(panel);
    }

    fn ask_aside(&mut self, question: &str) {
        let asides = &mut self.asides;
        asides.asked += 1;
        let number = asides.asked;
        if asides.exchanges.len() == KEPT {
            asides.exchanges.pop_front();
        }
        asides.exchanges.push_back(Exchange { number, question: question.to_owned(), answer: None });
        let request = json!({"subtype": "x_side_question", "question": question});
        self.request(&request, Awaited::Aside(number));
    }

    pub(super) fn aside_arrived(&mut self, number: u64, response: &Value) {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let answer = match response.get("error") {
            Some(why) => Err(text(Some(why))),
            None => Ok(text(response.get("response").and_then(|body| body.get("answer")))),
        };
        let Some(at) = self.asides.exchanges.iter().position(|known| known.number == number) else { return };
        self.asides.exchanges[at].answer = Some(answer);
        if at == self.asides.at {
            self.renew_aside();
        }
    }

    /// The keys of the screen that are not for moving in it.
    pub(super) fn aside_key(&mut self, key: Key) {
        let asides = &mut self.asides;
        match (key.code, key.text()) {
            (Code::Left, _) => asides.at = asides.at.saturating_sub(1),
            (Code::Right, _) => asides.at = (asides.at + 1).min(asides.exchanges.len().saturating_sub(1)),
            (_, Some('c')) => return self.copy_aside(),
            (_, Some('f')) => return self.fork_aside(),
            (_, Some('x')) => {
                asides.exchanges.remove(asides.at);
                asides.at = asides.at.min(asides.exchanges.len().saturating_sub(1));
                if asides.exchanges.is_empty() {
                    return self.close_panels();
                }
            }
            _ => return,
        }
        self.renew_aside();
    }

    fn copy_aside(&mut self) {
        if let Some(Exchange { answer: Some(Ok(answer)), .. }) = self.asides.exchanges.get(self.asides.at) {
            self.effects.push(Effect::Copy(answer.clone()));
        }
    }

    /// A copy of the conversation, in which the question is asked.
    fn fork_aside(&mut self) {
        if self.is_busy() {
            return self.hint("Wait for the end of this turn, or stop it with esc", Duration::from_secs(4));
        }
        let Some(question) = self.asides.exchanges.get(self.asides.at).map(|known| known.question.clone()) else {
            return;
        };
        match self.session.id.clone() {
            Some(session) if self.transcript.reply(1).is_some() => {
                self.close_panels();
                self.effects.push(Effect::Fork { session, prompt: question });
            }
            Some(_) | None => self.hint("There is no conversation to copy yet", Duration::from_secs(4)),
        }
    }

    /// Shows what has changed, from its beginning.
    fn renew_aside(&mut self) {
        let renewed = self.aside_panel();
        if let Some(panel) = self.panels.iter_mut().find(|panel| matches!(panel.subject, Subject::Aside)) {
            *panel = renewed;
        }
    }

    fn aside_panel(&self) -> Panel {
        let asides = &self.asides;
        let title = match asides.exchanges.len() {
            0 | 1 => "On the side".to_owned(),
            all => format!("On the side ({} of {all})", asides.at + 1),
        };
        let lines = asides.exchanges.get(asides.at).map(|known| self.aside_lines(known)).unwrap_or_default();
        Panel { title, keys: KEYS.into(), body: Body::Page(Page { lines, top: 0 }), subject: Subject::Aside }
    }

    fn aside_lines(&self, exchange: &Exchange) -> Vec<Line> {
        let theme = &self.preferences.theme;
        let question = crate::text::clean(&exchange.question);
        let mut lines: Vec<Line> = question.lines().map(|line| faint(format!("> {line}"), theme)).collect();
        lines.push(Line::new());
        match &exchange.answer {
            None => lines.push(faint("  …", theme)),
            Some(Ok(answer)) => lines.extend(markdown::render(answer, &self.look())),
            Some(Err(why)) => lines.push(Line::styled(crate::text::clean(why), theme.fg(Token::Error))),
        }
        lines
    }
}
