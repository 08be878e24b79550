//! The shell program that runs commands, and how a word is quoted for it.

use std::path::{Path, PathBuf};
use sys::Env;

pub(crate) const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShellKind {
    Bash,
    Zsh,
    /// Neither bash nor zsh is installed: plain commands work, rc files are not read.
    Posix,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShellProgram {
    pub(crate) path: PathBuf,
    pub(crate) kind: ShellKind,
}

impl ShellProgram {
    /// Chooses `CLAUDE_CODE_SHELL`, else `$SHELL`, when it is bash or zsh; else an installed bash, zsh or sh.
    pub(crate) fn choose(env: &Env) -> Self {
        let named =
            ["CLAUDE_CODE_SHELL", "SHELL"].into_iter().filter_map(|name| env.non_empty(name)).map(|v| on_path(env, v));
        let usual = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/zsh"].into_iter().map(PathBuf::from);
        named
            .chain(usual)
            .find_map(|path| {
                let kind = kind_of(&path)?;
                path.is_file().then_some(Self { path, kind })
            })
            .or_else(|| {
                let path = on_path(env, "bash");
                path.is_absolute().then_some(Self { path, kind: ShellKind::Bash })
            })
            .unwrap_or_else(|| Self { path: "/bin/sh".into(), kind: ShellKind::Posix })
    }
}

/// Looks up a bare name in PATH.
fn on_path(env: &Env, name: &str) -> PathBuf {
    let folders = env.get("PATH").unwrap_or(DEFAULT_PATH).split(':').filter(|dir| dir.starts_with('/'));
    let found = folders.map(|dir| Path::new(dir).join(name)).find(|path| !name.contains('/') && path.is_file());
    found.unwrap_or_else(|| name.into())
}

fn kind_of(path: &Path) -> Option<ShellKind> {
    match path.file_name()?.to_str()? {
        "bash" => Some(ShellKind::Bash),
        "zsh" => Some(ShellKind::Zsh),
        _ => None,
    }
}

/// Quotes `text` as one word for all supported shells.
pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_is_bash_or_zsh() {
        let choose = |vars: &[(&str, &str)]| ShellProgram::choose(&Env::default().with(vars.iter().copied()));
        assert_eq!(choose(&[("CLAUDE_CODE_SHELL", "bash"), ("PATH", "/bin")]).path, Path::new("/bin/bash"));
        assert_eq!(choose(&[("SHELL", "/usr/bin/fish")]).kind, ShellKind::Bash);
        assert_eq!(choose(&[("SHELL", "/nowhere/bash")]).path, Path::new("/bin/bash"));
    }

    #[test]
    fn quoting_survives_quotes() {
        assert_eq!(quote("it's"), r"'it'\''s'");
    }
}
