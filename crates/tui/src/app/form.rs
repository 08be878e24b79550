//! Requests of an MCP server to the user (elicitation): a form with one field after the other, or an address to open.
//! The dialog names the server and shows the address in full. Nothing is sent unless the user sends it, and no address
//! is opened automatically.

mod field;

use super::dialog::{DialogArea, DialogLayout};
use field::{FormField, FormFieldKind, value_text};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use terminal::editor::Editor;
use terminal::keys::{KeyCode, KeyPress};
use terminal::style::{StyledLine, TextStyle};
use terminal::text;
use terminal::theme::ThemeToken;
use wire::control::ElicitationQuestion;

#[derive(Debug)]
pub struct ElicitationForm {
    server: String,
    message: String,
    url: Option<String>,
    fields: Vec<FormField>,
    /// The index of the current field; `fields.len()` is the final review.
    at: usize,
    values: Map<String, Value>,
    editor: Editor,
    chosen: usize,
    /// The marked options, where several are allowed.
    marked: BTreeSet<usize>,
    /// Why the typed value was rejected.
    problem: Option<String>,
}

/// The `response` object once a key has completed the form; `None` before.
pub type FormAnswer = Option<Value>;

impl ElicitationForm {
    pub fn new(question: ElicitationQuestion) -> Self {
        let schema = question.requested_schema.unwrap_or_default();
        let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let properties = schema.get("properties").and_then(Value::as_object);
        let field = |(name, schema): (&String, &Value)| FormField::read(name, schema, required.contains(&json!(name)));
        let mut form = Self {
            server: question.mcp_server_name,
            message: question.message,
            url: question.url,
            fields: properties.into_iter().flatten().map(field).collect(),
            at: 0,
            values: Map::new(),
            editor: Editor::new(),
            chosen: 0,
            marked: BTreeSet::new(),
            problem: None,
        };
        form.enter_field();
        form
    }

    fn enter_field(&mut self) {
        self.chosen = 0;
        self.problem = None;
        let Some(field) = self.fields.get(self.at) else { return };
        let now = self.values.get(&field.name).unwrap_or(&field.default);
        match &field.kind {
            FormFieldKind::OneOf(values) => {
                self.chosen = values.iter().position(|(value, _)| value == now).unwrap_or(0);
            }
            FormFieldKind::AnyOf(values) => {
                let holds = |value: &Value| now.as_array().is_some_and(|now| now.contains(value));
                let marked = values.iter().enumerate().filter(|(_, (value, _))| holds(value));
                self.marked = marked.map(|(at, _)| at).collect();
            }
            FormFieldKind::Text | FormFieldKind::Number | FormFieldKind::Whole => self.editor.set(value_text(now)),
        }
    }

    pub fn paste(&mut self, pasted: &str) {
        self.editor.insert(pasted);
    }

    pub fn key(&mut self, key: KeyPress) -> FormAnswer {
        if key.code == KeyCode::Escape {
            return Some(json!({"action": "cancel"}));
        }
        let Some(field) = self.fields.get(self.at) else { return self.review_key(key) };
        let count = field.options().len();
        let marks = matches!(field.kind, FormFieldKind::AnyOf(_));
        match key.code {
            KeyCode::Tab if key.mods.shift => self.step_back(),
            KeyCode::Enter | KeyCode::Tab => self.take(),
            KeyCode::Up if count > 0 => self.chosen = self.chosen.checked_sub(1).unwrap_or(count - 1),
            KeyCode::Down if count > 0 => self.chosen = (self.chosen + 1) % count,
            KeyCode::Char(' ') if marks => self.mark(),
            _ if count > 0 => {
                let digit = key.text().and_then(|c| c.to_digit(10)).map(|digit| digit as usize);
                if let Some(digit) = digit.filter(|digit| (1..=count).contains(digit)) {
                    self.chosen = digit - 1;
                    if marks { self.mark() } else { self.take() }
                }
            }
            _ => {
                super::prompt::edit(&mut self.editor, key);
            }
        }
        None
    }

    fn step_back(&mut self) {
        self.at = self.at.saturating_sub(1);
        self.enter_field();
    }

    fn mark(&mut self) {
        if !self.marked.remove(&self.chosen) {
            self.marked.insert(self.chosen);
        }
    }

    /// Stores the value of the current field and moves on, if the value is valid.
    fn take(&mut self) {
        let Some(field) = self.fields.get(self.at) else { return };
        let value = match &field.kind {
            FormFieldKind::OneOf(values) => Ok(values.get(self.chosen).map(|(value, _)| value.clone())),
            FormFieldKind::AnyOf(values) => {
                let marked = self.marked.iter().filter_map(|at| values.get(*at)).map(|(value, _)| value.clone());
                let marked: Vec<Value> = marked.collect();
                let is_left_out = marked.is_empty() && !field.required;
                field.check_count(marked.len()).map(|()| (!is_left_out).then_some(Value::Array(marked)))
            }
            FormFieldKind::Text | FormFieldKind::Number | FormFieldKind::Whole => {
                field.parse_typed(&self.editor.expanded())
            }
        };
        match value {
            Ok(Some(value)) => drop(self.values.insert(field.name.clone(), value)),
            Ok(None) => drop(self.values.remove(&field.name)),
            Err(problem) => return self.problem = Some(problem),
        }
        self.at += 1;
        self.enter_field();
    }

    fn review_key(&mut self, key: KeyPress) -> FormAnswer {
        let accept = || json!({"action": "accept", "content": self.values});
        match key.code {
            KeyCode::Tab if key.mods.shift => self.step_back(),
            KeyCode::Up | KeyCode::Down => self.chosen = 1 - self.chosen.min(1),
            KeyCode::Char('1') => return Some(accept()),
            KeyCode::Enter if self.chosen == 0 => return Some(accept()),
            KeyCode::Char('2') | KeyCode::Enter => return Some(json!({"action": "decline"})),
            _ => {}
        }
        None
    }

    pub fn rows(&self, place: &DialogArea<'_>) -> (Vec<StyledLine>, Option<(usize, usize)>) {
        let (outer, place) = (place, &place.inner());
        let theme = place.theme;
        let (accent, faint) = (theme.fg(ThemeToken::Permission), theme.fg(ThemeToken::Inactive));
        let title = format!("The MCP server {} asks you", text::clean(&self.server));
        let head = StyledLine::styled(title, accent.bold()).wrapped(place.columns, 2);
        let message = terminal::style::lines_of(text::clean(&self.message).trim_end(), TextStyle::PLAIN);
        let mut middle: Vec<StyledLine> = message.iter().flat_map(|line| line.wrapped(place.columns, 0)).collect();
        if let Some(url) = &self.url {
            middle.extend(
                StyledLine::styled(text::clean(url), theme.fg(ThemeToken::Suggestion)).wrapped(place.columns, 0),
            );
            middle.extend(StyledLine::styled(host_label(url), faint).wrapped(place.columns, 0));
        }
        let answered = self.fields.iter().take(self.at);
        let given = answered.filter_map(|field| Some((field, self.values.get(&field.name)?)));
        let info = given
            .map(|(field, value)| StyledLine::styled(format!("  {}: {}", field.title, value_text(value)), faint))
            .collect();
        let mut caret = None;
        let mut choices = Vec::new();
        let mut hint = "esc to cancel · enter to continue · shift+tab to go back".to_owned();
        match self.fields.get(self.at) {
            None => {
                let labels = if self.url.is_some() { ["Yes, it is open", "Decline"] } else { ["Send it", "Decline"] };
                choices
                    .extend(labels.iter().enumerate().map(|(index, label)| option(index, label, self.chosen, accent)));
                hint = "esc to cancel · enter to choose".into();
            }
            Some(field) => {
                let needed = if field.required { "" } else { " (optional)" };
                let about = format!("{}{needed}  {}", field.title, field.about);
                choices.extend(StyledLine::styled(about, faint).wrapped(place.columns, 2));
                match &field.kind {
                    FormFieldKind::OneOf(_) => {
                        let row = |(index, label): (usize, &String)| option(index, label, self.chosen, accent);
                        choices.extend(field.options().iter().enumerate().map(row));
                    }
                    FormFieldKind::AnyOf(_) => {
                        let row = |(index, label): (usize, &String)| {
                            let mark = if self.marked.contains(&index) { "☑" } else { "☐" };
                            option(index, &format!("{mark} {label}"), self.chosen, accent)
                        };
                        choices.extend(field.options().iter().enumerate().map(row));
                        hint.push_str(" · space to select");
                    }
                    FormFieldKind::Text | FormFieldKind::Number | FormFieldKind::Whole => {
                        let column = 2 + text::width(&self.editor.text()[..self.editor.cursor()]);
                        caret = Some((choices.len(), column.min(place.columns.saturating_sub(1))));
                        choices.push(StyledLine::styled("> ", accent).and(self.editor.text(), TextStyle::PLAIN));
                    }
                }
                let problem = self.problem.as_ref();
                choices.extend(
                    problem.map(|problem| StyledLine::styled(format!("  {problem}"), theme.fg(ThemeToken::Error))),
                );
            }
        }
        let chosen = caret.map_or(self.chosen, |(row, _)| row);
        DialogLayout { head, middle, info, choices, chosen, hint }.rows(outer, 0, caret)
    }
}

fn option(index: usize, label: &str, chosen: usize, accent: TextStyle) -> StyledLine {
    let here = index == chosen;
    let style = if here { accent } else { TextStyle::PLAIN };
    StyledLine::styled(format!("{} {}. {}", if here { "❯" } else { " " }, index + 1, text::clean(label)), style)
}

/// The host an address really leads to.
fn host_label(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or(authority);
    format!("This link leads to {}. Open it yourself if you trust it.", text::clean(host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::session::SessionDisplay;
    use terminal::theme::Theme;

    fn texts(form: &ElicitationForm, columns: usize, rows: usize) -> Vec<String> {
        let (session, theme) = (SessionDisplay::default(), Theme::default());
        let place = DialogArea { session: &session, theme: &theme, columns, rows, waiting: 0 };
        crate::app::dialog::inside_margin(&form.rows(&place).0, &place)
    }

    fn write(form: &mut ElicitationForm, text: &str) {
        for c in text.chars() {
            form.key(KeyPress::char(c));
        }
    }

    const ENTER: KeyPress = KeyPress { code: KeyCode::Enter, mods: terminal::keys::KeyMods::NONE };

    fn question(fields: Value) -> ElicitationQuestion {
        serde_json::from_value(fields).unwrap()
    }

    fn form() -> ElicitationForm {
        ElicitationForm::new(question(json!({"mcp_server_name": "files", "message": "Who are you?", "mode": "form",
            "requested_schema": {"type": "object", "required": ["name", "age"], "properties": {
                "name": {"type": "string", "title": "Name"}, "age": {"type": "integer"},
                "kind": {"enum": ["a", "b"], "default": "b"}, "note": {"type": "string"}}}})))
    }

    #[test]
    fn fields_are_filled_in_one_after_the_other_and_checked() {
        // [TST-213]
        let mut form = form();
        assert!(texts(&form, 60, 20).contains(&"The MCP server files asks you".to_owned()));
        form.key(ENTER);
        assert!(texts(&form, 60, 20).contains(&"  it is required".to_owned()));
        write(&mut form, "Ada");
        form.key(ENTER);
        write(&mut form, "old");
        form.key(ENTER);
        assert!(texts(&form, 60, 20).contains(&"  that is not a whole number".to_owned()));
        form.editor.set("36");
        form.key(ENTER);
        assert!(texts(&form, 60, 20).contains(&"❯ 2. b".to_owned()), "{:?}", texts(&form, 60, 20));
        form.key(ENTER);
        form.key(ENTER);
        let answer = form.key(KeyPress::char('1')).unwrap();
        assert_eq!(answer, json!({"action": "accept", "content": {"name": "Ada", "age": 36, "kind": "b"}}));
    }

    #[test]
    fn what_a_schema_says_is_checked_before_it_is_sent() {
        // [TST-213]
        let field = |schema: Value| FormField::read("f", &schema, true);
        let mail = field(json!({"type": "string", "format": "email"}));
        assert!(mail.parse_typed("a@b").is_err() && mail.parse_typed("a@b.test").is_ok());
        let day = field(json!({"type": "string", "format": "date"}));
        assert!(day.parse_typed("2026-13-01").is_err() && day.parse_typed("2026-12-01").is_ok());
        let page = field(json!({"type": "string", "format": "uri"}));
        assert!(page.parse_typed("here").is_err() && page.parse_typed("https://a.test").is_ok());
        let some = field(json!({"type": "number", "minimum": 1, "maximum": 5}));
        assert!(some.parse_typed("0.5").is_err() && some.parse_typed("6").is_err() && some.parse_typed("2.5").is_ok());
        let short = field(json!({"type": "string", "minLength": 2, "maxLength": 3}));
        assert!(
            short.parse_typed("a").is_err() && short.parse_typed("abcd").is_err() && short.parse_typed("äöü").is_ok()
        );
    }

    #[test]
    fn choices_have_their_titles_and_may_be_left_out_or_several() {
        // [TST-213]
        let colours = json!({"oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]});
        let many = json!({"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["a", "b", "c"]}});
        let schema = json!({"properties": {"colour": colours, "letters": many}, "required": ["letters"]});
        let mut form =
            ElicitationForm::new(question(json!({"mcp_server_name": "s", "message": "?", "requested_schema": schema})));
        let rows = texts(&form, 60, 20);
        assert!(rows.contains(&"❯ 1. Red".to_owned()) && rows.contains(&"  3. (skip)".to_owned()), "{rows:?}");
        form.key(KeyPress::char('3'));
        form.key(ENTER);
        assert!(texts(&form, 60, 20).contains(&"  select at least 1".to_owned()));
        form.key(KeyPress::char('1'));
        form.key(KeyPress::char('3'));
        form.key(ENTER);
        assert_eq!(form.key(ENTER), Some(json!({"action": "accept", "content": {"letters": ["a", "c"]}})));
    }

    #[test]
    fn nothing_is_sent_by_accident() {
        // [TST-213]
        assert_eq!(form().key(KeyPress::plain(KeyCode::Escape)), Some(json!({"action": "cancel"})));
        let mut empty = ElicitationForm::new(question(json!({"mcp_server_name": "s", "message": "ok?"})));
        assert_eq!(empty.key(KeyPress::char('2')), Some(json!({"action": "decline"})));
    }

    #[test]
    fn an_address_is_shown_whole_with_where_it_leads() {
        // [SC-H06]
        let url = "https://bank.example@evil.example/login?next=bank.example";
        let form = ElicitationForm::new(question(json!({"mcp_server_name": "s", "message": "Sign in", "url": url})));
        let rows = texts(&form, 80, 20);
        assert!(rows.contains(&url.to_owned()), "{rows:?}");
        assert!(rows.iter().any(|row| row.starts_with("This link leads to evil.example.")), "{rows:?}");
        for (columns, rows) in [(20, 5), (40, 10)] {
            assert!(texts(&form, columns, rows).len() <= rows);
        }
    }
}
