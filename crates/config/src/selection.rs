//! The options of the command line that choose settings.

use std::path::PathBuf;
use wire::settings::SettingsSource;

/// The settings options of the command line.
#[derive(Clone, Debug, Default)]
pub struct SettingsSelection {
    /// `--settings`: JSON text or a path.
    pub settings: Option<String>,
    /// `--setting-sources`: which of `User`, `Project`, `Local` are read; `None`: all.
    pub sources: Option<Vec<SettingsSource>>,
    pub bare: bool,
    pub safe_mode: bool,
    /// The directory of the administrator's files; `None`: the default of the platform.
    pub managed_dir: Option<PathBuf>,
    pub trust: TrustChoice,
    /// `--allow-external-imports`
    pub external_imports: bool,
}

/// The trust options of the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrustChoice {
    /// Uses the recorded trust; hooks and servers of an untrusted folder still run, as scripts expect.
    #[default]
    Stored,
    /// Uses the recorded trust; code of an untrusted folder does not run.
    StoredOrRefuse,
    /// `--trust-workspace`: the folder is trusted for this run.
    Granted,
}

impl SettingsSelection {
    pub fn reads(&self, source: SettingsSource) -> bool {
        self.sources.as_ref().is_none_or(|sources| sources.contains(&source))
    }
}
