//! Tests the packages: makes them from a binary, serves them on 127.0.0.1, and installs them in clean folders with
//! the install script, dpkg and npm, and in a small Debian system where `debootstrap` can make one. Nothing outside
//! the folders of the trial is changed.

use super::serve::serve;
use super::{Options, build, make_executable, put};
use crate::clients;
use crate::steps::target_folder;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const QUICK: u32 = 1;
const DEBIAN: &str = "bookworm";
const SYSTEM_PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Packages `binary` (`None` builds the debug binary) and installs it in every way that this machine supports. With
/// `chroot` also in a Debian system, which takes minutes the first time.
pub(crate) fn trial(root: &Path, binary: Option<&Path>, chroot: bool) -> Result<()> {
    let built;
    let binary = if let Some(binary) = binary {
        binary
    } else {
        built = clients::build(root)?;
        &built
    };
    let folder = tempfile::tempdir()?;
    let trial = Trial::prepare(root, binary, folder.path())?;
    trial.script()?;
    trial.script_refuses()?;
    trial.dpkg()?;
    trial.npm()?;
    if chroot { trial.debian(&target_folder(root).join("trial-debian")) } else { Ok(()) }
}

struct Trial {
    folder: PathBuf,
    /// The folder that is served.
    packages: PathBuf,
    url: String,
    /// The public key; `None` when there is no openssl to sign with.
    key: Option<String>,
    version: String,
}

impl Trial {
    fn prepare(root: &Path, binary: &Path, folder: &Path) -> Result<Self> {
        let packages = folder.join("packages");
        let pem = folder.join("key.pem");
        let made = Command::new("openssl").args(["genpkey", "-algorithm", "ed25519", "-out"]).arg(&pem).output();
        let sign = made.is_ok_and(|output| output.status.success()).then_some(pem);
        if sign.is_none() {
            println!("   NOT RUN: signatures of packages (there is no openssl)");
        }
        let options = Options {
            out: Some(packages.clone()),
            binary: Some(binary.to_path_buf()),
            sign: sign.clone(),
            compression: Some(QUICK),
            ..Options::default()
        };
        build(root, &options)?;
        let script = std::fs::read_to_string(packages.join("install.sh"))?;
        let key = script.lines().find_map(|line| line.strip_prefix("default_key='")?.strip_suffix('\''));
        let key = key.filter(|key| !key.is_empty()).map(str::to_owned);
        ensure!(key.is_some() == sign.is_some(), "the key was not filled into install.sh");
        let version = std::fs::read_to_string(packages.join("latest"))?.trim().to_owned();
        Ok(Self { folder: folder.to_path_buf(), url: serve(&packages)?, packages, key, version })
    }

    /// A command with a cleared environment, the system's PATH and a separate home.
    fn clean(&self, home: &str, program: impl AsRef<std::ffi::OsStr>) -> Result<Command> {
        let home = self.folder.join(home);
        std::fs::create_dir_all(&home)?;
        let mut command = Command::new(program);
        command.env_clear().env("HOME", &home).env("PATH", SYSTEM_PATH).env("TMPDIR", &self.folder).current_dir(&home);
        Ok(command)
    }

    fn install_script(&self, home: &str) -> Result<Command> {
        let mut command = self.clean(home, "sh")?;
        command.arg(self.packages.join("install.sh")).args(["--url", &self.url]);
        Ok(command)
    }

    /// Installs for the user: binary, manual and completions exist, and the binary can run a task and check for
    /// updates.
    fn script(&self) -> Result<()> {
        passed(&mut self.install_script("script")?)?;
        let prefix = self.folder.join("script/.local");
        let gimlet = prefix.join("bin/gimlet");
        self.is_our_version(self.clean("script", &gimlet)?.arg("--version"))?;
        for path in [
            "share/man/man1/gimlet.1",
            "share/bash-completion/completions/gimlet",
            "lib/gimlet/current/share/doc/gimlet/THIRD-PARTY-LICENSES.txt",
        ] {
            ensure!(prefix.join(path).is_file(), "{path} was not installed");
        }
        passed(self.clean("script", &gimlet)?.arg("demo"))?;
        let mut update = self.clean("script", &gimlet)?;
        contains(&passed(update.args(["update"]))?, "gimlet is up to date")?;
        // Installs into a prefix, and again over the first installation.
        let system = self.folder.join("system");
        for _ in 0..2 {
            passed(self.install_script("script")?.arg("--prefix").arg(&system))?;
        }
        self.is_our_version(self.clean("script", system.join("bin/gimlet"))?.arg("--version"))?;
        println!("   installed by the script, for the user and in a prefix");
        Ok(())
    }

    /// A damaged archive and a foreign signature are refused, and nothing is installed.
    fn script_refuses(&self) -> Result<()> {
        let bad = self.folder.join("bad");
        let copied = Command::new("cp").arg("-r").arg(&self.packages).arg(&bad).status()?;
        ensure!(copied.success(), "cp failed");
        let sums = bad.join(&self.version).join("SHA256SUMS");
        let text = std::fs::read_to_string(&sums)?;
        let archive =
            text.lines().find_map(|line| line.split_whitespace().nth(1).filter(|name| name.ends_with(".tar.gz")));
        let archive = bad.join(&self.version).join(archive.context("no archive in SHA256SUMS")?);
        let mut bytes = std::fs::read(&archive)?;
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        put(&archive, &bytes)?;
        let script = bad.join("install.sh");
        make_executable(&script)?;
        let mut command = self.clean("refused", &script)?;
        let said = refused(command.args(["--url", &serve(&bad)?]))?;
        contains(&said, "is damaged")?;
        if self.key.is_some() {
            put(&sums, format!("{text}\n").as_bytes())?;
            let mut command = self.clean("refused", &script)?;
            contains(&refused(command.args(["--url", &serve(&bad)?]))?, "was not made with the given key")?;
        }
        ensure!(!self.folder.join("refused/.local").exists(), "something was installed all the same");
        println!("   damaged and wrongly signed packages are refused");
        Ok(())
    }

    /// dpkg in a separate folder: it installs the package, lists the file as owned, and removes it.
    fn dpkg(&self) -> Result<()> {
        let root = self.folder.join("dpkg");
        let admin = root.join("var/lib/dpkg");
        for folder in ["info", "updates", "triggers"] {
            std::fs::create_dir_all(admin.join(folder))?;
        }
        put(&admin.join("status"), b"")?;
        let package = self.package(".deb")?;
        let mut install = Command::new("dpkg");
        install.arg(format!("--root={}", root.display())).args([
            "--force-depends",
            "--force-script-chrootless",
            "--install",
        ]);
        match install.arg(&package).env("DEBIAN_FRONTEND", "noninteractive").output() {
            Ok(output) if output.status.success() => {}
            Ok(output) if is_root() => bail!("dpkg: {}", both(&output)),
            Ok(_) | Err(_) => {
                println!("   NOT RUN: the Debian package (dpkg is not there, or needs root)");
                return Ok(());
            }
        }
        self.is_our_version(self.clean("dpkg-home", root.join("usr/bin/gimlet"))?.arg("--version"))?;
        let remove =
            Command::new("dpkg").arg(format!("--root={}", root.display())).args(["--remove", "gimlet"]).output()?;
        ensure!(remove.status.success() && !root.join("usr/bin/gimlet").exists(), "dpkg --remove: {}", both(&remove));
        println!("   installed and removed by dpkg");
        Ok(())
    }

    /// npm installs the package without a network; the binary recognises that npm installed it.
    fn npm(&self) -> Result<()> {
        let prefix = self.folder.join("npm");
        let mut install = self.clean("npm-home", "npm")?;
        // npm may be outside the system's folders.
        install.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        install.args(["install", "--global", "--offline", "--no-audit", "--no-fund", "--prefix"]).arg(&prefix);
        let Ok(output) = install.arg(self.package(".tgz")?).output() else {
            println!("   NOT RUN: the npm package (there is no npm)");
            return Ok(());
        };
        ensure!(output.status.success(), "npm install: {}", both(&output));
        let gimlet = prefix.join("bin/gimlet");
        self.is_our_version(self.clean("npm-home", &gimlet)?.arg("--version"))?;
        contains(&refused(self.clean("npm-home", &gimlet)?.arg("update"))?, "npm install -g gimlet-cli-")?;
        println!("   installed by npm");
        Ok(())
    }

    /// A Debian system with only curl and openssl: the script from the file server, then the Debian package.
    fn debian(&self, system: &Path) -> Result<()> {
        if !is_root() || !has_debian(system) {
            println!("   NOT RUN: a clean Debian system (debootstrap, root and a mirror are needed)");
            return Ok(());
        }
        let inside = |args: &[&str]| {
            let mut command = Command::new("chroot");
            command.arg(system).args(args).env_clear().env("HOME", "/root").env("PATH", SYSTEM_PATH).current_dir("/");
            command
        };
        std::fs::copy(self.packages.join("install.sh"), system.join("tmp/install.sh"))?;
        std::fs::copy(self.package(".deb")?, system.join("tmp/gimlet.deb"))?;
        for path in ["root/.local", "usr/local/lib/gimlet", "usr/local/bin/gimlet"] {
            let path = system.join(path);
            std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path)).ok();
        }
        passed(&mut inside(&["sh", "/tmp/install.sh", "--url", &self.url]))?;
        self.is_our_version(&mut inside(&["/root/.local/bin/gimlet", "--version"]))?;
        passed(&mut inside(&["sh", "/tmp/install.sh", "--url", &self.url, "--system"]))?;
        self.is_our_version(&mut inside(&["/usr/local/bin/gimlet", "--version"]))?;
        passed(&mut inside(&["dpkg", "--install", "/tmp/gimlet.deb"]))?;
        self.is_our_version(&mut inside(&["/usr/bin/gimlet", "--version"]))?;
        contains(&refused(&mut inside(&["/usr/bin/gimlet", "update"]))?, "installed by dpkg")?;
        passed(&mut inside(&["dpkg", "--remove", "gimlet"]))?;
        println!("   installed in a clean Debian system by the script and by dpkg");
        Ok(())
    }

    fn package(&self, ending: &str) -> Result<PathBuf> {
        let entries = std::fs::read_dir(self.packages.join(&self.version))?;
        let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        paths.find(|path| path.to_string_lossy().ends_with(ending)).with_context(|| format!("no package *{ending}"))
    }

    fn is_our_version(&self, command: &mut Command) -> Result<()> {
        contains(&passed(command)?, &format!("(gimlet {})", self.version))
    }
}

/// Makes the Debian system once and keeps it; an incomplete one is made again.
fn has_debian(system: &Path) -> bool {
    let done = system.join("made");
    if done.is_file() {
        return true;
    }
    std::fs::remove_dir_all(system).ok();
    println!("   making a Debian system with debootstrap");
    let mut command = Command::new("debootstrap");
    command.args(["--variant=minbase", "--include=curl,openssl", DEBIAN]).arg(system);
    command.output().is_ok_and(|output| output.status.success()) && std::fs::write(done, "").is_ok()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn both(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn finished(command: &mut Command) -> Result<(String, Output)> {
    let shown = format!("{} {:?}", command.get_program().display(), command.get_args().collect::<Vec<_>>());
    let output = command.output().with_context(|| shown.clone())?;
    Ok((shown, output))
}

/// Runs a command that must succeed; returns its output.
fn passed(command: &mut Command) -> Result<String> {
    let (shown, output) = finished(command)?;
    ensure!(output.status.success(), "{shown} failed ({}):\n{}", output.status, both(&output));
    Ok(both(&output))
}

/// Runs a command that must fail; returns its output.
fn refused(command: &mut Command) -> Result<String> {
    let (shown, output) = finished(command)?;
    ensure!(!output.status.success(), "{shown} succeeded:\n{}", both(&output));
    Ok(both(&output))
}

fn contains(text: &str, part: &str) -> Result<()> {
    ensure!(text.contains(part), "'{part}' is not in:\n{text}");
    Ok(())
}
