//! Every serialised shape gimlet reads or writes: content blocks, transcript entries, stream-json and control
//! messages, settings. Plain data only: no files, clocks, environment or async.
//!
//! Two rules apply everywhere. *Lenient in*: unknown kinds and fields never fail a read; they are kept as raw JSON.
//! *Exact out*: what gimlet writes is compact, has a fixed key order, and never contains a raw U+2028 or U+2029.

pub mod block;
pub mod control;
pub mod counting;
pub mod deceptive;
pub mod entry;
pub mod hooks;
pub mod json_schema;
pub mod mcp;
pub mod mode;
pub mod names;
pub mod percent;
pub mod raw;
pub mod sdk;
pub mod settings;
pub mod tokens;
pub mod usage;
pub mod version;
