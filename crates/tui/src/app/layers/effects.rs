//! What a layer wants done outside itself, and the one place where the application does it.

use super::{Layer, LayerId, LayerRank, LayerReturn, LayerStack, LayerView};
use crate::app::confirm::LeaveGoal;
use crate::app::panel::{Panel, PanelJob, PanelNews};
use crate::app::rewound::SummarisedPart;
use crate::app::side_questions::SideQuestionAction;
use crate::app::spinner::TurnWait;
use crate::app::{App, AppEffect, ExternalEdit, PendingResponse};
use std::time::Duration;
use terminal::editor::Submission;
use terminal::keys::KeyPress;
use terminal::keys::bindings::KeyAction;
use terminal::markdown::SyntaxColouring;
use terminal::style::StyledLine;
use terminal::theme::{Theme, ThemeToken};
use wire::control::{HostReply, HostRequest};

#[derive(Debug)]
pub enum LayerEffect {
    /// Close the layer that returns this.
    Close,
    /// Close all layers of a rank as if the user had dismissed them.
    Dismiss(LayerRank),
    Open(Box<dyn Layer>),
    /// Something to be done outside the interface.
    Outside(AppEffect),
    /// A request to the engine; the second part says what its answer is for.
    Request(HostRequest, PendingResponse),
    /// A request to the engine whose answer is not for a layer.
    Control(HostRequest),
    Job(PanelJob),
    /// The answer to a question of the engine.
    Reply(HostReply),
    Hint(String, Duration),
    Note(String, ThemeToken),
    /// Lines for the scrollback.
    Print(Vec<StyledLine>),
    /// A key went into a text, so that it cannot have been meant for a question that appears now.
    Typed,
    /// An action of the prompt or of the whole interface.
    Perform(KeyAction),
    /// A key without a binding, for what is below after the layer was closed.
    PassUnbound(KeyPress),
    Interrupt,
    SetPrompt(String),
    /// Put text and cursor of the prompt back.
    RestorePrompt(String, usize),
    /// Replace the prompt from this byte up to the cursor.
    Complete {
        start: usize,
        text: String,
        /// Further suggestions follow.
        goes_on: bool,
    },
    Submit(Submission),
    /// Go on with the conversation before this one.
    ResumePrevious(String),
    /// Summarise a part of the conversation.
    SummarisePart {
        prompt: String,
        direction: SummarisedPart,
    },
    /// Begin a new conversation with this prompt.
    BeginConversation(Submission),
    /// Why the user refused a call, for the row of the call.
    RefuseCall {
        call: String,
        text: Option<String>,
    },
    /// Open the proposed text of a question in the external editor.
    EditProposal {
        question: String,
        text: String,
    },
    ShowTheme(Theme),
    ShowSyntax(SyntaxColouring),
    /// The model is changed; the engine corrects it.
    ShowModel(String),
    OpenPanel(Panel),
    /// Ask for the data of this panel again.
    AskPanelSource,
    UpdatePanels(PanelNews),
    SideQuestion(SideQuestionAction),
}

impl App {
    /// What layers may read.
    pub(in crate::app) fn layer_view(&self) -> LayerView<'_> {
        LayerView {
            session: &self.session,
            preferences: &self.preferences,
            size: self.size,
            now: self.now,
            typed_at: self.typed_at,
            editor: &self.prompt.editor,
            history: &self.prompt.history,
            transcript: &self.transcript,
            agents: &self.agents,
            reply: &self.activity.reply,
            hint: self.keys.hint.as_ref().map(|(text, _)| text.as_str()),
            waiting: 0,
        }
    }

    /// Lets the layers work while they read the rest of the interface.
    pub(in crate::app) fn with_layers<R>(&mut self, work: impl FnOnce(&mut LayerStack, &LayerView<'_>) -> R) -> R {
        let mut layers = std::mem::take(&mut self.layers);
        let result = work(&mut layers, &self.layer_view());
        self.layers = layers;
        result
    }

    pub(in crate::app) fn open_layer(&mut self, layer: impl Layer) -> LayerId {
        // A question may stay for long, and the live region should be low then.
        self.print_banner();
        self.layers.push(Box::new(layer))
    }

    /// Closes the highest layer of this type; `false` when there is none.
    pub(in crate::app) fn close_layer<T: Layer>(&mut self) -> bool {
        let id = self.layers.id_of::<T>();
        if let Some(id) = id {
            self.remove_layer(id);
        }
        id.is_some()
    }

    pub(in crate::app) fn remove_layer(&mut self, id: LayerId) -> Option<Box<dyn Layer>> {
        let removed = self.layers.remove(id, self.now);
        self.resume_turn_wait();
        removed
    }

    /// Closes layers as if the user had dismissed them.
    pub(in crate::app) fn dismiss(&mut self, rank: LayerRank) {
        for id in self.layers.ids(rank) {
            if let Some(mut layer) = self.remove_layer(id) {
                let undone = layer.dismissed();
                self.apply_layer_effects(id, undone);
            }
        }
    }

    /// Without an open question, the turn waits for its calls or the model again.
    fn resume_turn_wait(&mut self) {
        if self.layers.has(LayerRank::Question) {
            return;
        }
        let wait = self.activity.calls.turn_wait();
        if let Some(turn) = self.activity.turn.as_mut().filter(|turn| turn.waits == TurnWait::Permission) {
            turn.wait_for(wait);
        }
    }

    pub(in crate::app) fn apply_layer_return(&mut self, (id, effects): LayerReturn) {
        self.apply_layer_effects(id, effects);
    }

    pub(in crate::app) fn apply_layer_effects(&mut self, id: LayerId, effects: Vec<LayerEffect>) {
        for effect in effects {
            self.apply_layer_effect(id, effect);
        }
    }

    fn apply_layer_effect(&mut self, id: LayerId, effect: LayerEffect) {
        match effect {
            LayerEffect::Close => drop(self.remove_layer(id)),
            LayerEffect::Dismiss(rank) => self.dismiss(rank),
            LayerEffect::Open(layer) => {
                self.layers.push(layer);
            }
            LayerEffect::Outside(effect) => self.effects.push(effect),
            LayerEffect::Request(request, answer) => self.request(request, answer),
            LayerEffect::Control(request) => drop(self.send_control_request(request)),
            LayerEffect::Job(job) => self.start_panel_job(job),
            LayerEffect::Reply(reply) => self.effects.push(AppEffect::Reply(reply)),
            LayerEffect::Hint(text, lasts) => self.hint(text, lasts),
            LayerEffect::Note(text, token) => self.note(&text, token),
            LayerEffect::Print(lines) => self.print_block(lines),
            LayerEffect::Typed => self.typed_at = self.now,
            LayerEffect::Perform(action) => self.perform(action),
            LayerEffect::PassUnbound(key) => self.unbound_key(self.layers.height(), key),
            LayerEffect::Interrupt => self.interrupt(),
            LayerEffect::SetPrompt(text) => self.prompt.editor.set(text),
            LayerEffect::RestorePrompt(text, cursor) => self.prompt.editor.restore(text, cursor),
            LayerEffect::Complete { start, text, goes_on } => {
                let cursor = self.prompt.editor.cursor();
                self.prompt.editor.replace(start..cursor, &text);
                if goes_on {
                    self.suggest();
                }
            }
            LayerEffect::Submit(submission) => self.submit(submission),
            LayerEffect::ResumePrevious(session) => self.leave(LeaveGoal::Previous(session)),
            LayerEffect::SummarisePart { prompt, direction } => self.summarise_part(prompt, direction),
            LayerEffect::BeginConversation(submission) => {
                self.next_submission = Some(submission);
                self.submit(Submission::plain("/clear"));
            }
            LayerEffect::RefuseCall { call, text } => {
                if let Some(call) = self.activity.calls.get_mut(&call) {
                    call.record.refusal_text = text;
                }
            }
            LayerEffect::EditProposal { question, text } => {
                self.effects.push(AppEffect::ExternalEditor(text));
                self.external_edit = Some(ExternalEdit::Proposal(question));
            }
            LayerEffect::ShowTheme(theme) => self.preferences.theme = theme,
            LayerEffect::ShowSyntax(syntax) => self.preferences.syntax = syntax,
            LayerEffect::ShowModel(model) => self.session.model = Some(model),
            LayerEffect::OpenPanel(panel) => self.open_panel(panel),
            LayerEffect::AskPanelSource => self.ask_panel_source(id),
            LayerEffect::UpdatePanels(news) => self.update_panels(&news),
            LayerEffect::SideQuestion(action) => self.side_question_action(action),
        }
    }
}
