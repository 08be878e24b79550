//! Sessions on disk. Guarantees: only whole lines are written, in order, and never rewritten; lines that other programs
//! wrote are kept; a load reads no more than the live conversation needs. Contains no policy, no network access and no
//! interpretation of message contents.

pub mod agents;
mod backward;
pub mod budget;
pub mod checkpoints;
pub mod compactions;
pub mod error;
pub mod find;
pub mod fork;
mod head;
pub mod history;
pub mod layout;
pub mod list;
pub mod live_sessions;
pub mod narrative;
pub mod pastes;
mod pieces;
pub mod place;
pub mod purge;
pub mod record;
pub mod relocate;
pub mod resume;
pub mod search;
pub mod snapshots;
pub mod stale_folders;
pub mod sweep;
pub mod transcript;
pub mod usage;

pub use error::{StoreError, WriteFailure};
pub use layout::StoreLayout;
pub use resume::{LoadedConversation, LoadedEntry};
pub use snapshots::Snapshots;
pub use transcript::{LineObserver, Persistence, Transcript};
