//! The operations in ristretto255 that OPAQUE's key exchange is made of, from bytes to bytes.

use super::Failed;
use crate::seed::Stream;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};
use curve25519_dalek::{RistrettoPoint, Scalar};
use std::hint::black_box;

/// Public keys that a private key agrees with in turn.
const PEERS: usize = 16;

/// The operation that is timed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// A fresh key pair.
    KeyPair,
    /// One Diffie-Hellman.
    Dh,
    /// The client's three.
    TripleDh,
}

impl Op {
    /// All of them, in the order of the tasks.
    pub const ALL: [Self; 3] = [Self::KeyPair, Self::Dh, Self::TripleDh];

    /// As tasks are named.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::KeyPair => "keypair",
            Self::Dh => "dh",
            Self::TripleDh => "3dh",
        }
    }

    /// What the timed call does, in a sentence without its stop.
    pub fn timed(self) -> &'static str {
        match self {
            Self::KeyPair => "a fresh key pair, the public key encoded, with randomness from the library's own source",
            Self::Dh => {
                "one Diffie-Hellman with a private key that is parsed: a public key decoded, multiplied and encoded; sixteen \
                 public keys in turn"
            }
            Self::TripleDh => {
                "the client's three Diffie-Hellman secrets of 3DH (RFC 9807, 6.4.3): the server's key share and public key \
                 decoded, three products with two private keys that are parsed, all encoded"
            }
        }
    }
}

/// ristretto255 by one library.
pub trait Ristretto: 'static {
    /// A private key, parsed.
    type Secret;

    /// A fresh key pair.
    fn keypair(&self) -> Result<(Self::Secret, [u8; 32]), Failed>;
    /// A canonical scalar that is not zero, little-endian.
    fn secret(&self, bytes: &[u8; 32]) -> Result<Self::Secret, Failed>;
    /// The encoding of the product.
    fn dh(&self, secret: &Self::Secret, public: &[u8; 32]) -> Result<[u8; 32], Failed>;
    /// ephemeral · share, ephemeral · key, long-term · share.
    fn triple_dh(
        &self,
        [ephemeral, long_term]: [&Self::Secret; 2],
        [share, key]: [&[u8; 32]; 2],
    ) -> Result<[[u8; 32]; 3], Failed> {
        Ok([self.dh(ephemeral, share)?, self.dh(ephemeral, key)?, self.dh(long_term, share)?])
    }

    /// Where the library comes from, and what its call of the operation does.
    fn provenance(&self, op: Op) -> Provenance;
}

/// The entry of a library. `make` opens it, or says why it can't be had.
pub fn entry<R: Ristretto>(
    subject: impl Into<String>,
    op: Op,
    make: impl Fn() -> Result<R, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || {
        Ok(Work { op, group: make()?, seed: 0, ready: None, next: 0, witness: Witness::default() })
    })
}

struct Work<R: Ristretto> {
    op: Op,
    group: R,
    seed: u64,
    ready: Option<Ready<R>>,
    next: usize,
    witness: Witness,
}

/// Everything that stands before the clock starts.
struct Ready<R: Ristretto> {
    ephemeral: R::Secret,
    long_term: R::Secret,
    publics: Vec<[u8; 32]>,
}

/// A private key's bytes: a scalar below 2²⁵².
fn scalar(stream: &mut Stream) -> [u8; 32] {
    let mut bytes: [u8; 32] = stream.array();
    bytes[31] &= 0x0f;
    bytes
}

/// The public key of a private key, by dalek.
fn public(secret: &[u8; 32]) -> [u8; 32] {
    RistrettoPoint::mul_base(&Scalar::from_bytes_mod_order(*secret)).compress().to_bytes()
}

/// The key pair that fresh ones are tested against.
fn verifier(seed: u64) -> ([u8; 32], [u8; 32]) {
    let secret = scalar(&mut Stream::new(seed, "ristretto255 verifier"));
    (secret, public(&secret))
}

impl<R: Ristretto> Work<R> {
    fn make_ready(&self) -> Result<(Ready<R>, Witness), Failed> {
        let mut stream = Stream::new(self.seed, "ristretto255 keys");
        let ephemeral = self.group.secret(&scalar(&mut stream))?;
        let long_term = self.group.secret(&scalar(&mut stream))?;
        let publics: Vec<[u8; 32]> = (0..PEERS).map(|_| public(&scalar(&mut stream))).collect();
        let mut witness = Witness::default();
        match self.op {
            Op::KeyPair => {
                let (secret, public) = self.group.keypair()?;
                let shared = self.group.dh(&secret, &verifier(self.seed).1)?;
                witness = witness.with("public key", public).with("shared secret", shared);
            }
            Op::Dh => {
                for (i, public) in publics.iter().enumerate() {
                    let shared = self.group.dh(&ephemeral, public)?;
                    witness = witness.with(&format!("shared secret {i}"), shared);
                }
            }
            Op::TripleDh => {
                let all = self.group.triple_dh([&ephemeral, &long_term], [&publics[0], &publics[1]])?;
                for (name, shared) in ["dh1", "dh2", "dh3"].into_iter().zip(all) {
                    witness = witness.with(name, shared);
                }
            }
        }
        Ok((Ready { ephemeral, long_term, publics }, witness))
    }

    /// Whether another library's key pair is one.
    fn check_pair(&self, other: &Witness) -> Result<(), Mismatch> {
        let public = other.part("public key")?;
        let public = public.try_into().map_err(|_| Mismatch::new("the public key is not 32 bytes long"))?;
        let verifier = self.group.secret(&verifier(self.seed).0).map_err(Mismatch::new)?;
        let shared = self.group.dh(&verifier, public).map_err(Mismatch::new)?;
        match shared == other.part("shared secret")? {
            true => Ok(()),
            false => Err(Mismatch::new("the public key does not belong to the private key")),
        }
    }
}

impl<R: Ristretto> Subject for Work<R> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.seed = seed;
        let (ready, witness) = self.make_ready().map_err(Refusal::failed)?;
        self.ready = Some(ready);
        self.witness = witness.clone();
        Ok(witness)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        match self.op {
            Op::KeyPair => self.check_pair(other),
            Op::Dh | Op::TripleDh => self.witness.same_as(other),
        }
    }

    fn run(&mut self, iterations: u64) {
        const WORKED: &str = "it worked when it was prepared";
        let Ready { ephemeral, long_term, publics } = self.ready.as_ref().expect("prepared before it runs");
        for _ in 0..iterations {
            let at = self.next;
            self.next = (at + 1) % PEERS;
            match self.op {
                Op::KeyPair => {
                    black_box(self.group.keypair().expect(WORKED));
                }
                Op::Dh => {
                    black_box(self.group.dh(black_box(ephemeral), black_box(&publics[at])).expect(WORKED));
                }
                Op::TripleDh => {
                    let keys = black_box([&publics[at], &publics[self.next]]);
                    black_box(self.group.triple_dh(black_box([ephemeral, long_term]), keys).expect(WORKED));
                }
            }
        }
    }

    fn provenance(&self) -> Provenance {
        self.group.provenance(self.op)
    }
}
