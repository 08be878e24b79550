//! The relaxed reading: commands with substitutions, expansions that only shorten a value, and loops over input. It serves
//! one purpose: to see that a command only reads. Text that is known only when the command runs may be printed or compared;
//! for any other program it could be an option or the name of a file, so the command is refused here.

use super::script::{ShellWord, SimpleCommand, SubstitutedText};
use super::{readonly, variables, wrapper};
use brush_parser::word::{Parameter, ParameterExpr};

/// Whether the program of a unit does no harm whatever its unknown words turn out to be. Lists of names that are known before
/// the command runs are judged by `DirectoryTracker`, with the names in their place.
pub(super) fn may_receive_text(unit: &SimpleCommand) -> bool {
    let words = wrapper::strip_for_reading(&unit.words);
    let is_text = |word: &&ShellWord| matches!(word.substituted, Some(SubstitutedText::Text { .. }));
    // A file to read from is good for programs that show the content of their operands.
    let gets_file = unit.words.iter().any(|word| word.substituted == Some(SubstitutedText::File));
    if gets_file && !words.first().is_some_and(|program| readonly::shows_content(&program.raw)) {
        return false;
    }
    let mut unknown = unit.words.iter().filter(is_text).peekable();
    if unknown.peek().is_none() {
        return true;
    }
    let Some((program, arguments)) = words.split_first() else { return false };
    let wrappers = &unit.words[..unit.words.len() - words.len()];
    if program.substituted.is_some() || wrappers.iter().any(|word| word.substituted.is_some()) {
        return false;
    }
    if lists_names(unit) || (program.raw == "git" && names_revisions(unit)) {
        return true;
    }
    // Unquoted output is matched against file names: a pattern in it would list a folder.
    let lists_folder = |word: &ShellWord| {
        matches!(word.substituted, Some(SubstitutedText::Text { quoted: false, .. }))
            && word.raw.contains(['*', '?', '['])
    };
    !arguments.iter().any(lists_folder) && prints_arguments(&program.raw, arguments)
}

/// Whether a program only prints or compares its arguments, also those that are known only when it runs.
pub(super) fn prints_arguments(program: &str, arguments: &[ShellWord]) -> bool {
    match program {
        "echo" | "basename" | "dirname" | "seq" | "expr" | "true" | "false" => true,
        // The first word may be an option that sets a variable.
        "printf" => arguments.first().is_some_and(|format| {
            let is_fixed = format.substituted.is_none() && !format.glob && !format.matched;
            is_fixed && !format.text.starts_with('-') && prints_text(&format.text)
        }),
        // Several words could become a test that computes something.
        "test" | "[" => arguments
            .iter()
            .all(|word| matches!(word.substituted, None | Some(SubstitutedText::Text { quoted: true, .. }))),
        _ => false,
    }
}

/// Whether a format of `printf` takes its arguments for text: zsh computes numbers, and `%n` sets a variable.
fn prints_text(format: &str) -> bool {
    let conversions = format.replace("%%", "");
    conversions.split('%').skip(1).all(|rest| {
        let kind = rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.' | ' '));
        kind.starts_with(['s', 'b', 'q'])
    })
}

/// Whether each unknown word of the unit is the output of one `git ls-files`, unquoted and alone.
fn lists_names(unit: &SimpleCommand) -> bool {
    unit.words.iter().all(|word| match &word.substituted {
        Some(SubstitutedText::Text { quoted: false, command: Some(command) }) => {
            word.is_one_substitution() && word.variables.is_empty() && tracked_names(command).is_some()
        }
        Some(SubstitutedText::Text { .. }) => false,
        Some(SubstitutedText::File) | None => true,
    })
}

/// Whether each unknown word of the unit is a revision: the output of a command that prints one, with plain text around it.
fn names_revisions(unit: &SimpleCommand) -> bool {
    unit.words.iter().all(|word| word.substituted.is_none() || with_revision(word).is_some())
}

/// The word with the identifier of some commit in the place of its substitution. Names of branches and tags are not known:
/// one of them may look like an option.
pub(crate) fn with_revision(word: &ShellWord) -> Option<ShellWord> {
    const SAMPLE: &str = "0123456789abcdef0123456789abcdef01234567";
    let Some(SubstitutedText::Text { command: Some(command), .. }) = &word.substituted else { return None };
    let is_alone = word.variables.is_empty() && !word.glob && !word.tilde && word.text.matches("$()").count() == 1;
    if !is_alone || !prints_commit(command) {
        return None;
    }
    let text = word.text.replace("$()", SAMPLE);
    Some(ShellWord { raw: text.clone(), pattern: text.clone(), text, quoted: word.quoted, ..ShellWord::default() })
}

/// Whether the command prints the identifier of one commit, or its own last word when there is none, and nothing else.
fn prints_commit(words: &[String]) -> bool {
    let [git, subcommand, arguments @ ..] = words else { return false };
    let is_revision = |text: &&String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_./~^@{}-".contains(c);
        let several = ["..", "^@", "^-", "^!"].iter().any(|part| text.contains(part)) || text.starts_with(['-', '^']);
        !text.is_empty() && text.chars().all(plain) && !several
    };
    let (options, revisions): (Vec<&String>, Vec<&String>) = arguments.iter().partition(|word| word.starts_with('-'));
    let is_short = |text: &str| {
        text.strip_prefix("--short=").is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()))
    };
    let (count, known): (usize, fn(&str) -> bool) = match subcommand.as_str() {
        "rev-parse" => (1, |text| matches!(text, "--verify" | "-q" | "--quiet" | "--short")),
        "merge-base" => (2, |_| false),
        "rev-list" => (1, |text| matches!(text, "-1" | "-n1" | "--max-count=1" | "--first-parent" | "--no-merges")),
        _ => return false,
    };
    let is_limited = subcommand != "rev-list"
        || options.iter().any(|option| matches!(option.as_str(), "-1" | "-n1" | "--max-count=1"));
    git == "git"
        && is_limited
        && revisions.len() == count
        && revisions.iter().all(is_revision)
        && options.iter().all(|option| known(option) || (subcommand == "rev-parse" && is_short(option)))
}

/// How `git ls-files` separates the names it prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameSeparator {
    Line,
    Nul,
}

/// Whether the command is `git ls-files` and prints nothing but names of tracked files.
pub(crate) fn tracked_names(words: &[String]) -> Option<NameSeparator> {
    let [git, list, rest @ ..] = words else { return None };
    if git != "git" || list != "ls-files" {
        return None;
    }
    let mut separator = NameSeparator::Line;
    let mut only_paths = false;
    for word in rest {
        match word.as_str() {
            "--" => only_paths = true,
            "-z" if !only_paths => separator = NameSeparator::Nul,
            "-c" | "-m" | "-d" | "--cached" | "--modified" | "--deleted" if !only_paths => {}
            option if option.starts_with('-') && !only_paths => return None,
            // Names outside the directory begin with `..`.
            path if path.starts_with([':', '/']) || path.split('/').any(|part| part == "..") => return None,
            _ => {}
        }
    }
    Some(separator)
}

/// The variable in an expansion that takes away or replaces a part of its value. `None` for forms that assign, compute,
/// or take the value for a name, and for those with text that is not plain.
pub(super) fn shortened_variable(expr: &ParameterExpr) -> Option<&str> {
    let (parameter, texts): (&Parameter, Vec<&str>) = match expr {
        ParameterExpr::ParameterLength { parameter, indirect: false } => (parameter, Vec::new()),
        ParameterExpr::UseDefaultValues { parameter, indirect: false, default_value: text, .. }
        | ParameterExpr::UseAlternativeValue { parameter, indirect: false, alternative_value: text, .. }
        | ParameterExpr::RemoveSmallestSuffixPattern { parameter, indirect: false, pattern: text }
        | ParameterExpr::RemoveLargestSuffixPattern { parameter, indirect: false, pattern: text }
        | ParameterExpr::RemoveSmallestPrefixPattern { parameter, indirect: false, pattern: text }
        | ParameterExpr::RemoveLargestPrefixPattern { parameter, indirect: false, pattern: text }
        | ParameterExpr::UppercaseFirstChar { parameter, indirect: false, pattern: text }
        | ParameterExpr::UppercasePattern { parameter, indirect: false, pattern: text }
        | ParameterExpr::LowercaseFirstChar { parameter, indirect: false, pattern: text }
        | ParameterExpr::LowercasePattern { parameter, indirect: false, pattern: text } => {
            (parameter, text.iter().map(String::as_str).collect())
        }
        ParameterExpr::ReplaceSubstring { parameter, indirect: false, pattern, replacement, .. } => {
            (parameter, [pattern.as_str()].into_iter().chain(replacement.as_deref()).collect())
        }
        ParameterExpr::Substring { parameter, indirect: false, offset, length } => {
            let mut numbers = [Some(offset), length.as_ref()].into_iter().flatten().map(|number| number.value.trim());
            let is_number = |text: &str| {
                let digits = text.strip_prefix('-').unwrap_or(text);
                !digits.is_empty() && digits.len() < 10 && digits.chars().all(|c| c.is_ascii_digit())
            };
            if !numbers.all(is_number) {
                return None;
            }
            (parameter, Vec::new())
        }
        _ => return None,
    };
    let Parameter::Named(name) = parameter else { return None };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " ./*?-_,:@+%#=".contains(c);
    texts.iter().all(|text| text.chars().all(is_plain)).then_some(name)
}

/// The variables that `read` fills, when it does nothing else. `IFS` may be set for it.
pub(super) fn filled_by_read(unit: &SimpleCommand) -> Option<Vec<String>> {
    let (_, arguments) = unit.words.split_first().filter(|(name, _)| name.raw == "read")?;
    let (options, names): (Vec<&ShellWord>, Vec<&ShellWord>) =
        arguments.iter().partition(|word| word.text.starts_with('-'));
    let is_known = |word: &&ShellWord| matches!(word.raw.as_str(), "-r" | "-e" | "-s");
    let is_name = |word: &&ShellWord| word.raw == word.text && variables::is_ordinary(&word.text);
    let plain =
        unit.assignments.iter().all(|assignment| assignment.starts_with("IFS=") && !assignment.contains(['$', '`']));
    (plain && !names.is_empty() && options.iter().all(is_known) && names.iter().all(is_name))
        .then(|| names.iter().map(|word| word.text.clone()).collect())
}
