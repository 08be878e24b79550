//! Which hooks are active: those of every settings layer, minus what switches and trust leave out.

use super::HookRestriction;
use config::ProjectConfig;
use hooks::http::{HttpHookLimits, UntrustedFolderLimits};
use hooks::{DeclaredLayer, HookCatalogue, HookLayer, HookOrigin, HookSwitches};
use serde_json::Value;
use wire::settings::SettingsSource;

/// The order in which rewrites are applied.
const ORDER: [SettingsSource; 5] = [
    SettingsSource::Managed,
    SettingsSource::User,
    SettingsSource::Project,
    SettingsSource::Local,
    SettingsSource::Flag,
];

pub fn catalogue(loaded: &ProjectConfig, reduced: HookRestriction) -> (HookCatalogue, HttpHookLimits) {
    with_own(loaded, reduced, &OwnHooks::default())
}

/// The hooks of a session besides its settings.
#[derive(Clone, Debug, Default)]
pub struct OwnHooks {
    /// Hooks of the definition it runs as, and of invoked skills.
    pub layers: Vec<HookLayer>,
    /// The agent definition the main thread runs as.
    pub runs_as: Option<String>,
    /// Functions of the host.
    pub host: Option<HookLayer>,
    /// The session is an agent that a hook started: handlers that ask models are left out.
    pub is_judge: bool,
}

impl OwnHooks {
    /// Adds the hooks of a skill or agent, replacing earlier ones of the same origin. `false` when nothing changes.
    pub fn add(&mut self, layer: HookLayer) -> bool {
        match self.layers.iter_mut().find(|known| known.origin == layer.origin) {
            Some(known) if known.hooks == layer.hooks => return false,
            Some(known) => *known = layer,
            None => self.layers.push(layer),
        }
        true
    }
}

/// The catalogue of the settings and of `own`, and the limits of HTTP hooks.
pub fn with_own(loaded: &ProjectConfig, reduced: HookRestriction, own: &OwnHooks) -> (HookCatalogue, HttpHookLimits) {
    let limits = http_limits(loaded);
    let written =
        ORDER.iter().flat_map(|source| of_source(loaded, *source)).chain(own.layers.iter().map(DeclaredLayer::from));
    // `--bare` keeps the host's functions: only the host itself can register them.
    let layers = written.filter(|_| reduced != HookRestriction::Bare).chain(own.host.iter().map(DeclaredLayer::from));
    let switches = HookSwitches {
        disabled: disabled(loaded),
        disabled_by_policy: says_disabled(loaded, |source| source == SettingsSource::Managed) == Some(true),
        managed_only: loaded.settings.allow_managed_hooks_only == Some(true) || reduced == HookRestriction::Safe,
        without_models: own.is_judge,
    };
    (HookCatalogue::new(layers, switches), limits)
}

fn http_limits(loaded: &ProjectConfig) -> HttpHookLimits {
    let untrusted = (!loaded.trusted)
        .then(|| UntrustedFolderLimits { urls: folder_urls(loaded), hidden: config::environment::SECRET_VARIABLES });
    HttpHookLimits {
        urls: loaded.settings.allowed_http_hook_urls.clone(),
        variables: loaded.settings.http_hook_allowed_env_vars.clone(),
        untrusted,
    }
}

/// The list that the folder's own settings contain.
fn folder_urls(loaded: &ProjectConfig) -> Option<Vec<String>> {
    let layers = loaded.layers.iter().filter(|layer| layer.source == SettingsSource::Project);
    let mut lists = layers.filter_map(|layer| layer.valid.get("allowedHttpHookUrls")?.as_array()).peekable();
    lists.peek()?;
    Some(lists.flatten().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// A command of the settings that is not a hook but follows the same rules, such as the status line. `None` when
/// there is none or it must not run.
pub fn gated_command(loaded: &ProjectConfig, reduced: HookRestriction, key: &str) -> Option<Value> {
    let by_policy = says_disabled(loaded, |source| source == SettingsSource::Managed) == Some(true);
    if by_policy || reduced == HookRestriction::Bare {
        return None;
    }
    let managed_only =
        loaded.settings.allow_managed_hooks_only == Some(true) || reduced == HookRestriction::Safe || disabled(loaded);
    let mut layers = loaded.layers.iter().filter(|layer| !managed_only || layer.source == SettingsSource::Managed);
    layers.find_map(|layer| layer.effective.get(key)).cloned()
}

fn of_source(loaded: &ProjectConfig, source: SettingsSource) -> impl Iterator<Item = DeclaredLayer<'_>> {
    // Layers are listed highest first; of several files of one source the lower one is declared first.
    loaded.layers.iter().rev().filter(move |layer| layer.source == source).filter_map(|layer| {
        // A folder that is not trusted cannot switch off the hooks of others, but its own.
        let own_wish = layer.valid.get("disableAllHooks").filter(|_| layer.effective.get("disableAllHooks").is_none());
        if own_wish.and_then(Value::as_bool) == Some(true) {
            return None;
        }
        let hooks = layer.effective.get("hooks")?.as_object()?;
        let origin = HookOrigin::Settings { source: layer.source, path: layer.path.clone() };
        let locate = Box::new(|event: &str, part: Option<&Value>| layer.hook_line(event, part));
        Some(DeclaredLayer { origin, hooks, locate })
    })
}

/// The value of the highest layer that sets it.
fn disabled(loaded: &ProjectConfig) -> bool {
    says_disabled(loaded, |_| true) == Some(true)
}

fn says_disabled(loaded: &ProjectConfig, of: impl Fn(SettingsSource) -> bool) -> Option<bool> {
    let says = |layer: &config::SettingsLayer| layer.effective.get("disableAllHooks").and_then(Value::as_bool);
    loaded.layers.iter().filter(|layer| of(layer.source)).find_map(says)
}
