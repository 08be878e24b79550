//! Locks without poisoning: after a panic of a holder the value is used as the panicking thread left it. Every lock of
//! the workspace uses these types.

pub use std::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

use std::sync::{Condvar, PoisonError};
use std::time::Duration;

/// A `std::sync::Mutex` without poisoning.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `None` when another thread holds the lock.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }

    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A `std::sync::RwLock` without poisoning.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    pub const fn new(value: T) -> Self {
        Self(std::sync::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits on `condvar` while `condition` is true.
pub fn wait_while<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    condition: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'a, T> {
    condvar.wait_while(guard, condition).unwrap_or_else(PoisonError::into_inner)
}

/// Like `wait_while`, for at most `limit`. The flag is true when the time ran out.
pub fn wait_while_for<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    limit: Duration,
    condition: impl FnMut(&mut T) -> bool,
) -> (MutexGuard<'a, T>, bool) {
    let (guard, timeout) = condvar.wait_timeout_while(guard, limit, condition).unwrap_or_else(PoisonError::into_inner);
    (guard, timeout.timed_out())
}

#[cfg(test)]
mod tests {
    use super::{Mutex, RwLock};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_panic_of_another_holder_leaves_the_lock_usable() {
        let (mutex, shared) = (Mutex::new(1), RwLock::new(1));
        let failed = catch_unwind(AssertUnwindSafe(|| {
            let (mut a, mut b) = (mutex.lock(), shared.write());
            (*a, *b) = (2, 2);
            panic!("while both are held");
        }));
        assert!(failed.is_err());
        assert_eq!((*mutex.lock(), *shared.read()), (2, 2));
        assert_eq!(mutex.try_lock().as_deref(), Some(&2));
        let held = mutex.lock();
        assert!(mutex.try_lock().is_none());
        drop(held);
        assert_eq!(mutex.into_inner(), 2);
    }
}
