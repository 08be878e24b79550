//! Renders the text of a skill for the model. Commands in it run only when the rules allow them without a question;
//! one that fails or is not allowed ends the whole invocation. Files it mentions are attached when they may be read.

use super::SkillFacts;
use crate::messages::attachment::AttachedFile;
use config::roots::DefinitionScope;
use config::skills::render::{RenderValues, RenderedPiece, mentions, render};
use config::skills::{Skill, SkillForm};
use permission::{Access, GitGuard, PermissionDecision, PermissionQuery, Policy};
use serde_json::json;
use std::fmt::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use tools::{CallContext, Tool, ToolOutcome, Workspace};
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

const DISABLED: &str = "[shell command execution disabled by policy]";
/// Maximum number of files that one skill may attach.
const MAX_FILES: usize = 20;
/// Maximum number of names of a folder that is attached.
const MAX_NAMES: usize = 500;

/// A skill that was loaded.
#[derive(Clone, Debug)]
pub struct SkillInvocation {
    pub skill: Skill,
    pub text: String,
    pub files: Vec<AttachedFile>,
    pub rules: Vec<RuleText>,
    /// The call that loaded it; `None` when it was typed.
    pub tool_use_id: Option<String>,
}

/// A skill that runs as a separate agent.
pub struct ForkedSkill {
    pub description: String,
    pub prompt: String,
    pub agent_type: Option<String>,
    pub model: Option<String>,
    pub effort: Option<String>,
    /// Rules that the skill adds: allowed and denied tools.
    pub rules: Vec<RuleText>,
    pub hooks: Option<hooks::HookLayer>,
}

impl SkillInvocation {
    /// The hooks that the skill declares.
    pub fn hooks(&self) -> Option<hooks::HookLayer> {
        let hooks = self.skill.hooks.as_ref()?.as_object()?.clone();
        Some(hooks::HookLayer { origin: hooks::HookOrigin::Skill { name: self.skill.name.clone() }, hooks })
    }

    /// The skill as the task of an agent. The agent does not know the conversation, so the files are part of the
    /// prompt.
    pub fn into_fork(self) -> ForkedSkill {
        let hooks = self.hooks();
        let mut prompt = self.text;
        for file in &self.files {
            write!(prompt, "\n\nContents of {}:\n{}", file.path.display(), file.content).ok();
        }
        ForkedSkill {
            description: self.skill.name,
            prompt,
            agent_type: self.skill.agent,
            model: self.skill.model,
            effort: self.skill.effort,
            rules: self.rules,
            hooks,
        }
    }
}

/// The parameters of an invocation.
pub struct InvocationContext {
    pub facts: Arc<SkillFacts>,
    pub policy: Arc<Policy>,
    pub cx: CallContext,
}

/// Renders `skill`. The error is for the user or the model, whichever invoked it.
pub async fn invoke(
    skill: Skill,
    arguments: &str,
    skill_context: &InvocationContext,
) -> Result<SkillInvocation, String> {
    let body = skill.body()?;
    let project = skill_context.facts.project.display().to_string();
    let values = RenderValues {
        arguments,
        session_id: &skill_context.facts.session_id,
        effort: skill_context.cx.state.facts.effort.as_deref().unwrap_or_default(),
        project: &project,
    };
    let rules = rules(&skill, skill_context);
    let policy = super::with_rules(&skill_context.policy, &rules);
    let mut text = heading(&skill);
    let mut files = Vec::new();
    for piece in render(&skill, &body, &values) {
        match piece {
            RenderedPiece::Text(words) => {
                attach(&words, &policy, skill_context, &mut files).await;
                text.push_str(&words);
            }
            RenderedPiece::Command { command, pattern } => {
                text.push_str(&run(&skill, &command, &pattern, (&policy, skill_context)).await?);
            }
        }
    }
    Ok(SkillInvocation { skill, text, files, rules, tool_use_id: None })
}

/// Tells the model where the skill's supporting files are.
fn heading(skill: &Skill) -> String {
    match skill.form {
        SkillForm::Skill => format!("Skill {}. Its own files are in {}\n\n", skill.name, skill.dir.display()),
        SkillForm::Command => String::new(),
    }
}

/// The rules of the skill: allowed and denied tools.
fn rules(skill: &Skill, skill_context: &InvocationContext) -> Vec<RuleText> {
    let rule = |behaviour, text: &String| RuleText {
        behaviour,
        source: SettingsSource::Session,
        text: text.clone(),
        root: skill_context.facts.project.clone(),
    };
    let may_grant = !skill_context.facts.managed_rules_only || skill.scope == DefinitionScope::Managed;
    let allowed = skill.allowed_tools.iter().filter(|_| may_grant).map(|text| rule(RuleBehaviour::Allow, text));
    allowed.chain(skill.disallowed_tools.iter().map(|text| rule(RuleBehaviour::Deny, text))).collect()
}

async fn run(skill: &Skill, command: &str, pattern: &str, at: (&Policy, &InvocationContext)) -> Result<String, String> {
    let (policy, skill_context) = at;
    if skill_context.facts.shell_disabled && skill.scope != DefinitionScope::Managed {
        return Ok(DISABLED.to_owned());
    }
    let input = json!({"command": command});
    let guard = allowed(&tools::bash::BashTool, &[Access::Run(command.to_owned())], &input, at)
        .map_err(|why| format!("Shell command permission check failed for pattern \"{pattern}\": {why}"))?;
    tracing::debug!(skill = skill.name, command, mode = ?policy.mode, "a skill runs a command");
    let outcome = call_tool(&tools::bash::BashTool, &input, skill_context, guard).await;
    let output = outcome.content.text().into_owned();
    if outcome.is_error {
        return Err(format!("Shell command failed for pattern \"{pattern}\": {output}"));
    }
    Ok(output)
}

/// The guard for git commands when the rules allow the call without a question; otherwise the reason.
fn allowed(
    tool: &dyn Tool,
    accesses: &[Access],
    input: &serde_json::Value,
    (policy, skill_context): (&Policy, &InvocationContext),
) -> Result<Option<GitGuard>, String> {
    let input = input.to_string();
    let request = PermissionQuery::new(&tool.spec().name, accesses).with_input(&input);
    let cwd = &skill_context.cx.workspace.cwd;
    let facts = crate::facts::gather_with_repositories(policy, &request, cwd, &skill_context.cx.state.facts.env);
    match policy.decide(&request, &facts) {
        PermissionDecision::Allow(_) => Ok(policy.git_guard(&request, &facts)),
        PermissionDecision::Ask(refusal) | PermissionDecision::Deny(refusal) => Err(refusal.message),
    }
}

async fn call_tool(
    tool: &dyn Tool,
    input: &serde_json::Value,
    skill_context: &InvocationContext,
    git_guard: Option<GitGuard>,
) -> ToolOutcome {
    let Ok(raw) = wire::raw::to_raw(input) else { return ToolOutcome::failed("its input could not be written") };
    match tool.parse(&raw) {
        Ok(call) => tools::masked_calls::run(call, CallContext { git_guard, ..skill_context.cx.clone() }).await,
        Err(error) => ToolOutcome::invalid(error.to_string()),
    }
}

/// The files and folders that a prompt mentions, as far as the rules allow to read them without a question.
pub async fn mentioned_files(prompt: &str, skill_context: &InvocationContext) -> Vec<AttachedFile> {
    let mut files = Vec::new();
    attach(prompt, &skill_context.policy, skill_context, &mut files).await;
    files
}

/// Whether a prompt mentions a file or folder that exists.
pub fn mentions_files(prompt: &str, workspace: &Workspace) -> bool {
    mentions(prompt).iter().any(|display| is_there(display, workspace))
}

/// Where in a prompt files and folders of the project are mentioned that exist.
pub fn file_mentions(prompt: &str, workspace: &Workspace) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    for display in mentions(prompt) {
        let typed = format!("@{}", display.replace(' ', "\\ "));
        let Some(at) = prompt[from..].find(&typed) else { continue };
        let range = from + at..from + at + typed.len();
        from = range.end;
        let is_inside = workspace.absolute(split_range(&display).0).starts_with(&workspace.cwd);
        if is_inside && is_there(&display, workspace) {
            found.push(range);
        }
    }
    found
}

fn is_there(mention: &str, workspace: &Workspace) -> bool {
    workspace.absolute(split_range(mention).0).exists()
}

/// Splits `file#L10-20` into the file and the first and last line.
fn split_range(mention: &str) -> (&str, Option<(u64, u64)>) {
    let Some((path, lines)) = mention.rsplit_once("#L") else { return (mention, None) };
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    match (first.parse(), last.trim_start_matches('L').parse()) {
        (Ok(first), Ok(last)) if first >= 1 && first <= last => (path, Some((first, last))),
        _ => (mention, None),
    }
}

/// The names in a folder, sorted; folders end with a slash.
fn listing(folder: &Path) -> std::io::Result<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)?.flatten() {
        let slash = if entry.file_type().is_ok_and(|kind| kind.is_dir()) { "/" } else { "" };
        names.push(format!("{}{slash}", entry.file_name().to_string_lossy()));
    }
    names.sort_unstable();
    let rest = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    if rest > 0 {
        names.push(format!("… {rest} more"));
    }
    Ok(if names.is_empty() { "(empty folder)".to_owned() } else { names.join("\n") })
}

/// Reads the files that `text` mentions, each once.
async fn attach(text: &str, policy: &Policy, skill_context: &InvocationContext, files: &mut Vec<AttachedFile>) {
    for display in mentions(text) {
        let (name, range) = split_range(&display);
        let path = skill_context.cx.workspace.absolute(name);
        let known = files.iter().any(|file| file.path == path);
        if known || files.len() >= MAX_FILES || !(path.is_file() || path.is_dir()) {
            continue;
        }
        let mut input = json!({"file_path": path});
        if let Some((first, last)) = range {
            input["offset"] = json!(first);
            input["limit"] = json!(last - first + 1);
        }
        if let Err(why) =
            allowed(&tools::read::ReadTool, &[Access::ReadPath(path.clone())], &input, (policy, skill_context))
        {
            tracing::warn!(file = %path.display(), why, "a file that is mentioned with @ is not attached");
            continue;
        }
        if path.is_dir() {
            let folder = path.clone();
            if let Ok(Ok(content)) = tokio::task::spawn_blocking(move || listing(&folder)).await {
                files.push(AttachedFile { path, display, content });
            }
            continue;
        }
        let outcome = call_tool(&tools::read::ReadTool, &input, skill_context, None).await;
        if !outcome.is_error {
            files.push(AttachedFile { path, display, content: outcome.content.text().into_owned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_files_in_a_prompt_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path().to_path_buf();
        std::fs::write(cwd.join("a b.txt"), "").unwrap();
        std::fs::create_dir(cwd.join("lib")).unwrap();
        let workspace = Workspace { cwd: cwd.clone(), project: cwd, additional: Vec::new(), home: None };
        let prompt = "see @a\\ b.txt#L2-L3, `@lib`, @lib @gone @/etc/passwd me@lib";
        let found: Vec<&str> = file_mentions(prompt, &workspace).into_iter().map(|range| &prompt[range]).collect();
        assert_eq!(found, ["@a\\ b.txt#L2-L3", "@lib"]);
        let ranges = [split_range("f#L2-L3"), split_range("f#L7"), split_range("f#L9-3"), split_range("f#x")];
        assert_eq!(ranges, [("f", Some((2, 3))), ("f", Some((7, 7))), ("f#L9-3", None), ("f#x", None)]);
    }
}
