//! Compiles a schema document into nodes. Every keyword is read here, so that mistakes are found before the schema is
//! used.

use super::resolve::{Draft, SchemaIndex, SchemaPlace};
use super::{Schema, SchemaError, escaped};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;

/// Deepest nesting of a schema, in levels.
const DEEPEST: usize = 128;
pub(super) const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

pub(super) type NodeId = usize;

#[derive(Debug)]
pub(super) enum SchemaNode {
    /// Matches everything (`true`) or nothing (`false`).
    Bool(bool),
    Keywords(Vec<Keyword>),
}

#[derive(Debug)]
pub(super) enum Keyword {
    Ref(NodeId),
    Types { names: Vec<String>, strict_integer: bool },
    Enum(Vec<Value>),
    Const(Value),
    Bound { bound: NumberBound, limit: Number },
    MultipleOf(Number),
    Count { count: SizeLimit, limit: u64 },
    Pattern(Pattern),
    UniqueItems,
    Items { prefix: Vec<NodeId>, rest: Option<NodeId> },
    Contains { node: NodeId, least: u64, most: Option<u64>, evaluates: bool },
    Members { named: BTreeMap<String, NodeId>, patterns: Vec<(Pattern, NodeId)>, rest: Option<NodeId> },
    Required(Vec<String>),
    PropertyNames(NodeId),
    DependentRequired(Vec<(String, Vec<String>)>),
    DependentSchemas(Vec<(String, NodeId)>),
    AllOf(Vec<NodeId>),
    AnyOf(Vec<NodeId>),
    OneOf(Vec<NodeId>),
    Not(NodeId),
    If { condition: NodeId, then: Option<NodeId>, otherwise: Option<NodeId> },
    UnevaluatedItems(NodeId),
    UnevaluatedProperties(NodeId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberBound {
    Minimum,
    Maximum,
    ExclusiveMinimum,
    ExclusiveMaximum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SizeLimit {
    MinLength,
    MaxLength,
    MinItems,
    MaxItems,
    MinProperties,
    MaxProperties,
}

/// An ECMAScript regular expression, as the standard requires.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    regex: regress::Regex,
}

impl Pattern {
    fn new(text: &str) -> Result<Self, String> {
        // Strict Unicode mode first; many patterns contain escapes that only the lenient mode accepts.
        let regex = regress::Regex::with_flags(text, "u").or_else(|_| regress::Regex::new(text));
        let regex = regex.map_err(|error| format!("{text:?} is not a regular expression: {error}"))?;
        Ok(Self { text: text.to_owned(), regex })
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.regex.find(text).is_some()
    }
}

pub(super) fn compile(document: &Value) -> Result<Schema, SchemaError> {
    let Some(draft) = Draft::of(document) else {
        let why = format!("the dialect {} is not known; drafts 4 to 2020-12 are", document["$schema"]);
        return Err(SchemaError { at: "/$schema".into(), why });
    };
    let index = SchemaIndex::new(document, draft)?;
    let mut compiler = Compiler { index, nodes: Vec::new(), known: BTreeMap::new(), depth: 0 };
    let root = compiler.index.root();
    let root = compiler.schema(&root)?;
    Ok(Schema { nodes: compiler.nodes, root })
}

struct Compiler<'a> {
    index: SchemaIndex<'a>,
    nodes: Vec<SchemaNode>,
    /// Schemas that are compiled or being compiled, by JSON pointer.
    known: BTreeMap<String, NodeId>,
    depth: usize,
}

type SchemaMembers = Map<String, Value>;

impl<'a> Compiler<'a> {
    fn schema(&mut self, place: &SchemaPlace<'a>) -> Result<NodeId, SchemaError> {
        if let Some(id) = self.known.get(&place.pointer) {
            return Ok(*id);
        }
        if self.depth == DEEPEST {
            return Err(fault(&place.pointer, "it is nested too deeply"));
        }
        let id = self.nodes.len();
        self.nodes.push(SchemaNode::Bool(true));
        self.known.insert(place.pointer.clone(), id);
        self.depth += 1;
        self.nodes[id] = match place.value {
            Value::Bool(fits) if self.index.draft > Draft::Four => SchemaNode::Bool(*fits),
            Value::Object(members) => SchemaNode::Keywords(self.keywords(place, members)?),
            other => return Err(fault(&place.pointer, format!("{other} is not a schema"))),
        };
        self.depth -= 1;
        Ok(id)
    }

    fn keywords(&mut self, place: &SchemaPlace<'a>, members: &'a SchemaMembers) -> Result<Vec<Keyword>, SchemaError> {
        let mut keywords = Vec::new();
        self.references(place, members, &mut keywords)?;
        if self.index.draft.is_ref_alone() && members.contains_key("$ref") {
            return Ok(keywords);
        }
        for key in ["$defs", "definitions"] {
            self.named(place, key)?;
        }
        let reader = SchemaReader { members, pointer: &place.pointer };
        values(&reader, self.index.draft, &mut keywords)?;
        self.array(place, &reader, &mut keywords)?;
        self.object(place, &reader, &mut keywords)?;
        self.logic(place, &mut keywords)?;
        // These come last because they depend on what the other keywords have evaluated.
        if self.index.draft >= Draft::Of2019 {
            keywords.extend(self.one(place, "unevaluatedItems")?.map(Keyword::UnevaluatedItems));
            keywords.extend(self.one(place, "unevaluatedProperties")?.map(Keyword::UnevaluatedProperties));
        }
        Ok(keywords)
    }

    fn references(
        &mut self,
        place: &SchemaPlace<'a>,
        members: &SchemaMembers,
        out: &mut Vec<Keyword>,
    ) -> Result<(), SchemaError> {
        let draft = self.index.draft;
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let is_known = match key {
                "$dynamicRef" => draft == Draft::Of2020,
                "$recursiveRef" => draft == Draft::Of2019,
                _ => true,
            };
            let Some(value) = members.get(key).filter(|_| is_known) else { continue };
            let at = format!("{}/{key}", place.pointer);
            let Some(reference) = value.as_str() else { return Err(fault(&at, format!("{value} is not a reference"))) };
            let anchor = if key == "$recursiveRef" { "" } else { reference.rsplit('#').next().unwrap_or_default() };
            if key != "$ref" && !self.index.is_static(anchor) {
                return Err(fault(
                    &at,
                    format!("{reference:?} has several targets; {key} is followed where it has one"),
                ));
            }
            let target = self.index.find(&place.base, reference).map_err(|why| fault(&at, why))?;
            out.push(Keyword::Ref(self.schema(&target)?));
        }
        Ok(())
    }

    fn array(
        &mut self,
        place: &SchemaPlace<'a>,
        reader: &SchemaReader<'_>,
        out: &mut Vec<Keyword>,
    ) -> Result<(), SchemaError> {
        let is_list = reader.members.get("items").is_some_and(Value::is_array);
        let (prefix, rest) = if self.index.draft == Draft::Of2020 {
            if is_list {
                return Err(reader.wrong("items", "a list of schemas is `prefixItems` since draft 2020-12"));
            }
            (self.list(place, "prefixItems")?, self.one(place, "items")?)
        } else if is_list {
            (self.list(place, "items")?, self.one(place, "additionalItems")?)
        } else {
            (None, self.one(place, "items")?)
        };
        if prefix.is_some() || rest.is_some() {
            out.push(Keyword::Items { prefix: prefix.unwrap_or_default(), rest });
        }
        if self.index.draft > Draft::Four
            && let Some(node) = self.one(place, "contains")?
        {
            let counted = self.index.draft >= Draft::Of2019;
            let bound = |key| if counted { reader.count(key) } else { Ok(None) };
            let (least, most) = (bound("minContains")?.unwrap_or(1), bound("maxContains")?);
            out.push(Keyword::Contains { node, least, most, evaluates: self.index.draft == Draft::Of2020 });
        }
        Ok(())
    }

    fn object(
        &mut self,
        place: &SchemaPlace<'a>,
        reader: &SchemaReader<'_>,
        out: &mut Vec<Keyword>,
    ) -> Result<(), SchemaError> {
        let named = self.named(place, "properties")?;
        let mut patterns = Vec::new();
        for (text, node) in self.named(place, "patternProperties")?.unwrap_or_default() {
            let pattern = Pattern::new(&text).map_err(|why| reader.wrong("patternProperties", why))?;
            patterns.push((pattern, node));
        }
        let rest = self.one(place, "additionalProperties")?;
        if named.is_some() || rest.is_some() || !patterns.is_empty() {
            let named = named.unwrap_or_default().into_iter().collect();
            out.push(Keyword::Members { named, patterns, rest });
        }
        if self.index.draft > Draft::Four {
            out.extend(self.one(place, "propertyNames")?.map(Keyword::PropertyNames));
        }
        out.extend(self.named(place, "dependentSchemas")?.map(Keyword::DependentSchemas));
        self.dependencies(place, reader, out)
    }

    /// `dependentRequired`, and `dependencies` of the older drafts, whose entries are names or a schema. `dependencies`
    /// is still accepted in newer drafts.
    fn dependencies(
        &mut self,
        place: &SchemaPlace<'a>,
        reader: &SchemaReader<'_>,
        out: &mut Vec<Keyword>,
    ) -> Result<(), SchemaError> {
        let (mut required, mut schemas) = (Vec::new(), Vec::new());
        for key in ["dependentRequired", "dependencies"] {
            for (name, value) in reader.object(key)?.into_iter().flatten() {
                if value.is_array() {
                    required.push((name.clone(), reader.names_in(&format!("{key}/{}", escaped(name)), value)?));
                } else if key == "dependencies" {
                    let members = place.value.as_object().and_then(|members| members.get(key)?.get(name));
                    let Some(value) = members else { continue };
                    schemas.push((name.clone(), self.schema(&self.index.child(place, value, &[key, name]))?));
                } else {
                    return Err(reader.wrong(key, format!("{value} is not a list of names")));
                }
            }
        }
        out.extend((!required.is_empty()).then_some(Keyword::DependentRequired(required)));
        out.extend((!schemas.is_empty()).then_some(Keyword::DependentSchemas(schemas)));
        Ok(())
    }

    fn logic(&mut self, place: &SchemaPlace<'a>, out: &mut Vec<Keyword>) -> Result<(), SchemaError> {
        out.extend(self.filled(place, "allOf")?.map(Keyword::AllOf));
        out.extend(self.filled(place, "anyOf")?.map(Keyword::AnyOf));
        out.extend(self.filled(place, "oneOf")?.map(Keyword::OneOf));
        out.extend(self.one(place, "not")?.map(Keyword::Not));
        if self.index.draft < Draft::Seven {
            return Ok(());
        }
        let (then, otherwise) = (self.one(place, "then")?, self.one(place, "else")?);
        out.extend(self.one(place, "if")?.map(|condition| Keyword::If { condition, then, otherwise }));
        Ok(())
    }

    fn one(&mut self, place: &SchemaPlace<'a>, key: &str) -> Result<Option<NodeId>, SchemaError> {
        let Some(value) = place.value.get(key) else { return Ok(None) };
        // Draft 4 has no boolean schemas but allows them in these two places.
        if let (Draft::Four, Value::Bool(fits), "additionalItems" | "additionalProperties") =
            (self.index.draft, value, key)
        {
            self.nodes.push(SchemaNode::Bool(*fits));
            return Ok(Some(self.nodes.len() - 1));
        }
        let child = self.index.child(place, value, &[key]);
        self.schema(&child).map(Some)
    }

    fn list(&mut self, place: &SchemaPlace<'a>, key: &str) -> Result<Option<Vec<NodeId>>, SchemaError> {
        let Some(value) = place.value.get(key) else { return Ok(None) };
        let at = format!("{}/{key}", place.pointer);
        let items = value.as_array().ok_or_else(|| fault(&at, "it must be a list of schemas"))?;
        let child =
            |(at, item): (usize, &'a Value)| self.schema(&self.index.child(place, item, &[key, &at.to_string()]));
        items.iter().enumerate().map(child).collect::<Result<_, _>>().map(Some)
    }

    fn filled(&mut self, place: &SchemaPlace<'a>, key: &str) -> Result<Option<Vec<NodeId>>, SchemaError> {
        let list = self.list(place, key)?;
        if list.as_ref().is_some_and(Vec::is_empty) {
            return Err(fault(&format!("{}/{key}", place.pointer), "the list of schemas must not be empty"));
        }
        Ok(list)
    }

    fn named(&mut self, place: &SchemaPlace<'a>, key: &str) -> Result<Option<Vec<(String, NodeId)>>, SchemaError> {
        let Some(value) = place.value.get(key) else { return Ok(None) };
        let at = format!("{}/{key}", place.pointer);
        let members = value.as_object().ok_or_else(|| fault(&at, "it must be an object of schemas"))?;
        let child = |(name, value): (&String, &'a Value)| {
            Ok((name.clone(), self.schema(&self.index.child(place, value, &[key, name]))?))
        };
        members.iter().map(child).collect::<Result<_, _>>().map(Some)
    }
}

/// Compiles the keywords that contain no subschemas.
fn values(reader: &SchemaReader<'_>, draft: Draft, out: &mut Vec<Keyword>) -> Result<(), SchemaError> {
    if let Some(value) = reader.members.get("type") {
        let names = value.as_str().map_or_else(|| reader.names_in("type", value), |name| Ok(vec![name.to_owned()]))?;
        if let Some(name) = names.iter().find(|name| !TYPES.contains(&name.as_str())) {
            return Err(reader.wrong("type", format!("{name:?} is not a type; types are {}", TYPES.join(", "))));
        }
        out.push(Keyword::Types { names, strict_integer: draft == Draft::Four });
    }
    if let Some(value) = reader.members.get("enum") {
        let values = value.as_array().ok_or_else(|| reader.wrong("enum", "it must be a list of values"))?;
        out.push(Keyword::Enum(values.clone()));
    }
    if draft > Draft::Four {
        out.extend(reader.members.get("const").cloned().map(Keyword::Const));
    }
    bounds(reader, draft, out)?;
    if let Some(limit) = reader.number("multipleOf")? {
        if limit.as_f64().is_none_or(|limit| limit <= 0.0) {
            return Err(reader.wrong("multipleOf", "it must be above zero"));
        }
        out.push(Keyword::MultipleOf(limit));
    }
    for (key, count) in COUNTS {
        out.extend(reader.count(key)?.map(|limit| Keyword::Count { count, limit }));
    }
    if let Some(value) = reader.members.get("pattern") {
        let text = value.as_str().ok_or_else(|| reader.wrong("pattern", "it must be text"))?;
        out.push(Keyword::Pattern(Pattern::new(text).map_err(|why| reader.wrong("pattern", why))?));
    }
    if reader.flag("uniqueItems")? {
        out.push(Keyword::UniqueItems);
    }
    if let Some(value) = reader.members.get("required") {
        out.push(Keyword::Required(reader.names_in("required", value)?));
    }
    Ok(())
}

const COUNTS: [(&str, SizeLimit); 6] = [
    ("minLength", SizeLimit::MinLength),
    ("maxLength", SizeLimit::MaxLength),
    ("minItems", SizeLimit::MinItems),
    ("maxItems", SizeLimit::MaxItems),
    ("minProperties", SizeLimit::MinProperties),
    ("maxProperties", SizeLimit::MaxProperties),
];

fn bounds(reader: &SchemaReader<'_>, draft: Draft, out: &mut Vec<Keyword>) -> Result<(), SchemaError> {
    for (key, bound, exclusive_key, exclusive) in [
        ("minimum", NumberBound::Minimum, "exclusiveMinimum", NumberBound::ExclusiveMinimum),
        ("maximum", NumberBound::Maximum, "exclusiveMaximum", NumberBound::ExclusiveMaximum),
    ] {
        // In draft 4 the exclusive key is a flag that modifies the other key.
        let is_exclusive = draft == Draft::Four && reader.flag(exclusive_key)?;
        let bound = if is_exclusive { exclusive } else { bound };
        out.extend(reader.number(key)?.map(|limit| Keyword::Bound { bound, limit }));
        if draft > Draft::Four {
            out.extend(reader.number(exclusive_key)?.map(|limit| Keyword::Bound { bound: exclusive, limit }));
        }
    }
    Ok(())
}

/// Typed access to the members of one schema.
struct SchemaReader<'a> {
    members: &'a SchemaMembers,
    pointer: &'a str,
}

impl SchemaReader<'_> {
    fn wrong(&self, key: &str, why: impl Into<String>) -> SchemaError {
        fault(&format!("{}/{key}", self.pointer), why)
    }

    fn number(&self, key: &str) -> Result<Option<Number>, SchemaError> {
        match self.members.get(key) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(number.clone())),
            Some(other) => Err(self.wrong(key, format!("{other} is not a number"))),
        }
    }

    /// An integer from 0 upwards; `2.0` is accepted.
    fn count(&self, key: &str) -> Result<Option<u64>, SchemaError> {
        let Some(number) = self.number(key)? else { return Ok(None) };
        let whole =
            number.as_u64().or_else(|| number.as_f64().filter(|f| *f >= 0.0 && f.fract() == 0.0).map(|f| f as u64));
        whole.map(Some).ok_or_else(|| self.wrong(key, format!("{number} is not a whole number from 0 upwards")))
    }

    fn flag(&self, key: &str) -> Result<bool, SchemaError> {
        match self.members.get(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(self.wrong(key, format!("{other} is neither true nor false"))),
        }
    }

    fn object(&self, key: &str) -> Result<Option<&SchemaMembers>, SchemaError> {
        let Some(value) = self.members.get(key) else { return Ok(None) };
        value.as_object().map(Some).ok_or_else(|| self.wrong(key, format!("{value} is not an object")))
    }

    fn names_in(&self, key: &str, value: &Value) -> Result<Vec<String>, SchemaError> {
        let names =
            value.as_array().and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        names.ok_or_else(|| self.wrong(key, format!("{value} is not a list of names")))
    }
}

fn fault(at: &str, why: impl Into<String>) -> SchemaError {
    SchemaError { at: at.to_owned(), why: why.into() }
}
