//! Settings keys of the compatible product that have no effect here. They are reported, never ignored silently.

use crate::layer::{Diagnostic, SettingsLayer};
use crate::project::ProjectConfig;
use serde_json::{Map, Value};
use wire::settings::{KeyShape, SettingKey, Settings};

impl ProjectConfig {
    /// Every key of the settings files that has no effect, with its place and the reason.
    pub fn without_effect(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for layer in self.layers.iter() {
            collect(layer, Settings::KEYS, &layer.valid, &mut Vec::new(), &mut found);
        }
        found
    }

    /// The same as one line for standard error; `None` when every key has an effect.
    pub fn without_effect_line(&self) -> Option<String> {
        let mut names: Vec<String> = self.without_effect().into_iter().filter_map(|found| found.key).collect();
        names.sort();
        names.dedup();
        let list = (!names.is_empty()).then(|| names.join(", "))?;
        Some(format!("Note: settings without effect in gimlet: {list} (`gimlet doctor` says why)"))
    }
}

fn collect(
    layer: &SettingsLayer,
    keys: &'static [SettingKey],
    values: &Map<String, Value>,
    path: &mut Vec<&'static str>,
    found: &mut Vec<Diagnostic>,
) {
    for key in keys {
        let Some(value) = values.get(key.name) else { continue };
        path.push(key.name);
        match (key.no_effect, key.shape, value) {
            (Some(why), _, _) => found.push(Diagnostic {
                source: layer.source,
                path: layer.path.clone(),
                line: layer.line(path, None),
                key: Some(path.join(".")),
                message: format!("{} has no effect: {why}", path.join(".")),
            }),
            (None, KeyShape::Object(inner), Value::Object(values)) => collect(layer, inner, values, path, found),
            (None, _, _) => {}
        }
        path.pop();
    }
}
