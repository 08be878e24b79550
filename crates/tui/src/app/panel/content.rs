//! What a panel is about: the data behind its rows and what a choice does.

use super::{PanelFrame, PanelJob, PanelJobResult, rules};
use crate::app::layers::LayerView;
use crate::app::layers::effects::LayerEffect;
use serde_json::Value;
use std::any::Any;
use std::fmt::Debug;
use std::time::Duration;
use terminal::keys::KeyPress;
use terminal::style::StyledLine;
use wire::control::HostRequest;

/// Where the data of a panel comes from.
#[derive(Debug)]
pub enum PanelSource {
    /// The engine; its answer arrives as `PanelNews::Response`.
    Engine(HostRequest),
    /// A job; its result arrives as `PanelNews::Job`.
    Job(PanelJob),
}

/// Something that may concern an open panel.
#[derive(Debug)]
pub enum PanelNews {
    /// The answer of the engine to `PanelSource::Engine`. Only the panel that asked gets it.
    Response(Value),
    Job(PanelJobResult),
    RuleAdded(rules::RuleRow),
    RuleRemoved(rules::RuleRow),
    SettingChanged,
    ServersChanged,
    TasksChanged,
    /// The time that the panel wanted has come.
    Refresh,
}

/// What a panel does about news.
#[derive(Debug)]
pub enum PanelReaction {
    Ignored,
    Show(Box<PanelFrame>),
    /// The data is asked for again.
    AskAgain,
}

impl PanelReaction {
    pub fn show(frame: PanelFrame) -> Self {
        Self::Show(Box::new(frame))
    }
}

pub trait PanelContent: Any + Debug {
    /// Asked when the panel is opened, and again when the data may have changed.
    fn source(&self) -> Option<PanelSource> {
        None
    }

    /// Whether a failure to get the data is no news.
    fn is_quiet(&self) -> bool {
        false
    }

    fn receive(&mut self, news: &PanelNews, view: &LayerView<'_>) -> PanelReaction {
        let _ = (news, view);
        PanelReaction::Ignored
    }

    /// A row was chosen with Enter or its digit.
    fn choose(&mut self, item: usize, view: &LayerView<'_>) -> Vec<LayerEffect> {
        let _ = (item, view);
        Vec::new()
    }

    /// The selection moved.
    fn moved(&mut self, item: Option<usize>) -> Vec<LayerEffect> {
        let _ = item;
        Vec::new()
    }

    /// A key that the list or page did not use; `item` is the selected row.
    fn key(&mut self, key: KeyPress, item: Option<usize>, view: &LayerView<'_>) -> Vec<LayerEffect> {
        let _ = (key, item, view);
        Vec::new()
    }

    /// A line was written.
    fn submit(&mut self, text: &str, view: &LayerView<'_>) -> Vec<LayerEffect> {
        let _ = (text, view);
        Vec::new()
    }

    /// Details about the selected row.
    fn details(&self, item: Option<usize>, view: &LayerView<'_>) -> Vec<StyledLine> {
        let _ = (item, view);
        Vec::new()
    }

    /// Reverts what was only shown as a preview.
    fn dismissed(&mut self) -> Vec<LayerEffect> {
        Vec::new()
    }

    /// When the data is asked for again without news.
    fn refresh_at(&self) -> Option<Duration> {
        None
    }

    fn stop_refresh(&mut self) {}
}

/// A page that is only read and needs no data.
#[derive(Debug)]
pub struct PlainPage;

impl PanelContent for PlainPage {}
