//! What a command would remove, from its data flow: known paths and patterns, trees that are gone through, or something that
//! nobody can tell before it runs. Together with the precious directories this decides whether a removal is asked about in
//! every mode or refused.

use super::flow::renames::{copied, other_names};
use super::flow::{CommandFlow, FlowArgument, ProgramInvocation, ShellField};
use super::removal::ProtectedDirectories;
use super::{globals, readers, wrapper};
use crate::reads::ReadExtent;
use std::path::{Path, PathBuf};

/// One thing that would be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RemovalTarget {
    /// The path itself, with all that is below it.
    Path(ShellField),
    /// The same, written with a slash at its end: a link is followed.
    Followed(ShellField),
    /// A path in which `..` follows names that may be links: where `folder` really is, and the rest.
    Through { folder: PathBuf, rest: ShellField },
    /// Entries below a folder; only some of them when a test selects.
    Below { root: ShellField, selects: bool },
    /// Known only when it runs.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RemovalVerdict {
    Fine,
    Ask(&'static str),
    /// It holds, or lies in, the folder with the data for undo.
    Refuse,
}

/// Every target of a removal in the command.
pub(crate) fn targets(flow: &CommandFlow) -> Vec<RemovalTarget> {
    let mut found = Vec::new();
    for unit in &flow.invocations {
        for (program, arguments) in unit.programs() {
            of_program(&program, arguments, unit, flow, &mut found);
        }
    }
    add_other_names(flow, &mut found);
    found
}

/// Targets below a name that the same command makes.
fn add_other_names(flow: &CommandFlow, found: &mut Vec<RemovalTarget>) {
    let aliases = flow.path_aliases();
    if aliases.is_empty() {
        return;
    }
    let mut more = Vec::new();
    for target in found.iter() {
        let (field, follows) = match target {
            RemovalTarget::Path(field) => (field, false),
            RemovalTarget::Followed(field) => (field, true),
            RemovalTarget::Below { root, .. } => (root, true),
            RemovalTarget::Through { .. } | RemovalTarget::Unknown => continue,
        };
        more.extend(other_names(field, follows, &aliases).into_iter().map(|other| match (other, target) {
            (None, _) => RemovalTarget::Unknown,
            (Some(root), RemovalTarget::Below { selects, .. }) => RemovalTarget::Below { root, selects: *selects },
            (Some(field), _) if follows => RemovalTarget::Followed(field),
            (Some(field), _) => RemovalTarget::Path(field),
        }));
    }
    found.extend(more);
}

/// Programs that remove what they are given.
pub(crate) fn removes(program: &str) -> bool {
    matches!(
        program,
        "rm" | "rmdir"
            | "unlink"
            | "shred"
            | "srm"
            | "grm"
            | "wipe"
            | "trash"
            | "trash-put"
            | "rimraf"
            | "safe-rm"
            | "del"
    )
}

fn of_program(
    program: &str,
    arguments: &[FlowArgument],
    unit: &ProgramInvocation,
    flow: &CommandFlow,
    found: &mut Vec<RemovalTarget>,
) {
    let is_option = |arg: &&FlowArgument| arg.text().is_some_and(|text| text.starts_with('-'));
    let operands: Vec<&FlowArgument> = arguments.iter().filter(|arg| !is_option(arg)).collect();
    let texts = || arguments.iter().filter_map(FlowArgument::text);
    match program {
        program if removes(program) => {
            let fed = by_names(unit);
            for arg in operands {
                match arg {
                    FlowArgument::Known(field) if matches!(field.text().as_str(), "{}" | ";" | "+" | "" | "\\;") => {}
                    FlowArgument::Known(field) => {
                        let follows = field.follows_last();
                        found.extend(unit.places(field).into_iter().map(|place| known_target(place, follows)));
                        found.extend(unit.opened(field).iter().flatten().filter_map(target_through_links));
                    }
                    FlowArgument::Unknown(_) if program == "rmdir" => {}
                    FlowArgument::Unknown(_) => found.push(RemovalTarget::Unknown),
                }
            }
            if fed == Some("xargs") {
                found.extend(from_names(flow, unit));
            }
        }
        "mv" => {
            let (moved, _) = copied(arguments);
            let fields = moved.iter().filter_map(FlowArgument::known);
            let places = fields.flat_map(|field| {
                unit.places(field)
                    .into_iter()
                    .map(|place| known_target(place, field.follows_last()))
                    .collect::<Vec<_>>()
            });
            found.extend(places);
        }
        "git" => git_clean(arguments, unit, found),
        "gio" if texts().any(|text| matches!(text.as_str(), "trash" | "remove")) => {
            for arg in operands {
                match arg {
                    FlowArgument::Known(field) => {
                        found.extend(unit.places(field).into_iter().map(|place| known_target(place, false)));
                    }
                    FlowArgument::Unknown(_) => found.push(RemovalTarget::Unknown),
                }
            }
        }
        "tar" | "bsdtar" | "zip" | "rsync" | "7z" | "gtar" if takes_sources_away(program, arguments) => {
            // Any word may be a source, or the folder that the sources are in.
            let words = arguments.iter().filter(|arg| arg.text().is_none_or(|text| !text.starts_with('-')));
            for arg in words {
                match arg {
                    FlowArgument::Known(field) => {
                        found.extend(unit.places(field).into_iter().map(|place| known_target(place, true)));
                    }
                    FlowArgument::Unknown(_) => found.push(RemovalTarget::Unknown),
                }
            }
            for dir in texts().filter_map(|text| Some(text.strip_prefix("--directory=")?.to_owned())) {
                found
                    .extend(unit.places(&ShellField::literal(&dir)).into_iter().map(|place| known_target(place, true)));
            }
        }
        "fd" | "fdfind" if texts().any(|text| removes(wrapper::base_name(&text))) => {
            let named: Vec<&FlowArgument> = operands
                .iter()
                .copied()
                .take_while(|arg| arg.text().is_none_or(|text| !removes(wrapper::base_name(&text))))
                .collect();
            let here = FlowArgument::Known(ShellField::literal("."));
            let roots = named.get(1..).filter(|roots| !roots.is_empty()).map_or(vec![&here], <[_]>::to_vec);
            let selects = named.first().is_some_and(|pattern| pattern.text().is_some_and(|text| text.len() > 1));
            for root in roots {
                match root {
                    FlowArgument::Known(field) => found.extend(targets_below(unit, field, selects)),
                    FlowArgument::Unknown(_) => found.push(RemovalTarget::Unknown),
                }
            }
        }
        "find" if texts().any(|text| text == "-delete" || removes(wrapper::base_name(&text))) => {
            let selects = texts().any(|text| super::removal::SELECTING.contains(&text.as_str()));
            let roots = arguments.iter().take_while(|arg| arg.text().is_none_or(|text| !is_test(&text)));
            let mut any = false;
            for root in roots.filter(|arg| !is_option(arg)) {
                any = true;
                match root {
                    FlowArgument::Known(field) => found.extend(targets_below(unit, field, selects)),
                    FlowArgument::Unknown(_) => found.push(RemovalTarget::Unknown),
                }
            }
            if !any {
                found.extend(targets_below(unit, &ShellField::literal("."), selects));
            }
        }
        "rsync" if texts().any(|text| text.starts_with("--del")) => {
            let target = operands.last().filter(|_| operands.len() > 1).and_then(|arg| arg.known());
            let local = target.filter(|field| !field.text().contains(':'));
            found.extend(local.into_iter().flat_map(|field| targets_below(unit, field, false)));
        }
        _ => {}
    }
}

fn known_target(place: Option<ShellField>, follows: bool) -> RemovalTarget {
    match place {
        Some(place) if follows => RemovalTarget::Followed(place),
        Some(place) => RemovalTarget::Path(place),
        None => RemovalTarget::Unknown,
    }
}

/// Whether an archiver or copier removes what it has taken in.
fn takes_sources_away(program: &str, arguments: &[FlowArgument]) -> bool {
    arguments.iter().filter_map(FlowArgument::text).any(|text| match program {
        "zip" => text == "--move" || (text.starts_with('-') && !text.starts_with("--") && text.contains('m')),
        "rsync" => {
            text.len() > 9 && "--remove-source-files".starts_with(text.as_str()) || text == "--remove-sent-files"
        }
        "7z" => text == "-sdel",
        _ => text.len() > 5 && "--remove-files".starts_with(text.as_str()),
    })
}

/// `git clean` removes what git does not know, below the directory it runs in.
fn git_clean(arguments: &[FlowArgument], unit: &ProgramInvocation, found: &mut Vec<RemovalTarget>) {
    let texts: Vec<String> = arguments.iter().map(|arg| arg.text().unwrap_or_default()).collect();
    let words: Vec<&str> = texts.iter().map(String::as_str).collect();
    let cleans = match globals::subcommand("git", &words) {
        globals::SubcommandPosition::At(at) => words[at] == "clean",
        globals::SubcommandPosition::Behind(at) => words[at..].contains(&"clean"),
        globals::SubcommandPosition::Missing => false,
    };
    let is_dry = words.iter().any(|word| {
        *word == "--dry-run"
            || (word.starts_with('-') && !word.starts_with("--") && word.contains('n') && !word.contains('e'))
    });
    if !cleans || is_dry {
        return;
    }
    let named = words.windows(2).filter(|pair| matches!(pair[0], "-C" | "--work-tree")).map(|pair| pair[1]);
    let inline = words.iter().filter_map(|word| word.strip_prefix("--work-tree="));
    let dirs: Vec<&str> = named.chain(inline).collect();
    let roots = if dirs.is_empty() { vec!["."] } else { dirs };
    for root in roots {
        found.extend(targets_below(unit, &ShellField::literal(root), true));
    }
}

/// What a field with `..` in it leads to, should a name before that be a link.
fn target_through_links(field: &ShellField) -> Option<RemovalTarget> {
    let names: Vec<&str> = field.names().collect();
    let last = names.iter().rposition(|name| *name == "..")?;
    let before = ShellField::from_pattern(format!("/{}", names[..=last].join("/")));
    if before.is_pattern() {
        return Some(RemovalTarget::Unknown);
    }
    Some(RemovalTarget::Through {
        folder: before.text().into(),
        rest: ShellField::from_pattern(names[last + 1..].join("/")),
    })
}

fn targets_below(unit: &ProgramInvocation, field: &ShellField, selects: bool) -> Vec<RemovalTarget> {
    let target = |place: Option<ShellField>| match place {
        Some(root) => RemovalTarget::Below { root, selects },
        None => RemovalTarget::Unknown,
    };
    unit.places(field).into_iter().map(target).collect()
}

fn is_test(text: &str) -> bool {
    text.starts_with(['(', '!']) || (text.starts_with('-') && !matches!(text, "-L" | "-H" | "-P"))
}

/// Which program hands names to this one.
fn by_names(unit: &ProgramInvocation) -> Option<&'static str> {
    let first = unit.words.iter().filter_map(FlowArgument::text).find_map(|word| match wrapper::base_name(&word) {
        "xargs" | "parallel" => Some("xargs"),
        "find" | "fd" | "fdfind" => Some("find"),
        name if removes(name) => Some(""),
        _ => None,
    });
    first.filter(|name| !name.is_empty())
}

fn from_names(flow: &CommandFlow, unit: &ProgramInvocation) -> Vec<RemovalTarget> {
    let Some(names) = readers::fed_names(flow, unit) else { return vec![RemovalTarget::Unknown] };
    let target = |name: crate::reads::ReadTarget| {
        let (field, root) = (ShellField::from_pattern(name.pattern), ShellField::literal("/"));
        let Some(flat) = field.seen_from(&root, &root) else { return vec![RemovalTarget::Unknown] };
        match name.extent {
            ReadExtent::Tree(_) => vec![RemovalTarget::Below { root: flat, selects: true }],
            ReadExtent::File | ReadExtent::Listing => std::iter::once(known_target(Some(flat), field.follows_last()))
                .chain(target_through_links(&field))
                .collect(),
        }
    };
    names.into_iter().flat_map(target).collect()
}

impl RemovalTarget {
    /// The paths whose real location matters.
    pub(crate) fn needs(&self) -> Vec<PathBuf> {
        match self {
            Self::Path(field) => {
                let fixed = field.fixed();
                fixed.parent().map(Path::to_path_buf).into_iter().chain([fixed]).collect()
            }
            Self::Through { folder, .. } => vec![folder.clone()],
            Self::Below { root, .. } | Self::Followed(root) => vec![root.fixed()],
            Self::Unknown => Vec::new(),
        }
    }

    /// The target as written and where links lead. The last name of a removed path is not followed.
    fn spellings(&self, real: &dyn Fn(&Path) -> Option<PathBuf>) -> Vec<ShellField> {
        let (field, keep) = match self {
            Self::Path(field) if field.is_pattern() => (field, field.fixed()),
            Self::Path(field) => (field, field.fixed().parent().map(Path::to_path_buf).unwrap_or_default()),
            Self::Below { root, .. } | Self::Followed(root) => (root, root.fixed()),
            Self::Through { folder, rest } => {
                let base = real(folder).map(|real| ShellField::literal(&real.to_string_lossy()));
                let whole =
                    |base: ShellField| ShellField::from_pattern(format!("{}/{}", base.pattern(), rest.pattern()));
                return base.map(whole).into_iter().collect();
            }
            Self::Unknown => return Vec::new(),
        };
        let mut all = vec![field.clone()];
        if let Some(real) = real(&keep).filter(|real| *real != keep) {
            let rest: Vec<&str> = field.names().skip(keep.components().count().saturating_sub(1)).collect();
            let base = ShellField::literal(&real.to_string_lossy());
            all.push(ShellField::from_pattern(format!("{}/{}", base.pattern(), rest.join("/"))));
        }
        all
    }
}

/// What to do about the removals of a command.
pub(crate) fn judge(
    flow: &CommandFlow,
    precious: &ProtectedDirectories<'_>,
    real: &dyn Fn(&Path) -> Option<PathBuf>,
) -> RemovalVerdict {
    let mut verdict = RemovalVerdict::Fine;
    for target in targets(flow) {
        // A path that was not resolved may lead anywhere.
        if target == RemovalTarget::Unknown || target.needs().iter().any(|path| real(path).is_none()) {
            verdict = RemovalVerdict::Ask("what would be removed is known only when the command runs");
            continue;
        }
        for field in target.spellings(real) {
            let selects = matches!(target, RemovalTarget::Below { selects: true, .. });
            if holds_store(&field, &target, precious) {
                if !selects {
                    return RemovalVerdict::Refuse;
                }
                verdict = RemovalVerdict::Ask("a removal below the folder with the data for undo");
            }
            if precious.would_lose(&field, &target) || (flow.odd_patterns && field.is_pattern()) {
                verdict = RemovalVerdict::Ask("a removal of a root, home or working directory");
            }
        }
    }
    if verdict == RemovalVerdict::Fine && flow.hidden_code {
        verdict = RemovalVerdict::Ask("the command makes text of its own and runs it: what that removes is not known");
    }
    verdict
}

/// Programs that change what they are given, apart from those that remove it.
pub(crate) fn changes(program: &str) -> bool {
    matches!(
        program,
        "ln" | "cp"
            | "install"
            | "rsync"
            | "tee"
            | "sponge"
            | "truncate"
            | "dd"
            | "chmod"
            | "chown"
            | "chgrp"
            | "chattr"
            | "setfacl"
            | "link"
    )
}

/// What redirections and file commands of the command change in place.
pub(crate) fn changed(flow: &CommandFlow) -> Vec<RemovalTarget> {
    let mut found = Vec::new();
    for unit in &flow.invocations {
        let mut add = |arg: &FlowArgument| {
            let places = arg.known().map(|field| unit.places(field)).unwrap_or_default();
            found.extend(places.into_iter().flatten().map(RemovalTarget::Path));
        };
        unit.writes.iter().for_each(&mut add);
        for (program, arguments) in unit.programs().into_iter().filter(|(program, _)| changes(program)) {
            if matches!(program.as_str(), "cp" | "ln" | "install" | "rsync" | "link") {
                copied(arguments).1.iter().for_each(&mut add);
                continue;
            }
            for arg in arguments {
                let text = arg.text().unwrap_or_default();
                match text.strip_prefix("of=") {
                    Some(file) => add(&FlowArgument::Known(ShellField::literal(file))),
                    None if !text.starts_with('-') => add(arg),
                    None => {}
                }
            }
        }
    }
    add_other_names(flow, &mut found);
    found
}

/// Whether anything in the folder with the data for undo is overwritten or made unreadable.
pub(crate) fn changes_store(
    flow: &CommandFlow,
    precious: &ProtectedDirectories<'_>,
    real: &dyn Fn(&Path) -> Option<PathBuf>,
) -> bool {
    let stores: Vec<&Path> = [precious.undo_store, precious.real_undo_store].into_iter().flatten().collect();
    let inside =
        |field: &ShellField| stores.iter().any(|store| field.fixed().starts_with(store) || field.may_be(store));
    changed(flow).iter().any(|target| target.spellings(real).iter().any(inside))
}

/// Whether the removal takes the data for undo away.
fn holds_store(field: &ShellField, target: &RemovalTarget, precious: &ProtectedDirectories<'_>) -> bool {
    let Some(store) = precious.undo_store else { return false };
    let stores = [Some(store), precious.real_undo_store].into_iter().flatten();
    stores.into_iter().any(|store| {
        let inside = field.fixed().starts_with(store);
        let above = store.ancestors().any(|folder| field.may_be(folder));
        match target {
            RemovalTarget::Path(_)
            | RemovalTarget::Followed(_)
            | RemovalTarget::Through { .. }
            | RemovalTarget::Below { .. } => inside || above,
            RemovalTarget::Unknown => false,
        }
    })
}

impl ProtectedDirectories<'_> {
    fn would_lose(&self, field: &ShellField, target: &RemovalTarget) -> bool {
        let path = field.fixed();
        match target {
            // Only a part goes: no question about the working directory then.
            RemovalTarget::Below { selects: true, .. } => !field.is_pattern() && self.is_base_path(&path),
            RemovalTarget::Path(_)
            | RemovalTarget::Followed(_)
            | RemovalTarget::Through { .. }
            | RemovalTarget::Below { .. }
                if field.is_pattern() =>
            {
                let names: Vec<&str> = field.names().collect();
                let parent = ShellField::from_pattern(format!("/{}", names[..names.len() - 1].join("/")));
                let empties = !parent.is_pattern() && self.emptying_is_critical(&parent.fixed());
                let held = self.home.into_iter().chain([self.cwd]).chain(self.roots.iter().map(PathBuf::as_path));
                names.len() < 2 || empties || held.flat_map(Path::ancestors).any(|folder| field.may_be(folder))
            }
            RemovalTarget::Path(_)
            | RemovalTarget::Followed(_)
            | RemovalTarget::Through { .. }
            | RemovalTarget::Below { .. } => self.removing_is_critical(&path),
            RemovalTarget::Unknown => false,
        }
    }
}

#[cfg(test)]
#[path = "removal_targets_tests.rs"]
mod tests;
