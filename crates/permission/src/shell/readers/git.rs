//! What git shows of files: contents by revision and path, differences and searches below paths, trees that are packed.
//! Paths are seen from the directory git is told to work in; those of revisions also from the folders above it, where the
//! top of the repository may be.

use super::ReadPlanner;
use super::special::values_of;
use crate::reads::{ReadExtent, TreeWalk};
use crate::shell::flow::{FlowArgument, ProgramInvocation, ShellField, StdinSource};
use crate::shell::globals::{self, SubcommandPosition};

/// Subcommands that show contents.
#[rustfmt::skip]
const SHOWING: &[&str] = &[
    "show", "diff", "grep", "cat-file", "blame", "annotate", "log", "hash-object", "difftool", "archive", "whatchanged", "reflog",
    "diff-tree", "diff-index", "diff-files", "format-patch", "range-diff", "stash", "merge-file", "interpret-trailers", "shortlog",
    "checkout-index", "rev-list", "apply", "am", "mergetool", "fast-export", "bundle", "cherry", "show-branch", "notes", "stripspace", "mailinfo",
];

/// Of those, the ones that show contents only when an option asks for it.
const LISTING: &[&str] = &["log", "whatchanged", "reflog", "shortlog", "rev-list", "cherry", "show-branch", "notes"];

/// Options with which a listing still shows no contents; the beginning of a long one is enough.
#[rustfmt::skip]
const QUIET_OPTIONS: &[&str] = &[
    "--oneline", "--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--graph", "--all", "--decorate", "--no-merges",
    "--merges", "--first-parent", "--reverse", "--follow", "--abbrev", "--since", "--until", "--after", "--before", "--author", "--committer",
    "--grep", "--format", "--pretty", "--date", "--max-count", "--skip", "--diff-filter", "--no-patch", "--summary", "--no-color", "--color=",
    "--tags", "--branches", "--remotes", "--count", "--topo-order", "--date-order", "--left-right", "--raw", "--no-pager", "--numbered", "--email",
];

/// Options of which the next word is the value, and no path.
const VALUED: &[&str] = &[
    "-n",
    "-S",
    "-G",
    "-e",
    "--max-count",
    "--since",
    "--until",
    "--author",
    "--grep",
    "--format",
    "--skip",
    "-A",
    "-B",
];

/// Folders above the working directory in which the top of the repository may be.
const MAX_ABOVE: usize = 6;

/// A call of git after its global options.
struct GitCall<'a> {
    sub: String,
    arguments: &'a [FlowArgument],
    /// In the directory of `-C`.
    unit: ProgramInvocation,
}

/// Options of subcommands whose value is a file that becomes a message or is printed.
fn file_options(sub: &str) -> &'static [&'static str] {
    match sub {
        "config" => &["-f", "--file"],
        "commit" => &["-F", "--file", "-t", "--template", "-aF", "-qF", "-sF"],
        "tag" | "merge" | "commit-tree" => &["-F", "--file", "-aF", "-sF"],
        _ => &[],
    }
}

impl ReadPlanner<'_> {
    pub(super) fn git(&mut self, arguments: &[FlowArgument], unit: &ProgramInvocation) {
        let texts: Vec<String> = arguments.iter().map(|arg| arg.text().unwrap_or_default()).collect();
        let words: Vec<&str> = texts.iter().map(String::as_str).collect();
        let at = match globals::subcommand("git", &words) {
            SubcommandPosition::At(at) => at,
            SubcommandPosition::Behind(at) => {
                // After an unknown option: the first word that is a subcommand which shows something.
                let Some(found) = words[at..].iter().position(|word| SHOWING.contains(word)) else { return };
                at + found
            }
            SubcommandPosition::Missing => return,
        };
        let mut unit = unit.clone();
        for dir in values_of(&arguments[..at], &["-C", "--work-tree"]) {
            unit.dirs = match dir {
                FlowArgument::Known(dir) => unit.places(&dir),
                FlowArgument::Unknown(_) => vec![None],
            };
        }
        let call = GitCall { sub: words[at].to_owned(), arguments: &arguments[at + 1..], unit };
        for file in values_of(call.arguments, file_options(&call.sub)) {
            self.file("git", &file, &call.unit);
        }
        if SHOWING.contains(&words[at]) && call.shows_contents() {
            self.git_reads(&call);
        }
    }

    fn git_reads(&mut self, call: &GitCall<'_>) {
        let GitCall { sub, arguments, unit } = call;
        let is_unknown = arguments.iter().any(|arg| arg.known().is_none());
        if is_unknown {
            self.unknown("git", "a word of it is known only when it runs");
        }
        if !values_of(arguments, &["--pathspec-from-file", "--stdin-paths"]).is_empty() {
            self.unknown("git", "the names come from a file");
        }
        if sub == "cat-file" {
            self.git_batch(arguments, unit);
        }
        for range in values_of(arguments, &["-L"]) {
            let file = range.text().and_then(|text| text.rsplit_once(':').map(|(_, file)| file.to_owned()));
            if let Some(file) = file {
                self.git_path(&ShellField::literal(&file), unit);
            }
        }
        for file in values_of(arguments, &["-O", "--contents", "-f", "-F", "--file"]) {
            self.file("git", &file, unit);
        }
        let operands = call.operands();
        // With a pattern as the first operand every path is still one of those behind it.
        for operand in &operands {
            self.git_operand(operand, call);
        }
        let searches_all = sub == "grep" && !operands.iter().any(|field| is_path(field, call));
        let packs_all = matches!(sub.as_str(), "archive" | "fast-export" | "checkout-index") && operands.len() < 2;
        if searches_all || packs_all {
            let walk = TreeWalk {
                ignores: sub == "grep",
                overrides: call.exclusions(),
                operand_text: ".".into(),
                ..TreeWalk::default()
            };
            self.add("git", &ShellField::literal("."), &ReadExtent::Tree(walk), unit);
        }
    }

    /// A word that is a path, a revision, or a revision with a path.
    fn git_operand(&mut self, field: &ShellField, call: &GitCall<'_>) {
        let (text, unit) = (field.text(), &call.unit);
        if let Some(spec) = text.strip_prefix(':') {
            return self.git_magic(spec, call);
        }
        if let Some((revision, _)) = field.pattern().split_once(':').filter(|(revision, _)| !revision.contains('/')) {
            let path = ShellField::from_pattern(&field.pattern()[revision.len() + 1..]);
            self.git_path(&path, unit);
            return self.git_above(&path, unit);
        }
        // Without an index both sides are files of the disk; git reads patterns of its own in the others.
        if text.contains(['*', '?', '[']) && !field.is_pattern() {
            let walk = TreeWalk { include_path: vec![text], operand_text: String::new(), ..TreeWalk::default() };
            return self.add("git", &ShellField::literal("."), &ReadExtent::Tree(walk), unit);
        }
        self.git_path(field, unit);
    }

    /// `:/path`, `:(top)path`, `:!path`, and `:path` of the index.
    fn git_magic(&mut self, spec: &str, call: &GitCall<'_>) {
        let unit = &call.unit;
        if spec.starts_with(['!', '^']) || spec.starts_with("(exclude)") {
            return;
        }
        if let Some(rest) = spec.strip_prefix('(') {
            let (words, path) = rest.split_once(')').unwrap_or((rest, ""));
            if words.split(',').any(|word| !matches!(word, "top" | "literal")) || path.contains(['*', '?', '[']) {
                return self.unknown("git", "its path holds a pattern");
            }
            let path = ShellField::literal(path);
            self.git_path(&path, unit);
            return self.git_above(&path, unit);
        }
        let path = spec.trim_start_matches(|c: char| matches!(c, '/' | ':') || c.is_ascii_digit());
        if path.contains(['*', '?', '[']) {
            return self.unknown("git", "its path holds a pattern");
        }
        let path = ShellField::literal(path);
        self.git_path(&path, unit);
        self.git_above(&path, unit);
    }

    fn git_path(&mut self, path: &ShellField, unit: &ProgramInvocation) {
        let walk = TreeWalk { operand_text: path.text(), ..TreeWalk::default() };
        let place = if path.is_empty() { ShellField::literal(".") } else { path.clone() };
        self.add("git", &place, &ReadExtent::Tree(walk), unit);
    }

    /// The same path from the folders above.
    fn git_above(&mut self, path: &ShellField, unit: &ProgramInvocation) {
        for steps in 1..=MAX_ABOVE {
            let above = ShellField::from_pattern(format!("{}{}", "../".repeat(steps), path.pattern()));
            for place in unit.places(&above).into_iter().flatten() {
                let walk = TreeWalk { operand_text: path.text(), ..TreeWalk::default() };
                self.add("git", &place, &ReadExtent::Tree(walk), unit);
            }
        }
    }

    /// `git cat-file --batch` reads names of objects.
    fn git_batch(&mut self, arguments: &[FlowArgument], unit: &ProgramInvocation) {
        let batches =
            |arg: &FlowArgument| arg.text().is_some_and(|text| text.starts_with("--b") && !text.contains("check"));
        if !arguments.iter().any(batches) {
            return;
        }
        let StdinSource::Text(text) = &unit.input else {
            return self.unknown("git", "the names are read from somewhere");
        };
        for line in text.lines() {
            let path = line.split_once(':').map_or(line, |(_, path)| path);
            let path = ShellField::literal(path.split_whitespace().next().unwrap_or_default());
            self.git_path(&path, unit);
            self.git_above(&path, unit);
        }
    }
}

/// Whether an operand of `git grep` names a path: it follows `--`.
fn is_path(field: &ShellField, call: &GitCall<'_>) -> bool {
    let dashes = call.arguments.iter().position(|arg| arg.text().as_deref() == Some("--"));
    dashes.is_some_and(|at| call.arguments[at + 1..].iter().any(|arg| arg.known() == Some(field)))
        && !field.text().starts_with([':'])
}

impl GitCall<'_> {
    fn shows_contents(&self) -> bool {
        let lists = LISTING.contains(&self.sub.as_str());
        let is_stash = self.sub == "stash" && !self.arguments.iter().any(|arg| arg.text().as_deref() == Some("show"));
        if is_stash || !lists {
            return !is_stash;
        }
        self.arguments.iter().take_while(|arg| arg.text().as_deref() != Some("--")).any(|arg| {
            let Some(text) = arg.text() else { return true };
            let quiet_letters = |letters: &str| letters.chars().all(|c| c.is_ascii_digit() || "nqsie".contains(c));
            match text.strip_prefix('-') {
                None | Some("") => false,
                Some(letters) if !letters.starts_with('-') => !quiet_letters(letters),
                Some(_) => !QUIET_OPTIONS.iter().any(|known| text.starts_with(known)),
            }
        })
    }

    fn operands(&self) -> Vec<ShellField> {
        let mut found = Vec::new();
        let mut rest = self.arguments.iter();
        let mut only_paths = false;
        while let Some(arg) = rest.next() {
            let text = arg.text().unwrap_or_default();
            if !only_paths && text == "--" {
                only_paths = true;
            } else if !only_paths && VALUED.contains(&text.as_str()) {
                rest.next();
            } else if only_paths || !text.starts_with('-') {
                found.extend(arg.known().cloned());
            }
        }
        found
    }

    fn exclusions(&self) -> Vec<String> {
        let texts = self.arguments.iter().filter_map(FlowArgument::text);
        let path = |text: String| {
            let inner = text.strip_prefix(":!").or(text.strip_prefix(":^")).or(text.strip_prefix(":(exclude)"));
            inner.map(|path| format!("!{path}"))
        };
        texts.filter_map(path).collect()
    }
}
