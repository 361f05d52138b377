//! What a client computes for a server that it does not know yet.

use crate::limits::{BCRYPT, MEMORY, PBKDF2, WORK};
use crate::scheme::{Algorithm, OldScheme};
use std::ops::RangeInclusive;

/// What a client computes for a server that has not proved yet to be the right one: enough for what other systems store, and too little to freeze it.
/// Anything cheaper than the least is more likely a mistake or a false server than what a system has stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostLimits {
    /// The most memory of Argon2 and scrypt, in bytes.
    pub memory: u64,
    /// Bytes that Argon2 and scrypt write in all.
    pub work: RangeInclusive<u64>,
    /// bcrypt's cost.
    pub bcrypt: RangeInclusive<u32>,
    /// PBKDF2's iterations.
    pub pbkdf2: RangeInclusive<u32>,
}

/// On which side of [`CostLimits`] a hash is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BeyondLimits {
    /// It costs too little.
    #[error("costs too little")]
    TooWeak,
    /// It costs too much.
    #[error("costs too much")]
    TooCostly,
}

impl CostLimits {
    /// Argon2 and scrypt: at most 256 MiB, and 1 MiB to 2 GiB written in all. bcrypt: 4 to 14. PBKDF2: 1,000 (RFC 8018's least) to 2,000,000 iterations. On
    /// a slow computer the most takes some seconds.
    pub const DEFAULT: Self =
        Self { memory: 256 << 20, work: 1 << 20..=2 << 30, bcrypt: 4..=14, pbkdf2: 1000..=2_000_000 };
    /// Whatever can be a scheme: up to a gigabyte, and minutes.
    pub const NONE: Self = Self { memory: MEMORY, work: 0..=WORK, bcrypt: 0..=BCRYPT, pbkdf2: 0..=PBKDF2 };

    /// Whether a hash is within these limits.
    ///
    /// # Errors
    /// [`BeyondLimits`] says on which side it is not.
    pub fn check(&self, scheme: &OldScheme) -> Result<(), BeyondLimits> {
        let (memory, cost, range) = match scheme.algorithm() {
            Algorithm::Argon2 { memory_kib, iterations, .. } => {
                let memory = u64::from(memory_kib) << 10;
                (memory, memory.saturating_mul(iterations.into()), self.work.clone())
            }
            Algorithm::Scrypt { log_n, r, p, .. } => {
                let memory = (128 * u64::from(r)) << log_n;
                (memory, memory.saturating_mul(p.into()), self.work.clone())
            }
            Algorithm::Bcrypt { cost, .. } => (0, cost.into(), wide(&self.bcrypt)),
            Algorithm::Pbkdf2 { iterations, .. } => (0, iterations.into(), wide(&self.pbkdf2)),
        };
        if memory > self.memory || cost > *range.end() {
            Err(BeyondLimits::TooCostly)
        } else if cost < *range.start() {
            Err(BeyondLimits::TooWeak)
        } else {
            Ok(())
        }
    }
}

impl Default for CostLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

fn wide(range: &RangeInclusive<u32>) -> RangeInclusive<u64> {
    (*range.start()).into()..=(*range.end()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_computes_what_systems_store_and_nothing_that_freezes_it() {
        use BeyondLimits::{TooCostly, TooWeak};
        let check = |scheme: &str, limits: CostLimits| limits.check(&scheme.parse().unwrap());
        let salt = "AAAAAAAAAAAAAAAAAAAAAA";
        for (cost, expected) in [
            ("bcrypt$r=4", Ok(())),
            ("bcrypt$r=14", Ok(())),
            ("bcrypt$r=15", Err(TooCostly)),
            ("pbkdf2-sha256$i=999,l=32", Err(TooWeak)),
            ("pbkdf2-sha256$i=1000,l=32", Ok(())),
            ("pbkdf2-sha256$i=2000000,l=32", Ok(())),
            ("pbkdf2-sha256$i=2000001,l=32", Err(TooCostly)),
            ("argon2id$v=19,m=64,t=3,p=1,l=32", Err(TooWeak)),
            ("argon2id$v=19,m=1024,t=1,p=1,l=32", Ok(())),
            ("argon2id$v=19,m=262144,t=8,p=1,l=32", Ok(())),
            ("argon2id$v=19,m=262145,t=1,p=1,l=32", Err(TooCostly)),
            ("argon2id$v=19,m=262144,t=9,p=1,l=32", Err(TooCostly)),
            ("scrypt$ln=9,r=8,p=1,l=32", Err(TooWeak)),
            ("scrypt$ln=17,r=8,p=1,l=32", Ok(())),
            ("scrypt$ln=19,r=8,p=1,l=32", Err(TooCostly)),
            ("scrypt$ln=17,r=8,p=17,l=32", Err(TooCostly)),
        ] {
            let scheme = format!("${cost}${salt}");
            assert_eq!(check(&scheme, CostLimits::DEFAULT), expected, "{scheme}");
            assert_eq!(check(&scheme, CostLimits::NONE), Ok(()), "{scheme}");
        }
    }
}
