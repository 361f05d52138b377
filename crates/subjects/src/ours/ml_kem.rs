//! Our ML-KEM: by AWS-LC, the default, and our own on each arm that this machine has, the best one first.

use super::gf2::best_first;
use super::{AUTO, Secret32, on_aws_lc, ours};
use candor_cpu::Cpu;
use candor_lab::{Entry, Provenance};
use candor_peers::contract::ml_kem::{Failed, Level, MlKem, Op, entry};
use candor_peers::linked;
use candor_primitives::kem::{self, Kem, ml_kem};

/// By the back end AWS-LC.
pub(crate) fn by_aws_lc(level: Level, op: Op) -> Entry {
    match level {
        Level::L512 => entry(AUTO, level, op, || Ok(Ours::<_, 800, 768>(kem::aws_lc::MlKem512, Source::AwsLc))),
        Level::L768 => entry(AUTO, level, op, || Ok(Ours::<_, 1184, 1088>(kem::aws_lc::MlKem768, Source::AwsLc))),
        Level::L1024 => entry(AUTO, level, op, || Ok(Ours::<_, 1568, 1568>(kem::aws_lc::MlKem1024, Source::AwsLc))),
    }
}

/// Our own, with keys as bytes.
pub(crate) fn own(level: Level, op: Op) -> Vec<Entry> {
    let own = |(arm, cpu)| {
        let (name, source) = (format!("candor@{arm}"), Source::Own(arm));
        match level {
            Level::L512 => {
                entry(name, level, op, move || Ok(Ours::<_, 800, 768>(ml_kem::MlKem512::with_cpu(cpu), source)))
            }
            Level::L768 => {
                entry(name, level, op, move || Ok(Ours::<_, 1184, 1088>(ml_kem::MlKem768::with_cpu(cpu), source)))
            }
            Level::L1024 => {
                entry(name, level, op, move || Ok(Ours::<_, 1568, 1568>(ml_kem::MlKem1024::with_cpu(cpu), source)))
            }
        }
    };
    arms().into_iter().map(own).collect()
}

/// Our own, with prepared keys.
pub(crate) fn prepared(level: Level, op: Op) -> Vec<Entry> {
    use ml_kem::{PreparedMlKem512, PreparedMlKem768, PreparedMlKem1024};
    let own = |(arm, cpu)| {
        let (name, source) = (format!("candor@{arm}"), Source::Own(arm));
        match level {
            Level::L512 => {
                entry(name, level, op, move || Ok(Ours::<_, 800, 768>(PreparedMlKem512::with_cpu(cpu), source)))
            }
            Level::L768 => {
                entry(name, level, op, move || Ok(Ours::<_, 1184, 1088>(PreparedMlKem768::with_cpu(cpu), source)))
            }
            Level::L1024 => {
                entry(name, level, op, move || Ok(Ours::<_, 1568, 1568>(PreparedMlKem1024::with_cpu(cpu), source)))
            }
        }
    };
    arms().into_iter().map(own).collect()
}

fn arms() -> Vec<(&'static str, Cpu)> {
    best_first(|cpu| ml_kem::MlKem768::with_cpu(cpu).arm())
}

/// Whose code runs.
#[derive(Clone, Copy)]
enum Source {
    AwsLc,
    Own(&'static str),
}

/// A [`Kem`] whose public keys and ciphertexts have `P` and `C` bytes. The lengths are parameters so that the caller's buffers can live on the
/// stack, as a user's would.
struct Ours<K, const P: usize, const C: usize>(K, Source);

impl<K: Kem + 'static, const P: usize, const C: usize> MlKem for Ours<K, P, C> {
    type Secret = K::Secret;
    type Public = K::Public;
    type Encoded = [u8; P];
    type Ciphertext = [u8; C];
    type Shared = Secret32;

    fn keygen(&self) -> Result<(Self::Secret, [u8; P]), Failed> {
        let (secret, public) = self.0.generate().map_err(|_| "candor's key generation failed")?;
        let mut encoded = [0; P];
        self.0.public_to_bytes(&public, &mut encoded).map_err(|_| "candor's public key has the wrong length")?;
        Ok((secret, encoded))
    }

    fn public(&self, encoded: &[u8]) -> Result<Self::Public, Failed> {
        self.0.public_from_bytes(encoded).map_err(|_| "candor refuses the public key")
    }

    fn encaps(&self, to: &Self::Public) -> Result<([u8; C], Secret32), Failed> {
        let mut ciphertext = [0; C];
        let shared = self.0.encapsulate(to, &mut ciphertext).map_err(|_| "candor's encapsulation failed")?;
        Ok((ciphertext, Secret32(shared)))
    }

    fn decaps(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<Secret32, Failed> {
        self.0.decapsulate(with, ciphertext).map(Secret32).map_err(|_| "candor's decapsulation failed")
    }

    fn import(&self, expanded: &[u8]) -> Option<Result<Self::Secret, Failed>> {
        Some(self.0.secret_from_bytes(expanded).map_err(|_| "candor refuses the secret key"))
    }

    fn export(&self, secret: &Self::Secret) -> Option<Vec<u8>> {
        self.0.secret_to_bytes(secret).ok().map(|bytes| bytes.to_vec())
    }

    fn provenance(&self, op: Op) -> Provenance {
        let timed = match op {
            Op::Exchange => format!("{}; parsing checks the public key (FIPS 203 §7.2)", op.timed()),
            _ => op.timed().to_owned(),
        };
        match self.1 {
            Source::AwsLc => Provenance {
                arm: Some(linked::aws_lc_ml_kem_arm().into()),
                ..on_aws_lc("candor_primitives::kem::Kem", &timed)
            },
            Source::Own(arm) => Provenance {
                arm: Some(arm.into()),
                ..ours(&format!(
                    "{timed} (through candor_primitives::kem::Kem, our own implementation); randomness by a system call"
                ))
            },
        }
    }
}
