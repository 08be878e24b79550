//! Scripted model server and drivers for tests.
