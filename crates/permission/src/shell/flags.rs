//! Deny and ask rules against a command, with flags compared as sets: `rm -fr`, `rm -r -f` and `rm --recursive --force`
//! all fall under `rm -rf:*`, and an option before or between the words a rule names does not hide them. Generous; an
//! allow rule is never compared like this.

use super::globals;
use super::pattern::{CommandPattern, wildcard};
use super::wrapper::base_name;
use std::collections::BTreeSet;

/// Short options with the long options of the same meaning. A key of two words is a program and its subcommand.
#[rustfmt::skip]
const SYNONYMS: &[(&str, &[(char, &str)])] = &[
    ("rm", &[('r', "recursive"), ('R', "recursive"), ('f', "force"), ('d', "dir"), ('i', "interactive"), ('v', "verbose")]),
    ("cp", &[('r', "recursive"), ('R', "recursive"), ('a', "archive"), ('f', "force"), ('n', "no-clobber")]),
    ("mv", &[('f', "force"), ('n', "no-clobber")]),
    ("chmod", &[('R', "recursive")]),
    ("chown", &[('R', "recursive")]),
    ("chgrp", &[('R', "recursive")]),
    ("sed", &[('i', "in-place"), ('n', "quiet"), ('e', "expression"), ('E', "regexp-extended")]),
    ("grep", &[('r', "recursive"), ('R', "dereference-recursive")]),
    ("tar", &[('x', "extract"), ('c', "create"), ('f', "file"), ('t', "list"), ('C', "directory")]),
    ("curl", &[
        ('X', "request"), ('d', "data"), ('o', "output"), ('O', "remote-name"), ('H', "header"), ('F', "form"), ('T', "upload-file"),
        ('k', "insecure"), ('L', "location"), ('u', "user"),
    ]),
    ("wget", &[('O', "output-document"), ('r', "recursive"), ('i', "input-file")]),
    ("npm", &[('g', "global"), ('y', "yes"), ('f', "force")]),
    ("pip", &[('r', "requirement"), ('y', "yes"), ('U', "upgrade")]),
    ("kubectl", &[('n', "namespace"), ('f', "filename"), ('A', "all-namespaces")]),
    ("make", &[('f', "file"), ('C', "directory"), ('j', "jobs")]),
    ("apt", &[('y', "yes")]),
    ("apt-get", &[('y', "yes")]),
    ("ssh", &[]),
    ("git push", &[('f', "force"), ('d', "delete"), ('n', "dry-run"), ('u', "set-upstream")]),
    ("git commit", &[('a', "all"), ('n', "no-verify"), ('m', "message")]),
    ("git branch", &[('d', "delete"), ('D', "delete"), ('f', "force"), ('m', "move")]),
    ("git tag", &[('d', "delete"), ('f', "force")]),
    ("git checkout", &[('f', "force")]),
    ("git switch", &[('f', "force"), ('C', "force-create")]),
    ("git clean", &[('f', "force"), ('n', "dry-run")]),
    ("git add", &[('A', "all"), ('f', "force")]),
    ("git rm", &[('f', "force"), ('r', "recursive")]),
    ("git fetch", &[('f', "force"), ('p', "prune"), ('a', "append")]),
    ("git rebase", &[('i', "interactive"), ('x', "exec")]),
    ("docker rm", &[('f', "force"), ('v', "volumes")]),
    ("docker run", &[('v', "volume"), ('p', "publish"), ('d', "detach"), ('e', "env"), ('u', "user")]),
    ("docker rmi", &[('f', "force")]),
];

/// Programs whose options are words behind a single dash.
#[rustfmt::skip]
const SINGLE_DASH: &[&str] = &[
    "find", "java", "javac", "terraform", "tofu", "openssl", "ffmpeg", "go", "gcc", "g++", "clang", "clang++", "ld", "convert",
    "magick", "xset", "xrandr", "tcpdump", "ansible", "php", "node",
];

/// Whether the rule may cover the command. `words` begin with the program.
pub(crate) fn covers(pattern: &CommandPattern, words: &[String]) -> bool {
    let (text, open) = match pattern {
        CommandPattern::Exact(text) => (text.as_str(), false),
        CommandPattern::Prefix(text) => (text.as_str(), true),
        CommandPattern::Wild(text) => (text.as_str(), text.ends_with('*')),
    };
    let Some((program, arguments)) = words.split_first() else { return false };
    let program = base_name(program).to_lowercase();
    let mut wanted = text.split(' ');
    if wanted.next().is_none_or(|name| name != program) || text.contains(['\'', '"']) {
        return false;
    }
    let wanted: Vec<&str> = wanted.collect();
    // Names alone and exact texts with a pattern for a program are compared as text.
    if wanted.is_empty() || wanted == ["*"] {
        return false;
    }
    let given = FlaggedCall::parse(&program, arguments.iter().map(String::as_str));
    let rule = FlaggedCall::parse(&program, wanted.iter().copied());
    rule.flags.iter().all(|flag| given.has(flag, &rule))
        && (open || wanted.contains(&"*") || given.flags.iter().all(|flag| rule.has(flag, &given)))
        && fits(&wanted.iter().filter(|word| !is_flag(word)).copied().collect::<Vec<_>>(), &given.words, open)
}

struct FlaggedCall<'a> {
    program: &'a str,
    /// Options as written, without dashes; `true` for those behind a single dash.
    flags: Vec<(&'a str, bool)>,
    /// Everything an option may be called.
    names: BTreeSet<String>,
    /// Words that are no options, and whether each may be the value of an option.
    words: Vec<(&'a str, bool)>,
}

fn is_flag(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word != "--"
}

impl<'a> FlaggedCall<'a> {
    fn parse(program: &'a str, arguments: impl Iterator<Item = &'a str>) -> Self {
        let mut call = Self { program, flags: Vec::new(), names: BTreeSet::new(), words: Vec::new() };
        let mut after_option = false;
        let mut only_words = false;
        for word in arguments {
            if word == "--" {
                only_words = true;
                continue;
            }
            if only_words || !is_flag(word) {
                call.words.push((word, after_option));
                after_option = false;
                continue;
            }
            let single = !word.starts_with("--");
            call.flags.push((word.trim_start_matches('-'), single));
            let inline = word.split_once('=').map(|(_, value)| value);
            call.words.extend(inline.map(|value| (value, true)));
            after_option = inline.is_none() && !globals::takes_no_value(program, word);
        }
        for index in 0..call.flags.len() {
            let (flag, single) = call.flags[index];
            call.name(flag, single);
        }
        call
    }

    fn name(&mut self, flag: &str, single: bool) {
        let name = flag.split_once('=').map_or(flag, |(name, _)| name);
        self.names.insert(name.to_owned());
        self.names.insert(flag.to_owned());
        if !single || SINGLE_DASH.contains(&self.program) {
            return;
        }
        for letter in name.chars() {
            self.names.insert(letter.to_string());
            self.names.extend(self.long(letter).into_iter().map(str::to_owned));
            if letter == 'D' && self.program == "git" {
                self.names.insert("force".into());
            }
        }
    }

    fn long(&self, letter: char) -> Vec<&'static str> {
        // The subcommand may follow options whose values are not known.
        let names_sub = |sub: &str| self.words.iter().take(3).any(|(word, _)| *word == sub);
        let keyed = |(key, _): &&(&str, &[(char, &str)])| match key.split_once(' ') {
            Some((program, sub)) => program == self.program && names_sub(sub),
            None => *key == self.program,
        };
        let longs = SYNONYMS.iter().filter(keyed).flat_map(|(_, pairs)| pairs.iter());
        longs.filter(|(short, _)| *short == letter).map(|(_, long)| *long).collect()
    }

    /// Whether this call has the option, under any of its names.
    fn has(&self, (flag, single): &(&str, bool), rule: &FlaggedCall<'_>) -> bool {
        if flag.contains('*') {
            return self.names.iter().any(|name| wildcard(flag, name));
        }
        if let Some((name, value)) = flag.split_once('=') {
            let separate = self.has_name(name) && self.words.iter().any(|(word, _)| *word == value);
            return self.names.contains(*flag) || separate;
        }
        // Long words behind one dash are no bundle of letters.
        if !single || SINGLE_DASH.contains(&self.program) || flag.chars().count() > 4 {
            return self.has_name(flag);
        }
        self.names.contains(*flag)
            || flag.chars().all(|letter| {
                self.names.contains(&letter.to_string())
                    || rule.long(letter).into_iter().any(|long| self.has_name(long))
            })
    }

    /// The long option, or a beginning of it that the program would take for it.
    fn has_name(&self, name: &str) -> bool {
        let begins = |given: &String| {
            given.len() >= 3 && name.strip_prefix(given.as_str()).is_some_and(|rest| !rest.starts_with('-'))
        };
        self.names.contains(name) || self.names.iter().any(begins)
    }
}

/// Whether the words of a rule are the first ones of the call; a word that may be the value of an option may be left out.
fn fits(wanted: &[&str], given: &[(&str, bool)], open: bool) -> bool {
    let Some((first, rest)) = wanted.split_first() else { return open || given.iter().all(|(_, value)| *value) };
    if *first == "*" {
        return (0..=given.len()).any(|skip| fits(rest, &given[skip..], open));
    }
    let Some(((word, is_value), after)) = given.split_first() else { return false };
    (wildcard(first, word) && fits(rest, after, open)) || (*is_value && fits(wanted, after, open))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(rule: &str, command: &str) -> bool {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        covers(&CommandPattern::parse(rule), &words)
    }

    #[test]
    #[rustfmt::skip]
    fn flags_are_sets() {
        for (rule, command) in [
            ("rm -rf:*", "rm -fr x"), ("rm -rf:*", "rm -r -f x"), ("rm -rf:*", "rm --recursive --force x"), ("rm -rf:*", "rm x -rf"),
            ("rm -rf:*", "rm -Rf x"), ("rm -rf:*", "rm -vfr x"), ("rm -rf:*", "rm --recur --force x"), ("rm -rf:*", "/bin/rm -f -r -- x"),
            ("rm -r -f *", "rm -rf x"), ("rm -rf /", "rm -fr /"), ("rm -rf *", "rm -f x -r"),
            ("git push --force:*", "git push -f"), ("git push --force:*", "git push origin main --force"), ("git push -f:*", "git push --force origin"),
            ("git push:*", "git -C x push"), ("git push:*", "git --frob x push"), ("git push:*", "git -c a.b=c --no-pager push origin"),
            ("git push * --force", "git push --force origin main"), ("git branch -D:*", "git branch -D x"), ("git branch --delete --force *", "git branch -D x"),
            ("docker rm:*", "docker --context x rm y"), ("kubectl delete:*", "kubectl -n prod delete pod x"), ("kubectl delete:*", "kubectl --odd delete x"),
            ("docker run --network host:*", "docker run --network=host x"), ("docker run --network=host *", "docker run --network host x"),
            ("docker compose down:*", "docker compose -f x.yml down"), ("npm publish:*", "npm --prefix x publish"), ("find -delete:*", "find . -delete -name x"),
            ("terraform apply *", "terraform -chdir=x apply"), ("systemctl stop *", "systemctl --user stop x"), ("gh pr merge *", "gh -R a/b pr merge 1"),
        ] {
            assert!(covered(rule, command), "{rule} on {command}");
        }
        for (rule, command) in [
            ("rm -rf:*", "rm -r x"), ("rm -rf:*", "rm -f x"), ("rm -rf:*", "rm -f -- -r"), ("rm -rf /", "rm -rf /x"), ("rm -rf /", "rm -rfv /"), ("git push --force:*", "git push --force-with-lease"),
            ("git push --force-with-lease:*", "git push --force"), ("git push:*", "git commit -m push"), ("git push:*", "git log push"),
            ("npm publish:*", "npm --silent run publish"), ("git push:*", "git --no-pager log push"), ("docker run --network=host *", "docker run --network=none x"),
            ("git commit --no-verify:*", "git push -n"), ("rm -rf:*", "mv -rf x"), ("git commit -a *", "git commit --amend"), ("find . -exec *", "find . -executable"),
        ] {
            assert!(!covered(rule, command), "{rule} on {command}");
        }
    }
}
