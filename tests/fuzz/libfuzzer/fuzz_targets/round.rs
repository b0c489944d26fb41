//! A job whose injected datagrams libFuzzer selects.
//!
//! From the root of the repository: `cargo +nightly fuzz run --fuzz-dir tests/fuzz/libfuzzer round -- -max_total_time=60`.
#![no_main]

libfuzzer_sys::fuzz_target!(|guide: &[u8]| {
    pelago_fuzz::guided(guide);
});
