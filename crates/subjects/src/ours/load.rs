//! Stored secret keys of code-based KEMs, read: by the function that makes the key again from its seed and compares, and of Classic McEliece by the one that trusts its storage.

use super::gf2::best_first;
use super::mceliece::of;
use super::ours;
use candor_codes::hqc::{self, Hqc, Hqc1};
use candor_codes::mceliece::{Mceliece, Mceliece348864};
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};
use candor_peers::contract::hqc::Level;
use candor_peers::contract::mceliece::Set;
use candor_peers::seed::Stream;
use candor_primitives::kem::{DerandomizedKem, Kem, KemError};
use std::hint::black_box;

/// What the timed call does.
pub(crate) const TIMED: &str = "reads a stored secret key and makes it ready for decapsulations";

const CHECKED: &str =
    "all of the key that its seed gives, but for the public matrix of Classic McEliece, is made again and compared";
const TRUSTED: &str = "nothing but the length is checked";

/// Reads a key.
type Read<K> = fn(&K, &[u8]) -> Result<<K as Kem>::Secret, KemError>;

/// HQC on each arm.
pub(crate) fn hqc(level: Level) -> Vec<Entry> {
    fn of_level<L: hqc::Level>() -> Vec<Entry> {
        let arms = best_first(|cpu| Hqc1::with_cpu(cpu).product_arm()).into_iter();
        let read: Read<Hqc<L>> = |kem, bytes| kem.secret_from_bytes(bytes);
        arms.map(|(arm, cpu)| entry(format!("candor@{arm}"), arm, CHECKED, Hqc::<L>::with_cpu(cpu), read)).collect()
    }
    match level {
        Level::L1 => of_level::<hqc::Level1>(),
        Level::L3 => of_level::<hqc::Level3>(),
        Level::L5 => of_level::<hqc::Level5>(),
    }
}

/// Classic McEliece on each arm, of the small set; of the others on the default one alone, since portable code makes large keys for seconds before anything is timed.
/// The default one from storage that is trusted, too.
pub(crate) fn mceliece(set: Set) -> Vec<Entry> {
    of!(set, |S| {
        let arms = best_first(|cpu| Mceliece348864::with_cpu(cpu).arm());
        let (checked, trusted): (Read<Mceliece<S>>, Read<Mceliece<S>>) =
            (|kem, bytes| kem.secret_from_bytes(bytes), |kem, bytes| kem.secret_from_trusted_bytes(bytes));
        let most = if matches!(set, Set::S348864f) { arms.len() } else { 1 };
        let each = arms[..most].iter().map(|(arm, cpu)| (format!("candor@{arm}"), *arm, *cpu, CHECKED, checked));
        let best = (format!("candor@{}+trusted", arms[0].0), arms[0].0, arms[0].1, TRUSTED, trusted);
        let all = each.chain([best]);
        all.map(|(name, arm, cpu, checks, read)| entry(name, arm, checks, Mceliece::with_cpu(cpu), read)).collect()
    })
}

fn entry<K: DerandomizedKem + Clone + Send + Sync + 'static>(
    name: String,
    arm: &'static str,
    checks: &'static str,
    kem: K,
    read: Read<K>,
) -> Entry {
    Entry::new(name, move || Ok(Load { kem: kem.clone(), arm, checks, read, ready: None }))
}

struct Load<K: DerandomizedKem> {
    kem: K,
    arm: &'static str,
    checks: &'static str,
    read: Read<K>,
    ready: Option<Ready>,
}

/// A key's bytes, and what the key that is read from them gives.
struct Ready {
    bytes: Vec<u8>,
    answer: Witness,
}

impl<K: DerandomizedKem> Load<K> {
    /// What the key gives are the same bytes, and the secret in a ciphertext.
    fn make_ready(&self, seed: u64) -> Result<Ready, KemError> {
        let mut stream = Stream::new(seed, "a stored key");
        let (mut seed, mut coins) = (vec![0; K::GENERATE_COINS], vec![0; K::ENCAPSULATE_COINS]);
        stream.fill(&mut seed);
        stream.fill(&mut coins);
        let (secret, public) = self.kem.generate_from(&seed)?;
        let bytes = self.kem.secret_to_bytes(&secret)?.to_vec();
        let mut ciphertext = vec![0; K::CIPHERTEXT];
        self.kem.encapsulate_from(&public, &coins, &mut ciphertext)?;
        let read = (self.read)(&self.kem, &bytes)?;
        let shared = self.kem.decapsulate(&read, &ciphertext)?;
        let again = self.kem.secret_to_bytes(&read)?;
        let answer = Witness::default().with("secret key", &*again).with("shared secret", shared.as_bytes());
        Ok(Ready { bytes, answer })
    }
}

impl<K: DerandomizedKem + 'static> Subject for Load<K> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let ready = self.make_ready(seed).map_err(|error| Refusal::failed(error.to_string()))?;
        let answer = ready.answer.clone();
        self.ready = Some(ready);
        Ok(answer)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.ready.as_ref().expect("prepare comes before check").answer.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        let bytes = &self.ready.as_ref().expect("prepare comes before run").bytes;
        for _ in 0..iterations {
            let key = (self.read)(&self.kem, black_box(bytes));
            drop(black_box(key.expect("it has worked before")));
        }
    }

    fn provenance(&self) -> Provenance {
        let different = (self.checks == TRUSTED).then(|| TRUSTED.to_owned());
        Provenance {
            arm: Some(self.arm.into()),
            different_operation: different,
            ..ours(&format!("{TIMED}: {}", self.checks))
        }
    }
}
