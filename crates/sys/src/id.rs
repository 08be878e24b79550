//! Random identifiers.

use std::cell::RefCell;

/// In bytes, drawn at once. A streamed response needs an id per event; one system call for each would be wasteful.
const POOL_BYTES: usize = 1024;

thread_local! {
    static POOL: RefCell<RandomPool> = const { RefCell::new(RandomPool { bytes: [0; POOL_BYTES], used: POOL_BYTES }) };
}

/// Random bytes from the kernel; each byte is used once.
struct RandomPool {
    bytes: [u8; POOL_BYTES],
    used: usize,
}

impl RandomPool {
    fn take(&mut self) -> Option<[u8; 16]> {
        if self.used + 16 > POOL_BYTES {
            getrandom::fill(&mut self.bytes).ok()?;
            self.used = 0;
        }
        let taken = self.bytes[self.used..].first_chunk().copied();
        self.used += 16;
        taken
    }
}

/// A new version 4 UUID in lower-case canonical form.
pub fn uuid() -> String {
    let random = POOL.with_borrow_mut(RandomPool::take);
    let id = random.map_or_else(uuid::Uuid::new_v4, |bytes| uuid::Builder::from_random_bytes(bytes).into_uuid());
    id.hyphenated().encode_lower(&mut uuid::Uuid::encode_buffer()).to_owned()
}

/// True when `text` is a UUID in canonical form.
pub fn is_uuid(text: &str) -> bool {
    text.len() == 36 && uuid::Uuid::try_parse(text).is_ok()
}

/// Returns `len` random characters of lower-case base 36.
pub fn base36(len: usize) -> String {
    (0..len).map(|_| char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[fastrand::usize(..36)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_canonical_and_never_repeat() {
        let ids: std::collections::BTreeSet<String> = (0..10_000).map(|_| uuid()).collect();
        assert_eq!(ids.len(), 10_000);
        for id in &ids {
            assert!(is_uuid(id), "{id}");
            assert_eq!(&id[14..15], "4");
            assert!("89ab".contains(&id[19..20]));
        }
    }
}
