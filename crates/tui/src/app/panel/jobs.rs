//! Jobs that panels need done outside the interface, and their results.

use serde_json::Value;

/// Work outside the interface that a panel needs.
#[derive(Debug, PartialEq)]
pub enum PanelJob {
    Settings,
    Change {
        file: &'static str,
        key: String,
        value: Option<Value>,
    },
    /// Edit the settings file of this name.
    EditSettings(&'static str),
    /// Edit the key bindings file.
    EditKeys,
    EditFile(String),
    Memory,
    Themes,
    Doctor,
    Diff,
    SignIn(crate::app::onboarding::SignInEntry),
    SignOut,
}

impl Eq for PanelJob {}

/// Where a key was stored, in words.
#[derive(Debug)]
pub struct StoredSignIn {
    pub place: String,
    /// The key is one for an endpoint that was stored with it.
    pub has_endpoint: bool,
}

/// The result of a panel job.
#[derive(Debug)]
pub enum PanelJobResult {
    Settings(Result<Vec<engine::screens::SettingRow>, String>),
    /// `outcome` is the path of the file, or why it was not changed.
    Changed {
        key: String,
        value: Option<Value>,
        outcome: Result<String, String>,
    },
    Themes {
        /// Name and text of the themes of the user.
        files: Vec<(String, String)>,
        /// The theme in the settings of the user.
        chosen: Option<String>,
    },
    /// The files with instructions that can be opened.
    Memory(Result<engine::screens::MemoryPlaces, String>),
    /// Where the key is stored now.
    SignedIn(Result<StoredSignIn, String>),
    /// Whether a stored key existed.
    SignedOut(Result<bool, String>),
    Doctor(String),
    Diff(Result<String, String>),
    /// A note to show.
    Note(Result<String, String>),
}
