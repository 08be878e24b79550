//! Key names as users write them: `ctrl+shift+a`, `alt+enter`, `ctrl+x ctrl+k`.

use super::{KeyCode, KeyMods, KeyPress};
use std::fmt;

impl fmt::Display for KeyPress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KeyMods { ctrl, alt, shift, command } = self.mods;
        for (on, name) in [(ctrl, "ctrl+"), (alt, "alt+"), (shift, "shift+"), (command, "cmd+")] {
            if on {
                f.write_str(name)?;
            }
        }
        match self.code {
            KeyCode::Char(' ') => f.write_str("space"),
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::Function(n) => write!(f, "f{n}"),
            KeyCode::Enter => f.write_str("enter"),
            KeyCode::Tab => f.write_str("tab"),
            KeyCode::Backspace => f.write_str("backspace"),
            KeyCode::Escape => f.write_str("escape"),
            KeyCode::Up => f.write_str("up"),
            KeyCode::Down => f.write_str("down"),
            KeyCode::Left => f.write_str("left"),
            KeyCode::Right => f.write_str("right"),
            KeyCode::Home => f.write_str("home"),
            KeyCode::End => f.write_str("end"),
            KeyCode::PageUp => f.write_str("pageup"),
            KeyCode::PageDown => f.write_str("pagedown"),
            KeyCode::Delete => f.write_str("delete"),
            KeyCode::Insert => f.write_str("insert"),
        }
    }
}

/// Parses one key; `None` when the name is unknown.
pub(super) fn parse_key(text: &str) -> Option<KeyPress> {
    let mut mods = KeyMods::NONE;
    let mut rest = text;
    // A plus sign may be the key itself: `ctrl++`.
    while let Some((name, tail)) = rest.split_once('+').filter(|(name, tail)| !name.is_empty() && !tail.is_empty()) {
        match name.to_ascii_lowercase().as_str() {
            "ctrl" | "control" => mods.ctrl = true,
            "shift" => mods.shift = true,
            "alt" | "opt" | "option" | "meta" => mods.alt = true,
            "cmd" | "command" | "super" | "win" => mods.command = true,
            _ => return None,
        }
        rest = tail;
    }
    let mut chars = rest.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        // With modifiers, a capital letter means the same as a small one.
        let c = if mods.is_none() { c } else { super::lower(c) };
        return Some(KeyPress::new(KeyCode::Char(c), mods));
    }
    Some(KeyPress::new(parse_code(&rest.to_ascii_lowercase())?, mods))
}

fn parse_code(name: &str) -> Option<KeyCode> {
    Some(match name {
        "escape" | "esc" => KeyCode::Escape,
        "enter" | "return" => KeyCode::Enter,
        "tab" => KeyCode::Tab,
        "space" => KeyCode::Char(' '),
        "backspace" => KeyCode::Backspace,
        "delete" | "del" => KeyCode::Delete,
        "insert" => KeyCode::Insert,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "pageup" => KeyCode::PageUp,
        "pagedown" => KeyCode::PageDown,
        _ => KeyCode::Function(name.strip_prefix('f')?.parse().ok().filter(|n| (1..=24).contains(n))?),
    })
}

/// Parses a chord: keys separated by blanks.
pub(super) fn parse_chord(text: &str) -> Option<Vec<KeyPress>> {
    let keys: Option<Vec<KeyPress>> = text.split_whitespace().map(parse_key).collect();
    keys.filter(|keys| !keys.is_empty())
}

/// A chord as shown in hints: `ctrl+x ctrl+k`.
pub(super) fn show_chord(keys: &[KeyPress]) -> String {
    keys.iter().map(KeyPress::to_string).collect::<Vec<_>>().join(" ")
}
