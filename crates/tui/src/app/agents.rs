//! Running agents: their state and their rows. A command configured by the user can replace the content of rows. It is
//! asked once per second while agents run, never twice at the same time. Agents that its answer does not name keep
//! their row; empty content hides the row.

use super::calls::CallTracker;
use super::spinner::{elapsed, faint, short_count};
use super::tools;
use crate::status_line;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use terminal::style::{StyledLine, TextStyle};
use terminal::theme::Theme;
use wire::control::AgentRow;
use wire::sdk::{TaskProgress, TaskStarted};

const TICK: Duration = Duration::from_secs(1);
/// How many token counts are sent to the command; the newest are kept.
const SAMPLES: usize = 30;
/// Rows of agents below the prompt; further agents are only counted.
const ROWS: usize = 5;

#[derive(Debug)]
struct RunningAgent {
    id: String,
    kind: String,
    description: String,
    /// The id of the call that started it.
    call: String,
    /// The id of the agent that started it; `None` for the main conversation.
    parent: Option<String>,
    since: Duration,
    tool_uses: u64,
    tokens: u64,
    samples: Vec<u64>,
    last_tool: String,
}

impl RunningAgent {
    /// Tool uses, tokens, elapsed time and the last tool.
    fn state(&self, now: Duration) -> String {
        let uses = self.tool_uses;
        let mut facts = vec![
            format!("{uses} {}", tools::plural(uses as usize, "tool use")),
            format!("{} tokens", short_count(self.tokens)),
            elapsed(now.saturating_sub(self.since)),
        ];
        facts.extend(Some(self.last_tool.clone()).filter(|tool| !tool.is_empty()));
        facts.join(" · ")
    }

    fn label(&self) -> String {
        format!("{}: {}", self.kind, self.description)
    }
}

#[derive(Debug, Default)]
pub struct AgentTracker {
    running: Vec<RunningAgent>,
    /// The answer of the command by agent id; `None` hides the row.
    overrides: BTreeMap<String, Option<StyledLine>>,
    due: Option<Duration>,
    request_id: Option<String>,
}

/// The row of an agent, after the command was asked.
pub enum AgentRowContent {
    Shown(StyledLine),
    Hidden,
}

impl AgentTracker {
    /// When the command is asked next or the seconds in the rows change, whichever is earlier.
    pub fn next_change(&self, now: Duration) -> Option<Duration> {
        let second = (!self.running.is_empty()).then(|| super::next_multiple(now, TICK));
        self.due.into_iter().chain(second).min()
    }

    pub fn record_start(&mut self, started: &TaskStarted, now: Duration) {
        let Some(kind) = started.subagent_type.clone() else { return };
        if self.running.is_empty() {
            self.due = Some(now);
        }
        self.running.retain(|agent| agent.id != started.task_id);
        self.running.push(RunningAgent {
            id: started.task_id.clone(),
            kind,
            description: started.description.clone(),
            call: started.tool_use_id.clone().unwrap_or_default(),
            parent: started.parent_task_id.clone(),
            since: now,
            tool_uses: 0,
            tokens: 0,
            samples: Vec::new(),
            last_tool: String::new(),
        });
    }

    pub fn record_progress(&mut self, progress: &TaskProgress) {
        let Some(agent) = self.running.iter_mut().find(|agent| agent.id == progress.task_id) else { return };
        agent.tool_uses = progress.usage.tool_uses;
        agent.tokens = progress.usage.total_tokens;
        agent.last_tool.clone_from(&progress.last_tool_name);
        agent.samples.push(agent.tokens);
        let over = agent.samples.len().saturating_sub(SAMPLES);
        agent.samples.drain(..over);
    }

    /// The row of the agent that this call started; `None` when the call started none.
    pub fn row_of_call(&self, call: &str, now: Duration) -> Option<AgentRowContent> {
        let agent = self.running.iter().find(|agent| agent.call == call)?;
        Some(self.row(agent, agent.state(now)))
    }

    fn row(&self, agent: &RunningAgent, otherwise: String) -> AgentRowContent {
        match self.overrides.get(&agent.id) {
            Some(Some(line)) => AgentRowContent::Shown(line.clone()),
            Some(None) => AgentRowContent::Hidden,
            None => AgentRowContent::Shown(StyledLine::plain(otherwise)),
        }
    }
}

/// One line of the command's answer.
#[derive(Deserialize)]
struct AgentRowOverride {
    id: String,
    content: String,
}

fn parse_agent_rows(output: &str) -> BTreeMap<String, Option<StyledLine>> {
    let rows = output.lines().filter_map(|line| serde_json::from_str::<AgentRowOverride>(line).ok());
    rows.map(|row| (row.id, status_line::rows(&row.content).into_iter().next())).collect()
}

impl AgentTracker {
    /// Removes an agent that has ended; `name` is its id or the id of its call. Returns the request to withdraw.
    pub fn remove(&mut self, name: &str) -> Option<String> {
        self.retain(|agent| agent.id != name && agent.call != name)
    }

    /// Keeps only the agents with these ids and those they started. Returns the request to withdraw.
    pub fn keep(&mut self, ids: &[&str]) -> Option<String> {
        let is_kept = |id: &String| ids.contains(&id.as_str());
        self.retain(|agent| is_kept(&agent.id) || agent.parent.as_ref().is_some_and(is_kept))
    }

    fn retain(&mut self, stays: impl Fn(&RunningAgent) -> bool) -> Option<String> {
        self.running.retain(stays);
        self.overrides.retain(|id, _| self.running.iter().any(|agent| agent.id == *id));
        if !self.running.is_empty() {
            return None;
        }
        self.due = None;
        self.request_id.take()
    }

    /// The agents to ask the user's command about, when it is due.
    pub fn take_due(&mut self, now: Duration) -> Option<Vec<AgentRow>> {
        if self.due.take_if(|due| *due <= now).is_none() || self.request_id.is_some() {
            return None;
        }
        let row = |agent: &RunningAgent| AgentRow {
            id: agent.id.clone(),
            name: agent.kind.clone(),
            description: agent.description.clone(),
            label: agent.label(),
            elapsed_ms: now.saturating_sub(agent.since).as_millis() as u64,
            token_count: agent.tokens,
            token_samples: agent.samples.clone(),
        };
        Some(self.running.iter().map(row).collect())
    }

    pub fn record_request(&mut self, id: String) {
        self.request_id = Some(id);
    }

    /// Applies the answer of the command; `false` when `request_id` is another request.
    pub fn receive(&mut self, request_id: &str, body: &Value, now: Duration) -> bool {
        if self.request_id.take_if(|asked| asked == request_id).is_none() {
            return false;
        }
        self.overrides = body.get("output").and_then(Value::as_str).map(parse_agent_rows).unwrap_or_default();
        let is_configured = body.get("configured").and_then(Value::as_bool) == Some(true);
        // Without a command nothing is asked until agents start again.
        self.due = (is_configured && !self.running.is_empty()).then(|| now + TICK);
        true
    }

    /// Rows of agents whose call is not among the open calls.
    pub fn rows(&self, calls: &CallTracker, now: Duration, theme: &Theme, columns: usize) -> Vec<StyledLine> {
        let apart = self.running.iter().filter(|agent| calls.get(&agent.call).is_none());
        let row = |agent: &RunningAgent| {
            let otherwise = format!("{} · {}", agent.label(), agent.state(now));
            match self.row(agent, terminal::text::clean(&otherwise).replace('\n', " ")) {
                AgentRowContent::Shown(line) => {
                    Some(StyledLine::styled("  ◦ ", TextStyle::PLAIN).and_line(line).truncated(columns))
                }
                AgentRowContent::Hidden => None,
            }
        };
        let mut rows: Vec<StyledLine> = apart.filter_map(row).collect();
        let over = rows.len().saturating_sub(ROWS);
        if over > 0 {
            rows.truncate(ROWS);
            rows.push(faint(format!("  … +{over} more"), theme));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::session::SessionDisplay;
    use crate::app::{App, AppEffect, AppInput, Preferences};
    use serde_json::json;
    use terminal::surface::TerminalSize;

    fn started() -> TaskStarted {
        TaskStarted {
            task_id: "a1".into(),
            run_id: None,
            tool_use_id: Some("c1".into()),
            description: "Find it".into(),
            subagent_type: Some("Explore".into()),
            is_backgrounded: true,
            spawn_depth: None,
            parent_task_id: None,
            task_type: "local_agent",
            prompt: None,
        }
    }

    #[test]
    fn no_row_outlives_its_turn_unless_it_runs_in_the_background() {
        let mut app =
            App::new(Preferences::default(), TerminalSize { columns: 80, rows: 24 }, SessionDisplay::default());
        app.agents.record_start(&started(), app.now);
        let inner = TaskStarted { task_id: "a2".into(), parent_task_id: Some("a1".into()), ..started() };
        app.agents.record_start(&inner, app.now);
        let task = crate::app::session::BackgroundTaskRow {
            id: "a1".into(),
            kind: "local_agent",
            is_agent: true,
            description: String::new(),
        };
        app.session.background = vec![task];
        app.keep_background_agents();
        assert_eq!(app.agent_rows().len(), 2);
        app.session.background.clear();
        app.keep_background_agents();
        assert!(app.agent_rows().is_empty());
        assert_eq!(app.agents.next_change(app.now), None);
    }

    fn answer(app: &mut App, id: &str, body: &Value) {
        let response = json!({"subtype": "success", "request_id": id, "response": body});
        app.update(AppInput::Event(crate::app::control_lines::event(
            &json!({"type": "control_response", "response": response}),
        )));
    }

    #[test]
    fn the_command_is_asked_once_per_tick_and_never_at_rest() {
        // [EXT-250]
        let mut app =
            App::new(Preferences::default(), TerminalSize { columns: 80, rows: 24 }, SessionDisplay::default());
        app.now = Duration::from_secs(10);
        assert_eq!(app.next_change(), None);
        app.agents.record_start(&started(), app.now);
        let asked = |effects: &[AppEffect]| {
            effects.iter().find_map(|effect| match effect {
                AppEffect::Request { id, request }
                    if crate::app::control_lines::text_of(request).contains("x_agent_status_line") =>
                {
                    Some(id.clone())
                }
                _ => None,
            })
        };
        let first = asked(&app.update(AppInput::Tick)).expect("asked at once");
        app.now += TICK * 3;
        assert_eq!(asked(&app.update(AppInput::Tick)), None, "never twice at once");
        answer(&mut app, &first, &json!({"configured": true, "output": "{\"id\":\"a1\",\"content\":\"mine\"}"}));
        assert_eq!(app.agent_rows()[0].text(), "  ◦ mine");
        app.now += TICK;
        let second = asked(&app.update(AppInput::Tick)).expect("the next tick");
        answer(&mut app, &second, &json!({"configured": true, "output": "{\"id\":\"a1\",\"content\":\"\"}"}));
        assert!(app.agent_rows().is_empty(), "hidden");
        app.now += TICK;
        let third = asked(&app.update(AppInput::Tick)).expect("the next tick");
        answer(&mut app, &third, &json!({"configured": true, "output": "{\"id\":\"other\",\"content\":\"x\"}"}));
        assert_eq!(app.agent_rows()[0].text(), "  ◦ Explore: Find it · 0 tool uses · 0 tokens · 5s");
        app.now += TICK;
        let last = asked(&app.update(AppInput::Tick)).expect("the next tick");
        app.remove_agent("a1");
        assert_eq!(app.update(AppInput::Tick), [AppEffect::Withdraw(last)], "it is stopped");
        assert_eq!(app.next_change(), None);
    }

    #[test]
    fn without_a_command_nothing_is_asked_until_agents_start_anew() {
        // [EXT-250]
        let mut app =
            App::new(Preferences::default(), TerminalSize { columns: 80, rows: 24 }, SessionDisplay::default());
        app.agents.record_start(&started(), app.now);
        let effects = app.update(AppInput::Tick);
        let [AppEffect::Request { id, .. }] = &effects[..] else { panic!("{effects:?}") };
        answer(&mut app, id, &json!({"configured": false}));
        app.now += TICK * 5;
        assert!(app.update(AppInput::Tick).is_empty());
        app.remove_agent("a1");
        app.agents.record_start(&started(), app.now);
        assert_eq!(app.update(AppInput::Tick).len(), 1);
    }

    #[test]
    fn answers_are_read_line_by_line_and_the_rest_is_left_out() {
        // [EXT-250]
        let said = parse_agent_rows(
            "{\"id\":\"a\",\"content\":\"\\u001b[31mred\\u001b[0m\\u001b[2J\\nsecond\"}\nnoise\n{\"id\":\"b\",\"content\":\"\"}\n{\"id\":1}\n",
        );
        assert_eq!(said.len(), 2);
        assert_eq!(said["a"].as_ref().map(StyledLine::text).as_deref(), Some("red"));
        assert!(said["b"].is_none());
    }
}
