//! What the user, the project and the administrator declared: settings layers, trust, instruction files, credentials.
//! Reads files only; starts a process only to run the user's own key helper. A broken file never ends a session, it
//! becomes a diagnostic, and nothing that a repository says widens access before its folder is trusted.

pub mod credentials;
pub mod environment;
pub mod helper;
pub mod layer;
pub mod memory;
mod merge;
pub mod project;
pub mod state;
mod tracked;
mod trust;

pub use credentials::{Credential, CredentialOptions, NoCredential, Secret};
pub use helper::{HelperError, run_helper};
pub use layer::{Diagnostic, Layer};
pub use memory::{MemoryFile, MemoryScope};
pub use project::{ConfigError, Helper, Loaded, Project, Selection};
pub use state::GlobalState;
