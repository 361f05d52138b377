//! Schemes without their salts: what the accounts of an import have in common, and what a name without an account is given.

use crate::scheme::{Algorithm, OldHash, OldScheme, SchemeError, number};
use std::fmt;
use std::str::FromStr;

/// What salts are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SaltKind {
    /// Random bytes.
    Bytes,
    /// Letters and digits, as Django makes them.
    Alphanumeric,
}

/// A scheme without its salt. Written as `$name$cost$kind of salt,length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Template {
    algorithm: Algorithm,
    kind: SaltKind,
    length: usize,
}

impl Template {
    /// The template of a stored hash.
    #[must_use]
    pub fn of(hash: &OldHash) -> Self {
        let salt = hash.scheme().salt();
        // Of random salts of eight bytes, one in 83,000 looks like that; of sixteen, one in seven thousand million.
        let letters = salt.len() >= 8 && salt.iter().all(u8::is_ascii_alphanumeric);
        let kind = if letters { SaltKind::Alphanumeric } else { SaltKind::Bytes };
        Self { algorithm: hash.scheme().algorithm(), kind, length: salt.len() }
    }

    /// Name and cost, for reports.
    #[must_use]
    pub fn scheme_and_cost(&self) -> String {
        self.algorithm.words().replacen('$', " ", 1)
    }

    /// A scheme with a salt made of `random` bytes, which it takes as many of as it needs.
    ///
    /// # Errors
    /// [`SchemeError`] never, for a template that was read or made of a hash.
    pub fn scheme(&self, mut random: impl FnMut() -> u8) -> Result<OldScheme, SchemeError> {
        const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        let salt = (0..self.length).map(|_| match self.kind {
            SaltKind::Bytes => random(),
            // Four bytes for each letter; the few beyond that are drawn again.
            SaltKind::Alphanumeric => loop {
                let drawn = random();
                if drawn < 248 {
                    break LETTERS[usize::from(drawn % 62)];
                }
            },
        });
        OldScheme::new(self.algorithm, salt.collect())
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            SaltKind::Bytes => "bytes",
            SaltKind::Alphanumeric => "alphanumeric",
        };
        write!(f, "${}${kind},{}", self.algorithm.words(), self.length)
    }
}

impl FromStr for Template {
    type Err = SchemeError;

    fn from_str(text: &str) -> Result<Self, SchemeError> {
        let parts: Vec<&str> = text.strip_prefix('$').ok_or(SchemeError::Format)?.split('$').collect();
        let [name, cost, salt] = parts[..] else { return Err(SchemeError::Format) };
        let (kind, length) = salt.split_once(',').ok_or(SchemeError::Format)?;
        let kind = match kind {
            "bytes" => SaltKind::Bytes,
            "alphanumeric" => SaltKind::Alphanumeric,
            _ => return Err(SchemeError::Format),
        };
        let length = number(length).filter(|length| *length <= crate::limits::SALT).ok_or(SchemeError::Salt)?;
        let template = Self { algorithm: Algorithm::from_words(name, cost)?, kind, length };
        // Such salts must exist.
        template.scheme(|| 0)?;
        Ok(template)
    }
}
