//! The words we send to the model besides the conversation. They are part of the cached prefix: within a session every
//! one of them is byte-stable.

use std::fmt::Write;

/// The built-in system prompt.
pub(crate) const SYSTEM: &str = include_str!("prompts/system.md");

/// The model's answer was cut off; it goes on from there.
pub(crate) const CONTINUE: &str =
    "Your last message was cut off. Continue exactly where it stopped, without repeating what you already wrote.";

/// A turn that must end in structured output ended without it.
pub(crate) const DEMAND_OUTPUT: &str =
    "The task is not finished: call the StructuredOutput tool now, with your answer in the required shape.";

/// Facts about the machine, fixed for the life of the session.
pub(crate) struct Environment<'a> {
    pub cwd: &'a str,
    pub additional: &'a [String],
    /// The branch the session started on; `None` outside a repository.
    pub branch: Option<&'a str>,
    pub platform: &'a str,
    pub os: &'a str,
    pub shell: &'a str,
    pub model: &'a str,
}

pub(crate) fn environment(e: &Environment<'_>) -> String {
    let mut text = format!("# Environment\n- Working directory: {}\n", e.cwd);
    for dir in e.additional {
        writeln!(text, "- Additional working directory: {dir}").ok();
    }
    let repository = e.branch.map_or("no".to_owned(), |branch| format!("yes, on branch {branch}"));
    write!(
        text,
        "- Git repository: {repository}\n- Platform: {} ({})\n- Shell: {}\n- Model: {}",
        e.platform, e.os, e.shell, e.model
    )
    .ok();
    text
}

/// One instruction file with where it came from.
pub(crate) struct Instructions<'a> {
    pub path: &'a str,
    pub scope: &'a str,
    pub text: &'a str,
}

/// What stands beside the first prompt: the date and the instruction files.
pub(crate) fn session_context(date: &str, files: &[Instructions<'_>]) -> String {
    let mut text = format!("<system-reminder>\nToday's date is {date}.\n");
    if !files.is_empty() {
        text.push_str(
            "\nThe user and the project gave these instructions. They hold for the whole conversation and \
                       go before your own habits; a request in the conversation goes before them.\n",
        );
    }
    for file in files {
        write!(text, "\nInstructions from {} ({}):\n\n{}\n", file.path, file.scope, file.text.trim_end()).ok();
    }
    text.push_str("</system-reminder>");
    text
}

pub(crate) fn date_change(date: &str) -> String {
    format!("<system-reminder>\nThe date is now {date}.\n</system-reminder>")
}

/// What a hook wants the model to know.
pub(crate) fn hook_context(hook: &str, text: &str) -> String {
    format!("<system-reminder>\n{hook} hook additional context: {text}\n</system-reminder>")
}

/// What a hook objects to.
pub(crate) fn hook_feedback(hook: &str, text: &str) -> String {
    format!("<system-reminder>\n{hook} hook feedback: {text}\n</system-reminder>")
}

/// Stop hooks keep the turn going.
pub(crate) fn stop_feedback(reasons: &[&str]) -> String {
    let mut text = String::from("Stop hook feedback:");
    for reason in reasons {
        write!(text, "\n- {reason}").ok();
    }
    text
}

/// A background task has ended. Readers match the tags.
pub(crate) struct TaskNotice<'a> {
    pub task_id: &'a str,
    pub tool_use_id: &'a str,
    pub output_file: &'a str,
    pub status: &'a str,
    pub summary: &'a str,
}

pub(crate) fn task_notice(n: &TaskNotice<'_>) -> String {
    format!(
        "<task-notification>\n<task-id>{}</task-id>\n<tool-use-id>{}</tool-use-id>\n<output-file>{}</output-file>\n\
         <status>{}</status>\n<summary>{}</summary>\n</task-notification>",
        n.task_id, n.tool_use_id, n.output_file, n.status, n.summary
    )
}
