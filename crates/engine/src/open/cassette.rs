//! The transport of model requests: the network, or a cassette in which paths and secrets of this machine are
//! replaced.

use super::SessionAssembly;
use model::cassette::{CassettePlayer, CassetteRecorder};
use model::{AuthSecret, ModelError, ModelTransport};
use session_parts::start_error::{StartError, StartFailure};
use std::path::Path;

pub(super) fn transport(assembly: &SessionAssembly) -> Result<ModelTransport, StartError> {
    let failed = |e: ModelError| StartError::of(StartFailure::Cassette, e);
    let file = |path: &Path| assembly.cwd.join(path);
    Ok(match (&assembly.options.cassette.record, &assembly.options.cassette.replay) {
        (_, Some(path)) => {
            let player = CassettePlayer::open(&file(path), places(assembly)).map_err(failed)?;
            ModelTransport::Replay(player.with_secrets(secrets(assembly)))
        }
        (Some(path), None) => {
            let recorder = CassetteRecorder::create(&file(path), places(assembly)).map_err(failed)?;
            ModelTransport::Record(recorder.with_secrets(secrets(assembly)))
        }
        (None, None) => ModelTransport::Network,
    })
}

/// The paths of this machine and run that are replaced by placeholders.
fn places(assembly: &SessionAssembly) -> Vec<(String, String)> {
    let home = assembly.env.home();
    let (session, tasks) = (assembly.session_dir(), assembly.tasks_dir());
    let named = [
        (Some(assembly.cwd.as_path()), "<<cwd>>"),
        (Some(assembly.named_cwd.as_path()), "<<cwd>>"),
        (Some(session.as_path()), "<<session>>"),
        (Some(tasks.as_path()), "<<tasks>>"),
        (Some(assembly.layout.home()), "<<config>>"),
        (home.as_deref(), "<<home>>"),
    ];
    let place = |(path, name): (Option<&Path>, &str)| Some((path?.display().to_string(), name.to_owned()));
    named.into_iter().filter_map(place).collect()
}

/// Values of the environment that must not be written to a cassette.
fn secrets(assembly: &SessionAssembly) -> Vec<AuthSecret> {
    let names = config::environment::SECRET_VARIABLES;
    names.iter().filter_map(|name| assembly.env.non_empty(name)).map(AuthSecret::new).collect()
}
