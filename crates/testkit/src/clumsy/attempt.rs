//! One intent on its way: the right call, what the model believes, and whether a result fulfils it.

use super::call::PlannedCall;
use super::intent::{EditText, Intent, IntentKind};
use super::lines::numbered_blocks;
use super::slips::BeforeGoal;
use super::view::{RequestView, ShownResult};
use serde_json::{Value, json};

/// How the model behaves in an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AttemptMode {
    /// Follows the rules of recovery.
    Normal,
    /// A call that comes before the right one.
    Before(BeforeGoal),
    /// The right call is to be sent once more after it succeeded.
    ThenAgain,
    /// It was sent once more.
    Again,
    /// Sends the same call until the result changes; the number of times.
    Repeating(usize),
    /// Sends a refused call again; the number of times.
    Insisting(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) intent: Intent,
    /// A Read that an edit needs first: not an intent of the oracle.
    pub(super) is_implied: bool,
    /// What a careful model sends.
    pub(super) right: PlannedCall,
    /// What is to be sent, or was sent last, to fulfil the intent.
    pub(super) call: PlannedCall,
    /// What the model holds to be the old and the new text.
    pub(super) belief: Option<EditText>,
    /// The edit that is right for the file as it is.
    pub(super) meant: Option<EditText>,
    /// The path of the first call: what the model holds the name to be.
    pub(super) believed_path: String,
    pub(super) mode: AttemptMode,
    /// The call under way that only looks.
    pub(super) look: Option<PlannedCall>,
    pub(super) looks: usize,
    /// Index of the slip in the log.
    pub(super) slip: Option<usize>,
    last_failure: Option<(String, String)>,
    equal_failures: usize,
}

impl Attempt {
    pub(super) fn new(intent: Intent, right: PlannedCall, is_implied: bool) -> Self {
        let meant = match &intent.kind {
            IntentKind::Edit { text, .. } => Some(text.clone()),
            _ => None,
        };
        Self {
            intent,
            is_implied,
            call: right.clone(),
            right,
            belief: meant.clone(),
            meant,
            believed_path: String::new(),
            mode: AttemptMode::Normal,
            look: None,
            looks: 0,
            slip: None,
            last_failure: None,
            equal_failures: 0,
        }
    }

    /// Sends this instead; the model believes what it sends.
    pub(super) fn send(&mut self, call: PlannedCall) {
        if let Some(belief) = &mut self.belief
            && call.input.contains_key("new_string")
        {
            call.text("old_string").clone_into(&mut belief.old);
            call.text("new_string").clone_into(&mut belief.new);
        }
        if let Some(field) = call.path_field().filter(|_| self.believed_path.is_empty()) {
            call.text(field).clone_into(&mut self.believed_path);
        }
        self.call = call;
        self.look = None;
    }

    /// Counts a failure; true when the same one came three times. What is added about the repetition is not the failure.
    pub(super) fn is_hopeless(&mut self, result: &str) -> bool {
        let failure = Some((self.call.shown(), result.lines().next().unwrap_or_default().to_owned()));
        self.equal_failures = if self.last_failure == failure { self.equal_failures + 1 } else { 1 };
        self.last_failure = failure;
        self.equal_failures >= 3
    }

    /// Whether the result of the call fulfils the intent.
    pub(super) fn is_fulfilled_by(&self, result: &ShownResult) -> bool {
        let holds = |wanted: &Option<String>| wanted.as_ref().is_none_or(|text| result.text.contains(text.as_str()));
        match &self.intent.kind {
            // A notebook is shown as cells.
            IntentKind::Read { file, expect } => {
                let has_lines = !numbered_blocks(&result.text).is_empty() || file.contains(".ipynb");
                !result.is_error && has_lines && holds(expect)
            }
            IntentKind::Run { expect: Some(text), .. } => result.text.contains(text.as_str()),
            IntentKind::Search { .. } => self.found(&result.text).is_some(),
            IntentKind::Call { expect, .. } => !result.is_error && holds(expect),
            IntentKind::Edit { .. } | IntentKind::Write { .. } | IntentKind::Run { .. } | IntentKind::Say { .. } => {
                !result.is_error
            }
        }
    }

    /// `path:line` of the line that a search wants.
    pub(super) fn found(&self, text: &str) -> Option<String> {
        let IntentKind::Search { want, unlike, .. } = &self.intent.kind else { return None };
        let is_it =
            |line: &&str| line.contains(want.as_str()) && !unlike.iter().any(|other| line.contains(other.as_str()));
        let line = text.lines().find(is_it)?;
        let mut parts = line.splitn(3, ':');
        let (path, number) = (parts.next()?, parts.next()?);
        number.parse::<u64>().ok().map(|number| format!("{}:{number}", path.trim()))
    }

    /// What the intent wants remembered of a result.
    pub(super) fn learned(&self, text: &str) -> Option<(String, String)> {
        let learn = self.intent.learn.as_ref()?;
        let value = match (&self.intent.kind, learn.from.as_deref()) {
            (IntentKind::Search { .. }, _) => self.found(text)?,
            (_, None | Some("id")) => super::paths::task_id(text)?,
            (_, Some(word)) => {
                let rest = &text[text.find(word)? + word.len()..];
                rest.lines().next()?.trim().to_owned()
            }
        };
        Some((learn.name.clone(), value))
    }
}

/// The call that a careful model sends for an intent; `None` for words to the person.
pub(super) fn right_call(kind: &IntentKind, view: &RequestView) -> Option<PlannedCall> {
    Some(match kind {
        IntentKind::Read { file, .. } => PlannedCall::read(&view.path(file)),
        IntentKind::Edit { file, text, .. } => {
            let mut input = json!({"file_path": view.path(file), "old_string": text.old, "new_string": text.new});
            if text.all {
                input["replace_all"] = json!(true);
            }
            PlannedCall::new("Edit", &input)
        }
        IntentKind::Write { file, content } => {
            PlannedCall::new("Write", &json!({"file_path": view.path(file), "content": content}))
        }
        IntentKind::Run { command, fields, .. } => {
            let mut call = PlannedCall::bash(command);
            call.input.extend(fields.as_object().cloned().unwrap_or_default());
            call
        }
        IntentKind::Search { pattern, path, .. } => {
            let mut input = json!({"pattern": pattern, "output_mode": "content"});
            if let Some(path) = path {
                input["path"] = json!(view.path(path));
            }
            PlannedCall::new("Grep", &input)
        }
        IntentKind::Call { tool, input, .. } => {
            let mut call = PlannedCall::new(tool, input);
            if let Some(path) = input["notebook_path"].as_str() {
                call.set("notebook_path", view.path(path));
            }
            call
        }
        IntentKind::Say { .. } => return None,
    })
}

/// Puts learned values in place of `{name}` in every text of an intent.
pub(super) fn fill(value: &mut Value, learned: &[(String, String)]) {
    match value {
        Value::String(text) => *text = filled(text, learned),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, learned)),
        Value::Object(fields) => fields.values_mut().for_each(|field| fill(field, learned)),
        _ => {}
    }
}

pub(super) fn filled(text: &str, learned: &[(String, String)]) -> String {
    learned.iter().rev().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{{{name}}}}}"), value))
}
