//! Notifies the user through the terminal, with its notifications or its bell. The setting selects the channel. `auto`
//! depends on the terminal and sends nothing to an unknown one. Inside tmux, sequences are passed through to the outer
//! terminal. Escape sequences from hooks are validated here.

use sys::Env;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertChannel {
    Auto,
    Bell,
    Iterm2,
    Iterm2WithBell,
    Kitty,
    Ghostty,
    Off,
}

impl AlertChannel {
    /// Parses a value of the setting `preferredNotifChannel`.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "auto" => Self::Auto,
            "terminal_bell" => Self::Bell,
            "iterm2" => Self::Iterm2,
            "iterm2_with_bell" => Self::Iterm2WithBell,
            "kitty" => Self::Kitty,
            "ghostty" => Self::Ghostty,
            "notifications_disabled" => Self::Off,
            _ => return None,
        })
    }
}

/// The terminal program, as far as the environment identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalProgram {
    Iterm2,
    Kitty,
    Ghostty,
    WindowsTerminal,
    ConEmu,
    Other,
}

/// The multiplexer between gimlet and the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiplexer {
    Nothing,
    Tmux,
    Screen,
}

#[derive(Clone, Copy, Debug)]
pub struct TerminalIdentity {
    pub program: TerminalProgram,
    pub multiplexer: Multiplexer,
}

impl TerminalIdentity {
    pub fn of(env: &Env) -> Self {
        let has = |name: &str| env.non_empty(name).is_some();
        let term = env.get("TERM").unwrap_or_default();
        let named = env.get("LC_TERMINAL").or(env.get("TERM_PROGRAM")).unwrap_or_default();
        let program = match named {
            "iTerm.app" | "iTerm2" => TerminalProgram::Iterm2,
            "ghostty" => TerminalProgram::Ghostty,
            _ if has("KITTY_WINDOW_ID") || term == "xterm-kitty" => TerminalProgram::Kitty,
            _ if has("GHOSTTY_RESOURCES_DIR") || term == "xterm-ghostty" => TerminalProgram::Ghostty,
            _ if has("WT_SESSION") => TerminalProgram::WindowsTerminal,
            _ if env.get("ConEmuANSI") == Some("ON") => TerminalProgram::ConEmu,
            _ => TerminalProgram::Other,
        };
        let between = if has("TMUX") {
            Multiplexer::Tmux
        } else if has("STY") {
            Multiplexer::Screen
        } else {
            Multiplexer::Nothing
        };
        Self { program, multiplexer: between }
    }

    /// The bytes that notify the user.
    pub fn alert(self, channel: AlertChannel, title: &str, text: &str) -> Vec<u8> {
        let (title, text) = (plain(title), plain(text));
        let iterm = || self.pass_through(&format!("\x1b]9;{text}\x07"));
        match channel {
            AlertChannel::Auto => match self.program {
                TerminalProgram::Iterm2 => iterm(),
                TerminalProgram::Kitty => self.alert(AlertChannel::Kitty, &title, &text),
                TerminalProgram::Ghostty => self.alert(AlertChannel::Ghostty, &title, &text),
                TerminalProgram::WindowsTerminal | TerminalProgram::ConEmu | TerminalProgram::Other => Vec::new(),
            },
            AlertChannel::Bell => b"\x07".to_vec(),
            AlertChannel::Iterm2 => iterm(),
            AlertChannel::Iterm2WithBell => [iterm(), b"\x07".to_vec()].concat(),
            AlertChannel::Kitty => {
                let head = self.pass_through(&format!("\x1b]99;i=gimlet:d=0:p=title;{title}\x1b\\"));
                let body = self.pass_through(&format!("\x1b]99;i=gimlet:d=1:p=body;{text}\x1b\\"));
                [head, body].concat()
            }
            AlertChannel::Ghostty => self.pass_through(&format!("\x1b]777;notify;{title};{text}\x07")),
            AlertChannel::Off => Vec::new(),
        }
    }

    /// The progress mark of the window; empty for terminals in which the same sequence would be a notification.
    pub fn progress(self, is_busy: bool) -> Vec<u8> {
        match self.program {
            TerminalProgram::Iterm2
            | TerminalProgram::Ghostty
            | TerminalProgram::WindowsTerminal
            | TerminalProgram::ConEmu => {
                self.pass_through(if is_busy { "\x1b]9;4;3;0\x07" } else { "\x1b]9;4;0;0\x07" })
            }
            TerminalProgram::Kitty | TerminalProgram::Other => Vec::new(),
        }
    }

    /// Wraps a sequence so that the outer terminal receives it.
    pub fn pass_through(self, sequence: &str) -> Vec<u8> {
        match self.multiplexer {
            Multiplexer::Nothing => sequence.as_bytes().to_vec(),
            Multiplexer::Tmux => format!("\x1bPtmux;{}\x1b\\", sequence.replace('\u{1b}', "\x1b\x1b")).into_bytes(),
            Multiplexer::Screen => format!("\x1bP{}\x1b\\", sequence.replace("\x1b\\", "\x07")).into_bytes(),
        }
    }

    /// Validates a sequence from a hook. Bells and operating system commands that set titles or notify are allowed;
    /// `None` when it contains anything else.
    pub fn hook_sequence(self, text: &str) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('\u{7}') {
                out.push(7);
                rest = after;
                continue;
            }
            let body = rest.strip_prefix("\x1b]")?;
            let end = body.find(['\u{7}', '\u{1b}'])?;
            let number = body[..end].split(';').next()?;
            let permitted =
                matches!(number, "0" | "1" | "2" | "9" | "99" | "777") && !body[..end].contains(char::is_control);
            let after = body[end..].strip_prefix('\u{7}').or_else(|| body[end..].strip_prefix("\x1b\\"))?;
            if !permitted {
                return None;
            }
            out.extend(self.pass_through(&format!("\x1b]{}\x07", &body[..end])));
            rest = after;
        }
        Some(out)
    }
}

/// Removes control characters and field separators, and cuts the text at 200 characters.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() && *c != ';').take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: TerminalIdentity =
        TerminalIdentity { program: TerminalProgram::Other, multiplexer: Multiplexer::Nothing };

    #[test]
    fn every_channel_has_its_sequence_and_auto_knows_three_terminals() {
        // [TST-250] [EXT-255]
        let text =
            |around: TerminalIdentity, channel| String::from_utf8(around.alert(channel, "t", "x;\x1by")).unwrap();
        assert_eq!(text(PLAIN, AlertChannel::Auto), "");
        assert_eq!(text(PLAIN, AlertChannel::Off), "");
        assert_eq!(text(PLAIN, AlertChannel::Bell), "\x07");
        assert_eq!(text(PLAIN, AlertChannel::Iterm2), "\x1b]9;xy\x07");
        assert_eq!(text(PLAIN, AlertChannel::Iterm2WithBell), "\x1b]9;xy\x07\x07");
        assert_eq!(text(PLAIN, AlertChannel::Ghostty), "\x1b]777;notify;t;xy\x07");
        for (program, channel) in [
            (TerminalProgram::Iterm2, AlertChannel::Iterm2),
            (TerminalProgram::Kitty, AlertChannel::Kitty),
            (TerminalProgram::Ghostty, AlertChannel::Ghostty),
        ] {
            let around = TerminalIdentity { program, ..PLAIN };
            assert_eq!(text(around, AlertChannel::Auto), text(PLAIN, channel));
        }
    }

    #[test]
    fn tmux_passes_sequences_through() {
        // [TST-250]
        let around = TerminalIdentity { multiplexer: Multiplexer::Tmux, ..PLAIN };
        assert_eq!(around.alert(AlertChannel::Iterm2, "", "x"), b"\x1bPtmux;\x1b\x1b]9;x\x07\x1b\\");
        assert_eq!(around.alert(AlertChannel::Bell, "", "x"), b"\x07");
    }

    #[test]
    fn hooks_may_notify_and_set_titles_and_nothing_else() {
        // [EXT-66]
        assert_eq!(PLAIN.hook_sequence("\x1b]9;done\x07"), Some(b"\x1b]9;done\x07".to_vec()));
        assert_eq!(PLAIN.hook_sequence("\x07\x1b]777;notify;a;b\x1b\\"), Some(b"\x07\x1b]777;notify;a;b\x07".to_vec()));
        assert!(PLAIN.hook_sequence("\x1b]9;4;1;50\x07").is_some());
        for refused in
            ["\x1b]9;done\x07\x1b[2J", "\x1b]52;c;aGk=\x07", "plain", "\x1b]9;open", "\x1b]0;a\nb\x07", "\x1b]8;;x\x07"]
        {
            assert_eq!(PLAIN.hook_sequence(refused), None, "{refused:?}");
        }
    }

    #[test]
    fn progress_is_shown_only_where_it_is_known() {
        assert!(PLAIN.progress(true).is_empty());
        let known = TerminalIdentity { program: TerminalProgram::Ghostty, ..PLAIN };
        assert_eq!(known.progress(true), b"\x1b]9;4;3;0\x07");
        assert_eq!(known.progress(false), b"\x1b]9;4;0;0\x07");
    }
}
