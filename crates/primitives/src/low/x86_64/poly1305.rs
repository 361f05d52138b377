//! Poly1305 (RFC 8439 §2.5) in eight lanes with AVX-512's products of 52 bits.
//!
//! A number is three limbs of 44, 44 and 42 bits. Block n is in the lane of n modulo 8, and all lanes are multiplied by r^8; the last time, each
//! by the power of r that its block is away from the end. 2^132 ≡ 20, so limbs beyond the third come back twenty times.

use super::chacha20_poly1305::Hash;
use crate::poly1305::Poly1305;
use candor_cpu::{HaveAvx2, HaveAvx512Ifma};
use core::arch::x86_64::*;

const LIMB: u64 = (1 << 44) - 1;
const TOP: u64 = (1 << 42) - 1;

/// A number in limbs, each a little above 44 bits at most.
type Limbs = [u64; 3];

/// The sum on its way, and the powers of r.
pub(super) struct Lanes {
    sum: [__m512i; 3],
    /// Whether the sum holds blocks that wait for their product.
    begun: bool,
    /// r^8 to r, in the order of the lanes, limb by limb.
    powers: [[u64; 8]; 3],
    /// r^8, and twenty times its upper limbs.
    r8: [u64; 5],
}

impl Hash for Lanes {
    type Proof = (HaveAvx2, HaveAvx512Ifma);
    const GRAIN: usize = 8;

    #[inline(always)]
    fn begin(_: Self::Proof, hash: &mut Poly1305) -> Self {
        let [r0, r1] = hash.r();
        let r = [r0 & LIMB, (r0 >> 44 | r1 << 20) & LIMB, r1 >> 24];
        let r2 = multiply(&r, &r);
        let [r3, r4] = [multiply(&r2, &r), multiply(&r2, &r2)];
        let [r5, r6, r7, r8] = [multiply(&r4, &r), multiply(&r4, &r2), multiply(&r4, &r3), multiply(&r4, &r4)];
        let mut powers = [[0; 8]; 3];
        // Two vectors of four blocks are interleaved word by word.
        for (lane, power) in [r8, r4, r7, r3, r6, r2, r5, r].iter().enumerate() {
            for (limbs, limb) in powers.iter_mut().zip(power) {
                limbs[lane] = *limb;
            }
        }
        let [h0, h1, h2] = hash.reduced();
        let start = [h0 & LIMB, (h0 >> 44 | h1 << 20) & LIMB, h1 >> 24 | h2 << 40];
        // SAFETY: the tokens prove the instructions; so does `self`, which is made from them; likewise below.
        let sum = start.map(|limb| unsafe { _mm512_zextsi128_si512(_mm_cvtsi64_si128(limb.cast_signed())) });
        Self { sum, begun: false, powers, r8: [r8[0], r8[1], r8[2], 20 * r8[1], 20 * r8[2]] }
    }

    #[inline(always)]
    fn add(&mut self, blocks: &[[u8; 16]]) {
        for blocks in blocks.as_chunks::<8>().0 {
            // SAFETY: as above.
            unsafe {
                if self.begun {
                    self.sum = product(self.sum, self.r8.map(|limb| _mm512_set1_epi64(limb.cast_signed())));
                }
                self.sum = plus(self.sum, blocks);
            }
            self.begun = true;
        }
    }

    #[inline(always)]
    fn end(self, hash: &mut Poly1305) {
        if !self.begun {
            return;
        }
        // SAFETY: as above; an array of eight words has the 64 bytes that are read.
        let limbs = unsafe {
            // Closures would not have the features, and `map` could call them one by one.
            let r0 = _mm512_loadu_si512(self.powers[0].as_ptr().cast());
            let r1 = _mm512_loadu_si512(self.powers[1].as_ptr().cast());
            let r2 = _mm512_loadu_si512(self.powers[2].as_ptr().cast());
            let [s0, s1, s2] = product(self.sum, [r0, r1, r2, twenty(r1), twenty(r2)]);
            [_mm512_reduce_add_epi64(s0), _mm512_reduce_add_epi64(s1), _mm512_reduce_add_epi64(s2)]
                .map(i64::cast_unsigned)
        };
        hash.set_sum(packed(carried(carried(limbs))));
    }
}

/// Limbs of 44, 44 and 42 bits as words. The second may have a bit of the third.
#[inline(always)]
fn packed([l0, l1, l2]: Limbs) -> [u64; 3] {
    let (h1, carry) = (l2 << 24).overflowing_add(l1 >> 20);
    [l0 | l1 << 44, h1, (l2 >> 40) + u64::from(carry)]
}

/// Limbs below their bounds, up to a carry into the second.
#[inline(always)]
fn carried([l0, l1, l2]: Limbs) -> Limbs {
    let l1 = l1 + (l0 >> 44);
    let l2 = l2 + (l1 >> 44);
    let l0 = (l0 & LIMB) + 5 * (l2 >> 42);
    [l0 & LIMB, (l1 & LIMB) + (l0 >> 44), l2 & TOP]
}

#[inline(always)]
fn multiply(a: &Limbs, b: &Limbs) -> Limbs {
    let by = |a: u64, b: u64| u128::from(a) * u128::from(b);
    let [s1, s2] = [20 * b[1], 20 * b[2]];
    let d0 = by(a[0], b[0]) + by(a[1], s2) + by(a[2], s1);
    let d1 = by(a[0], b[1]) + by(a[1], b[0]) + by(a[2], s2) + (d0 >> 44);
    let d2 = by(a[0], b[2]) + by(a[1], b[1]) + by(a[2], b[0]) + (d1 >> 44);
    let l0 = (d0 as u64 & LIMB) + 5 * (d2 >> 42) as u64;
    [l0 & LIMB, (d1 as u64 & LIMB) + (l0 >> 44), d2 as u64 & TOP]
}

#[target_feature(enable = "avx512f")]
#[inline]
fn twenty(limb: __m512i) -> __m512i {
    _mm512_add_epi64(_mm512_slli_epi64::<4>(limb), _mm512_slli_epi64::<2>(limb))
}

/// The sum and eight blocks, each with the bit above it.
#[target_feature(enable = "avx512f")]
#[inline]
fn plus([h0, h1, h2]: [__m512i; 3], blocks: &[[u8; 16]; 8]) -> [__m512i; 3] {
    // SAFETY: the eight blocks are 128 bytes.
    let [a, b] =
        unsafe { [_mm512_loadu_si512(blocks.as_ptr().cast()), _mm512_loadu_si512(blocks[4..].as_ptr().cast())] };
    let [low, high] = [_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b)];
    let limb = _mm512_set1_epi64(LIMB.cast_signed());
    let m1 = _mm512_or_si512(_mm512_srli_epi64::<44>(low), _mm512_slli_epi64::<20>(high));
    let m2 = _mm512_or_si512(_mm512_srli_epi64::<24>(high), _mm512_set1_epi64(1 << 40));
    [
        _mm512_add_epi64(h0, _mm512_and_si512(low, limb)),
        _mm512_add_epi64(h1, _mm512_and_si512(m1, limb)),
        _mm512_add_epi64(h2, m2),
    ]
}

/// h · r in each lane. r has its limbs, and twenty times the upper ones.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn product([h0, h1, h2]: [__m512i; 3], [r0, r1, r2, s1, s2]: [__m512i; 5]) -> [__m512i; 3] {
    let zero = _mm512_setzero_si512();
    macro_rules! sums {
        ($half:ident) => {
            [
                $half($half($half(zero, h0, r0), h1, s2), h2, s1),
                $half($half($half(zero, h0, r1), h1, r0), h2, s2),
                $half($half($half(zero, h0, r2), h1, r1), h2, r0),
            ]
        };
    }
    let [low0, low1, low2] = sums!(_mm512_madd52lo_epu64);
    let [high0, high1, high2] = sums!(_mm512_madd52hi_epu64);
    let (limb, top) = (_mm512_set1_epi64(LIMB.cast_signed()), _mm512_set1_epi64(TOP.cast_signed()));
    // The upper halves are 52 bits higher, 8 above the next limb.
    let carry = _mm512_add_epi64(_mm512_srli_epi64::<44>(low0), _mm512_slli_epi64::<8>(high0));
    let low1 = _mm512_add_epi64(low1, carry);
    let carry = _mm512_add_epi64(_mm512_srli_epi64::<44>(low1), _mm512_slli_epi64::<8>(high1));
    let low2 = _mm512_add_epi64(low2, carry);
    let carry = _mm512_add_epi64(_mm512_srli_epi64::<42>(low2), _mm512_slli_epi64::<10>(high2));
    let low0 = _mm512_add_epi64(_mm512_and_si512(low0, limb), _mm512_add_epi64(carry, _mm512_slli_epi64::<2>(carry)));
    let low1 = _mm512_add_epi64(_mm512_and_si512(low1, limb), _mm512_srli_epi64::<44>(low0));
    [_mm512_and_si512(low0, limb), low1, _mm512_and_si512(low2, top)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poly1305::tests::{EXTREME, keys, tag};
    use candor_cpu::Cpu;

    #[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
    fn add(tokens: (HaveAvx2, HaveAvx512Ifma), hash: &mut Poly1305, blocks: &[[u8; 16]]) {
        let mut lanes = Lanes::begin(tokens, hash);
        // In two calls, as between the rounds of a cipher.
        let (first, rest) = blocks.split_at(blocks.len() / 16 * 8);
        lanes.add(first);
        lanes.add(rest);
        lanes.end(hash);
    }

    /// No message that we could find makes such limbs.
    #[test]
    fn a_bit_of_the_third_limb_in_the_second_is_carried_through_all_of_it() {
        assert_eq!(packed([5, 1 << 44, (1 << 40) - 1]), [5, 0, 1]);
        assert_eq!(packed([5, (1 << 44) - 1, (1 << 40) - 1]), [5 | 0xfffff << 44, u64::MAX, 0]);
    }

    /// Before and after the lanes, the sum goes on one block after another.
    #[test]
    fn extreme_blocks_in_lanes_agree_with_one_after_another() {
        let cpu = Cpu::default();
        let (Some(avx2), Some(ifma)) = (HaveAvx2::check(cpu), HaveAvx512Ifma::check(cpu)) else {
            return eprintln!("skipped: this CPU lacks AVX-512 with IFMA");
        };
        for number in 0..EXTREME.len() * EXTREME.len() {
            let (a, b) = (EXTREME[number % EXTREME.len()], EXTREME[number / EXTREME.len()]);
            let pattern = |n: usize| if (n * (number + 1)).is_multiple_of(3) { a } else { b };
            let blocks: Vec<[u8; 16]> = (0..101).map(|n| pattern(n).to_le_bytes()).collect();
            for (before, lanes) in [(0, 0), (0, 8), (1, 8), (2, 16), (3, 24), (0, 64), (4, 96)] {
                for key in keys() {
                    let (mut hash, mut found) = (Poly1305::new(&key), [0; 16]);
                    let (front, rest) = blocks.split_at(before);
                    let (middle, end) = rest.split_at(lanes);
                    hash.blocks(front);
                    // SAFETY: the tokens prove the features.
                    unsafe { add((avx2, ifma), &mut hash, middle) };
                    hash.blocks(end);
                    hash.finish(&mut found);
                    assert_eq!(
                        found,
                        tag(&key, &blocks),
                        "{before} blocks, then {lanes} in lanes, of {a:x} and {b:x}, key {key:02x?}"
                    );
                }
            }
        }
    }
}
