//! Programs that remove, replace or change files, and which of their words name them.

use super::{LossContext, LossExtent, PossibleLosses, git, uncovered};
use crate::shell::outputs;
use crate::shell::suspects::PossibleCommand;
use crate::shell::wrapper::base_name;

/// Programs that change what they are given.
#[rustfmt::skip]
const ALWAYS_CHANGING: &[&str] = &[
    "rm", "rmdir", "unlink", "srm", "shred", "mv", "cp", "install", "ln", "link", "rsync", "scp", "mkdir", "touch", "tee", "sponge", "truncate", "dd",
    "perl", "ruby", "wget", "tar", "bsdtar", "unzip", "patch", "chmod", "chown", "ed", "ex",
];

/// Programs that change something only with certain words.
const CHANGING_WITH_OPTION: &[(&[&str], &[&str])] = &[
    (&["sed", "gsed"], &["-i", "-ni", "-ri", "-Ei", "-zi", "-si", "--in-place"]),
    (&["sort", "curl", "shuf", "tree", "gpg", "iconv", "xxd", "uniq", "openssl"], &["-", " "]),
    (&["awk", "gawk"], &["inplace"]),
    (&["find", "fd", "fdfind"], &["-delete", "-exec", "-ok", "-x", "-X"]),
    (&["git"], git::LOSING_SUBCOMMANDS),
];

/// Whether a command that holds this word as well as all of `text` deserves a closer look.
pub(super) fn may_change(word: &str, text: &str) -> bool {
    let needed = CHANGING_WITH_OPTION.iter().find(|(names, _)| names.contains(&word)).map(|(_, needed)| *needed);
    ALWAYS_CHANGING.contains(&word)
        || uncovered::may_destroy(word)
        || needed.is_some_and(|needed| needed.iter().any(|part| text.contains(part)))
}

/// Whether `add` knows what the program changes.
pub(super) fn is_known(program: &str) -> bool {
    ALWAYS_CHANGING.contains(&program) || CHANGING_WITH_OPTION.iter().any(|(names, _)| names.contains(&program))
}

/// Adds what `program` may destroy.
pub(super) fn add(
    losses: &mut PossibleLosses,
    program: &str,
    arguments: &[String],
    part: &PossibleCommand,
    at: &LossContext<'_>,
) {
    let words = ProgramArguments { all: arguments };
    // Files that options name; what exists to write is read more closely below.
    if !outputs::exists_to_write(program) {
        let files = outputs::written_by(program, arguments).files;
        add_each(losses, program, &files.iter().map(String::as_str).collect::<Vec<_>>(), &LossExtent::File, at);
    }
    if uncovered::is_uncovered(program, &words, at.text) && !losses.uncovered.iter().any(|known| known == program) {
        losses.uncovered.push(program.to_owned());
    }
    match program {
        "rm" | "rmdir" | "unlink" | "srm" => {
            let operands = words.operands(&[]);
            losses.is_irreversible |=
                words.has_short_option("rR") || words.has(&["--recursive"]) || operands.iter().any(|w| w.contains('*'));
            add_each(losses, program, &operands, &LossExtent::Tree, at);
            add_piped_names(losses, program, &operands, part, at);
        }
        "mv" => {
            let (sources, target) = words.copy_operands();
            add_each(losses, program, &sources, &LossExtent::Tree, at);
            add_copy_targets(losses, program, &sources, target, at);
        }
        "cp" | "install" | "ln" | "link" | "scp" => copies(losses, program, &words, at),
        "rsync" => rsync(losses, &words, at),
        "shred" | "tee" | "sponge" | "truncate" | "ed" | "ex" => {
            let operands = words.operands(&["-s", "-r", "--size", "--reference", "-n", "--iterations"]);
            add_each(losses, program, &operands, &LossExtent::File, at);
            add_piped_names(losses, program, &operands, part, at);
        }
        "chmod" | "chown" => {
            let operands = words.operands(&[]);
            add_each(losses, program, operands.get(1..).unwrap_or_default(), &LossExtent::File, at);
        }
        // They destroy nothing, but what they make is removed when the change is taken back.
        "mkdir" => add_each(losses, program, &words.operands(&["-m", "--mode"]), &LossExtent::File, at),
        "touch" => {
            let operands = words.operands(&["-d", "--date", "-r", "--reference", "-t"]);
            add_each(losses, program, &operands, &LossExtent::File, at);
        }
        "dd" => add_each(losses, program, &words.after_prefix("of="), &LossExtent::File, at),
        "sed" | "gsed" | "perl" | "ruby" | "awk" | "gawk" => in_place(losses, program, &words, part, at),
        "find" | "fd" | "fdfind" => find(losses, &words, at),
        "tar" | "bsdtar" | "unzip" => unpack(losses, program, &words, at),
        "patch" => patch(losses, &words, part, at),
        "git" => git::add(losses, arguments, at),
        _ => {}
    }
}

fn add_each(losses: &mut PossibleLosses, program: &str, words: &[&str], extent: &LossExtent, at: &LossContext<'_>) {
    for word in words {
        losses.add_word(word, extent, at, program);
    }
}

/// Where copies of `sources` would land.
pub(super) fn add_copy_targets(
    losses: &mut PossibleLosses,
    program: &str,
    sources: &[&str],
    target: Option<&str>,
    at: &LossContext<'_>,
) {
    let Some(target) = target else { return };
    // The content of a folder is merged into the target.
    let merges = sources.iter().any(|source| *source == "." || source.ends_with("/.") || source.ends_with(".."));
    let extent = if merges { LossExtent::Tree } else { LossExtent::Into(at.paths(sources)) };
    losses.add_word(target, &extent, at, program);
}

fn copies(losses: &mut PossibleLosses, program: &str, words: &ProgramArguments<'_>, at: &LossContext<'_>) {
    let (sources, target) = words.copy_operands();
    let remote = |word: &str| program == "scp" && word.contains(':');
    match (program, target) {
        ("install", _) if words.has_short_option("d") || words.has(&["--directory"]) => {}
        // One operand: the link is made here.
        ("ln", Some(only)) if sources.is_empty() => add_copy_targets(losses, program, &[only], Some("."), at),
        (_, Some(target)) if remote(target) => {}
        (_, target) => add_copy_targets(losses, program, &sources, target, at),
    }
}

fn rsync(losses: &mut PossibleLosses, words: &ProgramArguments<'_>, at: &LossContext<'_>) {
    let valued = ["-e", "--rsh", "--exclude", "--include", "--filter", "-f", "--exclude-from", "--files-from"];
    let operands = words.operands(&valued);
    let Some(target) = operands.last().filter(|word| operands.len() > 1 && !word.contains(':')) else { return };
    losses.is_irreversible |= words.all.iter().any(|word| word.starts_with("--del"));
    losses.add_word(target, &LossExtent::Tree, at, "rsync");
}

fn in_place(
    losses: &mut PossibleLosses,
    program: &str,
    words: &ProgramArguments<'_>,
    part: &PossibleCommand,
    at: &LossContext<'_>,
) {
    let inplace = match program {
        "awk" | "gawk" => words.values("-i", "--include").contains(&"inplace"),
        "sed" | "gsed" => words.starts(&["--in-place"]) || words.has_short_option("i"),
        _ => words.has_short_option("i"),
    };
    if !inplace {
        return;
    }
    let scripted = |word: &&String| match program {
        "sed" | "gsed" => matches!(word.as_str(), "-e" | "-f") || word.starts_with("--expression"),
        _ => word.starts_with('-') && !word.starts_with("--") && word.ends_with(['e', 'E', 'f']),
    };
    let given = words.all.iter().any(|word| scripted(&word));
    let valued: Vec<&str> = words.all.iter().filter(scripted).map(String::as_str).chain(["-i inplace"]).collect();
    let operands = words.operands(&valued);
    let files = if given { &operands[..] } else { operands.get(1..).unwrap_or_default() };
    add_each(losses, program, files, &LossExtent::File, at);
    add_piped_names(losses, program, files, part, at);
}

/// Names that come over a pipe (`find . | xargs rm`): whatever the other parts of the command may print.
fn add_piped_names(
    losses: &mut PossibleLosses,
    program: &str,
    operands: &[&str],
    part: &PossibleCommand,
    at: &LossContext<'_>,
) {
    let is_fed = part.words.iter().any(|word| matches!(base_name(word), "xargs" | "parallel"));
    if !is_fed || operands.iter().any(|word| !word.contains("{}") && !word.starts_with('-')) {
        return;
    }
    let before = losses.files.len();
    for feeder in at.feeders {
        feeder.any_program(|name, arguments| {
            let words = ProgramArguments { all: arguments };
            match name {
                "echo" | "printf" | "ls" => add_each(losses, program, &words.operands(&[]), &LossExtent::Tree, at),
                "find" | "fd" | "fdfind" => find_below(losses, &words, at),
                "grep" | "egrep" | "fgrep" | "rg" | "ag" => {
                    let operands = words.operands(&["-e", "-f", "-g", "-t", "--include", "--exclude"]);
                    let roots = operands.get(1..).filter(|roots| !roots.is_empty()).unwrap_or(&["."]);
                    add_each(losses, program, roots, &LossExtent::Named(None), at);
                }
                "git" => losses.add_word(".", &LossExtent::Named(None), at, program),
                _ => {}
            }
            false
        });
    }
    losses.is_irreversible = true;
    if losses.files.len() == before {
        losses.unnamed.push(program.to_owned());
    }
}

#[rustfmt::skip]
const CHANGERS: &[&str] = &["rm", "unlink", "shred", "mv", "sed", "gsed", "perl", "truncate", "rmdir", "cp", "sh", "bash", "chmod"];

fn find(losses: &mut PossibleLosses, words: &ProgramArguments<'_>, at: &LossContext<'_>) {
    let runs =
        words.all.iter().any(|word| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X"));
    let changes = runs && words.all.iter().any(|word| CHANGERS.contains(&base_name(word)));
    if words.has(&["-delete"]) || changes {
        losses.is_irreversible = true;
        find_below(losses, words, at);
    }
}

fn find_below(losses: &mut PossibleLosses, words: &ProgramArguments<'_>, at: &LossContext<'_>) {
    let options = |word: &&String| matches!(word.as_str(), "-L" | "-H" | "-P");
    let roots = words.all.iter().skip_while(options).take_while(|word| !word.starts_with(['-', '(', '!']));
    let mut roots: Vec<&str> = roots.map(String::as_str).collect();
    if roots.is_empty() {
        roots.push(".");
    }
    let names = words.values("-name", "-iname");
    let plain = !words.has(&["-o", "-or", "!", "-not", "-prune", ",", "-iname"]);
    let folders = words.values("-type", "-type").contains(&"d");
    let extent = match names.as_slice() {
        [name] if plain && !folders => LossExtent::Named(Some((*name).to_owned())),
        _ => LossExtent::Tree,
    };
    add_each(losses, "find", &roots, &extent, at);
}

fn unpack(losses: &mut PossibleLosses, program: &str, words: &ProgramArguments<'_>, at: &LossContext<'_>) {
    let (archives, folder): (Vec<&str>, Option<&str>) = if program == "unzip" {
        let operands = words.operands(&["-d", "-x", "-P"]);
        (operands.first().copied().into_iter().collect(), words.values("-d", "-d").first().copied())
    } else {
        // `tar xzf a.tgz`: the first word may lack its dash.
        let bundle = words.all.first().filter(|word| !word.starts_with('-') && word.len() < 8);
        let extracts = bundle.is_some_and(|word| word.contains('x'));
        if !extracts && !words.has_short_option("x") && !words.has(&["--extract", "--get"]) {
            return;
        }
        let clustered = words.all.iter().position(|word| {
            let short = word.starts_with('-') && !word.starts_with("--");
            (short || Some(word) == bundle) && word.ends_with('f')
        });
        let named = clustered.and_then(|index| words.all.get(index + 1)).map(String::as_str);
        (
            named.into_iter().chain(words.values("-f", "--file")).collect(),
            words.values("-C", "--directory").first().copied(),
        )
    };
    let archives = at.paths(&archives);
    if archives.is_empty() {
        losses.unnamed.push(program.to_owned());
    }
    for archive in archives {
        losses.add_word(folder.unwrap_or("."), &LossExtent::Unpacked(archive), at, program);
    }
}

fn patch(losses: &mut PossibleLosses, words: &ProgramArguments<'_>, part: &PossibleCommand, at: &LossContext<'_>) {
    if words.has(&["--dry-run"]) {
        return;
    }
    let operands = words.operands(&["-p", "-i", "-d", "-o", "-F", "-D", "-z", "-B", "-V"]);
    if let Some(file) = operands.first() {
        return losses.add_word(file, &LossExtent::File, at, "patch");
    }
    let inputs = words.values("-i", "--input");
    let inputs = inputs.into_iter().chain(part.reads.iter().map(String::as_str)).collect::<Vec<_>>();
    let patches = at.paths(&inputs);
    if patches.is_empty() {
        losses.unnamed.push("patch".into());
    }
    let folder = words.values("-d", "--directory").first().copied().unwrap_or(".");
    for patch in patches {
        losses.add_word(folder, &LossExtent::Patched(patch), at, "patch");
    }
}

/// The arguments of a program.
pub(super) struct ProgramArguments<'a> {
    pub(super) all: &'a [String],
}

impl<'a> ProgramArguments<'a> {
    pub(super) fn has(&self, wanted: &[&str]) -> bool {
        self.all.iter().any(|word| wanted.contains(&word.as_str()))
    }

    fn starts(&self, wanted: &[&str]) -> bool {
        self.all.iter().any(|word| wanted.iter().any(|start| word.starts_with(start)))
    }

    /// Whether a bundle of short options holds any of these letters.
    pub(super) fn has_short_option(&self, letters: &str) -> bool {
        let before = self.all.iter().take_while(|word| *word != "--");
        let mut short = before.filter(|word| word.starts_with('-') && !word.starts_with("--"));
        short.any(|word| word.contains(|c| letters.contains(c)))
    }

    /// Words that are no options and no values of `valued` ones.
    pub(super) fn operands(&self, valued: &[&str]) -> Vec<&'a str> {
        let mut found = Vec::new();
        let mut words = self.all.iter().map(String::as_str);
        let mut only_operands = false;
        while let Some(word) = words.next() {
            if only_operands || !word.starts_with('-') || word == "-" {
                found.push(word);
            } else if word == "--" {
                only_operands = true;
            } else if valued.contains(&word) {
                words.next();
            }
        }
        found
    }

    /// Values given as `-o x`, `-ox`, `--output x` or `--output=x`.
    pub(super) fn values(&self, short: &str, long: &str) -> Vec<&'a str> {
        let mut found = Vec::new();
        for (index, word) in self.all.iter().enumerate() {
            if word == short || word == long {
                found.extend(self.all.get(index + 1).map(String::as_str));
            } else if let Some(value) = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('=')) {
                found.push(value);
            } else if short.len() == 2
                && let Some(value) = word.strip_prefix(short)
            {
                found.push(value);
            }
        }
        found
    }

    fn after_prefix(&self, prefix: &str) -> Vec<&'a str> {
        self.all.iter().filter_map(|word| word.strip_prefix(prefix)).collect()
    }

    /// Sources and target of `cp` and its relatives.
    pub(super) fn copy_operands(&self) -> (Vec<&'a str>, Option<&'a str>) {
        let valued = ["-t", "--target-directory", "-S", "--suffix", "-m", "--mode", "-o", "--owner", "-g", "--group"];
        let mut operands = self.operands(&valued);
        let target = self.values("-t", "--target-directory").first().copied();
        let target = target.or_else(|| operands.pop());
        (operands, target)
    }
}
