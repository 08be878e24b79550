//! Background tasks: their state, run time and latest output in one list, and stopping them.

use super::{Panel, PanelContent, PanelFrame, PanelNews, PanelReaction, PanelSource, pages};
use crate::app::PendingResponse;
use crate::app::layers::LayerView;
use crate::app::layers::effects::LayerEffect;
use crate::app::pager::Pager;
use crate::app::select::{SelectItem, TypingMode};
use crate::app::session::BackgroundTaskRow;
use crate::app::spinner::{elapsed, faint};
use std::time::Duration;
use terminal::keys::KeyPress;
use terminal::style::StyledLine;
use terminal::text;
use wire::control::{HostRequest, TaskId};

const TITLE: &str = "Background tasks";
/// Rows of the latest output below the list.
const OUTPUT_ROWS: usize = 8;
/// How often run times and output are looked at.
const REFRESH: Duration = Duration::from_secs(1);
const NOTHING: &str = "Nothing is running in the background.\nctrl+b moves a running command there.";
const NO_OUTPUT: &str = "No output yet";

fn stop(task: &BackgroundTaskRow) -> LayerEffect {
    let request = HostRequest::StopTask(TaskId { task_id: task.id.clone() });
    LayerEffect::Request(request, PendingResponse::Done(format!("{} was stopped.", task.description)))
}

fn output_of(body: &serde_json::Value) -> String {
    let output = ["output", "content", "text", "stdout"].into_iter().find_map(|name| body.get(name)?.as_str());
    text::clean(output.unwrap_or_default()).trim_end().to_owned()
}

#[derive(Debug, Default)]
pub struct TaskList {
    tasks: Vec<BackgroundTaskRow>,
    chosen: usize,
    /// The latest output of the task with this id.
    output: Option<(String, String)>,
    refresh_at: Option<Duration>,
}

impl TaskList {
    pub fn panel(tasks: &[BackgroundTaskRow], now: Duration) -> Panel {
        let mut list = Self::default();
        let frame = list.fill(tasks, now);
        frame.with(list)
    }

    fn fill(&mut self, tasks: &[BackgroundTaskRow], now: Duration) -> PanelFrame {
        self.tasks = tasks.to_vec();
        self.refresh_at = (!tasks.is_empty()).then(|| now + REFRESH);
        if tasks.is_empty() {
            return PanelFrame::page(TITLE, pages::plain(NOTHING)).keys("esc to close");
        }
        let row = |task: &BackgroundTaskRow| {
            let time = elapsed(now.saturating_sub(task.since));
            SelectItem::new(task.description.clone(), format!("{} {}", task.kind, task.id))
                .value(format!("running {time}"))
        };
        PanelFrame::list(TITLE, tasks.iter().map(row).collect(), TypingMode::Digits)
            .counted("task")
            .keys("enter for all of its output · x to stop · esc to close")
    }

    fn chosen(&self) -> Option<&BackgroundTaskRow> {
        self.tasks.get(self.chosen)
    }
}

impl PanelContent for TaskList {
    /// The output of the selected task. That of an agent is its conversation, which has a view of its own.
    fn source(&self) -> Option<PanelSource> {
        let task = self.chosen().filter(|task| !task.is_agent)?;
        Some(PanelSource::Engine(HostRequest::GetTaskOutput(TaskId { task_id: task.id.clone() })))
    }

    /// A task that has written nothing has no output file.
    fn is_quiet(&self) -> bool {
        true
    }

    fn receive(&mut self, news: &PanelNews, view: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::TasksChanged | PanelNews::Refresh => {}
            PanelNews::Response(body) => {
                self.output = self.chosen().map(|task| (task.id.clone(), output_of(body)));
            }
            _ => return PanelReaction::Ignored,
        }
        PanelReaction::show(self.fill(&view.session.background, view.now))
    }

    fn choose(&mut self, item: usize, view: &LayerView<'_>) -> Vec<LayerEffect> {
        let Some(task) = self.tasks.get(item) else { return Vec::new() };
        let agent = view.agents.all().iter().find(|agent| agent.id == task.id);
        if let Some(agent) = agent {
            return vec![LayerEffect::Open(Box::new(Pager::of_agent(&agent.call)))];
        }
        let content = TaskOutput { id: task.id.clone(), title: task.description.clone() };
        vec![LayerEffect::OpenPanel(PanelFrame::waiting(task.description.clone()).with(content))]
    }

    fn moved(&mut self, item: Option<usize>) -> Vec<LayerEffect> {
        self.chosen = item.unwrap_or(0);
        vec![LayerEffect::AskPanelSource]
    }

    fn key(&mut self, key: KeyPress, item: Option<usize>, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let task = item.and_then(|item| self.tasks.get(item)).filter(|_| key == KeyPress::char('x'));
        task.map(stop).into_iter().collect()
    }

    /// The latest output of the selected task.
    fn details(&self, item: Option<usize>, view: &LayerView<'_>) -> Vec<StyledLine> {
        let Some(task) = item.and_then(|item| self.tasks.get(item)).filter(|task| !task.is_agent) else {
            return Vec::new();
        };
        let output = self.output.as_ref().filter(|(id, _)| *id == task.id).map_or("", |(_, text)| text.as_str());
        let lines: Vec<&str> = if output.is_empty() { vec![NO_OUTPUT] } else { output.lines().collect() };
        let last = &lines[lines.len().saturating_sub(OUTPUT_ROWS)..];
        let (theme, columns) = (&view.preferences.theme, view.size.columns);
        last.iter().map(|line| faint(format!("  {line}"), theme).truncated(columns)).collect()
    }

    fn refresh_at(&self) -> Option<Duration> {
        self.refresh_at
    }

    fn stop_refresh(&mut self) {
        self.refresh_at = None;
    }
}

/// All output of a task.
#[derive(Debug)]
struct TaskOutput {
    id: String,
    title: String,
}

impl PanelContent for TaskOutput {
    fn source(&self) -> Option<PanelSource> {
        Some(PanelSource::Engine(HostRequest::GetTaskOutput(TaskId { task_id: self.id.clone() })))
    }

    fn receive(&mut self, news: &PanelNews, _: &LayerView<'_>) -> PanelReaction {
        let PanelNews::Response(body) = news else { return PanelReaction::Ignored };
        let output = output_of(body);
        let text = if output.is_empty() { NO_OUTPUT } else { output.as_str() };
        PanelReaction::show(PanelFrame::page(self.title.clone(), pages::plain(text)))
    }
}
