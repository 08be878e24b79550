//! The output of the demo: the text of the model, each call in one line, a short excerpt of each result. Plain text;
//! colours only on request.

use super::stage::{DemoStage, RULES};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::path::PathBuf;
use wire::block::BlockHead;

const WIDTH: usize = 92;
/// How many lines of a result are shown.
const EXCERPT_LINES: usize = 9;

#[derive(Clone, Copy)]
enum DemoPaint {
    Bold,
    Dim,
    Call,
    Good,
    Bad,
}

pub(super) struct DemoPrinter {
    colours: bool,
    project: PathBuf,
    /// The old and new text of an Edit call, shown with its result.
    change: Option<(String, String)>,
}

impl DemoPrinter {
    pub(super) fn new(colours: bool, project: PathBuf) -> Self {
        Self { colours, project, change: None }
    }

    pub(super) fn opening(&self, stage: &DemoStage, prompt: &str) -> String {
        let title = self.paint(DemoPaint::Bold, "gimlet demo");
        let folder = self.paint(DemoPaint::Dim, &stage.folder().display().to_string());
        let rules = self.paint(DemoPaint::Dim, &RULES.join("  "));
        let prompt = self.paint(DemoPaint::Bold, &format!("> {prompt}"));
        format!(
            "{title}: the model is recorded, everything else is real.\n\
             Loop, tools, permissions and transcript work as always. No key, no network.\n\
             Nothing is written outside this folder, which you may delete afterwards:\n\
             \x20 folder   {folder}\n  allowed  {rules}\n\n{prompt}\n"
        )
    }

    pub(super) fn closing(&self, stage: &DemoStage) -> String {
        let verdict = self.paint(DemoPaint::Good, "✓ sh test.sh passes in the project.");
        let project = stage.project();
        let (project, transcript) = (project.display(), stage.transcript());
        format!(
            "\n{verdict} The model was recorded; the edit and the test runs were not.\n\
             \x20 project     {project}\n  transcript  {}\n\n\
             With a key, on your own project:\n\
             \x20 export ANTHROPIC_API_KEY=…\n  gimlet -p \"explain this project\"\n",
            transcript.display()
        )
    }

    /// Shows a finished block of the model.
    pub(super) fn show_message(&mut self, message: &RawValue) -> String {
        let mut out = String::new();
        for block in content(message) {
            match BlockHead::read(&block) {
                Some(BlockHead::Text(text)) => {
                    out.push('\n');
                    for line in wrap(&text) {
                        out.push_str(&line);
                        out.push('\n');
                    }
                }
                Some(BlockHead::ToolUse { name, input, .. }) => out.push_str(&self.call(&name, input)),
                Some(_) | None => {}
            }
        }
        out
    }

    fn call(&mut self, name: &str, input: &RawValue) -> String {
        let input: Value = serde_json::from_str(input.get()).unwrap_or_default();
        let field = |key: &str| input[key].as_str().unwrap_or_default().to_owned();
        let what = match name {
            "Bash" => field("command"),
            _ => field("file_path").replace(&format!("{}/", self.project.display()), ""),
        };
        self.change = (name == "Edit").then(|| (field("old_string"), field("new_string")));
        let name = self.paint(DemoPaint::Call, &format!("● {name}"));
        format!("\n{name}  {}\n", cut(&what))
    }

    /// Shows a result: the change for a successful edit, else the first lines.
    pub(super) fn show_result(&mut self, message: &RawValue) -> String {
        let mut out = String::new();
        for block in content(message) {
            let Ok(result) = serde_json::from_str::<DemoToolResult>(block.get()) else { continue };
            match self.change.take() {
                Some((old, new)) if !result.is_error => {
                    out.push_str(&self.margin(DemoPaint::Bad, &format!("- {old}")));
                    out.push_str(&self.margin(DemoPaint::Good, &format!("+ {new}")));
                }
                Some(_) | None => out.push_str(&self.excerpt(&result.text())),
            }
        }
        out
    }

    fn excerpt(&self, text: &str) -> String {
        let lines: Vec<&str> = text.lines().collect();
        let mut out: String = lines
            .iter()
            .take(EXCERPT_LINES)
            .map(|line| self.margin(DemoPaint::Dim, &line.replace('\t', "  ")))
            .collect();
        if lines.len() > EXCERPT_LINES {
            out.push_str(&self.margin(DemoPaint::Dim, &format!("… {} more lines", lines.len() - EXCERPT_LINES)));
        }
        out
    }

    fn margin(&self, paint: DemoPaint, text: &str) -> String {
        format!("  {} {}\n", self.paint(DemoPaint::Dim, "│"), self.paint(paint, &cut(text)))
    }

    fn paint(&self, paint: DemoPaint, text: &str) -> String {
        let code = match paint {
            _ if !self.colours => return text.to_owned(),
            DemoPaint::Bold => "1",
            DemoPaint::Dim => "2",
            DemoPaint::Call => "1;36",
            DemoPaint::Good => "32",
            DemoPaint::Bad => "31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

#[derive(Deserialize)]
struct DemoToolResult {
    content: Value,
    #[serde(default)]
    is_error: bool,
}

impl DemoToolResult {
    fn text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(blocks) => blocks.iter().filter_map(|b| b["text"].as_str()).collect::<Vec<_>>().join("\n"),
            _ => String::new(),
        }
    }
}

fn content(message: &RawValue) -> Vec<Box<RawValue>> {
    #[derive(Deserialize)]
    struct DemoMessageBody {
        content: Box<RawValue>,
    }
    let body: Option<DemoMessageBody> = serde_json::from_str(message.get()).ok();
    body.and_then(|b| serde_json::from_str(b.content.get()).ok()).unwrap_or_default()
}

/// Cuts a line to the width; control characters of a result never reach the terminal.
fn cut(line: &str) -> String {
    let clean: String = line.chars().filter(|c| !c.is_control()).collect();
    if clean.chars().count() <= WIDTH - 4 {
        return clean;
    }
    clean.chars().take(WIDTH - 5).chain(['…']).collect()
}

fn wrap(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.chars().count() + word.chars().count() >= WIDTH {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(colours: bool) -> DemoPrinter {
        DemoPrinter::new(colours, "/p".into())
    }

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    const CALL: &str = r#"{"content":[{"type":"tool_use","id":"t","name":"Edit","input":{"file_path":"/p/a","old_string":"x","new_string":"y"}}]}"#;

    #[test]
    fn an_edit_is_shown_as_its_change_unless_it_failed() {
        let mut show = show(false);
        assert_eq!(show.show_message(&raw(CALL)), "\n● Edit  a\n");
        assert_eq!(
            show.show_result(&raw(r#"{"content":[{"type":"tool_result","content":"ok"}]}"#)),
            "  │ - x\n  │ + y\n"
        );
        show.show_message(&raw(CALL));
        let failed = raw(r#"{"content":[{"type":"tool_result","content":"no such text","is_error":true}]}"#);
        assert_eq!(show.show_result(&failed), "  │ no such text\n");
    }

    #[test]
    fn results_are_short_and_harmless() {
        let text = format!("\u{1b}[31mred\n{}\n{}", "x".repeat(300), "line\n".repeat(20));
        let block = serde_json::json!({"content": [{"type": "tool_result", "content": text}]});
        let out = show(false).show_result(&raw(&block.to_string()));
        assert!(!out.contains('\u{1b}'));
        assert_eq!(out.lines().count(), EXCERPT_LINES + 1);
        assert!(out.ends_with("… 13 more lines\n"), "{out}");
        assert!(out.lines().all(|l| l.chars().count() <= WIDTH));
    }

    #[test]
    fn colours_only_when_asked_for() {
        assert!(show(true).show_message(&raw(CALL)).contains("\u{1b}[1;36m● Edit\u{1b}[0m"));
    }
}
