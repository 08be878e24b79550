//! The secrets of a session and the mask that hides them. The output of commands is masked before it reaches memory
//! and files, all other results by [`crate::masked_calls`].

use permission::{KnownSecret, Mask};
use std::os::unix::ffi::OsStrExt;
use sys::Env;
use sys::sync::{Mutex, MutexGuard};

/// Most secrets kept by `learn`. A helper may create a new key for every request; older keys have expired.
const MOST_LEARNED: usize = 32;
/// Most secrets of servers.
const MOST_KEPT: usize = 1_000;

/// Returns keys that are stored in files and not in variables; called when the first result is masked.
pub type StoredSecrets = Box<dyn Fn() -> Vec<KnownSecret> + Send + Sync>;

/// The secrets of a session. The mask is built on first use and again after another secret is added.
pub struct Masking {
    env: Env,
    stored: StoredSecrets,
    parts: Mutex<MaskingState>,
}

#[derive(Default)]
struct MaskingState {
    is_off: bool,
    learned: Vec<KnownSecret>,
    server_secrets: Vec<KnownSecret>,
    built: Option<Mask>,
}

impl Masking {
    pub fn new(env: Env) -> Self {
        Self::with_stored(env, Box::new(Vec::new))
    }

    pub fn with_stored(env: Env, stored: StoredSecrets) -> Self {
        Self { env, stored, parts: Mutex::default() }
    }

    /// Hides nothing, because the user disabled masking.
    pub fn off() -> Self {
        let masking = Self::new(Env::default());
        masking.parts().is_off = true;
        masking
    }

    /// From now on `value` is hidden too, with `name` in its mask.
    pub fn learn(&self, name: &str, value: &str) {
        let known = KnownSecret { name: name.to_owned(), value: value.as_bytes().to_vec() };
        let mut parts = self.parts();
        if !parts.learned.contains(&known) {
            if parts.learned.len() == MOST_LEARNED {
                parts.learned.remove(0);
            }
            parts.learned.push(known);
            parts.built = None;
        }
    }

    /// Adds the credentials of servers, which are known from the start and few.
    pub fn learn_all(&self, known: Vec<KnownSecret>) {
        let mut parts = self.parts();
        for one in known {
            if !parts.server_secrets.contains(&one) && parts.server_secrets.len() < MOST_KEPT {
                parts.server_secrets.push(one);
                parts.built = None;
            }
        }
    }

    pub fn mask(&self) -> Mask {
        let mut parts = self.parts();
        if parts.is_off {
            return Mask::disabled();
        }
        if let Some(built) = &parts.built {
            return built.clone();
        }
        let known: Vec<KnownSecret> =
            parts.learned.iter().chain(&parts.server_secrets).cloned().chain((self.stored)()).collect();
        let mask = Mask::of(self.env.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())), &known);
        parts.built = Some(mask.clone());
        mask
    }

    fn parts(&self) -> MutexGuard<'_, MaskingState> {
        self.parts.lock()
    }
}
