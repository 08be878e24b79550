//! The session: turn loop, context, calls and control. Frontends talk to it only through `Command` and `Event`.

pub mod command;
pub mod options;

pub use command::{Command, Commands, Event, Events, Prompt};
pub use options::{Boot, Options, SessionChoice, SettingSource, StartError, Thinking};

/// Opens a session. Must be called inside the runtime; the session task ends when the commands side is closed and
/// all work is done, which closes the events side.
pub async fn open(_boot: Boot) -> Result<(Commands, Events), StartError> {
    Err(StartError::new("not built yet"))
}
