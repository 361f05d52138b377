//! SM2, GB/T 32918.
//!
//! Keys are parsed, and contexts made, before the clock starts. What is signed is the digest e = SM3(Z ‖ M) itself, since all libraries hash
//! alike and the hash has tasks of its own. Signatures are in DER and ciphertexts in the ASN.1 form of GM/T 0009, as OpenSSL has both.

mod reference;

use super::BY_SYSTEM_CALL;
use super::in_turn::{ACCEPTED, INPUTS, Timed, Work, part, same};
use crate::seed::Stream;
use candor_lab::{Entry, Habit, Provenance, Refusal, Witness};
use std::hint::black_box;

pub use super::in_turn::Failed;

/// A public key in SEC1's form, uncompressed.
pub type Public = [u8; 65];

/// Bytes of a message that is encrypted: a key.
const MESSAGE: usize = 32;

/// SM2 by one library.
pub trait Sm2: 'static {
    /// A key pair, ready for signing and decryption.
    type Secret;
    /// A public key, ready for verification and encryption.
    type Public;

    /// A fresh key pair, and the public key's bytes.
    fn keygen(&self) -> Result<(Self::Secret, Public), Failed>;
    /// The key pair of these bytes.
    fn secret(&self, secret: &[u8; 32], public: &Public) -> Result<Self::Secret, Failed>;
    /// The public key of these bytes.
    fn public(&self, public: &Public) -> Result<Self::Public, Failed>;
    /// A signature of this digest.
    fn sign(&self, secret: &Self::Secret, digest: &[u8; 32]) -> Result<Vec<u8>, Failed>;
    /// Whether the signature is of this digest.
    fn verify(&self, public: &Self::Public, digest: &[u8; 32], signature: &[u8]) -> Result<(), Failed>;
    /// A ciphertext.
    fn encrypt(&self, public: &Self::Public, message: &[u8]) -> Result<Vec<u8>, Failed>;
    /// The message in a ciphertext.
    fn decrypt(&self, secret: &Self::Secret, ciphertext: &[u8]) -> Result<Vec<u8>, Failed>;

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
    /// Encryption.
    Encrypt,
    /// Decryption.
    Decrypt,
}

impl Op {
    /// All of them, as tasks are named.
    pub const ALL: [(&'static str, Self); 5] = [
        ("keygen", Self::Keygen),
        ("sign", Self::Sign),
        ("verify", Self::Verify),
        ("encrypt", Self::Encrypt),
        ("decrypt", Self::Decrypt),
    ];

    /// What the timed call does, in a sentence without its stop.
    #[must_use]
    pub fn timed(self) -> &'static str {
        match self {
            Self::Keygen => {
                "makes a fresh key pair and the public key's bytes, with randomness from the library's own source"
            }
            Self::Sign => "signs a digest of 32 bytes with a key that is ready, into DER; sixteen digests in turn",
            Self::Verify => "verifies a signature in DER of a digest of 32 bytes; sixteen of one key in turn",
            Self::Encrypt => "encrypts 32 bytes to a public key that is ready, into ASN.1; sixteen messages in turn",
            Self::Decrypt => "decrypts 32 bytes from ASN.1 with a key that is ready; sixteen ciphertexts in turn",
        }
    }

    /// What a library tells of it that asks the system for randomness in each call.
    #[must_use]
    pub fn by_system_call(self) -> Option<(Habit, &'static str)> {
        matches!(self, Self::Keygen | Self::Sign | Self::Encrypt).then_some(BY_SYSTEM_CALL)
    }
}

/// The entry of a library for an operation. `make` opens the library, or says why it can't be had.
pub fn entry<S: Sm2>(
    subject: impl Into<String>,
    op: Op,
    make: impl Fn() -> Result<S, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || Ok(Timed::new(Task { sm2: make()?, op })))
}

/// One operation of one library.
struct Task<S: Sm2> {
    sm2: S,
    op: Op,
}

/// Keys and inputs.
struct Ready<S: Sm2> {
    secret: S::Secret,
    public: S::Public,
    /// Of the pair that the seed gives: what others' answers are judged with.
    pair: reference::Pair,
    /// Digests, messages or ciphertexts.
    inputs: Vec<Vec<u8>>,
    digests: Vec<[u8; 32]>,
}

impl<S: Sm2> Work for Task<S> {
    type Ready = Ready<S>;

    fn ready(&self, seed: u64) -> Result<Ready<S>, Failed> {
        let mut stream = Stream::new(seed, "sm2");
        let pair = reference::Pair::new(stream.array());
        let digests: Vec<[u8; 32]> = (0..INPUTS).map(|_| stream.array()).collect();
        let mut input = |digest: &[u8; 32]| match self.op {
            Op::Verify => pair.sign(digest),
            Op::Decrypt => pair.encrypt(&stream.array::<MESSAGE>(), &mut stream),
            _ => stream.array::<MESSAGE>().to_vec(),
        };
        let inputs = digests.iter().map(&mut input).collect();
        let (secret, public) = (self.sm2.secret(&pair.secret, &pair.public)?, self.sm2.public(&pair.public)?);
        Ok(Ready { secret, public, pair, inputs, digests })
    }

    fn witness(&self, ready: &Ready<S>) -> Result<Witness, Failed> {
        if self.op == Op::Keygen {
            // That the halves belong together is proved by a signature.
            let (secret, public) = self.sm2.keygen()?;
            let signature = self.sm2.sign(&secret, &ready.digests[0])?;
            return Ok(Witness::default().with("public key", public).with("signature", signature));
        }
        if self.op == Op::Verify {
            let mut wrong = ready.digests[0];
            wrong[0] ^= 1;
            if self.sm2.verify(&ready.public, &wrong, &ready.inputs[0]).is_ok() {
                return Err("accepts a signature of another digest");
            }
        }
        (0..INPUTS).try_fold(Witness::default(), |witness, at| {
            let mut answer = self.answer(ready, at)?;
            if self.op == Op::Verify {
                answer = ACCEPTED.to_vec();
            }
            Ok(witness.with(&format!("answer {at}"), answer))
        })
    }

    /// Judges another's answers with this library.
    fn judge(&self, ready: &Ready<S>, other: &Witness) -> Result<(), Failed> {
        if self.op == Op::Keygen {
            let public = part(other, "public key")?.try_into().map_err(|_| "no public key of 65 bytes")?;
            let public = self.sm2.public(public)?;
            return self.sm2.verify(&public, &ready.digests[0], part(other, "signature")?);
        }
        for (at, input) in ready.inputs.iter().enumerate() {
            let answer = part(other, &format!("answer {at}"))?;
            match self.op {
                Op::Keygen => {}
                Op::Sign => self.sm2.verify(&ready.public, &ready.digests[at], answer)?,
                Op::Verify => same(&ACCEPTED, answer)?,
                Op::Encrypt => same(input, &self.sm2.decrypt(&ready.secret, answer)?)?,
                Op::Decrypt => same(&ready.pair.decrypt(input)?, answer)?,
            }
        }
        Ok(())
    }

    fn once(&self, ready: &Ready<S>, at: usize) -> Result<(), Failed> {
        black_box(self.answer(ready, at)?);
        Ok(())
    }

    fn provenance(&self) -> Provenance {
        self.sm2.provenance(self.op)
    }
}

impl<S: Sm2> Task<S> {
    /// What one operation gives.
    fn answer(&self, ready: &Ready<S>, at: usize) -> Result<Vec<u8>, Failed> {
        let (digest, input) = (black_box(&ready.digests[at]), black_box(&ready.inputs[at]));
        match self.op {
            Op::Keygen => Ok(self.sm2.keygen()?.1.to_vec()),
            Op::Sign => self.sm2.sign(&ready.secret, digest),
            Op::Verify => self.sm2.verify(&ready.public, digest, input).map(|()| Vec::new()),
            Op::Encrypt => self.sm2.encrypt(&ready.public, input),
            Op::Decrypt => self.sm2.decrypt(&ready.secret, input),
        }
    }
}
