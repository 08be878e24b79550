use super::*;
use proptest::prelude::*;
use serde_json::json;
use wire::settings::Settings;

fn text() -> impl Strategy<Value = String> {
    "[a-c]{1,2}"
}

fn list() -> impl Strategy<Value = Value> {
    // No duplicates: the result must not depend on entries that one list contains twice.
    prop::collection::btree_set(text(), 0..4).prop_map(|set| json!(set))
}

fn value(shape: KeyShape) -> BoxedStrategy<Value> {
    match shape {
        KeyShape::Bool => any::<bool>().prop_map(Value::from).boxed(),
        KeyShape::Text | KeyShape::TextOrOff => text().prop_map(Value::from).boxed(),
        KeyShape::OneOf(choices) => prop::sample::select(choices).prop_map(Value::from).boxed(),
        KeyShape::Integer { min, .. } => (min..min + 3).prop_map(Value::from).boxed(),
        KeyShape::Number { .. } => prop::sample::select(vec![0.25, 0.5]).prop_map(Value::from).boxed(),
        KeyShape::List(_) => list().boxed(),
        KeyShape::Map(item) => {
            prop::collection::btree_map(text(), value(*item), 0..3).prop_map(|map| json!(map)).boxed()
        }
        KeyShape::Object(keys) => object(keys).prop_map(Value::Object).boxed(),
        KeyShape::Any => prop_oneof![text().prop_map(Value::from), list()].boxed(),
    }
}

fn object(keys: &'static [SettingKey]) -> BoxedStrategy<Map<String, Value>> {
    let member = (0..keys.len()).prop_flat_map(move |at| value(keys[at].shape).prop_map(move |v| (keys[at].name, v)));
    prop::collection::vec(member, 0..12)
        .prop_map(|all| all.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
        .boxed()
}

fn joined(high: &Map<String, Value>, low: &Map<String, Value>) -> Map<String, Value> {
    let mut out = high.clone();
    join(Settings::KEYS, &mut out, low);
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn joining_is_associative(a in object(Settings::KEYS), b in object(Settings::KEYS), c in object(Settings::KEYS)) {
        prop_assert_eq!(joined(&a, &joined(&b, &c)), joined(&joined(&a, &b), &c));
    }

    #[test]
    fn joining_with_nothing_changes_nothing(a in object(Settings::KEYS)) {
        prop_assert_eq!(&joined(&a, &Map::new()), &a);
        prop_assert_eq!(&joined(&Map::new(), &a), &a);
    }
}

fn of(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

#[test]
fn every_kind_of_key_joins_as_documented() {
    // [CLI-66] [CLI-67] [CLI-68] [CLI-69]
    let high = json!({"model": "h", "fallbackModel": ["h"], "permissions": {"deny": ["A"]}, "env": {"X": "h"},
        "extraKnownMarketplaces": {"m": {"source": "h"}}, "disableClaudeAiConnectors": false,
        "hooks": {"Stop": [1]}});
    let low = json!({"model": "l", "fallbackModel": ["l"], "permissions": {"deny": ["A", "B"]}, "env": {"X": "l", "Y": "l"},
        "extraKnownMarketplaces": {"m": {"source": "l", "autoUpdate": true}, "n": 1},
        "disableClaudeAiConnectors": true, "hooks": {"Stop": [2], "Setup": [3]}, "unknown": 1});
    let expected = json!({"model": "h", "fallbackModel": ["h"], "permissions": {"deny": ["A", "B"]},
        "env": {"X": "h", "Y": "l"}, "extraKnownMarketplaces": {"m": {"source": "h"}, "n": 1},
        "disableClaudeAiConnectors": true, "hooks": {"Stop": [1, 2], "Setup": [3]}});
    assert_eq!(Value::Object(joined(&of(&high), &of(&low))), expected);
}

/// [LNG-35] Of a budget the lowest of all layers counts, so a project cannot loosen what a user or an administrator set.
#[test]
fn the_lowest_budget_wins() {
    let joined = |high: Value, low: Value| {
        let mut high = high.as_object().unwrap().clone();
        join(Settings::KEYS, &mut high, low.as_object().unwrap());
        high["budgets"].clone()
    };
    let (low, high) = (json!({"budgets": {"dailyUsd": 1.5}}), json!({"budgets": {"dailyUsd": 9, "turnUsd": 2}}));
    let both = json!({"dailyUsd": 1.5, "turnUsd": 2});
    assert_eq!(joined(high.clone(), low.clone()), both);
    assert_eq!(joined(low, high), both);
}
