//! A tool that is sent when the model asks for it: one of a server, or one of ours that few sessions need.

use super::toolset::{AvailableTool, LoadedDefinition};
use serde_json::value::RawValue;
use std::sync::Arc;
use tools::Tool;

#[derive(Clone)]
pub enum DeferredTool {
    OfServer(AvailableTool),
    OfOurs(Arc<dyn Tool>),
}

impl DeferredTool {
    /// The name that the model calls it by.
    pub fn name(&self) -> &str {
        match self {
            Self::OfServer(found) => &found.tool.exposed,
            Self::OfOurs(tool) => &tool.spec().name,
        }
    }

    pub(super) fn is_named(&self, name: &str) -> bool {
        match self {
            Self::OfServer(found) => found.tool.exposed == name || found.tool.name == name,
            Self::OfOurs(tool) => tool.spec().name == wire::names::canonical(name),
        }
    }

    pub(super) fn description(&self) -> &str {
        match self {
            Self::OfServer(found) => &found.tool.description,
            Self::OfOurs(tool) => &tool.spec().description,
        }
    }

    /// What its server says it is found by.
    pub(super) fn search_hint(&self) -> &str {
        match self {
            Self::OfServer(found) => found.tool.meta.search_hint.as_deref().unwrap_or_default(),
            Self::OfOurs(_) => "",
        }
    }

    /// `None` when the schema is not JSON.
    pub(super) fn definition(&self) -> Option<LoadedDefinition> {
        let schema = match self {
            Self::OfServer(found) => found.tool.schema.clone(),
            Self::OfOurs(tool) => tool.spec().schema.to_string(),
        };
        Some(LoadedDefinition {
            name: self.name().to_owned(),
            description: self.description().to_owned(),
            input_schema: RawValue::from_string(schema).ok()?,
            defer_loading: false,
        })
    }
}
