//! What the demo says around the conversation: what is real, where everything is, and what to do next.

use super::stage::{DemoStage, RULES};

#[derive(Clone, Copy)]
enum DemoPaint {
    Bold,
    Dim,
    Good,
}

pub(super) struct DemoWords {
    pub(super) colours: bool,
}

impl DemoWords {
    /// Shown in the interface.
    pub(super) const NOTICE: &'static str =
        "This is the demo: the model is recorded, everything else is real. Say yes to its question; /exit leaves.";

    pub(super) fn opening(&self, stage: &DemoStage) -> String {
        let title = self.paint(DemoPaint::Bold, "gimlet demo");
        let folder = self.paint(DemoPaint::Dim, &stage.folder().display().to_string());
        let rules = self.paint(DemoPaint::Dim, &RULES.join("  "));
        format!(
            "{title}: the model is recorded, everything else is real.\n\
             Loop, tools, permissions and transcript work as always. No key, no network.\n\
             Nothing is written outside this folder, which you may delete afterwards:\n\
             \x20 folder   {folder}\n  allowed  {rules}\n\n"
        )
    }

    pub(super) fn closing(&self, stage: &DemoStage) -> String {
        let verdict = self.paint(DemoPaint::Good, "✓ sh test.sh passes in the project.");
        format!(
            "\n{verdict} The model was recorded; the edit and the test runs were not.\n{}\n\
             Look around in the interface itself, still without a key:\n\
             \x20 gimlet demo --tui\n\
             With a key, on your own project:\n\
             \x20 export ANTHROPIC_API_KEY=…\n  gimlet -p \"explain this project\"\n",
            self.places(stage)
        )
    }

    /// The recorded task was not finished.
    pub(super) fn left_early(&self, stage: &DemoStage) -> String {
        format!("\nThe project is not fixed yet. `gimlet demo --tui` starts again.\n{}", self.places(stage))
    }

    fn places(&self, stage: &DemoStage) -> String {
        let project = self.paint(DemoPaint::Dim, &stage.project().display().to_string());
        let transcript = self.paint(DemoPaint::Dim, &stage.transcript().display().to_string());
        format!("  project     {project}\n  transcript  {transcript}\n")
    }

    fn paint(&self, paint: DemoPaint, text: &str) -> String {
        let code = match paint {
            _ if !self.colours => return text.to_owned(),
            DemoPaint::Bold => "1",
            DemoPaint::Dim => "2",
            DemoPaint::Good => "32",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
