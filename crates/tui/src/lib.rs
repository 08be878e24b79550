//! The interactive terminal. `app` is pure: inputs in, effects out. `run` connects it to the engine and the terminal;
//! everything that is written goes through `surface`.

pub mod app;
pub mod completion;
pub mod diff;
pub mod editor;
pub mod highlight;
pub mod keys;
pub mod markdown;
pub mod picker;
mod run;
pub mod style;
pub mod surface;
pub mod text;
pub mod theme;

pub use app::{Motion, Preferences};
pub use run::{Start, run};
