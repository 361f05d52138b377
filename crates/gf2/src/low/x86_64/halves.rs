//! Four lanes by four, in two vectors of two lanes each: the sums before the products and those after them.

use crate::lanes::Lanes;
use crate::low::x86_64::clmul::Xmm;
use crate::low::x86_64::vpclmul::Ymm;

/// Lanes 0 + 1 and 2 + 3.
#[inline(always)]
pub(super) fn neighbours([x0, x1]: [Ymm; 2]) -> Ymm {
    Ymm::pick::<0x20>(x0, x1).xor(Ymm::pick::<0x31>(x0, x1))
}

/// The end of a product of four lanes by four: `products` are those of lanes 0 and 1, of 2 and 3, and of their sums 0 + 2 and 1 + 3, lane by lane; `sums`
/// holds the product of 0 + 1 in the lower lanes and that of 2 + 3 in the upper ones, `all` that of the sum of all four.
#[inline(always)]
pub(super) fn join_halves(
    [lower, upper, both]: [[Ymm; 2]; 3],
    [sums_low, sums_high]: [Ymm; 2],
    all: [Xmm; 2],
) -> [Xmm; 8] {
    let ([l0, u0], [l1, u1]) = (sums_low.split(), sums_high.split());
    let (lower, upper, both) = (join_lanes(lower, [l0, l1]), join_lanes(upper, [u0, u1]), join_lanes(both, all));
    let shared = [lower[2].xor(upper[0]), lower[3].xor(upper[1])];
    [
        lower[0],
        lower[1],
        shared[0].xor3(lower[0], both[0]),
        shared[1].xor3(lower[1], both[1]),
        shared[0].xor3(upper[2], both[2]),
        shared[1].xor3(upper[3], both[3]),
        upper[2],
        upper[3],
    ]
}

/// The same for two lanes by two.
#[inline(always)]
fn join_lanes([low, high]: [Ymm; 2], [m0, m1]: [Xmm; 2]) -> [Xmm; 4] {
    let ([l0, l1], [h0, h1]) = (low.split(), high.split());
    let shared = h0.xor(l1);
    [l0, shared.xor3(l0, m0), shared.xor3(h1, m1), h1]
}
