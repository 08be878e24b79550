//! Turns a request into a stream of events from the Messages API or from a cassette.
//!
//! The crate does not know sessions, tools or permissions. Guarantees: what the API sent is passed on byte for byte
//! (compacted); the bytes of a request are a deterministic function of its parts, with the stable parts first; no
//! credential appears in an error, a log or a cassette; a pure policy decides about retries.

pub mod assembly;
pub mod betas;
pub mod cassette;
pub mod catalog;
pub mod client;
pub mod error;
pub mod estimate;
pub mod event;
pub mod fragment;
pub mod limits;
pub mod object;
pub mod repair;
pub mod request;
pub mod retry;
pub mod spending;
pub mod sse;

pub use assembly::{ClosedBlock, ResponseAssembly};
pub use catalog::{EffortLevel, ModelCatalog, ModelFacts};
pub use client::{
    AuthSecret, Completion, Endpoint, FIRST_PARTY, ListedModel, ModelClient, ModelTimeouts, ModelTransport,
    RequestAuth, ResponseStream, TokenCount, is_first_party,
};
pub use error::{Capability, ErrorKind, ModelError};
pub use event::{BlockDelta, EventKind, ModelEvent};
pub use fragment::{Fragment, FragmentHead, Message, Role};
pub use limits::RateLimits;
pub use repair::{KeepThinking, RepairLimits, RepairNeeds, RepairedHistory, repair};
pub use request::{CacheLife, CacheMarks, CacheTtl, ModelRequest, RequestIdentity, ThinkingParameter};
pub use retry::{ResponseProgress, RetryPolicy, RetryVerdict};
