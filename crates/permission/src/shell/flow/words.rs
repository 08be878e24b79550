//! Words as the shell expands them: braces, `~`, variables, substitutions, field splitting. Several values of a variable
//! become several fields, so that a word stands for everything it may become.

use super::walk::FlowWalker;
use super::{FlowArgument, MAX_VALUES, ShellField, TextOrigin};
use crate::shell::braces;
use crate::shell::pattern::wildcard;
use crate::shell::suspects::ansi_c;
use brush_parser::word::{self, Parameter, ParameterExpr, SpecialParameter, TildeExpr, WordPiece, WordPieceWithSource};

/// The values of a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VariableValue {
    pub(super) texts: Vec<ShellField>,
    pub(super) unknown: Option<TextOrigin>,
}

/// Any number.
const NUMBER: &str = "[0-9]*";

impl VariableValue {
    pub(super) fn of(texts: impl IntoIterator<Item = ShellField>) -> Self {
        let mut value = Self::default();
        texts.into_iter().for_each(|text| value.add(text));
        value
    }

    pub(super) fn unknown(origin: TextOrigin) -> Self {
        Self { texts: Vec::new(), unknown: Some(origin) }
    }

    pub(super) fn number() -> Self {
        Self::of([ShellField::from_pattern(NUMBER)])
    }

    pub(super) fn empty() -> Self {
        Self::of([ShellField::default()])
    }

    fn add(&mut self, text: ShellField) {
        if self.texts.contains(&text) {
            return;
        }
        if self.texts.len() >= MAX_VALUES {
            self.unknown.get_or_insert(TextOrigin::Outside);
        } else {
            self.texts.push(text);
        }
    }

    pub(super) fn join(&mut self, other: &Self) {
        other.texts.iter().for_each(|text| self.add(text.clone()));
        self.unknown = worse(self.unknown, other.unknown);
    }

    pub(super) fn from_args(args: &[FlowArgument]) -> Self {
        let mut value = Self::default();
        for arg in args {
            match arg {
                FlowArgument::Known(field) => value.add(field.clone()),
                FlowArgument::Unknown(origin) => value.unknown = worse(value.unknown, Some(*origin)),
            }
        }
        value
    }
}

fn worse(one: Option<TextOrigin>, other: Option<TextOrigin>) -> Option<TextOrigin> {
    if one == Some(TextOrigin::Transformed) || other == Some(TextOrigin::Transformed) {
        return Some(TextOrigin::Transformed);
    }
    one.or(other)
}

/// A word under construction.
struct WordBuilder {
    done: Vec<FlowArgument>,
    open: Vec<ShellField>,
    unknown: Option<TextOrigin>,
    /// Quotes make an empty word count.
    quoted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldQuoting {
    None,
    Double,
}

impl FlowWalker<'_> {
    /// All fields a word may become.
    pub(super) fn word(&mut self, raw: &str) -> Vec<FlowArgument> {
        if !has_bare_brace(raw) {
            return self.plain_word(raw);
        }
        let Some(alternatives) = braces::expand(&[raw.to_owned()]) else {
            return vec![FlowArgument::Unknown(TextOrigin::Outside)];
        };
        let mut out = Vec::new();
        let mut pending = alternatives;
        pending.reverse();
        while let Some(text) = pending.pop() {
            match range(&text) {
                Some(texts) if has_bare_brace(&text) => pending.extend(texts.into_iter().rev()),
                None if has_bare_brace(&text) && is_sequence(&text) => {
                    out.push(FlowArgument::Unknown(TextOrigin::Outside));
                }
                Some(_) | None => out.extend(self.plain_word(&text)),
            }
            if out.len() + pending.len() > 4 * MAX_VALUES {
                return vec![FlowArgument::Unknown(TextOrigin::Outside)];
            }
        }
        out
    }

    /// The value of an assignment or a here-string: nothing is split.
    pub(super) fn value(&mut self, raw: &str) -> VariableValue {
        let splits = std::mem::replace(&mut self.splits, false);
        let args = self.plain_word(raw);
        self.splits = splits;
        let value = VariableValue::from_args(&args);
        if value.texts.is_empty() && value.unknown.is_none() { VariableValue::empty() } else { value }
    }

    fn plain_word(&mut self, raw: &str) -> Vec<FlowArgument> {
        let Ok(pieces) = word::parse(raw, &self.options) else {
            self.flow.incomplete = true;
            return vec![FlowArgument::Unknown(TextOrigin::Outside)];
        };
        let mut draft =
            WordBuilder { done: Vec::new(), open: vec![ShellField::default()], unknown: None, quoted: false };
        for piece in &pieces {
            self.piece(piece, &mut draft, FieldQuoting::None);
        }
        draft.finish()
    }

    /// The body of a here-document whose delimiter is not quoted; `None` when it is not known.
    pub(super) fn document(&mut self, raw: &str) -> Option<String> {
        let pieces = word::parse_heredoc(raw, &self.options).ok()?;
        let mut draft =
            WordBuilder { done: Vec::new(), open: vec![ShellField::default()], unknown: None, quoted: true };
        for piece in &pieces {
            self.piece(piece, &mut draft, FieldQuoting::Double);
        }
        match draft.finish().as_slice() {
            [FlowArgument::Known(field)] => Some(field.text()),
            _ => None,
        }
    }

    fn piece(&mut self, piece: &WordPieceWithSource, draft: &mut WordBuilder, quoting: FieldQuoting) {
        match &piece.piece {
            WordPiece::Text(text) if quoting == FieldQuoting::Double => draft.literal(text),
            WordPiece::Text(text) => {
                // What extended patterns and qualifiers match is not modelled.
                if text.contains(['(', ')', '$', '`']) {
                    draft.unknown = worse(draft.unknown, Some(TextOrigin::Outside));
                }
                draft.open.iter_mut().for_each(|field| field.push_active(text));
            }
            WordPiece::SingleQuotedText(text) => draft.quoted(text),
            WordPiece::AnsiCQuotedText(text) => draft.quoted(&ansi_c(text)),
            WordPiece::DoubleQuotedSequence(pieces) | WordPiece::GettextDoubleQuotedSequence(pieces) => {
                draft.quoted = true;
                for piece in pieces {
                    self.piece(piece, draft, FieldQuoting::Double);
                }
            }
            WordPiece::TildeExpansion(tilde) => {
                let value = self.tilde(tilde);
                draft.append(&value, FieldQuoting::Double, self.splits);
            }
            WordPiece::ParameterExpansion(expr) => {
                let value = self.parameter(expr);
                draft.append(&value, quoting, self.splits);
            }
            WordPiece::CommandSubstitution(text) => {
                let value = self.substitution(text);
                draft.append(&value, quoting, self.splits);
            }
            WordPiece::BackquotedCommandSubstitution(text) => {
                let value = self.substitution(&text.replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\"));
                draft.append(&value, quoting, self.splits);
            }
            WordPiece::EscapeSequence(text) => {
                let text = text.strip_prefix('\\').unwrap_or(text);
                if text != "\n" {
                    draft.quoted(text);
                }
            }
            WordPiece::ArithmeticExpression(expr) => {
                self.arithmetic(&expr.value);
                draft.append(&VariableValue::number(), quoting, self.splits);
            }
        }
    }

    fn tilde(&self, tilde: &TildeExpr) -> VariableValue {
        match tilde {
            TildeExpr::Home => self.variable("HOME"),
            TildeExpr::WorkingDir => self.variable("PWD"),
            TildeExpr::UserHome(_)
            | TildeExpr::OldWorkingDir
            | TildeExpr::NthDirFromTopOfDirStack { .. }
            | TildeExpr::NthDirFromBottomOfDirStack { .. } => VariableValue::unknown(TextOrigin::Outside),
        }
    }

    fn parameter_value(&self, parameter: &Parameter) -> VariableValue {
        match parameter {
            Parameter::Named(name)
            | Parameter::NamedWithIndex { name, .. }
            | Parameter::NamedWithAllIndices { name, .. } => self.variable(name),
            Parameter::Special(
                SpecialParameter::ProcessId
                | SpecialParameter::LastExitStatus
                | SpecialParameter::PositionalParameterCount
                | SpecialParameter::LastBackgroundProcessId,
            ) => VariableValue::number(),
            Parameter::Positional(_) | Parameter::Special(_) => VariableValue::unknown(TextOrigin::Outside),
        }
    }

    fn parameter(&mut self, expr: &ParameterExpr) -> VariableValue {
        match expr {
            ParameterExpr::Parameter { parameter, indirect: false }
            | ParameterExpr::IndicateErrorIfNullOrUnset { parameter, indirect: false, .. } => {
                self.parameter_value(parameter)
            }
            ParameterExpr::UseDefaultValues { parameter, indirect: false, default_value, .. } => {
                self.or_default(parameter, default_value.as_deref())
            }
            ParameterExpr::AssignDefaultValues { parameter, indirect: false, default_value, .. } => {
                let value = self.or_default(parameter, default_value.as_deref());
                if let Parameter::Named(name) = parameter {
                    self.assign(name.clone(), value.clone());
                }
                value
            }
            ParameterExpr::UseAlternativeValue { alternative_value, .. } => {
                let mut value = VariableValue::empty();
                value.join(&self.value(alternative_value.as_deref().unwrap_or_default()));
                value
            }
            ParameterExpr::ParameterLength { .. } => VariableValue::number(),
            ParameterExpr::RemoveSmallestSuffixPattern { parameter, indirect: false, pattern } => {
                self.remove_affix(parameter, pattern.as_deref(), AffixRemoval { suffix: true, largest: false })
            }
            ParameterExpr::RemoveLargestSuffixPattern { parameter, indirect: false, pattern } => {
                self.remove_affix(parameter, pattern.as_deref(), AffixRemoval { suffix: true, largest: true })
            }
            ParameterExpr::RemoveSmallestPrefixPattern { parameter, indirect: false, pattern } => {
                self.remove_affix(parameter, pattern.as_deref(), AffixRemoval { suffix: false, largest: false })
            }
            ParameterExpr::RemoveLargestPrefixPattern { parameter, indirect: false, pattern } => {
                self.remove_affix(parameter, pattern.as_deref(), AffixRemoval { suffix: false, largest: true })
            }
            // Anything else makes a new text of the old one.
            _ => VariableValue::unknown(TextOrigin::Transformed),
        }
    }

    fn or_default(&mut self, parameter: &Parameter, default: Option<&str>) -> VariableValue {
        let default = self.value(default.unwrap_or_default());
        let Parameter::Named(name) = parameter else { return VariableValue::unknown(TextOrigin::Outside) };
        let Some(mut value) = self.bound(name) else { return default };
        value.texts.retain(|text| !text.is_empty());
        value.join(&default);
        value
    }

    /// `${x%pattern}` and its relatives, for patterns of plain text and `*`.
    fn remove_affix(&mut self, parameter: &Parameter, pattern: Option<&str>, cut: AffixRemoval) -> VariableValue {
        let pattern = pattern.unwrap_or_default();
        let mut value = self.parameter_value(parameter);
        if pattern == "*/" && !cut.suffix && cut.largest {
            // The last name of whatever it is.
            let last =
                |text: &ShellField| ShellField::from_pattern(text.pattern().rsplit('/').next().unwrap_or_default());
            return if value.unknown.is_some() {
                VariableValue::of([ShellField::from_pattern("*")])
            } else {
                VariableValue::of(value.texts.iter().map(last).collect::<Vec<_>>())
            };
        }
        if pattern.contains(['$', '`', '?', '[', '\\', '\'', '"', '(', '{']) {
            return VariableValue::unknown(TextOrigin::Transformed);
        }
        for text in &mut value.texts {
            let Some(rest) = cut.apply(text, pattern) else { return VariableValue::unknown(TextOrigin::Transformed) };
            *text = rest;
        }
        value
    }
}

#[derive(Clone, Copy)]
struct AffixRemoval {
    suffix: bool,
    largest: bool,
}

impl AffixRemoval {
    fn apply(self, field: &ShellField, pattern: &str) -> Option<ShellField> {
        if field.is_pattern() {
            // Of names that are not known, only a fixed end can be taken away.
            let fixed = ShellField::literal(pattern);
            let rest = if self.suffix {
                field.pattern().strip_suffix(fixed.pattern())
            } else {
                field.pattern().strip_prefix(fixed.pattern())
            };
            return (!pattern.contains('*')).then(|| rest.map(ShellField::from_pattern)).flatten();
        }
        let text = field.text();
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        // The shortest piece comes first.
        let mut pieces: Vec<usize> = ends;
        if self.suffix != self.largest {
            pieces.reverse();
        }
        let fits = |at: &usize| wildcard(pattern, if self.suffix { &text[*at..] } else { &text[..*at] });
        let rest = pieces.into_iter().find(fits).map(|at| if self.suffix { &text[..at] } else { &text[at..] });
        Some(ShellField::literal(rest.unwrap_or(&text)))
    }
}

impl WordBuilder {
    fn literal(&mut self, text: &str) {
        self.open.iter_mut().for_each(|field| field.push_literal(text));
    }

    fn quoted(&mut self, text: &str) {
        self.quoted = true;
        self.literal(text);
    }

    fn append(&mut self, value: &VariableValue, quoting: FieldQuoting, splits: bool) {
        self.unknown = worse(self.unknown, value.unknown);
        let before = std::mem::take(&mut self.open);
        for text in &value.texts {
            let plain = text.text();
            for field in &before {
                if quoting == FieldQuoting::Double || !splits {
                    let mut field = field.clone();
                    field.push_field(text);
                    self.open.push(field);
                    continue;
                }
                self.split(field, text, &plain);
            }
        }
        if value.texts.is_empty() {
            self.open = before;
        }
        if self.open.len() > MAX_VALUES {
            self.open.truncate(MAX_VALUES);
            self.unknown.get_or_insert(TextOrigin::Outside);
        }
    }

    /// An unquoted value: blanks end a word, pattern characters count.
    fn split(&mut self, before: &ShellField, value: &ShellField, plain: &str) {
        // In a pattern a backslash makes the next character plain, elsewhere it is one itself: both count.
        if plain.contains('\\') && !value.is_pattern() {
            self.split(before, value, &plain.replace('\\', ""));
        }
        let mut field = before.clone();
        if value.is_pattern() || !plain.contains([' ', '\t', '\n']) {
            if value.is_pattern() {
                field.push_field(value);
            } else {
                field.push_active(plain);
            }
            self.open.push(field);
            return;
        }
        // zsh leaves the value in one piece.
        let mut whole = before.clone();
        whole.push_literal(plain);
        self.done.push(FlowArgument::Known(whole));
        let mut parts = plain.split([' ', '\t', '\n']).peekable();
        while let Some(part) = parts.next() {
            field.push_active(part);
            if parts.peek().is_none() {
                self.open.push(field);
                return;
            }
            if !field.is_empty() {
                self.done.push(FlowArgument::Known(std::mem::take(&mut field)));
            }
        }
    }

    fn finish(mut self) -> Vec<FlowArgument> {
        if let Some(origin) = self.unknown {
            return vec![FlowArgument::Unknown(origin)];
        }
        let quoted = self.quoted;
        self.done.extend(self.open.into_iter().filter(|field| quoted || !field.is_empty()).map(FlowArgument::Known));
        self.done
    }
}

/// Whether an opening brace is outside quotes and not part of `${`.
fn has_bare_brace(raw: &str) -> bool {
    let (mut quote, mut escaped, mut before) = (None, false, ' ');
    for c in raw.chars() {
        if escaped {
            escaped = false;
        } else {
            match (c, quote) {
                ('\\', None | Some('"')) => escaped = true,
                (c, Some(open)) if c == open => quote = None,
                ('\'' | '"' | '`', None) => quote = Some(c),
                ('{', None) if before != '$' => return true,
                _ => {}
            }
        }
        before = c;
    }
    false
}

/// A range that is written in another way than those below.
fn is_sequence(word: &str) -> bool {
    word.split('{').skip(1).any(|rest| rest.split('}').next().is_some_and(|inner| inner.contains("..")))
}

/// `a{1..3}` and `a{x..z}`, the first range only.
fn range(word: &str) -> Option<Vec<String>> {
    let (open, close) = word.find('{').zip(word.find('}')).filter(|(open, close)| open < close)?;
    let (from, to) = word[open + 1..close].split_once("..")?;
    let whole = |text: String| format!("{}{text}{}", &word[..open], &word[close + 1..]);
    let letter = |text: &str| text.chars().next().filter(|c| text.len() == 1 && c.is_ascii_alphabetic());
    let padded = |text: &str| text.trim_start_matches('-').starts_with('0') && text.len() > 1;
    if padded(from) || padded(to) {
        return None;
    }
    if let (Ok(from), Ok(to)) = (from.parse::<i64>(), to.parse::<i64>()) {
        let (low, high) = (from.min(to), from.max(to));
        return (high.checked_sub(low)? < 256).then(|| (low..=high).map(|n| whole(n.to_string())).collect());
    }
    let (from, to) = (letter(from)?, letter(to)?);
    Some((from.min(to)..=from.max(to)).map(|c| whole(c.to_string())).collect())
}
