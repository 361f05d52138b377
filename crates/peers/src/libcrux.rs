//! `libcrux-ml-kem`: ML-KEM verified with hax and F*.
//!
//! The packed interface is measured, the one that starts from bytes; the crate also has an unpacked one, whose keys hold
//! the expanded matrix. It takes randomness from its caller: the operating system's here, as `getrandom` gives it.

#![cfg(feature = "peer-libcrux")]

use crate::contract::ml_kem::{self, Failed, Level, MlKem, Op};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use candor_lab::{Entry, Provenance};
use getrandom::SysRng;

const PACKAGE: &str = "libcrux-ml-kem";

/// What libcrux offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![peer()]
    }

    fn ml_kem(&self, level: Level, op: Op) -> Vec<Entry> {
        vec![ml_kem(level, op)]
    }
}

fn peer() -> Peer {
    linked_peer(
        PACKAGE,
        "ML-KEM by Cryspen, formally verified for panics, functional correctness and secret independence",
    )
}

fn ml_kem(level: Level, op: Op) -> Entry {
    let subject = linked::subject(PACKAGE);
    match level {
        Level::L512 => ml_kem::entry(subject, level, op, || Ok(Libcrux512)),
        Level::L768 => ml_kem::entry(subject, level, op, || Ok(Libcrux768)),
        Level::L1024 => ml_kem::entry(subject, level, op, || Ok(Libcrux1024)),
    }
}

/// The crate has a module per parameter set, with the same functions in each.
macro_rules! level {
    ($name:ident, $module:ident, $secret:ident, $public:ident, $ciphertext:ident) => {
        struct $name;

        impl MlKem for $name {
            type Secret = libcrux_ml_kem::$module::$secret;
            type Public = libcrux_ml_kem::$module::$public;
            type Encoded = libcrux_ml_kem::$module::$public;
            type Ciphertext = libcrux_ml_kem::$module::$ciphertext;
            type Shared = libcrux_ml_kem::MlKemSharedSecret;

            fn keygen(&self) -> Result<(Self::Secret, Self::Encoded), Failed> {
                let pair = libcrux_ml_kem::$module::rand::generate_key_pair(&mut SysRng);
                Ok(pair.map_err(|_| "no randomness")?.into_parts())
            }

            fn public(&self, encoded: &[u8]) -> Result<Self::Public, Failed> {
                let public = encoded.try_into().map_err(|_| "the public key has another length")?;
                let valid = libcrux_ml_kem::$module::validate_public_key(&public);
                valid.then_some(public).ok_or("validate_public_key refuses the key")
            }

            fn encaps(&self, to: &Self::Public) -> Result<(Self::Ciphertext, Self::Shared), Failed> {
                libcrux_ml_kem::$module::rand::encapsulate(to, &mut SysRng).map_err(|_| "no randomness")
            }

            fn decaps(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<Self::Shared, Failed> {
                let ciphertext = ciphertext.try_into().map_err(|_| "the ciphertext has another length")?;
                Ok(libcrux_ml_kem::$module::decapsulate(with, &ciphertext))
            }

            fn import(&self, expanded: &[u8]) -> Option<Result<Self::Secret, Failed>> {
                Some(expanded.try_into().map_err(|_| "the secret key has another length"))
            }

            fn export(&self, secret: &Self::Secret) -> Option<Vec<u8>> {
                Some(secret.as_slice().to_vec())
            }

            fn provenance(&self, op: Op) -> Provenance {
                provenance(op)
            }
        }
    };
}

level!(Libcrux512, mlkem512, MlKem512PrivateKey, MlKem512PublicKey, MlKem512Ciphertext);
level!(Libcrux768, mlkem768, MlKem768PrivateKey, MlKem768PublicKey, MlKem768Ciphertext);
level!(Libcrux1024, mlkem1024, MlKem1024PrivateKey, MlKem1024PublicKey, MlKem1024Ciphertext);

fn provenance(op: Op) -> Provenance {
    let timed = match op {
        Op::Keygen | Op::Encaps => op.timed().to_owned(),
        Op::Decaps => format!("{}; copies the ciphertext into the library's type", op.timed()),
        Op::Exchange => format!("{}; the public key is validated when parsed", op.timed()),
    };
    let mut provenance = linked::provenance(PACKAGE, timed).telling(op.by_system_call());
    provenance.arm = Some(arm().into());
    provenance
}

/// The arm by the crate's own rule (its `ind_cca/multiplexing.rs`): AVX2 where the CPU has it, NEON on all AArch64.
fn arm() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return "avx2";
    }
    if cfg!(target_arch = "aarch64") { "neon" } else { "portable" }
}
