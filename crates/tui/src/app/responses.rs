//! Requests to the engine and panel jobs whose answers something waits for, and where the answers go.

use super::help::PromptHelp;
use super::layers::{LayerId, LayerRank};
use super::menu::Menu;
use super::pager::Pager;
use super::panel::rewind::RewindAsked;
use super::panel::{Panel, PanelJob, PanelJobResult, PanelNews, PanelSource};
use super::{App, AppEffect};
use std::time::Duration;
use terminal::theme::ThemeToken;
use wire::control::{ControlResponse, HostRequest};

/// What the answer to a control request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingResponse {
    /// The panel that asked for its data.
    Panel(LayerId),
    /// The side question with this number.
    SideQuestion(u64),
    /// The original file for the question with this id.
    OriginalFile(String),
    /// How much of the context is used.
    ContextUse,
    /// The commands and agents of the directory the session moved to.
    Place,
    /// Success is not shown.
    Quiet,
    /// Success is shown with this text.
    Done(String),
    /// Like `Done`, and the servers are listed again.
    ServersAgain(String),
    /// The conversation or the files went back.
    Rewound(Box<RewindAsked>),
    /// How much of the context window is used.
    ContextUsed,
    /// A part of the conversation was summarised by the turn that began then.
    PartSummarised(Duration),
}

impl App {
    /// Asks the engine; the answer is routed by `what`.
    pub(super) fn request(&mut self, request: HostRequest, what: PendingResponse) {
        let id = self.send_control_request(request);
        self.pending_responses.insert(id, what);
    }

    pub(super) fn start_panel_job(&mut self, job: PanelJob) {
        self.effects.push(AppEffect::RunPanelJob(job));
    }

    /// Opens a panel in place of the prompt and asks for its data.
    pub(super) fn open_panel(&mut self, panel: Panel) {
        self.close_layer::<Menu>();
        self.close_layer::<PromptHelp>();
        self.close_layer::<Pager>();
        let id = self.open_layer(panel);
        self.ask_panel_source(id);
    }

    pub fn has_panel(&self) -> bool {
        self.layers.has(LayerRank::Panel)
    }

    pub(super) fn ask_panel_source(&mut self, id: LayerId) {
        match self.layers.get::<Panel>(id).and_then(Panel::source) {
            Some(PanelSource::Engine(request)) => self.request(request, PendingResponse::Panel(id)),
            Some(PanelSource::Job(job)) => self.start_panel_job(job),
            None => {}
        }
    }

    /// Passes news to the highest panel that they concern.
    pub(super) fn update_panels(&mut self, news: &PanelNews) {
        for id in self.layers.ids(LayerRank::Panel) {
            if self.update_panel(id, news) {
                return;
            }
        }
    }

    /// Whether the news concern the panel.
    fn update_panel(&mut self, id: LayerId, news: &PanelNews) -> bool {
        let effects = self.with_layers(|layers, view| layers.get_mut::<Panel>(id)?.receive(news, view));
        let is_concerned = effects.is_some();
        self.apply_layer_effects(id, effects.unwrap_or_default());
        is_concerned
    }

    /// An answer of the engine that something waits for.
    pub(super) fn receive_response(&mut self, what: PendingResponse, response: ControlResponse) {
        let outcome = response.into_result();
        match what {
            // A file that does not exist or may not be read is no news.
            PendingResponse::ContextUse => self.session.apply_context_use(&outcome.unwrap_or_default()),
            PendingResponse::OriginalFile(id) => self.receive_original_file(&id, &outcome.unwrap_or_default()),
            PendingResponse::SideQuestion(number) => self.side_question_arrived(number, outcome),
            PendingResponse::Rewound(asked) => self.receive_rewound(&asked, outcome),
            PendingResponse::PartSummarised(began) => self.receive_part_summary(began, outcome),
            what => match outcome {
                Ok(body) => self.receive_success(what, body),
                Err(error) => self.receive_failure(&what, &error),
            },
        }
    }

    fn receive_success(&mut self, what: PendingResponse, body: serde_json::Value) {
        match what {
            PendingResponse::Panel(id) => {
                self.update_panel(id, &PanelNews::Response(body));
            }
            PendingResponse::Place => {
                self.session.apply_initialize(&body);
                self.suggest_again();
            }
            PendingResponse::Done(words) => self.note(&words, ThemeToken::Inactive),
            PendingResponse::ContextUsed => {
                let used = body.get("totalTokens").and_then(serde_json::Value::as_u64);
                self.session.context_used = used.unwrap_or(self.session.context_used);
            }
            PendingResponse::ServersAgain(words) => {
                self.note(&words, ThemeToken::Inactive);
                self.update_panels(&PanelNews::ServersChanged);
            }
            PendingResponse::Quiet
            | PendingResponse::ContextUse
            | PendingResponse::SideQuestion(_)
            | PendingResponse::OriginalFile(_)
            | PendingResponse::Rewound(_)
            | PendingResponse::PartSummarised(_) => {}
        }
    }

    /// A panel that waits for its data is closed, because it will not get them.
    fn receive_failure(&mut self, what: &PendingResponse, error: &str) {
        if let PendingResponse::Panel(id) = what
            && self.layers.get::<Panel>(*id).is_some_and(Panel::is_waiting)
        {
            self.remove_layer(*id);
        }
        if let PendingResponse::Panel(id) = what
            && self.layers.get::<Panel>(*id).is_none_or(Panel::is_quiet)
        {
            return;
        }
        self.note(error, ThemeToken::Error);
    }

    /// Handles the result of a panel job.
    pub(super) fn receive_panel_job(&mut self, result: PanelJobResult) {
        match result {
            PanelJobResult::Settings(Err(why)) | PanelJobResult::Memory(Err(why)) | PanelJobResult::Note(Err(why)) => {
                self.dismiss(LayerRank::Panel);
                self.note(&why, ThemeToken::Error);
            }
            PanelJobResult::Changed { key, value, outcome } => self.setting_changed(&key, value.as_ref(), outcome),
            PanelJobResult::Note(Ok(text)) => self.note(&text, ThemeToken::Inactive),
            PanelJobResult::SignedIn(outcome) => self.receive_sign_in(outcome),
            PanelJobResult::SignedOut(outcome) => self.receive_sign_out(outcome),
            PanelJobResult::Settings(Ok(_))
            | PanelJobResult::Memory(Ok(_))
            | PanelJobResult::Themes { .. }
            | PanelJobResult::Doctor(_)
            | PanelJobResult::Diff(_) => self.update_panels(&PanelNews::Job(result)),
        }
    }
}
