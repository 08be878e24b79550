//! The theme picker, with a preview of the selected theme.

use super::{Panel, PanelContent, PanelFrame, PanelJob, PanelJobResult, PanelNews, PanelReaction, PanelSource};
use crate::app::layers::LayerView;
use crate::app::layers::effects::LayerEffect;
use crate::app::select::{SelectItem, TypingMode};
use crate::diff;
use serde_json::Value;
use terminal::keys::KeyPress;
use terminal::keys::bindings::{BindingMatch, KeyAction, KeyContext};
use terminal::markdown::SyntaxColouring;
use terminal::style::StyledLine;
use terminal::theme::{BaseTheme, Theme};

const TITLE: &str = "Theme";

#[derive(Debug)]
pub struct ThemeList {
    /// The theme to go back to.
    before: Theme,
    follows_background: bool,
    /// The value of the setting and its colours.
    all: Vec<(String, Theme)>,
}

impl ThemeList {
    pub fn panel(before: Theme, follows_background: bool) -> Panel {
        PanelFrame::waiting(TITLE).with(Self { before, follows_background, all: Vec::new() })
    }

    /// `chosen` is the theme of the settings; `None` when none was chosen.
    fn fill(&mut self, files: &[(String, String)], chosen: Option<&str>, view: &LayerView<'_>) -> PanelFrame {
        let theme = &view.preferences.theme;
        let built_in = BaseTheme::ALL.iter().map(|base| (base.name().to_owned(), Theme::new(*base)));
        let own = files.iter().map(|(name, text)| (format!("custom:{name}"), Theme::parse(text)));
        let follow = std::iter::once(("auto".to_owned(), theme.clone()));
        self.all = follow.chain(built_in).chain(own).collect();
        self.before = theme.clone();
        // A theme of one's own has the name of its file, which only the settings know.
        let own_name = chosen.filter(|name| name.starts_with("custom:") && self.all.iter().any(|(own, _)| own == name));
        let now = match own_name {
            _ if self.follows_background => "auto",
            Some(name) => name,
            None => theme.base().name(),
        };
        let item = |(name, _): &(String, Theme)| SelectItem::new(name.clone(), about(name)).current(name == now);
        let syntax = view.preferences.bindings.keys_of(KeyAction::SyntaxToggle).unwrap_or_default();
        PanelFrame::list(TITLE, self.all.iter().map(item).collect(), TypingMode::Digits)
            .counted("theme")
            .keys(format!("enter to choose · {syntax} for syntax colours on or off · esc to keep the old one"))
    }
}

fn about(name: &str) -> &'static str {
    match name {
        "auto" => "follows the terminal's background",
        "dark-daltonized" | "light-daltonized" => "for colour-blind eyes",
        "dark-ansi" | "light-ansi" => "only the terminal's 16 colours",
        name if name.starts_with("custom:") => "yours",
        _ => "",
    }
}

impl PanelContent for ThemeList {
    fn source(&self) -> Option<PanelSource> {
        Some(PanelSource::Job(PanelJob::Themes))
    }

    fn receive(&mut self, news: &PanelNews, view: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::Job(PanelJobResult::Themes { files, chosen }) => {
                PanelReaction::show(self.fill(files, chosen.as_deref(), view))
            }
            _ => PanelReaction::Ignored,
        }
    }

    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let mut effects = vec![LayerEffect::Close];
        if let Some((name, theme)) = self.all.get(item) {
            let value = Some(Value::String(name.clone()));
            effects.push(LayerEffect::ShowTheme(theme.clone()));
            effects.push(LayerEffect::Job(PanelJob::Change { file: "userSettings", key: "theme".into(), value }));
        }
        effects
    }

    /// Shows the theme of the selected row.
    fn moved(&mut self, item: Option<usize>) -> Vec<LayerEffect> {
        let theme = item.and_then(|item| self.all.get(item)).map(|(_, theme)| theme.clone());
        theme.map(LayerEffect::ShowTheme).into_iter().collect()
    }

    fn key(&mut self, key: KeyPress, _: Option<usize>, view: &LayerView<'_>) -> Vec<LayerEffect> {
        if view.preferences.bindings.find(&[KeyContext::ThemePicker], &[key])
            != BindingMatch::KeyAction(KeyAction::SyntaxToggle)
        {
            return Vec::new();
        }
        vec![LayerEffect::ShowSyntax(match view.preferences.syntax {
            SyntaxColouring::Coloured => SyntaxColouring::Plain,
            SyntaxColouring::Plain => SyntaxColouring::Coloured,
        })]
    }

    /// A change in the colours of the theme.
    fn details(&self, _: Option<usize>, view: &LayerView<'_>) -> Vec<StyledLine> {
        let (old, new) = ("let answer = 41; // almost\n", "let answer = 42; // found\n");
        let (theme, columns) = (&view.preferences.theme, view.size.columns);
        diff::render(&diff::diff_texts(old, new, 1), &diff::DiffOptions { theme, columns, path: "a.rs", limit: 4 })
    }

    fn dismissed(&mut self) -> Vec<LayerEffect> {
        vec![LayerEffect::ShowTheme(self.before.clone())]
    }
}
