//! What a user message says to a person. Programs wrap texts for the model in tags; these texts are left out, and what
//! stands for something a person did (a command, a shell command) becomes that again.

/// A part of a user message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToldPart {
    /// What the person wrote.
    Words(String),
    /// A slash command, as it can be typed.
    SlashCommand(String),
    /// A shell command of the person.
    Shell(String),
    /// The output of a shell command or of a slash command.
    Output { text: String, is_failure: bool, is_of_shell: bool },
    /// What became of a background task.
    Notice(String),
    /// The turn was interrupted.
    Interruption,
}

/// The marks that stand for an interrupted turn.
const INTERRUPTION_MARK: &str = "[Request interrupted by user";
/// How the text of a summary of an earlier conversation begins.
const SUMMARY_MARK: &str = "This session is being continued from a previous conversation that ran out of context";

/// Tags around texts that programs write for the model, with or without attributes.
const MODEL_TAGS: [&str; 15] = [
    "system-reminder",
    "task-notification",
    "local-command-caveat",
    "command-message",
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
    "post-tool-use-hook",
    "session-start-hook",
    "user-prompt-submit-hook",
    "user-memory-input",
    "teammate-message",
    "agent-message",
    "agent-notification",
    "new-diagnostics",
];

/// The parts of a user message that people see, in order.
pub fn told_parts(text: &str) -> Vec<ToldPart> {
    let mut parts = Vec::new();
    if text.trim_start().starts_with(SUMMARY_MARK) {
        return parts;
    }
    if text.trim_start().starts_with("<task-notification>") {
        let summary = tagged(text, "summary").map(str::trim).filter(|summary| !summary.is_empty());
        parts.extend(summary.map(|summary| ToldPart::Notice(summary.to_owned())));
        return parts;
    }
    let text = without_model_text(text);
    let text = text.trim();
    if text.is_empty() {
        return parts;
    }
    if text.starts_with(INTERRUPTION_MARK) {
        parts.push(ToldPart::Interruption);
        return parts;
    }
    if let Some(command) = tagged(text, "bash-input") {
        parts.push(ToldPart::Shell(command.trim().to_owned()));
    }
    if let Some(name) = tagged(text, "command-name") {
        parts.push(ToldPart::SlashCommand(typed_command(name, tagged(text, "command-args").unwrap_or_default())));
    }
    let outputs = [
        ("bash-stdout", false, true),
        // Its first line says that it failed.
        ("bash-stderr", false, true),
        ("local-command-stdout", false, false),
        ("local-command-stderr", true, false),
    ];
    for (tag, is_failure, is_of_shell) in outputs {
        let output = tagged(text, tag).map(str::trim_end).filter(|output| !output.trim().is_empty());
        parts.extend(output.map(|output| ToldPart::Output { text: output.to_owned(), is_failure, is_of_shell }));
    }
    let is_tagged = ["<bash-", "<command-", "<local-command-"].iter().any(|tag| text.starts_with(tag));
    if parts.is_empty() && !is_tagged {
        parts.push(ToldPart::Words(text.to_owned()));
    }
    parts
}

/// A prompt as it was typed; a text in which nothing was typed stays as it is.
pub fn typed_text(text: &str) -> String {
    let typed = |part| match part {
        ToldPart::Words(text) | ToldPart::SlashCommand(text) => Some(text),
        ToldPart::Shell(command) => Some(format!("! {command}")),
        ToldPart::Output { .. } | ToldPart::Notice(_) | ToldPart::Interruption => None,
    };
    let parts: Vec<String> = told_parts(text).into_iter().filter_map(typed).collect();
    if parts.is_empty() { text.to_owned() } else { parts.join("\n") }
}

fn typed_command(name: &str, arguments: &str) -> String {
    let name = name.trim();
    let slash = if name.starts_with('/') { "" } else { "/" };
    format!("{slash}{name} {}", arguments.trim()).trim_end().to_owned()
}

/// The text inside the first element with this tag. An element without an end reaches to the end of the text.
fn tagged<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>")).map_or(rest, |(inside, _)| inside))
}

/// The text without the elements that programs wrote for the model, also when they are nested in one another. A text that
/// only mentions a tag, inside a line, keeps it: elements begin at the start of a line.
pub fn without_model_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, tag)) = next_model_element(rest) {
        out.push_str(&rest[..at]);
        rest = after_element(&rest[at..], tag);
    }
    out.push_str(rest);
    out
}

/// The first element for the model that begins a line, or that follows another element.
fn next_model_element(text: &str) -> Option<(usize, &'static str)> {
    text.match_indices('<').find_map(|(at, _)| {
        let begins =
            text[..at].chars().rev().find(|c| !matches!(c, ' ' | '\t')).is_none_or(|c| matches!(c, '\n' | '>'));
        let tag = MODEL_TAGS.iter().find(|tag| opens(&text[at..], tag)).filter(|_| begins)?;
        Some((at, *tag))
    })
}

fn opens(text: &str, tag: &str) -> bool {
    let rest = text.strip_prefix('<').and_then(|rest| rest.strip_prefix(tag));
    rest.is_some_and(|rest| rest.starts_with(['>', ' ', '\n']))
}

/// What follows the element at the start of `text`. One without an end reaches to the end of the text.
fn after_element<'a>(text: &'a str, tag: &str) -> &'a str {
    let close = format!("</{tag}>");
    let mut depth = 0_usize;
    for (at, _) in text.match_indices('<') {
        if opens(&text[at..], tag) {
            depth += 1;
        } else if text[at..].starts_with(&close) {
            depth -= 1;
            if depth == 0 {
                let rest = &text[at + close.len()..];
                return rest.strip_prefix('\n').unwrap_or(rest);
            }
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Numbers;

    fn words(text: &str) -> ToldPart {
        ToldPart::Words(text.into())
    }

    #[test]
    fn commands_and_outputs_become_what_the_person_did() {
        let command = "<command-name>/review</command-name>\n<command-message>review</command-message>\n\
                       <command-args>the last commit</command-args>";
        assert_eq!(told_parts(command), [ToldPart::SlashCommand("/review the last commit".into())]);
        let shell = "<bash-input>ls -l</bash-input>\n<bash-stdout>a.rs\n</bash-stdout><bash-stderr></bash-stderr>";
        let output = ToldPart::Output { text: "a.rs".into(), is_failure: false, is_of_shell: true };
        assert_eq!(told_parts(shell), [ToldPart::Shell("ls -l".into()), output]);
        let said = told_parts("<local-command-stdout>Model set</local-command-stdout>");
        assert_eq!(said, [ToldPart::Output { text: "Model set".into(), is_failure: false, is_of_shell: false }]);
        assert_eq!(told_parts("[Request interrupted by user for tool use]"), [ToldPart::Interruption]);
        assert!(told_parts("<local-command-caveat>Do not answer.</local-command-caveat>").is_empty());
        assert!(told_parts(&format!("{SUMMARY_MARK}. It was about a shop.")).is_empty());
        assert!(told_parts("<local-command-stdout></local-command-stdout>").is_empty());
        let notice = "<task-notification>\n<task-id>b1</task-id>\n<summary>make ended</summary>\n</task-notification>";
        assert_eq!(told_parts(notice), [ToldPart::Notice("make ended".into())]);
    }

    #[test]
    fn words_about_tags_stay() {
        for text in ["what does <system-reminder> mean?", "<b>bold</b>", "a < b", "use `<task-notification>` here"] {
            assert_eq!(told_parts(text), [words(text)]);
        }
    }

    fn model_block(numbers: &mut Numbers, depth: usize) -> String {
        // A notice of a task has a part for people.
        let tag = MODEL_TAGS.iter().filter(|tag| **tag != "task-notification").nth(numbers.below(MODEL_TAGS.len() - 1));
        let tag = tag.unwrap();
        let attribute = ["", " from=\"a1\"", "\nkind=\"x\""][numbers.below(3)];
        let inner = match numbers.below(3) {
            0 if depth < 3 => format!("\n{}\n", model_block(numbers, depth + 1)),
            1 => "\nSECRET line one\nSECRET line two\n".to_owned(),
            _ => "SECRET".to_owned(),
        };
        format!("<{tag}{attribute}>{inner}</{tag}>")
    }

    #[test]
    fn texts_for_the_model_never_reach_the_person() {
        let mut numbers = Numbers(3);
        for _ in 0..5_000 {
            let mut text = String::new();
            let mut own = Vec::new();
            for at in 0..=numbers.below(4) {
                if numbers.below(2) == 0 {
                    text.push_str(&model_block(&mut numbers, 0));
                } else {
                    own.push(format!("own words {at}"));
                    text.push_str(&own[own.len() - 1]);
                }
                text.push_str(["\n", "\n\n"][numbers.below(2)]);
            }
            let shown = match &told_parts(&text)[..] {
                [] => String::new(),
                [ToldPart::Words(shown)] => shown.clone(),
                other => panic!("{other:?} from {text:?}"),
            };
            assert!(!shown.contains("SECRET") && !shown.contains('<'), "{shown:?} from {text:?}");
            let lines: Vec<&str> = shown.lines().filter(|line| !line.is_empty()).collect();
            assert_eq!(lines, own, "{text:?}");
        }
    }
}
