//! What the permission engine wants to know about the disk: where paths really lead, which files have several names, and
//! which repository git would use. Looks only at what the call in question needs.

use permission::{Access, Facts, Policy, Request};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use wire::mode::PermissionMode;

/// Resolves everything `policy` needs to decide `request` in a shell that stands in `cwd`.
pub fn gather(policy: &Policy, request: &Request<'_>, cwd: &Path) -> Facts {
    let mut facts = Facts::gather(cwd.to_path_buf(), policy.needs(request, cwd), sys::real::path);
    if let Some(plan) = policy.read_plan(request, cwd) {
        facts = facts.with_reads(crate::reads::look(&plan, policy));
    }
    if policy.mode == PermissionMode::AcceptEdits {
        facts = facts.sharing(has_other_names);
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
    if commands().any(|command| command.contains("source ") || command.contains(". ")) {
        facts = facts.with_files(Path::is_file);
    }
    if !commands().any(|command| command.contains("git")) {
        return facts;
    }
    let start: PathBuf = policy.place().cwd.clone();
    if commands().any(|command| command.contains("push")) {
        facts = facts.with_remotes(sys::git::remotes(cwd));
    }
    if sys::git::shares_repository(cwd, &start) { facts.in_own_repository() } else { facts }
}

/// The environment as commands see it, for words that name a variable.
pub fn variables(env: &sys::Env) -> permission::Variables {
    let text = |(name, value): (&std::ffi::OsStr, &std::ffi::OsStr)| {
        Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
    };
    permission::Variables(std::sync::Arc::new(env.iter().filter_map(text).collect()))
}

fn has_other_names(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.nlink() > 1)
}
