//! Key stretching: what makes each guess of a password cost memory and time.
//!
//! - [`KsfParams`] says which function and how much of it; a server keeps it in each record and sends it with KE2.
//! - [`Limits`] is what a client accepts of that: nobody who poses as the server must be able to have a password stretched too
//!   little, or to freeze the client with terabytes.
//! - [`Ksf`] does the work: [`Argon2id`], or [`NoStretching`] for tests and measurements.

mod argon2id;

pub use argon2id::Argon2id;

use crate::Error;
use crate::error::{Input, KsfError, LimitError, exactly};

/// Which key stretching function, and how much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KsfParams {
    /// None: the identity function of RFC 9807's test vectors. The default [`Limits`] refuse it.
    Identity,
    /// Argon2id, version 0x13, salt of 16 zeros, 64 bytes of output (RFC 9807 §7, RFC 9106). Made by [`Self::argon2id`], which checks the
    /// numbers.
    #[non_exhaustive]
    Argon2id {
        /// m, in KiB.
        memory_kib: u32,
        /// t.
        iterations: u32,
        /// p.
        parallelism: u32,
    },
}

impl KsfParams {
    /// 64 MiB, three passes, one lane: what a browser on a phone can do. **Recommended**, and the default: a deployment whose accounts all have
    /// the same parameters can't betray by them which accounts exist.
    pub const BROWSER: Self = Self::Argon2id { memory_kib: 64 << 10, iterations: 3, parallelism: 1 };
    /// 256 MiB, three passes, one lane: for deployments without browsers.
    pub const NATIVE: Self = Self::Argon2id { memory_kib: 256 << 10, iterations: 3, parallelism: 1 };
    /// Bytes of the encoding.
    pub const LENGTH: usize = 13;

    /// Argon2id with `memory_kib` KiB, `iterations` passes and `parallelism` lanes.
    ///
    /// # Errors
    /// [`Error::Ksf`] for numbers that Argon2 does not have (RFC 9106 §3.1: p from 1 to 2²⁴ − 1, t from 1, m from 8p).
    pub const fn argon2id(memory_kib: u32, iterations: u32, parallelism: u32) -> Result<Self, Error> {
        match (iterations, parallelism) {
            (1.., 1..0x0100_0000) if memory_kib / 8 >= parallelism => {
                Ok(Self::Argon2id { memory_kib, iterations, parallelism })
            }
            _ => Err(Error::Ksf(KsfError::Parameters)),
        }
    }

    /// The encoding: a byte for the function (0 identity, 1 Argon2id), then m, t and p in four bytes each, big endian.
    pub fn to_bytes(&self) -> [u8; Self::LENGTH] {
        let (kind, numbers) = match *self {
            Self::Identity => (0, [0; 3]),
            Self::Argon2id { memory_kib, iterations, parallelism } => (1, [memory_kib, iterations, parallelism]),
        };
        let mut bytes = [0; Self::LENGTH];
        bytes[0] = kind;
        bytes[1..].copy_from_slice(numbers.map(u32::to_be_bytes).as_flattened());
        bytes
    }

    /// Reads [`Self::to_bytes`].
    ///
    /// # Errors
    /// [`Error::Length`]; [`Error::Ksf`] for a function that does not exist, or numbers that [`Self::argon2id`] refuses.
    // ct: public, because the parameters are sent
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; Self::LENGTH] = exactly(Input::KsfParams, bytes)?;
        let number = |index: usize| {
            let at = 1 + 4 * index;
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        match (bytes[0], number(0), number(1), number(2)) {
            (0, 0, 0, 0) => Ok(Self::Identity),
            (1, memory_kib, iterations, parallelism) => Self::argon2id(memory_kib, iterations, parallelism),
            _ => Err(Error::Ksf(KsfError::Parameters)),
        }
    }
}

impl Default for KsfParams {
    fn default() -> Self {
        Self::BROWSER
    }
}

/// A key stretching function: `Stretch` of RFC 9807 §2.2.
pub trait Ksf {
    /// Stretches the OPRF's output into `stretched`, with these parameters.
    ///
    /// The input is secret; the time that this takes and the memory that it touches depend on it in Argon2id's second half
    /// (RFC 9106 §3.4.1.3), which is how Argon2id is meant.
    ///
    /// # Errors
    /// [`Error::Ksf`] if the function can't work with the parameters, or there is not enough memory.
    fn stretch(&mut self, params: &KsfParams, input: &[u8; 64], stretched: &mut [u8; 64]) -> Result<(), Error>;
}

/// The identity function, for test vectors, and for measuring everything else. It knows only [`KsfParams::Identity`].
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStretching;

impl Ksf for NoStretching {
    fn stretch(&mut self, params: &KsfParams, input: &[u8; 64], stretched: &mut [u8; 64]) -> Result<(), Error> {
        match params {
            KsfParams::Identity => {
                *stretched = *input;
                Ok(())
            }
            KsfParams::Argon2id { .. } => Err(Error::Ksf(KsfError::OtherFunction)),
        }
    }
}

/// What a client accepts of [`KsfParams`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Whether [`KsfParams::Identity`] is fine. Only in tests.
    pub identity: bool,
    /// The least memory, in KiB.
    pub least_memory_kib: u32,
    /// The least work: memory in KiB times passes.
    pub least_work: u64,
    /// The most memory, in KiB.
    pub most_memory_kib: u32,
    /// The most work.
    pub most_work: u64,
}

impl Limits {
    /// At least 19 MiB with two passes or as much work (OWASP's minimum of 2023); at most 2 GiB (RFC 9106's first
    /// recommendation) and 8 GiB written in all.
    pub const DEFAULT: Self = Self {
        identity: false,
        least_memory_kib: 19 << 10,
        least_work: 2 * (19 << 10),
        most_memory_kib: 2 << 20,
        most_work: 8 << 20,
    };
    /// Whatever comes. For tests and measurements.
    pub const NONE: Self =
        Self { identity: true, least_memory_kib: 0, least_work: 0, most_memory_kib: u32::MAX, most_work: u64::MAX };

    /// Whether the parameters are within these limits.
    ///
    /// # Errors
    /// [`Error::Limits`] says on which side they are not.
    pub fn check(&self, params: &KsfParams) -> Result<(), Error> {
        let (memory, work) = match *params {
            KsfParams::Identity if self.identity => return Ok(()),
            KsfParams::Identity => return Err(Error::Limits(LimitError::NoStretching)),
            KsfParams::Argon2id { memory_kib, iterations, .. } => {
                (memory_kib, u64::from(memory_kib) * u64::from(iterations))
            }
        };
        if memory < self.least_memory_kib || work < self.least_work {
            Err(Error::Limits(LimitError::TooWeak))
        } else if memory > self.most_memory_kib || work > self.most_work {
            Err(Error::Limits(LimitError::TooCostly))
        } else {
            Ok(())
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_back_from_their_bytes() {
        for params in [KsfParams::Identity, KsfParams::BROWSER, KsfParams::NATIVE] {
            assert_eq!(KsfParams::from_bytes(&params.to_bytes()), Ok(params));
        }
    }

    #[test]
    fn parameters_that_do_not_exist_are_refused() {
        let argon2id =
            |memory_kib, iterations, parallelism| KsfParams::Argon2id { memory_kib, iterations, parallelism };
        for (m, t, p) in [(7, 1, 1), (8, 0, 1), (8, 1, 0), (u32::MAX, 1, 1 << 24)] {
            assert_eq!(KsfParams::argon2id(m, t, p), Err(Error::Ksf(KsfError::Parameters)), "{m} {t} {p}");
            assert!(KsfParams::from_bytes(&argon2id(m, t, p).to_bytes()).is_err(), "{m} {t} {p}");
        }
        for (m, t, p) in [(8, 1, 1), (u32::MAX, 1, (1 << 24) - 1)] {
            let params = KsfParams::argon2id(m, t, p).unwrap();
            assert_eq!(KsfParams::from_bytes(&params.to_bytes()), Ok(params));
        }
        assert!(KsfParams::from_bytes(&[2; 13]).is_err());
        assert!(KsfParams::from_bytes(&[0; 12]).is_err());
        let mut identity = [0; 13];
        identity[12] = 1;
        assert!(KsfParams::from_bytes(&identity).is_err());
    }

    #[test]
    fn limits_hold_on_both_sides() {
        let argon2id = |memory_kib, iterations| KsfParams::Argon2id { memory_kib, iterations, parallelism: 1 };
        let limits = Limits::default();
        for fine in [KsfParams::BROWSER, KsfParams::NATIVE, argon2id(19 << 10, 2), argon2id(2 << 20, 1)] {
            assert_eq!(limits.check(&fine), Ok(()), "{fine:?}");
        }
        for bad in [
            KsfParams::Identity,
            argon2id(19 << 10, 1),
            argon2id((19 << 10) - 1, 9),
            argon2id((2 << 20) + 1, 1),
            argon2id(1 << 20, 9),
        ] {
            assert!(matches!(limits.check(&bad), Err(Error::Limits(_))), "{bad:?}");
        }
    }
}
