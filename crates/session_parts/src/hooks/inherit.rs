//! The hooks of an agent: those of its session, plus those that its definition and the skill it runs declare.

use super::callers::HookJudge;
use super::callers::{HookCaller, HookCallers};
use super::listener::HookReporter;
use super::{HookAgent, OwnHooks, SessionHooks, host, watch};
use crate::settings_watch::SettingsWatch;
use hooks::{HandlerEnvironment, Hooks, SpentHandlers};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use tokio::task::JoinSet;

/// The hooks of a session, to be given to one of its agents.
#[derive(Clone)]
pub struct InheritedHooks {
    pub(super) current: Arc<Hooks>,
    pub(super) callers: Arc<HookCallers>,
    pub(super) handler_env: HandlerEnvironment,
    pub(super) reporter: HookReporter,
    pub(super) reported_problems: BTreeSet<String>,
    pub(super) env_files: Option<watch::EnvFiles>,
    pub(super) own_hooks: OwnHooks,
    pub(super) host_matchers: Arc<host::HostMatchers>,
    pub(super) spent_handlers: SpentHandlers,
}

/// The parameters of a new agent's hooks.
pub struct AgentHookParams<'a> {
    pub agent: HookAgent,
    pub cwd: PathBuf,
    /// Declared by its definition and by the skill it runs.
    pub layers: Vec<hooks::HookLayer>,
    pub watch: &'a SettingsWatch,
    pub judge: Weak<dyn HookJudge>,
}

impl InheritedHooks {
    /// The session's hooks for the calls of a subagent, and the agent's own while it runs.
    pub fn for_agent(self, fresh: AgentHookParams<'_>) -> SessionHooks {
        let AgentHookParams { agent, cwd, layers, watch, judge } = fresh;
        let runner = HookCaller { shared: Arc::clone(&self.callers), judge: Weak::clone(&judge) };
        let mut hooking = SessionHooks {
            current: Arc::new(self.current.run_by(Arc::new(runner))),
            callers: self.callers,
            handler_env: self.handler_env,
            reporter: self.reporter,
            reported_problems: self.reported_problems,
            running: JoinSet::new(),
            detached: BTreeMap::new(),
            observers: JoinSet::new(),
            stop: None,
            batch_texts: Vec::new(),
            runs: Vec::new(),
            late_texts: Vec::new(),
            wake_texts: VecDeque::new(),
            rewritten: BTreeMap::new(),
            watcher: watch::HookWatcher::new(cwd),
            agent: Some(agent),
            own_hooks: self.own_hooks,
            host_matchers: self.host_matchers,
            spent_handlers: self.spent_handlers,
            judge,
            ended_tasks: 0,
            env_files: self.env_files,
        };
        // Hooks of the parent's definition stay with the parent; hooks of invoked skills apply to the whole session.
        let parents = hooking.own_hooks.layers.len();
        hooking.own_hooks.layers.retain(|layer| matches!(layer.origin, hooks::HookOrigin::Skill { .. }));
        let mut changed = hooking.own_hooks.layers.len() != parents;
        for layer in layers {
            changed |= hooking.own_hooks.add(layer);
        }
        if changed {
            hooking.rebuild(watch);
        }
        hooking
    }
}
