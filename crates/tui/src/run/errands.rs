//! Errands for screens: files and git are looked at beside the loop, the answer comes back as an input.

use super::effects::Outside;
use crate::app::Input;
use crate::app::panel::{Brought, Errand};
use engine::screens;
use std::path::PathBuf;

impl Outside {
    /// The file an errand wants edited: that needs the terminal.
    pub(super) fn file_of(&self, errand: &Errand) -> Option<PathBuf> {
        match errand {
            Errand::EditSettings(name) => screens::file(&self.boot, name).ok(),
            Errand::EditKeys => screens::key_file(&self.boot.env),
            Errand::EditFile(path) => Some(PathBuf::from(path)),
            Errand::Settings
            | Errand::Change { .. }
            | Errand::Themes
            | Errand::Doctor
            | Errand::Diff
            | Errand::SignIn(_)
            | Errand::SignOut => None,
        }
    }

    pub(super) fn run_errand(&self, errand: Errand) {
        let (boot, doctor, sender) = (self.boot.clone(), self.doctor, self.sender());
        if errand == Errand::Diff {
            tokio::spawn(async move {
                let brought = Brought::Diff(screens::uncommitted(&boot).await);
                sender.send(Input::Brought(brought)).await.ok();
            });
            return;
        }
        tokio::task::spawn_blocking(move || {
            let brought = match errand {
                Errand::Settings => Brought::Settings(screens::settings(&boot)),
                Errand::Change { file, key, value } => {
                    let outcome = screens::change(&boot, file, &key, value.clone());
                    Brought::Changed { key, value, outcome }
                }
                Errand::Themes => Brought::Themes(screens::themes(&boot.env)),
                Errand::Doctor => Brought::Doctor(doctor(&boot.env)),
                Errand::SignIn(key) => Brought::SignedIn(engine::recall::store_key(&boot.env, &key)),
                Errand::SignOut => Brought::SignedOut(screens::sign_out(&boot.env)),
                Errand::EditSettings(_) | Errand::EditKeys | Errand::EditFile(_) | Errand::Diff => {
                    Brought::Note(Err("There is no place for that file: set HOME".into()))
                }
            };
            sender.blocking_send(Input::Brought(brought)).ok();
        });
    }
}
