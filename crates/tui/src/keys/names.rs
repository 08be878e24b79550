//! Keys as people write them: `ctrl+shift+a`, `alt+enter`, `ctrl+x ctrl+k`.

use super::{Code, Key, Mods};
use std::fmt;

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mods { ctrl, alt, shift, command } = self.mods;
        for (on, name) in [(ctrl, "ctrl+"), (alt, "alt+"), (shift, "shift+"), (command, "cmd+")] {
            if on {
                f.write_str(name)?;
            }
        }
        match self.code {
            Code::Char(' ') => f.write_str("space"),
            Code::Char(c) => write!(f, "{c}"),
            Code::Function(n) => write!(f, "f{n}"),
            Code::Enter => f.write_str("enter"),
            Code::Tab => f.write_str("tab"),
            Code::Backspace => f.write_str("backspace"),
            Code::Escape => f.write_str("escape"),
            Code::Up => f.write_str("up"),
            Code::Down => f.write_str("down"),
            Code::Left => f.write_str("left"),
            Code::Right => f.write_str("right"),
            Code::Home => f.write_str("home"),
            Code::End => f.write_str("end"),
            Code::PageUp => f.write_str("pageup"),
            Code::PageDown => f.write_str("pagedown"),
            Code::Delete => f.write_str("delete"),
            Code::Insert => f.write_str("insert"),
        }
    }
}

/// One key, or `None` when the name means nothing.
pub(super) fn parse_key(text: &str) -> Option<Key> {
    let mut mods = Mods::NONE;
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
        // With other modifiers a capital is just a way of writing.
        let c = if mods.is_none() { c } else { super::lower(c) };
        return Some(Key::new(Code::Char(c), mods));
    }
    Some(Key::new(parse_code(&rest.to_ascii_lowercase())?, mods))
}

fn parse_code(name: &str) -> Option<Code> {
    Some(match name {
        "escape" | "esc" => Code::Escape,
        "enter" | "return" => Code::Enter,
        "tab" => Code::Tab,
        "space" => Code::Char(' '),
        "backspace" => Code::Backspace,
        "delete" | "del" => Code::Delete,
        "insert" => Code::Insert,
        "up" => Code::Up,
        "down" => Code::Down,
        "left" => Code::Left,
        "right" => Code::Right,
        "home" => Code::Home,
        "end" => Code::End,
        "pageup" => Code::PageUp,
        "pagedown" => Code::PageDown,
        _ => Code::Function(name.strip_prefix('f')?.parse().ok().filter(|n| (1..=24).contains(n))?),
    })
}

/// A chord: keys separated by blanks.
pub(super) fn parse_chord(text: &str) -> Option<Vec<Key>> {
    let keys: Option<Vec<Key>> = text.split_whitespace().map(parse_key).collect();
    keys.filter(|keys| !keys.is_empty())
}

/// As shown in hints: `ctrl+x ctrl+k`.
pub(super) fn show_chord(keys: &[Key]) -> String {
    keys.iter().map(Key::to_string).collect::<Vec<_>>().join(" ")
}
