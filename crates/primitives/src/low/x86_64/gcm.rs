//! Galois/Counter Mode (SP 800-38D §7) over any cipher with blocks of 16 bytes, with nonces of 96 bits.
//!
//! A message is two parts. The first, in whole batches, goes through counter mode and GHASH together: the cipher's rounds have the
//! hash's steps between them. Encryption and decryption alike hash the batch before, whose ciphertext is in registers. The second part is
//! short enough for all that is left to be hashed with one reduction: its blocks, the lengths, and for short messages the associated data.
//! The block that masks the tag goes its rounds beside the first others.

use super::blocks::{Beside, Blocks, Products};
use super::ghash::{Hashing, Powers, absorb, padded};
use super::polyval::Sum;
use super::registers::Xmm;
use crate::wipe::wipe;
use core::arch::x86_64::*;
use core::slice::{from_mut, from_ref};

/// A block cipher, over vectors of blocks.
pub(super) trait BlockCipher<V: Blocks> {
    /// Whether four vectors and more take about the time of one, so that what is left of a message is best done in one piece.
    const SLOW: bool = false;

    /// Encrypts the blocks, and does the steps of `beside` meanwhile.
    fn encrypt<const VECTORS: usize, B: Beside>(
        &self,
        proof: V::Proof,
        blocks: [V; VECTORS],
        beside: &mut B,
    ) -> [V; VECTORS];
}

/// How a cipher encrypts one block beside others, or at once if it takes few instructions.
pub(super) trait OneBeside<P> {
    /// The block on its way. Once it has done as many steps as there are ([`STEPS`](super::blocks::STEPS)), it does no more.
    type One: Beside;

    /// What is done at once is written to `place`, so that it is done there and then: later it would have round keys put aside on the stack.
    fn begin(&self, block: Xmm<P>, place: &mut [u8; 16]) -> Self::One;

    /// The block after all its rounds, of which it goes those that are left.
    fn end(proof: P, one: Self::One, place: &[u8; 16]) -> Xmm<P>;
}

/// Computes the powers that [`run`] wants with the same `V` and `VECTORS`.
#[inline(always)]
pub(super) fn prepare<V: Products, C: BlockCipher<Xmm<V::Proof>>, const VECTORS: usize>(
    proof: V::Proof,
    cipher: &C,
    powers: &mut Powers,
) {
    let mut h = [[0; 16]];
    let [block] = cipher.encrypt(proof, [Xmm::load(proof, &h)], &mut ());
    block.store(&mut h);
    powers.fill::<V>(proof, &h[0], most::<V, VECTORS>());
    wipe(h.as_flattened_mut());
}

/// Powers that are needed: of a batch and a vector.
const fn most<V: Blocks, const VECTORS: usize>() -> usize {
    (VECTORS + 1) * V::LANES
}

/// Encrypts, or decrypts if `OPEN`, and writes the tag that belongs to the ciphertext. The counter starts at 1 and is 32 bits long, so
/// `data` must be shorter than 2^36 − 31 bytes.
#[inline(always)]
pub(super) fn run<V: Products, C: BlockCipher<V> + OneBeside<V::Proof>, const VECTORS: usize, const OPEN: bool>(
    proof: V::Proof,
    cipher: &C,
    powers: &Powers,
    nonce: &[u8; 12],
    aad: &[u8],
    data: &mut [u8],
    tag: &mut [u8; 16],
) {
    let mut first = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    first[..12].copy_from_slice(nonce);
    run_from::<V, C, VECTORS, OPEN>(proof, cipher, powers, &first, aad, data, tag);
}

/// The same with any counter block, J_0 in SP 800-38D §7, whose last four bytes count modulo 2^32.
#[inline(always)]
pub(super) fn run_from<V: Products, C: BlockCipher<V> + OneBeside<V::Proof>, const VECTORS: usize, const OPEN: bool>(
    proof: V::Proof,
    cipher: &C,
    powers: &Powers,
    first: &[u8; 16],
    aad: &[u8],
    data: &mut [u8],
    tag: &mut [u8; 16],
) {
    let lowest = first[15].wrapping_add(1);
    let first = Xmm::load(proof, from_ref(first));
    let (batch, most) = (VECTORS * V::LANES, most::<V, VECTORS>());
    let mut mask = cipher.begin(first, tag);

    let lanes = [one(1), one(2), one(3), one(4)];
    let mut pass = Pass::<V, C> {
        cipher,
        powers,
        counters: V::splat(first.reverse()).add32(V::load(proof, &lanes)),
        lowest,
        lanes: V::lowest(Xmm::zero(proof)),
        sum: Sum::zero(proof),
    };
    let bits = |bytes: usize| (bytes as u64 * 8).cast_signed();
    // SAFETY: SSE2 is part of x86-64.
    let lengths = Xmm::new(proof, unsafe { _mm_set_epi64x(bits(aad.len()), bits(data.len())) });

    let blocks = data.len().div_ceil(16);
    let total = aad.len().div_ceil(16) + blocks + 1;
    let (mut narrow, mut batches) = (Sum::<Xmm<V::Proof>>::zero(proof), 0);
    if total <= most {
        let (whole, part) = aad.as_chunks::<16>();
        for (n, block) in whole.iter().enumerate() {
            narrow = narrow.add(Xmm::load(proof, from_ref(block)).reverse(), powers.descending(proof, total - n));
        }
        if !part.is_empty() {
            narrow = narrow.add(padded(proof, part).reverse(), powers.descending(proof, blocks + 2));
        }
    } else {
        pass.lanes = V::lowest(absorb::<V>(powers, most, Xmm::zero(proof), aad));
        batches = (blocks + 1).saturating_sub(most).div_ceil(batch);
    }

    let (front, rest) = data.split_at_mut(batches * batch * 16);
    let (front, _) = front.as_chunks_mut::<16>();
    pass.batches::<VECTORS, OPEN>(front, &mut mask);
    if C::SLOW {
        pass.slow_rest::<VECTORS, OPEN>(rest, &mut mask);
    } else {
        pass.rest::<OPEN>(rest);
    }

    // If there was no block to add the lanes to, only the lowest is not zero.
    let lengths = lengths.xor(pass.lanes.sum());
    let sum = narrow.join(pass.sum.narrow()).add(lengths, powers.descending(proof, 1));
    C::end(proof, mask, tag).xor(sum.reduce().reverse()).store(from_mut(tag));
}

/// A message on its way.
struct Pass<'a, V, C> {
    cipher: &'a C,
    powers: &'a Powers,
    /// Bytes reversed, so that the word that counts is the lowest.
    counters: V,
    /// The lowest byte of the first counter.
    lowest: u8,
    /// The hash of the batches, to be added to the next vector of blocks.
    lanes: V,
    /// The hash of the rest, not yet reduced.
    sum: Sum<V>,
}

impl<V: Products, C: BlockCipher<V>> Pass<'_, V, C> {
    #[inline(always)]
    fn stream<const VECTORS: usize, B: Beside>(&mut self, beside: &mut B) -> [V; VECTORS] {
        let proof = self.counters.proof();
        let step = V::splat(Xmm::load(proof, &[one(V::LANES as u8)]));
        let mut blocks = [self.counters; VECTORS];
        let count = const { VECTORS * V::LANES };
        if !C::SLOW && V::LANES == MOST_LANES && VECTORS > FEW && usize::from(self.lowest) + count <= 256 {
            // Only the last byte of each block changes, so the bytes are reversed once.
            let mut last = one(V::LANES as u8);
            last.reverse();
            let (step, all) = (V::splat(Xmm::load(proof, &[last])), V::splat(Xmm::load(proof, &[one(count as u8)])));
            let mut next = self.counters.reverse();
            for block in &mut blocks {
                *block = next;
                next = next.add32(step);
            }
            self.counters = self.counters.add32(all);
        } else {
            for block in &mut blocks {
                *block = self.counters.reverse();
                self.counters = self.counters.add32(step);
            }
        }
        self.lowest = self.lowest.wrapping_add(count as u8);
        self.cipher.encrypt(proof, blocks, beside)
    }

    #[inline(always)]
    fn batches<const VECTORS: usize, const OPEN: bool>(&mut self, batches: &mut [[u8; 16]], mask: &mut impl Beside) {
        let size = VECTORS * V::LANES;
        if batches.len() < size {
            return;
        }
        let stream = self.stream::<VECTORS, _>(mask);
        let (first, batches) = batches.split_at_mut(size);
        let mut sealed = add::<V, VECTORS, OPEN>(first, stream);
        for batch in batches.chunks_exact_mut(size) {
            let mut hashing = Hashing::new(self.powers, sealed, self.lanes);
            let stream = self.stream::<VECTORS, _>(&mut hashing);
            self.lanes = hashing.finish();
            sealed = add::<V, VECTORS, OPEN>(batch, stream);
        }
        self.lanes = Hashing::new(self.powers, sealed, self.lanes).alone();
    }

    /// The blocks after the batches.
    #[inline(always)]
    fn rest<const OPEN: bool>(&mut self, rest: &mut [u8]) {
        let mut left = rest.len().div_ceil(16) + 1;
        let (fours, rest) = rest.split_at_mut(rest.len() / (64 * V::LANES) * (64 * V::LANES));
        for vectors in fours.as_chunks_mut::<16>().0.chunks_exact_mut(4 * V::LANES) {
            self.vectors::<4, OPEN>(vectors, &mut left);
        }
        let (ones, part) = rest.split_at_mut(rest.len() / (16 * V::LANES) * (16 * V::LANES));
        for vector in ones.as_chunks_mut::<16>().0.chunks_exact_mut(V::LANES) {
            self.vectors::<1, OPEN>(vector, &mut left);
        }
        if !part.is_empty() {
            let [stream] = self.stream::<1, _>(&mut ());
            self.part::<OPEN>(part, stream, &mut left);
        }
    }

    /// The same for ciphers that are slow for few blocks.
    #[inline(always)]
    fn slow_rest<const VECTORS: usize, const OPEN: bool>(&mut self, mut rest: &mut [u8], mask: &mut impl Beside) {
        let mut left = rest.len().div_ceil(16) + 1;
        while !rest.is_empty() {
            let vectors = rest.len().div_ceil(16 * V::LANES);
            let (now, later) = rest.split_at_mut(rest.len().min(VECTORS * V::LANES * 16));
            match vectors {
                0..=4 => self.some::<4, OPEN>(now, &mut left, mask),
                5..=8 if VECTORS > 8 => self.some::<8, OPEN>(now, &mut left, mask),
                9..=16 if VECTORS > 16 => self.some::<16, OPEN>(now, &mut left, mask),
                _ => self.some::<VECTORS, OPEN>(now, &mut left, mask),
            }
            rest = later;
        }
    }

    /// Up to `VECTORS` vectors, the last of which may be a part.
    #[inline(always)]
    fn some<const VECTORS: usize, const OPEN: bool>(
        &mut self,
        data: &mut [u8],
        left: &mut usize,
        mask: &mut impl Beside,
    ) {
        let stream = self.stream::<VECTORS, _>(mask);
        for (data, key) in data.chunks_mut(16 * V::LANES).zip(stream) {
            let (blocks, _) = data.as_chunks_mut::<16>();
            if blocks.len() == V::LANES {
                let (before, after) = (V::load(key.proof(), blocks), V::load(key.proof(), blocks).xor(key));
                after.store(blocks);
                self.hash(if OPEN { before } else { after }, left);
            } else {
                self.part::<OPEN>(data, key, left);
            }
        }
    }

    /// Less than a vector, through memory, which is wiped.
    #[inline(always)]
    fn part<const OPEN: bool>(&mut self, part: &mut [u8], key: V, left: &mut usize) {
        let mut end = [[0; 16]; MOST_LANES];
        let bytes = end.as_flattened_mut();
        bytes[..part.len()].copy_from_slice(part);
        if OPEN {
            self.hash(V::load(key.proof(), &end), left);
        }
        V::load(key.proof(), &end).xor(key).store(&mut end);
        let bytes = end.as_flattened_mut();
        part.copy_from_slice(&bytes[..part.len()]);
        if !OPEN {
            bytes[part.len()..].fill(0);
            self.hash(V::load(key.proof(), &end), left);
        }
        wipe(end.as_flattened_mut());
    }

    #[inline(always)]
    fn vectors<const VECTORS: usize, const OPEN: bool>(&mut self, data: &mut [[u8; 16]], left: &mut usize) {
        let stream = self.stream::<VECTORS, _>(&mut ());
        for (data, key) in data.chunks_exact_mut(V::LANES).zip(stream) {
            let (before, after) = (V::load(key.proof(), data), V::load(key.proof(), data).xor(key));
            after.store(data);
            self.hash(if OPEN { before } else { after }, left);
        }
    }

    /// Hashes a vector of ciphertext, of which `left` blocks are left with the lengths.
    #[inline(always)]
    fn hash(&mut self, blocks: V, left: &mut usize) {
        self.sum = self.sum.add(blocks.reverse().xor(self.lanes), self.powers.descending(blocks.proof(), *left));
        self.lanes = V::lowest(Xmm::zero(blocks.proof()));
        *left = left.saturating_sub(V::LANES);
    }
}

/// Xors the key stream into the data, and returns the ciphertext.
#[inline(always)]
fn add<V: Blocks, const VECTORS: usize, const OPEN: bool>(
    data: &mut [[u8; 16]],
    mut stream: [V; VECTORS],
) -> [V; VECTORS] {
    for (data, key) in data.chunks_exact_mut(V::LANES).zip(&mut stream) {
        let before = V::load(key.proof(), data);
        let after = before.xor(*key);
        after.store(data);
        *key = if OPEN { before } else { after };
    }
    stream
}

/// For more vectors than these, counters that differ in their last byte are made from one another.
const FEW: usize = 4;

/// The most lanes of a vector.
const MOST_LANES: usize = 4;

/// A block that holds `n` in its lowest word.
const fn one(n: u8) -> [u8; 16] {
    [n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
}

/// For tests: seals, or opens where the last argument says so, from any counter block on, with so many vectors at once.
#[cfg(test)]
pub(super) fn from_any_block<V, C, const VECTORS: usize>(
    proof: V::Proof,
    cipher: &C,
) -> impl FnMut(&[u8; 16], &[u8], &mut [u8], &mut [u8; 16], bool)
where
    V: Products,
    C: BlockCipher<V> + BlockCipher<Xmm<V::Proof>> + OneBeside<V::Proof>,
{
    let mut powers = Powers::none();
    prepare::<V, C, VECTORS>(proof, cipher, &mut powers);
    move |first, aad, data, tag, open| {
        if open {
            run_from::<V, C, VECTORS, true>(proof, cipher, &powers, first, aad, data, tag);
        } else {
            run_from::<V, C, VECTORS, false>(proof, cipher, &powers, first, aad, data, tag);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aead::reference::{KEY, check_around_the_end};
    use crate::low::x86_64::aes::{RoundKeys, expand};
    use crate::low::x86_64::registers::{Ymm, Zmm};
    use ::aes::Aes128;
    use candor_cpu::{Cpu, HaveAvx512Crypto, HaveClmul, HaveVpclmul};

    /// AES that goes the way of slow ciphers, such as SM4.
    struct Slow<'k>(&'k RoundKeys);

    impl<V: Blocks> BlockCipher<V> for Slow<'_>
    where
        RoundKeys: BlockCipher<V>,
    {
        const SLOW: bool = true;

        fn encrypt<const VECTORS: usize, B: Beside>(
            &self,
            proof: V::Proof,
            blocks: [V; VECTORS],
            beside: &mut B,
        ) -> [V; VECTORS] {
            self.0.encrypt(proof, blocks, beside)
        }
    }

    impl<P> OneBeside<P> for Slow<'_>
    where
        RoundKeys: OneBeside<P>,
    {
        type One = <RoundKeys as OneBeside<P>>::One;

        fn begin(&self, block: Xmm<P>, place: &mut [u8; 16]) -> Self::One {
            self.0.begin(block, place)
        }

        fn end(proof: P, one: Self::One, place: &[u8; 16]) -> Xmm<P> {
            RoundKeys::end(proof, one, place)
        }
    }

    /// The widths of AES-GCM's arms, and those of SM4-GCM's on AES that goes their way; SM4 itself is in the tests of `sm4/aead.rs`.
    #[test]
    fn the_counter_wraps_around_after_2_32_blocks_and_leaves_the_nonce_alone() {
        let cpu = Cpu::default();
        let Some(aes) = HaveClmul::check(cpu) else { return eprintln!("skipped: this CPU lacks AES-NI") };
        let mut keys = [[0; 16]; 11];
        expand(aes, &KEY, &mut keys);
        check_around_the_end::<Aes128>(from_any_block::<Xmm<HaveClmul>, _, 8>(aes, &keys));
        check_around_the_end::<Aes128>(from_any_block::<Xmm<HaveClmul>, _, 16>(aes, &Slow(&keys)));
        check_around_the_end::<Aes128>(from_any_block::<Xmm<HaveClmul>, _, 32>(aes, &Slow(&keys)));
        if let Some(vaes) = HaveVpclmul::check(cpu) {
            check_around_the_end::<Aes128>(from_any_block::<Ymm<HaveVpclmul>, _, 8>(vaes, &keys));
            check_around_the_end::<Aes128>(from_any_block::<Ymm<HaveVpclmul>, _, 16>(vaes, &Slow(&keys)));
        }
        if let Some(wide) = HaveAvx512Crypto::check(cpu) {
            check_around_the_end::<Aes128>(from_any_block::<Zmm<HaveAvx512Crypto>, _, 8>(wide, &keys));
            check_around_the_end::<Aes128>(from_any_block::<Zmm<HaveAvx512Crypto>, _, 16>(wide, &Slow(&keys)));
        }
    }
}
