//! ECDSA (FIPS 186-5 §6) and ECDH (SP 800-56A §5.7.1.2) on P-256, P-384 and secp256k1.
//!
//! Keys are parsed, and contexts made, before the clock starts: of the secret key, and of the public key that verifies or agrees. What is
//! signed is a digest as long as the curve's order, the hash of a message of 32 bytes. Some libraries take messages alone; they get that
//! message and hash it in the timed call, which is one block of SHA-2 and less than a hundredth of the call. Their provenance says so.
//! Signatures are in DER, and secrets are x coordinates.

mod reference;
#[cfg(test)]
mod tests;

use super::in_turn::{ACCEPTED, INPUTS, Timed, Work, part, same};
use crate::seed::Stream;
use candor_lab::{Entry, Habit, Provenance, Refusal, Witness};
use sha2::{Digest, Sha256, Sha384};
use std::hint::black_box;

pub use super::in_turn::Failed;

/// A curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// P-256, also secp256r1 and prime256v1.
    P256,
    /// P-384, also secp384r1.
    P384,
    /// Bitcoin's.
    Secp256k1,
}

impl Curve {
    /// All of them, in the order of the tasks.
    pub const ALL: [Self; 3] = [Self::P256, Self::P384, Self::Secp256k1];

    /// As tasks are named.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::P256 => "p256",
            Self::P384 => "p384",
            Self::Secp256k1 => "secp256k1",
        }
    }

    /// As its standard writes it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::P384 => "P-384",
            Self::Secp256k1 => "secp256k1",
        }
    }

    /// Bytes of a coordinate, a secret key and a digest.
    #[must_use]
    pub fn bytes(self) -> usize {
        if self == Self::P384 { 48 } else { 32 }
    }

    /// The hash of the curve's length: SHA-256 or, for P-384, SHA-384.
    fn digest(self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::P384 => Sha384::digest(message).to_vec(),
            _ => Sha256::digest(message).to_vec(),
        }
    }
}

/// What is signed.
pub struct Input {
    /// The message, for libraries that hash.
    pub message: [u8; 32],
    /// Its digest, for all others: as many bytes as [`Curve::bytes`] says.
    pub digest: Vec<u8>,
}

/// At most 128 bytes, without an allocation: a signature, a public key, a secret.
pub struct Bytes {
    bytes: [u8; 128],
    length: usize,
}

impl Bytes {
    /// What `fill` writes; it says how many bytes that are.
    ///
    /// # Errors
    /// Those of `fill`.
    pub fn filled(fill: impl FnOnce(&mut [u8; 128]) -> Result<usize, Failed>) -> Result<Self, Failed> {
        let mut bytes = [0; 128];
        let length = fill(&mut bytes)?;
        Ok(Self { bytes, length })
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// ECDSA and ECDH on one curve by one library.
pub trait Ec: 'static {
    /// A fresh key pair, as key generation leaves it.
    type Pair;
    /// A public key's bytes as key generation gives them: SEC1, uncompressed.
    type Encoded: AsRef<[u8]>;
    /// A secret key, ready for signing and agreement.
    type Secret;
    /// A public key, ready for verification and agreement.
    type Public;
    /// A signature in DER.
    type Signature: AsRef<[u8]>;
    /// An x coordinate, the highest byte first.
    type Shared: AsRef<[u8]>;

    /// Whether secret keys agree once and can't be imported for it: [`ecdh`](Self::ecdh) fails then, and key pairs of others are judged by
    /// the reference.
    const AGREES_ONCE: bool = false;

    /// A fresh key pair, and the public key's bytes.
    fn keygen(&self) -> Result<(Self::Pair, Self::Encoded), Failed>;
    /// What a fresh key pair and `peer` share.
    fn ecdh_fresh(&self, pair: Self::Pair, peer: &Self::Public) -> Result<Self::Shared, Failed>;
    /// The secret key of these bytes, of which `public` is the public key in SEC1's form.
    fn secret(&self, secret: &[u8], public: &[u8]) -> Result<Self::Secret, Failed>;
    /// The public key of these bytes.
    fn public(&self, public: &[u8]) -> Result<Self::Public, Failed>;
    /// A signature.
    fn sign(&self, secret: &Self::Secret, input: &Input) -> Result<Self::Signature, Failed>;
    /// Whether the signature is of this input.
    fn verify(&self, public: &Self::Public, input: &Input, signature: &[u8]) -> Result<(), Failed>;
    /// The secret shared with `peer`.
    fn ecdh(&self, secret: &Self::Secret, peer: &Self::Public) -> Result<Self::Shared, Failed>;

    /// Where the library comes from and how it was built; what it does differently in `op`.
    fn provenance(&self, op: Op) -> Provenance;
}

/// The operation that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Key generation.
    Keygen,
    /// A signature.
    Sign,
    /// Its verification.
    Verify,
    /// Agreement.
    Ecdh,
}

impl Op {
    /// All of them, as tasks are named.
    pub const ALL: [(&'static str, Self); 4] =
        [("keygen", Self::Keygen), ("sign", Self::Sign), ("verify", Self::Verify), ("ecdh", Self::Ecdh)];

    /// What the timed call does, in a sentence without its stop.
    #[must_use]
    pub fn timed(self) -> &'static str {
        match self {
            Self::Keygen => {
                "makes a fresh key pair and the public key's bytes, with randomness from the library's own source"
            }
            Self::Sign => "signs a digest of the curve's length with a key that is ready, into DER; sixteen in turn",
            Self::Verify => {
                "verifies a signature in DER of a digest of the curve's length with a key that is ready; sixteen in turn"
            }
            Self::Ecdh => {
                "computes the x coordinate that a secret key and a peer's public key, both ready, have in common; \
                 sixteen peers in turn"
            }
        }
    }

    /// What a library tells that takes messages alone.
    #[must_use]
    pub fn hashing(self) -> Option<(Habit, &'static str)> {
        let hashes = (Habit::Hashes, "takes no digest, so it hashes 32 bytes in the timed call");
        matches!(self, Self::Sign | Self::Verify).then_some(hashes)
    }
}

/// The entry of a library for an operation. `make` opens the library, or says why it can't be had.
pub fn entry<E: Ec>(
    subject: impl Into<String>,
    curve: Curve,
    op: Op,
    make: impl Fn() -> Result<E, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || Ok(Timed::new(Task { ec: make()?, curve, op })))
}

/// One operation of one library.
struct Task<E: Ec> {
    ec: E,
    curve: Curve,
    op: Op,
}

/// Keys and inputs.
struct Ready<E: Ec> {
    secret: E::Secret,
    public: E::Public,
    /// Of the pair that the seed gives: the one that those two are of.
    pair: reference::Pair,
    inputs: Vec<Input>,
    /// By the reference, of the inputs.
    signatures: Vec<Vec<u8>>,
    peers: Vec<E::Public>,
}

impl<E: Ec> Work for Task<E> {
    type Ready = Ready<E>;

    fn ready(&self, seed: u64) -> Result<Ready<E>, Failed> {
        let mut stream = Stream::new(seed, self.curve.name());
        let pair = reference::Pair::new(self.curve, &mut stream);
        let message = |stream: &mut Stream| stream.array::<32>();
        let input = |message: [u8; 32]| Input { message, digest: self.curve.digest(&message) };
        let inputs: Vec<Input> = (0..INPUTS).map(|_| input(message(&mut stream))).collect();
        let signatures = inputs.iter().map(|input| pair.sign(&input.digest)).collect();
        let peer = |_| self.ec.public(&reference::Pair::new(self.curve, &mut stream).public);
        let peers: Result<Vec<_>, _> = (0..INPUTS).map(peer).collect();
        Ok(Ready {
            secret: self.ec.secret(&pair.secret, &pair.public)?,
            public: self.ec.public(&pair.public)?,
            pair,
            inputs,
            signatures,
            peers: peers?,
        })
    }

    fn witness(&self, ready: &Ready<E>) -> Result<Witness, Failed> {
        if self.op == Op::Keygen {
            // That the halves belong together is proved by an agreement with the pair that the seed gives.
            let (pair, public) = self.ec.keygen()?;
            let shared = self.ec.ecdh_fresh(pair, &ready.public)?;
            return Ok(Witness::default().with("public key", public).with("shared secret", shared));
        }
        (0..INPUTS).try_fold(Witness::default(), |witness, at| {
            let name = format!("answer {at}");
            Ok(match self.op {
                Op::Keygen => witness,
                Op::Sign => witness.with(&name, self.ec.sign(&ready.secret, &ready.inputs[at])?),
                Op::Verify => {
                    self.ec.verify(&ready.public, &ready.inputs[at], &ready.signatures[at])?;
                    let other = &ready.inputs[(at + 1) % INPUTS];
                    if self.ec.verify(&ready.public, other, &ready.signatures[at]).is_ok() {
                        return Err("accepts a signature of another digest");
                    }
                    witness.with(&name, ACCEPTED)
                }
                Op::Ecdh => witness.with(&name, self.ec.ecdh(&ready.secret, &ready.peers[at])?),
            })
        })
    }

    /// Judges another's answers with this library.
    fn judge(&self, ready: &Ready<E>, other: &Witness) -> Result<(), Failed> {
        if self.op == Op::Keygen {
            let (public, shared) = (part(other, "public key")?, part(other, "shared secret")?);
            if E::AGREES_ONCE {
                return same(&ready.pair.agree(public)?, shared);
            }
            return same(self.ec.ecdh(&ready.secret, &self.ec.public(public)?)?.as_ref(), shared);
        }
        for at in 0..INPUTS {
            let answer = part(other, &format!("answer {at}"))?;
            match self.op {
                Op::Keygen => {}
                Op::Sign => self.ec.verify(&ready.public, &ready.inputs[at], answer)?,
                Op::Verify => same(&ACCEPTED, answer)?,
                Op::Ecdh => same(self.ec.ecdh(&ready.secret, &ready.peers[at])?.as_ref(), answer)?,
            }
        }
        Ok(())
    }

    /// The operation that is timed.
    fn once(&self, ready: &Ready<E>, at: usize) -> Result<(), Failed> {
        let input = black_box(&ready.inputs[at]);
        match self.op {
            Op::Keygen => drop(black_box(self.ec.keygen()?)),
            Op::Sign => drop(black_box(self.ec.sign(&ready.secret, input)?)),
            Op::Verify => self.ec.verify(&ready.public, input, black_box(&ready.signatures[at]))?,
            Op::Ecdh => drop(black_box(self.ec.ecdh(&ready.secret, black_box(&ready.peers[at]))?)),
        }
        Ok(())
    }

    fn provenance(&self) -> Provenance {
        self.ec.provenance(self.op)
    }
}
