//! `pq-mceliece`: Classic McEliece in Rust, with arms for AVX2 and AVX-512.

#![cfg(feature = "peer-pq-mceliece")]

use crate::contract::kem::{self, Failed, Op, SeededKem};
use crate::contract::mceliece::{self, Set};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use crate::shared_object::CHOSEN_AT_RUN_TIME;
use ::pq_mceliece::{Algorithm, DecapsulationKey, EncapsulationKey, PreparedDecapsulationKey};
use candor_lab::{Entry, Habit, Provenance, Refusal};

const PACKAGE: &str = "pq-mceliece";

/// What pq_mceliece offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![linked_peer(PACKAGE, "Classic McEliece in Rust, arms chosen at run time")]
    }

    fn mceliece(&self, set: Set, op: Op) -> Vec<Entry> {
        vec![kem::entry(linked::subject(PACKAGE), op, mceliece::COINS, move || Ok(PqMcEliece(algorithm(set))))]
    }

    fn mceliece_decode(&self, _: Set) -> Vec<Entry> {
        vec![Entry::refused(linked::subject(PACKAGE), Refusal::never("has no public function for decoding alone"))]
    }
}

fn algorithm(set: Set) -> Algorithm {
    match set {
        Set::S348864 => Algorithm::McEliece348864,
        Set::S348864f => Algorithm::McEliece348864f,
        Set::S460896 => Algorithm::McEliece460896,
        Set::S460896f => Algorithm::McEliece460896f,
        Set::S6688128 => Algorithm::McEliece6688128,
        Set::S6688128f => Algorithm::McEliece6688128f,
        Set::S6960119 => Algorithm::McEliece6960119,
        Set::S6960119f => Algorithm::McEliece6960119f,
        Set::S8192128 => Algorithm::McEliece8192128,
        Set::S8192128f => Algorithm::McEliece8192128f,
    }
}

struct PqMcEliece(Algorithm);

/// What the crate returns, by its own types.
enum Bytes {
    Public(EncapsulationKey),
    Ciphertext(::pq_mceliece::Ciphertext),
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Public(key) => key.value(),
            Self::Ciphertext(ciphertext) => ciphertext.value(),
        }
    }
}

/// A decapsulation key as it is made, or prepared for many ciphertexts.
enum Secret {
    Plain(DecapsulationKey),
    Prepared(PreparedDecapsulationKey),
}

impl SeededKem for PqMcEliece {
    type Secret = Secret;
    type Public = EncapsulationKey;
    type Bytes = Bytes;

    fn keygen(&self, seed: &[u8; 32]) -> Result<(Secret, Bytes), Failed> {
        let (public, secret) = self.0.generate_keypair_from_seed(seed).map_err(|_| "refuses the seed")?;
        Ok((Secret::Plain(secret), Bytes::Public(public)))
    }

    fn prepared(&self, secret: Secret) -> Secret {
        match secret {
            Secret::Plain(key) => Secret::Prepared(key.prepare()),
            Secret::Prepared(_) => secret,
        }
    }

    fn export(&self, secret: &Secret) -> Vec<u8> {
        match secret {
            Secret::Plain(key) => key.value().to_vec(),
            Secret::Prepared(prepared) => prepared.key().value().to_vec(),
        }
    }

    fn public(&self, encoded: &[u8]) -> Result<EncapsulationKey, Failed> {
        self.0.encapsulation_key_from_bytes(encoded).map_err(|_| "refuses the public key")
    }

    fn encaps(&self, to: &EncapsulationKey, coins: &[u8]) -> Result<(Bytes, [u8; 32]), Failed> {
        let (ciphertext, shared) =
            self.0.encapsulate(to, mceliece::stream(coins)).map_err(|_| "encapsulate refuses the key")?;
        Ok((Bytes::Ciphertext(ciphertext), shared.value().try_into().map_err(|_| "the secret has another length")?))
    }

    fn decaps(&self, with: &Secret, ciphertext: &[u8]) -> Result<[u8; 32], Failed> {
        let ciphertext = self.0.ciphertext_from_bytes(ciphertext).map_err(|_| "the ciphertext has another length")?;
        let shared = match with {
            Secret::Plain(key) => key.decapsulate(&ciphertext),
            Secret::Prepared(key) => key.decapsulate(&ciphertext),
        };
        shared.map_err(|_| "refuses the ciphertext")?.value().try_into().map_err(|_| "the secret has another length")
    }

    fn provenance(&self, op: Op) -> Provenance {
        let keeps = (Habit::KeepsTables, "what of decoding depends on the key alone is kept with the parsed key");
        let keeps = (op == Op::Decaps).then_some(keeps);
        let mut provenance = linked::provenance(PACKAGE, op.timed_seeded()).telling(keeps);
        provenance.arm = Some(CHOSEN_AT_RUN_TIME.into());
        if op == Op::Decaps {
            provenance.different_operation = Some(
                "the key was prepared for many ciphertexts before: what of decoding depends on the key alone is in it"
                    .into(),
            );
        }
        provenance
    }
}
