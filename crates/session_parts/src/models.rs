//! The models that the endpoint offers in addition to the built-in table. The list is cached on disk and requested at
//! most once a day: when somebody lists models, or some time after the start of a longer session. `initialize`
//! answers from the cache.
//!
//! The first party is always asked; other endpoints only with `CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY`.

mod allowed;

pub use allowed::{AllowedModels, model_refused};

use crate::provider::ProviderConnection;
use model::catalog::{ModelCatalog, ThinkingKind};
use model::{FIRST_PARTY, ListedModel, ModelTransport, is_first_party};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use store::StoreLayout;
use sys::Env;
use wire::control::ModelInfo;
use wire::settings::Settings;

/// A list older than this is requested again.
const MAX_AGE: Duration = Duration::from_hours(24);
/// The start of a session and its first answer have priority.
const START_DELAY: Duration = Duration::from_secs(20);
/// Maximum size of the cache file.
const MAX_CACHE_BYTES: usize = 4 << 20;

/// Cheap to clone.
#[derive(Clone)]
pub struct OfferedModels {
    provider: ProviderConnection,
    env: Env,
    catalog: Arc<ModelCatalog>,
    settings: Arc<Settings>,
    source: Option<ModelListSource>,
}

/// The endpoint that is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ModelListSource {
    FirstParty,
    Gateway,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelListCache {
    base_url: String,
    /// Milliseconds since the epoch.
    fetched_at: u64,
    models: Vec<ListedModel>,
}

impl ModelListSource {
    /// `None`: no endpoint may be asked.
    fn choose(env: &Env) -> Option<Self> {
        if env.is_on("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC") {
            return None;
        }
        if is_first_party(base_url(env)) {
            return Some(Self::FirstParty);
        }
        env.is_on("CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY").then_some(Self::Gateway)
    }

    fn file(self, env: &Env) -> PathBuf {
        let name = match self {
            Self::FirstParty => "models.json",
            Self::Gateway => "gateway-models.json",
        };
        StoreLayout::new(env).home().join("cache").join(name)
    }

    /// A gateway may list any models; only those with these names can be used here.
    fn takes(self, id: &str) -> bool {
        let id = id.to_ascii_lowercase();
        match self {
            Self::FirstParty => true,
            Self::Gateway => id.contains("claude") || id.contains("anthropic"),
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::FirstParty => "Offered by the API",
            Self::Gateway => "From gateway",
        }
    }
}

fn base_url(env: &Env) -> &str {
    env.non_empty("ANTHROPIC_BASE_URL").unwrap_or(FIRST_PARTY)
}

impl OfferedModels {
    pub fn new(link: &ProviderConnection, env: &Env, catalog: &Arc<ModelCatalog>, settings: &Arc<Settings>) -> Self {
        Self {
            provider: link.clone(),
            env: env.clone(),
            catalog: Arc::clone(catalog),
            settings: Arc::clone(settings),
            source: ModelListSource::choose(env).filter(|_| matches!(link.transport(), ModelTransport::Network)),
        }
    }

    /// Rows for the cached models that are not in `known`.
    pub fn cached_rows(&self, known: &[ModelInfo]) -> Vec<ModelInfo> {
        let models = self.read().map(|cache| cache.models).unwrap_or_default();
        self.rows(models, known)
    }

    /// Like `cached_rows`, after requesting the list if the cache is old. When the request fails, the cache is used.
    pub async fn fresh_rows(self, known: Vec<ModelInfo>) -> Vec<ModelInfo> {
        self.refresh().await;
        let rows = tokio::task::spawn_blocking(move || self.cached_rows(&known)).await;
        rows.unwrap_or_default()
    }

    /// Refreshes the list some time after the start of a session.
    pub async fn refresh_later(self) {
        if self.source.is_some() {
            tokio::time::sleep(START_DELAY).await;
            self.refresh().await;
        }
    }

    async fn refresh(&self) {
        let Some(source) = self.source else { return };
        let this = self.clone();
        let is_fresh = tokio::task::spawn_blocking(move || this.read().is_some_and(|cache| cache.is_fresh())).await;
        if is_fresh.unwrap_or(true) {
            return;
        }
        let mut link = self.provider.clone();
        let listed = match link.client().await {
            Ok(client) => client.models().await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match listed {
            Ok(models) => self.write(source, models).await,
            Err(error) => tracing::debug!(error, "the list of models could not be had"),
        }
    }

    fn read(&self) -> Option<ModelListCache> {
        let read = sys::fs::read_limited(&self.source?.file(&self.env), MAX_CACHE_BYTES).ok()?;
        let cache: ModelListCache = serde_json::from_slice(&read.bytes).ok()?;
        (cache.base_url == base_url(&self.env)).then_some(cache)
    }

    async fn write(&self, source: ModelListSource, models: Vec<ListedModel>) {
        let cache =
            ModelListCache { base_url: base_url(&self.env).to_owned(), fetched_at: sys::clock::now_ms(), models };
        let file = source.file(&self.env);
        let written = tokio::task::spawn_blocking(move || {
            if let Some(dir) = file.parent() {
                std::fs::create_dir_all(dir)?;
            }
            sys::fs::atomic_write(&file, &serde_json::to_vec(&cache)?, 0o600)
        });
        if let Ok(Err(error)) = written.await {
            tracing::debug!(%error, "the list of models could not be kept");
        }
    }

    fn rows(&self, models: Vec<ListedModel>, known: &[ModelInfo]) -> Vec<ModelInfo> {
        let Some(source) = self.source else { return Vec::new() };
        let is_new = |model: &ListedModel| {
            let is_same = |row: &ModelInfo| row.value == model.id || row.resolved_model == model.id;
            source.takes(&model.id) && !known.iter().any(is_same) && model_refused(&self.settings, &model.id).is_none()
        };
        models.into_iter().filter(is_new).map(|model| self.row(source, model)).collect()
    }

    fn row(&self, source: ModelListSource, model: ListedModel) -> ModelInfo {
        let facts = self.catalog.lookup(&model.id);
        let efforts: Vec<&'static str> = facts.efforts.iter().map(|effort| effort.name()).collect();
        ModelInfo {
            display_name: model.display_name.unwrap_or_else(|| self.catalog.display_name(&model.id)),
            description: source.label().to_owned(),
            resolved_model: model.id.clone(),
            value: model.id,
            supports_effort: !efforts.is_empty(),
            supported_effort_levels: efforts,
            supports_adaptive_thinking: facts.thinking == ThinkingKind::Adaptive,
        }
    }
}

impl ModelListCache {
    fn is_fresh(&self) -> bool {
        let age = sys::clock::now_ms().checked_sub(self.fetched_at);
        age.is_some_and(|age| Duration::from_millis(age) < MAX_AGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // [F-B13] [CLI-116]
    #[test]
    fn the_first_party_is_asked_and_others_only_when_told_to() {
        let of = |pairs: &[(&str, &str)]| ModelListSource::choose(&Env::default().with(pairs.iter().copied()));
        let discovery = "CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY";
        assert_eq!(of(&[]), Some(ModelListSource::FirstParty));
        assert_eq!(of(&[("ANTHROPIC_BASE_URL", "https://api.anthropic.com/")]), Some(ModelListSource::FirstParty));
        assert_eq!(of(&[("ANTHROPIC_BASE_URL", "https://gate.example/api.anthropic.com")]), None);
        assert_eq!(
            of(&[("ANTHROPIC_BASE_URL", "https://gate.example"), (discovery, "1")]),
            Some(ModelListSource::Gateway)
        );
        assert_eq!(of(&[("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")]), None);
        assert!(ModelListSource::Gateway.takes("us.Anthropic.x") && !ModelListSource::Gateway.takes("gpt-9"));
    }
}
