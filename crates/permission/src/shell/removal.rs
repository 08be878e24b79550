//! Removals that must not happen by accident: the root, its children, the home directory, the working directory and what
//! lies above it. No rule and no mode approves them. Directories a `cd` may lead to are considered, and what is known
//! only when it runs is taken for the worst.

use super::suspects::PossibleCommand;
use crate::path::normalise;
use std::path::{Path, PathBuf};

/// The directories that must survive.
pub(crate) struct ProtectedDirectories<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) home: Option<&'a Path>,
    pub(crate) roots: &'a [PathBuf],
    /// Where the data for undo is, as configured and where its links lead.
    pub(crate) undo_store: Option<&'a Path>,
    pub(crate) real_undo_store: Option<&'a Path>,
}

pub(crate) fn is_critical(suspects: &[PossibleCommand], precious: &ProtectedDirectories<'_>) -> bool {
    let removes = |program: &str| matches!(program, "rm" | "rmdir" | "unlink" | "shred");
    let at = RemovalContext::of(suspects, precious);
    let direct = |suspect: &PossibleCommand| {
        suspect.any_program(|program, arguments| match program {
            program if removes(program) => operands(arguments).any(|target| precious.would_be_removed(target, &at)),
            "find" if arguments.iter().any(|argument| argument == "-delete" || argument == "rm") => {
                // With a test only part of the tree goes: no question about the working directory then.
                let selects = arguments.iter().any(|argument| SELECTING.contains(&argument.as_str()));
                find_roots(arguments).any(|target| {
                    if selects { precious.is_base(target) } else { precious.would_be_removed(target, &at) }
                })
            }
            // An unknown program with a recursive option and a root or home directory as its operand.
            program if program.contains('$') && arguments.iter().any(|argument| is_recursive(argument)) => {
                operands(arguments).any(|target| precious.is_base(target))
            }
            _ => false,
        })
    };
    if suspects.iter().any(direct) {
        return true;
    }
    // `echo / | xargs rm -rf`: whatever the other parts print may be a target.
    let fed = |suspect: &PossibleCommand| {
        suspect.words.iter().any(|word| word == "xargs") && suspect.any_program(|program, _| removes(program))
    };
    suspects.iter().any(fed) && suspects.iter().any(|suspect| suspect.words.iter().any(|word| precious.is_base(word)))
}

#[rustfmt::skip]
pub(crate) const SELECTING: &[&str] = &[
    "-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-mtime", "-mmin", "-size", "-empty", "-newer", "-atime",
];

/// A later `--` or a quoted dash changes nothing: a word that looks like an option is not a directory.
fn operands(arguments: &[String]) -> impl Iterator<Item = &str> {
    arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-') && !word.is_empty())
}

fn is_recursive(word: &str) -> bool {
    word == "--recursive" || (word.starts_with('-') && !word.starts_with("--") && word.contains(['r', 'R']))
}

fn find_roots(arguments: &[String]) -> impl Iterator<Item = &str> {
    let options = |word: &&String| matches!(word.as_str(), "-L" | "-H" | "-P");
    arguments.iter().skip_while(options).take_while(|word| !word.starts_with('-')).map(String::as_str)
}

/// The directories in which the shell may be when something is removed.
struct RemovalContext {
    dirs: Vec<PathBuf>,
    /// The target of some `cd` is not known.
    may_be_anywhere: bool,
    /// `pwd` runs somewhere, so that a substitution may stand for the working directory.
    prints_cwd: bool,
}

const MAX_DIRS: usize = 8;

impl RemovalContext {
    fn of(suspects: &[PossibleCommand], precious: &ProtectedDirectories<'_>) -> Self {
        let mut at = Self { dirs: vec![precious.cwd.to_path_buf()], may_be_anywhere: false, prints_cwd: false };
        for suspect in suspects {
            for dir in super::runners::entered(&suspect.words) {
                at.enter(&[dir.to_owned()], precious);
            }
            suspect.any_program(|program, arguments| {
                match program {
                    "cd" | "pushd" | "chdir" => at.enter(arguments, precious),
                    "popd" => at.may_be_anywhere = true,
                    "pwd" => at.prints_cwd = true,
                    _ => {}
                }
                false
            });
        }
        at
    }

    fn enter(&mut self, arguments: &[String], precious: &ProtectedDirectories<'_>) {
        let target = arguments.iter().map(String::as_str).find(|word| *word == "-" || !word.starts_with('-'));
        let target = match target {
            None => precious.home.map(|home| home.to_string_lossy().into_owned()),
            Some("-") => None,
            Some(target) => precious.expand(target).filter(|target| !target.contains(['$', '`', '*', '?', '~'])),
        };
        let last = self.dirs.last().cloned().unwrap_or_default();
        match target.map(|target| normalise(&last.join(target))) {
            Some(dir) if self.dirs.contains(&dir) => {}
            Some(dir) if self.dirs.len() < MAX_DIRS => self.dirs.push(dir),
            Some(_) | None => self.may_be_anywhere = true,
        }
    }
}

impl ProtectedDirectories<'_> {
    fn would_be_removed(&self, target: &str, at: &RemovalContext) -> bool {
        if at.prints_cwd && target.trim_end_matches('/') == "$()" {
            return true;
        }
        let Some(target) = self.expand(target) else { return is_loose(target) };
        if is_loose(&target) {
            return true;
        }
        let first = target.split('/').next().unwrap_or_default();
        if at.may_be_anywhere && (is_glob(first) || matches!(first, "." | "..")) {
            return true;
        }
        at.dirs.iter().any(|dir| {
            let path = normalise(&dir.join(&target));
            if is_glob(path.file_name().map(|name| name.to_string_lossy()).as_deref().unwrap_or("")) {
                return path.parent().is_none_or(|dir| self.emptying_is_critical(dir));
            }
            self.removing_is_critical(&path)
        })
    }

    /// The root, a child of it, or the home directory itself.
    fn is_base(&self, target: &str) -> bool {
        let Some(target) = self.expand(target) else { return is_loose(target) };
        // An ordinary word is below the working directory, however short the path to it.
        if !target.starts_with('/') {
            return false;
        }
        self.is_base_path(&normalise(Path::new(&target)))
    }

    pub(super) fn is_base_path(&self, path: &Path) -> bool {
        path.components().count() <= 2 || self.home == Some(path)
    }

    pub(super) fn removing_is_critical(&self, path: &Path) -> bool {
        let depth = path.components().count();
        // The root itself, or a direct child of it; on macOS the same below /private.
        depth <= 2
            || (depth == 3 && path.starts_with("/private"))
            || self.home.is_some_and(|home| home.starts_with(path))
            || self.cwd.starts_with(path)
            || self.roots.iter().any(|root| root.starts_with(path))
    }

    pub(super) fn emptying_is_critical(&self, dir: &Path) -> bool {
        let above = |root: &Path| root != dir && root.starts_with(dir);
        dir.components().count() <= 2
            || self.home.is_some_and(|home| home.starts_with(dir))
            || above(self.cwd)
            || self.roots.iter().any(|root| above(root) || (root == dir && !self.cwd.starts_with(root)))
    }

    /// The target with a leading spelling of the home or working directory replaced; `None` when another variable stands
    /// in front.
    fn expand(&self, target: &str) -> Option<String> {
        let (home, cwd) = (self.home.map(Path::to_string_lossy), self.cwd.to_string_lossy());
        let spellings = [("${HOME}", home.as_deref()), ("$HOME", home.as_deref()), ("~", home.as_deref())];
        for (spelling, dir) in spellings.into_iter().chain([("${PWD}", Some(&*cwd)), ("$PWD", Some(&*cwd))]) {
            if let Some(rest) = target.strip_prefix(spelling)
                && (rest.is_empty() || rest.starts_with('/'))
            {
                return dir.map(|dir| format!("{dir}{rest}"));
            }
        }
        (!target.starts_with('$')).then(|| target.to_owned())
    }
}

fn is_glob(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// `$X/`, `$X/*`, `$X/..`, `$X/$Y`: with the variables unset this is the root or all that is in it. A bare unknown `$X` is
/// not judged here.
fn is_loose(target: &str) -> bool {
    if !target.starts_with('$') {
        // The home directory of another user, or one that is not known.
        return target.starts_with('~') && !target[1..].contains('/');
    }
    if target.starts_with("$HOME") || target.starts_with("${HOME}") {
        return true;
    }
    let Some((_, after)) = target.split_once('/') else { return false };
    let vanishes = |part: &str| matches!(part, "" | "." | "..") || part.starts_with('$');
    after.split('/').all(|part| vanishes(part) || is_glob(part))
}

#[cfg(test)]
#[path = "removal_tests.rs"]
mod tests;
