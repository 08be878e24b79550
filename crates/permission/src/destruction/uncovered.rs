//! Programs that can destroy work in ways that their arguments do not show: editors that run scripts, one-liners of
//! interpreters, compressors that replace their input, tools that destroy what is not a file. What they do is not saved,
//! so the user is warned. Programs that are not in the tables here give no warning.

use super::programs::ProgramArguments;

/// Compressors and others that remove their input, unless an option keeps it or writes to stdout.
#[rustfmt::skip]
const REPLACERS: &[&str] = &[
    "gzip", "gunzip", "pigz", "unpigz", "bzip2", "bunzip2", "pbzip2", "xz", "unxz", "lzma", "unlzma", "lzip", "compress",
    "uncompress", "lzop", "crypt", "rename", "prename", "mmv",
];

/// They keep their input unless a word says otherwise.
const INPUT_KEEPING_PROGRAMS: &[(&str, &[&str])] = &[
    ("zstd", &["--rm"]),
    ("unzstd", &["--rm"]),
    ("lz4", &["--rm"]),
    ("tar", &["--remove-files"]),
    ("bsdtar", &["--remove-files"]),
    ("zip", &["-m", "--move"]),
    ("gpg", &["--delete-keys", "--delete-secret-keys"]),
    ("crontab", &["-r"]),
];

/// Editors, and the words with which they run without anybody in front of them.
const EDITORS: &[(&[&str], &[&str])] = &[
    (&["ed", "red", "ex", "rvim"], &[]),
    (&["vim", "vi", "nvim", "view", "gvim"], &["-es", "-Es", "-e", "-E", "-s", "-S", "-c", "--cmd", "--headless", "+"]),
    (&["emacs"], &["--batch", "-batch", "--script", "--eval"]),
];

/// Interpreters, the words after which they run text, and what in that text destroys.
#[rustfmt::skip]
const INTERPRETERS: &[(&[&str], &[&str], &[&str])] = &[
    (&["python", "python2", "python3", "pypy", "pypy3"], &["-c"], &[
        "rmtree", "unlink", "os.remove", "removedirs", "rmdir", "os.rename", "os.replace", "shutil.move", "truncate",
        "write_text", "write_bytes", "subprocess", "os.system", "'w'", "\"w\"", "'wb'", "\"wb\"",
    ]),
    (&["perl"], &["-e", "-E"], &["unlink", "rmtree", "remove_tree", "rmdir", "rename(", "rename ", "truncate(", "system(", "'>", "\">", "exec("]),
    (&["ruby"], &["-e"], &["FileUtils", "File.delete", "File.unlink", "rm_rf", "rmtree", "File.rename", "File.truncate", "File.write", "system("]),
    (&["node", "nodejs", "bun", "tsx"], &["-e", "--eval", "-p", "--print", "-pe"], &[
        "rmSync", "rmdirSync", "unlinkSync", "unlink(", "rmdir(", ".rm(", "renameSync", "rename(", "truncate", "writeFile",
        "child_process", "rimraf",
    ]),
    (&["deno"], &["eval"], &["Deno.remove", "Deno.rename", "Deno.truncate", "Deno.write", "Deno.Command"]),
    (&["php"], &["-r"], &["unlink(", "rmdir(", "rename(", "ftruncate(", "file_put_contents", "system(", "exec("]),
    (&["lua", "luajit"], &["-e"], &["os.remove", "os.rename", "os.execute", "io.open"]),
    (&["awk", "gawk", "mawk"], &[], &["system("]),
];

/// Programs whose words say that something which is no file of ours goes for good.
#[rustfmt::skip]
const NON_FILE_DESTROYERS: &[(&[&str], &[&str])] = &[
    (&["mkfs", "mke2fs", "mkswap", "wipefs", "blkdiscard", "dropdb", "dropuser", "wipe", "scrub"], &[]),
    (&["docker", "podman", "nerdctl"], &["prune", "rm", "rmi", "down", "kill"]),
    (&["kubectl", "oc"], &["delete", "drain"]),
    (&["terraform", "tofu", "pulumi"], &["destroy"]),
    (&["helm"], &["uninstall", "delete"]),
    (&["rclone"], &["delete", "deletefile", "purge", "sync", "move", "rmdirs"]),
    (&["aws"], &["rm", "rb", "delete-bucket", "delete-object", "terminate-instances"]),
    (&["gsutil"], &["rm", "rb"]),
    (&["psql", "mysql", "mariadb", "sqlite3"], &["drop ", "delete ", "truncate "]),
    (&["redis-cli"], &["flushall", "flushdb"]),
];

/// Words that occur in no command that is looked at here, for the quick look at a whole command.
pub(super) fn may_destroy(word: &str) -> bool {
    let word = word.strip_prefix("mkfs-").map_or(word, |_| "mkfs");
    REPLACERS.contains(&word)
        || INPUT_KEEPING_PROGRAMS.iter().any(|(name, _)| *name == word)
        || EDITORS.iter().any(|(names, _)| names.contains(&word))
        || NON_FILE_DESTROYERS.iter().any(|(names, _)| names.contains(&word))
        || INTERPRETERS.iter().any(|(names, _, _)| names.contains(&word))
}

/// Whether what `program` may destroy cannot be saved. `text` is the whole command.
pub(super) fn is_uncovered(program: &str, words: &ProgramArguments<'_>, text: &str) -> bool {
    if words.all.iter().all(|word| matches!(word.as_str(), "--version" | "-V" | "--help" | "-h" | "version" | "help")) {
        return is_fed(program, words, text);
    }
    let program = program.strip_prefix("mkfs.").map_or(program, |_| "mkfs");
    replaces_input(program, words)
        || INPUT_KEEPING_PROGRAMS.iter().any(|(name, needed)| *name == program && words.has(needed))
        || runs_editor_script(program, words)
        || destroys_beyond_files(program, words)
        || runs_inline_code(program, words, text)
}

fn replaces_input(program: &str, words: &ProgramArguments<'_>) -> bool {
    let keeps = words.has_short_option("cktlL")
        || words.has(&["--stdout", "--to-stdout", "--keep", "--test", "--list", "--license"]);
    let dry = matches!(program, "rename" | "prename" | "mmv")
        && (words.has_short_option("n") || words.has(&["--no-act", "--nono"]));
    let renames = matches!(program, "rename" | "prename" | "mmv");
    REPLACERS.contains(&program) && !dry && (renames || !keeps) && !words.operands(&["-S", "--suffix"]).is_empty()
}

fn runs_editor_script(program: &str, words: &ProgramArguments<'_>) -> bool {
    let Some((_, needed)) = EDITORS.iter().find(|(names, _)| names.contains(&program)) else { return false };
    let given = |word: &String| needed.iter().any(|need| word == need || (*need == "+" && word.starts_with('+')));
    needed.is_empty() || words.all.iter().any(given)
}

fn destroys_beyond_files(program: &str, words: &ProgramArguments<'_>) -> bool {
    let Some((_, needed)) = NON_FILE_DESTROYERS.iter().find(|(names, _)| names.contains(&program)) else {
        return false;
    };
    let says = |word: &String| {
        let lower = word.to_ascii_lowercase();
        needed.iter().any(|need| if need.ends_with(' ') { format!("{lower} ").contains(need) } else { lower == *need })
    };
    needed.is_empty() || words.all.iter().any(says)
}

/// Text of a program among the words of the command, or fed to it.
fn runs_inline_code(program: &str, words: &ProgramArguments<'_>, text: &str) -> bool {
    let Some((_, flags, destroying)) = INTERPRETERS.iter().find(|(names, _, _)| names.contains(&program)) else {
        return false;
    };
    let bundle = |word: &String, flag: &str| {
        // `-lne` runs text as `-e` does.
        flag.len() == 2 && word.starts_with('-') && !word.starts_with("--") && word.ends_with(&flag[1..])
    };
    let given =
        flags.is_empty() || words.all.iter().any(|word| flags.iter().any(|flag| word == flag || bundle(word, flag)));
    let destroys = |text: &str| destroying.iter().any(|word| text.contains(word));
    (given && words.all.iter().any(|word| destroys(word))) || is_fed(program, words, text)
}

/// A here-document for an interpreter.
fn is_fed(program: &str, words: &ProgramArguments<'_>, text: &str) -> bool {
    let Some((_, _, destroying)) = INTERPRETERS.iter().find(|(names, _, _)| names.contains(&program)) else {
        return false;
    };
    let reads = words.operands(&[]).iter().all(|word| *word == "-");
    reads && text.contains("<<") && destroying.iter().any(|word| text.contains(word))
}
