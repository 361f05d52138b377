//! The encryption below the KEM (specification, section 3.4): a key pair, u and v from θ, and the message back.

use super::arm_mux::Arm;
use super::code::Code;
use super::expand::{self, Expander, Version};
use super::parameters::{MOST_MESSAGE, Parameters, SEED};
use super::ring::Ring;
use super::sample::{self, Candidates};
use super::symbols_mux::Symbols;
use crate::words::{Words, to_bytes};
use alloc::boxed::Box;
use alloc::vec;
use candor_cpu::{Cpu, secret};
use candor_gf2::Multiplier;
use zeroize::Zeroizing;

/// A parameter set, and how to compute with it.
#[derive(Clone, Copy)]
pub(super) struct Scheme {
    pub(super) parameters: &'static Parameters,
    pub(super) version: Version,
    pub(super) cpu: Cpu,
    pub(super) multiplier: Multiplier,
    pub(super) arm: Arm,
    pub(super) symbols: Symbols,
}

/// An encapsulation key, parsed: its bytes, their hash, and the two polynomials.
#[derive(Clone)]
pub(super) struct PublicKey {
    pub(super) bytes: Box<[u8]>,
    pub(super) hash: [u8; 32],
    h: Words,
    s: Words,
}

/// The part of a key pair that decrypts.
pub(super) struct Pair {
    pub(super) public: PublicKey,
    /// What follows the public key in the encoded key: the seed of y and x, σ, and the seed of it all. On the heap, where moves leave it.
    pub(super) seeds: Zeroizing<Box<[u8]>>,
    pub(super) y: Words,
}

impl Scheme {
    pub(super) fn code(&self) -> Code {
        Code { parameters: self.parameters, arm: self.arm, symbols: self.symbols }
    }

    /// The key pair of a seed, whose XOF gives the seed of the encryption and σ.
    pub(super) fn key_pair(&self, seed: &[u8]) -> Pair {
        let message = self.parameters.message;
        let mut all: Zeroizing<Box<[u8]>> = Zeroizing::new(vec![0; SEED + message + SEED].into());
        let mut expander = Expander::new(self.cpu, seed, self.version);
        expander.fill(&mut all[..SEED]);
        expander.fill(&mut all[SEED..SEED + message]);
        all[SEED + message..].copy_from_slice(seed);
        let seeds = expand::i(self.cpu, &all[..SEED]);
        let (of_vectors, of_h) = seeds.split_at(SEED);
        // The seed of h is the first part of the public key.
        secret::declassify(of_h, "hqc-public-key");

        let expander = Expander::new(self.cpu, of_vectors, self.version);
        let mut candidates = Candidates::new(self.parameters, expander);
        let y = sample::sparse_by_rejection(self.parameters, self.arm, &mut candidates);
        candidates.next_vector();
        let mut s = sample::sparse_by_rejection(self.parameters, self.arm, &mut candidates);

        let h = self.h(of_h);
        Ring::new(self.parameters, self.multiplier).add_product(&mut s, &y, &h);

        let mut bytes = vec![0; self.parameters.public()];
        bytes[..SEED].copy_from_slice(of_h);
        to_bytes(&s, &mut bytes[SEED..]);
        secret::declassify(&bytes, "hqc-public-key");
        let s = Words::from_bytes(&bytes[SEED..], self.parameters.words());
        let public = PublicKey { hash: expand::h(self.cpu, &bytes), bytes: bytes.into(), h, s };
        all[..SEED].copy_from_slice(of_vectors);
        Pair { public, seeds: all, y }
    }

    /// Parses a public key of the right length; nothing if it has bits beyond s.
    pub(super) fn public_key(&self, bytes: &[u8]) -> Option<PublicKey> {
        let (seed, s) = bytes.split_at(SEED);
        if bytes[bytes.len() - 1] & !self.parameters.last_byte() != 0 {
            return None;
        }
        Some(PublicKey {
            hash: expand::h(self.cpu, bytes),
            bytes: bytes.into(),
            h: self.h(seed),
            s: Words::from_bytes(s, self.parameters.words()),
        })
    }

    fn h(&self, seed: &[u8]) -> Words {
        sample::uniform(self.parameters, &mut Expander::new(self.cpu, seed, self.version))
    }

    /// u = r₁ + h · r₂ and v = C(m) + s · r₂ + e, as bytes, where the vectors come from θ. `step` is called when there are vectors, and at the end.
    pub(super) fn encrypt(&self, to: &PublicKey, message: &[u8], theta: &[u8], uv: &mut [u8], step: &mut impl FnMut()) {
        let mut expander = Expander::new(self.cpu, theta, self.version);
        let [r2, e, mut u] = core::array::from_fn(|_| sample::sparse(self.parameters, self.arm, &mut expander));
        step();
        let mut ring = Ring::new(self.parameters, self.multiplier);
        ring.add_product(&mut u, &to.h, &r2);

        let mut v = Words::zero(self.parameters.code_words());
        self.code().encode_message(message, &mut v);
        v.iter_mut().zip(&*e).for_each(|(v, e)| *v ^= e);
        ring.add_product(&mut v, &to.s, &r2);

        let (u_bytes, v_bytes) = uv.split_at_mut(self.parameters.bytes());
        to_bytes(&u, u_bytes);
        to_bytes(&v, v_bytes);
        step();
    }

    /// The message of u and v: what is near to v − u · y. `step` is called after the product and after each of the two codes.
    pub(super) fn decrypt(&self, y: &[u64], uv: &[u8], step: &mut impl FnMut()) -> Zeroizing<[u8; MOST_MESSAGE]> {
        let (u, v) = uv.split_at(self.parameters.bytes());
        let u = Words::from_bytes(u, self.parameters.words());
        let mut word = Words::from_bytes(v, self.parameters.code_words());
        Ring::new(self.parameters, self.multiplier).add_product(&mut word, &u, y);
        step();
        let mut message = Zeroizing::new([0; MOST_MESSAGE]);
        self.code().decode_message(&word, &mut message[..self.parameters.message], step);
        message
    }
}
