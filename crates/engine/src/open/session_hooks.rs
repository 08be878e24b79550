//! The hooks of a new session: their environment, the files they set variables in, and those of its definition.

use super::SessionAssembly;
use crate::agents::AgentSpawner;
use ::hooks::HandlerEnvironment;
use config::agents::AgentDefinition;
use session_parts::hooks::HookJudge;
use session_parts::hooks::{EnvFiles, HookCallers, OwnHooks, SessionHooks, SessionHooksParts as HookParts};
use session_parts::host::HostSender;
use std::sync::{Arc, Weak};

impl SessionAssembly {
    /// Created only when a hook may write to one.
    pub(super) fn env_files(&self, catalogue: &::hooks::HookCatalogue) -> Option<EnvFiles> {
        let wanted = catalogue.iter().any(|entry| entry.event.facts().env_file);
        let (home, id) = (self.layout.home(), &self.conversation.session_id);
        wanted.then(|| EnvFiles::create(home, id, self.env.non_empty("CLAUDE_ENV_FILE"))).flatten()
    }

    pub(super) fn session_hooks(
        &self,
        catalogue: ::hooks::HookCatalogue,
        (callers, own): (HookCallers, OwnHooks),
        host: HostSender,
        (env_files, spawner): (Option<EnvFiles>, &Arc<AgentSpawner>),
    ) -> SessionHooks {
        let effort = self.options.model.effort.clone().or_else(|| self.default_effort());
        let mut marks = vec![
            ("CLAUDECODE", "1".to_owned()),
            ("CLAUDE_CODE_CHILD_SESSION", "1".to_owned()),
            ("CLAUDE_CODE_SESSION_ID", self.conversation.session_id.clone()),
            ("CLAUDE_PID", sys::pid().to_string()),
        ];
        marks.extend(effort.map(|effort| ("CLAUDE_EFFORT", effort)));
        let environment = HandlerEnvironment::new(&self.env, &self.cwd, config::environment::SECRET_VARIABLES, &marks);
        let all_events = self.options.host.hook_events;
        let (cwd, judge) = (self.cwd.clone(), Arc::downgrade(spawner) as Weak<dyn HookJudge>);
        SessionHooks::new(HookParts {
            catalogue,
            handler_env: environment,
            callers,
            host,
            all_events,
            env_files,
            cwd,
            own_hooks: own,
            judge,
        })
    }

    /// The hooks of the definition that the main thread runs as.
    pub(super) fn own_hooks(&self) -> OwnHooks {
        let layer = |agent: &AgentDefinition| {
            let hooks = agent.hooks.as_ref()?.as_object()?.clone();
            Some(::hooks::HookLayer { origin: ::hooks::HookOrigin::Agent { name: agent.name.clone() }, hooks })
        };
        let runs_as = self.agent.as_ref().map(|agent| agent.name.clone());
        OwnHooks { layers: self.agent.as_ref().and_then(layer).into_iter().collect(), runs_as, ..OwnHooks::default() }
    }
}
