//! KEMs whose randomness is given: HQC and Classic McEliece.
//!
//! Every library is given the same randomness and must answer with the same bytes. What is not equal: some libraries keep keys as bytes and
//! expand them in each call, others expand them when they parse. The provenance of those says so (`different_operation`), and `…/exchange`,
//! which starts from bytes, is the row that compares them fairly.

use super::BY_SYSTEM_CALL;
use crate::seed::Stream;
use candor_lab::{Entry, Habit, Mismatch, Provenance, Quantity, Refusal, Subject, Witness};
use std::hint::black_box;

/// What an operation of a library ends in when it fails.
pub type Failed = &'static str;

/// The operation of a KEM that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Key generation.
    Keygen,
    /// Encapsulation.
    Encaps,
    /// Decapsulation.
    Decaps,
    /// All three, from bytes to bytes.
    Exchange,
}

impl Op {
    /// All of them, in the order of the tasks.
    pub const ALL: [Self; 4] = [Self::Keygen, Self::Encaps, Self::Decaps, Self::Exchange];

    /// As tasks are named.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Keygen => "keygen",
            Self::Encaps => "encaps",
            Self::Decaps => "decaps",
            Self::Exchange => "exchange",
        }
    }

    /// What the timed call does, in a sentence without its stop, where each library draws its own randomness.
    #[must_use]
    pub fn timed(self) -> &'static str {
        match self {
            Self::Keygen => {
                "makes a fresh key pair and the public key's bytes, with randomness from the library's own source"
            }
            Self::Encaps => {
                "encapsulates to a public key that is already parsed, with randomness from the library's own source; \
                 ends with ciphertext and secret"
            }
            Self::Decaps => {
                "decapsulates bytes with a secret key that is already parsed; sixteen valid ciphertexts in turn"
            }
            Self::Exchange => {
                "a whole exchange, which others call a full round: a fresh key pair to public bytes; those bytes parsed and \
                 encapsulated to; the ciphertext decapsulated"
            }
        }
    }

    /// What a library tells of it that asks the system for randomness in each call.
    #[must_use]
    pub fn by_system_call(self) -> Option<(Habit, &'static str)> {
        (self != Self::Decaps).then_some(BY_SYSTEM_CALL)
    }

    /// [`timed`](Self::timed) where randomness is given.
    #[must_use]
    pub fn timed_seeded(self) -> &'static str {
        match self {
            Self::Keygen => "makes the key pair of a given seed and the public key's bytes",
            Self::Encaps => {
                "encapsulates with given randomness to a public key that is already parsed; ends with ciphertext and secret"
            }
            Self::Decaps => self.timed(),
            Self::Exchange => {
                "a whole exchange from given randomness: a key pair to public bytes; those bytes parsed and encapsulated to; \
                 the ciphertext decapsulated"
            }
        }
    }
}

/// A KEM by one library, at one parameter set, on given randomness.
pub trait SeededKem: 'static {
    /// The decapsulation key, parsed.
    type Secret;
    /// The encapsulation key, parsed.
    type Public;
    /// Bytes of an encapsulation key or of a ciphertext, in the library's own type.
    type Bytes: AsRef<[u8]>;

    /// The specification, where it is an older one than the task's. Such a library's answers are compared with those of its own kind only, and
    /// its provenance says how the work differs.
    fn older_specification(&self) -> Option<&'static str> {
        None
    }
    /// The key pair of a seed, and the public key's bytes.
    fn keygen(&self, seed: &[u8; 32]) -> Result<(Self::Secret, Self::Bytes), Failed>;
    /// A decapsulation key made ready for many ciphertexts, where the library has a form for that. It is never timed.
    fn prepared(&self, secret: Self::Secret) -> Self::Secret {
        secret
    }
    /// The bytes of a decapsulation key.
    fn export(&self, secret: &Self::Secret) -> Vec<u8>;
    /// Parses a public key.
    fn public(&self, encoded: &[u8]) -> Result<Self::Public, Failed>;
    /// The ciphertext and the shared secret that follow from `coins`, of which there are as many as [`entry`] was told.
    fn encaps(&self, to: &Self::Public, coins: &[u8]) -> Result<(Self::Bytes, [u8; 32]), Failed>;
    /// The secret that a ciphertext, as it came over the wire, carries.
    fn decaps(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<[u8; 32], Failed>;
    /// Where the library comes from and how it was built; what it does differently in `op`.
    fn provenance(&self, op: Op) -> Provenance;
}

/// Distinct ciphertexts that decapsulation works through in turn, so that no branch predictor learns one by heart.
const INPUTS: usize = 16;

/// The part of a witness that names an older specification.
pub const SPECIFICATION: &str = "specification";

/// The entry of a library for an operation; an encapsulation draws `coins` bytes. `make` opens the library, or says why it can't be had.
pub fn entry<K: SeededKem>(
    subject: impl Into<String>,
    op: Op,
    coins: usize,
    make: impl Fn() -> Result<K, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || Ok(Operation { kem: make()?, coins, op, ready: None }))
}

struct Operation<K: SeededKem> {
    kem: K,
    /// Bytes of randomness of an encapsulation.
    coins: usize,
    op: Op,
    ready: Option<Ready<K>>,
}

/// What the operations work on, and what they have answered.
struct Ready<K: SeededKem> {
    seed: [u8; 32],
    secret: K::Secret,
    public: K::Public,
    coins: Vec<Vec<u8>>,
    ciphertexts: Vec<K::Bytes>,
    answer: Witness,
    sizes: Vec<Quantity>,
    next: usize,
}

impl<K: SeededKem> Operation<K> {
    fn make_ready(&self, seed: u64) -> Result<Ready<K>, Failed> {
        let seed_of_key = Stream::new(seed, "key pair").array();
        let (secret, encoded) = self.kem.keygen(&seed_of_key)?;
        let public = self.kem.public(encoded.as_ref())?;
        let mut answer = Witness::default().with("public key", &encoded).with("secret key", self.kem.export(&secret));
        let secret = self.kem.prepared(secret);
        if let Some(older) = self.kem.older_specification() {
            answer = answer.with(SPECIFICATION, older);
        }
        let mut stream = Stream::new(seed, "encapsulations");
        let (mut all_coins, mut ciphertexts) = (Vec::new(), Vec::new());
        for i in 0..INPUTS {
            let mut coins = vec![0; self.coins];
            stream.fill(&mut coins);
            let (ciphertext, shared) = self.kem.encaps(&public, &coins)?;
            if self.kem.decaps(&secret, ciphertext.as_ref())? != shared {
                return Err("gives the two sides of one exchange different secrets");
            }
            answer = answer.with(&format!("ciphertext {i}"), &ciphertext).with(&format!("shared secret {i}"), shared);
            all_coins.push(coins);
            ciphertexts.push(ciphertext);
        }
        // A ciphertext with one bit wrong: what comes then is as determined as any other secret. HQC's releases of round 4 differ in it, and in nothing else.
        let mut damaged = ciphertexts[0].as_ref().to_vec();
        damaged[0] ^= 1;
        let rejected = self.kem.decaps(&secret, &damaged)?;
        if self.kem.older_specification().is_none() {
            answer = answer.with("implicit rejection", rejected);
        }
        let sizes = [("public key", encoded.as_ref()), ("ciphertext", ciphertexts[0].as_ref())]
            .map(|(name, bytes)| Quantity::bytes(name, bytes));
        Ok(Ready {
            seed: seed_of_key,
            secret,
            public,
            coins: all_coins,
            ciphertexts,
            answer,
            sizes: sizes.into(),
            next: 0,
        })
    }

    fn exchange(kem: &K, ready: &Ready<K>) -> Result<(), Failed> {
        let (secret, encoded) = kem.keygen(black_box(&ready.seed))?;
        let public = kem.public(black_box(encoded.as_ref()))?;
        let (ciphertext, shared) = kem.encaps(&public, black_box(&ready.coins[ready.next]))?;
        black_box(shared);
        black_box(kem.decaps(&secret, black_box(ciphertext.as_ref()))?);
        Ok(())
    }
}

impl<K: SeededKem> Subject for Operation<K> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let ready = self.make_ready(seed).map_err(Refusal::failed)?;
        let answer = ready.answer.clone();
        self.ready = Some(ready);
        Ok(answer)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        let ours = &self.ready.as_ref().ok_or_else(not_prepared)?.answer;
        let theirs = other.part(SPECIFICATION).ok();
        match theirs == self.kem.older_specification().map(str::as_bytes) {
            true => ours.same_as(other),
            false => Ok(()),
        }
    }

    fn run(&mut self, iterations: u64) {
        let Self { kem, op, ready, .. } = self;
        let ready = ready.as_mut().expect("prepare comes before run");
        for _ in 0..iterations {
            match op {
                Op::Keygen => drop(black_box(kem.keygen(black_box(&ready.seed)).expect("it has worked before"))),
                Op::Encaps => {
                    let coins = black_box(&ready.coins[ready.next]);
                    drop(black_box(kem.encaps(black_box(&ready.public), coins).expect("it has worked before")));
                }
                Op::Decaps => {
                    let ciphertext = black_box(ready.ciphertexts[ready.next].as_ref());
                    black_box(kem.decaps(black_box(&ready.secret), ciphertext).expect("it has worked before"));
                }
                Op::Exchange => Self::exchange(kem, ready).expect("it has worked before"),
            }
            ready.next = (ready.next + 1) % INPUTS;
        }
    }

    fn quantities(&self) -> Vec<Quantity> {
        self.ready.as_ref().map(|ready| ready.sizes.clone()).unwrap_or_default()
    }

    fn provenance(&self) -> Provenance {
        self.kem.provenance(self.op)
    }
}

pub(super) fn not_prepared() -> Mismatch {
    Mismatch::new("was checked before it was prepared")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A KEM whose every answer is the byte that it was made with.
    struct Constant(u8, Option<&'static str>);

    impl SeededKem for Constant {
        type Secret = ();
        type Public = ();
        type Bytes = [u8; 1];

        fn older_specification(&self) -> Option<&'static str> {
            self.1
        }
        fn keygen(&self, _: &[u8; 32]) -> Result<((), [u8; 1]), Failed> {
            Ok(((), [self.0]))
        }
        fn export(&self, _: &()) -> Vec<u8> {
            Vec::new()
        }
        fn public(&self, _: &[u8]) -> Result<(), Failed> {
            Ok(())
        }
        fn encaps(&self, _: &(), _: &[u8]) -> Result<([u8; 1], [u8; 32]), Failed> {
            Ok(([self.0], [self.0; 32]))
        }
        fn decaps(&self, _: &(), _: &[u8]) -> Result<[u8; 32], Failed> {
            Ok([self.0; 32])
        }
        fn provenance(&self, _: Op) -> Provenance {
            Provenance::default()
        }
    }

    #[test]
    fn answers_are_compared_within_one_specification_only() {
        let made = |byte, older| {
            let mut subject = Operation { kem: Constant(byte, older), coins: 8, op: Op::Decaps, ready: None };
            let answer = subject.prepare(7).unwrap();
            (subject, answer)
        };
        let (mut today, answer_today) = made(1, None);
        let (mut older, answer_older) = made(2, Some("round 4"));
        assert!(today.check(&answer_today).is_ok());
        assert!(today.check(&made(3, None).1).is_err());
        assert!(today.check(&answer_older).is_ok() && older.check(&answer_today).is_ok());
        assert!(older.check(&answer_older).is_ok());
        assert!(older.check(&made(3, Some("round 4")).1).is_err());
    }
}
