//! Programs whose written files follow from more than one option or operand: compilers, downloads, compression,
//! databases, containers.

use super::WrittenFiles;

/// Adds what `program` would write with these arguments; nothing for programs that are not known here.
pub(super) fn add(program: &str, arguments: &[String], outputs: &mut WrittenFiles) {
    match program {
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "ld" | "as" => linked(arguments, outputs),
        "rustc" => emitted(arguments, outputs),
        "ssh" => ssh(arguments, outputs),
        "wget" => wget(arguments, outputs),
        "curl" => curl(arguments, outputs),
        "sqlite3" => sqlite(arguments, outputs),
        "docker" | "podman" | "nerdctl" | "kubectl" | "oc" => container(arguments, outputs),
        "ffmpeg" => media(arguments, outputs),
        _ => {}
    }
    if let Some(format) = FORMATS.iter().find(|format| format.names.contains(&program)) {
        format.add(program, arguments, outputs);
    }
    for (_, options) in DASHED.iter().filter(|(programs, _)| programs.contains(&program)) {
        dashed(options, arguments, outputs);
    }
}

/// Programs whose long options have one dash, with those that name a file to write.
#[rustfmt::skip]
const DASHED: &[(&[&str], &[&str])] = &[
    (&["openssl"], &["-out", "-keyout", "-writerand", "-pubout_file", "-certsout", "-signout", "-CAout", "-CAserial", "-sess_out", "-keylogfile", "-msgfile", "-outdir"]),
    (&["keytool"], &["-file", "-keystore"]),
    (&["ssh-keygen"], &["-f"]),
    (&["pg_dump", "mysqldump"], &["-f", "--file", "--result-file", "-r", "--log-file"]),
    (&["gcc", "g++", "cc", "c++", "clang", "clang++"], &["-MF", "-MJ", "-fprofile-instr-generate", "-fdump-go-spec"]),
    (&["go"], &["-o", "-coverprofile", "-cpuprofile", "-memprofile", "-blockprofile", "-mutexprofile", "-trace", "-outputdir"]),
    (&["convert", "magick", "mogrify"], &["-write", "-path"]),
    (&["ffmpeg"], &["-progress", "-vstats_file", "-passlogfile", "-dump_attachment"]),
    (&["cjpeg", "djpeg", "jpegtran"], &["-outfile"]),
    (&["javac", "kotlinc", "scalac"], &["-d"]),
    (&["nmap"], &["-oN", "-oX", "-oG", "-oA", "-oS"]),
    (&["gs"], &["-sOutputFile", "-o"]),
];

fn dashed(options: &[&str], arguments: &[String], outputs: &mut WrittenFiles) {
    for (at, word) in arguments.iter().enumerate() {
        if options.contains(&word.as_str()) {
            outputs.files.extend(arguments.get(at + 1).cloned());
        } else if let Some((name, value)) = word.split_once('=')
            && options.contains(&name)
        {
            outputs.files.push(value.to_owned());
        }
    }
}

/// What the compiler hands on: `-Wl,-Map,x`, `-Xlinker -Map=x`. Also `-MFx`.
fn linked(arguments: &[String], outputs: &mut WrittenFiles) {
    let handed_on = arguments.iter().flat_map(|word| {
        let parts =
            word.strip_prefix("-Wl,").or_else(|| word.strip_prefix("-Wa,")).or_else(|| word.strip_prefix("-Wp,"));
        parts.map(|parts| parts.split(',').map(str::to_owned).collect::<Vec<_>>()).unwrap_or_default()
    });
    let plain = arguments.iter().filter(|word| !matches!(word.as_str(), "-Xlinker" | "-Xassembler" | "-Xpreprocessor"));
    dashed(
        &["-o", "-Map", "--Map", "-MF", "-MD", "-MMD", "-a", "--dependency-file"],
        &handed_on.collect::<Vec<_>>(),
        outputs,
    );
    dashed(&["-Map", "--Map", "--dependency-file"], &plain.cloned().collect::<Vec<_>>(), outputs);
    let joined = arguments.iter().filter_map(|word| word.strip_prefix("-MF").or_else(|| word.strip_prefix("-MJ")));
    outputs.files.extend(joined.filter(|file| !file.is_empty()).map(str::to_owned));
}

/// `rustc --emit dep-info=x,link=y`.
fn emitted(arguments: &[String], outputs: &mut WrittenFiles) {
    for (at, word) in arguments.iter().enumerate() {
        let value = match word.strip_prefix("--emit") {
            Some("") => arguments.get(at + 1).map_or("", String::as_str),
            Some(inline) => inline.trim_start_matches('='),
            None => continue,
        };
        outputs.files.extend(value.split(',').filter_map(|kind| kind.split_once('=')).map(|(_, file)| file.to_owned()));
    }
}

/// `ssh -E log`, and where the keys of hosts are noted. What follows the host is run there.
fn ssh(arguments: &[String], outputs: &mut WrittenFiles) {
    const VALUED: &str = "BbcDEeFIiJLlmOoPpQRSWw";
    let mut operands = 0;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            operands += 1;
            if operands > 1 {
                return;
            }
            continue;
        };
        let Some((letter, value)) = option_value(letters, VALUED, &mut rest) else { continue };
        match (letter, value.split_once(['=', ' '])) {
            ('E', _) => outputs.files.push(value),
            ('o', Some((name, file))) if name.eq_ignore_ascii_case("UserKnownHostsFile") => {
                outputs.files.extend(file.split_whitespace().map(str::to_owned));
            }
            _ => {}
        }
    }
}

/// The option of a bundle that takes a value, and its value.
fn option_value<'a>(
    letters: &str,
    valued: &str,
    rest: &mut impl Iterator<Item = &'a String>,
) -> Option<(char, String)> {
    let (at, letter) = letters.char_indices().find(|(_, letter)| valued.contains(*letter))?;
    let inline = &letters[at + letter.len_utf8()..];
    Some((letter, if inline.is_empty() { rest.next().cloned()? } else { inline.to_owned() }))
}

/// The names under which a download is stored: the last part of the address, as written and decoded.
fn remote_names(address: &str) -> Vec<String> {
    let path = address.split_once("://").map_or(address, |(_, rest)| rest);
    let path = path.split('#').next().unwrap_or_default();
    let plain = path.split('?').next().unwrap_or_default();
    let name = |path: &str| match path.split_once('/').map(|_| path.rsplit('/').next().unwrap_or_default()) {
        None | Some("") => "index.html".to_owned(),
        Some(name) => name.to_owned(),
    };
    let spelled = name(plain);
    let decoded = wire::percent::decoded(&spelled);
    let mut names = vec![spelled];
    names.extend((decoded != names[0]).then_some(decoded));
    names
}

/// Short options of wget with a value.
const WGET_VALUED: &str = "OoaPeiBtTwQUADRIXl";

/// `wget URL` stores under the name in the address unless `-O` names a file.
fn wget(arguments: &[String], outputs: &mut WrittenFiles) {
    let mut call = WgetCall::default();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        if let Some(long) = word.strip_prefix("--") {
            call.long(long, &mut rest);
        } else if let Some(letters) = word.strip_prefix('-') {
            call.short(letters, &mut rest);
        } else {
            call.addresses.push(word.clone());
        }
    }
    if !call.is_named {
        outputs.implied.extend(call.stored());
    }
}

#[derive(Default)]
struct WgetCall {
    folder: String,
    /// `-O` names the one file.
    is_named: bool,
    /// The folders of the address are made here too.
    keeps_folders: bool,
    addresses: Vec<String>,
}

impl WgetCall {
    fn long<'a>(&mut self, text: &str, rest: &mut impl Iterator<Item = &'a String>) {
        const FOLDERS: &[&str] = &["force-directories", "recursive", "mirror", "page-requisites"];
        #[rustfmt::skip]
        const VALUED: &[&str] = &[
            "header", "user-agent", "user", "password", "post-data", "timeout", "tries", "wait", "referer", "method", "body-data",
        ];
        let (name, inline) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let is = |option: &str, least: usize| name.len() >= least && option.starts_with(name);
        let (is_folder, is_file) = (is("directory-prefix", 3), is("output-document", 8));
        self.is_named |= is_file;
        self.keeps_folders |= FOLDERS.iter().any(|option| is(option, 3));
        let takes_value = is_folder || is_file || VALUED.contains(&name);
        let value = inline.map(str::to_owned).or_else(|| if takes_value { rest.next().cloned() } else { None });
        if is_folder {
            self.folder = value.unwrap_or_default();
        }
    }

    fn short<'a>(&mut self, letters: &str, rest: &mut impl Iterator<Item = &'a String>) {
        let mut plain = letters.chars().take_while(|letter| !WGET_VALUED.contains(*letter));
        self.keeps_folders |= !letters.starts_with('n') && plain.any(|letter| "xrmp".contains(letter));
        match option_value(letters, WGET_VALUED, rest) {
            Some(('O', _)) => self.is_named = true,
            Some(('P', value)) => self.folder = value,
            _ => {}
        }
    }

    /// Where the downloads are stored.
    fn stored(&self) -> Vec<String> {
        let mut files = Vec::new();
        for address in &self.addresses {
            let mut names = remote_names(address);
            if self.keeps_folders {
                let path = address.split_once("://").map_or(address.as_str(), |(_, path)| path);
                names.extend(path.split_once('/').map(|(_, path)| wire::percent::decoded(path)));
            }
            files.extend(names.iter().map(|name| below(&self.folder, name)));
        }
        files
    }
}

/// `curl -O URL`, also with `--output-dir`.
fn curl(arguments: &[String], outputs: &mut WrittenFiles) {
    let stores = arguments.iter().any(|word| {
        let long = word.len() > 7 && "--remote-name-all".starts_with(word.as_str());
        let short = word.starts_with('-') && !word.starts_with("--");
        long || (short && super::in_cluster(word, 'O', "oDcAbCdeEFHhKmPQrtTuUwxXyYz"))
    });
    if !stores {
        return;
    }
    outputs.unnamed = true;
    let value_of = |option: &str| {
        arguments.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(option)? {
            "" => arguments.get(at + 1).cloned(),
            inline => inline.strip_prefix('=').map(str::to_owned),
        })
    };
    let folder = value_of("--output-dir").unwrap_or_default();
    let addresses = arguments.iter().filter(|word| word.contains('/') && !word.starts_with('-')).cloned();
    let named = addresses.chain(value_of("--url")).flat_map(|url| remote_names(&url));
    outputs.implied.extend(named.map(|name| below(&folder, &name)));
}

fn below(folder: &str, name: &str) -> String {
    match folder {
        "" | "." => name.to_owned(),
        folder => format!("{}/{name}", folder.trim_end_matches('/')),
    }
}

/// Programs that replace a file by a compressed one, or the other way round.
struct CompressionFormat {
    names: &'static [&'static str],
    suffix: &'static str,
    /// Whether the file that was read goes away.
    replaces: bool,
}

#[rustfmt::skip]
const FORMATS: &[CompressionFormat] = &[
    CompressionFormat { names: &["gzip", "gunzip", "pigz", "unpigz"], suffix: ".gz", replaces: true },
    CompressionFormat { names: &["bzip2", "bunzip2", "pbzip2", "lbzip2"], suffix: ".bz2", replaces: true },
    CompressionFormat { names: &["xz", "unxz", "pixz"], suffix: ".xz", replaces: true },
    CompressionFormat { names: &["lzma", "unlzma"], suffix: ".lzma", replaces: true },
    CompressionFormat { names: &["lzip", "plzip"], suffix: ".lz", replaces: true },
    CompressionFormat { names: &["compress", "uncompress"], suffix: ".Z", replaces: true },
    CompressionFormat { names: &["zstd", "unzstd", "zstdmt"], suffix: ".zst", replaces: false },
    CompressionFormat { names: &["lz4", "unlz4"], suffix: ".lz4", replaces: false },
    CompressionFormat { names: &["brotli"], suffix: ".br", replaces: false },
];

impl CompressionFormat {
    fn add(&self, program: &str, arguments: &[String], outputs: &mut WrittenFiles) {
        let has = |letters: &str, long: &[&str]| {
            arguments.iter().any(|word| match word.strip_prefix("--") {
                Some(name) => name.len() > 1 && long.iter().any(|option| option.starts_with(name)),
                None => word.starts_with('-') && word.contains(|c| letters.contains(c)),
            })
        };
        let named = arguments.iter().any(|word| word.starts_with("-o") || word.starts_with("--output"));
        if named || has("clthV", &["stdout", "to-stdout", "list", "test", "help", "version"]) {
            return;
        }
        let unpacks = program.starts_with("un") || matches!(program, "gunzip" | "bunzip2");
        let unpacks = unpacks || has("d", &["decompress", "uncompress"]);
        let removes = arguments.iter().any(|word| word == "--rm") || (self.replaces && !has("k", &["keep"]));
        let values = ["-o", "-S", "--suffix", "-T", "-D", "-b", "-p"];
        let is_operand = |at: &usize| {
            let before = at.checked_sub(1).and_then(|before| arguments.get(before));
            !arguments[*at].starts_with('-') && before.is_none_or(|word| !values.contains(&word.as_str()))
        };
        for file in (0..arguments.len()).filter(is_operand).map(|at| &arguments[at]) {
            outputs.files.extend(removes.then(|| file.clone()));
            let unpacked = || file.rsplit_once('.').map_or(file.as_str(), |(stem, _)| stem).to_owned();
            outputs.files.push(if unpacks { unpacked() } else { format!("{file}{}", self.suffix) });
        }
    }
}

/// The database, unless it is only read, and the files that its commands name.
fn sqlite(arguments: &[String], outputs: &mut WrittenFiles) {
    let (mut operands, mut scripts) = (Vec::new(), Vec::new());
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.trim_start_matches('-') {
            "cmd" if word.starts_with('-') => scripts.extend(rest.next()),
            "init" | "separator" | "newline" | "nullvalue" | "mmap" | "vfs" | "maxsize" if word.starts_with('-') => {
                rest.next();
            }
            "A" if word.starts_with('-') => return outputs.implied.extend(operands.into_iter().cloned()),
            _ if word.starts_with('-') => {}
            _ => operands.push(word),
        }
    }
    scripts.extend(operands.iter().skip(1));
    for script in &scripts {
        sqlite_script(script, outputs);
    }
    let parts = scripts.iter().flat_map(|script| script.split([';', '\n'])).map(str::trim);
    let mut parts = parts.filter(|part| !part.is_empty()).peekable();
    #[rustfmt::skip]
    const ONLY_READS: &[&str] = &["select ", "explain ", ".schema", ".tables", ".index", ".dump", ".header", ".mode", ".width", ".databases", ".timeout"];
    let only_reads = parts.peek().is_some()
        && operands.len() > 1
        && parts.all(|part| ONLY_READS.iter().any(|start| part.to_ascii_lowercase().starts_with(start)));
    if !only_reads && !arguments.iter().any(|word| matches!(word.as_str(), "-readonly" | "--readonly")) {
        outputs.implied.extend(operands.first().filter(|file| !file.starts_with(':')).map(|file| (*file).clone()));
    }
}

fn sqlite_script(script: &str, outputs: &mut WrittenFiles) {
    const WRITING: &[&str] = &["output", "once", "save", "backup", "log", "clone", "open", "trace"];
    let unquoted = |word: &str| word.trim_matches(['\'', '"']).to_owned();
    for line in script.lines().map(str::trim) {
        let Some(command) = line.strip_prefix('.') else { continue };
        let mut words = command.split_whitespace();
        let name = words.next().unwrap_or_default();
        let is = |options: &[&str]| !name.is_empty() && options.iter().any(|option| option.starts_with(name));
        outputs.runs |= is(&["shell", "system", "load"]) || line.contains('|');
        if is(WRITING) {
            outputs.files.extend(words.filter(|word| !word.starts_with('-')).map(unquoted));
        }
    }
    // `writefile('x', …)`, `VACUUM INTO 'x'`, `ATTACH 'x'`.
    let small = script.to_ascii_lowercase();
    for (start, name) in [("writefile", "("), ("into", ""), ("attach", ""), ("attach database", "")] {
        for (at, _) in small.match_indices(start) {
            let rest = script[at + start.len()..].trim_start();
            let value = rest.strip_prefix(name).map_or("", str::trim_start);
            let quoted = value.strip_prefix('\'').and_then(|value| value.split('\'').next());
            outputs.files.extend(quoted.map(str::to_owned));
        }
    }
}

/// `docker cp container:path here`, `docker save -o x`, and the files that note an identifier.
fn container(arguments: &[String], outputs: &mut WrittenFiles) {
    const NOTED: &[&str] = &["--iidfile", "--cidfile", "--metadata-file", "--output"];
    dashed(NOTED, arguments, outputs);
    let mut words =
        arguments.iter().skip_while(|word| word.starts_with('-') || *word == "container" || *word == "image");
    let sub = words.next().map_or("", String::as_str);
    if matches!(sub, "save" | "export") {
        dashed(&["-o"], arguments, outputs);
    }
    if sub != "cp" {
        return;
    }
    let operands: Vec<&String> = words.filter(|word| !word.starts_with('-')).collect();
    let [.., source, target] = operands.as_slice() else { return };
    // A path of this machine has no colon before its first slash.
    let is_local = |word: &str| !word.split('/').next().unwrap_or_default().contains(':');
    if is_local(target) && *target != "-" {
        let name = source.trim_end_matches(['/', '.']).rsplit(['/', ':']).next().unwrap_or_default();
        outputs.implied.extend([(*target).clone(), below(target, name)]);
    }
}

/// Every file behind no `-i` is written.
fn media(arguments: &[String], outputs: &mut WrittenFiles) {
    let is_output = |at: &usize| {
        let before = at.checked_sub(1).and_then(|before| arguments.get(before));
        !arguments[*at].starts_with('-') && before.is_none_or(|word| !word.starts_with('-') || word == "-y")
    };
    outputs.files.extend((0..arguments.len()).filter(is_output).map(|at| arguments[at].clone()));
}
