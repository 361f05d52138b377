//! tor1: AES-128 in counter mode over whole cells, and a running SHA-1 over the cells of each layer's own (tor-spec,
//! "Routing relay cells").
//!
//! Both states last as long as the circuit: the cipher covers every cell, the digest those that are for or from this
//! hop. A cell that is changed on the way comes out changed in the same bits, so relays before and after an honest one
//! can recognise each other: the tagging attack. `tests/circuit_bad_input.rs` demonstrates it.

use super::{Tag, Way};
use crate::cell::PAYLOAD;
use candor_cpu::secret;
use candor_primitives::Cpu;
use candor_primitives::aes::Aes128;
use candor_primitives::stack;
use sha1::{Digest, Sha1};
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// Length of a cipher key in bytes.
pub(super) const KEY: usize = 16;
/// Length of the seed of a direction's digest in bytes.
pub(super) const DIGEST_SEED: usize = 20;

/// Where the two zero bytes `recognized` and the digest are: `cmd 1 | recognized 2 | stream 2 | digest 4 | length 2`.
const RECOGNIZED: core::ops::Range<usize> = 1..3;
const DIGEST: core::ops::Range<usize> = 5..9;

/// AES-128 in counter mode, starting at zero, one cell at a time.
struct Stream {
    cipher: Aes128,
    counter: u128,
    /// The last key stream block of the last cell, and how much of it is used: a cell is not a multiple of a block.
    block: [u8; 16],
    used: usize,
}

impl Stream {
    fn new(cpu: Cpu, key: &[u8]) -> Self {
        let cipher = Aes128::with_cpu(cpu, key.try_into().expect("a key is 16 bytes long"));
        Self { cipher, counter: 0, block: [0; 16], used: 16 }
    }

    #[inline]
    fn apply(&mut self, payload: &mut [u8; PAYLOAD]) {
        let (first, rest) = payload.split_at_mut(16 - self.used);
        first.iter_mut().zip(&self.block[self.used..]).for_each(|(byte, key)| *byte ^= key);

        // The cipher's counter has 32 bits; what is left before it wraps goes first.
        let before = (u32::MAX - self.counter as u32) as usize;
        let whole = rest.len().min(before.saturating_mul(16).saturating_add(16));
        let (rest, wrapped) = rest.split_at_mut(whole);
        for part in [rest, wrapped] {
            if !part.is_empty() {
                self.cipher.apply_counter_mode_keeping(&self.counter.to_be_bytes(), part, &mut self.block);
                self.counter = self.counter.wrapping_add(part.len().div_ceil(16) as u128);
                self.used = (part.len() - 1) % 16 + 1;
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.block.zeroize(); // the cipher wipes itself
    }
}

/// One direction of a layer.
struct Half {
    cipher: Stream,
    digest: Sha1,
}

impl Half {
    fn new(cpu: Cpu, digest_seed: &[u8], key: &[u8]) -> Self {
        Self { cipher: Stream::new(cpu, key), digest: Sha1::new_with_prefix(digest_seed) }
    }

    #[inline]
    fn crypt(&mut self, payload: &mut [u8; PAYLOAD]) {
        self.cipher.apply(payload);
    }

    /// Writes the digest.
    #[inline]
    fn stamp(&mut self, payload: &mut [u8; PAYLOAD]) -> Tag {
        stack::clearing::<1024, _>(|| {
            payload[DIGEST].fill(0);
            self.digest.update(&payload[..]);
            let digest = self.digest.clone().finalize();
            payload[DIGEST].copy_from_slice(&digest[..4]);
            tag(&digest)
        })
    }

    /// Whether the decrypted cell is for this end. One cell in 2^16 looks so by chance, so the digest advances only if
    /// the whole comparison succeeds.
    #[inline]
    fn recognize(&mut self, payload: &mut [u8; PAYLOAD]) -> Option<Tag> {
        if !recognized(payload) {
            return None;
        }
        stack::clearing::<1024, _>(|| {
            let found: [u8; 4] = payload[DIGEST].try_into().expect("four bytes");
            payload[DIGEST].fill(0);
            let mut running = self.digest.clone();
            running.update(&payload[..]);
            let digest = running.clone().finalize();
            if is_ours(&digest[..4], &found) {
                self.digest = running;
                Some(tag(&digest))
            } else {
                payload[DIGEST].copy_from_slice(&found);
                None
            }
        })
    }
}

/// Whether a cell may be for this end. The answer is public: if it is no, a relay passes the cell on, unless it has no next relay.
#[inline]
fn recognized(payload: &[u8; PAYLOAD]) -> bool {
    secret::declassified(payload[RECOGNIZED].ct_eq(&[0, 0]).unwrap_u8(), "cell-recognized") == 1
}

/// Whether the cell is for this end: its digest fits. Public for the same reason.
#[inline]
fn is_ours(digest: &[u8], found: &[u8; 4]) -> bool {
    secret::declassified(digest.ct_eq(found).unwrap_u8(), "cell-digest") == 1
}

fn tag(digest: &[u8]) -> Tag {
    Tag { bytes: digest.try_into().expect("SHA-1 is 20 bytes long"), length: 20 }
}

/// The key material: Df 20 | Db 20 | Kf 16 | Kb 16 (tor-spec, "Setting circuit keys").
fn halves(cpu: Cpu, material: &[u8]) -> (Half, Half) {
    let [[df, kf], [db, kb]] = cut(material);
    (Half::new(cpu, df, kf), Half::new(cpu, db, kb))
}

/// The key material of each direction in its parts: D, then K.
pub(super) fn cut(material: &[u8]) -> [[&[u8]; 2]; 2] {
    let (digests, keys) = material.split_at(2 * DIGEST_SEED);
    [[&digests[..DIGEST_SEED], &keys[..KEY]], [&digests[DIGEST_SEED..], &keys[KEY..]]]
}

/// The direction `way` anew, from D and K.
fn replace(forward: &mut Half, backward: &mut Half, cpu: Cpu, way: Way, material: &[u8]) {
    let (digest_seed, key) = material.split_at(DIGEST_SEED);
    let half = match way {
        Way::Out => forward,
        Way::In => backward,
    };
    *half = Half::new(cpu, digest_seed, key);
}

pub(super) struct Relay {
    forward: Half,
    backward: Half,
}

impl Relay {
    pub(super) fn new(cpu: Cpu, material: &[u8]) -> Self {
        let (forward, backward) = halves(cpu, material);
        Self { forward, backward }
    }

    pub(super) fn replace(&mut self, cpu: Cpu, way: Way, material: &[u8]) {
        replace(&mut self.forward, &mut self.backward, cpu, way, material);
    }

    #[inline]
    pub(super) fn outbound(&mut self, payload: &mut [u8; PAYLOAD]) -> Option<Tag> {
        self.forward.crypt(payload);
        self.forward.recognize(payload)
    }

    #[inline]
    pub(super) fn inbound(&mut self, payload: &mut [u8; PAYLOAD]) {
        self.backward.crypt(payload);
    }

    pub(super) fn originate(&mut self, payload: &mut [u8; PAYLOAD]) -> Tag {
        let tag = self.backward.stamp(payload);
        self.backward.crypt(payload);
        tag
    }
}

pub(super) struct Client {
    forward: Half,
    backward: Half,
}

impl Client {
    pub(super) fn new(cpu: Cpu, material: &[u8]) -> Self {
        let (forward, backward) = halves(cpu, material);
        Self { forward, backward }
    }

    pub(super) fn replace(&mut self, cpu: Cpu, way: Way, material: &[u8]) {
        replace(&mut self.forward, &mut self.backward, cpu, way, material);
    }

    pub(super) fn originate(&mut self, payload: &mut [u8; PAYLOAD]) -> Tag {
        let tag = self.forward.stamp(payload);
        self.forward.crypt(payload);
        tag
    }

    #[inline]
    pub(super) fn outbound(&mut self, payload: &mut [u8; PAYLOAD]) {
        self.forward.crypt(payload);
    }

    #[inline]
    pub(super) fn inbound(&mut self, payload: &mut [u8; PAYLOAD]) -> Option<Tag> {
        self.backward.crypt(payload);
        self.backward.recognize(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_passes_32_bits_carries_on_in_the_next_word() {
        let ones = [0xff; 16];
        for left in 0..34 {
            for tier in Cpu::tiers() {
                let cpu = Cpu::named(tier.name).unwrap();
                let mut stream = Stream::new(cpu, &ones);
                stream.counter = (7 << 32) - left;
                let mut cells = [[0; PAYLOAD]; 2];
                cells.iter_mut().for_each(|cell| stream.apply(cell));
                let blocks = (0..64).map(|index| {
                    let mut block = ((7 << 32) - left + index).to_be_bytes();
                    Aes128::with_cpu(cpu, &ones).encrypt_block(&mut block);
                    block
                });
                let expected = blocks.collect::<Vec<_>>();
                assert!(
                    cells.as_flattened() == &expected.as_flattened()[..2 * PAYLOAD],
                    "{} left, {}",
                    left,
                    tier.name
                );
            }
        }
    }
}
