//! Speaks MCP as a client: servers over stdio, streamable HTTP, the older SSE transport and the host's own bridge, on the
//! official library, whose types never leave this crate. Both revisions that servers speak are spoken: 2025-11-25 with its
//! handshake, and 2026-07-28, which has none.
//!
//! [`Host`] owns every connection of a session. Connections are made in the background, a few at a time; whoever needs
//! one waits for it with a limit. A server that fails is a status, never an error of the session. Children come from
//! `sys::process`, so that none outlives us. What the crate cannot know (roots, people, credentials) it asks its [`McpOwner`].

pub mod auth;
mod catalogue;
mod client;
mod connect;
mod elicit;
mod error;
mod host;
mod multi_round;
mod names;
mod owner;
mod result;
mod schema;
pub mod serve;
mod server;
mod settings;
mod subscription;
mod transport;

pub use catalogue::{McpResource, PromptArgument, RemotePrompt, RemoteTool, ToolAnnotations, ToolMeta};
pub use elicit::{ElicitAction, Elicitation, ElicitationAnswer};
pub use error::CallError;
pub use host::{McpHost, McpManifest, McpServerSpec, ServerSwitch};
pub use names::{SEPARATOR, exposed_server, exposed_tool};
pub use owner::{HeaderOccasion, Headers, McpOwner};
pub use result::{CallResult, ResourceBody, ResultPart};
pub use server::{McpStatus, ServerInfo, ServerView};
pub use settings::{CallLimits, McpSettings, RetryPauses};
