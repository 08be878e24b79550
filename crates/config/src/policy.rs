//! `policyHelper`: a program of the administrator that prints the policy. Its output becomes the only managed source.
//! If it fails, hangs or prints something else, gimlet does not start: a policy must not be lost by accident.

use crate::layer::{ParsedSettings, SettingsLayer, parse_object};
use serde_json::Value;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use sys::Env;
use sys::process::BoundedCommand;

const DEFAULT_TIMEOUT_MS: u64 = 10_000;
const MIN_TIMEOUT_MS: u64 = 1_000;
const MAX_OUTPUT_BYTES: u64 = 1024 * 1024;

/// The policy helper that the administrator's files declare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyHelper {
    pub(crate) path: PathBuf,
    time: Duration,
}

impl PolicyHelper {
    /// The helper of the highest layer that names one; an error when its path is not valid.
    pub(crate) fn of(layers: &[SettingsLayer]) -> Result<Option<Self>, String> {
        let Some(entry) = layers.iter().find_map(|layer| layer.valid.get("policyHelper")) else { return Ok(None) };
        let path = entry.get("path").and_then(Value::as_str).unwrap_or_default();
        let time = entry.get("timeoutMs").and_then(Value::as_u64).unwrap_or(DEFAULT_TIMEOUT_MS).max(MIN_TIMEOUT_MS);
        let path = PathBuf::from(path);
        let plain = path.components().all(|part| !matches!(part, Component::ParentDir | Component::CurDir));
        if !path.is_absolute() || !plain {
            return Err(format!("path must be absolute and without `..`, not {:?}", path.display()));
        }
        Ok(Some(Self { path, time: Duration::from_millis(time) }))
    }

    /// Runs the helper and parses its output; `None` when it prints no policy.
    pub(crate) fn run(&self, env: &Env) -> Result<Option<ParsedSettings>, String> {
        let version = ("CLAUDE_CODE_VERSION", wire::version::COMPAT);
        let vars = env.with([version]).iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let once = BoundedCommand {
            program: Path::new(&self.path),
            args: &[],
            input: b"",
            env: vars,
            time: self.time,
            bytes: MAX_OUTPUT_BYTES,
        };
        let output = once.run().map_err(|error| error.to_string())?;
        let shown = self.path.display();
        let printed: Value =
            serde_json::from_slice(&output).map_err(|error| format!("{shown} must print JSON ({error})"))?;
        let Value::Object(mut printed) = printed else { return Err(format!("{shown} must print a JSON object")) };
        match printed.remove("managedSettings") {
            None => Ok(None),
            Some(policy @ Value::Object(_)) => {
                parse_object(&policy.to_string()).map(Some).map_err(|(_, problem)| problem)
            }
            Some(_) => Err(format!("managedSettings of {shown} must be an object")),
        }
    }
}
