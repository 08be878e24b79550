//! `gimlet usage`: tokens and cost of all sessions, from their transcripts. Changes nothing.

use crate::option_words::OptionWords;
use engine::usage_report::{self, UsageGrouping, UsageRange, UsageReport, UsageRow, UsageSum};
use model::catalog::ModelCatalog;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fmt::Write as _;
use store::StoreLayout;
use sys::Env;

const USAGE: &str = "Usage: gimlet usage [options]

Tokens and cost of all sessions of this user. Every response of a model counts once, also where forks and agents
copied it. Cost is an estimate: recorded tokens at list prices.

Options:
  --by <GROUP>     day (default), session, project, model or agent
  --since <DAY>    from this day on (2026-01-31), by the local date
  --until <DAY>    up to and including this day
  --json           one JSON object
  --csv            rows with a heading, for spreadsheets";

/// How many cache misses are named in the text output: the most expensive ones.
const MAX_NAMED_MISSES: usize = 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum UsageFormat {
    #[default]
    Text,
    Json,
    Csv,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct UsageArgs {
    by: UsageGrouping,
    range: UsageRange,
    format: UsageFormat,
}

/// Returns the text to print and the exit code; an error is ready to print.
pub(crate) fn run(rest: &[OsString], env: &Env) -> Result<(String, u8), String> {
    let Some(asked) = parse(rest)? else { return Ok((USAGE.into(), 0)) };
    let recorded = usage_report::read(&StoreLayout::new(env), &asked.range);
    let report = usage_report::report(&recorded, asked.by, &asked.range);
    Ok(match asked.format {
        UsageFormat::Text => (text(&report, asked.by), 0),
        UsageFormat::Json => (as_json(&report, &asked).to_string(), 0),
        UsageFormat::Csv => (csv(&report, asked.by), 0),
    })
}

/// Returns `None` when help is requested.
fn parse(rest: &[OsString]) -> Result<Option<UsageArgs>, String> {
    let mut asked = UsageArgs::default();
    let mut words = OptionWords::new(rest);
    while let Some(name) = words.next() {
        match name.as_str() {
            "--by" => {
                let group = words.value().ok_or(USAGE)?;
                asked.by = UsageGrouping::parse(&group).ok_or_else(|| {
                    format!("Error: --by {group}: it must be one of {}.", UsageGrouping::NAMES.join(", "))
                })?;
            }
            "--since" => asked.range.since = Some(day(&name, &words.value().ok_or(USAGE)?)?),
            "--until" => asked.range.until = Some(day(&name, &words.value().ok_or(USAGE)?)?),
            "--json" => asked.format = UsageFormat::Json,
            "--csv" => asked.format = UsageFormat::Csv,
            "--help" | "-h" | "help" => return Ok(None),
            _ => return Err(format!("Error: unknown option {name}\n{USAGE}")),
        }
    }
    Ok(Some(asked))
}

/// A day as `2026-01-31` or `20260131`.
fn day(option: &str, typed: &str) -> Result<String, String> {
    let whole = match typed.len() {
        8 if typed.is_ascii() => format!("{}-{}-{}", &typed[..4], &typed[4..6], &typed[6..]),
        _ => typed.to_owned(),
    };
    let exists = sys::clock::parse_iso(&format!("{whole}T00:00:00Z")).is_some();
    exists.then_some(whole).ok_or_else(|| format!("Error: {option} {typed}: it must be a day like 2026-01-31."))
}

const HEADINGS: [&str; 7] = ["", "Responses", "Input", "Output", "Cache read", "Cache write", "Cost (USD)"];

fn text(report: &UsageReport, by: UsageGrouping) -> String {
    if report.rows.is_empty() {
        return "Nothing was used in that period.".into();
    }
    let mut lines = vec![HEADINGS.map(str::to_owned)];
    by.name().clone_into(&mut lines[0][0]);
    lines.extend(report.rows.iter().map(|row| cells(&shown(&row.key), &row.sum)));
    if report.rows.len() > 1 {
        lines.push(cells("all", &report.total));
    }
    let widths: [usize; 7] =
        std::array::from_fn(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0));
    let mut out = String::new();
    for line in &lines {
        write!(out, "{:<width$}", line[0], width = widths[0]).ok();
        for (cell, width) in line.iter().zip(widths).skip(1) {
            write!(out, "  {cell:>width$}").ok();
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    if let Some(share) = report.total.cache_share() {
        writeln!(out, "\n{:.0} % of the prompt tokens were read from the cache.", share * 100.0).ok();
    }
    write_misses(&mut out, report);
    write!(out, "Cost is an estimate at the list prices of {}.", ModelCatalog::date()).ok();
    if report.total.unpriced_tokens > 0 {
        let tokens = thousands(report.total.unpriced_tokens);
        write!(out, " It leaves out {tokens} tokens of models of unknown price.").ok();
    }
    out
}

fn write_misses(out: &mut String, report: &UsageReport) {
    if report.misses.is_empty() {
        return;
    }
    let tokens: u64 = report.misses.iter().map(|miss| miss.tokens).sum();
    let usd: f64 = report.misses.iter().filter_map(|miss| miss.usd).sum();
    let count = report.misses.len();
    writeln!(out, "\nCache misses: {count}, {} tokens paid for again, ${usd:.4} more than hits", thousands(tokens))
        .ok();
    let mut worst: Vec<_> = report.misses.iter().collect();
    sys::compact_sort::sort_by_key(&mut worst, |miss| std::cmp::Reverse(miss.tokens));
    for miss in worst.iter().take(MAX_NAMED_MISSES) {
        let time = sys::clock::iso(miss.at_ms);
        let usd = miss.usd.map_or_else(|| "price unknown".to_owned(), |usd| format!("${usd:.4}"));
        let detail = if miss.detail.is_empty() { String::new() } else { format!(": {}", shown(&miss.detail)) };
        let cause = shown(&miss.cause).replace('_', " ");
        writeln!(out, "  {}  {:>10} tokens  {usd:>9}  {cause}{detail}", &time[..16], thousands(miss.tokens)).ok();
    }
    if count > MAX_NAMED_MISSES {
        writeln!(out, "  and {} smaller ones", count - MAX_NAMED_MISSES).ok();
    }
    out.push('\n');
}

fn cells(key: &str, sum: &UsageSum) -> [String; 7] {
    let number = thousands;
    [
        key.to_owned(),
        number(sum.responses),
        number(sum.input),
        number(sum.output),
        number(sum.cache_read),
        number(sum.cache_write),
        if sum.unpriced_tokens == sum.tokens() { "-".into() } else { format!("{:.4}", sum.cost_usd) },
    ]
}

fn shown(text: &str) -> String {
    permission::escape_invisible(text)
}

fn thousands(number: u64) -> String {
    usage_report::thousands(number)
}

fn as_json(report: &UsageReport, asked: &UsageArgs) -> Value {
    let row = |row: &UsageRow| {
        let mut fields = Map::from_iter([(asked.by.name().to_owned(), Value::from(row.key.clone()))]);
        fields.extend(sum_fields(&row.sum));
        Value::Object(fields)
    };
    let misses = report.misses.iter().map(|miss| {
        json!({"sessionId": miss.session, "timestamp": sys::clock::iso(miss.at_ms), "model": miss.model,
               "cause": miss.cause, "detail": miss.detail, "tokens": miss.tokens, "costUSD": miss.usd})
    });
    json!({
        "by": asked.by.name(),
        "since": asked.range.since,
        "until": asked.range.until,
        "rows": report.rows.iter().map(row).collect::<Vec<Value>>(),
        "totals": sum_fields(&report.total),
        "cacheMisses": misses.collect::<Vec<Value>>(),
        "pricesFrom": ModelCatalog::date(),
    })
}

fn sum_fields(sum: &UsageSum) -> Map<String, Value> {
    let fields = json!({
        "responses": sum.responses,
        "inputTokens": sum.input,
        "outputTokens": sum.output,
        "cacheCreationTokens": sum.cache_write,
        "cacheReadTokens": sum.cache_read,
        "totalTokens": sum.tokens(),
        "costUSD": sum.cost_usd,
        "unpricedTokens": sum.unpriced_tokens,
        "modelsUsed": sum.models,
        "lastActivity": sys::clock::iso(sum.last_at_ms),
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn csv(report: &UsageReport, by: UsageGrouping) -> String {
    let mut out = format!(
        "{},responses,input_tokens,output_tokens,cache_creation_tokens,cache_read_tokens,total_tokens,cost_usd,unpriced_tokens",
        by.name()
    );
    for UsageRow { key, sum } in &report.rows {
        write!(
            out,
            "\n{},{},{},{},{},{},{},{:.6},{}",
            csv_field(key),
            sum.responses,
            sum.input,
            sum.output,
            sum.cache_write,
            sum.cache_read,
            sum.tokens(),
            sum.cost_usd,
            sum.unpriced_tokens
        )
        .ok();
    }
    out
}

/// Quoted where it must be. A spreadsheet must not take the name of a folder for a formula.
fn csv_field(text: &str) -> String {
    let text = text.replace(['\r', '\n'], " ");
    let guard = if text.starts_with(['=', '+', '@', '-']) { "'" } else { "" };
    if text.contains([',', '"']) {
        format!("\"{guard}{}\"", text.replace('"', "\"\""))
    } else {
        format!("{guard}{text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Option<UsageArgs>, String> {
        parse(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    /// [LNG-30]
    #[test]
    fn options_are_read_and_errors_say_what_is_wanted() {
        let asked = parsed(&["--by=model", "--since", "20260131", "--until", "2026-02-01", "--csv"]).unwrap().unwrap();
        assert_eq!((asked.by, asked.format), (UsageGrouping::Model, UsageFormat::Csv));
        assert_eq!(asked.range.since.as_deref(), Some("2026-01-31"));
        assert_eq!(asked.range.until.as_deref(), Some("2026-02-01"));
        assert!(parsed(&["--help"]).unwrap().is_none());
        for (words, told) in [
            (&["--by", "week"][..], "day, session, project, model, agent"),
            (&["--since", "2026-02-30"], "a day like"),
            (&["--until", "yesterday"], "a day like"),
            (&["--weekly"], "unknown option --weekly"),
            (&["--by"], "Usage:"),
        ] {
            let error = parsed(words).unwrap_err();
            assert!(error.contains(told), "{words:?}: {error}");
        }
    }

    #[test]
    fn fields_are_quoted_where_it_matters() {
        assert_eq!(csv_field("/work/a"), "/work/a");
        assert_eq!(csv_field("/a,\"b\""), "\"/a,\"\"b\"\"\"");
        assert_eq!(csv_field("=1+1"), "'=1+1");
    }
}
