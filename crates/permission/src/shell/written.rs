//! Parts of a command as they are written: with quotes, redirections and their targets. A here-document is folded into
//! its command.

use brush_parser::ast;

/// A simple command on one line, as far as its words are.
pub(super) fn simple(command: &ast::SimpleCommand) -> String {
    let before = command.prefix.iter().flat_map(|prefix| &prefix.0).map(item);
    let name = command.word_or_name.iter().map(|word| joined(&word.value));
    let after = command.suffix.iter().flat_map(|suffix| &suffix.0).map(item);
    before.chain(name).chain(after).collect::<Vec<_>>().join(" ")
}

pub(super) fn test(test: &ast::ExtendedTestExpr) -> String {
    format!("[[ {test} ]]")
}

/// What is redirected of a group of commands.
pub(super) fn redirects(list: Option<&ast::RedirectList>) -> Option<String> {
    let texts: Vec<String> = list?.0.iter().map(redirect).collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

fn item(item: &ast::CommandPrefixOrSuffixItem) -> String {
    match item {
        ast::CommandPrefixOrSuffixItem::IoRedirect(one) => redirect(one),
        ast::CommandPrefixOrSuffixItem::Word(word) | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
            joined(&word.value)
        }
        ast::CommandPrefixOrSuffixItem::ProcessSubstitution(kind, shell) => format!("{kind}({})", shell.list),
    }
}

fn redirect(redirect: &ast::IoRedirect) -> String {
    let number = |descriptor: &Option<i32>| descriptor.map(|number| number.to_string()).unwrap_or_default();
    match redirect {
        ast::IoRedirect::File(descriptor, kind, target) => {
            let target = match target {
                ast::IoFileRedirectTarget::Filename(word) => format!(" {}", joined(&word.value)),
                ast::IoFileRedirectTarget::Fd(descriptor) => descriptor.to_string(),
                ast::IoFileRedirectTarget::Duplicate(word) => joined(&word.value),
                ast::IoFileRedirectTarget::ProcessSubstitution(kind, shell) => format!(" {kind}({})", shell.list),
            };
            format!("{}{kind}{target}", number(descriptor))
        }
        ast::IoRedirect::HereDocument(descriptor, document) => {
            let dash = if document.remove_tabs { "-" } else { "" };
            format!("{}<<{dash}{} … {}", number(descriptor), document.here_end.value, lines(&document.doc.value))
        }
        ast::IoRedirect::HereString(descriptor, word) => format!("{}<<< {}", number(descriptor), joined(&word.value)),
        ast::IoRedirect::OutputAndError(word, appends) => {
            format!("&>{} {}", if *appends { ">" } else { "" }, joined(&word.value))
        }
    }
}

/// The word without continued lines; of a word of several lines, the first.
fn joined(raw: &str) -> String {
    let word = raw.replace("\\\n", "");
    match word.split_once('\n') {
        Some((first, rest)) if !rest.is_empty() => format!("{first} … {}", lines(rest)),
        _ => word,
    }
}

fn lines(text: &str) -> String {
    match text.lines().count() {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    }
}
