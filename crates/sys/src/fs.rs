//! Files that survive a crash: atomic replacement and whole-line appends.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Replaces `path` in one step: readers see the old bytes or the new ones, never a mixture. `mode` applies to a new
/// file; an existing file keeps its own.
pub fn atomic_write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let dir = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let kept = std::fs::metadata(path).ok().map(|m| m.permissions());
    let (mut file, temp) = temp_beside(path, dir, mode)?;
    let written = file.write_all(bytes).and_then(|()| match kept {
        Some(permissions) => file.set_permissions(permissions),
        None => Ok(()),
    });
    if let Err(error) = written.and_then(|()| std::fs::rename(&temp, path)) {
        std::fs::remove_file(&temp).ok();
        return Err(error);
    }
    Ok(())
}

fn temp_beside(path: &Path, dir: &Path, mode: u32) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    loop {
        let temp = dir.join(format!(".{name}.{}.tmp", crate::id::base36(8)));
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&temp) {
            Ok(file) => return Ok((file, temp)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

/// A file that is only ever appended to, in whole lines, one `write` each time. Other processes may append too.
#[derive(Debug)]
pub struct AppendFile {
    file: File,
    needs_newline: bool,
}

impl AppendFile {
    /// Opens or creates (0600). A file cut off mid-line gets its newline before the first append.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().append(true).read(true).create(true).mode(0o600).open(path)?;
        let needs_newline = !ends_with_newline(&mut file)?;
        Ok(Self { file, needs_newline })
    }

    /// Appends `lines`, which must end in a newline.
    pub fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.needs_newline {
            let mut repaired = Vec::with_capacity(lines.len() + 1);
            repaired.push(b'\n');
            repaired.extend_from_slice(lines);
            self.file.write_all(&repaired)?;
            self.needs_newline = false;
            return Ok(());
        }
        let result = self.file.write_all(lines);
        // A partial write (disk full) leaves a torn line; the next append must start on a fresh one.
        self.needs_newline = result.is_err();
        result
    }
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last[0] == b'\n')
}
