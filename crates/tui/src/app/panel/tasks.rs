//! Background tasks: listing them, reading their output, stopping them.

use super::{Panel, PanelSubject, PendingResponse, pages};
use crate::app::App;
use crate::app::select::{SelectItem, TypingMode};
use serde_json::Value;
use terminal::keys::KeyPress;
use wire::control::{HostRequest, TaskId};

const ACTIONS: [&str; 2] = ["See its output", "Stop it"];

impl App {
    pub(in crate::app) fn open_tasks(&mut self) {
        let panel = self.task_list();
        self.open_panel(panel);
    }

    fn task_list(&self) -> Panel {
        let tasks = &self.session.background;
        if tasks.is_empty() {
            let text =
                "Nothing runs in the background.\nctrl+b moves what runs there; the model can start things there too.";
            return Panel::page("Background tasks", pages::plain(text), PanelSubject::Tasks(Vec::new()));
        }
        let row = |task: &crate::app::session::BackgroundTaskRow| {
            SelectItem::new(task.description.clone(), format!("{} {}", task.kind, task.id))
        };
        let ids = tasks.iter().map(|task| task.id.clone()).collect();
        Panel::list("Background tasks", tasks.iter().map(row).collect(), TypingMode::Digits, PanelSubject::Tasks(ids))
            .keys("enter to look · x to stop · esc to close")
    }

    /// Updates the list when the background tasks changed.
    pub(in crate::app) fn tasks_changed(&mut self) {
        if self.layers.all::<Panel>().any(|panel| matches!(panel.subject, PanelSubject::Tasks(_))) {
            let panel = self.task_list();
            self.fill_list(|subject| matches!(subject, PanelSubject::Tasks(_)), panel);
        }
    }

    fn task_at(&self, item: usize) -> Option<String> {
        match self.panel().map(|panel| &panel.subject) {
            Some(PanelSubject::Tasks(ids)) => ids.get(item).cloned(),
            Some(_) | None => None,
        }
    }

    pub(super) fn task_chosen(&mut self, item: usize) {
        let Some(id) = self.task_at(item) else { return };
        let title = self.session.background.iter().find(|task| task.id == id).map(|task| task.description.clone());
        let items = ACTIONS.iter().map(|action| SelectItem::new(*action, "")).collect();
        self.open_panel(Panel::list(title.unwrap_or_default(), items, TypingMode::Digits, PanelSubject::Task(id)));
    }

    pub(super) fn tasks_key(&mut self, key: KeyPress) {
        let chosen = match self.panel().map(|panel| &panel.body) {
            Some(super::PanelBody::List(list)) => list.chosen(),
            Some(_) | None => None,
        };
        if key == KeyPress::char('x')
            && let Some(id) = chosen.and_then(|item| self.task_at(item))
        {
            self.stop_task(&id);
        }
    }

    pub(super) fn perform_task_action(&mut self, item: usize) {
        let Some(PanelSubject::Task(id)) = self.pop_panel() else { return };
        if item == 0 {
            self.open_panel(Panel::waiting(format!("Output of {id}"), PanelSubject::Task(id.clone())));
            self.request(HostRequest::GetTaskOutput(TaskId { task_id: id }), PendingResponse::TaskOutput);
        } else {
            self.stop_task(&id);
        }
    }

    fn stop_task(&mut self, id: &str) {
        let request = HostRequest::StopTask(TaskId { task_id: id.to_owned() });
        self.request(request, PendingResponse::Done(format!("{id} was stopped.")));
    }

    pub(super) fn task_output_arrived(&mut self, body: &Value) {
        let output = ["output", "content", "text", "stdout"].into_iter().find_map(|name| body.get(name)?.as_str());
        let text = output.filter(|text| !text.trim().is_empty()).unwrap_or("(no output yet)").to_owned();
        self.fill(|subject| matches!(subject, PanelSubject::Task(_)), pages::plain(&text));
    }
}
