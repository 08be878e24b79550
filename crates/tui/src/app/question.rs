//! Questions the model asks the person: a tab for each, one or several options with previews, a text of one's own, a note,
//! and a last look when it is needed. The answers go back as part of the call's input, by the text of each question.

use super::dialog::{Place, Sheet};
use crate::editor::Editor;
use crate::keys::{Code, Key};
use crate::style::{Line, Style};
use crate::text;
use crate::theme::Token;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

#[derive(Clone, Debug, Deserialize)]
struct Question {
    question: String,
    #[serde(default)]
    header: String,
    #[serde(default)]
    options: Vec<Choice>,
    #[serde(default, rename = "multiSelect")]
    multiple: bool,
}

#[derive(Clone, Debug, Deserialize)]
struct Choice {
    label: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    preview: String,
}

/// A question and what was said to it so far.
#[derive(Debug)]
struct Tab {
    question: Question,
    /// The row pointed at; one more than the options is the text of one's own.
    at: usize,
    /// Options that hold: at most one where only one may be chosen.
    marked: BTreeSet<usize>,
    own: String,
    note: String,
}

/// What is being typed.
#[derive(Debug)]
enum Field {
    Own(Editor),
    Note(Editor),
}

#[derive(Debug)]
pub struct Questions {
    tabs: Vec<Tab>,
    /// The last look comes after all tabs.
    at: usize,
    field: Option<Field>,
    /// The last look: send, or go back.
    sends: bool,
    touched_at: Duration,
}

/// What a key led to.
#[derive(Debug, PartialEq)]
pub enum Progress {
    Goes,
    /// The fields to be added to the call's input.
    Done(Map<String, Value>),
    Refused,
}

#[derive(Deserialize)]
struct Input {
    questions: Vec<Question>,
}

impl Tab {
    fn new(question: Question) -> Self {
        Self { question, at: 0, marked: BTreeSet::new(), own: String::new(), note: String::new() }
    }

    fn answer(&self) -> Option<String> {
        let labels = self.marked.iter().filter_map(|at| self.question.options.get(*at)).map(|o| o.label.as_str());
        let all: Vec<&str> = labels.chain(Some(self.own.as_str()).filter(|own| !own.is_empty())).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    fn annotation(&self) -> Option<Value> {
        let mut fields = Map::new();
        if !self.note.is_empty() {
            fields.insert("notes".into(), json!(self.note));
        }
        let preview = self.marked.first().and_then(|at| self.question.options.get(*at)).map(|option| &option.preview);
        if let Some(preview) = preview.filter(|preview| !preview.is_empty()) {
            fields.insert("preview".into(), json!(preview));
        }
        (!fields.is_empty()).then_some(Value::Object(fields))
    }

    fn toggle(&mut self) {
        if !self.marked.remove(&self.at) {
            self.marked.insert(self.at);
        }
    }
}

impl Questions {
    /// `None` when the input is not of that kind.
    pub fn read(tool: &str, input: &Value, now: Duration) -> Option<Self> {
        if tool != "AskUserQuestion" {
            return None;
        }
        let Input { questions } = Input::deserialize(input).ok()?;
        let asks = !questions.is_empty() && questions.iter().all(|question| !question.question.is_empty());
        let tabs = questions.into_iter().map(Tab::new).collect();
        asks.then_some(Self { tabs, at: 0, field: None, sends: true, touched_at: now })
    }

    /// When a key last came.
    pub fn touched_at(&self) -> Duration {
        self.touched_at
    }

    /// Nobody is there: what was chosen so far is the answer.
    pub fn give_up(&mut self, after: Duration) -> Progress {
        self.keep_field();
        let mut fields = self.fields();
        fields.insert("afkTimeoutMs".into(), json!(after.as_millis() as u64));
        Progress::Done(fields)
    }

    pub fn paste(&mut self, pasted: &str) {
        if let Some(Field::Own(editor) | Field::Note(editor)) = &mut self.field {
            editor.insert(pasted);
        }
    }

    pub fn key(&mut self, key: Key, now: Duration) -> Progress {
        self.touched_at = now;
        if self.field.is_some() {
            return self.field_key(key);
        }
        match (key.code, key.mods.shift) {
            (Code::Right, _) | (Code::Tab, false) if self.tabs.len() > 1 => {
                self.at = (self.at + 1).min(self.tabs.len());
                return Progress::Goes;
            }
            (Code::Left, _) | (Code::Tab, true) => {
                self.at = self.at.saturating_sub(1);
                return Progress::Goes;
            }
            _ => {}
        }
        if self.at == self.tabs.len() { self.review_key(key) } else { self.option_key(key) }
    }

    fn option_key(&mut self, key: Key) -> Progress {
        let tab = &mut self.tabs[self.at];
        let count = tab.question.options.len() + 1;
        if let Some(digit) = key.text().and_then(|c| c.to_digit(10)) {
            if (1..=count).contains(&(digit as usize)) {
                tab.at = digit as usize - 1;
                return if tab.question.multiple { self.mark() } else { self.choose() };
            }
            return Progress::Goes;
        }
        match key.code {
            Code::Escape => return Progress::Refused,
            Code::Up => tab.at = tab.at.checked_sub(1).unwrap_or(count - 1),
            Code::Down | Code::Tab => tab.at = (tab.at + 1) % count,
            Code::Char(' ') if tab.question.multiple => return self.mark(),
            Code::Char('n') if key.mods.is_none() => {
                let mut editor = Editor::new();
                editor.insert(&tab.note);
                self.field = Some(Field::Note(editor));
            }
            Code::Enter => return self.choose(),
            _ => {}
        }
        Progress::Goes
    }

    fn review_key(&mut self, key: Key) -> Progress {
        match key.code {
            Code::Escape => self.at -= 1,
            Code::Up | Code::Down => self.sends = !self.sends,
            Code::Char('1') => return Progress::Done(self.fields()),
            Code::Enter if self.sends => return Progress::Done(self.fields()),
            Code::Char('2') | Code::Enter => self.at = 0,
            _ => {}
        }
        Progress::Goes
    }

    fn field_key(&mut self, key: Key) -> Progress {
        match key.code {
            Code::Escape => self.field = None,
            Code::Enter => {
                let was_own = matches!(self.field, Some(Field::Own(_)));
                self.keep_field();
                if was_own && !self.tabs[self.at].own.is_empty() && !self.tabs[self.at].question.multiple {
                    self.tabs[self.at].marked.clear();
                    return self.advance();
                }
            }
            _ => {
                if let Some(Field::Own(editor) | Field::Note(editor)) = &mut self.field {
                    super::keys::edit(editor, key);
                }
            }
        }
        Progress::Goes
    }

    fn keep_field(&mut self) {
        let Some(tab) = self.tabs.get_mut(self.at) else { return };
        match self.field.take() {
            Some(Field::Own(editor)) => editor.expanded().trim().clone_into(&mut tab.own),
            Some(Field::Note(editor)) => editor.expanded().trim().clone_into(&mut tab.note),
            None => {}
        }
    }

    fn write_own(&mut self) -> Progress {
        let mut editor = Editor::new();
        editor.insert(&self.tabs[self.at].own);
        self.field = Some(Field::Own(editor));
        Progress::Goes
    }

    fn mark(&mut self) -> Progress {
        let tab = &mut self.tabs[self.at];
        if tab.at == tab.question.options.len() {
            return self.write_own();
        }
        tab.toggle();
        Progress::Goes
    }

    fn choose(&mut self) -> Progress {
        let tab = &mut self.tabs[self.at];
        let is_own = tab.at == tab.question.options.len();
        if tab.question.multiple {
            if tab.answer().is_none() && is_own {
                return self.write_own();
            }
            if tab.answer().is_none() {
                tab.toggle();
            }
            return self.advance();
        }
        if is_own {
            return self.write_own();
        }
        tab.own.clear();
        tab.marked = BTreeSet::from([tab.at]);
        self.advance()
    }

    /// To the next question; after the last one to the end, with a last look where something could have been missed.
    fn advance(&mut self) -> Progress {
        let last = self.at + 1 == self.tabs.len();
        let complete = self.tabs.iter().all(|tab| tab.answer().is_some());
        let single = self.tabs.len() == 1 || !self.tabs[self.at].question.multiple;
        if last && complete && single {
            return Progress::Done(self.fields());
        }
        self.at += 1;
        self.sends = true;
        Progress::Goes
    }

    fn fields(&self) -> Map<String, Value> {
        let by = |value: fn(&Tab) -> Option<Value>| -> Map<String, Value> {
            self.tabs.iter().filter_map(|tab| Some((tab.question.question.clone(), value(tab)?))).collect()
        };
        let mut fields = Map::new();
        fields.insert("answers".into(), Value::Object(by(|tab| tab.answer().map(Value::String))));
        let annotations = by(Tab::annotation);
        if !annotations.is_empty() {
            fields.insert("annotations".into(), Value::Object(annotations));
        }
        fields
    }

    /// The questions in at most `place.rows` rows, and where the cursor is while a text is typed.
    pub fn rows(&self, place: &Place<'_>) -> (Vec<Line>, Option<(usize, usize)>) {
        let accent = place.theme.fg(Token::Permission);
        let mut head = Vec::new();
        if self.tabs.len() > 1 {
            head.push(self.chips(place));
        }
        if self.at == self.tabs.len() {
            return self.review(place, head);
        }
        let tab = &self.tabs[self.at];
        head.extend(Line::styled(text::clean(&tab.question.question), accent.bold()).wrapped(place.columns, 0));
        let (mut choices, mut chosen) = self.options(tab, place);
        let mut caret = None;
        if let Some(field) = &self.field {
            let (lead, editor) = match field {
                Field::Own(editor) => ("  answer: ", editor),
                Field::Note(editor) => ("  note: ", editor),
            };
            let column = text::width(lead) + text::width(&editor.text()[..editor.cursor()]);
            chosen = choices.len();
            caret = Some((chosen, column.min(place.columns.saturating_sub(1))));
            choices.push(Line::styled(lead, place.theme.fg(Token::Inactive)).and(editor.text(), Style::PLAIN));
        } else if !tab.note.is_empty() {
            choices.push(Line::styled(format!("  note: {}", text::clean(&tab.note)), place.theme.fg(Token::Inactive)));
        }
        let sheet =
            Sheet { head, middle: preview(tab, place), info: Vec::new(), choices, chosen, hint: self.hint(tab) };
        sheet.rows(place, 0, caret)
    }

    /// `☒ Database   ☐ Tests   Send`
    fn chips(&self, place: &Place<'_>) -> Line {
        let (accent, faint) = (place.theme.fg(Token::Permission), place.theme.fg(Token::Inactive));
        let mut line = Line::new();
        for (index, tab) in self.tabs.iter().enumerate() {
            let mark = if tab.answer().is_some() { "☒" } else { "☐" };
            let name = match text::clean(&tab.question.header) {
                name if name.trim().is_empty() => (index + 1).to_string(),
                name => text::truncate(&name.replace('\n', " "), 14),
            };
            line.push(format!("{mark} {name}"), if index == self.at { accent.bold().underline() } else { faint });
            line.push("   ", faint);
        }
        line.push("Send", if self.at == self.tabs.len() { accent.bold().underline() } else { faint });
        line.truncated(place.columns)
    }

    fn options(&self, tab: &Tab, place: &Place<'_>) -> (Vec<Line>, usize) {
        let (accent, faint) = (place.theme.fg(Token::Permission), place.theme.fg(Token::Inactive));
        let own = Choice { label: "Something else".into(), description: tab.own.clone(), preview: String::new() };
        let mut rows = Vec::new();
        let mut chosen = 0;
        for (index, choice) in tab.question.options.iter().chain(std::iter::once(&own)).enumerate() {
            let here = index == tab.at && self.field.is_none();
            let is_own = index == tab.question.options.len();
            let holds = tab.marked.contains(&index) || is_own && !tab.own.is_empty();
            let mark = match (tab.question.multiple, holds) {
                (false, true) => "✔ ",
                (false, false) => "",
                (true, true) => "☒ ",
                (true, false) => "☐ ",
            };
            let pointer = if here { "❯" } else { " " };
            let style = if here { accent } else { Style::PLAIN };
            let label = text::clean(&choice.label).replace('\n', " ");
            let mut line = Line::styled(format!("{pointer} {}. {mark}{label}", index + 1), style);
            if !choice.description.is_empty() {
                line.push(format!("  {}", text::clean(&choice.description).replace('\n', " ")), faint);
            }
            chosen = if here { rows.len() } else { chosen };
            rows.extend(line.wrapped(place.columns, 5));
        }
        (rows, chosen)
    }

    fn hint(&self, tab: &Tab) -> String {
        if self.field.is_some() {
            return "enter to keep it · esc to go back".into();
        }
        let mut keys = vec![if tab.question.multiple { "space to mark · enter to go on" } else { "enter to choose" }];
        keys.push("esc to cancel");
        if self.tabs.len() > 1 {
            keys.push("←→ questions");
        }
        keys.push("n for a note");
        keys.join(" · ")
    }

    fn review(&self, place: &Place<'_>, mut head: Vec<Line>) -> (Vec<Line>, Option<(usize, usize)>) {
        let (accent, faint) = (place.theme.fg(Token::Permission), place.theme.fg(Token::Inactive));
        head.push(Line::styled("Your answers", accent.bold()));
        let mut middle = Vec::new();
        for tab in &self.tabs {
            middle.extend(
                Line::styled(format!("  {}", text::clean(&tab.question.question)), faint).wrapped(place.columns, 2),
            );
            let answer = tab.answer().map_or_else(|| "(left open)".to_owned(), |answer| text::clean(&answer));
            middle.extend(Line::plain(format!("    {answer}")).wrapped(place.columns, 4));
        }
        let row = |number: usize, label: &str, here: bool| {
            let style = if here { accent } else { Style::PLAIN };
            Line::styled(format!("{} {number}. {label}", if here { "❯" } else { " " }), style)
        };
        let choices = vec![row(1, "Send them", self.sends), row(2, "Go back", !self.sends)];
        let hint = "enter to choose · esc to go back".into();
        let sheet = Sheet { head, middle, info: Vec::new(), choices, chosen: usize::from(!self.sends), hint };
        sheet.rows(place, 0, None)
    }
}

/// What the option that is pointed at would look like.
fn preview(tab: &Tab, place: &Place<'_>) -> Vec<Line> {
    let option = tab.question.options.get(tab.at).filter(|option| !option.preview.trim().is_empty());
    let Some(option) = option else { return Vec::new() };
    let bar = place.theme.fg(Token::Inactive);
    let look = crate::markdown::Look {
        theme: place.theme,
        columns: place.columns.saturating_sub(4).max(1),
        syntax: crate::markdown::Syntax::Coloured,
    };
    // A drawing keeps its lines; a text in Markdown is rendered.
    let lines = if option.preview.contains("```") {
        crate::markdown::render(&option.preview, &look)
    } else {
        crate::style::lines_of(text::clean(&option.preview).trim_end(), Style::PLAIN)
    };
    let framed = lines.into_iter().map(|line| {
        let mut row = Line::styled("  │ ", bar);
        row.append(line.truncated(place.columns.saturating_sub(4)));
        row
    });
    framed.collect()
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
