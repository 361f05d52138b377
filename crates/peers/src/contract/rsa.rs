//! RSA with e = 65537 (FIPS 186-5, RFC 8017): PSS and OAEP, both with SHA-256, MGF1 with SHA-256, a salt of 32 bytes and no label, and key generation.
//!
//! Keys are parsed, and contexts made, before the clock starts. They are those of `contract/rsa`, the same in every run: to make one takes too long for each
//! process, and the work does not depend on it. What is signed is the hash of a message of 32 bytes, what is encrypted that message. Some libraries take messages alone; they hash in the
//! timed call, which is a thousandth of a signature and a hundredth of a verification. Their provenance says so.
//!
//! Key generation takes a time that differs from key to key by a factor. So an operation is several keys, and what is compared are sums (METHOD.md). The
//! witness is one key, whose primes must be primes.

mod reference;
#[cfg(test)]
mod tests;

use super::in_turn::{ACCEPTED, INPUTS, Timed, Work, part, same};
use crate::seed::Stream;
use candor_lab::{Entry, Habit, Provenance, Refusal, Witness};
use sha2::{Digest, Sha256};
use std::hint::black_box;

pub use super::in_turn::Failed;

/// How long the modulus is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// 2,048 bits.
    Bits2048,
    /// 3,072 bits.
    Bits3072,
    /// 4,096 bits.
    Bits4096,
}

impl Size {
    /// All of them, in the order of the tasks.
    pub const ALL: [Self; 3] = [Self::Bits2048, Self::Bits3072, Self::Bits4096];

    /// Bits.
    #[must_use]
    pub fn bits(self) -> usize {
        match self {
            Self::Bits2048 => 2048,
            Self::Bits3072 => 3072,
            Self::Bits4096 => 4096,
        }
    }

    /// Keys that an operation of key generation makes: fewer of the long ones, which take longer.
    #[must_use]
    pub fn keys(self) -> usize {
        match self {
            Self::Bits2048 => 8,
            Self::Bits3072 => 4,
            Self::Bits4096 => 2,
        }
    }

    /// Rounds of Miller and Rabin's test that FIPS 186-5 asks for (table B.1).
    #[must_use]
    pub fn rounds(self) -> usize {
        if self == Self::Bits2048 { 5 } else { 4 }
    }

    /// The key of the tasks, as PKCS#8.
    fn key(self) -> &'static [u8] {
        match self {
            Self::Bits2048 => include_bytes!("rsa/2048.pkcs8"),
            Self::Bits3072 => include_bytes!("rsa/3072.pkcs8"),
            Self::Bits4096 => include_bytes!("rsa/4096.pkcs8"),
        }
    }
}

/// A key as libraries read it.
pub struct KeyFiles {
    /// The secret key as PKCS#8.
    pub pkcs8: Vec<u8>,
    /// The public key as SubjectPublicKeyInfo.
    pub spki: Vec<u8>,
    /// The same as PKCS#1.
    pub pkcs1: Vec<u8>,
}

/// What is signed or encrypted.
pub struct Input {
    /// The message.
    pub message: [u8; 32],
    /// Its digest by SHA-256.
    pub digest: [u8; 32],
}

/// RSA by one library, with keys of one size.
pub trait Rsa: 'static {
    /// A fresh key pair, as key generation leaves it.
    type Pair;
    /// A secret key, ready for what is timed.
    type Secret;
    /// A public key, ready for what is timed.
    type Public;

    /// A fresh key pair.
    fn keygen(&self) -> Result<Self::Pair, Failed>;
    /// Its secret key as PKCS#8 or PKCS#1: by it the pair is checked.
    fn export(&self, pair: Self::Pair) -> Result<Vec<u8>, Failed>;
    /// The secret key of a file.
    fn secret(&self, files: &KeyFiles) -> Result<Self::Secret, Failed>;
    /// The public key of a file.
    fn public(&self, files: &KeyFiles) -> Result<Self::Public, Failed>;
    /// A signature.
    fn sign(&self, secret: &Self::Secret, input: &Input) -> Result<Vec<u8>, Failed>;
    /// Whether the signature is of this input.
    fn verify(&self, public: &Self::Public, input: &Input, signature: &[u8]) -> Result<(), Failed>;
    /// The message, encrypted.
    fn encrypt(&self, public: &Self::Public, input: &Input) -> Result<Vec<u8>, Failed>;
    /// The message of a ciphertext.
    fn decrypt(&self, secret: &Self::Secret, sealed: &[u8]) -> Result<Vec<u8>, Failed>;

    /// Where the library comes from and how it was built; what it does differently in `op`.
    fn provenance(&self, op: Op) -> Provenance;
}

/// The operation that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Key generation.
    Keygen,
    /// Encryption.
    Encrypt,
    /// Decryption.
    Decrypt,
    /// A signature.
    Sign,
    /// Its verification.
    Verify,
}

impl Op {
    /// All of them, as tasks are named.
    pub const ALL: [(&'static str, Self); 5] = [
        ("keygen", Self::Keygen),
        ("oaep-encrypt", Self::Encrypt),
        ("oaep-decrypt", Self::Decrypt),
        ("pss-sign", Self::Sign),
        ("pss-verify", Self::Verify),
    ];

    /// What the timed call does, in a sentence without its stop.
    #[must_use]
    pub fn timed(self, size: Size) -> String {
        let words = match self {
            Self::Keygen => {
                let keys = size.keys();
                return format!(
                    "makes {keys} fresh key pairs with e = 65537, a call for each, with randomness from the library's own source"
                );
            }
            Self::Encrypt => "encrypts 32 bytes by OAEP with SHA-256, with a key that is ready; sixteen in turn",
            Self::Decrypt => "decrypts 32 bytes by OAEP with SHA-256, with a key that is ready; sixteen in turn",
            Self::Sign => {
                "signs a digest by PSS with SHA-256 and 32 bytes of salt, with a key that is ready; sixteen in turn"
            }
            Self::Verify => {
                "verifies a signature of a digest by PSS with SHA-256 and 32 bytes of salt, with a key that is ready; sixteen \
                 in turn"
            }
        };
        words.to_owned()
    }

    /// What is told of a library that blinds with a pair that it keeps: how it comes to the next one.
    #[must_use]
    pub fn blinding(self, how: &str) -> Option<(Habit, &str)> {
        matches!(self, Self::Sign | Self::Decrypt).then_some((Habit::Blinds, how))
    }

    /// What a library does besides that takes messages alone.
    #[must_use]
    pub fn hashing(self) -> Option<(Habit, &'static str)> {
        let hashes = (Habit::Hashes, "takes no digest, so it hashes 32 bytes in the timed call");
        matches!(self, Self::Sign | Self::Verify).then_some(hashes)
    }
}

/// The entry of a library for an operation. `make` opens the library, or says why it can't be had.
pub fn entry<R: Rsa>(
    subject: impl Into<String>,
    size: Size,
    op: Op,
    make: impl Fn() -> Result<R, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || Ok(Timed::new(Task { rsa: make()?, size, op })))
}

/// One operation of one library.
struct Task<R: Rsa> {
    rsa: R,
    size: Size,
    op: Op,
}

/// Keys and inputs.
struct Ready<R: Rsa> {
    secret: R::Secret,
    public: R::Public,
    inputs: Vec<Input>,
    /// By the reference, of the inputs.
    signatures: Vec<Vec<u8>>,
    /// Likewise.
    sealed: Vec<Vec<u8>>,
}

impl<R: Rsa> Work for Task<R> {
    type Ready = Ready<R>;

    fn ready(&self, seed: u64) -> Result<Ready<R>, Failed> {
        let mut stream = Stream::new(seed, "rsa");
        let key = reference::Key::read(self.size.key())?;
        let files = key.files();
        let input = |message: [u8; 32]| Input { message, digest: Sha256::digest(message).into() };
        let inputs: Vec<Input> = (0..INPUTS).map(|_| input(stream.array())).collect();
        let needs = |op| if self.op == op { &inputs[..] } else { &[] };
        let signatures = needs(Op::Verify).iter().map(|input| key.sign(&input.digest));
        let sealed = needs(Op::Decrypt).iter().map(|input| key.encrypt(&input.message));
        Ok(Ready {
            secret: self.rsa.secret(&files)?,
            public: self.rsa.public(&files)?,
            signatures: signatures.collect::<Result<_, _>>()?,
            sealed: sealed.collect::<Result<_, _>>()?,
            inputs,
        })
    }

    fn witness(&self, ready: &Ready<R>) -> Result<Witness, Failed> {
        if self.op == Op::Keygen {
            return Ok(Witness::default().with("secret key", self.rsa.export(self.rsa.keygen()?)?));
        }
        (0..INPUTS).try_fold(Witness::default(), |witness, at| {
            let (name, input) = (format!("answer {at}"), &ready.inputs[at]);
            Ok(match self.op {
                Op::Keygen => witness,
                Op::Sign => witness.with(&name, self.rsa.sign(&ready.secret, input)?),
                Op::Encrypt => witness.with(&name, self.rsa.encrypt(&ready.public, input)?),
                Op::Decrypt => witness.with(&name, self.rsa.decrypt(&ready.secret, &ready.sealed[at])?),
                Op::Verify => {
                    self.rsa.verify(&ready.public, input, &ready.signatures[at])?;
                    let other = &ready.inputs[(at + 1) % INPUTS];
                    if self.rsa.verify(&ready.public, other, &ready.signatures[at]).is_ok() {
                        return Err("accepts a signature of another digest");
                    }
                    witness.with(&name, ACCEPTED)
                }
            })
        })
    }

    /// Judges another's answers: fresh keys and ciphertexts by the reference, since not every library decrypts; the rest with this library.
    fn judge(&self, ready: &Ready<R>, other: &Witness) -> Result<(), Failed> {
        if self.op == Op::Keygen {
            return reference::Key::read(part(other, "secret key")?)?.check(self.size);
        }
        let key = reference::Key::read(self.size.key())?;
        for at in 0..INPUTS {
            let (answer, input) = (part(other, &format!("answer {at}"))?, &ready.inputs[at]);
            match self.op {
                Op::Keygen => {}
                Op::Sign => self.rsa.verify(&ready.public, input, answer)?,
                Op::Verify => same(&ACCEPTED, answer)?,
                Op::Encrypt => same(&input.message, &key.decrypt(answer)?)?,
                Op::Decrypt => same(&input.message, answer)?,
            }
        }
        Ok(())
    }

    /// The operation that is timed.
    fn once(&self, ready: &Ready<R>, at: usize) -> Result<(), Failed> {
        let input = black_box(&ready.inputs[at]);
        match self.op {
            Op::Keygen => {
                for _ in 0..self.size.keys() {
                    drop(black_box(self.rsa.keygen()?));
                }
            }
            Op::Sign => drop(black_box(self.rsa.sign(&ready.secret, input)?)),
            Op::Verify => self.rsa.verify(&ready.public, input, black_box(&ready.signatures[at]))?,
            Op::Encrypt => drop(black_box(self.rsa.encrypt(&ready.public, input)?)),
            Op::Decrypt => drop(black_box(self.rsa.decrypt(&ready.secret, black_box(&ready.sealed[at]))?)),
        }
        Ok(())
    }

    fn provenance(&self) -> Provenance {
        self.rsa.provenance(self.op)
    }
}
