//! How many tokens a text has, where no server counts them: one estimate for all crates. It is rather too high: dense
//! code has fewer characters per token than prose.

/// Bytes per token, times four.
const QUARTER_BYTES: usize = 13;

/// The tokens of a text of this many bytes.
pub fn of_bytes(bytes: usize) -> u64 {
    (bytes as u64 * 4).div_ceil(QUARTER_BYTES as u64)
}

/// The most bytes of a text that has no more than this many tokens.
pub fn bytes_of(tokens: usize) -> usize {
    tokens.saturating_mul(QUARTER_BYTES) / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_agree() {
        // [MX-10]
        for tokens in [0, 1, 2, 3, 4, 25_000] {
            assert_eq!(of_bytes(bytes_of(tokens)), tokens as u64);
            assert_eq!(of_bytes(bytes_of(tokens) + 1), tokens as u64 + 1);
        }
        assert_eq!(bytes_of(usize::MAX), usize::MAX / 4);
    }
}
