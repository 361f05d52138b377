//! Our ML-KEM: AWS-LC behind our trait (`candor@auto`), and our own on each arm that this machine has, the best one first.

use super::gf2::best_first;
use super::{AUTO, Secret32, on_aws_lc, ours};
use candor_cpu::Cpu;
use candor_lab::{Entry, Habit, Provenance};
use candor_peers::contract::ml_kem::{Failed, Level, ManyMlKem, MlKem, Op, batch_entry, entry};
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

/// Writes a function that makes an entry for each arm: the types of the three levels, and what makes the entry of one of them.
macro_rules! on_arms {
    ($($(#[$doc:meta])* $name:ident: $entry:ident, $suffix:literal, $arms:ident, $keeps:expr, [$l512:ident, $l768:ident, $l1024:ident];)+) => {
        $(
            $(#[$doc])*
            pub(crate) fn $name(level: Level, op: Op) -> Vec<Entry> {
                let own = |(arm, cpu)| {
                    let (name, source) = (format!("candor@{arm}{}", $suffix), Source::Own(arm, $keeps));
                    match level {
                        Level::L512 => {
                            $entry(name, level, op, move || Ok(Ours::<_, 800, 768>(ml_kem::$l512::with_cpu(cpu), source)))
                        }
                        Level::L768 => {
                            $entry(name, level, op, move || Ok(Ours::<_, 1184, 1088>(ml_kem::$l768::with_cpu(cpu), source)))
                        }
                        Level::L1024 => {
                            $entry(name, level, op, move || Ok(Ours::<_, 1568, 1568>(ml_kem::$l1024::with_cpu(cpu), source)))
                        }
                    }
                };
                $arms().into_iter().map(own).collect()
            }
        )+
    };
}

on_arms! {
    /// Our own, with keys as bytes.
    own: entry, "", arms, None, [MlKem512, MlKem768, MlKem1024];
    /// Our own, with prepared keys.
    prepared: entry, "", arms, Some(KEEPS), [PreparedMlKem512, PreparedMlKem768, PreparedMlKem1024];
    /// Several at once.
    at_once: batch_entry, "+batch", wide_arms, None, [MlKem512, MlKem768, MlKem1024];
    /// Several at once, with prepared keys.
    prepared_at_once: batch_entry, "+batch", wide_arms, Some(KEEPS), [PreparedMlKem512, PreparedMlKem768, PreparedMlKem1024];
}

/// What a prepared key keeps.
const KEEPS: (Habit, &str) =
    (Habit::KeepsTables, "the expanded matrix and the key's hash are kept with the parsed key");

fn arms() -> Vec<(&'static str, Cpu)> {
    best_first(|cpu| ml_kem::MlKem768::with_cpu(cpu).arm())
}

/// Those with batches that are more than one operation after another.
fn wide_arms() -> Vec<(&'static str, Cpu)> {
    arms().into_iter().filter(|(arm, _)| *arm != "portable").collect()
}

/// Whose code runs.
#[derive(Clone, Copy)]
enum Source {
    AwsLc,
    /// On this arm; and what a prepared key keeps.
    Own(&'static str, Option<(Habit, &'static str)>),
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
            Source::Own(arm, keeps) => {
                let told = ours(&format!("{timed} (through candor_primitives::kem::Kem, our own implementation)"));
                Provenance { arm: Some(arm.into()), ..told.telling(op.by_system_call()).telling(keeps) }
            }
        }
    }
}

impl<K: Kem + 'static, const P: usize, const C: usize> ManyMlKem for Ours<K, P, C> {
    fn keygen_many(&self, count: usize) -> Result<Vec<(Self::Secret, [u8; P])>, Failed> {
        let pairs = self.0.generate_many(count).map_err(|_| "candor's key generation failed")?;
        let encoded = pairs.into_iter().map(|(secret, public)| {
            let mut encoded = [0; P];
            self.0.public_to_bytes(&public, &mut encoded).map_err(|_| "candor's public key has the wrong length")?;
            Ok((secret, encoded))
        });
        encoded.collect()
    }

    fn encaps_many(&self, to: &[&Self::Public]) -> Result<Vec<([u8; C], Secret32)>, Failed> {
        let mut ciphertexts = vec![[0; C]; to.len()];
        let mut rooms: Vec<_> = ciphertexts.iter_mut().map(<[u8; C]>::as_mut_slice).collect();
        let shared = self.0.encapsulate_many(to, &mut rooms).map_err(|_| "candor's encapsulation failed")?;
        Ok(ciphertexts.into_iter().zip(shared.into_iter().map(Secret32)).collect())
    }

    fn decaps_many(&self, with: &[&Self::Secret], ciphertexts: &[&[u8]]) -> Result<Vec<Secret32>, Failed> {
        let shared = self.0.decapsulate_many(with, ciphertexts).map_err(|_| "candor's decapsulation failed")?;
        Ok(shared.into_iter().map(Secret32).collect())
    }
}
