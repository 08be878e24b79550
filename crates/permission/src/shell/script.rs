//! What the strict reading consists of: simple commands made of plain words and quotes. Names that change how the rest
//! of a command must be read are refused here.

use super::{relaxed, variables};

/// Longer commands cannot be read by a person either.
pub(crate) const MAX_CHARS: usize = 10_000;

/// One simple command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SimpleCommand {
    pub(crate) join: UnitJoin,
    /// Leading `NAME=value` words.
    pub(crate) assignments: Vec<String>,
    pub(crate) words: Vec<ShellWord>,
    /// Files its redirections open; `/dev/null` and duplications are left out.
    pub(crate) redirects: Vec<FileRedirect>,
    /// The group or subshell that contains it: a `cd` counts only inside its own.
    pub(crate) scope: u32,
    /// Another program of the same pipeline reads its output.
    pub(crate) feeds: bool,
    /// A redirection, here-document or here-string is its standard input.
    pub(crate) has_own_input: bool,
    /// One of its streams is a copy of another, as with `2>&1`.
    pub(crate) merges_errors: bool,
    /// The whole part as it is written: with redirections, a here-document folded, a loop's variable in its place.
    pub(crate) written: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileRedirect {
    pub(crate) word: ShellWord,
    pub(crate) writes: bool,
}

/// How a unit is joined to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitJoin {
    First,
    And,
    Or,
    Then,
    Pipe,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShellWord {
    /// After quote removal.
    pub(crate) text: String,
    /// As written.
    pub(crate) raw: String,
    pub(crate) quoted: bool,
    /// Holds an unquoted `*`, `?` or `[`.
    pub(crate) glob: bool,
    /// Begins with an unquoted `~`.
    pub(crate) tilde: bool,
    /// Holds an expansion of any kind: its value is known only when it runs.
    pub(crate) expands: bool,
    /// Variables in it whose value the text does not show; in `text` each is written `${name}`.
    pub(crate) variables: Vec<VariableUse>,
    /// The text as a pattern of file names: characters that stand for themselves are behind a backslash.
    pub(crate) pattern: String,
    /// What takes the place of a substitution in it; only the relaxed reading has such words.
    pub(crate) substituted: Option<SubstitutedText>,
    /// The shell put this name in the place of a pattern or of names that a command prints.
    pub(crate) matched: bool,
}

/// What a substitution becomes when the command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SubstitutedText {
    /// Text that is known only then: the output of commands, or the value of a variable that holds such output.
    Text {
        /// It is in double quotes, so that it stays one word.
        quoted: bool,
        /// The words of the only command that prints it; `None` when more than one does. The word may be more than its output.
        command: Option<Vec<String>>,
    },
    /// The name of a file from which the output of commands is read, as for `<(x)`.
    File,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VariableUse {
    pub(crate) name: String,
    /// It is in double quotes, so that its value stays one word.
    pub(crate) quoted: bool,
}

/// What stopped the analysis.
pub(crate) type OpaqueReason = &'static str;

/// Words with a grammar of their own.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "in",
    "function", "coproc", "[[", "]]", "repeat", "foreach", "end", "nocorrect",
];

/// Builtins that change how everything after them in the same command is to be read.
#[rustfmt::skip]
const REFUSED_BUILTINS: &[&str] = &[
    "export", "declare", "typeset", "local", "readonly", "alias", "unalias", "set", "unset", "shopt", "setopt",
    "unsetopt", "enable", "hash", "trap", "exec", "builtin", "pushd", "popd", "umask", "read", "mapfile", "readarray",
    "getopts", "emulate", "zmodload", "autoload", "bindkey", "complete", "let",
];

const CODE_BUILTINS: &[&str] = &["eval", "source", "."];

/// Whether the program runs text as part of the shell, or changes how what follows it is to be read.
pub(crate) fn changes_shell(program: &str) -> bool {
    CODE_BUILTINS.contains(&program) || REFUSED_BUILTINS.contains(&program)
}

/// How much of the shell's language a reading understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadingStyle {
    /// Plain words and quotes: what rules may allow.
    Strict,
    /// Also substitutions, expansions that only shorten a value, and loops over input: enough to see that a command only
    /// reads, and good for nothing else.
    Relaxed,
}

pub(crate) fn check(units: &[SimpleCommand], style: ReadingStyle) -> Result<(), OpaqueReason> {
    for unit in units {
        let Some(command) = unit.words.first() else { return Err("it is incomplete") };
        if command.glob || command.tilde {
            return Err("the program name is a pattern");
        }
        let name = command.text.as_str();
        if name.is_empty() || KEYWORDS.contains(&name) {
            return Err("it has a control structure");
        }
        if CODE_BUILTINS.contains(&name) {
            return Err("it runs text as code");
        }
        let understood = style == ReadingStyle::Relaxed && matches!(name, "read" | "pushd" | "popd");
        if units.len() > 1 && REFUSED_BUILTINS.contains(&name) && !understood {
            return Err("it changes the shell for what follows");
        }
        let names_directory = style == ReadingStyle::Relaxed && variables::name_only_the_directory(unit);
        if !names_directory && !variables::are_printable(unit) {
            return Err("it has an expansion");
        }
        if !relaxed::may_receive_text(unit) {
            return Err("it has a command substitution");
        }
    }
    Ok(())
}

impl ShellWord {
    /// Whether the word is the output of one substitution and nothing else, not even quotes.
    pub(crate) fn is_one_substitution(&self) -> bool {
        self.text == "$()" && matches!(self.raw.as_bytes(), [b'$', b'(', .., b')'] | [b'`', .., b'`'])
    }
}

impl SimpleCommand {
    /// The words as written, single blanks between them.
    pub(crate) fn text(&self) -> String {
        join_raw(&self.words)
    }
}

pub(crate) fn join_raw(words: &[ShellWord]) -> String {
    let raws: Vec<_> = words.iter().map(|word| word.raw.as_str()).collect();
    raws.join(" ")
}
