//! Which arms hash many messages at once, and in how many lanes.
//!
//! | arm | SHA-256 | SM3 | Keccak |
//! |---|---|---|---|
//! | `avx512` | 16 lanes, 8 for up to 8 messages, `sha` for up to 4 | 16 lanes, 8 for up to 8 messages | 8 lanes |
//! | `sha` | 2 lanes | – | – |
//! | `avx2` | 8 lanes | 8 lanes | 4 lanes |
//! | none of these | one by one | one by one | one by one |
//!
//! The table of arms in `candor-cpu` says which of them a CPU takes, and from how many messages on.

use candor_cpu::arms::Routine;
use candor_cpu::{Cpu, HaveAvx2, HaveAvx512Crypto, HaveSha};

/// So many messages are hashed sooner with the SHA instructions than in vectors of which half or more is idle.
pub(super) const FEW: usize = 4;

/// How SHA-256 hashes many messages.
#[derive(Clone, Copy)]
pub(super) enum Sha256Arm {
    /// AVX-512.
    Avx512(HaveAvx512Crypto),
    /// The SHA instructions, two messages at a time.
    Sha(HaveSha),
    /// AVX2, where there are no SHA instructions, which are as fast.
    Avx2(HaveAvx2),
    /// One by one.
    OneByOne,
}

impl Sha256Arm {
    pub(super) fn choose(cpu: Cpu, messages: usize) -> Self {
        let cpu = cpu.for_size(Routine::Sha256Batch, messages);
        match (HaveAvx512Crypto::check(cpu), HaveSha::check(cpu)) {
            (Some(token), None) => Self::Avx512(token),
            (Some(token), Some(_)) if messages > FEW => Self::Avx512(token),
            (_, Some(token)) => Self::Sha(token),
            (None, None) => HaveAvx2::check(cpu).map_or(Self::OneByOne, Self::Avx2),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Avx512(_) => "avx512",
            Self::Sha(_) => "sha",
            Self::Avx2(_) => "avx2",
            Self::OneByOne => "one-by-one",
        }
    }
}

/// How SM3 and Keccak hash many messages.
#[derive(Clone, Copy)]
pub(super) enum VectorArm {
    /// AVX-512.
    Avx512(HaveAvx512Crypto),
    /// AVX2.
    Avx2(HaveAvx2),
    /// One by one.
    OneByOne,
}

impl VectorArm {
    pub(super) fn choose(cpu: Cpu, routine: Routine, messages: usize) -> Self {
        let cpu = cpu.for_size(routine, messages);
        if let Some(token) = HaveAvx512Crypto::check(cpu) {
            Self::Avx512(token)
        } else {
            HaveAvx2::check(cpu).map_or(Self::OneByOne, Self::Avx2)
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Avx512(_) => "avx512",
            Self::Avx2(_) => "avx2",
            Self::OneByOne => "one-by-one",
        }
    }
}
