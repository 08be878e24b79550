//! The session picker as a layer in place of the prompt.

use super::{PickerOutcome, SessionPicker};
use crate::app::AppEffect;
use crate::app::confirm::{ConfirmDialog, LeaveGoal};
use crate::app::layers::effects::LayerEffect;
use crate::app::layers::{KeyOutcome, Layer, LayerRank, LayerRows, LayerView};
use std::time::Duration;
use terminal::keys::KeyPress;
use terminal::keys::bindings::KeyContext;

const HINT_DURATION: Duration = Duration::from_secs(4);

impl SessionPicker {
    fn request_effects(&mut self) -> Vec<LayerEffect> {
        self.take_requests().into_iter().map(|request| LayerEffect::Outside(AppEffect::Picker(request))).collect()
    }

    fn outcome_effects(&mut self, outcome: PickerOutcome, view: &LayerView<'_>) -> Vec<LayerEffect> {
        let mut effects = Vec::new();
        let chosen = match outcome {
            PickerOutcome::Stays => return self.request_effects(),
            PickerOutcome::Cancelled => None,
            PickerOutcome::Chosen(session) if view.session.id.as_ref() == Some(&session.id) => {
                effects.push(LayerEffect::Hint("This session is already open".into(), HINT_DURATION));
                None
            }
            PickerOutcome::Chosen(session) if !view.session.background.is_empty() => {
                let asks = ConfirmDialog::leave(LeaveGoal::Another(session), view.now);
                return vec![LayerEffect::Close, LayerEffect::Open(Box::new(asks))];
            }
            PickerOutcome::Chosen(session) => Some(session),
        };
        effects.extend([LayerEffect::Close, LayerEffect::Outside(AppEffect::Chosen(chosen))]);
        effects
    }
}

impl Layer for SessionPicker {
    fn rank(&self) -> LayerRank {
        LayerRank::SessionPicker
    }

    /// Its keys are fixed.
    fn contexts(&self) -> &'static [KeyContext] {
        &[]
    }

    fn key(&mut self, key: KeyPress, view: &LayerView<'_>) -> KeyOutcome {
        if key == KeyPress::ctrl('z') || key == KeyPress::ctrl('l') {
            return KeyOutcome::Passed;
        }
        let outcome = self.press(key);
        KeyOutcome::Taken(self.outcome_effects(outcome, view))
    }

    fn paste(&mut self, text: &str, _: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        self.insert_paste(text);
        Some(self.request_effects())
    }

    fn rows(&self, view: &LayerView<'_>) -> LayerRows {
        let (rows, caret) = self.drawn_rows(&view.preferences.theme, view.size);
        LayerRows::InPlaceOfPrompt(rows, caret)
    }
}
