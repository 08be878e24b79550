//! Turn a request into a stream of deltas from a provider or a cassette.
