//! Constructs that mean something else in zsh than in bash, for which the readers here are made. Where zsh runs the
//! command, they cannot be judged. Generous: what looks like one counts as one.

use super::reading::CommandReading;
use super::wrapper::base_name;

/// Builtins, keywords and functions of zsh that run, rename or reread something.
#[rustfmt::skip]
const PROGRAMS: &[&str] = &[
    "repeat", "foreach", "always", "functions", "hash", "unhash", "rehash", "zmodload", "autoload", "print", "setopt", "unsetopt", "emulate",
    "zstyle", "zle", "bindkey", "vared", "sched", "zparseopts", "zformat", "zcompile", "whence", "where", "disable", "enable", "zargs", "zmv",
    "zcp", "zln", "zcalc", "zed", "zpty", "zselect", "zsocket", "ztcp", "zftp", "sysopen", "sysread", "syswrite", "sysseek", "sysexec", "zstat", "zf_rm",
    "zf_ln", "zf_mv", "zf_chmod", "zf_mkdir", "zf_rmdir", "zf_sync", "zregexparse", "compadd", "compdef", "compinit", "add-zsh-hook", "aliases", "nocorrect",
    "-", "pushln", "getln", "zsystem", "zprof", "zdelattr", "zgetattr", "limit", "fc", "r", "log", "ttyctl", "integer", "float", "private", "stat",
];

/// Parameters that stand for programs, files or hooks.
#[rustfmt::skip]
const PARAMETERS: &[&str] = &[
    "functions", "dis_functions", "commands", "aliases", "galiases", "saliases", "dis_aliases", "options", "parameters", "mapfile", "nameddirs",
    "userdirs", "widgets", "precmd_functions", "preexec_functions", "chpwd_functions", "periodic_functions", "zshexit_functions", "path", "fpath",
    "module_path", "cdpath", "READNULLCMD", "NULLCMD", "prompt", "PROMPT", "RPROMPT", "histchars", "zsh_eval_context",
];

/// Whether the command may mean something else in zsh.
pub(crate) fn is_peculiar(command: &str, reading: &CommandReading) -> bool {
    let named = reading.any_call(|words| {
        let program = words.first().map(|word| base_name(word)).unwrap_or_default();
        // `stat FILE` and `log` are programs as well; `r` alone is too short a name to be sure.
        PROGRAMS.contains(&program) && !matches!(program, "stat" | "log" | "r" | "limit" | "enable" | "fc")
    });
    let sets = reading.suspects.iter().any(|suspect| suspect.words.iter().any(|word| sets_parameter(word)));
    named || sets || has_peculiar_text(command)
}

fn sets_parameter(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.trim_end_matches('+').split('[').next().unwrap_or_default();
    PARAMETERS.contains(&name) && name != "path"
}

/// Looks at every character outside quotes.
fn has_peculiar_text(command: &str) -> bool {
    let chars: Vec<char> = command.chars().collect();
    let (mut quote, mut at) = (None, 0);
    let mut word_from = 0;
    while let Some(&c) = chars.get(at) {
        let before = at.checked_sub(1).and_then(|at| chars.get(at)).copied();
        let after = chars.get(at + 1).copied();
        match (c, quote) {
            ('\\', None | Some('"')) => at += 1,
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            ('$', None | Some('"')) if is_peculiar_expansion(&chars[at + 1..]) => return true,
            (' ' | '\t' | '\n' | ';' | '|' | '&' | ')', None) => word_from = at + 1,
            (c, None) if is_peculiar_character(c, before, after, &chars, at, word_from) => return true,
            _ => {}
        }
        at += 1;
    }
    false
}

/// `${(e)x}`, `${~x}`, `${=x}`, `${^x}`, `${+x}`, `$mapfile[x]`.
fn is_peculiar_expansion(rest: &[char]) -> bool {
    let inner = rest.strip_prefix(&['{']).unwrap_or(rest);
    let braced = inner.len() != rest.len();
    let marked = matches!(inner.first(), Some('(' | '~' | '=' | '^' | '+' | ':' | '&' | ';'))
        && (braced || inner.first() != Some(&'('));
    let name: String = inner.iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').collect();
    let marks_text = marked && (braced || inner.get(1).is_some_and(char::is_ascii_alphabetic));
    marks_text
        || matches!(
            name.as_str(),
            "mapfile" | "functions" | "commands" | "aliases" | "galiases" | "history" | "jobtexts"
        )
}

fn is_peculiar_character(
    c: char,
    before: Option<char>,
    after: Option<char>,
    chars: &[char],
    at: usize,
    word_from: usize,
) -> bool {
    let starts_word = at == word_from;
    let rest: String = chars[at + 1..].iter().take_while(|c| !c.is_whitespace() && !";|&)".contains(**c)).collect();
    let is_revision =
        |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '^' | '~' | '.' | ':' | '{' | '}'));
    match c {
        // `^x`, `x~y` and `x#` are patterns; behind a revision of git they are not.
        '^' => before != Some('[') && (starts_word || !is_revision(&rest)),
        '~' if starts_word => !matches!(after, None | Some('/' | ' ' | '\t' | '\n' | ';' | '|' | '&' | ')')),
        '~' => before != Some('=') && before != Some(':') && !is_revision(&rest),
        '#' => !starts_word && before.is_some_and(|c| !c.is_whitespace() && !"$({[".contains(c)) && before != Some('&'),
        // Qualifiers of patterns, and `=(x)`; functions, arrays and substitutions have their own forms.
        '(' => {
            let word: String = chars[word_from..at].iter().collect();
            let sets_array = word.strip_suffix('=').is_some_and(|name| {
                let name = name.trim_end_matches('+');
                !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
            });
            !starts_word && after != Some(')') && !sets_array && before.is_some_and(|c| !"$<>({!;&| \t\n".contains(c))
        }
        // `=ls` is the path of a program; `<1-5>` a range of numbers.
        '=' => starts_word && after.is_some_and(|c| c.is_ascii_alphabetic() || c == '('),
        '<' => rest
            .split_once('>')
            .is_some_and(|(range, _)| range.contains('-') && range.chars().all(|c| c.is_ascii_digit() || c == '-')),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differs(command: &str) -> bool {
        is_peculiar(command, &CommandReading::of(command))
    }

    // [F-A6]
    #[test]
    fn what_zsh_reads_differently_is_noticed() {
        for command in [
            "repeat 1 zapp",
            "functions[ls]=zapp; ls",
            "commands[q]=/x/zapp; q",
            "hash q=/x/zapp; q",
            "aliases[q]=zapp; eval q",
            "echo ${(e):-'$(zapp)'}",
            "echo \"${(e)x}\"",
            "echo *(e:'zapp':)",
            "setopt promptsubst; print -P '$(zapp)'",
            "zmodload zsh/mapfile; echo $mapfile[secrets/k]",
            "echo ${mapfile[secrets/k]}",
            "setopt extendedglob; cat ^src/k",
            "cat ^src/k",
            "cat s^x/k",
            "ls ~[x]",
            "ls ~name",
            "cat *~src/k",
            "cat x#/k",
            "ls =(zapp)",
            "=zapp x",
            "cat <1-9>",
            "echo $~x",
            "cat *(.)",
        ] {
            assert!(differs(command), "{command}");
        }
        for command in [
            "ls -la",
            "git show HEAD^",
            "git diff HEAD~1 HEAD^2",
            "git log main..HEAD~3",
            "cd ~ && ls ~/x",
            "echo \"a^b ~c #d (e)\"",
            "grep -E '^x(a|b)$' f",
            "f() { ls; }; f",
            "a=(1 2); echo ${a[0]}",
            "echo $((1 + 2)) $(ls) <(ls)",
            "ls [^a]*",
            "x=1 ls # note",
            "cat f | sort > out 2>&1",
            "for f in a b; do echo \"$f\"; done",
            "echo ${x:-y} ${#x} $? $# ${x%.*}",
            "stat README.md",
            "(cd src && ls)",
            "find . \\( -name a -o -name b \\)",
        ] {
            assert!(!differs(command), "{command}");
        }
    }
}
