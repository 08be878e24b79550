//! Numbers and equality as JSON Schema defines them: `1` and `1.0` are equal, and decimals are compared exactly.

use serde_json::{Number, Value};
use std::cmp::Ordering;
use std::fmt::Write;

/// `digits * 10^exponent`, negative or not; no trailing zeros in `digits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: u128,
    exponent: i32,
}

impl Decimal {
    fn of(number: &Number) -> Self {
        let text = number.to_string();
        let (text, exponent) = match text.split_once(['e', 'E']) {
            Some((text, exponent)) => (text, exponent.parse().unwrap_or(0)),
            None => (text.as_str(), 0),
        };
        let negative = text.starts_with('-');
        let text = text.trim_start_matches('-');
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        // Apart from zeros, both parts together have at most the 20 digits of the largest integer or the 17 of a float.
        let significant = format!("{whole}{fraction}");
        let trimmed = significant.trim_end_matches('0');
        let zeros = significant.len() - trimmed.len();
        let digits = trimmed.parse().unwrap_or(0);
        let exponent = if digits == 0 { 0 } else { exponent - small(fraction.len()) + small(zeros) };
        Self { negative: negative && digits != 0, digits, exponent }
    }

    fn sign(self) -> i8 {
        match (self.digits, self.negative) {
            (0, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        }
    }

    /// Compares absolute values, both above zero or both zero: first by the position of the leading digit, then digit
    /// by digit.
    fn compare_size(self, other: Self) -> Ordering {
        let (mut ours, mut theirs) = (self.digits.to_string(), other.digits.to_string());
        let top = |digits: &str, exponent: i32| small(digits.len()) + exponent;
        let width = ours.len().max(theirs.len());
        let order = top(&ours, self.exponent).cmp(&top(&theirs, other.exponent));
        for digits in [&mut ours, &mut theirs] {
            digits.extend(std::iter::repeat_n('0', width - digits.len()));
        }
        order.then_with(|| ours.cmp(&theirs))
    }
}

fn small(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX / 4)
}

pub(super) fn is_integer(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|float| float.is_finite() && float.fract() == 0.0)
}

pub(super) fn compare(a: &Number, b: &Number) -> Ordering {
    let whole = |n: &Number| n.as_i64().map(i128::from).or_else(|| n.as_u64().map(i128::from));
    if let (Some(a), Some(b)) = (whole(a), whole(b)) {
        return a.cmp(&b);
    }
    let (a, b) = (Decimal::of(a), Decimal::of(b));
    match (a.sign().cmp(&b.sign()), a.negative) {
        (Ordering::Equal, false) => a.compare_size(b),
        (Ordering::Equal, true) => b.compare_size(a),
        (order, _) => order,
    }
}

/// True when `number` is a multiple of `divisor` (above zero) in decimal arithmetic.
pub(super) fn is_multiple(number: &Number, divisor: &Number) -> bool {
    let (number, divisor) = (Decimal::of(number), Decimal::of(divisor));
    if number.digits == 0 {
        return true;
    }
    if divisor.digits == 0 {
        return false;
    }
    let shift = number.exponent - divisor.exponent;
    if shift >= 0 {
        return (number.digits % divisor.digits * power_modulo(shift.unsigned_abs(), divisor.digits))
            .is_multiple_of(divisor.digits);
    }
    // The divisor has the larger exponent and must be scaled up; it soon exceeds every possible number.
    let scaled = 10_u128.checked_pow(shift.unsigned_abs()).and_then(|power| power.checked_mul(divisor.digits));
    scaled.is_some_and(|divisor| number.digits.is_multiple_of(divisor))
}

/// `10^exponent % modulus`. Moduli are below 2^64, so a product of two remainders fits in a `u128`.
fn power_modulo(exponent: u32, modulus: u128) -> u128 {
    (0..exponent).fold(1 % modulus, |power, _| power * 10 % modulus)
}

pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Ordering::Equal,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// Writes a text that is the same for equal values and different for unequal ones.
pub(super) fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) => {
            let Decimal { negative, digits, exponent } = Decimal::of(number);
            write!(out, "{}{digits}e{exponent}", if negative { "-" } else { "" }).ok();
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_unstable();
            out.push('{');
            for name in names {
                write!(out, "{name:?}:").ok();
                canonical(&members[name], out);
                out.push(',');
            }
            out.push('}');
        }
        Value::String(text) => {
            write!(out, "{text:?}").ok();
        }
        Value::Null | Value::Bool(_) => {
            write!(out, "{value}").ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn multiples_are_exact() {
        for (a, b) in [
            ("0.0075", "0.0001"),
            ("4.35", "0.01"),
            ("1e308", "0.5"),
            ("18446744073709551615", "5"),
            ("0", "3"),
            ("-9", "1.5"),
            ("1e20", "1e18"),
        ] {
            assert!(is_multiple(&number(a), &number(b)), "{a} {b}");
        }
        for (a, b) in
            [("0.00751", "0.0001"), ("1e308", "0.123456789"), ("35", "1.5"), ("1", "1e300"), ("1e-300", "1e300")]
        {
            assert!(!is_multiple(&number(a), &number(b)), "{a} {b}");
        }
    }

    #[test]
    fn one_is_one() {
        assert!(equal(&json!({"a": [1, 2.0], "b": null}), &json!({"b": null, "a": [1.0, 2]})));
        assert!(!equal(&json!(0), &json!(false)));
        for (a, b) in [
            ("9007199254740993", "9007199254740992.0"),
            ("1.5", "1"),
            ("-1", "-1.5"),
            ("0.1", "-3"),
            ("1e300", "18446744073709551615"),
            ("0.002", "0.0019"),
            ("1", "0.0"),
        ] {
            assert_eq!(compare(&number(a), &number(b)), Ordering::Greater, "{a} {b}");
            assert_eq!(compare(&number(b), &number(a)), Ordering::Less, "{a} {b}");
        }
        assert_eq!(compare(&number("-0.0"), &number("0")), Ordering::Equal);
        let text = |value| {
            let mut out = String::new();
            canonical(&value, &mut out);
            out
        };
        assert_eq!(text(json!({"a": 1.50, "b": 100})), text(json!({"b": 1e2, "a": 1.5})));
        assert_ne!(text(json!(["a", "b"])), text(json!(["a\",\"b"])));
    }
}
