//! How a hash is computed, and the text that says so.

use crate::encoding::{base64, to_base64};
use crate::limits;
use std::fmt;
use std::str::FromStr;
use zeroize::Zeroizing;

/// A function with its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// Argon2, RFC 9106.
    Argon2 {
        /// Which of the three.
        kind: Argon2Kind,
        /// 0x10 or 0x13.
        version: u32,
        /// m, in KiB.
        memory_kib: u32,
        /// t.
        iterations: u32,
        /// p.
        parallelism: u32,
        /// Bytes of the digest.
        length: usize,
    },
    /// bcrypt; the digest has 23 bytes.
    Bcrypt {
        /// What is done to the password before.
        before: Before,
        /// The cost, a power of two.
        cost: u32,
    },
    /// scrypt, RFC 7914.
    Scrypt {
        /// The binary logarithm of N.
        log_n: u8,
        /// r.
        r: u32,
        /// p.
        p: u32,
        /// Bytes of the digest.
        length: usize,
    },
    /// PBKDF2 with HMAC, RFC 8018.
    Pbkdf2 {
        /// The hash.
        hash: Pbkdf2Hash,
        /// c.
        iterations: u32,
        /// Bytes of the digest.
        length: usize,
    },
}

/// The three kinds of Argon2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Argon2Kind {
    /// Argon2d.
    D,
    /// Argon2i.
    I,
    /// Argon2id.
    Id,
}

/// What is done to a password before bcrypt, which looks at 72 bytes only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Before {
    /// Nothing.
    Nothing,
    /// SHA-256, in hexadecimal digits: Django's `bcrypt_sha256`.
    Sha256Hexadecimal,
    /// SHA-256, in base64: passlib's `bcrypt-sha256`, version 1.
    Sha256Base64,
    /// HMAC-SHA-256 with the salt's text as the key, in base64: passlib's `bcrypt-sha256`, version 2.
    HmacBase64,
}

/// The hashes of PBKDF2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pbkdf2Hash {
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

impl Algorithm {
    /// Bytes of the digest.
    #[must_use]
    pub fn digest_length(&self) -> usize {
        match *self {
            Self::Argon2 { length, .. } | Self::Scrypt { length, .. } | Self::Pbkdf2 { length, .. } => length,
            Self::Bcrypt { .. } => 23,
        }
    }

    /// Whether the cost is one that exists and is within [`limits`].
    fn check(&self) -> Result<(), SchemeError> {
        let allowed = match *self {
            Self::Argon2 { version, memory_kib, iterations, parallelism, .. } => {
                let memory = u64::from(memory_kib) << 10;
                matches!(version, 0x10 | 0x13)
                    && (1..1 << 24).contains(&parallelism)
                    && memory_kib / 8 >= parallelism
                    && iterations >= 1
                    && memory <= limits::MEMORY
                    && memory.saturating_mul(iterations.into()) <= limits::WORK
            }
            Self::Bcrypt { cost, .. } => (4..=limits::BCRYPT).contains(&cost),
            Self::Scrypt { log_n, r, p, .. } => {
                let memory = 1u64.checked_shl(log_n.into()).unwrap_or(u64::MAX).saturating_mul(128 * u64::from(r));
                (1..64).contains(&log_n)
                    && r >= 1
                    && p >= 1
                    // RFC 7914 §2: N < 2^(128 r / 8), p ≤ (2³² − 1) · 32 / (128 r).
                    && u64::from(log_n) < 16 * u64::from(r)
                    && memory <= limits::MEMORY
                    && memory.saturating_mul(p.into()) <= limits::WORK
            }
            Self::Pbkdf2 { iterations, .. } => (1..=limits::PBKDF2).contains(&iterations),
        };
        match (allowed, limits::DIGEST.contains(&self.digest_length())) {
            (true, true) => Ok(()),
            (false, _) => Err(SchemeError::Cost),
            (true, false) => Err(SchemeError::Digest),
        }
    }

    /// Name and cost, as the texts of schemes have them.
    pub(crate) fn words(&self) -> String {
        match *self {
            Self::Argon2 { kind, version, memory_kib, iterations, parallelism, length } => {
                let kind = match kind {
                    Argon2Kind::D => "d",
                    Argon2Kind::I => "i",
                    Argon2Kind::Id => "id",
                };
                format!("argon2{kind}$v={version},m={memory_kib},t={iterations},p={parallelism},l={length}")
            }
            Self::Bcrypt { before, cost } => {
                let before = match before {
                    Before::Nothing => "bcrypt",
                    Before::Sha256Hexadecimal => "bcrypt-sha256-hex",
                    Before::Sha256Base64 => "bcrypt-sha256-base64",
                    Before::HmacBase64 => "bcrypt-hmac-base64",
                };
                format!("{before}$r={cost}")
            }
            Self::Scrypt { log_n, r, p, length } => format!("scrypt$ln={log_n},r={r},p={p},l={length}"),
            Self::Pbkdf2 { hash, iterations, length } => {
                let hash = match hash {
                    Pbkdf2Hash::Sha1 => "sha1",
                    Pbkdf2Hash::Sha256 => "sha256",
                    Pbkdf2Hash::Sha512 => "sha512",
                };
                format!("pbkdf2-{hash}$i={iterations},l={length}")
            }
        }
    }

    /// Reads [`Self::words`].
    pub(crate) fn from_words(name: &str, cost: &str) -> Result<Self, SchemeError> {
        let mut numbers = Numbers(cost.split(','));
        let algorithm = match name {
            "argon2d" | "argon2i" | "argon2id" => Self::Argon2 {
                kind: match name {
                    "argon2d" => Argon2Kind::D,
                    "argon2i" => Argon2Kind::I,
                    _ => Argon2Kind::Id,
                },
                version: numbers.next("v=")?,
                memory_kib: numbers.next("m=")?,
                iterations: numbers.next("t=")?,
                parallelism: numbers.next("p=")?,
                length: numbers.next("l=")?,
            },
            "bcrypt" => Self::Bcrypt { before: Before::Nothing, cost: numbers.next("r=")? },
            "bcrypt-sha256-hex" => Self::Bcrypt { before: Before::Sha256Hexadecimal, cost: numbers.next("r=")? },
            "bcrypt-sha256-base64" => Self::Bcrypt { before: Before::Sha256Base64, cost: numbers.next("r=")? },
            "bcrypt-hmac-base64" => Self::Bcrypt { before: Before::HmacBase64, cost: numbers.next("r=")? },
            "scrypt" => Self::Scrypt {
                log_n: numbers.next("ln=")?,
                r: numbers.next("r=")?,
                p: numbers.next("p=")?,
                length: numbers.next("l=")?,
            },
            "pbkdf2-sha1" | "pbkdf2-sha256" | "pbkdf2-sha512" => Self::Pbkdf2 {
                hash: match name {
                    "pbkdf2-sha1" => Pbkdf2Hash::Sha1,
                    "pbkdf2-sha256" => Pbkdf2Hash::Sha256,
                    _ => Pbkdf2Hash::Sha512,
                },
                iterations: numbers.next("i=")?,
                length: numbers.next("l=")?,
            },
            _ => return Err(SchemeError::Format),
        };
        if numbers.0.next().is_some() {
            return Err(SchemeError::Format);
        }
        algorithm.check()?;
        Ok(algorithm)
    }
}

/// Numbers with their names, in a fixed order.
struct Numbers<'a>(std::str::Split<'a, char>);

impl Numbers<'_> {
    fn next<T: FromStr>(&mut self, name: &str) -> Result<T, SchemeError> {
        self.0.next().and_then(|part| part.strip_prefix(name)).and_then(number).ok_or(SchemeError::Format)
    }
}

/// A decimal number without a sign.
pub(crate) fn number<T: FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// How a hash is computed: everything but the password. It is sent to the client, and stands in the account's row.
///
/// Written as `$name$cost$salt`, the salt in base64.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OldScheme {
    pub(crate) algorithm: Algorithm,
    pub(crate) salt: Vec<u8>,
}

impl OldScheme {
    /// A scheme of these parts.
    ///
    /// # Errors
    /// [`SchemeError`] for costs, salts and digests beyond [`limits`].
    pub fn new(algorithm: Algorithm, salt: Vec<u8>) -> Result<Self, SchemeError> {
        algorithm.check()?;
        let fits = match algorithm {
            Algorithm::Bcrypt { .. } => salt.len() == 16,
            // RFC 9106 §3.1 and every implementation: at least eight bytes.
            Algorithm::Argon2 { .. } => (8..=limits::SALT).contains(&salt.len()),
            _ => salt.len() <= limits::SALT,
        };
        if fits { Ok(Self { algorithm, salt }) } else { Err(SchemeError::Salt) }
    }

    /// The function and its cost.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Name and cost, for people.
    #[must_use]
    pub fn name_and_cost(&self) -> String {
        self.algorithm.words().replacen('$', " ", 1)
    }

    /// The salt.
    #[must_use]
    pub fn salt(&self) -> &[u8] {
        &self.salt
    }
}

impl fmt::Display for OldScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}${}", self.algorithm.words(), to_base64(&self.salt))
    }
}

impl FromStr for OldScheme {
    type Err = SchemeError;

    fn from_str(text: &str) -> Result<Self, SchemeError> {
        let mut parts = text.strip_prefix('$').ok_or(SchemeError::Format)?.split('$');
        let mut part = || parts.next().ok_or(SchemeError::Format);
        let (name, cost, salt) = (part()?, part()?, part()?);
        if parts.next().is_some() {
            return Err(SchemeError::Format);
        }
        let scheme = Self::new(Algorithm::from_words(name, cost)?, base64(salt).ok_or(SchemeError::Format)?)?;
        // One scheme has one text.
        if scheme.to_string() == text { Ok(scheme) } else { Err(SchemeError::Format) }
    }
}

/// A stored hash: how it is computed, and the digest. The digest opens the migrated account until its owner has registered afresh, so it is
/// wiped on drop and never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct OldHash {
    pub(crate) scheme: OldScheme,
    pub(crate) digest: Zeroizing<Vec<u8>>,
}

impl OldHash {
    /// How it is computed.
    #[must_use]
    pub fn scheme(&self) -> &OldScheme {
        &self.scheme
    }

    /// The digest.
    #[must_use]
    pub fn digest(&self) -> &[u8] {
        &self.digest
    }
}

impl fmt::Debug for OldHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OldHash").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

/// Why there is no such scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemeError {
    /// The text is not the text of a scheme.
    #[error("not a scheme of old password hashes; expected $name$cost$salt")]
    Format,
    /// The cost does not exist or is beyond [`limits`].
    #[error("the cost of the old password hash does not exist or is too high")]
    Cost,
    /// The salt has a length that the function does not take, or is beyond [`limits`].
    #[error("the salt of the old password hash has a wrong length")]
    Salt,
    /// The digest has a length beyond [`limits`].
    #[error("the digest of the old password hash is shorter than 16 bytes or longer than 128")]
    Digest,
    /// There is not enough memory.
    #[error("not enough memory to compute the old password hash")]
    Memory,
}
