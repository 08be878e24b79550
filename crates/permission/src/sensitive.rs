//! Files that are never read or written in passing. Names are compared case-folded everywhere: on a file system that
//! distinguishes case this only makes us ask more.

use std::path::Path;

#[rustfmt::skip]
const PROTECTED_DIRS: &[&str] = &[
    ".git", ".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn", ".claude",
];

#[rustfmt::skip]
const PROTECTED_FILES: &[&str] = &[
    ".gitconfig", ".gitmodules", ".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".bash_logout", ".zshrc",
    ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".profile", ".envrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs",
    ".pnp.loader.mjs", ".pnpmfile.cjs", "bunfig.toml", ".bunfig.toml", ".bazelrc", ".bazelversion", ".bazeliskrc",
    ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml",
    "gradle-wrapper.properties", "maven-wrapper.properties", ".devcontainer.json", ".ripgreprc", "pyrightconfig.json",
    ".mcp.json", ".claude.json",
];

/// Whether writing here could change what runs later, so that no allow rule or editing mode approves it.
pub fn is_protected(path: &Path) -> bool {
    let parts = folded(path);
    if parts.last().is_some_and(|name| PROTECTED_FILES.contains(&name.as_str())) {
        return true;
    }
    parts.iter().enumerate().any(|(at, part)| {
        let next = parts.get(at + 1).map(String::as_str);
        match part.as_str() {
            ".claude" => next != Some("worktrees"),
            ".config" => next == Some("git"),
            name => PROTECTED_DIRS.contains(&name),
        }
    })
}

const SECRET_DIRS: &[&str] = &[".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store"];

#[rustfmt::skip]
const SECRET_FILES: &[&str] = &[
    ".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc", ".git-credentials", ".credentials.json",
    ".claude.json", ".htpasswd", ".vault-token", ".terraformrc", "credentials.tfrc.json", ".s3cfg", ".boto",
    ".dockercfg", ".env", ".envrc", "application_default_credentials.json", "wallet.dat", "id_rsa", "id_dsa", "id_ecdsa",
    "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
];

const SECRET_EXTENSIONS: &[&str] = &["pem", "key", "p12", "pfx", "p8", "jks", "keystore", "ppk", "kdbx"];

/// `.env.example` and its like are made to be read.
const HARMLESS_ENV: &[&str] = &["example", "sample", "template", "dist", "defaults", "schema"];

/// Private keys and credential files: a read needs a rule that covers the path. Called for every file of a search,
/// so it does not allocate for ordinary names.
pub fn is_secret(path: &Path) -> bool {
    let Some(name) = path.file_name() else { return false };
    let name = name.to_string_lossy();
    let public = ["known_hosts", "authorized_keys"];
    if extension(&name).is_some_and(|extension| extension.eq_ignore_ascii_case("pub")) || one_of(&name, &public) {
        return false;
    }
    is_secret_name(&name) || below_secret_dir(path, &name)
}

fn is_secret_name(name: &str) -> bool {
    if let Some(kind) = name.get(..5).filter(|head| head.eq_ignore_ascii_case(".env.")).and(name.get(5..)) {
        return !kind.split('.').any(|part| one_of(part, HARMLESS_ENV));
    }
    if let Some(stem) = name.strip_suffix(".env").filter(|stem| !stem.is_empty()) {
        return !stem.split(['.', '-', '_']).any(|part| one_of(part, HARMLESS_ENV));
    }
    one_of(name, SECRET_FILES) || extension(name).is_some_and(|extension| one_of(extension, SECRET_EXTENSIONS))
}

fn below_secret_dir(path: &Path, name: &str) -> bool {
    let mut previous = None;
    for part in path.components() {
        let part = part.as_os_str().to_string_lossy();
        let below = |dir: &str| previous.as_deref().is_some_and(|p: &str| p.eq_ignore_ascii_case(dir));
        if one_of(&part, SECRET_DIRS) || (below(".config") && part.eq_ignore_ascii_case("gcloud")) {
            return true;
        }
        previous = Some(part);
    }
    let parent = path.parent().and_then(Path::file_name).map(|dir| dir.to_string_lossy());
    let inside = |dirs: &[&str]| parent.as_deref().is_some_and(|parent| one_of(parent, dirs));
    match name.to_ascii_lowercase().as_str() {
        "config.json" => inside(&[".docker"]),
        "credentials" | "credentials.toml" => inside(&[".cargo", ".gem"]),
        "hosts.yml" => inside(&["gh"]),
        "environ" => path.starts_with("/proc"),
        _ => false,
    }
}

fn extension(name: &str) -> Option<&str> {
    name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension)
}

fn one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn folded(path: &Path) -> Vec<String> {
    path.components()
        .filter_map(|part| match part {
            std::path::Component::Normal(name) => Some(name.to_string_lossy().to_lowercase()),
            _ => None,
        })
        .collect()
}

/// Where private keys and credentials are kept, as a plain table for code that hides them from a process.
#[derive(Clone, Copy, Debug)]
pub struct SecretPlaces {
    /// Relative to the home directory; a folder stands for everything below it.
    pub home: &'static [&'static str],
    /// Glob patterns of file names, at any depth.
    pub anywhere: &'static [&'static str],
    /// Of the names in `anywhere`, those that hold none.
    pub harmless: &'static [&'static str],
}

/// The same places that ask when a tool reads them.
#[rustfmt::skip]
pub const SECRET_PLACES: SecretPlaces = SecretPlaces {
    home: &[
        ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store", ".config/gcloud", ".config/gh/hosts.yml",
        ".docker/config.json", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".netrc", ".pgpass",
        ".my.cnf", ".npmrc", ".pypirc", ".git-credentials", ".claude/.credentials.json", ".claude.json", ".vault-token",
        ".terraformrc", ".terraform.d/credentials.tfrc.json", ".s3cfg", ".boto", ".dockercfg",
    ],
    anywhere: &[
        ".env", ".env.*", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.jks", "*.keystore", "*.ppk", "*.kdbx",
        "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", ".netrc", "_netrc", ".pgpass",
        ".git-credentials", ".credentials.json", ".htpasswd", "application_default_credentials.json", "wallet.dat",
    ],
    harmless: &[
        ".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".env.schema",
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip]
    fn protected_paths() {
        // [CLI-168] SC-C08 SC-C09
        for path in [
            ".git/hooks/pre-commit", ".git/config", ".claude/settings.json", ".CLAUDE/settings.json", ".mcp.json",
            ".vscode/tasks.json", ".idea/x", ".envrc", ".husky/a", ".devcontainer/a/b", ".bashrc", ".npmrc", ".gitconfig",
            ".config/git/config", "sub/.git", "gradle/wrapper/gradle-wrapper.properties",
        ] {
            assert!(is_protected(&Path::new("/w").join(path)), "{path}");
        }
        for path in ["src/main.rs", ".claude/worktrees/x/src/a.rs", ".github/workflows/ci.yml", ".gitignore", "git/x"] {
            assert!(!is_protected(&Path::new("/w").join(path)), "{path}");
        }
    }

    #[test]
    fn the_table_names_what_asks() {
        for place in SECRET_PLACES.home {
            assert!(is_secret(&Path::new("/home/u").join(place)), "{place}");
        }
        for name in SECRET_PLACES.anywhere {
            let name = name.replace('*', "x");
            assert!(is_secret(&Path::new("/w/deep").join(&name)), "{name}");
        }
        for name in SECRET_PLACES.harmless {
            assert!(!is_secret(&Path::new("/w").join(name)), "{name}");
        }
    }

    #[test]
    #[rustfmt::skip]
    fn secret_files() {
        for path in [
            ".ssh/id_rsa", ".ssh/config", "deploy/server.pem", "a/tls.key", ".netrc", ".aws/credentials", ".env",
            ".env.local", ".ENV", ".config/gcloud/x.json", ".docker/config.json", ".claude/.credentials.json", "id_ed25519",
            ".cargo/credentials.toml", ".config/gh/hosts.yml", ".ssh", "prod.env", "deploy/docker.env",
        ] {
            assert!(is_secret(&Path::new("/w").join(path)), "{path}");
        }
        for path in [
            ".env.example", "src/env.rs", ".ssh/id_rsa.pub", "id_generator.rs", "config.json", "key.rs", "a.keys",
            ".environment", "pem/readme.md", ".envoy", "example.env", "docker.example.env",
        ] {
            assert!(!is_secret(&Path::new("/w").join(path)), "{path}");
        }
        assert!(is_secret(Path::new("/proc/self/environ")));
    }
}
