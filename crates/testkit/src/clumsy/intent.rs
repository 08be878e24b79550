//! What has to be done, as the oracle of a task states it.

use serde_json::Value;

/// Everything the model of one task knows.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    pub intents: Vec<Intent>,
    /// Subagents: a part of the prompt each is started with, and its intents.
    pub agents: Vec<(String, Vec<Intent>)>,
    /// The session is set to remind of a check before the end.
    pub reminds: bool,
}

#[derive(Clone, Debug)]
pub struct Intent {
    pub kind: IntentKind,
    /// The prompt it belongs to, counted from 1.
    pub turn: usize,
    /// Sent in one message with the next intent.
    pub with_next: bool,
    /// Never slips here.
    pub careful: bool,
    /// Only these slips.
    pub slips: Vec<String>,
    /// Remember a part of the result under a name.
    pub learn: Option<Learn>,
    /// A correction of the user that changes this intent when the request holds it.
    pub unless_told: Option<(String, Box<Intent>)>,
}

#[derive(Clone, Debug)]
pub enum IntentKind {
    Read {
        file: String,
        expect: Option<String>,
    },
    Edit {
        file: String,
        text: EditText,
        stale: Option<StaleEdit>,
    },
    Write {
        file: String,
        content: String,
    },
    Run {
        command: String,
        expect: Option<String>,
        fields: Value,
        /// A check of the work that a hasty model leaves out.
        verifies: bool,
        /// The rules of the task refuse it.
        denied: bool,
        /// Its result lies in the middle of a long output.
        is_long: bool,
    },
    Search {
        pattern: String,
        path: Option<String>,
        want: String,
        unlike: Vec<String>,
    },
    Call {
        tool: String,
        input: Value,
        expect: Option<String>,
    },
    Say {
        text: String,
    },
}

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditText {
    pub old: String,
    pub new: String,
    pub all: bool,
}

/// Somebody else changes the file just before the edit: the command, and the edit that is right then.
#[derive(Clone, Debug)]
pub struct StaleEdit {
    pub command: String,
    pub text: EditText,
}

/// What to remember of a result: `path:line` of the wanted line, the text after a word on a line, or an id.
#[derive(Clone, Debug)]
pub struct Learn {
    pub name: String,
    pub from: Option<String>,
}

impl Oracle {
    /// Reads an oracle; the error names the intent.
    pub fn parse(value: &Value) -> Result<Self, String> {
        let list = |value: &Value| {
            let items = value.as_array().map_or(&[][..], Vec::as_slice);
            items
                .iter()
                .enumerate()
                .map(|(at, item)| Intent::parse(item).map_err(|e| format!("intent {}: {e}", at + 1)))
                .collect::<Result<Vec<Intent>, String>>()
        };
        let agents = value["agent"].as_array().map_or(&[][..], Vec::as_slice).iter();
        let agents = agents.map(|agent| Ok((string(agent, "marker")?, list(&agent["intent"])?)));
        Ok(Self {
            intents: list(&value["intent"])?,
            agents: agents.collect::<Result<_, String>>()?,
            reminds: value["reminds"] == true,
        })
    }
}

impl Intent {
    fn parse(value: &Value) -> Result<Self, String> {
        let strings = |name: &str| value[name].as_array().map(|a| texts(a)).unwrap_or_default();
        let learn = optional(value, "learn").map(|name| Learn { name, from: optional(value, "learn_from") });
        let unless_told = match (optional(value, "unless_told"), value.get("otherwise")) {
            (Some(words), Some(other)) => Some((words, Box::new(Self::parse(other)?))),
            _ => None,
        };
        Ok(Self {
            kind: IntentKind::parse(value)?,
            turn: value["turn"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(1),
            with_next: value["with_next"] == true,
            careful: value["careful"] == true,
            slips: strings("slips"),
            learn,
            unless_told,
        })
    }

    pub(super) fn plain(kind: IntentKind, turn: usize) -> Self {
        Self { kind, turn, with_next: false, careful: false, slips: Vec::new(), learn: None, unless_told: None }
    }

    /// The file it is about.
    pub fn file(&self) -> Option<&str> {
        match &self.kind {
            IntentKind::Read { file, .. } | IntentKind::Edit { file, .. } | IntentKind::Write { file, .. } => {
                Some(file)
            }
            IntentKind::Call { input, .. } => input["notebook_path"].as_str(),
            IntentKind::Run { .. } | IntentKind::Search { .. } | IntentKind::Say { .. } => None,
        }
    }
}

impl IntentKind {
    fn parse(value: &Value) -> Result<Self, String> {
        let kind = string(value, "kind")?;
        Ok(match kind.as_str() {
            "read" => Self::Read { file: string(value, "file")?, expect: optional(value, "expect") },
            "edit" => Self::Edit {
                file: string(value, "file")?,
                text: EditText::parse(value)?,
                stale: match optional(&value["stale"], "command") {
                    Some(command) => Some(StaleEdit { command, text: EditText::parse(&value["stale"])? }),
                    None => None,
                },
            },
            "write" => Self::Write { file: string(value, "file")?, content: string(value, "content")? },
            "run" => Self::Run {
                command: string(value, "command")?,
                expect: optional(value, "expect"),
                fields: value.get("fields").cloned().unwrap_or_default(),
                verifies: value["verifies"] == true,
                denied: value["denied"] == true,
                is_long: value["is_long"] == true,
            },
            "search" => Self::Search {
                pattern: string(value, "pattern")?,
                path: optional(value, "path"),
                want: string(value, "want")?,
                unlike: value["unlike"].as_array().map(|a| texts(a)).unwrap_or_default(),
            },
            "call" => Self::Call {
                tool: string(value, "tool")?,
                input: value.get("input").cloned().unwrap_or_default(),
                expect: optional(value, "expect"),
            },
            "say" => Self::Say { text: string(value, "text")? },
            other => return Err(format!("unknown kind {other}")),
        })
    }
}

impl EditText {
    fn parse(value: &Value) -> Result<Self, String> {
        Ok(Self { old: string(value, "old")?, new: string(value, "new")?, all: value["all"] == true })
    }

    /// Replaces in `content`, keeping its line endings; `None` when the old text is not there.
    pub fn apply(&self, content: &str) -> Option<String> {
        let ends = |text: &str| if content.contains("\r\n") { text.replace('\n', "\r\n") } else { text.to_owned() };
        let (old, new) = (ends(&self.old), ends(&self.new));
        if !content.contains(&old) {
            return None;
        }
        Some(if self.all { content.replace(&old, &new) } else { content.replacen(&old, &new, 1) })
    }
}

fn texts(values: &[Value]) -> Vec<String> {
    values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
}

fn optional(value: &Value, name: &str) -> Option<String> {
    value[name].as_str().map(str::to_owned)
}

fn string(value: &Value, name: &str) -> Result<String, String> {
    optional(value, name).ok_or_else(|| format!("`{name}` is missing in {value:.80}"))
}
