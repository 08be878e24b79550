//! The session: turn loop, context, calls and control. Frontends talk to it only through `Command` and `Event`.

mod agents;
mod ask;
pub mod cage;
mod calls;
mod command;
mod commands;
mod compact;
mod context;
mod control;
mod decide;
pub mod facts;
mod grants;
mod history;
pub mod hooks;
mod host;
mod ledger;
mod link;
mod lore;
mod open;
pub mod options;
mod plan;
mod pressure;
mod prompts;
mod reload;
mod result;
mod resume;
mod scribe;
mod session;
mod side;
mod step;
mod structured;
mod tasks;
mod turn;

pub use command::{Command, Commands, Event, Events, Prompt};
pub use open::open;
pub use options::{Boot, Fork, Options, SessionChoice, SettingSource, StartError, Thinking};
