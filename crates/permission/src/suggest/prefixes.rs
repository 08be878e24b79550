//! Well-known tools, and how much of a call of them is worth a rule. A prefix is offered where every call that begins like
//! this is of one kind: checks, tests, builds, local bookkeeping. Whatever can fetch, send, delete or run anything is not
//! here: of such a call only the very command is offered.

use crate::shell::wrapper::base_name;

/// Tools that check, format, test or build, whatever their arguments are.
#[rustfmt::skip]
const WHOLE: &[&str] = &[
    "pytest", "py.test", "tox", "nox", "mypy", "pyright", "black", "isort", "flake8", "pylint", "bandit", "coverage",
    "jest", "vitest", "mocha", "ava", "eslint", "prettier", "tsc", "biome", "stylelint", "tsd", "knip", "oxlint",
    "rspec", "rubocop", "minitest", "phpunit", "phpstan", "pest", "gofmt", "goimports", "golangci-lint", "staticcheck",
    "rustfmt", "shellcheck", "shfmt", "hadolint", "yamllint", "markdownlint", "actionlint", "clang-format", "clang-tidy",
    "cppcheck", "ctest", "ktlint", "detekt", "swiftlint", "swiftformat", "checkstyle", "sqlfluff", "tokei", "cloc",
    "mkdir", "touch",
];

/// Programs with subcommands, and the subcommands of one kind.
#[rustfmt::skip]
const SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("git", &["add", "commit", "fetch", "mv", "log", "diff", "show", "blame", "status", "describe", "shortlog", "ls-files"]),
    ("cargo", &["test", "build", "check", "clippy", "fmt", "doc", "bench", "run", "nextest", "tree", "metadata", "t", "b", "c", "r"]),
    ("npm", &["test", "t", "ls", "list", "outdated", "view", "audit", "start", "explain"]),
    ("pnpm", &["test", "t", "ls", "list", "outdated", "why", "audit", "start", "lint", "build"]),
    ("yarn", &["test", "why", "list", "outdated", "audit", "start", "lint", "build"]),
    ("bun", &["test", "outdated"]),
    ("deno", &["test", "lint", "fmt", "check", "bench"]),
    ("go", &["test", "build", "vet", "fmt", "list", "doc", "mod tidy", "mod verify", "mod graph"]),
    ("dotnet", &["build", "test", "format", "restore"]),
    ("mvn", &["test", "compile", "package", "verify", "validate"]),
    ("./mvnw", &["test", "compile", "package", "verify", "validate"]),
    ("gradle", &["test", "build", "check", "assemble", "dependencies", "tasks"]),
    ("./gradlew", &["test", "build", "check", "assemble", "dependencies", "tasks"]),
    ("mix", &["test", "compile", "format", "credo", "dialyzer"]),
    ("rails", &["test", "routes"]),
    ("bin/rails", &["test", "routes"]),
    ("composer", &["test", "validate", "show", "outdated"]),
    ("swift", &["build", "test", "format"]),
    ("zig", &["build", "test", "fmt"]),
    ("stack", &["build", "test"]),
    ("cabal", &["build", "test"]),
    ("dune", &["build", "test", "fmt"]),
    ("bazel", &["build", "test", "query"]),
    ("ruff", &["check", "format"]),
    ("uv", &["tree", "lock"]),
    ("poetry", &["check", "show"]),
    ("pip", &["list", "show", "freeze", "check"]),
    ("pip3", &["list", "show", "freeze", "check"]),
    ("pre-commit", &["run"]),
    ("terraform", &["plan", "validate", "fmt"]),
    ("tofu", &["plan", "validate", "fmt"]),
    ("helm", &["lint", "template"]),
    ("docker", &["build", "ps", "images", "logs", "inspect", "compose build", "compose up", "compose ps", "compose logs", "compose config"]),
    ("podman", &["build", "ps", "images", "logs", "inspect"]),
    ("kubectl", &["get", "describe", "logs", "top", "explain"]),
    ("gh", &["pr view", "pr list", "pr diff", "pr checks", "pr status", "issue view", "issue list", "issue status", "run view", "run list",
             "run watch", "repo view", "release list", "release view", "workflow list"]),
    ("systemctl", &["status"]),
    ("brew", &["list", "info", "outdated"]),
    ("rustup", &["show", "component list", "target list", "toolchain list"]),
    ("playwright", &["test"]),
    ("cypress", &["run"]),
    ("ng", &["build", "test", "lint"]),
    ("next", &["build", "lint"]),
    ("vite", &["build"]),
    ("turbo", &["build", "test", "lint"]),
    ("storybook", &["build"]),
];

/// Words after which the name of a script of the project follows.
const SCRIPTS: &[&[&str]] = &[
    &["npm", "run"],
    &["npm", "run-script"],
    &["pnpm", "run"],
    &["yarn", "run"],
    &["bun", "run"],
    &["deno", "task"],
    &["composer", "run"],
    &["composer", "run-script"],
    &["poe"],
    &["hatch", "run"],
    &["pdm", "run"],
    &["nx", "run"],
];

/// Words after which another tool is named; only a well-known one is offered behind them.
const LAUNCHERS: &[&[&str]] = &[
    &["npx"],
    &["pnpm"],
    &["pnpm", "exec"],
    &["yarn"],
    &["yarn", "exec"],
    &["npm", "exec"],
    &["bunx"],
    &["uv", "run"],
    &["uvx"],
    &["poetry", "run"],
    &["pipenv", "run"],
    &["pdm", "run"],
    &["hatch", "run"],
    &["bundle", "exec"],
    &["python", "-m"],
    &["python3", "-m"],
    &["vendor/bin"],
];

/// Interpreters of scripts: a script of the project is named like a subcommand.
const INTERPRETERS: &[&str] =
    &["python", "python3", "node", "ruby", "perl", "php", "lua", "tsx", "ts-node", "Rscript", "deno", "bun", "uv"];

/// Programs that run what they are given, whatever it is: no rule at all is offered for them by themselves.
#[rustfmt::skip]
const RUNS_ANYTHING: &[&str] = &[
    "sudo", "doas", "su", "runuser", "pkexec", "eval", "exec", "source", ".", "env", "xargs", "parallel", "chroot", "unshare", "nsenter",
    "systemd-run", "strace", "ltrace", "script", "watch", "entr", "osascript", "pwsh", "at", "batch", "expect", "unbuffer",
];

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish"];

/// Builtins that change the shell instead of doing something.
#[rustfmt::skip]
const SHELL_STATE: &[&str] = &[
    "cd", "pushd", "popd", "export", "alias", "unalias", "set", "unset", "shopt", "trap", "umask", "ulimit", "read", "declare", "local",
    "readonly", "typeset", "hash", "enable", "bind", "complete", "let", "wait", "exit", "return", "break", "continue", "jobs", "fg", "bg",
];

/// Programs that pass on what they are given, without running it: fine at the end of a pipeline.
const SINKS: &[&str] = &["tee", "pbcopy", "xclip", "wl-copy", "column", "less", "bat", "delta", "diffstat", "ts", "pv"];

/// The prefix worth saving for a command, without the final star. `None` when only the very command should be saved.
pub(crate) fn offered_prefix(words: &[&str]) -> Option<String> {
    let words: Vec<&str> = words.to_vec();
    for script in SCRIPTS {
        if let Some([name, ..]) = words.strip_prefix(*script) {
            return is_plain(name).then(|| format!("{} {name}", script.join(" ")));
        }
    }
    known_tool(&words).or_else(|| launched(&words)).or_else(|| project_script(&words))
}

/// `pytest`, `cargo test`, `cargo +nightly test`.
fn known_tool(words: &[&str]) -> Option<String> {
    let (program, rest) = words.split_first()?;
    if WHOLE.contains(program) {
        return Some((*program).to_owned());
    }
    let (_, subcommands) = SUBCOMMANDS.iter().find(|(name, _)| name == program)?;
    let chosen = rest.first().filter(|word| *program == "cargo" && word.starts_with('+') && is_plain(word));
    let rest = &rest[usize::from(chosen.is_some())..];
    let begins = |known: &&&str| {
        let mut wanted = known.split(' ');
        rest.iter().zip(&mut wanted).all(|(word, known)| *word == known) && wanted.next().is_none()
    };
    let subcommand = subcommands.iter().filter(|known| known.split(' ').count() <= rest.len()).find(begins)?;
    let toolchain = chosen.map(|name| format!("{name} ")).unwrap_or_default();
    Some(format!("{program} {toolchain}{subcommand}"))
}

/// A well-known tool behind `npx`, `uv run` or `python -m`.
fn launched(words: &[&str]) -> Option<String> {
    LAUNCHERS.iter().find_map(|launcher| {
        let rest = words.strip_prefix(*launcher)?;
        let is_module = launcher.last() == Some(&"-m");
        let tool = match *rest.first()? {
            "unittest" if is_module => "unittest".to_owned(),
            // Behind another tool these would be something else.
            "mkdir" | "touch" => return None,
            _ => known_tool(rest).filter(|tool| {
                let program = tool.split(' ').next().unwrap_or_default();
                WHOLE.contains(&program)
                    || matches!(program, "ruff" | "playwright" | "cypress" | "ng" | "next" | "vite" | "rails")
            })?,
        };
        Some(format!("{} {tool}", launcher.join(" ")))
    })
}

/// A script of the project, run by its path or by an interpreter.
fn project_script(words: &[&str]) -> Option<String> {
    let is_inside = |path: &str| {
        is_plain(path)
            && !path.starts_with('/')
            && !path.split('/').any(|part| part == "..")
            && path.contains(['/', '.'])
    };
    match words {
        [script, ..] if script.starts_with("./") && is_inside(script) => Some((*script).to_owned()),
        [interpreter, script, ..]
            if INTERPRETERS.contains(interpreter) && is_inside(script) && script.rsplit('/').next()?.contains('.') =>
        {
            Some(format!("{interpreter} {script}"))
        }
        _ => None,
    }
}

/// Where the input of a command comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandInput {
    Own,
    /// Another program, a file or a here-document: a rule for the command says nothing about it.
    Given,
}

/// Whether a rule for this very command, and nothing more, says what it does.
pub(crate) fn speaks_for_itself(words: &[&str], input: CommandInput) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let program = base_name(program);
    if RUNS_ANYTHING.contains(&program) || SHELL_STATE.contains(&program) {
        return false;
    }
    if input == CommandInput::Given && !SINKS.contains(&program) {
        return false;
    }
    // Code among the arguments is never the same twice, and hard to read.
    let is_code = |word: &&str| {
        matches!(*word, "-c" | "-e" | "-E" | "-r" | "-p" | "--eval" | "--print" | "-pe" | "-ne" | "-lc" | "eval" | "-")
    };
    let interprets = SHELLS.contains(&program) || INTERPRETERS.contains(&program);
    if !interprets {
        return true;
    }
    let is_named = arguments.iter().any(|word| is_plain(word) && !word.starts_with('-'));
    is_named && !arguments.iter().take(2).any(is_code)
}

/// Letters of names and paths, nothing the shell reads.
fn is_plain(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with('-')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@' | '+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip]
    fn prefixes_name_what_runs() {
        let of = |text: &str| offered_prefix(&text.split(' ').collect::<Vec<_>>());
        for (command, expected) in [
            ("npm test --watch", Some("npm test")), ("npm run build -- --x", Some("npm run build")), ("git commit -m x", Some("git commit")),
            ("gh pr view 3", Some("gh pr view")), ("gh pr merge 3", None), ("curl x", None), ("sed -i s/a/b/ f", None),
            ("python3 run.py --x", Some("python3 run.py")), ("python -c x", None), ("python -m pytest -x", Some("python -m pytest")),
            ("python -m http.server", None), ("bash x", None), ("sudo ls", None), ("env ls", None), ("git -c a=b log", None), ("npm", None),
            ("'npm' test", None), ("npm run 'a b'", None), ("docker compose up -d", Some("docker compose up")), ("docker run x", None),
            ("cargo test", Some("cargo test")), ("cargo +nightly test -x", Some("cargo +nightly test")), ("cargo install x", None),
            ("./gradlew build", Some("./gradlew build")), ("npx jest a", Some("npx jest")), ("npx some-package", None), ("npx mkdir x", None),
            ("./scripts/test.sh a", Some("./scripts/test.sh")), ("./../x.sh", None), ("/tmp/x.sh", None), ("python3 /tmp/x.py", None),
            ("uv run pytest", Some("uv run pytest")), ("uv run x.py", None), ("make test", None), ("git push origin x", None),
            ("pytest", Some("pytest")), ("pytests", None),
        ] {
            assert_eq!(of(command).as_deref(), expected, "{command}");
        }
    }
}
