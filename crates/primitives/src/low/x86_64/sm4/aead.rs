//! SM4 for Galois/Counter Mode, and Counter with CBC-MAC.

use super::unit::{AesBox, Gfni, GfniBox, Last, Unit, Words};
use super::{Group, Proof, RoundKeys, block_of, blocks_of, four_rounds, rounds, unseen, words_of};
use crate::low::x86_64::blocks::{Beside, Blocks, STEPS};
use crate::low::x86_64::gcm;
use crate::low::x86_64::registers::{ProvesClmul, ProvesGfni, Xmm, Ymm};
use crate::wipe::wipe;
use candor_cpu::{HaveAvx2, HaveClmul};
use core::marker::PhantomData;
use core::slice::{from_mut, from_ref};

/// The cipher for GCM, with the units that a family has for vectors of several widths.
pub(super) struct Cipher<'k, F> {
    keys: &'k RoundKeys,
    family: PhantomData<F>,
}

/// Which unit works on vectors `V`.
pub(super) trait Family<V> {
    type Unit: Unit<Vector = V>;
}

/// Which unit works on a single block.
pub(super) trait Narrow<P: ProvesClmul> {
    type Unit: Unit<Vector = Xmm<P>>;
}

/// AES-NI and VAES.
pub(super) struct WithAes;

/// GFNI.
pub(super) struct WithGfni;

impl<V: Last> Family<V> for WithAes {
    type Unit = AesBox<V>;
}

impl<V: Gfni> Family<V> for WithGfni {
    type Unit = GfniBox<V>;
}

/// AES-NI and AVX2: the rounds on vectors of two blocks, GHASH on blocks.
pub(super) struct WithHalves;

impl<P: ProvesClmul> Narrow<P> for WithAes {
    type Unit = AesBox<Xmm<P>>;
}

impl<P: ProvesClmul + ProvesGfni> Narrow<P> for WithGfni {
    type Unit = GfniBox<Xmm<P>>;
}

impl Narrow<Tokens> for WithHalves {
    type Unit = AesBox<Xmm<Tokens>>;
}

impl<'k, F> Cipher<'k, F> {
    #[inline(always)]
    pub(super) fn new(keys: &'k RoundKeys) -> Self {
        Self { keys, family: PhantomData }
    }
}

impl<V: Words, F: Family<V>> gcm::BlockCipher<V> for Cipher<'_, F> {
    const SLOW: bool = true;

    #[inline(always)]
    fn encrypt<const VECTORS: usize, B: Beside>(
        &self,
        proof: V::Proof,
        blocks: [V; VECTORS],
        beside: &mut B,
    ) -> [V; VECTORS] {
        match VECTORS {
            0..=4 => vectors::<F::Unit, VECTORS, 1>(proof, self.keys, blocks, beside),
            5..=8 => vectors::<F::Unit, VECTORS, 2>(proof, self.keys, blocks, beside),
            _ => vectors::<F::Unit, VECTORS, 4>(proof, self.keys, blocks, beside),
        }
    }
}

/// A block on its way beside others, four rounds a step.
pub(super) struct InRounds<'k, N: Unit> {
    keys: &'k RoundKeys,
    group: [Group<N>; 1],
    /// The step that comes next.
    next: usize,
}

impl<N: Unit<Vector = Xmm<P>>, P: ProvesClmul> Beside for InRounds<'_, N> {
    #[inline(always)]
    fn step(&mut self, n: usize) {
        let (steps, _) = unseen(self.keys).as_chunks::<4>();
        if n == self.next
            && let Some(keys) = steps.get(n)
        {
            four_rounds::<N, 1>(self.group[0][0].proof(), keys, &mut self.group);
            self.next += 1;
        }
    }
}

impl<'k, F: Narrow<P>, P: ProvesClmul> gcm::OneBeside<P> for Cipher<'k, F> {
    type One = InRounds<'k, F::Unit>;

    #[inline(always)]
    fn begin(&self, block: Xmm<P>, _: &mut [u8; 16]) -> Self::One {
        InRounds { keys: self.keys, group: [words_of::<F::Unit, P>(block)], next: 0 }
    }

    #[inline(always)]
    fn end(_: P, mut one: Self::One, _: &[u8; 16]) -> Xmm<P> {
        for n in one.next..STEPS {
            one.step(n);
        }
        block_of::<F::Unit, P>(one.group[0])
    }
}

/// The tokens of that arm.
type Tokens = (HaveClmul, HaveAvx2);

impl gcm::BlockCipher<Xmm<Tokens>> for Cipher<'_, WithHalves> {
    const SLOW: bool = true;

    #[inline(always)]
    fn encrypt<const VECTORS: usize, B: Beside>(
        &self,
        proof: Tokens,
        mut blocks: [Xmm<Tokens>; VECTORS],
        beside: &mut B,
    ) -> [Xmm<Tokens>; VECTORS] {
        if VECTORS <= 4 {
            return vectors::<AesBox<Xmm<Tokens>>, VECTORS, 1>(proof, self.keys, blocks, beside);
        }
        let mut pairs = [Ymm::word(proof, 0); 16];
        for (pair, blocks) in pairs.iter_mut().zip(blocks.as_chunks::<2>().0) {
            *pair = Ymm::join(*blocks);
        }
        match VECTORS {
            0..=8 => some_pairs::<4, 1>(proof, self.keys, &mut pairs, beside),
            9..=16 => some_pairs::<8, 2>(proof, self.keys, &mut pairs, beside),
            _ => some_pairs::<16, 4>(proof, self.keys, &mut pairs, beside),
        }
        for (blocks, pair) in blocks.as_chunks_mut::<2>().0.iter_mut().zip(pairs) {
            *blocks = pair.halves();
        }
        blocks
    }
}

/// Encrypts the first `VECTORS` pairs, which are `G` groups.
#[inline(always)]
fn some_pairs<const VECTORS: usize, const G: usize>(
    proof: Tokens,
    keys: &RoundKeys,
    pairs: &mut [Ymm<Tokens>; 16],
    beside: &mut impl Beside,
) {
    let (some, _) = pairs.split_first_chunk_mut::<VECTORS>().expect("at most all of them");
    *some = vectors::<AesBox<Ymm<Tokens>>, VECTORS, G>(proof, keys, *some, beside);
}

/// Encrypts `VECTORS` vectors, which are at most `G` groups.
#[inline(always)]
fn vectors<U: Unit, const VECTORS: usize, const G: usize>(
    proof: Proof<U>,
    keys: &RoundKeys,
    mut blocks: [U::Vector; VECTORS],
    beside: &mut impl Beside,
) -> [U::Vector; VECTORS] {
    let mut groups = [[U::Vector::word(proof, 0); 4]; G];
    groups.as_flattened_mut()[..VECTORS].copy_from_slice(&blocks);
    for group in &mut groups {
        let [a, b, c, d] = U::Vector::transpose(*group);
        *group = [U::enter(a), U::enter(b), U::enter(c), U::enter(d)];
    }
    rounds::<U, G>(proof, keys, &mut groups, beside);
    for group in &mut groups {
        *group = blocks_of::<U>(*group);
    }
    blocks.copy_from_slice(&groups.as_flattened()[..VECTORS]);
    blocks
}

#[inline(always)]
pub(super) fn ccm<N: Unit<Vector = Xmm<P>>, P: ProvesClmul, const OPEN: bool>(
    proof: P,
    keys: &RoundKeys,
    first: &[u8; 16],
    mac: &mut [u8; 16],
    data: &mut [u8],
) {
    let counter = Xmm::load(proof, from_ref(first)).reverse();
    let mut ccm = Ccm::<N> { keys, counter, chain: Xmm::load(proof, from_ref(mac)), key: counter };
    if OPEN {
        // One block ahead with the key stream; the chain doesn't move.
        let chain = ccm.chain;
        ccm.advance();
        ccm.chain = chain;
    }
    let (blocks, part) = data.as_chunks_mut::<16>();
    for block in blocks {
        ccm.block::<OPEN>(Xmm::load(proof, from_ref(block))).store(from_mut(block));
    }
    if !part.is_empty() {
        let mut end = [0; 16];
        if OPEN {
            // What is beyond the end must not get into the chain.
            ccm.key.store(from_mut(&mut end));
            end[part.len()..].fill(0);
            ccm.key = Xmm::load(proof, from_ref(&end));
            end = [0; 16];
        }
        end[..part.len()].copy_from_slice(part);
        ccm.block::<OPEN>(Xmm::load(proof, from_ref(&end))).store(from_mut(&mut end));
        part.copy_from_slice(&end[..part.len()]);
        wipe(&mut end);
    }
    ccm.chain.store(from_mut(mac));
}

/// A chain of the MAC, which is what takes the time, with a block of the key stream beside each of its blocks.
struct Ccm<'k, N: Unit> {
    keys: &'k RoundKeys,
    /// Bytes reversed, so that the word that counts is the lowest.
    counter: N::Vector,
    chain: N::Vector,
    /// The block of key stream that belongs to the block before the counter.
    key: N::Vector,
}

impl<N: Unit<Vector = Xmm<P>>, P: ProvesClmul> Ccm<'_, N> {
    #[inline(always)]
    fn block<const OPEN: bool>(&mut self, text: Xmm<P>) -> Xmm<P> {
        if OPEN {
            let plain = text.xor(self.key);
            self.chain = self.chain.xor(plain);
            self.advance();
            plain
        } else {
            self.chain = self.chain.xor(text);
            self.advance();
            text.xor(self.key)
        }
    }

    /// Encrypts the chain and the counter, in the two lowest words of each vector.
    #[inline(always)]
    fn advance(&mut self) {
        let (chain, counter) = (N::enter(self.chain), N::enter(self.counter.reverse()));
        let (low, high) = (chain.low32(counter), chain.high32(counter));
        let mut group = [[low, low.high64(low), high, high.high64(high)]];
        rounds::<N, 1>(self.chain.proof(), self.keys, &mut group, &mut ());
        let [[a, b, c, d]] = group;
        let (first, last) = (d.low32(c), b.low32(a));
        self.chain = N::leave(first.low64(last));
        self.key = N::leave(first.high64(last));
        self.counter =
            self.counter.add32(Xmm::load(self.chain.proof(), &[[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{aes_ni, avx2, avx512, gfni, vaes};
    use super::*;
    use crate::aead::reference::{KEY, check_around_the_end};
    use crate::low::x86_64::gcm::from_any_block;
    use crate::low::x86_64::registers::Zmm;
    use candor_cpu::{Cpu, HaveAvx512Crypto, HaveGfni, HaveVpclmul};

    /// As many vectors as each arm of [`super::super`] has.
    #[test]
    fn the_counter_of_gcm_wraps_around_after_2_32_blocks() {
        macro_rules! arm {
            ($arm:ident, $tokens:ident: $types:ty, $family:ty, $vectors:literal of $blocks:ident) => {
                let mut keys = [0; 32];
                $arm::expand($tokens, &KEY, &mut keys);
                let cipher = Cipher::<$family>::new(&keys);
                check_around_the_end::<::sm4::Sm4>(from_any_block::<$blocks<$types>, _, $vectors>($tokens, &cipher));
            };
        }
        let cpu = Cpu::default();
        let Some(aes) = HaveClmul::check(cpu) else { return eprintln!("skipped: this CPU lacks AES-NI") };
        let tokens = (aes,);
        arm!(aes_ni, tokens: (HaveClmul,), WithAes, 16 of Xmm);
        if let Some(avx) = HaveAvx2::check(cpu) {
            let tokens = (aes, avx);
            arm!(avx2, tokens: Tokens, WithHalves, 32 of Xmm);
        }
        let (vpclmul, galois) = (HaveVpclmul::check(cpu), HaveGfni::check(cpu));
        if let Some(vpclmul) = vpclmul {
            let tokens = (vpclmul,);
            arm!(vaes, tokens: (HaveVpclmul,), WithAes, 16 of Ymm);
        }
        let (Some(vpclmul), Some(galois)) = (vpclmul, galois) else {
            return eprintln!("skipped: the arms with GFNI, which this CPU lacks");
        };
        let tokens = (vpclmul, galois);
        arm!(gfni, tokens: (HaveVpclmul, HaveGfni), WithGfni, 16 of Ymm);
        let Some(wide) = HaveAvx512Crypto::check(cpu) else {
            return eprintln!("skipped: the arm with AVX-512, which this CPU lacks");
        };
        let tokens = (wide, galois);
        arm!(avx512, tokens: (HaveAvx512Crypto, HaveGfni), WithGfni, 16 of Zmm);
    }
}
