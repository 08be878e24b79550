//! The second opinion: the same text as `tree-sitter-bash` sees it. It never allows anything; it adds commands for deny
//! and ask rules, and a disagreement with the authority makes a command opaque.

use super::suspects::{self, PossibleCommand};
use tree_sitter::{Node, Parser};

pub(crate) struct SecondOpinion {
    pub(crate) suspects: Vec<PossibleCommand>,
    /// The names of the commands found.
    pub(crate) names: Vec<String>,
    pub(crate) broken: bool,
    /// How much text may still be searched.
    budget: usize,
}

/// Commands inside commands are searched again and again; what lies beyond this is taken for anything.
const BUDGET: usize = 40_000;

pub(crate) fn read(text: &str) -> Option<SecondOpinion> {
    // The grammar takes a continued line inside a word for two words.
    let text = &ascii(&text.replace("\\\n", ""));
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let tree = parser.parse(text, None)?;
    let root = tree.root_node();
    let mut opinion =
        SecondOpinion { suspects: Vec::new(), names: Vec::new(), broken: root.has_error(), budget: BUDGET };
    let mut cursor = root.walk();
    // Depth first without recursion: the tree may be as deep as the text is long.
    'walk: loop {
        visit(cursor.node(), text, &mut opinion);
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                break 'walk;
            }
        }
    }
    Some(opinion)
}

/// The grammar's scanner looks characters up in a table of bytes: anything else would be read from beyond its end.
pub(crate) fn ascii(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii() && c != '\0' { c } else { 'x' }).collect()
}

fn visit(node: Node<'_>, text: &str, opinion: &mut SecondOpinion) {
    if node.kind() != "command" {
        return;
    }
    let Some(source) = text.get(node.byte_range()) else { return };
    let Some(left) = opinion.budget.checked_sub(source.len()) else {
        opinion.broken = true;
        if !suspects::is_cut(&opinion.suspects) {
            opinion.suspects.push(suspects::cut_mark());
        }
        return;
    };
    opinion.budget = left;
    let found = suspects::find(source);
    let name = node.child_by_field_name("name").and_then(|name| text.get(name.byte_range()));
    opinion.names.extend(name.map(unquoted));
    opinion.suspects.extend(found);
}

fn unquoted(word: &str) -> String {
    suspects::find(word).into_iter().next().and_then(|suspect| suspect.words.into_iter().next()).unwrap_or_default()
}
