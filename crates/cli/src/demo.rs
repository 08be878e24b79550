//! `gimlet demo`: a coding task on a sample project. The model's answers are a recording; the loop, the tools, the files and the
//! transcript are real, so it fails when one of them misbehaves. It needs no key and no network, and leaves the user's own
//! configuration alone.

use engine::{Boot, Command, Event, Events, Options, Prompt, SessionChoice};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use sys::Env;
use sys::process::{Input, Output, RunOptions, Spawn};
use wire::sdk::{Message, TurnResult};

const PROMPT: &str = "The test of this project fails. Find out why, fix it, and check that the test passes.";
const RECORDING: &str = include_str!("../demo/fix.jsonl");
const PROJECT: [(&str, &str); 3] = [
    ("README.md", include_str!("../demo/project/README.md")),
    ("roman.sh", include_str!("../demo/project/roman.sh")),
    ("test.sh", include_str!("../demo/project/test.sh")),
];
/// Lines of a tool result that are shown.
const SHOWN: usize = 4;

/// Runs the demo; 0 when the sample project was really fixed.
pub(crate) async fn run(env: Env) -> u8 {
    match show(&env).await {
        Ok(()) => 0,
        Err(message) => {
            headless::complain(&format!("Error: the demo failed: {message}"));
            1
        }
    }
}

async fn show(env: &Env) -> Result<(), String> {
    let place = Place::create(env).map_err(|e| format!("could not set up a temporary folder: {e}"))?;
    let mut screen = Screen::new(env);
    screen.title(&place);
    let (commands, events) = engine::open(place.boot(env)).await.map_err(|e| e.message)?;
    let content = wire::raw::to_raw(PROMPT).map_err(|e| e.to_string())?;
    commands.send(Command::Submit(Prompt { content, uuid: None, query: true })).await.ok();
    commands.send(Command::Close).await.ok();
    let result = follow(events, &mut screen).await.ok_or("the session ended without a result")?;
    if result.is_error {
        let errors = result.errors.map(|e| e.join("; "));
        return Err(errors.or(result.result).unwrap_or_else(|| result.subtype.to_owned()));
    }
    if !place.test_passes(env).await? {
        return Err(format!("the test in {} still fails", place.project.display()));
    }
    screen.done(&place);
    Ok(())
}

async fn follow(mut events: Events, screen: &mut Screen) -> Option<Box<TurnResult>> {
    let mut result = None;
    while let Some(event) = events.recv().await {
        match event {
            Event::Message(Message::Assistant(message)) => screen.assistant(message.message.get()),
            Event::Message(Message::User(message)) => screen.results(message.message.get()),
            Event::Message(Message::Result(last)) => result = Some(last),
            Event::Notice(text) => headless::complain(&text),
            Event::Message(
                Message::Init(_) | Message::StreamEvent(_) | Message::System(_) | Message::ToolProgress(_),
            )
            | Event::Control(_) => {}
        }
    }
    result
}

/// The temporary folder: the project, a configuration of its own, and the recording.
struct Place {
    root: PathBuf,
    project: PathBuf,
}

impl Place {
    fn create(env: &Env) -> io::Result<Self> {
        let temp = PathBuf::from(env.non_empty("TMPDIR").unwrap_or("/tmp"));
        let root = temp.join(format!("gimlet-demo-{}", sys::id::base36(8)));
        let project = root.join("roman");
        std::fs::create_dir(&root)?;
        std::fs::create_dir(&project)?;
        for (name, text) in PROJECT {
            std::fs::write(project.join(name), text)?;
        }
        std::fs::write(root.join("recording.jsonl"), RECORDING)?;
        Ok(Self { root, project })
    }

    fn boot(&self, env: &Env) -> Boot {
        let options = Options {
            model: Some("claude-sonnet-4-5".into()),
            allowed_tools: ["Bash", "Read", "Edit"].map(str::to_owned).to_vec(),
            setting_sources: Some(Vec::new()),
            session: SessionChoice::New { id: None },
            replay: Some(self.root.join("recording.jsonl")),
            ..Options::default()
        };
        let config = self.root.join("config").into_os_string();
        let env = env.with([
            ("CLAUDE_CONFIG_DIR", config),
            ("ANTHROPIC_API_KEY", OsString::from("none-needed")),
            ("ANTHROPIC_AUTH_TOKEN", OsString::from("none-needed")),
        ]);
        Boot { env, cwd: self.project.clone(), options }
    }

    /// Checked from outside, whatever the conversation said.
    async fn test_passes(&self, env: &Env) -> Result<bool, String> {
        let spec = Spawn {
            program: "sh".into(),
            args: vec!["test.sh".into()],
            env: env.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
            cwd: self.project.clone(),
            stdin: Input::Null,
            output: Output::Merged,
        };
        let done = sys::process::run(spec, RunOptions::default()).await;
        done.map(|d| d.exit.code == Some(0)).map_err(|e| format!("could not run the test: {e}"))
    }
}

/// What the person sees. Colours only on a terminal.
struct Screen {
    out: io::Stdout,
    colours: bool,
}

impl Screen {
    fn new(env: &Env) -> Self {
        let out = io::stdout();
        let colours = out.is_terminal() && env.non_empty("NO_COLOR").is_none();
        Self { out, colours }
    }

    fn title(&mut self, place: &Place) {
        let title = self.bold("gimlet demo");
        self.line(&title);
        self.line("The model's answers are a recording. The loop, the tools, the files and the transcript are real.");
        self.line(&format!("Project: {}, a shell script with a failing test", place.project.display()));
        let prompt = self.bold(&format!("> {PROMPT}"));
        self.line(&format!("\n{prompt}"));
    }

    fn done(&mut self, place: &Place) {
        let fixed = self.bold("Fixed:");
        self.line(&format!("\n{fixed} sh test.sh passes, run once more from outside."));
        self.line(&format!("The project and the transcript are in {}", place.root.display()));
        self.line("Your turn: export ANTHROPIC_API_KEY=...   gimlet -p \"explain this project\"");
    }

    /// Text and calls of one message.
    fn assistant(&mut self, message: &str) {
        for block in blocks(message) {
            match block["type"].as_str() {
                Some("text") => self.line(&format!("\n{}", block["text"].as_str().unwrap_or_default())),
                Some("tool_use") => {
                    let name = self.bold(block["name"].as_str().unwrap_or_default());
                    self.line(&format!("  {name} {}", subject(&block["input"])));
                }
                _ => {}
            }
        }
    }

    fn results(&mut self, message: &str) {
        for block in blocks(message) {
            let text = result_text(&block["content"]);
            let lines: Vec<&str> = text.lines().collect();
            let mut shown: Vec<String> = lines.iter().take(SHOWN).map(|l| format!("      {l}")).collect();
            if lines.len() > SHOWN {
                shown.push(format!("      ({} more lines)", lines.len() - SHOWN));
            }
            for line in shown {
                let line = self.dim(&line);
                self.line(&line);
            }
        }
    }

    fn line(&mut self, text: &str) {
        // A reader that has left misses the rest; the work goes on and the exit code still tells.
        self.out.write_all(format!("{text}\n").as_bytes()).ok();
    }

    fn bold(&self, text: &str) -> String {
        if self.colours { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn dim(&self, text: &str) -> String {
        if self.colours { format!("\x1b[2m{text}\x1b[0m") } else { text.to_owned() }
    }
}

fn blocks(message: &str) -> Vec<Value> {
    let message: Value = serde_json::from_str(message).unwrap_or_default();
    message["content"].as_array().cloned().unwrap_or_default()
}

fn result_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|b| b["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// What a call is about: its command, or the name of its file.
fn subject(input: &Value) -> String {
    if let Some(command) = input["command"].as_str() {
        return command.to_owned();
    }
    let path = input["file_path"].as_str().unwrap_or_default();
    Path::new(path).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
