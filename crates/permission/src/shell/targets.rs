//! What a command would remove, from its data flow: known paths and patterns, trees that are gone through, or something that
//! nobody can tell before it runs. Together with the precious directories this decides whether a removal is asked about in
//! every mode or refused.

use super::flow::{Arg, Field, Flow, Invocation};
use super::removal::Precious;
use super::{readers, wrapper};
use crate::reads::Reach;
use std::path::{Path, PathBuf};

/// One thing that would be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The path itself, with all that is below it.
    Path(Field),
    /// A path in which `..` stands behind names that may be links: where `folder` really is, and the rest.
    Through { folder: PathBuf, rest: Field },
    /// Entries below a folder; only some of them when a test selects.
    Below { root: Field, selects: bool },
    /// Known only when it runs.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fine,
    Ask(&'static str),
    /// It holds, or lies in, the folder with the data for undo.
    Refuse,
}

/// Every target of a removal in the command.
pub(crate) fn targets(flow: &Flow) -> Vec<Target> {
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

fn of_program(program: &str, arguments: &[Arg], unit: &Invocation, flow: &Flow, found: &mut Vec<Target>) {
    let is_option = |arg: &&Arg| arg.text().is_some_and(|text| text.starts_with('-'));
    let operands: Vec<&Arg> = arguments.iter().filter(|arg| !is_option(arg)).collect();
    let texts = || arguments.iter().filter_map(Arg::text);
    match program {
        program if removes(program) => {
            let fed = by_names(unit);
            for arg in operands {
                match arg {
                    Arg::Known(field) if matches!(field.text().as_str(), "{}" | ";" | "+" | "" | "\\;") => {}
                    Arg::Known(field) => {
                        found.extend(unit.places(field).into_iter().map(known));
                        found.extend(unit.opened(field).iter().flatten().filter_map(through));
                    }
                    Arg::Unknown(_) if program == "rmdir" => {}
                    Arg::Unknown(_) => found.push(Target::Unknown),
                }
            }
            if fed == Some("xargs") {
                found.extend(from_names(flow, unit));
            }
        }
        "mv" => {
            let moved = operands.split_last().map(|(_, sources)| sources).unwrap_or_default();
            let fields = moved.iter().filter_map(|arg| arg.known());
            found.extend(fields.flat_map(|field| unit.places(field)).flatten().map(Target::Path));
        }
        "find" if texts().any(|text| text == "-delete" || removes(wrapper::base_name(&text))) => {
            let selects = texts().any(|text| super::removal::SELECTING.contains(&text.as_str()));
            let roots = arguments.iter().take_while(|arg| arg.text().is_none_or(|text| !is_test(&text)));
            let mut any = false;
            for root in roots.filter(|arg| !is_option(arg)) {
                any = true;
                match root {
                    Arg::Known(field) => found.extend(below(unit, field, selects)),
                    Arg::Unknown(_) => found.push(Target::Unknown),
                }
            }
            if !any {
                found.extend(below(unit, &Field::literal("."), selects));
            }
        }
        "rsync" if texts().any(|text| text.starts_with("--del")) => {
            let target = operands.last().filter(|_| operands.len() > 1).and_then(|arg| arg.known());
            let local = target.filter(|field| !field.text().contains(':'));
            found.extend(local.into_iter().flat_map(|field| below(unit, field, false)));
        }
        _ => {}
    }
}

fn known(place: Option<Field>) -> Target {
    place.map_or(Target::Unknown, Target::Path)
}

/// What a field with `..` in it leads to, should a name before that be a link.
fn through(field: &Field) -> Option<Target> {
    let names: Vec<&str> = field.names().collect();
    let last = names.iter().rposition(|name| *name == "..")?;
    let before = Field::from_pattern(format!("/{}", names[..=last].join("/")));
    if before.is_pattern() {
        return Some(Target::Unknown);
    }
    Some(Target::Through { folder: before.text().into(), rest: Field::from_pattern(names[last + 1..].join("/")) })
}

fn below(unit: &Invocation, field: &Field, selects: bool) -> Vec<Target> {
    let target = |place: Option<Field>| match place {
        Some(root) => Target::Below { root, selects },
        None => Target::Unknown,
    };
    unit.places(field).into_iter().map(target).collect()
}

fn is_test(text: &str) -> bool {
    text.starts_with(['(', '!']) || (text.starts_with('-') && !matches!(text, "-L" | "-H" | "-P"))
}

/// Which program hands names to this one.
fn by_names(unit: &Invocation) -> Option<&'static str> {
    let first = unit.words.iter().filter_map(Arg::text).find_map(|word| match wrapper::base_name(&word) {
        "xargs" | "parallel" => Some("xargs"),
        "find" | "fd" | "fdfind" => Some("find"),
        name if removes(name) => Some(""),
        _ => None,
    });
    first.filter(|name| !name.is_empty())
}

fn from_names(flow: &Flow, unit: &Invocation) -> Vec<Target> {
    let Some(names) = readers::fed_names(flow, unit) else { return vec![Target::Unknown] };
    let target = |name: crate::reads::ReadTarget| {
        let (field, root) = (Field::from_pattern(name.pattern), Field::literal("/"));
        let flat = field.seen_from(&root, &root);
        match name.reach {
            Reach::Tree(_) => vec![Target::Below { root: flat, selects: true }],
            Reach::File | Reach::Listing => std::iter::once(Target::Path(flat)).chain(through(&field)).collect(),
        }
    };
    names.into_iter().flat_map(target).collect()
}

impl Target {
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
    fn spellings(&self, real: &dyn Fn(&Path) -> Option<PathBuf>) -> Vec<Field> {
        let (field, keep) = match self {
            Self::Path(field) if field.is_pattern() => (field, field.fixed()),
            Self::Path(field) => (field, field.fixed().parent().map(Path::to_path_buf).unwrap_or_default()),
            Self::Below { root, .. } => (root, root.fixed()),
            Self::Through { folder, rest } => {
                let base = real(folder).map(|real| Field::literal(&real.to_string_lossy()));
                let whole = |base: Field| Field::from_pattern(format!("{}/{}", base.pattern(), rest.pattern()));
                return base.map(whole).into_iter().collect();
            }
            Self::Unknown => return Vec::new(),
        };
        let mut all = vec![field.clone()];
        if let Some(real) = real(&keep).filter(|real| *real != keep) {
            let rest: Vec<&str> = field.names().skip(keep.components().count().saturating_sub(1)).collect();
            let base = Field::literal(&real.to_string_lossy());
            all.push(Field::from_pattern(format!("{}/{}", base.pattern(), rest.join("/"))));
        }
        all
    }
}

/// What to do about the removals of a command.
pub(crate) fn judge(flow: &Flow, precious: &Precious<'_>, real: &dyn Fn(&Path) -> Option<PathBuf>) -> Verdict {
    let mut verdict = Verdict::Fine;
    for target in targets(flow) {
        if target == Target::Unknown {
            verdict = Verdict::Ask("what would be removed is known only when the command runs");
            continue;
        }
        for field in target.spellings(real) {
            let selects = matches!(target, Target::Below { selects: true, .. });
            if holds_store(&field, &target, precious) {
                if !selects {
                    return Verdict::Refuse;
                }
                verdict = Verdict::Ask("a removal below the folder with the data for undo");
            }
            if precious.would_lose(&field, &target) || (flow.odd_patterns && field.is_pattern()) {
                verdict = Verdict::Ask("a removal of a root, home or working directory");
            }
        }
    }
    if verdict == Verdict::Fine && flow.hidden_code {
        verdict = Verdict::Ask("the command makes text of its own and runs it: what that removes is not known");
    }
    verdict
}

/// Whether the removal takes the data for undo away.
fn holds_store(field: &Field, target: &Target, precious: &Precious<'_>) -> bool {
    let Some(store) = precious.store else { return false };
    let stores = [Some(store), precious.real_store].into_iter().flatten();
    stores.into_iter().any(|store| {
        let inside = field.fixed().starts_with(store);
        let above = store.ancestors().any(|folder| field.may_be(folder));
        match target {
            Target::Path(_) | Target::Through { .. } | Target::Below { .. } => inside || above,
            Target::Unknown => false,
        }
    })
}

impl Precious<'_> {
    fn would_lose(&self, field: &Field, target: &Target) -> bool {
        let path = field.fixed();
        match target {
            // Only a part goes: no question about the working directory then.
            Target::Below { selects: true, .. } => !field.is_pattern() && self.is_base_path(&path),
            Target::Path(_) | Target::Through { .. } | Target::Below { .. } if field.is_pattern() => {
                let names: Vec<&str> = field.names().collect();
                let parent = Field::from_pattern(format!("/{}", names[..names.len() - 1].join("/")));
                let empties = !parent.is_pattern() && self.emptying_is_critical(&parent.fixed());
                let held = self.home.into_iter().chain([self.cwd]).chain(self.roots.iter().map(PathBuf::as_path));
                names.len() < 2 || empties || held.flat_map(Path::ancestors).any(|folder| field.may_be(folder))
            }
            Target::Path(_) | Target::Through { .. } | Target::Below { .. } => self.removing_is_critical(&path),
            Target::Unknown => false,
        }
    }
}

#[cfg(test)]
#[path = "targets_tests.rs"]
mod tests;
