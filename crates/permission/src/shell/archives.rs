//! Archives, compressed files and certificates that are only looked into.

use super::readonly::ReadAccess;
use super::script::ShellWord;

/// `tar -tf a.tar`: listing one archive of this machine. Any further option may run a program.
pub(super) fn tar(arguments: &[ShellWord]) -> Option<Vec<ReadAccess<'_>>> {
    let (first, rest) = arguments.split_first()?;
    let letters = first.text.strip_prefix('-').unwrap_or(&first.text);
    let lists = first.text == "--list" || letters.contains('t');
    let (archive, members) = rest.split_first()?;
    let (archive, members) = if archive.raw == "-f" { members.split_first()? } else { (archive, members) };
    let named = first.text == "--list" || letters.ends_with('f') || rest[0].raw == "-f";
    let plain = |word: &&ShellWord| !word.glob && !word.tilde && !word.text.starts_with('-');
    let known = first.text == "--list" || letters.chars().all(|c| "tvzjJaf".contains(c));
    // A colon names another machine.
    let local = plain(&archive) && !archive.text.contains(':');
    (lists && known && named && local && members.iter().all(|word| plain(&word)))
        .then(|| vec![ReadAccess::Path(archive)])
}

/// `gzip -l f`, `gunzip -c f`, `unzip -l f`, …: each has a word that keeps it from writing.
pub(super) fn unpacked<'a>(program: &str, arguments: &'a [ShellWord]) -> Option<Vec<ReadAccess<'a>>> {
    let (flag, files) = arguments.split_first()?;
    let only_shows = match program {
        "unzip" => matches!(flag.raw.as_str(), "-l" | "-v" | "-Z" | "-t" | "-p" | "-lv"),
        "gzip" | "xz" | "zstd" | "bzip2" => matches!(flag.raw.as_str(), "-l" | "-dc" | "-cd" | "-t" | "-lv"),
        "gunzip" | "unxz" | "bunzip2" | "unzstd" => matches!(flag.raw.as_str(), "-c" | "-t" | "-l"),
        _ => false,
    };
    let plain = |word: &ShellWord| !word.glob && !word.text.starts_with('-');
    (only_shows && !files.is_empty() && files.iter().all(plain)).then(|| files.iter().map(ReadAccess::Path).collect())
}

/// `openssl x509 -in FILE -noout …`: what a certificate says.
pub(super) fn certificate(arguments: &[ShellWord]) -> Option<Vec<ReadAccess<'_>>> {
    const SHOWS: &[&str] = &[
        "-noout",
        "-text",
        "-subject",
        "-issuer",
        "-dates",
        "-enddate",
        "-startdate",
        "-serial",
        "-fingerprint",
        "-sha256",
        "-purpose",
        "-email",
        "-ocsp_uri",
    ];
    let (kind, rest) = arguments.split_first()?;
    if kind.raw == "dgst" {
        let (algorithm, files) = rest.split_first()?;
        let known = matches!(algorithm.raw.as_str(), "-sha256" | "-sha512" | "-sha384" | "-sha1" | "-md5" | "-sha224");
        let plain = |word: &ShellWord| !word.glob && !word.text.starts_with('-');
        return (known && files.iter().all(plain)).then(|| files.iter().map(ReadAccess::Path).collect());
    }
    let mut looks = Vec::new();
    let mut rest = rest.iter();
    let mut quiet = false;
    while let Some(word) = rest.next() {
        match word.raw.as_str() {
            "-in" => looks.push(ReadAccess::Path(rest.next().filter(|word| !word.glob)?)),
            "-inform" => {
                rest.next()?;
            }
            flag if SHOWS.contains(&flag) => quiet |= flag == "-noout",
            _ => return None,
        }
    }
    (matches!(kind.raw.as_str(), "x509" | "req" | "crl") && quiet && !looks.is_empty()).then_some(looks)
}
