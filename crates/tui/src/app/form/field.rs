//! The fields of a form: how each is filled in, and whether a value is valid. Only constraints of the schema that are
//! known here are checked; the server checks the rest.

use serde_json::{Value, json};
use terminal::text;

/// How a field is filled in.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FormFieldKind {
    Text,
    Number,
    Whole,
    /// One of these values, each with its label.
    OneOf(Vec<(Value, String)>),
    /// Any number of these values.
    AnyOf(Vec<(Value, String)>),
}

#[derive(Clone, Debug)]
pub(super) struct FormField {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) about: String,
    pub(super) kind: FormFieldKind,
    pub(super) required: bool,
    pub(super) default: Value,
    schema: Value,
}

impl FormField {
    pub(super) fn read(name: &str, schema: &Value, required: bool) -> Self {
        let text =
            |key: &str| text::clean(schema.get(key).and_then(Value::as_str).unwrap_or_default()).replace('\n', " ");
        let kind = match (choices(schema), schema.get("type").and_then(Value::as_str)) {
            (Some(values), _) => FormFieldKind::OneOf(values),
            (None, Some("boolean")) => {
                FormFieldKind::OneOf(vec![(true.into(), "yes".into()), (false.into(), "no".into())])
            }
            (None, Some("number")) => FormFieldKind::Number,
            (None, Some("integer")) => FormFieldKind::Whole,
            (None, Some("array")) => {
                schema.get("items").and_then(choices).map_or(FormFieldKind::Text, FormFieldKind::AnyOf)
            }
            (None, _) => FormFieldKind::Text,
        };
        let title = Some(text("title")).filter(|title| !title.is_empty()).unwrap_or_else(|| text::clean(name));
        let default = schema.get("default").cloned().unwrap_or(Value::Null);
        Self {
            name: name.to_owned(),
            title,
            about: text("description"),
            kind,
            required,
            default,
            schema: schema.clone(),
        }
    }

    /// The options to choose from, if any. An optional single choice has a row for leaving it out.
    pub(super) fn options(&self) -> Vec<String> {
        match &self.kind {
            FormFieldKind::OneOf(values) | FormFieldKind::AnyOf(values) => {
                let left_out =
                    (!self.required && matches!(self.kind, FormFieldKind::OneOf(_))).then(|| "(skip)".to_owned());
                values.iter().map(|(_, label)| label.clone()).chain(left_out).collect()
            }
            FormFieldKind::Text | FormFieldKind::Number | FormFieldKind::Whole => Vec::new(),
        }
    }

    /// Parses the typed text; `None` when the field was left empty.
    pub(super) fn parse_typed(&self, typed: &str) -> Result<Option<Value>, String> {
        let typed = typed.trim();
        if typed.is_empty() {
            return if self.required { Err("it is required".into()) } else { Ok(None) };
        }
        let value = match self.kind {
            FormFieldKind::Number => {
                let number = typed.parse::<f64>().ok().filter(|number| number.is_finite());
                number.map(Value::from).ok_or("that is not a number")?
            }
            FormFieldKind::Whole => typed.parse::<i64>().map(Value::from).map_err(|_| "that is not a whole number")?,
            FormFieldKind::Text | FormFieldKind::OneOf(_) | FormFieldKind::AnyOf(_) => json!(typed),
        };
        self.check(&value)?;
        Ok(Some(value))
    }

    fn check(&self, value: &Value) -> Result<(), String> {
        let limit = |name: &str| self.schema.get(name).and_then(Value::as_f64);
        if let Some(number) = value.as_f64() {
            return match (limit("minimum"), limit("maximum")) {
                (Some(least), _) if number < least => Err(format!("at least {least}")),
                (_, Some(most)) if number > most => Err(format!("at most {most}")),
                _ => Ok(()),
            };
        }
        let typed = value.as_str().unwrap_or_default();
        let length = typed.chars().count() as f64;
        match (limit("minLength"), limit("maxLength"), self.schema.get("format").and_then(Value::as_str)) {
            (Some(least), ..) if length < least => Err(format!("at least {least} characters")),
            (_, Some(most), _) if length > most => Err(format!("at most {most} characters")),
            (.., Some("email")) if !is_email(typed) => Err("that is not an e-mail address".into()),
            (.., Some("uri")) if !typed.contains("://") && !typed.starts_with("mailto:") => {
                Err("that is not an address: it must begin with https:// or similar".into())
            }
            (.., Some("date")) if !is_date(typed) => Err("a date like 2026-12-31".into()),
            _ => Ok(()),
        }
    }

    /// Whether the number of marked options is within the limits of the schema.
    pub(super) fn check_count(&self, count: usize) -> Result<(), String> {
        let limit = |name: &str| self.schema.get(name).and_then(Value::as_u64).map(|limit| limit as usize);
        let least = limit("minItems").unwrap_or(0).max(usize::from(self.required));
        match limit("maxItems") {
            _ if count < least => Err(format!("select at least {least}")),
            Some(most) if count > most => Err(format!("select at most {most}")),
            _ => Ok(()),
        }
    }
}

/// `enum` with `enumNames`, or `oneOf`/`anyOf` with `const` and `title`.
fn choices(schema: &Value) -> Option<Vec<(Value, String)>> {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let name = |at: usize| schema.get("enumNames")?.get(at)?.as_str();
        let pair =
            |(at, value): (usize, &Value)| (value.clone(), name(at).map_or_else(|| value_text(value), text::clean));
        return Some(values.iter().enumerate().map(pair).collect());
    }
    let titled = ["oneOf", "anyOf"].into_iter().find_map(|key| schema.get(key)?.as_array())?;
    let pair = |choice: &Value| {
        let value = choice.get("const")?.clone();
        let title = choice.get("title").and_then(Value::as_str).map_or_else(|| value_text(&value), text::clean);
        Some((value, title))
    };
    titled.iter().map(pair).collect()
}

pub(super) fn value_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text::clean(text),
        Value::Array(values) => values.iter().map(value_text).collect::<Vec<_>>().join(", "),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        other => other.to_string(),
    }
}

fn is_email(typed: &str) -> bool {
    let host = |host: &str| host.contains('.') && !host.starts_with('.') && !host.ends_with('.');
    typed.split_once('@').is_some_and(|(name, rest)| !name.is_empty() && host(rest)) && !typed.contains(' ')
}

fn is_date(typed: &str) -> bool {
    let parts: Vec<&str> = typed.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let within = |text: &str, range: std::ops::RangeInclusive<u32>| text.parse().is_ok_and(|n| range.contains(&n));
    year.len() == 4 && year.parse::<u32>().is_ok() && within(month, 1..=12) && within(day, 1..=31)
}
