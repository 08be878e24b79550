//! Names that a command gives to folders and programs before it uses them: links, copies, moves, aliases, hashed commands.

use super::{CommandFlow, FlowArgument, ProgramInvocation, ShellField};
use crate::shell::wrapper::base_name;

/// A path that the command makes stand for another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathAlias {
    place: ShellField,
    /// `None` when it is known only when it runs.
    target: Option<ShellField>,
}

/// How often an alias may lead to another one.
const MAX_STEPS: usize = 4;

impl CommandFlow {
    /// Every path that a link, copy or move of the command makes, with what it was made from.
    pub(crate) fn path_aliases(&self) -> Vec<PathAlias> {
        let mut found = Vec::new();
        for unit in &self.invocations {
            for (program, arguments) in unit.programs() {
                if matches!(program.as_str(), "ln" | "cp" | "mv" | "link" | "install" | "rsync" | "mount") {
                    add_aliases(&program, arguments, unit, &mut found);
                }
            }
        }
        found
    }
}

fn add_aliases(program: &str, arguments: &[FlowArgument], unit: &ProgramInvocation, found: &mut Vec<PathAlias>) {
    let (sources, target) = copied(arguments);
    let Some(target) = target else { return };
    let FlowArgument::Known(target) = target else { return };
    let here = ShellField::literal(".");
    // `ln -s x` makes the link here.
    let (sources, target) =
        if sources.is_empty() { (vec![FlowArgument::Known(target)], here) } else { (sources, target) };
    for place in unit.places(&target).into_iter().flatten() {
        for source in &sources {
            let FlowArgument::Known(source) = source else {
                if program == "ln" {
                    found.push(PathAlias { place: place.clone(), target: None });
                }
                continue;
            };
            let name = source.pattern().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let inner = ShellField::from_pattern(format!("{}/{name}", place.pattern()));
            for place in [&place, &inner] {
                // A relative link is seen from where it lies.
                let above = place.pattern().rsplit_once('/').map_or("/", |(above, _)| above);
                let above = ShellField::from_pattern(if above.is_empty() { "/" } else { above });
                let linked = (program == "ln").then(|| source.seen_from(&above, &above));
                for target in unit.places(source).into_iter().chain(linked) {
                    let alias = PathAlias { place: place.clone(), target };
                    if !found.contains(&alias) {
                        found.push(alias);
                    }
                }
            }
        }
    }
}

/// Sources and target of `cp` and its relatives.
pub(crate) fn copied(arguments: &[FlowArgument]) -> (Vec<FlowArgument>, Option<FlowArgument>) {
    let mut target = None;
    let mut operands = Vec::new();
    let mut rest = arguments.iter();
    let mut only_operands = false;
    while let Some(arg) = rest.next() {
        let text = arg.text().unwrap_or_default();
        let (name, inline) = text.split_once('=').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
        let is_long = name.len() > 3 && "--target-directory".starts_with(name);
        if only_operands || !text.starts_with('-') || text == "-" {
            operands.push(arg.clone());
        } else if text == "--" {
            only_operands = true;
        } else if is_long {
            target = inline.map(|dir| FlowArgument::Known(ShellField::literal(dir))).or_else(|| rest.next().cloned());
        } else if matches!(text.as_str(), "-S" | "--suffix" | "-m" | "-o" | "-g" | "-e") {
            rest.next();
        } else if let Some(at) = text.find('t').filter(|_| !text.starts_with("--")) {
            let attached = &text[at + 1..];
            target = if attached.is_empty() {
                rest.next().cloned()
            } else {
                Some(FlowArgument::Known(ShellField::literal(attached)))
            };
        }
    }
    let target = target.or_else(|| operands.pop());
    (operands, target)
}

/// What a path may also be, given the names that the command makes. `None` when that is not known.
pub(crate) fn other_names(path: &ShellField, follows: bool, aliases: &[PathAlias]) -> Vec<Option<ShellField>> {
    let mut found: Vec<Option<ShellField>> = Vec::new();
    let mut pending = vec![(path.clone(), 0)];
    while let Some((path, steps)) = pending.pop() {
        if steps >= MAX_STEPS {
            continue;
        }
        let names: Vec<&str> = path.names().collect();
        for alias in aliases {
            let head: Vec<&str> = alias.place.names().collect();
            let goes_through = names.len() > head.len() || (follows && names.len() == head.len());
            let fits = |(name, known): (&&str, &&str)| {
                name == known
                    || ShellField::from_pattern(*known).is_pattern()
                    || super::field::name_fits(name, &ShellField::from_pattern(*known).text())
            };
            if !goes_through || !names.iter().zip(&head).all(fits) {
                continue;
            }
            let rest = names[head.len()..].join("/");
            let other = alias.target.as_ref().map(|target| {
                let base = target.pattern().trim_end_matches('/');
                ShellField::from_pattern(if rest.is_empty() { base.to_owned() } else { format!("{base}/{rest}") })
            });
            if !found.contains(&other) && found.len() < 64 {
                pending.extend(other.clone().map(|other| (other, steps + 1)));
                found.push(other);
            }
        }
    }
    found
}

/// A program under another name.
#[derive(Clone, Debug)]
pub(super) struct ProgramAlias {
    pub(super) name: String,
    pub(super) words: Vec<FlowArgument>,
}

/// Adds, for every program that goes by another name, the call of the real one.
pub(super) fn add_renamed(flow: &mut CommandFlow, aliases: &[ProgramAlias]) {
    let mut known = aliases.to_vec();
    for unit in &flow.invocations {
        for (program, arguments) in unit.programs() {
            if matches!(program.as_str(), "ln" | "cp" | "mv" | "link" | "install") {
                let (sources, target) = copied(arguments);
                let name = target.and_then(|target| target.text());
                let sources = sources.into_iter().filter_map(|source| source.text());
                for (source, name) in sources.zip(name.into_iter().cycle()) {
                    let words = vec![FlowArgument::Known(ShellField::literal(base_name(&source)))];
                    known.push(ProgramAlias { name: base_name(name.trim_end_matches('/')).to_owned(), words });
                }
            }
        }
    }
    if known.is_empty() {
        return;
    }
    let mut added = Vec::new();
    for unit in &flow.invocations {
        for at in 0..unit.words.len() {
            let Some(name) = unit.words[at].text() else { continue };
            for alias in known.iter().filter(|alias| alias.name == base_name(&name)) {
                let words = alias.words.iter().chain(&unit.words[at + 1..]).cloned().collect();
                added.push(ProgramInvocation { words, ..unit.clone() });
            }
            if !unit.loose && at == 0 && !crate::shell::wrapper::may_run_others(base_name(&name)) {
                break;
            }
        }
    }
    added.truncate(super::MAX_INVOCATIONS);
    flow.invocations.extend(added);
}
