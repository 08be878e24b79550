//! Where releases come from and how they are verified: the command line, the environment, the settings of the user and
//! the administrator, and the record of the installation, in this order. A project cannot change it.

use super::installation::InstallRecord;
use super::release::{PublicKey, ReleaseSource, SignaturePolicy};
use config::{ConfigLoader, ProjectConfig, SettingsSelection};
use sys::Env;

const URL: &str = "GIMLET_UPDATE_URL";
const KEY: &str = "GIMLET_UPDATE_KEY";
const DEFAULT_CHANNEL: &str = "latest";

pub(super) struct UpdateConfig {
    /// `None`: no source of releases is configured.
    url: Option<String>,
    pub channel: String,
    pub proof: SignaturePolicy,
}

impl UpdateConfig {
    pub(super) fn read(
        env: &Env,
        record: &InstallRecord,
        url: Option<String>,
        key: Option<String>,
        allow_unsigned: bool,
    ) -> Result<Self, String> {
        let loaded = load(env)?;
        let settings = &loaded.settings;
        let variable = |name: &str| env.non_empty(name).map(str::to_owned);
        let managed_key = managed_key(&loaded);
        if managed_key.is_some() && allow_unsigned {
            return Err(
                "Error: the administrator's settings name the key of releases, so unsigned ones are refused".into()
            );
        }
        let key = managed_key
            .or(key)
            .or_else(|| variable(KEY))
            .or_else(|| settings.update_key.clone())
            .or_else(|| record.key.clone());
        let key = key.as_deref().map(PublicKey::parse).transpose()?;
        let url = url.or_else(|| variable(URL)).or_else(|| settings.update_url.clone()).or_else(|| record.url.clone());
        let channel = settings.auto_updates_channel.clone().or_else(|| record.channel.clone());
        let channel = channel.unwrap_or_else(|| DEFAULT_CHANNEL.to_owned());
        Ok(Self { url, channel, proof: SignaturePolicy { key, allow_unsigned } })
    }

    pub(super) fn source(&self, env: &Env) -> Result<ReleaseSource, String> {
        let url = self.url.as_ref().ok_or_else(|| {
            format!(
                "Error: gimlet does not know where releases are. Name the address with `gimlet config set updateUrl URL` \
                 (or {URL}, or --url) and the key they are signed with by `gimlet config set updateKey KEY`"
            )
        })?;
        ReleaseSource::of(url, env)
    }

    /// The URL that the installation records for its updates.
    pub(super) fn to_remember(&self) -> Option<String> {
        self.url.clone()
    }
}

fn load(env: &Env) -> Result<ProjectConfig, String> {
    let selection =
        SettingsSelection { sources: Some(vec![wire::settings::SettingsSource::User]), ..SettingsSelection::default() };
    ConfigLoader::open(std::path::Path::new("/"), env, &selection).map_err(|error| format!("Error: {error}"))
}

/// The key of the administrator, which nothing overrides.
fn managed_key(loaded: &ProjectConfig) -> Option<String> {
    let mut managed = loaded.layers.iter().filter(|layer| layer.source == wire::settings::SettingsSource::Managed);
    managed.find_map(|layer| Some(layer.raw.get("updateKey")?.as_str()?.to_owned()))
}
