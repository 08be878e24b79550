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
pub mod leftovers;
pub mod list;
pub mod pastes;
pub mod purge;
pub mod registry;
pub mod relocate;
pub mod resume;
pub mod search;
pub mod snapshots;
pub mod story;
pub mod sweep;
pub mod transcript;

pub use error::{Failure, StoreError};
pub use layout::Layout;
pub use resume::{Loaded, LoadedEntry};
pub use snapshots::Snapshots;
pub use transcript::{Persist, Tap, Transcript};
