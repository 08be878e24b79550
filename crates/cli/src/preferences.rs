//! How the person wants the terminal to look and behave: what is read before the first frame, and no more than that.

use std::path::Path;
use std::time::Duration;
use store::Layout;
use sys::Env;
use tui::Preferences;
use tui::keys::bindings::Bindings;
use tui::theme::{Base, Theme};

/// Preferences, and whether the theme follows the terminal's background.
pub(crate) fn read(env: &Env) -> (Preferences, bool) {
    let layout = Layout::new(env);
    let mut preferences = Preferences::default();
    if let Ok(text) = std::fs::read_to_string(layout.home().join("keybindings.json")) {
        let (bindings, warnings) = Bindings::parse(&text);
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        preferences.bindings = bindings;
    }
    let settings = std::fs::read_to_string(layout.home().join("settings.json")).unwrap_or_default();
    let settings: serde_json::Value = serde_json::from_str(&settings).unwrap_or_default();
    if settings.get("prefersReducedMotion").and_then(serde_json::Value::as_bool) == Some(true) {
        preferences.motion = tui::Motion::Reduced;
    }
    preferences.vim = settings.get("editorMode").and_then(serde_json::Value::as_str) == Some("vim");
    let answers = settings.get("respondToBashCommands").and_then(serde_json::Value::as_bool);
    preferences.answers_shell = answers != Some(false);
    preferences.question_timeout = match settings.get("askUserQuestionTimeout").and_then(serde_json::Value::as_str) {
        Some("60s") => Some(Duration::from_mins(1)),
        Some("5m") => Some(Duration::from_mins(5)),
        Some("10m") => Some(Duration::from_mins(10)),
        Some(_) | None => None,
    };
    let clears = settings.get("showClearContextOnPlanAccept").and_then(serde_json::Value::as_bool);
    preferences.clears_on_plan = clears == Some(true);
    match settings.get("theme").and_then(serde_json::Value::as_str) {
        Some("auto") | None => (preferences, true),
        Some(name) => {
            preferences.theme = theme(name, layout.home());
            (preferences, false)
        }
    }
}

/// A built-in theme, or one of the themes directory.
fn theme(name: &str, home: &Path) -> Theme {
    if let Some(base) = Base::parse(name) {
        return Theme::new(base);
    }
    let slug = name.strip_prefix("custom:").filter(|slug| !slug.contains(['/', '\\']) && !slug.starts_with('.'));
    let file = slug.map(|slug| home.join("themes").join(format!("{slug}.json")));
    file.and_then(|path| std::fs::read_to_string(path).ok()).map_or_else(Theme::default, |text| Theme::parse(&text))
}
