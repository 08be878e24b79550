//! Which hooks are in force: those of every active layer of settings, minus what switches and trust leave out.

use config::Loaded;
use hooks::http::Limits;
use hooks::{Catalogue, Declared, Layer, Origin, Switches};
use serde_json::Value;
use wire::settings::Source;

/// The order in which rewrites are applied.
const ORDER: [Source; 5] = [Source::Managed, Source::User, Source::Project, Source::Local, Source::Flag];

/// Whether the command line leaves hooks out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduced {
    No,
    /// `--safe-mode`: the administrator's only.
    Safe,
    /// `--bare`: none.
    Bare,
}

pub fn catalogue(loaded: &Loaded, reduced: Reduced) -> (Catalogue, Limits) {
    with_own(loaded, reduced, &Own::default())
}

/// What a session has besides its settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    /// Of the definition it runs as, and of the skills that were invoked.
    pub layers: Vec<Layer>,
    /// The definition the main thread runs as.
    pub runs_as: Option<String>,
    /// Functions of the host.
    pub host: Option<Layer>,
    /// It is one that hooks asked: handlers that ask models are left out.
    pub is_judge: bool,
}

impl Own {
    /// What a skill or agent brings; a later say of the same takes the place of the earlier one. `false` when nothing is new.
    pub(crate) fn add(&mut self, layer: Layer) -> bool {
        match self.layers.iter_mut().find(|known| known.origin == layer.origin) {
            Some(known) if known.hooks == layer.hooks => return false,
            Some(known) => *known = layer,
            None => self.layers.push(layer),
        }
        true
    }
}

/// `own` is what stands beside the settings.
pub(crate) fn with_own(loaded: &Loaded, reduced: Reduced, own: &Own) -> (Catalogue, Limits) {
    let limits = Limits {
        urls: loaded.settings.allowed_http_hook_urls.clone(),
        variables: loaded.settings.http_hook_allowed_env_vars.clone(),
    };
    let written =
        ORDER.iter().flat_map(|source| of_source(loaded, *source)).chain(own.layers.iter().map(Declared::from));
    // Nobody but the host itself brings its functions: `--bare` leaves them.
    let layers = written.filter(|_| reduced != Reduced::Bare).chain(own.host.iter().map(Declared::from));
    let switches = Switches {
        disabled: disabled(loaded),
        disabled_by_policy: says_disabled(loaded, |source| source == Source::Managed) == Some(true),
        managed_only: loaded.settings.allow_managed_hooks_only == Some(true) || reduced == Reduced::Safe,
        without_models: own.is_judge,
    };
    (Catalogue::new(layers, switches), limits)
}

/// A command of the settings that is no hook but runs under the same gates, such as the status line.
pub(crate) fn helper(loaded: &Loaded, reduced: Reduced, key: &str) -> Option<Value> {
    let by_policy = says_disabled(loaded, |source| source == Source::Managed) == Some(true);
    if by_policy || reduced == Reduced::Bare {
        return None;
    }
    let managed_only =
        loaded.settings.allow_managed_hooks_only == Some(true) || reduced == Reduced::Safe || disabled(loaded);
    let mut layers = loaded.layers.iter().filter(|layer| !managed_only || layer.source == Source::Managed);
    layers.find_map(|layer| layer.effective.get(key)).cloned()
}

fn of_source(loaded: &Loaded, source: Source) -> impl Iterator<Item = Declared<'_>> {
    // Layers are listed highest first; of several files of one source the lower one is declared first.
    loaded.layers.iter().rev().filter(move |layer| layer.source == source).filter_map(|layer| {
        let hooks = layer.effective.get("hooks")?.as_object()?;
        let origin = Origin::Settings { source: layer.source, path: layer.path.clone() };
        Some(Declared { origin, hooks })
    })
}

/// Of the highest layer that says anything.
fn disabled(loaded: &Loaded) -> bool {
    says_disabled(loaded, |_| true) == Some(true)
}

fn says_disabled(loaded: &Loaded, of: impl Fn(Source) -> bool) -> Option<bool> {
    let says = |layer: &config::Layer| layer.effective.get("disableAllHooks").and_then(Value::as_bool);
    loaded.layers.iter().filter(|layer| of(layer.source)).find_map(says)
}
