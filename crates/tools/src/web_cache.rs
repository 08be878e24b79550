//! Pages fetched in the last minutes. Limited in bytes; expired pages are removed, not only ignored.

use http::Http;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use sys::Env;
use sys::sync::{Mutex, MutexGuard};

const DEFAULT_TTL: Duration = Duration::from_mins(15);
const MAX_BYTES: usize = 16 << 20;

pub(crate) fn time_to_live(env: &Env) -> Duration {
    env.number("CLAUDE_CODE_WEBFETCH_CACHE_TTL_MS").map_or(DEFAULT_TTL, Duration::from_millis)
}

/// The session's page cache. The HTTP client is built on first use.
#[derive(Debug, Default)]
pub struct WebCache {
    http: OnceLock<Http>,
    cache: Mutex<PageCache>,
}

impl WebCache {
    pub(crate) fn http(&self, build: impl FnOnce() -> Http) -> &Http {
        self.http.get_or_init(build)
    }

    pub(crate) fn cache(&self) -> MutexGuard<'_, PageCache> {
        self.cache.lock()
    }
}

/// A fetched page, ready to be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FetchedPage {
    pub(crate) status: u16,
    /// Size of the body as received, in bytes.
    pub(crate) bytes: usize,
    pub(crate) body: PageBody,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PageBody {
    /// `markdown`: the server sent Markdown.
    Text { text: String, markdown: bool },
    /// Not readable as text: a sentence that names the type and the file it was saved to.
    Saved(String),
}

impl FetchedPage {
    fn size(&self) -> usize {
        match &self.body {
            PageBody::Text { text, .. } | PageBody::Saved(text) => text.len() + 256,
        }
    }
}

#[derive(Debug)]
struct CachedPage {
    url: String,
    at: Instant,
    page: Arc<FetchedPage>,
}

/// Pages, oldest first.
#[derive(Debug)]
pub(crate) struct PageCache {
    entries: VecDeque<CachedPage>,
    bytes: usize,
    max_bytes: usize,
}

impl Default for PageCache {
    fn default() -> Self {
        Self::bounded(MAX_BYTES)
    }
}

impl PageCache {
    fn bounded(max_bytes: usize) -> Self {
        Self { entries: VecDeque::new(), bytes: 0, max_bytes }
    }

    pub(crate) fn get(&mut self, url: &str, now: Instant, ttl: Duration) -> Option<Arc<FetchedPage>> {
        self.expire(now, ttl);
        self.entries.iter().find(|entry| entry.url == url).map(|entry| Arc::clone(&entry.page))
    }

    pub(crate) fn put(&mut self, url: &str, page: Arc<FetchedPage>, now: Instant, ttl: Duration) {
        self.expire(now, ttl);
        if let Some(old) = self.entries.iter().position(|entry| entry.url == url) {
            self.remove(old);
        }
        if ttl.is_zero() || page.size() > self.max_bytes {
            return;
        }
        self.bytes += page.size();
        self.entries.push_back(CachedPage { url: url.to_owned(), at: now, page });
        while self.bytes > self.max_bytes {
            self.remove(0);
        }
    }

    fn expire(&mut self, now: Instant, ttl: Duration) {
        while self.entries.front().is_some_and(|entry| now.saturating_duration_since(entry.at) >= ttl) {
            self.remove(0);
        }
    }

    fn remove(&mut self, index: usize) {
        if let Some(entry) = self.entries.remove(index) {
            self.bytes -= entry.page.size();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(len: usize) -> Arc<FetchedPage> {
        Arc::new(FetchedPage {
            status: 200,
            bytes: len,
            body: PageBody::Text { text: "x".repeat(len), markdown: false },
        })
    }

    #[test]
    fn pages_leave_after_fifteen_minutes() {
        // [TST-78]
        let (mut cache, ttl, start) = (PageCache::default(), time_to_live(&Env::default()), Instant::now());
        assert_eq!(ttl, Duration::from_mins(15));
        cache.put("a", page(10), start, ttl);
        assert!(cache.get("a", start + Duration::from_secs(899), ttl).is_some());
        assert!(cache.get("a", start + Duration::from_mins(15), ttl).is_none());
        assert_eq!((cache.entries.len(), cache.bytes), (0, 0), "removed, not passed over");
        let short = time_to_live(&Env::default().with([("CLAUDE_CODE_WEBFETCH_CACHE_TTL_MS", "0")]));
        cache.put("a", page(10), start, short);
        assert!(cache.get("a", start, short).is_none());
    }

    #[test]
    fn bytes_are_bounded() {
        let (mut cache, ttl, now) = (PageCache::bounded(10_000), DEFAULT_TTL, Instant::now());
        for i in 0..40 {
            cache.put(&i.to_string(), page(1000), now, ttl);
            assert!(cache.bytes <= 10_000);
        }
        assert!(cache.get("0", now, ttl).is_none());
        assert!(cache.get("39", now, ttl).is_some());
        cache.put("39", page(5), now, ttl);
        assert_eq!(cache.get("39", now, ttl).unwrap().bytes, 5);
        cache.put("big", page(10_000), now, ttl);
        assert!(cache.get("big", now, ttl).is_none());
    }
}
