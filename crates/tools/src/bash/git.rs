//! `gitOperation`: what a successful command did to a repository, read from the command text and git's output.

use super::words;
use regex::Regex;
use serde::Serialize;
use std::sync::LazyLock;

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct GitOperation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<CommitOperation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) push: Option<PushOperation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) branch: Option<BranchOperation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pr: Option<PullRequestOperation>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct CommitOperation {
    pub(crate) sha: String,
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) branch: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PushOperation {
    pub(crate) branch: String,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct BranchOperation {
    #[serde(rename = "ref")]
    pub(crate) name: String,
    pub(crate) action: &'static str,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PullRequestOperation {
    pub(crate) number: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    pub(crate) action: &'static str,
}

/// Recognises the operation; `None` when there is none.
pub(crate) fn operation(command: &str, output: &str) -> Option<GitOperation> {
    if !words::mentions(command, "git") && !words::mentions(command, "gh") {
        return None;
    }
    let mut found = GitOperation::default();
    for words in invocations(command) {
        match words::git_subcommand(&words) {
            Some("commit") => {
                let kind = if words.iter().any(|w| w == "--amend") { "amended" } else { "committed" };
                found.commit = commit(output, kind).or(found.commit);
            }
            Some("cherry-pick") => found.commit = commit(output, "cherry-picked").or(found.commit),
            Some("push") => found.push = push(output).or(found.push),
            Some("merge") => found.branch = branch(&words, "merge", "merged").or(found.branch),
            Some("rebase") => found.branch = branch(&words, "rebase", "rebased").or(found.branch),
            Some(_) => {}
            None => found.pr = pull_request(&words, output).or(found.pr),
        }
    }
    (found != GitOperation::default()).then_some(found)
}

/// The commands in the text. The splitter fails on a commit message in a here-document or substitution; then only
/// the beginnings of lines and list elements are read.
fn invocations(command: &str) -> Vec<Vec<String>> {
    words::commands(command).unwrap_or_else(|| {
        command
            .split(['\n', ';', '&', '|'])
            .map(|part| part.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .filter(|words| !words.is_empty())
            .collect()
    })
}

fn commit(output: &str, kind: &'static str) -> Option<CommitOperation> {
    static LINE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?m)^\[(.+?)(?: \(root-commit\))? ([0-9a-f]{7,40})\] ").ok());
    let found = LINE.as_ref()?.captures_iter(output).last()?;
    let branch = Some(found[1].to_owned()).filter(|b| b != "detached HEAD");
    Some(CommitOperation { sha: found[2].to_owned(), kind, branch })
}

fn push(output: &str) -> Option<PushOperation> {
    static LINE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?m)^ [ *+-] +(?:\[new branch\]|[0-9a-f]+\.{2,3}[0-9a-f]+) +\S+ -> (\S+)").ok());
    let found = LINE.as_ref()?.captures(output)?;
    Some(PushOperation { branch: found[1].to_owned() })
}

fn branch(words: &[String], subcommand: &str, action: &'static str) -> Option<BranchOperation> {
    let after = words.iter().skip_while(|w| *w != subcommand).skip(1);
    let name = after.filter(|w| !w.starts_with('-')).last()?.clone();
    let stops = ["--abort", "--continue", "--quit", "--skip"];
    (!words.iter().any(|w| stops.contains(&w.as_str()))).then_some(BranchOperation { name, action })
}

fn pull_request(words: &[String], output: &str) -> Option<PullRequestOperation> {
    static URL: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"https://[^\s/]+/[^\s/]+/[^\s/]+/pull/(\d+)").ok());
    if words.first()? != "gh" || words.get(1)? != "pr" {
        return None;
    }
    let action = match words.get(2)?.as_str() {
        "create" => "created",
        "edit" => "edited",
        "merge" => "merged",
        "comment" => "commented",
        "close" => "closed",
        "ready" => "ready",
        _ => return None,
    };
    if let Some(found) = URL.as_ref()?.captures(output) {
        return Some(PullRequestOperation { number: found[1].parse().ok()?, url: Some(found[0].to_owned()), action });
    }
    let number = words.iter().skip(3).find_map(|w| w.trim_start_matches('#').parse().ok())?;
    Some(PullRequestOperation { number, url: None, action })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(command: &str, output: &str) -> String {
        operation(command, output).map_or_else(String::new, |o| serde_json::to_string(&o).unwrap())
    }

    #[test]
    fn commits() {
        // [TST-64]
        let out = "[main 1a2b3c4] a message\n 1 file changed";
        assert_eq!(
            json("git add . && git commit -m 'a message'", out),
            r#"{"commit":{"sha":"1a2b3c4","kind":"committed","branch":"main"}}"#
        );
        let heredoc = "git commit -m \"$(cat <<'EOF'\nfix (it)\nEOF\n)\"";
        assert!(json(heredoc, "[fix/x (root-commit) 1a2b3c4] fix").contains(r#""branch":"fix/x""#));
        assert!(json("git commit --amend", out).contains("amended"));
        assert_eq!(
            json("git cherry-pick x", "[detached HEAD 1a2b3c4] m"),
            r#"{"commit":{"sha":"1a2b3c4","kind":"cherry-picked"}}"#
        );
        assert_eq!(json("echo '[main 1a2b3c4] x'", out), "");
    }

    #[test]
    fn pushes_merges_and_pull_requests() {
        // [TST-64]
        let new = "To github.com:o/r\n * [new branch]      feat -> feat\n";
        assert_eq!(json("git push -u origin feat", new), r#"{"push":{"branch":"feat"}}"#);
        assert_eq!(json("git push", "   1a2b3c4..5d6e7f8  main -> main"), r#"{"push":{"branch":"main"}}"#);
        assert_eq!(json("git merge --no-ff topic", "Merge made"), r#"{"branch":{"ref":"topic","action":"merged"}}"#);
        assert_eq!(json("git rebase --abort", ""), "");
        let url = "https://github.com/o/r/pull/42";
        assert_eq!(
            json("gh pr create --fill", url),
            format!(r#"{{"pr":{{"number":42,"url":"{url}","action":"created"}}}}"#)
        );
        assert_eq!(json("gh pr merge 7 --squash", "✓ Merged"), r#"{"pr":{"number":7,"action":"merged"}}"#);
    }
}
