#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| http::filter::probe::check(bytes));
