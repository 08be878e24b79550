//! Stores unbounded output in bounded memory: the beginning, the end, and the total length.

use std::collections::VecDeque;

/// Keeps the first `head` and the last `tail` bytes of everything pushed.
#[derive(Clone, Debug)]
pub struct RingBuffer {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_limit: usize,
    tail_limit: usize,
    total: u64,
}

impl RingBuffer {
    pub const DEFAULT_SIDE: usize = 32 * 1024;

    pub fn new(head_limit: usize, tail_limit: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), head_limit, tail_limit, total: 0 }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.head_limit - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// The number of bytes ever pushed.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The number of dropped bytes, which were between head and tail.
    pub fn omitted(&self) -> u64 {
        self.total - self.head.len() as u64 - self.tail.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The last bytes, without those that `head` contains.
    pub fn tail(&mut self) -> &[u8] {
        self.tail.make_contiguous()
    }

    /// Head and tail together; dropped bytes, if any, were after the first `head().len()` bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.head.len() + self.tail.len());
        bytes.extend_from_slice(&self.head);
        let (front, back) = self.tail.as_slices();
        bytes.extend_from_slice(front);
        bytes.extend_from_slice(back);
        bytes
    }
}

impl Default for RingBuffer {
    fn default() -> Self {
        Self::new(Self::DEFAULT_SIDE, Self::DEFAULT_SIDE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_split_keeps_the_same_ends() {
        let data: Vec<u8> = (0..100_u8).collect();
        for (head, tail) in [(10, 7), (0, 5), (5, 0), (60, 60), (100, 1), (0, 0)] {
            for step in [1, 3, 10, 99, 100] {
                let mut ring = RingBuffer::new(head, tail);
                data.chunks(step).for_each(|chunk| ring.push(chunk));
                assert_eq!(ring.total(), 100);
                assert_eq!(ring.head(), &data[..head]);
                let kept = (100 - head).min(tail);
                assert_eq!(ring.tail(), &data[100 - kept..], "{head} {tail} {step}");
                assert_eq!(ring.omitted(), (100 - head - kept) as u64);
                assert_eq!(ring.to_bytes(), [&data[..head], &data[100 - kept..]].concat());
            }
        }
    }

    #[test]
    fn memory_stays_bounded() {
        let mut ring = RingBuffer::default();
        for _ in 0..2000 {
            ring.push(&[7; 10_000]);
        }
        assert_eq!(ring.total(), 20_000_000);
        assert!(ring.head.capacity() <= 2 * RingBuffer::DEFAULT_SIDE);
        assert!(ring.tail.capacity() <= 4 * RingBuffer::DEFAULT_SIDE);
    }
}
