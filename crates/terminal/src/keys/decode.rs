//! Decodes bytes into inputs. The result does not depend on how the bytes were split. Supports legacy sequences, the
//! kitty protocol and modifyOtherKeys; ignores mouse reports and key releases. An unknown sequence is dropped as a
//! whole and never appears as text.
//!
//! Two cases depend on time: a lone escape byte is the Esc key only if nothing follows, and a paste whose end marker
//! was lost ends when no more bytes arrive. The caller waits for `flush_delay()` and then calls `flush()`.

use super::{FocusChange, KeyCode, KeyMods, KeyPress, TerminalInput};
use std::time::Duration;

/// Wait after a lone escape byte, which may be the Esc key.
const ESCAPE_WAIT: Duration = Duration::from_millis(40);
/// Wait after the beginning of a sequence, which nobody types: over a slow line the rest may be late.
const SEQUENCE_WAIT: Duration = Duration::from_millis(250);
const PASTE_WAIT: Duration = Duration::from_secs(1);
/// Longer sequences, in bytes, are dropped.
const SEQUENCE_LIMIT: usize = 4_096;
const PASTE_END: &[u8] = b"\x1b[201~";

#[derive(Debug, Default)]
pub struct InputDecoder {
    pending: Vec<u8>,
    /// The text of an unfinished bracketed paste.
    paste: Option<Vec<u8>>,
}

/// The result of reading the beginning of the pending bytes.
enum DecodeStep {
    /// This many bytes were read; `None` when they are no input.
    Done(usize, Option<TerminalInput>),
    PasteBegins(usize),
    /// More bytes are needed.
    Wait,
}

impl InputDecoder {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn push(&mut self, bytes: &[u8]) -> Vec<TerminalInput> {
        self.pending.extend_from_slice(bytes);
        let mut inputs = Vec::new();
        self.drain(&mut inputs);
        inputs
    }

    /// How long to wait for more bytes before calling `flush`; `None` when nothing is pending.
    pub fn flush_delay(&self) -> Option<Duration> {
        if self.paste.is_some() {
            Some(PASTE_WAIT)
        } else {
            match self.pending.len() {
                0 => None,
                1 => Some(ESCAPE_WAIT),
                _ => Some(SEQUENCE_WAIT),
            }
        }
    }

    /// Decodes the pending bytes without waiting for more.
    pub fn flush(&mut self) -> Vec<TerminalInput> {
        let mut inputs = Vec::new();
        if let Some(mut paste) = self.paste.take() {
            paste.append(&mut self.pending);
            inputs.push(TerminalInput::Paste(pasted(&paste)));
            return inputs;
        }
        match self.pending.first() {
            Some(0x1b) if self.pending.len() == 1 => inputs.push(TerminalInput::Key(KeyPress::plain(KeyCode::Escape))),
            // Alt and `[` or similar: a sequence introducer that nothing follows.
            Some(0x1b) if self.pending.len() == 2 => {
                inputs.push(TerminalInput::Key(KeyPress::alt(self.pending[1] as char)));
            }
            Some(_) | None => {}
        }
        self.pending.clear();
        inputs
    }

    fn drain(&mut self, inputs: &mut Vec<TerminalInput>) {
        loop {
            if self.paste.is_some() && !self.drain_paste(inputs) {
                return;
            }
            // Removes all bytes that were read at once, so that many keys take linear time.
            let mut at = 0;
            loop {
                match read(&self.pending[at..]) {
                    DecodeStep::Done(len, input) => {
                        at += len;
                        inputs.extend(input);
                    }
                    DecodeStep::PasteBegins(len) => {
                        at += len;
                        self.paste = Some(Vec::new());
                        break;
                    }
                    DecodeStep::Wait => break,
                }
            }
            self.pending.drain(..at);
            if self.paste.is_none() {
                return;
            }
        }
    }

    /// Returns `false` when the end of the paste has not arrived yet.
    fn drain_paste(&mut self, inputs: &mut Vec<TerminalInput>) -> bool {
        let Some(paste) = &mut self.paste else { return true };
        if let Some(at) = find(&self.pending, PASTE_END) {
            paste.extend_from_slice(&self.pending[..at]);
            self.pending.drain(..at + PASTE_END.len());
            inputs.push(TerminalInput::Paste(pasted(paste)));
            self.paste = None;
            return true;
        }
        // Keeps bytes that may be the beginning of the end marker.
        let keep = (1..PASTE_END.len().min(self.pending.len() + 1)).rev().find(|n| {
            let tail = &self.pending[self.pending.len() - n..];
            PASTE_END.starts_with(tail)
        });
        let done = self.pending.len() - keep.unwrap_or(0);
        paste.extend_from_slice(&self.pending[..done]);
        self.pending.drain(..done);
        false
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

/// Converts line ends to `\n`; terminals send them as carriage returns.
fn pasted(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n")
}

fn read(bytes: &[u8]) -> DecodeStep {
    match bytes {
        [] => DecodeStep::Wait,
        [0x1b, ..] => read_escape(bytes),
        [first, ..] if *first < 0x20 || *first == 0x7f => {
            DecodeStep::Done(1, Some(TerminalInput::Key(control(*first))))
        }
        _ => read_char(bytes).map_or(DecodeStep::Wait, |(len, c)| {
            DecodeStep::Done(
                len,
                c.map(|c| TerminalInput::Key(KeyPress { code: KeyCode::Char(c), mods: KeyMods::NONE })),
            )
        }),
    }
}

/// The length of one character, and the character if it is valid. `None` when bytes are missing.
fn read_char(bytes: &[u8]) -> Option<(usize, Option<char>)> {
    let len = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let available = &bytes[..len.min(bytes.len())];
    match std::str::from_utf8(available) {
        Ok(text) => Some((available.len(), text.chars().next().filter(|c| !c.is_control()))),
        Err(error) if error.error_len().is_none() && available.len() < len => None,
        Err(error) => Some((error.error_len().unwrap_or(1).max(1), Some(char::REPLACEMENT_CHARACTER))),
    }
}

fn control(byte: u8) -> KeyPress {
    match byte {
        0x00 => KeyPress::ctrl(' '),
        0x09 => KeyPress::plain(KeyCode::Tab),
        0x0d => KeyPress::plain(KeyCode::Enter),
        0x1b => KeyPress::plain(KeyCode::Escape),
        0x08 => KeyPress::new(KeyCode::Backspace, KeyMods::CTRL),
        0x7f => KeyPress::plain(KeyCode::Backspace),
        0x1c..=0x1f => KeyPress::ctrl((byte + 0x40) as char),
        _ => KeyPress::ctrl((byte + 0x60) as char),
    }
}

fn read_escape(bytes: &[u8]) -> DecodeStep {
    match bytes.get(1) {
        None => DecodeStep::Wait,
        // The Esc key, followed by another sequence.
        Some(0x1b) => DecodeStep::Done(1, Some(TerminalInput::Key(KeyPress::plain(KeyCode::Escape)))),
        Some(b'[') => read_csi(bytes),
        Some(b'O') => match bytes.get(2) {
            None => DecodeStep::Wait,
            Some(letter) => {
                let key = letter_key(*letter).map(|code| TerminalInput::Key(KeyPress::plain(code)));
                DecodeStep::Done(3, key.or_else(|| keypad(*letter)))
            }
        },
        Some(b']' | b'P' | b'_' | b'^') => read_string(bytes),
        Some(byte) if *byte < 0x20 || *byte == 0x7f => {
            let key = control(*byte);
            DecodeStep::Done(2, Some(TerminalInput::Key(KeyPress::new(key.code, KeyMods { alt: true, ..key.mods }))))
        }
        Some(_) => match read_char(&bytes[1..]) {
            None => DecodeStep::Wait,
            Some((len, c)) => {
                DecodeStep::Done(len + 1, c.map(|c| TerminalInput::Key(KeyPress::new(KeyCode::Char(c), KeyMods::ALT))))
            }
        },
    }
}

fn keypad(letter: u8) -> Option<TerminalInput> {
    let code = match letter {
        b'M' => KeyCode::Enter,
        b'j'..=b'y' => KeyCode::Char((letter - 0x40) as char),
        _ => return None,
    };
    Some(TerminalInput::Key(KeyPress::plain(code)))
}

/// OSC, DCS, APC, PM: up to BEL or ST.
fn read_string(bytes: &[u8]) -> DecodeStep {
    for (at, byte) in bytes.iter().enumerate().skip(2) {
        match byte {
            0x07 => return DecodeStep::Done(at + 1, report(&bytes[1..at])),
            0x1b => {
                return match bytes.get(at + 1) {
                    None => DecodeStep::Wait,
                    Some(b'\\') => DecodeStep::Done(at + 2, report(&bytes[1..at])),
                    // Another sequence begins: this one was never terminated.
                    Some(_) => DecodeStep::Done(at, None),
                };
            }
            // The user typed alt and a bracket, then text.
            0x0d | 0x03 if at < SEQUENCE_LIMIT => return DecodeStep::Done(at, None),
            _ => {}
        }
    }
    if bytes.len() > SEQUENCE_LIMIT { DecodeStep::Done(bytes.len(), None) } else { DecodeStep::Wait }
}

fn report(bytes: &[u8]) -> Option<TerminalInput> {
    std::str::from_utf8(bytes).ok().map(|text| TerminalInput::Report(text.to_owned()))
}

fn read_csi(bytes: &[u8]) -> DecodeStep {
    // The Linux console sends function keys as `[[A`.
    if bytes.get(2) == Some(&b'[') {
        return match bytes.get(3) {
            None => DecodeStep::Wait,
            Some(letter @ b'A'..=b'E') => {
                DecodeStep::Done(4, Some(TerminalInput::Key(KeyPress::plain(KeyCode::Function(letter - b'A' + 1)))))
            }
            Some(_) => DecodeStep::Done(4, None),
        };
    }
    let mut at = 2;
    loop {
        match bytes.get(at) {
            None if at > SEQUENCE_LIMIT => return DecodeStep::Done(at, None),
            None => return DecodeStep::Wait,
            Some(0x20..=0x3f) => at += 1,
            Some(0x40..=0x7e) => break,
            // This byte cannot be part of a sequence: the sequence was cut off.
            Some(_) => return DecodeStep::Done(at, None),
        }
    }
    let (body, last) = (&bytes[2..at], bytes[at]);
    let len = at + 1;
    match (body, last) {
        (b"200", b'~') => DecodeStep::PasteBegins(len),
        (b"", b'I') => DecodeStep::Done(len, Some(TerminalInput::Focus(FocusChange::Gained))),
        (b"", b'O') => DecodeStep::Done(len, Some(TerminalInput::Focus(FocusChange::Lost))),
        // A legacy mouse report: three more bytes follow.
        (b"", b'M') => {
            if bytes.len() < len + 3 {
                DecodeStep::Wait
            } else {
                DecodeStep::Done(len + 3, None)
            }
        }
        (b"201", b'~') | ([b'<', ..], b'M' | b'm') => DecodeStep::Done(len, None),
        ([b'?' | b'>' | b'=', ..], _) | (_, b'R' | b'c' | b'n' | b't') => DecodeStep::Done(len, report(&bytes[1..len])),
        (_, b'u') => DecodeStep::Done(len, kitty(body)),
        (_, b'~') => DecodeStep::Done(len, numbered(body)),
        (b"", b'Z') => DecodeStep::Done(len, Some(TerminalInput::Key(KeyPress::new(KeyCode::Tab, KeyMods::SHIFT)))),
        _ => DecodeStep::Done(len, lettered(body, last)),
    }
}

/// `1;mods A` and similar.
fn lettered(body: &[u8], last: u8) -> Option<TerminalInput> {
    let code = letter_key(last)?;
    let params = CsiParams::read(body);
    (!params.is_release()).then(|| TerminalInput::Key(KeyPress::new(code, params.mods())))
}

fn letter_key(letter: u8) -> Option<KeyCode> {
    Some(match letter {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'E' => KeyCode::Char('5'),
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'P'..=b'S' => KeyCode::Function(letter - b'P' + 1),
        _ => return None,
    })
}

/// `number;mods ~`
fn numbered(body: &[u8]) -> Option<TerminalInput> {
    let params = CsiParams::read(body);
    if params.is_release() {
        return None;
    }
    let code = match params.first() {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        n @ 11..=15 => KeyCode::Function((n - 10) as u8),
        n @ 17..=21 => KeyCode::Function((n - 11) as u8),
        n @ 23..=24 => KeyCode::Function((n - 12) as u8),
        // modifyOtherKeys: 27;mods;code
        27 => return named(params.third()?, params.mods()),
        _ => return None,
    };
    Some(TerminalInput::Key(KeyPress::new(code, params.mods())))
}

/// `code:shifted:base;mods:event;text u`
fn kitty(body: &[u8]) -> Option<TerminalInput> {
    let params = CsiParams::read(body);
    if params.is_release() {
        return None;
    }
    let mods = params.mods();
    // The terminal knows the keyboard layout, so its shifted character is used.
    if mods.shift
        && !mods.ctrl
        && !mods.alt
        && !mods.command
        && let Some(shifted) = params.alternate()
    {
        return named(shifted, KeyMods::NONE);
    }
    named(params.first(), mods)
}

fn named(code: u32, mods: KeyMods) -> Option<TerminalInput> {
    let code = match code {
        9 => KeyCode::Tab,
        13 | 57414 => KeyCode::Enter,
        27 => KeyCode::Escape,
        8 | 127 => KeyCode::Backspace,
        57399..=57408 => KeyCode::Char(char::from_digit(code - 57399, 10)?),
        57409 => KeyCode::Char('.'),
        57410 => KeyCode::Char('/'),
        57411 => KeyCode::Char('*'),
        57412 => KeyCode::Char('-'),
        57413 => KeyCode::Char('+'),
        57417 => KeyCode::Left,
        57418 => KeyCode::Right,
        57419 => KeyCode::Up,
        57420 => KeyCode::Down,
        57421 => KeyCode::PageUp,
        57422 => KeyCode::PageDown,
        57423 => KeyCode::Home,
        57424 => KeyCode::End,
        57426 => KeyCode::Delete,
        // Modifier, lock and media keys pressed alone.
        0xe000..=0xf8ff => return None,
        _ => KeyCode::Char(char::from_u32(code).filter(|c| !c.is_control())?),
    };
    Some(TerminalInput::Key(KeyPress::new(code, mods)))
}

/// Up to three parameters with their first sub-parameters.
struct CsiParams([(Option<u32>, Option<u32>); 3]);

impl CsiParams {
    fn read(body: &[u8]) -> Self {
        let mut all = [(None, None); 3];
        for (slot, part) in all.iter_mut().zip(body.split(|byte| *byte == b';')) {
            let mut parts = part.split(|byte| *byte == b':').map(number);
            *slot = (parts.next().flatten(), parts.next().flatten());
        }
        Self(all)
    }

    fn first(&self) -> u32 {
        self.0[0].0.unwrap_or(1)
    }

    fn alternate(&self) -> Option<u32> {
        self.0[0].1
    }

    fn third(&self) -> Option<u32> {
        self.0[2].0
    }

    fn mods(&self) -> KeyMods {
        let bits = self.0[1].0.unwrap_or(1).saturating_sub(1);
        KeyMods {
            shift: bits & 1 != 0,
            // Meta is treated as alt; super is the command key.
            alt: bits & (2 | 32) != 0,
            ctrl: bits & 4 != 0,
            command: bits & 8 != 0,
        }
    }

    fn is_release(&self) -> bool {
        self.0[1].1 == Some(3)
    }
}

fn number(bytes: &[u8]) -> Option<u32> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
