//! `/btw`: side questions. They are asked immediately, also while a turn runs, and shown in a panel with the earlier
//! ones. They are not printed and not kept after the session.

use super::confirm::LeaveGoal;
use super::layers::effects::LayerEffect;
use super::layers::{LayerRank, LayerView};
use super::panel::{Panel, PanelContent, PanelFrame};
use super::spinner::faint;
use super::{App, AppEffect, PendingResponse};
use serde_json::Value;
use std::collections::VecDeque;
use std::time::Duration;
use terminal::keys::{KeyCode, KeyPress};
use terminal::markdown::{self, MarkdownOptions};
use terminal::style::StyledLine;
use terminal::theme::ThemeToken;
use wire::control::{HostRequest, SideQuestion};

/// How many exchanges are kept.
const MAX_EXCHANGES: usize = 20;
const KEYS: &str = "↑↓ to move · ←→ others · c copy · f continue in a copy · x delete · esc to close";

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

impl SideQuestionLog {
    fn frame(&self, options: &MarkdownOptions<'_>) -> PanelFrame {
        let title = match self.exchanges.len() {
            0 | 1 => "On the side".to_owned(),
            all => format!("On the side ({} of {all})", self.current + 1),
        };
        let lines = self.exchanges.get(self.current).map(|known| known.lines(options)).unwrap_or_default();
        PanelFrame::page(title, lines).keys(KEYS)
    }
}

impl SideExchange {
    fn lines(&self, options: &MarkdownOptions<'_>) -> Vec<StyledLine> {
        let theme = options.theme;
        let question = terminal::text::clean(&self.question);
        let mut lines: Vec<StyledLine> = question.lines().map(|line| faint(format!("> {line}"), theme)).collect();
        lines.push(StyledLine::new());
        match &self.answer {
            None => lines.push(faint("  …", theme)),
            Some(Ok(answer)) => lines.extend(markdown::render(answer, options)),
            Some(Err(why)) => lines.push(StyledLine::styled(terminal::text::clean(why), theme.fg(ThemeToken::Error))),
        }
        lines
    }
}

/// What can be done with the exchange that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideQuestionAction {
    Earlier,
    Later,
    Copy,
    Fork,
    Forget,
}

/// The panel of side questions.
#[derive(Debug)]
struct SideQuestionPage;

impl PanelContent for SideQuestionPage {
    fn key(&mut self, key: KeyPress, _: Option<usize>, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let action = match (key.code, key.text()) {
            (KeyCode::Left, _) => SideQuestionAction::Earlier,
            (KeyCode::Right, _) => SideQuestionAction::Later,
            (_, Some('c')) => SideQuestionAction::Copy,
            (_, Some('f')) => SideQuestionAction::Fork,
            (_, Some('x')) => SideQuestionAction::Forget,
            _ => return Vec::new(),
        };
        vec![LayerEffect::SideQuestion(action)]
    }
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
        let frame = self.side_questions.frame(&self.markdown_options());
        self.open_panel(frame.with(SideQuestionPage));
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
        self.request(request, PendingResponse::SideQuestion(number));
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

    pub(super) fn side_question_action(&mut self, action: SideQuestionAction) {
        let log = &mut self.side_questions;
        match action {
            SideQuestionAction::Earlier => log.current = log.current.saturating_sub(1),
            SideQuestionAction::Later => log.current = (log.current + 1).min(log.exchanges.len().saturating_sub(1)),
            SideQuestionAction::Copy => return self.copy_side_question(),
            SideQuestionAction::Fork => return self.fork_side_question(),
            SideQuestionAction::Forget => {
                log.exchanges.remove(log.current);
                log.current = log.current.min(log.exchanges.len().saturating_sub(1));
                if log.exchanges.is_empty() {
                    return self.dismiss(LayerRank::Panel);
                }
            }
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
                self.dismiss(LayerRank::Panel);
                self.leave(LeaveGoal::Copy { session, prompt: question });
            }
            Some(_) | None => self.hint("There is nothing to copy yet", Duration::from_secs(4)),
        }
    }

    /// Updates the panel and scrolls it to the top.
    fn refresh_side_question(&mut self) {
        let frame = self.side_questions.frame(&self.markdown_options());
        if let Some(panel) = self.layers.all_mut::<Panel>().find(|panel| panel.is_about::<SideQuestionPage>()) {
            panel.show(frame);
        }
    }
}
