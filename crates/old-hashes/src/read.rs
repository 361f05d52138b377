//! Reads the texts in which systems have stored password hashes.

use crate::encoding::{base64, bcrypt64, to_bcrypt64};
use crate::scheme::{Algorithm, Argon2Kind, Before, OldHash, OldScheme, Pbkdf2Hash, SchemeError, number};
use std::str::FromStr;
use zeroize::Zeroizing;

/// Why a text is no hash that can be imported. Nothing of the text is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The text begins as none of the known ones.
    #[error("not a password hash of a known kind (Argon2, bcrypt, scrypt, PBKDF2)")]
    Unknown,
    /// The text begins as one of these, and goes on otherwise.
    #[error("damaged {0} hash")]
    Damaged(&'static str),
    /// The hash was made by a faulty bcrypt, whose results no other one computes.
    #[error("$2x$ is a bcrypt with a fault of 2011; its users have to choose a new password")]
    FaultyBcrypt,
    /// Cost, salt or digest can't be used.
    #[error("{0}")]
    Scheme(SchemeError),
}

impl From<SchemeError> for ReadError {
    fn from(error: SchemeError) -> Self {
        Self::Scheme(error)
    }
}

impl FromStr for OldHash {
    type Err = ReadError;

    /// Reads a stored hash, in any of the forms of the table above.
    fn from_str(text: &str) -> Result<Self, ReadError> {
        Reader::of(text).read()
    }
}

impl OldHash {
    fn new(algorithm: Algorithm, salt: Vec<u8>, digest: Vec<u8>) -> Result<Self, ReadError> {
        Ok(Self { scheme: OldScheme::new(algorithm, salt)?, digest: Zeroizing::new(digest) })
    }
}

/// A text, by its first word and the rest.
struct Reader<'a> {
    text: &'a str,
    first: &'a str,
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn of(text: &'a str) -> Self {
        let inside = text.strip_prefix('$').unwrap_or(text);
        let (first, rest) = inside.split_once('$').unwrap_or((inside, ""));
        Self { text, first, rest }
    }

    fn read(&self) -> Result<OldHash, ReadError> {
        let plain = self.text.starts_with('$');
        match (plain, self.first) {
            (true, "argon2d") => self.argon2(Argon2Kind::D),
            (true, "argon2i") => self.argon2(Argon2Kind::I),
            (true, "argon2id") => self.argon2(Argon2Kind::Id),
            (true, "2a" | "2b" | "2y") => self.bcrypt(Before::Nothing),
            (true, "2x") => Err(ReadError::FaultyBcrypt),
            (true, "bcrypt-sha256") => self.passlib_bcrypt(),
            (true, "scrypt") => self.scrypt(),
            (true, "pbkdf2" | "pbkdf2-sha1") => self.pbkdf2(Pbkdf2Hash::Sha1),
            (true, "pbkdf2-sha256") => self.pbkdf2(Pbkdf2Hash::Sha256),
            (true, "pbkdf2-sha512") => self.pbkdf2(Pbkdf2Hash::Sha512),
            (false, "argon2") => self.inside(|first| first.starts_with("argon2"))?.read(),
            (false, "bcrypt") => self.inside(|first| matches!(first, "2a" | "2b" | "2y"))?.bcrypt(Before::Nothing),
            (false, "bcrypt_sha256") => {
                self.inside(|first| matches!(first, "2a" | "2b" | "2y"))?.bcrypt(Before::Sha256Hexadecimal)
            }
            (false, "scrypt") => self.django_scrypt(),
            (false, "pbkdf2_sha1") => self.django_pbkdf2(Pbkdf2Hash::Sha1),
            (false, "pbkdf2_sha256") => self.django_pbkdf2(Pbkdf2Hash::Sha256),
            _ => Err(ReadError::Unknown),
        }
    }

    /// The text that follows the name that Django puts before it.
    fn inside(&self, is_one: impl Fn(&str) -> bool) -> Result<Self, ReadError> {
        // `argon2$argon2id$…` lacks the sign before the second name, `bcrypt$$2b$…` has it.
        let rest = self.rest.strip_prefix('$').unwrap_or(self.rest);
        let (first, after) = rest.split_once('$').ok_or(ReadError::Unknown)?;
        let text = &self.text[self.text.len() - rest.len() - 1..];
        if is_one(first) { Ok(Self { text, first, rest: after }) } else { Err(ReadError::Unknown) }
    }

    /// `v=19$m=65536,t=3,p=4$salt$digest`; version 0x10 goes without saying.
    fn argon2(&self, kind: Argon2Kind) -> Result<OldHash, ReadError> {
        const DAMAGED: ReadError = ReadError::Damaged("Argon2");
        let (version, rest) = match self.rest.strip_prefix("v=") {
            Some(rest) => {
                let (version, rest) = rest.split_once('$').ok_or(DAMAGED)?;
                (number(version).ok_or(DAMAGED)?, rest)
            }
            None => (0x10, self.rest),
        };
        let [cost, salt, digest] = parts(rest).ok_or(DAMAGED)?;
        let [m, t, p] = named(cost, ["m", "t", "p"]).ok_or(DAMAGED)?;
        let (salt, digest) = (base64(salt).ok_or(DAMAGED)?, base64(digest).ok_or(DAMAGED)?);
        let length = digest.len();
        let algorithm = Algorithm::Argon2 { kind, version, memory_kib: m, iterations: t, parallelism: p, length };
        OldHash::new(algorithm, salt, digest)
    }

    /// `12$` and 53 characters of bcrypt's base64: 22 of salt, 31 of digest.
    fn bcrypt(&self, before: Before) -> Result<OldHash, ReadError> {
        const DAMAGED: ReadError = ReadError::Damaged("bcrypt");
        let [cost, rest] = parts(self.rest).ok_or(DAMAGED)?;
        let (salt, digest) = rest.split_at_checked(22).ok_or(DAMAGED)?;
        self.bcrypt_parts(before, two_digits(cost).ok_or(DAMAGED)?, salt, digest)
    }

    fn bcrypt_parts(&self, before: Before, cost: u32, salt: &str, digest: &str) -> Result<OldHash, ReadError> {
        const DAMAGED: ReadError = ReadError::Damaged("bcrypt");
        let (salt_bytes, digest) = (bcrypt64(salt).ok_or(DAMAGED)?, bcrypt64(digest).ok_or(DAMAGED)?);
        // With HMAC the salt's text is a key, so it has to be the one text that the bytes have.
        let one_text = before != Before::HmacBase64 || to_bcrypt64(&salt_bytes) == salt;
        if digest.len() != 23 || !one_text {
            return Err(DAMAGED);
        }
        OldHash::new(Algorithm::Bcrypt { before, cost }, salt_bytes, digest)
    }

    /// `v=2,t=2b,r=12$salt$digest`, or `2b,12$salt$digest` of version 1.
    fn passlib_bcrypt(&self) -> Result<OldHash, ReadError> {
        const DAMAGED: ReadError = ReadError::Damaged("bcrypt-sha256");
        let [cost, salt, digest] = parts(self.rest).ok_or(DAMAGED)?;
        let after = |start: &str| cost.strip_prefix(start).and_then(number);
        let second = ["v=2,t=2a,r=", "v=2,t=2b,r=", "v=2,t=2y,r="].into_iter().find_map(after);
        let first = ["2a,", "2b,", "2y,"].into_iter().find_map(after);
        match (first, second) {
            (_, Some(cost)) => self.bcrypt_parts(Before::HmacBase64, cost, salt, digest),
            (Some(cost), None) => self.bcrypt_parts(Before::Sha256Base64, cost, salt, digest),
            (None, None) => Err(DAMAGED),
        }
    }

    /// `ln=14,r=8,p=1$salt$digest`.
    fn scrypt(&self) -> Result<OldHash, ReadError> {
        const DAMAGED: ReadError = ReadError::Damaged("scrypt");
        let [cost, salt, digest] = parts(self.rest).ok_or(DAMAGED)?;
        let [log_n, r, p] = named(cost, ["ln", "r", "p"]).ok_or(DAMAGED)?;
        let (salt, digest) = (base64(salt).ok_or(DAMAGED)?, base64(digest).ok_or(DAMAGED)?);
        let log_n = u8::try_from(log_n).map_err(|_| SchemeError::Cost)?;
        OldHash::new(Algorithm::Scrypt { log_n, r, p, length: digest.len() }, salt, digest)
    }

    /// `16384$salt$8$1$digest`; the salt is text.
    fn django_scrypt(&self) -> Result<OldHash, ReadError> {
        const DAMAGED: ReadError = ReadError::Damaged("scrypt");
        let [n, salt, r, p, digest] = parts(self.rest).ok_or(DAMAGED)?;
        let (n, r, p): (u64, u32, u32) =
            (number(n).ok_or(DAMAGED)?, number(r).ok_or(DAMAGED)?, number(p).ok_or(DAMAGED)?);
        if !n.is_power_of_two() {
            return Err(SchemeError::Cost.into());
        }
        let digest = base64(digest).ok_or(DAMAGED)?;
        let algorithm = Algorithm::Scrypt { log_n: n.trailing_zeros() as u8, r, p, length: digest.len() };
        OldHash::new(algorithm, salt.as_bytes().to_vec(), digest)
    }

    /// `29000$salt$digest`, or `i=600000,l=32$salt$digest` as a PHC string.
    fn pbkdf2(&self, hash: Pbkdf2Hash) -> Result<OldHash, ReadError> {
        const DAMAGED: ReadError = ReadError::Damaged("PBKDF2");
        let [cost, salt, digest] = parts(self.rest).ok_or(DAMAGED)?;
        let (salt, digest) = (base64(salt).ok_or(DAMAGED)?, base64(digest).ok_or(DAMAGED)?);
        let length = digest.len();
        let iterations = match (cost.strip_prefix("i="), named(cost, ["i", "l"])) {
            (None, _) => number(cost),
            (Some(iterations), None) => number(iterations),
            (Some(_), Some([iterations, l])) => (l as usize == length).then_some(iterations),
        };
        let iterations = iterations.ok_or(DAMAGED)?;
        OldHash::new(Algorithm::Pbkdf2 { hash, iterations, length }, salt, digest)
    }

    /// `600000$salt$digest`; the salt is text.
    fn django_pbkdf2(&self, hash: Pbkdf2Hash) -> Result<OldHash, ReadError> {
        const DAMAGED: ReadError = ReadError::Damaged("PBKDF2");
        let [iterations, salt, digest] = parts(self.rest).ok_or(DAMAGED)?;
        let digest = base64(digest).ok_or(DAMAGED)?;
        let iterations = number(iterations).ok_or(DAMAGED)?;
        let algorithm = Algorithm::Pbkdf2 { hash, iterations, length: digest.len() };
        OldHash::new(algorithm, salt.as_bytes().to_vec(), digest)
    }
}

/// Exactly so many parts between `$`.
fn parts<const N: usize>(text: &str) -> Option<[&str; N]> {
    let parts: Vec<&str> = text.split('$').collect();
    parts.try_into().ok()
}

/// Exactly these numbers, named and in this order.
fn named<const N: usize>(text: &str, names: [&str; N]) -> Option<[u32; N]> {
    let mut parts = text.split(',');
    let mut numbers = [0; N];
    for (place, name) in numbers.iter_mut().zip(names) {
        *place = number(parts.next()?.strip_prefix(name)?.strip_prefix('=')?)?;
    }
    parts.next().is_none().then_some(numbers)
}

fn two_digits(text: &str) -> Option<u32> {
    (text.len() == 2).then(|| number(text)).flatten()
}
