//! AES-128 and AES-256 (FIPS 197) with the AES instructions: single blocks, counter mode over many blocks in flight, and the cipher of GCM.

use super::blocks::{AesRounds, Beside, Blocks, load, store};
#[cfg(feature = "aead")]
use super::registers::ProvesClmul;
use super::registers::{Xmm, Ymm, Zmm};
#[cfg(feature = "aead")]
use super::{gcm, ghash::Powers};
use crate::wipe::wipe;
use candor_cpu::{HaveAvx512Crypto, HaveClmul, HaveVpclmul};
use core::arch::asm;
use core::arch::x86_64::*;
use core::slice::{from_mut, from_ref};

/// The key schedule of AES-128.
pub(crate) type RoundKeys = [[u8; 16]; 11];

/// The key schedule of AES-256.
#[cfg(feature = "aead")]
pub(crate) type RoundKeys256 = [[u8; 16]; 15];

/// The key schedule (FIPS 197 §5.2).
#[inline]
pub(crate) fn expand(_: HaveClmul, key: &[u8; 16], keys: &mut RoundKeys) {
    // SAFETY: the token proves the features.
    unsafe { expand_aes(key, keys) }
}

/// The key schedule of AES-256.
#[cfg(feature = "aead")]
#[inline]
pub(crate) fn expand_256(_: HaveClmul, key: &[u8; 32], keys: &mut RoundKeys256) {
    // SAFETY: the token proves the features.
    unsafe { expand_256_aes(key, keys) }
}

/// Turns a key schedule into that of the equivalent inverse cipher (FIPS 197 §5.3.5).
#[inline]
pub(crate) fn invert(_: HaveClmul, keys: &mut RoundKeys) {
    // SAFETY: the token proves the features.
    unsafe { invert_aes(keys) }
}

/// Encrypts a block.
#[inline]
pub(crate) fn encrypt(_: HaveClmul, keys: &RoundKeys, block: &mut [u8; 16]) {
    // SAFETY: the token proves the features.
    unsafe { encrypt_aes(keys, block) }
}

/// Decrypts a block, with an inverted key schedule.
#[inline]
pub(crate) fn decrypt(_: HaveClmul, keys: &RoundKeys, block: &mut [u8; 16]) {
    // SAFETY: the token proves the features.
    unsafe { decrypt_aes(keys, block) }
}

/// Blocks that [`encrypt_many`] and [`decrypt_many`] take at once: enough to hide the latency of the rounds.
pub(crate) const MANY: usize = 8;

/// Encrypts several blocks at once.
#[inline]
pub(crate) fn encrypt_many(_: HaveClmul, keys: &RoundKeys, blocks: &mut [[u8; 16]; MANY]) {
    // SAFETY: the token proves the features.
    unsafe { encrypt_many_aes(keys, blocks) }
}

/// Decrypts several blocks at once, with an inverted key schedule.
#[inline]
pub(crate) fn decrypt_many(_: HaveClmul, keys: &RoundKeys, blocks: &mut [[u8; 16]; MANY]) {
    // SAFETY: the token proves the features.
    unsafe { decrypt_many_aes(keys, blocks) }
}

/// Makes the entry points of counter mode, which xors the key stream into `data` and writes the stream's last block to `last`. The counter
/// is the last four bytes, big-endian, modulo 2^32.
macro_rules! counter_mode {
    ($name:ident, $token:ty, $features:literal, $vector:ident, $in_flight:literal $(, $clear:stmt)?) => {
        #[inline]
        pub(crate) fn $name(
            token: $token,
            keys: &RoundKeys,
            first: &[u8; 16],
            data: &mut [u8],
            last: Option<&mut [u8; 16]>,
        ) {
            #[target_feature(enable = $features)]
            fn with_features(
                token: $token,
                keys: &RoundKeys,
                first: &[u8; 16],
                data: &mut [u8],
                last: Option<&mut [u8; 16]>,
            ) {
                type Vector = $vector<$token>;
                counter_mode::<Vector, $in_flight, { $in_flight * Vector::LANES }>(token, keys, first, data, last)
            }
            // SAFETY: the token proves the features.
            unsafe { with_features(token, keys, first, data, last) }
            $($clear)?
        }
    };
}

// With these instructions the compiler puts blocks of the key stream aside. The wider arms have more registers, or fewer copies.
counter_mode!(counter_mode_aes, HaveClmul, "ssse3,sse4.1,aes", Xmm, 8, crate::stack::overwrite::<256>());
counter_mode!(counter_mode_vaes, HaveVpclmul, "avx2,aes,vaes", Ymm, 8);
counter_mode!(counter_mode_avx512, HaveAvx512Crypto, "avx2,avx512f,avx512bw,avx512vl,vaes", Zmm, 8);

/// `BATCH` blocks in `VECTORS` vectors at a time. What is left is done as if it were a whole batch, and the vector at the data's end through
/// memory, which is wiped.
#[inline(always)]
fn counter_mode<V: AesRounds, const VECTORS: usize, const BATCH: usize>(
    proof: V::Proof,
    keys: &RoundKeys,
    first: &[u8; 16],
    data: &mut [u8],
    last: Option<&mut [u8; 16]>,
) {
    let lanes = [[0; 16], one(1), one(2), one(3)];
    let mut stream = Stream {
        keys,
        counters: V::splat(Xmm::load(proof, from_ref(first)).reverse()).add32(V::load(proof, &lanes)),
        step: V::splat(Xmm::load(proof, &[one(V::LANES as u8)])),
    };

    // The last batch, or what there is of it, is the one whose last block the caller gets.
    let (batches, rest) = data.split_at_mut(data.len().saturating_sub(1) / (16 * BATCH) * (16 * BATCH));
    let (batches, _) = batches.as_chunks_mut::<16>();
    for batch in batches.chunks_exact_mut(BATCH) {
        for (data, key) in batch.chunks_exact_mut(V::LANES).zip(stream.next::<VECTORS>()) {
            V::load(proof, data).xor(key).store(data);
        }
    }
    let whole = rest.len().saturating_sub(1) / (16 * V::LANES);
    let (front, rest) = rest.split_at_mut(whole * 16 * V::LANES);
    let (front, _) = front.as_chunks_mut::<16>();
    let mut end = [[0; 16]; MOST_LANES];
    let mut front = front.chunks_exact_mut(V::LANES);
    for key in stream.next::<VECTORS>() {
        match front.next() {
            Some(data) => V::load(proof, data).xor(key).store(data),
            None => {
                key.store(&mut end);
                break;
            }
        }
    }
    let (whole, part) = rest.as_chunks_mut::<16>();
    for (data, key) in whole.iter_mut().zip(&end) {
        Xmm::load(proof, &[*data]).xor(Xmm::load(proof, from_ref(key))).store(from_mut(data));
    }
    let used = (whole.len() + usize::from(!part.is_empty())).saturating_sub(1);
    part.iter_mut().zip(&end[used]).for_each(|(byte, key)| *byte ^= key);
    if let Some(last) = last {
        *last = end[used];
    }
    wipe(end.as_flattened_mut());
}

/// The most lanes of a vector.
const MOST_LANES: usize = 4;

/// A key stream.
struct Stream<'k, V> {
    keys: &'k RoundKeys,
    /// Bytes reversed, so that the word that counts is the lowest.
    counters: V,
    step: V,
}

impl<V: AesRounds> Stream<'_, V> {
    // No closures here: they would not have the features.
    #[inline(always)]
    fn next<const VECTORS: usize>(&mut self) -> [V; VECTORS] {
        // Read from where they are wiped, each time: kept in vectors, they would not all fit into registers, and what doesn't goes to the stack.
        let keys = unseen(self.keys);
        let mut blocks = [self.counters; VECTORS];
        for block in &mut blocks {
            *block = self.counters.reverse();
            self.counters = self.counters.add32(self.step);
        }
        rounds(self.counters.proof(), keys, blocks, &mut ())
    }
}

/// All rounds, and a step of `beside` after each but the last.
#[inline(always)]
fn rounds<V: AesRounds, B: Beside, const KEYS: usize, const VECTORS: usize>(
    proof: V::Proof,
    keys: &[[u8; 16]; KEYS],
    mut blocks: [V; VECTORS],
    beside: &mut B,
) -> [V; VECTORS] {
    const { assert!(KEYS == 11 || KEYS == 15) }
    let first: V = all_lanes(proof, &keys[0]);
    for block in &mut blocks {
        *block = block.xor(first);
    }
    // Written out, so that the number of each step is a constant.
    macro_rules! middle {
        ($($round:literal)+) => {$(
            let key: V = all_lanes(proof, &keys[$round]);
            for block in &mut blocks {
                *block = block.encrypt_round(key);
            }
            beside.step($round - 1);
        )+};
    }
    middle!(1 2 3 4 5 6 7 8 9);
    if KEYS == 15 {
        middle!(10 11 12 13);
    }
    let last: V = all_lanes(proof, &keys[KEYS - 1]);
    for block in &mut blocks {
        *block = block.encrypt_last(last);
    }
    blocks
}

#[inline(always)]
fn all_lanes<V: Blocks>(proof: V::Proof, key: &[u8; 16]) -> V {
    V::splat(Xmm::load(proof, from_ref(key)))
}

#[cfg(feature = "aead")]
impl<V: AesRounds, const KEYS: usize> gcm::BlockCipher<V> for [[u8; 16]; KEYS] {
    #[inline(always)]
    fn encrypt<const VECTORS: usize, B: Beside>(
        &self,
        proof: V::Proof,
        blocks: [V; VECTORS],
        beside: &mut B,
    ) -> [V; VECTORS] {
        rounds(proof, unseen(self), blocks, beside)
    }
}

/// At once: its chain is short.
#[cfg(feature = "aead")]
impl<P: ProvesClmul, const KEYS: usize> gcm::OneBeside<P> for [[u8; 16]; KEYS] {
    type One = ();

    #[inline(always)]
    fn begin(&self, block: Xmm<P>, place: &mut [u8; 16]) {
        let [block] = rounds(block.proof(), unseen(self), [block], &mut ());
        block.store(from_mut(place));
    }

    #[inline(always)]
    fn end(proof: P, (): (), place: &[u8; 16]) -> Xmm<P> {
        Xmm::load(proof, from_ref(place))
    }
}

/// Makes the entry points of GCM: the powers of the hash key, and encryption or, if `OPEN`, decryption.
#[cfg(feature = "aead")]
macro_rules! gcm {
    ($prepare:ident, $run:ident, $token:ty, $features:literal, $vector:ident, $vectors:literal, $clear:literal) => {
        /// The powers of GHASH's key.
        #[inline]
        pub(crate) fn $prepare<const KEYS: usize>(token: $token, keys: &[[u8; 16]; KEYS], powers: &mut Powers) {
            #[target_feature(enable = $features)]
            fn with_features<const KEYS: usize>(token: $token, keys: &[[u8; 16]; KEYS], powers: &mut Powers) {
                gcm::prepare::<$vector<$token>, _, $vectors>(token, keys, powers);
            }
            // SAFETY: the token proves the features.
            unsafe { with_features(token, keys, powers) }
        }

        /// Encryption, or decryption if `OPEN`; writes the tag that belongs to the ciphertext.
        #[inline]
        pub(crate) fn $run<const KEYS: usize, const OPEN: bool>(
            token: $token,
            keys: &[[u8; 16]; KEYS],
            powers: &Powers,
            nonce: &[u8; 12],
            aad: &[u8],
            data: &mut [u8],
            tag: &mut [u8; 16],
        ) {
            #[target_feature(enable = $features)]
            fn with_features<const KEYS: usize, const OPEN: bool>(
                token: $token,
                keys: &[[u8; 16]; KEYS],
                powers: &Powers,
                nonce: &[u8; 12],
                aad: &[u8],
                data: &mut [u8],
                tag: &mut [u8; 16],
            ) {
                gcm::run::<$vector<$token>, _, $vectors, OPEN>(token, keys, powers, nonce, aad, data, tag);
            }
            // SAFETY: the token proves the features.
            unsafe { with_features::<KEYS, OPEN>(token, keys, powers, nonce, aad, data, tag) }
            crate::stack::overwrite::<$clear>();
        }
    };
}

#[cfg(feature = "aead")]
gcm!(gcm_prepare_aes, gcm_aes, HaveClmul, "ssse3,sse4.1,pclmulqdq,aes", Xmm, 8, 704);
#[cfg(feature = "aead")]
gcm!(gcm_prepare_vaes, gcm_vaes, HaveVpclmul, "avx2,pclmulqdq,vpclmulqdq,aes,vaes", Ymm, 8, 1408);
#[cfg(feature = "aead")]
gcm!(
    gcm_prepare_avx512,
    gcm_avx512,
    HaveAvx512Crypto,
    "avx2,avx512f,avx512bw,avx512vl,pclmulqdq,vpclmulqdq,aes,vaes",
    Zmm,
    8,
    1792
);

/// The same keys, as if they might have changed since they were last read.
#[inline(always)]
fn unseen<const KEYS: usize>(keys: &[[u8; 16]; KEYS]) -> &[[u8; 16]; KEYS] {
    let mut keys: *const [[u8; 16]; KEYS] = keys;
    // SAFETY: the template is a comment, so the pointer is still that of the reference.
    unsafe {
        asm!("/* {0} */", inout(reg) keys, options(readonly, nostack, preserves_flags));
        &*keys
    }
}

/// A block that holds `n` in its lowest word.
const fn one(n: u8) -> [u8; 16] {
    [n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
}

#[target_feature(enable = "sse4.1,aes")]
fn expand_aes(key: &[u8; 16], keys: &mut RoundKeys) {
    keys[0] = *key;
    let mut last = load(key);
    // Rcon is the instruction's immediate.
    macro_rules! round {
        ($($round:literal $rcon:literal),+) => {$(
            let word = _mm_shuffle_epi32::<0xff>(_mm_aeskeygenassist_si128::<$rcon>(last));
            // Each word is the xor of the old ones up to it, and of the transformed last one.
            last = _mm_xor_si128(last, _mm_slli_si128::<4>(last));
            last = _mm_xor_si128(last, _mm_slli_si128::<8>(last));
            last = _mm_xor_si128(last, word);
            store(last, &mut keys[$round]);
        )+};
    }
    round!(1 0x01, 2 0x02, 3 0x04, 4 0x08, 5 0x10, 6 0x20, 7 0x40, 8 0x80, 9 0x1b, 10 0x36);
}

#[cfg(feature = "aead")]
#[target_feature(enable = "sse4.1,aes")]
fn expand_256_aes(key: &[u8; 32], keys: &mut RoundKeys256) {
    let (halves, _) = key.as_chunks::<16>();
    keys[..2].copy_from_slice(halves);
    let [mut even, mut odd] = [load(&halves[0]), load(&halves[1])];
    // The even round keys take the transformed last word of the odd ones, and the odd ones that of the even ones without Rcon and rotation.
    macro_rules! round {
        ($keys:ident[$round:literal] $last:ident $other:ident $rcon:literal $word:literal) => {
            let word = _mm_shuffle_epi32::<$word>(_mm_aeskeygenassist_si128::<$rcon>($other));
            $last = _mm_xor_si128($last, _mm_slli_si128::<4>($last));
            $last = _mm_xor_si128($last, _mm_slli_si128::<8>($last));
            $last = _mm_xor_si128($last, word);
            store($last, &mut $keys[$round]);
        };
    }
    macro_rules! rounds {
        ($($even:literal $odd:literal $rcon:literal),+) => {$(
            round!(keys[$even] even odd $rcon 0xff);
            round!(keys[$odd] odd even 0 0xaa);
        )+};
    }
    rounds!(2 3 0x01, 4 5 0x02, 6 7 0x04, 8 9 0x08, 10 11 0x10, 12 13 0x20);
    round!(keys[14] even odd 0x40 0xff);
}

#[target_feature(enable = "sse4.1,aes")]
fn invert_aes(keys: &mut RoundKeys) {
    keys.reverse();
    for key in &mut keys[1..10] {
        store(_mm_aesimc_si128(load(key)), key);
    }
}

#[target_feature(enable = "sse4.1,aes")]
fn encrypt_aes(keys: &RoundKeys, block: &mut [u8; 16]) {
    let key = |round: usize| load(&keys[round]);
    let mut state = _mm_xor_si128(load(block), key(0));
    for round in 1..10 {
        state = _mm_aesenc_si128(state, key(round));
    }
    store(_mm_aesenclast_si128(state, key(10)), block);
}

#[target_feature(enable = "sse4.1,aes")]
fn decrypt_aes(keys: &RoundKeys, block: &mut [u8; 16]) {
    let key = |round: usize| load(&keys[round]);
    let mut state = _mm_xor_si128(load(block), key(0));
    for round in 1..10 {
        state = _mm_aesdec_si128(state, key(round));
    }
    store(_mm_aesdeclast_si128(state, key(10)), block);
}

/// Makes the functions over several blocks: `$round` nine times, then `$last`.
macro_rules! many {
    ($name:ident, $round:ident, $last:ident) => {
        #[target_feature(enable = "sse4.1,aes")]
        fn $name(keys: &RoundKeys, blocks: &mut [[u8; 16]; MANY]) {
            let key = |round: usize| load(&keys[round]);
            let mut states = [key(0); MANY];
            for (state, block) in states.iter_mut().zip(&*blocks) {
                *state = _mm_xor_si128(*state, load(block));
            }
            for round in 1..10 {
                for state in &mut states {
                    *state = $round(*state, key(round));
                }
            }
            for (state, block) in states.into_iter().zip(blocks) {
                store($last(state, key(10)), block);
            }
        }
    };
}

many!(encrypt_many_aes, _mm_aesenc_si128, _mm_aesenclast_si128);
many!(decrypt_many_aes, _mm_aesdec_si128, _mm_aesdeclast_si128);
