//! Options and operands that make a program write a file or run another program, with abbreviations of long options,
//! clustered short ones and values in the same word. An option counts as soon as it may be meant.

mod programs;

/// What a program would write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WrittenFiles {
    pub(crate) files: Vec<String>,
    /// Files that are written without an option that says so, such as the name in the address of a download. A rule
    /// that allows the program allows them, unless they are protected.
    pub(crate) implied: Vec<String>,
    /// An option makes the program start another one, or hands it options that the command does not show.
    pub(crate) runs: bool,
    /// It writes into its working directory, under names that are not in the command.
    pub(crate) unnamed: bool,
}

impl WrittenFiles {
    /// Everything that has a name.
    pub(crate) fn all(self) -> impl Iterator<Item = String> {
        self.files.into_iter().chain(self.implied)
    }
}

struct WritingProgram {
    names: &'static [&'static str],
    /// Short options whose value is a file that is written.
    short: &'static str,
    /// Other short options with a value: the rest of their word is no option.
    valued: &'static str,
    /// Long options whose value is a file that is written.
    long: &'static [&'static str],
    /// Long options of the same program that begin alike and write nothing.
    other: &'static [&'static str],
    /// Options whose value is run.
    runs: &'static [&'static str],
    operand: WrittenOperand,
}

/// Operands that are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WrittenOperand {
    None,
    /// Every one.
    All,
    /// The first.
    First,
    /// The second.
    Second,
    /// The last of several.
    Last,
}

const fn writer(
    names: &'static [&'static str],
    short: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
) -> WritingProgram {
    WritingProgram { names, short, valued, long, other: &[], runs: &[], operand: WrittenOperand::None }
}

#[rustfmt::skip]
const WRITERS: &[WritingProgram] = &[
    WritingProgram { runs: &["compress-program"], ..writer(&["sort"], "o", "kStT", &["output"]) },
    writer(&["shuf"], "o", "ni", &["output"]),
    writer(&["tree"], "o", "LPIHT", &["output"]),
    WritingProgram { other: &["output-dir", "create-dirs", "create-file-mode", "dump-header", "trace-time", "trace-ids", "trace-config", "stderr"], ..writer(&["curl"], "oDc",
        "AbCdeEFHhKmPQrRtTuUwxXyYz", &["output", "dump-header", "cookie-jar", "stderr", "trace", "trace-ascii", "libcurl", "etag-save", "hsts", "alt-svc", "output-dir"]) },
    WritingProgram { runs: &["use-askpass"], ..writer(&["wget"], "OoaP", "eiBtTwQUADRIXl", &["output-document", "output-file", "append-output", "directory-prefix", "save-cookies", "warc-file", "rejected-log", "hsts-file"]) },
    WritingProgram { operand: WrittenOperand::All, ..writer(&["tee", "sponge"], "", "", &[]) },
    WritingProgram { operand: WrittenOperand::Second, ..writer(&["uniq"], "", "fsw", &[]) },
    WritingProgram { operand: WrittenOperand::Second, ..writer(&["xxd"], "", "cglosR", &[]) },
    WritingProgram { runs: &["filter"], operand: WrittenOperand::Second, ..writer(&["split"], "", "abClnt", &[]) },
    writer(&["csplit"], "f", "bn", &["prefix"]),
    WritingProgram { operand: WrittenOperand::Last, ..writer(&["objcopy", "strip"], "o", "IOFBjRKNGLW", &["add-gnu-debuglink", "extract-dwo", "split-debug"]) },
    writer(&["gpg", "gpg2"], "o", "ru", &["output", "logger-file", "status-file", "attribute-file"]),
    WritingProgram { operand: WrittenOperand::Last, ..writer(&["ffmpeg"], "", "", &[]) },
    WritingProgram { operand: WrittenOperand::Last, ..writer(&["convert", "magick", "pandoc"], "o", "", &["output", "extract-media"]) },
    WritingProgram { operand: WrittenOperand::Last, ..writer(&["qpdf", "wkhtmltopdf", "montage"], "", "", &[]) },
    WritingProgram { operand: WrittenOperand::Second, ..writer(&["pdftotext", "ps2pdf", "lessc", "sass"], "", "fl", &[]) },
    WritingProgram { operand: WrittenOperand::Second, ..writer(&["7z", "7za", "ar", "jar"], "", "", &[]) },
    writer(&["cwebp", "dwebp", "rsvg-convert", "brotli", "terser", "uglifyjs", "yt-dlp", "youtube-dl"], "o", "", &["output"]),
    writer(&["aria2c"], "od", "ijsxk", &["out", "dir", "log"]),
    writer(&["gcc", "cc", "clang", "g++", "c++", "clang++", "ld", "as", "rustc", "tsc", "esbuild"], "o", "", &["output", "outfile", "out-dir", "outdir"]),
    writer(&["strace", "ltrace"], "o", "", &["output"]),
    writer(&["perf"], "o", "", &["output"]),
    writer(&["yq"], "", "", &["split-exp"]),
    writer(&["jq"], "", "", &["output"]),
    writer(&["dot", "neato", "plantuml"], "o", "", &[]),
    writer(&["diff"], "", "", &["output"]),
    writer(&["patch"], "or", "", &["output", "reject-file"]),
    writer(&["iconv"], "o", "ft", &["output"]),
    writer(&["bison", "flex", "yacc", "swig", "protoc"], "o", "", &["output", "outfile", "descriptor_set_out"]),
    writer(&["time"], "o", "f", &["output"]),
    writer(&["less"], "oO", "", &["log-file", "LOG-FILE"]),
    WritingProgram { runs: &["to-command", "use-compress-program", "info-script", "new-volume-script", "rmt-command", "rsh-command", "checkpoint-action"],
        ..writer(&["tar", "bsdtar"], "", "", &["index-file", "listed-incremental"]) },
    WritingProgram { runs: &["rsh", "rsync-path"], ..writer(&["rsync"], "", "", &["log-file", "write-batch", "only-write-batch", "backup-dir"]) },
    WritingProgram { runs: &["unzip-command"], operand: WrittenOperand::First, ..writer(&["zip"], "O", "xi", &["output-file", "logfile-path"]) },
    WritingProgram { operand: WrittenOperand::All, ..writer(&["script"], "IOBTtm", "cE", &["log-in", "log-out", "log-io", "log-timing"]) },
    WritingProgram { operand: WrittenOperand::All, ..writer(&["mkfifo", "mknod"], "", "m", &[]) },
    writer(&["zstd", "lz4", "base64", "base32", "xsltproc", "msgfmt", "hg", "m4", "tidy"], "o", "", &["output", "output-file"]),
    writer(&["xmllint"], "o", "", &["output"]),
    writer(&["psql"], "oL", "cdfFhpPRTUv", &["output", "log-file"]),
    writer(&["mysql"], "", "", &["tee"]),
    writer(&["valgrind"], "", "", &["log-file", "xml-file"]),
    writer(&["tcpdump", "tshark"], "w", "cirCsGWzZ", &[]),
    writer(&["cpio"], "OF", "CHIMR", &["file"]),
    WritingProgram { runs: &["pre", "hostname-bin"], ..writer(&["rg"], "", "eABCgmtTjM", &[]) },
];

/// Programs that are run in order to write: a rule that allows them allows that.
pub(crate) fn exists_to_write(program: &str) -> bool {
    #[rustfmt::skip]
    const PROGRAMS: &[&str] = &[
        "tee", "sponge", "dd", "split", "csplit", "objcopy", "strip", "ffmpeg", "convert", "magick", "gcc", "cc", "clang", "g++", "c++",
        "clang++", "ld", "as", "rustc", "go", "tsc", "esbuild", "tar", "bsdtar", "zip", "patch", "bison", "flex", "yacc", "swig", "protoc",
        "ssh-keygen", "keytool", "rsync", "dot", "neato", "plantuml", "pandoc", "script", "mkfifo", "mknod", "zstd", "lz4", "tcpdump", "tshark", "cpio",
        "black", "isort", "rustfmt", "dos2unix", "unix2dos", "prettier", "gofmt", "goimports", "clang-format", "autopep8", "yapf", "shfmt", "msgfmt", "m4",
        "gzip", "gunzip", "pigz", "unpigz", "bzip2", "bunzip2", "pbzip2", "lbzip2", "xz", "unxz", "pixz", "lzma", "unlzma", "lzip", "plzip",
        "compress", "uncompress", "unzstd", "zstdmt", "unlz4", "brotli", "qpdf", "wkhtmltopdf", "montage", "mogrify", "pdftotext", "ps2pdf",
        "lessc", "sass", "7z", "7za", "ar", "jar", "cwebp", "dwebp", "rsvg-convert", "terser", "uglifyjs", "yt-dlp", "youtube-dl", "aria2c",
        "cjpeg", "djpeg", "jpegtran", "javac", "kotlinc", "scalac", "gs",
    ];
    PROGRAMS.contains(&program)
}

/// Programs that put their result in the place of the files they are given, with the options that make them do so.
#[rustfmt::skip]
const REWRITERS: &[(&[&str], &str, &[&str])] = &[
    (&["perl", "ruby"], "i", &[]),
    (&["yq"], "i", &["--inplace"]),
    (&["tidy"], "m", &["--modify"]),
    (&["gofmt", "goimports", "shfmt", "prettier"], "w", &["--write"]),
    (&["clang-format", "autopep8", "yapf"], "i", &["--in-place"]),
    (&["gawk", "awk"], "", &["--include=inplace", "inplace", "-iinplace"]),
];
const ALWAYS_REWRITING: &[&str] = &["black", "isort", "rustfmt", "dos2unix", "unix2dos", "mogrify"];

fn rewrites(program: &str, arguments: &[String]) -> bool {
    if ALWAYS_REWRITING.contains(&program) {
        return !arguments
            .iter()
            .any(|word| matches!(word.as_str(), "--check" | "--diff" | "--version" | "--help" | "-n"));
    }
    REWRITERS.iter().filter(|(programs, ..)| programs.contains(&program)).any(|(_, letters, long)| {
        arguments.iter().any(|word| {
            let clustered = word.starts_with('-') && !word.starts_with("--") && word.len() > 1;
            long.contains(&word.as_str()) || (clustered && letters.chars().any(|c| in_cluster(word, c, "eEIMxCDF0l")))
        })
    })
}

/// The operands of such a call, without its script.
fn rewritten(program: &str, arguments: &[String]) -> Vec<String> {
    let (valued, script): (&[char], bool) = match program {
        "perl" | "ruby" => (&['e', 'E'], false),
        "awk" | "gawk" => (&['i', 'v', 'F'], true),
        "yq" => (&[], true),
        _ => (&[], false),
    };
    let mut operands = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        if !word.starts_with('-') {
            operands.push(word.clone());
        } else if !word.starts_with("--") && word.ends_with(valued) {
            rest.next();
        }
    }
    operands.drain(..usize::from(script && !operands.is_empty()));
    operands
}

/// `curl -w '%output{file}…'`.
fn curl_format(arguments: &[String], outputs: &mut WrittenFiles) {
    for (_, rest) in
        arguments.iter().flat_map(|word| word.match_indices("%output{").map(move |(at, _)| (at, &word[at + 8..])))
    {
        let file = rest.split('}').next().unwrap_or_default();
        outputs.files.push(file.trim_start_matches(">>").to_owned());
    }
}

/// What `program` would write with these arguments.
pub(crate) fn written_by(program: &str, arguments: &[String]) -> WrittenFiles {
    let mut outputs = WrittenFiles::default();
    match program {
        "git" => git(arguments, &mut outputs),
        "dd" => outputs.files.extend(arguments.iter().filter_map(|word| word.strip_prefix("of=")).map(str::to_owned)),
        "sed" | "gsed" => sed(arguments, &mut outputs),
        "awk" | "gawk" | "mawk" | "nawk" => awk(arguments, &mut outputs),
        "find" => {
            for (at, word) in arguments.iter().enumerate() {
                if matches!(word.as_str(), "-fprint" | "-fprint0" | "-fprintf" | "-fls") {
                    outputs.files.extend(arguments.get(at + 1).cloned());
                }
            }
        }
        "history" => {
            let writes = arguments.iter().any(|word| word.starts_with('-') && word.contains(['w', 'a']));
            outputs.files.extend(arguments.iter().filter(|word| writes && !word.starts_with('-')).cloned());
        }
        _ => {}
    }
    if rewrites(program, arguments) {
        outputs.files.extend(rewritten(program, arguments));
    }
    if let Some(writer) = WRITERS.iter().find(|writer| writer.names.contains(&program)) {
        writer.read_arguments(arguments, &mut outputs);
    }
    if program == "tar" || program == "bsdtar" {
        tar(arguments, &mut outputs);
    }
    if program == "curl" || program == "wget" {
        outputs.runs |= names_configuration(program, arguments);
    }
    if program == "curl" {
        curl_format(arguments, &mut outputs);
    }
    programs::add(program, arguments, &mut outputs);
    let mut seen = std::collections::HashSet::new();
    outputs.files.retain(|file| seen.insert(file.clone()));
    outputs
}

impl WritingProgram {
    fn read_arguments(&self, arguments: &[String], outputs: &mut WrittenFiles) {
        let mut operands = Vec::new();
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            if word == "--" {
                operands.extend(rest.by_ref().cloned());
            } else if let Some(long) = word.strip_prefix("--") {
                self.long(long, &mut rest, outputs);
            } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                self.short(letters, &mut rest, outputs);
            } else {
                operands.push(word.clone());
            }
        }
        let written: &[String] = match self.operand {
            WrittenOperand::None => &[],
            WrittenOperand::All => &operands,
            WrittenOperand::First => operands.get(..1).unwrap_or_default(),
            WrittenOperand::Second => operands.get(1..2).unwrap_or_default(),
            WrittenOperand::Last => operands.len().checked_sub(1).map(|at| &operands[at..]).unwrap_or_default(),
        };
        outputs.files.extend(written.iter().filter(|word| *word != "-").cloned());
    }

    fn long<'a>(&self, text: &str, rest: &mut impl Iterator<Item = &'a String>, outputs: &mut WrittenFiles) {
        let (name, inline) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let begins = |known: &&str| **known == *name || (!name.is_empty() && known.starts_with(name));
        let is_other = self.other.contains(&name) && !self.long.contains(&name);
        if self.runs.iter().any(&begins) {
            outputs.runs = true;
        }
        if !is_other && self.long.iter().any(begins) {
            let value = inline.map(str::to_owned).or_else(|| rest.next().cloned());
            outputs.files.extend(value.filter(|value| value != "-"));
        }
    }

    fn short<'a>(&self, letters: &str, rest: &mut impl Iterator<Item = &'a String>, outputs: &mut WrittenFiles) {
        for (at, letter) in letters.char_indices() {
            let value = &letters[at + letter.len_utf8()..];
            if self.short.contains(letter) {
                let value = if value.is_empty() { rest.next().cloned() } else { Some(value.to_owned()) };
                outputs.files.extend(value.filter(|value| value != "-"));
                return;
            }
            if self.valued.contains(letter) {
                if value.is_empty() {
                    rest.next();
                }
                return;
            }
        }
    }
}

/// Whether an option hands the program more options, which may name files to write: `curl -K`, `wget -e`.
fn names_configuration(program: &str, arguments: &[String]) -> bool {
    let (letter, valued, options) = match program {
        "curl" => ('K', "oDcAbCdeEFHhmPQrtTuUwxXyYz", &["--config"][..]),
        _ => ('e', "OoaPiBtTwQUADRIXl", &["--execute", "--config"][..]),
    };
    arguments.iter().any(|word| {
        let name = word.split('=').next().unwrap_or(word);
        let long = name.len() > 5 && options.iter().any(|option| option.starts_with(name));
        long || (word.starts_with('-') && !word.starts_with("--") && in_cluster(word, letter, valued))
    })
}

/// Whether a bundle of short options holds `letter` before one that takes the rest of the word.
fn in_cluster(word: &str, letter: char, valued: &str) -> bool {
    word[1..].chars().take_while(|c| !valued.contains(*c)).any(|c| c == letter)
}

/// `--output` of everything that shows differences, whatever stands before it; `-o` of some.
fn git(arguments: &[String], outputs: &mut WrittenFiles) {
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| word.starts_with('-')) {
        at += if matches!(word.as_str(), "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace") { 2 } else { 1 };
    }
    let sub = arguments.get(at).map(String::as_str).unwrap_or_default();
    let mut rest = arguments.iter().skip(at + 1);
    while let Some(word) = rest.next() {
        if word == "--" {
            break;
        }
        let (name, inline) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let long = |option: &str, least: usize| name.len() >= least && option.starts_with(name);
        let names_file = long("--output", 4)
            || (long("--output-directory", 10) && sub == "format-patch")
            || (name == "-o" && matches!(sub, "archive" | "format-patch" | "bugreport" | "diagnose"));
        let runs = ["--upload-pack", "--receive-pack", "--exec", "--open-files-in-pager", "--extcmd"];
        if runs.iter().any(|option| long(option, 5)) {
            outputs.runs = true;
        }
        if names_file {
            outputs.files.extend(inline.map(str::to_owned).or_else(|| rest.next().cloned()));
        } else if let Some(value) = word.strip_prefix("-o").filter(|_| matches!(sub, "archive" | "format-patch")) {
            outputs.files.push(value.to_owned());
        }
    }
    if sub == "config" {
        let operands = arguments.iter().skip(at + 1).filter(|word| !word.starts_with('-')).count();
        let reads = arguments.iter().any(|word| {
            matches!(word.as_str(), "get" | "list" | "-l") || word.starts_with("--get") || word.starts_with("--list")
        });
        let mut files = Vec::new();
        for (index, word) in arguments.iter().enumerate().skip(at + 1) {
            match word.strip_prefix("--file=").or_else(|| word.strip_prefix("-f").filter(|value| !value.is_empty())) {
                Some(file) => files.push(file.to_owned()),
                None if matches!(word.as_str(), "-f" | "--file") => files.extend(arguments.get(index + 1).cloned()),
                None => {}
            }
        }
        // The file, the key and a value.
        if !reads && (operands > 2 || arguments.iter().any(|word| word.starts_with("--un") || word.starts_with("--e")))
        {
            outputs.files.append(&mut files);
        }
    }
    if sub == "bundle" && arguments.get(at + 1).is_some_and(|word| word == "create") {
        outputs.files.extend(arguments.iter().skip(at + 2).find(|word| !word.starts_with('-')).cloned());
    }
}

/// Scripts that write (`w file`) or run something (`e`).
fn sed(arguments: &[String], outputs: &mut WrittenFiles) {
    let mut scripts = Vec::new();
    let mut first = None;
    let mut given = false;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        if matches!(word.as_str(), "-e" | "--expression") || word.ends_with("ne") && word.starts_with("-n") {
            given = true;
            scripts.extend(rest.next().cloned());
        } else if let Some(script) = word.strip_prefix("--expression=").or_else(|| word.strip_prefix("-e")) {
            given = true;
            scripts.push(script.to_owned());
        } else if matches!(word.as_str(), "-f" | "--file") {
            given = true;
            rest.next();
        } else if !word.starts_with('-') && first.is_none() {
            first = Some(word.clone());
        }
    }
    scripts.extend(first.filter(|_| !given));
    for script in scripts {
        outputs.files.extend(sed_files(&script, &['w', 'W']));
    }
}

/// Files that commands of a sed script name; also those behind the flags of `s`.
pub(crate) fn sed_files(script: &str, commands: &[char]) -> Vec<String> {
    let mut files = Vec::new();
    for part in script.split(['\n', ';', '{', '}']) {
        let part = part.trim_start();
        // Addresses: numbers, `$`, ranges, `/text/`.
        let mut body =
            part.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | '!' | ' ' | '~' | '+'));
        while let Some(inner) = body.strip_prefix('/') {
            let Some(end) = inner.find('/') else { break };
            body = inner[end + 1..]
                .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | '!' | ' ' | 'I' | 'M'));
        }
        if let Some(file) = body.strip_prefix(commands) {
            files.push(file.trim().to_owned());
        }
    }
    // `s/a/b/w file`: whatever follows a flag, to the end of the line.
    if commands.contains(&'w') {
        for line in script.lines() {
            for (at, _) in line.match_indices("w ") {
                let before = line[..at].chars().next_back();
                if before
                    .is_some_and(|c| !c.is_ascii_alphabetic() || matches!(c, 'g' | 'p' | 'I' | 'i' | 'e' | 'M' | 'm'))
                {
                    files.push(line[at + 2..].trim().to_owned());
                }
            }
        }
    }
    files.retain(|file| !file.is_empty());
    files.dedup();
    files
}

/// `print > "file"` and pipes inside the script.
fn awk(arguments: &[String], outputs: &mut WrittenFiles) {
    for script in arguments.iter().filter(|word| word.contains(['>', '|'])) {
        for (at, _) in script.match_indices('>') {
            let target = script[at + 1..].trim_start_matches('>').trim_start();
            if let Some(file) = target.strip_prefix('"').and_then(|rest| rest.split('"').next()) {
                outputs.files.push(file.to_owned());
            }
        }
        outputs.runs |= script.contains("| \"") || script.contains("|\"");
    }
    outputs.runs |= arguments.iter().any(|word| word.contains("system("));
    // Options of gawk that store what it knows of the script and its variables.
    for word in arguments {
        let long =
            ["--dump-variables=", "--profile=", "--pretty-print="].iter().find_map(|name| word.strip_prefix(name));
        let short =
            ["-d", "-o", "-p"].iter().find_map(|name| word.strip_prefix(name)).filter(|value| !value.is_empty());
        outputs.files.extend(long.or(short).map(str::to_owned));
        outputs.unnamed |=
            matches!(word.as_str(), "-d" | "-o" | "-p" | "--dump-variables" | "--profile" | "--pretty-print");
    }
}

fn tar(arguments: &[String], outputs: &mut WrittenFiles) {
    let short = |word: &&String| word.starts_with('-') && !word.starts_with("--");
    let bundle = arguments.first().filter(|word| !word.starts_with('-'));
    // `-I prog` and `-F script` run something; `-f` of a new archive is written.
    outputs.runs |= arguments.iter().filter(short).chain(bundle).any(|word| {
        let letters: String = word.chars().take_while(|c| *c != 'f' && *c != 'C').collect();
        letters.contains(['I', 'F'])
    });
    let creates = |word: &&String| {
        // Behind `f` may follow the name of the archive.
        let letters = if short(word) { word.split('f').next().unwrap_or_default() } else { word.as_str() };
        (short(word) || Some(*word) == bundle) && letters.contains(['c', 'r', 'u']) && !letters.contains('x')
            || word.starts_with("--create")
    };
    if !arguments.iter().any(|word| creates(&word)) {
        return;
    }
    for (at, word) in arguments.iter().enumerate() {
        let clustered = (short(&word) || Some(word) == bundle) && word.contains('f');
        if clustered {
            let value = word.split_once('f').map(|(_, value)| value).filter(|value| !value.is_empty());
            let value =
                value.filter(|_| Some(word) != bundle).map(str::to_owned).or_else(|| arguments.get(at + 1).cloned());
            outputs.files.extend(value);
        } else if let Some(value) = word.strip_prefix("--file=") {
            outputs.files.push(value.to_owned());
        } else if word == "--file" {
            outputs.files.extend(arguments.get(at + 1).cloned());
        }
    }
    outputs.files.retain(|file| file != "-");
}

#[cfg(test)]
#[path = "outputs_tests.rs"]
mod tests;
