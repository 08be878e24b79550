//! Programs that only read, with the options they may be given. The table is the whole knowledge: a program, option or
//! form that is not in it makes the command ask. Options that follow links while searching are left out on purpose.

use super::script::ShellWord;
use super::{archives, docker, find, git, listing, script_languages, variables};

/// What a read-only command would look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReadAccess<'a> {
    /// A file or directory.
    Path(&'a ShellWord),
    /// A whole tree is searched for text, so that deny rules below it cannot be honoured.
    Search(Option<&'a ShellWord>),
    /// A name that the shell put in the place of a pattern, of which no content is shown.
    Listed(&'a ShellWord),
    /// Names matched by the shell.
    Glob { word: &'a ShellWord, content: bool },
    /// The working directory changes to this.
    Enter(&'a ShellWord),
    /// Data of a repository, by git.
    Repository(git::RepositoryCall<'a>),
}

/// What the operands of a program are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OperandKind {
    None,
    /// Text that is printed or computed with.
    Text,
    /// Files whose content is shown.
    Content,
    /// Files and directories whose names or facts are shown.
    Names,
    /// A pattern, then files.
    PatternThenContent,
    /// One file; a second operand would be written to.
    OneFile,
}

struct ReadOnlyProgram {
    name: &'static str,
    operands: OperandKind,
    /// Short options without a value.
    flags: &'static str,
    /// Short options with a value (in the same word or the next).
    valued: &'static str,
    /// Long options; a trailing `=` means that a value must be in the same word, a `:` that it may be the next one.
    long: &'static [&'static str],
}

const fn program(
    name: &'static str,
    operands: OperandKind,
    flags: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
) -> ReadOnlyProgram {
    ReadOnlyProgram { name, operands, flags, valued, long }
}

#[rustfmt::skip]
const GREP: &[&str] = &[
    "ignore-case", "invert-match", "word-regexp", "line-regexp", "count", "line-number", "files-with-matches",
    "files-without-match", "only-matching", "quiet", "no-messages", "with-filename", "no-filename", "recursive",
    "extended-regexp", "fixed-strings", "perl-regexp", "color=", "include:", "exclude:", "exclude-dir:", "max-count:",
    "context=", "after-context=", "before-context=", "regexp:", "no-ignore-case",
];

#[rustfmt::skip]
const RG: &[&str] = &[
    "ignore-case", "smart-case", "case-sensitive", "invert-match", "word-regexp", "line-regexp", "count", "line-number",
    "no-line-number", "files-with-matches", "files-without-match", "only-matching", "quiet", "with-filename", "no-filename",
    "count-matches", "multiline-dotall", "no-messages", "pretty", "no-config", "include-zero", "passthru", "crlf", "null",
    "fixed-strings", "multiline", "hidden", "no-ignore", "files", "no-heading", "heading", "color:", "glob:", "type:",
    "type-not:", "max-count:", "max-depth:", "context:", "after-context:", "before-context:", "regexp:", "sort:",
    "max-columns:", "trim", "stats", "json", "vimgrep", "column",
];

#[rustfmt::skip]
const FD: &[&str] = &[
    "hidden", "no-ignore", "ignore-case", "case-sensitive", "glob", "fixed-strings", "absolute-path", "full-path", "print0",
    "extension:", "type:", "max-depth:", "min-depth:", "exclude:", "max-results:", "changed-within:", "changed-before:", "color:",
];

use OperandKind::{Content, Names, OneFile, PatternThenContent, Text};

#[rustfmt::skip]
const PROGRAMS: &[ReadOnlyProgram] = &[
    program("ls", Names, "1aAbBcCdfFghHiklLmnNopqQrRsStuUvwxXZG", "", &[
        "all", "almost-all", "human-readable", "recursive", "reverse", "size", "directory", "inode", "classify",
        "group-directories-first", "color", "color=", "sort=", "time=", "time-style=", "full-time", "no-group",
    ]),
    program("cat", Content, "AbeEnstTuv", "", &["number", "show-all", "show-ends", "show-tabs", "squeeze-blank"]),
    program("head", Content, "qvz0123456789", "nc", &["lines=", "bytes=", "quiet", "verbose"]),
    program("tail", Content, "qvz0123456789", "nc", &["lines=", "bytes=", "quiet", "verbose"]),
    program("wc", Content, "clLmw", "", &["lines", "words", "bytes", "chars", "max-line-length"]),
    program("nl", Content, "p", "bwsnvi", &[]),
    program("less", Content, "NRSFXnimMe", "", &[]),
    program("more", Content, "dfs", "", &[]),
    program("bat", Content, "npA", "lr", &["plain", "number", "language:", "line-range:", "style=", "color=", "paging="]),
    program("base64", Content, "di", "w", &["decode", "wrap=", "ignore-garbage"]),
    program("join", Content, "i", "12jtaoev", &[]),
    program("expand", Content, "i", "t", &["tabs=", "initial"]),
    program("unexpand", Content, "a", "t", &[]),
    program("iconv", Content, "c", "ft", &["from-code=", "to-code="]),
    program("shuf", Content, "zr", "n", &["head-count="]),
    program("cksum", Content, "", "", &[]),
    program("sum", Content, "rs", "", &[]),
    program("b2sum", Content, "btz", "", &[]),
    program("sha224sum", Content, "bctz", "", &["check", "quiet", "status"]),
    program("sha384sum", Content, "bctz", "", &["check", "quiet", "status"]),
    program("sha512sum", Content, "bctz", "", &["check", "quiet", "status"]),
    program("zcat", Content, "fv", "", &[]),
    program("bzcat", Content, "s", "", &[]),
    program("xzcat", Content, "", "", &[]),
    program("zgrep", PatternThenContent, "cEFhHilnoqsvwx", "eABCm", &[]),
    program("zipinfo", OneFile, "12lmstvz", "", &[]),
    program("nm", Content, "aACDgnoSu", "", &["demangle", "dynamic", "defined-only", "undefined-only"]),
    program("size", Content, "ABdtox", "", &[]),
    program("objdump", Content, "adfhptTxrRC", "jM", &["disassemble", "demangle", "headers", "syms"]),
    program("readelf", Content, "adehlnrsSuVW", "", &["headers", "symbols", "sections", "segments", "dynamic", "wide"]),
    program("exa", Names, "1aAdFghilmrRSsTtux", "L", &["long", "all", "tree", "git", "level=", "icons", "header"]),
    program("eza", Names, "1aAdFghilmrRSsTtux", "L", &["long", "all", "tree", "git", "level=", "icons", "header"]),
    program("ag", PatternThenContent, "cFiLlnQRsSvw", "ABCGm", &["hidden", "nocolor", "numbers", "count"]),
    program("tac", Content, "", "", &[]),
    program("rev", Content, "", "", &[]),
    program("cut", Content, "sz", "dfcb", &["delimiter=", "fields=", "characters=", "bytes=", "only-delimited", "complement"]),
    program("paste", Content, "sz", "d", &["serial", "delimiters="]),
    program("column", Content, "txen", "sco", &["table", "separator="]),
    program("fold", Content, "bs", "w", &["spaces", "width="]),
    program("fmt", Content, "cstu", "w", &[]),
    program("comm", Content, "123z", "", &[]),
    program("cmp", Content, "bls", "n", &[]),
    program("diff", Content, "abBcdeEiNpqrstuwy0123456789", "UCxW", &[
        "recursive", "exclude:", "context=", "strip-trailing-cr", "minimal", "no-dereference",
        "brief", "unified", "unified=", "side-by-side", "ignore-all-space", "ignore-case", "color=", "width=",
        "report-identical-files", "new-file", "suppress-common-lines", "ignore-blank-lines", "ignore-space-change",
    ]),
    program("sort", Content, "bdfghiMnrRsuVzc", "kt", &[
        "numeric-sort", "reverse", "unique", "key=", "field-separator=", "human-numeric-sort", "version-sort", "ignore-case",
        "stable", "check", "parallel=", "zero-terminated", "general-numeric-sort", "month-sort", "dictionary-order",
    ]),
    program("uniq", OneFile, "cdDiuz", "fsw", &["count", "repeated", "unique", "ignore-case"]),
    program("tr", Text, "cCdst", "", &["delete", "squeeze-repeats", "complement"]),
    program("od", Content, "abcdfiloxsv", "AjNtw", &[]),
    program("strings", Content, "af", "nt", &[]),
    program("xxd", OneFile, "bEeiup", "clsgo", &[]),
    program("hexdump", Content, "bCcdovx", "ns", &[]),
    program("pr", Content, "dFfmtT", "lwoh", &[]),
    program("md5sum", Content, "bctz", "", &["check", "quiet", "status"]),
    program("sha1sum", Content, "bctz", "", &["check", "quiet", "status"]),
    program("sha256sum", Content, "bctz", "", &["check", "quiet", "status"]),
    program("grep", PatternThenContent, "abcEFGhHiIlLnoPqrsvwxz0123456789", "eABCm", GREP),
    program("egrep", PatternThenContent, "abchHiIlLnoqrsvwx0123456789", "eABCm", GREP),
    program("fgrep", PatternThenContent, "abchHiIlLnoqrsvwx0123456789", "eABCm", GREP),
    program("rg", PatternThenContent, "aFHIilnNoPqSsUuvwxcp.0", "eABCgmtTjM", RG),
    program("stat", Names, "Lft", "c", &["format=", "printf=", "dereference", "file-system", "terse"]),
    program("file", Names, "bihLkp", "", &["brief", "mime", "mime-type", "mime-encoding", "dereference"]),
    program("du", Names, "abchHklmsSx0", "d", &["all", "human-readable", "summarize", "max-depth=", "total", "apparent-size"]),
    program("df", Text, "ahHiklPT", "", &["human-readable", "total", "print-type"]),
    program("tree", Names, "adfhilpqrstuvACDFIJNQSUX", "LPI", &["dirsfirst", "noreport", "gitignore", "prune", "du", "si"]),
    program("realpath", Names, "eLmPqsz", "", &["relative-to=", "relative-base=", "no-symlinks", "canonicalize-missing", "canonicalize-existing"]),
    program("bc", OperandKind::None, "lqsw", "", &["mathlib", "quiet"]),
    program("lsof", OperandKind::None, "nPtU", "ipu", &[]),
    program("readlink", Names, "efmnqsvz", "", &[]),
    program("basename", Text, "az", "s", &[]),
    program("dirname", Text, "z", "", &[]),
    program("pwd", OperandKind::None, "LP", "", &[]),
    program("whoami", OperandKind::None, "", "", &[]),
    program("id", Text, "Ggnru", "", &[]),
    program("uname", OperandKind::None, "amnoprsv", "", &[]),
    program("hostname", OperandKind::None, "fis", "", &[]),
    program("nproc", OperandKind::None, "", "", &["all"]),
    program("uptime", OperandKind::None, "ps", "", &[]),
    program("free", OperandKind::None, "bghkmt", "", &[]),
    program("true", Text, "", "", &[]),
    program("false", Text, "", "", &[]),
    program("sleep", Text, "", "", &[]),
    program("seq", Text, "w", "fs", &[]),
    program("expr", Text, "", "", &[]),
    program("which", Text, "a", "", &["all"]),
    program("type", Text, "afptP", "", &[]),
    program("help", Text, "dms", "", &[]),
    program("getconf", Text, "a", "", &[]),
    program("tput", Text, "", "", &[]),
    program("pgrep", Text, "acfilnovx", "uUtPgG", &[]),
    program("ss", Text, "046aehilmnopstuwx", "", &["listening", "numeric", "processes", "summary", "tcp", "udp", "all"]),
    program("fd", PatternThenContent, "aFgHIips0", "dEet", FD),
    program("fdfind", PatternThenContent, "aFgHIips0", "dEet", FD),
    program("tsort", Content, "", "", &[]),
    program("numfmt", Text, "", "", &["to=", "from=", "suffix=", "field=", "grouping"]),
    program("date", OperandKind::None, "uR", "", &["utc", "iso-8601", "iso-8601=", "rfc-3339=", "rfc-email"]),
];

/// Programs of which no option, known here or not, writes a file, runs a program or shows more than a search does.
#[rustfmt::skip]
const HARMLESS_OPTIONS: &[&str] = &[
    "ls", "cat", "head", "tail", "wc", "du", "df", "stat", "nl", "tac", "rev", "cut", "paste", "fold", "fmt", "comm", "cmp", "od", "hexdump",
    "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "sum", "base64", "grep", "egrep", "fgrep",
    "realpath", "readlink", "expand", "unexpand", "column",
];

/// What `words` would look at, `None` when it is not known to only read.
pub(crate) fn looks(words: &[ShellWord]) -> Option<Vec<ReadAccess<'_>>> {
    let (name, arguments) = words.split_first()?;
    // A quoted name or a path could be anything; the table lists programs that the shell finds by name.
    if name.quoted || has_option_like_name(name, arguments) {
        return None;
    }
    match name.raw.as_str() {
        "echo" | "printf" => echo(&name.raw, arguments),
        "cd" => enter(arguments),
        "pushd" => enter(arguments).filter(|_| !arguments[0].text.starts_with('+')),
        // Of `read` the relaxed reading leaves only the name, once it knows the variables.
        "popd" | "read" if arguments.is_empty() => Some(Vec::new()),
        "git" => listing::looks("git", arguments).or_else(|| git_looks(arguments)),
        "find" => find::looks(arguments).or_else(|| listing::looks("find", arguments)),
        "tar" => archives::tar(arguments).or_else(|| listing::looks("tar", arguments)),
        "unzip" | "gzip" | "gunzip" | "xz" | "unxz" | "bzip2" | "bunzip2" | "zstd" | "unzstd" => {
            archives::unpacked(&name.raw, arguments).or_else(|| listing::looks(&name.raw, arguments))
        }
        "openssl" => archives::certificate(arguments).or_else(|| listing::looks("openssl", arguments)),
        "sed" => script_languages::sed(arguments).or_else(|| listing::looks("sed", arguments)),
        "awk" | "gawk" => script_languages::awk(arguments).or_else(|| listing::looks("awk", arguments)),
        "jq" => script_languages::jq(arguments).or_else(|| listing::looks("jq", arguments)),
        "yq" => script_languages::yq(arguments).or_else(|| listing::looks("yq", arguments)),
        "docker" | "podman" => docker::looks(arguments).or_else(|| listing::looks("docker", arguments)),
        "man" => man(arguments),
        // Without variables it prints the whole environment.
        "printenv" => {
            (!arguments.is_empty() && arguments.iter().all(|word| variables::is_printable(&word.raw))).then(Vec::new)
        }
        "command" => resolved(arguments),
        "date" => date(arguments),
        "test" => test(arguments),
        "[" => test(arguments.split_last().filter(|(last, _)| last.raw == "]")?.1),
        raw => match PROGRAMS.iter().find(|program| program.name == raw) {
            Some(program) => program.looks(arguments),
            None => listing::looks(raw, arguments),
        },
    }
}

/// Whether a name that the shell put in the place of a pattern may be taken for an option. In which order the shell puts
/// them depends on the locale, so that nothing is said about what such an option would be given.
fn has_option_like_name(program: &ShellWord, arguments: &[ShellWord]) -> bool {
    let is_option = |word: &ShellWord| word.matched && word.text.starts_with('-');
    let ends_options = program.raw == "git"
        || (PROGRAMS.iter().any(|known| known.name == program.raw) && !matches!(program.raw.as_str(), "tree" | "xxd"));
    let end = |word: &ShellWord| ends_options && word.text == "--" && !word.matched;
    program.raw != "echo" && arguments.iter().take_while(|word| !end(word)).any(is_option)
}

impl ReadOnlyProgram {
    fn looks<'a>(&self, arguments: &'a [ShellWord]) -> Option<Vec<ReadAccess<'a>>> {
        // `less +!COMMAND file`: what a pager is told to do first.
        if matches!(self.name, "less" | "more") && arguments.iter().any(|word| word.text.starts_with('+')) {
            return None;
        }
        if matches!(arguments, [only] if matches!(only.raw.as_str(), "--help" | "--version")) {
            return Some(Vec::new());
        }
        let mut operands = Vec::new();
        let mut pattern_given = false;
        let mut recursive = matches!(self.name, "rg" | "ag");
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            if word.text == "--" && !word.quoted {
                operands.extend(rest.by_ref());
            } else if word.text == "-" || !word.text.starts_with('-') {
                operands.push(word);
            } else {
                let option = self.option(word)?;
                pattern_given |=
                    option.letter == Some('e') || option.long == Some("regexp") || option.long == Some("files");
                recursive |= option.long == Some("recursive");
                if option.needs_value {
                    let value = rest.next()?;
                    if value.glob || value.tilde || value.substituted.is_some() {
                        return None;
                    }
                }
            }
        }
        if self.operands == PatternThenContent && !pattern_given {
            if operands.first().is_none_or(|pattern| pattern.glob || pattern.matched || pattern.substituted.is_some()) {
                return None;
            }
            operands.remove(0);
        }
        let searches = recursive && (self.operands == PatternThenContent || self.name == "diff");
        self.judge(&operands, searches)
    }

    fn judge<'a>(&self, operands: &[&'a ShellWord], searches: bool) -> Option<Vec<ReadAccess<'a>>> {
        match self.operands {
            OperandKind::None if !operands.is_empty() => None,
            OneFile if operands.len() > 1 || operands.iter().any(|word| word.glob) => None,
            // Text is printed, but an unquoted pattern prints file names.
            OperandKind::None | Text => Some(operands.iter().filter_map(|word| expanded(word)).collect()),
            Content | Names | OneFile | PatternThenContent => {
                // GNU binutils read further arguments from `@file`.
                if matches!(self.name, "strings" | "nm" | "size" | "objdump" | "readelf")
                    && operands.iter().any(|word| word.text.starts_with('@'))
                {
                    return None;
                }
                let content = self.operands != Names;
                // A name that matches the pattern could be an option; the caller did not look up the names.
                let may_be_option = |word: &&ShellWord| word.glob && word.text.starts_with(['*', '?', '[', '-']);
                if !HARMLESS_OPTIONS.contains(&self.name) && operands.iter().any(may_be_option) {
                    return None;
                }
                let mut looks: Vec<_> =
                    operands.iter().filter(|word| word.text != "-").map(|word| look(word, content)).collect();
                if searches {
                    looks.push(ReadAccess::Search(None));
                    looks.extend(operands.iter().map(|word| ReadAccess::Search(Some(word))));
                }
                Some(looks)
            }
        }
    }

    fn option<'a>(&self, word: &'a ShellWord) -> Option<ParsedOption<'a>> {
        if word.glob && !word.text.contains('=') {
            return None;
        }
        if let Some(long) = word.text.strip_prefix("--") {
            let name = long.split_once('=').map_or(long, |(name, _)| name);
            let inline = long.contains('=');
            let required = |form: &str| form.strip_suffix(':') == Some(name);
            let known = |form: &&str| {
                required(form) || if inline { form.strip_suffix('=') == Some(name) } else { *form == name }
            };
            let form = self.long.iter().find(|form| known(form))?;
            return Some(ParsedOption { letter: None, long: Some(name), needs_value: !inline && required(form) });
        }
        let mut recursive = None;
        for (at, letter) in word.text[1..].char_indices() {
            if self.valued.contains(letter) {
                let inline = at + letter.len_utf8() < word.text.len() - 1;
                return Some(ParsedOption { letter: Some(letter), long: recursive, needs_value: !inline });
            }
            if !self.flags.contains(letter) {
                return None;
            }
            if letter == 'r' {
                recursive = Some("recursive");
            }
        }
        Some(ParsedOption { letter: None, long: recursive, needs_value: false })
    }
}

struct ParsedOption<'a> {
    letter: Option<char>,
    long: Option<&'a str>,
    needs_value: bool,
}

fn look(word: &ShellWord, content: bool) -> ReadAccess<'_> {
    if word.glob {
        ReadAccess::Glob { word, content }
    } else if word.matched && !content {
        ReadAccess::Listed(word)
    } else {
        ReadAccess::Path(word)
    }
}

fn expanded(word: &ShellWord) -> Option<ReadAccess<'_>> {
    (word.glob || word.matched).then(|| look(word, false))
}

/// Whether a program is in the table of those that only read.
pub(crate) fn is_reader(program: &str) -> bool {
    PROGRAMS.iter().any(|known| known.name == program)
}

/// Whether a program shows the names and facts of its operands, whatever they are.
pub(crate) fn shows_names(program: &str) -> bool {
    program == "echo"
        || (HARMLESS_OPTIONS.contains(&program)
            && PROGRAMS.iter().any(|known| known.name == program && known.operands == Names))
}

/// Whether a program shows the content of its operands, and does nothing else with them.
pub(crate) fn shows_content(program: &str) -> bool {
    PROGRAMS
        .iter()
        .any(|known| known.name == program && matches!(known.operands, Content | PatternThenContent | OneFile))
}

fn echo<'a>(name: &str, arguments: &'a [ShellWord]) -> Option<Vec<ReadAccess<'a>>> {
    // `printf -v` assigns a variable.
    let may_assign = |word: &ShellWord| {
        word.glob || word.matched || word.text.contains("%n") || (word.text.starts_with('-') && word.text != "--")
    };
    let assigns = name == "printf" && arguments.first().is_some_and(may_assign);
    (!assigns).then(|| arguments.iter().filter_map(expanded).collect())
}

/// A page by its name; anything else may be a file or choose a pager.
fn man(arguments: &[ShellWord]) -> Option<Vec<ReadAccess<'_>>> {
    let arguments = match arguments {
        [search, rest @ ..] if matches!(search.raw.as_str(), "-k" | "-f") && !rest.is_empty() => rest,
        arguments => arguments,
    };
    let plain = |word: &ShellWord| word.text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+'));
    let named = |word: &ShellWord| !word.text.is_empty() && !word.text.starts_with('-') && plain(word);
    (!arguments.is_empty() && arguments.len() < 3 && arguments.iter().all(named)).then(Vec::new)
}

/// `command -v`: where a name leads.
fn resolved(arguments: &[ShellWord]) -> Option<Vec<ReadAccess<'_>>> {
    let (flag, names) = arguments.split_first()?;
    let asks = matches!(flag.raw.as_str(), "-v" | "-V") && !names.iter().any(|word| word.glob || word.tilde);
    asks.then(Vec::new)
}

fn enter(arguments: &[ShellWord]) -> Option<Vec<ReadAccess<'_>>> {
    match arguments {
        [dir] if !dir.glob && !dir.text.is_empty() && !dir.text.starts_with('-') => Some(vec![ReadAccess::Enter(dir)]),
        _ => None,
    }
}

fn git_looks(arguments: &[ShellWord]) -> Option<Vec<ReadAccess<'_>>> {
    let git::GitReadCall { call, operands } = git::read_call(arguments)?;
    let elsewhere = call.directory.is_some();
    let mut looks = vec![ReadAccess::Repository(call)];
    // A file with credentials that is named, and whose content is shown.
    if git::shows_content(arguments) {
        for word in arguments.iter().filter(|word| git::names_secret(&word.text)) {
            if elsewhere || word.text.contains(':') {
                return None;
            }
            looks.push(ReadAccess::Path(word));
        }
    }
    // Two files or folders, wherever they are.
    if arguments.iter().any(|word| word.text == "--no-index") {
        looks.extend(operands.into_iter().map(|word| ReadAccess::Search(Some(word))));
        return (!elsewhere).then_some(looks);
    }
    // Revisions look like relative paths; what could only be a path outside is checked as one.
    let outside = |word: &&ShellWord| {
        let parts = word.text.split('/');
        word.text.starts_with(['/', '~']) || parts.clone().any(|part| part == "..")
    };
    let mut paths = operands.into_iter().filter(outside).peekable();
    // With `-C` relative paths begin in another directory.
    if elsewhere && paths.peek().is_some() {
        return None;
    }
    looks.extend(paths.map(ReadAccess::Path));
    Some(looks)
}

fn date(arguments: &[ShellWord]) -> Option<Vec<ReadAccess<'_>>> {
    let options = ["-u", "-R", "--utc", "--iso-8601", "-Iseconds", "-I", "-Iminutes", "-Ihours", "-Idate"];
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        // Without a plus sign an operand sets the clock.
        let given = matches!(text, "-d" | "--date") && rest.next().is_some();
        if !given && !text.starts_with('+') && !text.starts_with("--date=") && !options.contains(&text) {
            return None;
        }
    }
    Some(Vec::new())
}

/// Tests of files and texts; `-v` and arithmetic comparisons evaluate their operands.
fn test(arguments: &[ShellWord]) -> Option<Vec<ReadAccess<'_>>> {
    if arguments.iter().any(|word| word.glob || word.tilde) {
        return None;
    }
    match arguments {
        [not, rest @ ..] if not.raw == "!" && !rest.is_empty() => test(rest),
        [flag, path] if matches!(flag.raw.as_str(), "-e" | "-f" | "-d" | "-r" | "-w" | "-x" | "-s" | "-L") => {
            Some(vec![ReadAccess::Path(path)])
        }
        [flag, _] if matches!(flag.raw.as_str(), "-z" | "-n") => Some(Vec::new()),
        [_, operator, _] if matches!(operator.raw.as_str(), "=" | "==" | "!=") => Some(Vec::new()),
        [left, operator, right] if matches!(operator.raw.as_str(), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") => {
            (is_number(left) && is_number(right)).then(Vec::new)
        }
        _ => None,
    }
}

fn is_number(word: &ShellWord) -> bool {
    let digits = !word.text.is_empty() && word.text.chars().all(|c| c.is_ascii_digit());
    digits || (!word.variables.is_empty() && matches!(word.text.as_str(), "${?}" | "${#}"))
}
