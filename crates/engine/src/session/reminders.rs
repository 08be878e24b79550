//! What the model is told before a request besides the conversation: facts about the project, files that others
//! changed, and lists that were not touched for some time.

use crate::session::{LiveSession, SessionIo};
use session_parts::messages::Attachment;
use session_parts::prompts;
use store::StoreError;

/// After this many calls without a look at the list it is told again.
const LIST_INTERVAL: usize = 12;
/// Longest reminder of a list, in bytes.
const MAX_LIST_BYTES: usize = 600;

/// How many calls were made since the list was touched, and since it was last told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ListReminder {
    untouched: usize,
    untold: usize,
}

impl ListReminder {
    /// Counts the calls of a batch, of which one touched the list.
    pub(crate) fn count(&mut self, calls: usize, touched: bool) {
        if touched {
            *self = Self::default();
        } else {
            self.untouched += calls;
            self.untold += calls;
        }
    }

    /// The list was told by other means.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    fn take_due(&mut self) -> bool {
        let due = self.untouched.min(self.untold) >= LIST_INTERVAL;
        if due {
            self.untold = 0;
        }
        due
    }
}

impl LiveSession {
    /// Before a request: adds what the model does not know yet, in a fixed order. What was told is not told again.
    pub(crate) async fn send_reminders(&mut self) -> Result<(), StoreError> {
        self.send_skill_changes().await?;
        self.announce_servers()?;
        self.send_project_facts().await?;
        self.send_changed_files().await?;
        self.send_forgotten_list()?;
        self.send_plan_mode()
    }

    pub(crate) async fn send_project_facts(&mut self) -> Result<(), StoreError> {
        let Some(attachment) = self.context.due_facts().await else { return Ok(()) };
        self.attach(attachment)
    }

    fn send_forgotten_list(&mut self) -> Result<(), StoreError> {
        if !self.io.knowledge.lists.take_due() {
            return Ok(());
        }
        let items = open_items(&self.io);
        if items.is_empty() {
            return Ok(());
        }
        let text = prompts::forgotten_list(&within(items, MAX_LIST_BYTES - prompts::forgotten_list(&[]).len()));
        Attachment::note("x_list_reminder", text).map_or(Ok(()), |attachment| self.attach(attachment))
    }
}

/// One line for each open item of the lists that this session keeps.
fn open_items(io: &SessionIo) -> Vec<String> {
    let todos = io.tooling.state.todos.snapshot();
    let open = todos.iter().filter(|todo| todo.status != "completed");
    open.map(|todo| format!("- [{}] {}", todo.status, todo.content)).chain(open_listed_tasks(io)).collect()
}

/// One line for each open task of the task list, when the session has the tools for it.
pub(crate) fn open_listed_tasks(io: &SessionIo) -> Vec<String> {
    let has_tools = io.tooling.registry.specs().any(|spec| tools::task_list::updates_list(&spec.name));
    if has_tools { tools::task_list::open_tasks(&io.tooling.state.facts) } else { Vec::new() }
}

/// As many lines as there is room for; the last one counts the rest.
fn within(lines: Vec<String>, room: usize) -> Vec<String> {
    const MAX_LINE_CHARS: usize = 120;
    let short = |line: String| match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    };
    let whole = lines.len();
    let mut kept: Vec<String> = Vec::new();
    let mut size = 0;
    for line in lines.into_iter().map(short) {
        size += line.len() + 1;
        // Room for the count of the rest.
        if size + 20 > room {
            kept.push(format!("and {} more", whole - kept.len()));
            break;
        }
        kept.push(line);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [MX-31]
    #[test]
    fn a_list_is_told_every_twelve_calls_without_a_look_at_it() {
        let mut list = ListReminder::default();
        let mut told = Vec::new();
        for call in 1..=40 {
            list.count(1, call == 5);
            if list.take_due() {
                told.push(call);
            }
        }
        assert_eq!(told, [17, 29]);
    }

    /// [MX-31]
    #[test]
    fn a_long_list_is_cut_with_a_count() {
        let lines: Vec<String> = (0..50).map(|n| format!("- [pending] {n} {}", "ä".repeat(200))).collect();
        let kept = within(lines, 500);
        let text = kept.join("\n");
        assert!(text.len() <= 500 && kept.last().unwrap().starts_with("and "), "{text}");
        assert_eq!(within(vec!["- a".to_owned()], 500), ["- a"]);
    }
}
