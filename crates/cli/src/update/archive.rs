//! Unpacks a release: a `.tar.gz` of folders and plain files below one folder. Anything else (links, devices, paths
//! that lead outside) is refused before it is written.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

const BLOCK: usize = 512;
/// The largest size of the unpacked archive, in bytes.
const MOST_BYTES: u64 = 512 * 1024 * 1024;
const MOST_ENTRIES: usize = 10_000;

/// Unpacks `archive` into the new folder `into`, without the top folder of the archive. Files are synced on return.
pub(super) fn unpack(archive: impl Read, into: &Path) -> io::Result<()> {
    let mut tar = flate2::read::GzDecoder::new(archive).take(MOST_BYTES);
    folder(into)?;
    for _ in 0..MOST_ENTRIES {
        let Some(header) = next_header(&mut tar)? else {
            // The checksum of the compressed data follows the last byte.
            io::copy(&mut tar, &mut io::sink())?;
            return finish(into);
        };
        let path = into.join(inner_path(&header.name)?);
        match header.kind {
            b'5' => folder(&path)?,
            b'0' | 0 => {
                folder(path.parent().unwrap_or(into))?;
                file(&mut tar, &header, &path)?;
            }
            other => return Err(wrong(format!("{} is of kind {other}, not a file or folder", header.name))),
        }
    }
    Err(wrong(format!("more than {MOST_ENTRIES} entries")))
}

struct Header {
    name: String,
    kind: u8,
    mode: u32,
    size: u64,
}

/// The next entry; `None` at the end of the archive.
fn next_header(tar: &mut impl Read) -> io::Result<Option<Header>> {
    let mut block = [0; BLOCK];
    tar.read_exact(&mut block)?;
    if block.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let sum: u32 =
        block.iter().enumerate().map(|(at, byte)| u32::from(if (148..156).contains(&at) { b' ' } else { *byte })).sum();
    if octal(&block[148..156])? != u64::from(sum) {
        return Err(wrong("a damaged entry"));
    }
    let prefix = if block[257..262] == *b"ustar" { text(&block[345..500])? } else { String::new() };
    let name = text(&block[..100])?;
    let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
    Ok(Some(Header { name, kind: block[156], mode: octal(&block[100..108])? as u32, size: octal(&block[124..136])? }))
}

fn text(field: &[u8]) -> io::Result<String> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8(field[..end].to_vec()).map_err(|_| wrong("a name that is not UTF-8"))
}

fn octal(field: &[u8]) -> io::Result<u64> {
    let digits = std::str::from_utf8(field).unwrap_or("?").trim_matches([' ', '\0']);
    u64::from_str_radix(if digits.is_empty() { "0" } else { digits }, 8)
        .map_err(|_| wrong("a number that cannot be read"))
}

/// The path below the top folder of the archive.
fn inner_path(name: &str) -> io::Result<PathBuf> {
    let path = Path::new(name);
    if !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(wrong(format!("the path {name}")));
    }
    Ok(path.components().skip(1).collect())
}

fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

fn file(tar: &mut impl Read, header: &Header, path: &Path) -> io::Result<()> {
    let mode = if header.mode & 0o111 == 0 { 0o644 } else { 0o755 };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    let written = io::copy(&mut tar.take(header.size), &mut file)?;
    if written != header.size {
        return Err(wrong(format!("{} is cut short", header.name)));
    }
    file.sync_all()?;
    let padding = (BLOCK as u64 - header.size % BLOCK as u64) % BLOCK as u64;
    io::copy(&mut tar.take(padding), &mut io::sink()).map(drop)
}

/// Syncs the folders, so that the file names are on the disk too.
fn finish(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            finish(&entry.path())?;
        }
    }
    std::fs::File::open(folder)?.sync_all()
}

fn wrong(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the archive holds {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn entry(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut block = [0; BLOCK];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[100..107].copy_from_slice(b"0000755");
        block[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        block[156] = kind;
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let mut bytes = block.to_vec();
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        bytes
    }

    fn packed(entries: &[Vec<u8>]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&entries.concat()).unwrap();
        packer.write_all(&[0; 2 * BLOCK]).unwrap();
        packer.finish().unwrap()
    }

    #[test]
    fn files_and_folders_come_out_without_the_top_folder() {
        let dir = tempfile::tempdir().unwrap();
        let into = dir.path().join("new");
        let archive = packed(&[entry("top/", b'5', b""), entry("top/bin/tool", b'0', b"#!/bin/sh\n")]);
        unpack(archive.as_slice(), &into).unwrap();
        assert_eq!(std::fs::read(into.join("bin/tool")).unwrap(), b"#!/bin/sh\n");
    }

    #[test]
    fn what_leads_out_or_is_no_file_is_refused() {
        let hostile = [
            entry("../evil", b'0', b"x"),
            entry("/evil", b'0', b"x"),
            entry("top/../../evil", b'0', b"x"),
            entry("top/link", b'2', b""),
            entry("top/hard", b'1', b""),
            entry("top/device", b'3', b""),
            entry("top/long", b'L', b"x"),
        ];
        for entry in hostile {
            let dir = tempfile::tempdir().unwrap();
            let error = unpack(packed(&[entry]).as_slice(), &dir.path().join("new")).unwrap_err();
            assert!(error.to_string().starts_with("the archive holds"), "{error}");
            assert!(!dir.path().join("evil").exists());
        }
    }

    #[test]
    fn damage_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let whole = packed(&[entry("top/bin/tool", b'0', &[7; 5000])]);
        for length in [0, 5, whole.len() / 2, whole.len() - 9] {
            assert!(unpack(&whole[..length], &dir.path().join(length.to_string())).is_err(), "{length}");
        }
        let mut twisted = entry("top/bin/tool", b'0', b"x");
        twisted[3] = b'X';
        assert!(unpack(packed(&[twisted]).as_slice(), &dir.path().join("twisted")).is_err());
    }
}
