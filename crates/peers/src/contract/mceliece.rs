//! Classic McEliece, the submission to round 4 of NIST's competition (specification of 2022-10-23).
//!
//! A key pair follows from its seed ([`super::kem`]). The coins of an encapsulation are the state of a [`Stream`], from which the errors'
//! positions are drawn in blocks as large as the reference implementation's, until a block will do.

use crate::seed::Stream;

/// A parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// mceliece348864.
    S348864,
    /// mceliece348864f, semi-systematic.
    S348864f,
    /// mceliece460896.
    S460896,
    /// mceliece460896f, semi-systematic.
    S460896f,
    /// mceliece6688128.
    S6688128,
    /// mceliece6688128f, semi-systematic.
    S6688128f,
    /// mceliece6960119.
    S6960119,
    /// mceliece6960119f, semi-systematic.
    S6960119f,
    /// mceliece8192128.
    S8192128,
    /// mceliece8192128f, semi-systematic.
    S8192128f,
}

/// Bytes of randomness that an encapsulation is given.
pub const COINS: usize = 8;

/// The stream that the coins of an encapsulation stand for.
#[must_use]
pub fn stream(coins: &[u8]) -> Stream {
    Stream::from_state(state(coins))
}

/// Its state.
#[must_use]
pub fn state(coins: &[u8]) -> u64 {
    coins.iter().rev().fold(0, |state, byte| state << 8 | u64::from(*byte))
}

impl Set {
    /// All of them, in the order of the tasks.
    pub const ALL: [Self; 10] = [
        Self::S348864,
        Self::S348864f,
        Self::S460896,
        Self::S460896f,
        Self::S6688128,
        Self::S6688128f,
        Self::S6960119,
        Self::S6960119f,
        Self::S8192128,
        Self::S8192128f,
    ];

    /// What follows `mceliece` in its name: `348864f`.
    #[must_use]
    pub fn number(self) -> &'static str {
        match self {
            Self::S348864 => "348864",
            Self::S348864f => "348864f",
            Self::S460896 => "460896",
            Self::S460896f => "460896f",
            Self::S6688128 => "6688128",
            Self::S6688128f => "6688128f",
            Self::S6960119 => "6960119",
            Self::S6960119f => "6960119f",
            Self::S8192128 => "8192128",
            Self::S8192128f => "8192128f",
        }
    }

    /// Bytes of an encapsulation key, a decapsulation key and a ciphertext (specification, §4).
    #[must_use]
    pub fn sizes(self) -> [usize; 3] {
        match self {
            Self::S348864 | Self::S348864f => [261_120, 6_492, 96],
            Self::S460896 | Self::S460896f => [524_160, 13_608, 156],
            Self::S6688128 | Self::S6688128f => [1_044_992, 13_932, 208],
            Self::S6960119 | Self::S6960119f => [1_047_319, 13_948, 194],
            Self::S8192128 | Self::S8192128f => [1_357_824, 14_120, 208],
        }
    }
}
