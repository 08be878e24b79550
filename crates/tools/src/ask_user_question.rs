//! AskUserQuestion: the caller asks the person and puts the answers into the input. The tool itself only checks the
//! questions and formats the result; it never invents an answer.

use crate::contract::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};
use crate::facts::{AgentUse, ToolClass, ToolFacts};
use crate::input::ToolInput;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use permission::Access;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt::Write;

pub const NAME: &str = "AskUserQuestion";

const FACTS: ToolFacts = ToolFacts { agents: AgentUse::Never, ..ToolFacts::of(ToolClass::Question) };

static SPEC: ToolSpec =
    ToolSpec::of(NAME, include_str!("ask_user_question.md"), include_str!("ask_user_question.schema.json"), FACTS);

pub struct AskUserQuestionTool;

const RESPONDED: &str = "The user responded: ";
const ANSWERED: &str = "The user answered your questions: ";
const GO_ON: &str = " Go on with these answers in mind.";

/// What the person answered, from the text of a result; `None` when nothing was answered.
pub fn answers_in(result: &str) -> Option<&str> {
    let answered = || result.strip_prefix(ANSWERED).map(|text| text.strip_suffix(GO_ON).unwrap_or(text));
    result.strip_prefix(RESPONDED).or_else(answered)
}

/// Input fields that only the person, or a host that answers for them, may set.
pub const ANSWER_FIELDS: [&str; 4] = ["answers", "annotations", "response", "afkTimeoutMs"];

impl Tool for AskUserQuestionTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of(NAME, input)?;
        let questions = input.objects("questions")?;
        if !(1..=4).contains(&questions.len()) {
            return Err(input.refuse("questions", "must have 1 to 4 entries"));
        }
        let mut texts = BTreeSet::new();
        let mut asked = Vec::new();
        for question in &questions {
            let text = check(question)?;
            if !texts.insert(text.clone()) {
                return Err(question.refuse("question", "is asked twice: answers are told apart by it"));
            }
            asked.push(text);
        }
        let raw = |name| input.raw(name).map(RawValue::to_owned);
        Ok(Box::new(AskUserQuestionCall {
            question_texts: asked,
            questions: input.raw("questions").map(RawValue::to_owned).ok_or_else(|| input.missing("questions"))?,
            answers: answers(&input)?,
            response: input.opt_string("response")?.filter(|text| !text.trim().is_empty()),
            annotations: raw("annotations"),
            afk_timeout_ms: input.opt_number("afkTimeoutMs")?,
        }))
    }
}

fn check(question: &ToolInput<'_>) -> Result<String, InputError> {
    let text = question.string("question")?;
    if text.trim().is_empty() {
        return Err(question.refuse("question", "must not be empty"));
    }
    question.opt_string("header")?;
    question.opt_bool("multiSelect")?;
    let options = question.objects("options")?;
    if !(2..=4).contains(&options.len()) {
        return Err(question.refuse("options", "must have 2 to 4 entries"));
    }
    for option in &options {
        option.string("label")?;
    }
    Ok(text)
}

/// Answers by question. Several choices are joined into one text.
fn answers(input: &ToolInput<'_>) -> Result<Map<String, Value>, InputError> {
    let Some(raw) = input.raw("answers") else { return Ok(Map::new()) };
    let given: Map<String, Value> =
        serde_json::from_str(raw.get()).map_err(|_| input.refuse("answers", "must be an object"))?;
    let text = |value: Value| match value {
        Value::Array(parts) => {
            let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
            Value::String(parts.join(", "))
        }
        other => other,
    };
    Ok(given.into_iter().map(|(question, answer)| (question, text(answer))).collect())
}

struct AskUserQuestionCall {
    /// The texts of the questions, in order.
    question_texts: Vec<String>,
    questions: Box<RawValue>,
    answers: Map<String, Value>,
    /// The person answered in free text instead of choosing.
    response: Option<String>,
    annotations: Option<Box<RawValue>>,
    afk_timeout_ms: Option<u64>,
}

impl ToolCall for AskUserQuestionCall {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Interact]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Shared
    }

    fn run(self: Box<Self>, _: CallContext) -> BoxFuture<'static, ToolOutcome> {
        async move { self.outcome() }.boxed()
    }
}

#[derive(Serialize)]
struct AskUserQuestionOutput<'a> {
    questions: &'a RawValue,
    answers: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a RawValue>,
    #[serde(rename = "afkTimeoutMs", skip_serializing_if = "Option::is_none")]
    afk_timeout_ms: Option<u64>,
}

impl AskUserQuestionCall {
    fn outcome(&self) -> ToolOutcome {
        let output = AskUserQuestionOutput {
            questions: &self.questions,
            answers: &self.answers,
            response: self.response.as_deref(),
            annotations: self.annotations.as_deref(),
            afk_timeout_ms: self.afk_timeout_ms,
        };
        ToolOutcome::text(self.text(), wire::raw::to_raw(&output).ok())
    }

    fn text(&self) -> String {
        if let Some(response) = &self.response {
            return format!("{RESPONDED}{response}");
        }
        let pairs = self.pairs();
        if pairs.is_empty() {
            return "The user skipped the questions and chose nothing. Go on with your own best judgement, and say what \
                    you assumed."
                .into();
        }
        let mut text = format!("{ANSWERED}{}.", pairs.join(", "));
        if pairs.len() < self.question_texts.len() {
            text.push_str(" The other questions were left open.");
        }
        text.push_str(GO_ON);
        text
    }

    /// Question and answer pairs in the order of the questions; answers to unknown questions come last.
    fn pairs(&self) -> Vec<String> {
        let others = self.answers.keys().filter(|question| !self.question_texts.contains(question));
        let answered = self.question_texts.iter().chain(others).filter_map(|question| {
            let answer = self.answers.get(question)?.as_str().filter(|answer| !answer.is_empty())?;
            let mut pair = format!("\"{question}\"=\"{answer}\"");
            if let Some(notes) = self.annotation_text(question) {
                write!(pair, " (note of the user: {notes})").ok();
            }
            Some(pair)
        });
        answered.collect()
    }

    fn annotation_text(&self, question: &str) -> Option<String> {
        let all: Value = serde_json::from_str(self.annotations.as_ref()?.get()).ok()?;
        let notes = all.get(question)?.get("notes")?.as_str()?;
        (!notes.trim().is_empty()).then(|| notes.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(more: &Value) -> Result<String, String> {
        let question = |text: &str| {
            json!({"question": text, "header": "H", "multiSelect": false,
            "options": [{"label": "a", "description": ""}, {"label": "b", "description": ""}]})
        };
        let mut input = json!({"questions": [question("One?"), question("Two?")]});
        for (key, value) in more.as_object().unwrap() {
            input[key] = value.clone();
        }
        let raw = RawValue::from_string(input.to_string()).unwrap();
        let call = AskUserQuestionTool.parse(&raw).map_err(|e| e.to_string())?;
        assert_eq!(
            call.access(&Workspace { cwd: "/".into(), project: "/".into(), additional: Vec::new(), home: None }),
            [Access::Interact]
        );
        let parsed = ToolInput::of("AskUserQuestion", &raw).unwrap();
        let asked = AskUserQuestionCall {
            question_texts: vec!["One?".into(), "Two?".into()],
            questions: RawValue::NULL.to_owned(),
            answers: answers(&parsed).unwrap(),
            response: parsed.opt_string("response").unwrap(),
            annotations: parsed.raw("annotations").map(RawValue::to_owned),
            afk_timeout_ms: None,
        };
        Ok(asked.text())
    }

    #[test]
    fn answers_are_told_in_the_order_of_the_questions() {
        // [TST-84] [TST-85]
        let said = text(&json!({"answers": {"Two?": ["a", "b"], "One?": "my \"own\" words"}})).unwrap();
        assert!(said.contains(r#""One?"="my "own" words", "Two?"="a, b"."#), "{said}");
        let noted = json!({"answers": {"One?": "a"}, "annotations": {"One?": {"notes": "not sure"}}});
        let said = text(&noted).unwrap();
        assert!(said.contains(r#""One?"="a" (note of the user: not sure). The other questions"#), "{said}");
        assert_eq!(answers_in(&said).unwrap().find("\"One?\""), Some(0), "{said}");
        let said = text(&json!({"response": "neither, wait"})).unwrap();
        assert_eq!(said, "The user responded: neither, wait");
        assert_eq!(answers_in(&said), Some("neither, wait"));
        assert_eq!(answers_in(&text(&json!({"answers": {}})).unwrap()), None);
        assert!(text(&json!({"answers": {}})).unwrap().contains("skipped"));
    }

    #[test]
    fn questions_that_cannot_be_shown_are_refused() {
        for broken in [
            json!({"questions": []}),
            json!({"questions": [{"question": "Q?", "header": "H", "options": [{"label": "a"}], "multiSelect": false}]}),
            json!({"questions": [{"question": " ", "header": "H", "options": [{"label": "a"}, {"label": "b"}]}]}),
            json!({"answers": 7}),
        ] {
            assert!(text(&broken).is_err(), "{broken}");
        }
    }
}
