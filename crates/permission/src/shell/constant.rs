//! Substitutions whose output is written in the command: `"$(cat <<'EOF' … EOF)"`, the usual way to give a program a text
//! of several lines.

use brush_parser::{ParserOptions, ast};

/// The text that a substitution prints, when it is a quoted here-document given to `cat` and nothing else.
pub(super) fn printed_document(text: &str, options: &ParserOptions) -> Option<String> {
    if !text.trim_start().starts_with("cat") || !text.contains("<<") {
        return None;
    }
    let tokens = brush_parser::uncached_tokenize_str(text, &options.tokenizer_options()).ok()?;
    let program = brush_parser::parse_tokens(&tokens, options).ok()?;
    let [list] = program.complete_commands.as_slice() else { return None };
    let [ast::CompoundListItem(and_or, ast::SeparatorOperator::Sequence)] = list.0.as_slice() else { return None };
    let pipeline = &and_or.first;
    let [ast::Command::Simple(simple)] = pipeline.seq.as_slice() else { return None };
    let is_alone = and_or.additional.is_empty() && !pipeline.bang && pipeline.timed.is_none();
    let is_cat = simple.prefix.is_none() && simple.word_or_name.as_ref().is_some_and(|name| name.value == "cat");
    let [ast::CommandPrefixOrSuffixItem::IoRedirect(ast::IoRedirect::HereDocument(None, document))] =
        simple.suffix.as_ref()?.0.as_slice()
    else {
        return None;
    };
    let body = &document.doc.value;
    let is_data = !document.requires_expansion && ends_nowhere_else(body);
    (is_alone && is_cat && is_data).then(|| body.trim_end_matches('\n').to_owned())
}

/// Whether every shell finds the same end of the substitution. Old ones count parentheses also inside the document, and
/// take quotes and comments in it for their own.
fn ends_nowhere_else(body: &str) -> bool {
    let is_balanced = |line: &str| {
        let mut depth = 0_usize;
        line.chars().all(|c| match c {
            '(' => {
                depth += 1;
                true
            }
            ')' => {
                let was = depth;
                depth = depth.saturating_sub(1);
                was > 0
            }
            _ => true,
        }) && depth == 0
    };
    let hides = body.contains(['\'', '"', '`', '\\']);
    if hides { !body.contains(['(', ')', '`', '\\']) } else { body.lines().all(is_balanced) }
}
