//! Checks a value against the nodes of a schema.

use super::compile::{Keyword, NodeId, NumberBound, Pattern, SchemaNode, SizeLimit};
use super::{Schema, SchemaFault, escaped, evaluated, number};
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;

/// Maximum number of nested schema nodes for one value. Values are at most 128 levels deep.
const DEEPEST: usize = 640;
/// Longest text of a value in a fault message, in characters.
const SHOWN: usize = 200;

/// The position in the value that is checked. It becomes text only when a fault is recorded.
#[derive(Clone, Copy)]
enum Path<'a> {
    Root,
    Name(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl Path<'_> {
    fn write(&self, out: &mut String) {
        match self {
            Self::Root => {}
            Self::Name(outer, name) => {
                outer.write(out);
                write!(out, "/{}", escaped(name)).ok();
            }
            Self::Index(outer, at) => {
                outer.write(out);
                write!(out, "/{at}").ok();
            }
        }
    }
}

pub(super) fn is_valid(schema: &Schema, value: &Value) -> bool {
    fits(schema, schema.root, value, 0)
}

/// True when a value matches one node. `depth` counts the nodes above it.
pub(super) fn fits(schema: &Schema, node: NodeId, value: &Value, depth: usize) -> bool {
    let mut check = InstanceCheck { schema, faults: Vec::new(), most: 0, depth };
    check.node(node, value, Path::Root)
}

pub(super) fn faults(schema: &Schema, value: &Value, most: usize) -> Vec<SchemaFault> {
    let mut check = InstanceCheck { schema, faults: Vec::new(), most, depth: 0 };
    check.node(schema.root, value, Path::Root);
    check.faults
}

struct InstanceCheck<'s> {
    schema: &'s Schema,
    faults: Vec<SchemaFault>,
    /// Number of faults to collect. With 0, the first fault ends the check.
    most: usize,
    depth: usize,
}

impl InstanceCheck<'_> {
    fn is_over(&self) -> bool {
        self.faults.len() >= self.most
    }

    /// Records a fault unless enough are recorded. Always returns false.
    fn fault(&mut self, path: Path<'_>, why: impl FnOnce() -> String) -> bool {
        if !self.is_over() {
            let mut at = String::new();
            path.write(&mut at);
            self.faults.push(SchemaFault { at, why: why() });
        }
        false
    }

    fn fits(&self, node: NodeId, value: &Value) -> bool {
        fits(self.schema, node, value, self.depth)
    }

    fn node(&mut self, node: NodeId, value: &Value, path: Path<'_>) -> bool {
        let schema = self.schema;
        match &schema.nodes[node] {
            SchemaNode::Bool(true) => true,
            SchemaNode::Bool(false) => self.fault(path, || format!("{} is not allowed here", shown(value))),
            SchemaNode::Keywords(_) if self.depth >= DEEPEST => {
                self.fault(path, || "the schema refers to itself without an end".into())
            }
            SchemaNode::Keywords(keywords) => {
                self.depth += 1;
                let mut is_valid = true;
                for keyword in keywords {
                    is_valid &= self.keyword(node, keyword, value, path);
                    if !is_valid && self.is_over() {
                        break;
                    }
                }
                self.depth -= 1;
                is_valid
            }
        }
    }

    fn keyword(&mut self, node: NodeId, keyword: &Keyword, value: &Value, path: Path<'_>) -> bool {
        match (keyword, value) {
            (Keyword::Ref(target), _) => self.node(*target, value, path),
            (Keyword::Types { names, strict_integer }, _) => {
                let is_one = |name: &String| has_type(value, name, *strict_integer);
                names.iter().any(is_one) || self.fault(path, || not_of_type(value, names))
            }
            (Keyword::Enum(values), _) => {
                values.iter().any(|one| number::equal(one, value))
                    || self.fault(path, || format!("{} is not one of {}", shown(value), listed(values)))
            }
            (Keyword::Const(one), _) => {
                number::equal(one, value) || self.fault(path, || format!("{} was expected", shown(one)))
            }
            (Keyword::Bound { .. } | Keyword::MultipleOf(_), Value::Number(_)) => self.number(keyword, value, path),
            (Keyword::Count { count, limit }, _) => self.count(*count, *limit, value, path),
            (Keyword::Pattern(pattern), Value::String(text)) => {
                pattern.is_match(text)
                    || self.fault(path, || format!("{} does not match {:?}", shown(value), pattern.text))
            }
            (Keyword::AllOf(nodes), _) => self.every(nodes.iter(), |check, node| check.node(*node, value, path)),
            (Keyword::AnyOf(nodes), _) => {
                nodes.iter().any(|node| self.fits(*node, value))
                    || self.fault(path, || format!("{} fits none of the schemas of 'anyOf'", shown(value)))
            }
            (Keyword::OneOf(nodes), _) => self.one_of(nodes, value, path),
            (Keyword::Not(node), _) => {
                !self.fits(*node, value) || self.fault(path, || format!("{} fits the schema of 'not'", shown(value)))
            }
            (Keyword::If { condition, then, otherwise }, _) => {
                let branch = if self.fits(*condition, value) { then } else { otherwise };
                branch.is_none_or(|node| self.node(node, value, path))
            }
            (_, Value::Array(items)) => self.array(node, keyword, items, path),
            (_, Value::Object(members)) => self.object(node, keyword, members, value, path),
            _ => true,
        }
    }

    /// Checks all items. After a fault it continues only while more faults are to be collected.
    fn every<T>(&mut self, items: impl Iterator<Item = T>, mut holds: impl FnMut(&mut Self, T) -> bool) -> bool {
        let mut is_valid = true;
        for item in items {
            is_valid &= holds(self, item);
            if !is_valid && self.is_over() {
                break;
            }
        }
        is_valid
    }

    fn number(&mut self, keyword: &Keyword, value: &Value, path: Path<'_>) -> bool {
        let Value::Number(number) = value else { return true };
        let (holds, why) = match keyword {
            Keyword::MultipleOf(limit) => (number::is_multiple(number, limit), format!("is not a multiple of {limit}")),
            Keyword::Bound { bound, limit } => {
                let order = number::compare(number, limit);
                match bound {
                    NumberBound::Minimum => (order != Ordering::Less, format!("is less than the minimum of {limit}")),
                    NumberBound::Maximum => {
                        (order != Ordering::Greater, format!("is greater than the maximum of {limit}"))
                    }
                    NumberBound::ExclusiveMinimum => {
                        (order == Ordering::Greater, format!("must be greater than {limit}"))
                    }
                    NumberBound::ExclusiveMaximum => (order == Ordering::Less, format!("must be less than {limit}")),
                }
            }
            _ => return true,
        };
        holds || self.fault(path, || format!("{value} {why}"))
    }

    fn count(&mut self, count: SizeLimit, limit: u64, value: &Value, path: Path<'_>) -> bool {
        let (length, unit) = match (count, value) {
            (SizeLimit::MinLength | SizeLimit::MaxLength, Value::String(text)) => (text.chars().count(), "characters"),
            (SizeLimit::MinItems | SizeLimit::MaxItems, Value::Array(items)) => (items.len(), "items"),
            (SizeLimit::MinProperties | SizeLimit::MaxProperties, Value::Object(members)) => {
                (members.len(), "properties")
            }
            _ => return true,
        };
        if matches!(count, SizeLimit::MinLength | SizeLimit::MinItems | SizeLimit::MinProperties) {
            return length as u64 >= limit
                || self.fault(path, || format!("{} has fewer than {limit} {unit}", shown(value)));
        }
        length as u64 <= limit || self.fault(path, || format!("{} has more than {limit} {unit}", shown(value)))
    }

    fn one_of(&mut self, nodes: &[NodeId], value: &Value, path: Path<'_>) -> bool {
        match nodes.iter().filter(|node| self.fits(**node, value)).take(2).count() {
            1 => true,
            0 => self.fault(path, || format!("{} fits none of the schemas of 'oneOf'", shown(value))),
            _ => self.fault(path, || format!("{} fits more than one of the schemas of 'oneOf'", shown(value))),
        }
    }

    fn array(&mut self, node: NodeId, keyword: &Keyword, items: &[Value], path: Path<'_>) -> bool {
        match keyword {
            Keyword::Items { prefix, rest } => {
                let schemas = prefix.iter().copied().map(Some).chain(std::iter::repeat(*rest));
                self.every(items.iter().zip(schemas).enumerate(), |check, (at, (item, node))| {
                    node.is_none_or(|node| check.node(node, item, Path::Index(&path, at)))
                })
            }
            Keyword::Contains { node, least, most, .. } => {
                let fitting = items.iter().filter(|item| self.fits(*node, item)).count() as u64;
                let is_enough = fitting >= *least
                    || self
                        .fault(path, || format!("{fitting} items fit the schema of 'contains', at least {least} must"));
                let is_bounded = most.is_none_or(|most| {
                    fitting <= most
                        || self
                            .fault(path, || format!("{fitting} items fit the schema of 'contains', at most {most} may"))
                });
                is_enough && is_bounded
            }
            Keyword::UniqueItems => is_unique(items) || self.fault(path, || "its items are not all different".into()),
            Keyword::UnevaluatedItems(rest) => {
                let evaluated = evaluated::items(self.schema, node, items, self.depth);
                let others = items.iter().enumerate().filter(|(at, _)| !evaluated.contains(at));
                self.every(others, |check, (at, item)| check.node(*rest, item, Path::Index(&path, at)))
            }
            _ => true,
        }
    }

    fn object(
        &mut self,
        node: NodeId,
        keyword: &Keyword,
        members: &Map<String, Value>,
        value: &Value,
        path: Path<'_>,
    ) -> bool {
        match keyword {
            Keyword::Members { named, patterns, rest } => self.members(named, patterns, *rest, members, path),
            Keyword::Required(names) => self.required(names.iter(), members, path),
            Keyword::PropertyNames(node) => self.every(members.keys(), |check, name| {
                check.fits(*node, &Value::String(name.clone()))
                    || check.fault(path, || format!("{name:?} does not fit the schema of 'propertyNames'"))
            }),
            Keyword::DependentRequired(rules) => {
                let present = rules.iter().filter(|(name, _)| members.contains_key(name));
                self.every(present, |check, (_, names)| check.required(names.iter(), members, path))
            }
            Keyword::DependentSchemas(rules) => {
                let present = rules.iter().filter(|(name, _)| members.contains_key(name));
                self.every(present, |check, (_, node)| check.node(*node, value, path))
            }
            Keyword::UnevaluatedProperties(rest) => {
                let evaluated = evaluated::properties(self.schema, node, members, value, self.depth);
                let others = members.iter().filter(|(name, _)| !evaluated.contains(name.as_str()));
                self.every(others, |check, (name, value)| check.member(*rest, name, value, path))
            }
            _ => true,
        }
    }

    fn required<'n>(
        &mut self,
        names: impl Iterator<Item = &'n String>,
        members: &Map<String, Value>,
        path: Path<'_>,
    ) -> bool {
        self.every(names.filter(|name| !members.contains_key(*name)), |check, name| {
            check.fault(path, || format!("{name:?} is a required property"))
        })
    }

    fn members(
        &mut self,
        named: &BTreeMap<String, NodeId>,
        patterns: &[(Pattern, NodeId)],
        rest: Option<NodeId>,
        members: &Map<String, Value>,
        path: Path<'_>,
    ) -> bool {
        self.every(members.iter(), |check, (name, value)| {
            let known = named.get(name).copied();
            let matching = patterns.iter().filter(|(pattern, _)| pattern.is_match(name)).map(|(_, node)| *node);
            let mut nodes: Vec<NodeId> = known.into_iter().chain(matching).collect();
            if nodes.is_empty() {
                return rest.is_none_or(|node| check.member(node, name, value, path));
            }
            check.every(nodes.drain(..), |check, node| check.node(node, value, Path::Name(&path, name)))
        })
    }

    /// Checks a member that no other keyword covers.
    fn member(&mut self, node: NodeId, name: &str, value: &Value, path: Path<'_>) -> bool {
        if let SchemaNode::Bool(false) = self.schema.nodes[node] {
            return self.fault(path, || format!("the additional property {name:?} is not allowed"));
        }
        self.node(node, value, Path::Name(&path, name))
    }
}

fn has_type(value: &Value, name: &str, strict_integer: bool) -> bool {
    match (name, value) {
        ("integer", Value::Number(number)) if strict_integer => !number.is_f64(),
        ("integer", Value::Number(number)) => number::is_integer(number),
        ("null", Value::Null)
        | ("boolean", Value::Bool(_))
        | ("number", Value::Number(_))
        | ("string", Value::String(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_)) => true,
        _ => false,
    }
}

fn not_of_type(value: &Value, names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    let noun = crate::counting::plural(names.len(), "type");
    format!("{} is not of {noun} {}", shown(value), quoted.join(", "))
}

fn is_unique(items: &[Value]) -> bool {
    let mut seen = HashSet::with_capacity(items.len());
    items.iter().all(|item| {
        let mut text = String::new();
        number::canonical(item, &mut text);
        seen.insert(text)
    })
}

fn listed(values: &[Value]) -> String {
    values.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// A value as text, cut after `SHOWN` characters.
fn shown(value: &Value) -> String {
    let mut text = value.to_string();
    if let Some((end, _)) = text.char_indices().nth(SHOWN) {
        text.truncate(end);
        text.push('…');
    }
    text
}
