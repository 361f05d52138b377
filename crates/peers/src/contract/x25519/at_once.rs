//! Several operations in one call, by libraries that can.

use super::{Failed, Keygen, Op, PEERS, X25519};
use crate::contract::one_after_another::one_after_another;
use crate::seed::Stream;
use candor_lab::{Entry, Habit, Mismatch, Provenance, Refusal, Subject, Witness};
use std::hint::black_box;

/// How many operations a batch has.
pub const BATCH: usize = 8;

/// What is done at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Several {
    /// Two agreements.
    Pair,
    /// [`BATCH`] agreements or key pairs.
    Batch(Op),
}

impl Several {
    /// All of them, with the names of their tasks.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Pair, "ecdh-pair"), (Self::Batch(Op::Ecdh), "ecdh-batch8"), (Self::Batch(Op::Keygen), "keygen-batch8")];

    /// The operation.
    #[must_use]
    pub fn op(self) -> Op {
        match self {
            Self::Pair => Op::Ecdh,
            Self::Batch(op) => op,
        }
    }

    /// How many.
    #[must_use]
    pub fn count(self) -> usize {
        if self == Self::Pair { 2 } else { BATCH }
    }

    /// An entry for a single operation, which does as many, one after another.
    #[must_use]
    pub fn one_after_another(self, entry: Entry) -> Entry {
        one_after_another(entry, self.count())
    }
}

/// A private key, and the bytes of the public key that belongs to it.
pub type Pair<X> = (<X as X25519>::Secret, <X as X25519>::Encoded);

/// X25519 by a library that takes several operations in one call, each with its own key.
pub trait ManyX25519: X25519 {
    /// So many fresh key pairs, and the public keys' bytes.
    fn keygen_many(&self, count: usize) -> Result<Vec<Pair<Self>>, Failed>;
    /// The shared secret of each private key and the public key beside it. The function for two, if there are two.
    fn ecdh_many(&self, pairs: &[(&Self::Secret, &[u8; 32])]) -> Result<Vec<Self::Shared>, Failed>;
}

/// The entry of a library that does several at once. `make` opens the library, or says why it can't be had.
pub fn several_entry<X: ManyX25519>(
    subject: impl Into<String>,
    several: Several,
    make: impl Fn() -> Result<X, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || Ok(AtOnce { x25519: Keygen { x25519: make()?, seed: 0 }, several, ready: None }))
}

struct AtOnce<X: X25519> {
    x25519: Keygen<X>,
    several: Several,
    ready: Option<Ready<X>>,
}

/// The keys of a batch, public keys, and what the first key agrees on with each of those.
struct Ready<X: X25519> {
    secrets: Vec<X::Secret>,
    peers: Vec<[u8; 32]>,
    witness: Witness,
}

impl<X: ManyX25519> AtOnce<X> {
    /// The witness of the first key pair; each must be one.
    fn key_pairs(&self) -> Result<Witness, Refusal> {
        let mut first = None;
        for (secret, public) in self.x25519.x25519.keygen_many(BATCH).map_err(Refusal::failed)? {
            let witness = self.x25519.witness(secret, public)?;
            self.x25519.check_pair(&witness).map_err(|_| Refusal::failed(WRONG))?;
            first.get_or_insert(witness);
        }
        first.ok_or_else(|| Refusal::failed(WRONG))
    }

    /// What a single agreement would be asked for, so many at once; and each key with one public key must give what it gives alone.
    fn agreements(&self, secrets: &[X::Secret], peers: &[[u8; 32]]) -> Result<Witness, Refusal> {
        let x25519 = &self.x25519.x25519;
        let mut witness = Witness::default();
        for (group, some) in peers.chunks(self.several.count()).enumerate() {
            let pairs: Vec<_> = some.iter().map(|peer| (&secrets[0], peer)).collect();
            for (n, shared) in x25519.ecdh_many(&pairs).map_err(Refusal::failed)?.into_iter().enumerate() {
                witness = witness.with(&format!("shared secret {}", group * self.several.count() + n), shared);
            }
        }
        let pairs: Vec<_> = secrets.iter().zip(peers).collect();
        let found = x25519.ecdh_many(&pairs).map_err(Refusal::failed)?;
        for ((secret, peer), shared) in pairs.iter().zip(&found) {
            let alone = x25519.ecdh(secret, peer).map_err(Refusal::failed)?;
            if alone.as_ref() != shared.as_ref() {
                return Err(Refusal::failed(WRONG));
            }
        }
        if found.len() == pairs.len() { Ok(witness) } else { Err(Refusal::failed(WRONG)) }
    }
}

impl<X: ManyX25519> Subject for AtOnce<X> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.x25519.seed = seed;
        // The first key and the public keys are those of a single agreement.
        let mut stream = Stream::new(seed, "x25519 ecdh");
        let first = stream.array();
        let peers: Vec<[u8; 32]> = (0..PEERS).map(|_| stream.array()).collect();
        let mut others = Stream::new(seed, "x25519 ecdh at once");
        let scalars = std::iter::once(first).chain(std::iter::repeat_with(|| others.array()));
        let secrets = scalars.take(self.several.count()).map(|scalar| {
            let secret = self.x25519.x25519.import(&scalar);
            secret.ok_or_else(|| Refusal::never("can't import a private key"))?.map_err(Refusal::failed)
        });
        let secrets = secrets.collect::<Result<Vec<_>, _>>()?;
        let witness = match self.several.op() {
            Op::Keygen => self.key_pairs()?,
            Op::Ecdh => self.agreements(&secrets, &peers)?,
        };
        self.ready = Some(Ready { secrets, peers, witness: witness.clone() });
        Ok(witness)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        let ready = self.ready.as_ref().ok_or_else(|| Mismatch::new("was checked before it was prepared"))?;
        match self.several.op() {
            Op::Keygen => self.x25519.check_pair(other),
            Op::Ecdh => ready.witness.same_as(other),
        }
    }

    fn run(&mut self, iterations: u64) {
        let ready = self.ready.as_ref().expect("prepare comes before run");
        let pairs: Vec<_> = ready.secrets.iter().zip(&ready.peers).collect();
        for _ in 0..iterations {
            match self.several.op() {
                Op::Keygen => drop(black_box(self.x25519.x25519.keygen_many(BATCH).expect(WORKED))),
                Op::Ecdh => drop(black_box(self.x25519.x25519.ecdh_many(black_box(&pairs)).expect(WORKED))),
            }
        }
    }

    fn provenance(&self) -> Provenance {
        let provenance = self.x25519.x25519.provenance(self.several.op());
        let what = match self.several.op() {
            Op::Keygen => ", all randomness drawn at once",
            Op::Ecdh => ", each with its own key",
        };
        let timed = format!("{} as one batch in one call{what}: {}", self.several.count(), provenance.timed);
        Provenance { timed, ..provenance }.with([Habit::Batches])
    }
}

const WRONG: &str = "one of the results of a batch is wrong";
const WORKED: &str = "the batch has worked before";
