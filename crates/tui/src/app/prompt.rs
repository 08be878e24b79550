//! The prompt: the text being written, vim keys, earlier prompts, and a text put aside. It knows nothing of sessions and
//! layers.

use super::pictures::PendingImages;
use super::prompt_history::PromptHistory;
use engine::prompt_history::{EarlierPrompt, TypedPrompt};
use terminal::editor::chips::Chip;
use terminal::editor::vim::{KeyHandling, Vim, VimMode};
use terminal::editor::{Editor, Submission};
use terminal::keys::{KeyCode, KeyMods, KeyPress};

#[derive(Debug, Default)]
pub struct Prompt {
    pub editor: Editor,
    pub history: PromptHistory,
    pub images: PendingImages,
    vim: Option<Vim>,
    stash: Option<String>,
}

/// What vim mode did with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VimOutcome {
    Unused,
    Edited,
    /// A search in earlier prompts begins.
    Search,
}

impl Prompt {
    pub fn new(vim: bool) -> Self {
        Self { vim: vim.then(Vim::default), ..Self::default() }
    }

    pub fn set_vim(&mut self, on: bool) {
        self.vim = on.then(Vim::default);
    }

    /// `None` without vim keys.
    pub fn vim_mode(&self) -> Option<VimMode> {
        self.vim.as_ref().map(Vim::mode)
    }

    pub fn vim_key(&mut self, key: KeyPress) -> VimOutcome {
        let Some(vim) = &mut self.vim else { return VimOutcome::Unused };
        if vim.is_idle() && key == KeyPress::char('/') && !self.editor.is_empty() {
            return VimOutcome::Search;
        }
        // These keys have a special meaning in an empty prompt.
        if vim.is_idle() && self.editor.is_empty() && matches!(key.text(), Some('?' | '/')) {
            vim.reset();
            return VimOutcome::Unused;
        }
        match vim.key(&mut self.editor, key) {
            KeyHandling::No => VimOutcome::Unused,
            KeyHandling::Yes => VimOutcome::Edited,
        }
    }

    /// Whether Enter inserts a line break, because a backslash is before the cursor.
    pub fn continues_line(&self) -> bool {
        self.editor.text()[..self.editor.cursor()].ends_with('\\')
    }

    /// Takes what was written, with the form for the history file; `None` when nothing was.
    pub fn take(&mut self) -> Option<(Submission, TypedPrompt)> {
        let submission = self.editor.take();
        if let Some(vim) = &mut self.vim {
            vim.reset();
        }
        if submission.expanded.trim().is_empty() {
            return None;
        }
        self.history.add(submission.expanded.trim());
        let pasted = submission.chips.iter().filter_map(|(label, chip)| match chip {
            Chip::Text(text) => Some((label.clone(), text.clone())),
            Chip::Image { .. } => None,
        });
        let typed = TypedPrompt { shown: submission.shown.trim().to_owned(), pasted: pasted.collect() };
        Some((submission, typed))
    }

    /// Clears the text; the history keeps it.
    pub fn clear(&mut self) {
        if !self.editor.is_empty() {
            let text = self.editor.take();
            self.history.add(&text.expanded);
        }
    }

    /// Adds prompts of earlier sessions.
    pub fn load_history(&mut self, prompts: Vec<EarlierPrompt>, session: Option<&str>) {
        self.history.load(prompts, session);
        self.history.show_awaited(&mut self.editor);
    }

    pub fn older(&mut self) {
        self.history.older(&mut self.editor);
    }

    /// Whether no earlier prompt is shown.
    pub fn is_newest(&self) -> bool {
        self.history.is_newest()
    }

    pub fn newer(&mut self) {
        self.history.newer(&mut self.editor);
    }

    /// Puts the text aside and returns `true`, or takes back what was put aside.
    pub fn stash(&mut self) -> bool {
        match (self.editor.is_empty(), self.stash.take()) {
            (true, Some(text)) => self.editor.set(text),
            (true, None) => {}
            (false, _) => {
                self.stash = Some(self.editor.take().expanded);
                return true;
            }
        }
        false
    }

    /// Puts messages back, one per line, before the text being typed.
    pub fn put_back(&mut self, messages: Vec<Submission>) {
        let mut parts = Vec::with_capacity(messages.len() + 1);
        for submission in messages {
            self.editor.chips.restore(submission.chips);
            parts.push(submission.shown);
        }
        if !self.editor.is_empty() {
            parts.push(self.editor.text().to_owned());
        }
        self.editor.set(parts.join("\n"));
    }
}

/// Applies an editing key; `false` when the key is not one.
pub(crate) fn edit(editor: &mut Editor, key: KeyPress) -> bool {
    let KeyMods { ctrl, alt, .. } = key.mods;
    let word = ctrl || alt;
    match key.code {
        KeyCode::Char(c) if key.mods.is_none() => editor.insert(c.encode_utf8(&mut [0; 4])),
        KeyCode::Char(c) if ctrl && !alt => match c {
            'a' => editor.line_start(),
            'e' => editor.line_end(),
            'b' => editor.left(),
            'f' => editor.right(),
            'h' => editor.backspace(),
            'k' => editor.kill_to_end(),
            'u' => editor.kill_to_start(),
            'w' => editor.kill_big_word(),
            'y' => editor.yank(),
            _ => return false,
        },
        KeyCode::Char(c) if alt && !ctrl => match c {
            'b' => editor.word_left(),
            'f' => editor.word_right(),
            'd' => editor.kill_word_right(),
            'y' => editor.yank_older(),
            _ => return false,
        },
        KeyCode::Backspace if word => editor.kill_word_left(),
        KeyCode::Backspace => editor.backspace(),
        KeyCode::Delete if word => editor.kill_word_right(),
        KeyCode::Delete => editor.delete(),
        KeyCode::Left if word => editor.word_left(),
        KeyCode::Left => editor.left(),
        KeyCode::Right if word => editor.word_right(),
        KeyCode::Right => editor.right(),
        KeyCode::Home => editor.line_start(),
        KeyCode::End => editor.line_end(),
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_put_aside_comes_back_and_what_was_cleared_is_recalled() {
        let mut prompt = Prompt::default();
        prompt.editor.set("later");
        assert!(prompt.stash() && prompt.editor.is_empty());
        prompt.editor.set("now");
        prompt.clear();
        assert!(!prompt.stash());
        assert_eq!(prompt.editor.text(), "later");
        prompt.older();
        assert_eq!(prompt.editor.text(), "now");
    }

    #[test]
    fn messages_are_put_back_before_what_is_typed() {
        let mut prompt = Prompt::default();
        prompt.editor.set("typed");
        prompt.put_back(vec![Submission::plain("one"), Submission::plain("two")]);
        assert_eq!(prompt.editor.text(), "one\ntwo\ntyped");
        let (submission, typed) = prompt.take().unwrap();
        assert_eq!((submission.shown.as_str(), typed.shown.as_str()), ("one\ntwo\ntyped", "one\ntwo\ntyped"));
        assert!(prompt.take().is_none());
    }

    #[test]
    fn vim_keys_search_edit_or_are_left() {
        let mut prompt = Prompt::new(true);
        let escape = KeyPress::plain(KeyCode::Escape);
        assert_eq!(prompt.vim_key(KeyPress::char('a')), VimOutcome::Unused, "letters are inserted as always");
        prompt.editor.set("text");
        assert_eq!(prompt.vim_key(escape), VimOutcome::Edited);
        assert_eq!(prompt.vim_key(KeyPress::char('/')), VimOutcome::Search);
        assert_eq!(prompt.vim_key(KeyPress::char('x')), VimOutcome::Edited);
        assert_eq!(prompt.editor.text(), "tex");
        prompt.set_vim(false);
        assert_eq!((prompt.vim_key(escape), prompt.vim_mode()), (VimOutcome::Unused, None));
    }
}
