//! Keys: their type (`KeyPress`), decoding from bytes (`decode`), and their actions (`bindings`).

pub mod bindings;
pub mod decode;
mod names;

/// A key of the keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyCode {
    Char(char),
    Enter,
    Tab,
    Backspace,
    Escape,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    Delete,
    Insert,
    Function(u8),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyMods {
    pub ctrl: bool,
    pub alt: bool,
    pub shift: bool,
    pub command: bool,
}

impl KeyMods {
    pub const NONE: Self = Self { ctrl: false, alt: false, shift: false, command: false };
    pub const CTRL: Self = Self { ctrl: true, ..Self::NONE };
    pub const ALT: Self = Self { alt: true, ..Self::NONE };
    pub const SHIFT: Self = Self { shift: true, ..Self::NONE };

    pub fn is_none(self) -> bool {
        self == Self::NONE
    }
}

/// A key press. A character without other modifiers includes its shift: `A`, not shift and `a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyPress {
    pub code: KeyCode,
    pub mods: KeyMods,
}

impl KeyPress {
    pub fn new(code: KeyCode, mods: KeyMods) -> Self {
        let mut key = Self { code, mods };
        if let KeyCode::Char(c) = code {
            let alone = !mods.ctrl && !mods.alt && !mods.command;
            if alone && mods.shift {
                key.code = KeyCode::Char(upper(c));
                key.mods.shift = false;
            } else if !alone && c.is_uppercase() {
                key.code = KeyCode::Char(lower(c));
                key.mods.shift = true;
            }
        }
        key
    }

    pub fn plain(code: KeyCode) -> Self {
        Self::new(code, KeyMods::NONE)
    }

    pub fn char(c: char) -> Self {
        Self::plain(KeyCode::Char(c))
    }

    pub fn ctrl(c: char) -> Self {
        Self::new(KeyCode::Char(c), KeyMods::CTRL)
    }

    pub fn alt(c: char) -> Self {
        Self::new(KeyCode::Char(c), KeyMods::ALT)
    }

    /// The character to insert; `None` when the key is not a plain character.
    pub fn text(self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if self.mods.is_none() => Some(c),
            _ => None,
        }
    }
}

fn upper(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(only), None) => only,
        _ => c,
    }
}

fn lower(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(only), None) => only,
        _ => c,
    }
}

/// Input from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalInput {
    Key(KeyPress),
    /// Pasted text with `\n` line ends.
    Paste(String),
    Focus(FocusChange),
    /// The terminal's answer to a query: the sequence without its escape byte, e.g. `]11;rgb:…` or `[?1u`.
    Report(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FocusChange {
    Gained,
    Lost,
}
