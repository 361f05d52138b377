//! Our HQC: each combination of arms that this machine has, the best one first.

use super::gf2::best_first;
use super::ours;
use candor_codes::hqc::{self as codes, Hqc1, Level1, Level3, Level5};
use candor_cpu::Cpu;
use candor_lab::{Entry, Habit, Provenance};
use candor_peers::contract::hqc::{self, Code, DECODE, Level};
use candor_peers::contract::kem::{self, Failed, Op, SeededKem};
use candor_primitives::kem::{DerandomizedKem, Kem};

/// The entries for an operation. Arms are named after that of the products, which the others follow: below `clmul` nothing else has one.
pub(crate) fn entries(level: Level, op: Op) -> Vec<Entry> {
    let entry = |(arm, cpu)| {
        let (name, coins) = (format!("candor@{arm}"), level.coins());
        match level {
            Level::L1 => kem::entry(name, op, coins, move || Ok(Ours(codes::Hqc::<Level1>::with_cpu(cpu)))),
            Level::L3 => kem::entry(name, op, coins, move || Ok(Ours(codes::Hqc::<Level3>::with_cpu(cpu)))),
            Level::L5 => kem::entry(name, op, coins, move || Ok(Ours(codes::Hqc::<Level5>::with_cpu(cpu)))),
        }
    };
    best_first(|cpu| Hqc1::with_cpu(cpu).product_arm()).into_iter().map(entry).collect()
}

/// The entries for decoding, which has arms of its own.
pub(crate) fn decoders(level: Level) -> Vec<Entry> {
    let entry = |(arm, cpu): (&'static str, Cpu)| {
        hqc::decode(format!("candor@{arm}"), level, move || {
            let code = match level {
                Level::L1 => codes::Hqc::<Level1>::with_cpu(cpu).code(),
                Level::L3 => codes::Hqc::<Level3>::with_cpu(cpu).code(),
                Level::L5 => codes::Hqc::<Level5>::with_cpu(cpu).code(),
            };
            Ok(OurCode { code, arm })
        })
    };
    best_first(|cpu| Hqc1::with_cpu(cpu).arm()).into_iter().map(entry).collect()
}

struct Ours<L>(codes::Hqc<L>);

impl<L: codes::Level> SeededKem for Ours<L> {
    type Secret = codes::Secret<L>;
    type Public = codes::Public<L>;
    type Bytes = Vec<u8>;

    fn keygen(&self, seed: &[u8; 32]) -> Result<(Self::Secret, Vec<u8>), Failed> {
        let (secret, public) = self.0.generate_from(seed).map_err(|_| "candor's key generation failed")?;
        let mut encoded = vec![0; codes::Hqc::<L>::PUBLIC];
        self.0.public_to_bytes(&public, &mut encoded).map_err(|_| "candor's public key has the wrong length")?;
        Ok((secret, encoded))
    }

    fn export(&self, secret: &Self::Secret) -> Vec<u8> {
        self.0.secret_to_bytes(secret).map(|bytes| bytes.to_vec()).unwrap_or_default()
    }

    fn public(&self, encoded: &[u8]) -> Result<Self::Public, Failed> {
        self.0.public_from_bytes(encoded).map_err(|_| "candor refuses the public key")
    }

    fn encaps(&self, to: &Self::Public, coins: &[u8]) -> Result<(Vec<u8>, [u8; 32]), Failed> {
        let mut ciphertext = vec![0; codes::Hqc::<L>::CIPHERTEXT];
        let shared =
            self.0.encapsulate_from(to, coins, &mut ciphertext).map_err(|_| "candor's encapsulation failed")?;
        Ok((ciphertext, *shared.as_bytes()))
    }

    fn decaps(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<[u8; 32], Failed> {
        let shared = self.0.decapsulate(with, ciphertext).map_err(|_| "candor's decapsulation failed")?;
        Ok(*shared.as_bytes())
    }

    fn provenance(&self, op: Op) -> Provenance {
        let different = match op {
            Op::Encaps => {
                Some("h and s, which libraries that keep bytes compute in the timed call, and the key's hash")
            }
            Op::Decaps => Some("h, s, y and the key's hash, which libraries that keep bytes compute in the timed call"),
            Op::Keygen | Op::Exchange => None,
        };
        let keeps =
            (Habit::KeepsTables, "what is computed from a seed or from the whole key is kept with the parsed key");
        let told = ours(&format!("{} (through candor_primitives::kem::DerandomizedKem)", op.timed_seeded()));
        Provenance {
            arm: Some(format!("products {}, codes and samplers {}", self.0.product_arm(), self.0.arm())),
            different_operation: different
                .map(|what| format!("the parsed key already holds {what}; …/exchange has that inside for all")),
            ..told.telling(different.map(|_| keeps))
        }
    }
}

struct OurCode {
    code: codes::Code,
    arm: &'static str,
}

impl Code for OurCode {
    fn words(&self) -> usize {
        self.code.words()
    }

    fn encode(&self, message: &[u8], word: &mut [u64]) {
        self.code.encode(message, word);
    }

    fn decode(&self, word: &[u64], message: &mut [u8]) {
        self.code.decode(word, message);
    }

    fn provenance(&self) -> Provenance {
        Provenance { arm: Some(self.arm.into()), ..ours(DECODE) }
    }
}
