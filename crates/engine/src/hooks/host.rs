//! Hooks that the host itself runs: what it registered with `initialize`, and the way to it. Registering again replaces what
//! was there.

use crate::desk::Desk;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use wire::control::HookMatcher;

/// Matchers by event name, as the host sent them.
pub(crate) type Declared = BTreeMap<String, Vec<HookMatcher>>;

/// Shared by the main thread and its agents.
#[allow(dead_code, reason = "read by the runner of host hooks")]
#[derive(Debug)]
pub(crate) struct HostHooks {
    /// Asks the host to run one (`hook_callback`).
    pub desk: Desk,
    declared: Mutex<Arc<Declared>>,
}

impl HostHooks {
    pub(crate) fn new(desk: Desk, declared: Declared) -> Self {
        Self { desk, declared: Mutex::new(Arc::new(declared)) }
    }

    /// What is registered now.
    #[allow(dead_code, reason = "read by the runner of host hooks")]
    pub(crate) fn declared(&self) -> Arc<Declared> {
        Arc::clone(&self.declared.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn replace(&self, declared: Declared) {
        *self.declared.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(declared);
    }
}
