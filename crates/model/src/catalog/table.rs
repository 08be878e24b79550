//! Reads `models.tsv`, the only place with facts about models. A lookup parses only the lines it needs, so that
//! starting costs one row; an unreadable line is skipped, and a test reads all lines.

use super::{DEFAULT_CACHE_FLOOR, EffortLevel, ModelFacts, Price, PriceTier, ThinkingKind};

const DATA: &str = include_str!("models.tsv");

/// The columns after the first one, of every line of this kind.
fn lines(kind: &'static str) -> impl Iterator<Item = std::str::Split<'static, char>> {
    DATA.lines().filter_map(move |line| Some(line.strip_prefix(kind)?.strip_prefix('\t')?.split('\t')))
}

/// The second column of the line of this kind whose first column is `key`.
fn value(kind: &'static str, key: &str) -> Option<&'static str> {
    lines(kind).find_map(|mut columns| (columns.next()? == key).then(|| columns.next()).flatten())
}

/// The day the facts were last checked, as `2026-11-18`.
pub(super) fn date() -> &'static str {
    lines("date").next().and_then(|mut columns| columns.next()).unwrap_or_default()
}

/// The first-party id for an alias that users type.
pub(super) fn alias(name: &str) -> Option<&'static str> {
    value("alias", name)
}

/// For a name that stands for two models: the aliases used in plan mode and otherwise.
pub(super) fn plan_pair(name: &str) -> Option<(&'static str, &'static str)> {
    lines("plan").find_map(|mut columns| {
        (columns.next()? == name).then_some(())?;
        Some((columns.next()?, columns.next()?))
    })
}

/// The id that is sent instead of a retired one.
pub(super) fn successor(canonical: &str) -> Option<&'static str> {
    value("retired", canonical)
}

/// The facts about the model with this canonical id; `None` when the table has no such model.
pub(super) fn find(canonical: &str) -> Option<ModelFacts> {
    lines("model").find_map(|columns| {
        let ids = columns.clone().next()?;
        ids.split(',').any(|id| id == canonical).then(|| facts(columns, canonical)).flatten()
    })
}

fn facts(mut columns: std::str::Split<'static, char>, canonical: &str) -> Option<ModelFacts> {
    let _ids = columns.next()?;
    let name = columns.next()?;
    let mut number = || columns.next()?.parse::<u64>().ok();
    let (context_window, max_output, max_output_cap) = (number()?, number()?, number()?);
    let thinking = thinking(columns.next()?)?;
    let efforts = list(columns.next()?, ',').map(EffortLevel::parse).collect::<Option<Vec<_>>>()?;
    let default_effort = EffortLevel::parse(columns.next()?);
    let prices = list(columns.next()?, ';').map(tier).collect::<Option<Vec<_>>>()?;
    let fast_price = price(columns.next()?);
    let flags = columns.next()?;
    let flag = |name: &str| list(flags, ',').any(|flag| flag == name);
    Some(ModelFacts {
        canonical: canonical.to_owned(),
        display_name: if canonical.contains("mythos") { name.replace("Fable", "Mythos") } else { name.to_owned() },
        known: true,
        context_window,
        long_window_requested: false,
        max_output,
        max_output_cap,
        thinking,
        always_thinks: flag("always-thinks"),
        efforts,
        default_effort,
        prices,
        fast_price,
        read_before_edit: flag("read-before-edit"),
        hides_todo_tools: flag("hides-todo-tools"),
        cache_floor: list(flags, ',')
            .find_map(|flag| flag.strip_prefix("cache-floor-")?.parse().ok())
            .unwrap_or(DEFAULT_CACHE_FLOOR),
    })
}

/// The parts of a column; none for `-`.
fn list(text: &str, separator: char) -> impl Iterator<Item = &str> {
    text.split(separator).filter(|part| *part != "-")
}

fn thinking(text: &str) -> Option<ThinkingKind> {
    Some(match text {
        "none" => ThinkingKind::None,
        "budget" => ThinkingKind::Budget,
        "adaptive" => ThinkingKind::Adaptive,
        _ => return None,
    })
}

fn tier(text: &str) -> Option<PriceTier> {
    let (above, rest) = text.split_once(':')?;
    Some(PriceTier { above: above.parse().ok()?, price: price(rest)? })
}

fn price(text: &str) -> Option<Price> {
    let mut parts = text.split('/').map(|part| part.parse::<f64>().ok());
    let mut next = || parts.next().flatten();
    let (input, write_5m, write_1h, read, output) = (next()?, next()?, next()?, next()?, next()?);
    Some(Price { input, write_5m, write_1h, read, output })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_data_file_is_read() {
        let mut models = 0;
        for line in DATA.lines().filter(|line| !line.starts_with('#')) {
            let columns: Vec<&str> = line.split('\t').collect();
            match columns[..] {
                ["date", day] => assert_eq!(date(), day),
                ["alias", name, id] => assert_eq!((alias(name), find(id).is_some()), (Some(id), true), "{line}"),
                ["plan", name, plan, other] => {
                    assert_eq!(plan_pair(name), Some((plan, other)));
                    assert!(alias(plan).is_some() && alias(other).is_some(), "{line}");
                }
                ["retired", old, new] => {
                    assert_eq!(successor(old), Some(new), "{line}");
                    assert!(find(old).is_some() && find(new).is_some() && successor(new).is_none(), "{line}");
                }
                ["model", ids, ..] => {
                    models += 1;
                    for id in ids.split(',') {
                        let facts = find(id).unwrap_or_else(|| panic!("{line}"));
                        assert!(!facts.prices.is_empty() && facts.prices[0].above == 0, "{line}");
                        assert!(facts.max_output <= facts.max_output_cap, "{line}");
                        assert!(facts.default_effort.is_none_or(|level| facts.efforts.contains(&level)), "{line}");
                    }
                }
                _ => panic!("an unknown line: {line}"),
            }
        }
        assert!(models > 20);
        assert_eq!(date().len(), 10);
    }
}
