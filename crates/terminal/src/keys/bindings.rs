//! Key bindings. One table lists all actions with their default keys; `keybindings.json` changes it. An invalid entry
//! causes a warning and has no other effect. Ctrl+C, Ctrl+D and Ctrl+M cannot be rebound.

use super::names::{parse_chord, show_chord};
use super::{KeyCode, KeyMods, KeyPress};
use serde::Deserialize;

/// Where a binding applies, in the order of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyContext {
    Global,
    Chat,
    Autocomplete,
    Settings,
    Confirmation,
    Tabs,
    Help,
    Transcript,
    HistorySearch,
    Task,
    ThemePicker,
    Attachments,
    Footer,
    MessageSelector,
    DiffDialog,
    ModelPicker,
    Select,
    Plugin,
    Scroll,
}

impl KeyContext {
    pub const ALL: [(Self, &'static str); 19] = [
        (Self::Global, "Global"),
        (Self::Chat, "Chat"),
        (Self::Autocomplete, "Autocomplete"),
        (Self::Settings, "Settings"),
        (Self::Confirmation, "Confirmation"),
        (Self::Tabs, "Tabs"),
        (Self::Help, "Help"),
        (Self::Transcript, "Transcript"),
        (Self::HistorySearch, "HistorySearch"),
        (Self::Task, "Task"),
        (Self::ThemePicker, "ThemePicker"),
        (Self::Attachments, "Attachments"),
        (Self::Footer, "Footer"),
        (Self::MessageSelector, "MessageSelector"),
        (Self::DiffDialog, "DiffDialog"),
        (Self::ModelPicker, "ModelPicker"),
        (Self::Select, "Select"),
        (Self::Plugin, "Plugin"),
        (Self::Scroll, "Scroll"),
    ];
}

macro_rules! actions {
    ($($variant:ident $name:literal $context:ident [$($keys:literal),*] $help:literal;)*) => {
        /// An action that a key can trigger.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum KeyAction { $($variant),* }

        impl KeyAction {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            pub fn context(self) -> KeyContext {
                match self { $(Self::$variant => KeyContext::$context),* }
            }

            pub fn defaults(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($keys),*]),* }
            }

            pub fn help(self) -> &'static str {
                match self { $(Self::$variant => $help),* }
            }
        }
    };
}

actions! {
    Interrupt "app:interrupt" Global ["ctrl+c"] "interrupt; clear the prompt; twice: exit";
    Exit "app:exit" Global ["ctrl+d"] "exit (twice, on an empty prompt)";
    Redraw "app:redraw" Global ["ctrl+l"] "redraw the screen";
    ToggleTodos "app:toggleTodos" Global ["ctrl+t"] "show all tasks, none, or the usual rows";
    ToggleTranscript "app:toggleTranscript" Global ["ctrl+o"] "transcript with all details";
    HistorySearch "history:search" Chat ["ctrl+r"] "search in earlier prompts";
    HistoryPrevious "history:previous" Chat ["ctrl+p"] "earlier prompt";
    HistoryNext "history:next" Chat ["ctrl+n"] "later prompt";
    Cancel "chat:cancel" Chat ["escape"] "interrupt; twice: clear the prompt";
    ClearInput "chat:clearInput" Chat [] "clear the prompt";
    ClearScreen "chat:clearScreen" Chat ["cmd+k"] "redraw the screen";
    KillAgents "chat:killAgents" Chat ["ctrl+x ctrl+k"] "stop background agents (twice)";
    CycleMode "chat:cycleMode" Chat ["shift+tab", "alt+m"] "next permission mode";
    ModelPicker "chat:modelPicker" Chat ["alt+p"] "choose the model";
    FastMode "chat:fastMode" Chat ["alt+o"] "fast mode";
    ThinkingToggle "chat:thinkingToggle" Chat ["alt+t"] "thinking on or off";
    Submit "chat:submit" Chat ["enter"] "send";
    Newline "chat:newline" Chat ["ctrl+j", "alt+enter", "shift+enter"] "new line";
    Undo "chat:undo" Chat ["ctrl+_", "ctrl+shift+-"] "undo";
    ExternalEditor "chat:externalEditor" Chat ["ctrl+g", "ctrl+x ctrl+e"] "edit in $EDITOR";
    Stash "chat:stash" Chat ["ctrl+s"] "put the prompt aside, or take it back";
    ImagePaste "chat:imagePaste" Chat ["ctrl+v"] "paste an image";
    Suspend "app:suspend" Global ["ctrl+z"] "suspend";
    Accept "autocomplete:accept" Autocomplete ["tab"] "take the suggestion";
    Dismiss "autocomplete:dismiss" Autocomplete ["escape"] "close the list";
    CompletionPrevious "autocomplete:previous" Autocomplete ["up", "ctrl+p"] "suggestion above";
    CompletionNext "autocomplete:next" Autocomplete ["down", "ctrl+n"] "suggestion below";
    ConfirmYes "confirm:yes" Confirmation ["y", "enter"] "yes";
    ConfirmNo "confirm:no" Confirmation ["n", "escape"] "no";
    ConfirmPrevious "confirm:previous" Confirmation ["up"] "option above";
    ConfirmNext "confirm:next" Confirmation ["down"] "option below";
    ConfirmNextField "confirm:nextField" Confirmation ["tab"] "add a comment";
    ConfirmPreviousField "confirm:previousField" Confirmation [] "field before";
    ConfirmToggle "confirm:toggle" Confirmation ["space"] "select or not";
    ConfirmCycleMode "confirm:cycleMode" Confirmation ["shift+tab"] "yes, for the whole session";
    ToggleExplanation "confirm:toggleExplanation" Confirmation ["ctrl+e"] "explain";
    PermissionDebug "permission:toggleDebug" Confirmation [] "why this is asked";
    TranscriptShowAll "transcript:toggleShowAll" Transcript ["ctrl+e"] "show everything";
    TranscriptExit "transcript:exit" Transcript ["q", "escape"] "close the transcript";
    SearchNext "historySearch:next" HistorySearch ["ctrl+r"] "older match";
    SearchAccept "historySearch:accept" HistorySearch ["enter", "tab", "escape"] "take the match";
    SearchCancel "historySearch:cancel" HistorySearch ["ctrl+c"] "back to what was typed";
    SearchExecute "historySearch:execute" HistorySearch [] "send the match";
    SearchScope "historySearch:cycleScope" HistorySearch ["ctrl+s"] "where to search";
    Background "task:background" Task ["ctrl+b", "ctrl+x ctrl+b"] "move what runs to the background";
    SyntaxToggle "theme:toggleSyntaxHighlighting" ThemePicker ["ctrl+t"] "syntax colours on or off";
    EffortDown "modelPicker:decreaseEffort" ModelPicker ["left"] "less effort";
    EffortUp "modelPicker:increaseEffort" ModelPicker ["right"] "more effort";
    ThisSessionOnly "modelPicker:thisSessionOnly" ModelPicker ["s"] "for this session only";
    HelpDismiss "help:dismiss" Help ["escape"] "close help";
    TabsNext "tabs:next" Tabs ["tab", "right"] "next tab";
    TabsPrevious "tabs:previous" Tabs ["shift+tab", "left"] "tab before";
    SelectNext "select:next" Select ["down", "ctrl+n", "j"] "row below";
    SelectPrevious "select:previous" Select ["up", "ctrl+p", "k"] "row above";
    SelectAccept "select:accept" Select ["enter"] "choose";
    SelectCancel "select:cancel" Select ["escape"] "cancel";
    ScrollLineUp "scroll:lineUp" Scroll ["up", "k"] "line up";
    ScrollLineDown "scroll:lineDown" Scroll ["down", "j"] "line down";
    ScrollPageUp "scroll:pageUp" Scroll ["pageup", "b"] "page up";
    ScrollPageDown "scroll:pageDown" Scroll ["pagedown", "space"] "page down";
    ScrollHalfUp "scroll:halfPageUp" Scroll ["ctrl+u"] "half a page up";
    ScrollHalfDown "scroll:halfPageDown" Scroll ["ctrl+d"] "half a page down";
    ScrollFullUp "scroll:fullPageUp" Scroll ["ctrl+b"] "full page up";
    ScrollFullDown "scroll:fullPageDown" Scroll ["ctrl+f"] "full page down";
    ScrollTop "scroll:top" Scroll ["g", "home", "ctrl+home"] "to the top";
    ScrollBottom "scroll:bottom" Scroll ["G", "end", "ctrl+end"] "to the bottom";
}

#[derive(Clone, Debug)]
struct KeyBinding {
    context: KeyContext,
    keys: Vec<KeyPress>,
    action: KeyAction,
}

#[derive(Clone, Debug)]
pub struct KeyBindings {
    /// Later entries win.
    all: Vec<KeyBinding>,
}

/// The meaning of the keys pressed so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingMatch {
    KeyAction(KeyAction),
    /// The beginning of a chord.
    Prefix,
    None,
}

#[derive(Debug, Deserialize)]
struct BindingsFile {
    #[serde(default)]
    bindings: Vec<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct BindingsBlock {
    context: String,
    #[serde(default)]
    bindings: serde_json::Map<String, serde_json::Value>,
}

impl Default for KeyBindings {
    fn default() -> Self {
        let rows = KeyAction::ALL.iter().flat_map(|action| {
            let chords = action.defaults().iter().filter_map(|text| parse_chord(text));
            chords.map(|keys| KeyBinding { context: action.context(), keys, action: *action })
        });
        Self { all: rows.collect() }
    }
}

impl KeyBindings {
    /// The default bindings changed by a `keybindings.json`, and warnings about its invalid entries.
    pub fn parse(json: &str) -> (Self, Vec<String>) {
        let mut bindings = Self::default();
        let mut warnings = Vec::new();
        let file: BindingsFile = match serde_json::from_str(json) {
            Ok(file) => file,
            Err(error) => return (bindings, vec![format!("keybindings.json is not valid: {error}")]),
        };
        for value in file.bindings {
            match serde_json::from_value::<BindingsBlock>(value) {
                Ok(block) => bindings.apply(&block, &mut warnings),
                Err(error) => warnings.push(format!("keybindings.json: a block is ignored: {error}")),
            }
        }
        (bindings, warnings)
    }

    fn apply(&mut self, block: &BindingsBlock, warnings: &mut Vec<String>) {
        let Some((context, _)) = KeyContext::ALL.iter().find(|(_, name)| *name == block.context) else {
            warnings.push(format!("keybindings.json: there is no context {:?}", block.context));
            return;
        };
        for (text, value) in &block.bindings {
            if let Err(why) = self.bind(*context, text, value) {
                warnings.push(format!("keybindings.json: {:?} in {}: {why}", text, block.context));
            }
        }
    }

    fn bind(&mut self, context: KeyContext, text: &str, value: &serde_json::Value) -> Result<(), String> {
        let keys = parse_chord(text).ok_or("is not a key")?;
        if keys.len() == 1 && is_reserved(keys[0]) {
            return Err("cannot be rebound".into());
        }
        let action = match value {
            serde_json::Value::Null => None,
            serde_json::Value::String(name) => {
                let found = KeyAction::ALL.iter().find(|action| action.name() == name);
                Some(*found.ok_or_else(|| format!("there is no action {name:?}"))?)
            }
            _ => return Err("must be the name of an action or null".into()),
        };
        self.all.retain(|binding| binding.context != context || binding.keys != keys);
        self.all.extend(action.map(|action| KeyBinding { context, keys, action }));
        Ok(())
    }

    /// The meaning of `keys` while these contexts are active; earlier contexts win.
    pub fn find(&self, contexts: &[KeyContext], keys: &[KeyPress]) -> BindingMatch {
        for context in contexts {
            let here = || self.all.iter().rev().filter(|binding| binding.context == *context);
            if let Some(binding) = here().find(|binding| binding.keys == keys) {
                return BindingMatch::KeyAction(binding.action);
            }
            if here().any(|binding| binding.keys.len() > keys.len() && binding.keys.starts_with(keys)) {
                return BindingMatch::Prefix;
            }
        }
        BindingMatch::None
    }

    /// All key chords of an action.
    pub fn all_keys_of(&self, action: KeyAction) -> Vec<String> {
        self.all.iter().filter(|binding| binding.action == action).map(|binding| show_chord(&binding.keys)).collect()
    }

    /// One key chord of an action, for hints; the user's bindings are preferred to the defaults. `None` when it has
    /// none.
    pub fn keys_of(&self, action: KeyAction) -> Option<String> {
        self.chord_of(action).map(show_chord)
    }

    /// The presses of that chord.
    pub fn chord_of(&self, action: KeyAction) -> Option<&[KeyPress]> {
        let own = self.all.iter().rev().find(|binding| {
            let text = show_chord(&binding.keys);
            binding.action == action && !action.defaults().contains(&text.as_str())
        });
        let any = || self.all.iter().find(|binding| binding.action == action);
        own.or_else(any).map(|binding| binding.keys.as_slice())
    }
}

fn is_reserved(key: KeyPress) -> bool {
    let named = |c: char| key == KeyPress::new(KeyCode::Char(c), KeyMods::CTRL);
    named('c') || named('d') || named('m')
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: [KeyContext; 2] = [KeyContext::Chat, KeyContext::Global];

    #[test]
    fn every_default_is_a_chord() {
        for action in KeyAction::ALL {
            for text in action.defaults() {
                assert!(parse_chord(text).is_some_and(|keys| show_chord(&keys) == *text), "{text}");
            }
        }
    }

    #[test]
    fn chords_are_prefixes_until_complete() {
        let bindings = KeyBindings::default();
        let keys = [KeyPress::ctrl('x'), KeyPress::ctrl('k')];
        assert_eq!(bindings.find(&CHAT, &keys[..1]), BindingMatch::Prefix);
        assert_eq!(bindings.find(&CHAT, &keys), BindingMatch::KeyAction(KeyAction::KillAgents));
        assert_eq!(bindings.find(&CHAT, &[KeyPress::char('a')]), BindingMatch::None);
    }

    #[test]
    fn the_file_rebinds_unbinds_and_warns() {
        // [TST-232]
        let (bindings, warnings) = KeyBindings::parse(
            r#"{"$schema":"x","bindings":[
                {"context":"Chat","bindings":{"enter":"chat:newline","ctrl+enter":"chat:submit","ctrl+s":null,
                 "ctrl+c":"chat:submit","hyper+q":"chat:submit","ctrl+q":"chat:nothing","ctrl+y":7}},
                {"context":"Nowhere","bindings":{"a":"chat:submit"}}, 5]}"#,
        );
        assert_eq!(
            bindings.find(&CHAT, &[KeyPress::plain(KeyCode::Enter)]),
            BindingMatch::KeyAction(KeyAction::Newline)
        );
        assert_eq!(
            bindings.find(&CHAT, &[KeyPress::new(KeyCode::Enter, KeyMods::CTRL)]),
            BindingMatch::KeyAction(KeyAction::Submit)
        );
        assert_eq!(bindings.find(&CHAT, &[KeyPress::ctrl('s')]), BindingMatch::None);
        assert_eq!(bindings.find(&CHAT, &[KeyPress::ctrl('c')]), BindingMatch::KeyAction(KeyAction::Interrupt));
        assert_eq!(bindings.keys_of(KeyAction::Submit).as_deref(), Some("ctrl+enter"));
        assert_eq!(warnings.len(), 6, "{warnings:?}");
        assert_eq!(KeyBindings::parse("{").1.len(), 1);
    }

    #[test]
    fn a_lone_capital_implies_shift_and_unbinding_all_chords_frees_the_prefix() {
        let (bindings, _) = KeyBindings::parse(
            r#"{"bindings":[{"context":"Chat","bindings":{"ctrl+x ctrl+k":null,"ctrl+x ctrl+e":null,"K":"chat:undo"}}]}"#,
        );
        assert_eq!(bindings.find(&CHAT, &[KeyPress::ctrl('x')]), BindingMatch::None);
        assert_eq!(
            bindings.find(&CHAT, &[KeyPress::new(KeyCode::Char('k'), KeyMods::SHIFT)]),
            BindingMatch::KeyAction(KeyAction::Undo)
        );
    }
}
