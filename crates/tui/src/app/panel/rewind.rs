//! `/rewind`: the prompts of the conversation with what their turns changed, newest last, and below them the branches that
//! were left. A choice opens what going back there would do (`choice`).

mod choice;
mod conflicts;
mod report;

use super::{Panel, PanelContent, PanelFrame, PanelNews, PanelReaction, PanelSource, pages};
use crate::app::layers::LayerView;
use crate::app::layers::effects::LayerEffect;
use crate::app::record::told::typed_text;
use crate::app::select::{SelectItem, TypingMode};
use crate::app::spinner::faint;
use crate::app::tools::counted;
use choice::RewindChoice;
pub use conflicts::RewindAsked;
pub use report::report_words;
use serde::Deserialize;
use serde_json::Value;
use terminal::style::{StyledLine, TextStyle};
use terminal::text;
use wire::control::HostRequest;

const TITLE: &str = "Go back to before a prompt";
const NOTHING: &str = "Nothing to go back to yet: there is no prompt in this conversation.";
/// Rows of the chosen prompt below the list.
const PROMPT_ROWS: usize = 3;
/// Stands before the changes of a turn in which commands changed something.
const SHELL_MARK: &str = "! ";
const NO_MARK: &str = "  ";
/// Below this many columns a row says less.
const NARROW: usize = 60;

/// A prompt that can be gone back to.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct RewindPrompt {
    pub uuid: String,
    text: String,
    at: String,
    files: usize,
    added: u64,
    removed: u64,
    shell_effects: bool,
    pub has_checkpoint: bool,
}

/// A branch that was left.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct LeftBranch {
    leaf_uuid: String,
    prompts: usize,
    text: String,
    at: String,
    prompt_uuids: Vec<String>,
    has_checkpoint: bool,
}

/// The answer to `x_rewind_list`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RewindPlaces {
    prompts: Vec<RewindPrompt>,
    other_prompts: Vec<RewindPrompt>,
    branches: Vec<LeftBranch>,
}

/// A place in the conversations of this session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RewindGoal {
    Before(RewindPrompt),
    /// The end of a branch that was left.
    End(LeftBranch),
}

impl RewindPrompt {
    pub fn shown(&self) -> String {
        one_line(&self.text)
    }

    /// What its turn changed; in a narrow window without the number of files, which stands below the list.
    fn changes(&self, is_narrow: bool) -> String {
        match (self.has_checkpoint, self.files, self.shell_effects) {
            (false, ..) => "not saved".into(),
            (true, 0, false) => "no changes".into(),
            (true, 0, true) => "by commands".into(),
            // Lines are counted for edits of tools only.
            _ if self.added + self.removed == 0 => counted(self.files, "file"),
            _ if is_narrow => format!("+{} −{}", self.added, self.removed),
            _ => format!("+{} −{} in {}", self.added, self.removed, counted(self.files, "file")),
        }
    }

    fn item(&self, view: &LayerView<'_>) -> SelectItem {
        let (mark, words) = match (self.shell_effects, view.has_screen_reader()) {
            (true, true) => ("", "with commands, "),
            (true, false) => (SHELL_MARK, ""),
            (false, true) => ("", ""),
            (false, false) => (NO_MARK, ""),
        };
        SelectItem::new(self.shown(), format!("{words}{}", age(&self.at)))
            .value(format!("{mark}{}", self.changes(view.size.columns < NARROW)))
            .search(self.text.clone())
    }

    fn lines(&self, view: &LayerView<'_>) -> Vec<StyledLine> {
        let theme = &view.preferences.theme;
        let columns = view.size.columns.saturating_sub(4).max(8);
        let text = text::clean(&typed_text(&self.text));
        let rows = text.lines().flat_map(|line| StyledLine::styled(line, TextStyle::PLAIN).wrapped(columns, 0));
        let mut rows: Vec<StyledLine> = rows.take(PROMPT_ROWS + 1).map(|row| row.indented(2)).collect();
        if rows.len() > PROMPT_ROWS {
            rows.truncate(PROMPT_ROWS);
            rows.push(faint("  …", theme));
        }
        let commands = if self.shell_effects { "with what commands did" } else { "" };
        let mut facts = vec![age(&self.at), self.changes(false), commands.to_owned()];
        facts.retain(|fact| !fact.is_empty());
        rows.push(faint(format!("  {}", facts.join(" · ")), theme));
        rows
    }
}

impl LeftBranch {
    fn item(&self) -> SelectItem {
        let facts = format!("other branch · {}", age(&self.at));
        let value = format!("{NO_MARK}{}", counted(self.prompts, "prompt"));
        SelectItem::new(format!("⑂ {}", one_line(&self.text)), facts).value(value).uncounted()
    }
}

impl RewindGoal {
    /// What the place is called.
    pub fn title(&self) -> String {
        match self {
            Self::Before(prompt) => format!("Back to before: {}", prompt.shown()),
            Self::End(branch) => format!("On with the branch: {}", one_line(&branch.text)),
        }
    }

    fn to(&self) -> &str {
        match self {
            Self::Before(prompt) => &prompt.uuid,
            Self::End(branch) => &branch.leaf_uuid,
        }
    }

    fn is_branch(&self) -> bool {
        matches!(self, Self::End(_))
    }

    fn has_checkpoint(&self) -> bool {
        match self {
            Self::Before(prompt) => prompt.has_checkpoint,
            Self::End(branch) => branch.has_checkpoint,
        }
    }

    fn at(&self) -> &str {
        match self {
            Self::Before(prompt) => &prompt.at,
            Self::End(branch) => &branch.at,
        }
    }
}

/// How long ago a time was; empty when it is not known.
fn age(timestamp: &str) -> String {
    sys::clock::parse_iso(timestamp).map(engine::query::age).unwrap_or_default()
}

/// A prompt as it was typed, on one line.
fn one_line(prompt: &str) -> String {
    text::clean(&typed_text(prompt)).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A row of the list.
#[derive(Clone, Debug)]
enum RewindRow {
    /// The conversation before `/clear`.
    Previous(String),
    Prompt(RewindPrompt),
    Branch(LeftBranch),
}

/// `/rewind`
#[derive(Debug, Default)]
pub struct RewindList {
    rows: Vec<RewindRow>,
    /// Prompts of other branches.
    others: Vec<RewindPrompt>,
}

impl RewindList {
    pub fn panel() -> Panel {
        PanelFrame::waiting(TITLE).with(Self::default())
    }

    fn fill(&mut self, body: &Value, view: &LayerView<'_>) -> PanelFrame {
        let RewindPlaces { prompts, other_prompts, branches } = RewindPlaces::deserialize(body).unwrap_or_default();
        let previous = view.session.previous_id.clone().map(RewindRow::Previous);
        let prompts = prompts.into_iter().map(RewindRow::Prompt);
        // The newest branch stands nearest to the prompts.
        let branches = branches.into_iter().rev().map(RewindRow::Branch);
        self.rows = previous.into_iter().chain(prompts).chain(branches).collect();
        self.others = other_prompts;
        if self.rows.is_empty() {
            return PanelFrame::page(TITLE, pages::plain(NOTHING)).keys("esc to close");
        }
        let newest = self.rows.iter().rposition(|row| matches!(row, RewindRow::Prompt(_))).unwrap_or_default();
        let items: Vec<SelectItem> = self.rows.iter().map(|row| row.item(view)).collect();
        let has_mark = items.iter().any(|item| item.value.starts_with(SHELL_MARK));
        let mark = if has_mark { " · ! with what commands did" } else { "" };
        PanelFrame::list(TITLE, items, TypingMode::Filters)
            .counted("prompt")
            .chosen(newest)
            .keys(format!("enter to choose · esc to close{mark}"))
    }
}

impl RewindRow {
    fn item(&self, view: &LayerView<'_>) -> SelectItem {
        match self {
            Self::Prompt(prompt) => prompt.item(view),
            Self::Branch(branch) => branch.item(),
            Self::Previous(id) => {
                let id = id.get(..8).unwrap_or(id);
                SelectItem::new(format!("/resume {id} (previous session)"), "").uncounted()
            }
        }
    }
}

impl PanelContent for RewindList {
    fn source(&self) -> Option<PanelSource> {
        Some(PanelSource::Engine(HostRequest::RewindList))
    }

    fn receive(&mut self, news: &PanelNews, view: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::Response(body) => PanelReaction::show(self.fill(body, view)),
            _ => PanelReaction::Ignored,
        }
    }

    fn choose(&mut self, item: usize, view: &LayerView<'_>) -> Vec<LayerEffect> {
        match self.rows.get(item) {
            Some(RewindRow::Prompt(prompt)) => {
                vec![LayerEffect::OpenPanel(RewindChoice::panel(RewindGoal::Before(prompt.clone())))]
            }
            Some(RewindRow::Branch(branch)) => {
                vec![LayerEffect::OpenPanel(BranchPlaces::panel(branch, &self.others, view))]
            }
            Some(RewindRow::Previous(id)) => vec![LayerEffect::Close, LayerEffect::ResumePrevious(id.clone())],
            None => Vec::new(),
        }
    }

    fn details(&self, item: Option<usize>, view: &LayerView<'_>) -> Vec<StyledLine> {
        match item.and_then(|item| self.rows.get(item)) {
            Some(RewindRow::Prompt(prompt)) => prompt.lines(view),
            Some(RewindRow::Branch(branch)) => {
                let words = format!("  {} that an earlier rewind left: enter to go on with it", age(&branch.at));
                vec![faint(words, &view.preferences.theme)]
            }
            Some(RewindRow::Previous(_)) => {
                vec![faint("  The conversation before /clear", &view.preferences.theme)]
            }
            None => Vec::new(),
        }
    }
}

/// The places of a branch: before each of its prompts, and its end.
#[derive(Debug)]
struct BranchPlaces {
    goals: Vec<RewindGoal>,
}

impl BranchPlaces {
    fn panel(branch: &LeftBranch, others: &[RewindPrompt], view: &LayerView<'_>) -> Panel {
        let prompt = |uuid: &String| others.iter().find(|prompt| prompt.uuid == *uuid).cloned();
        let mut goals: Vec<RewindGoal> =
            branch.prompt_uuids.iter().filter_map(prompt).map(RewindGoal::Before).collect();
        let mut items: Vec<SelectItem> = goals
            .iter()
            .map(|goal| match goal {
                RewindGoal::Before(prompt) => prompt.item(view),
                RewindGoal::End(branch) => branch.item(),
            })
            .collect();
        goals.push(RewindGoal::End(branch.clone()));
        items.push(SelectItem::new("Its end", age(&branch.at)).value(format!("{NO_MARK}go on there")).uncounted());
        let last = items.len() - 1;
        PanelFrame::list(format!("Other branch: {}", one_line(&branch.text)), items, TypingMode::Filters)
            .counted("prompt")
            .chosen(last)
            .keys("enter to choose · esc to go back")
            .with(Self { goals })
    }
}

impl PanelContent for BranchPlaces {
    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let goal = self.goals.get(item).cloned();
        goal.map(|goal| LayerEffect::OpenPanel(RewindChoice::panel(goal))).into_iter().collect()
    }

    fn details(&self, item: Option<usize>, view: &LayerView<'_>) -> Vec<StyledLine> {
        match item.and_then(|item| self.goals.get(item)) {
            Some(RewindGoal::Before(prompt)) => prompt.lines(view),
            Some(RewindGoal::End(_)) | None => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
