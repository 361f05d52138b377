//! Our Classic McEliece: each arm that this machine has, the best one first.

use super::gf2::best_first;
use super::ours;
use candor_codes::mceliece::{Mceliece, Mceliece348864, ParameterSet, Public, Secret};
use candor_lab::{Entry, Habit, Provenance};
use candor_peers::contract::kem::{self, Failed, Op, SeededKem};
use candor_peers::contract::mceliece::{self, COINS, DECODE, Decoder, Set};
use candor_primitives::kem::{DerandomizedKem, Kem};

/// `$made` of the set `$set`, whose type is `$S`, on the CPU `$cpu`.
macro_rules! of {
    ($set:expr, |$S:ident| $made:expr) => {
        match $set {
            Set::S348864 => of!($S = Set348864, $made),
            Set::S348864f => of!($S = Set348864f, $made),
            Set::S460896 => of!($S = Set460896, $made),
            Set::S460896f => of!($S = Set460896f, $made),
            Set::S6688128 => of!($S = Set6688128, $made),
            Set::S6688128f => of!($S = Set6688128f, $made),
            Set::S6960119 => of!($S = Set6960119, $made),
            Set::S6960119f => of!($S = Set6960119f, $made),
            Set::S8192128 => of!($S = Set8192128, $made),
            Set::S8192128f => of!($S = Set8192128f, $made),
        }
    };
    ($S:ident = $type:ident, $made:expr) => {{
        type $S = candor_codes::mceliece::$type;
        $made
    }};
}
pub(super) use of;

/// The entries for an operation.
pub(crate) fn entries(set: Set, op: Op) -> Vec<Entry> {
    let entry = |(arm, cpu)| {
        let name = format!("candor@{arm}");
        of!(set, |S| kem::entry(name, op, COINS, move || Ok(Ours(Mceliece::<S>::with_cpu(cpu)))))
    };
    let from_bytes = |(arm, cpu)| {
        let name = format!("candor@{arm}+from-bytes");
        of!(set, |S| kem::entry(name, op, COINS, move || Ok(FromBytes(Ours(Mceliece::<S>::with_cpu(cpu))))))
    };
    let arms = best_first(|cpu| Mceliece348864::with_cpu(cpu).arm());
    let mut entries: Vec<Entry> = arms.iter().copied().map(entry).collect();
    if op == Op::Decaps {
        // Other libraries' vector code is what these stand beside.
        let vectors = arms.iter().filter(|(arm, _)| *arm != "portable" || arms.len() == 1);
        entries.extend(vectors.copied().map(from_bytes));
    }
    entries
}

/// The entries for decoding alone.
pub(crate) fn decoders(set: Set) -> Vec<Entry> {
    let entry = |(arm, cpu)| {
        let name = format!("candor@{arm}");
        of!(set, |S| mceliece::decode(name, set, move || Ok(Ours(Mceliece::<S>::with_cpu(cpu)))))
    };
    best_first(|cpu| Mceliece348864::with_cpu(cpu).arm()).into_iter().map(entry).collect()
}

struct Ours<S>(Mceliece<S>);

impl<S: ParameterSet> SeededKem for Ours<S> {
    type Secret = Secret<S>;
    type Public = Public<S>;
    type Bytes = Vec<u8>;

    fn keygen(&self, seed: &[u8; 32]) -> Result<(Secret<S>, Vec<u8>), Failed> {
        let (secret, public) = self.0.generate_from(seed).map_err(|_| "candor's key generation failed")?;
        let mut encoded = vec![0; Mceliece::<S>::PUBLIC];
        self.0.public_to_bytes(&public, &mut encoded).map_err(|_| "candor's public key has the wrong length")?;
        Ok((secret, encoded))
    }

    fn export(&self, secret: &Secret<S>) -> Vec<u8> {
        self.0.secret_to_bytes(secret).map(|bytes| bytes.to_vec()).unwrap_or_default()
    }

    fn public(&self, encoded: &[u8]) -> Result<Public<S>, Failed> {
        self.0.public_from_bytes(encoded).map_err(|_| "candor refuses the public key")
    }

    fn encaps(&self, to: &Public<S>, coins: &[u8]) -> Result<(Vec<u8>, [u8; 32]), Failed> {
        let mut ciphertext = vec![0; Mceliece::<S>::CIPHERTEXT];
        let shared = self.0.encapsulate_with(&mut mceliece::stream(coins), to, &mut ciphertext);
        Ok((ciphertext, *shared.map_err(|_| "candor's encapsulation failed")?.as_bytes()))
    }

    fn decaps(&self, with: &Secret<S>, ciphertext: &[u8]) -> Result<[u8; 32], Failed> {
        let shared = self.0.decapsulate(with, ciphertext).map_err(|_| "candor's decapsulation failed")?;
        Ok(*shared.as_bytes())
    }

    fn provenance(&self, op: Op) -> Provenance {
        let different = match op {
            Op::Keygen => Some(
                "what decoding computes from a secret key once, and a copy of the public key: libraries that keep bytes do the first in each \
                 decapsulation",
            ),
            Op::Decaps => Some(
                "the parsed key already holds what decoding computes from it once, which libraries that keep bytes compute in the timed call",
            ),
            Op::Encaps | Op::Exchange => None,
        };
        let told = ours(&format!("{} (through candor_primitives::kem::DerandomizedKem)", op.timed_seeded()));
        Provenance {
            arm: Some(self.0.arm().into()),
            different_operation: different.map(str::to_owned),
            ..told.telling((op == Op::Decaps).then_some(KEEPS))
        }
    }
}

/// The same with keys that stay bytes, as other libraries have them: each decapsulation computes from them what decoding needs.
struct FromBytes<S>(Ours<S>);

impl<S: ParameterSet> SeededKem for FromBytes<S> {
    type Secret = Vec<u8>;
    type Public = Public<S>;
    type Bytes = Vec<u8>;

    fn keygen(&self, seed: &[u8; 32]) -> Result<(Vec<u8>, Vec<u8>), Failed> {
        let (secret, public) = self.0.keygen(seed)?;
        Ok((self.0.export(&secret), public))
    }

    fn export(&self, secret: &Vec<u8>) -> Vec<u8> {
        secret.clone()
    }

    fn public(&self, encoded: &[u8]) -> Result<Public<S>, Failed> {
        self.0.public(encoded)
    }

    fn encaps(&self, to: &Public<S>, coins: &[u8]) -> Result<(Vec<u8>, [u8; 32]), Failed> {
        self.0.encaps(to, coins)
    }

    fn decaps(&self, with: &Vec<u8>, ciphertext: &[u8]) -> Result<[u8; 32], Failed> {
        let secret = self.0.0.secret_from_trusted_bytes(with).map_err(|_| "candor refuses the secret key's length")?;
        self.0.decaps(&secret, ciphertext)
    }

    fn provenance(&self, _: Op) -> Provenance {
        let timed =
            "reads a secret key from bytes that it trusts, and decapsulates with it; sixteen valid ciphertexts in turn";
        Provenance { arm: Some(self.0.0.arm().into()), ..ours(timed) }
    }
}

/// What a parsed key keeps.
const KEEPS: (Habit, &str) = (Habit::KeepsTables, "what decoding computes from it once is kept with the parsed key");

impl<S: ParameterSet> Decoder for Ours<S> {
    fn decode(&self, with: &Secret<S>, ciphertext: &[u8], error: &mut [u8]) -> bool {
        self.0.decode(with, ciphertext, error).is_ok_and(bool::from)
    }

    fn decode_provenance(&self) -> Provenance {
        Provenance {
            arm: Some(self.0.arm().into()),
            different_operation: Some("the parsed key already holds what decoding computes from it once".into()),
            ..ours(DECODE).telling([KEEPS])
        }
    }
}
