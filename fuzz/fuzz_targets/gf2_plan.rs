//! See the body.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| candor_gf2::fuzz::plan_text(data));
