//! Questions of the model to the user: a tab for each, with one or several options, previews, a custom answer, a note,
//! and a final review when needed. The answers are added to the call's input, keyed by the text of each question.

use super::dialog::{DialogArea, DialogLayout};
use engine::{ToolClass, tool_facts};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use terminal::editor::Editor;
use terminal::keys::{KeyCode, KeyPress};
use terminal::style::{StyledLine, TextStyle};
use terminal::text;
use terminal::theme::ThemeToken;

#[derive(Clone, Debug, Deserialize)]
struct ModelQuestion {
    question: String,
    #[serde(default)]
    header: String,
    #[serde(default)]
    options: Vec<QuestionOption>,
    #[serde(default, rename = "multiSelect")]
    multiple: bool,
}

#[derive(Clone, Debug, Deserialize)]
struct QuestionOption {
    label: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    preview: String,
}

/// A question and its answer so far.
#[derive(Debug)]
struct QuestionTab {
    question: ModelQuestion,
    /// The selected row; the row after the options is the custom answer.
    at: usize,
    /// The marked options; at most one for a single choice.
    marked: BTreeSet<usize>,
    own_answer: String,
    note: String,
}

/// The text field being edited.
#[derive(Debug)]
enum QuestionField {
    Own(Editor),
    Note(Editor),
}

#[derive(Debug)]
pub struct QuestionTabs {
    tabs: Vec<QuestionTab>,
    /// The index of the current tab; `tabs.len()` is the final review.
    at: usize,
    field: Option<QuestionField>,
    /// In the final review: send is selected, not going back.
    sends: bool,
    touched_at: Duration,
}

/// The effect of a key.
#[derive(Debug, PartialEq)]
pub enum QuestionProgress {
    Goes,
    /// The fields to add to the call's input.
    Done(Map<String, Value>),
    Refused,
}

#[derive(Deserialize)]
struct QuestionInput {
    questions: Vec<ModelQuestion>,
}

impl QuestionTab {
    fn new(question: ModelQuestion) -> Self {
        Self { question, at: 0, marked: BTreeSet::new(), own_answer: String::new(), note: String::new() }
    }

    fn answer(&self) -> Option<String> {
        let labels = self.marked.iter().filter_map(|at| self.question.options.get(*at)).map(|o| o.label.as_str());
        let all: Vec<&str> = labels.chain(Some(self.own_answer.as_str()).filter(|own| !own.is_empty())).collect();
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

impl QuestionTabs {
    /// `None` when the call is not a valid `AskUserQuestion`.
    pub fn read(tool: &str, input: &Value, now: Duration) -> Option<Self> {
        if tool_facts(tool).class != ToolClass::Question {
            return None;
        }
        let QuestionInput { questions } = QuestionInput::deserialize(input).ok()?;
        let asks = !questions.is_empty() && questions.iter().all(|question| !question.question.is_empty());
        let tabs = questions.into_iter().map(QuestionTab::new).collect();
        asks.then_some(Self { tabs, at: 0, field: None, sends: true, touched_at: now })
    }

    /// When the last key was pressed.
    pub fn touched_at(&self) -> Duration {
        self.touched_at
    }

    /// Answers with the current choices, because the user is away; `after` is the timeout that passed.
    pub fn answer_unattended(&mut self, after: Duration) -> QuestionProgress {
        self.store_field();
        let mut fields = self.fields();
        fields.insert("afkTimeoutMs".into(), json!(after.as_millis() as u64));
        QuestionProgress::Done(fields)
    }

    pub fn paste(&mut self, pasted: &str) {
        if let Some(QuestionField::Own(editor) | QuestionField::Note(editor)) = &mut self.field {
            editor.insert(pasted);
        }
    }

    pub fn key(&mut self, key: KeyPress, now: Duration) -> QuestionProgress {
        self.touched_at = now;
        if self.field.is_some() {
            return self.field_key(key);
        }
        match (key.code, key.mods.shift) {
            (KeyCode::Right, _) | (KeyCode::Tab, false) if self.tabs.len() > 1 => {
                self.at = (self.at + 1).min(self.tabs.len());
                return QuestionProgress::Goes;
            }
            (KeyCode::Left, _) | (KeyCode::Tab, true) => {
                self.at = self.at.saturating_sub(1);
                return QuestionProgress::Goes;
            }
            _ => {}
        }
        if self.at == self.tabs.len() { self.review_key(key) } else { self.option_key(key) }
    }

    fn option_key(&mut self, key: KeyPress) -> QuestionProgress {
        let tab = &mut self.tabs[self.at];
        let count = tab.question.options.len() + 1;
        if let Some(digit) = key.text().and_then(|c| c.to_digit(10)) {
            if (1..=count).contains(&(digit as usize)) {
                tab.at = digit as usize - 1;
                return if tab.question.multiple { self.mark() } else { self.choose() };
            }
            return QuestionProgress::Goes;
        }
        match key.code {
            KeyCode::Escape => return QuestionProgress::Refused,
            KeyCode::Up => tab.at = tab.at.checked_sub(1).unwrap_or(count - 1),
            KeyCode::Down | KeyCode::Tab => tab.at = (tab.at + 1) % count,
            KeyCode::Char(' ') if tab.question.multiple => return self.mark(),
            KeyCode::Char('n') if key.mods.is_none() => {
                let mut editor = Editor::new();
                editor.insert(&tab.note);
                self.field = Some(QuestionField::Note(editor));
            }
            KeyCode::Enter => return self.choose(),
            _ => {}
        }
        QuestionProgress::Goes
    }

    fn review_key(&mut self, key: KeyPress) -> QuestionProgress {
        match key.code {
            KeyCode::Escape => self.at -= 1,
            KeyCode::Up | KeyCode::Down => self.sends = !self.sends,
            KeyCode::Char('1') => return QuestionProgress::Done(self.fields()),
            KeyCode::Enter if self.sends => return QuestionProgress::Done(self.fields()),
            KeyCode::Char('2') | KeyCode::Enter => self.at = 0,
            _ => {}
        }
        QuestionProgress::Goes
    }

    fn field_key(&mut self, key: KeyPress) -> QuestionProgress {
        match key.code {
            KeyCode::Escape => self.field = None,
            KeyCode::Enter => {
                let was_own = matches!(self.field, Some(QuestionField::Own(_)));
                self.store_field();
                if was_own && !self.tabs[self.at].own_answer.is_empty() && !self.tabs[self.at].question.multiple {
                    self.tabs[self.at].marked.clear();
                    return self.advance();
                }
            }
            _ => {
                if let Some(QuestionField::Own(editor) | QuestionField::Note(editor)) = &mut self.field {
                    super::prompt::edit(editor, key);
                }
            }
        }
        QuestionProgress::Goes
    }

    fn store_field(&mut self) {
        let Some(tab) = self.tabs.get_mut(self.at) else { return };
        match self.field.take() {
            Some(QuestionField::Own(editor)) => editor.expanded().trim().clone_into(&mut tab.own_answer),
            Some(QuestionField::Note(editor)) => editor.expanded().trim().clone_into(&mut tab.note),
            None => {}
        }
    }

    fn write_own(&mut self) -> QuestionProgress {
        let mut editor = Editor::new();
        editor.insert(&self.tabs[self.at].own_answer);
        self.field = Some(QuestionField::Own(editor));
        QuestionProgress::Goes
    }

    fn mark(&mut self) -> QuestionProgress {
        let tab = &mut self.tabs[self.at];
        if tab.at == tab.question.options.len() {
            return self.write_own();
        }
        tab.toggle();
        QuestionProgress::Goes
    }

    fn choose(&mut self) -> QuestionProgress {
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
        tab.own_answer.clear();
        tab.marked = BTreeSet::from([tab.at]);
        self.advance()
    }

    /// Moves to the next question. After the last one, finishes or shows the final review if an answer may be missing.
    fn advance(&mut self) -> QuestionProgress {
        let last = self.at + 1 == self.tabs.len();
        let complete = self.tabs.iter().all(|tab| tab.answer().is_some());
        let single = self.tabs.len() == 1 || !self.tabs[self.at].question.multiple;
        if last && complete && single {
            return QuestionProgress::Done(self.fields());
        }
        self.at += 1;
        self.sends = true;
        QuestionProgress::Goes
    }

    fn fields(&self) -> Map<String, Value> {
        let by = |value: fn(&QuestionTab) -> Option<Value>| -> Map<String, Value> {
            self.tabs.iter().filter_map(|tab| Some((tab.question.question.clone(), value(tab)?))).collect()
        };
        let mut fields = Map::new();
        fields.insert("answers".into(), Value::Object(by(|tab| tab.answer().map(Value::String))));
        let annotations = by(QuestionTab::annotation);
        if !annotations.is_empty() {
            fields.insert("annotations".into(), Value::Object(annotations));
        }
        fields
    }

    /// The questions in at most `place.rows` rows, and the caret while a text is typed.
    pub fn rows(&self, place: &DialogArea<'_>) -> (Vec<StyledLine>, Option<(usize, usize)>) {
        let (outer, place) = (place, &place.inner());
        let accent = place.theme.fg(ThemeToken::Permission);
        let mut head = Vec::new();
        if self.tabs.len() > 1 {
            head.push(self.chips(place));
        }
        if self.at == self.tabs.len() {
            return self.review(outer, head);
        }
        let tab = &self.tabs[self.at];
        head.extend(StyledLine::styled(text::clean(&tab.question.question), accent.bold()).wrapped(place.columns, 0));
        let (mut choices, mut chosen) = self.options(tab, place);
        let mut caret = None;
        if let Some(field) = &self.field {
            let (lead, editor) = match field {
                QuestionField::Own(editor) => ("  answer: ", editor),
                QuestionField::Note(editor) => ("  note: ", editor),
            };
            let column = text::width(lead) + text::width(&editor.text()[..editor.cursor()]);
            chosen = choices.len();
            caret = Some((chosen, column.min(place.columns.saturating_sub(1))));
            choices.push(
                StyledLine::styled(lead, place.theme.fg(ThemeToken::Inactive)).and(editor.text(), TextStyle::PLAIN),
            );
        } else if !tab.note.is_empty() {
            choices.push(StyledLine::styled(
                format!("  note: {}", text::clean(&tab.note)),
                place.theme.fg(ThemeToken::Inactive),
            ));
        }
        let sheet =
            DialogLayout { head, middle: preview(tab, place), info: Vec::new(), choices, chosen, hint: self.hint(tab) };
        sheet.rows(outer, 0, caret)
    }

    /// The row of tabs: `☑ Database   ☐ Tests   Send`.
    fn chips(&self, place: &DialogArea<'_>) -> StyledLine {
        let (accent, faint) = (place.theme.fg(ThemeToken::Permission), place.theme.fg(ThemeToken::Inactive));
        let mut line = StyledLine::new();
        for (index, tab) in self.tabs.iter().enumerate() {
            let mark = if tab.answer().is_some() { "☑" } else { "☐" };
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

    fn options(&self, tab: &QuestionTab, place: &DialogArea<'_>) -> (Vec<StyledLine>, usize) {
        let (accent, faint) = (place.theme.fg(ThemeToken::Permission), place.theme.fg(ThemeToken::Inactive));
        let own = QuestionOption {
            label: "Something else".into(),
            description: tab.own_answer.clone(),
            preview: String::new(),
        };
        let mut rows = Vec::new();
        let mut chosen = 0;
        for (index, choice) in tab.question.options.iter().chain(std::iter::once(&own)).enumerate() {
            let here = index == tab.at && self.field.is_none();
            let is_own = index == tab.question.options.len();
            let holds = tab.marked.contains(&index) || is_own && !tab.own_answer.is_empty();
            let mark = match (tab.question.multiple, holds) {
                (false, true) => "✔ ",
                (false, false) => "",
                (true, true) => "☑ ",
                (true, false) => "☐ ",
            };
            let pointer = if here { "❯" } else { " " };
            let style = if here { accent } else { TextStyle::PLAIN };
            let label = text::clean(&choice.label).replace('\n', " ");
            let line = StyledLine::styled(format!("{pointer} {}. {mark}{label}", index + 1), style);
            chosen = if here { rows.len() } else { chosen };
            rows.extend(line.wrapped(place.columns, 5));
            let about = text::clean(&choice.description).replace('\n', " ");
            if !about.trim().is_empty() {
                let lead = if place.columns < 24 { "  " } else { "     " };
                rows.extend(StyledLine::styled(format!("{lead}{about}"), faint).wrapped(place.columns, lead.len()));
            }
        }
        (rows, chosen)
    }

    fn hint(&self, tab: &QuestionTab) -> String {
        if self.field.is_some() {
            return "esc to go back · enter to keep it".into();
        }
        let mut keys = vec!["esc to cancel"];
        keys.push(if tab.question.multiple { "space to select · enter to continue" } else { "enter to choose" });
        if self.tabs.len() > 1 {
            keys.push("←→ questions");
        }
        keys.push("n for a note");
        keys.join(" · ")
    }

    fn review(&self, place: &DialogArea<'_>, mut head: Vec<StyledLine>) -> (Vec<StyledLine>, Option<(usize, usize)>) {
        let (outer, place) = (place, &place.inner());
        let (accent, faint) = (place.theme.fg(ThemeToken::Permission), place.theme.fg(ThemeToken::Inactive));
        head.push(StyledLine::styled("Your answers", accent.bold()));
        let mut middle = Vec::new();
        for tab in &self.tabs {
            middle.extend(
                StyledLine::styled(format!("  {}", text::clean(&tab.question.question)), faint)
                    .wrapped(place.columns, 2),
            );
            let answer = tab.answer().map_or_else(|| "(not answered)".to_owned(), |answer| text::clean(&answer));
            middle.extend(StyledLine::plain(format!("    {answer}")).wrapped(place.columns, 4));
        }
        let row = |number: usize, label: &str, here: bool| {
            let style = if here { accent } else { TextStyle::PLAIN };
            StyledLine::styled(format!("{} {number}. {label}", if here { "❯" } else { " " }), style)
        };
        let choices = vec![row(1, "Send answers", self.sends), row(2, "Go back", !self.sends)];
        let hint = "esc to go back · enter to choose".into();
        let sheet = DialogLayout { head, middle, info: Vec::new(), choices, chosen: usize::from(!self.sends), hint };
        sheet.rows(outer, 0, None)
    }
}

/// The preview of the selected option.
fn preview(tab: &QuestionTab, place: &DialogArea<'_>) -> Vec<StyledLine> {
    let option = tab.question.options.get(tab.at).filter(|option| !option.preview.trim().is_empty());
    let Some(option) = option else { return Vec::new() };
    let bar = place.theme.fg(ThemeToken::Inactive);
    let look = terminal::markdown::MarkdownOptions {
        theme: place.theme,
        columns: place.columns.saturating_sub(4).max(1),
        syntax: terminal::markdown::SyntaxColouring::Coloured,
        wrap: terminal::markdown::ProseWrap::Terminal,
    };
    // Previews with a code fence are rendered as Markdown; others keep their lines, such as drawings.
    let lines = if option.preview.contains("```") {
        terminal::markdown::render(&option.preview, &look)
    } else {
        terminal::style::lines_of(text::clean(&option.preview).trim_end(), TextStyle::PLAIN)
    };
    let framed = lines.into_iter().map(|line| {
        let mut row = StyledLine::styled("  │ ", bar);
        row.append(line.truncated(place.columns.saturating_sub(4)));
        row
    });
    framed.collect()
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
