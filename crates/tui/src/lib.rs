//! The interactive terminal. `app` is pure: inputs in, effects out. `run` connects it to the engine and the terminal;
//! all output goes through `terminal::surface`.

pub mod ansi;
pub mod app;
pub mod clipboard;
pub mod completion;
pub mod diff;
pub mod images;
pub mod notify;
pub mod picker;
mod printed;
#[cfg(test)]
mod random;
pub mod reload;
mod run;
pub mod screen_reader;
pub mod status_line;
#[cfg(test)]
mod test_events;

pub use app::focus::ViewMode;
pub use app::{MotionLevel, Preferences};
pub use printed::SessionPrinter;
pub use run::{TuiStart, run};
