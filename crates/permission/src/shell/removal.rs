//! Removals that nobody wants by accident: the root, its children, the home directory, the working directory and what
//! lies above it. No rule and no mode approves them.

use super::suspects::Suspect;
use crate::path::normalise;
use std::path::{Path, PathBuf};

/// The directories that must survive.
pub(crate) struct Precious<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) home: Option<&'a Path>,
    pub(crate) roots: &'a [PathBuf],
}

pub(crate) fn is_critical(suspects: &[Suspect], precious: &Precious<'_>) -> bool {
    suspects.iter().any(|suspect| {
        suspect.any_program(|program, arguments| match program {
            "rm" | "rmdir" | "unlink" | "shred" => operands(arguments).any(|target| precious.holds(target)),
            "find" if arguments.iter().any(|argument| argument == "-delete" || argument == "rm") => {
                // With a test only part of the tree goes: no question about the working directory then.
                let selects = arguments.iter().any(|argument| SELECTING.contains(&argument.as_str()));
                find_roots(arguments)
                    .any(|target| if selects { precious.is_base(target) } else { precious.holds(target) })
            }
            _ => false,
        })
    })
}

#[rustfmt::skip]
const SELECTING: &[&str] = &[
    "-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-mtime", "-mmin", "-size", "-empty", "-newer", "-atime",
];

/// A later `--` or a quoted dash changes nothing: a word that looks like an option is not a directory.
fn operands(arguments: &[String]) -> impl Iterator<Item = &str> {
    arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-') && !word.is_empty())
}

fn find_roots(arguments: &[String]) -> impl Iterator<Item = &str> {
    let options = |word: &&String| matches!(word.as_str(), "-L" | "-H" | "-P");
    arguments.iter().skip_while(options).take_while(|word| !word.starts_with('-')).map(String::as_str)
}

impl Precious<'_> {
    fn holds(&self, target: &str) -> bool {
        let Some(target) = expand_home(target, self.home) else { return is_loose_variable(target) };
        let path = normalise(&self.cwd.join(&target));
        if is_glob(path.file_name().map(|name| name.to_string_lossy()).as_deref().unwrap_or("")) {
            return path.parent().is_none_or(|dir| self.emptying_is_critical(dir));
        }
        self.removing_is_critical(&path)
    }

    /// The root, a child of it, or the home directory itself.
    fn is_base(&self, target: &str) -> bool {
        let Some(target) = expand_home(target, self.home) else { return is_loose_variable(target) };
        let path = normalise(&self.cwd.join(&target));
        path.components().count() <= 2 || self.home == Some(path.as_path())
    }

    fn removing_is_critical(&self, path: &Path) -> bool {
        let depth = path.components().count();
        // The root itself, or a direct child of it; on macOS the same below /private.
        depth <= 2
            || (depth == 3 && path.starts_with("/private"))
            || self.home.is_some_and(|home| home.starts_with(path))
            || self.cwd.starts_with(path)
            || self.roots.iter().any(|root| root.starts_with(path))
    }

    fn emptying_is_critical(&self, dir: &Path) -> bool {
        let above = |root: &Path| root != dir && root.starts_with(dir);
        dir.components().count() <= 2
            || self.home.is_some_and(|home| home.starts_with(dir))
            || above(self.cwd)
            || self.roots.iter().any(|root| above(root) || (root == dir && !self.cwd.starts_with(root)))
    }
}

fn is_glob(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// The target with a leading home spelling replaced; `None` when another variable stands in front.
fn expand_home(target: &str, home: Option<&Path>) -> Option<String> {
    let home = home.map(|home| home.to_string_lossy().into_owned());
    for spelling in ["${HOME}", "$HOME", "~"] {
        if let Some(rest) = target.strip_prefix(spelling)
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return home.map(|home| format!("{home}{rest}"));
        }
    }
    (!target.starts_with('$')).then(|| target.to_owned())
}

/// `$X/`, `$X/*`: with the variable unset this is the root. A bare unknown `$X` is not judged here.
fn is_loose_variable(target: &str) -> bool {
    if target.starts_with('~') || target.starts_with("$HOME") || target.starts_with("${HOME}") {
        return true;
    }
    let after = match target.strip_prefix("${") {
        Some(rest) => rest.split_once('}').map_or("", |(_, after)| after),
        None => target[1..].trim_start_matches(|c: char| c == '_' || c.is_ascii_alphanumeric()),
    };
    let tail = after.trim_start_matches('/');
    after.starts_with('/') && (tail.is_empty() || is_glob(tail.split('/').next().unwrap_or("")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn critical(command: &str) -> bool {
        let roots = [PathBuf::from("/w/app"), PathBuf::from("/data/extra")];
        let precious = Precious { cwd: Path::new("/w/app"), home: Some(Path::new("/home/u")), roots: &roots };
        is_critical(&crate::shell::reading::Reading::of(command).suspects, &precious)
    }

    #[test]
    #[rustfmt::skip]
    fn critical_removals() {
        // [CLI-169] SC-E07 SC-E08
        for command in [
            "rm -rf /", "rm -rf ~", "rm -rf \"$HOME\"", "rm -rf ${HOME}/", "rm -rf /*", "find / -delete", "find . -delete", "find / -name x -delete", "rm -rf .", "rm -rf ..",
            "rm -rf /usr", "rm -rf \"$X\"/*", "rm -rf \"$BUILD_DIR/\"", "rm -rf $X/*", "echo $(rm -rf ~)", "sudo rm -rf /",
            "rm -rf /w", "rm -rf /w/app", "rm -rf ~/*", "rm -r --no-preserve-root /", "bash -c 'rm -rf ~'", "rm -rf /data/extra/*",
            "rm -rf x /", "cd src && rm -rf /etc", "rm -rf /data/extra", "rm -rf ../*", "/bin/rm -rf /home/u", "env rm -rf /",
        ] {
            assert!(critical(command), "{command}");
        }
    }

    #[test]
    #[rustfmt::skip]
    fn ordinary_removals() {
        for command in [
            "rm -rf target", "rm x", "rm -rf ./build/*", "rm -rf /tmp/x/y", "rm -rf ~/old/thing", "rm -rf $TMP_FILE",
            "echo 'rm -rf /'", "rm -rf \"$D/build\"", "find . -name x -delete", "find src -delete", "git rm -r x",
        ] {
            assert!(!critical(command), "{command}");
        }
    }
}
