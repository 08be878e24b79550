//! The licences of all packages linked into the binary, with the texts that the packages contain.

use super::dependencies::Package;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const NAMES: &[&str] = &["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
/// Extensions of programs and scripts whose names begin like those of licence files.
const NOT_TEXTS: &[&str] = &["rs", "py", "sh", "go", "toml", "json", "c", "h", "yml"];
const LONGEST_TEXT: u64 = 256 * 1024;
const DEEPEST: usize = 4;

const BSD_3_CLAUSE: &str = "\
Redistribution and use in source and binary forms, with or without modification, are permitted provided that the
following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following
   disclaimer.

2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following
   disclaimer in the documentation and/or other materials provided with the distribution.

3. Neither the name of the copyright holder nor the names of its contributors may be used to endorse or promote products
   derived from this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS \"AS IS\" AND ANY EXPRESS OR IMPLIED WARRANTIES,
INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL,
SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR
SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY,
WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF
THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.";

/// One file with every package and every text; a text that several packages share appears once.
pub(super) fn texts(packages: &[Package], root: &Path) -> Result<String> {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut texts: Vec<String> = Vec::new();
    let mut list = String::new();
    for package in packages.iter().filter(|package| package.is_foreign()) {
        let found = texts_of(package, root)?;
        let mut used: Vec<usize> = Vec::new();
        for text in found {
            let number = *numbers.entry(text.clone()).or_insert_with(|| {
                texts.push(text);
                texts.len()
            });
            if !used.contains(&number) {
                used.push(number);
            }
        }
        let used: Vec<String> = used.iter().map(|number| format!("[{number}]")).collect();
        let from = package.repository.as_deref().map(|url| format!("\n  {url}")).unwrap_or_default();
        writeln!(list, "{} {}: {}{from}\n  texts: {}", package.name, package.version, package.licence, used.join(" "))?;
    }
    let mut out = format!("gimlet contains these packages, under these licences. The texts follow.\n\n{list}");
    for (number, text) in texts.iter().enumerate() {
        write!(out, "\n{}\n[{}]\n\n{text}\n", "=".repeat(78), number + 1)?;
    }
    Ok(out)
}

fn texts_of(package: &Package, root: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    collect(&package.folder, 0, &mut paths)?;
    paths.sort();
    let mut texts = Vec::new();
    for path in paths {
        let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
        texts.push(normal(&String::from_utf8_lossy(&bytes)));
    }
    if texts.is_empty() {
        texts.push(standard(package, root)?);
    }
    Ok(texts)
}

/// Normalises line ends and trailing blanks, so that equal texts are recognised.
fn normal(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_matches('\n').to_owned()
}

fn collect(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && depth < DEEPEST {
            collect(&entry.path(), depth + 1, paths)?;
        } else if kind.is_file() && is_licence(&entry.path()) && entry.metadata()?.len() <= LONGEST_TEXT {
            paths.push(entry.path());
        }
    }
    Ok(())
}

fn is_licence(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_uppercase()).unwrap_or_default();
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    NAMES.iter().any(|known| name.starts_with(known)) && !NOT_TEXTS.contains(&ending.as_str())
}

/// The standard text for a package that names a licence but contains no text, with the authors from the manifest.
fn standard(package: &Package, root: &Path) -> Result<String> {
    let names = |licence: &str| package.licence.split([' ', '(', ')']).any(|word| word == licence);
    let ours = |file: &str| std::fs::read_to_string(root.join(file)).with_context(|| file.to_owned());
    let authors = if package.authors.is_empty() {
        format!("the authors of {}", package.name)
    } else {
        package.authors.join(", ")
    };
    if names("MIT") {
        let text = ours("LICENSE-MIT")?;
        let words = text.split_once("Permission is hereby granted").map(|(_, rest)| rest).context("LICENSE-MIT")?;
        return Ok(normal(&format!("MIT License\n\nCopyright (c) {authors}\n\nPermission is hereby granted{words}")));
    }
    if names("Apache-2.0") {
        return Ok(normal(&ours("LICENSE-APACHE")?));
    }
    if names("BSD-3-Clause") {
        return Ok(format!("Copyright (c) {authors}\n\n{BSD_3_CLAUSE}"));
    }
    if names("MPL-2.0")
        && let Some(text) = mozilla(package)
    {
        return Ok(normal(&text));
    }
    bail!("{} carries no licence text, and none is known for '{}'", package.id(), package.licence)
}

/// The Mozilla licence has the same text for all packages; it is taken from another package in the same folder.
fn mozilla(package: &Package) -> Option<String> {
    let beside = std::fs::read_dir(package.folder.parent()?).ok()?.flatten();
    let texts = beside.filter_map(|entry| std::fs::read_to_string(entry.path().join("LICENSE")).ok());
    texts.filter(|text| text.trim_start().starts_with("Mozilla Public License")).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_has_its_texts() {
        let root = crate::root();
        let packages = super::super::dependencies::packages(&root).unwrap();
        let text = texts(&packages, &root).unwrap();
        for package in packages.iter().filter(|package| package.is_foreign()) {
            assert!(text.contains(&format!("\n{} {}: ", package.name, package.version)), "{}", package.id());
            assert!(!package.licence.is_empty(), "{} names no licence", package.id());
        }
        assert!(text.contains("Permission is hereby granted") && text.contains("Apache License"));
        assert!(!text.contains("texts: \n"));
    }

    #[test]
    fn licences_are_known_by_name() {
        for yes in ["LICENSE", "license-mit", "COPYING.txt", "NOTICE", "LICENSE.md"] {
            assert!(is_licence(Path::new(yes)), "{yes}");
        }
        for no in ["license.rs", "README.md", "my-license"] {
            assert!(!is_licence(Path::new(no)), "{no}");
        }
    }
}
