//! RustCrypto's `hqc-kem`: HQC in portable Rust.

#![cfg(feature = "peer-hqc-kem")]

use crate::contract::hqc::Level;
use crate::contract::kem::{self, Failed, Op, SeededKem};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use ::hqc_kem::{
    Ciphertext, DecapsulationKey, EncapsulationKey, Hqc128Params, Hqc192Params, Hqc256Params, HqcKem, HqcParams,
};
use candor_lab::{Entry, Provenance, Refusal};
use std::marker::PhantomData;

const PACKAGE: &str = "hqc-kem";

/// What hqc_kem offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![linked_peer(PACKAGE, "HQC by RustCrypto, portable Rust")]
    }

    fn hqc(&self, level: Level, op: Op) -> Vec<Entry> {
        let (subject, coins) = (linked::subject(PACKAGE), level.coins());
        vec![match level {
            Level::L1 => kem::entry(subject, op, coins, || Ok(RustCrypto::<Hqc128Params>(PhantomData))),
            Level::L3 => kem::entry(subject, op, coins, || Ok(RustCrypto::<Hqc192Params>(PhantomData))),
            Level::L5 => kem::entry(subject, op, coins, || Ok(RustCrypto::<Hqc256Params>(PhantomData))),
        }]
    }

    fn hqc_decode(&self, _: Level) -> Vec<Entry> {
        vec![Entry::refused(linked::subject(PACKAGE), Refusal::never("has no public function for the code alone"))]
    }
}

struct RustCrypto<P>(PhantomData<P>);

/// What the crate returns, by its own types.
enum Bytes<P: HqcParams> {
    Public(EncapsulationKey<P>),
    Ciphertext(Ciphertext<P>),
}

impl<P: HqcParams> AsRef<[u8]> for Bytes<P> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Public(key) => key.as_ref(),
            Self::Ciphertext(ciphertext) => ciphertext.as_ref(),
        }
    }
}

impl<P: HqcParams> SeededKem for RustCrypto<P> {
    type Secret = DecapsulationKey<P>;
    type Public = EncapsulationKey<P>;
    type Bytes = Bytes<P>;

    fn keygen(&self, seed: &[u8; 32]) -> Result<(Self::Secret, Bytes<P>), Failed> {
        let (public, secret) = HqcKem::<P>::generate_key_deterministic(seed);
        Ok((secret, Bytes::Public(public)))
    }

    fn export(&self, secret: &Self::Secret) -> Vec<u8> {
        secret.as_ref().to_vec()
    }

    fn public(&self, encoded: &[u8]) -> Result<Self::Public, Failed> {
        EncapsulationKey::try_from(encoded).map_err(|_| "EncapsulationKey::try_from refuses the key")
    }

    fn encaps(&self, to: &Self::Public, coins: &[u8]) -> Result<(Bytes<P>, [u8; 32]), Failed> {
        let (message, salt) = coins.split_last_chunk().ok_or("there is no salt")?;
        let (ciphertext, shared) =
            to.encapsulate_deterministic(message, salt).map_err(|_| "encapsulate_deterministic refuses the message")?;
        Ok((Bytes::Ciphertext(ciphertext), shared.as_ref().try_into().map_err(|_| "the secret has another length")?))
    }

    fn decaps(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<[u8; 32], Failed> {
        let ciphertext = Ciphertext::try_from(ciphertext).map_err(|_| "the ciphertext has another length")?;
        with.decapsulate(&ciphertext).as_ref().try_into().map_err(|_| "the secret has another length")
    }

    fn provenance(&self, op: Op) -> Provenance {
        let mut provenance = linked::provenance(PACKAGE, op.timed_seeded());
        provenance.arm = Some("PCLMULQDQ for products if the CPU has it, otherwise portable; the rest portable".into());
        provenance
    }
}
