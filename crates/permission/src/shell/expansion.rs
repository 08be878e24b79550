//! Words, re-parsed piece by piece. Only literal text, quotes, escapes and a leading `~` are plain; every expansion
//! refuses, and whatever text it carries (defaults, subscripts, patterns) is searched for commands.

use super::grammar::GrammarReader;
use super::relaxed;
use super::script::{ReadingStyle, ShellWord, SubstitutedText, VariableUse};
use super::suspects::ansi_c;
use super::variables;
use brush_parser::word::{
    self, Parameter, ParameterExpr, ParameterTransformOp, SpecialParameter, TildeExpr, WordPiece, WordPieceWithSource,
};

/// Expansions in one word; the word grammar follows them recursively.
const MAX_IN_WORD: usize = 16;

/// How many expansions and extended patterns the text may hold, quotes not considered.
pub(super) fn openers(text: &str) -> usize {
    let bytes = text.as_bytes();
    let opens = |pair: &&[u8]| {
        matches!(pair, [b'$' | b'<' | b'>' | b'(' | b'@' | b'!' | b'+' | b'*' | b'?', b'('] | [b'$', b'{' | b'['])
    };
    bytes.windows(2).filter(opens).count() + text.matches('`').count()
}

pub(super) fn word(reader: &mut GrammarReader, raw: &str) -> ShellWord {
    let mut out = ShellWord { raw: raw.replace("\\\n", ""), ..ShellWord::default() };
    if openers(raw) > MAX_IN_WORD {
        reader.refuse("a word has too many expansions");
        reader.out.incomplete = true;
        out.text.push_str(raw);
        return out;
    }
    if let Ok(pieces) = word::parse(raw, &reader.options) {
        for piece in &pieces {
            add(reader, piece, &mut out, WordQuoting::None);
        }
    } else {
        reader.refuse("a word cannot be parsed");
        reader.out.incomplete = true;
        out.text.push_str(raw);
    }
    if out.raw.starts_with('=') && !matches!(out.raw.as_str(), "=" | "==") {
        // zsh replaces `=name` by the path of that program.
        reader.refuse("a word starts with an equals sign");
    }
    out
}

/// Text in which expansions count, as in arithmetic or a parameter's default.
pub(super) fn walk(reader: &mut GrammarReader, text: &str) {
    if !word(reader, text).variables.is_empty() {
        reader.refuse("it has an expansion");
    }
}

/// The body of a here-document whose delimiter is not quoted.
pub(super) fn document(reader: &mut GrammarReader, text: &str) {
    if openers(text) > MAX_IN_WORD {
        reader.refuse("a here-document has too many expansions");
        reader.out.incomplete = true;
        return;
    }
    if let Ok(pieces) = word::parse_heredoc(text, &reader.options) {
        let mut ignored = ShellWord::default();
        for piece in &pieces {
            add(reader, piece, &mut ignored, WordQuoting::Double);
        }
    } else {
        reader.refuse("a here-document cannot be parsed");
        reader.out.incomplete = true;
    }
    // The word grammar may see less than the shell does.
    if text.contains(['$', '`']) {
        reader.refuse("a here-document has an expansion");
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WordQuoting {
    None,
    Double,
}

fn add(reader: &mut GrammarReader, piece: &WordPieceWithSource, out: &mut ShellWord, quoting: WordQuoting) {
    match &piece.piece {
        WordPiece::Text(text) => {
            // The old spelling of arithmetic.
            reader.out.is_late_bound |= text.contains("$[");
            if quoting == WordQuoting::None {
                check_bare(reader, text, out);
                out.pattern.push_str(text);
            } else {
                push_literal(out, text);
            }
            out.text.push_str(text);
        }
        WordPiece::SingleQuotedText(text) => {
            out.quoted = true;
            push_literal(out, text);
            out.text.push_str(text);
        }
        WordPiece::AnsiCQuotedText(text) => {
            reader.refuse("it has an escaped string");
            out.quoted = true;
            out.text.push_str(&ansi_c(text));
        }
        WordPiece::DoubleQuotedSequence(pieces) => {
            out.quoted = true;
            for piece in pieces {
                add(reader, piece, out, WordQuoting::Double);
            }
        }
        WordPiece::GettextDoubleQuotedSequence(pieces) => {
            reader.refuse("it has a translated string");
            out.quoted = true;
            for piece in pieces {
                add(reader, piece, out, WordQuoting::Double);
            }
        }
        WordPiece::TildeExpansion(tilde) => {
            match tilde {
                TildeExpr::Home => out.tilde = true,
                TildeExpr::UserHome(_)
                | TildeExpr::WorkingDir
                | TildeExpr::OldWorkingDir
                | TildeExpr::NthDirFromTopOfDirStack { .. }
                | TildeExpr::NthDirFromBottomOfDirStack { .. } => reader.refuse("it has an unusual tilde"),
            }
            out.text.push('~');
        }
        WordPiece::ParameterExpansion(parameter) => {
            out.expands = true;
            let shortened = relaxed::shortened_variable(parameter).filter(|_| reader.style == ReadingStyle::Relaxed);
            if let Some(name) = plain_variable(parameter) {
                // The reader of the whole command decides whether its value matters there.
                out.text.extend(["${", &name, "}"]);
                out.pattern.extend(["${", &name, "}"]);
                out.variables.push(VariableUse { name, quoted: quoting == WordQuoting::Double });
            } else if let Some(name) = shortened {
                out.text.push_str("$()");
                out.variables.push(VariableUse { name: name.to_owned(), quoted: quoting == WordQuoting::Double });
            } else {
                reader.refuse("it has an expansion");
                expanded(reader, parameter, out);
            }
        }
        WordPiece::CommandSubstitution(text) => {
            let constant = Some(quoting).filter(|quoting| *quoting == WordQuoting::Double);
            if let Some(printed) = constant.and_then(|_| reader.read_constant(text)) {
                push_literal(out, &printed);
                out.text.push_str(&printed);
            } else {
                let command = reader.read_nested(text);
                substitute(out, command, quoting);
            }
        }
        WordPiece::BackquotedCommandSubstitution(text) => {
            let text = text.replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\");
            let command = reader.read_nested(&text);
            substitute(out, command, quoting);
        }
        WordPiece::EscapeSequence(text) => escape(text, out),
        WordPiece::ArithmeticExpression(expr) => {
            out.expands = true;
            out.text.push_str("$()");
            reader.arithmetic(&expr.value);
            let name = variables::COMPUTED.to_owned();
            out.variables.push(VariableUse { name, quoted: true });
        }
    }
}

/// Records that the word contains the output of commands.
fn substitute(out: &mut ShellWord, command: Option<Vec<String>>, quoting: WordQuoting) {
    out.expands = true;
    out.text.push_str("$()");
    let is_only = out.substituted.is_none();
    let before = match &out.substituted {
        Some(SubstitutedText::Text { quoted, .. }) => *quoted,
        Some(SubstitutedText::File) | None => true,
    };
    let quoted = before && quoting == WordQuoting::Double;
    out.substituted = Some(SubstitutedText::Text { quoted, command: command.filter(|_| is_only) });
}

/// `$name`, `${name}` and the special parameters that are numbers.
fn plain_variable(expr: &ParameterExpr) -> Option<String> {
    let ParameterExpr::Parameter { parameter, indirect: false } = expr else { return None };
    match parameter {
        Parameter::Named(name) => Some(name.clone()),
        Parameter::Special(special) => match special {
            SpecialParameter::PositionalParameterCount => Some("#".into()),
            SpecialParameter::LastExitStatus => Some("?".into()),
            SpecialParameter::ProcessId => Some("$".into()),
            SpecialParameter::LastBackgroundProcessId => Some("!".into()),
            SpecialParameter::AllPositionalParameters { .. }
            | SpecialParameter::CurrentOptionFlags
            | SpecialParameter::ShellName => None,
        },
        Parameter::Positional(_) | Parameter::NamedWithIndex { .. } | Parameter::NamedWithAllIndices { .. } => None,
    }
}

/// Adds characters to the pattern of the word that stand for themselves.
fn push_literal(out: &mut ShellWord, text: &str) {
    for c in text.chars() {
        if c.is_ascii_punctuation() && c != '/' {
            out.pattern.push('\\');
        }
        out.pattern.push(c);
    }
}

fn escape(text: &str, out: &mut ShellWord) {
    let escaped = text.strip_prefix('\\').unwrap_or(text);
    if escaped != "\n" {
        out.quoted = true;
        push_literal(out, escaped);
        out.text.push_str(escaped);
    }
}

/// Unquoted text: patterns are noted; braces, parentheses and stray quotes refuse.
fn check_bare(reader: &mut GrammarReader, text: &str, out: &mut ShellWord) {
    // `[` alone is a program.
    if text.contains(['*', '?', '[']) && out.raw != "[" {
        out.glob = true;
    }
    if text.contains(['(', ')', '`', '\'', '"', '\\', '\n']) {
        reader.refuse("it has a pattern or quote that is not plain");
    }
    if text.contains('$') {
        reader.refuse("it has an expansion");
    }
    // `{}` and `HEAD@{1}` are literal; lists, ranges and `{name}>` are not.
    let braces = text.contains(['{', '}']);
    let builds_words = out.raw.contains(',') || out.raw.contains("..");
    let names_descriptor = out.raw.starts_with('{') && out.raw.len() > 2;
    if braces && (builds_words || names_descriptor) {
        reader.refuse("it has braces");
    }
}

fn expanded(reader: &mut GrammarReader, expr: &ParameterExpr, out: &mut ShellWord) {
    let mut texts: Vec<&str> = Vec::new();
    reader.out.is_late_bound |= is_evaluated(expr);
    if let ParameterExpr::AssignDefaultValues { parameter: Parameter::Named(name), .. } = expr {
        reader.out.filled.push(name.clone());
    }
    let parameter = match expr {
        ParameterExpr::Parameter { parameter, .. }
        | ParameterExpr::ParameterLength { parameter, .. }
        | ParameterExpr::Transform { parameter, .. } => Some(parameter),
        ParameterExpr::UseDefaultValues { parameter, default_value: text, .. }
        | ParameterExpr::AssignDefaultValues { parameter, default_value: text, .. }
        | ParameterExpr::IndicateErrorIfNullOrUnset { parameter, error_message: text, .. }
        | ParameterExpr::UseAlternativeValue { parameter, alternative_value: text, .. }
        | ParameterExpr::RemoveSmallestSuffixPattern { parameter, pattern: text, .. }
        | ParameterExpr::RemoveLargestSuffixPattern { parameter, pattern: text, .. }
        | ParameterExpr::RemoveSmallestPrefixPattern { parameter, pattern: text, .. }
        | ParameterExpr::RemoveLargestPrefixPattern { parameter, pattern: text, .. }
        | ParameterExpr::UppercaseFirstChar { parameter, pattern: text, .. }
        | ParameterExpr::UppercasePattern { parameter, pattern: text, .. }
        | ParameterExpr::LowercaseFirstChar { parameter, pattern: text, .. }
        | ParameterExpr::LowercasePattern { parameter, pattern: text, .. } => {
            texts.extend(text.as_deref());
            Some(parameter)
        }
        ParameterExpr::ReplaceSubstring { parameter, pattern, replacement, .. } => {
            texts.push(pattern);
            texts.extend(replacement.as_deref());
            Some(parameter)
        }
        ParameterExpr::Substring { parameter, offset, length, .. } => {
            texts.push(&offset.value);
            texts.extend(length.as_ref().map(|length| length.value.as_str()));
            reader.out.arithmetic.extend(texts.iter().map(|text| (*text).to_owned()));
            Some(parameter)
        }
        ParameterExpr::VariableNames { .. } | ParameterExpr::MemberKeys { .. } => None,
    };
    match parameter {
        Some(Parameter::Named(name)) => out.text.extend(["${", name, "}"]),
        Some(Parameter::NamedWithIndex { index, .. }) => {
            out.text.push_str("$()");
            reader.out.arithmetic.push(index.clone());
            texts.push(index);
        }
        Some(Parameter::Positional(_) | Parameter::Special(_) | Parameter::NamedWithAllIndices { .. }) | None => {
            out.text.push_str("$()");
        }
    }
    for text in texts {
        walk(reader, text);
    }
}

/// Expansions that take the value of a variable for a name or for a prompt, and so run its content.
fn is_evaluated(expr: &ParameterExpr) -> bool {
    match expr {
        ParameterExpr::Transform { op: ParameterTransformOp::PromptExpand, .. } => true,
        ParameterExpr::Parameter { indirect, .. }
        | ParameterExpr::ParameterLength { indirect, .. }
        | ParameterExpr::Transform { indirect, .. }
        | ParameterExpr::UseDefaultValues { indirect, .. }
        | ParameterExpr::AssignDefaultValues { indirect, .. }
        | ParameterExpr::IndicateErrorIfNullOrUnset { indirect, .. }
        | ParameterExpr::UseAlternativeValue { indirect, .. }
        | ParameterExpr::RemoveSmallestSuffixPattern { indirect, .. }
        | ParameterExpr::RemoveLargestSuffixPattern { indirect, .. }
        | ParameterExpr::RemoveSmallestPrefixPattern { indirect, .. }
        | ParameterExpr::RemoveLargestPrefixPattern { indirect, .. }
        | ParameterExpr::UppercaseFirstChar { indirect, .. }
        | ParameterExpr::UppercasePattern { indirect, .. }
        | ParameterExpr::LowercaseFirstChar { indirect, .. }
        | ParameterExpr::LowercasePattern { indirect, .. }
        | ParameterExpr::ReplaceSubstring { indirect, .. }
        | ParameterExpr::Substring { indirect, .. } => *indirect,
        ParameterExpr::VariableNames { .. } | ParameterExpr::MemberKeys { .. } => false,
    }
}
