//! What users add: agents, hooks, skills, commands, MCP servers, plan mode, worktrees.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

#[path = "../common/mod.rs"]
mod common;

mod agent_safety;
mod agent_trust;
mod agents;
mod agents_kill;
mod commands;
mod findings_mcp;
mod hook_callbacks;
mod hook_handlers;
mod hooks;
mod mcp;
mod mcp_background;
mod mcp_config;
mod mcp_login;
mod mcp_session;
mod plan_mode;
mod skills;
mod worktrees;
