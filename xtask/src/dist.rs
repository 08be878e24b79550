//! `cargo xtask dist`: makes the packages that people install, in one folder that a file server can serve unchanged
//! (described in `docs/install.md`): archive, Debian package, npm package, bill of materials, checksums with their
//! signature, and the install script. The same sources and binary give the same bytes: times come from
//! SOURCE_DATE_EPOCH or the commit.

mod deb;
mod dependencies;
mod elf;
mod licences;
mod manual;
mod sbom;
mod serve;
mod tar;
mod trial;

use crate::clients;
use crate::steps::{self, cargo_program, target_folder};
use anyhow::{Context, Result, bail};
use dependencies::Package;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;
use tar::{PackedFile, gzip, tar};

pub(crate) use trial::trial;

const SUMMARY: &str = "a coding agent for the command line";
const NPM_NAME: &str = "gimlet-cli";
const SMALL: u32 = 9;

/// Facts shared by all packages of one release.
pub(crate) struct Facts {
    version: String,
    /// Seconds since 1970, for every file.
    time: u64,
    /// Compression level: 1 is fast, 9 is small.
    compression: u32,
}

#[derive(Default)]
pub(crate) struct Options {
    out: Option<PathBuf>,
    /// An existing binary; `None` builds the profile `dist`.
    binary: Option<PathBuf>,
    /// A file with the private key; `None` makes no signature.
    sign: Option<PathBuf>,
    /// The download address in the install script.
    url: Option<String>,
    channels: Vec<String>,
    compression: Option<u32>,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        for pair in words.chunks(2) {
            let [option, value] = pair else { bail!("{} needs a value", pair[0]) };
            match *option {
                "--out" => options.out = Some(PathBuf::from(value)),
                "--binary" => options.binary = Some(PathBuf::from(value)),
                "--sign" => options.sign = Some(PathBuf::from(value)),
                "--url" => options.url = Some((*value).to_owned()),
                "--channel" => options.channels.push((*value).to_owned()),
                _ => bail!(
                    "unknown option {option} (dist [--out FOLDER] [--binary FILE] [--sign KEY.pem] [--url URL] [--channel NAME])"
                ),
            }
        }
        Ok(options)
    }
}

pub(crate) fn run(root: &Path, words: &[&str]) -> Result<()> {
    let options = Options::parse(words)?;
    let folder = build(root, &options)?;
    println!("   {}", folder.display());
    Ok(())
}

/// Makes all packages and returns their folder.
fn build(root: &Path, options: &Options) -> Result<PathBuf> {
    let out = options.out.clone().unwrap_or_else(|| target_folder(root).join("packages"));
    let program = match &options.binary {
        Some(path) => path.clone(),
        None => build_binary(root)?,
    };
    let binary = stripped(&program)?;
    let facts = Facts { version: version(root)?, time: time(root)?, compression: options.compression.unwrap_or(SMALL) };
    let packages = dependencies::packages(root)?;
    let files = release_files(root, &program, &binary, &packages, &facts)?;
    let made = archives(&files, &binary, &facts)?;
    let folder = out.join(&facts.version);
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let mut sums = String::new();
    for (name, bytes) in &made {
        put(&folder.join(name), bytes)?;
        sums.extend([&hex_sha256(bytes), "  ", name, "\n"]);
        println!("   {:>9} kB  {name}", bytes.len() / 1000);
    }
    put(&folder.join("SHA256SUMS"), sums.as_bytes())?;
    let key = options.sign.as_deref().map(|key| sign(&folder.join("SHA256SUMS"), key)).transpose()?;
    for channel in
        if options.channels.is_empty() { vec!["latest"] } else { options.channels.iter().map(String::as_str).collect() }
    {
        put(&out.join(channel), format!("{}\n", facts.version).as_bytes())?;
    }
    let script = install_script(root, options.url.as_deref(), key.as_deref())?;
    put(&out.join("install.sh"), script.as_bytes())?;
    make_executable(&out.join("install.sh"))?;
    Ok(out)
}

fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).with_context(|| path.display().to_string())
}

fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).with_context(|| path.display().to_string())
}

fn build_binary(root: &Path) -> Result<PathBuf> {
    let mut command = Command::new(cargo_program());
    command.args(["build", "--locked", "--profile", "dist", "--package", "gimlet-cli"]);
    command
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(root)
        .stderr(std::process::Stdio::inherit());
    let output = command.output().context("cargo build")?;
    if !output.status.success() {
        bail!("cargo build failed");
    }
    clients::executable(&String::from_utf8_lossy(&output.stdout)).context("cargo build named no executable")
}

/// The binary without symbols. The profile `dist` strips the binary already; other profiles need `strip`.
fn stripped(program: &Path) -> Result<Vec<u8>> {
    let binary = std::fs::read(program).with_context(|| program.display().to_string())?;
    if elf::is_stripped(&binary) {
        return Ok(binary);
    }
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("gimlet");
    let status = Command::new("strip").arg("-o").arg(&copy).arg(program).status().context("strip (binutils)")?;
    let binary = std::fs::read(&copy).with_context(|| format!("strip of {} ({status})", program.display()))?;
    if !elf::is_stripped(&binary) {
        bail!("{} still has its symbols", program.display());
    }
    Ok(binary)
}

fn version(root: &Path) -> Result<String> {
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).context("Cargo.toml")?;
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    Ok(version.context("Cargo.toml names no version")?.to_owned())
}

fn time(root: &Path) -> Result<u64> {
    if let Ok(time) = std::env::var("SOURCE_DATE_EPOCH") {
        return time.parse().context("SOURCE_DATE_EPOCH is not a number of seconds");
    }
    let output = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    // Sources without a repository have no commit time.
    Ok(text.parse().unwrap_or(0))
}

/// The files of a release, with their paths below the prefix.
fn release_files(
    root: &Path,
    program: &Path,
    binary: &[u8],
    packages: &[Package],
    facts: &Facts,
) -> Result<Vec<PackedFile>> {
    let printed = |args: &[&str]| {
        let output = Command::new(program).args(args).output().with_context(|| program.display().to_string())?;
        if !output.status.success() {
            bail!("gimlet {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
        }
        Ok(output.stdout)
    };
    let own = |name: &str| std::fs::read(root.join(name)).with_context(|| name.to_owned());
    let help = String::from_utf8(printed(&["--help"])?).context("--help")?;
    let doc = |name: &str| format!("share/doc/gimlet/{name}");
    let mut files = vec![
        PackedFile::program("bin/gimlet", binary),
        PackedFile::new("share/man/man1/gimlet.1", manual::page(&help, facts)),
        PackedFile::new("share/bash-completion/completions/gimlet", printed(&["completions", "bash"])?),
        PackedFile::new("share/zsh/site-functions/_gimlet", printed(&["completions", "zsh"])?),
        PackedFile::new("share/fish/vendor_completions.d/gimlet.fish", printed(&["completions", "fish"])?),
        PackedFile::new(doc("THIRD-PARTY-LICENSES.txt"), licences::texts(packages, root)?),
        PackedFile::new(doc("gimlet.cdx.json"), sbom::bill(packages, facts)?),
    ];
    for name in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        files.push(PackedFile::new(doc(name), own(name)?));
    }
    Ok(files)
}

/// Name and bytes of every published file, sorted by name.
fn archives(files: &[PackedFile], binary: &[u8], facts: &Facts) -> Result<Vec<(String, Vec<u8>)>> {
    let version = &facts.version;
    let target = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    let name = format!("gimlet-{version}-{target}");
    let bill =
        files.iter().find(|file| file.path.ends_with(".cdx.json")).map(|file| file.content.clone()).unwrap_or_default();
    let mut made = vec![
        (format!("{name}.tar.gz"), gzip(&tar(&format!("{name}/"), files, facts.time)?, facts.compression)?),
        (
            format!("gimlet-{version}-npm-{target}.tgz"),
            gzip(&tar("package/", &npm_files(files, facts)?, facts.time)?, facts.compression)?,
        ),
        (format!("{name}.cdx.json"), bill),
    ];
    if cfg!(target_os = "linux") {
        made.push((deb::name(facts), deb::package(files, &elf::depends(binary), facts)?));
    }
    made.sort();
    Ok(made)
}

/// An npm package whose `bin` is the binary itself, so that no script runs during the installation.
fn npm_files(files: &[PackedFile], facts: &Facts) -> Result<Vec<PackedFile>> {
    let (system, machine) = (std::env::consts::OS.replace("macos", "darwin"), std::env::consts::ARCH);
    let machine = machine.replace("x86_64", "x64").replace("aarch64", "arm64");
    let manifest = json!({
        "name": format!("{NPM_NAME}-{system}-{machine}"),
        "version": facts.version,
        "description": SUMMARY,
        "license": "(Apache-2.0 OR MIT)",
        "bin": {"gimlet": "bin/gimlet"},
        "os": [system],
        "cpu": [machine],
        "files": ["bin", "man", "LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-LICENSES.txt"],
        "man": ["man/gimlet.1"],
    });
    let mut packed = vec![PackedFile::new("package.json", format!("{}\n", serde_json::to_string_pretty(&manifest)?))];
    for file in files {
        let to = match file.path.as_str() {
            "bin/gimlet" => "bin/gimlet",
            "share/man/man1/gimlet.1" => "man/gimlet.1",
            path => match path.strip_prefix("share/doc/gimlet/") {
                Some(name @ ("README.md" | "LICENSE-APACHE" | "LICENSE-MIT" | "THIRD-PARTY-LICENSES.txt")) => name,
                Some(_) | None => continue,
            },
        };
        packed.push(file.at(to));
    }
    Ok(packed)
}

/// Signs a file with an Ed25519 key and returns the public key in base64.
fn sign(file: &Path, key: &Path) -> Result<String> {
    let signature = PathBuf::from(format!("{}.sig", file.display()));
    let mut command = Command::new("openssl");
    command.args(["pkeyutl", "-sign", "-rawin", "-inkey"]).arg(key).arg("-in").arg(file).arg("-out").arg(&signature);
    steps::run(&mut command)?;
    let output = Command::new("openssl").args(["pkey", "-pubout", "-in"]).arg(key).output().context("openssl")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let public: String = text.lines().filter(|line| !line.starts_with("-----")).collect();
    if std::fs::metadata(&signature).map(|found| found.len()).ok() != Some(64) || public.len() != 60 {
        bail!("{} is not an Ed25519 key: `openssl genpkey -algorithm ed25519 -out KEY.pem` makes one", key.display());
    }
    println!("   signed; the public key is {public}");
    Ok(public)
}

fn install_script(root: &Path, url: Option<&str>, key: Option<&str>) -> Result<String> {
    let mut script = std::fs::read_to_string(root.join("packaging/install.sh")).context("packaging/install.sh")?;
    for (name, value) in [("default_url", url), ("default_key", key)] {
        let Some(value) = value else { continue };
        let empty = format!("{name}=''\n");
        if value.contains(['\'', '\n']) || !script.contains(&empty) {
            bail!("{name} cannot be filled into packaging/install.sh");
        }
        script = script.replace(&empty, &format!("{name}='{value}'\n"));
    }
    Ok(script)
}

pub(crate) fn hex_sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Formats seconds since 1970 as `2001-09-09`.
fn date(time: u64) -> String {
    // Days are counted from 0000-03-01, so that the leap day is the last day of a year.
    let days = time / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

fn date_time(time: u64) -> String {
    let seconds = time % 86_400;
    format!("{}T{:02}:{:02}:{:02}Z", date(time), seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_seconds() {
        for (time, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_000_000_000, "2001-09-09T01:46:40Z"),
            (1_735_689_600, "2025-01-01T00:00:00Z"),
        ] {
            assert_eq!(date_time(time), text);
        }
    }

    #[test]
    fn the_same_files_give_the_same_packages() {
        let facts = || Facts { version: "1.2.3".into(), time: 1_000_000_000, compression: 1 };
        let files = [
            PackedFile::program("bin/gimlet", "#!/bin/sh\n"),
            PackedFile::new("share/man/man1/gimlet.1", "page"),
            PackedFile::new("share/doc/gimlet/README.md", "read"),
        ];
        let made = archives(&files, b"", &facts()).unwrap();
        assert_eq!(made, archives(&files, b"", &facts()).unwrap());
        assert!(made.len() >= 3);
    }

    #[test]
    fn the_script_is_filled_in_and_readable_by_a_plain_shell() {
        let script = install_script(&crate::root(), Some("https://releases.example"), Some("KEY")).unwrap();
        assert!(script.contains("default_url='https://releases.example'\n") && script.contains("default_key='KEY'\n"));
        assert!(install_script(&crate::root(), Some("it's"), None).is_err());
        let check = Command::new("sh").args(["-n", "-c", &script]).status().unwrap();
        assert!(check.success());
    }
}
