//! What a command would read, as far as its programs are known: the exchange between the policy, which knows programs and
//! rules, and the caller, which knows the disk.

pub use crate::shell::find::is_plain_name;
use crate::shell::flow::ShellField;
pub use crate::shell::flow::field::name_fits;
pub use crate::shell::name_pattern::NamePattern;
use std::path::PathBuf;

/// The text of a name that is no pattern.
pub fn plain_name(pattern: &str) -> Option<String> {
    let field = ShellField::from_pattern(pattern);
    (!field.is_pattern()).then(|| field.text())
}

/// The files that the known programs of a command would open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadPlan {
    pub targets: Vec<ReadTarget>,
    /// Why some reads are not known before the command runs; `None` when all are known.
    pub unknown: Option<String>,
}

/// One operand of one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadTarget {
    pub program: String,
    /// Absolute. `*`, `?` and `[…]` are patterns of the shell; as plain characters they follow a backslash.
    pub pattern: String,
    pub extent: ReadExtent,
}

/// What happens to the paths that a target names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a command has a handful of them")]
pub enum ReadExtent {
    /// Files are opened, folders are not.
    File,
    /// The entries of a folder are listed.
    Listing,
    /// Everything below is opened.
    Tree(TreeWalk),
}

/// How a program walks a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeWalk {
    /// `.gitignore` and its relatives are honoured.
    pub ignores: bool,
    /// Names with a leading dot are left out.
    pub skips_hidden: bool,
    /// Links inside the tree are followed.
    pub follows_links: bool,
    /// Links inside the tree are named one by one to a program that opens them.
    pub names_links: bool,
    /// Levels below the operand that are still opened.
    pub depth: Option<usize>,
    /// Only names are printed: what counts are entries of forbidden folders.
    pub names_only: bool,
    /// Files must fit one of these (by name), if there are any.
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    pub exclude_dir: Vec<String>,
    /// Paths that are left out, relative to where the program runs (`find -not -path`).
    pub exclude_path: Vec<String>,
    /// Paths below the operand must fit one of these, if there are any, or lie below one that does; `*` stands for slashes
    /// as well.
    pub include_path: Vec<String>,
    /// Globs in the manner of `rg -g`, `!` first for those left out.
    pub overrides: Vec<String>,
    /// Where relative patterns start.
    pub dir: PathBuf,
    /// How the operand was written, for patterns that are compared with whole paths.
    pub operand_text: String,
}

/// What the caller found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadFindings {
    /// Forbidden paths among the files; a few of them.
    pub forbidden: Vec<ForbiddenRead>,
    /// Why the files could not all be determined.
    pub unknown: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForbiddenRead {
    pub path: PathBuf,
    /// Of the program that would open it.
    pub program: String,
    /// Whether the program found the file while it walked a tree.
    pub in_tree: bool,
}

impl ForbiddenRead {
    /// What to add to the command so that it leaves the path out.
    pub fn exclusion(&self, cwd: &std::path::Path) -> String {
        let relative = self.path.strip_prefix(cwd).unwrap_or(&self.path);
        let name = self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy();
        let folder = relative.parent().and_then(std::path::Path::file_name).map(|name| name.to_string_lossy());
        if !self.in_tree {
            return "name the files one by one".into();
        }
        match (self.program.as_str(), folder) {
            ("grep" | "egrep" | "fgrep", Some(folder)) => format!("add --exclude-dir={folder}"),
            ("grep" | "egrep" | "fgrep", None) => format!("add --exclude={name}"),
            ("rg", Some(folder)) => format!("add -g '!{folder}/**'"),
            ("rg", None) => format!("add -g '!{name}'"),
            ("git", _) => format!("add -- . ':!{}'", relative.display()),
            ("tar" | "rsync" | "diff" | "bsdtar", folder) => {
                format!("add --exclude={}", folder.unwrap_or(name))
            }
            ("zip", _) => format!("add -x '{}'", relative.display()),
            ("find", Some(folder)) => format!("add -not -path '*/{folder}/*'"),
            _ => "name the files one by one".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_forbidden_file_comes_with_the_option_that_leaves_it_out() {
        let advice = |program: &str, path: &str, in_tree| {
            let read = ForbiddenRead { path: path.into(), program: program.into(), in_tree };
            read.exclusion(Path::new("/w"))
        };
        for (program, in_folder, at_top) in [
            ("grep", "add --exclude-dir=keys", "add --exclude=k"),
            ("fgrep", "add --exclude-dir=keys", "add --exclude=k"),
            ("rg", "add -g '!keys/**'", "add -g '!k'"),
            ("git", "add -- . ':!a/keys/k'", "add -- . ':!k'"),
            ("tar", "add --exclude=keys", "add --exclude=k"),
            ("rsync", "add --exclude=keys", "add --exclude=k"),
            ("zip", "add -x 'a/keys/k'", "add -x 'k'"),
            ("find", "add -not -path '*/keys/*'", "name the files one by one"),
            ("cat", "name the files one by one", "name the files one by one"),
        ] {
            assert_eq!(advice(program, "/w/a/keys/k", true), in_folder, "{program}");
            assert_eq!(advice(program, "/w/k", true), at_top, "{program}");
            assert_eq!(advice(program, "/w/a/keys/k", false), "name the files one by one", "{program}");
        }
    }
}
