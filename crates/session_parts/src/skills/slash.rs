//! `/name arguments` in a prompt. An unknown name is ordinary text. Up to six skills may be named at the start of one
//! message; each gets the text after the last name as arguments.

use crate::hooks::ExpansionPayload;
use crate::messages::plain_text;
use config::roots::DefinitionScope;
use config::skills::{Skill, Skills};
use serde_json::value::RawValue;
use wire::block::BlockHead;

/// Maximum number of skills at the start of one message.
const MAX_STACKED: usize = 6;

/// The skills that a prompt asks to load.
#[derive(Debug)]
pub struct SkillRequest {
    pub skills: Vec<Skill>,
    pub arguments: String,
    /// The prompt as recorded in the transcript.
    pub content: Box<RawValue>,
    /// Name and text of a built-in command, instead of skills.
    pub body: Option<(&'static str, String)>,
}

/// The payload of UserPromptExpansion hooks.
pub struct TypedExpansion {
    name: String,
    arguments: String,
    source: &'static str,
    prompt: String,
}

impl TypedExpansion {
    pub fn payload(&self) -> ExpansionPayload<'_> {
        ExpansionPayload { name: &self.name, arguments: &self.arguments, source: self.source, prompt: &self.prompt }
    }
}

impl SkillRequest {
    pub fn expansion(&self, typed: &RawValue) -> TypedExpansion {
        let (name, source) = match (self.skills.first(), &self.body) {
            (Some(skill), _) => (skill.name.clone(), source_of(skill.scope)),
            (None, Some((name, _))) => ((*name).to_owned(), "builtin"),
            (None, None) => (String::new(), "builtin"),
        };
        TypedExpansion { name, arguments: self.arguments.clone(), source, prompt: plain_text(typed) }
    }
}

fn source_of(scope: DefinitionScope) -> &'static str {
    match scope {
        DefinitionScope::Managed => "policy",
        DefinitionScope::CommandLine => "flag",
        DefinitionScope::User => "user",
        DefinitionScope::Project | DefinitionScope::Added | DefinitionScope::Nested => "project",
    }
}

/// `None` for a prompt without skills.
pub fn parse_skills(skills: &Skills, content: &RawValue) -> Option<SkillRequest> {
    let (text, rest) = first_text(content)?;
    let mut found: Vec<Skill> = Vec::new();
    let mut left = text.trim_start();
    while found.len() < MAX_STACKED
        && let Some((name, after)) = command(left)
        && let Some(skill) = skills.find(name).filter(|skill| skill.is_user_visible())
    {
        found.push(skill.clone());
        left = after;
    }
    let names = found.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>();
    if names.is_empty() {
        return None;
    }
    let arguments = left.trim().to_owned();
    let content = tagged(&names, &arguments, &rest)?;
    Some(SkillRequest { skills: found, arguments, content, body: None })
}

/// The name after a slash, and the text after it.
fn command(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('/')?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    (!name.is_empty()).then(|| (name, after.trim_start_matches([' ', '\t'])))
}

/// The first text of a prompt, and its other blocks.
pub fn first_text(content: &RawValue) -> Option<(String, Vec<Box<RawValue>>)> {
    let raw = content.get();
    if raw.starts_with('"') {
        return raw.starts_with("\"/").then(|| serde_json::from_str(raw).ok()).flatten().map(|text| (text, Vec::new()));
    }
    let mut blocks: Vec<Box<RawValue>> = serde_json::from_str(raw).ok()?;
    let at = blocks.iter().position(|block| matches!(BlockHead::read(block), Some(BlockHead::Text(_))))?;
    let Some(BlockHead::Text(text)) = BlockHead::read(&blocks[at]) else { return None };
    let text = text.into_owned();
    blocks.remove(at);
    text.starts_with('/').then_some((text, blocks))
}

/// The format that readers of transcripts expect.
pub fn tagged(names: &[&str], arguments: &str, rest: &[Box<RawValue>]) -> Option<Box<RawValue>> {
    let (first, more) = names.split_first()?;
    let stacked: String = more.iter().flat_map(|name| ["/", name, " "]).collect();
    let arguments = stacked + arguments;
    let mut text = format!("<command-name>/{first}</command-name>\n<command-message>{first}</command-message>");
    if !arguments.is_empty() {
        text.push_str("\n<command-args>");
        text.push_str(&arguments);
        text.push_str("</command-args>");
    }
    let text = wire::raw::to_raw(&text).ok()?;
    if rest.is_empty() {
        return Some(text);
    }
    let blocks: Vec<&str> = rest.iter().map(|block| block.get()).collect();
    let joined = format!(r#"[{{"type":"text","text":{}}},{}]"#, text.get(), blocks.join(","));
    RawValue::from_string(joined).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn skills(names: &[&str]) -> (tempfile::TempDir, Skills) {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().join(".claude");
        for name in names {
            std::fs::create_dir_all(home.join("skills").join(name)).unwrap();
            std::fs::write(home.join("skills").join(name).join("SKILL.md"), "x").unwrap();
        }
        let mut roots = config::roots::DefinitionRoots::default();
        let scope = config::roots::DefinitionScope::User;
        roots.roots.push(config::roots::DefinitionRoot { dir: home, scope, skill_code: true, agent_code: true });
        let skills = Skills::load(&roots, &[], &std::collections::BTreeMap::new());
        (temp, skills)
    }

    // [EXT-145]
    #[test]
    fn several_may_be_stacked() {
        let (_temp, skills) = skills(&["a", "b", "c"]);
        let planned = |text: &str| {
            let plan = parse_skills(&skills, &raw(&serde_json::to_string(text).unwrap()))?;
            let names: Vec<String> = plan.skills.iter().map(|skill| skill.name.clone()).collect();
            Some((names.join(" "), plan.arguments))
        };
        assert_eq!(planned("/a /b do it"), Some(("a b".into(), "do it".into())));
        assert_eq!(planned("/a two\nlines"), Some(("a".into(), "two\nlines".into())));
        assert_eq!(planned("/a /x"), Some(("a".into(), "/x".into())));
        assert_eq!(planned("/a /b /c /a /b /c /a"), Some(("a b c a b c".into(), "/a".into())));
        for text in ["/x", "say /a", "/", "/a/b", "//a", ""] {
            assert_eq!(planned(text), None, "{text}");
        }
    }

    #[test]
    fn other_blocks_of_the_prompt_stay() {
        let (_temp, skills) = skills(&["a"]);
        let blocks = r#"[{"type":"image","source":{}},{"type":"text","text":"/a x"}]"#;
        let plan = parse_skills(&skills, &raw(blocks)).unwrap();
        assert_eq!(
            plan.content.get(),
            r#"[{"type":"text","text":"<command-name>/a</command-name>\n<command-message>a</command-message>\n<command-args>x</command-args>"},{"type":"image","source":{}}]"#
        );
    }
}
