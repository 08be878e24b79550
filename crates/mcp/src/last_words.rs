//! What a local server said before it ended.

use crate::owner::McpOwner;
use std::fmt;
use std::sync::Arc;
use sys::RingBuffer;
use sys::process::ExitOutcome;
use sys::sync::Mutex;

const STDERR_SIDE: usize = 16 * 1024;
/// Most bytes of stderr that an error quotes.
const MAX_QUOTED_BYTES: usize = 2000;

/// What is known about a server that has ended: its exit status and parts of its stderr.
pub(crate) struct LastWords {
    pub(crate) stderr: Mutex<RingBuffer>,
    pub(crate) exit: Mutex<Option<ExitOutcome>>,
    /// Hides credentials in quoted text.
    owner: Arc<dyn McpOwner>,
}

impl fmt::Debug for LastWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LastWords")
    }
}

impl LastWords {
    pub(crate) fn new(owner: Arc<dyn McpOwner>) -> Self {
        Self { stderr: Mutex::new(RingBuffer::new(STDERR_SIDE, STDERR_SIDE)), exit: Mutex::new(None), owner }
    }

    /// A text such as ` (exit code 3)` with the end of stderr, or an empty one.
    pub(crate) fn describe(&self) -> String {
        let exit = *self.exit.lock();
        let how = match exit {
            Some(ExitOutcome { code: Some(code), .. }) => format!(" (exit code {code})"),
            Some(ExitOutcome { signal: Some(signal), .. }) => format!(" (killed by signal {signal})"),
            Some(_) | None => String::new(),
        };
        let bytes = self.stderr.lock().to_bytes();
        let said = self.owner.hide(&String::from_utf8_lossy(&bytes));
        let said = said.trim();
        if said.is_empty() {
            return how;
        }
        let start = said.len().saturating_sub(MAX_QUOTED_BYTES);
        let start = (start..said.len()).find(|at| said.is_char_boundary(*at)).unwrap_or(0);
        format!("{how}. Its last words: {}", &said[start..])
    }
}
