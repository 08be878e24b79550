//! Which files a command would read, held against the rules on reading. The files are computed by the caller on the real
//! tree; nothing of this happens where no such rule exists.

use super::{
    Access, AccessRequest, CommandConfinement, DecisionReason, PathAccess, PathFacts, PermissionQuery, Policy,
    ResolvedPath, RuleBehaviour, RuleTarget,
};
use crate::path::normalise;
use crate::reads::{ReadExtent, ReadFindings, ReadPlan};
use crate::shell::flow::{self, ShellField, ShellStart};
use crate::shell::{readers, suspects};
use std::path::Path;

impl Policy {
    /// What the known programs of the request would read; `None` when no rule forbids reading anything.
    pub fn read_plan(&self, request: &PermissionQuery<'_>, cwd: &Path) -> Option<ReadPlan> {
        if !self.restricts_reading() {
            return None;
        }
        let mut plan = ReadPlan::default();
        let mut any = false;
        for access in request.accesses {
            if let Access::Run(command) = access {
                any = true;
                let part = self.command_reads(command, cwd);
                plan.targets.extend(part.targets);
                plan.unknown = plan.unknown.or(part.unknown);
            }
        }
        any.then_some(plan)
    }

    /// Whether a rule denies reading this file, or wants to be asked. `real` is where its links lead.
    pub fn forbids_reading(&self, path: &Path, real: &Path) -> bool {
        let spelled = ResolvedPath { given: path, real: Some(real) };
        [RuleBehaviour::Deny, RuleBehaviour::Ask]
            .into_iter()
            .any(|b| self.path_rule(b, PathAccess::Read, spelled).is_some())
    }

    pub(super) fn restricts_reading(&self) -> bool {
        self.rules
            .iter()
            .any(|rule| rule.behaviour != RuleBehaviour::Allow && matches!(rule.target, RuleTarget::Read(_)))
    }

    fn command_reads(&self, command: &str, cwd: &Path) -> ReadPlan {
        let flow = flow::trace(command, &self.shell_start(cwd));
        let mut plan = readers::plan(&flow);
        if flow.incomplete && starts_reader(command) {
            plan.unknown.get_or_insert_with(|| "the command is not understood to its end".into());
        }
        plan
    }

    pub(super) fn shell_start<'a>(&'a self, cwd: &'a Path) -> ShellStart<'a> {
        ShellStart { cwd, home: self.directories.home.as_deref(), variables: &self.directories.variables.0 }
    }

    /// Why the files that a command reads keep it from being allowed.
    pub(super) fn forbidden_reads(&self, asked: &AccessRequest<'_>) -> Option<DecisionReason> {
        let Access::Run(command) = asked.access else { return None };
        // In the sandbox such files cannot be opened.
        if asked.confinement == CommandConfinement::Sandboxed || !self.restricts_reading() {
            return None;
        }
        match &asked.facts.reads {
            Some(reads) => self.found_reads(reads, asked).map(DecisionReason::Reads),
            None => self.unresolved_reads(command, asked.facts).map(DecisionReason::Reads),
        }
    }

    fn found_reads(&self, reads: &ReadFindings, asked: &AccessRequest<'_>) -> Option<String> {
        if let Some(found) = reads.forbidden.first() {
            let rule = [RuleBehaviour::Deny, RuleBehaviour::Ask].into_iter().find_map(|behaviour| {
                self.path_rule(
                    behaviour,
                    PathAccess::Read,
                    ResolvedPath { given: &found.path, real: Some(&found.path) },
                )
            });
            let rule = rule.map(|rule| format!(" ({})", rule.text)).unwrap_or_default();
            return Some(format!(
                "{} would read {}, which a rule on reading forbids{rule}; to leave it out, {}",
                found.program,
                found.path.display(),
                found.exclusion(&asked.facts.cwd)
            ));
        }
        if let Some(why) = &reads.unknown {
            return Some(format!("rules forbid reading some files, and {why}"));
        }
        let disagree = asked.reading.as_ref().is_some_and(|reading| {
            matches!(reading.strict, Err("two parsers do not agree on it" | "it cannot be parsed twice"))
                && reading.suspects.iter().any(|s| s.any_program(|program, _| readers::is_modelled(program)))
        });
        disagree.then(|| "rules forbid reading some files, and two parsers do not agree on the command".into())
    }

    /// Without a look at the disk only plain names can be judged.
    fn unresolved_reads(&self, command: &str, facts: &PathFacts) -> Option<String> {
        let plan = self.command_reads(command, &facts.cwd);
        if let Some(why) = plan.unknown {
            return Some(format!("rules forbid reading some files, and {why}"));
        }
        plan.targets.iter().find_map(|target| {
            let field = ShellField::from_pattern(&target.pattern);
            let path = normalise(&field.fixed());
            let open = field.is_pattern() || matches!(target.extent, ReadExtent::Tree(_));
            if open && target.extent != ReadExtent::Listing && target.program != "find" {
                return Some(format!(
                    "rules forbid reading some files, and nobody looked which {} reads",
                    target.program
                ));
            }
            let real = facts.real(&path).unwrap_or(&path);
            self.forbids_reading(&path, real).then(|| format!("{} would read {}", target.program, path.display()))
        })
    }
}

fn starts_reader(command: &str) -> bool {
    suspects::find(command).iter().any(|suspect| suspect.any_program(|program, _| readers::is_modelled(program)))
}
