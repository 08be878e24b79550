//! Files in memory, and the archives made of them: `tar` and `tar.gz`. The same files give the same bytes on every
//! machine.

use anyhow::{Result, ensure};
use flate2::{Compression, GzBuilder};
use std::collections::BTreeSet;
use std::io::Write;

const BLOCK: usize = 512;

/// One file of a package.
#[derive(Clone)]
pub(crate) struct PackedFile {
    /// Relative, with `/`.
    pub path: String,
    pub is_program: bool,
    pub content: Vec<u8>,
}

impl PackedFile {
    pub(crate) fn new(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), is_program: false, content: content.into() }
    }

    pub(crate) fn program(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { is_program: true, ..Self::new(path, content) }
    }

    /// The same file with another path.
    pub(crate) fn at(&self, path: impl Into<String>) -> Self {
        Self { path: path.into(), ..self.clone() }
    }
}

/// A tar archive of the files below `top`, with an entry for every folder. `time` is in seconds since 1970, the
/// same for all entries.
pub(crate) fn tar(top: &str, files: &[PackedFile], time: u64) -> Result<Vec<u8>> {
    let mut files: Vec<(String, &PackedFile)> =
        files.iter().map(|file| (format!("{top}{}", file.path), file)).collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    let mut bytes = Vec::new();
    let mut folders = BTreeSet::new();
    for (path, file) in &files {
        for (end, _) in path.match_indices('/') {
            let folder = &path[..=end];
            if folder != "./" && folders.insert(folder.to_owned()) {
                bytes.extend(header(folder, b'5', 0o755, 0, time)?);
            }
        }
        let mode = if file.is_program { 0o755 } else { 0o644 };
        bytes.extend(header(path, b'0', mode, file.content.len(), time)?);
        bytes.extend(&file.content);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    }
    bytes.resize(bytes.len() + 2 * BLOCK, 0);
    Ok(bytes)
}

fn header(path: &str, kind: u8, mode: u32, size: usize, time: u64) -> Result<[u8; BLOCK]> {
    ensure!(path.len() <= 100 && path.is_ascii(), "the path is too long or not ASCII: {path}");
    let mut block = [0; BLOCK];
    let mut put = |at: usize, text: &str| block[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, path);
    put(100, &format!("{mode:07o}"));
    put(108, &format!("{:07o}", 0));
    put(116, &format!("{:07o}", 0));
    put(124, &format!("{size:011o}"));
    put(136, &format!("{time:011o}"));
    put(148, "        ");
    put(257, "ustar");
    put(263, "00");
    put(265, "root");
    put(297, "root");
    block[156] = kind;
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    Ok(block)
}

/// Compresses without a file name and time. `level`: 1 is fast, 9 is small.
pub(crate) fn gzip(bytes: &[u8], level: u32) -> Result<Vec<u8>> {
    let mut packer = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::new(level));
    packer.write_all(bytes)?;
    Ok(packer.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_system_reads_the_archive() {
        let files = [PackedFile::new("share/b.txt", "text\n"), PackedFile::program("bin/a", "#!/bin/sh\necho ran\n")];
        let dir = tempfile::tempdir().unwrap();
        let packed = gzip(&tar("top/", &files, 1_000_000_000).unwrap(), 1).unwrap();
        std::fs::write(dir.path().join("x.tar.gz"), packed).unwrap();
        let sh = |script: &str| {
            let output =
                Command::new("sh").args(["-c", script]).env("TZ", "UTC").current_dir(dir.path()).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let list = sh("tar -tvzf x.tar.gz");
        assert!(list.contains("drwxr-xr-x root/root         0 2001-09-09 01:46 top/bin/"), "{list}");
        assert!(list.contains("-rw-r--r-- root/root         5 2001-09-09 01:46 top/share/b.txt"), "{list}");
        assert_eq!(sh("tar -xzf x.tar.gz && top/bin/a && cat top/share/b.txt"), "ran\ntext\n");
    }

    #[test]
    fn order_and_names_do_not_depend_on_the_caller() {
        let (a, b) = (PackedFile::new("a", "1"), PackedFile::new("b/c", "2"));
        assert_eq!(tar("", &[a.clone(), b.clone()], 7).unwrap(), tar("", &[b, a], 7).unwrap());
        assert!(tar("", &[PackedFile::new("x".repeat(101), "")], 0).is_err());
    }
}
