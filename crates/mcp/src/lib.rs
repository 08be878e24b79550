//! stub
pub mod auth;
mod elicit;
mod owner;
pub use elicit::{Action, Elicitation, Elicited};
pub use owner::{Headers, Occasion, Owner};
