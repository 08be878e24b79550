//! The Skill tool: the model loads a skill. The text of the skill is added as a separate message; the result only
//! confirms it. A skill with `context: fork` runs as an agent, and the result is its report.

use crate::tool_facts;
use crate::view::{CallEffect, SessionView};
use config::skills::{Skill, SkillContext};
use futures_util::future::BoxFuture;
use permission::Access;
use serde_json::json;
use serde_json::value::RawValue;
use session_parts::skills::invoke::{InvocationContext, invoke};
use session_parts::skills::{SessionSkills, SharedSkills, SkillFacts};
use std::sync::Arc;
use tools::contract::ToolSpec;
use tools::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolInput, ToolOutcome, Workspace};

static SPEC: ToolSpec = ToolSpec::of(
    SkillTool::NAME,
    include_str!("skill_tool/skill.md"),
    include_str!("skill_tool/skill.schema.json"),
    tool_facts::SKILL.1,
);

pub(crate) struct SkillTool {
    shared: SharedSkills,
    facts: Arc<SkillFacts>,
}

impl SkillTool {
    pub(crate) const NAME: &'static str = tool_facts::SKILL.0;

    pub(crate) fn new(skills: &SessionSkills) -> Self {
        let (shared, facts) = skills.shared();
        Self { shared, facts }
    }
}

impl Tool for SkillTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of(Self::NAME, input)?;
        let name = input.string("skill")?;
        let args = input.opt_string("args")?.unwrap_or_default();
        let (skills, fixed) = {
            let shared = self.shared.lock();
            (Arc::clone(&shared.skills), shared.facts.clone().unwrap_or_else(|| Arc::clone(&self.facts)))
        };
        // Models write the slash too.
        let name = name.trim().trim_start_matches('/');
        let Some(skill) = skills.find(name).filter(|skill| skill.visibility != config::skills::SkillVisibility::Off)
        else {
            return Err(InputError(format!("Unknown skill: {name}. Use one of the listed names.")));
        };
        if !skill.is_listed() {
            return Err(InputError(format!(
                "The skill {name} can only be started by the user, by typing /{name}. Do not imitate it; tell the user if it \
                 would help."
            )));
        }
        Ok(Box::new(SkillCall { skill: skill.clone(), args, facts: fixed }))
    }
}

struct SkillCall {
    skill: Skill,
    args: String,
    facts: Arc<SkillFacts>,
}

impl ToolCall for SkillCall {
    /// Plain text needs no permission; rules about the skill apply in any case.
    fn access(&self, _at: &Workspace) -> Vec<Access> {
        vec![if self.skill.is_plain() { Access::Harmless } else { Access::Use }]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Exclusive
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move { self.load(cx).await })
    }
}

impl SkillCall {
    async fn load(self, cx: CallContext) -> ToolOutcome {
        let view = match SessionView::of(&cx) {
            Ok(view) => view,
            Err(why) => return ToolOutcome::failed(why),
        };
        let id = cx.id.clone();
        let skill_context = InvocationContext { facts: self.facts, policy: Arc::clone(&view.policy), cx };
        let name = self.skill.name.clone();
        match invoke(self.skill, &self.args, &skill_context).await {
            Ok(invocation) if invocation.skill.context == SkillContext::Fork => {
                let Some(spawner) = view.spawner.upgrade() else {
                    return ToolOutcome::failed("The session is ending; no agent is started.");
                };
                let done =
                    spawner.run_forked_skill(invocation.into_fork(), &skill_context.policy, skill_context.cx).await;
                done.unwrap_or_else(ToolOutcome::failed)
            }
            Ok(mut invocation) => {
                invocation.tool_use_id = Some(id);
                let structured = wire::raw::to_raw(&json!({"success": true, "commandName": name})).ok();
                let text = format!("Skill {name} is loaded; its instructions follow.");
                let effects = vec![CallEffect::LoadSkill(Box::new(invocation)).boxed()];
                ToolOutcome { effects, ..ToolOutcome::text(text, structured) }
            }
            Err(why) => ToolOutcome::failed(why),
        }
    }
}
