//! Questions the model asks the person: one after the other, one or several options, or a text of one's own. The answers
//! go back as part of the call's input, by the text of each question.

use crate::editor::Editor;
use crate::keys::{Code, Key};
use crate::style::{Line, Style};
use crate::text;
use crate::theme::{Theme, Token};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

#[derive(Clone, Debug, Deserialize)]
struct Question {
    question: String,
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
}

#[derive(Debug)]
pub struct Questions {
    all: Vec<Question>,
    at: usize,
    chosen: usize,
    marked: BTreeSet<usize>,
    /// A text of one's own.
    own: Option<Editor>,
    answers: Map<String, Value>,
}

/// What a key led to.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    Goes,
    /// Every question is answered: the input of the call with the answers.
    Done(String),
    Refused,
}

#[derive(Deserialize)]
struct Input {
    questions: Vec<Question>,
}

impl Questions {
    /// `None` when the input is not of that kind.
    pub fn read(tool: &str, input: &Value) -> Option<Self> {
        if tool != "AskUserQuestion" {
            return None;
        }
        let Input { questions } = Input::deserialize(input).ok()?;
        let asks = !questions.is_empty() && questions.iter().all(|question| !question.question.is_empty());
        asks.then(|| Self { all: questions, at: 0, chosen: 0, marked: BTreeSet::new(), own: None, answers: Map::new() })
    }

    fn current(&self) -> &Question {
        &self.all[self.at]
    }

    pub fn key(&mut self, key: Key, input: &Value) -> Progress {
        if self.own.is_some() {
            return self.own_key(key, input);
        }
        // One more than the options: a text of one's own.
        let count = self.current().options.len() + 1;
        if let Some(digit) = key.text().and_then(|c| c.to_digit(10)) {
            if (1..=count).contains(&(digit as usize)) {
                self.chosen = digit as usize - 1;
                return if self.current().multiple { self.mark() } else { self.confirm(input) };
            }
            return Progress::Goes;
        }
        match key.code {
            Code::Escape => return Progress::Refused,
            Code::Up => self.chosen = self.chosen.checked_sub(1).unwrap_or(count - 1),
            Code::Down | Code::Tab => self.chosen = (self.chosen + 1) % count,
            Code::Char(' ') if self.current().multiple => return self.mark(),
            Code::Enter => return self.confirm(input),
            _ => {}
        }
        Progress::Goes
    }

    fn own_key(&mut self, key: Key, input: &Value) -> Progress {
        let Some(own) = &mut self.own else { return Progress::Goes };
        match key.code {
            Code::Escape => self.own = None,
            Code::Enter => {
                let text = own.take().expanded.trim().to_owned();
                if !text.is_empty() {
                    self.own = None;
                    return self.answer(text, input);
                }
            }
            _ => {
                super::keys::edit(own, key);
            }
        }
        Progress::Goes
    }

    fn mark(&mut self) -> Progress {
        if self.chosen == self.current().options.len() {
            self.own = Some(Editor::new());
        } else if !self.marked.remove(&self.chosen) {
            self.marked.insert(self.chosen);
        }
        Progress::Goes
    }

    fn confirm(&mut self, input: &Value) -> Progress {
        if self.marked.is_empty() {
            if self.chosen == self.current().options.len() {
                self.own = Some(Editor::new());
                return Progress::Goes;
            }
            self.marked.insert(self.chosen);
        }
        let labels: Vec<&str> = self.marked.iter().map(|at| self.current().options[*at].label.as_str()).collect();
        let answer = labels.join(", ");
        self.answer(answer, input)
    }

    fn answer(&mut self, answer: String, input: &Value) -> Progress {
        let question = self.current().question.clone();
        self.answers.insert(question, Value::String(answer));
        self.marked.clear();
        self.chosen = 0;
        if self.at + 1 < self.all.len() {
            self.at += 1;
            return Progress::Goes;
        }
        let mut filled = input.clone();
        if let Value::Object(fields) = &mut filled {
            fields.insert("answers".into(), Value::Object(self.answers.clone()));
        }
        Progress::Done(json!({"behavior": "allow", "updatedInput": filled}).to_string())
    }

    /// The question in rows, and where the cursor is while a text is typed.
    pub fn rows(&self, theme: &Theme, columns: usize) -> (Vec<Line>, Option<(usize, usize)>) {
        let accent = theme.fg(Token::Permission);
        let faint = theme.fg(Token::Inactive);
        let question = self.current();
        let count = if self.all.len() > 1 { format!(" ({}/{})", self.at + 1, self.all.len()) } else { String::new() };
        let title = format!("{}{count}", text::clean(&question.question));
        let mut rows = vec![Line::styled("─".repeat(columns), accent)];
        rows.extend(Line::styled(title, accent.bold()).wrapped(columns, 0));
        let own = Choice { label: "Something else".into(), description: String::new() };
        for (index, choice) in question.options.iter().chain(std::iter::once(&own)).enumerate() {
            let here = index == self.chosen;
            let pointer = if here { "❯" } else { " " };
            let mark = match (question.multiple && index < question.options.len(), self.marked.contains(&index)) {
                (false, _) => "",
                (true, true) => "☒ ",
                (true, false) => "☐ ",
            };
            let style = if here { accent } else { Style::PLAIN };
            let mut line =
                Line::styled(format!("{pointer} {}. {mark}{}", index + 1, text::clean(&choice.label)), style);
            if !choice.description.is_empty() {
                line.push(format!("  {}", text::clean(&choice.description)), faint);
            }
            rows.extend(line.wrapped(columns, 5));
        }
        let caret = self.own.as_ref().map(|own| {
            rows.push(Line::styled("  answer: ", faint).and(own.text(), Style::PLAIN));
            let column = 10 + text::width(&own.text()[..own.cursor()]);
            (rows.len() - 1, column.min(columns.saturating_sub(1)))
        });
        let keys = if question.multiple {
            "space to mark · enter to go on · esc to refuse"
        } else {
            "enter to choose · esc to refuse"
        };
        rows.push(Line::styled(keys, faint));
        (rows, caret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input() -> Value {
        json!({"questions": [
            {"question": "Which one?", "header": "One", "options": [{"label": "A", "description": "first"}, {"label": "B"}]},
            {"question": "Which ones?", "header": "Many", "multiSelect": true, "options": [{"label": "C"}, {"label": "D"}, {"label": "E"}]},
            {"question": "Why?", "header": "Why", "options": [{"label": "F"}, {"label": "G"}]},
        ]})
    }

    fn press(questions: &mut Questions, keys: &[Key]) -> Progress {
        keys.iter().fold(Progress::Goes, |_, key| questions.key(*key, &input()))
    }

    #[test]
    fn one_several_or_a_text_of_ones_own() {
        // [TST-241]
        let mut questions = Questions::read("AskUserQuestion", &input()).unwrap();
        assert_eq!(press(&mut questions, &[Key::plain(Code::Down), Key::plain(Code::Enter)]), Progress::Goes);
        let marks =
            [Key::char(' '), Key::plain(Code::Down), Key::plain(Code::Down), Key::char(' '), Key::plain(Code::Enter)];
        assert_eq!(press(&mut questions, &marks), Progress::Goes);
        press(&mut questions, &[Key::char('3')]);
        let typed: Vec<Key> = "because".chars().map(Key::char).collect();
        press(&mut questions, &typed);
        let Progress::Done(answer) = press(&mut questions, &[Key::plain(Code::Enter)]) else { panic!() };
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(
            answer["updatedInput"]["answers"],
            json!({"Which one?": "B", "Which ones?": "C, E", "Why?": "because"})
        );
        assert_eq!(answer["updatedInput"]["questions"], input()["questions"]);
    }

    #[test]
    fn escape_refuses_and_other_tools_have_no_questions() {
        let mut questions = Questions::read("AskUserQuestion", &input()).unwrap();
        assert_eq!(press(&mut questions, &[Key::plain(Code::Escape)]), Progress::Refused);
        assert!(Questions::read("Bash", &input()).is_none());
        assert!(Questions::read("AskUserQuestion", &json!({"questions": []})).is_none());
    }
}
