//! A stand-in for a model that makes the mistakes models make, deterministic by seed. It knows what has to be done (the
//! intents of an oracle) and nothing of the disk: it acts only on what requests hold. On an error it follows fixed
//! rules, so the number of calls it needs measures the texts it was sent.

mod attempt;
mod call;
mod call_slips;
mod edit_slips;
mod intent;
mod lines;
mod log;
mod mind;
mod paths;
mod random;
mod recovery;
mod slips;
mod view;

pub use call::PlannedCall;
pub use intent::{EditText, Intent, IntentKind, Oracle};
pub use log::{DoneWork, FurtherCall, SlipEvent, SlipOutcome};
pub use slips::SLIP_NAMES;

use crate::captured::CapturedRequest;
use crate::reply::ScriptedReply;
use log::CacheMeter;
use mind::Mind;
use std::sync::{Arc, Mutex};
use view::RequestView;

/// How often a model slips.
#[derive(Clone, Copy, Debug)]
pub struct Clumsiness {
    pub seed: u64,
    /// Of 100 intents, how many are sent with a slip.
    pub percent: u64,
}

/// Runs a shell command of the oracle beside the session, as another program would.
pub type OutsideCommand = Box<dyn FnMut(&str) + Send>;

/// The model of one task. Clones share their state, so that the caller can look at it after a run.
#[derive(Clone)]
pub struct ClumsyModel {
    inner: Arc<Mutex<ModelState>>,
}

struct ModelState {
    main: Mind,
    agents: Vec<(String, Mind)>,
    outside: OutsideCommand,
    meter: CacheMeter,
}

impl ClumsyModel {
    pub fn new(oracle: &Oracle, clumsiness: Clumsiness, outside: OutsideCommand) -> Self {
        let main = Mind::new(&oracle.intents, clumsiness, oracle.reminds);
        let agent = |(at, (marker, intents)): (usize, &(String, Vec<Intent>))| {
            let seed = clumsiness.seed.wrapping_add(1 + at as u64);
            (marker.clone(), Mind::new(intents, Clumsiness { seed, ..clumsiness }, false).for_agent(at + 1))
        };
        let agents = oracle.agents.iter().enumerate().map(agent).collect();
        let state = ModelState { main, agents, outside, meter: CacheMeter::default() };
        Self { inner: Arc::new(Mutex::new(state)) }
    }

    /// The answer to a request, with the usage a provider with a prompt cache would report.
    pub fn reply(&self, request: &CapturedRequest) -> ScriptedReply {
        let mut state = self.inner.lock().unwrap();
        let view = RequestView::of(request);
        let ModelState { main, agents, outside, meter } = &mut *state;
        let of_agent = agents.iter_mut().find(|(marker, _)| view.first_text.contains(marker.as_str()));
        let mind = of_agent.map_or(main, |(_, mind)| mind);
        let answer = if view.tools.is_empty() && !view.asks_for_summary() {
            log::Answer::text("noted")
        } else {
            mind.respond(&view, outside)
        };
        meter.reply(request, answer)
    }

    /// Ends the measurement: slips that are still open were never recovered from.
    pub fn finish(&self) {
        let mut state = self.inner.lock().unwrap();
        state.main.finish();
        state.agents.iter_mut().for_each(|(_, mind)| mind.finish());
    }

    /// Every slip with what came of it.
    pub fn slips(&self) -> Vec<SlipEvent> {
        self.collect(|mind| mind.log.slips.clone())
    }

    /// What the model believes it has done, in order.
    pub fn done(&self) -> Vec<DoneWork> {
        self.collect(|mind| mind.log.done.clone())
    }

    /// The intents it gave up, as text.
    pub fn given_up(&self) -> Vec<String> {
        self.collect(|mind| mind.log.given_up.clone())
    }

    fn collect<T>(&self, of: impl Fn(&Mind) -> Vec<T>) -> Vec<T> {
        let state = self.inner.lock().unwrap();
        std::iter::once(&state.main).chain(state.agents.iter().map(|(_, mind)| mind)).flat_map(of).collect()
    }
}

impl ClumsyModel {
    /// The next prompts belong to this turn of the oracle, counted from 1.
    pub fn begin_turn(&self, turn: usize) {
        self.inner.lock().unwrap().main.turn = turn;
    }
}

#[cfg(test)]
mod tests;
