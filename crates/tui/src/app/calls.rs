//! Calls that run, and reads and searches that are held back to be told as one line. Finished calls are printed in the
//! order in which they were asked for.

use super::spinner::elapsed;
use super::tools::{self, Group, Label, Mood, Outcome};
use crate::style::Line;
use crate::theme::{Theme, Token};
use serde_json::Value;
use std::time::Duration;

#[derive(Debug)]
pub struct OpenCall {
    pub id: String,
    pub tool: String,
    pub input: Value,
    pub label: Label,
    pub since: Duration,
    /// What an agent inside has done so far.
    pub inner: Option<Inner>,
}

#[derive(Clone, Debug, Default)]
pub struct Inner {
    pub tool_uses: u64,
    pub tokens: u64,
    pub last_tool: String,
}

#[derive(Debug, Default)]
pub struct Calls {
    open: Vec<OpenCall>,
    /// Finished reads or searches.
    held: Option<(Group, Vec<String>)>,
}

impl Calls {
    pub fn open(&mut self, call: OpenCall) {
        self.open.push(call);
    }

    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub fn get_mut(&mut self, id: &str) -> Option<&mut OpenCall> {
        self.open.iter_mut().find(|call| call.id == id)
    }

    pub fn get(&self, id: &str) -> Option<&OpenCall> {
        self.open.iter().find(|call| call.id == id)
    }

    /// The tool whose call has run longest.
    pub fn running(&self) -> Option<&str> {
        self.open.first().map(|call| call.tool.as_str())
    }

    pub fn close(&mut self, id: &str) -> Option<OpenCall> {
        let at = self.open.iter().position(|call| call.id == id)?;
        Some(self.open.remove(at))
    }

    /// Holds a finished read or search back; `false` when it must be printed by itself.
    pub fn hold(&mut self, call: &OpenCall, outcome: &Outcome) -> bool {
        let Some(group) = tools::group(&call.tool).filter(|_| !outcome.is_error) else { return false };
        match &mut self.held {
            Some((held, names)) if *held == group => {
                names.push(call.label.argument.clone());
                true
            }
            None => {
                self.held = Some((group, vec![call.label.argument.clone()]));
                true
            }
            Some(_) => false,
        }
    }

    /// Whether a call of this tool joins what is held.
    pub fn joins(&self, tool: &str) -> bool {
        self.held.as_ref().is_none_or(|(held, _)| tools::group(tool) == Some(*held))
    }

    /// What was held, as lines to print.
    pub fn take_held(&mut self, theme: &Theme) -> Vec<Line> {
        let Some((group, names)) = self.held.take() else { return Vec::new() };
        summary(group, &names, Mood::Done, theme)
    }

    /// Everything that is still open, once the turn is over.
    pub fn abandon(&mut self) -> Vec<OpenCall> {
        std::mem::take(&mut self.open)
    }

    /// The live rows. Calls that wait for an answer do not run yet.
    pub fn rows(&self, now: Duration, theme: &Theme, waits: impl Fn(&str) -> bool) -> Vec<Line> {
        let mut lines = match &self.held {
            Some((group, names)) => summary(*group, names, Mood::Done, theme),
            None => Vec::new(),
        };
        for call in &self.open {
            lines.extend(tools::title(&call.label, Mood::Running, theme));
            let time = now.saturating_sub(call.since);
            let state = match &call.inner {
                Some(inner) => Some(format!(
                    "{} {} · {} tokens · {}{}",
                    inner.tool_uses,
                    tools::plural(inner.tool_uses as usize, "tool use"),
                    super::spinner::short_count(inner.tokens),
                    elapsed(time),
                    if inner.last_tool.is_empty() { String::new() } else { format!(" · {}", inner.last_tool) },
                )),
                None if waits(&call.id) => None,
                None if time >= Duration::from_secs(2) => Some(format!("Running… {}", elapsed(time))),
                None => None,
            };
            let state = state.map(|state| Line::styled(state, theme.fg(Token::Inactive)));
            lines.extend(tools::hung(state.into_iter().collect(), theme));
        }
        lines
    }
}

fn summary(group: Group, names: &[String], mood: Mood, theme: &Theme) -> Vec<Line> {
    let count = names.len();
    let label = match (group, names) {
        (Group::Read, [only]) => Label { name: "Read".into(), argument: only.clone() },
        (Group::Search, [only]) => Label { name: "Search".into(), argument: only.clone() },
        (Group::Read, _) => Label { name: format!("Read {count} files"), argument: String::new() },
        (Group::Search, _) => Label { name: format!("Searched {count} times"), argument: String::new() },
    };
    let mut lines = tools::title(&label, mood, theme);
    if count > 1 {
        let names = names.iter().map(|name| Line::styled(name.clone(), theme.fg(Token::Inactive))).collect();
        lines.extend(tools::hung(names, theme));
    }
    lines
}
