//! A conversation that goes on in another session of this process: in another directory, or in a fork.

use super::announce::AnnouncedServers;
use super::toolset::{LoadedTool, McpToolset};
use model::Fragment;
use std::collections::BTreeSet;

/// What a conversation was told about tools beside those that every request defines.
#[derive(Clone)]
pub struct ToldTools {
    announced: AnnouncedServers,
    loaded: Vec<LoadedTool>,
    seldom_used: BTreeSet<String>,
    is_deferring: bool,
    recorded: usize,
}

impl McpToolset {
    pub fn told(&self) -> ToldTools {
        let state = self.shared.state();
        ToldTools {
            announced: self.announced.clone(),
            loaded: state.loaded.clone(),
            seldom_used: self.seldom_used().clone(),
            is_deferring: state.is_deferring,
            recorded: self.recorded,
        }
    }

    /// Goes on with a conversation that was told this. Nothing is told again.
    pub fn go_on(&mut self, told: ToldTools) {
        let ToldTools { announced, loaded, seldom_used, is_deferring, recorded } = told;
        self.announced = announced;
        {
            let mut state = self.shared.state();
            state.loaded = loaded;
            state.is_deferring = is_deferring;
        }
        self.recorded = recorded;
        self.set_seldom_used(seldom_used);
    }

    /// Goes on as a fork: its requests begin with the definitions that were sent.
    #[must_use]
    pub fn forked(mut self, told: ToldTools, sent: &[Fragment]) -> Self {
        self.go_on(told);
        self.inherit(sent);
        self
    }
}
