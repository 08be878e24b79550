//! Pastes: text, and pictures from the clipboard or dropped as paths.

use crate::app::{App, AppEffect};
use crate::images::{self, PictureResult};
use std::time::Duration;

const PICTURE_HINT_DURATION: Duration = Duration::from_secs(6);

impl App {
    /// Passes a paste to the layers, then to the prompt.
    pub(in crate::app) fn paste(&mut self, text: &str) {
        match self.with_layers(|layers, view| layers.paste(text, view)) {
            Some(done) => self.apply_layer_return(done),
            None if self.drop_pictures(text) => {}
            None => self.paste_text(text),
        }
    }

    fn paste_text(&mut self, text: &str) {
        self.apply_edit(|editor| editor.paste(text));
    }

    pub(super) fn paste_picture(&mut self) {
        self.prompt.images.begin();
        self.effects.push(AppEffect::ClipboardPicture);
    }

    /// Whether the paste is a list of paths of dropped pictures; these are then read first.
    fn drop_pictures(&mut self, text: &str) -> bool {
        let Some(paths) = images::dropped_paths(text, self.preferences.home.as_deref()) else { return false };
        self.prompt.images.begin();
        self.effects.push(AppEffect::ReadPictures { paths, text: text.to_owned() });
        true
    }

    /// Inserts the pictures that were read; `None` means the paste was plain text.
    pub(in crate::app) fn receive_pictures(&mut self, pictures: Option<Vec<PictureResult>>, text: &str) {
        self.prompt.images.end();
        match pictures {
            None => self.paste_text(text),
            Some(pictures) => pictures.into_iter().for_each(|picture| self.insert_picture(picture)),
        }
        if self.prompt.images.take_submission() {
            self.submit_prompt();
        }
    }

    fn insert_picture(&mut self, picture: PictureResult) {
        match picture {
            Ok((media_type, base64)) => {
                let label = self.prompt.editor.chips.add_image(media_type, base64);
                self.apply_edit(|editor| editor.insert(&format!("{label} ")));
            }
            Err(why) => {
                self.prompt.images.cancel_submission();
                self.hint(why, PICTURE_HINT_DURATION);
            }
        }
    }
}
