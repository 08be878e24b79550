//! Programs whose argument is a small program: sed, awk and jq. Only forms that visibly print are known; whatever else
//! such a script holds makes the command ask.

use super::readonly::Look;
use super::script::Word;

/// Line selection and plain substitution only: scripts can write files and run programs.
pub(super) fn sed(arguments: &[Word]) -> Option<Vec<Look<'_>>> {
    let options =
        arguments.iter().take_while(|word| matches!(word.raw.as_str(), "-n" | "-E" | "-r" | "-s" | "-u")).count();
    let (script, files) = arguments[options..].split_first()?;
    let mut harmless = script.text.split(';').map(str::trim).peekable();
    let fits = harmless.peek().is_some() && harmless.all(|part| is_line_selection(part) || is_substitution(part));
    if !fits || script.glob || files.iter().any(|word| word.text.starts_with('-') || word.glob) {
        return None;
    }
    Some(files.iter().map(Look::Path).collect())
}

/// The files of a `sed -i` whose script only selects or substitutes.
pub(crate) fn sed_in_place(arguments: &[Word]) -> Option<Vec<&Word>> {
    let in_place = |word: &Word| {
        let suffix = word.text.strip_prefix("--in-place").map(|rest| rest.strip_prefix('=').unwrap_or(rest));
        suffix.or(word.text.strip_prefix("-i")).is_some_and(|suffix| !suffix.contains(['/', '*']))
    };
    let is_option = |word: &&Word| in_place(word) || matches!(word.raw.as_str(), "-n" | "-E" | "-r" | "-s" | "-u");
    let options = arguments.iter().take_while(is_option).count();
    if !arguments[..options].iter().any(in_place) {
        return None;
    }
    let (script, files) = arguments[options..].split_first()?;
    let fits = script.text.split(';').map(str::trim).all(|part| is_line_selection(part) || is_substitution(part));
    let plain = !script.glob && files.iter().all(|word| !word.text.starts_with('-') && !word.glob);
    (fits && plain && !files.is_empty()).then(|| files.iter().collect())
}

fn is_line_selection(script: &str) -> bool {
    let Some(address) = script.strip_suffix(['p', 'd', 'q']) else { return false };
    address.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '$' | '~' | '+' | ' '))
}

fn is_substitution(script: &str) -> bool {
    let Some(body) = script.strip_prefix("s/") else { return false };
    let mut parts = body.split('/');
    let (Some(_), Some(_), Some(flags), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    !body.contains(['\\', '\n']) && flags.chars().all(|c| matches!(c, 'g' | 'p' | 'I' | 'i') || c.is_ascii_digit())
}

/// Field printing only: programs can write files and run others.
pub(super) fn awk(arguments: &[Word]) -> Option<Vec<Look<'_>>> {
    let mut rest = arguments;
    while let [flag, after @ ..] = rest
        && flag.raw.starts_with("-F")
    {
        rest = if flag.raw == "-F" { after.get(1..)? } else { after };
    }
    let (script, files) = rest.split_first()?;
    if !prints_fields(script.text.trim())
        || files.iter().any(|word| word.text.starts_with('-') || word.text.contains('=') || word.glob)
    {
        return None;
    }
    Some(files.iter().map(Look::Path).collect())
}

/// `{print $1, $2}`, perhaps for some lines: `NR>1 {print}`, `/text/`.
fn prints_fields(script: &str) -> bool {
    let (condition, action) = match script.split_once('{') {
        Some((condition, action)) => (condition.trim(), Some(action)),
        None => (script, None),
    };
    if condition.is_empty() && action.is_none() {
        return false;
    }
    let Some(action) = action else { return selects_lines(condition) };
    let Some(body) = action.trim_end().strip_suffix('}').map(str::trim) else { return false };
    let fields = |c: char| c.is_ascii_digit() || matches!(c, '$' | ',' | ' ' | 'N' | 'R' | 'F');
    selects_lines(condition) && body.strip_prefix("print").is_some_and(|rest| rest.chars().all(fields))
}

/// Nothing, a line number compared with a number, or a plain pattern.
fn selects_lines(condition: &str) -> bool {
    let pattern = condition.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
    if let Some(pattern) = pattern {
        return pattern
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ' ' | '-' | '.' | '^' | '$' | ':'));
    }
    let numbers = condition.strip_prefix("NR").or_else(|| condition.strip_prefix("NF"));
    let operand = numbers.map(|rest| rest.trim_start_matches(['=', '<', '>', '!', ' ', '%']));
    condition.is_empty() || operand.is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()))
}

/// Functions that see nothing but their input.
#[rustfmt::skip]
const JQ: &[&str] = &[
    "keys", "length", "type", "map", "select", "to_entries", "from_entries", "with_entries", "has", "sort", "sort_by", "group_by",
    "unique", "unique_by", "first", "last", "add", "any", "all", "not", "and", "or", "tostring", "tonumber", "values", "empty",
    "flatten", "reverse", "join", "split", "test", "contains", "startswith", "endswith", "ascii_downcase", "ascii_upcase", "min",
    "max", "range", "if", "then", "else", "elif", "end", "true", "false", "null", "key", "value",
];

pub(super) fn jq(arguments: &[Word]) -> Option<Vec<Look<'_>>> {
    #[rustfmt::skip]
    let is_option = |word: &&Word| {
        let short = word.text.strip_prefix('-').is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| "rcsejMCSn".contains(c)));
        short || matches!(word.text.as_str(), "--raw-output" | "--compact-output" | "--slurp" | "--sort-keys" | "--null-input")
    };
    let mut operands = arguments.iter().filter(|word| !is_option(word));
    let script = operands.next()?;
    let files: Vec<&Word> = operands.collect();
    let plain = !script.glob && files.iter().all(|word| !word.glob && !word.text.starts_with('-'));
    (plain && only_transforms(&script.text)).then(|| files.into_iter().map(Look::Path).collect())
}

/// Paths, strings and known functions: neither variables nor the environment, nor other files.
fn only_transforms(script: &str) -> bool {
    let mut rest = script;
    let mut is_field = false;
    while let Some(c) = rest.chars().next() {
        if c == '"' {
            let Some(end) = rest[1..].find('"') else { return false };
            if rest[1..=end].contains('\\') {
                return false;
            }
            rest = &rest[end + 2..];
        } else if c.is_ascii_alphabetic() || c == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            if !is_field && !JQ.contains(&&rest[..end]) {
                return false;
            }
            rest = &rest[end..];
        } else if c.is_ascii_digit() || " .[](){}|,:;?+-*/%=<>!".contains(c) {
            is_field = c == '.';
            rest = &rest[1..];
            continue;
        } else {
            return false;
        }
        is_field = false;
    }
    !script.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip]
    fn scripts_that_only_print() {
        for script in [".", ".name", ".a[0].b", ".scripts | keys", "map(select(.x == \"y\")) | length", ".[] | {a, b: .c}", ".a // empty"] {
            let known = only_transforms(script);
            // A bare shorthand is a function to this reader.
            assert_eq!(known, !script.contains("{a"), "{script}");
        }
        for script in ["env", "$ENV.X", "input", "env.HOME", ".a | env", "\"\\(env)\"", "import \"x\" as x; .", "$__loc__", "input_filename", "@sh", "\"x", ""] {
            assert!(!only_transforms(script), "{script}");
        }
        for script in ["{print $1}", "NR==1", "NR>1 {print $2}", "/foo/ {print}", "{print NF}", "NR%2"] {
            assert!(prints_fields(script), "{script}");
        }
        for script in ["{print > \"x\"}", "{system(\"x\")}", "BEGIN{print}", "{print}{print}", "", "NR>1 {print | \"sh\"}", "/a/ || system(\"x\")", "{getline}", "NR"] {
            assert!(!prints_fields(script), "{script}");
        }
    }
}
