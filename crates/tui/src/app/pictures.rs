//! Pictures in the prompt, and copying answers to the clipboard or a file. Reading and writing happen outside. A prompt
//! sent while a picture is still being read waits for it.

use super::{App, AppEffect};
use crate::images::{self, PictureResult};
use std::path::PathBuf;
use std::time::Duration;
use terminal::theme::ThemeToken;

const HINT_DURATION: Duration = Duration::from_secs(6);

#[derive(Debug, Default)]
pub struct PendingImages {
    /// How many reads are pending.
    reading: usize,
    /// Enter was pressed while a picture was being read.
    submits_after: bool,
}

impl App {
    pub(super) fn paste_picture(&mut self) {
        self.pending_images.reading += 1;
        self.effects.push(AppEffect::ClipboardPicture);
    }

    /// Whether the paste is a list of paths of dropped pictures; these are then read first.
    pub(super) fn drop_pictures(&mut self, text: &str) -> bool {
        let home = self.preferences.home.as_deref();
        let Some(paths) = images::dropped_paths(text, home) else { return false };
        self.pending_images.reading += 1;
        self.effects.push(AppEffect::ReadPictures { paths, text: text.to_owned() });
        true
    }

    /// Whether sending has to wait for a picture. If so, the prompt is sent once the picture was read.
    pub(super) fn waits_for_picture(&mut self) -> bool {
        let waits = self.pending_images.reading > 0;
        self.pending_images.submits_after |= waits;
        waits
    }

    /// Inserts the pictures that were read; `None` means the paste was plain text.
    pub(super) fn receive_pictures(&mut self, pictures: Option<Vec<PictureResult>>, text: &str) {
        self.pending_images.reading = self.pending_images.reading.saturating_sub(1);
        match pictures {
            None => self.paste_text(text),
            Some(pictures) => {
                for picture in pictures {
                    match picture {
                        Ok((media_type, base64)) => {
                            let label = self.editor.chips.add_image(media_type, base64);
                            self.apply_edit(|editor| editor.insert(&format!("{label} ")));
                        }
                        Err(why) => {
                            self.pending_images.submits_after = false;
                            self.hint(why, HINT_DURATION);
                        }
                    }
                }
            }
        }
        if self.pending_images.reading == 0 && std::mem::take(&mut self.pending_images.submits_after) {
            self.submit_prompt();
        }
    }

    /// `/copy [N] [w]`: copies the N-th latest answer to the clipboard, or with `w` to a file.
    pub(super) fn copy(&mut self, arguments: &str) {
        let to_file = arguments.split_whitespace().any(|word| word == "w");
        let number = arguments.split_whitespace().find_map(|word| word.parse::<usize>().ok()).unwrap_or(1);
        match self.transcript.reply(number.max(1)) {
            Some(text) if to_file => self.effects.push(AppEffect::SaveCopy(text)),
            Some(text) => self.effects.push(AppEffect::Copy(text)),
            None => self.note("There is no such answer to copy.", ThemeToken::Warning),
        }
    }

    pub(super) fn show_copy_result(&mut self, outcome: Result<String, String>) {
        match outcome {
            Ok(how) => self.note(&how, ThemeToken::Inactive),
            Err(why) => self.note(&why, ThemeToken::Error),
        }
    }
}

/// The path of the file an answer is copied to.
pub fn copy_path(cwd: &std::path::Path, number: u32) -> PathBuf {
    let name = if number == 0 { "answer.md".to_owned() } else { format!("answer-{number}.md") };
    cwd.join(name)
}
