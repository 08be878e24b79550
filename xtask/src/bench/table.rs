//! The figures as one table: median, peer, ratio, budget, verdict.

use std::fmt::Write;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) enum Amount {
    Time(Duration),
    Bytes(u64),
    Times(f64),
    Percent(f64),
    Count(f64),
}

impl Amount {
    pub(super) fn ms(millis: f64) -> Self {
        Self::Time(Duration::from_secs_f64(millis / 1e3))
    }

    pub(super) fn mb(megabytes: u64) -> Self {
        Self::Bytes(megabytes * 1_000_000)
    }

    fn number(self) -> f64 {
        match self {
            Self::Time(time) => time.as_secs_f64(),
            Self::Bytes(bytes) => bytes as f64,
            Self::Times(amount) | Self::Percent(amount) | Self::Count(amount) => amount,
        }
    }

    fn text(self) -> String {
        match self {
            Self::Time(time) if time >= Duration::from_secs(1) => format!("{:.2} s", time.as_secs_f64()),
            Self::Time(time) => format!("{:.2} ms", time.as_secs_f64() * 1e3),
            Self::Bytes(bytes) if bytes < 10_000 => format!("{bytes} B"),
            Self::Bytes(bytes) => format!("{:.1} MB", bytes as f64 / 1e6),
            Self::Times(times) => format!("{times:.2} x"),
            Self::Percent(percent) => format!("{percent:.1} %"),
            Self::Count(count) => format!("{count:.0}"),
        }
    }
}

/// What a figure is compared with.
pub(super) struct Peer {
    pub(super) name: &'static str,
    pub(super) amount: Amount,
}

/// Above this load average a time says more about the machine than about the product.
pub(super) const MOST_LOAD: f64 = 2.0;

pub(super) struct Row {
    pub(super) name: String,
    pub(super) amount: Amount,
    pub(super) peer: Option<Peer>,
    pub(super) budget: Option<Budget>,
    /// The load average while it was measured; 0 when it is not known.
    pub(super) load: f64,
}

/// A limit for the figure itself, or for its ratio to the peer.
#[derive(Clone, Copy)]
pub(super) enum Budget {
    Amount(Amount),
    Ratio(f64),
}

impl Row {
    pub(super) fn new(name: impl Into<String>, amount: Amount) -> Self {
        Self { name: name.into(), amount, peer: None, budget: None, load: 0.0 }
    }

    pub(super) fn peer(mut self, name: &'static str, amount: Amount) -> Self {
        self.peer = Some(Peer { name, amount });
        self
    }

    pub(super) fn budget(mut self, amount: Amount) -> Self {
        self.budget = Some(Budget::Amount(amount));
        self
    }

    pub(super) fn at_most_times(mut self, ratio: f64) -> Self {
        self.budget = Some(Budget::Ratio(ratio));
        self
    }

    pub(super) fn under(mut self, load: f64) -> Self {
        self.load = load;
        self
    }

    /// Whether others used the machine while a time was measured.
    pub(super) fn is_of_busy_machine(&self) -> bool {
        self.load > MOST_LOAD && matches!(self.amount, Amount::Time(_))
    }

    fn ratio(&self) -> Option<f64> {
        self.peer.as_ref().map(|peer| self.amount.number() / peer.amount.number().max(f64::MIN_POSITIVE))
    }

    pub(super) fn is_over(&self) -> bool {
        match self.budget {
            Some(Budget::Amount(limit)) => self.amount.number() > limit.number(),
            Some(Budget::Ratio(limit)) => self.ratio().is_some_and(|ratio| ratio > limit),
            None => false,
        }
    }

    fn cells(&self) -> [String; 6] {
        let peer = self.peer.as_ref().map(|p| format!("{} ({})", p.amount.text(), p.name));
        let budget = self.budget.map(|budget| match budget {
            Budget::Amount(limit) => limit.text(),
            Budget::Ratio(limit) => Amount::Times(limit).text(),
        });
        let verdict = match (self.budget, self.is_over()) {
            (None, _) => "",
            (Some(_), true) => "over",
            (Some(_), false) => "ok",
        };
        let load = if self.is_of_busy_machine() { format!("load {:.1}", self.load) } else { String::new() };
        [
            self.name.clone(),
            self.amount.text(),
            peer.unwrap_or_default(),
            self.ratio().map(|r| Amount::Times(r).text()).unwrap_or_default(),
            budget.unwrap_or_default(),
            [verdict, &load].join(" ").trim().to_owned(),
        ]
    }
}

/// Renders Markdown with aligned columns, readable in a terminal too.
pub(super) fn render(rows: &[Row]) -> String {
    let head = ["", "gimlet", "peer", "ratio", "budget", ""].map(str::to_owned);
    let lines: Vec<[String; 6]> = std::iter::once(head).chain(rows.iter().map(Row::cells)).collect();
    let widths: [usize; 6] =
        std::array::from_fn(|column| lines.iter().map(|l| l[column].chars().count()).max().unwrap_or(0).max(3));
    let mut out = String::new();
    for (index, line) in lines.iter().enumerate() {
        for (cell, width) in line.iter().zip(widths) {
            write!(out, "| {cell:<width$} ").ok();
        }
        out.push_str("|\n");
        if index == 0 {
            let rule = widths.map(|width| "-".repeat(width + 2));
            out.extend(["|", &rule.join("|"), "|\n"]);
        }
    }
    out
}

/// The middle of an odd number of values; of an even number, the upper of the two.
pub(super) fn median<T: PartialOrd + Copy>(values: &[T]) -> Option<T> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_over_when_its_budget_says_so() {
        let row = |ms: f64| Row::new("x", Amount::ms(ms)).peer("y", Amount::ms(10.0));
        assert!(!row(20.0).budget(Amount::ms(20.0)).is_over());
        assert!(row(20.1).budget(Amount::ms(20.0)).is_over());
        assert!(row(13.0).at_most_times(1.2).is_over());
        assert!(!row(11.0).at_most_times(1.2).is_over());
        assert!(!row(500.0).is_over());
    }

    #[test]
    fn the_table_is_aligned_and_complete() {
        let rows = [Row::new("first", Amount::ms(1.5)).peer("true", Amount::ms(0.5)).budget(Amount::ms(1.0))];
        let text = render(&rows);
        assert!(text.contains("| first | 1.50 ms | 0.50 ms (true) | 3.00 x | 1.00 ms | over |"), "{text}");
        let widths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
    }

    #[test]
    fn times_of_a_busy_machine_are_marked() {
        let row = |amount| Row::new("x", amount).budget(Amount::ms(1.0));
        assert!(render(&[row(Amount::ms(1.5)).under(3.25)]).contains("| over load 3.2 |"));
        assert!(render(&[row(Amount::ms(0.5)).under(2.0)]).contains("| ok "));
        assert!(!row(Amount::Bytes(5)).under(9.0).is_of_busy_machine());
    }

    #[test]
    fn the_median_ignores_the_order_and_one_outlier() {
        assert_eq!(median(&[9, 1, 2]), Some(2));
        assert_eq!(median(&[3, 1, 2, 1000, 2]), Some(2));
        assert_eq!(median::<u8>(&[]), None);
    }
}
