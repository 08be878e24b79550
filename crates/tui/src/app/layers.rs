//! The parts of the interface that lie above the prompt: dialogs, panels, views and suggestions. Each is a `Layer`. The
//! `LayerStack` decides which of them gets a key or a paste, which bindings apply and what is drawn; `LayerRank` is the
//! only place that orders them. A layer reads the rest of the interface through `LayerView` and changes it only by the
//! effects it returns.

pub mod effects;

use super::Preferences;
use super::agents::AgentTracker;
use super::prompt_history::PromptHistory;
use super::reply::StreamingReply;
use super::session::SessionDisplay;
use super::transcript::TranscriptView;
use crate::screen_reader::SpeakerLabel;
use effects::LayerEffect;
use std::any::Any;
use std::fmt::Debug;
use std::time::Duration;
use terminal::editor::Editor;
use terminal::keys::KeyPress;
use terminal::keys::bindings::{KeyAction, KeyContext};
use terminal::style::StyledLine;
use terminal::surface::{Caret, LiveFrame, TerminalSize};

/// The order of the layers, from the prompt upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerRank {
    Completion,
    Help,
    HistorySearch,
    Onboarding,
    Panel,
    /// Questions of the engine. The oldest is on top; the others wait below it.
    Question,
    SessionPicker,
    /// Questions of the interface itself.
    Confirm,
    Transcript,
}

impl LayerRank {
    /// Whether a new layer goes below the others of this rank instead of above them.
    fn is_queue(self) -> bool {
        self == Self::Question
    }
}

/// What a layer may read besides its own state.
#[derive(Clone, Copy)]
pub struct LayerView<'a> {
    pub session: &'a SessionDisplay,
    pub preferences: &'a Preferences,
    pub size: TerminalSize,
    /// Time since the start.
    pub now: Duration,
    /// When a key last went into a text.
    pub typed_at: Duration,
    pub editor: &'a Editor,
    pub history: &'a PromptHistory,
    pub transcript: &'a TranscriptView,
    pub agents: &'a AgentTracker,
    /// The text that is being written.
    pub reply: &'a StreamingReply,
    pub hint: Option<&'a str>,
    /// How many layers of the same rank wait below this one. The stack sets it.
    pub waiting: usize,
}

impl LayerView<'_> {
    pub fn has_screen_reader(&self) -> bool {
        self.preferences.screen_reader.is_some()
    }

    /// Whether `wait` has passed since `then`.
    pub fn is_past(&self, then: Duration, wait: Duration) -> bool {
        self.now.saturating_sub(then) >= wait
    }
}

/// What a layer did with a key.
#[derive(Debug)]
pub enum KeyOutcome {
    /// The key ends here.
    Taken(Vec<LayerEffect>),
    /// The next layer below gets the key.
    Passed,
    /// The key bindings decide: an action goes to `Layer::action`, a key without one to `Layer::unbound_key`.
    Bindings,
    /// The key was typed before the layer could be read; it goes to `Layer::early_key` of the layers below.
    Early,
}

/// What a layer draws, and where.
#[derive(Debug)]
pub enum LayerRows {
    /// In place of everything else.
    WholeScreen(LiveFrame),
    InPlaceOfPrompt(Vec<StyledLine>, Option<Caret>),
    /// Under the prompt, in place of the footer.
    BelowPrompt(Vec<StyledLine>),
}

/// A part of the interface above the prompt. Functions that return an `Option` return `None` for what the layer does
/// not handle; the next layer below is then asked.
pub trait Layer: Any + Debug {
    fn rank(&self) -> LayerRank;

    /// The contexts of the key bindings that apply while the layer is on top.
    fn contexts(&self) -> &'static [KeyContext];

    /// Whether the bindings of what is below do not apply.
    fn is_modal(&self) -> bool {
        true
    }

    fn key(&mut self, key: KeyPress, view: &LayerView<'_>) -> KeyOutcome {
        let _ = (key, view);
        KeyOutcome::Bindings
    }

    fn action(&mut self, action: KeyAction, view: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        let _ = (action, view);
        None
    }

    fn unbound_key(&mut self, key: KeyPress, view: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        let _ = (key, view);
        None
    }

    /// A key that was typed for this layer before a higher one could be read.
    fn early_key(&mut self, key: KeyPress, view: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        let _ = (key, view);
        None
    }

    fn paste(&mut self, text: &str, view: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        let _ = (text, view);
        None
    }

    fn rows(&self, view: &LayerView<'_>) -> LayerRows;

    /// Whether `rows` returns `WholeScreen`.
    fn covers_screen(&self) -> bool {
        false
    }

    /// Who speaks in the rows, for screen readers.
    fn speaker(&self) -> SpeakerLabel {
        SpeakerLabel::None
    }

    /// The layer is on top because the one above it was closed.
    fn uncovered(&mut self, now: Duration) {
        let _ = now;
    }

    /// When `tick` has something to do; `None` when it need not be called.
    fn next_tick(&self, view: &LayerView<'_>) -> Option<Duration> {
        let _ = view;
        None
    }

    fn tick(&mut self, view: &LayerView<'_>) -> Vec<LayerEffect> {
        let _ = view;
        Vec::new()
    }

    /// What is undone when the layer is closed without a choice.
    fn dismissed(&mut self) -> Vec<LayerEffect> {
        Vec::new()
    }
}

/// Identifies an open layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerId(u64);

#[derive(Debug)]
struct OpenLayer {
    id: LayerId,
    layer: Box<dyn Layer>,
}

impl OpenLayer {
    fn is<T: Layer>(&self) -> bool {
        let any: &dyn Any = self.layer.as_ref();
        any.is::<T>()
    }

    fn get<T: Layer>(&self) -> Option<&T> {
        let any: &dyn Any = self.layer.as_ref();
        any.downcast_ref()
    }

    fn get_mut<T: Layer>(&mut self) -> Option<&mut T> {
        let any: &mut dyn Any = self.layer.as_mut();
        any.downcast_mut()
    }
}

/// Where a key goes.
#[derive(Debug)]
pub enum KeyRoute {
    /// A layer handled it.
    Layer(LayerId, Vec<LayerEffect>),
    /// The bindings of the layers up to this height, counted from the prompt, decide.
    Bindings(usize),
    /// It was typed for the prompt before a layer could be read.
    EarlyPrompt,
    Prompt,
}

/// Effects and the layer they come from.
pub type LayerReturn = (LayerId, Vec<LayerEffect>);

/// The open layers.
#[derive(Debug, Default)]
pub struct LayerStack {
    /// From the prompt upwards.
    layers: Vec<OpenLayer>,
    count: u64,
}

impl LayerStack {
    pub fn push(&mut self, layer: Box<dyn Layer>) -> LayerId {
        let rank = layer.rank();
        let is_above = |open: &OpenLayer| {
            let other = open.layer.rank();
            other > rank || other == rank && rank.is_queue()
        };
        let at = self.layers.iter().position(is_above);
        self.count += 1;
        let id = LayerId(self.count);
        self.layers.insert(at.unwrap_or(self.layers.len()), OpenLayer { id, layer });
        id
    }

    /// Removes a layer; the one that is then on top learns it.
    pub fn remove(&mut self, id: LayerId, now: Duration) -> Option<Box<dyn Layer>> {
        let at = self.layers.iter().position(|open| open.id == id)?;
        let was_top = at + 1 == self.layers.len();
        let removed = self.layers.remove(at);
        if let Some(top) = self.layers.last_mut().filter(|_| was_top) {
            top.layer.uncovered(now);
        }
        Some(removed.layer)
    }

    /// The highest layer of this type.
    pub fn find<T: Layer>(&self) -> Option<&T> {
        self.all().next()
    }

    pub fn find_mut<T: Layer>(&mut self) -> Option<&mut T> {
        self.all_mut().next()
    }

    /// The layer with this id, when it is of this type.
    pub fn get<T: Layer>(&self, id: LayerId) -> Option<&T> {
        self.layers.iter().find(|open| open.id == id)?.get()
    }

    pub fn get_mut<T: Layer>(&mut self, id: LayerId) -> Option<&mut T> {
        self.layers.iter_mut().find(|open| open.id == id)?.get_mut()
    }

    pub fn id_of<T: Layer>(&self) -> Option<LayerId> {
        self.layers.iter().rev().find(|open| open.is::<T>()).map(|open| open.id)
    }

    /// The layers of this type, highest first.
    pub fn all<T: Layer>(&self) -> impl Iterator<Item = &T> {
        self.layers.iter().rev().filter_map(OpenLayer::get)
    }

    pub fn all_mut<T: Layer>(&mut self) -> impl Iterator<Item = &mut T> {
        self.layers.iter_mut().rev().filter_map(OpenLayer::get_mut)
    }

    /// The ids of the layers of this rank, highest first.
    pub fn ids(&self, rank: LayerRank) -> Vec<LayerId> {
        self.layers.iter().rev().filter(|open| open.layer.rank() == rank).map(|open| open.id).collect()
    }

    pub fn has(&self, rank: LayerRank) -> bool {
        self.layers.iter().any(|open| open.layer.rank() == rank)
    }

    /// Offers a key to the layers, from the top.
    pub fn key(&mut self, key: KeyPress, view: &LayerView<'_>) -> KeyRoute {
        for at in (0..self.layers.len()).rev() {
            let open = &mut self.layers[at];
            match open.layer.key(key, view) {
                KeyOutcome::Taken(effects) => return KeyRoute::Layer(open.id, effects),
                KeyOutcome::Passed => {}
                KeyOutcome::Bindings => return KeyRoute::Bindings(at + 1),
                KeyOutcome::Early => {
                    let taken = self.offer(at, |layer| layer.early_key(key, view));
                    return taken.map_or(KeyRoute::EarlyPrompt, |(id, effects)| KeyRoute::Layer(id, effects));
                }
            }
        }
        KeyRoute::Prompt
    }

    /// The contexts of the layers up to `height`, and whether those of the prompt follow.
    pub fn contexts(&self, height: usize) -> (Vec<KeyContext>, bool) {
        let mut contexts = Vec::new();
        for open in self.layers[..height].iter().rev() {
            contexts.extend(open.layer.contexts());
            if open.layer.is_modal() {
                return (contexts, false);
            }
        }
        (contexts, true)
    }

    pub fn height(&self) -> usize {
        self.layers.len()
    }

    /// Offers an action to the layers whose contexts apply at this height; `None` when it belongs to the prompt.
    pub fn action(&mut self, height: usize, action: KeyAction, view: &LayerView<'_>) -> Option<LayerReturn> {
        self.offer_in_reach(height, |layer| layer.action(action, view))
    }

    /// Offers a key without a binding, like `action`.
    pub fn unbound_key(&mut self, height: usize, key: KeyPress, view: &LayerView<'_>) -> Option<LayerReturn> {
        self.offer_in_reach(height, |layer| layer.unbound_key(key, view))
    }

    /// Offers a paste to the layers, from the top; `None` when none takes it.
    pub fn paste(&mut self, text: &str, view: &LayerView<'_>) -> Option<LayerReturn> {
        self.offer(self.layers.len(), |layer| layer.paste(text, view))
    }

    fn offer(
        &mut self,
        height: usize,
        mut take: impl FnMut(&mut dyn Layer) -> Option<Vec<LayerEffect>>,
    ) -> Option<LayerReturn> {
        let mut below = self.layers[..height].iter_mut().rev();
        below.find_map(|open| take(open.layer.as_mut()).map(|effects| (open.id, effects)))
    }

    /// Like `offer`, and nothing below a modal layer is asked.
    fn offer_in_reach(
        &mut self,
        height: usize,
        mut take: impl FnMut(&mut dyn Layer) -> Option<Vec<LayerEffect>>,
    ) -> Option<LayerReturn> {
        for open in self.layers[..height].iter_mut().rev() {
            if let Some(effects) = take(open.layer.as_mut()) {
                return Some((open.id, effects));
            }
            if open.layer.is_modal() {
                return None;
            }
        }
        None
    }

    /// The frame of a top layer that covers the screen.
    pub fn cover(&self, view: &LayerView<'_>) -> Option<LiveFrame> {
        let top = self.layers.last().filter(|open| open.layer.covers_screen())?;
        match top.layer.rows(view) {
            LayerRows::WholeScreen(frame) => Some(frame),
            LayerRows::InPlaceOfPrompt(..) | LayerRows::BelowPrompt(_) => None,
        }
    }

    /// The highest layer that does not cover the screen, and its rows.
    pub fn rows(&self, view: &LayerView<'_>) -> Option<(&dyn Layer, LayerRows)> {
        let at = self.layers.iter().rposition(|open| !open.layer.covers_screen())?;
        let layer = self.layers[at].layer.as_ref();
        let rank = layer.rank();
        let waiting = self.layers[..at].iter().filter(|open| open.layer.rank() == rank).count();
        Some((layer, layer.rows(&LayerView { waiting, ..*view })))
    }

    /// The topmost layer of each rank; the others wait.
    fn active(&self) -> impl Iterator<Item = &OpenLayer> {
        let is_active =
            |at: usize| self.layers.get(at + 1).map(|open| open.layer.rank()) != Some(self.layers[at].layer.rank());
        (0..self.layers.len()).filter(move |at| is_active(*at)).map(|at| &self.layers[at])
    }

    /// When a layer wants `tick`.
    pub fn next_tick(&self, view: &LayerView<'_>) -> Option<Duration> {
        self.active().filter_map(|open| open.layer.next_tick(view)).min()
    }

    /// Lets the layers whose time has come do their work.
    pub fn tick(&mut self, view: &LayerView<'_>) -> Vec<LayerReturn> {
        let is_due = |open: &&OpenLayer| open.layer.next_tick(view).is_some_and(|due| due <= view.now);
        let due: Vec<LayerId> = self.active().filter(is_due).map(|open| open.id).collect();
        let due = self.layers.iter_mut().filter(|open| due.contains(&open.id));
        due.map(|open| (open.id, open.layer.tick(view))).collect()
    }
}

#[cfg(test)]
mod order_tests;
#[cfg(test)]
pub(in crate::app) mod tests;
