//! Options that may precede the subcommand of a program, with whether they take a value. The tables are the whole
//! knowledge: behind an option that is not in them the subcommand is not known, and the call is judged as the worst the
//! program can do.

struct GlobalOptions {
    programs: &'static [&'static str],
    flags: &'static [&'static str],
    /// Options whose value is the next word, or follows an equals sign.
    valued: &'static [&'static str],
}

const fn globals(
    programs: &'static [&'static str],
    flags: &'static [&'static str],
    valued: &'static [&'static str],
) -> GlobalOptions {
    GlobalOptions { programs, flags, valued }
}

#[rustfmt::skip]
const TABLE: &[GlobalOptions] = &[
    globals(&["git"], &[
        "-p", "--paginate", "-P", "--no-pager", "--bare", "--no-replace-objects", "--literal-pathspecs", "--glob-pathspecs",
        "--noglob-pathspecs", "--icase-pathspecs", "--no-optional-locks", "--no-lazy-fetch", "--no-advice",
    ], &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source", "--exec-path"]),
    globals(&["docker", "podman", "nerdctl"], &["-D", "--debug", "--tls", "--tlsverify", "--remote", "-r"], &[
        "-H", "--host", "-c", "--context", "--config", "-l", "--log-level", "--tlscacert", "--tlscert", "--tlskey", "--url", "--connection",
        "--namespace", "-n", "--address", "-a",
    ]),
    globals(&["npm", "pnpm", "yarn", "bun"], &[
        "-g", "--global", "-s", "--silent", "-q", "--quiet", "-d", "--verbose", "--json", "--no-color", "-r", "--recursive", "-w",
        "--workspace-root", "--workspaces", "--yes", "-y", "--no-audit", "--no-fund", "--offline", "--prefer-offline", "--ignore-scripts",
    ], &["--prefix", "-C", "--dir", "--cwd", "--registry", "--userconfig", "--loglevel", "--filter", "-F", "--workspace", "--cache"]),
    globals(&["cargo"], &["-v", "-vv", "--verbose", "-q", "--quiet", "--frozen", "--locked", "--offline"], &["--color", "--config", "-C", "-Z"]),
    globals(&["kubectl", "oc"], &["--insecure-skip-tls-verify", "--match-server-version", "--warnings-as-errors"], &[
        "-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user", "-s", "--server", "--token", "--as", "--as-group",
        "--cache-dir", "--certificate-authority", "--client-certificate", "--client-key", "--request-timeout", "-v", "--v",
        "--password", "--username", "--profile", "--tls-server-name",
    ]),
    globals(&["helm"], &["--debug", "--kube-insecure-skip-tls-verify"], &[
        "-n", "--namespace", "--kube-context", "--kubeconfig", "--kube-apiserver", "--kube-token", "--registry-config",
        "--repository-cache", "--repository-config", "--burst-limit",
    ]),
    globals(&["systemctl", "loginctl", "journalctl"], &[
        "--user", "--system", "--no-pager", "-q", "--quiet", "--no-block", "--no-wall", "-a", "--all", "-l", "--full", "-f", "--force",
        "--now", "--no-legend", "--global", "--runtime",
    ], &["-H", "--host", "-M", "--machine", "-t", "--type", "--state", "-p", "--property", "-n", "--lines", "-o", "--output", "-s", "--signal", "--root"]),
    globals(&["gh", "glab"], &[], &["-R", "--repo", "--hostname"]),
    globals(&["pip", "pip3", "uv"], &[
        "-v", "-vv", "--verbose", "-q", "--quiet", "--isolated", "--no-input", "--require-virtualenv", "--disable-pip-version-check",
        "--no-cache-dir", "--no-color", "--offline", "-n", "--no-cache", "--no-config", "--no-progress",
    ], &["--proxy", "--retries", "--timeout", "--log", "--cache-dir", "--cert", "--client-cert", "--trusted-host", "--python", "--directory", "--project", "--config-file", "--color"]),
    globals(&["brew"], &["-d", "--debug", "-q", "--quiet", "-v", "--verbose"], &[]),
    globals(&["apt", "apt-get", "apt-cache", "aptitude"], &[
        "-y", "--yes", "--assume-yes", "-q", "-qq", "--quiet", "-s", "--simulate", "--dry-run", "-d", "--download-only", "-m",
        "--no-install-recommends", "--allow-downgrades", "--purge", "-f", "--fix-broken", "-u", "-V",
    ], &["-o", "--option", "-c", "--config-file", "-t", "--target-release"]),
    globals(&["go"], &[], &["-C"]),
    globals(&["terraform", "tofu"], &["-help", "-version"], &["-chdir"]),
    globals(&["svn"], &["--non-interactive", "-q", "--quiet", "--no-auth-cache"], &["--username", "--password", "--config-dir", "--config-option"]),
    globals(&["hg"], &["-v", "--verbose", "-q", "--quiet", "-y", "--noninteractive", "--debug", "--traceback", "--profile", "--hidden"], &[
        "-R", "--repository", "--cwd", "--config", "--encoding", "--encodingmode", "--color", "--pager",
    ]),
    globals(&["aws"], &["--debug", "--no-verify-ssl", "--no-paginate", "--no-sign-request", "--no-cli-pager"], &[
        "--endpoint-url", "--output", "--query", "--profile", "--region", "--color", "--ca-bundle", "--cli-read-timeout", "--cli-connect-timeout",
    ]),
    globals(&["gcloud"], &["-q", "--quiet"], &["--project", "--account", "--configuration", "--format", "--verbosity", "--impersonate-service-account"]),
    globals(&["bundle", "poetry", "composer", "pipenv", "rustup", "mix", "deno", "dotnet", "gem"], &[
        "-q", "--quiet", "-v", "--verbose", "-n", "--no-interaction", "--ansi", "--no-ansi", "--no-color",
    ], &["-C", "--directory", "-d", "--working-dir", "-P", "--project"]),
];

/// The position of the subcommand of a known program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubcommandPosition {
    /// The index of its word.
    At(usize),
    /// Behind the option at this index, which is not known: any word after it may be the subcommand.
    Behind(usize),
    /// There are only options.
    Missing,
}

/// Finds the subcommand among the words after the program's name.
pub(crate) fn subcommand(program: &str, arguments: &[&str]) -> SubcommandPosition {
    let known = TABLE.iter().find(|globals| globals.programs.contains(&program));
    let mut index = 0;
    while let Some(word) = arguments.get(index) {
        if !word.starts_with('-') {
            return SubcommandPosition::At(index);
        }
        index += match known.map_or(OptionArity::Unknown, |globals| globals.arity(word)) {
            OptionArity::Flag => 1,
            OptionArity::Value => 2,
            OptionArity::Unknown => return SubcommandPosition::Behind(index),
        };
    }
    SubcommandPosition::Missing
}

/// Whether an option before the subcommand is known to take no value.
pub(crate) fn takes_no_value(program: &str, option: &str) -> bool {
    let known = TABLE.iter().find(|globals| globals.programs.contains(&program));
    known.is_some_and(|globals| globals.arity(option) == OptionArity::Flag)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionArity {
    Flag,
    Value,
    Unknown,
}

impl GlobalOptions {
    fn arity(&self, option: &str) -> OptionArity {
        match option.split_once('=') {
            Some((name, _)) if self.valued.contains(&name) => OptionArity::Flag,
            None if self.flags.contains(&option) => OptionArity::Flag,
            // Without a value `git --exec-path` prints it and ends.
            None if option == "--exec-path" => OptionArity::Flag,
            None if self.valued.contains(&option) => OptionArity::Value,
            Some(_) | None => OptionArity::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subcommand_is_found_behind_known_options_only() {
        let find = |text: &str| {
            let words: Vec<&str> = text.split(' ').collect();
            subcommand(words[0], &words[1..])
        };
        assert_eq!(find("git --config-env a.b=HOME reset --hard"), SubcommandPosition::At(2));
        assert_eq!(find("git --config-env=a.b=HOME reset --hard"), SubcommandPosition::At(1));
        assert_eq!(find("git -C x -c a=b --no-pager log"), SubcommandPosition::At(5));
        assert_eq!(find("git --frobnicate reset --hard"), SubcommandPosition::Behind(0));
        assert_eq!(find("git -P --new x reset"), SubcommandPosition::Behind(1));
        assert_eq!(find("docker --context x rm y"), SubcommandPosition::At(2));
        assert_eq!(find("kubectl -n=prod delete x"), SubcommandPosition::At(1));
        assert_eq!(find("helm --odd x delete y"), SubcommandPosition::Behind(0));
        assert_eq!(find("git --no-pager"), SubcommandPosition::Missing);
    }
}
