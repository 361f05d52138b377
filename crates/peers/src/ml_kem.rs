//! RustCrypto's `ml-kem`: ML-KEM in safe portable Rust.

#![cfg(feature = "peer-ml-kem")]

use crate::contract::ml_kem::{self, Failed, KeyPair, Level, MlKem, Op, Prepared};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use ::ml_kem::{
    Ciphertext, Decapsulate, DecapsulationKey, Encapsulate, EncapsulationKey, Generate, Key, KeyExport, MlKem512,
    MlKem768, MlKem1024, Seed, SharedKey,
};
use candor_lab::{Entry, Habit, Provenance};
use std::marker::PhantomData;

const PACKAGE: &str = "ml-kem";

/// What ml_kem offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![linked_peer(PACKAGE, "ML-KEM by RustCrypto, safe portable Rust")]
    }

    fn ml_kem(&self, level: Level, op: Op) -> Vec<Entry> {
        vec![ml_kem(level, op)]
    }

    fn ml_kem_prepared(&self, level: Level, op: Op) -> Vec<Entry> {
        vec![ml_kem_prepared(level, op)]
    }
}

fn ml_kem(level: Level, op: Op) -> Entry {
    let subject = linked::subject(PACKAGE);
    match level {
        Level::L512 => ml_kem::entry(subject, level, op, || Ok(RustCrypto::<MlKem512>(PhantomData))),
        Level::L768 => ml_kem::entry(subject, level, op, || Ok(RustCrypto::<MlKem768>(PhantomData))),
        Level::L1024 => ml_kem::entry(subject, level, op, || Ok(RustCrypto::<MlKem1024>(PhantomData))),
    }
}

fn ml_kem_prepared(level: Level, op: Op) -> Entry {
    let subject = linked::subject(PACKAGE);
    match level {
        Level::L512 => ml_kem::entry(subject, level, op, || Ok(Prepared(RustCrypto::<MlKem512>(PhantomData)))),
        Level::L768 => ml_kem::entry(subject, level, op, || Ok(Prepared(RustCrypto::<MlKem768>(PhantomData)))),
        Level::L1024 => ml_kem::entry(subject, level, op, || Ok(Prepared(RustCrypto::<MlKem1024>(PhantomData)))),
    }
}

struct RustCrypto<P>(PhantomData<P>);

macro_rules! level {
    ($($parameters:ident),+) => {$(
        impl MlKem for RustCrypto<$parameters> {
            type Secret = DecapsulationKey<$parameters>;
            type Public = EncapsulationKey<$parameters>;
            type Encoded = Key<EncapsulationKey<$parameters>>;
            type Ciphertext = Ciphertext<$parameters>;
            type Shared = SharedKey;

            fn keygen(&self) -> Result<(Self::Secret, Self::Encoded), Failed> {
                let secret = DecapsulationKey::<$parameters>::try_generate().map_err(|_| "no randomness")?;
                let encoded = secret.encapsulation_key().to_bytes();
                Ok((secret, encoded))
            }

            fn public(&self, encoded: &[u8]) -> Result<Self::Public, Failed> {
                let encoded = encoded.try_into().map_err(|_| "the public key has another length")?;
                EncapsulationKey::new(encoded).map_err(|_| "EncapsulationKey::new refuses the key")
            }

            fn encaps(&self, to: &Self::Public) -> Result<(Self::Ciphertext, Self::Shared), Failed> {
                Ok(to.encapsulate())
            }

            fn decaps(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<Self::Shared, Failed> {
                let ciphertext = ciphertext.try_into().map_err(|_| "the ciphertext has another length")?;
                Ok(with.decapsulate(ciphertext))
            }

            #[allow(deprecated)] // The crate prefers seeds; other libraries give away the expanded form only.
            fn import(&self, expanded: &[u8]) -> Option<Result<Self::Secret, Failed>> {
                let Ok(expanded) = expanded.try_into() else { return Some(Err("the secret key has the wrong length")) };
                Some(DecapsulationKey::from_expanded(expanded).map_err(|_| "from_expanded refuses the key"))
            }

            #[allow(deprecated)] // As above.
            fn export(&self, secret: &Self::Secret) -> Option<Vec<u8>> {
                use ::ml_kem::ExpandedKeyEncoding;
                Some(secret.to_expanded_bytes().to_vec())
            }

            fn secret(&self, key: &KeyPair) -> Result<Self::Secret, Failed> {
                Ok(DecapsulationKey::from_seed(Seed::from(key.coins)))
            }

            fn provenance(&self, op: Op) -> Provenance {
                provenance(op)
            }
        }
    )+};
}

level!(MlKem512, MlKem768, MlKem1024);

fn provenance(op: Op) -> Provenance {
    let keeps = match op {
        Op::Encaps => Some("the expanded matrix and the key's hash are kept with the parsed key"),
        Op::Decaps => Some("the expanded matrix is kept with the parsed key"),
        Op::Keygen | Op::Exchange => None,
    };
    let keeps = keeps.map(|told| (Habit::KeepsTables, told));
    let mut provenance = linked::provenance(PACKAGE, op.timed()).telling(op.by_system_call()).telling(keeps);
    provenance.arm = Some("portable (the crate has no other)".into());
    provenance.different_operation = match op {
        Op::Encaps => Some(
            "the parsed key already holds the expanded matrix and the key's hash, which libraries that \
                            keep bytes compute in the timed call; …/exchange has it inside for all"
                .into(),
        ),
        Op::Decaps => Some(
            "the parsed key already holds the expanded matrix, which libraries that keep bytes compute in \
                            the timed call; …/exchange has it inside for all"
                .into(),
        ),
        Op::Keygen | Op::Exchange => None,
    };
    provenance
}
