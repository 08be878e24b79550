//! The transport of model requests: the network, or a cassette in which paths and secrets of this machine are
//! replaced.

use super::SessionAssembly;
use model::cassette::{CassettePlayer, CassetteRecorder};
use model::{AuthSecret, ModelError, ModelTransport};
use session_parts::start_error::{StartError, StartFailure};
use std::path::Path;

pub(super) fn transport(opening: &SessionAssembly) -> Result<ModelTransport, StartError> {
    let failed = |e: ModelError| StartError::of(StartFailure::Cassette, e);
    let file = |path: &Path| opening.cwd.join(path);
    Ok(match (&opening.options.record, &opening.options.replay) {
        (_, Some(path)) => {
            let player = CassettePlayer::open(&file(path), places(opening)).map_err(failed)?;
            ModelTransport::Replay(player.with_secrets(secrets(opening)))
        }
        (Some(path), None) => {
            let recorder = CassetteRecorder::create(&file(path), places(opening)).map_err(failed)?;
            ModelTransport::Record(recorder.with_secrets(secrets(opening)))
        }
        (None, None) => ModelTransport::Network,
    })
}

/// The paths of this machine and run that are replaced by placeholders.
fn places(opening: &SessionAssembly) -> Vec<(String, String)> {
    let home = opening.env.home();
    let (session, tasks) = (opening.session_dir(), opening.tasks_dir());
    let named = [
        (Some(opening.cwd.as_path()), "<<cwd>>"),
        (Some(opening.named_cwd.as_path()), "<<cwd>>"),
        (Some(session.as_path()), "<<session>>"),
        (Some(tasks.as_path()), "<<tasks>>"),
        (Some(opening.layout.home()), "<<config>>"),
        (home.as_deref(), "<<home>>"),
    ];
    let place = |(path, name): (Option<&Path>, &str)| Some((path?.display().to_string(), name.to_owned()));
    named.into_iter().filter_map(place).collect()
}

/// Values of the environment that must not be written to a cassette.
fn secrets(opening: &SessionAssembly) -> Vec<AuthSecret> {
    let names = config::environment::SECRET_VARIABLES;
    names.iter().filter_map(|name| opening.env.non_empty(name)).map(AuthSecret::new).collect()
}
