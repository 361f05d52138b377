//! SM4 (GB/T 32907) with the AES instructions or GFNI: no table, many blocks at once.
//!
//! A group is four vectors: word 0 of some blocks, word 1, and so on. The words stay in the order of memory and in the basis of AES's field (`sm4_box`);
//! only what comes in and goes out is changed. Several groups are in flight, since a round takes about ten cycles from its argument to its result,
//! and a vector unit could start forty operations meanwhile.

#[cfg(feature = "aead")]
mod aead;
mod unit;

use super::blocks::{Beside, Blocks};
use super::registers::{ProvesClmul, Xmm, Ymm, Zmm};
#[cfg(feature = "aead")]
use super::{gcm, ghash::Powers};
use crate::sm4_box::{CK, FK, GFNI};
use crate::wipe::wipe;
#[cfg(feature = "aead")]
use aead::{Cipher, WithAes, WithGfni, WithHalves};
use candor_cpu::{HaveAvx2, HaveAvx512Crypto, HaveClmul, HaveGfni, HaveVpclmul};
use core::arch::asm;
use core::arch::x86_64::*;
use core::slice::{from_mut, from_ref};
use unit::{AesBox, GfniBox, Unit, Words};

/// The round keys in the order of the rounds: bytes as in memory, in the basis, with what the S-box adds to its argument.
pub(crate) type RoundKeys = [u32; 32];

/// Makes an arm: safe functions that take its tokens, and in each the kernel with the features. Vectors `$wide` are for many blocks,
/// `$groups` groups at once; those of 128 bits for one. So many bytes of stack hold what the compiler puts aside for want of registers behind
/// blocks and chains, counter mode, and GCM: `cargo xtask ct scan` compares them with the frames.
macro_rules! arm {
    (
        $name:ident, [$($token:ty),+], $features:literal, $unit:ident of $wide:ident, $groups:literal groups,
        gcm $family:ty, $vectors:literal of $blocks:ident, clear blocks $blocks_clear:literal, counter $counter_clear:literal, gcm $gcm_clear:literal
    ) => {
        pub(crate) mod $name {
            use super::*;

            type Tokens = ($($token,)+);
            type Wide = $unit<$wide<Tokens>>;
            type Narrow = $unit<Xmm<Tokens>>;

            /// The key schedule (GB/T 32907 §7.3).
            #[inline]
            pub(crate) fn expand(tokens: Tokens, key: &[u8; 16], keys: &mut RoundKeys) {
                #[target_feature(enable = $features)]
                fn with_features(tokens: Tokens, key: &[u8; 16], keys: &mut RoundKeys) {
                    super::expand::<Narrow, _>(tokens, key, keys);
                }
                // SAFETY: the tokens prove the features.
                unsafe { with_features(tokens, key, keys) }
            }

            /// Encrypts a block; decrypts it with the keys in reverse.
            #[inline]
            pub(crate) fn block(tokens: Tokens, keys: &RoundKeys, block: &mut [u8; 16]) {
                #[target_feature(enable = $features)]
                fn with_features(tokens: Tokens, keys: &RoundKeys, block: &mut [u8; 16]) {
                    super::block::<Narrow, _>(tokens, keys, block);
                }
                // SAFETY: the tokens prove the features.
                unsafe { with_features(tokens, keys, block) }
                crate::stack::overwrite::<128>();
            }

            /// The same for each of the blocks.
            #[inline]
            pub(crate) fn blocks(tokens: Tokens, keys: &RoundKeys, blocks: &mut [[u8; 16]]) {
                #[target_feature(enable = $features)]
                fn with_features(tokens: Tokens, keys: &RoundKeys, blocks: &mut [[u8; 16]]) {
                    super::blocks::<Wide, Narrow, $groups>(tokens, keys, blocks);
                }
                // SAFETY: the tokens prove the features.
                unsafe { with_features(tokens, keys, blocks) }
                crate::stack::overwrite::<$blocks_clear>();
            }

            /// Xors the key stream that begins with counter block `first` into `data`, and writes the stream's last block to `last`. The
            /// counter is the last four bytes, big-endian, modulo 2^32.
            #[inline]
            pub(crate) fn counter_mode(
                tokens: Tokens,
                keys: &RoundKeys,
                first: &[u8; 16],
                data: &mut [u8],
                last: Option<&mut [u8; 16]>,
            ) {
                #[target_feature(enable = $features)]
                fn with_features(tokens: Tokens, keys: &RoundKeys, first: &[u8; 16], data: &mut [u8], last: Option<&mut [u8; 16]>) {
                    super::counter_mode::<Wide, $groups>(tokens, keys, first, data, last);
                }
                // SAFETY: the tokens prove the features.
                unsafe { with_features(tokens, keys, first, data, last) }
                crate::stack::overwrite::<$counter_clear>();
            }

            /// The powers of GHASH's key.
            #[cfg(feature = "aead")]
            #[inline]
            pub(crate) fn gcm_prepare(tokens: Tokens, keys: &RoundKeys, powers: &mut Powers) {
                #[target_feature(enable = $features)]
                fn with_features(tokens: Tokens, keys: &RoundKeys, powers: &mut Powers) {
                    gcm::prepare::<$blocks<Tokens>, _, $vectors>(tokens, &Cipher::<$family>::new(keys), powers);
                }
                // SAFETY: the tokens prove the features.
                unsafe { with_features(tokens, keys, powers) }
                crate::stack::overwrite::<$blocks_clear>();
            }

            /// Galois/Counter Mode: encrypts, or decrypts if `OPEN`, and writes the tag that belongs to the ciphertext.
            #[cfg(feature = "aead")]
            #[inline]
            pub(crate) fn gcm<const OPEN: bool>(
                tokens: Tokens,
                keys: &RoundKeys,
                powers: &Powers,
                nonce: &[u8; 12],
                aad: &[u8],
                data: &mut [u8],
                tag: &mut [u8; 16],
            ) {
                #[target_feature(enable = $features)]
                fn with_features<const OPEN: bool>(
                    tokens: Tokens,
                    keys: &RoundKeys,
                    powers: &Powers,
                    nonce: &[u8; 12],
                    aad: &[u8],
                    data: &mut [u8],
                    tag: &mut [u8; 16],
                ) {
                    let cipher = Cipher::<$family>::new(keys);
                    gcm::run::<$blocks<Tokens>, _, $vectors, OPEN>(tokens, &cipher, powers, nonce, aad, data, tag);
                }
                // SAFETY: the tokens prove the features.
                unsafe { with_features::<OPEN>(tokens, keys, powers, nonce, aad, data, tag) }
                crate::stack::overwrite::<$gcm_clear>();
            }

            /// Counter mode with Cipher Block Chaining-MAC: encrypts, or decrypts if `OPEN`, with the key stream that begins with counter
            /// block `first`, and continues the MAC over the plaintext.
            #[cfg(feature = "aead")]
            #[inline]
            pub(crate) fn ccm<const OPEN: bool>(
                tokens: Tokens,
                keys: &RoundKeys,
                first: &[u8; 16],
                mac: &mut [u8; 16],
                data: &mut [u8],
            ) {
                #[target_feature(enable = $features)]
                fn with_features<const OPEN: bool>(
                    tokens: Tokens,
                    keys: &RoundKeys,
                    first: &[u8; 16],
                    mac: &mut [u8; 16],
                    data: &mut [u8],
                ) {
                    aead::ccm::<Narrow, _, OPEN>(tokens, keys, first, mac, data);
                }
                // SAFETY: the tokens prove the features.
                unsafe { with_features::<OPEN>(tokens, keys, first, mac, data) }
                crate::stack::overwrite::<$blocks_clear>();
            }

            /// Cipher block chaining: encrypts the blocks, one after another; `chain` is the block before them, then the last one.
            #[inline]
            pub(crate) fn cbc_encrypt(tokens: Tokens, keys: &RoundKeys, chain: &mut [u8; 16], blocks: &mut [[u8; 16]]) {
                #[target_feature(enable = $features)]
                fn with_features(tokens: Tokens, keys: &RoundKeys, chain: &mut [u8; 16], blocks: &mut [[u8; 16]]) {
                    super::cbc_encrypt::<Narrow, _>(tokens, keys, chain, blocks);
                }
                // SAFETY: the tokens prove the features.
                unsafe { with_features(tokens, keys, chain, blocks) }
                crate::stack::overwrite::<128>();
            }

            /// The reverse, with the keys in reverse, many blocks at once.
            #[inline]
            pub(crate) fn cbc_decrypt(tokens: Tokens, keys: &RoundKeys, chain: &mut [u8; 16], blocks: &mut [[u8; 16]]) {
                #[target_feature(enable = $features)]
                fn with_features(tokens: Tokens, keys: &RoundKeys, chain: &mut [u8; 16], blocks: &mut [[u8; 16]]) {
                    super::cbc_decrypt::<Wide, $groups>(tokens, keys, chain, blocks);
                }
                // SAFETY: the tokens prove the features.
                unsafe { with_features(tokens, keys, chain, blocks) }
                crate::stack::overwrite::<$blocks_clear>();
            }
        }
    };
}

arm!(
    aes_ni, [HaveClmul], "ssse3,sse4.1,pclmulqdq,aes",
    AesBox of Xmm, 4 groups, gcm WithAes, 16 of Xmm, clear blocks 768, counter 896, gcm 1152
);
// GHASH has no products of 256 bits here, so the blocks of GCM are single ones, and the rounds take pairs of them.
arm!(
    avx2, [HaveClmul, HaveAvx2], "avx2,pclmulqdq,aes",
    AesBox of Ymm, 4 groups, gcm WithHalves, 32 of Xmm, clear blocks 1088, counter 1728, gcm 3328
);
arm!(
    vaes, [HaveVpclmul], "avx2,pclmulqdq,vpclmulqdq,aes,vaes",
    AesBox of Ymm, 4 groups, gcm WithAes, 16 of Ymm, clear blocks 1088, counter 1728, gcm 2112
);
arm!(
    gfni, [HaveVpclmul, HaveGfni], "avx2,pclmulqdq,vpclmulqdq,gfni",
    GfniBox of Ymm, 4 groups, gcm WithGfni, 16 of Ymm, clear blocks 1152, counter 1728, gcm 2176
);
arm!(
    avx512, [HaveAvx512Crypto, HaveGfni], "avx2,avx512f,avx512bw,avx512vl,pclmulqdq,vpclmulqdq,gfni",
    GfniBox of Zmm, 4 groups, gcm WithGfni, 16 of Zmm, clear blocks 512, counter 1664, gcm 2816
);

/// Word 0 of some blocks, word 1, 2 and 3.
type Group<U> = [<U as Unit>::Vector; 4];

/// The tokens that a unit's vectors are made with.
type Proof<U> = <<U as Unit>::Vector as Blocks>::Proof;

/// All rounds, for `G` groups, with the steps of `beside` between them.
#[inline(always)]
fn rounds<U: Unit, const G: usize>(
    proof: Proof<U>,
    keys: &RoundKeys,
    groups: &mut [Group<U>; G],
    beside: &mut impl Beside,
) {
    let (steps, _) = unseen(keys).as_chunks::<4>();
    for (step, keys) in steps.iter().enumerate() {
        beside.step(step);
        four_rounds::<U, G>(proof, keys, groups);
    }
}

/// Four rounds with their keys.
#[inline(always)]
fn four_rounds<U: Unit, const G: usize>(proof: Proof<U>, keys: &[u32; 4], groups: &mut [Group<U>; G]) {
    macro_rules! round {
        ($a:literal $b:literal $c:literal $d:literal) => {
            let key = U::Vector::word(proof, keys[$a]);
            for group in &mut *groups {
                // The newest word last: the others are there before it.
                let argument = group[$b].xor(group[$c]).xor(key).xor(group[$d]);
                let [e, f, g, h] = U::cipher(argument);
                group[$a] = group[$a].xor(e).xor(f).xor(g.xor(h));
            }
        };
    }
    round!(0 1 2 3);
    round!(1 2 3 0);
    round!(2 3 0 1);
    round!(3 0 1 2);
}

/// The blocks of a group: a vector has the blocks that follow those of the vector before it.
#[inline(always)]
fn blocks_of<U: Unit>([a, b, c, d]: Group<U>) -> [U::Vector; 4] {
    // The last word comes first (GB/T 32907 §7.1, the transformation R).
    U::Vector::transpose([U::leave(d), U::leave(c), U::leave(b), U::leave(a)])
}

#[inline(always)]
fn load<U: Unit>(proof: Proof<U>, blocks: &[[u8; 16]]) -> Group<U> {
    let mut vectors = [U::Vector::word(proof, 0); 4];
    for (vector, blocks) in vectors.iter_mut().zip(blocks.chunks_exact(U::Vector::LANES)) {
        *vector = U::Vector::load(proof, blocks);
    }
    let [a, b, c, d] = U::Vector::transpose(vectors);
    [U::enter(a), U::enter(b), U::enter(c), U::enter(d)]
}

/// `G` groups at once where there are as many blocks; then two, one, and the last few by themselves.
#[inline(always)]
fn blocks<U: Unit, N: Unit<Vector = Xmm<Proof<U>>>, const G: usize>(
    proof: Proof<U>,
    keys: &RoundKeys,
    data: &mut [[u8; 16]],
) {
    let group = 4 * U::Vector::LANES;
    let mut batches = data.chunks_exact_mut(G * group);
    for batch in &mut batches {
        some_blocks::<U, G>(proof, keys, batch);
    }
    let mut pairs = batches.into_remainder().chunks_exact_mut(2 * group);
    for pair in &mut pairs {
        some_blocks::<U, 2>(proof, keys, pair);
    }
    let mut rest = pairs.into_remainder().chunks_exact_mut(group);
    for blocks in &mut rest {
        some_blocks::<U, 1>(proof, keys, blocks);
    }
    match rest.into_remainder() {
        [] => {}
        [one] => block::<N, _>(proof, keys, one),
        few => {
            let mut room = [[0; 16]; MOST];
            room[..few.len()].copy_from_slice(few);
            some_blocks::<U, 1>(proof, keys, &mut room[..group]);
            few.copy_from_slice(&room[..few.len()]);
            wipe(room.as_flattened_mut());
        }
    }
}

/// The most blocks of a group.
const MOST: usize = 16;

#[inline(always)]
fn some_blocks<U: Unit, const G: usize>(proof: Proof<U>, keys: &RoundKeys, data: &mut [[u8; 16]]) {
    let group = 4 * U::Vector::LANES;
    let mut groups = [[U::Vector::word(proof, 0); 4]; G];
    for (words, data) in groups.iter_mut().zip(data.chunks_exact(group)) {
        *words = load::<U>(proof, data);
    }
    rounds::<U, G>(proof, keys, &mut groups, &mut ());
    for (words, data) in groups.into_iter().zip(data.chunks_exact_mut(group)) {
        for (vector, data) in blocks_of::<U>(words).into_iter().zip(data.chunks_exact_mut(U::Vector::LANES)) {
            vector.store(data);
        }
    }
}

#[inline(always)]
fn counter_mode<U: Unit, const G: usize>(
    proof: Proof<U>,
    keys: &RoundKeys,
    first: &[u8; 16],
    data: &mut [u8],
    last: Option<&mut [u8; 16]>,
) {
    let lanes = U::Vector::LANES;
    let batch = 4 * lanes * G;
    let mut stream = Stream::<U>::new(proof, keys, first);
    // The last batch, or what there is of it, is the one whose last block the caller gets.
    let (batches, rest) = data.split_at_mut(data.len().saturating_sub(1) / (16 * batch) * (16 * batch));
    let (batches, _) = batches.as_chunks_mut::<16>();
    for batch in batches.chunks_exact_mut(batch) {
        let keys = stream.next::<G>();
        for (data, key) in batch.chunks_exact_mut(lanes).zip(keys.as_flattened()) {
            U::Vector::load(key.proof(), data).xor(*key).store(data);
        }
    }
    let groups = rest.len().div_ceil(64 * lanes);
    if groups <= 1 {
        stream.finish::<1>(rest, last);
    } else if G > 2 && groups <= 2 {
        stream.finish::<2>(rest, last);
    } else {
        stream.finish::<G>(rest, last);
    }
}

/// A key stream.
struct Stream<'k, U: Unit> {
    keys: &'k RoundKeys,
    /// The first three words, which don't count, in the basis.
    fixed: [U::Vector; 3],
    /// The last one, as numbers.
    count: U::Vector,
}

impl<'k, U: Unit> Stream<'k, U> {
    #[inline(always)]
    fn new(proof: Proof<U>, keys: &'k RoundKeys, first: &[u8; 16]) -> Self {
        let (words, _) = first.as_chunks::<4>();
        // No closure: it would not have the features, and LLVM may leave it a call.
        let mut fixed = [U::Vector::word(proof, 0); 3];
        for (fixed, word) in fixed.iter_mut().zip(words) {
            *fixed = U::enter(U::Vector::word(proof, u32::from_le_bytes(*word)));
        }
        // Word j of lane l belongs to block j · lanes + l.
        let lanes = U::Vector::LANES as u8;
        let mut offsets = [[0; 16]; 4];
        let mut lane = 0;
        while lane < lanes {
            let mut j = 0;
            while j < 4 {
                offsets[lane as usize][4 * j as usize] = j * lanes + lane;
                j += 1;
            }
            lane += 1;
        }
        let count = U::Vector::word(proof, u32::from_be_bytes(words[3])).add32(U::Vector::load(proof, &offsets));
        Self { keys, fixed, count }
    }

    // No closures here: they would not have the features.
    #[inline(always)]
    fn next<const G: usize>(&mut self) -> [[U::Vector; 4]; G] {
        let proof = self.count.proof();
        let swap = U::Vector::bytes(proof, [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12]);
        let [a, b, c] = self.fixed;
        let mut groups = [[a, b, c, c]; G];
        for group in &mut groups {
            group[3] = U::enter(self.count.shuffle(swap));
            self.count = self.count.add32(U::Vector::word(proof, 4 * U::Vector::LANES as u32));
        }
        rounds::<U, G>(proof, self.keys, &mut groups, &mut ());
        for group in &mut groups {
            *group = blocks_of::<U>(*group);
        }
        groups
    }

    /// Uses up one batch; the vector at the data's end goes through memory, which is wiped.
    #[inline(always)]
    fn finish<const G: usize>(&mut self, data: &mut [u8], last: Option<&mut [u8; 16]>) {
        let lanes = U::Vector::LANES;
        let whole = data.len().saturating_sub(1) / (16 * lanes);
        let (front, rest) = data.split_at_mut(whole * 16 * lanes);
        let (front, _) = front.as_chunks_mut::<16>();
        let mut end = [[0; 16]; 4];
        let mut front = front.chunks_exact_mut(lanes);
        for key in self.next::<G>().as_flattened() {
            match front.next() {
                Some(data) => U::Vector::load(key.proof(), data).xor(*key).store(data),
                None => {
                    key.store(&mut end);
                    break;
                }
            }
        }
        let (whole, part) = rest.as_chunks_mut::<16>();
        for (data, key) in whole.iter_mut().zip(&end) {
            let proof = self.count.proof();
            Xmm::load(proof, &[*data]).xor(Xmm::load(proof, from_ref(key))).store(from_mut(data));
        }
        let used = (whole.len() + usize::from(!part.is_empty())).saturating_sub(1);
        part.iter_mut().zip(&end[used]).for_each(|(byte, key)| *byte ^= key);
        if let Some(last) = last {
            *last = end[used];
        }
        wipe(end.as_flattened_mut());
    }
}

/// A block's words, in the lowest word of each vector.
#[inline(always)]
fn words_of<N: Unit<Vector = Xmm<P>>, P: ProvesClmul>(block: Xmm<P>) -> Group<N> {
    let block = N::enter(block);
    let first = block.0;
    // SAFETY: SSE2 is part of x86-64.
    let [b, c, d] =
        unsafe { [_mm_shuffle_epi32::<1>(first), _mm_shuffle_epi32::<2>(first), _mm_shuffle_epi32::<3>(first)] };
    [block, block.with(b), block.with(c), block.with(d)]
}

/// The reverse, the last word first.
#[inline(always)]
fn block_of<N: Unit<Vector = Xmm<P>>, P: ProvesClmul>([a, b, c, d]: Group<N>) -> Xmm<P> {
    N::leave(d.low32(c).low64(b.low32(a)))
}

#[inline(always)]
fn block<N: Unit<Vector = Xmm<P>>, P: ProvesClmul>(proof: P, keys: &RoundKeys, block: &mut [u8; 16]) {
    let mut group = [words_of::<N, P>(Xmm::load(proof, from_ref(block)))];
    rounds::<N, 1>(proof, keys, &mut group, &mut ());
    block_of::<N, P>(group[0]).store(from_mut(block));
}

#[inline(always)]
fn cbc_encrypt<N: Unit<Vector = Xmm<P>>, P: ProvesClmul>(
    proof: P,
    keys: &RoundKeys,
    chain: &mut [u8; 16],
    blocks: &mut [[u8; 16]],
) {
    let mut last = Xmm::load(proof, from_ref(chain));
    for block in blocks {
        let mut group = [words_of::<N, P>(last.xor(Xmm::load(proof, from_ref(block))))];
        rounds::<N, 1>(proof, keys, &mut group, &mut ());
        last = block_of::<N, P>(group[0]);
        last.store(from_mut(block));
    }
    last.store(from_mut(chain));
}

#[inline(always)]
fn cbc_decrypt<U: Unit, const G: usize>(
    proof: Proof<U>,
    keys: &RoundKeys,
    chain: &mut [u8; 16],
    data: &mut [[u8; 16]],
) {
    let group = 4 * U::Vector::LANES;
    let mut batches = data.chunks_exact_mut(G * group);
    for batch in &mut batches {
        chained::<U, G>(proof, keys, chain, batch);
    }
    let mut pairs = batches.into_remainder().chunks_exact_mut(2 * group);
    for pair in &mut pairs {
        chained::<U, 2>(proof, keys, chain, pair);
    }
    let mut rest = pairs.into_remainder().chunks_exact_mut(group);
    for blocks in &mut rest {
        chained::<U, 1>(proof, keys, chain, blocks);
    }
    let few = rest.into_remainder();
    if let Some(&next) = few.last() {
        let mut room = [[0; 16]; MOST];
        room[..few.len()].copy_from_slice(few);
        chained::<U, 1>(proof, keys, chain, &mut room[..group]);
        few.copy_from_slice(&room[..few.len()]);
        *chain = next;
        wipe(room.as_flattened_mut());
    }
}

#[inline(always)]
fn chained<U: Unit, const G: usize>(proof: Proof<U>, keys: &RoundKeys, chain: &mut [u8; 16], data: &mut [[u8; 16]]) {
    let lanes = U::Vector::LANES;
    let mut groups = [[U::Vector::word(proof, 0); 4]; G];
    for (words, data) in groups.iter_mut().zip(data.chunks_exact(4 * lanes)) {
        *words = load::<U>(proof, data);
    }
    let next = data[data.len() - 1];
    rounds::<U, G>(proof, keys, &mut groups, &mut ());
    for words in &mut groups {
        *words = blocks_of::<U>(*words);
    }
    // From the end, since each vector wants the ciphertext before it.
    for (at, plain) in groups.as_flattened().iter().enumerate().rev() {
        let from = at * lanes;
        let before = match from {
            0 => {
                let mut before = [*chain; 4];
                before[1..lanes].copy_from_slice(&data[..lanes - 1]);
                U::Vector::load(proof, &before)
            }
            _ => U::Vector::load(proof, &data[from - 1..]),
        };
        plain.xor(before).store(&mut data[from..]);
    }
    *chain = next;
}

#[inline(always)]
fn expand<N: Unit<Vector = Xmm<P>>, P: ProvesClmul>(proof: P, key: &[u8; 16], keys: &mut RoundKeys) {
    let key = Xmm::load(proof, from_ref(key)).xor(Xmm::load(proof, from_ref(const { &in_memory(FK) })));
    let mut words = words_of::<N, P>(key);
    let constants = const { &constants() };
    let (steps, _) = keys.as_chunks_mut::<4>();
    for (keys, constants) in steps.iter_mut().zip(constants.as_chunks::<4>().0) {
        macro_rules! round {
            ($a:literal $b:literal $c:literal $d:literal) => {
                let constant = Xmm::word(proof, constants[$a]);
                let argument = words[$b].xor(words[$c]).xor(constant).xor(words[$d]);
                let [e, f, g, h] = N::key(argument);
                words[$a] = words[$a].xor(e).xor(f).xor(g.xor(h));
                // SAFETY: SSE2 is part of x86-64.
                keys[$a] = unsafe { _mm_cvtsi128_si32(words[$a].0) } as u32 ^ CONSTANT;
            };
        }
        round!(0 1 2 3);
        round!(1 2 3 0);
        round!(2 3 0 1);
        round!(3 0 1 2);
    }
}

/// What is added to the argument of each S-box, in each byte.
const CONSTANT: u32 = u32::from_le_bytes([GFNI.constant; 4]);

const fn in_memory(words: [u32; 4]) -> [u8; 16] {
    let (mut bytes, mut i) = ([0; 16], 0);
    while i < 16 {
        bytes[i] = words[i / 4].to_be_bytes()[i % 4];
        i += 1;
    }
    bytes
}

/// CK in memory's order and in the basis, with what the S-box adds to its argument.
const fn constants() -> [u32; 32] {
    let (mut constants, mut i) = ([0; 32], 0);
    while i < 32 {
        let mut bytes = CK[i].to_be_bytes();
        let mut j = 0;
        while j < 4 {
            bytes[j] = GFNI.enter.of(bytes[j]) ^ GFNI.constant;
            j += 1;
        }
        constants[i] = u32::from_le_bytes(bytes);
        i += 1;
    }
    constants
}

/// The same keys, as if they might have changed since they were last read: kept in vectors, they would not fit into registers, and what
/// doesn't goes to the stack.
#[inline(always)]
fn unseen(keys: &RoundKeys) -> &RoundKeys {
    let mut keys: *const RoundKeys = keys;
    // SAFETY: the template is a comment, so the pointer is still that of the reference.
    unsafe {
        asm!("/* {0} */", inout(reg) keys, options(readonly, nostack, preserves_flags));
        &*keys
    }
}
