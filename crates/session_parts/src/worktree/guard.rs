//! Keeps an agent or session in its worktree. Calls that may leave it are refused.

use permission::Access;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct WorktreeGuard {
    /// The main checkout and the one this was created from, as named and resolved.
    main: Vec<PathBuf>,
    worktree: Vec<PathBuf>,
}

/// Options and variables that point git at another checkout.
const REDIRECTS: [&str; 5] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "--git-dir", "--work-tree"];

impl WorktreeGuard {
    /// `others` are the checkouts of the same repository that must not be changed.
    pub(super) fn new(others: &[&Path], worktree: &Path) -> Self {
        let both = |path: &Path| {
            let mut all = vec![path.to_path_buf()];
            all.extend(path.canonicalize().ok().filter(|real| real != path));
            all
        };
        Self { main: others.iter().flat_map(|path| both(path)).collect(), worktree: both(worktree) }
    }

    /// Why a call with these accesses must not run; `None` when it may.
    pub fn refuses(&self, accesses: &[Access]) -> Option<String> {
        accesses.iter().find_map(|access| match access {
            Access::WritePath(path) if self.is_outside(path) || self.is_outside(&sys::real_path::path(path)) => {
                Some(self.refusal(&format!("{} belongs to the main checkout", path.display())))
            }
            Access::Run(command) => self.refuse_command(command).map(|why| self.refusal(&why)),
            Access::WritePath(_)
            | Access::ReadPath(_)
            | Access::Reach { .. }
            | Access::Use
            | Access::Harmless
            | Access::Interact => None,
        })
    }

    fn refusal(&self, why: &str) -> String {
        let own = self.worktree.first().map(|path| path.display().to_string()).unwrap_or_default();
        format!("Refused: {why}. All work happens in the worktree at {own}; use paths inside it.")
    }

    /// Whether the path is in the main checkout and not in the worktree, which may be inside it.
    fn is_outside(&self, path: &Path) -> bool {
        let path = permission::normalise(path);
        self.main.iter().any(|main| path.starts_with(main)) && !self.worktree.iter().any(|own| path.starts_with(own))
    }

    fn refuse_command(&self, command: &str) -> Option<String> {
        if let Some(redirect) = REDIRECTS.into_iter().find(|redirect| command.contains(redirect)) {
            return Some(format!("{redirect} points git at another checkout"));
        }
        let words: Vec<String> = words(command);
        for pair in words.windows(2) {
            let moves = matches!(pair[0].as_str(), "cd" | "pushd" | "-C");
            if moves && (pair[1] == "-" || pair[1].contains(['$', '`', '~', '*'])) {
                return Some(format!("where `{} {}` leads cannot be seen", pair[0], pair[1]));
            }
        }
        let own = self.worktree.first()?;
        let stray = words.iter().flat_map(|word| word.split(['=', ':'])).find(|word| {
            (word.starts_with('/') || word.split('/').any(|part| part == "..")) && self.is_outside(&own.join(word))
        });
        stray.map(|word| format!("`{word}` lies in the main checkout"))
    }
}

/// Words without quotes and operators: enough to find paths, not to run anything.
fn words(command: &str) -> Vec<String> {
    let separators =
        |c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')' | '<' | '>' | '{' | '}' | ',');
    let plain: String = command.chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect();
    plain.split(separators).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // [EXT-188]
    #[test]
    fn the_main_checkout_is_out_of_reach() {
        let guard = WorktreeGuard::new(&[Path::new("/r")], Path::new("/r/.claude/worktrees/agent-1"));
        let run = |command: &str| guard.refuses(&[Access::Run(command.into())]).is_some();
        let write = |path: &str| guard.refuses(&[Access::WritePath(path.into())]).is_some();
        assert!(
            write("/r/a.txt") && write("/r/.claude/worktrees/agent-2/a") && write("/r/.claude/worktrees/agent-1/../x")
        );
        assert!(!write("/r/.claude/worktrees/agent-1/a.txt") && !write("/tmp/x"));
        for bad in [
            "cd /r && make",
            "git -C /r status",
            "git -C ../../.. commit",
            "GIT_DIR=x git log",
            "rm ../../../a.txt",
            "cd $OLDPWD",
            "cd - && rm x",
            "tee \"/r/a.txt\"",
            "cp a --target-directory=/r/src",
        ] {
            assert!(run(bad), "{bad}");
        }
        for good in
            ["make test", "git commit -m done", "cat /etc/hosts", "cd src && ls", "ls src/../docs", "echo a > b"]
        {
            assert!(!run(good), "{good}");
        }
    }
}
