//! Agents: their state and their rows above the prompt. One that has ended stays for a moment and says so. A command
//! configured by the user can replace the content of rows. It is asked once per second while agents run, never twice at
//! the same time. Agents that its answer does not name keep their row; empty content hides the row.

use super::spinner::{elapsed, short_count};
use super::tools;
use crate::status_line;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use terminal::style::{StyledLine, TextStyle};
use terminal::theme::{Theme, ThemeToken};
use wire::control::AgentRow;
use wire::sdk::{TaskProgress, TaskStarted};

const TICK: Duration = Duration::from_secs(1);
/// How many token counts are sent to the command; the newest are kept.
const SAMPLES: usize = 30;
/// How long an agent that has ended is still shown.
const LINGER: Duration = Duration::from_secs(8);
/// Columns of what an agent does now.
const ACTION_WIDTH: usize = 48;

/// How an agent has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentEnd {
    Done,
    Failed,
    Stopped,
}

impl AgentEnd {
    /// Reads the status of a task in the protocol.
    pub fn parse(status: &str) -> Self {
        match status {
            "failed" => Self::Failed,
            "stopped" | "killed" => Self::Stopped,
            _ => Self::Done,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

/// An agent that runs, or has just ended.
#[derive(Debug)]
pub struct TrackedAgent {
    pub id: String,
    kind: String,
    description: String,
    /// The id of the call that started it.
    pub call: String,
    /// The id of the agent that started it; `None` for the main conversation.
    parent: Option<String>,
    since: Duration,
    tool_uses: u64,
    tokens: u64,
    samples: Vec<u64>,
    /// What it does now.
    action: String,
    /// When and how it ended; `None` while it runs.
    end: Option<(Duration, AgentEnd)>,
}

impl TrackedAgent {
    pub fn runs(&self) -> bool {
        self.end.is_none()
    }

    /// State, time, calls and the last action.
    pub fn state(&self, now: Duration) -> String {
        let uses = self.tool_uses;
        let until = self.end.map_or(now, |(at, _)| at);
        let mut facts: Vec<String> = self.end.iter().map(|(_, end)| end.word().to_owned()).collect();
        facts.push(elapsed(until.saturating_sub(self.since)));
        if uses > 0 {
            facts.push(format!("{uses} {}", tools::plural(uses as usize, "call")));
        }
        if self.end.is_none() && !self.action.is_empty() {
            facts.push(terminal::text::truncate(&self.action, ACTION_WIDTH));
        }
        facts.join(" · ")
    }

    pub fn tokens_text(&self) -> String {
        format!("{} tokens", short_count(self.tokens))
    }

    pub fn label(&self) -> String {
        format!("{}: {}", self.kind, self.description)
    }

    pub fn kind(&self) -> &str {
        &self.kind
    }

    pub fn description(&self) -> &str {
        &self.description
    }
}

#[derive(Debug, Default)]
pub struct AgentTracker {
    agents: Vec<TrackedAgent>,
    /// The answer of the command by agent id; `None` hides the row.
    overrides: BTreeMap<String, Option<StyledLine>>,
    due: Option<Duration>,
    request_id: Option<String>,
    /// Agents whose end was told to the user.
    told: BTreeSet<String>,
}

impl AgentTracker {
    /// When the command is asked next or the rows change, whichever is earlier.
    pub fn next_change(&self, now: Duration) -> Option<Duration> {
        let second = (!self.agents.is_empty()).then(|| super::next_multiple(now, TICK));
        self.due.into_iter().chain(second).min()
    }

    /// The agents that run or have just ended.
    pub fn all(&self) -> &[TrackedAgent] {
        &self.agents
    }

    fn running(&self) -> impl Iterator<Item = &TrackedAgent> {
        self.agents.iter().filter(|agent| agent.runs())
    }

    pub fn record_start(&mut self, started: &TaskStarted, now: Duration) {
        let Some(kind) = started.subagent_type.clone() else { return };
        if self.running().next().is_none() {
            self.due = Some(now);
        }
        self.told.remove(&started.task_id);
        self.agents.retain(|agent| agent.id != started.task_id);
        self.agents.push(TrackedAgent {
            id: started.task_id.clone(),
            kind,
            description: started.description.clone(),
            call: started.tool_use_id.clone().unwrap_or_default(),
            parent: started.parent_task_id.clone(),
            since: now,
            tool_uses: 0,
            tokens: 0,
            samples: Vec::new(),
            action: String::new(),
            end: None,
        });
    }

    pub fn record_progress(&mut self, progress: &TaskProgress) {
        let Some(agent) = self.agents.iter_mut().find(|agent| agent.id == progress.task_id) else { return };
        agent.tool_uses = progress.usage.tool_uses;
        agent.tokens = progress.usage.total_tokens;
        if !agent.action.starts_with(&progress.last_tool_name) {
            agent.action.clone_from(&progress.last_tool_name);
        }
        agent.samples.push(agent.tokens);
        let over = agent.samples.len().saturating_sub(SAMPLES);
        agent.samples.drain(..over);
    }

    /// Records what the agent that this call started does now.
    pub fn record_action(&mut self, call: &str, action: &str) {
        if let Some(agent) = self.agents.iter_mut().find(|agent| agent.call == call) {
            agent.action = terminal::text::clean(action).replace('\n', " ");
        }
    }

    /// Whether the end of this task is news: it is told once, and not at all while its call is shown.
    pub fn is_news(&mut self, task: &str, is_shown: bool) -> bool {
        self.told.insert(task.to_owned()) && !is_shown
    }

    /// Whether this call started an agent, which then has a row of its own.
    pub fn has_call(&self, call: &str) -> bool {
        self.agents.iter().any(|agent| agent.call == call)
    }
}

/// The state below the row of an agent's call.
pub enum AgentRowContent {
    Shown(StyledLine),
    Hidden,
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
    /// Records the end of an agent; `name` is its id or the id of its call. Returns the request to withdraw.
    pub fn record_end(&mut self, name: &str, end: AgentEnd, now: Duration) -> Option<String> {
        for agent in self.agents.iter_mut().filter(|agent| agent.id == name || agent.call == name) {
            agent.end = agent.end.or(Some((now, end)));
        }
        self.stop_asking()
    }

    /// Drops the agents that ended some time ago.
    pub fn drop_ended(&mut self, now: Duration) {
        self.agents.retain(|agent| agent.end.is_none_or(|(at, _)| now < at + LINGER));
    }

    /// The calls that started the running agents with these ids, and those that these agents started.
    pub fn calls_of(&self, ids: &[&str]) -> Vec<String> {
        let is_meant = |id: &String| ids.contains(&id.as_str());
        let runs_on = |agent: &&TrackedAgent| is_meant(&agent.id) || agent.parent.as_ref().is_some_and(is_meant);
        self.running().filter(runs_on).map(|agent| agent.call.clone()).collect()
    }

    /// Keeps only the agents with these ids, those they started, and those that have just ended. Returns the request
    /// to withdraw.
    pub fn keep(&mut self, ids: &[&str]) -> Option<String> {
        let is_kept = |id: &String| ids.contains(&id.as_str());
        self.agents
            .retain(|agent| agent.end.is_some() || is_kept(&agent.id) || agent.parent.as_ref().is_some_and(is_kept));
        self.stop_asking()
    }

    fn stop_asking(&mut self) -> Option<String> {
        let running: BTreeSet<&str> = self.agents.iter().filter(|agent| agent.runs()).map(|a| a.id.as_str()).collect();
        self.overrides.retain(|id, _| running.contains(id.as_str()));
        if !running.is_empty() {
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
        let row = |agent: &TrackedAgent| AgentRow {
            id: agent.id.clone(),
            name: agent.kind.clone(),
            description: agent.description.clone(),
            label: agent.label(),
            elapsed_ms: now.saturating_sub(agent.since).as_millis() as u64,
            token_count: agent.tokens,
            token_samples: agent.samples.clone(),
        };
        Some(self.running().map(row).collect())
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
        self.due = (is_configured && self.running().next().is_some()).then(|| now + TICK);
        true
    }

    /// One row for each agent, those that run first.
    pub fn rows(&self, now: Duration, theme: &Theme) -> Vec<StyledLine> {
        let ended = self.agents.iter().filter(|agent| !agent.runs());
        let all: Vec<&TrackedAgent> = self.running().chain(ended).collect();
        let widest = all.iter().map(|agent| terminal::text::width(&agent.kind)).max().unwrap_or(0);
        all.into_iter().filter_map(|agent| self.row(agent, widest, now, theme)).collect()
    }

    fn row(&self, agent: &TrackedAgent, widest: usize, now: Duration, theme: &Theme) -> Option<StyledLine> {
        let faint = theme.fg(ThemeToken::Inactive);
        let mark = StyledLine::styled("⑂ ", if agent.runs() { theme.fg(ThemeToken::Suggestion) } else { faint });
        if let Some(line) = self.overrides.get(&agent.id) {
            return line.clone().map(|line| mark.and_line(line));
        }
        let clean = |text: &str| terminal::text::clean(text).replace('\n', " ");
        let kind = clean(&agent.kind);
        let gap = " ".repeat(widest.saturating_sub(terminal::text::width(&kind)) + 2);
        let name = if agent.runs() { TextStyle::PLAIN } else { faint };
        Some(
            mark.and(kind, name)
                .and(format!("{gap}{}", clean(&agent.description)), name)
                .and(format!(" · {}", agent.state(now)), faint),
        )
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
            since: Duration::ZERO,
        };
        app.session.background = vec![task];
        app.keep_background_agents();
        assert_eq!(app.agent_rows().len(), 2);
        app.session.background.clear();
        app.keep_background_agents();
        assert!(app.agent_rows().is_empty());
        assert_eq!(app.agents.next_change(app.now), None);
    }

    #[test]
    fn an_agent_that_has_ended_says_so_at_once_and_goes_after_a_moment() {
        let mut app =
            App::new(Preferences::default(), TerminalSize { columns: 80, rows: 24 }, SessionDisplay::default());
        app.agents.record_start(&started(), app.now);
        app.agents.record_action("c1", "Grep round(");
        app.now += TICK * 3;
        assert_eq!(app.agent_rows()[0].text(), "⑂ Explore  Find it · 3 s · Grep round(");
        app.end_agent("a1", AgentEnd::Stopped);
        app.now += TICK * 4;
        assert_eq!(app.agent_rows()[0].text(), "⑂ Explore  Find it · stopped · 3 s");
        assert!(app.agents.next_change(app.now).is_some(), "its row goes by itself");
        app.now += LINGER;
        app.update(AppInput::Tick);
        assert!(app.agent_rows().is_empty());
        assert_eq!(app.agents.next_change(app.now), None);
        // Told once, and not at all beside the result of its call.
        assert!(app.agents.is_news("a1", false) && !app.agents.is_news("a1", false));
        assert!(!app.agents.is_news("a2", true) && !app.agents.is_news("a2", false));
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
        assert_eq!(app.agent_rows()[0].text(), "⑂ mine");
        app.now += TICK;
        let second = asked(&app.update(AppInput::Tick)).expect("the next tick");
        answer(&mut app, &second, &json!({"configured": true, "output": "{\"id\":\"a1\",\"content\":\"\"}"}));
        assert!(app.agent_rows().is_empty(), "hidden");
        app.now += TICK;
        let third = asked(&app.update(AppInput::Tick)).expect("the next tick");
        answer(&mut app, &third, &json!({"configured": true, "output": "{\"id\":\"other\",\"content\":\"x\"}"}));
        assert_eq!(app.agent_rows()[0].text(), "⑂ Explore  Find it · 5 s");
        app.now += TICK;
        let last = asked(&app.update(AppInput::Tick)).expect("the next tick");
        app.end_agent("a1", AgentEnd::Done);
        assert_eq!(app.update(AppInput::Tick), [AppEffect::Withdraw(last)], "it is stopped");
        app.now += LINGER;
        app.update(AppInput::Tick);
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
        app.end_agent("a1", AgentEnd::Done);
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
