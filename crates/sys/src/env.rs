//! The environment, read once at start and passed down.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

/// A snapshot of the process environment. Cheap to clone.
#[derive(Clone, Default)]
pub struct Env {
    vars: Arc<BTreeMap<OsString, OsString>>,
}

/// Shows names only: values may be secrets, and debug output ends in logs.
impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.vars.keys()).finish()
    }
}

impl Env {
    #[expect(clippy::disallowed_methods, reason = "this is the one place the environment is read")]
    pub fn snapshot() -> Self {
        Self { vars: Arc::new(std::env::vars_os().collect()) }
    }

    /// The variable as text; `None` when it is unset or not UTF-8. An empty value counts as set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars.get(OsStr::new(name))?.to_str()
    }

    /// Like `get`, but an empty value counts as unset.
    pub fn non_empty(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|v| !v.is_empty())
    }

    /// A boolean variable: `1/true/yes/on` or `0/false/no/off` in any case. `None` when it is unset or anything else.
    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)?.trim().to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Some(true),
            "0" | "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    pub fn is_on(&self, name: &str) -> bool {
        self.flag(name) == Some(true)
    }

    /// A number; `2e3` and `64_000` are accepted for whole numbers.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        let text = self.get(name)?.trim();
        text.parse().ok().or_else(|| expand_number(text)?.parse().ok())
    }

    pub fn home(&self) -> Option<PathBuf> {
        self.non_empty("HOME").map(PathBuf::from)
    }

    /// A copy with some variables added or replaced, as the `env` block of the settings does.
    #[must_use]
    pub fn with<K: Into<OsString>, V: Into<OsString>>(&self, vars: impl IntoIterator<Item = (K, V)>) -> Self {
        let mut all = (*self.vars).clone();
        all.extend(vars.into_iter().map(|(k, v)| (k.into(), v.into())));
        Self { vars: Arc::new(all) }
    }

    /// A copy without some variables.
    #[must_use]
    pub fn without<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = (*self.vars).clone();
        for name in names {
            all.remove(OsStr::new(name));
        }
        Self { vars: Arc::new(all) }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.vars.iter().map(|(k, v)| (k.as_os_str(), v.as_os_str()))
    }
}

/// Expands a whole number written with an exponent or separators to digits only.
fn expand_number(text: &str) -> Option<String> {
    let whole = text.starts_with(|c: char| c.is_ascii_digit()) && text.ends_with(|c: char| c.is_ascii_digit());
    let plain = text.replace('_', "");
    let number: f64 = plain.parse().ok().filter(|_| whole)?;
    (number.fract() == 0.0 && number < 9e15).then(|| format!("{number:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_has_no_values() {
        let env = Env::default().with([("ANTHROPIC_API_KEY", "sk-canary")]);
        assert_eq!(format!("{env:?}"), r#"{"ANTHROPIC_API_KEY"}"#);
    }

    #[test]
    fn values_are_read_as_documented() {
        let env = Env::default().with([("A", "1"), ("B", ""), ("C", " OFF "), ("D", "maybe"), ("N", " 42 ")]);
        assert_eq!((env.get("B"), env.non_empty("B"), env.get("X")), (Some(""), None, None));
        assert_eq!(["A", "B", "C", "D", "X"].map(|name| env.flag(name)), [Some(true), None, Some(false), None, None]);
        assert_eq!((env.number("N"), env.number::<u32>("D")), (Some(42), None));
        // [CLI-97]
        let env = env.with([("E", "2e3"), ("U", "64_000"), ("F", "1.5"), ("T", "5_"), ("H", "500k")]);
        assert_eq!(
            ["E", "U", "F", "T", "H"].map(|name| env.number::<u64>(name)),
            [Some(2000), Some(64_000), None, None, None]
        );
        let fewer = env.without(["A", "X"]);
        assert_eq!((fewer.get("A"), env.get("A")), (None, Some("1")));
    }
}
