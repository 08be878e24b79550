//! Constructs whose program the shell decides only when it runs: names in variables, text that is read and then run, and
//! builtins that evaluate text they are given (subscripts, arithmetic, completion, traps). Where rules forbid commands,
//! such a command is asked about. Code that is part of the command text is returned, to be read like the command.

use super::runners::{self, RunnerTarget};
use super::script::{ShellWord, SimpleCommand};
use super::wrapper::base_name;

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash"];

/// What one simple command brings along.
#[derive(Debug, Default)]
pub(super) struct LateFindings {
    /// Something is decided only when it runs.
    pub(super) is_late_bound: bool,
    /// Texts that a shell will run.
    pub(super) scripts: Vec<String>,
    /// Files that `source` reads.
    pub(super) sourced: Vec<String>,
    /// Expressions that are computed.
    pub(super) arithmetic: Vec<String>,
    /// Variables that get a value from outside the text.
    pub(super) filled: Vec<String>,
}

pub(super) fn find_late_bound(unit: &SimpleCommand) -> LateFindings {
    let mut findings = LateFindings::default();
    let mut appends = false;
    findings.settings(&unit.words);
    match runners::inner(&unit.words, &mut appends) {
        RunnerTarget::Command(words) => {
            if words.len() != unit.words.len() {
                findings.settings(words);
            }
            findings.command(words, appends);
        }
        RunnerTarget::Unknown => findings.is_late_bound = true,
        RunnerTarget::Nothing => {}
    }
    findings
}

impl LateFindings {
    /// Texts in options of runners and of git.
    fn settings(&mut self, words: &[ShellWord]) {
        for word in runners::code_texts(words) {
            let text =
                word.text.strip_prefix("--").and_then(|t| t.split_once('=')).map_or(&*word.text, |(_, text)| text);
            self.code(text, word.expands);
        }
        for word in runners::attached_texts(words) {
            self.code(runners::attached(&word.text).unwrap_or_default(), word.expands);
        }
        for (text, expands) in runners::git_config_texts(words).into_iter().chain(runners::named_programs(words)) {
            self.code(&text, expands);
        }
    }

    fn code(&mut self, text: &str, expands: bool) {
        self.is_late_bound |= expands;
        self.scripts.push(text.to_owned());
    }

    fn command(&mut self, words: &[ShellWord], appends: bool) {
        let Some((name, arguments)) = words.split_first() else { return };
        let program = base_name(&name.text);
        if is_dynamic(name) || program == "{}" {
            self.is_late_bound = true;
            return;
        }
        // `find -exec sh -c … \;`
        if matches!(program, "find" | "fd" | "fdfind") {
            return self.found(arguments);
        }
        if SHELLS.contains(&program) {
            return self.shell(arguments, appends);
        }
        match program {
            "eval" | "watch" | "parallel" | "ssh" => self.joined(program, arguments),
            "source" | "." => self.source(arguments),
            "trap" => self.trap(arguments),
            "alias" => self.aliases(arguments),
            "mapfile" | "readarray" => {
                self.is_late_bound |= has_letter(arguments, "C");
                self.names(arguments);
                self.filled.push("MAPFILE".into());
            }
            "test" | "[" => self.tested(arguments),
            "printf" => self.printed(arguments),
            "export" | "readonly" => {
                self.names(arguments);
                self.arrays(arguments);
            }
            "read" | "unset" | "getopts" | "wait" => self.names(arguments),
            "declare" | "typeset" | "local" => {
                // Later values of an integer are computed, a reference may name a subscript.
                self.is_late_bound |= has_letter(arguments, "in");
                self.names(arguments);
                self.arrays(arguments);
            }
            "let" => self.arithmetic.extend(arguments.iter().map(|word| word.text.clone())),
            "enable" => self.is_late_bound |= has_letter(arguments, "f"),
            "complete" | "compgen" | "compopt" => self.is_late_bound |= has_letter(arguments, "CFWX"),
            "hash" => self.is_late_bound |= has_letter(arguments, "p"),
            "bind" | "fc" | "batch" | "at" => self.is_late_bound |= !arguments.is_empty(),
            _ => {}
        }
    }

    fn found(&mut self, arguments: &[ShellWord]) {
        let runs =
            |word: &ShellWord| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X");
        for (at, _) in arguments.iter().enumerate().filter(|(_, word)| runs(word)) {
            let rest = &arguments[at + 1..];
            let end = rest.iter().position(|word| matches!(word.text.as_str(), ";" | "+")).unwrap_or(rest.len());
            match runners::inner(&rest[..end], &mut true) {
                RunnerTarget::Command(words) => self.command(words, true),
                RunnerTarget::Unknown | RunnerTarget::Nothing => self.is_late_bound = true,
            }
        }
    }

    /// A shell with a text, a file, or what it reads from its input.
    fn shell(&mut self, arguments: &[ShellWord], appends: bool) {
        if arguments.iter().any(|word| matches!(word.text.as_str(), "--version" | "--help")) {
            return;
        }
        let mut has_code = false;
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            let text = word.text.as_str();
            let is_option = text.starts_with(['-', '+']) && text.len() > 1;
            if matches!(text, "-o" | "+o" | "-O" | "+O") {
                rest.next();
            } else if matches!(text, "--rcfile" | "--init-file") {
                self.is_late_bound |= rest.next().is_none_or(is_late_bound);
            } else if is_option && !text.starts_with("--") && word.variables.is_empty() {
                has_code |= text.contains('c');
                self.is_late_bound |= text.contains('s') && !has_code;
            } else if !is_option && has_code {
                // Names that are put into the text are part of it.
                self.is_late_bound |= appends && text.contains("{}");
                return self.code(text, word.expands);
            } else if !is_option {
                self.is_late_bound |= is_late_bound(word);
                return;
            }
        }
        self.is_late_bound = true;
    }

    /// Words that are put together and run.
    fn joined(&mut self, program: &str, arguments: &[ShellWord]) {
        let words: Vec<&ShellWord> = match program {
            "eval" => arguments.iter().filter(|word| word.text != "--").collect(),
            _ => arguments.iter().skip_while(|word| word.text.starts_with('-')).collect(),
        };
        if program == "parallel" && words.first().is_none_or(|word| word.text.starts_with(":::")) {
            self.is_late_bound = true;
        }
        let expands = words.iter().any(|word| word.expands);
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        if program != "ssh" && !texts.is_empty() {
            self.code(&texts.join(" "), expands);
        }
    }

    fn source(&mut self, arguments: &[ShellWord]) {
        let Some(file) = arguments.iter().find(|word| word.text != "--") else { return };
        if is_late_bound(file) || file.glob || file.tilde {
            self.is_late_bound = true;
        } else {
            self.sourced.push(file.text.clone());
        }
    }

    fn trap(&mut self, arguments: &[ShellWord]) {
        let Some(action) = arguments.iter().find(|word| word.text != "--") else { return };
        if !matches!(action.text.as_str(), "" | "-" | "-l" | "-p" | "-P") && arguments.len() > 1 {
            self.code(&action.text, action.expands);
        }
    }

    fn aliases(&mut self, arguments: &[ShellWord]) {
        for word in arguments {
            if let Some((_, value)) = word.text.split_once('=') {
                self.code(value, word.expands);
            }
        }
    }

    fn tested(&mut self, arguments: &[ShellWord]) {
        let mut names = arguments.windows(2).filter(|pair| matches!(pair[0].text.as_str(), "-v" | "-R"));
        self.is_late_bound |= names.any(|pair| is_evaluated(&pair[1].text));
    }

    fn printed(&mut self, arguments: &[ShellWord]) {
        let Some(first) = arguments.first().filter(|word| word.text.starts_with("-v")) else { return };
        let attached = first.text.strip_prefix("-v").filter(|name| !name.is_empty());
        if let Some(name) = attached.or_else(|| arguments.get(1).map(|word| word.text.as_str())) {
            self.is_late_bound |= is_evaluated(name) || is_computed(name) || holds_programs(name);
            self.filled.push(name.to_owned());
        }
    }

    /// `declare -a 'x=($(y))'`: a text that becomes an array is expanded once more.
    fn arrays(&mut self, arguments: &[ShellWord]) {
        let is_array = has_letter(arguments, "aA");
        for word in arguments {
            let Some((_, value)) = word.text.split_once('=') else { continue };
            let opens = value.trim_start().starts_with('(') || (word.expands && is_array);
            self.is_late_bound |= opens && (word.quoted || word.expands) && value.contains(['$', '`']);
        }
    }

    /// Names of variables, perhaps with a value.
    fn names(&mut self, arguments: &[ShellWord]) {
        for word in arguments.iter().filter(|word| !word.text.starts_with('-')) {
            let name = word.text.split_once('=').map_or(&*word.text, |(name, _)| name);
            self.is_late_bound |= is_evaluated(name) || is_computed(name) || holds_programs(name);
            self.filled.push(name.to_owned());
        }
    }
}

/// Variables that the shell takes for numbers: what they are given is computed.
#[rustfmt::skip]
const INTEGERS: &[&str] = &[
    "RANDOM", "SRANDOM", "SECONDS", "LINENO", "OPTIND", "HISTCMD", "BASHPID", "PPID", "UID", "EUID", "EPOCHSECONDS", "BASH_SUBSHELL", "COMP_CWORD",
    "COMP_KEY", "COMP_POINT", "COMP_TYPE", "BASH_ARGC", "SHLVL", "HISTSIZE", "HISTFILESIZE", "TMOUT", "MAILCHECK", "COLUMNS", "LINES", "FUNCNEST",
    // Of zsh.
    "ERRNO", "GID", "EGID", "TTYIDLE", "KEYTIMEOUT", "SAVEHIST", "DIRSTACKSIZE", "LISTMAX", "LOGCHECK", "BAUD", "REPORTTIME",
];

pub(super) fn is_computed(name: &str) -> bool {
    INTEGERS.contains(&name)
}

/// Arrays in which shells keep aliases, functions and found programs.
pub(super) fn holds_programs(name: &str) -> bool {
    let name = name.split('[').next().unwrap_or(name);
    matches!(
        name,
        "BASH_ALIASES"
            | "BASH_CMDS"
            | "aliases"
            | "galiases"
            | "saliases"
            | "dis_aliases"
            | "functions"
            | "dis_functions"
            | "commands"
            | "builtins"
    )
}

/// A name that holds a subscript other than a number, or is itself the value of something.
pub(super) fn is_evaluated(name: &str) -> bool {
    if name.contains(['$', '`']) {
        return true;
    }
    let Some((_, subscript)) = name.split_once('[') else { return false };
    !subscript.trim_end_matches(']').chars().all(|c| c.is_ascii_digit() || matches!(c, '@' | '*'))
}

fn has_letter(arguments: &[ShellWord], letters: &str) -> bool {
    let is_option = |word: &&ShellWord| word.text.starts_with(['-', '+']) && !word.text.starts_with("--");
    arguments.iter().filter(is_option).any(|word| word.text.contains(|c| letters.contains(c)) || word.expands)
}

fn is_dynamic(name: &ShellWord) -> bool {
    let base = base_name(&name.text);
    // A folder in a variable does not hide the name of the program.
    let hidden = name.expands && (base.contains("${") || base.contains("$()"));
    hidden || (name.glob && base.contains(['*', '?', '[']))
}

/// A file that is filled when the command runs.
fn is_late_bound(word: &ShellWord) -> bool {
    word.expands || word.glob || word.text == "-" || word.text.starts_with("/dev/") || word.text.starts_with("/proc/")
}

/// Variables whose value some program runs.
#[rustfmt::skip]
const COMMAND_VARIABLES: &[&str] = &[
    "PROMPT_COMMAND", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS",
    "GIT_PROXY_COMMAND", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "SSH_ASKPASS", "BROWSER", "LESSOPEN", "LESSCLOSE", "SUDO_ASKPASS",
    "SUDO_EDITOR", "RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER", "npm_config_script_shell", "SHELL", "FCEDIT",
];

/// Variables that hold options of programs, some of which name programs to run, or code that is loaded.
#[rustfmt::skip]
const OPTION_VARIABLES: &[&str] = &[
    "TAR_OPTIONS", "ZIPOPT", "ZIP", "UNZIP", "RSYNC_RSH", "RSYNC_CONNECT_PROG", "CVS_RSH", "SVN_SSH", "MANOPT", "PERL5OPT", "PERL5DB", "PYTHONSTARTUP",
    "NODE_OPTIONS", "RUBYOPT", "JAVA_TOOL_OPTIONS", "LD_PRELOAD", "LD_AUDIT", "GIT_EXEC_PATH", "FZF_DEFAULT_COMMAND", "FZF_DEFAULT_OPTS",
    "RIPGREP_CONFIG_PATH", "SUDO_COMMAND", "GIT_TEMPLATE_DIR", "GPG_AGENT_INFO", "PYTHONBREAKPOINT", "PYTHONINSPECT", "READNULLCMD", "NULLCMD",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "MAKEFLAGS", "CARGO_BUILD_RUSTC", "RUSTC", "CC", "CXX", "LD",
];

/// What setting a variable brings along.
pub(super) fn assigned(name: &str, value: &ShellWord) -> LateFindings {
    let mut findings = LateFindings::default();
    let runs = COMMAND_VARIABLES.contains(&name) || name.starts_with("GIT_CONFIG_VALUE_");
    let is_prompt = matches!(name, "PS0" | "PS1" | "PS2" | "PS4") && value.text.contains(['$', '`']);
    if runs || is_prompt {
        findings.code(&value.text, value.expands);
    }
    // The shell expands the value before it reads the file.
    let is_expanded_later = || value.text.contains(['$', '`']);
    findings.is_late_bound |= matches!(name, "BASH_ENV" | "ENV") && (is_late_bound(value) || is_expanded_later());
    let is_number = value.text.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '+'));
    findings.is_late_bound |= holds_programs(name) || (is_computed(name) && !is_number);
    findings.is_late_bound |= OPTION_VARIABLES.contains(&name);
    let computed = value.text == "$()" && !value.variables.is_empty();
    if !is_number && !computed {
        findings.filled.push(name.to_owned());
    }
    findings
}

/// Whether an expression looks at a variable that holds what the text does not show.
pub(super) fn is_computed_late(expression: &str, filled: &[String]) -> bool {
    let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
    // The output of a command becomes part of the expression.
    let substituted = (expression.contains("$(") && !expression.contains("$((")) || expression.contains('`');
    let mut names =
        expression.split(|c: char| !is_name(c)).filter(|name| !name.starts_with(|c: char| c.is_ascii_digit()));
    substituted || names.any(|name| filled.iter().any(|known| known == name))
}
