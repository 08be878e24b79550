//! Hooks around commands: the expansion of typed commands, and switches of the model.

use super::lifecycle::contexts;
use crate::session::LiveSession;
use crate::session::hooks::PromptVerdict;
use hooks::{HookPermission, MergedAnswer};
use session_parts::hooks::ExpansionPayload;
use session_parts::hooks::HookScope;
use tokio_util::sync::CancellationToken;
use wire::hooks::{HookEventName, ModelSwitch, NullableText, PostModelSwitch, PreModelSwitch, UserPromptExpansion};

impl LiveSession {
    /// UserPromptExpansion. When it is refused, the command is not recorded.
    pub(crate) async fn expansion_hooks(
        &mut self,
        expansion: ExpansionPayload<'_>,
        token: &CancellationToken,
    ) -> PromptVerdict {
        if !self.io.hooks.listens(HookEventName::UserPromptExpansion) {
            return PromptVerdict::GoOn(Vec::new());
        }
        let event = UserPromptExpansion {
            expansion_type: "slash_command".into(),
            command_name: expansion.name.to_owned(),
            command_args: expansion.arguments.to_owned(),
            command_source: Some(expansion.source.to_owned()),
            prompt: expansion.prompt.to_owned(),
        };
        let Self { control, io, .. } = self;
        let Some(merged) = control.during(io.fire(&event, HookScope::new(token))).await else {
            return PromptVerdict::GoOn(Vec::new());
        };
        let stop = self.io.hooks.stop.take();
        match merged.blocked().or(stop) {
            Some(reason) => PromptVerdict::Blocked(format!("UserPromptExpansion operation blocked by hook:\n{reason}")),
            None => PromptVerdict::GoOn(contexts(&merged, HookEventName::UserPromptExpansion)),
        }
    }

    pub(crate) fn describe_switch(&mut self, to: &str, requested: &str, source: &'static str) -> ModelSwitch {
        let tokens = self.context.tokens();
        let (ttl, cost) = self.context.cache_cost_of(to, tokens);
        ModelSwitch {
            canonical: model::catalog::canonical(to),
            from_model: self.context.model().to_owned(),
            to_model: to.to_owned(),
            requested_model: NullableText(Some(requested.to_owned())),
            source: source.to_owned(),
            context_tokens: tokens,
            prompt_cache_warm: self.context.history().has_answers(),
            cache_ttl: ttl.to_owned(),
            estimated_cache_write_usd: cost.unwrap_or(0.0),
            pricing: if cost.is_some() { "catalog" } else { "default" }.to_owned(),
        }
    }

    /// PreModelSwitch: an error is the reason not to switch; a hook that does not answer in time refuses too. `None`
    /// when the process must stop.
    pub(crate) async fn before_switch(
        &mut self,
        switch: &ModelSwitch,
        token: &CancellationToken,
    ) -> Option<Result<(), String>> {
        if !self.io.hooks.listens(HookEventName::PreModelSwitch) {
            return Some(Ok(()));
        }
        let Self { control, io, .. } = self;
        let merged = control.during(io.fire(&PreModelSwitch(switch.clone()), HookScope::new(token))).await?;
        Some(match refused_switch(&merged) {
            Some(why) => Err(format!("The model stays {}: {why}", switch.from_model)),
            None => Ok(()),
        })
    }

    /// PostModelSwitch: its texts are sent with the next request; texts of an earlier switch are dropped.
    pub(crate) async fn after_switch(&mut self, switch: ModelSwitch, token: &CancellationToken) -> Option<()> {
        if !self.io.hooks.listens(HookEventName::PostModelSwitch) {
            return Some(());
        }
        let Self { control, io, .. } = self;
        let merged = control.during(io.fire(&PostModelSwitch(switch), HookScope::new(token))).await?;
        self.io.hooks.stop = None;
        let later = &mut self.io.hooks.late_texts;
        later.retain(|beside| beside.event != HookEventName::PostModelSwitch);
        later.extend(contexts(&merged, HookEventName::PostModelSwitch));
        Some(())
    }
}

/// Nobody can answer a question here, so "ask" refuses like a denial.
fn refused_switch(merged: &MergedAnswer) -> Option<String> {
    if let Some(verdict) = &merged.verdict
        && verdict.permission != HookPermission::Allow
    {
        let reason = verdict.reason.clone().unwrap_or_else(|| "no reason given".into());
        return Some(format!("{} hook: {reason}", verdict.hook));
    }
    let silent = merged.reports.iter().find(|report| report.outcome.as_str() == "cancelled");
    merged.blocked().or_else(|| silent.map(|report| format!("{} hook did not answer in time", report.name)))
}
