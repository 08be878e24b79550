//! The tools of one session. The order is fixed when the registry is built, and the request fragments are always
//! the same bytes, because they are part of the cached prefix.

use crate::builtin::{self, BuiltinTool};
use crate::contract::{Tool, ToolSpec};
use crate::facts::ToolClass;
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::Arc;

pub struct ToolRegistry {
    rows: Vec<BuiltinTool>,
}

impl ToolRegistry {
    /// The built-in tools whose names `keep` accepts.
    pub fn new(keep: impl Fn(&str) -> bool) -> Self {
        let mut rows = builtin::table();
        rows.retain(|row| keep(&row.tool.spec().name));
        Self { rows }
    }

    /// Appends a tool from another source (subagents, MCP). Returns false and adds nothing when the name is taken.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> bool {
        let free = !self.rows.iter().any(|row| row.tool.spec().name == tool.spec().name);
        if free {
            self.rows.push(BuiltinTool { tool, is_offered: true });
        }
        free
    }

    /// A copy with only the tools whose names `keep` accepts.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&str) -> bool) -> Self {
        let kept = self.rows.iter().filter(|row| keep(&row.tool.spec().name));
        Self { rows: kept.map(|row| BuiltinTool { tool: Arc::clone(&row.tool), is_offered: row.is_offered }).collect() }
    }

    /// A copy with further tools appended. Tools whose names are taken are left out.
    #[must_use]
    pub fn with(&self, further: Vec<BuiltinTool>) -> Self {
        let mut taken: HashSet<String> = self.names().map(str::to_owned).collect();
        let copy = |row: &BuiltinTool| BuiltinTool { tool: Arc::clone(&row.tool), is_offered: row.is_offered };
        let mut rows: Vec<BuiltinTool> = self.rows.iter().map(copy).collect();
        rows.extend(further.into_iter().filter(|row| taken.insert(row.tool.spec().name.to_string())));
        Self { rows }
    }

    /// Offers tools that are otherwise only callable: those whose class `chosen` accepts.
    pub fn offer(&mut self, chosen: impl Fn(ToolClass) -> bool) {
        for row in self.rows.iter_mut().filter(|row| chosen(row.tool.spec().facts.class)) {
            row.is_offered = true;
        }
    }

    /// Finds a tool by its current or an older name, offered or not.
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let name = wire::names::canonical(name);
        self.rows.iter().map(|row| &row.tool).find(|tool| tool.spec().name == name)
    }

    /// The first tool of a class, offered or not.
    pub fn of_class(&self, class: ToolClass) -> Option<&Arc<dyn Tool>> {
        self.rows.iter().map(|row| &row.tool).find(|tool| tool.spec().facts.class == class)
    }

    /// Every name, offered or only callable.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|row| &*row.tool.spec().name)
    }

    pub fn is_offered(&self, name: &str) -> bool {
        self.rows.iter().any(|row| row.is_offered && row.tool.spec().name == name)
    }

    /// The specs of the offered tools, in order.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.rows.iter().filter(|row| row.is_offered).map(|row| row.tool.spec())
    }

    /// `{"name","description","input_schema"}` per offered tool, in order.
    pub fn tool_fragments(&self) -> Vec<Box<RawValue>> {
        self.specs().filter_map(fragment).collect()
    }
}

#[derive(Serialize)]
struct ToolFragment<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
}

/// `None` only when the schema is not JSON, which never happens: built-in schemas are valid, and adapters check theirs.
fn fragment(spec: &ToolSpec) -> Option<Box<RawValue>> {
    let input_schema: &RawValue = serde_json::from_str(&spec.schema).ok()?;
    wire::raw::to_raw(&ToolFragment { name: &spec.name, description: &spec.description, input_schema }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_tool_is_well_formed() {
        let mut names = BTreeSet::new();
        for row in builtin::table() {
            let spec = row.tool.spec();
            assert!(names.insert(spec.name.clone()), "{} twice", spec.name);
            let schema: serde_json::Value = serde_json::from_str(&spec.schema).unwrap();
            assert_eq!(serde_json::to_string(&schema).unwrap(), spec.schema, "{}: schema is not compact", spec.name);
            assert_eq!(schema["type"], "object", "{}", spec.name);
            assert!(schema["properties"].is_object(), "{}", spec.name);
            assert_eq!(spec.description.trim(), spec.description, "{}", spec.name);
            assert!(!spec.description.is_empty(), "{}", spec.name);
        }
    }

    #[test]
    fn the_tool_block_stays_small() {
        let block: usize = ToolRegistry::new(|_| true).tool_fragments().iter().map(|f| f.get().len()).sum();
        assert!(block < 24 * 1024, "tool block is {block} bytes");
    }

    #[test]
    fn fragments_are_stable_and_filtered() {
        // [TST-15]
        let all = ToolRegistry::new(|_| true);
        assert_eq!(
            format!("{:?}", all.tool_fragments()),
            format!("{:?}", ToolRegistry::new(|_| true).tool_fragments())
        );
        assert!(all.find("MultiEdit").is_some());
        assert!(all.specs().all(|s| s.name != "MultiEdit"));
        let some = ToolRegistry::new(|name| name == "Read");
        assert_eq!(some.specs().map(|s| &*s.name).collect::<Vec<_>>(), ["Read"]);
        assert!(some.tool_fragments()[0].get().starts_with(r#"{"name":"Read","description":""#));
        assert!(some.find("Write").is_none());
        assert!(ToolRegistry::new(|_| false).tool_fragments().is_empty());
    }
}
