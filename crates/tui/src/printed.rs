//! A session printed without being interactive: the lines that the interface would leave in the scrollback, drawn by
//! the interface itself.

use crate::app::session::SessionDisplay;
use crate::app::{App, AppInput, Preferences};
use engine::Event;
use std::path::Path;
use terminal::style::{BackgroundFill, ColourDepth, StyledLine, TerminalCapabilities, encode};
use terminal::surface::TerminalSize;
use terminal::theme::{self, ColourHints};

/// Rows only matter to what is live, and nothing is.
const ROWS: usize = 40;

#[derive(Debug)]
pub struct SessionPrinter {
    app: App,
    /// `None` prints plain text.
    capabilities: Option<TerminalCapabilities>,
}

impl SessionPrinter {
    /// Prints for a terminal of this width with the colours that `env` speaks of, or as plain text.
    pub fn new(cwd: &Path, columns: usize, terminal_env: Option<&sys::Env>) -> Self {
        let cwd = cwd.to_string_lossy().into_owned();
        let session = SessionDisplay { shown_cwd: cwd.clone(), cwd, ..SessionDisplay::default() };
        let app = App::new(Preferences::default(), TerminalSize { columns, rows: ROWS }, session);
        let capabilities = terminal_env.map(|env| TerminalCapabilities { depth: colour_depth(env), links: false });
        Self { app, capabilities }
    }

    /// The prompt of the user, as text to print.
    pub fn prompt(&mut self, text: &str) -> String {
        self.app.print_prompt(text);
        self.printed()
    }

    /// What this event adds.
    pub fn event(&mut self, event: Event) -> String {
        self.app.update(AppInput::Event(event));
        self.printed()
    }

    fn printed(&mut self) -> String {
        self.app.take_finished().iter().map(|line| self.line(line)).collect()
    }

    fn line(&self, line: &StyledLine) -> String {
        let Some(capabilities) = self.capabilities else {
            return format!("{}\n", terminal::text::clean(&line.text()).trim_end());
        };
        let mut bytes = Vec::new();
        encode(line, capabilities, BackgroundFill::ToEdge, &mut bytes);
        bytes.push(b'\n');
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The colours of the terminal that `env` describes.
pub(crate) fn colour_depth(env: &sys::Env) -> ColourDepth {
    theme::depth(ColourHints {
        term: env.get("TERM").unwrap_or_default(),
        colorterm: env.get("COLORTERM").unwrap_or_default(),
        no_color: env.non_empty("NO_COLOR").is_some(),
        force_color: env.get("FORCE_COLOR"),
    })
}
