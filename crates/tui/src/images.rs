//! Images for the prompt: from the clipboard, read with the program of the platform, and from files dropped on the
//! terminal, which arrive as pasted paths. A picture that cannot be read is reported and never sent.

use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::Env;
use sys::process::BoundedCommand;

const CLIPBOARD_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_IMAGE_BYTES: u64 = 64 * 1024 * 1024;
const EXTENSIONS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// The encoding in which a program prints a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImageEncoding {
    Bytes,
    /// The output of AppleScript: `«data PNGf8950…»`.
    AppleHex,
    Base64,
}

/// A program that prints the picture in the clipboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClipboardSource {
    program: &'static str,
    args: &'static [&'static str],
    form: ImageEncoding,
}

const APPLE: ClipboardSource = ClipboardSource {
    program: "osascript",
    args: &["-e", "get the clipboard as «class PNGf»"],
    form: ImageEncoding::AppleHex,
};
const WAYLAND: ClipboardSource =
    ClipboardSource { program: "wl-paste", args: &["--no-newline", "--type", "image/png"], form: ImageEncoding::Bytes };
const X11: ClipboardSource = ClipboardSource {
    program: "xclip",
    args: &["-selection", "clipboard", "-t", "image/png", "-o"],
    form: ImageEncoding::Bytes,
};
const WINDOWS: ClipboardSource = ClipboardSource {
    program: "powershell.exe",
    args: &[
        "-NoProfile",
        "-NonInteractive",
        "-STA",
        "-Command",
        "Add-Type -AssemblyName System.Windows.Forms,System.Drawing; $i = [Windows.Forms.Clipboard]::GetImage(); \
         if ($i) { $m = New-Object IO.MemoryStream; $i.Save($m, [Drawing.Imaging.ImageFormat]::Png); \
         [Convert]::ToBase64String($m.ToArray()) } else { exit 1 }",
    ],
    form: ImageEncoding::Base64,
};

/// The programs to try, best first.
fn sources(env: &Env, os: &str) -> Vec<ClipboardSource> {
    let has = |name: &str| env.non_empty(name).is_some();
    match os {
        "macos" => return vec![APPLE],
        "windows" => return vec![WINDOWS],
        _ => {}
    }
    let rows = [(has("WAYLAND_DISPLAY"), WAYLAND), (has("DISPLAY"), X11), (has("WSL_DISTRO_NAME"), WINDOWS)];
    rows.into_iter().filter(|(applies, _)| *applies).map(|(_, source)| source).collect()
}

/// The bytes of the picture in the clipboard, or why there is none. Blocks.
pub fn from_clipboard(env: &Env) -> Result<Vec<u8>, String> {
    let sources = sources(env, std::env::consts::OS);
    if sources.is_empty() {
        return Err("No clipboard to read here; paste the path of the picture instead".into());
    }
    let mut missing = Vec::new();
    for source in sources {
        let variables = env.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let once = BoundedCommand {
            program: Path::new(source.program),
            args: source.args,
            input: b"",
            env: variables,
            time: CLIPBOARD_TIMEOUT,
            bytes: MAX_IMAGE_BYTES,
        };
        match once.run() {
            Ok(bytes) if !bytes.is_empty() => match decode(bytes, source.form) {
                Some(bytes) => return Ok(bytes),
                None => return Err(format!("{} printed something that is not a picture", source.program)),
            },
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => missing.push(source.program),
            Err(error) => tracing::debug!(%error, "no picture from the clipboard"),
        }
    }
    match missing.first() {
        Some(program) => Err(format!("{program} is not installed, so pictures cannot be read from the clipboard")),
        None => Err("No picture in the clipboard".into()),
    }
}

fn decode(bytes: Vec<u8>, form: ImageEncoding) -> Option<Vec<u8>> {
    match form {
        ImageEncoding::Bytes => Some(bytes),
        ImageEncoding::AppleHex => {
            let text = String::from_utf8(bytes).ok()?;
            let hex = text.trim().strip_prefix("«data ")?.strip_suffix('»')?.get(4..)?.to_owned();
            let digit = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
            (0..hex.len() / 2).map(|index| digit(index * 2)).collect()
        }
        ImageEncoding::Base64 => {
            let text: String = String::from_utf8(bytes).ok()?.split_whitespace().collect();
            engine::picture::from_base64(&text)
        }
    }
}

/// The paths when the paste consists only of picture paths; `None` for any other text.
pub fn dropped_paths(text: &str, home: Option<&Path>) -> Option<Vec<PathBuf>> {
    let text = text.trim();
    if text.is_empty() || text.len() > 16 * 1024 {
        return None;
    }
    // A single unquoted path may contain blanks.
    if let Some(path) = picture_path(text, home).filter(|_| !text.contains('\\') && !text.contains('\n')) {
        let several = text.contains(" /") || text.contains(" file://") || text.contains(" ~/");
        if !several {
            return Some(vec![path]);
        }
    }
    let words = words(text)?;
    words.iter().map(|word| picture_path(word, home)).collect()
}

/// Splits into words like a shell, with quotes and backslashes only.
fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => word.get_or_insert_default().push(rest.next()?),
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

fn picture_path(word: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = if let Some(rest) = word.strip_prefix("file://") {
        let rest = rest.strip_prefix("localhost").unwrap_or(rest);
        PathBuf::from(unescaped(rest)?)
    } else if let Some(rest) = word.strip_prefix("~/") {
        home?.join(rest)
    } else {
        PathBuf::from(word)
    };
    let ending = path.extension()?.to_string_lossy().to_lowercase();
    (path.is_absolute() && EXTENSIONS.contains(&ending.as_str())).then_some(path)
}

/// Decodes percent escapes such as `%20`; `None` when they are invalid.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

/// Media type and base64 data of a picture, or why it cannot be sent.
pub type PictureResult = Result<(String, String), String>;

/// Reads dropped files; `None` when one of them does not exist, so that the paste is treated as text. Blocks.
pub fn read(paths: &[PathBuf]) -> Option<Vec<PictureResult>> {
    paths.iter().all(|path| path.is_file()).then(|| paths.iter().map(|path| read_one(path)).collect())
}

fn read_one(path: &Path) -> PictureResult {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let size = std::fs::metadata(path).map_err(|error| format!("{name}: {error}"))?.len();
    if size > MAX_IMAGE_BYTES {
        return Err(format!("{name} is {} MB, too large to process", size >> 20));
    }
    let bytes = sys::fs::read_whole(path, MAX_IMAGE_BYTES as usize).map_err(|error| format!("{name}: {error}"))?;
    engine::picture::fit(&bytes).map_err(|why| format!("{name} {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Option<Vec<String>> {
        let found = dropped_paths(text, Some(Path::new("/home/me")))?;
        Some(found.iter().map(|path| path.display().to_string()).collect())
    }

    #[test]
    fn dropped_paths_are_read_however_the_terminal_writes_them() {
        // [TST-236]
        let one = |path: &str| Some(vec![path.to_owned()]);
        assert_eq!(paths("/tmp/a.png"), one("/tmp/a.png"));
        assert_eq!(paths("'/tmp/a b.PNG' "), one("/tmp/a b.PNG"));
        assert_eq!(paths("\"/tmp/it's.jpg\""), one("/tmp/it's.jpg"));
        assert_eq!(paths("/tmp/a\\ b\\(1\\).jpeg"), one("/tmp/a b(1).jpeg"));
        assert_eq!(paths("file:///tmp/a%20b.webp"), one("/tmp/a b.webp"));
        assert_eq!(paths("~/x.gif"), one("/home/me/x.gif"));
        assert_eq!(paths("/tmp/plain name.png"), one("/tmp/plain name.png"));
        assert_eq!(paths("/tmp/a.png '/tmp/b c.png'\n/d.gif").map(|all| all.len()), Some(3));
        assert_eq!(paths("/tmp/a.png /tmp/b.png").map(|all| all.len()), Some(2));
        for text in ["", "hello", "/tmp/a.txt", "see /tmp/a.png", "a.png", "'/tmp/a.png", "/tmp/a.png and more"] {
            assert_eq!(paths(text), None, "{text:?}");
        }
    }

    #[test]
    fn every_platform_has_its_program() {
        // [TST-236]
        let env = |names: &[&str]| Env::default().with(names.iter().map(|name| ((*name).to_owned(), "x".to_owned())));
        let programs = |env: &Env, os| sources(env, os).iter().map(|source| source.program).collect::<Vec<_>>();
        assert_eq!(programs(&env(&[]), "macos"), ["osascript"]);
        assert_eq!(programs(&env(&["WAYLAND_DISPLAY", "DISPLAY"]), "linux"), ["wl-paste", "xclip"]);
        assert_eq!(programs(&env(&["WSL_DISTRO_NAME"]), "linux"), ["powershell.exe"]);
        assert_eq!(programs(&env(&[]), "windows"), ["powershell.exe"]);
        assert!(sources(&env(&[]), "linux").is_empty());
        assert_eq!(decode("«data PNGf89504E47»\n".into(), ImageEncoding::AppleHex), Some(vec![0x89, 0x50, 0x4e, 0x47]));
        assert_eq!(decode(b"iVBO\r\nRw==".to_vec(), ImageEncoding::Base64), Some(vec![0x89, 0x50, 0x4e, 0x47]));
        assert_eq!(decode(b"plain".to_vec(), ImageEncoding::AppleHex), None);
    }
}
