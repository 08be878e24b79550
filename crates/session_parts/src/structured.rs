//! Structured output: a tool the model must call with a value that matches the user's schema.

use futures_util::future::BoxFuture;
use permission::Access;
use serde_json::value::RawValue;
use std::sync::Arc;
use sys::sync::Mutex;
use tools::facts::{ToolClass, ToolFacts};
use tools::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};
use wire::json_schema::Schema;

pub const NAME: &str = "StructuredOutput";
pub const FACTS: ToolFacts = ToolFacts::of(ToolClass::Answer);

const DESCRIPTION: &str = "Deliver the final answer as structured data. Call it exactly once, when the work is done; \
                           the input is the answer and must fit the schema.";

/// The value delivered in the running turn.
type OutputSlot = Arc<Mutex<Option<Box<RawValue>>>>;

pub struct StructuredOutput {
    spec: ToolSpec,
    validator: Arc<Schema>,
    slot: OutputSlot,
}

/// The schema is invalid. The text is for the user.
#[derive(Debug, thiserror::Error)]
#[error("--json-schema is not a valid JSON Schema: {0}")]
pub struct OutputSchemaError(String);

impl StructuredOutput {
    pub fn new(schema: &serde_json::Value) -> Result<Self, OutputSchemaError> {
        if !schema.is_object() {
            return Err(OutputSchemaError("it must be an object".into()));
        }
        let validator = Schema::compile(schema).map_err(|error| OutputSchemaError(error.to_string()))?;
        let spec = ToolSpec {
            name: NAME.into(),
            description: DESCRIPTION.into(),
            schema: tool_schema(schema).to_string().into(),
            facts: FACTS,
        };
        Ok(Self { spec, validator: Arc::new(validator), slot: OutputSlot::default() })
    }

    /// Takes the value that the turn delivered.
    pub fn take(&self) -> Option<Box<RawValue>> {
        self.slot.lock().take()
    }

    pub fn is_delivered(&self) -> bool {
        self.slot.lock().is_some()
    }
}

/// The API requires an object schema; other schemas are wrapped in an object.
fn tool_schema(schema: &serde_json::Value) -> serde_json::Value {
    if schema.get("type").is_some_and(|t| t == "object") {
        return schema.clone();
    }
    serde_json::json!({"type": "object", "properties": {"value": schema}, "required": ["value"]})
}

impl Tool for StructuredOutput {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let value: serde_json::Value =
            serde_json::from_str(input.get()).map_err(|e| InputError(format!("{NAME}: {e}")))?;
        let wrapped = self.spec.schema.starts_with(r#"{"type":"object","properties":{"value":"#)
            && value.as_object().is_some_and(|o| o.len() == 1 && o.contains_key("value"));
        let answer = if wrapped && !self.validator.is_valid(&value) { value["value"].clone() } else { value };
        Ok(Box::new(StructuredOutputCall { answer, validator: self.validator.clone(), slot: self.slot.clone() }))
    }
}

struct StructuredOutputCall {
    answer: serde_json::Value,
    validator: Arc<Schema>,
    slot: OutputSlot,
}

impl ToolCall for StructuredOutputCall {
    fn access(&self, _at: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Exclusive
    }

    fn run(self: Box<Self>, _cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move { self.deliver() })
    }
}

impl StructuredOutputCall {
    fn deliver(&self) -> ToolOutcome {
        let faults: Vec<String> = self.validator.faults(&self.answer, 5).iter().map(ToString::to_string).collect();
        if !faults.is_empty() {
            return ToolOutcome::failed(format!("The output does not fit the schema.\n{}", faults.join("\n")));
        }
        let mut slot = self.slot.lock();
        if slot.is_some() {
            return ToolOutcome::failed("The output was already delivered in this turn.");
        }
        let Ok(raw) = wire::raw::to_raw(&self.answer) else {
            return ToolOutcome::failed("The output could not be read.");
        };
        *slot = Some(raw.clone());
        ToolOutcome::text("Structured output delivered.", Some(raw))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(tool: &StructuredOutput, input: &str) -> ToolOutcome {
        let raw = RawValue::from_string(input.into()).unwrap();
        let value: serde_json::Value = serde_json::from_str(raw.get()).unwrap();
        StructuredOutputCall { answer: value, validator: tool.validator.clone(), slot: tool.slot.clone() }.deliver()
    }

    #[test]
    fn rejects_then_accepts_once() {
        let schema = serde_json::json!({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]});
        let tool = StructuredOutput::new(&schema).unwrap();
        let bad = delivery(&tool, r#"{"n":"x"}"#);
        assert!(bad.is_error && bad.content.text().contains("/n"), "{}", bad.content.text());
        assert!(!delivery(&tool, r#"{"n":1}"#).is_error);
        assert!(delivery(&tool, r#"{"n":2}"#).is_error);
        assert_eq!(tool.take().unwrap().get(), r#"{"n":1}"#);
    }

    // [CLI-26] `format` is accepted and not enforced.
    #[test]
    fn format_is_an_annotation() {
        let schema = serde_json::json!({"type":"object","properties":{"mail":{"type":"string","format":"email"}}});
        assert!(!delivery(&StructuredOutput::new(&schema).unwrap(), r#"{"mail":"nope"}"#).is_error);
    }

    #[test]
    fn a_bad_schema_is_refused() {
        assert!(StructuredOutput::new(&serde_json::json!({"type": "nonsense"})).is_err());
    }
}
