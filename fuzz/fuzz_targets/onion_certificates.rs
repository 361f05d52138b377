//! See the body.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| candor_onion::fuzz::certificates(data));
