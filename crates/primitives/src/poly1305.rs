//! Poly1305 (RFC 8439 §2.5) in words of 64 bits, for portable code and for kernels.

use zeroize::optimization_barrier;

/// A hash on its way. Wiped on drop.
pub(crate) struct Poly1305 {
    /// r, clamped.
    r: [u64; 2],
    /// What is added at the end.
    s: [u64; 2],
    /// The sum so far, below 2^130 + 2^66 or so: the last word holds the bits from 128 on.
    h: [u64; 3],
}

/// From so many blocks on it pays to compute r².
const WORTH_A_SQUARE: usize = 6;

impl Poly1305 {
    #[inline(always)]
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let word = |n: usize| u64::from_le_bytes(key.as_chunks::<8>().0[n]);
        let r = [word(0) & 0x0fff_fffc_0fff_ffff, word(1) & 0x0fff_fffc_0fff_fffc];
        Self { r, s: [word(2), word(3)], h: [0; 3] }
    }

    /// r, clamped, in two words.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn r(&self) -> [u64; 2] {
        self.r
    }

    /// The sum so far.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn sum(&mut self) -> &mut [u64; 3] {
        &mut self.h
    }

    /// Adds whole blocks.
    #[inline(always)]
    pub(crate) fn blocks(&mut self, blocks: &[[u8; 16]]) {
        let pairs = if blocks.len() < WORTH_A_SQUARE { 0 } else { blocks.len() & !1 };
        let (pairs, ones) = blocks.split_at(pairs);
        if !pairs.is_empty() {
            let mut sum = Pairs::begin(self);
            sum.add(pairs);
            sum.end(self);
        }
        for block in ones {
            self.h = step(self.h, self.r, block);
        }
    }

    /// Adds bytes, and zeros up to a whole block.
    #[inline(always)]
    pub(crate) fn padded(&mut self, bytes: &[u8]) {
        let (blocks, part) = bytes.as_chunks::<16>();
        self.blocks(blocks);
        if !part.is_empty() {
            let mut block = [0; 16];
            block[..part.len()].copy_from_slice(part);
            self.blocks(&[block]);
        }
    }

    /// The tag.
    #[inline(always)]
    pub(crate) fn finish(self, tag: &mut [u8; 16]) {
        let [h0, h1, h2] = self.h;
        // Below 2^130 first, then below p: h + 5 reaches 2^130 if h is not.
        let (h0, carry) = h0.overflowing_add((h2 >> 2) * 5);
        let (h1, carry) = h1.overflowing_add(u64::from(carry));
        let h2 = (h2 & 3) + u64::from(carry);
        let (g0, carry) = h0.overflowing_add(5);
        let (g1, carry) = h1.overflowing_add(u64::from(carry));
        let g2 = h2 + u64::from(carry);
        let reduced = candor_cpu::barrier::mask_u64(g2 >> 2 & 1);
        let h0 = h0 & !reduced | g0 & reduced;
        let h1 = h1 & !reduced | g1 & reduced;
        let (t0, carry) = h0.overflowing_add(self.s[0]);
        let t1 = h1.wrapping_add(self.s[1]).wrapping_add(u64::from(carry));
        tag[..8].copy_from_slice(&t0.to_le_bytes());
        tag[8..].copy_from_slice(&t1.to_le_bytes());
    }
}

/// (h + block + 2^128) · r modulo 2^130 − 5, up to a small multiple of it. The two lowest bits of r's upper word are zero, so five quarters of it
/// are a whole number: 2^128 · r₁ · 2^64 ≡ 5/4 · r₁ · 2^64.
#[inline(always)]
fn step(h: [u64; 3], [r0, r1]: [u64; 2], block: &[u8; 16]) -> [u64; 3] {
    let word = |n: usize| u64::from_le_bytes(block.as_chunks::<8>().0[n]);
    let (h0, carry0) = h[0].overflowing_add(word(0));
    let (h1, carry1) = h[1].carrying(word(1), carry0);
    let h2 = h[2] + u64::from(carry1) + 1;
    let by = |a: u64, b: u64| u128::from(a) * u128::from(b);
    let five_quarters = r1 + (r1 >> 2);

    let d0 = by(h0, r0) + by(h1, five_quarters);
    let d1 = by(h0, r1) + by(h1, r0) + u128::from(h2 * five_quarters);
    let d2 = h2 * r0;
    let d1 = d1 + (d0 >> 64);
    let d2 = d2 + (d1 >> 64) as u64;
    // The bits from 130 on come back five times: four times as they stand without their two lowest, and once more.
    let high = (d2 >> 2) + (d2 & !3);
    let (h0, carry) = (d0 as u64).overflowing_add(high);
    let (h1, carry) = (d1 as u64).overflowing_add(u64::from(carry));
    [h0, h1, (d2 & 3) + u64::from(carry)]
}

/// A sum that takes two blocks at a time: (h + first) · r² + second · r. The two products don't wait for each other, so this is nearly twice as
/// fast as one block after another. In limbs of 44, 44 and 42 bits, whose products leave room for sums; 2^132 is 20.
pub(crate) struct Pairs {
    r: Factor,
    square: Factor,
    h: [u64; 3],
}

/// A factor, and 20 times its two upper limbs.
#[derive(Clone, Copy)]
struct Factor {
    limbs: [u64; 3],
    twenty: [u64; 2],
}

impl Pairs {
    /// Goes on where `hash` stands.
    #[inline(always)]
    pub(crate) fn begin(hash: &Poly1305) -> Self {
        let r = Factor::new(limbs([hash.r[0], hash.r[1], 0]));
        let square = Factor::new(multiply(r.limbs, r.limbs));
        Self { r, square, h: limbs(hash.h) }
    }

    /// Adds an even number of blocks.
    #[inline(always)]
    pub(crate) fn add(&mut self, blocks: &[[u8; 16]]) {
        for [first, second] in blocks.as_chunks().0 {
            let [a0, a1, a2] = block_limbs(first);
            let [h0, h1, h2] = self.h;
            let a = self.square.times([h0 + a0, h1 + a1, h2 + a2]);
            let b = self.r.times(block_limbs(second));
            self.h = carried([a[0] + b[0], a[1] + b[1], a[2] + b[2]]);
        }
    }

    /// Gives the sum back.
    #[inline(always)]
    pub(crate) fn end(self, hash: &mut Poly1305) {
        hash.h = joined(self.h);
    }
}

impl Factor {
    #[inline(always)]
    fn new(limbs: [u64; 3]) -> Self {
        Self { limbs, twenty: [20 * limbs[1], 20 * limbs[2]] }
    }

    /// The product, not yet carried. Limbs of `a` are below 2^46, ours below 2^45: three products stay below 2^98.
    #[inline(always)]
    fn times(&self, [a0, a1, a2]: [u64; 3]) -> [u128; 3] {
        let by = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let ([r0, r1, r2], [s1, s2]) = (self.limbs, self.twenty);
        [
            by(a0, r0) + by(a1, s2) + by(a2, s1),
            by(a0, r1) + by(a1, r0) + by(a2, s2),
            by(a0, r2) + by(a1, r1) + by(a2, r0),
        ]
    }
}

/// All bits of a limb.
pub(crate) const LIMB: u64 = (1 << 44) - 1;

/// A number in limbs, from words of 64 bits.
#[inline(always)]
pub(crate) fn limbs([w0, w1, w2]: [u64; 3]) -> [u64; 3] {
    [w0 & LIMB, (w0 >> 44 | w1 << 20) & LIMB, w1 >> 24 | w2 << 40]
}

/// The reverse. The second limb may have a bit of the third.
#[inline(always)]
pub(crate) fn joined([h0, h1, h2]: [u64; 3]) -> [u64; 3] {
    let (h1, h2) = (h1 & LIMB, h2 + (h1 >> 44));
    [h0 | h1 << 44, h1 >> 20 | h2 << 24, h2 >> 40]
}

/// The product of two numbers in limbs.
#[inline(always)]
pub(crate) fn multiply(a: [u64; 3], b: [u64; 3]) -> [u64; 3] {
    carried(Factor::new(b).times(a))
}

/// A block with its upper bit.
#[inline(always)]
fn block_limbs(block: &[u8; 16]) -> [u64; 3] {
    let word = |n: usize| u64::from_le_bytes(block.as_chunks::<8>().0[n]);
    limbs([word(0), word(1), 1])
}

/// Carries once around: what is left is below 2^44, 2^44 + 2^16 and 2^42.
#[inline(always)]
fn carried([d0, d1, d2]: [u128; 3]) -> [u64; 3] {
    let d1 = d1 + (d0 >> 44);
    let d2 = d2 + (d1 >> 44);
    let h0 = (d0 as u64 & LIMB) + 5 * (d2 >> 42) as u64;
    [h0 & LIMB, (d1 as u64 & LIMB) + (h0 >> 44), d2 as u64 & (LIMB >> 2)]
}

/// The sum of two words and a carry.
trait Carrying: Sized {
    fn carrying(self, other: Self, carry: bool) -> (Self, bool);
}

impl Carrying for u64 {
    #[inline(always)]
    fn carrying(self, other: Self, carry: bool) -> (Self, bool) {
        let (sum, a) = self.overflowing_add(other);
        let (sum, b) = sum.overflowing_add(u64::from(carry));
        (sum, a | b)
    }
}

impl Drop for Poly1305 {
    #[inline(always)]
    fn drop(&mut self) {
        (self.r, self.s, self.h) = ([0; 2], [0; 2], [0; 3]);
        optimization_barrier(self);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ::poly1305::universal_hash::KeyInit;

    /// Keys with the smallest and largest r, one that carries often, and one of no pattern; with the smallest and largest s.
    pub(crate) fn keys() -> Vec<[u8; 32]> {
        let rs = [0_u128, 1, 2, 4 << 64, u128::MAX, 0x0123_4567_89ab_cdef_0f1e_2d3c_4b5a_6978];
        let key = |r: u128, s: u128| [r.to_le_bytes(), s.to_le_bytes()].as_flattened().try_into().expect("32 bytes");
        rs.into_iter().flat_map(|r| [key(r, 0), key(r, u128::MAX), key(r, r)]).collect()
    }

    /// Blocks with which the sum comes near its bounds.
    pub(crate) const EXTREME: [u128; 6] =
        [0, 1, u128::MAX, u128::MAX - 4, 1 << 127, 0x5555_5555_5555_5555_5555_5555_5555_5555];

    pub(crate) fn tag(key: &[u8; 32], blocks: &[[u8; 16]]) -> [u8; 16] {
        let mut tag = [0; 16];
        let mut hash = Poly1305::new(key);
        hash.blocks(blocks);
        hash.finish(&mut tag);
        tag
    }

    /// The same, all but the first of an odd number in pairs.
    fn tag_by_pairs(key: &[u8; 32], blocks: &[[u8; 16]]) -> [u8; 16] {
        let mut tag = [0; 16];
        let mut hash = Poly1305::new(key);
        let (first, rest) = blocks.split_at(blocks.len() % 2);
        hash.blocks(first);
        let mut pairs = Pairs::begin(&hash);
        pairs.add(rest);
        pairs.end(&mut hash);
        hash.finish(&mut tag);
        tag
    }

    fn check(blocks: &[u128]) {
        let blocks: Vec<[u8; 16]> = blocks.iter().map(|block| block.to_le_bytes()).collect();
        for key in keys() {
            let oracle = ::poly1305::Poly1305::new(&key.into()).compute_unpadded(blocks.as_flattened());
            assert_eq!(tag(&key, &blocks), oracle[..], "key {key:02x?}, blocks {blocks:02x?}");
            assert_eq!(tag_by_pairs(&key, &blocks), oracle[..], "in pairs, key {key:02x?}, blocks {blocks:02x?}");
        }
    }

    /// With r = 1 two blocks and their upper bits are 2^130 - 5 or a little less or more, so a wrong last subtraction shows.
    #[test]
    fn sums_around_the_modulus_are_reduced() {
        for last in u128::MAX - 40..=u128::MAX {
            check(&[u128::MAX, last]);
            check(&[last, last]);
        }
    }

    #[test]
    fn extreme_blocks_agree_with_rustcrypto() {
        for a in EXTREME {
            for b in EXTREME {
                EXTREME.into_iter().for_each(|c| check(&[a, b, c]));
            }
            check(&[a; 64]);
        }
    }
}
