//! Loads the skills and built-in prompts that a typed prompt names.

use crate::calls;
use crate::session::{LiveSession, SessionIo};
use config::skills::SkillContext;
use session_parts::command::Prompt;
use session_parts::skills::invoke::invoke;
use session_parts::skills::invoke::{InvocationContext, SkillInvocation};
use session_parts::skills::slash::{SkillRequest, first_text, tagged};
use session_parts::transcript_writer::PromptSource;
use std::sync::Arc;
use store::StoreError;
use tokio_util::sync::CancellationToken;
use tools::CallContext;

/// The request for a built-in command that stands for a prompt.
pub(crate) fn built_in(prompt: &Prompt, io: &SessionIo) -> Option<SkillRequest> {
    let (text, rest) = first_text(&prompt.content)?;
    let (name, arguments, body) = io.commands().expansion(&text)?;
    let content = tagged(&[name], &arguments, &rest)?;
    Some(SkillRequest { skills: Vec::new(), arguments, content, body: Some((name, body)) })
}

impl LiveSession {
    /// Loads the skills that the prompt named. The inner error is why they were not loaded.
    pub(crate) async fn load_typed(
        &mut self,
        plan: Option<SkillRequest>,
        token: &CancellationToken,
    ) -> Result<Result<(), String>, StoreError> {
        let Some(plan) = plan else { return self.load_prompt().await };
        let outcome = load(self, plan, token).await?;
        if let Err(why) = &outcome {
            let text = format!("<local-command-stderr>{why}</local-command-stderr>");
            self.inject(&text, PromptSource::Marker).await?;
        }
        Ok(outcome)
    }
}

/// Loads what the prompt asked for. The inner error is the reason for the user why nothing was loaded.
pub(crate) async fn load(
    session: &mut LiveSession,
    plan: SkillRequest,
    token: &CancellationToken,
) -> Result<Result<(), String>, StoreError> {
    if let Some((_, body)) = &plan.body {
        session.add_skill_text(body, None).await?;
        return Ok(Ok(()));
    }
    let mut loaded: Vec<SkillInvocation> = Vec::new();
    for skill in plan.skills {
        let cx = match calls::context_for(&session.io, "slash", token.child_token()).await {
            Ok(cx) => cx,
            Err(error) => return Ok(Err(format!("The sandbox could not be set up: {error}"))),
        };
        let skill_context = InvocationContext {
            facts: Arc::clone(&session.io.knowledge.skills.facts),
            policy: Arc::clone(session.io.rules.policy()),
            cx,
        };
        let variants: Vec<String> =
            session.io.knowledge.skills.skills().qualified(&skill.name).map(|other| other.name.clone()).collect();
        let rendering = invoke(skill, &plan.arguments, &skill_context);
        match session.control.during(rendering).await {
            Some(Ok(invocation)) if invocation.skill.context == SkillContext::Fork => {
                let name = invocation.skill.name.clone();
                match run_fork(session, invocation, skill_context).await {
                    Some(Ok(report)) => {
                        let text = session_parts::prompts::forked_skill(&name, &report);
                        session.inject(&text, PromptSource::Meta).await?;
                    }
                    Some(Err(why)) => return Ok(Err(why)),
                    None => return Ok(Ok(())),
                }
            }
            Some(Ok(mut invocation)) => {
                invocation.text.push_str(&session_parts::prompts::skill_variants(&variants));
                loaded.push(invocation);
            }
            Some(Err(why)) => return Ok(Err(why)),
            None => return Ok(Ok(())),
        }
    }
    session.add_invocations(loaded).await?;
    Ok(Ok(()))
}

/// Runs the skill as an agent; returns its report or an error. `None` when the process must stop.
async fn run_fork(
    session: &mut LiveSession,
    invocation: SkillInvocation,
    skill_context: InvocationContext,
) -> Option<Result<String, String>> {
    let LiveSession { control, context, io, .. } = session;
    let fork = invocation.into_fork();
    let cx = CallContext { session: Some(io.view(context)), ..skill_context.cx };
    let done = control.during(io.tooling.spawner.run_forked_skill(fork, &skill_context.policy, cx)).await?;
    Some(match done {
        Ok(outcome) if outcome.is_error => Err(outcome.content.text().into_owned()),
        Ok(outcome) => Ok(outcome.content.text().into_owned()),
        Err(why) => Err(why.into()),
    })
}
