//! Products of single words in safe Rust, and what is built on a word product: the arms without vectors.
//!
//! The portable word product uses integer multiplication with holes: of each factor only every fourth bit is kept, so that the
//! integer product counts, in the four bits from one hole to the next, how many pairs meet there, and the lowest of the four is the
//! sum in GF(2). Sixteen such products cover all pairs of residues mod 4. A count of 16 would spill into the next hole; it
//! needs all sixteen bits of both parts, so the top four bits of one factor are left out and added by masks: with 15 bits a part no
//! count exceeds 15. No table, no branch; it is as constant-time as the CPU's 64×64→128-bit multiplication, which on every
//! 64-bit CPU known to us takes the same time for all operands. (On 32-bit targets the compiler builds that multiplication from
//! smaller ones; some small cores have data-dependent ones.)

/// A product of two polynomials of degree below 64: its low and high word.
pub(crate) trait WordProduct: Copy {
    fn product(self, a: u64, b: u64) -> u128;

    /// The product of `a` with itself: its bits with zeros between them.
    #[inline(always)]
    fn square(self, a: u64) -> u128 {
        u128::from(spread((a >> 32) as u32)) << 64 | u128::from(spread(a as u32))
    }
}

/// [`WordProduct`] in safe Rust.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl WordProduct for Portable {
    #[inline(always)]
    fn product(self, a: u64, b: u64) -> u128 {
        const HOLES: u64 = 0x1111_1111_1111_1111;
        const WIDE: u128 = 0x1111_1111_1111_1111_1111_1111_1111_1111;
        let low = b & (u64::MAX >> 4);
        let a = [a & HOLES, a & HOLES << 1, a & HOLES << 2, a & HOLES << 3, a];
        let b4 = [low & HOLES, low & HOLES << 1, low & HOLES << 2, low & HOLES << 3];
        let times = |x: u64, y: u64| u128::from(x) * u128::from(y);
        let mut sum = 0;
        for residue in 0..4 {
            let mut class = 0;
            for i in 0..4 {
                class ^= times(a[i], b4[(residue + 4 - i) % 4]);
            }
            sum |= class & (WIDE << residue);
        }
        for bit in 60..64 {
            let mask = candor_cpu::barrier::mask_u64(b >> bit & 1);
            sum ^= u128::from(a[4] & mask) << bit;
        }
        sum
    }
}

/// Spreads the bits of the low half: bit i goes to bit 2i. This is squaring, since (Σ x^i)² = Σ x^2i over GF(2).
#[inline(always)]
pub(crate) const fn spread(word: u32) -> u64 {
    let mut x = word as u64;
    x = (x | x << 16) & 0x0000_ffff_0000_ffff;
    x = (x | x << 8) & 0x00ff_00ff_00ff_00ff;
    x = (x | x << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    x = (x | x << 2) & 0x3333_3333_3333_3333;
    (x | x << 1) & 0x5555_5555_5555_5555
}

#[inline(always)]
pub(crate) fn halves(product: u128) -> [u64; 2] {
    [product as u64, (product >> 64) as u64]
}

/// 1×1 words.
#[inline(always)]
pub(crate) fn mul1(w: impl WordProduct, a: &[u64; 1], b: &[u64; 1]) -> [u64; 2] {
    halves(w.product(a[0], b[0]))
}

/// 2×2 words: Karatsuba, 3 word products.
#[inline(always)]
pub(crate) fn mul2(w: impl WordProduct, a: &[u64; 2], b: &[u64; 2]) -> [u64; 4] {
    let lo = w.product(a[0], b[0]);
    let hi = w.product(a[1], b[1]);
    let mid = w.product(a[0] ^ a[1], b[0] ^ b[1]) ^ lo ^ hi;
    let ([l0, l1], [m0, m1], [h0, h1]) = (halves(lo), halves(mid), halves(hi));
    [l0, l1 ^ m0, h0 ^ m1, h1]
}

/// 3×3 words: Karatsuba 3-way, 6 word products.
#[inline(always)]
pub(crate) fn mul3(w: impl WordProduct, a: &[u64; 3], b: &[u64; 3]) -> [u64; 6] {
    let p = [w.product(a[0], b[0]), w.product(a[1], b[1]), w.product(a[2], b[2])];
    let cross = |i: usize, j: usize| w.product(a[i] ^ a[j], b[i] ^ b[j]) ^ p[i] ^ p[j];
    let c1 = halves(cross(0, 1));
    let c2 = halves(cross(0, 2) ^ p[1]);
    let c3 = halves(cross(1, 2));
    let (c0, c4) = (halves(p[0]), halves(p[2]));
    [c0[0], c0[1] ^ c1[0], c1[1] ^ c2[0], c2[1] ^ c3[0], c3[1] ^ c4[0], c4[1]]
}

/// 4×4 words: Karatsuba on halves of two words, 9 word products.
#[inline(always)]
pub(crate) fn mul4(w: impl WordProduct, a: &[u64; 4], b: &[u64; 4]) -> [u64; 8] {
    let lo = mul2(w, &[a[0], a[1]], &[b[0], b[1]]);
    let hi = mul2(w, &[a[2], a[3]], &[b[2], b[3]]);
    let mid = mul2(w, &[a[0] ^ a[2], a[1] ^ a[3]], &[b[0] ^ b[2], b[1] ^ b[3]]);
    let shared = [lo[2] ^ hi[0], lo[3] ^ hi[1]];
    [
        lo[0],
        lo[1],
        shared[0] ^ lo[0] ^ mid[0],
        shared[1] ^ lo[1] ^ mid[1],
        shared[0] ^ hi[2] ^ mid[2],
        shared[1] ^ hi[3] ^ mid[3],
        hi[2],
        hi[3],
    ]
}

/// `out ^= a · b` for one word b.
#[inline(always)]
pub(crate) fn row(w: impl WordProduct, out: &mut [u64], a: &[u64], b: u64) {
    let mut carry = 0;
    for (out, a) in out.iter_mut().zip(a.iter().map(Some).chain([None])) {
        let [low, high] = a.map_or([0, 0], |a| halves(w.product(*a, b)));
        *out ^= low ^ carry;
        carry = high;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;

    #[test]
    fn a_word_product_is_the_sum_of_shifted_words() {
        let words = [0, 1, 2, u64::MAX, 1 << 63, 0x8000_0000_0000_0001, 0xf0f0_1234_5678_9abc, 0x1111_1111_1111_1111];
        for a in words {
            for b in words {
                assert_eq!(mul1(Portable, &[a], &[b]).to_vec(), reference::product(&[a], &[b]), "{a:x} {b:x}");
            }
        }
    }

    #[test]
    fn spreading_is_squaring() {
        for word in [0, 1, u32::MAX, 0x8000_0001, 0x1234_5678] {
            assert_eq!(vec![spread(word), 0], reference::product(&[word.into()], &[word.into()]));
        }
    }
}
