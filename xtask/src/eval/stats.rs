//! Intervals of shares, and the comparison of two binaries on the same tasks and seeds.

/// The 90 % interval of a share (Wilson), in percent.
pub(super) fn interval(passed: u64, all: u64) -> (f64, f64) {
    const Z: f64 = 1.644_853_627;
    if all == 0 {
        return (0.0, 100.0);
    }
    let (n, p) = (all as f64, passed as f64 / all as f64);
    let middle = p + Z * Z / (2.0 * n);
    let spread = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    (100.0 * ((middle - spread) / scale).max(0.0), 100.0 * ((middle + spread) / scale).min(1.0))
}

/// Two-sided exact test of pairs that differ (McNemar): `one` pairs where only the first passed, `other` where only the
/// second did.
pub(super) fn paired_test(one: u64, other: u64) -> f64 {
    let n = one + other;
    if n == 0 {
        return 1.0;
    }
    let mut term = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut sum = 0.0;
    for k in 0..=one.min(other) {
        sum += term;
        term *= (n - k) as f64 / (k + 1) as f64;
    }
    (2.0 * sum).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    // [MX-43]
    #[test]
    fn intervals_and_pairs() {
        let (low, high) = interval(18, 20);
        assert!((low - 73.83).abs() < 0.01 && (high - 96.63).abs() < 0.01, "{low} {high}");
        assert_eq!(interval(0, 0), (0.0, 100.0));
        assert!(interval(5, 5).1 > 99.9 && interval(5, 5).0 > 60.0);
        assert!((paired_test(0, 0) - 1.0).abs() < 1e-9);
        assert!((paired_test(1, 9) - 0.021_484).abs() < 1e-5);
        assert!((paired_test(5, 5) - 1.0).abs() < 1e-9);
    }
}
