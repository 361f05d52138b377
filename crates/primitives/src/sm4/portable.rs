//! SM4 without tables, in safe Rust: sixteen blocks at once, bit by bit.
//!
//! A state is four words of each block, and a [`Slice`] holds one of them: bit k of byte j of block b is bit 16j + b of its k-th element. So
//! rotating a word by whole bytes rotates each element by a multiple of 16. Callers clear the stack.

use crate::sm4_box::{Affine, CK, FK, TOWER, tower};

/// Blocks at once.
pub(crate) const MANY: usize = 16;

/// The round keys in the basis of the S-box. Byte j of a word is in bits 16j to 16j + 7, for [`spread`].
pub(crate) type RoundKeys = [u64; 32];

/// One word of each block.
type Slice = [u64; 8];

/// The key schedule (GB/T 32907 §7.3).
pub(super) fn expand(key: &[u8; 16], keys: &mut RoundKeys) {
    let mut words: [u64; 4] = [0; 4];
    for (i, word) in words.iter_mut().enumerate() {
        let (bytes, _) = key.as_chunks::<4>();
        *word = enter(u32::from_be_bytes(bytes[i]) ^ FK[i]);
    }
    for (i, key) in keys.iter_mut().enumerate() {
        let round = words[1] ^ words[2] ^ words[3] ^ enter(CK[i]) ^ CONSTANT;
        let slice = mix(&spread(round), &TOWER.key);
        // Each bit stands in sixteen places; one of them is enough.
        let next = (0..8).fold(words[0], |word, k| word ^ (slice[k] & LANE) << k);
        words = [words[1], words[2], words[3], next];
        *key = next ^ CONSTANT;
    }
}

/// Encrypts the blocks; decrypts them with the keys from the last to the first.
pub(super) fn crypt<'k>(keys: impl Iterator<Item = &'k u64>, blocks: &mut [[u8; 16]; MANY]) {
    let mut words = load(blocks);
    for (i, key) in keys.enumerate() {
        let [a, b, c, d] = [0, 1, 2, 3].map(|j| (i + j) % 4);
        let mut round = spread(*key);
        for k in 0..8 {
            round[k] ^= words[b][k] ^ words[c][k] ^ words[d][k];
        }
        round = mix(&round, &TOWER.cipher);
        words[a].iter_mut().zip(round).for_each(|(word, sum)| *word ^= sum);
    }
    store(&words, blocks);
}

/// The lowest bit of each byte of a word.
const LANE: u64 = 0x0001_0001_0001_0001;

/// What is to be added to the argument of each S-box, in each byte.
const CONSTANT: u64 = TOWER.constant as u64 * LANE;

/// A word in the basis, as the round keys have it.
fn enter(word: u32) -> u64 {
    let bytes = word.to_be_bytes();
    (0..4).fold(0, |all, j| {
        let image = (0..8).fold(0, |image, i| image | u64::from(parity(bytes[j] & TOWER.enter.row(i))) << i);
        all | image << (16 * j)
    })
}

fn parity(x: u8) -> u8 {
    let x = x ^ x >> 4;
    let x = x ^ x >> 2;
    (x ^ x >> 1) & 1
}

/// The word of a key, the same for all blocks.
#[inline(always)]
fn spread(key: u64) -> Slice {
    core::array::from_fn(|k| (key >> k & LANE) * 0xffff)
}

/// The sum of the maps of the inverse, each moved by one byte more.
#[inline(always)]
fn mix(argument: &Slice, maps: &[Affine; 4]) -> Slice {
    let inverse = tower::invert(*argument);
    let mut sum = apply(maps[0], &inverse);
    for (moved, map) in maps.iter().enumerate().skip(1) {
        let image = apply(*map, &inverse);
        sum.iter_mut().zip(image).for_each(|(sum, bits)| *sum ^= bits.rotate_right(16 * moved as u32));
    }
    sum
}

#[inline(always)]
fn apply(affine: Affine, slice: &Slice) -> Slice {
    core::array::from_fn(|i| {
        let row = affine.map.row(i);
        // The matrix is public, and constant once this is inlined.
        let sum = (0..8).filter(|k| row >> k & 1 == 1).fold(0, |sum, k| sum ^ slice[k]);
        if affine.constant >> i & 1 == 1 { !sum } else { sum }
    })
}

/// The four words of the blocks, in the basis.
fn load(blocks: &[[u8; 16]; MANY]) -> [Slice; 4] {
    let mut words = [[0; 8]; 4];
    for (at, word) in words.iter_mut().enumerate() {
        for j in 0..4 {
            for half in 0..2 {
                let bytes = core::array::from_fn(|b| blocks[8 * half + b][4 * at + j]);
                let bits = transpose(u64::from_le_bytes(bytes)).to_le_bytes();
                word.iter_mut().zip(bits).for_each(|(word, bits)| *word |= u64::from(bits) << (16 * j + 8 * half));
            }
        }
        *word = apply(Affine { map: TOWER.enter, constant: 0 }, word);
    }
    words
}

/// The blocks of the state; the last word comes first (GB/T 32907 §7.1, the transformation R).
fn store(words: &[Slice; 4], blocks: &mut [[u8; 16]; MANY]) {
    for (at, word) in words.iter().rev().enumerate() {
        let word = apply(Affine { map: TOWER.leave, constant: 0 }, word);
        for j in 0..4 {
            for half in 0..2 {
                let bits = core::array::from_fn(|k| (word[k] >> (16 * j + 8 * half)) as u8);
                let bytes = transpose(u64::from_le_bytes(bits)).to_le_bytes();
                for (b, byte) in bytes.into_iter().enumerate() {
                    blocks[8 * half + b][4 * at + j] = byte;
                }
            }
        }
    }
}

/// Eight bytes as a square of bits, turned over: bit i of byte j becomes bit j of byte i.
fn transpose(x: u64) -> u64 {
    let swap = |x: u64, by: u32, mask: u64| {
        let moved = (x >> by ^ x) & mask;
        x ^ moved ^ moved << by
    };
    let x = swap(x, 7, 0x00aa_00aa_00aa_00aa);
    let x = swap(x, 14, 0x0000_cccc_0000_cccc);
    swap(x, 28, 0x0000_0000_f0f0_f0f0)
}
