//! ChaCha20-Poly1305 (RFC 8439 §2.8), cipher and authenticator together: between the rounds of a batch of key stream, the authenticator takes
//! a batch of ciphertext. Encryption hashes the batch before, decryption the batch at hand. Short messages get their key stream, and the
//! authenticator's key, from rows of few blocks.

use super::blocks::{Beside, STEPS};
use super::chacha20::{Rows, State, Vector, Words, words};
use super::poly1305::Lanes;
use super::registers::{Xmm, Ymm, Zmm};
use crate::poly1305::{Poly1305, Sum, step};
use crate::wipe::wipe;
use candor_cpu::{HaveAvx2, HaveAvx512Ifma};
use core::mem::replace;
use core::slice::from_ref;

/// Makes an entry point: encryption, or decryption if `OPEN`, that writes the tag of the ciphertext. `state` is the input of the block
/// function with counter 0. Short messages have a function of their own, whose frame is small: clearing the stack took a seventh of their time.
macro_rules! entry {
    (
        $run:ident, ($($token:ty),+), $features:literal, $vector:ident, $hash:ty, $groups:literal,
        clear $clear_short:literal, $clear:literal
    ) => {
        #[inline]
        pub(crate) fn $run<const OPEN: bool>(
            tokens: ($($token,)+),
            state: &mut State,
            aad: &[u8],
            data: &mut [u8],
            tag: &mut [u8; 16],
        ) {
            #[target_feature(enable = $features)]
            fn short_with_features<const OPEN: bool>(
                tokens: ($($token,)+),
                state: &mut State,
                aad: &[u8],
                data: &mut [u8],
                tag: &mut [u8; 16],
            ) {
                if data.len() <= 64 * (Rows::<$vector<($($token,)+)>, 1>::BLOCKS - 1) {
                    short::<$vector<($($token,)+)>, 1, OPEN>(tokens, state, aad, data, tag);
                } else {
                    short::<$vector<($($token,)+)>, $groups, OPEN>(tokens, state, aad, data, tag);
                }
            }
            #[target_feature(enable = $features)]
            fn with_features<const OPEN: bool>(
                tokens: ($($token,)+),
                state: &mut State,
                aad: &[u8],
                data: &mut [u8],
                tag: &mut [u8; 16],
            ) {
                long::<$vector<($($token,)+)>, $hash, OPEN>(tokens, state, aad, data, tag);
            }
            if data.len() <= 64 * (Rows::<$vector<($($token,)+)>, $groups>::BLOCKS - 1) {
                // SAFETY: the tokens prove the features.
                unsafe { short_with_features::<OPEN>(tokens, state, aad, data, tag) }
                // The compiler puts vectors aside.
                crate::stack::overwrite::<$clear_short>();
            } else {
                // SAFETY: as above.
                unsafe { with_features::<OPEN>(tokens, state, aad, data, tag) }
                crate::stack::overwrite::<$clear>();
            }
        }
    };
}

entry!(run_avx2, (HaveAvx2), "avx2,bmi1,bmi2", Ymm, Serial, 3, clear 1024, 2816);
entry!(
    run_avx512,
    (HaveAvx2, HaveAvx512Ifma),
    "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512ifma",
    Zmm,
    Lanes,
    2,
    clear 1024, 3776
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
    sum: Sum,
}

impl Hash for Serial {
    type Proof = (HaveAvx2,);
    const GRAIN: usize = 1;

    #[inline(always)]
    fn begin(_: Self::Proof, hash: &mut Poly1305) -> Self {
        Self { r: hash.r(), sum: hash.sum() }
    }

    #[inline(always)]
    fn add(&mut self, blocks: &[[u8; 16]]) {
        for block in blocks {
            self.sum = step(self.sum, self.r, block);
        }
    }

    #[inline(always)]
    fn end(self, hash: &mut Poly1305) {
        hash.set_sum(self.sum);
    }
}

/// Ciphertext that is hashed between the rounds of a batch: a multiple of the hash's grain. A hash of grain 1 takes at most a batch of 32 blocks,
/// one after each part but every fifth, so that its chain is spread over all rounds; others take any number, by steps.
struct Hashing<'a, H> {
    hash: &'a mut H,
    data: &'a [[u8; 16]],
}

impl<'a, H: Hash> Hashing<'a, H> {
    #[inline(always)]
    fn new(hash: &'a mut H, data: &'a [u8]) -> Self {
        Self { hash, data: data.as_chunks().0 }
    }
}

impl<H: Hash> Beside for Hashing<'_, H> {
    #[inline(always)]
    fn step(&mut self, n: usize) {
        let grains = self.data.len() / H::GRAIN;
        if H::GRAIN > 1 && n < STEPS {
            let (from, to) = (n * grains / STEPS, (n + 1) * grains / STEPS);
            self.hash.add(&self.data[from * H::GRAIN..to * H::GRAIN]);
        }
    }

    #[inline(always)]
    fn part(&mut self, n: usize, part: usize) {
        if H::GRAIN == 1
            && (part < 3 || n % 5 == 4)
            && let Some(block) = self.data.get(3 * n + usize::from(n >= 5) + part)
        {
            self.hash.add(from_ref(block));
        }
    }
}

/// The most blocks of a batch.
const MOST: usize = 16;

/// A message whose key stream fits into rows, together with the authenticator's key.
#[inline(always)]
fn short<V: Vector, const GROUPS: usize, const OPEN: bool>(
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
fn long<V: Words, H: Hash<Proof = V::Proof>, const OPEN: bool>(
    proof: V::Proof,
    state: &mut State,
    aad: &[u8],
    data: &mut [u8],
    tag: &mut [u8; 16],
) {
    let mut buffer = [[0; 64]; MOST];
    let lengths = lengths(aad, data);
    let batch = 64 * V::WORDS;
    let whole = data.len() / batch * batch;
    let grains = data.len() / (16 * H::GRAIN) * (16 * H::GRAIN);
    // A chain of single blocks has no room for a second batch beside the rounds, so block 0 is computed first, by itself.
    let alone = OPEN && H::GRAIN == 1;

    // Otherwise it goes beside the first batch, or beside the rest if there is none.
    let mut first = Rows::<Xmm<V::Proof>, 1>::new(proof, state);
    state[12] = 1;
    let mut stream = [V::splat(proof, 0); 16];
    if alone {
        first.run();
    } else {
        stream = words(proof, state, &mut first);
    }
    first.store(&mut buffer);
    let mut hash = authenticator(&buffer[0], aad);
    buffer[0] = [0; 64];
    let mut many = H::begin(proof, &mut hash);

    // How much is through the cipher, and how much is in the hash. `stream` is what comes next.
    let (mut done, mut hashed) = (0, 0);
    /// The next batch of key stream, with these bytes going into the hash meanwhile.
    macro_rules! stream_beside {
        ($hashed:expr) => {
            words::<V, _>(proof, state, &mut Hashing::new(&mut many, &data[$hashed]))
        };
    }
    if alone {
        while done < whole {
            stream = stream_beside!(done..done + batch);
            apply(&stream, &mut data[done..]);
            done += batch;
        }
        hashed = done;
        if done < data.len() {
            stream = stream_beside!(done..grains);
            hashed = grains;
        }
    } else if OPEN && data.len() > batch {
        // The first batch waits for its hash, which then has the second one's rounds beside it.
        hashed = grains.min(2 * batch);
        let next = stream_beside!(..hashed);
        apply(&stream, data);
        (stream, done) = (next, batch);
        if whole > batch {
            apply(&stream, &mut data[done..]);
            done += batch;
            while done < whole {
                stream = stream_beside!(done..done + batch);
                apply(&stream, &mut data[done..]);
                done += batch;
            }
            hashed = done;
            if done < data.len() {
                stream = stream_beside!(done..grains);
                hashed = grains;
            }
        }
    } else if OPEN && whole > 0 {
        many.add(data.as_chunks().0);
        apply(&stream, data);
        (done, hashed) = (batch, batch);
    } else if whole > 0 {
        apply(&stream, data);
        done = batch;
        while done < whole {
            stream = stream_beside!(replace(&mut hashed, done)..done);
            apply(&stream, &mut data[done..]);
            done += batch;
        }
        if done < data.len() {
            stream = stream_beside!(replace(&mut hashed, done)..done);
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

/// Adds a batch of key stream to the first bytes of data that has as many.
#[inline(always)]
fn apply<V: Words>(stream: &[V; 16], data: &mut [u8]) {
    V::apply(stream, &mut data.as_chunks_mut().0[..V::WORDS]);
}

/// Adds key stream to less than a batch.
#[inline(always)]
fn add_stream<V: Words>(stream: &[V; 16], buffer: &mut [[u8; 64]; MOST], rest: &mut [u8]) {
    if !rest.is_empty() {
        V::apply(stream, &mut buffer[..V::WORDS]);
        rest.iter_mut().zip(buffer.as_flattened()).for_each(|(byte, key)| *byte ^= key);
    }
}

/// Hashes what the rounds have not had beside them.
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
