//! ChaCha20-Poly1305 (RFC 8439 §2.8), cipher and authenticator together: between the rounds of a batch of key stream, the authenticator takes
//! a batch of ciphertext. Encryption hashes the batch before, decryption the batch at hand. Short messages get their key stream, and the
//! authenticator's key, from rows of few blocks.

use super::blocks::{Beside, STEPS};
use super::chacha20::{Rows, State, Words, words};
use super::poly1305::Lanes;
use super::registers::{Xmm, Ymm, Zmm};
use crate::poly1305::{Poly1305, step};
use crate::wipe::wipe;
use candor_cpu::{HaveAvx2, HaveAvx512Ifma};
use core::mem::replace;
use core::slice::from_ref;
use zeroize::zeroize_stack;

/// Makes an entry point: encryption, or decryption if `OPEN`, that writes the tag of the ciphertext. `state` is the input of the block
/// function with counter 0.
macro_rules! entry {
    ($run:ident, ($($token:ty),+), $features:literal, $vector:ident, $hash:ty, $groups:literal, $wide:literal, $clear:literal) => {
        #[inline]
        pub(crate) fn $run<const OPEN: bool>(
            tokens: ($($token,)+),
            state: &mut State,
            aad: &[u8],
            data: &mut [u8],
            tag: &mut [u8; 16],
        ) {
            #[target_feature(enable = $features)]
            fn with_features<const OPEN: bool>(
                tokens: ($($token,)+),
                state: &mut State,
                aad: &[u8],
                data: &mut [u8],
                tag: &mut [u8; 16],
            ) {
                run::<$vector<($($token,)+)>, $hash, $groups, $wide, OPEN>(tokens, state, aad, data, tag);
            }
            // SAFETY: the tokens prove the features.
            unsafe { with_features::<OPEN>(tokens, state, aad, data, tag) }
            // The compiler puts vectors aside.
            zeroize_stack::<$clear>();
        }
    };
}

entry!(run_avx2, (HaveAvx2), "avx2,bmi1,bmi2", Ymm, Serial, 3, 2, 5376);
entry!(
    run_avx512,
    (HaveAvx2, HaveAvx512Ifma),
    "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512ifma",
    Zmm,
    Lanes,
    2,
    1,
    4224
);

/// Poly1305 over many blocks.
pub(super) trait Hash {
    /// The arm's tokens, which prove the instructions.
    type Proof;
    /// Takes over from `hash`.
    fn begin(proof: Self::Proof, hash: &mut Poly1305) -> Self;
    /// Adds blocks, a multiple of [`Self::GRAIN`].
    fn add(&mut self, blocks: &[[u8; 16]]);
    /// Gives back to `hash`.
    fn end(self, hash: &mut Poly1305);
    /// How many blocks it takes at a time.
    const GRAIN: usize;
}

/// One block after another, in general registers, which the cipher leaves free.
struct Serial {
    r: [u64; 2],
    sum: [u64; 3],
}

impl Hash for Serial {
    type Proof = (HaveAvx2,);
    const GRAIN: usize = 1;

    #[inline(always)]
    fn begin(_: Self::Proof, hash: &mut Poly1305) -> Self {
        Self { r: hash.r(), sum: *hash.sum() }
    }

    #[inline(always)]
    fn add(&mut self, blocks: &[[u8; 16]]) {
        for block in blocks {
            self.sum = step(self.sum, self.r, block);
        }
    }

    #[inline(always)]
    fn end(self, hash: &mut Poly1305) {
        *hash.sum() = self.sum;
    }
}

/// Ciphertext that is hashed between the rounds of `N` batches: a multiple of the hash's grain, at most twice as long as they. A hash of grain 1
/// takes a block or two in every part, so that the cipher's instructions never wait behind a long chain of the hash's; others go by steps.
struct Hashing<'a, H, const N: usize> {
    hash: &'a mut H,
    data: &'a [[u8; 16]],
}

impl<'a, H: Hash, const N: usize> Hashing<'a, H, N> {
    #[inline(always)]
    fn new(hash: &'a mut H, data: &'a [u8]) -> Self {
        Self { hash, data: data.as_chunks().0 }
    }
}

impl<H: Hash, const N: usize> Beside for Hashing<'_, H, N> {
    #[inline(always)]
    fn step(&mut self, n: usize) {
        let grains = self.data.len() / H::GRAIN;
        if H::GRAIN > 1 && n < STEPS {
            let (from, to) = (n * grains / STEPS, (n + 1) * grains / STEPS);
            self.hash.add(&self.data[from * H::GRAIN..to * H::GRAIN]);
        }
    }

    #[inline(always)]
    fn part(&mut self, n: usize) {
        if H::GRAIN == 1 {
            // One block or two, named one by one: of a range the compiler would make a loop.
            if self.data.len() <= 32 * N {
                self.hash.add(self.data.get(n).map_or(&[], from_ref));
            } else {
                self.hash.add(self.data.get(2 * n).map_or(&[], from_ref));
                self.hash.add(self.data.get(2 * n + 1).map_or(&[], from_ref));
            }
        }
    }
}

/// The most blocks of a batch.
const MOST: usize = 16;

#[inline(always)]
fn run<V: Words, H: Hash<Proof = V::Proof>, const GROUPS: usize, const WIDE: usize, const OPEN: bool>(
    proof: V::Proof,
    state: &mut State,
    aad: &[u8],
    data: &mut [u8],
    tag: &mut [u8; 16],
) {
    match data.len().div_ceil(64) + 1 {
        blocks if blocks <= Rows::<V, 1>::BLOCKS => short::<V, 1, OPEN>(proof, state, aad, data, tag),
        blocks if blocks <= Rows::<V, GROUPS>::BLOCKS => short::<V, GROUPS, OPEN>(proof, state, aad, data, tag),
        _ => long::<V, H, WIDE, OPEN>(proof, state, aad, data, tag),
    }
}

/// A message whose key stream fits into rows, together with the authenticator's key.
#[inline(always)]
fn short<V: Words, const GROUPS: usize, const OPEN: bool>(
    proof: V::Proof,
    state: &mut State,
    aad: &[u8],
    data: &mut [u8],
    tag: &mut [u8; 16],
) {
    let mut stream = [[0; 64]; MOST / 2];
    let mut rows = Rows::<V, GROUPS>::new(proof, state);
    rows.run();
    rows.store(&mut stream);
    let mut hash = authenticator(&stream[0], aad);
    if OPEN {
        hash.padded(data);
    }
    data.iter_mut().zip(stream[1..].as_flattened()).for_each(|(byte, key)| *byte ^= key);
    if !OPEN {
        hash.padded(data);
    }
    finish(hash, aad, data, tag);
    wipe(stream.as_flattened_mut());
}

#[inline(always)]
fn long<V: Words, H: Hash<Proof = V::Proof>, const WIDE: usize, const OPEN: bool>(
    proof: V::Proof,
    state: &mut State,
    aad: &[u8],
    data: &mut [u8],
    tag: &mut [u8; 16],
) {
    let mut buffer = [[0; 64]; MOST];
    let lengths = lengths(aad, data);
    let batch = 64 * V::BLOCKS;
    let whole = data.len() / batch * batch;
    let grains = data.len() / (16 * H::GRAIN) * (16 * H::GRAIN);

    // Block 0 goes beside the first batch, or beside the rest if there is none.
    let mut first = Rows::<Xmm<V::Proof>, 1>::new(proof, state);
    state[12] = 1;
    let [mut stream] = words::<V, 1, _>(proof, state, &mut first);
    first.store(&mut buffer);
    let mut hash = authenticator(&buffer[0], aad);
    buffer[0] = [0; 64];
    let mut many = H::begin(proof, &mut hash);

    // How much is through the cipher, and how much is in the hash. `stream` is what comes next.
    let (mut done, mut hashed) = (0, 0);
    /// Takes `$n` batches through the cipher, with these bytes into the hash meanwhile.
    macro_rules! batches {
        ($n:literal, $hashed:expr) => {{
            let streams = words::<V, $n, _>(proof, state, &mut Hashing::<_, $n>::new(&mut many, &data[$hashed]));
            apply(&streams, &mut data[done..]);
            done += $n * batch;
        }};
    }
    if OPEN && data.len() > batch {
        // The first batch waits for its hash, which then has the second one's rounds beside it.
        hashed = grains.min(2 * batch);
        let [next] = words::<V, 1, _>(proof, state, &mut Hashing::<_, 1>::new(&mut many, &data[..hashed]));
        apply(&[stream], data);
        (stream, done) = (next, batch);
        if whole > batch {
            apply(&[stream], &mut data[done..]);
            done += batch;
            while WIDE == 2 && whole - done >= 2 * batch {
                batches!(2, done..done + 2 * batch);
            }
            while done < whole {
                batches!(1, done..done + batch);
            }
            hashed = done;
            if done < data.len() {
                [stream] = words::<V, 1, _>(proof, state, &mut Hashing::<_, 1>::new(&mut many, &data[done..grains]));
                hashed = grains;
            }
        }
    } else if OPEN && whole > 0 {
        many.add(data.as_chunks().0);
        apply(&[stream], data);
        (done, hashed) = (batch, batch);
    } else if whole > 0 {
        apply(&[stream], data);
        done = batch;
        while WIDE == 2 && whole - done >= 2 * batch {
            let from = replace(&mut hashed, done);
            batches!(2, from..hashed);
        }
        while done < whole {
            let from = replace(&mut hashed, done);
            batches!(1, from..hashed);
        }
        if done < data.len() {
            [stream] = words::<V, 1, _>(proof, state, &mut Hashing::<_, 1>::new(&mut many, &data[hashed..done]));
            hashed = done;
        }
    }

    if OPEN {
        hash = add_rest(many, hash, &data[hashed..]);
        add_stream::<V>(&stream, &mut buffer, &mut data[done..]);
    } else {
        add_stream::<V>(&stream, &mut buffer, &mut data[done..]);
        hash = add_rest(many, hash, &data[hashed..]);
    }
    hash.blocks(&[lengths]);
    hash.finish(tag);
    wipe(buffer.as_flattened_mut());
}

/// Adds batches of key stream to the first bytes of data that has as many.
#[inline(always)]
fn apply<V: Words>(streams: &[[V; 16]], data: &mut [u8]) {
    let (blocks, _) = data.as_chunks_mut();
    for (stream, blocks) in streams.iter().zip(blocks.chunks_exact_mut(V::BLOCKS)) {
        V::apply(stream, blocks);
    }
}

/// Adds key stream to less than a batch.
#[inline(always)]
fn add_stream<V: Words>(stream: &[V; 16], buffer: &mut [[u8; 64]; MOST], rest: &mut [u8]) {
    if !rest.is_empty() {
        V::apply(stream, &mut buffer[..V::BLOCKS]);
        rest.iter_mut().zip(buffer.as_flattened()).for_each(|(byte, key)| *byte ^= key);
    }
}

/// Hashes less than a batch.
#[inline(always)]
fn add_rest<H: Hash>(mut many: H, mut hash: Poly1305, rest: &[u8]) -> Poly1305 {
    let (grains, rest) = rest.split_at(rest.len() / (16 * H::GRAIN) * (16 * H::GRAIN));
    many.add(grains.as_chunks().0);
    many.end(&mut hash);
    hash.padded(rest);
    hash
}

/// Poly1305 under the key in a block of key stream, with the associated data.
#[inline(always)]
fn authenticator(block: &[u8; 64], aad: &[u8]) -> Poly1305 {
    let mut hash = Poly1305::new(block.first_chunk().expect("64 bytes have a first 32"));
    hash.padded(aad);
    hash
}

#[inline(always)]
fn lengths(aad: &[u8], data: &[u8]) -> [u8; 16] {
    ((data.len() as u128) << 64 | aad.len() as u128).to_le_bytes()
}

#[inline(always)]
fn finish(mut hash: Poly1305, aad: &[u8], data: &[u8], tag: &mut [u8; 16]) {
    hash.blocks(&[lengths(aad, data)]);
    hash.finish(tag);
}
