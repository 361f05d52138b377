//! X25519, RFC 7748.
//!
//! Key generation ends with the public key's bytes. Agreement starts from an own private key that is already parsed and
//! from the peer's public key as the 32 bytes that came over the wire: parsing those is inside the clock for everyone,
//! since some libraries make an object of them and others do nothing.

mod at_once;
pub(super) mod reference;

pub use at_once::{BATCH, ManyX25519, Pair, Several, several_entry};

use crate::seed::Stream;
use candor_lab::{Entry, Inputs, Mismatch, Provenance, Refusal, Subject, Witness};
use std::hint::black_box;

/// What an operation of a library ends in when it fails.
pub type Failed = &'static str;

/// Distinct public keys that agreement works through in turn.
const PEERS: usize = 16;

/// X25519 by one library.
pub trait X25519: 'static {
    /// The private key, parsed.
    type Secret;
    /// A public key's bytes, as key generation gives them.
    type Encoded: AsRef<[u8]>;
    /// The shared secret in the library's own type.
    type Shared: AsRef<[u8]>;

    /// A fresh key pair, and the public key's bytes.
    fn keygen(&self) -> Result<(Self::Secret, Self::Encoded), Failed>;
    /// The shared secret of `secret` and the public key in `peer`.
    fn ecdh(&self, secret: &Self::Secret, peer: &[u8; 32]) -> Result<Self::Shared, Failed>;
    /// The same with a private key that is used up; only for libraries whose private keys serve once.
    fn ecdh_once(&self, secret: Self::Secret, peer: &[u8; 32]) -> Result<Self::Shared, Failed> {
        self.ecdh(&secret, peer)
    }
    /// Parses a private key. Nothing where the library has no such function.
    fn import(&self, bytes: &[u8; 32]) -> Option<Result<Self::Secret, Failed>>;

    /// Where the library comes from and how it was built; what it does differently in `op`.
    fn provenance(&self, op: Op) -> Provenance;
}

/// The operation that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Key generation.
    Keygen,
    /// Agreement.
    Ecdh,
}

impl Op {
    /// What the timed call does, in a sentence without its stop.
    pub fn timed(self) -> &'static str {
        match self {
            Self::Keygen => {
                "makes a fresh key pair and the public key's bytes, with randomness from the library's own source"
            }
            Self::Ecdh => {
                "computes the shared secret from a private key that is already parsed and the peer's public key as \
                 bytes; sixteen public keys in turn"
            }
        }
    }
}

/// The entry of a library for an operation. `make` opens the library, or says why it can't be had.
pub fn entry<X: X25519>(
    subject: impl Into<String>,
    op: Op,
    make: impl Fn() -> Result<X, Refusal> + Send + Sync + 'static,
) -> Entry {
    match op {
        Op::Keygen => Entry::new(subject, move || Ok(Keygen { x25519: make()?, seed: 0 })),
        Op::Ecdh => Entry::new(subject, move || Ok(Ecdh { x25519: make()?, key: None, next: 0 })),
    }
}

/// Key generation. Its witness is the public key and what it agrees on with a key pair derived from the seed: that proves
/// the pair without giving the private key away, which some libraries never do.
struct Keygen<X> {
    x25519: X,
    seed: u64,
}

impl<X: X25519> Keygen<X> {
    fn witness(&self, secret: X::Secret, public: X::Encoded) -> Result<Witness, Refusal> {
        let (_, verifier) = verifier(self.seed);
        let shared = self.x25519.ecdh_once(secret, &verifier).map_err(Refusal::failed)?;
        Ok(Witness::default().with("public key", public).with("shared secret", shared))
    }

    /// Whether the key pair of a witness is one.
    fn check_pair(&self, other: &Witness) -> Result<(), Mismatch> {
        let public = other.part("public key")?;
        let public = public.try_into().map_err(|_| Mismatch::new("the public key is not 32 bytes long"))?;
        let shared = other.part("shared secret")?;
        let (secret, _) = verifier(self.seed);
        let agree = |expected: &[u8]| match expected == shared {
            true => Ok(()),
            false => Err(Mismatch::new("the public key does not belong to the private key")),
        };
        match self.x25519.import(&secret) {
            Some(secret) => {
                let shared = secret.and_then(|secret| self.x25519.ecdh(&secret, public));
                agree(shared.map_err(Mismatch::new)?.as_ref())
            }
            // A library that can't import a private key can't do this with its own code; the reference does it.
            None => agree(&reference::ecdh(&secret, public).map_err(Mismatch::new)?),
        }
    }
}

impl<X: X25519> Subject for Keygen<X> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.seed = seed;
        let (secret, public) = self.x25519.keygen().map_err(Refusal::failed)?;
        self.witness(secret, public)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.check_pair(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            black_box(self.x25519.keygen().expect("key generation has worked before"));
        }
    }

    fn provenance(&self) -> Provenance {
        self.x25519.provenance(Op::Keygen)
    }
}

/// The private key and the public keys of a seed, for programs that agree.
#[must_use]
pub fn ecdh_inputs(seed: u64) -> Inputs {
    let (secret, peers) = ecdh_keys(seed);
    let peers = peers.iter().enumerate().map(|(i, peer)| (format!("public key {i}"), peer.to_vec()));
    std::iter::once(("private key".to_owned(), secret.to_vec())).chain(peers).collect()
}

/// A private key, and the public keys that it agrees with. Every string of 32 bytes is a public key (RFC 7748 §5). Half of them lie on the twist, which the
/// ladder does not notice.
fn ecdh_keys(seed: u64) -> ([u8; 32], Vec<[u8; 32]>) {
    let mut stream = Stream::new(seed, "x25519 ecdh");
    (stream.array(), (0..PEERS).map(|_| stream.array()).collect())
}

/// Agreement.
struct Ecdh<X: X25519> {
    x25519: X,
    key: Option<(X::Secret, Vec<[u8; 32]>, Witness)>,
    next: usize,
}

impl<X: X25519> Subject for Ecdh<X> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let (secret, peers) = ecdh_keys(seed);
        let secret = self.x25519.import(&secret);
        let secret = secret.ok_or_else(|| Refusal::never("can't import a private key"))?;
        let secret = secret.map_err(Refusal::failed)?;
        let mut witness = Witness::default();
        for (i, peer) in peers.iter().enumerate() {
            let shared = self.x25519.ecdh(&secret, peer).map_err(Refusal::failed)?;
            witness = witness.with(&format!("shared secret {i}"), shared);
        }
        self.key = Some((secret, peers, witness.clone()));
        Ok(witness)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        let (.., ours) = self.key.as_ref().ok_or_else(|| Mismatch::new("was checked before it was prepared"))?;
        ours.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        let (secret, peers, _) = self.key.as_ref().expect("prepare comes before run");
        for _ in 0..iterations {
            let peer = black_box(&peers[self.next]);
            black_box(self.x25519.ecdh(black_box(secret), peer).expect("agreement has worked before"));
            self.next = (self.next + 1) % PEERS;
        }
    }

    fn provenance(&self) -> Provenance {
        self.x25519.provenance(Op::Ecdh)
    }
}

/// The key pair that fresh keys are tested against.
fn verifier(seed: u64) -> ([u8; 32], [u8; 32]) {
    let secret = Stream::new(seed, "x25519 verifier").array();
    (secret, reference::public(&secret))
}
