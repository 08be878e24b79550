//! Adapts input schemas to the API, which requires an object at the root, without `anyOf`, `oneOf` or `allOf`
//! there. A schema that fits is passed on unchanged.

use serde_json::{Map, Value};

/// A schema the API accepts, and a remark for the description about what the schema cannot express.
pub(crate) struct AdaptedSchema {
    pub(crate) schema: Map<String, Value>,
    pub(crate) remark: Option<String>,
}

/// `None` when the schema cannot be adapted.
pub(crate) fn adapt(mut schema: Map<String, Value>) -> Option<AdaptedSchema> {
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        None | Some(Value::Null) => {
            schema.shift_remove("type");
            schema.shift_insert(0, "type".into(), "object".into());
        }
        Some(_) => return None,
    }
    if schema.get("properties").is_some_and(|properties| !properties.is_object()) {
        return None;
    }
    let mut remarks = Vec::new();
    for (word, meaning) in [("allOf", BranchMeaning::All), ("anyOf", BranchMeaning::Any), ("oneOf", BranchMeaning::One)]
    {
        let Some(branches) = schema.shift_remove(word) else { continue };
        let Value::Array(branches) = branches else { return None };
        remarks.extend(merge(&mut schema, &branches, meaning));
    }
    let remark = (!remarks.is_empty()).then(|| remarks.join(" "));
    Some(AdaptedSchema { schema, remark })
}

#[derive(Clone, Copy)]
enum BranchMeaning {
    All,
    Any,
    One,
}

fn merge(schema: &mut Map<String, Value>, branches: &[Value], meaning: BranchMeaning) -> Option<String> {
    let mut groups = Vec::new();
    for branch in branches.iter().filter_map(Value::as_object) {
        if let Some(Value::Object(properties)) = branch.get("properties") {
            let own = schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(own) = own else { return None };
            for (name, property) in properties {
                own.entry(name.clone()).or_insert_with(|| property.clone());
            }
        }
        groups.push(required(branch));
    }
    match meaning {
        BranchMeaning::All => {
            require(schema, groups.into_iter().flatten().collect());
            None
        }
        BranchMeaning::Any => explain("at least one", &groups),
        BranchMeaning::One => explain("exactly one", &groups),
    }
}

fn required(branch: &Map<String, Value>) -> Vec<String> {
    let list = branch.get("required").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn require(schema: &mut Map<String, Value>, names: Vec<String>) {
    if names.is_empty() {
        return;
    }
    let list = schema.entry("required").or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(list) = list else { return };
    for name in names {
        if !list.iter().any(|known| known.as_str() == Some(&name)) {
            list.push(name.into());
        }
    }
}

fn explain(how_many: &str, groups: &[Vec<String>]) -> Option<String> {
    let shown: Vec<String> =
        groups.iter().filter(|group| !group.is_empty()).map(|group| format!("({})", group.join(", "))).collect();
    (!shown.is_empty()).then(|| format!("Give {how_many} of these sets of parameters: {}.", shown.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn adapted(schema: Value) -> Option<(Value, Option<String>)> {
        let Value::Object(schema) = schema else { return None };
        adapt(schema).map(|done| (Value::Object(done.schema), done.remark))
    }

    // [TST-217]
    #[test]
    fn branches_at_the_root_become_one_object() {
        let (schema, remark) = adapted(json!({
            "type": "object",
            "properties": {"id": {"type": "string"}},
            "anyOf": [
                {"properties": {"a": {"type": "string"}}, "required": ["a"]},
                {"properties": {"b": {"type": "number"}}, "required": ["b", "id"]},
            ],
        }))
        .unwrap();
        assert_eq!(
            schema,
            json!({"type": "object",
            "properties": {"id": {"type": "string"}, "a": {"type": "string"}, "b": {"type": "number"}}})
        );
        assert_eq!(remark.unwrap(), "Give at least one of these sets of parameters: (a) or (b, id).");
        let (all, _) = adapted(json!({"allOf": [{"properties": {"x": {}}, "required": ["x"]}]})).unwrap();
        assert_eq!(all, json!({"type": "object", "properties": {"x": {}}, "required": ["x"]}));
    }

    #[test]
    fn what_fits_stays_and_what_cannot_is_refused() {
        let fine = json!({"$schema": "s", "type": "object", "properties": {"z": {"anyOf": []}, "a": {}}});
        assert_eq!(adapted(fine.clone()).unwrap().0.to_string(), fine.to_string());
        assert!(adapted(json!({"type": "string"})).is_none());
        assert!(adapted(json!({"type": "object", "properties": []})).is_none());
    }
}
