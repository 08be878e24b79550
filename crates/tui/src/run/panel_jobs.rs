//! Panel jobs: files and git are read outside the loop, and the result arrives as an input.

use super::effects::{EffectRunner, store_sign_in};
use crate::app::AppInput;
use crate::app::panel::{PanelJob, PanelJobResult, StoredSignIn};
use engine::screens;
use std::path::PathBuf;

impl EffectRunner {
    /// The file that the job edits, which needs the terminal; `None` for other jobs.
    pub(super) fn file_of(&self, job: &PanelJob) -> Option<PathBuf> {
        match job {
            PanelJob::EditSettings(name) => screens::file(&self.boot, name).ok(),
            PanelJob::EditKeys => screens::key_file(&self.boot.env),
            PanelJob::EditFile(path) => Some(PathBuf::from(path)),
            PanelJob::Settings
            | PanelJob::Change { .. }
            | PanelJob::Memory
            | PanelJob::Themes
            | PanelJob::Doctor
            | PanelJob::Diff
            | PanelJob::SignIn(_)
            | PanelJob::SignOut => None,
        }
    }

    pub(super) fn run_panel_job(&self, job: PanelJob) {
        let (boot, doctor, sender) = (self.boot.clone(), self.doctor, self.sender());
        if job == PanelJob::Diff {
            tokio::spawn(async move {
                let result = PanelJobResult::Diff(screens::uncommitted(&boot).await);
                sender.send(AppInput::PanelJobDone(result)).await.ok();
            });
            return;
        }
        tokio::task::spawn_blocking(move || {
            let result = match job {
                PanelJob::Settings => PanelJobResult::Settings(screens::settings(&boot)),
                PanelJob::Change { file, key, value } => {
                    let outcome = screens::change(&boot, file, &key, value.clone());
                    PanelJobResult::Changed { key, value, outcome }
                }
                PanelJob::Themes => {
                    let chosen = screens::chosen_theme(&boot);
                    PanelJobResult::Themes { files: screens::themes(&boot.env), chosen }
                }
                PanelJob::Memory => PanelJobResult::Memory(screens::memory(&boot)),
                PanelJob::Doctor => PanelJobResult::Doctor(doctor(&boot.env)),
                PanelJob::SignIn(entry) => PanelJobResult::SignedIn(
                    store_sign_in(&boot.env, &boot.cwd, &entry)
                        .map(|place| StoredSignIn { place, has_endpoint: entry.endpoint.is_some() }),
                ),
                PanelJob::SignOut => PanelJobResult::SignedOut(screens::sign_out(&boot.env)),
                PanelJob::EditSettings(_) | PanelJob::EditKeys | PanelJob::EditFile(_) | PanelJob::Diff => {
                    PanelJobResult::Note(Err("There is no home directory for that file: set HOME".into()))
                }
            };
            sender.blocking_send(AppInput::PanelJobDone(result)).ok();
        });
    }
}
