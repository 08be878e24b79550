//! What going back to a place would do, and which part of it is done.

use super::conflicts::{ConflictList, RewindAsked};
use super::report::{RewindReport, diff_page};
use super::{RewindGoal, age};
use crate::app::layers::effects::LayerEffect;
use crate::app::layers::{LayerRank, LayerView};
use crate::app::panel::{Panel, PanelContent, PanelFrame, PanelNews, PanelReaction, PanelSource};
use crate::app::rewound::SummarisedPart;
use crate::app::select::{SelectItem, TypingMode};
use crate::app::spinner::faint;
use serde::Deserialize;
use serde_json::Value;
use terminal::keys::KeyPress;
use terminal::style::StyledLine;
use terminal::theme::ThemeToken;
use wire::control::{HostRequest, RewindConversation};

/// Rows of the panel that are neither options nor about them.
const FRAME_ROWS: usize = 7;
const KEYS: &str = "enter to choose · d shows the changes · esc to go back";
const KEYS_WITHOUT_CHANGES: &str = "enter to choose · esc to go back";

/// The parts that go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RewoundPart {
    Both,
    Conversation,
    Code,
}

impl RewoundPart {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Conversation => "conversation",
            Self::Code => "code",
        }
    }

    pub(super) fn has_conversation(self) -> bool {
        self != Self::Code
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RewindOption {
    GoBack(RewoundPart),
    Summarise(SummarisedPart),
    NeverMind,
}

impl RewindOption {
    fn name(self) -> &'static str {
        match self {
            Self::GoBack(RewoundPart::Both) => "Code and conversation",
            Self::GoBack(RewoundPart::Conversation) => "Conversation",
            Self::GoBack(RewoundPart::Code) => "Code",
            Self::Summarise(SummarisedPart::From) => "Summarise from here",
            Self::Summarise(SummarisedPart::UpTo) => "Summarise up to here",
            Self::NeverMind => "Never mind",
        }
    }

    /// What becomes of conversation and files.
    fn about(self, is_branch: bool) -> &'static str {
        match (self, is_branch) {
            (Self::GoBack(RewoundPart::Both), false) => {
                "The files return to their state before this prompt. The conversation goes on from there, and the prompt \
                 comes back for editing."
            }
            (Self::GoBack(RewoundPart::Conversation), false) => {
                "The conversation goes on before this prompt, which comes back for editing. The files stay as they are."
            }
            (Self::GoBack(RewoundPart::Code), false) => {
                "The files return to their state before this prompt. The conversation stays as it is."
            }
            (Self::GoBack(RewoundPart::Both), true) => {
                "The conversation goes on at the end of this branch, with the files as they were then."
            }
            (Self::GoBack(RewoundPart::Conversation), true) => {
                "The conversation goes on at the end of this branch. The files stay as they are."
            }
            (Self::GoBack(RewoundPart::Code), true) => {
                "The files become as they were at the end of this branch. The conversation stays as it is."
            }
            (Self::Summarise(SummarisedPart::From), _) => {
                "A summary takes the place of this prompt and everything after it. The files stay as they are."
            }
            (Self::Summarise(SummarisedPart::UpTo), _) => {
                "A summary takes the place of everything before this prompt. The files stay as they are."
            }
            (Self::NeverMind, _) => "Nothing changes.",
        }
    }
}

#[derive(Debug)]
pub(super) struct RewindChoice {
    goal: RewindGoal,
    report: RewindReport,
    options: Vec<RewindOption>,
}

impl RewindChoice {
    pub(super) fn panel(goal: RewindGoal) -> Panel {
        PanelFrame::waiting(goal.title()).with(Self { goal, report: RewindReport::default(), options: Vec::new() })
    }

    fn fill(&mut self, body: &Value) -> PanelFrame {
        self.report = body.get("report").and_then(|report| RewindReport::deserialize(report).ok()).unwrap_or_default();
        let all = [
            RewindOption::GoBack(RewoundPart::Both),
            RewindOption::GoBack(RewoundPart::Conversation),
            RewindOption::GoBack(RewoundPart::Code),
            RewindOption::Summarise(SummarisedPart::From),
            RewindOption::Summarise(SummarisedPart::UpTo),
            RewindOption::NeverMind,
        ];
        let has_changes = self.report.has_changes();
        let is_offered = |option: &RewindOption| match option {
            RewindOption::GoBack(RewoundPart::Both | RewoundPart::Code) => has_changes,
            RewindOption::Summarise(_) => !self.goal.is_branch(),
            RewindOption::GoBack(RewoundPart::Conversation) | RewindOption::NeverMind => true,
        };
        self.options = all.into_iter().filter(is_offered).collect();
        let items = self.options.iter().map(|option| SelectItem::new(option.name(), "")).collect();
        PanelFrame::list(self.goal.title(), items, TypingMode::Digits).keys(if has_changes {
            KEYS
        } else {
            KEYS_WITHOUT_CHANGES
        })
    }

    fn summarise(&self, direction: SummarisedPart) -> Vec<LayerEffect> {
        vec![
            LayerEffect::Dismiss(LayerRank::Panel),
            LayerEffect::SummarisePart { prompt: self.goal.to().to_owned(), direction },
        ]
    }
}

impl PanelContent for RewindChoice {
    fn source(&self) -> Option<PanelSource> {
        let part = if self.goal.has_checkpoint() { RewoundPart::Code } else { RewoundPart::Conversation };
        Some(PanelSource::Engine(HostRequest::Rewind(RewindConversation {
            to: self.goal.to().to_owned(),
            part: Some(part.name().to_owned()),
            branch: self.goal.is_branch().then_some(true),
            dry_run: Some(true),
            overwrite: Vec::new(),
        })))
    }

    fn receive(&mut self, news: &PanelNews, _: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::Response(body) => PanelReaction::show(self.fill(body)),
            _ => PanelReaction::Ignored,
        }
    }

    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        match self.options.get(item) {
            Some(RewindOption::GoBack(part)) => {
                let asked = RewindAsked { goal: self.goal.clone(), part: *part };
                if *part != RewoundPart::Conversation && !self.report.kept.is_empty() {
                    return vec![LayerEffect::OpenPanel(ConflictList::panel(asked, &self.report.kept))];
                }
                asked.send(Vec::new())
            }
            Some(RewindOption::Summarise(direction)) => self.summarise(*direction),
            Some(RewindOption::NeverMind) => vec![LayerEffect::Dismiss(LayerRank::Panel)],
            None => Vec::new(),
        }
    }

    fn key(&mut self, key: KeyPress, _: Option<usize>, view: &LayerView<'_>) -> Vec<LayerEffect> {
        if key != KeyPress::char('d') || !self.report.has_changes() {
            return Vec::new();
        }
        vec![LayerEffect::OpenPanel(diff_page(&self.report, &self.goal.title(), view))]
    }

    fn details(&self, item: Option<usize>, view: &LayerView<'_>) -> Vec<StyledLine> {
        let Some(option) = item.and_then(|item| self.options.get(item)) else { return Vec::new() };
        let rows = self.about(*option, view).into_iter().flat_map(|line| line.wrapped(view.size.columns, 2));
        // All options stay in sight.
        rows.take(view.size.rows.saturating_sub(self.options.len() + FRAME_ROWS).max(1)).collect()
    }
}

impl RewindChoice {
    /// What an option does, and what it would change.
    fn about(&self, option: RewindOption, view: &LayerView<'_>) -> Vec<StyledLine> {
        let theme = &view.preferences.theme;
        let mut lines = vec![StyledLine::plain(format!("  {}", option.about(self.goal.is_branch())))];
        let age = age(self.goal.at());
        let about_age = format!("  {age}");
        lines.extend((!age.is_empty()).then(|| faint(about_age, theme)));
        if let RewindOption::GoBack(part) = option {
            if part != RewoundPart::Conversation {
                lines.extend(self.report.summary(view));
            }
            if part.has_conversation() {
                let names: Vec<&str> = view.session.background.iter().map(|task| task.description.as_str()).collect();
                let running = format!("  Goes on in the background: {}", names.join(", "));
                lines.extend((!names.is_empty()).then(|| StyledLine::styled(running, theme.fg(ThemeToken::Warning))));
            }
        }
        lines
    }
}
