//! The functions that the specification builds from SHA-3, each with a byte of its own at the end (section 3.2).

use candor_cpu::Cpu;
use candor_primitives::hash::{
    Digest, ExtendableOutput, Sha3_256, Sha3_512, Shake256, Shake256Reader, Update, XofReader,
};
use zeroize::Zeroizing;

const G: u8 = 0;
const H: u8 = 1;
const I: u8 = 2;
const J: u8 = 3;
const XOF: u8 = 1;

/// Bytes that SHAKE256 gives between two permutations.
const RATE: usize = 136;

/// H: the hash of an encapsulation key.
pub(super) fn h(cpu: Cpu, ek: &[u8]) -> [u8; 32] {
    sha3_256(cpu, &[ek, &[H]])
}

/// G: shared secret and θ.
pub(super) fn g(cpu: Cpu, hash: &[u8], message: &[u8], salt: &[u8]) -> Zeroizing<[u8; 64]> {
    sha3_512(cpu, &[hash, message, salt, &[G]])
}

/// I: the seed of y and x, and the seed of h.
pub(super) fn i(cpu: Cpu, seed: &[u8]) -> Zeroizing<[u8; 64]> {
    sha3_512(cpu, &[seed, &[I]])
}

/// J: what a ciphertext that was not made for the key gives.
pub(super) fn j(cpu: Cpu, hash: &[u8], sigma: &[u8], ciphertext: &[u8]) -> Zeroizing<[u8; 32]> {
    Zeroizing::new(sha3_256(cpu, &[hash, sigma, ciphertext, &[J]]))
}

fn sha3_256(cpu: Cpu, parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha3_256::with_cpu(cpu);
    parts.iter().for_each(|part| Digest::update(&mut hash, part));
    let mut out = [0; 32];
    hash.finalize_into((&mut out).into());
    out
}

fn sha3_512(cpu: Cpu, parts: &[&[u8]]) -> Zeroizing<[u8; 64]> {
    let mut hash = Sha3_512::with_cpu(cpu);
    parts.iter().for_each(|part| Digest::update(&mut hash, part));
    let mut out = Zeroizing::new([0; 64]);
    hash.finalize_into((&mut *out).into());
    out
}

/// The XOF: SHAKE256 of a seed.
pub(super) struct Expander {
    reader: Shake256Reader,
    version: Version,
}

/// Which version of the reference implementation is followed. Keys and ciphertexts of the two don't fit together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// Commit 161cd4f of 2026-02-10: the XOF is read byte by byte, candidates for positions are little-endian.
    #[default]
    Current,
    /// Release 5.0.0 of 2025-08-22: each read of the XOF drops bytes up to a multiple of 8, candidates for positions are big-endian and
    /// come in blocks.
    V5_0_0,
}

impl Expander {
    pub(super) fn new(cpu: Cpu, seed: &[u8], version: Version) -> Self {
        let mut shake = Shake256::with_cpu(cpu);
        shake.update(seed);
        shake.update(&[XOF]);
        Self { reader: shake.finalize_xof(), version }
    }

    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        self.reader.read(bytes);
        self.drop_after(bytes.len());
    }

    /// The next `count` bytes as words, lowest first. Bits beyond them mean nothing.
    pub(super) fn fill_words(&mut self, count: usize, words: &mut [u64]) {
        let mut left = count;
        // A block of the sponge at a time.
        for words in words.chunks_mut(RATE / 8) {
            let mut block = [0; RATE];
            self.reader.read(&mut block[..left.min(8 * words.len())]);
            left -= left.min(RATE);
            for (word, bytes) in words.iter_mut().zip(block.as_chunks::<8>().0) {
                *word = u64::from_le_bytes(*bytes);
            }
        }
        self.drop_after(count);
    }

    fn drop_after(&mut self, count: usize) {
        if self.version == Version::V5_0_0 {
            self.reader.read(&mut [0; 8][..count.next_multiple_of(8) - count]);
        }
    }

    pub(super) fn version(&self) -> Version {
        self.version
    }
}
