//! The user's preferences for the terminal interface: only what is needed before the first frame.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::StoreLayout;
use sys::Env;
use terminal::keys::bindings::KeyBindings;
use terminal::theme::{BaseTheme, Theme};
use tui::Preferences;
use tui::reload::ReloadKind;

/// The preferences that were read.
pub(crate) struct LoadedPreferences {
    pub preferences: Preferences,
    /// The theme depends on the background of the terminal.
    pub follows_background: bool,
    /// Files that are loaded again when they change.
    pub files: Vec<(ReloadKind, PathBuf)>,
    /// Problems of these files.
    pub warnings: Vec<String>,
}

pub(crate) fn read(env: &Env, screen_reader: bool) -> LoadedPreferences {
    let layout = StoreLayout::new(env);
    let mut preferences = Preferences { home: env.home(), ..Preferences::default() };
    let bindings = layout.home().join("keybindings.json");
    let mut warnings = Vec::new();
    if let Ok(text) = std::fs::read_to_string(&bindings) {
        (preferences.bindings, warnings) = KeyBindings::parse(&text);
    }
    let mut files = vec![(ReloadKind::Bindings, bindings)];
    let settings = std::fs::read_to_string(layout.home().join("settings.json")).unwrap_or_default();
    let settings: serde_json::Value = serde_json::from_str(&settings).unwrap_or_default();
    if settings.get("prefersReducedMotion").and_then(serde_json::Value::as_bool) == Some(true) {
        preferences.motion = tui::MotionLevel::Reduced;
    }
    let wrap = settings.get("wrap").and_then(serde_json::Value::as_str);
    preferences.wrap = wrap.and_then(terminal::markdown::ProseWrap::parse).unwrap_or(preferences.wrap);
    preferences.view = tui::ViewMode::of_settings(&settings);
    preferences.shows_hints = is_newcomer(layout.home());
    let turn_line = settings.get("showTurnDuration").and_then(serde_json::Value::as_bool);
    preferences.shows_turn_line = turn_line != Some(false);
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
    let wants_reader = settings.get("axScreenReader").and_then(serde_json::Value::as_bool);
    preferences.screen_reader = tui::screen_reader::ScreenReaderSource::decide(screen_reader, env, wants_reader);
    preferences.tracks_cursor = env.is_on("CLAUDE_CODE_ACCESSIBILITY");
    let channel = settings.get("preferredNotifChannel").and_then(serde_json::Value::as_str);
    preferences.channel = channel.and_then(tui::notify::AlertChannel::parse).unwrap_or(preferences.channel);
    let progress = settings.get("terminalProgressBarEnabled").and_then(serde_json::Value::as_bool);
    preferences.progress = progress != Some(false);
    for (name, time) in [
        ("GIMLET_TEST_QUESTION_MS", &mut preferences.alert_delays.question),
        ("GIMLET_TEST_IDLE_MS", &mut preferences.alert_delays.idle),
    ] {
        *time = env.number(name).map_or(*time, Duration::from_millis);
    }
    let follows_background = match settings.get("theme").and_then(serde_json::Value::as_str) {
        Some("auto") | None => true,
        Some(name) => {
            preferences.theme = theme(name, layout.home());
            files.extend(theme_file(name, layout.home()).map(|path| (ReloadKind::Theme, path)));
            false
        }
    };
    LoadedPreferences { preferences, follows_background, files, warnings }
}

/// Conversations after which a person needs no hints any more.
const FIRST_CONVERSATIONS: usize = 5;

/// Whether the history of prompts names only few conversations.
fn is_newcomer(home: &Path) -> bool {
    const READ: u64 = 64 * 1024;
    #[derive(serde::Deserialize)]
    struct Line<'a> {
        #[serde(borrow, default, rename = "sessionId")]
        session: std::borrow::Cow<'a, str>,
    }
    let Ok(file) = std::fs::File::open(home.join("history.jsonl")) else { return true };
    let mut text = Vec::new();
    if file.take(READ).read_to_end(&mut text).is_err() || text.len() as u64 == READ {
        return false;
    }
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Line<'_>>(line).ok());
    lines.map(|line| line.session.into_owned()).collect::<std::collections::BTreeSet<_>>().len() < FIRST_CONVERSATIONS
}

/// A built-in theme, or one from the themes directory.
fn theme(name: &str, home: &Path) -> Theme {
    if let Some(base) = BaseTheme::parse(name) {
        return Theme::new(base);
    }
    theme_file(name, home)
        .and_then(|path| std::fs::read_to_string(path).ok())
        .map_or_else(Theme::default, |text| Theme::parse(&text))
}

fn theme_file(name: &str, home: &Path) -> Option<PathBuf> {
    let slug = name.strip_prefix("custom:").filter(|slug| !slug.contains(['/', '\\']) && !slug.starts_with('.'))?;
    Some(home.join("themes").join(format!("{slug}.json")))
}
