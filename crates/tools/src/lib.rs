//! The tool contract, the registry and the built-in tools. A tool never asks for leave and never touches the
//! transcript: it declares what it would access, runs, and returns an outcome.

pub mod contract;
pub mod state;

pub use contract::{
    Call, CallCx, InputError, Outcome, Sharing, SideModel, SideReply, SideRequest, Spec, Tool, Workspace,
};
