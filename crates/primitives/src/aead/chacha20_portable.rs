//! ChaCha20 (RFC 8439 §2.3) in plain words of 32 bits, and HChaCha20 (draft-irtf-cfrg-xchacha-03 §2.2).

use crate::wipe::wipe;
use zeroize::Zeroize;

/// "expand 32-byte k", little-endian.
pub(crate) const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// A key in words, wiped on drop.
#[derive(Clone)]
pub(crate) struct Key(pub(crate) [u32; 8]);

impl Key {
    #[inline(always)]
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let mut words = [0; 8];
        read(&mut words, key);
        Self(words)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// The input of the block function.
#[inline(always)]
pub(crate) fn state(key: &Key, counter: u32, nonce: &[u8; 12]) -> [u32; 16] {
    let mut state = [0; 16];
    state[..4].copy_from_slice(&CONSTANTS);
    state[4..12].copy_from_slice(&key.0);
    state[12] = counter;
    read(&mut state[13..], nonce);
    state
}

/// XORs the key stream from block `counter` on into `data`.
pub(super) fn apply(key: &Key, mut counter: u32, nonce: &[u8; 12], data: &mut [u8]) {
    for data in data.chunks_mut(64) {
        let mut block = [0; 64];
        self::block(key, counter, nonce, &mut block);
        data.iter_mut().zip(block).for_each(|(byte, key)| *byte ^= key);
        wipe(&mut block);
        counter = counter.wrapping_add(1);
    }
}

/// A block of key stream.
pub(super) fn block(key: &Key, counter: u32, nonce: &[u8; 12], out: &mut [u8; 64]) {
    let mut input = state(key, counter, nonce);
    let mut words = input;
    rounds(&mut words);
    for ((bytes, word), input) in out.as_chunks_mut::<4>().0.iter_mut().zip(words).zip(input) {
        *bytes = word.wrapping_add(input).to_le_bytes();
    }
    words.zeroize();
    input.zeroize();
}

/// The key that XChaCha20 uses with the last 8 bytes of its nonce.
pub(super) fn derive(key: &Key, nonce: &[u8; 16]) -> Key {
    let mut words = [0; 16];
    words[..4].copy_from_slice(&CONSTANTS);
    words[4..12].copy_from_slice(&key.0);
    read(&mut words[12..], nonce);
    rounds(&mut words);
    let mut derived = Key([0; 8]);
    derived.0[..4].copy_from_slice(&words[..4]);
    derived.0[4..].copy_from_slice(&words[12..]);
    words.zeroize();
    derived
}

fn rounds(x: &mut [u32; 16]) {
    for _ in 0..10 {
        for column in 0..4 {
            quarter(x, [column, column + 4, column + 8, column + 12]);
        }
        for diagonal in 0..4 {
            quarter(x, [diagonal, (diagonal + 1) % 4 + 4, (diagonal + 2) % 4 + 8, (diagonal + 3) % 4 + 12]);
        }
    }
}

#[inline(always)]
fn quarter(x: &mut [u32; 16], [a, b, c, d]: [usize; 4]) {
    for (up, down) in [(16, 12), (8, 7)] {
        x[a] = x[a].wrapping_add(x[b]);
        x[d] = (x[d] ^ x[a]).rotate_left(up);
        x[c] = x[c].wrapping_add(x[d]);
        x[b] = (x[b] ^ x[c]).rotate_left(down);
    }
}

/// Little-endian words.
#[inline(always)]
fn read(words: &mut [u32], bytes: &[u8]) {
    words.iter_mut().zip(bytes.as_chunks::<4>().0).for_each(|(word, bytes)| *word = u32::from_le_bytes(*bytes));
}
