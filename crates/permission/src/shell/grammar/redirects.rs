//! Redirections and here-documents of a command: the files they open, and what they do to its streams.

use super::{GrammarReader, reads_only};
use crate::shell::script::{FileRedirect, ReadingStyle};
use crate::shell::suspects::PossibleCommand;
use crate::shell::{expansion, written};
use brush_parser::ast;

impl GrammarReader {
    pub(super) fn loose_redirects(&mut self, redirects: Option<&ast::RedirectList>) {
        if let Some(text) = written::redirects(redirects) {
            self.note(|| text);
        }
        let mut suspect = PossibleCommand::default();
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            if let Some(redirect) = self.redirect(redirect) {
                if self.style == ReadingStyle::Strict || redirect.writes {
                    self.refuse("it redirects a group of commands");
                }
                self.push_unit(reads_only(redirect.clone()));
                let side = if redirect.writes { &mut suspect.writes } else { &mut suspect.reads };
                side.push(redirect.word.text);
            }
        }
        if suspect != PossibleCommand::default() {
            self.out.suspects.push(suspect);
        }
    }

    pub(super) fn redirect(&mut self, redirect: &ast::IoRedirect) -> Option<FileRedirect> {
        match redirect {
            ast::IoRedirect::File(descriptor, kind, target) => {
                self.descriptor(*descriptor);
                self.file(kind, target)
            }
            ast::IoRedirect::HereDocument(descriptor, document) => {
                self.descriptor(*descriptor);
                self.document(document);
                None
            }
            ast::IoRedirect::HereString(descriptor, word) => {
                self.descriptor(*descriptor);
                self.word(word);
                None
            }
            ast::IoRedirect::OutputAndError(word, _) => self.target(word, RedirectDirection::Write),
        }
    }

    fn descriptor(&mut self, descriptor: Option<i32>) {
        if descriptor.is_some_and(|descriptor| !(0..=2).contains(&descriptor)) {
            self.refuse("it uses an unusual file descriptor");
        }
    }

    fn file(&mut self, kind: &ast::IoFileRedirectKind, target: &ast::IoFileRedirectTarget) -> Option<FileRedirect> {
        let direction = match kind {
            ast::IoFileRedirectKind::Read | ast::IoFileRedirectKind::DuplicateInput => RedirectDirection::Read,
            ast::IoFileRedirectKind::Write
            | ast::IoFileRedirectKind::Append
            | ast::IoFileRedirectKind::ReadAndWrite
            | ast::IoFileRedirectKind::Clobber
            | ast::IoFileRedirectKind::DuplicateOutput => RedirectDirection::Write,
        };
        match target {
            ast::IoFileRedirectTarget::Duplicate(word) if is_descriptor(&word.value) => None,
            ast::IoFileRedirectTarget::Filename(word) | ast::IoFileRedirectTarget::Duplicate(word) => {
                self.target(word, direction)
            }
            ast::IoFileRedirectTarget::Fd(descriptor) => {
                self.descriptor(Some(*descriptor));
                None
            }
            ast::IoFileRedirectTarget::ProcessSubstitution(kind, shell) => {
                if direction == RedirectDirection::Write {
                    self.refuse("it has a process substitution");
                }
                self.substituted(kind, &shell.list);
                None
            }
        }
    }

    fn target(&mut self, word: &ast::Word, direction: RedirectDirection) -> Option<FileRedirect> {
        let word = self.word(word);
        if word.text == "/dev/null" {
            return None;
        }
        // zsh reads `>! f` as a forced write to f.
        if word.glob || word.tilde || word.text.is_empty() || word.text.starts_with('!') {
            self.refuse("it redirects to a name that is not plain");
        }
        Some(FileRedirect { word, writes: direction == RedirectDirection::Write })
    }

    fn document(&mut self, document: &ast::IoHereDocument) {
        if !document.requires_expansion {
            self.out.data.push(document.doc.value.clone());
            return;
        }
        expansion::document(self, &document.doc.value);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RedirectDirection {
    Read,
    Write,
}

fn is_descriptor(text: &str) -> bool {
    matches!(text, "0" | "1" | "2" | "-")
}

/// Whether the redirection gives the program another standard input.
pub(super) fn is_input(redirect: &ast::IoRedirect) -> bool {
    match redirect {
        ast::IoRedirect::File(descriptor, kind, _) => {
            matches!(
                kind,
                ast::IoFileRedirectKind::Read
                    | ast::IoFileRedirectKind::ReadAndWrite
                    | ast::IoFileRedirectKind::DuplicateInput
            ) || *descriptor == Some(0)
        }
        ast::IoRedirect::HereDocument(..) | ast::IoRedirect::HereString(..) => true,
        ast::IoRedirect::OutputAndError(..) => false,
    }
}

pub(super) fn copies_stream(redirect: &ast::IoRedirect) -> bool {
    match redirect {
        ast::IoRedirect::File(_, kind, _) => {
            matches!(kind, ast::IoFileRedirectKind::DuplicateOutput | ast::IoFileRedirectKind::DuplicateInput)
        }
        ast::IoRedirect::OutputAndError(..) => true,
        ast::IoRedirect::HereDocument(..) | ast::IoRedirect::HereString(..) => false,
    }
}
