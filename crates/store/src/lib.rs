//! Sessions on disk. Guarantees: whole lines only, in order, never rewritten; what was written by others is kept; what
//! is read is bounded by what is live. Refuses: policy, network, and any opinion on what a message means.

pub mod agents;
mod backward;
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
pub mod purge;
pub mod relocate;
pub mod resume;
pub mod search;
pub mod snapshots;
pub mod stale_folders;
pub mod sweep;
pub mod transcript;

pub use error::{StoreError, WriteFailure};
pub use layout::StoreLayout;
pub use resume::{LoadedConversation, LoadedEntry};
pub use snapshots::Snapshots;
pub use transcript::{LineObserver, Persistence, Transcript};
