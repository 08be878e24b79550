//! Tools that tell what they are or what is installed. Per tool the forms that only print; whatever is not in the tables
//! asks. Left out on purpose: tools that load code or settings of the folder even to say their version (`yarn`, `mvn`,
//! `poetry`, `bundle`, `erl`, `ansible` and the others of the table in `docs/security.md`), and listings that reach the network or run a program the folder names (`cargo tree`, `go list`).

use super::readonly::ReadAccess;
use super::script::ShellWord;

/// Tools that say their version and their options without a look at the folder.
#[rustfmt::skip]
const TOOLS: &[&str] = &[
    "cargo", "rustc", "rustup", "rustfmt", "rustdoc", "node", "npm", "npx", "bun", "deno", "tsc", "python", "python3", "pip", "pip3",
    "pipx", "uv", "uvx", "ruby", "gem", "perl", "php", "lua", "java", "javac", "gcc", "g++", "cc",
    "c++", "clang", "clang++", "ld", "make", "cmake", "ninja", "meson", "ghc", "stack", "ocaml", "docker",
    "podman", "kubectl", "helm", "terraform", "aws", "gcloud", "az", "gh", "glab", "git", "svn", "tar",
    "zip", "unzip", "gzip", "bzip2", "xz", "zstd", "curl", "wget", "rsync", "openssl", "gpg", "sqlite3", "psql", "mysql",
    "redis-cli", "mongosh", "ffmpeg", "convert", "pandoc", "tmux", "screen", "vim", "nvim", "emacs", "nano", "bash", "zsh", "fish",
    "dash", "sh", "sudo", "find", "sed", "awk", "gawk", "jq", "yq", "diff", "patch", "strace", "gdb", "bat", "exa", "eza",
    "ag", "tree", "bc", "shellcheck", "black", "ruff", "mypy", "hyperfine", "just", "watch", "parallel", "brew", "apt", "dpkg", "rpm",
    "systemctl", "less", "man", "time", "env", "xargs", "ps", "top", "htop", "ldd", "yamllint", "lsof", "bc",
];

/// Programs, the words that follow, options without a value, options with one, and whether operands may follow.
type ListingForm =
    (&'static [&'static str], &'static [&'static str], &'static [&'static str], &'static [&'static str], bool);

#[rustfmt::skip]
const FORMS: &[ListingForm] = &[
    (&["rustc"], &[], &["-V", "-vV", "--version", "--verbose"], &[], false),
    (&["cargo"], &["-V"], &[], &[], false),
    (&["cargo"], &["--list"], &[], &[], false),
    (&["node", "npm", "ruby", "php", "perl", "lua", "gcc", "g++", "clang", "cc"], &["-v"], &[], &[], false),
    (&["python", "python3", "tmux", "ssh", "pip", "pip3", "uv", "perl", "docker"], &["-V"], &[], &[], false),
    (&["gcc", "g++", "cc", "clang", "clang++"], &["-dumpversion"], &[], &[], false),
    (&["gcc", "g++", "cc", "clang", "clang++"], &["-dumpmachine"], &[], &[], false),
    (&["gcc", "g++", "cc", "clang", "clang++"], &["-print-search-dirs"], &[], &[], false),
    (&["java", "javac", "ffmpeg", "ffprobe"], &["-version"], &[], &[], false),
    (&["go"], &["version"], &[], &[], false),
    (&["go"], &["env"], &["-json"], &[], true),
    (&["git", "docker", "openssl"], &["version"], &[], &[], false),
    (&["terraform"], &["version"], &["-json"], &[], false),
    (&["terraform"], &["-version"], &[], &[], false),
    (&["helm"], &["version"], &["--short"], &[], false),
    (&["kubectl"], &["version", "--client"], &[], &["-o", "--output"], false),
    (&["npm"], NPM_LS[0], NPM_FLAGS, NPM_VALUED, true),
    (&["npm"], NPM_LS[1], NPM_FLAGS, NPM_VALUED, true),
    (&["npm"], &["root"], &["-g", "--global"], &[], false),
    (&["npm"], &["prefix"], &["-g", "--global"], &[], false),
    (&["npm"], &["pkg", "get"], &[], &[], true),
    (&["pip", "pip3"], &["list"], &["--local", "--user", "--not-required", "-e", "--editable"], &["--format"], false),
    (&["pip", "pip3"], &["freeze"], &["--local", "--user", "--all", "-l"], &[], false),
    (&["pip", "pip3"], &["show"], &["-f", "--files", "-v", "--verbose"], &[], true),
    (&["gem"], &["list"], &["--local", "-l"], &[], true),
    (&["brew"], &["list"], &["--formula", "--cask", "--versions", "-1"], &[], true),
    (&["dpkg"], &["-l"], &[], &[], true),
    (&["dpkg"], &["-s"], &[], &[], true),
    (&["dpkg"], &["-L"], &[], &[], true),
    (&["rpm"], &["-qa"], &[], &[], true),
    (&["systemctl"], &["status"], &["--no-pager", "-l", "--full"], &["-n", "--lines"], true),
    (&["systemctl"], &["is-active"], &["--quiet"], &[], true),
    (&["systemctl"], &["is-enabled"], &["--quiet"], &[], true),
    (&["systemctl"], &["list-units"], &["--no-pager", "--all", "-a", "--failed"], &["--type", "--state", "-t"], true),
    (&["ps"], &[], &["-e", "-f", "-A", "-ef", "-a", "-x", "-u", "-l", "-F", "-eF", "-L", "-eLf", "-H", "-ww", "--forest", "--no-headers"], &["-p", "--pid", "-C", "--sort", "--ppid", "-U", "-G", "--user"], false),
    (&["top"], &["-b"], &["-c", "-H", "-i", "-n1", "-bn1"], &["-n", "-p", "-u", "-o", "-w"], false),
    (&["top"], &["-bn1"], &["-c", "-H", "-i"], &["-p", "-u", "-o", "-w"], false),
    (&["ip"], &["addr"], &[], &[], false),
    (&["ip"], &["addr", "show"], &[], &[], true),
    (&["ip"], &["a"], &[], &[], false),
    (&["ip"], &["-br", "addr"], &[], &[], false),
    (&["ip"], &["link"], &[], &[], false),
    (&["ip"], &["link", "show"], &[], &[], true),
    (&["ip"], &["route"], &[], &[], false),
    (&["ip"], &["route", "show"], &[], &[], false),
    (&["ip"], &["r"], &[], &[], false),
    (&["ifconfig"], &[], &["-a"], &[], false),
    (&["dmesg"], &[], &["-T", "--ctime", "-k", "-x"], &["-l", "--level"], false),
    (&["who", "w", "last", "lastlog"], &[], &["-a", "-b", "-h", "-q", "-s", "-u", "-x"], &["-n"], false),
    (&["pstree"], &[], &["-a", "-p", "-u", "-l"], &[], true),
    (&["cal", "ncal"], &[], &["-3", "-y", "-m"], &[], true),
    (&["groups", "tty", "arch", "locale", "jobs", "umask", "logname"], &[], &["-a", "-l"], &[], false),
    (&["ulimit"], &["-a"], &[], &[], false),
    (&["ulimit"], &["-n"], &[], &[], false),
    (&["lscpu", "lsblk", "lsmem"], &[], &["-a", "-e", "-f", "-J", "-p"], &["-o"], false),
    (&["whereis", "whatis", "factor", "apropos"], &[], &["-b", "-m", "-s"], &[], true),
    (&["netstat"], &[], &["-tlnp", "-tln", "-tulpn", "-tunlp", "-an", "-rn", "-tnlp", "-anp", "-ltnp"], &[], false),
    (&["docker", "podman"], &["stats", "--no-stream"], &["-a", "--all", "--no-trunc"], &["--format"], true),
];

const NPM_LS: [&[&str]; 2] = [&["ls"], &["list"]];
#[rustfmt::skip]
const NPM_FLAGS: &[&str] = &["-g", "--global", "-a", "--all", "--json", "--long", "-l", "-p", "--parseable", "--prod", "--production"];
const NPM_VALUED: &[&str] = &["--depth", "--omit", "--include"];

/// Columns of `ps` that show no environment.
#[rustfmt::skip]
const COLUMNS: &[&str] = &[
    "pid", "ppid", "pgid", "sid", "uid", "user", "group", "comm", "args", "cmd", "command", "pcpu", "%cpu", "pmem", "%mem", "rss",
    "vsz", "stat", "state", "s", "start", "lstart", "etime", "etimes", "time", "tty", "tname", "ni", "pri", "nlwp", "psr", "wchan",
];

/// What the tool looks at, which is nothing of the folder; `None` when the form is not known.
pub(super) fn looks<'a>(program: &str, arguments: &'a [ShellWord]) -> Option<Vec<ReadAccess<'a>>> {
    if arguments.iter().any(|word| word.glob || word.tilde) {
        return None;
    }
    let only = match arguments {
        [only] => Some(only.raw.as_str()),
        _ => None,
    };
    let tells = matches!(only, Some("--version" | "--help")) && TOOLS.contains(&program);
    let listed = || FORMS.iter().any(|form| form.0.contains(&program) && fits(form, arguments));
    (tells || listed() || (program == "ps" && lists_processes(arguments))).then(Vec::new)
}

fn fits((_, words, flags, valued, takes_operands): &ListingForm, arguments: &[ShellWord]) -> bool {
    if arguments.len() < words.len() || words.iter().zip(arguments).any(|(word, given)| *word != given.raw) {
        return false;
    }
    let mut rest = arguments.iter().skip(words.len());
    while let Some(word) = rest.next() {
        let (name, inline) = word.text.split_once('=').map_or((word.text.as_str(), false), |(name, _)| (name, true));
        let known = if !word.text.starts_with('-') {
            *takes_operands
        } else if valued.contains(&name) {
            inline || rest.next().is_some()
        } else {
            !inline && flags.contains(&word.text.as_str())
        };
        if !known {
            return false;
        }
    }
    true
}

/// `ps aux` and `ps -p 1 -o pid,comm`: letters without a dash, of which `e` would show the environment.
fn lists_processes(arguments: &[ShellWord]) -> bool {
    let mut rest = arguments.iter().peekable();
    if let Some(first) = rest.peek()
        && !first.text.is_empty()
        && first.text.chars().all(|c| "auxwfjlsvr".contains(c))
    {
        rest.next();
    }
    while let Some(word) = rest.next() {
        let columns = match word.text.as_str() {
            "-o" | "-eo" | "-Ao" | "-axo" | "-O" => rest.next().map(|word| word.text.as_str()),
            "-p" | "-u" | "-U" | "-C" | "--ppid" | "--pid" | "--sort" if rest.next().is_some() => continue,
            "-e" | "-f" | "-ef" | "-A" | "--no-headers" | "--forest" | "-ax" | "-ww" => continue,
            text if text.starts_with("--sort=") => continue,
            _ => None,
        };
        let known = |name: &str| COLUMNS.contains(&name.split(['=', ':']).next().unwrap_or(name));
        if !columns.is_some_and(|columns| columns.split(',').all(known)) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use crate::shell::reading::CommandReading;

    fn looks(command: &str) -> bool {
        let words = CommandReading::of(command).strict.unwrap().remove(0).words;
        super::looks(&words[0].raw, &words[1..]).is_some()
    }

    /// Why each may run what lies in the folder stands in `docs/security.md`.
    #[rustfmt::skip]
    const LOADERS: &[&str] = &[
        "yarn", "pnpm", "corepack", "mvn", "mvnw", "mvnd", "gradle", "gradlew", "sbt", "mill", "lein", "ant", "bazel", "buck2", "pants",
        "poetry", "pipenv", "pdm", "hatch", "tox", "nox", "pytest", "pre-commit", "scons", "invoke", "fab", "bundle", "bundler", "rake",
        "rails", "rspec", "pod", "fastlane", "composer", "phpunit", "artisan", "erl", "erlc", "escript", "elixir", "iex", "mix", "rebar3",
        "dotnet", "nuget", "swift", "ansible", "ansible-playbook", "vagrant", "pulumi", "serverless", "cdk", "hg", "jj", "eslint",
        "prettier", "jest", "vitest", "webpack", "vite", "gulp", "grunt", "nx", "turbo", "lerna", "ng", "expo", "direnv", "mise", "asdf",
        "valgrind", "R", "Rscript", "julia", "sage", "opam", "dune", "nix", "devbox",
    ];

    // [F-A2]
    #[test]
    fn tools_that_load_files_of_the_folder_are_asked_about() {
        for program in LOADERS {
            for asked in ["--version", "-V", "-v", "version", "--help", "-version"] {
                assert!(!looks(&format!("{program} {asked}")), "{program} {asked}");
            }
        }
        for through in
            ["npx eslint --version", "npx prettier --version", "npx -v eslint", "./gradlew --version", "./mvnw -v"]
        {
            assert!(!looks(through), "{through}");
        }
    }

    #[test]
    fn a_form_that_is_not_in_the_tables_is_not_known() {
        for command in [
            // Verbose, and reads a program from its input.
            "python3 -v",
            "yarn --version",
            "pnpm --version",
            "mvn --version",
            "cargo --version --config x",
            "npm ls --prefix ../x",
            "pip list -o",
            "pip list --outdated",
            "go env -w A=b",
            "ps eww",
            "ps auxe",
            "ps -o environ",
            "ps -eo pid,environ",
            "kubectl version",
            "systemctl stop x",
            "systemctl -H host status",
            "rpm --eval x",
            "npm pkg set a=b",
            "npm list --script-shell=x",
            "umask 000",
            "cargo tree",
            "docker -H x --version",
            "rustup default nightly",
            "dpkg -i x.deb",
            "gem list --remote",
        ] {
            assert!(!looks(command), "{command}");
        }
    }
}
