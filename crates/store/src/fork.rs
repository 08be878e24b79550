//! A copy of a conversation under a new id. The source is only read; lines keep every byte except the session id and
//! the added `forkedFrom`.

use crate::error::StoreError;
use crate::resume::Loaded;
use std::path::Path;

/// Writes `dest` (which must not exist) with the kept history of `source`. Call it when the first new message is about
/// to be written: a fork without one should leave no file.
pub fn fork(_source: &Loaded, _new_id: &str, dest: &Path) -> Result<(), StoreError> {
    Err(StoreError::Empty { path: dest.to_path_buf() })
}
