//! Writing to the clipboard: with the program of the platform, or through the terminal (OSC 52) when there is none or
//! over SSH. The result names the method, because that tells the user where the text is.

use crate::notify::Multiplexer;
use std::path::Path;
use std::time::Duration;
use sys::Env;

const COPY_TIMEOUT: Duration = Duration::from_secs(3);
/// Terminals drop longer sequences silently. In bytes of base64.
const OSC_LIMIT: usize = 100_000;
/// GNU screen passes at most this many bytes at once.
const SCREEN_CHUNK: usize = 700;

/// A method to write to the clipboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyMethod {
    Program { program: &'static str, args: &'static [&'static str] },
    Terminal,
}

const PBCOPY: CopyMethod = CopyMethod::Program { program: "pbcopy", args: &[] };
const WL_COPY: CopyMethod = CopyMethod::Program { program: "wl-copy", args: &[] };
const XCLIP: CopyMethod = CopyMethod::Program { program: "xclip", args: &["-selection", "clipboard"] };
const XSEL: CopyMethod = CopyMethod::Program { program: "xsel", args: &["--input", "--clipboard"] };
const CLIP: CopyMethod = CopyMethod::Program { program: "clip.exe", args: &[] };
const TMUX: CopyMethod = CopyMethod::Program { program: "tmux", args: &["load-buffer", "-w", "-"] };

/// The methods to try, best first. Over SSH the platform programs would write to the wrong machine.
pub fn copy_methods(env: &Env, os: &str) -> Vec<CopyMethod> {
    let has = |name: &str| env.non_empty(name).is_some();
    let here = !has("SSH_TTY") && !has("SSH_CONNECTION");
    let rows = [
        (here && os == "macos", PBCOPY),
        (here && has("WAYLAND_DISPLAY"), WL_COPY),
        (here && has("DISPLAY"), XCLIP),
        (here && has("DISPLAY"), XSEL),
        (here && (os == "windows" || has("WSL_DISTRO_NAME")), CLIP),
        (has("TMUX"), TMUX),
        (true, CopyMethod::Terminal),
    ];
    rows.into_iter().filter(|(applies, _)| *applies).map(|(_, way)| way).collect()
}

/// How a text was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyOutcome {
    /// This program has copied it.
    By(&'static str),
    /// These bytes must be sent to the terminal.
    Terminal(Vec<u8>),
}

/// Copies a text with the first method that works. Blocks.
pub fn copy(text: &str, env: &Env, between: Multiplexer) -> Result<CopyOutcome, String> {
    for way in copy_methods(env, std::env::consts::OS) {
        match way {
            CopyMethod::Program { program, args } => {
                let variables = env.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
                match sys::process::hand_over(Path::new(program), args, variables, text.as_bytes(), COPY_TIMEOUT) {
                    Ok(()) => return Ok(CopyOutcome::By(program)),
                    Err(error) => tracing::debug!(%error, "the clipboard was not written"),
                }
            }
            CopyMethod::Terminal => return sequence(text, between).map(CopyOutcome::Terminal),
        }
    }
    Err("No clipboard here".into())
}

/// The OSC 52 sequence, wrapped for the multiplexer.
pub fn sequence(text: &str, between: Multiplexer) -> Result<Vec<u8>, String> {
    let data = engine::picture::to_base64(text.as_bytes());
    if data.len() > OSC_LIMIT {
        return Err(format!(
            "{} KB are too much for the terminal's clipboard; /copy w writes a file",
            text.len() / 1024
        ));
    }
    let plain = format!("\x1b]52;c;{data}\x07");
    Ok(match between {
        Multiplexer::Nothing => plain.into_bytes(),
        Multiplexer::Tmux => format!("\x1bPtmux;\x1b{plain}\x1b\\").into_bytes(),
        Multiplexer::Screen => {
            let chunks = plain.as_bytes().chunks(SCREEN_CHUNK);
            chunks.flat_map(|chunk| [b"\x1bP".as_slice(), chunk, b"\x1b\\"].concat()).collect()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_follows_the_surroundings() {
        // [TST-253]
        let env = |names: &[&str]| Env::default().with(names.iter().map(|name| ((*name).to_owned(), "x".to_owned())));
        assert_eq!(copy_methods(&env(&[]), "linux"), [CopyMethod::Terminal]);
        assert_eq!(copy_methods(&env(&[]), "macos"), [PBCOPY, CopyMethod::Terminal]);
        assert_eq!(
            copy_methods(&env(&["WAYLAND_DISPLAY", "DISPLAY"]), "linux"),
            [WL_COPY, XCLIP, XSEL, CopyMethod::Terminal]
        );
        assert_eq!(copy_methods(&env(&["WSL_DISTRO_NAME"]), "linux"), [CLIP, CopyMethod::Terminal]);
        assert_eq!(copy_methods(&env(&["DISPLAY", "SSH_TTY", "TMUX"]), "linux"), [TMUX, CopyMethod::Terminal]);
    }

    #[test]
    fn the_sequence_passes_through_tmux_and_screen() {
        // [TST-253]
        assert_eq!(sequence("hi", Multiplexer::Nothing).unwrap(), b"\x1b]52;c;aGk=\x07");
        assert_eq!(sequence("hi", Multiplexer::Tmux).unwrap(), b"\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\");
        let long = "x".repeat(3_000);
        let chunked = String::from_utf8(sequence(&long, Multiplexer::Screen).unwrap()).unwrap();
        let parts: Vec<&str> = chunked.split("\x1b\\").filter(|part| !part.is_empty()).collect();
        assert!(
            parts.len() > 1 && parts.iter().all(|part| part.starts_with("\x1bP") && part.len() <= SCREEN_CHUNK + 2)
        );
        let joined: String = parts.iter().map(|part| &part[2..]).collect();
        assert_eq!(joined.as_bytes(), sequence(&long, Multiplexer::Nothing).unwrap());
        assert!(sequence(&"x".repeat(200_000), Multiplexer::Nothing).is_err());
    }
}
