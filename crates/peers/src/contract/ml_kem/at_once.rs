//! Several operations in one call, by libraries that can; by the others one after another.

use super::reference::{Encapsulation, decapsulate_with};
use super::subjects::{check_key_pair, decapsulate, key_pair_witness, same_secret};
use super::{Failed, KeyPair, Level, MlKem, Op};
use candor_lab::{Entry, Habit, Mismatch, Provenance, Refusal, Subject, Witness};
use std::hint::black_box;

/// How many operations a batch has.
pub const BATCH: usize = 8;

/// The operations that have such a task.
pub const AT_ONCE: [Op; 3] = [Op::Keygen, Op::Encaps, Op::Decaps];

/// A decapsulation key, and the bytes of the encapsulation key that belongs to it.
pub type Pair<K> = (<K as MlKem>::Secret, <K as MlKem>::Encoded);
/// A ciphertext and the secret that it carries.
pub type Sent<K> = (<K as MlKem>::Ciphertext, <K as MlKem>::Shared);

/// ML-KEM by a library that takes several operations in one call, each with its own key.
pub trait ManyMlKem: MlKem {
    /// So many fresh key pairs, and the public keys' bytes.
    fn keygen_many(&self, count: usize) -> Result<Vec<Pair<Self>>, Failed>;
    /// A fresh secret for each key, and the ciphertext that carries it.
    fn encaps_many(&self, to: &[&Self::Public]) -> Result<Vec<Sent<Self>>, Failed>;
    /// The secret that each ciphertext carries.
    fn decaps_many(&self, with: &[&Self::Secret], ciphertexts: &[&[u8]]) -> Result<Vec<Self::Shared>, Failed>;
}

/// The entry of a library that does [`BATCH`] operations at once. `make` opens the library, or says why it can't be had.
pub fn batch_entry<K: ManyMlKem>(
    subject: impl Into<String>,
    level: Level,
    op: Op,
    make: impl Fn() -> Result<K, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || Ok(AtOnce { kem: make()?, level, op, seed: 0, ready: None }))
}

/// An entry for a single operation, which does it [`BATCH`] times, one after another.
#[must_use]
pub fn one_after_another(entry: Entry) -> Entry {
    crate::contract::one_after_another::one_after_another(entry, BATCH)
}

struct AtOnce<K: MlKem> {
    kem: K,
    level: Level,
    op: Op,
    seed: u64,
    ready: Option<Ready<K>>,
}

/// The keys of a batch, a ciphertext to each, and what the first operation gave.
struct Ready<K: MlKem> {
    first: KeyPair,
    publics: Vec<K::Public>,
    secrets: Vec<K::Secret>,
    ciphertexts: Vec<Vec<u8>>,
    witness: Witness,
}

impl<K: ManyMlKem> AtOnce<K> {
    /// The witness of each key pair is that of a single one.
    fn key_pairs(&self, seed: u64) -> Result<Witness, Refusal> {
        let mut first = None;
        for (secret, public) in self.kem.keygen_many(BATCH).map_err(Refusal::failed)? {
            let witness = key_pair_witness(&self.kem, self.level, seed, &secret, public.as_ref())?;
            check_key_pair(&self.kem, self.level, seed, &witness).map_err(|_| Refusal::failed(WRONG))?;
            first.get_or_insert(witness);
        }
        first.ok_or_else(|| Refusal::failed(WRONG))
    }

    /// Every ciphertext must carry its secret, as the reference says.
    fn encapsulations(&self, keys: &[KeyPair], publics: &[K::Public]) -> Result<Witness, Refusal> {
        let made = self.kem.encaps_many(&publics.iter().collect::<Vec<_>>()).map_err(Refusal::failed)?;
        for (key, (ciphertext, shared)) in keys.iter().zip(&made) {
            let carried = decapsulate_with(self.level, &key.secret, ciphertext.as_ref()).map_err(Refusal::failed)?;
            expect(carried == shared.as_ref())?;
        }
        expect(made.len() == BATCH)?;
        let (ciphertext, shared) = &made[0];
        Ok(Witness::default().with("ciphertext", ciphertext).with("shared secret", shared))
    }

    /// All ciphertexts with the first key that a single decapsulation is given, and one with a bit wrong, in one call; and one with each key.
    fn decapsulations(
        &self,
        (first, made): (&K::Secret, &[Encapsulation]),
        (secrets, own): (&[K::Secret], &[Encapsulation]),
    ) -> Result<Witness, Refusal> {
        let mut damaged = made[0].ciphertext.clone();
        damaged[0] ^= 1;
        let mut ciphertexts: Vec<_> = made.iter().map(|made| made.ciphertext.as_slice()).collect();
        ciphertexts.push(&damaged);
        let found = self.kem.decaps_many(&vec![first; ciphertexts.len()], &ciphertexts).map_err(Refusal::failed)?;
        let mut witness = Witness::default();
        for (i, (made, shared)) in made.iter().zip(&found).enumerate() {
            expect(shared.as_ref() == made.shared)?;
            witness = witness.with(&format!("shared secret {i}"), shared);
        }
        expect(found.len() == ciphertexts.len())?;
        let ciphertexts: Vec<_> = own.iter().map(|made| made.ciphertext.as_slice()).collect();
        let each = self.kem.decaps_many(&secrets.iter().collect::<Vec<_>>(), &ciphertexts).map_err(Refusal::failed)?;
        expect(each.iter().map(AsRef::as_ref).eq(own.iter().map(|made| made.shared.as_slice())))?;
        Ok(witness.with("implicit rejection", &found[made.len()]))
    }
}

impl<K: ManyMlKem> Subject for AtOnce<K> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.seed = seed;
        let keys: Vec<_> = (0..BATCH as u64).map(|i| KeyPair::new(self.level, seed.wrapping_add(i))).collect();
        let publics: Result<Vec<_>, _> = keys.iter().map(|key| self.kem.public(&key.public)).collect();
        let secrets: Result<Vec<_>, _> = keys.iter().map(|key| self.kem.secret(key)).collect();
        let (publics, secrets) = (publics.map_err(Refusal::failed)?, secrets.map_err(Refusal::failed)?);
        let mut own: Vec<_> = keys.iter().map(|key| key.encapsulations(seed, 1).remove(0)).collect();
        let witness = match self.op {
            Op::Keygen => self.key_pairs(seed)?,
            Op::Encaps => self.encapsulations(&keys, &publics)?,
            Op::Decaps => {
                let made = keys[0].encapsulations(seed, super::subjects::CIPHERTEXTS);
                self.decapsulations((&secrets[0], &made), (&secrets, &own))?
            }
            Op::Exchange => return Err(Refusal::never("an exchange has no batch")),
        };
        let ciphertexts = own.drain(..).map(|made| made.ciphertext).collect();
        let first = keys.into_iter().next().ok_or_else(|| Refusal::failed(WRONG))?;
        self.ready = Some(Ready { first, publics, secrets, ciphertexts, witness: witness.clone() });
        Ok(witness)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        let ready = self.ready.as_ref().ok_or_else(|| Mismatch::new("was checked before it was prepared"))?;
        match self.op {
            Op::Keygen => check_key_pair(&self.kem, self.level, self.seed, other),
            Op::Encaps => {
                let ciphertext = other.part("ciphertext")?;
                let shared = decapsulate(&self.kem, self.level, &ready.first.secret, ciphertext)?;
                same_secret(&shared, other.part("shared secret")?)
            }
            _ => ready.witness.same_as(other),
        }
    }

    fn run(&mut self, iterations: u64) {
        let ready = self.ready.as_ref().expect("prepare comes before run");
        let to: Vec<_> = ready.publics.iter().collect();
        let with: Vec<_> = ready.secrets.iter().collect();
        let ciphertexts: Vec<_> = ready.ciphertexts.iter().map(Vec::as_slice).collect();
        for _ in 0..iterations {
            match self.op {
                Op::Keygen => drop(black_box(self.kem.keygen_many(BATCH).expect(WORKED))),
                Op::Encaps => drop(black_box(self.kem.encaps_many(black_box(&to)).expect(WORKED))),
                _ => drop(black_box(self.kem.decaps_many(black_box(&with), black_box(&ciphertexts)).expect(WORKED))),
            }
        }
    }

    fn provenance(&self) -> Provenance {
        let provenance = self.kem.provenance(self.op);
        let timed = format!(
            "{BATCH} as one batch in one call, each with its own key, all randomness drawn at once: {}",
            provenance.timed
        );
        Provenance { timed, ..provenance }.with([Habit::Batches])
    }
}

const WRONG: &str = "one of the results of a batch is wrong";
const WORKED: &str = "the batch has worked before";

fn expect(right: bool) -> Result<(), Refusal> {
    if right { Ok(()) } else { Err(Refusal::failed(WRONG)) }
}
