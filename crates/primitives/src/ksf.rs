//! Key-stretching functions: what makes each guess at a password cost memory and time.
//!
//! [`Argon2id`] (RFC 9106, version 0x13) over memory that the caller holds and that is wiped after each use. The memory is where
//! the time goes: a fresh buffer of 256 MiB costs 65,536 page faults, so keep a [`Memory`], or a [`Pool`] of them.
//!
//! ```
//! use candor_primitives::ksf::{Argon2id, Memory, Params};
//! # fn main() -> Result<(), candor_primitives::ksf::KsfError> {
//! let params = Params::new(64, 1, 1)?; // KiB, passes, lanes: far too cheap for real use
//! let mut memory = Memory::new(params)?;
//! let mut key = [0; 32];
//! Argon2id::new(params).derive(b"correct horse battery staple", b"sixteen bytes!!!", &mut memory, &mut key)?;
//! # Ok(()) }
//! ```

mod argon2;
mod argon2_mux;
mod argon2_portable;
mod memory;
#[cfg(feature = "std")]
mod pool;

pub use argon2::Argon2id;
pub use memory::Memory;
#[cfg(feature = "std")]
pub use pool::{Lease, Pool};

use core::fmt;

/// Why a key-stretching function failed. No error depends on the password, except on its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KsfError {
    /// Lanes outside 1 to 2²⁴ − 1.
    Lanes(u32),
    /// Less than 8 KiB of memory for each lane.
    MemoryTooSmall {
        /// KiB asked for.
        memory: u32,
        /// Lanes asked for.
        lanes: u32,
    },
    /// No pass at all.
    Passes,
    /// Salt shorter than 8 bytes.
    Salt(usize),
    /// Tag shorter than 4 bytes.
    Output(usize),
    /// An input of 4 GiB or more.
    TooLong,
    /// [`Memory`] made for fewer blocks than these parameters need.
    WrongMemory {
        /// KiB that it holds.
        has: usize,
        /// KiB needed.
        needs: usize,
    },
    /// The system refused to allocate this many KiB.
    OutOfMemory(usize),
}

impl fmt::Display for KsfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lanes(lanes) => write!(f, "{lanes} lanes requested; Argon2 allows 1 to 16777215"),
            Self::MemoryTooSmall { memory, lanes } => {
                write!(f, "{memory} KiB of memory requested for {lanes} lanes; Argon2 needs at least 8 KiB per lane")
            }
            Self::Passes => f.write_str("0 passes requested; Argon2 needs at least 1"),
            Self::Salt(length) => {
                write!(f, "salt is {length} bytes long; Argon2 needs at least 8, and 16 are advised for passwords")
            }
            Self::Output(length) => write!(f, "output is {length} bytes long; Argon2 produces at least 4"),
            Self::TooLong => f.write_str("an input is longer than 4294967295 bytes, the most that Argon2 accepts"),
            Self::WrongMemory { has, needs } => {
                write!(f, "memory buffer holds {has} KiB; these parameters need {needs} KiB")
            }
            Self::OutOfMemory(kib) => write!(f, "out of memory: the system refused {kib} KiB for Argon2"),
        }
    }
}

impl core::error::Error for KsfError {}

/// The cost of one call (RFC 9106, section 3.1): memory, passes, lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Params {
    memory: u32,
    passes: u32,
    lanes: u32,
}

impl Params {
    /// 64 MiB, 3 passes, 1 lane: what a browser tab can afford.
    pub const BROWSER: Self = Self { memory: 64 * 1024, passes: 3, lanes: 1 };

    /// 256 MiB, 3 passes, 1 lane: for native clients. libsodium calls this `MODERATE`.
    pub const NATIVE: Self = Self { memory: 256 * 1024, passes: 3, lanes: 1 };

    /// `memory` in KiB (at least 8 for each lane), the number of `passes` over it, and the number of `lanes` in it.
    ///
    /// The lanes are computed one after the other, so they do not make a call faster.
    ///
    /// # Errors
    /// [`KsfError::Lanes`], [`KsfError::MemoryTooSmall`] or [`KsfError::Passes`], whichever is out of Argon2's bounds (RFC 9106, section 3.1).
    pub const fn new(memory: u32, passes: u32, lanes: u32) -> Result<Self, KsfError> {
        if lanes == 0 || lanes >= 1 << 24 {
            return Err(KsfError::Lanes(lanes));
        }
        if memory / 8 < lanes {
            return Err(KsfError::MemoryTooSmall { memory, lanes });
        }
        if passes == 0 {
            return Err(KsfError::Passes);
        }
        Ok(Self { memory, passes, lanes })
    }

    /// Memory in KiB.
    #[must_use]
    pub const fn memory(&self) -> u32 {
        self.memory
    }

    /// The number of passes over the memory.
    #[must_use]
    pub const fn passes(&self) -> u32 {
        self.passes
    }

    /// The number of lanes.
    #[must_use]
    pub const fn lanes(&self) -> u32 {
        self.lanes
    }

    /// The number of 1 KiB blocks in use: the memory rounded down to four segments for each lane (m′ in RFC 9106).
    #[must_use]
    pub const fn blocks(&self) -> usize {
        self.segment() * 4 * self.lanes as usize
    }

    /// Blocks of a quarter of a lane.
    pub(crate) const fn segment(&self) -> usize {
        (self.memory / (4 * self.lanes)) as usize
    }
}
