//! Entry points for fuzzing: no text may cause a panic or a hang.

use crate::edit::{SettingsEdit, apply};
use crate::layer::{LayerOrigin, SettingsLayer, parse_object};
use wire::settings::SettingsSource;

fn origin() -> LayerOrigin {
    LayerOrigin { source: SettingsSource::User, path: Some("/x/settings.json".into()), root: "/x".into() }
}

/// Reads a settings text as the user's file and as a repository's. Returns whether it could be parsed.
pub fn load(text: &str) -> bool {
    let Ok(parsed) = parse_object(text) else { return false };
    let mut diagnostics = Vec::new();
    let layer = SettingsLayer::decode(origin(), parsed, &mut diagnostics);
    let settings = layer.settings();
    for diagnostic in &diagnostics {
        assert!(!diagnostic.to_string().is_empty());
    }
    assert!(layer.valid.len() <= layer.raw.len());
    drop(settings);
    if let Ok(parsed) = parse_object(text) {
        SettingsLayer::decode(LayerOrigin { source: SettingsSource::Project, ..origin() }, parsed, &mut diagnostics);
    }
    true
}

/// Returns the text with one key set; `None` when it cannot be changed.
pub fn edited(text: &str, key: &str, value: &str) -> Option<String> {
    apply(text, &[key], &SettingsEdit::Set(value.into()), "settings.json").ok()
}

/// The keys that a text sets.
pub fn keys_of(text: &str) -> Vec<String> {
    parse_object(text).map(|parsed| parsed.object.keys().cloned().collect()).unwrap_or_default()
}
