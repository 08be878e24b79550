//! Turn a request into a stream of events from the Messages API or from a cassette.
//!
//! The crate knows nothing of sessions, tools or permissions. It keeps four promises: what the API sent is passed on
//! byte for byte (compact); the bytes of a request are a deterministic function of its parts, stable parts first; no
//! credential ever appears in an error, a log or a cassette; and whether to try again is decided by a pure policy.

pub mod assembly;
pub mod betas;
pub mod cassette;
pub mod catalog;
pub mod client;
pub mod error;
pub mod estimate;
pub mod event;
pub mod fragment;
pub mod object;
pub mod repair;
pub mod request;
pub mod retry;
pub mod sse;

pub use assembly::{Assembly, Closed};
pub use catalog::{Catalog, Effort, ModelFacts};
pub use client::{
    Auth, Client, Completion, Endpoint, FIRST_PARTY, ListedModel, Secret, Stream, Timeouts, TokenCount, Transport,
    is_first_party,
};
pub use error::{Capability, ErrorKind, ModelError};
pub use event::{Delta, EventKind, StreamEvent};
pub use fragment::{Fragment, Head, Role, Turn};
pub use repair::{KeepThinking, Limits, Needs, Repaired, repair};
pub use request::{CacheMarks, CacheTtl, Identity, Request, Thinking};
pub use retry::{Progress, RetryPolicy, Verdict};
