//! The agents of the session: open the conversation of one, stop it, write to it. Below them, the agents that can be
//! started.

use super::{Panel, PanelContent, PanelFrame, PanelNews, PanelReaction};
use crate::app::PendingResponse;
use crate::app::agents::{AgentTracker, TrackedAgent};
use crate::app::layers::LayerView;
use crate::app::layers::effects::LayerEffect;
use crate::app::pager::Pager;
use crate::app::select::{SelectItem, TypingMode};
use crate::app::session::SessionDisplay;
use crate::app::spinner::faint;
use std::time::Duration;
use terminal::keys::KeyPress;
use terminal::style::StyledLine;
use wire::control::{AgentMessage, HostRequest, TaskId};

const TITLE: &str = "Agents";
const REFRESH: Duration = Duration::from_secs(1);
const HINT_DURATION: Duration = Duration::from_secs(6);
const MAKE_ONE: &str = "  To add an agent, write a Markdown file with `name` and `description` at its top to .claude/agents/ (this project) or \
                        agents/ in the configuration directory.";

/// A row of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ListedAgent {
    /// Runs, or has just ended: its id and its call.
    Started {
        id: String,
        call: String,
    },
    Startable,
}

#[derive(Debug)]
pub struct AgentList {
    rows: Vec<ListedAgent>,
    refresh_at: Option<Duration>,
}

impl AgentList {
    pub fn panel(agents: &AgentTracker, session: &SessionDisplay, now: Duration) -> Panel {
        let mut list = Self { rows: Vec::new(), refresh_at: None };
        let frame = list.fill(agents, session, now);
        frame.with(list)
    }

    fn fill(&mut self, agents: &AgentTracker, session: &SessionDisplay, now: Duration) -> PanelFrame {
        let started = |agent: &TrackedAgent| {
            SelectItem::new(agent.label(), agent.state(now)).value(if agent.runs() {
                "⑂ running"
            } else {
                "◆ ended"
            })
        };
        let startable = |(name, about): &(String, String)| {
            SelectItem::new(name.clone(), about.lines().next().unwrap_or_default()).value("can start")
        };
        let items = agents.all().iter().map(started).chain(session.agents.iter().map(startable));
        let items: Vec<SelectItem> = items.collect();
        let of = |agent: &TrackedAgent| ListedAgent::Started { id: agent.id.clone(), call: agent.call.clone() };
        self.rows = agents.all().iter().map(of).collect();
        self.rows.resize(items.len(), ListedAgent::Startable);
        // Which agents can be started is not known before the session is open.
        let changes = session.agents.is_empty() || agents.all().iter().any(TrackedAgent::runs);
        self.refresh_at = changes.then(|| now + REFRESH);
        PanelFrame::list(TITLE, items, TypingMode::Digits)
            .counted("agent")
            .keys("enter to open · x to stop · m to message · esc to close")
    }

    fn started(&self, item: Option<usize>) -> Option<(&str, &str)> {
        match self.rows.get(item?)? {
            ListedAgent::Started { id, call } => Some((id, call)),
            ListedAgent::Startable => None,
        }
    }
}

impl PanelContent for AgentList {
    fn receive(&mut self, news: &PanelNews, view: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::Refresh | PanelNews::TasksChanged => {
                PanelReaction::show(self.fill(view.agents, view.session, view.now))
            }
            _ => PanelReaction::Ignored,
        }
    }

    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        match self.started(Some(item)) {
            Some((_, call)) => vec![LayerEffect::Open(Box::new(Pager::of_agent(call)))],
            None => vec![LayerEffect::Hint("Ask for it in a prompt, or let the model choose it".into(), HINT_DURATION)],
        }
    }

    fn key(&mut self, key: KeyPress, item: Option<usize>, view: &LayerView<'_>) -> Vec<LayerEffect> {
        let Some((id, _)) = self.started(item) else { return Vec::new() };
        let runs = view.agents.all().iter().find(|agent| agent.id == id).filter(|agent| agent.runs());
        match (key.text(), runs) {
            (Some('x' | 'm'), None) => vec![LayerEffect::Hint("It has ended".into(), HINT_DURATION)],
            (Some('x'), Some(agent)) => {
                let request = HostRequest::StopTask(TaskId { task_id: id.to_owned() });
                let words = format!("{} was stopped.", agent.label());
                vec![LayerEffect::Request(request, PendingResponse::Done(words))]
            }
            (Some('m'), Some(agent)) => {
                let frame = PanelFrame::entry(agent.label(), "Message", "").keys("enter to send · esc to go back");
                vec![LayerEffect::OpenPanel(frame.with(AgentNote { id: id.to_owned() }))]
            }
            _ => Vec::new(),
        }
    }

    fn details(&self, item: Option<usize>, view: &LayerView<'_>) -> Vec<StyledLine> {
        let theme = &view.preferences.theme;
        let agent = self.started(item).and_then(|(id, _)| view.agents.all().iter().find(|agent| agent.id == id));
        match agent {
            Some(agent) => vec![faint(format!("  {} · {}", agent.id, agent.tokens_text()), theme)],
            None => vec![faint(MAKE_ONE, theme)],
        }
    }

    fn refresh_at(&self) -> Option<Duration> {
        self.refresh_at
    }

    fn stop_refresh(&mut self) {
        self.refresh_at = None;
    }
}

/// A message to an agent that runs.
#[derive(Debug)]
struct AgentNote {
    id: String,
}

impl PanelContent for AgentNote {
    fn submit(&mut self, text: &str, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let request = AgentMessage { task_id: self.id.clone(), message: text.to_owned() };
        let answer = PendingResponse::Done("Sent. The agent reads it after its current step.".into());
        vec![LayerEffect::Close, LayerEffect::Request(HostRequest::MessageAgent(request), answer)]
    }
}
