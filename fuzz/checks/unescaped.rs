//! Reads the lines that keep inputs of fuzz targets; also compiled into `xtask`, which writes them.

/// The reverse of `escape_ascii`.
pub(crate) fn unescaped(line: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = line.as_bytes();
    while let [first, more @ ..] = rest {
        let (byte, skipped) = match (first, more) {
            (b'\\', [b'x', high, low, ..]) => (hex(*high) << 4 | hex(*low), 4),
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b'r', ..]) => (b'\r', 2),
            (b'\\', [b't', ..]) => (b'\t', 2),
            (b'\\', [other, ..]) => (*other, 2),
            (byte, _) => (*byte, 1),
        };
        bytes.push(byte);
        rest = &rest[skipped..];
    }
    bytes
}

fn hex(digit: u8) -> u8 {
    (digit as char).to_digit(16).map_or(0, |value| value as u8)
}
