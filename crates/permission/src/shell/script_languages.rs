//! Programs whose argument is a small program: sed, awk and jq. Only what visibly prints, selects or substitutes is known;
//! whatever else such a script may hold makes the command ask.

use super::readonly::ReadAccess;
use super::script::ShellWord;

/// Printing, deleting and substituting only: scripts can write files and run programs.
pub(super) fn sed(arguments: &[ShellWord]) -> Option<Vec<ReadAccess<'_>>> {
    let files = edited_files(arguments, is_sed_flag)?;
    Some(files.into_iter().map(ReadAccess::Path).collect())
}

/// The files of a `sed -i` whose script only selects or substitutes.
pub(crate) fn sed_in_place(arguments: &[ShellWord]) -> Option<Vec<&ShellWord>> {
    let in_place = |word: &ShellWord| {
        let suffix = word.text.strip_prefix("--in-place").map(|rest| rest.strip_prefix('=').unwrap_or(rest));
        suffix.or(word.text.strip_prefix("-i")).is_some_and(|suffix| !suffix.contains(['/', '*']))
    };
    if !arguments.iter().any(in_place) {
        return None;
    }
    edited_files(arguments, |word| in_place(word) || is_sed_flag(word)).filter(|files| !files.is_empty())
}

fn is_sed_flag(word: &ShellWord) -> bool {
    let letters = word.text.strip_prefix('-').filter(|letters| !letters.is_empty());
    letters.is_some_and(|letters| letters.chars().all(|c| "nErsuz".contains(c)))
        || matches!(word.text.as_str(), "--quiet" | "--silent" | "--regexp-extended")
}

/// The files of a sed call whose every script is harmless.
fn edited_files(arguments: &[ShellWord], is_flag: impl Fn(&ShellWord) -> bool) -> Option<Vec<&ShellWord>> {
    let mut scripts = Vec::new();
    let mut operands = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.text.as_str() {
            "-e" | "--expression" | "-ne" | "-Ee" | "-nEe" => scripts.push(rest.next()?),
            text if text.starts_with('-') && is_flag(word) => {}
            text if text.starts_with('-') => return None,
            _ => operands.push(word),
        }
    }
    if scripts.is_empty() && !operands.is_empty() {
        scripts.push(operands.remove(0));
    }
    let harmless = scripts.iter().all(|script| !script.glob && only_edits(&script.text));
    (harmless && !scripts.is_empty() && operands.iter().all(|word| !word.glob)).then_some(operands)
}

/// Whether a sed script has only commands that print, delete, move on or substitute.
fn only_edits(script: &str) -> bool {
    let mut rest = script.trim();
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let Some(after) = sed_command(rest) else { return false };
        rest = after.trim_start_matches([';', ' ', '\t', '\n', '}']);
    }
    true
}

/// What follows the first command of `script`.
fn sed_command(script: &str) -> Option<&str> {
    let after_first = sed_address(script)?.trim_start();
    let rest = match after_first.strip_prefix(',') {
        Some(second) => sed_address(second.trim_start())?.trim_start(),
        None => after_first,
    };
    let rest = rest.trim_start_matches(['!', ' ']);
    let mut chars = rest.chars();
    match chars.next()? {
        'p' | 'd' | 'D' | 'P' | 'n' | 'N' | 'h' | 'H' | 'g' | 'G' | 'x' | '=' | '{' => Some(chars.as_str()),
        'q' | 'Q' => Some(chars.as_str().trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')),
        's' => {
            let rest = after_parts(chars.as_str(), 2)?;
            let flags = rest.find(|c: char| !matches!(c, 'g' | 'p' | 'I' | 'i') && !c.is_ascii_digit());
            let rest = &rest[flags.unwrap_or(rest.len())..];
            rest.is_empty().then_some(rest).or_else(|| rest.starts_with([';', '}', '\n', ' ']).then_some(rest))
        }
        'y' => after_parts(chars.as_str(), 2),
        _ => None,
    }
}

/// Past a line number, `$`, a step or a pattern between slashes, if there is one.
fn sed_address(text: &str) -> Option<&str> {
    if let Some(pattern) = text.strip_prefix('/') {
        let end = unescaped(pattern, '/')?;
        return Some(pattern[end + 1..].trim_start_matches('I'));
    }
    Some(text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | '~' | '+')))
}

/// Past `count` parts that each end with the delimiter the text begins with.
fn after_parts(text: &str, count: usize) -> Option<&str> {
    let delimiter = text.chars().next().filter(|c| c.is_ascii_punctuation() && *c != '\\')?;
    let mut rest = &text[1..];
    for _ in 0..count {
        rest = &rest[unescaped(rest, delimiter)? + 1..];
    }
    Some(rest)
}

/// Where the first `end` is that no backslash precedes. Brackets are not read, which only ends a part too early; a
/// part that ends too early leaves text behind that is read as commands.
fn unescaped(text: &str, end: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == end => return Some(at),
            _ => {}
        }
    }
    None
}

/// Printing and computing only: programs can write files and run others.
pub(super) fn awk(arguments: &[ShellWord]) -> Option<Vec<ReadAccess<'_>>> {
    let mut rest = arguments;
    while let [flag, after @ ..] = rest
        && flag.text.starts_with('-')
    {
        rest = match flag.text.as_str() {
            "-F" | "-v" => after.get(1..)?,
            text if text.starts_with("-F") || text.starts_with("-v") => after,
            _ => return None,
        };
    }
    let (script, files) = rest.split_first()?;
    if !only_prints(&script.text)
        || script.glob
        || files.iter().any(|word| word.text.starts_with('-') || word.text.contains('=') || word.glob)
    {
        return None;
    }
    Some(files.iter().map(ReadAccess::Path).collect())
}

/// Words of awk that reach beyond the lines it is given.
#[rustfmt::skip]
const AWK_REACHES: &[&str] = &["system", "getline", "environ", "argv", "argc", "close", "fflush", "procinfo", "extension"];

/// Whether an awk program neither writes, nor runs anything, nor reads what is not among its files. The text is searched
/// as a whole, quotes and patterns included, because a slash may begin a pattern or divide.
fn only_prints(script: &str) -> bool {
    let lower = script.to_ascii_lowercase();
    let pipes = lower.replace("||", "").contains('|');
    // After a `print` a `>` may name a file.
    let first_print = lower.find("print").unwrap_or(lower.len());
    let redirects = lower[first_print..].contains('>') || lower.contains(">>");
    let reaches = AWK_REACHES.iter().any(|word| lower.contains(word));
    !lower.trim().is_empty() && !pipes && !redirects && !reaches && !lower.contains(['@', '`'])
}

/// Names in jq that reach beyond the input: the environment, modules, further files.
const JQ_REACHES: &[&str] =
    &["env", "ENV", "import", "include", "modulemeta", "input_filename", "get_search_list", "load", "load_str"];

pub(super) fn jq(arguments: &[ShellWord]) -> Option<Vec<ReadAccess<'_>>> {
    let mut operands = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        let short = text
            .strip_prefix('-')
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| "rcsejMCSn".contains(c)));
        match text {
            "--arg" | "--argjson" => {
                rest.nth(1)?;
            }
            "--indent" => {
                rest.next()?;
            }
            _ if short || JQ_OPTIONS.contains(&text) => {}
            _ if text.starts_with('-') && text != "-" => return None,
            _ => operands.push(word),
        }
    }
    let mut operands = operands.into_iter();
    let script = operands.next()?;
    let files: Vec<&ShellWord> = operands.collect();
    let plain = !script.glob && files.iter().all(|word| !word.glob);
    (plain && only_transforms(&script.text)).then(|| files.into_iter().map(ReadAccess::Path).collect())
}

/// Two programs go by this name: only a filter and files, with options that are harmless in both.
pub(super) fn yq(arguments: &[ShellWord]) -> Option<Vec<ReadAccess<'_>>> {
    const REACHES: &[&str] = &[
        "strenv",
        "envsubst",
        "eval",
        "filename",
        "system",
        "load_xml",
        "load_props",
        "load_base64",
        "split_doc",
        "error",
    ];
    const COMMANDS: &[&str] = &["eval", "e", "eval-all", "ea", "shell-completion", "completion", "help"];
    let mut operands = Vec::new();
    for word in arguments {
        match word.text.as_str() {
            "-r" | "-C" | "-M" | "-e" | "-P" | "-c" | "-oj" | "-o=json" | "-o=yaml" | "-ojson" | "-oyaml"
            | "--raw-output" => {}
            text if text.starts_with('-') => return None,
            _ => operands.push(word),
        }
    }
    let (script, files) = operands.split_first()?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let reaches =
        script.text.split(|c: char| !is_name(c)).any(|name| REACHES.contains(&name) || name.starts_with("load"));
    let plain = !script.glob && files.iter().all(|word| !word.glob) && !COMMANDS.contains(&script.text.as_str());
    (plain && !reaches && only_transforms(&script.text))
        .then(|| files.iter().map(|word| ReadAccess::Path(word)).collect())
}

#[rustfmt::skip]
const JQ_OPTIONS: &[&str] = &[
    "--raw-output", "--compact-output", "--slurp", "--sort-keys", "--null-input", "--exit-status", "--tab", "--join-output",
    "--raw-input", "--color-output", "--monochrome-output",
];

/// Whether a jq program sees nothing but its input. Every name in the text counts, also in strings, which may hold code.
fn only_transforms(script: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut names = script.split(|c: char| !is_name(c));
    let reaches = names.any(|name| JQ_REACHES.contains(&name) || name.starts_with("__"));
    !script.trim().is_empty() && !reaches && script.matches('"').count().is_multiple_of(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip]
    fn scripts_that_only_print() {
        for script in [".", ".name", ".a[0].b", ".scripts | keys", "map(select(.x == \"y\")) | length", ".[] | {a, b: .c}", ".a // empty", "\"\\(.a)@\\(.b)\"", "@sh", ".[] as $x | $x"] {
            assert!(only_transforms(script), "{script}");
        }
        for script in ["env", "$ENV.X", "env.HOME", ".a | env", "\"\\(env)\"", "import \"x\" as x; .", "$__loc__", "input_filename", "include \"x\"; .", "\"x", ""] {
            assert!(!only_transforms(script), "{script}");
        }
        for script in ["{print $1}", "NR==1", "NR>1 {print $2}", "/foo/ {print}", "{print NF}", "NR%2", "BEGIN{print}", "{s+=$1} END {print s}", "a || b", "!s[$0]++"] {
            assert!(only_prints(script), "{script}");
        }
        for script in ["{print > \"x\"}", "{system(\"x\")}", "", "NR>1 {print | \"sh\"}", "/a/ || system(\"x\")", "{getline}", "{print >> \"x\"}", "{printf \"a;\" > f}", "BEGIN{print ENVIRON[\"X\"]}", "@load \"x\"", "BEGIN{ARGV[1]=\"/etc/passwd\"}", "{print |& \"x\"}", "a / b; system(\"x\") / c"] {
            assert!(!only_prints(script), "{script}");
        }
        for script in ["p", "1,5p", "$p", "/a/,/b/p", "s/a/b/g", "s/a/b/; s|c|d|p", "1d;$d", "/^#/d", "s/\\(a\\)/<\\1>/", "5q", "/x/!d", "2,4{p;d}", "y/abc/xyz/", "s/a\\/b/c/"] {
            assert!(only_edits(script), "{script}");
        }
        for script in ["w x", "1e id", "s/a/b/e", "s/a/b/w x", "s/a/b/gw x", "r /etc/passwd", "R x", "W x", "e", "s/a/b/;e id", "/x/w y", "a\\\nw x", "1!e id", "s/a/b/\nw x", "2{w x\n}", "s/a/b/m;e", "b x", "v", "F w", "s,a,b,w x", "", "s/[/]w x/b/"] {
            assert!(!only_edits(script), "{script}");
        }
    }
}
