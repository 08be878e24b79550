//! The tables. Only options that surely take a value are listed as such: to take a file for a value would lose it.

/// What the words of a program that are no options stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReaderOperands {
    Files,
    /// A pattern or a script, then files.
    PatternThenFiles,
    /// Files, then where they go.
    Sources,
}

pub(super) struct ReadingProgram {
    pub(super) name: &'static str,
    pub(super) operands: ReaderOperands,
    /// Short options with a value.
    pub(super) valued: &'static str,
    /// Long options with a value, in the same word or the next.
    pub(super) long: &'static [&'static str],
    /// Short options whose value is a file that is read.
    pub(super) file: &'static str,
    /// Long options whose value is a file that is read.
    pub(super) long_file: &'static [&'static str],
}

const fn plain(name: &'static str, valued: &'static str, long: &'static [&'static str]) -> ReadingProgram {
    ReadingProgram { name, operands: ReaderOperands::Files, valued, long, file: "", long_file: &[] }
}

const fn sources(name: &'static str, valued: &'static str, long: &'static [&'static str]) -> ReadingProgram {
    ReadingProgram { name, operands: ReaderOperands::Sources, valued, long, file: "", long_file: &[] }
}

#[rustfmt::skip]
const GREP_LONG: &[&str] = &[
    "regexp", "max-count", "context", "after-context", "before-context", "include", "exclude", "exclude-dir", "label", "directories",
    "devices", "binary-files",
];

#[rustfmt::skip]
const RG_LONG: &[&str] = &[
    "regexp", "max-count", "context", "after-context", "before-context", "glob", "iglob", "type", "type-not", "type-add", "sort",
    "sortr", "max-depth", "maxdepth", "max-columns", "max-filesize", "color", "colors", "threads", "replace", "encoding", "engine", "pre-glob",
];

#[rustfmt::skip]
pub(super) const READERS: &[ReadingProgram] = &[
    plain("cat", "", &[]), plain("tac", "s", &[]), plain("rev", "", &[]), plain("less", "", &[]), plain("more", "n", &[]),
    plain("bat", "lrHm", &["language", "line-range", "style", "theme", "highlight-line"]), plain("batcat", "lrHm", &[]),
    plain("head", "nc", &["lines", "bytes"]), plain("tail", "ncs", &["lines", "bytes", "pid", "sleep-interval"]),
    plain("nl", "bdfhilnsvw", &[]), plain("wc", "", &[]),
    ReadingProgram { name: "sort", operands: ReaderOperands::Files, valued: "kStTo", long: &["key", "field-separator", "output", "buffer-size", "temporary-directory", "parallel"], file: "", long_file: &["random-source"] },
    plain("uniq", "fsw", &[]), plain("cut", "bcdf", &["bytes", "characters", "delimiter", "fields", "output-delimiter"]),
    plain("paste", "d", &["delimiters"]), plain("join", "12aeojtv", &[]), plain("comm", "", &["output-delimiter"]), plain("column", "cos", &[]),
    plain("fold", "w", &["width"]), plain("fmt", "wgp", &["width"]), plain("pr", "DhlNowW", &[]), plain("expand", "t", &["tabs"]), plain("unexpand", "t", &["tabs"]),
    plain("od", "AjNSt", &[]), plain("xxd", "cglosR", &[]), plain("hexdump", "ensf", &[]), plain("hd", "ensf", &[]), plain("strings", "netT", &["bytes", "encoding", "radix"]),
    plain("base64", "w", &["wrap"]), plain("base32", "w", &["wrap"]), plain("basenc", "w", &["wrap"]),
    plain("md5sum", "", &[]), plain("sha1sum", "", &[]), plain("sha224sum", "", &[]), plain("sha256sum", "", &[]), plain("sha384sum", "", &[]),
    plain("sha512sum", "", &[]), plain("shasum", "a", &[]), plain("b2sum", "l", &[]), plain("cksum", "a", &[]), plain("sum", "", &[]),
    plain("file", "eFmP", &["exclude", "separator", "parameter"]), plain("tsort", "", &[]), plain("look", "", &[]), plain("iconv", "ft", &["from-code", "to-code"]),
    plain("split", "abClnt", &["suffix-length", "bytes", "lines", "number", "additional-suffix", "filter", "separator"]), plain("csplit", "bfn", &[]),
    plain("zcat", "", &[]), plain("gzip", "S", &["suffix"]), plain("bzip2", "", &[]), plain("xz", "", &[]), plain("zstd", "", &[]),
    plain("source", "", &[]), plain(".", "", &[]), plain("view", "", &[]), plain("vimdiff", "", &[]), plain("colordiff", "", &[]), plain("sdiff", "", &[]), plain("diff3", "", &[]),
    plain("cmp", "ijn", &["ignore-initial", "bytes"]), plain("shuf", "nio", &["head-count", "input-range", "output", "random-source"]),
    plain("ls", "wTI", &["ignore", "hide", "width", "tabsize", "color", "sort", "time-style", "format", "block-size"]),
    ReadingProgram { name: "diff", operands: ReaderOperands::Files, valued: "UCxIFWX", long: &["unified", "context", "exclude", "ignore-matching-lines", "label", "width", "color", "tabsize"], file: "", long_file: &["from-file", "to-file", "exclude-from"] },
    ReadingProgram { name: "grep", operands: ReaderOperands::PatternThenFiles, valued: "eABCmdD", long: GREP_LONG, file: "f", long_file: &["file", "exclude-from"] },
    ReadingProgram { name: "rg", operands: ReaderOperands::PatternThenFiles, valued: "eABCmgtTjMrEd", long: RG_LONG, file: "f", long_file: &["file", "ignore-file"] },
    ReadingProgram { name: "sed", operands: ReaderOperands::PatternThenFiles, valued: "el", long: &["expression", "line-length"], file: "f", long_file: &["file"] },
    ReadingProgram { name: "awk", operands: ReaderOperands::PatternThenFiles, valued: "Fv", long: &["field-separator", "assign"], file: "fE", long_file: &["file", "exec"] },
    ReadingProgram { name: "jq", operands: ReaderOperands::PatternThenFiles, valued: "", long: &["indent"], file: "fL", long_file: &["from-file"] },
    ReadingProgram { name: "yq", operands: ReaderOperands::PatternThenFiles, valued: "opI", long: &["output-format", "input-format", "indent"], file: "", long_file: &["from-file"] },
    sources("cp", "St", &["suffix", "target-directory"]), sources("mv", "St", &["suffix", "target-directory"]), sources("ln", "St", &["suffix", "target-directory"]),
    sources("install", "mogSt", &["mode", "owner", "group", "suffix", "target-directory"]), sources("link", "", &[]),
    sources("scp", "cFiJloPSX", &[]),
    sources("rsync", "efBMT", &["rsh", "exclude", "include", "filter", "bwlimit", "timeout", "max-size", "min-size", "chmod", "log-file", "info", "port"]),
    plain("zless", "", &[]), plain("ul", "tT", &[]), plain("colcrt", "", &[]), plain("ptx", "FMSbgiow", &[]), plain("most", "", &[]), plain("pg", "", &[]),
    plain("hexyl", "nslw", &[]), plain("glow", "sw", &[]), plain("mdcat", "", &[]), plain("highlight", "OSi", &[]), plain("pygmentize", "lfFOPo", &[]),
    plain("lolcat", "psS", &[]), plain("ccat", "", &[]), plain("wdiff", "", &[]), plain("icdiff", "", &[]), plain("delta", "", &[]), plain("difft", "", &[]),
    plain("pv", "LBNDdiswH", &[]), plain("uuencode", "", &[]), plain("enscript", "bBfFopP", &[]), plain("a2ps", "o", &[]), plain("recode", "", &[]),
    plain("aspell", "", &[]), plain("spell", "", &[]), plain("xmllint", "", &["xpath", "output", "schema"]), plain("tidy", "of", &[]), plain("gron", "", &[]),
    plain("fx", "", &[]), plain("mlr", "", &[]), plain("m4", "DIU", &[]), plain("cpp", "DIUo", &[]), plain("troff", "", &[]), plain("groff", "mTPLwWfFMo", &[]), plain("nroff", "", &[]),
    plain("lpr", "P#", &[]), plain("lp", "dn", &[]), plain("wall", "", &[]), plain("vis", "", &[]), plain("rhash", "", &[]), plain("b3sum", "", &[]), plain("crc32", "", &[]),
    plain("nm", "", &[]), plain("objdump", "jM", &[]), plain("readelf", "xpR", &[]), plain("size", "", &[]), plain("numfmt", "d", &[]), plain("csvlook", "", &[]),
    ReadingProgram { name: "logger", operands: ReaderOperands::PatternThenFiles, valued: "tpnPu", long: &[], file: "f", long_file: &["file"] },
    ReadingProgram { name: "ack", operands: ReaderOperands::PatternThenFiles, valued: "ABCmtT", long: &["match", "type", "output"], file: "", long_file: &["files-from"] },
    ReadingProgram { name: "qrencode", operands: ReaderOperands::PatternThenFiles, valued: "olmsvd", long: &["output"], file: "r", long_file: &["read-from"] },
    ReadingProgram { name: "mail", operands: ReaderOperands::PatternThenFiles, valued: "sbcr", long: &["subject"], file: "Aq", long_file: &["attach"] },
    ReadingProgram { name: "gh", operands: ReaderOperands::Files, valued: "RtbflL", long: &["repo", "title", "body", "json", "jq", "limit"], file: "F", long_file: &["body-file", "notes-file", "input"] },
    plain("7z", "", &[]), plain("ar", "", &[]), plain("pax", "fos", &[]), plain("aws", "", &["profile", "region", "output", "query"]),
    ReadingProgram { name: "zip", operands: ReaderOperands::Files, valued: "btnP", long: &[], file: "", long_file: &[] },
];

/// Other names of the same programs.
const ALIASES: &[(&str, &str)] = &[
    ("egrep", "grep"),
    ("fgrep", "grep"),
    ("zgrep", "grep"),
    ("ripgrep", "rg"),
    ("ag", "ack"),
    ("ugrep", "ack"),
    ("ug", "ack"),
    ("rgrep", "ack"),
    ("7za", "7z"),
    ("7zz", "7z"),
    ("mailx", "mail"),
    ("mutt", "mail"),
    ("gsed", "sed"),
    ("gawk", "awk"),
    ("mawk", "awk"),
    ("nawk", "awk"),
    ("pcregrep", "grep"),
    ("dir", "ls"),
    ("vdir", "ls"),
    ("bzcat", "zcat"),
    ("xzcat", "zcat"),
    ("gcat", "cat"),
    ("zstdcat", "zcat"),
    ("lzcat", "zcat"),
    ("lz4cat", "zcat"),
    ("gzcat", "zcat"),
    ("unzstd", "zstd"),
    ("lz4", "zstd"),
    ("gunzip", "gzip"),
    ("bunzip2", "bzip2"),
    ("unxz", "xz"),
    ("unlzma", "xz"),
    ("lzma", "xz"),
    ("lzop", "xz"),
    ("brotli", "xz"),
    ("zmore", "zless"),
    ("xzless", "zless"),
    ("xzmore", "zless"),
    ("bzless", "zless"),
    ("bzmore", "zless"),
    ("lzless", "zless"),
    ("zstdless", "zless"),
    ("bzgrep", "grep"),
    ("bzegrep", "grep"),
    ("xzgrep", "grep"),
    ("lzgrep", "grep"),
    ("zegrep", "grep"),
    ("zfgrep", "grep"),
    ("zstdgrep", "grep"),
    ("pcre2grep", "grep"),
    ("ggrep", "grep"),
    ("zdiff", "diff"),
    ("zcmp", "cmp"),
    ("xzdiff", "diff"),
    ("bzdiff", "diff"),
    ("xzcmp", "cmp"),
    ("bzcmp", "cmp"),
    ("ghead", "head"),
    ("gtail", "tail"),
    ("gsort", "sort"),
    ("exa", "ls"),
    ("eza", "ls"),
    ("lsd", "ls"),
];

pub(super) fn find(program: &str) -> Option<&'static ReadingProgram> {
    let name = ALIASES.iter().find(|(other, _)| *other == program).map_or(program, |(_, name)| name);
    READERS.iter().find(|reader| reader.name == name)
}
