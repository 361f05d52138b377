//! Poly1305 (RFC 8439 §2.5) in words of 64 bits, for portable code and for kernels.

use zeroize::optimization_barrier;

/// A hash on its way. Wiped on drop.
pub(crate) struct Poly1305 {
    /// r, clamped.
    r: [u64; 2],
    /// What is added at the end.
    s: [u64; 2],
    h: Sum,
}

/// A sum so far, in words, the lowest first. The last one is below 2^63.
pub(crate) type Sum = [u64; 3];

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
    pub(crate) fn sum(&self) -> Sum {
        self.h
    }

    /// Goes on from another sum.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn set_sum(&mut self, sum: Sum) {
        self.h = sum;
    }

    /// The sum so far, with what is above 2^130 brought down once: below 2^130 + 2^64.
    #[inline(always)]
    pub(crate) fn reduced(&self) -> [u64; 3] {
        let [h0, h1, h2] = self.h;
        let (h0, carry) = h0.carrying_add((h2 >> 2) * 5, false);
        let (h1, carry) = h1.carrying_add(0, carry);
        [h0, h1, (h2 & 3) + u64::from(carry)]
    }

    /// Adds whole blocks.
    #[inline(always)]
    pub(crate) fn blocks(&mut self, blocks: &[[u8; 16]]) {
        let mut h = self.h;
        for block in blocks {
            h = step(h, self.r, block);
        }
        self.h = h;
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
        let [h0, h1, h2] = self.reduced();
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

/// (h + block + 2^128) · r modulo 2^130 − 5, up to a small multiple of it. Every instruction counts, since a cipher's rounds beside it leave few
/// slots. What is above 2^130 is brought down by the next step, when the block is in the sum already.
///
/// The two lowest bits of r's upper word are zero, so five quarters of it are a whole number: 2^128 · r₁ · 2^64 ≡ 5/4 · r₁ · 2^64.
#[inline(always)]
pub(crate) fn step([h0, h1, h2]: Sum, [r0, r1]: [u64; 2], block: &[u8; 16]) -> Sum {
    let word = |n: usize| u64::from_le_bytes(block.as_chunks::<8>().0[n]);
    let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
    let five_quarters = r1 + (r1 >> 2);

    let (h0, carry) = h0.carrying_add(word(0), false);
    let (h1, carry) = h1.carrying_add(word(1), carry);
    let (low, _) = (h2 & 3).carrying_add(1, carry);
    // 2^130 ≡ 5, and five quarters of a multiple of 4.
    let (h0, carry) = h0.carrying_add((h2 & !3) + (h2 >> 2), false);
    let (h1, carry) = h1.carrying_add(0, carry);
    // At most 6; r is below 2^124, so no sum below overflows.
    let (h2, _) = low.carrying_add(0, carry);

    let d0 = product(h0, r0) + product(h1, five_quarters);
    let d1 = product(h0, r1) + product(h1, r0);
    let d1 = d1 + (u128::from(h2 * r0) << 64 | u128::from(h2 * five_quarters));
    let d1 = d1 + (d0 >> 64);
    [d0 as u64, d1 as u64, (d1 >> 64) as u64]
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
    use candor_test_support::vectors;

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

    fn check(blocks: &[u128]) {
        let blocks: Vec<[u8; 16]> = blocks.iter().map(|block| block.to_le_bytes()).collect();
        for key in keys() {
            let oracle = ::poly1305::Poly1305::new(&key.into()).compute_unpadded(blocks.as_flattened());
            assert_eq!(tag(&key, &blocks), oracle[..], "key {key:02x?}, blocks {blocks:02x?}");
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

    /// RFC 8439, appendix A.3: those of its messages that are whole blocks, as all are that an AEAD hashes.
    #[test]
    fn the_rfc_s_messages_have_their_tags() {
        let file = vectors::load("aead.json");
        for vector in vectors::list(&file, "poly1305") {
            let message = vectors::bytes(vector, "message");
            let (blocks, rest) = message.as_chunks::<16>();
            assert!(rest.is_empty());
            let found = tag(&vectors::array(vector, "key"), blocks);
            assert_eq!(found, vectors::array(vector, "tag"), "number {}", vector["number"]);
        }
    }
}
