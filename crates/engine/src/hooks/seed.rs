//! The hooks of an agent: those of its session, with what its own definition and the skill it carries out declare.

use super::callers::{Caller, Callers};
use super::listener::Listener;
use super::{Agent, Hooking, Own, host, watch};
use crate::agents::Spawner;
use crate::reload::Watch;
use hooks::{Hooks, Spent, Surroundings};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::task::JoinSet;

/// The hooks of a session, before they belong to one of its agents.
#[derive(Clone)]
pub(crate) struct Seed {
    pub(super) current: Arc<Hooks>,
    pub(super) callers: Arc<Callers>,
    pub(super) around: Surroundings,
    pub(super) listener: Listener,
    pub(super) told: BTreeSet<String>,
    pub(super) env_files: Option<watch::EnvFiles>,
    pub(super) own: Own,
    pub(super) of_host: Arc<host::Declared>,
    pub(super) spent: Spent,
}

/// What the hooks of a new agent depend on.
pub(crate) struct Fresh<'a> {
    pub agent: Agent,
    pub cwd: PathBuf,
    /// Declared by its definition, and by the skill it carries out.
    pub layers: Vec<hooks::Layer>,
    pub watch: &'a Watch,
    pub spawner: &'a Arc<Spawner>,
}

impl Seed {
    /// The same hooks around the calls of a subagent, and its own while it runs.
    pub(crate) fn for_agent(self, fresh: Fresh<'_>) -> Hooking {
        let Fresh { agent, cwd, layers, watch, spawner } = fresh;
        let runner = Caller { shared: Arc::clone(&self.callers), spawner: Arc::downgrade(spawner) };
        let mut hooking = Hooking {
            current: Arc::new(self.current.run_by(Arc::new(runner))),
            callers: self.callers,
            around: self.around,
            listener: self.listener,
            told: self.told,
            running: JoinSet::new(),
            detached: BTreeMap::new(),
            observers: JoinSet::new(),
            stop: None,
            beside: Vec::new(),
            runs: Vec::new(),
            later: Vec::new(),
            woken: VecDeque::new(),
            rewritten: BTreeMap::new(),
            watched: watch::Watched::new(cwd),
            agent: Some(agent),
            own: self.own,
            of_host: self.of_host,
            spent: self.spent,
            spawner: Arc::downgrade(spawner),
            ended_tasks: 0,
            env_files: self.env_files,
        };
        // What the parent runs as is the parent's alone; the skills it invoked hold for all of the session.
        let parents = hooking.own.layers.len();
        hooking.own.layers.retain(|layer| matches!(layer.origin, hooks::Origin::Skill { .. }));
        let mut changed = hooking.own.layers.len() != parents;
        for layer in layers {
            changed |= hooking.own.add(layer);
        }
        if changed {
            hooking.renew(watch);
        }
        hooking
    }
}
