//! A Debian package: an `ar` archive with the format version, the control files and the installed files.

use super::Facts;
use super::tar::{PackedFile, gzip, tar};
use anyhow::Result;

/// The path of each release file in a Debian system.
const PLACES: &[(&str, &str)] = &[
    ("bin/gimlet", "usr/bin/gimlet"),
    ("share/bash-completion/completions/gimlet", "usr/share/bash-completion/completions/gimlet"),
    ("share/zsh/site-functions/_gimlet", "usr/share/zsh/vendor-completions/_gimlet"),
    ("share/fish/vendor_completions.d/gimlet.fish", "usr/share/fish/vendor_completions.d/gimlet.fish"),
    ("share/doc/gimlet/THIRD-PARTY-LICENSES.txt", "usr/share/doc/gimlet/THIRD-PARTY-LICENSES.txt"),
    ("share/doc/gimlet/LICENSE-MIT", "usr/share/doc/gimlet/copyright"),
];

pub(super) fn name(facts: &Facts) -> String {
    format!("gimlet_{}_{}.deb", facts.version, architecture())
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

pub(super) fn package(files: &[PackedFile], needs: &str, facts: &Facts) -> Result<Vec<u8>> {
    let mut placed: Vec<PackedFile> = Vec::new();
    for file in files {
        if let Some((_, to)) = PLACES.iter().find(|(from, _)| *from == file.path) {
            placed.push(file.at(*to));
        }
        if file.path == "share/man/man1/gimlet.1" {
            placed.push(PackedFile::new("usr/share/man/man1/gimlet.1.gz", gzip(&file.content, 9)?));
        }
    }
    let kilobytes: usize = placed.iter().map(|file| file.content.len().div_ceil(1024)).sum();
    let control = PackedFile::new("control", control(kilobytes, needs, facts));
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&tar("./", &[control], facts.time)?, 9)?),
        ("data.tar.gz", gzip(&tar("./", &placed, facts.time)?, facts.compression)?),
    ];
    Ok(ar(&members, facts.time))
}

fn control(kilobytes: usize, needs: &str, facts: &Facts) -> String {
    format!(
        "Package: gimlet\nVersion: {}\nArchitecture: {}\nMaintainer: The gimlet authors\nInstalled-Size: {kilobytes}\n\
         {needs}Section: devel\nPriority: optional\nDescription: {}\n \
         It reads and edits files, runs commands and searches a project through a language model,\n \
         under permission rules that you set.\n",
        facts.version,
        architecture(),
        super::SUMMARY
    )
}

fn ar(members: &[(&str, Vec<u8>)], time: u64) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in members {
        bytes.extend(
            format!("{name:<16}{time:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", content.len()).into_bytes(),
        );
        bytes.extend(content);
        if content.len() % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn dpkg_reads_the_package() {
        let files = [
            PackedFile::program("bin/gimlet", "#!/bin/sh\n"),
            PackedFile::new("share/man/man1/gimlet.1", ".TH GIMLET 1\n"),
            PackedFile::new("share/doc/gimlet/CHANGELOG.md", "not in the package\n"),
        ];
        let facts = Facts { version: "1.2.3".into(), time: 1_000_000_000, compression: 1 };
        let package = package(&files, "Depends: libc6 (>= 2.34)\n", &facts).unwrap();
        assert!(package.starts_with(b"!<arch>\ndebian-binary   1000000000  0     0     100644  4         `\n2.0\n"));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.deb");
        std::fs::write(&path, package).unwrap();
        let Ok(info) = Command::new("dpkg-deb").arg("--info").arg(&path).output() else {
            println!("NOT RUN: dpkg-deb is not there to read the package");
            return;
        };
        let info = String::from_utf8(info.stdout).unwrap();
        assert!(info.contains("Version: 1.2.3") && info.contains("Depends: libc6 (>= 2.34)"), "{info}");
        let list = Command::new("dpkg-deb").arg("--contents").arg(&path).output().unwrap();
        let list = String::from_utf8(list.stdout).unwrap();
        assert!(
            list.contains("./usr/bin/gimlet") && list.contains("gimlet.1.gz") && !list.contains("CHANGELOG"),
            "{list}"
        );
    }
}
