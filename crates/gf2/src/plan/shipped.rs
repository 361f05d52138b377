//! The tables that come with the crate: text files in `plans/`, read when the crate is compiled.

use super::{ARMS, Plans};

/// A shipped table, or the build fails.
const fn table(text: &'static str) -> Plans {
    match Plans::parse(text) {
        Ok(plans) => plans,
        Err(_) => panic!("a shipped table is wrong"),
    }
}

static PORTABLE: Plans = table(include_str!("../../plans/portable.plan"));
static CLMUL: Plans = table(include_str!("../../plans/clmul.plan"));
static VPCLMUL: Plans = table(include_str!("../../plans/vpclmul.plan"));
static AVX512: Plans = table(include_str!("../../plans/avx512.plan"));
static PMULL: Plans = Plans::defaults(ARMS[4].0, "generic: halves down to the leaves, not measured", ARMS[4].1);
static ZBC: Plans = Plans::defaults(ARMS[5].0, "generic: halves down to the leaves, not measured", ARMS[5].1);

/// The table shipped for an arm.
#[inline]
pub(crate) fn shipped(arm: &str) -> &'static Plans {
    match arm {
        "clmul" => &CLMUL,
        "vpclmul" => &VPCLMUL,
        "avx512" => &AVX512,
        "pmull" => &PMULL,
        "zbc" => &ZBC,
        _ => &PORTABLE,
    }
}
