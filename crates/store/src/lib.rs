//! Sessions on disk.
