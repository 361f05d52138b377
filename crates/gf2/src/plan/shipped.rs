//! The tables that come with the crate.

use super::Plans;

/// The table shipped for an arm.
pub(crate) fn shipped(arm: &str) -> &'static Plans {
    static PORTABLE: Plans = Plans::defaults("portable", "", 4);
    static CLMUL: Plans = Plans::defaults("clmul", "", 16);
    static AVX512: Plans = Plans::defaults("avx512", "", 32);
    static VPCLMUL: Plans = Plans::defaults("vpclmul", "", 32);
    match arm {
        "vpclmul" => &VPCLMUL,
        "avx512" => &AVX512,
        "clmul" => &CLMUL,
        _ => &PORTABLE,
    }
}
