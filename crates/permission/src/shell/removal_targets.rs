//! What a command would remove, from its data flow: known paths and patterns, trees that are gone through, or something that
//! nobody can tell before it runs. Together with the precious directories this decides whether a removal is asked about in
//! every mode or refused.

use super::flow::{CommandFlow, FlowArgument, ProgramInvocation, ShellField};
use super::removal::ProtectedDirectories;
use super::{readers, wrapper};
use crate::reads::ReadExtent;
use std::path::{Path, PathBuf};

/// One thing that would be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RemovalTarget {
    /// The path itself, with all that is below it.
    Path(ShellField),
    /// A path in which `..` stands behind names that may be links: where `folder` really is, and the rest.
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
    found
}

/// Programs that remove what they are given.
pub(crate) fn removes(program: &str) -> bool {
    matches!(program, "rm" | "rmdir" | "unlink" | "shred")
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
                        found.extend(unit.places(field).into_iter().map(known_target));
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
            let moved = operands.split_last().map(|(_, sources)| sources).unwrap_or_default();
            let fields = moved.iter().filter_map(|arg| arg.known());
            found.extend(fields.flat_map(|field| unit.places(field)).flatten().map(RemovalTarget::Path));
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

fn known_target(place: Option<ShellField>) -> RemovalTarget {
    place.map_or(RemovalTarget::Unknown, RemovalTarget::Path)
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
        let flat = field.seen_from(&root, &root);
        match name.extent {
            ReadExtent::Tree(_) => vec![RemovalTarget::Below { root: flat, selects: true }],
            ReadExtent::File | ReadExtent::Listing => {
                std::iter::once(RemovalTarget::Path(flat)).chain(target_through_links(&field)).collect()
            }
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
            Self::Below { root, .. } => vec![root.fixed()],
            Self::Unknown => Vec::new(),
        }
    }

    /// The target as written and where links lead. The last name of a removed path is not followed.
    fn spellings(&self, real: &dyn Fn(&Path) -> Option<PathBuf>) -> Vec<ShellField> {
        let (field, keep) = match self {
            Self::Path(field) if field.is_pattern() => (field, field.fixed()),
            Self::Path(field) => (field, field.fixed().parent().map(Path::to_path_buf).unwrap_or_default()),
            Self::Below { root, .. } => (root, root.fixed()),
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
        if target == RemovalTarget::Unknown {
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

/// Whether the removal takes the data for undo away.
fn holds_store(field: &ShellField, target: &RemovalTarget, precious: &ProtectedDirectories<'_>) -> bool {
    let Some(store) = precious.undo_store else { return false };
    let stores = [Some(store), precious.real_undo_store].into_iter().flatten();
    stores.into_iter().any(|store| {
        let inside = field.fixed().starts_with(store);
        let above = store.ancestors().any(|folder| field.may_be(folder));
        match target {
            RemovalTarget::Path(_) | RemovalTarget::Through { .. } | RemovalTarget::Below { .. } => inside || above,
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
            RemovalTarget::Path(_) | RemovalTarget::Through { .. } | RemovalTarget::Below { .. }
                if field.is_pattern() =>
            {
                let names: Vec<&str> = field.names().collect();
                let parent = ShellField::from_pattern(format!("/{}", names[..names.len() - 1].join("/")));
                let empties = !parent.is_pattern() && self.emptying_is_critical(&parent.fixed());
                let held = self.home.into_iter().chain([self.cwd]).chain(self.roots.iter().map(PathBuf::as_path));
                names.len() < 2 || empties || held.flat_map(Path::ancestors).any(|folder| field.may_be(folder))
            }
            RemovalTarget::Path(_) | RemovalTarget::Through { .. } | RemovalTarget::Below { .. } => {
                self.removing_is_critical(&path)
            }
            RemovalTarget::Unknown => false,
        }
    }
}

#[cfg(test)]
#[path = "removal_targets_tests.rs"]
mod tests;
