//! Text files that are written back as they were read: encoding, BOM, line endings, mode, owner and symlinks are
//! kept. A failed write leaves the old bytes in place. Bytes that are not valid text are never rewritten.

use crate::file_work::MAX_LOADED_BYTES;
use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Encodings that can be read and written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextEncoding {
    Utf8,
    Utf8Bom,
    /// With BOM; without one the bytes count as binary.
    Utf16Le,
    Utf16Be,
}

const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";
const UTF16_LE_BOM: &[u8] = b"\xFF\xFE";
const UTF16_BE_BOM: &[u8] = b"\xFE\xFF";

impl TextEncoding {
    /// Determines the encoding from the first bytes of a file.
    pub fn sniff(head: &[u8]) -> Self {
        if head.starts_with(UTF8_BOM) {
            Self::Utf8Bom
        } else if head.starts_with(UTF16_LE_BOM) {
            Self::Utf16Le
        } else if head.starts_with(UTF16_BE_BOM) {
            Self::Utf16Be
        } else {
            Self::Utf8
        }
    }

    fn bom(self) -> &'static [u8] {
        match self {
            Self::Utf8 => b"",
            Self::Utf8Bom => UTF8_BOM,
            Self::Utf16Le => UTF16_LE_BOM,
            Self::Utf16Be => UTF16_BE_BOM,
        }
    }

    /// The text without its BOM, with unchanged line endings. `None` when the bytes are not valid in this encoding.
    pub fn decode(self, bytes: &[u8]) -> Option<String> {
        let body = bytes.get(self.bom().len()..)?;
        let decoder = match self {
            Self::Utf8 | Self::Utf8Bom => return std::str::from_utf8(body).ok().map(str::to_owned),
            Self::Utf16Le => encoding_rs::UTF_16LE,
            Self::Utf16Be => encoding_rs::UTF_16BE,
        };
        decoder.decode_without_bom_handling_and_without_replacement(body).map(std::borrow::Cow::into_owned)
    }

    /// The bytes of `text`, including the BOM.
    pub fn encode(self, text: &str) -> Vec<u8> {
        let mut bytes = self.bom().to_vec();
        match self {
            Self::Utf8 | Self::Utf8Bom => bytes.extend_from_slice(text.as_bytes()),
            Self::Utf16Le => text.encode_utf16().for_each(|unit| bytes.extend_from_slice(&unit.to_le_bytes())),
            Self::Utf16Be => text.encode_utf16().for_each(|unit| bytes.extend_from_slice(&unit.to_be_bytes())),
        }
        bytes
    }
}

/// The line ending of most lines of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnding {
    Lf,
    CrLf,
}

impl LineEnding {
    pub fn of(text: &str) -> Self {
        let all = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        let crlf = memchr::memmem::find_iter(text.as_bytes(), "\r\n").count();
        if crlf * 2 > all { Self::CrLf } else { Self::Lf }
    }

    /// Converts `text`, which has LF endings only, to this style.
    pub fn apply(self, text: &str) -> String {
        match self {
            Self::Lf => text.to_owned(),
            Self::CrLf => text.replace('\n', "\r\n"),
        }
    }
}

/// Whether the first bytes of a file show that it is not text.
pub fn looks_binary(head: &[u8]) -> bool {
    if matches!(TextEncoding::sniff(head), TextEncoding::Utf16Le | TextEncoding::Utf16Be) {
        return TextEncoding::sniff(head).decode(&head[..head.len() & !1]).is_none_or(|text| text.contains('\0'));
    }
    if head.contains(&0)
        || head.starts_with(b"%PDF-")
        || head.starts_with(b"PK\x03\x04")
        || head.starts_with(b"\x1f\x8b")
    {
        return true;
    }
    let control = head.iter().filter(|b| matches!(b, 0x01..=0x07 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f)).count();
    control * 10 > head.len()
}

/// A whole text file in memory.
#[derive(Debug)]
pub struct TextFile {
    /// The real path of the file, with symlinks resolved.
    pub target: PathBuf,
    pub bytes: Vec<u8>,
    pub meta: Metadata,
    pub encoding: TextEncoding,
    /// The text without BOM, with unchanged line endings. `None` when the bytes are not text in a known encoding.
    pub text: Option<String>,
}

impl TextFile {
    /// Loads a regular file.
    pub fn load(path: &Path) -> io::Result<Self> {
        let target = path.canonicalize()?;
        let (file, meta) = sys::fs::open_regular(&target)?;
        let mut bytes = Vec::with_capacity(meta.len().min(MAX_LOADED_BYTES) as usize);
        // The file may grow while it is read.
        file.take(MAX_LOADED_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_LOADED_BYTES {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        let encoding = TextEncoding::sniff(&bytes);
        let text = encoding.decode(&bytes);
        Ok(Self { target, bytes, meta, encoding, text })
    }

    /// Replaces the file's text; returns the bytes that are now on disk.
    pub fn save(&self, text: &str) -> io::Result<Vec<u8>> {
        let bytes = self.encoding.encode(text);
        replace(&self.target, &bytes)?;
        Ok(bytes)
    }
}

/// Creates `path` and its directories; the umask determines the mode. A dangling symlink is written through. The
/// directories are removed again when the file cannot be written.
pub fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut made = Vec::new();
    let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let written = parent
        .map_or(Ok(()), |dir| create_directories(dir, &mut made))
        .and_then(|()| sys::fs::atomic_write(path, bytes, 0o666));
    if written.is_err() {
        for dir in made.iter().rev() {
            // Succeeds only when the folder is empty.
            std::fs::remove_dir(dir).ok();
        }
    }
    written
}

/// Creates `dir` and its missing parents; `made` gets those that did not exist, outermost first.
fn create_directories(dir: &Path, made: &mut Vec<PathBuf>) -> io::Result<()> {
    let missing = dir.ancestors().take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists());
    for dir in missing.collect::<Vec<_>>().into_iter().rev() {
        match std::fs::create_dir(dir) {
            Ok(()) => made.push(dir.to_path_buf()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => {}
            Err(error) => return Err(error),
        }
    }
    if dir.is_dir() { Ok(()) } else { Err(io::Error::from(io::ErrorKind::NotADirectory)) }
}

/// Replaces an existing regular file.
pub fn replace(target: &Path, bytes: &[u8]) -> io::Result<()> {
    // Renaming over a file needs only permission for the directory; this checks the permission of the file.
    if let Err(error) = OpenOptions::new().write(true).open(target)
        && error.kind() != io::ErrorKind::ExecutableFileBusy
    {
        return Err(error);
    }
    sys::fs::atomic_write(target, bytes, 0o666)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_round_trip() {
        // [TST-29]
        for encoding in [TextEncoding::Utf8, TextEncoding::Utf8Bom, TextEncoding::Utf16Le, TextEncoding::Utf16Be] {
            let bytes = encoding.encode("a\r\nß😀");
            assert_eq!(TextEncoding::sniff(&bytes), encoding);
            assert_eq!(encoding.decode(&bytes).as_deref(), Some("a\r\nß😀"));
        }
        assert_eq!(TextEncoding::Utf8.decode(b"\xff\x00"), None);
        assert_eq!(TextEncoding::Utf16Le.decode(b"\xff\xfea"), None);
    }

    #[test]
    fn binary_is_told_from_text() {
        assert!(looks_binary(b"\x7fELF\x02\x01\x01\0\0"));
        assert!(looks_binary(b"\x1f\x8b\x08\x08abc"));
        assert!(looks_binary(&[1, 2, 3, 4, b'a']));
        assert!(!looks_binary(b"\x1b[31mred\x1b[0m\n"));
        assert!(!looks_binary("naïve café".as_bytes()));
        assert!(!looks_binary(b"caf\xe9 latin-1"));
        assert!(!looks_binary(b"\xff\xfea\0b\0"));
        assert!(!looks_binary(b""));
    }

    #[test]
    fn a_write_that_cannot_finish_leaves_the_old_bytes() {
        // [TST-39]
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "old").unwrap();
        let file = TextFile::load(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(file.save("new").is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary files stay behind");
    }
}
