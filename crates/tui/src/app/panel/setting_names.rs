//! Names of settings for people, and what a switch does when nobody set it. Keys that are not listed get a name made
//! from the key.

/// A setting that many people change, with its name and the state of a switch that is not set.
struct NamedSetting {
    key: &'static str,
    name: &'static str,
    default: Option<bool>,
}

const fn named(key: &'static str, name: &'static str) -> NamedSetting {
    NamedSetting { key, name, default: None }
}

const fn switch(key: &'static str, name: &'static str, default: bool) -> NamedSetting {
    NamedSetting { key, name, default: Some(default) }
}

/// In the order in which the screen shows them.
#[rustfmt::skip]
static NAMED_SETTINGS: &[NamedSetting] = &[
    named("model", "Model"),
    named("effortLevel", "Effort"),
    switch("alwaysThinkingEnabled", "Thinking", true),
    named("permissions.defaultMode", "Mode at the start"),
    named("theme", "Theme"),
    named("editorMode", "Editor keys"),
    named("outputStyle", "Output style"),
    named("language", "Language of answers"),
    switch("autoCompactEnabled", "Compact automatically", true),
    switch("autoMemoryEnabled", "Notes between sessions", true),
    switch("sandbox.enabled", "Sandbox for commands", false),
    switch("maskSecrets", "Hide secrets in output", true),
    switch("snapshotsEnabled", "Snapshots for undo", true),
    named("verifyBeforeEnd", "Remind to check edits"),
    named("editMatching", "Matching of edits"),
    switch("projectFacts", "Tell the model about the project", true),
    switch("includeGitInstructions", "Tell the model about git", true),
    switch("respondToBashCommands", "Answer after ! commands", true),
    switch("showThinkingSummaries", "Show thinking", false),
    switch("prefersReducedMotion", "Fewer animations", false),
    switch("terminalProgressBarEnabled", "Progress in the window bar", true),
    named("preferredNotifChannel", "Notifications"),
    named("askUserQuestionTimeout", "Give up on questions after"),
    switch("axScreenReader", "Screen reader", false),
    named("statusLine", "Status line"),
    named("cleanupPeriodDays", "Keep sessions for (days)"),
    named("autoUpdatesChannel", "Update channel"),
    named("env", "Environment variables"),
    named("hooks", "Hooks"),
    named("permissions.allow", "Allow rules"),
    named("permissions.ask", "Ask rules"),
    named("permissions.deny", "Deny rules"),
    named("apiKeyHelper", "API key helper"),
    named("disableAllHooks", "Disable all hooks"),
    named("enableAllProjectMcpServers", "Enable all project MCP servers"),
];

/// The name of a setting; made from the key where none was chosen: `sandbox.excludedCommands` is
/// `Sandbox: excluded commands`.
pub fn name(key: &str) -> String {
    match NAMED_SETTINGS.iter().find(|named| named.key == key) {
        Some(named) => named.name.to_owned(),
        None => made_from(key),
    }
}

/// Where the setting stands on the screen; those without a name of their own come last.
pub fn place(key: &str) -> usize {
    NAMED_SETTINGS.iter().position(|named| named.key == key).unwrap_or(NAMED_SETTINGS.len())
}

/// What a switch that is not set does, where that is known.
pub fn default_state(key: &str) -> Option<bool> {
    NAMED_SETTINGS.iter().find(|named| named.key == key)?.default
}

fn made_from(key: &str) -> String {
    let words: Vec<String> = key.split('.').map(spaced).collect();
    let mut name = words.join(": ");
    if let Some(first) = name.get(..1).map(str::to_uppercase) {
        name.replace_range(..1, &first);
    }
    name
}

/// `mcpServerList` becomes `mcp server list`; a run of capitals stays together.
fn spaced(key: &str) -> String {
    let letters: Vec<char> = key.chars().collect();
    let mut out = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let after_small = at > 0 && letters[at - 1].is_lowercase();
        let next_is_small = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        let begins = letter.is_uppercase() && at > 0 && (after_small || next_is_small);
        if begins {
            out.push(' ');
        }
        let is_word = letter.is_uppercase() && (next_is_small || at == 0 || letters.len() == 1);
        if is_word { out.extend(letter.to_lowercase()) } else { out.push(*letter) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::settings::{KeyShape, Settings};

    #[test]
    fn every_name_belongs_to_a_key_and_is_its_own() {
        let exists = |key: &str| {
            let (top, member) = key.split_once('.').map_or((key, None), |(top, member)| (top, Some(member)));
            let Some(known) = Settings::KEYS.iter().find(|known| known.name == top) else { return false };
            match (known.shape, member) {
                (KeyShape::Object(inner), Some(member)) => inner.iter().any(|known| known.name == member),
                (_, member) => member.is_none(),
            }
        };
        for named in NAMED_SETTINGS {
            assert!(exists(named.key), "{}", named.key);
            let same = NAMED_SETTINGS.iter().filter(|other| other.name == named.name).count();
            assert_eq!(same, 1, "{}", named.name);
        }
    }

    #[test]
    fn other_names_are_made_from_the_key() {
        assert_eq!(name("plansDirectory"), "Plans directory");
        assert_eq!(name("sandbox.excludedCommands"), "Sandbox: excluded commands");
        assert_eq!(name("forceLoginOrgUUID"), "Force login org UUID");
        assert_eq!(name("httpHookAllowedEnvVars"), "Http hook allowed env vars");
        assert_eq!((place("model"), place("plansDirectory")), (0, NAMED_SETTINGS.len()));
        assert_eq!((default_state("maskSecrets"), default_state("disableAllHooks")), (Some(true), None));
    }
}
