//! What the user, the project and the administrator declared: settings layers, trust, instruction files, credentials.
//! Starts a process only for the key helper of the user and the policy helper of the administrator. A broken file never
//! ends a session but becomes a diagnostic; writers never damage a file; nothing in a repository widens access before
//! its folder is trusted.

pub mod activation;
pub mod agents;
mod credential_kinds;
pub mod credential_store;
pub mod credentials;
pub mod edit;
mod effect;
mod entries;
pub mod environment;
pub mod frontmatter;
pub mod fuzz;
pub mod helper;
pub mod join;
#[cfg_attr(not(target_os = "macos"), allow(dead_code, reason = "only macOS has a keychain; elsewhere its tests run"))]
mod keychain;
pub mod layer;
mod legacy_credentials;
mod managed;
mod markdown;
pub mod mcp;
pub mod memory;
mod merge;
pub mod nested_memory;
mod ownership;
mod policy;
pub mod project;
mod project_config;
pub mod roots;
pub mod rules;
mod scan;
mod selection;
mod settings_edit;
pub mod settings_files;
pub mod skills;
mod stamp;
pub mod state;
pub mod styles;
pub mod trust;
pub mod validate;

pub use credentials::{Credential, CredentialOptions, CredentialSecret, NoCredential};
pub use helper::{HelperError, run_helper};
pub use layer::{Diagnostic, HeldValue, SettingsLayer};
pub use memory::{MemoryFile, MemoryScope};
pub use ownership::WaitingEntry;
pub use project::{ChangeAuthor, ConfigError, ConfigLoader, KeyHelper, ProjectConfig, SettingsSelection, TrustChoice};
pub use state::{GlobalState, StateError};
