//! See the body.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| candor_fuzz_bodies::onion::upgrade(data));
