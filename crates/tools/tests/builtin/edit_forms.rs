//! Edits as careless models send them, at random: whatever is sent, the file holds what the call says, nothing else
//! changes, and no place is chosen where two would do. `GIMLET_SAMPLES` sets how many (100,000 for the long form),
//! `GIMLET_SEED` gives another sequence.

use crate::common::Bench;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use tools::ToolOutcome;

/// The ways in which a text may differ, in the order in which they are tried, by a part of the note that names them.
const DIFFERENCES: [&str; 5] = ["line numbers", "line ends", "look alike", "escapes", "by indentation"];
/// Shorter texts, in characters that are not blank, are matched exactly or not at all.
const SHORTEST: usize = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slip {
    None,
    SpacesForTabs(usize),
    TabsForSpaces(usize),
    Deeper(&'static str),
    Shallower,
    Numbered(usize),
    BlanksAtEnds,
    TrimmedEnds,
    PlainCharacters,
    FineCharacters,
    SpelledOut,
    NewlinesMore(usize),
    CarriageReturns,
    /// One character is lost.
    Lost(usize),
    /// The beginning of the first line is left out.
    PartOfLine(usize),
}

impl Slip {
    fn of(self, text: &str) -> String {
        let lines = |change: &dyn Fn(&str) -> String| text.split('\n').map(change).collect::<Vec<_>>().join("\n");
        let indented = |line: &str, change: &dyn Fn(&str) -> String| {
            let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
            format!("{}{rest}", change(indent))
        };
        match self {
            Self::None => text.to_owned(),
            Self::SpacesForTabs(width) => {
                lines(&|line| indented(line, &|indent| indent.replace('\t', &" ".repeat(width))))
            }
            Self::TabsForSpaces(width) => {
                lines(&|line| indented(line, &|indent| indent.replace(&" ".repeat(width), "\t")))
            }
            Self::Deeper(more) => lines(&|line| if line.is_empty() { String::new() } else { format!("{more}{line}") }),
            Self::Shallower => lines(&|line| line.strip_prefix(['\t', ' ']).unwrap_or(line).to_owned()),
            Self::Numbered(first) => {
                let number = |(at, line): (usize, &str)| format!("{}\t{line}", first + at);
                text.split('\n').enumerate().map(number).collect::<Vec<_>>().join("\n")
            }
            Self::BlanksAtEnds => lines(&|line| format!("{line}  ")),
            Self::TrimmedEnds => lines(&|line| line.trim_end().to_owned()),
            Self::PlainCharacters => plain(text),
            Self::FineCharacters => text.replacen('-', "–", 1),
            Self::SpelledOut => text.replace('\n', "\\n").replace('\t', "\\t"),
            Self::NewlinesMore(count) => format!("{text}{}", "\n".repeat(count)),
            Self::CarriageReturns => text.replace('\n', "\r\n"),
            Self::Lost(at) => {
                let at = text.char_indices().nth(at % text.chars().count().max(1)).map_or(0, |(at, _)| at);
                text[..at].chars().chain(text[at..].chars().skip(1)).collect()
            }
            Self::PartOfLine(count) => text.char_indices().nth(count).map_or(text, |(at, _)| &text[at..]).to_owned(),
        }
    }

    /// The difference it makes, when the same slip in both texts leaves no doubt about what is to stand in the file.
    fn difference(self) -> Option<usize> {
        match self {
            Self::Numbered(_) => Some(0),
            Self::SpelledOut => Some(3),
            Self::SpacesForTabs(_) | Self::TabsForSpaces(_) | Self::Deeper(_) => Some(4),
            _ => None,
        }
    }
}

/// One file and one edit of it.
#[derive(Clone, Debug)]
struct Sample {
    lines: Vec<String>,
    /// CR LF in place of LF: never, always, or in every line of this remainder of three.
    endings: usize,
    final_newline: bool,
    at: usize,
    count: usize,
    change: usize,
    slips: Vec<Slip>,
    /// The new text has the slips too.
    is_consistent: bool,
    is_stale: bool,
    replace_all: bool,
    /// The file holds the new text already.
    is_done: bool,
}

fn slip() -> impl Strategy<Value = Slip> {
    prop_oneof![
        Just(Slip::None),
        (1usize..5).prop_map(Slip::SpacesForTabs),
        prop_oneof![Just(2usize), Just(4)].prop_map(Slip::TabsForSpaces),
        prop_oneof![Just("\t"), Just("  "), Just("    ")].prop_map(Slip::Deeper),
        Just(Slip::Shallower),
        (1usize..120).prop_map(Slip::Numbered),
        Just(Slip::BlanksAtEnds),
        Just(Slip::TrimmedEnds),
        Just(Slip::PlainCharacters),
        Just(Slip::FineCharacters),
        Just(Slip::SpelledOut),
        (1usize..3).prop_map(Slip::NewlinesMore),
        Just(Slip::CarriageReturns),
        (0usize..60).prop_map(Slip::Lost),
        (1usize..8).prop_map(Slip::PartOfLine),
    ]
}

fn sample() -> impl Strategy<Value = Sample> {
    // Few words, so that lines and whole regions are often alike.
    let word = prop_oneof![
        8 => "[a-c]{1,3}",
        2 => "[ab]\\(x\\)",
        1 => Just("é – y".to_owned()),
        1 => Just("a\u{a0}b…".to_owned()),
        1 => Just("\"b\"".to_owned()),
        1 => Just("'c' \u{2019}".to_owned()),
        1 => Just("a\\n".to_owned()),
        1 => Just("7\tx".to_owned()),
        1 => Just("a-b".to_owned()),
    ];
    let indent =
        (0usize..3, prop_oneof![Just("\t"), Just("  "), Just("    ")]).prop_map(|(depth, unit)| unit.repeat(depth));
    let tail = prop_oneof![9 => Just(";"), 1 => Just(";  "), 1 => Just(";\t"), 3 => Just(""), 1 => Just(" ")];
    let line = (indent, word.clone(), word, tail).prop_map(|(indent, a, b, tail)| format!("{indent}{a} = {b}{tail}"));
    let lines =
        prop::collection::vec(prop_oneof![9 => line, 1 => Just(String::new()), 1 => Just("\t".to_owned())], 1..16);
    // Some files hold a part of themselves twice.
    let lines = (lines, any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0usize..4).prop_map(
        |(mut lines, a, b, twice)| {
            if twice == 0 {
                let (a, b) = (a.index(lines.len()), b.index(lines.len()));
                lines.extend_from_within(a.min(b)..=a.max(b));
            }
            lines
        },
    );
    let how = (
        prop::collection::vec(slip(), 1..3),
        any::<bool>(),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.05),
        prop::bool::weighted(0.15),
    );
    (lines, 0usize..5, any::<bool>(), 0usize..16, 1usize..6, 0usize..12, how).prop_map(
        |(lines, endings, final_newline, at, count, change, (slips, is_consistent, is_stale, replace_all, is_done))| {
            Sample {
                lines,
                endings,
                final_newline,
                at,
                count,
                change,
                slips,
                is_consistent,
                is_stale,
                replace_all,
                is_done,
            }
        },
    )
}

impl Sample {
    fn region(&self) -> std::ops::Range<usize> {
        let at = self.at % self.lines.len();
        at..(at + self.count).min(self.lines.len())
    }

    /// The file with LF line ends, its region replaced.
    fn with_region(&self, region: &[String]) -> String {
        let place = self.region();
        let lines = [&self.lines[..place.start], region, &self.lines[place.end..]].concat();
        lines.join("\n") + if self.final_newline { "\n" } else { "" }
    }

    fn text(&self) -> String {
        if self.is_done { self.with_region(&self.wished()) } else { self.with_region(&self.lines[self.region()]) }
    }

    fn bytes(&self) -> String {
        let has_cr = |at: usize| self.endings == 1 || self.endings == 2 && at.is_multiple_of(3);
        let text = self.text();
        let last = text.matches('\n').count();
        let line = |(at, line): (usize, &str)| match at {
            at if at == last => line.to_owned(),
            at if has_cr(at) => format!("{line}\r\n"),
            _ => format!("{line}\n"),
        };
        text.split('\n').enumerate().map(line).collect()
    }

    /// The region as it is wanted.
    fn wished(&self) -> Vec<String> {
        let mut wished = self.lines[self.region()].to_vec();
        let at = self.change % wished.len();
        let indent: String = wished[at].chars().take_while(|c| c.is_whitespace()).collect();
        match self.change % 4 {
            0 => wished.insert(at, format!("{indent}added = 1;")),
            1 if wished.len() > 1 => drop(wished.remove(at)),
            // The new text ends with a newline that the old one need not have.
            2 => wished.push(String::new()),
            _ => wished[at] = format!("{indent}changed = 1;"),
        }
        wished
    }

    /// Whether the slip can be undone: no line is indented with what it puts in place of something else.
    fn is_reversible(&self, slip: Slip) -> bool {
        let put = match slip {
            Slip::SpacesForTabs(_) => ' ',
            Slip::TabsForSpaces(_) => '\t',
            _ => return true,
        };
        let indent = |line: &String| line[..line.len() - line.trim_start().len()].contains(put);
        !self.lines[self.region()].iter().chain(&self.wished()).any(indent)
    }

    fn sent_old(&self) -> String {
        self.slipped(&self.lines[self.region()].join("\n"))
    }

    fn sent_new(&self) -> String {
        let wished = self.wished().join("\n");
        if self.is_consistent { self.slipped(&wished) } else { wished }
    }

    fn slipped(&self, text: &str) -> String {
        self.slips.iter().fold(text.to_owned(), |text, slip| slip.of(&text))
    }
}

/// Typographic characters as their plain likenesses.
fn plain(text: &str) -> String {
    let fold = |c: char| match c {
        '\u{a0}' | '\u{2009}' => " ".to_owned(),
        '–' | '—' | '−' => "-".to_owned(),
        '…' => "...".to_owned(),
        '\u{2018}' | '\u{2019}' => "'".to_owned(),
        '\u{201c}' | '\u{201d}' => "\"".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(fold).collect()
}

fn unescaped(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"")
}

fn without_number(line: &str) -> &str {
    let rest = line.trim_start_matches(' ').trim_start_matches(|c: char| c.is_ascii_digit());
    rest.strip_prefix('\t').unwrap_or(line)
}

/// The text with everything taken away that one of the differences lets differ.
fn loose(text: &str, difference: usize) -> String {
    match difference {
        0 => text.split('\n').map(without_number).collect::<Vec<_>>().join("\n"),
        2 => plain(text),
        3 => unescaped(text),
        _ => loose_lines(text, difference).trim_matches('\n').to_owned(),
    }
}

/// Without white space at line ends, or at their beginnings.
fn loose_lines(text: &str, difference: usize) -> String {
    let trimmed = |line| if difference == 1 { str::trim_end(line) } else { str::trim_start(line) };
    text.split('\n').map(trimmed).collect::<Vec<_>>().join("\n")
}

/// How many places of the file are `old` but for this difference.
fn alike(text: &str, old: &str, difference: usize) -> usize {
    match difference {
        0 | 3 => places_of(text, &loose(old, difference)),
        2 => places_of(&plain(text), &plain(old)),
        // Whole lines.
        _ => {
            let lines: Vec<&str> = text.split('\n').collect();
            let wanted = loose_lines(old.trim_matches('\n'), difference);
            let count = wanted.split('\n').count().min(lines.len());
            lines.windows(count).filter(|window| loose_lines(&window.join("\n"), difference) == wanted).count()
        }
    }
}

fn places_of(text: &str, part: &str) -> usize {
    (0..text.len()).filter(|at| text.is_char_boundary(*at) && text[*at..].starts_with(part)).count()
}

/// The call as the session makes it: read, brought into the form that is approved, and made in that form.
async fn edit(bench: &Bench, input: &Value) -> (Value, String, ToolOutcome) {
    let raw = |input: &Value| RawValue::from_string(input.to_string()).unwrap();
    let tool = bench.registry.find("Edit").unwrap();
    let mut call = tool.parse(&raw(input)).unwrap();
    let mut cx = bench.cx();
    let (mut approved, mut note) = (input.clone(), String::new());
    if let Some(normal) = call.normalise(&cx) {
        approved = serde_json::from_str(normal.input.get()).unwrap();
        call = tool.parse(&raw(&approved)).unwrap();
        note.clone_from(&normal.note);
        cx.input_note = Some(normal.note);
    }
    let outcome = call.run(cx).await;
    (approved, note, outcome)
}

/// Checks one sample; returns what came of it.
async fn judge(sample: &Sample) -> Result<&'static str, TestCaseError> {
    let bench = Bench::new();
    let (before, old, new) = (sample.bytes(), sample.sent_old(), sample.sent_new());
    let path = bench.file("file.txt", &before);
    if sample.is_stale {
        bench.file("file.txt", format!("{before}\nother"));
        bench.ok("Read", json!({"file_path": path})).await;
        bench.file("file.txt", &before);
    }
    if old.is_empty() || old == new {
        return Ok("nothing to do");
    }
    let mut input = json!({"file_path": path, "old_string": old, "new_string": new});
    if sample.replace_all {
        input["replace_all"] = json!(true);
    }
    let (approved, note, outcome) = edit(&bench, &input).await;
    let after = bench.text("file.txt");
    if outcome.is_error {
        prop_assert_eq!(&after, &before, "a refused edit changed the file");
        prop_assert_eq!(&note, "", "an edit was understood and refused: {}", outcome.content.text());
        return Ok("refused");
    }
    let lf = |text: &str| text.replace("\r\n", "\n");
    let (text, old_lf) = (lf(&before), lf(&old));
    let shown: Value = serde_json::from_str(outcome.structured.as_ref().unwrap().get()).unwrap();
    prop_assert_eq!(crate::files_edit::patched(&shown), after.clone(), "the difference shown is not the one made");
    if note.is_empty() {
        return Ok(if places_of(&text, &old_lf) > 0 { "exact" } else { "quotes" });
    }

    // What was approved stands in the file once, and replacing it is all that happened.
    let [there, put] = ["old_string", "new_string"].map(|name| approved[name].as_str().unwrap().to_owned());
    prop_assert_eq!(places_of(&text, &there), 1, "{}", note);
    let at = text.find(&there).unwrap();
    let crs = |end: usize| {
        let lf_ends: Vec<bool> = before.match_indices('\n').map(|(at, _)| before[..at].ends_with('\r')).collect();
        end + lf_ends[..text[..end].matches('\n').count()].iter().filter(|has| **has).count()
    };
    let (head, rest) = (&before[..crs(at)], &before[crs(at + there.len())..]);
    prop_assert!(after.starts_with(head) && after.ends_with(rest), "changed outside of the region: {:?}", after);
    prop_assert_eq!(lf(&after[head.len()..after.len() - rest.len()]), lf(&put));

    // Never for all places, a stale file or a short text, and never a choice.
    prop_assert!(!sample.replace_all && !sample.is_stale);
    prop_assert!(old.chars().filter(|c| !c.is_whitespace()).count() >= SHORTEST);
    prop_assert_eq!(places_of(&text, &old_lf), 0);
    let difference = DIFFERENCES.iter().position(|words| note.contains(words)).unwrap();
    prop_assert!(alike(&text, &old_lf, difference) <= 1, "a choice between places: {}", note);

    // No line is joined with the next one.
    let joins = there.ends_with('\n') && !put.is_empty() && !put.ends_with('\n');
    prop_assert!(!joins || rest.is_empty() || rest.starts_with(['\n', '\r']), "lines are joined: {}", note);

    // Nothing is put where it stands already, and no place begins or ends within a word.
    if put.len() > there.len() {
        let (from, to) = (&text[at..], &text[..at + there.len()]);
        prop_assert!(!from.starts_with(&put) && !to.ends_with(&put), "made twice: {}", note);
    }
    for border in [at, at + there.len()] {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let cuts = text[..border].ends_with(is_part) && text[border..].starts_with(is_part);
        prop_assert!(!cuts, "within a word: {}", note);
    }

    // A line that was sent whole is not the beginning of a longer one.
    let whole = if matches!(difference, 0 | 3) { loose(&old_lf, difference) } else { old_lf.clone() };
    let ends_line = there.ends_with('\n') || rest.is_empty() || rest.starts_with(['\n', '\r']);
    prop_assert!(ends_line || !whole.ends_with('\n'), "part of a line: {}", note);

    // What is replaced is what was sent, but for the difference that is named.
    let own = |text: &str| if matches!(difference, 0 | 3) { text.to_owned() } else { loose(text, difference) };
    prop_assert_eq!(own(&there), loose(&old_lf, difference), "{}", note);
    if let ([slip], true) = (sample.slips.as_slice(), sample.is_consistent)
        && slip.difference() == Some(difference)
        && sample.is_reversible(*slip)
        && !sample.is_done
    {
        prop_assert_eq!(lf(&after), sample.with_region(&sample.wished()), "{}", note);
    }
    Ok(DIFFERENCES[difference])
}

#[expect(clippy::disallowed_methods, reason = "samples and seed are given to the test command")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// [MX-2] [MX-3] Never a byte outside the region, never a choice between two places, never on short text; what is
/// approved is what is done.
#[test]
fn random_edits_change_what_they_say_and_nothing_else() {
    let samples = number("GIMLET_SAMPLES").unwrap_or(1_000);
    let seed = number("GIMLET_SEED").unwrap_or(20_261_119);
    let config = Config {
        cases: u32::try_from(samples).unwrap(),
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let seen: RefCell<BTreeMap<&str, u64>> = RefCell::default();
    let checked = TestRunner::new(config).run(&sample(), |sample| {
        *seen.borrow_mut().entry(runtime.block_on(judge(&sample))?).or_default() += 1;
        Ok(())
    });
    checked.unwrap_or_else(|failure| panic!("GIMLET_SEED={seed}: {failure}"));
    let seen = seen.into_inner();
    eprintln!("{seen:?}");
    for kind in DIFFERENCES.into_iter().chain(["exact", "refused"]) {
        assert!(seen.get(kind).is_some_and(|count| count * 400 > samples), "too few of '{kind}': {seen:?}");
    }
}
