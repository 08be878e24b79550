//! A small seeded mutator for smoke runs on stable: the same inputs on every machine, near enough to real ones that the
//! parsers go deep. Real fuzzing is `cargo xtask fuzz`.

#[path = "unescaped.rs"]
mod unescaped;

use unescaped::unescaped;

/// Pieces that parsers care about.
const TOKENS: [&[u8]; 16] = [
    b"\n",
    b"\r\n",
    b"\r",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"null",
    b"\\ud800",
    b"\0",
    b"\xff",
    b"data: ",
    b"\"uuid\":",
    b"\xe2\x80\xa8",
    b"\xef\xbb\xbf",
];

/// Runs `check` on every seed as it is, and on `times` changed copies of each.
pub(crate) fn smoke(seeds: &[impl AsRef<[u8]>], check: fn(&[u8]), first: u64, times: usize) {
    for (n, seed) in seeds.iter().enumerate() {
        check(seed.as_ref());
        let mut mutator = Mutator::new(n as u64 + first);
        for _ in 0..times {
            check(&mutator.mutate(seed.as_ref()));
        }
    }
}

/// Runs `check` on the inputs that fuzzing has kept: one on each line, with escapes.
pub(crate) fn kept(corpus: &str, check: fn(&[u8])) {
    for line in corpus.lines() {
        check(&unescaped(line));
    }
}

struct Mutator(u64);

impl Mutator {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % (limit as u64 + 1)).unwrap_or(0)
    }

    /// `input` after a few random changes.
    fn mutate(&mut self, input: &[u8]) -> Vec<u8> {
        let mut bytes = input.to_vec();
        for _ in 0..=self.below(6) {
            self.change(&mut bytes);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len());
        let end = (at + self.below(40)).min(bytes.len());
        match self.next() % 6 {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let token = TOKENS[self.below(TOKENS.len() - 1)];
                bytes.splice(at..at, token.iter().copied());
            }
            3 => {
                let copy = bytes[at..end].to_vec();
                let to = self.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            4 if at < bytes.len() => bytes[at] ^= 1 << self.below(7),
            _ => {
                let byte = self.next().to_le_bytes()[0];
                bytes.splice(at..end, [byte]);
            }
        }
    }
}
