//! What stands at the top of a conversation: version, model and effort, folder and repository. It is drawn with the live
//! region until everything in it is known or something is printed below it.

use super::App;
use super::footer::model_name;
use engine::repository::RepositoryState;
use terminal::style::{StyledLine, TextStyle};
use terminal::text;
use terminal::theme::ThemeToken;

const HINTS: &str = "/help  /resume";
/// The column at which the hints end in a wide window. A wide row would be wrapped into several when the window becomes narrow.
const HINTS_END: usize = 80;

/// A banner that is not printed yet.
#[derive(Clone, Debug)]
pub struct Banner {
    version: String,
}

impl App {
    pub(super) fn hold_banner(&mut self, version: &str) {
        self.banner = Some(Banner { version: version.to_owned() });
    }

    /// The rows of a banner that is not printed yet.
    pub(super) fn banner_rows(&self) -> Vec<StyledLine> {
        self.banner.as_ref().map(|banner| self.banner_lines(banner)).unwrap_or_default()
    }

    fn banner_lines(&self, banner: &Banner) -> Vec<StyledLine> {
        let theme = &self.preferences.theme;
        let faint = theme.fg(ThemeToken::Inactive);
        let mut title = StyledLine::styled("  ◆ ", theme.fg(ThemeToken::Accent));
        title.push("gimlet", theme.fg(ThemeToken::Accent).bold());
        title.push(format!(" {}", banner.version), faint);
        let model = self.session.model.as_deref().map(|id| model_name(&self.session, id));
        let effort = self.session.effort.clone().filter(|effort| !effort.is_empty());
        for part in [model, effort].into_iter().flatten() {
            title.push(format!(" · {part}"), faint);
        }
        let mut place = StyledLine::plain("    ");
        place.push(text::clean(&self.session.shown_cwd).replace('\n', " "), theme.fg(ThemeToken::Suggestion));
        let repository = self.repository.clone().unwrap_or_default();
        let changed = match repository.changed {
            Some(count) if count > 0 => Some(format!("{count} changed")),
            Some(_) | None => None,
        };
        let branch = match repository.branch.as_str() {
            "" => None,
            "HEAD" => Some("no branch".to_owned()),
            name => Some(text::clean(name).replace('\n', " ")),
        };
        for part in [branch, changed].into_iter().flatten() {
            place.push(format!(" · {part}"), faint);
        }
        let gap = self.size.columns.min(HINTS_END).saturating_sub(place.width() + text::width(HINTS) + 1);
        if self.preferences.shows_hints && gap >= 2 {
            place.push(" ".repeat(gap), TextStyle::PLAIN);
            place.push(HINTS, faint);
        }
        [title, place].map(|line| line.truncated(self.size.columns)).to_vec()
    }

    /// Prints the banner when nothing in it can change any more.
    pub(super) fn print_complete_banner(&mut self) {
        if self.is_banner_complete() {
            self.print_banner();
        }
    }

    /// Whether everything is known that the banner says.
    pub(super) fn is_banner_complete(&self) -> bool {
        self.repository.is_some() && self.session.model.is_some() && self.session.effort.is_some()
    }

    /// Prints the banner as it is, before what is printed next.
    pub(super) fn print_banner(&mut self) {
        if let Some(banner) = self.banner.take() {
            let mut lines = self.banner_lines(&banner);
            if self.printer.finished.first().is_some_and(|line| !line.is_empty()) {
                lines.push(StyledLine::new());
            }
            self.printer.printed = true;
            self.printer.finished.splice(0..0, lines);
        }
    }

    pub(super) fn receive_repository(&mut self, state: RepositoryState) {
        self.repository = Some(state);
        self.print_complete_banner();
    }
}
