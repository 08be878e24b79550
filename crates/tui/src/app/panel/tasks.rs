//! Background tasks: listing them, reading their output, stopping them.

use super::{Panel, PanelContent, PanelFrame, PanelNews, PanelReaction, PanelSource, pages};
use crate::app::PendingResponse;
use crate::app::layers::LayerView;
use crate::app::layers::effects::LayerEffect;
use crate::app::select::{SelectItem, TypingMode};
use crate::app::session::BackgroundTaskRow;
use terminal::keys::KeyPress;
use wire::control::{HostRequest, TaskId};

const TITLE: &str = "Background tasks";
const ACTIONS: [&str; 2] = ["See its output", "Stop it"];

fn stop(id: &str) -> LayerEffect {
    let request = HostRequest::StopTask(TaskId { task_id: id.to_owned() });
    LayerEffect::Request(request, PendingResponse::Done(format!("{id} was stopped.")))
}

#[derive(Debug)]
pub struct TaskList {
    ids: Vec<String>,
}

impl TaskList {
    pub fn panel(tasks: &[BackgroundTaskRow]) -> Panel {
        let mut list = Self { ids: Vec::new() };
        let frame = list.fill(tasks);
        frame.with(list)
    }

    fn fill(&mut self, tasks: &[BackgroundTaskRow]) -> PanelFrame {
        self.ids = tasks.iter().map(|task| task.id.clone()).collect();
        if tasks.is_empty() {
            let text =
                "Nothing runs in the background.\nctrl+b moves what runs there; the model can start things there too.";
            return PanelFrame::page(TITLE, pages::plain(text));
        }
        let row =
            |task: &BackgroundTaskRow| SelectItem::new(task.description.clone(), format!("{} {}", task.kind, task.id));
        PanelFrame::list(TITLE, tasks.iter().map(row).collect(), TypingMode::Digits)
            .keys("enter to look · x to stop · esc to close")
    }
}

impl PanelContent for TaskList {
    fn receive(&mut self, news: &PanelNews, view: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::TasksChanged => PanelReaction::show(self.fill(&view.session.background)),
            _ => PanelReaction::Ignored,
        }
    }

    fn choose(&mut self, item: usize, view: &LayerView<'_>) -> Vec<LayerEffect> {
        let Some(id) = self.ids.get(item).cloned() else { return Vec::new() };
        let task = view.session.background.iter().find(|task| task.id == id);
        let title = task.map(|task| task.description.clone()).unwrap_or_default();
        let items = ACTIONS.iter().map(|action| SelectItem::new(*action, "")).collect();
        vec![LayerEffect::OpenPanel(PanelFrame::list(title, items, TypingMode::Digits).with(TaskActions { id }))]
    }

    fn key(&mut self, key: KeyPress, item: Option<usize>, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let id = item.and_then(|item| self.ids.get(item)).filter(|_| key == KeyPress::char('x'));
        id.map(|id| stop(id)).into_iter().collect()
    }
}

/// What can be done with a task.
#[derive(Debug)]
struct TaskActions {
    id: String,
}

impl PanelContent for TaskActions {
    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let next = match item {
            0 => LayerEffect::OpenPanel(
                PanelFrame::waiting(output_title(&self.id)).with(TaskOutput { id: self.id.clone() }),
            ),
            _ => stop(&self.id),
        };
        vec![LayerEffect::Close, next]
    }
}

fn output_title(id: &str) -> String {
    format!("Output of {id}")
}

#[derive(Debug)]
struct TaskOutput {
    id: String,
}

impl PanelContent for TaskOutput {
    fn source(&self) -> Option<PanelSource> {
        Some(PanelSource::Engine(HostRequest::GetTaskOutput(TaskId { task_id: self.id.clone() })))
    }

    fn receive(&mut self, news: &PanelNews, _: &LayerView<'_>) -> PanelReaction {
        let PanelNews::Response(body) = news else { return PanelReaction::Ignored };
        let output = ["output", "content", "text", "stdout"].into_iter().find_map(|name| body.get(name)?.as_str());
        let text = output.filter(|text| !text.trim().is_empty()).unwrap_or("(no output yet)");
        PanelReaction::show(PanelFrame::page(output_title(&self.id), pages::plain(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_task_is_looked_at_or_stopped() {
        let task = BackgroundTaskRow { id: "b1".into(), is_agent: false, kind: "shell", description: "make".into() };
        let mut list = TaskList { ids: Vec::new() };
        list.fill(std::slice::from_ref(&task));
        assert_eq!(list.ids, ["b1"]);
        let mut output = TaskOutput { id: "b1".into() };
        let outside = crate::app::layers::tests::Outside::default();
        let shown = output.receive(&PanelNews::Response(json!({"stdout": "done"})), &outside.view());
        assert!(matches!(shown, PanelReaction::Show(_)), "{shown:?}");
        let stops = TaskActions { id: "b1".into() }.choose(1, &outside.view());
        assert!(
            matches!(&stops[..], [LayerEffect::Close, LayerEffect::Request(HostRequest::StopTask(task), _)] if task.task_id == "b1"),
            "{stops:?}"
        );
    }
}
