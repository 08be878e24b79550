//! References: finds the schema in the document that an identifier, an anchor or a pointer names.

use super::{SchemaError, escaped};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Versions of the standard, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Draft {
    Four,
    Six,
    Seven,
    Of2019,
    Of2020,
}

impl Draft {
    /// The draft that `$schema` names. Without `$schema` it is the newest; `None` means an unknown dialect.
    pub(super) fn of(document: &Value) -> Option<Self> {
        let Some(name) = document.get("$schema").and_then(Value::as_str) else { return Some(Self::Of2020) };
        let name = name.trim_end_matches('#').trim_start_matches("https://").trim_start_matches("http://");
        Some(match name {
            "json-schema.org/draft-04/schema" => Self::Four,
            "json-schema.org/draft-06/schema" => Self::Six,
            "json-schema.org/draft-07/schema" => Self::Seven,
            "json-schema.org/draft/2019-09/schema" => Self::Of2019,
            "json-schema.org/draft/2020-12/schema" | "json-schema.org/schema" => Self::Of2020,
            _ => return None,
        })
    }

    /// True for drafts in which `$ref` disables all keywords next to it (up to draft 7).
    pub(super) fn is_ref_alone(self) -> bool {
        self <= Self::Seven
    }
}

/// Keywords whose value is a schema, a list of schemas, or schemas by name.
const ONE: [&str; 12] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const LIST: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
const NAMED: [&str; 6] =
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/// A schema with its position: the JSON pointer from the document's root, and the base identifier for references inside
/// it.
#[derive(Clone, Debug)]
pub(super) struct SchemaPlace<'a> {
    pub(super) value: &'a Value,
    pub(super) pointer: String,
    pub(super) base: String,
}

/// All schemas in a document that references can name.
pub(super) struct SchemaIndex<'a> {
    pub(super) draft: Draft,
    document: &'a Value,
    /// Schemas by identifier without fragment.
    resources: BTreeMap<String, SchemaPlace<'a>>,
    /// Schemas by identifier with the anchor as fragment.
    anchors: BTreeMap<String, SchemaPlace<'a>>,
    /// Number of schemas with a dynamic anchor of this name; `$recursiveAnchor` is counted under the empty name.
    dynamic: BTreeMap<String, usize>,
}

impl<'a> SchemaIndex<'a> {
    pub(super) fn new(document: &'a Value, draft: Draft) -> Result<Self, SchemaError> {
        let (resources, anchors, dynamic) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut index = Self { draft, document, resources, anchors, dynamic };
        let root = index.root();
        index.resources.insert(String::new(), root.clone());
        index.collect(&SchemaPlace { base: String::new(), ..root })?;
        Ok(index)
    }

    pub(super) fn root(&self) -> SchemaPlace<'a> {
        SchemaPlace { value: self.document, pointer: String::new(), base: self.base_of(self.document, "") }
    }

    /// Collects this schema and every schema below it.
    fn collect(&mut self, outer: &SchemaPlace<'a>) -> Result<(), SchemaError> {
        let Some(members) = outer.value.as_object() else { return Ok(()) };
        let place = SchemaPlace { base: self.base_of(outer.value, &outer.base), ..outer.clone() };
        if let Some(dialect) = members.get("$schema")
            && Draft::of(outer.value) != Some(self.draft)
        {
            let why = format!("it is written for {dialect}, another draft than the schema around it");
            return Err(SchemaError { at: place.pointer, why });
        }
        if place.base != outer.base {
            self.resources.insert(place.base.clone(), place.clone());
        }
        self.collect_anchors(&place, members);
        for child in children(&place) {
            self.collect(&child)?;
        }
        Ok(())
    }

    fn collect_anchors(&mut self, place: &SchemaPlace<'a>, members: &Map<String, Value>) {
        let text = |key: &str| members.get(key).and_then(Value::as_str);
        if self.draft.is_ref_alone() {
            if let Some(anchor) = self.id(place.value).and_then(|id| id.strip_prefix('#')) {
                self.anchors.insert(format!("{}#{anchor}", place.base), place.clone());
            }
            return;
        }
        for anchor in [text("$anchor"), text("$dynamicAnchor")].into_iter().flatten() {
            self.anchors.insert(format!("{}#{anchor}", place.base), place.clone());
        }
        if let Some(anchor) = text("$dynamicAnchor") {
            *self.dynamic.entry(anchor.to_owned()).or_default() += 1;
        }
        if members.get("$recursiveAnchor") == Some(&Value::Bool(true)) {
            *self.dynamic.entry(String::new()).or_default() += 1;
        }
    }

    fn id<'v>(&self, schema: &'v Value) -> Option<&'v str> {
        let key = if self.draft == Draft::Four { "id" } else { "$id" };
        if self.draft.is_ref_alone() && schema.get("$ref").is_some() {
            return None;
        }
        schema.get(key)?.as_str()
    }

    /// The base identifier for references inside `schema`.
    pub(super) fn base_of(&self, schema: &Value, outer: &str) -> String {
        match self.id(schema) {
            Some(id) if !id.starts_with('#') => without_fragment(&join(outer, id)).to_owned(),
            _ => outer.to_owned(),
        }
    }

    /// The schema that `reference` names when it is used in a schema with this base.
    pub(super) fn find(&self, base: &str, reference: &str) -> Result<SchemaPlace<'a>, String> {
        let whole = join(base, reference);
        let (resource, fragment) = whole.split_once('#').unwrap_or((&whole, ""));
        let fragment = crate::percent::decoded(fragment);
        let elsewhere =
            || format!("{reference:?} refers to another document; only references within the schema are followed");
        let nowhere = || format!("{reference:?} refers to nothing in the schema");
        if !fragment.is_empty() && !fragment.starts_with('/') {
            let anchor = self.anchors.get(&format!("{resource}#{fragment}")).cloned();
            return anchor.ok_or_else(|| if self.resources.contains_key(resource) { nowhere() } else { elsewhere() });
        }
        let mut place = self.resources.get(resource).cloned().ok_or_else(elsewhere)?;
        for step in fragment.split('/').skip(1) {
            place = self.step(&place, &step.replace("~1", "/").replace("~0", "~")).ok_or_else(nowhere)?;
        }
        Ok(place)
    }

    fn step(&self, place: &SchemaPlace<'a>, name: &str) -> Option<SchemaPlace<'a>> {
        let value = match place.value {
            Value::Object(members) => members.get(name)?,
            Value::Array(items) => items.get(name.parse::<usize>().ok()?)?,
            _ => return None,
        };
        let base = self.base_of(value, &place.base);
        Some(SchemaPlace { value, pointer: format!("{}/{}", place.pointer, escaped(name)), base })
    }

    /// True when a dynamic reference can be resolved like a plain one, because at most one schema has this anchor.
    pub(super) fn is_static(&self, anchor: &str) -> bool {
        self.dynamic.get(anchor).copied().unwrap_or(0) <= 1
    }

    /// A schema directly inside `place`.
    pub(super) fn child(&self, place: &SchemaPlace<'a>, value: &'a Value, steps: &[&str]) -> SchemaPlace<'a> {
        let pointer = steps.iter().fold(place.pointer.clone(), |pointer, step| format!("{pointer}/{}", escaped(step)));
        SchemaPlace { value, pointer, base: self.base_of(value, &place.base) }
    }
}

/// The schemas directly inside one, with the base of the enclosing schema.
fn children<'a>(place: &SchemaPlace<'a>) -> Vec<SchemaPlace<'a>> {
    let mut found = Vec::new();
    let mut add =
        |value: &'a Value, pointer: String| found.push(SchemaPlace { value, pointer, base: place.base.clone() });
    for (key, value) in place.value.as_object().into_iter().flatten() {
        let (key, pointer) = (key.as_str(), format!("{}/{}", place.pointer, escaped(key)));
        match value {
            Value::Object(named) if NAMED.contains(&key) => {
                named.iter().for_each(|(name, value)| add(value, format!("{pointer}/{}", escaped(name))));
            }
            Value::Array(list) if LIST.contains(&key) => {
                list.iter().enumerate().for_each(|(at, value)| add(value, format!("{pointer}/{at}")));
            }
            _ if ONE.contains(&key) => add(value, pointer),
            _ => {}
        }
    }
    found
}

fn without_fragment(uri: &str) -> &str {
    uri.split_once('#').map_or(uri, |(resource, _)| resource)
}

/// Resolves `reference` against `base`, with the part of RFC 3986 that schema identifiers use.
fn join(base: &str, reference: &str) -> String {
    if reference.starts_with('#') {
        return format!("{}{reference}", without_fragment(base));
    }
    if reference.is_empty() {
        return base.to_owned();
    }
    let scheme = reference.split_once(':').map(|(scheme, _)| scheme);
    if scheme.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()) && !name.contains(['/', '#', '?']))
    {
        return reference.to_owned();
    }
    let base = without_fragment(base);
    let authority =
        base.find("://").map_or(0, |at| base[at + 3..].find('/').map_or(base.len(), |slash| at + 3 + slash));
    let (front, path) = base.split_at(authority);
    if reference.starts_with('/') {
        return format!("{front}{reference}");
    }
    let folder = path.rfind('/').map_or("", |slash| &path[..slash]);
    let mut steps: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    let (reference, fragment) = reference.split_once('#').map_or((reference, None), |(path, rest)| (path, Some(rest)));
    for step in reference.split('/') {
        match step {
            "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    let lead = if front.is_empty() && !path.starts_with('/') { "" } else { "/" };
    let joined = format!("{front}{lead}{}", steps.join("/"));
    fragment.map_or(joined.clone(), |fragment| format!("{joined}#{fragment}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_joined() {
        for (base, reference, whole) in [
            ("", "#/a", "#/a"),
            ("http://x.org/a/b.json", "c.json#d", "http://x.org/a/c.json#d"),
            ("http://x.org/a/b.json", "../c", "http://x.org/c"),
            ("http://x.org/a/b.json", "/c", "http://x.org/c"),
            ("http://x.org", "c", "http://x.org/c"),
            ("urn:uuid:1", "#/a", "urn:uuid:1#/a"),
            ("http://x.org/a#b", "urn:uuid:1", "urn:uuid:1"),
            ("item.json", "other.json", "other.json"),
        ] {
            assert_eq!(join(base, reference), whole, "{base} {reference}");
        }
        assert_eq!(crate::percent::decoded("/a%25b%7e1%"), "/a%b~1%");
    }
}
