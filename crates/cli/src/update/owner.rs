//! Who installed the running binary. `gimlet update` replaces only what gimlet's own installer installed; for
//! everything else it names the command that does it.

use super::installation::Installation;
use std::path::{Path, PathBuf};
use sys::Env;

/// Who updates the running binary.
pub(super) enum BinaryOwner {
    /// gimlet's own installer.
    Gimlet(Installation),
    /// A package manager, with the command that updates the package.
    PackageManager { name: &'static str, command: String },
    /// Nobody: built from source, or copied by hand.
    Nobody(PathBuf),
}

impl BinaryOwner {
    pub(super) fn of(binary: &Path, env: &Env) -> Self {
        if let Some(installation) = Installation::holding(binary) {
            return Self::Gimlet(installation);
        }
        let found = dpkg(binary, env).or_else(|| npm(binary)).or_else(|| cargo(binary)).or_else(|| by_folder(binary));
        match found {
            Some((name, command)) => Self::PackageManager { name, command },
            None => Self::Nobody(binary.to_path_buf()),
        }
    }
}

type PackageManager = (&'static str, String);

/// dpkg keeps one list of files for each package.
fn dpkg(binary: &Path, env: &Env) -> Option<PackageManager> {
    let lists = Path::new(env.non_empty("DPKG_ADMINDIR").unwrap_or("/var/lib/dpkg")).join("info");
    let list = std::fs::read_to_string(lists.join("gimlet.list")).ok()?;
    // With a merged /usr the list may name the same file by another path.
    let is_named = list
        .lines()
        .map(Path::new)
        .any(|line| line == binary || std::fs::canonicalize(line).is_ok_and(|real| real == binary));
    is_named.then(|| {
        ("dpkg", "sudo apt-get install --only-upgrade gimlet (or sudo dpkg -i with the newer .deb)".to_owned())
    })
}

fn npm(binary: &Path) -> Option<PackageManager> {
    let package = binary.parent()?.parent()?;
    if !package.components().any(|part| part.as_os_str() == "node_modules") {
        return None;
    }
    let manifest = std::fs::read_to_string(package.join("package.json")).ok();
    let manifest: serde_json::Value = manifest.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let name = manifest["name"].as_str().unwrap_or("gimlet");
    let global = if package.components().any(|part| part.as_os_str() == "lib") { "-g " } else { "" };
    Some(("npm", format!("npm install {global}{name}@latest")))
}

/// `cargo install` records what it installed beside the folder of binaries.
fn cargo(binary: &Path) -> Option<PackageManager> {
    let home = binary.parent()?.parent()?;
    let record = std::fs::read_to_string(home.join(".crates.toml")).ok()?;
    record
        .contains("\"gimlet-cli ")
        .then(|| ("cargo install", "cargo install --force --path crates/cli, in a newer checkout".to_owned()))
}

/// Folders that belong entirely to a package manager.
fn by_folder(binary: &Path) -> Option<PackageManager> {
    let starts = |folder: &str| binary.starts_with(folder);
    let cellar = binary.components().any(|part| part.as_os_str() == "Cellar");
    if cellar {
        return Some(("Homebrew", "brew upgrade gimlet".to_owned()));
    }
    if starts("/nix/store") {
        return Some(("Nix", "the command that installed it, with a newer revision".to_owned()));
    }
    let of_system = starts("/usr/bin") || starts("/bin") || starts("/usr/sbin") || starts("/usr/lib");
    of_system.then(|| ("the system's package manager", "its own update command".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn manager(binary: &Path, env: &Env) -> Option<(&'static str, String)> {
        match BinaryOwner::of(binary, env) {
            BinaryOwner::PackageManager { name, command } => Some((name, command)),
            BinaryOwner::Gimlet(_) | BinaryOwner::Nobody(_) => None,
        }
    }

    fn made(dir: &Path, binary: &str, beside: &str, text: &str) -> PathBuf {
        for (path, text) in [(binary, ""), (beside, text)] {
            fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
            fs::write(dir.join(path), text).unwrap();
        }
        dir.join(binary)
    }

    #[test]
    fn package_managers_are_recognised_by_their_records() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let none = Env::default().with([("DPKG_ADMINDIR", dir.join("none").into_os_string())]);
        let npm = made(&dir, "lib/node_modules/x/bin/gimlet", "lib/node_modules/x/package.json", r#"{"name": "x"}"#);
        assert_eq!(manager(&npm, &none), Some(("npm", "npm install -g x@latest".into())));
        let cargo = made(&dir, "cargo/bin/gimlet", "cargo/.crates.toml", "\"gimlet-cli 0.1.0 (path+file:///x)\" = []");
        assert_eq!(manager(&cargo, &none).map(|found| found.0), Some("cargo install"));
        let other = made(&dir, "other/bin/gimlet", "other/.crates.toml", "\"ripgrep 1.0.0\" = []");
        assert_eq!(manager(&other, &none), None);
        let packaged =
            made(&dir, "usr/bin/gimlet", "dpkg/info/gimlet.list", &format!("/.\n{}/usr/bin/gimlet\n", dir.display()));
        let dpkg = Env::default().with([("DPKG_ADMINDIR", dir.join("dpkg").into_os_string())]);
        assert_eq!(manager(&packaged, &dpkg).map(|found| found.0), Some("dpkg"));
        assert_eq!(manager(&other, &dpkg), None);
        assert_eq!(
            manager(Path::new("/usr/bin/gimlet"), &none).map(|found| found.0),
            Some("the system's package manager")
        );
    }
}
