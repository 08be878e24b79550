//! Which items and members other keywords have evaluated, and which `unevaluatedItems` and `unevaluatedProperties`
//! therefore skip. Subschemas that apply to the same value are counted only when the value matches them.

use super::compile::{Keyword, NodeId, SchemaNode};
use super::{Schema, check};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Names of the members that the keywords of `node` evaluate, without `unevaluatedProperties` itself.
pub(super) fn properties<'v>(
    schema: &Schema,
    node: NodeId,
    members: &'v Map<String, Value>,
    value: &Value,
    depth: usize,
) -> BTreeSet<&'v str> {
    let mut walk = EvaluationWalk {
        schema,
        value,
        depth,
        names: BTreeSet::new(),
        indices: BTreeSet::new(),
        members: Some(members),
        items: &[],
    };
    walk.keywords(node, true);
    walk.names
}

/// Indices of the items that the keywords of `node` evaluate.
pub(super) fn items(schema: &Schema, node: NodeId, items: &[Value], depth: usize) -> BTreeSet<usize> {
    let value = Value::Array(items.to_vec());
    let mut walk = EvaluationWalk {
        schema,
        value: &value,
        depth,
        names: BTreeSet::new(),
        indices: BTreeSet::new(),
        members: None,
        items,
    };
    walk.keywords(node, true);
    walk.indices
}

struct EvaluationWalk<'s, 'v> {
    schema: &'s Schema,
    value: &'s Value,
    depth: usize,
    members: Option<&'v Map<String, Value>>,
    items: &'v [Value],
    names: BTreeSet<&'v str>,
    indices: BTreeSet<usize>,
}

impl EvaluationWalk<'_, '_> {
    fn fits(&self, node: NodeId) -> bool {
        check::fits(self.schema, node, self.value, self.depth)
    }

    /// Counts a subschema that applies to the same value, if the value matches it.
    fn subschema(&mut self, node: NodeId) {
        if self.fits(node) {
            self.depth += 1;
            self.keywords(node, false);
            self.depth -= 1;
        }
    }

    fn keywords(&mut self, node: NodeId, is_asking: bool) {
        let schema = self.schema;
        let SchemaNode::Keywords(keywords) = &schema.nodes[node] else { return };
        for keyword in keywords {
            match keyword {
                Keyword::Ref(node) => self.subschema(*node),
                Keyword::AllOf(nodes) | Keyword::AnyOf(nodes) | Keyword::OneOf(nodes) => {
                    for node in nodes {
                        self.subschema(*node);
                    }
                }
                Keyword::If { condition, then, otherwise } => {
                    let branch = if self.fits(*condition) { then } else { otherwise };
                    self.subschema(*condition);
                    if let Some(node) = branch {
                        self.subschema(*node);
                    }
                }
                Keyword::DependentSchemas(rules) => {
                    let is_present = |name: &str| self.members.is_some_and(|members| members.contains_key(name));
                    let nodes: Vec<NodeId> =
                        rules.iter().filter(|(name, _)| is_present(name)).map(|(_, node)| *node).collect();
                    for node in nodes {
                        self.subschema(node);
                    }
                }
                Keyword::UnevaluatedItems(_) | Keyword::UnevaluatedProperties(_) if is_asking => {}
                keyword => self.own(keyword),
            }
        }
    }

    /// Adds the items and members that one keyword evaluates.
    fn own(&mut self, keyword: &Keyword) {
        match keyword {
            Keyword::Items { prefix, rest } => {
                let end = if rest.is_some() { self.items.len() } else { prefix.len().min(self.items.len()) };
                self.indices.extend(0..end);
            }
            Keyword::Contains { node, evaluates: true, .. } => {
                let (schema, depth) = (self.schema, self.depth);
                let fitting = self.items.iter().enumerate().filter(|(_, item)| check::fits(schema, *node, item, depth));
                self.indices.extend(fitting.map(|(at, _)| at));
            }
            Keyword::UnevaluatedItems(_) => self.indices.extend(0..self.items.len()),
            Keyword::Members { named, patterns, rest } => {
                let is_known = |name: &str| {
                    rest.is_some()
                        || named.contains_key(name)
                        || patterns.iter().any(|(pattern, _)| pattern.is_match(name))
                };
                let names = self.members.into_iter().flat_map(Map::keys).map(String::as_str);
                self.names.extend(names.filter(|name| is_known(name)));
            }
            Keyword::UnevaluatedProperties(_) => {
                self.names.extend(self.members.into_iter().flat_map(Map::keys).map(String::as_str));
            }
            _ => {}
        }
    }
}
