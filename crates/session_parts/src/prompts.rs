//! The texts we send to the model besides the conversation. They are part of the cached prefix: within a session each
//! of them keeps the same bytes.

use std::fmt::Write;
use wire::sdk::TaskUsage;

/// The built-in system prompt.
pub const SYSTEM: &str = include_str!("prompts/system.md");

/// Sent after a cut-off answer.
pub const CONTINUE: &str =
    "Your last message was cut off. Continue exactly where it stopped, without repeating what you already wrote.";

/// Sent when a turn that must end with structured output ended without it.
pub const DEMAND_OUTPUT: &str =
    "The task is not finished: call the StructuredOutput tool now, with your answer in the required shape.";

/// The result of a call that the model made instead of writing the summary.
pub const TEXT_ONLY: &str = "Text only: nothing was run, and no tool can be used now.";

/// Follows those results.
pub const HAND_OVER_NOW: &str = "Write the hand-over of this conversation now, as text.";

/// Asks for the summary that replaces the conversation.
pub const COMPACT: &str = include_str!("prompts/compact.md");

/// The start of the message that replaces a compacted conversation.
pub const CONTINUED: &str = "The earlier part of this conversation was summarised to make room. This is the hand-over you wrote; it stands for \
     everything before it.";

/// The end of that message.
pub const GO_ON: &str =
    "\nGo on from here without asking the user to repeat anything and without mentioning the summary, unless they ask.";

/// The same where only the end of the conversation was summarised.
pub const CONTINUED_FROM: &str = "The part of this conversation that followed here was summarised to make room. This is the hand-over you wrote; it \
     stands for that part.";

/// Precedes the user's own words in a hand-over.
pub const OWN_WORDS: &str =
    "What the user wrote in that part, word for word, oldest first. Where the hand-over differs from it, this holds:";

/// Added to the demand for a hand-over of everything before a message.
pub const ONLY_BEFORE: &str =
    "\nThe user's next message and everything after it stay as they are; they follow your hand-over.";

/// Added to the demand for a hand-over of everything after a message.
pub fn only_from(prompt: &str) -> String {
    format!(
        "\nOnly the part from this message of the user on is replaced. What stands before it stays as it is: do not repeat it.\n\
         The message begins: {prompt}"
    )
}

/// Where the dropped part can be looked up.
pub fn dropped_part(path: &str, lines: Option<(u64, u64)>, has_recall: bool) -> String {
    let lines = lines.map_or_else(String::new, |(from, to)| format!(" (what was dropped now: lines {from} to {to})"));
    let how = if has_recall { " The Recall tool finds exact words in it." } else { "" };
    format!("The full conversation up to here is in {path}{lines}; look there only for a detail that is missing.{how}")
}

/// The result of a call that was cleared to make room.
pub fn cleared_result(name: &str, input: &str) -> String {
    format!("[Result cleared to make room: {name} {input}. Call it again if you need it.]")
}

/// The user's latest request, repeated after a compaction: the message and what was typed while it was worked on.
pub fn latest_words(messages: &[String]) -> String {
    let mut messages = messages.iter();
    let mut text =
        format!("The user's latest message, word for word:\n\n{}", messages.next().map_or("", String::as_str));
    for later in messages {
        write!(text, "\n\nThen, while you worked:\n\n{later}").ok();
    }
    text
}

/// A message that is too long to be repeated is cut, with a note.
pub fn bounded(words: &str, max_chars: usize) -> std::borrow::Cow<'_, str> {
    match words.char_indices().nth(max_chars) {
        None => words.into(),
        Some((at, _)) => format!("{} […cut: {} more bytes]", &words[..at], words.len() - at).into(),
    }
}

/// Precedes the lines of a command, so that they are not taken for a request.
pub const COMMAND_CAVEAT: &str = "<local-command-caveat>The next messages come from a command the user ran in gimlet. They ask for nothing: do not \
     answer them unless the user refers to them.</local-command-caveat>";

/// Stands before a conversation that was held in another program.
pub fn imported(program: &str) -> String {
    format!(
        "<system-reminder>\nThe conversation that begins here was held in another program, {program}, and imported. Where a tool of this \
         session does the same, its calls appear as calls of that tool; other calls stand as text with the name of the tool in \
         brackets. Files may have changed since: read a file again before you rely on what is shown of it.\n</system-reminder>"
    )
}

/// A summary that another program made of its conversation.
pub fn imported_summary(summary: &str) -> String {
    format!(
        "The conversation before this point was summarised in the program it was held in. Its summary:\n\n{summary}"
    )
}

/// A question outside of the conversation.
pub fn side_question(question: &str) -> String {
    format!(
        "<side-question>\nThe user asks something on the side. The question and your answer are no part of the conversation, and \
         the work under way goes on as if they had not been. Answer at once and briefly, from what you know here. You have no tools for \
         this: call none, and promise nothing for later.\n\n{question}\n</side-question>"
    )
}

/// A command in the format that readers of transcripts expect.
pub fn command(name: &str, arguments: &str) -> String {
    format!(
        "<command-name>/{name}</command-name>\n<command-message>{name}</command-message>\n\
         <command-args>{arguments}</command-args>"
    )
}

/// A file the model had read, with its content after a compaction.
pub fn recent_file(path: &str, content: &str) -> String {
    format!(
        "<system-reminder>\n{path} was read before the conversation was summarised. Its content now:\n\n{content}\n</system-reminder>"
    )
}

/// Precedes what the session itself knows after a compaction.
pub const RECORDED_FACTS: &str = "From the record of this session, as it is now:";

/// Facts about the machine, fixed for the life of the session.
pub struct PromptEnvironment<'a> {
    pub cwd: &'a str,
    pub additional: &'a [String],
    pub platform: &'a str,
    pub os: &'a str,
    pub shell: &'a str,
    pub model: &'a str,
    /// What the sandbox of commands allows; `None` without one.
    pub sandbox: Option<&'a str>,
    /// Who can answer questions; `None` for agents, which ask nobody.
    pub attendance: Option<PersonAttendance>,
}

/// Who can answer questions and permission prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonAttendance {
    Present,
    /// A program decides about permissions.
    Program,
    Absent,
}

impl PersonAttendance {
    fn describe(self) -> &'static str {
        match self {
            Self::Present => "present; questions are answered",
            Self::Program => "not present; a program decides about permissions, and nobody answers questions",
            Self::Absent => "not present; nobody can answer questions or grant permissions",
        }
    }
}

/// Whether the block was made by [`environment`].
pub fn is_environment(block: &model::Fragment) -> bool {
    block.get().contains(r##":"# Environment\n"##)
}

pub fn environment(e: &PromptEnvironment<'_>) -> String {
    let mut text = format!("# Environment\n- Working directory: {}\n", e.cwd);
    for dir in e.additional {
        writeln!(text, "- Additional working directory: {dir}").ok();
    }
    write!(text, "- Platform: {} ({})\n- Shell: {}\n- Model: {}", e.platform, e.os, e.shell, e.model).ok();
    if let Some(sandbox) = e.sandbox {
        write!(text, "\n- Sandbox of shell commands: {sandbox}").ok();
    }
    if let Some(attendance) = e.attendance {
        write!(text, "\n- Person: {}", attendance.describe()).ok();
    }
    text
}

/// What settings say about language and attribution; `None` when they say nothing.
pub fn preferences(settings: &wire::settings::Settings) -> Option<String> {
    let mut lines = Vec::new();
    if let Some(language) = settings.language.as_deref().map(str::trim).filter(|language| !language.is_empty()) {
        lines.push(format!("- Write to the user in {language}. Code and files keep the language they are in."));
    }
    let attribution = &settings.attribution;
    if let Some(trailer) = attribution.commit.as_ref().and_then(wire::settings::TextOrOff::text) {
        lines.push(format!("- End every commit message with: {trailer}"));
    }
    if let Some(line) = attribution.pr.as_ref().and_then(wire::settings::TextOrOff::text) {
        lines.push(format!("- End the description of every pull request with: {line}"));
    }
    (!lines.is_empty()).then(|| format!("# Preferences\n{}", lines.join("\n")))
}

/// One instruction file and its origin.
pub struct InstructionText<'a> {
    pub path: &'a str,
    pub scope: &'a str,
    pub text: &'a str,
}

/// The reminder with the first prompt: the date, the instruction files and the notes folder.
pub fn session_context(date: &str, files: &[InstructionText<'_>], notes: Option<&str>) -> String {
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
    if let Some(dir) = notes {
        write!(
            text,
            "\nYou may keep notes for later sessions of this project in {dir}: what the user wants remembered, corrections, \
             and facts that neither the code nor its history tells. One Markdown file for each topic, and one line for each in \
             MEMORY.md there, which later sessions are shown (200 lines, 25 KB at most). Never note secrets; correct what turned \
             out wrong.\n"
        )
        .ok();
    }
    text.push_str("</system-reminder>");
    text
}

/// The reminder with facts about the project.
pub fn project_facts(facts: &str) -> String {
    reminder(&format!("About this project, as of the start; later changes are not told:\n{facts}"))
}

/// Marks a text as ours.
pub fn reminder(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

/// Whether a list of skills was sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillListingKind {
    First,
    Again,
}

/// Skills that are new to the model, and those that no longer exist.
pub fn skill_listing(lines: &[&str], gone: &[&str], telling: SkillListingKind) -> String {
    let mut text = String::new();
    if !lines.is_empty() {
        let heading = match telling {
            SkillListingKind::First => "Skills that the Skill tool can load:",
            SkillListingKind::Again => "These skills are new or have changed; the Skill tool can load them:",
        };
        write!(text, "{heading}\n\n{}", lines.join("\n")).ok();
    }
    if !gone.is_empty() {
        let gap = if lines.is_empty() { "" } else { "\n\n" };
        write!(text, "{gap}{SKILLS_GONE}{}", gone.join(", ")).ok();
    }
    text
}

/// Precedes the names of skills that no longer exist.
pub const SKILLS_GONE: &str = "These skills are no longer available: ";

pub fn skill_unchanged(name: &str) -> String {
    format!("The skill {name} was invoked again. Its instructions are already above, unchanged; follow them.")
}

/// Asks once for a check of the work.
pub const VERIFY: &str = "Files were changed and nothing was run since. Run the check that shows whether the change works, and say how it ended; if \
     there is none, say what was not checked.";

/// Files that others changed.
pub fn changed_files(lines: &str) -> String {
    reminder(&format!("Changed on disk since you last saw them, and not by your edits:\n{lines}"))
}

/// Open items of a list that was not touched for some time.
pub fn forgotten_list(lines: &[String]) -> String {
    reminder(&format!(
        "Open items of your list. Keep it true: update what is done, and go on with the next.\n{}",
        lines.join("\n")
    ))
}

/// The result of a typed skill that ran as an agent.
pub fn forked_skill(name: &str, report: &str) -> String {
    format!(
        "The skill {name} has run in an agent of its own, which ended with the report below. Tell the user what came of \
         it.\n\n{report}"
    )
}

/// Lists skills of the same name in subfolders.
pub fn skill_variants(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    format!(
        "\n\nFolders below have a skill of the same name: {}. When the files at hand lie there, load that one instead.",
        names.join(", ")
    )
}

pub fn nested_memory(path: &str, text: &str) -> String {
    reminder(&format!("Instructions from {path}, for the files you are working with:\n\n{}", text.trim_end()))
}

pub fn attached_file(path: &str, content: &str) -> String {
    reminder(&format!("{path}, named with @, as Read shows it:\n\n{content}"))
}

/// The section about the output style.
pub fn output_style(name: &str, text: &str) -> String {
    format!("# Output style: {name}\n{text}")
}

/// The built-in prompt without its guidance on engineering work.
pub fn without_guidance() -> String {
    let Some((before, rest)) = SYSTEM.split_once("# How to work") else { return SYSTEM.to_owned() };
    let after = rest.split_once("\n# ").map_or("", |(_, after)| after);
    format!("{before}# {after}")
}

/// The user named an agent in the prompt.
pub fn agent_mention(agent_type: &str) -> String {
    reminder(&format!(
        "The user named the agent \"{agent_type}\" and wants it used for this: call the Agent tool with subagent_type \
         \"{agent_type}\", and give it everything it needs to know."
    ))
}

pub fn date_change(date: &str) -> String {
    format!("<system-reminder>\nThe date is now {date}.\n</system-reminder>")
}

/// A text that a hook adds for the model.
pub fn hook_context(hook: &str, text: &str) -> String {
    format!("<system-reminder>\n{hook} hook additional context: {text}\n</system-reminder>")
}

/// An objection of a hook.
pub fn hook_feedback(hook: &str, text: &str) -> String {
    format!("<system-reminder>\n{hook} hook feedback: {text}\n</system-reminder>")
}

/// The reasons of Stop hooks to continue the turn.
pub fn stop_feedback(reasons: &[&str]) -> String {
    let mut text = String::from("Stop hook feedback:");
    for reason in reasons {
        write!(text, "\n- {reason}").ok();
    }
    text
}

/// A notice that a background task has ended. Readers match the tags.
pub struct TaskNotice<'a> {
    pub task_id: &'a str,
    pub tool_use_id: &'a str,
    pub output_file: &'a str,
    pub status: &'a str,
    pub summary: &'a str,
    /// The report of an agent.
    pub result: Option<&'a str>,
    pub usage: Option<TaskUsage>,
    /// The path of an agent's transcript.
    pub transcript: Option<&'a str>,
}

/// Sent before the last turn when a run has waited long enough for its background tasks.
pub fn still_running(tasks: &[(String, String, String)]) -> String {
    let mut text = String::from(
        "This run has waited for its background work as long as it may. It ends with your next answer, and whatever still \
         runs then is stopped:\n",
    );
    for (id, description, output) in tasks {
        writeln!(text, "- {id}: {description} (output so far: {output})").ok();
    }
    text.push_str("Say what is done and what is not. Start nothing more in the background.");
    reminder(&text)
}

/// Whether `task_notice` made the text.
pub fn is_task_notice(text: &str) -> bool {
    text.starts_with("<task-notification>")
}

pub fn task_notice(n: &TaskNotice<'_>) -> String {
    let mut text = format!(
        "<task-notification>\n<task-id>{}</task-id>\n<tool-use-id>{}</tool-use-id>\n",
        n.task_id, n.tool_use_id
    );
    if !n.output_file.is_empty() {
        writeln!(text, "<output-file>{}</output-file>", n.output_file).ok();
    }
    write!(text, "<status>{}</status>\n<summary>{}</summary>\n", n.status, n.summary).ok();
    if let Some(result) = n.result {
        writeln!(text, "<result>{result}</result>").ok();
    }
    if let Some(used) = n.usage {
        let TaskUsage { total_tokens, tool_uses, duration_ms } = used;
        let lines = format!("total_tokens: {total_tokens}\ntool_uses: {tool_uses}\nduration_ms: {duration_ms}");
        writeln!(text, "<usage>{lines}</usage>").ok();
    }
    text.push_str("</task-notification>");
    if let Some(path) = n.transcript {
        write!(text, "\nFull transcript available at: {path}").ok();
    }
    text
}
