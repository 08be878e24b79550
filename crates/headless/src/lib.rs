//! Text, JSON and stream-json on stdin and stdout.
