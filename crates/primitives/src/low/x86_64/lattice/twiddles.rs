//! Constants of the layers within vectors, lane by lane.

use super::Constants;
use crate::lattice::{FORWARD, INVERSE, PRODUCT, Twiddle};
use core::arch::x86_64::*;

/// Constants for sixteen lanes.
#[repr(C, align(32))]
pub(super) struct Lanes {
    factors: [i16; 16],
    ratios: [i16; 16],
}

impl Lanes {
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn constants(&self) -> Constants {
        // SAFETY: both arrays have sixteen lanes; the loads need no alignment.
        unsafe {
            Constants {
                factors: _mm256_loadu_si256(self.factors.as_ptr().cast()),
                ratios: _mm256_loadu_si256(self.ratios.as_ptr().cast()),
            }
        }
    }
}

/// Of one pair of vectors, the constants of the layers that pair halves (8 coefficients), quarters and eighths of vectors.
pub(super) struct Within {
    pub(super) eight: Lanes,
    pub(super) four: Lanes,
    pub(super) two: Lanes,
}

/// How the groups of four coefficients lie in a vector after the exchanges: those of the first vector in the lower half, the two in the middle swapped.
const ORDER: [usize; 4] = [0, 2, 1, 3];

/// Those of all eight pairs of vectors, from one of the transforms' tables: a layer with n groups begins at its entry n.
const fn within(table: &[Twiddle; 128]) -> [Within; 8] {
    const NONE: Within = Within { eight: ZERO, four: ZERO, two: ZERO };
    const ZERO: Lanes = Lanes { factors: [0; 16], ratios: [0; 16] };
    let mut all = [NONE; 8];
    let mut pair = 0;
    while pair < 8 {
        let mut lane = 0;
        while lane < 16 {
            let vector = 2 * pair + lane / 8;
            put(&mut all[pair].eight, lane, &table[16 + vector]);
            put(&mut all[pair].four, lane, &table[32 + 2 * vector + lane % 8 / 4]);
            put(&mut all[pair].two, lane, &table[64 + 4 * vector + ORDER[lane % 8 / 2]]);
            lane += 1;
        }
        pair += 1;
    }
    all
}

const fn put(lanes: &mut Lanes, lane: usize, twiddle: &Twiddle) {
    lanes.factors[lane] = twiddle.factor;
    lanes.ratios[lane] = twiddle.ratio;
}

pub(super) static FORWARD_WITHIN: [Within; 8] = within(&FORWARD);
pub(super) static INVERSE_WITHIN: [Within; 8] = within(&INVERSE);

/// Those of a factor's even part, vector by vector.
pub(super) static PRODUCT_LANES: [Lanes; 16] = {
    const ZERO: Lanes = Lanes { factors: [0; 16], ratios: [0; 16] };
    let mut all = [ZERO; 16];
    let mut i = 0;
    while i < 256 {
        put(&mut all[i / 16], i % 16, &PRODUCT[i]);
        i += 1;
    }
    all
};
