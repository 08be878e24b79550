//! Variables in the strict reading. Two kinds are understood: the variable of a `for` loop over plain values, which is
//! replaced by each of them, and a few that say nothing secret, where they are only printed. Any other refuses.

use super::script::{ShellWord, SimpleCommand, SubstitutedText, VariableUse};

/// The name that a word uses for a computed number.
pub(super) const COMPUTED: &str = "#number";

/// Loops and bodies beyond this are not written out.
const MAX_VALUES: usize = 64;
const MAX_UNITS: usize = 512;

/// Variables whose values are no secret.
#[rustfmt::skip]
const PRINTABLE_VARIABLES: &[&str] = &[
    "HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LC_ALL", "TERM", "HOSTNAME", "TMPDIR", "EDITOR", "VISUAL",
    "PAGER", "UID", "EUID", "PPID", "RANDOM", "SECONDS", "LINENO", "BASH", "BASH_VERSION", "ZSH_VERSION", "SHLVL", "OSTYPE",
    "MACHTYPE", "HOSTTYPE", "COLUMNS", "LINES", "DISPLAY", "TZ", "NODE_ENV", "VIRTUAL_ENV", "CONDA_PREFIX", "CARGO_HOME",
    "RUSTUP_HOME", "GOPATH", "GOROOT", "JAVA_HOME", "PYTHONPATH", "NVM_DIR", "CI", "#", "?", "$", "!", COMPUTED,
];

/// Whether the variables of a unit, if any, are only printed or compared, and are ones that may be seen.
pub(super) fn are_printable(unit: &SimpleCommand) -> bool {
    let mut variables = unit.words.iter().flat_map(|word| &word.variables).peekable();
    if variables.peek().is_none() {
        return true;
    }
    let prints = unit.words.first().is_some_and(|name| name.variables.is_empty() && may_print(&name.raw));
    prints && variables.all(|variable| PRINTABLE_VARIABLES.contains(&variable.name.as_str()))
}

/// Whether the only variable of a unit is the working directory, at the beginning of words: `"$PWD/src"`.
pub(super) fn name_only_the_directory(unit: &SimpleCommand) -> bool {
    let begins = |word: &ShellWord| {
        word.variables.is_empty()
            || (word.variables.len() == 1 && word.text.starts_with("${PWD}") && word.variables[0].name == "PWD")
    };
    unit.words.first().is_some_and(|name| name.variables.is_empty()) && unit.words.iter().all(begins)
}

/// Turns uses of these variables into text that is known only when the command runs.
pub(super) fn make_unknown(unit: &mut SimpleCommand, names: &[String]) {
    for word in &mut unit.words {
        let (unknown, others): (Vec<VariableUse>, Vec<VariableUse>) =
            std::mem::take(&mut word.variables).into_iter().partition(|known| names.contains(&known.name));
        word.variables = others;
        if unknown.is_empty() {
            continue;
        }
        let before = match &word.substituted {
            Some(SubstitutedText::Text { quoted, .. }) => *quoted,
            Some(SubstitutedText::File) | None => true,
        };
        let quoted = before && unknown.iter().all(|known| known.quoted);
        word.substituted = Some(SubstitutedText::Text { quoted, command: None });
    }
}

/// Names in capitals that people give to their own variables; other such names may be settings of a program.
#[rustfmt::skip]
const ORDINARY_CAPITALS: &[&str] = &[
    "A", "B", "C", "D", "F", "I", "J", "K", "L", "M", "N", "S", "V", "X", "Y", "AUTHOR", "BASE", "BASE_SHA", "BRANCH", "CHANGED", "COMMIT", "COMMITS", "COUNT", "CURRENT",
    "CURRENT_BRANCH", "DATE", "DIR", "FILE", "FILENAME", "FILES", "HASH", "HEAD_SHA", "LATEST", "LATEST_TAG", "MERGE_BASE", "MSG", "NAME", "NOW", "NUM", "RESULT", "REV",
    "ROOT_DIR", "SHA", "SIZE", "SUM", "TAG", "TIMESTAMP", "TODAY", "TOTAL", "VER",
];

/// Names of variables that neither a shell nor a program gives a meaning to.
pub(super) fn is_ordinary(name: &str) -> bool {
    // zsh ties some of these to search paths and tables of its own.
    const SPECIAL: &[&str] = &[
        "path",
        "cdpath",
        "fpath",
        "manpath",
        "mailpath",
        "module_path",
        "fignore",
        "psvar",
        "watch",
        "argv",
        "status",
        "pipestatus",
        "prompt",
        "histchars",
        "functions",
        "aliases",
        "galiases",
        "saliases",
        "commands",
        "options",
        "modules",
        "nameddirs",
        "userdirs",
        "parameters",
        "history",
        "historywords",
        "mapfile",
        "signals",
        "words",
        "reply",
        "jobstates",
        "jobtexts",
        "jobdirs",
        "patchars",
        "keymaps",
        "widgets",
        "builtins",
        "reswords",
        "dirstack",
        "errnos",
        "sysparams",
        "terminfo",
        "termcap",
        "zsh_eval_context",
    ];
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if ORDINARY_CAPITALS.contains(&name) {
        return true;
    }
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(plain)
        && !name.contains("proxy")
        && !name.starts_with("dis_")
        && !name.ends_with("_functions")
        && !SPECIAL.contains(&name)
}

/// Whether everybody may see the value of this variable.
pub(super) fn is_printable(name: &str) -> bool {
    PRINTABLE_VARIABLES.contains(&name)
}

fn may_print(program: &str) -> bool {
    matches!(program, "echo" | "printf" | "test" | "[" | "basename" | "dirname")
}

/// `body` for each value of the variable; `None` when a value does not show what the words become.
pub(super) fn unroll(name: &str, values: &[ShellWord], body: &[SimpleCommand]) -> Option<Vec<SimpleCommand>> {
    let is_used =
        |unit: &SimpleCommand| unit.words.iter().flat_map(|word| &word.variables).any(|known| known.name == name);
    if !body.iter().any(is_used) {
        return Some(body.to_vec());
    }
    if values.len() > MAX_VALUES || body.len() * values.len() > MAX_UNITS || body.iter().any(assigns) {
        return None;
    }
    let mut units = Vec::new();
    for unit in body {
        if !is_used(unit) {
            units.push(unit.clone());
            continue;
        }
        for value in values {
            units.push(with_value(unit, name, value)?);
        }
    }
    Some(units)
}

/// Builtins that could give the variable another value (others are refused in any list of commands).
fn assigns(unit: &SimpleCommand) -> bool {
    let options = || unit.words.iter().any(|word| word.text.starts_with("-v") || word.text.starts_with("-p"));
    unit.words.iter().any(|word| match word.text.as_str() {
        "printf" | "wait" => options(),
        "read" | "let" | "getopts" | "mapfile" | "readarray" | "declare" | "typeset" | "local" | "export"
        | "readonly" | "unset" | "eval" | "source" | "." => true,
        _ => false,
    })
}

fn with_value(unit: &SimpleCommand, name: &str, value: &ShellWord) -> Option<SimpleCommand> {
    let program = unit.words.first()?;
    let prints = may_print(&program.raw);
    let words = unit.words.iter().map(|word| {
        let uses: Vec<&VariableUse> = word.variables.iter().filter(|known| known.name == name).collect();
        if uses.is_empty() { Some(word.clone()) } else { replaced(word, &uses, value, prints) }
    });
    let words: Option<Vec<ShellWord>> = words.collect();
    Some(SimpleCommand { words: words?, ..unit.clone() })
}

fn replaced(word: &ShellWord, uses: &[&VariableUse], value: &ShellWord, prints: bool) -> Option<ShellWord> {
    let name = &uses.first()?.name;
    let mark = format!("${{{name}}}");
    // A quoted text that looks the same is not the variable.
    if word.text.matches(&mark).count() != uses.len() {
        return None;
    }
    let quoted = uses.iter().all(|known| known.quoted);
    let is_whole = word.text == mark;
    let plain_pattern = !value.text.starts_with('/') && !value.text.split('/').any(|part| part == "..");
    let fits = if value.tilde {
        is_whole
    } else if value.glob {
        // Unquoted, a name with blanks in it becomes several words.
        (is_whole && quoted) || (prints && plain_pattern)
    } else {
        quoted || (!value.text.is_empty() && !value.text.contains([' ', '\t', '\n', '*', '?', '[']))
    };
    if !fits {
        return None;
    }
    let text = word.text.replace(&mark, &value.text);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,~*?".contains(c);
    let raw = if text.chars().all(is_plain) { text.clone() } else { format!("'{}'", text.replace('\'', "'\\''")) };
    let variables = word.variables.iter().filter(|known| known.name != *name).cloned().collect();
    let (glob, tilde) = (word.glob || value.glob, word.tilde || value.tilde);
    let quoted = !glob && !tilde && raw != text;
    let pattern = word.pattern.replace(&mark, &value.pattern);
    let substituted = word.substituted.clone();
    Some(ShellWord { text, raw, quoted, glob, tilde, variables, pattern, substituted, ..ShellWord::default() })
}

/// The numbers of `{1..5}`.
pub(super) fn range(raw: &str) -> Option<Vec<ShellWord>> {
    let (first, last) = raw.strip_prefix('{')?.strip_suffix('}')?.split_once("..")?;
    let number = |text: &str| text.parse::<i64>().ok().filter(|n| n.abs() < 100_000 && n.to_string() == text);
    let (first, last) = (number(first)?, number(last)?);
    if first.abs_diff(last) >= MAX_VALUES as u64 {
        return None;
    }
    let word =
        |n: i64| ShellWord { text: n.to_string(), raw: n.to_string(), pattern: n.to_string(), ..ShellWord::default() };
    let numbers = first.min(last)..=first.max(last);
    Some(if first <= last { numbers.map(word).collect() } else { numbers.rev().map(word).collect() })
}

/// Numbers and operators only: nothing in it is looked up.
pub(super) fn is_calculation(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || " +-*/%()<>=!&|^~?:,".contains(c))
}

#[cfg(test)]
mod tests {
    use crate::shell::reading::CommandReading;

    fn units(command: &str) -> Option<Vec<String>> {
        CommandReading::of(command).strict.ok().map(|units| units.iter().map(super::SimpleCommand::text).collect())
    }

    #[test]
    fn loops_over_plain_values_are_written_out() {
        assert_eq!(units("for f in a b; do cat \"$f\"; done").unwrap(), ["cat a", "cat b"]);
        assert_eq!(units("for f in a b; do cat ${f}.txt; done").unwrap(), ["cat a.txt", "cat b.txt"]);
        assert_eq!(units("for i in {1..3}; do echo $i; done").unwrap(), ["echo 1", "echo 2", "echo 3"]);
        assert_eq!(units("for i in a; do for j in b c; do cat $i/$j; done; done").unwrap(), ["cat a/b", "cat a/c"]);
        // A pattern of names below the folder may be printed, one of names elsewhere may not.
        assert_eq!(units("for f in *.rs; do echo $f; make; done").unwrap(), ["echo *.rs", "make"]);
        for command in [
            "for f in a b; do $f x; done",
            "for f in $X; do cat \"$f\"; done",
            "for f in $(ls); do cat \"$f\"; done",
            "for f in 'a /etc/passwd'; do cat $f; done",
            "for f in *.rs; do cat $f; done",
            "for f in /etc/*; do echo $f; done",
            "for f in ../*; do echo $f; done",
            "for f in a; do cat '${f}'\"$f\"; done",
            "for f in a; do for f in /etc/passwd; do true; done; cat \"$f\"; done",
            "for f in a; do printf -v f /etc/passwd; cat \"$f\"; done",
            "for f in a; do true; done; cat \"$f\"",
            "for f; do cat \"$f\"; done",
            "for f in a; do cat $X; done",
            "for d in a b; do cd $d; cat k; done",
            "while true; do cat k; cd sub; done",
            "for f in a; do echo x > $f; done",
            "for f in a; do X=$f ls; done",
        ] {
            assert_eq!(units(command), None, "{command}");
        }
    }

    #[test]
    fn only_some_variables_are_printed() {
        for command in ["echo $HOME", "echo \"in ${PWD}\"", "printf '%s' $?", "echo $((1 + 2))", "[ $? = 0 ]"] {
            assert!(units(command).is_some(), "{command}");
        }
        for command in [
            "echo $API_KEY",
            "cat $HOME",
            "echo ${HOME:-x}",
            "echo ${!HOME}",
            "echo $((x))",
            "$HOME",
            "echo x > $HOME",
            "echo $1",
            "echo \"$@\"",
            "head -n $((1 + 2)) f",
            "A=$HOME ls",
            "echo $((a[0]))",
        ] {
            assert_eq!(units(command), None, "{command}");
        }
    }
}
