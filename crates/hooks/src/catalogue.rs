//! All handlers that may run, by event. Layers are added together; a handler that is declared in several settings files
//! is kept once; a handler that cannot work is left out, with a diagnostic that names it.

use crate::declaration::{self, HookHandler, HookOrigin};
use crate::matcher::SubjectMatcher;
use serde_json::Value;
use std::sync::Arc;
use wire::hooks::HookEventName;
use wire::settings::SettingsSource;

/// A longer timeout, in seconds, was probably meant in milliseconds.
const LONG_TIMEOUT_S: u64 = 3600;

/// One source of declarations: event names with their matcher groups.
#[derive(Clone, Debug)]
pub struct HookLayer {
    pub origin: HookOrigin,
    pub hooks: serde_json::Map<String, Value>,
}

/// A borrowed layer: declarations of settings are large and read only once.
pub struct DeclaredLayer<'a> {
    pub origin: HookOrigin,
    pub hooks: &'a serde_json::Map<String, Value>,
    pub locate: Box<HookLocator<'a>>,
}

/// Finds the line of an event in the layer's file, or of a group or handler declared for it.
pub type HookLocator<'a> = dyn Fn(&str, Option<&Value>) -> Option<usize> + 'a;

impl<'a> From<&'a HookLayer> for DeclaredLayer<'a> {
    fn from(layer: &'a HookLayer) -> Self {
        Self { origin: layer.origin.clone(), hooks: &layer.hooks, locate: Box::new(|_, _| None) }
    }
}

/// Settings that apply to all hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HookSwitches {
    /// `disableAllHooks`; `disabled_by_policy` when the administrator set it.
    pub disabled: bool,
    pub disabled_by_policy: bool,
    /// `allowManagedHooksOnly`
    pub managed_only: bool,
    /// Leaves out handlers that ask a model. Set where such a handler runs, so that it does not start itself.
    pub without_models: bool,
}

impl HookSwitches {
    fn admits(self, origin: &HookOrigin) -> bool {
        let managed = matches!(origin, HookOrigin::Settings { source: SettingsSource::Managed, .. });
        if self.disabled_by_policy {
            return false;
        }
        // A host relies on the callbacks it registers, so settings files do not disable them.
        if *origin == HookOrigin::Host {
            return true;
        }
        if self.managed_only && !managed {
            return false;
        }
        !self.disabled || managed
    }
}

/// One handler, ready to run.
#[derive(Debug)]
pub struct HookEntry {
    pub event: HookEventName,
    pub origin: HookOrigin,
    /// The matcher as written; `None` when there is none.
    pub matcher_text: Option<String>,
    pub(crate) matcher: SubjectMatcher,
    pub handler: HookHandler,
    /// Unique among the handlers of a session, in configuration order.
    pub number: usize,
}

impl HookEntry {
    /// Why the matcher is not a regular expression and never matches; `None` when it is valid.
    pub fn matcher_problem(&self) -> Option<String> {
        match &self.matcher {
            SubjectMatcher::Pattern(pattern) => pattern.problem(),
            SubjectMatcher::Everything | SubjectMatcher::Names(_) => None,
        }
    }

    /// A key that stays the same when the same declaration is read again.
    pub(crate) fn key(&self) -> String {
        let matcher = self.matcher_text.as_deref().unwrap_or_default();
        let kind = &self.handler.kind;
        format!("{}\0{}\0{matcher}\0{}\0{}", self.origin.label(), self.event.as_str(), kind.name(), kind.text())
    }
}

#[derive(Clone, Debug, Default)]
pub struct HookCatalogue {
    by_event: Vec<Vec<Arc<HookEntry>>>,
    without_models: bool,
    /// Messages about handlers that were left out or look wrong.
    pub diagnostics: Vec<String>,
}

impl HookCatalogue {
    /// `layers` are in the order in which rewrites are applied: managed, user, project, local, then the rest.
    pub fn new<'a>(layers: impl IntoIterator<Item = DeclaredLayer<'a>>, switches: HookSwitches) -> Self {
        let mut catalogue = Self { without_models: switches.without_models, ..Self::default() };
        for layer in layers.into_iter().filter(|layer| switches.admits(&layer.origin)) {
            for (name, groups) in layer.hooks {
                match HookEventName::parse(name) {
                    Some(event) => catalogue.event(event, groups, &layer),
                    None => catalogue.complain(&layer, (name, None), &format!("hooks.{name}: there is no such event")),
                }
            }
        }
        catalogue
    }

    fn event(&mut self, event: HookEventName, groups: &Value, layer: &DeclaredLayer<'_>) {
        let name = event.as_str();
        let Value::Array(groups) = groups else {
            return self.complain(layer, (name, None), &format!("hooks.{name}: must be a list of groups"));
        };
        for (at, group) in groups.iter().enumerate() {
            if let Err(problem) = self.group(event, group, layer) {
                self.complain(layer, (name, Some(group)), &format!("hooks.{name}[{at}]: {problem}"));
            }
        }
    }

    fn group(&mut self, event: HookEventName, group: &Value, layer: &DeclaredLayer<'_>) -> Result<(), String> {
        let matcher_text = match group.get("matcher") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => return Err("matcher must be a string".into()),
        };
        if layer.origin == HookOrigin::Host {
            for handler in declaration::callbacks(group)? {
                self.handler(event, matcher_text.clone(), (handler, group), layer);
            }
            return Ok(());
        }
        let Some(Value::Array(handlers)) = group.get("hooks") else { return Err("hooks must be a list".into()) };
        for (at, value) in handlers.iter().enumerate() {
            let handler = match declaration::handler(value) {
                Ok(handler) => handler,
                Err(problem) => {
                    let problem = format!("hooks.{}: handler {at}: {problem}", event.as_str());
                    self.complain(layer, (event.as_str(), Some(value)), &problem);
                    continue;
                }
            };
            self.handler(event, matcher_text.clone(), (handler, value), layer);
        }
        Ok(())
    }

    fn handler(
        &mut self,
        event: HookEventName,
        matcher_text: Option<String>,
        (handler, declared): (HookHandler, &Value),
        layer: &DeclaredLayer<'_>,
    ) {
        let (origin, place) = (&layer.origin, (event.as_str(), Some(declared)));
        if self.without_models && handler.kind.asks_model() {
            return;
        }
        let what = format!("hooks.{}: {}", event.as_str(), handler.kind.text());
        if !handler.kind.fits(event) {
            let kind = handler.kind.name();
            return self.complain(
                layer,
                place,
                &format!("{what}: {kind} handlers cannot be used for {}", event.as_str()),
            );
        }
        if handler.condition.is_some() && !event.is_tool_event() {
            let problem = format!("{what}: `if` works for tool events only, so this never runs");
            return self.complain(layer, place, &problem);
        }
        if handler.timeout.is_some_and(|limit| limit.as_secs() > LONG_TIMEOUT_S) {
            let problem = format!("{what}: timeout is in seconds; more than an hour looks like a mistake");
            self.complain(layer, place, &problem);
        }
        if self.has_twin(event, matcher_text.as_deref(), &handler, origin) {
            return;
        }
        let matcher = SubjectMatcher::new(event, matcher_text.as_deref());
        let number = self.iter().count();
        let entry = HookEntry { event, origin: origin.clone(), matcher_text, matcher, handler, number };
        if self.by_event.is_empty() {
            self.by_event.resize_with(HookEventName::ALL.len(), Vec::new);
        }
        self.by_event[event as usize].push(Arc::new(entry));
    }

    /// True for a copy of a handler from another settings file, which must run only once. Copies in plugins and skills
    /// all run.
    fn has_twin(
        &self,
        event: HookEventName,
        matcher: Option<&str>,
        handler: &HookHandler,
        origin: &HookOrigin,
    ) -> bool {
        origin.is_settings()
            && self.of(event).iter().any(|entry| {
                entry.origin.is_settings()
                    && entry.handler == *handler
                    && entry.matcher_text.as_deref().unwrap_or_default() == matcher.unwrap_or_default()
            })
    }

    fn complain(&mut self, layer: &DeclaredLayer<'_>, (event, part): (&str, Option<&Value>), problem: &str) {
        let mut place = match &layer.origin {
            HookOrigin::Settings { path: Some(path), .. } => path.display().to_string(),
            other => other.label(),
        };
        if let Some(line) = (layer.locate)(event, part) {
            place = format!("{place}:{line}");
        }
        self.diagnostics.push(format!("{place}: {problem}"));
    }

    /// The handlers of an event. Costs one lookup when there are no hooks at all.
    pub fn of(&self, event: HookEventName) -> &[Arc<HookEntry>] {
        self.by_event.get(event as usize).map_or(&[], Vec::as_slice)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<HookEntry>> {
        self.by_event.iter().flatten()
    }

    pub fn is_empty(&self) -> bool {
        self.by_event.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn layer(source: SettingsSource, hooks: &Value) -> HookLayer {
        let hooks = hooks.as_object().unwrap().clone();
        HookLayer { origin: HookOrigin::Settings { source, path: Some("/s.json".into()) }, hooks }
    }

    fn plugin(hooks: &Value) -> HookLayer {
        let origin = HookOrigin::Plugin { name: "p".into(), root: "/p".into(), data: "/d".into() };
        HookLayer { origin, hooks: hooks.as_object().unwrap().clone() }
    }

    fn run(command: &str) -> Value {
        json!({"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}]})
    }

    fn commands(catalogue: &HookCatalogue) -> Vec<String> {
        catalogue.iter().map(|entry| entry.handler.kind.text()).collect()
    }

    // [EXT-1] [EXT-2] [EXT-3]
    #[test]
    fn layers_add_up_and_twins_in_settings_run_once() {
        let all = [
            layer(SettingsSource::Managed, &run("m")),
            layer(SettingsSource::User, &run("u")),
            layer(SettingsSource::Project, &run("u")),
            layer(SettingsSource::Local, &run("l")),
            plugin(&run("u")),
        ];
        assert_eq!(
            commands(&HookCatalogue::new(all.iter().map(DeclaredLayer::from), HookSwitches::default())),
            ["m", "u", "l", "u"]
        );
    }

    // [EXT-22] [EXT-23]
    #[test]
    fn switches_leave_the_administrators_hooks_alone() {
        let all =
            [layer(SettingsSource::Managed, &run("m")), layer(SettingsSource::User, &run("u")), plugin(&run("p"))];
        let with = |switches| commands(&HookCatalogue::new(all.iter().map(DeclaredLayer::from), switches));
        assert_eq!(with(HookSwitches { disabled: true, ..HookSwitches::default() }), ["m"]);
        assert_eq!(with(HookSwitches { managed_only: true, ..HookSwitches::default() }), ["m"]);
        assert!(with(HookSwitches { disabled: true, disabled_by_policy: true, ..HookSwitches::default() }).is_empty());
    }

    // [EXT-17] [EXT-26] [EXT-45]
    #[test]
    fn what_cannot_work_is_left_out_and_named() {
        let hooks = json!({
            "Nonsense": [{"hooks": []}],
            "Stop": [{"hooks": [
                {"type": "command", "command": "a", "if": "Bash(git *)"},
                {"type": "command", "command": "b", "unknownField": 1},
                {"type": "command"},
                {"type": "teleport"},
                {"type": "command", "command": "c", "timeout": "soon"},
                {"type": "command", "command": "d", "timeout": 600_000},
            ]}, {"matcher": 5, "hooks": []}, "x"],
            "SessionStart": [{"hooks": [{"type": "http", "url": "http://127.0.0.1/"}]}],
        });
        let catalogue =
            HookCatalogue::new([DeclaredLayer::from(&layer(SettingsSource::User, &hooks))], HookSwitches::default());
        assert_eq!(commands(&catalogue), ["b", "d"]);
        let told = catalogue.diagnostics.join("\n");
        for part in [
            "Nonsense",
            "`if` works for tool events",
            "command is missing",
            "\"teleport\"",
            "positive number",
            "in seconds",
            "matcher must be",
            "hooks must be a list",
            "http handlers cannot be used for SessionStart",
        ] {
            assert!(told.contains(part), "{part} in {told}");
        }
        assert!(catalogue.diagnostics.iter().all(|line| line.starts_with("/s.json: hooks.")));
    }
}
