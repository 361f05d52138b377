//! Keys of every kind: made, read and written as bytes, and what each can do.
//!
//! As bytes, a secret key is its number (the highest byte first), for Ed25519 and X25519 its 32 bytes, and for ML-KEM its seed d ‖ z, or the expanded
//! key of FIPS 203 if it was read in that form. A public key is SEC1's point, 32 bytes, or the encapsulation key of FIPS 203. RSA's keys are the DER of
//! `RSAPrivateKey` and `RSAPublicKey` (RFC 8017 §A.1).

use crate::Error;
use crate::error::{exactly, expect_length};
use crate::rsa;
use candor_primitives::SharedSecret;
use candor_primitives::dh::DiffieHellman;
use candor_primitives::dh::x25519::{self, X25519};
use candor_primitives::ec::{self, Ec, NamedCurve, P256, P384, Secp256k1};
use candor_primitives::ed25519;
use candor_primitives::kem::Kem;
use candor_primitives::kem::ml_kem::{self, MlKem512, MlKem768, MlKem1024};
use candor_primitives::rsa::{self as primitives_rsa, Size};
use candor_primitives::sm2::{self, Format, Sm2, Sm2Curve};
use candor_primitives::stack;
use std::fmt;
use zeroize::Zeroizing;

/// A kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum KeyKind {
    /// P-256, for ECDSA and ECDH.
    P256 = 1,
    /// P-384, for ECDSA and ECDH.
    P384 = 2,
    /// secp256k1, for ECDSA and ECDH.
    Secp256k1 = 3,
    /// SM2, for signatures and encryption.
    Sm2 = 4,
    /// Ed25519.
    Ed25519 = 5,
    /// X25519.
    X25519 = 6,
    /// ML-KEM-512.
    MlKem512 = 7,
    /// ML-KEM-768.
    MlKem768 = 8,
    /// ML-KEM-1024.
    MlKem1024 = 9,
    /// RSA with 2,048 bits, for signatures and encryption.
    Rsa2048 = 10,
    /// RSA with 3,072 bits.
    Rsa3072 = 11,
    /// RSA with 4,096 bits.
    Rsa4096 = 12,
}

impl KeyKind {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::P256,
        Self::P384,
        Self::Secp256k1,
        Self::Sm2,
        Self::Ed25519,
        Self::X25519,
        Self::MlKem512,
        Self::MlKem768,
        Self::MlKem1024,
        Self::Rsa2048,
        Self::Rsa3072,
        Self::Rsa4096,
    ];

    /// The name on the command line, as in `p256`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::P256 => "p256",
            Self::P384 => "p384",
            Self::Secp256k1 => "secp256k1",
            Self::Sm2 => "sm2",
            Self::Ed25519 => "ed25519",
            Self::X25519 => "x25519",
            Self::MlKem512 => "ml-kem-512",
            Self::MlKem768 => "ml-kem-768",
            Self::MlKem1024 => "ml-kem-1024",
            Self::Rsa2048 => "rsa-2048",
            Self::Rsa3072 => "rsa-3072",
            Self::Rsa4096 => "rsa-4096",
        }
    }

    /// The name in its standard, as in `P-256`.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::P256 => P256::NAME,
            Self::P384 => P384::NAME,
            Self::Secp256k1 => Secp256k1::NAME,
            Self::Sm2 => Sm2Curve::NAME,
            Self::Ed25519 => "Ed25519",
            Self::X25519 => "X25519",
            Self::MlKem512 => MlKem512::NAME,
            Self::MlKem768 => MlKem768::NAME,
            Self::MlKem1024 => MlKem1024::NAME,
            Self::Rsa2048 => "RSA-2048",
            Self::Rsa3072 => "RSA-3072",
            Self::Rsa4096 => "RSA-4096",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Whether such keys sign.
    #[must_use]
    pub const fn signs(self) -> bool {
        matches!(self, Self::P256 | Self::P384 | Self::Secp256k1 | Self::Sm2 | Self::Ed25519)
            || self.rsa_size().is_some()
    }

    /// Whether such keys encapsulate.
    #[must_use]
    pub const fn encapsulates(self) -> bool {
        matches!(self, Self::MlKem512 | Self::MlKem768 | Self::MlKem1024)
    }

    /// Bytes of a ciphertext that carries a shared secret, if such keys encapsulate.
    #[must_use]
    pub const fn ciphertext_size(self) -> Option<usize> {
        match self {
            Self::MlKem512 => Some(MlKem512::CIPHERTEXT),
            Self::MlKem768 => Some(MlKem768::CIPHERTEXT),
            Self::MlKem1024 => Some(MlKem1024::CIPHERTEXT),
            _ => None,
        }
    }

    /// The most bytes that a signature by such a key has, if it signs. In DER it is a few bytes shorter by chance.
    #[must_use]
    pub const fn longest_signature(self) -> Option<usize> {
        match self {
            Self::P256 | Self::Secp256k1 | Self::Sm2 => Some(2 * (2 + 33) + 2),
            Self::P384 => Some(2 * (2 + 49) + 2),
            Self::Ed25519 => Some(64),
            _ => self.modulus_size(),
        }
    }

    /// Bytes of a modulus, a signature and a ciphertext, of RSA.
    #[must_use]
    pub const fn modulus_size(self) -> Option<usize> {
        match self.rsa_size() {
            Some(size) => Some(size.bytes()),
            None => None,
        }
    }

    /// How long the modulus is, of RSA.
    pub(crate) const fn rsa_size(self) -> Option<Size> {
        match self {
            Self::Rsa2048 => Some(Size::Bits2048),
            Self::Rsa3072 => Some(Size::Bits3072),
            Self::Rsa4096 => Some(Size::Bits4096),
            _ => None,
        }
    }

    const fn of_rsa(size: Size) -> Self {
        match size {
            Size::Bits2048 => Self::Rsa2048,
            Size::Bits3072 => Self::Rsa3072,
            Size::Bits4096 => Self::Rsa4096,
        }
    }

    pub(crate) fn unsuitable(self, what: &'static str) -> Error {
        Error::Unsuitable { kind: self.title(), what }
    }
}

/// The most bytes that a ciphertext of SM2 in ASN.1 has beside the message: two integers, a string, and the heads of another and of the sequence.
pub const SM2_OVERHEAD: usize = 2 * (2 + 33) + 34 + 2 * 6;

/// How long the message in a ciphertext of SM2 in ASN.1 is. Nothing is decrypted.
///
/// # Errors
/// [`Error::Sm2`] if the form is another.
pub fn sm2_message_length(ciphertext: &[u8]) -> Result<usize, Error> {
    Ok(Format::Asn1.message_length(ciphertext)?)
}

/// Stack below an operation that is cleared behind it, in bytes: the families clear what they have used, here keys and secrets are moved.
const FRAMES: usize = 4096;

/// A secret key. Wiped on drop.
#[non_exhaustive]
pub enum SecretKey {
    /// See [`KeyKind::P256`].
    P256(ec::SecretKey<P256>),
    /// See [`KeyKind::P384`].
    P384(ec::SecretKey<P384>),
    /// See [`KeyKind::Secp256k1`].
    Secp256k1(ec::SecretKey<Secp256k1>),
    /// See [`KeyKind::Sm2`].
    Sm2(sm2::SecretKey),
    /// See [`KeyKind::Ed25519`].
    Ed25519(ed25519::SecretKey),
    /// See [`KeyKind::X25519`]. On the heap, as it is 32 bytes in place.
    X25519(Box<x25519::Secret>),
    /// See [`KeyKind::MlKem512`].
    MlKem512(ml_kem::Secret<2>),
    /// See [`KeyKind::MlKem768`].
    MlKem768(ml_kem::Secret<3>),
    /// See [`KeyKind::MlKem1024`].
    MlKem1024(ml_kem::Secret<4>),
    /// See [`KeyKind::Rsa2048`]. Of any size.
    Rsa(Box<primitives_rsa::SecretKey>),
}

/// A public key.
#[non_exhaustive]
pub enum PublicKey {
    /// See [`KeyKind::P256`].
    P256(ec::PublicKey<P256>),
    /// See [`KeyKind::P384`].
    P384(ec::PublicKey<P384>),
    /// See [`KeyKind::Secp256k1`].
    Secp256k1(ec::PublicKey<Secp256k1>),
    /// See [`KeyKind::Sm2`].
    Sm2(sm2::PublicKey),
    /// See [`KeyKind::Ed25519`].
    Ed25519(ed25519::PublicKey),
    /// See [`KeyKind::X25519`].
    X25519([u8; 32]),
    /// See [`KeyKind::MlKem512`].
    MlKem512(Box<ml_kem::Public<2>>),
    /// See [`KeyKind::MlKem768`].
    MlKem768(Box<ml_kem::Public<3>>),
    /// See [`KeyKind::MlKem1024`].
    MlKem1024(Box<ml_kem::Public<4>>),
    /// See [`KeyKind::Rsa2048`]. Of any size.
    Rsa(Box<primitives_rsa::PublicKey>),
}

impl SecretKey {
    /// A fresh key, from the operating system's randomness.
    ///
    /// # Errors
    /// The algorithm's, if there is no randomness.
    pub fn generate(kind: KeyKind) -> Result<Self, Error> {
        stack::clearing::<FRAMES, _>(|| Self::generated(kind))
    }

    fn generated(kind: KeyKind) -> Result<Self, Error> {
        Ok(match kind {
            KeyKind::P256 => Self::P256(Ec::new().generate()?),
            KeyKind::P384 => Self::P384(Ec::new().generate()?),
            KeyKind::Secp256k1 => Self::Secp256k1(Ec::new().generate()?),
            KeyKind::Sm2 => Self::Sm2(Sm2::new().generate()?),
            KeyKind::Ed25519 => Self::Ed25519(ed25519::SecretKey::generate()?),
            KeyKind::X25519 => Self::X25519(Box::new(X25519::new().generate()?.0)),
            KeyKind::MlKem512 => Self::MlKem512(MlKem512::new().generate()?.0),
            KeyKind::MlKem768 => Self::MlKem768(MlKem768::new().generate()?.0),
            KeyKind::MlKem1024 => Self::MlKem1024(MlKem1024::new().generate()?.0),
            KeyKind::Rsa2048 => Self::Rsa(rsa::generate(Size::Bits2048)?),
            KeyKind::Rsa3072 => Self::Rsa(rsa::generate(Size::Bits3072)?),
            KeyKind::Rsa4096 => Self::Rsa(rsa::generate(Size::Bits4096)?),
        })
    }

    /// The key in these bytes.
    ///
    /// # Errors
    /// [`Error::Length`], or the algorithm's, if it is no key.
    pub fn from_bytes(kind: KeyKind, bytes: &[u8]) -> Result<Self, Error> {
        stack::clearing::<FRAMES, _>(|| Self::read(kind, bytes))
    }

    fn read(kind: KeyKind, bytes: &[u8]) -> Result<Self, Error> {
        Ok(match kind {
            KeyKind::P256 => Self::P256(Ec::new().secret_from_slice(bytes)?),
            KeyKind::P384 => Self::P384(Ec::new().secret_from_slice(bytes)?),
            KeyKind::Secp256k1 => Self::Secp256k1(Ec::new().secret_from_slice(bytes)?),
            KeyKind::Sm2 => Self::Sm2(Sm2::new().secret_from_slice(bytes)?),
            KeyKind::Ed25519 => Self::Ed25519(ed25519::SecretKey::from_bytes(exactly("secret key", bytes)?)),
            KeyKind::X25519 => Self::X25519(Box::new(X25519::new().secret_from_bytes(exactly("secret key", bytes)?)?)),
            KeyKind::MlKem512 => Self::MlKem512(seed_or_expanded(MlKem512::new(), bytes)?),
            KeyKind::MlKem768 => Self::MlKem768(seed_or_expanded(MlKem768::new(), bytes)?),
            KeyKind::MlKem1024 => Self::MlKem1024(seed_or_expanded(MlKem1024::new(), bytes)?),
            KeyKind::Rsa2048 => Self::Rsa(rsa::secret_from(Size::Bits2048, bytes)?),
            KeyKind::Rsa3072 => Self::Rsa(rsa::secret_from(Size::Bits3072, bytes)?),
            KeyKind::Rsa4096 => Self::Rsa(rsa::secret_from(Size::Bits4096, bytes)?),
        })
    }

    /// The bytes.
    ///
    /// # Errors
    /// The algorithm's.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        stack::clearing::<FRAMES, _>(|| self.written())
    }

    fn written(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let copy = |bytes: &[u8]| Zeroizing::new(bytes.to_vec());
        Ok(match self {
            Self::P256(key) => copy(&*key.to_bytes()),
            Self::P384(key) => copy(&*key.to_bytes()),
            Self::Secp256k1(key) => copy(&*key.to_bytes()),
            Self::Sm2(key) => copy(&*key.to_bytes()),
            Self::Ed25519(key) => copy(&*key.to_bytes()),
            Self::X25519(key) => copy(&*X25519::new().secret_to_bytes(key)?),
            Self::MlKem512(key) => seed_if_any(MlKem512::new(), key)?,
            Self::MlKem768(key) => seed_if_any(MlKem768::new(), key)?,
            Self::MlKem1024(key) => seed_if_any(MlKem1024::new(), key)?,
            Self::Rsa(key) => rsa::secret_bytes(key)?,
        })
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        match self {
            Self::P256(_) => KeyKind::P256,
            Self::P384(_) => KeyKind::P384,
            Self::Secp256k1(_) => KeyKind::Secp256k1,
            Self::Sm2(_) => KeyKind::Sm2,
            Self::Ed25519(_) => KeyKind::Ed25519,
            Self::X25519(_) => KeyKind::X25519,
            Self::MlKem512(_) => KeyKind::MlKem512,
            Self::MlKem768(_) => KeyKind::MlKem768,
            Self::MlKem1024(_) => KeyKind::MlKem1024,
            Self::Rsa(key) => KeyKind::of_rsa(key.public_key().size()),
        }
    }

    /// The public key that belongs to it.
    ///
    /// # Errors
    /// The algorithm's.
    pub fn public_key(&self) -> Result<PublicKey, Error> {
        Ok(match self {
            Self::P256(key) => PublicKey::P256(key.public_key().clone()),
            Self::P384(key) => PublicKey::P384(key.public_key().clone()),
            Self::Secp256k1(key) => PublicKey::Secp256k1(key.public_key().clone()),
            Self::Sm2(key) => PublicKey::Sm2(key.public_key().clone()),
            Self::Ed25519(key) => PublicKey::Ed25519(key.public_key()),
            Self::X25519(key) => PublicKey::X25519(X25519::new().public_of(key)?),
            Self::MlKem512(key) => PublicKey::MlKem512(Box::new(public_part(MlKem512::new(), key)?)),
            Self::MlKem768(key) => PublicKey::MlKem768(Box::new(public_part(MlKem768::new(), key)?)),
            Self::MlKem1024(key) => PublicKey::MlKem1024(Box::new(public_part(MlKem1024::new(), key)?)),
            Self::Rsa(key) => PublicKey::Rsa(Box::new(key.public_key().clone())),
        })
    }

    /// The secret shared with the holder of `peer`: ECDH's x coordinate, or X25519's. It is not uniform; derive keys from it.
    ///
    /// # Errors
    /// [`Error::Unsuitable`], [`Error::KindsDiffer`], [`Error::Dh`] if `peer` is of small order.
    pub fn agree(&self, peer: &PublicKey) -> Result<Zeroizing<Vec<u8>>, Error> {
        stack::clearing::<FRAMES, _>(|| self.agreed(peer))
    }

    fn agreed(&self, peer: &PublicKey) -> Result<Zeroizing<Vec<u8>>, Error> {
        let copy = |bytes: &[u8]| Zeroizing::new(bytes.to_vec());
        match (self, peer) {
            (Self::P256(ours), PublicKey::P256(theirs)) => Ok(copy(ours.agree(theirs).as_bytes())),
            (Self::P384(ours), PublicKey::P384(theirs)) => Ok(copy(ours.agree(theirs).as_bytes())),
            (Self::Secp256k1(ours), PublicKey::Secp256k1(theirs)) => Ok(copy(ours.agree(theirs).as_bytes())),
            (Self::X25519(ours), PublicKey::X25519(theirs)) => Ok(copy(X25519::new().agree(ours, theirs)?.as_bytes())),
            (Self::P256(_) | Self::P384(_) | Self::Secp256k1(_) | Self::X25519(_), _) => {
                Err(Error::KindsDiffer { ours: self.kind().title(), theirs: peer.kind().title() })
            }
            _ => Err(self.kind().unsuitable("agree on a secret")),
        }
    }

    /// The shared secret in a ciphertext. One that was not made for this key gives another secret, and no error.
    ///
    /// # Errors
    /// [`Error::Unsuitable`], [`Error::Kem`] if the ciphertext has another length.
    pub fn decapsulate(&self, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        Ok(match self {
            Self::MlKem512(key) => MlKem512::new().decapsulate(key, ciphertext)?,
            Self::MlKem768(key) => MlKem768::new().decapsulate(key, ciphertext)?,
            Self::MlKem1024(key) => MlKem1024::new().decapsulate(key, ciphertext)?,
            _ => return Err(self.kind().unsuitable("decapsulate")),
        })
    }

    /// The message in a ciphertext of SM2 in ASN.1, or of RSA by OAEP with SHA-256 and no label.
    ///
    /// # Errors
    /// [`Error::Unsuitable`], [`Error::Sm2`], [`Error::Rsa`].
    pub fn decrypt(&self, ciphertext: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        match self {
            Self::Sm2(key) => Ok(key.decrypt(ciphertext, Format::Asn1)?),
            Self::Rsa(key) => rsa::decrypt(key, ciphertext, b""),
            _ => Err(self.kind().unsuitable("decrypt")),
        }
    }
}

impl PublicKey {
    /// The key in these bytes.
    ///
    /// # Errors
    /// [`Error::Length`], or the algorithm's, if it is no key.
    pub fn from_bytes(kind: KeyKind, bytes: &[u8]) -> Result<Self, Error> {
        Ok(match kind {
            KeyKind::P256 => Self::P256(Ec::new().public_from_bytes(bytes)?),
            KeyKind::P384 => Self::P384(Ec::new().public_from_bytes(bytes)?),
            KeyKind::Secp256k1 => Self::Secp256k1(Ec::new().public_from_bytes(bytes)?),
            KeyKind::Sm2 => Self::Sm2(Sm2::new().public_from_bytes(bytes)?),
            KeyKind::Ed25519 => Self::Ed25519(ed25519::PublicKey::from_bytes(bytes)?),
            KeyKind::X25519 => Self::X25519(*exactly("public key", bytes)?),
            KeyKind::MlKem512 => Self::MlKem512(Box::new(MlKem512::new().public_from_bytes(bytes)?)),
            KeyKind::MlKem768 => Self::MlKem768(Box::new(MlKem768::new().public_from_bytes(bytes)?)),
            KeyKind::MlKem1024 => Self::MlKem1024(Box::new(MlKem1024::new().public_from_bytes(bytes)?)),
            KeyKind::Rsa2048 => Self::Rsa(rsa::public_from(Size::Bits2048, bytes)?),
            KeyKind::Rsa3072 => Self::Rsa(rsa::public_from(Size::Bits3072, bytes)?),
            KeyKind::Rsa4096 => Self::Rsa(rsa::public_from(Size::Bits4096, bytes)?),
        })
    }

    /// The bytes.
    ///
    /// # Errors
    /// The algorithm's.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        Ok(match self {
            Self::P256(key) => key.to_bytes().to_vec(),
            Self::P384(key) => key.to_bytes().to_vec(),
            Self::Secp256k1(key) => key.to_bytes().to_vec(),
            Self::Sm2(key) => key.to_bytes().to_vec(),
            Self::Ed25519(key) => key.to_bytes().to_vec(),
            Self::X25519(key) => key.to_vec(),
            Self::MlKem512(key) => public_bytes(MlKem512::new(), key)?,
            Self::MlKem768(key) => public_bytes(MlKem768::new(), key)?,
            Self::MlKem1024(key) => public_bytes(MlKem1024::new(), key)?,
            Self::Rsa(key) => rsa::public_bytes(key)?,
        })
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        match self {
            Self::P256(_) => KeyKind::P256,
            Self::P384(_) => KeyKind::P384,
            Self::Secp256k1(_) => KeyKind::Secp256k1,
            Self::Sm2(_) => KeyKind::Sm2,
            Self::Ed25519(_) => KeyKind::Ed25519,
            Self::X25519(_) => KeyKind::X25519,
            Self::MlKem512(_) => KeyKind::MlKem512,
            Self::MlKem768(_) => KeyKind::MlKem768,
            Self::MlKem1024(_) => KeyKind::MlKem1024,
            Self::Rsa(key) => KeyKind::of_rsa(key.size()),
        }
    }

    /// A fresh shared secret, and the ciphertext that carries it to the holder of the secret key.
    ///
    /// # Errors
    /// [`Error::Unsuitable`], [`Error::Kem`] without randomness.
    pub fn encapsulate(&self) -> Result<(Vec<u8>, SharedSecret), Error> {
        let length = self.kind().ciphertext_size().ok_or_else(|| self.kind().unsuitable("encapsulate"))?;
        let mut ciphertext = vec![0; length];
        let shared = match self {
            Self::MlKem512(key) => MlKem512::new().encapsulate(key, &mut ciphertext)?,
            Self::MlKem768(key) => MlKem768::new().encapsulate(key, &mut ciphertext)?,
            Self::MlKem1024(key) => MlKem1024::new().encapsulate(key, &mut ciphertext)?,
            _ => return Err(self.kind().unsuitable("encapsulate")),
        };
        Ok((ciphertext, shared))
    }

    /// A message encrypted by SM2, in ASN.1 as OpenSSL has it, or by RSA's OAEP with SHA-256 and no label.
    ///
    /// # Errors
    /// [`Error::Unsuitable`], [`Error::Sm2`] if the message is empty, [`Error::Rsa`] if it is too long.
    pub fn encrypt(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        match self {
            Self::Sm2(key) => Ok(key.encrypt(message, Format::Asn1)?),
            Self::Rsa(key) => rsa::encrypt(key, message, b""),
            _ => Err(self.kind().unsuitable("encrypt")),
        }
    }

    /// The longest message that [`Self::encrypt`] takes, in bytes, if the algorithm has a bound.
    #[must_use]
    pub fn longest_message(&self) -> Option<usize> {
        match self {
            Self::Rsa(key) => Some(rsa::longest_message(key)),
            _ => None,
        }
    }
}

/// Bytes of ML-KEM's seed.
const SEED: usize = 64;

fn seed_or_expanded<K: Kem>(kem: K, bytes: &[u8]) -> Result<K::Secret, Error> {
    if bytes.len() == SEED { Ok(kem.secret_from_seed(bytes)?) } else { Ok(kem.secret_from_bytes(bytes)?) }
}

fn seed_if_any<K: Kem>(kem: K, key: &K::Secret) -> Result<Zeroizing<Vec<u8>>, Error> {
    Ok(kem.secret_to_seed(key).or_else(|_| kem.secret_to_bytes(key))?)
}

/// The encapsulation key inside a decapsulation key: before its hash and z (FIPS 203 §7.1).
fn public_part<K: Kem>(kem: K, key: &K::Secret) -> Result<K::Public, Error> {
    let expanded = kem.secret_to_bytes(key)?;
    let end = K::SECRET - 64;
    Ok(kem.public_from_bytes(&expanded[end - K::PUBLIC..end])?)
}

fn public_bytes<K: Kem>(kem: K, key: &K::Public) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; K::PUBLIC];
    kem.public_to_bytes(key, &mut bytes)?;
    expect_length("public key", K::PUBLIC, bytes.len())?;
    Ok(bytes)
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.kind().title())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.kind().title())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_their_bytes_say() {
        for kind in KeyKind::ALL.iter().copied() {
            let secret = SecretKey::generate(kind).unwrap();
            let again = SecretKey::from_bytes(kind, &secret.to_bytes().unwrap()).unwrap();
            let public = secret.public_key().unwrap();
            let bytes = public.to_bytes().unwrap();
            assert_eq!(again.public_key().unwrap().to_bytes().unwrap(), bytes, "{}", kind.name());
            assert_eq!(PublicKey::from_bytes(kind, &bytes).unwrap().to_bytes().unwrap(), bytes);
            assert!(SecretKey::from_bytes(kind, &[1; 31]).is_err() && PublicKey::from_bytes(kind, &[1; 31]).is_err());
            assert_eq!((secret.kind(), public.kind(), KeyKind::named(kind.name())), (kind, kind, Some(kind)));
        }
    }

    #[test]
    fn each_kind_does_what_it_can_and_nothing_else() {
        // RSA's sizes differ in nothing but their length, and large keys take long to make.
        let large = [KeyKind::Rsa3072, KeyKind::Rsa4096];
        for kind in KeyKind::ALL.iter().copied().filter(|kind| !large.contains(kind)) {
            let (ours, theirs) = (SecretKey::generate(kind).unwrap(), SecretKey::generate(kind).unwrap());
            let (our_public, their_public) = (ours.public_key().unwrap(), theirs.public_key().unwrap());
            match ours.agree(&their_public) {
                Ok(shared) => assert_eq!(shared, theirs.agree(&our_public).unwrap()),
                Err(error) => assert!(matches!(error, Error::Unsuitable { .. }), "{error}"),
            }
            match our_public.encapsulate() {
                Ok((ciphertext, shared)) => assert!(ours.decapsulate(&ciphertext).unwrap() == shared),
                Err(error) => assert!(matches!(error, Error::Unsuitable { .. }) && !kind.encapsulates()),
            }
            match our_public.encrypt(b"a message") {
                Ok(ciphertext) => {
                    assert!(ciphertext.len() <= kind.rsa_size().map_or(9 + SM2_OVERHEAD, Size::bytes));
                    assert_eq!(&**ours.decrypt(&ciphertext).unwrap(), b"a message");
                    let length = sm2_message_length(&ciphertext).ok();
                    assert_eq!(length, (kind == KeyKind::Sm2).then_some(9), "{}", kind.name());
                }
                Err(error) => assert!(
                    matches!(error, Error::Unsuitable { .. }) && kind != KeyKind::Sm2 && kind.rsa_size().is_none()
                ),
            }
        }
        let (p256, p384) = (SecretKey::generate(KeyKind::P256).unwrap(), SecretKey::generate(KeyKind::P384).unwrap());
        assert!(matches!(p256.agree(&p384.public_key().unwrap()), Err(Error::KindsDiffer { .. })));
    }
}
