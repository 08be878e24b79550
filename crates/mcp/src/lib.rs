//! The MCP client: servers over stdio, streamable HTTP, the older SSE transport, WebSocket and the host's bridge.
//! It uses the official library, whose types are not exposed. Supports both protocol revisions: 2025-11-25 with its
//! handshake, and 2026-07-28 without one.
//!
//! [`McpHost`] owns every connection of a session. Connections are made in the background, a few at a time; callers
//! wait for one with a limit. A server that fails gets a status and never fails the session. Children are started
//! by `sys::process`, so that none outlives the process. The [`McpOwner`] supplies what the crate cannot know
//! (roots, answers of people, credentials).

pub mod auth;
mod catalogue;
mod client;
mod connect;
mod connect_failure;
mod elicit;
mod error;
mod host;
mod host_shared;
mod last_words;
mod link;
mod multi_round;
mod names;
mod owner;
mod result;
mod schema;
pub mod serve;
mod server;
mod server_spec;
mod settings;
mod subscription;
mod transport;

pub use catalogue::{McpResource, PromptArgument, RemotePrompt, RemoteTool, ServerInfo, ToolAnnotations, ToolMeta};
pub use elicit::{ElicitAction, Elicitation, ElicitationAnswer};
pub use error::CallError;
pub use host::McpHost;
pub use names::{SEPARATOR, exposed_server, exposed_tool};
pub use owner::{HeaderOccasion, Headers, McpOwner};
pub use result::{CallResult, ResourceBody, ResultPart};
pub use server::ServerView;
pub use server_spec::{McpManifest, McpServerSpec, McpStatus, ServerSwitch};
pub use settings::{CallLimits, McpSettings, RetryPauses};
