//! Pictures in the prompt, and copies out of the conversation. Reading and writing happen outside; what is sent while a
//! picture is still being read waits for it.

use super::{App, Effect};
use crate::images::{self, Picture};
use crate::theme::Token;
use std::path::PathBuf;
use std::time::Duration;

const HINT: Duration = Duration::from_secs(6);

#[derive(Debug, Default)]
pub struct Pictures {
    /// Reads under way.
    reading: usize,
    /// Enter was pressed meanwhile.
    sends: bool,
}

impl App {
    pub(super) fn paste_picture(&mut self) {
        self.pictures.reading += 1;
        self.effects.push(Effect::ClipboardPicture);
    }

    /// Whether the paste is pictures that were dropped here; they are read first.
    pub(super) fn drop_pictures(&mut self, text: &str) -> bool {
        let home = self.preferences.home.as_deref();
        let Some(paths) = images::dropped(text, home) else { return false };
        self.pictures.reading += 1;
        self.effects.push(Effect::ReadPictures { paths, text: text.to_owned() });
        true
    }

    /// Whether sending has to wait for a picture.
    pub(super) fn waits_for_picture(&mut self) -> bool {
        let waits = self.pictures.reading > 0;
        self.pictures.sends |= waits;
        waits
    }

    /// What was read; without pictures it was a text after all.
    pub(super) fn pictures_came(&mut self, pictures: Option<Vec<Picture>>, text: &str) {
        self.pictures.reading = self.pictures.reading.saturating_sub(1);
        match pictures {
            None => self.paste_text(text),
            Some(pictures) => {
                for picture in pictures {
                    match picture {
                        Ok((media_type, base64)) => {
                            let label = self.editor.chips.add_image(media_type, base64);
                            self.typed(|editor| editor.insert(&format!("{label} ")));
                        }
                        Err(why) => {
                            self.pictures.sends = false;
                            self.hint(why, HINT);
                        }
                    }
                }
            }
        }
        if self.pictures.reading == 0 && std::mem::take(&mut self.pictures.sends) {
            self.enter();
        }
    }

    /// `/copy [N] [w]`: the latest answer, or an earlier one, into the clipboard or a file.
    pub(super) fn copy(&mut self, arguments: &str) {
        let to_file = arguments.split_whitespace().any(|word| word == "w");
        let number = arguments.split_whitespace().find_map(|word| word.parse::<usize>().ok()).unwrap_or(1);
        match self.transcript.reply(number.max(1)) {
            Some(text) if to_file => self.effects.push(Effect::SaveCopy(text)),
            Some(text) => self.effects.push(Effect::Copy(text)),
            None => self.note("There is no such answer to copy.", Token::Warning),
        }
    }

    pub(super) fn copied(&mut self, outcome: Result<String, String>) {
        match outcome {
            Ok(how) => self.note(&how, Token::Inactive),
            Err(why) => self.note(&why, Token::Error),
        }
    }
}

/// Where a copy goes that is written to a file.
pub fn copy_path(cwd: &std::path::Path, number: u32) -> PathBuf {
    let name = if number == 0 { "answer.md".to_owned() } else { format!("answer-{number}.md") };
    cwd.join(name)
}
