//! The interactive terminal. `app` is pure: inputs in, effects out. `run` connects it to the engine and the terminal;
//! everything that is written goes through `surface`.

pub mod app;
pub mod clipboard;
pub mod completion;
pub mod diff;
pub mod editor;
pub mod highlight;
pub mod images;
pub mod keys;
pub mod markdown;
pub mod notify;
pub mod picker;
pub mod reload;
mod run;
pub mod screen_reader;
pub mod status_line;
pub mod style;
pub mod surface;
pub mod text;
pub mod theme;

pub use app::{MotionLevel, Preferences};
pub use run::{TuiStart, run};
