//! Gathers the facts about the disk that permission decisions need: where paths resolve to, which files have several
//! names, and which repository git would use. Looks only at what the call in question needs.

use permission::{Access, PathFacts, PermissionQuery, Policy, RepositoryFacts};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use sys::Env;
use sys::git::neutral::NeutralConfig;
use wire::mode::PermissionMode;

/// Like [`gather`], and also reads the configuration of the repositories in which git would run.
pub fn gather_with_repositories(policy: &Policy, request: &PermissionQuery<'_>, cwd: &Path, env: &Env) -> PathFacts {
    let facts = gather(policy, request, cwd);
    let mentions_git = |access: &Access| matches!(access, Access::Run(command) if command.contains("git"));
    if !request.accesses.iter().any(mentions_git) {
        return facts;
    }
    let places = policy.git_places(request, &facts).into_iter();
    let found = places.map(|dir| {
        let found = match NeutralConfig::of([dir.as_path()], env).and_then(|found| found.variables(env).map(|_| found))
        {
            Ok(found) => RepositoryFacts::Powerless {
                external_diff: found.external_diff,
                files: found.files.into_iter().collect(),
            },
            Err(obstacle) => RepositoryFacts::Obstacle(obstacle.to_string()),
        };
        (dir, found)
    });
    facts.with_repositories(found.collect())
}

/// Resolves everything `policy` needs to decide `request` in a shell whose working directory is `cwd`. Does not read
/// git configuration, so git commands never count as read-only.
pub fn gather(policy: &Policy, request: &PermissionQuery<'_>, cwd: &Path) -> PathFacts {
    let mut facts = PathFacts::gather(cwd.to_path_buf(), policy.needs(request, cwd), sys::real_path::path)
        .with_process_paths(sys::real_path::depends_on_process)
        .with_repositories(BTreeMap::new());
    let holds_names =
        |command: &str| command.contains(['*', '?', '[']) || command.contains("ls-files") || command.contains("xargs");
    if request.accesses.iter().any(|access| matches!(access, Access::Run(command) if holds_names(command))) {
        let names = crate::names::find_names(policy.name_queries(request, cwd));
        let resolve = |path: &Path| (!sys::real_path::depends_on_process(path)).then(|| sys::real_path::path(path));
        facts = facts.with_names(names, resolve);
    }
    if let Some(plan) = policy.read_plan(request, cwd) {
        facts = facts.with_reads(crate::reads::check_reads(&plan, policy));
    }
    if policy.mode == PermissionMode::AcceptEdits {
        facts = facts.with_shared_files(has_hard_links);
    }
    let commands = || {
        request.accesses.iter().filter_map(|access| match access {
            Access::Run(command) => Some(command),
            Access::ReadPath(_)
            | Access::WritePath(_)
            | Access::Reach { .. }
            | Access::Use
            | Access::Harmless
            | Access::Interact => None,
        })
    };
    if commands().any(|command| ["cp", "mv", "rsync", "scp"].iter().any(|program| command.contains(program))) {
        let trees = policy.copied_trees(request, cwd).into_iter().filter(|tree| holds_protected(tree));
        facts = facts.with_protected_trees(trees.collect());
    }
    if commands().any(|command| command.contains("source ") || command.contains(". ")) {
        facts = facts.with_files(Path::is_file);
    }
    if commands().any(|command| command.contains("cargo") || command.contains("rust")) && names_toolchain(cwd) {
        facts = facts.with_named_toolchain();
    }
    let calls_npm = |command: &String| command.contains("npm") || command.contains("npx");
    if commands().any(calls_npm) && has_npm_settings(cwd, policy.directories().home.as_deref()) {
        facts = facts.with_npm_settings();
    }
    if !commands().any(|command| command.contains("git")) {
        return facts;
    }
    if commands().any(|command| command.contains("push")) {
        facts = facts.with_remotes(sys::git::remotes(cwd));
    }
    facts
}

/// The environment as commands see it, for arguments that name a variable.
pub fn variables(env: &sys::Env) -> permission::ShellEnvironment {
    let text = |(name, value): (&std::ffi::OsStr, &std::ffi::OsStr)| {
        Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
    };
    permission::ShellEnvironment(std::sync::Arc::new(env.iter().filter_map(text).collect()))
}

/// Whether a toolchain file in this directory or above may name a directory that rustup would run programs from.
fn names_toolchain(cwd: &Path) -> bool {
    const LIMIT: usize = 64 << 10;
    let files = cwd.ancestors().flat_map(|dir| ["rust-toolchain", "rust-toolchain.toml"].map(|name| dir.join(name)));
    let mut found = files.filter(|file| file.symlink_metadata().is_ok());
    found.any(|file| sys::fs::read_whole(&file, LIMIT).map_or(true, |bytes| bytes.contains(&b'/')))
}

/// Whether something in a folder has a name that is protected wherever it lies. A folder that is too large to look
/// through counts as one.
fn holds_protected(folder: &Path) -> bool {
    const LIMIT: usize = 20_000;
    if !folder.is_dir() {
        return false;
    }
    let mut pending = vec![folder.to_path_buf()];
    let mut looked_at = 0;
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            looked_at += 1;
            let path = entry.path();
            let inner = path.strip_prefix(folder).unwrap_or(&path);
            if looked_at > LIMIT || permission::is_protected(&Path::new("/").join(inner)) {
                return true;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(path);
            }
        }
    }
    false
}

/// Settings of npm that say how a project is installed, and neither send nor write anything while npm lists.
#[rustfmt::skip]
const QUIET_NPM_SETTINGS: &[&str] = &[
    "access", "allow-same-version", "audit", "audit-level", "auto-install-peers", "color", "dedupe-peer-dependents",
    "enable-pre-post-scripts", "engine-strict", "fund", "hoist", "hoist-pattern", "ignore-scripts", "include", "init-author-name",
    "init-license", "init-version", "install-links", "install-strategy", "legacy-peer-deps", "link-workspace-packages", "loglevel",
    "lockfile", "message", "node-linker", "omit", "optional", "package-lock", "prefer-dedupe", "prefer-frozen-lockfile",
    "prefer-workspace-packages", "progress", "provenance", "public-hoist-pattern", "resolution-mode", "save", "save-exact",
    "save-prefix", "save-workspace-protocol", "shamefully-hoist", "shared-workspace-lockfile", "shrinkwrap", "sign-git-tag",
    "strict-peer-dependencies", "strict-peer-deps", "tag", "tag-version-prefix", "unicode", "workspaces", "workspaces-update",
];

/// Whether an `.npmrc` on the way up may have npm reach a host, send a credential or write somewhere. The user's own is not
/// the folder's.
fn has_npm_settings(cwd: &Path, home: Option<&Path>) -> bool {
    const LIMIT: usize = 64 << 10;
    let files = cwd.ancestors().filter(|dir| Some(*dir) != home).map(|dir| dir.join(".npmrc"));
    let is_quiet = |line: &str| {
        let name = line.split('=').next().unwrap_or(line).trim().trim_end_matches("[]").to_ascii_lowercase();
        name.is_empty() || name.starts_with(['#', ';']) || QUIET_NPM_SETTINGS.contains(&name.as_str())
    };
    let mut found = files.filter(|file| file.symlink_metadata().is_ok());
    found.any(|file| sys::fs::read_text(&file, LIMIT).map_or(true, |text| !text.lines().all(is_quiet)))
}

fn has_hard_links(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.nlink() > 1)
}
