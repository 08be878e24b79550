//! `cargo xtask code-order`: records under valgrind which functions a turn runs, and writes the linker script that places
//! them side by side. A process then reads and maps a few pages of the binary densely instead of many pages for a
//! function each. Valgrind knows functions of `.text` alone, so the traced binary is linked with an empty script. The names are without the hashes of the compiler, so the script stays good for other profiles and
//! versions; a function that is not in it is only placed elsewhere.

use super::place::Place;
use super::server::Server;
use super::{reply, start};
use crate::clients::executable;
use crate::steps::cargo_program;
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The script, below the root of the repository.
const SCRIPT: &str = "crates/cli/code-order.ld";
const HEAD: &str =
    "/* Functions that a turn runs, placed together (build.rs). Written by `cargo xtask code-order`. */\n";
/// A name that many functions share (instances of one generic function) is placed with the second group when it would
/// bring in more than this many bytes, and more than `LOOSE_TIMES` what was run.
const LOOSE_BYTES: u64 = 20_000;
const LOOSE_TIMES: u64 = 3;

/// Functions that are marked as rarely called have sections of their own. They are small, and some of them run.
const UNLIKELY: (&str, &str) = (".text.calls", ".text.unlikely.*");

/// Bytes of code by name, or by the pattern of the names.
type Sizes = BTreeMap<String, u64>;

pub(crate) fn write(root: &Path, binary: Option<&str>) -> Result<()> {
    let binary = match binary {
        Some(file) => PathBuf::from(file),
        None => build(root)?,
    };
    let server = Server::start()?;
    let place = Place::new(&binary, server.url())?;
    std::fs::write(place.project().join("note.txt"), "one line of text\n".repeat(100))?;
    let hello = reply::text(["Hello."]);
    let stream = ["--output-format", "stream-json", "--verbose", "--include-partial-messages"];
    let streamed: Vec<&str> = start::TURN.into_iter().chain(stream).collect();
    let with_calls: Vec<&str> = start::TURN.into_iter().chain(["--allowedTools", "Bash", "Read"]).collect();
    let calls = [
        reply::call(0, "Bash", &json!({"command": ":"})),
        reply::call(1, "Read", &json!({"file_path": place.project().join("note.txt")})),
        Arc::clone(&hello),
    ];
    let all = symbols(&binary)?;
    let mut turn = BTreeSet::new();
    for arguments in [&start::TURN[..], &streamed[..]] {
        server.script(std::slice::from_ref(&hello));
        turn.extend(functions_run(&place, arguments)?);
    }
    server.script(&calls);
    let later = functions_run(&place, &with_calls)?;
    let aliases = aliases(&binary)?;
    let script = script(&all, &with_aliases(turn, &aliases), &with_aliases(later, &aliases));
    std::fs::write(root.join(SCRIPT), &script)?;
    println!("{SCRIPT}: {} names", script.lines().filter(|line| line.contains(".text._")).count());
    Ok(())
}

/// The published binary with its symbols and without an order.
fn build(root: &Path) -> Result<PathBuf> {
    std::fs::write(root.join(SCRIPT), format!("{HEAD}SECTIONS {{ }} INSERT BEFORE .text;\n"))?;
    let mut command = Command::new(cargo_program());
    command.args([
        "build",
        "--profile",
        "dist",
        "--package",
        "gimlet-cli",
        "--message-format",
        "json-render-diagnostics",
    ]);
    let output = command.env("CARGO_PROFILE_DIST_STRIP", "none").stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "gimlet does not build");
    executable(&String::from_utf8_lossy(&output.stdout)).context("cargo build named no executable")
}

/// The functions of the binary that one run calls.
fn functions_run(place: &Place, arguments: &[&str]) -> Result<BTreeSet<String>> {
    let profile = place.config().join("callgrind.out");
    let (output, binary) = (format!("--callgrind-out-file={}", profile.display()), place.gimlet.to_string_lossy());
    let mut words = vec!["--tool=callgrind", "--demangle=no", &output, &binary];
    words.extend(arguments);
    let done = place.command(Path::new("valgrind"), &words).output().context("valgrind does not start")?;
    ensure!(done.status.success(), "valgrind: {}", done.status);
    Ok(functions_in(&std::fs::read_to_string(&profile)?, &binary))
}

/// The functions of `object` in a profile. Each name is written out once, later named by its number.
fn functions_in(profile: &str, object: &str) -> BTreeSet<String> {
    let (mut objects, mut names) = (BTreeMap::new(), BTreeMap::new());
    let (mut found, mut inside) = (BTreeSet::new(), false);
    for line in profile.lines() {
        let Some((field, value)) = line.split_once('=') else { continue };
        let Some((number, name)) = value.strip_prefix('(').and_then(|v| v.split_once(')')) else { continue };
        let table = match field {
            "ob" | "cob" => &mut objects,
            "fn" | "cfn" => &mut names,
            _ => continue,
        };
        if let Some(name) = name.strip_prefix(' ') {
            table.insert(number, name);
        }
        let named = table.get(number).copied().unwrap_or_default();
        match field {
            "ob" => inside = named == object,
            // A number is added to a name that stands more than once in the stack, and some names are descriptions.
            "fn" if inside => found.extend(named.split('\'').next().filter(|name| is_symbol(name)).map(str::to_owned)),
            _ => {}
        }
    }
    found
}

fn is_symbol(name: &str) -> bool {
    !name.starts_with("0x") && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.$".contains(&byte))
}

/// The sizes of all functions of the binary.
fn symbols(binary: &Path) -> Result<Sizes> {
    let listed = Command::new("nm").arg("-S").arg(binary).output().context("nm does not start")?;
    ensure!(listed.status.success(), "nm: {}", listed.status);
    let mut sizes = Sizes::new();
    for line in String::from_utf8_lossy(&listed.stdout).lines() {
        if let [_, size, "t" | "T" | "w" | "W", name] = line.split(' ').collect::<Vec<_>>()[..] {
            *sizes.entry(name.to_owned()).or_default() += u64::from_str_radix(size, 16).unwrap_or(0);
        }
    }
    Ok(sizes)
}

/// The names of functions with the same machine code, which the linker keeps once: which of them the next link keeps, and
/// under which name a profile shows it, is not known.
fn aliases(binary: &Path) -> Result<Vec<Vec<String>>> {
    let listed = Command::new("nm").arg(binary).output().context("nm does not start")?;
    ensure!(listed.status.success(), "nm: {}", listed.status);
    let mut by_address: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in String::from_utf8_lossy(&listed.stdout).lines() {
        if let [address, "t" | "T" | "w" | "W", name] = line.split(' ').collect::<Vec<_>>()[..] {
            by_address.entry(address.to_owned()).or_default().push(name.to_owned());
        }
    }
    Ok(by_address.into_values().filter(|names| names.len() > 1).collect())
}

fn with_aliases(mut run: BTreeSet<String>, aliases: &[Vec<String>]) -> BTreeSet<String> {
    for names in aliases {
        if names.iter().any(|name| run.contains(name)) {
            run.extend(names.iter().cloned());
        }
    }
    run
}

/// The section of a function, with `*` for the hashes in its name.
fn pattern(name: &str) -> String {
    let name = name.split(".llvm.").next().unwrap_or(name);
    if let Some(at) = name.rfind("17h").filter(|_| name.starts_with("_ZN") && name.ends_with('E')) {
        return format!(".text.{}*", &name[..at + 3]);
    }
    if !name.starts_with("_R") {
        return format!(".text.{name}");
    }
    // A crate in the newer mangling: `Cs`, its hash in base 62, `_`.
    let mut out = String::from(".text.");
    let mut rest = name;
    while let Some((before, after)) = rest.split_once("Cs") {
        let hash = after.find('_').filter(|end| after[..*end].bytes().all(|b| b.is_ascii_alphanumeric()));
        out.extend([before, "Cs", if hash.is_some() { "*" } else { "" }]);
        rest = &after[hash.unwrap_or(0)..];
    }
    out + rest
}

fn by_pattern<'a>(names: impl IntoIterator<Item = &'a String>, all: &Sizes) -> Sizes {
    let mut sizes = Sizes::new();
    for name in names {
        *sizes.entry(pattern(name)).or_default() += all.get(name).copied().unwrap_or(0);
    }
    sizes
}

fn script(symbols: &Sizes, turn: &BTreeSet<String>, later: &BTreeSet<String>) -> String {
    let all = by_pattern(symbols.keys(), symbols);
    let is_loose = |pattern: &String, run: &Sizes| {
        let bytes = all.get(pattern).copied().unwrap_or(0);
        bytes > LOOSE_BYTES && bytes > LOOSE_TIMES * run.get(pattern).copied().unwrap_or(0)
    };
    let (turn, later) = (by_pattern(turn, symbols), by_pattern(later, symbols));
    let (loose, dense): (Vec<&String>, Vec<&String>) = turn.keys().partition(|name| is_loose(name, &turn));
    let second = later.keys().filter(|name| !turn.contains_key(*name) && !is_loose(name, &later)).chain(loose);
    let mut out = format!("{HEAD}SECTIONS {{\n");
    for (section, names) in [(".text.turn", dense), (".text.calls", second.collect())] {
        writeln!(out, "  {section} : {{ *(").ok();
        if section == UNLIKELY.0 {
            writeln!(out, "    {}", UNLIKELY.1).ok();
        }
        for name in names {
            writeln!(out, "    {name}").ok();
        }
        out.push_str("  ) }\n");
    }
    out.push_str("} INSERT BEFORE .text;\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_left_out_of_names() {
        assert_eq!(pattern("_ZN6engine4open17h33157aaaa1d4f898E"), ".text._ZN6engine4open17h*");
        assert_eq!(pattern("_ZN6engine4open17h33157aaaa1d4f898E.llvm.77"), ".text._ZN6engine4open17h*");
        assert_eq!(pattern("_RNvNtCs2a9_3std2rt4init"), ".text._RNvNtCs*_3std2rt4init");
        assert_eq!(pattern("ts_lex"), ".text.ts_lex");
    }

    #[test]
    fn only_functions_of_the_binary_that_ran_are_taken() {
        let profile = "ob=(1) /lib/libc.so\nfn=(1) malloc\n1 2\nob=(2) /bin/gimlet\nfl=(1) ???\nfn=(2) main\ncob=(1)\n\
                       cfn=(1)\ncfn=(3) helper\n5 6\nfn=(3)\n1 1\nob=(1)\nfn=(4) free\n";
        assert_eq!(functions_in(profile, "/bin/gimlet"), BTreeSet::from(["main".to_owned(), "helper".to_owned()]));
    }

    #[test]
    fn functions_with_the_same_code_are_placed_with_the_one_that_ran() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let run = with_aliases(BTreeSet::from(["b".to_owned()]), &[names(&["a", "b"]), names(&["c", "d"])]);
        assert_eq!(run, BTreeSet::from(["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn a_name_with_many_other_instances_goes_to_the_second_group() {
        let hash = |digit: &str| format!("_ZN7generic17h{}E", digit.repeat(16));
        let sizes = Sizes::from([("small".to_owned(), 900), (hash("1"), 9_000), (hash("2"), 300_000)]);
        let run = BTreeSet::from(["small".to_owned(), hash("1")]);
        let text = script(&sizes, &run, &BTreeSet::from(["tool".to_owned()]));
        let (first, second) = text.split_once(".text.calls").unwrap();
        assert!(first.contains(".text.small\n") && !first.contains("generic"), "{text}");
        assert!(second.contains(".text._ZN7generic17h*\n") && second.contains(".text.tool\n"), "{text}");
    }
}
