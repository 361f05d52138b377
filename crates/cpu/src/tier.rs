//! Tiers: names for sets of groups, from nothing to everything.

use crate::Cpu;
use crate::token::*;
use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};

/// A named set of feature groups. `CANDOR_CPU` takes these names, and subjects carry them: `candor@avx2`.
#[derive(Debug)]
pub struct Tier {
    /// The name, as typed by users.
    pub name: &'static str,
    /// The instructions that it stands for, in one line.
    pub what: &'static str,
    groups: u32,
}

const CLMUL: u32 = HaveClmul::BIT;
const AVX2: u32 = CLMUL | HaveAvx2::BIT;
const VPCLMUL: u32 = AVX2 | HaveSha::BIT | HaveVpclmul::BIT;

/// All tiers, of all architectures, each architecture from least to most.
pub const TIERS: &[Tier] = &[
    Tier { name: "portable", what: "no special instructions", groups: 0 },
    Tier { name: "clmul", what: "x86-64: PCLMULQDQ, AES-NI, SSE4.1", groups: CLMUL },
    Tier { name: "sha", what: "x86-64: clmul and the SHA instructions", groups: CLMUL | HaveSha::BIT },
    Tier { name: "avx2", what: "x86-64: clmul, AVX2, BMI", groups: AVX2 },
    Tier { name: "vpclmul", what: "x86-64: avx2, sha, VPCLMULQDQ and VAES on 256 bits", groups: VPCLMUL },
    Tier {
        name: "avx512",
        what: "x86-64: vpclmul, AVX-512, VPCLMULQDQ and VAES on 512 bits",
        groups: VPCLMUL | HaveAvx512Crypto::BIT,
    },
    Tier { name: "pmull", what: "AArch64: PMULL and AES", groups: HavePmull::BIT },
    Tier {
        name: "arm-sha2",
        what: "AArch64: pmull and the SHA-256 instructions",
        groups: HavePmull::BIT | HaveArmSha2::BIT,
    },
    Tier { name: "zbc", what: "RISC-V: carry-less multiplication (Zbc)", groups: HaveZbc::BIT },
];

/// The value of [`Cpu::default`]: set by [`Cpu::set_default`], or else by the first call. All ones means "not set".
static DEFAULT: AtomicU32 = AtomicU32::new(u32::MAX);

impl Cpu {
    /// Everything this machine has.
    pub fn host() -> Self {
        Self::of(detect())
    }

    /// Nothing but the base instruction set.
    pub const fn portable() -> Self {
        Self::of(0)
    }

    /// The tier of that name, if this machine can run it.
    pub fn named(name: &str) -> Result<Self, TierError> {
        let tier = TIERS.iter().find(|tier| tier.name == name).ok_or(TierError::Unknown)?;
        if tier.groups & !detect() != 0 {
            return Err(TierError::Missing { tier: tier.name });
        }
        Ok(Self::of(tier.groups))
    }

    /// The tiers that this machine can run, from least to most.
    pub fn tiers() -> impl Iterator<Item = &'static Tier> {
        let host = detect();
        TIERS.iter().filter(move |tier| tier.groups & !host == 0)
    }

    /// Makes [`Cpu::default`] return `self` from now on. Call it in a program's `main`, before other threads start.
    pub fn set_default(self) {
        DEFAULT.store(self.groups(), Ordering::Relaxed);
    }

    /// The name of the highest tier whose groups are all here.
    pub fn tier(self) -> &'static str {
        TIERS.iter().rev().find(|tier| tier.groups & !self.groups() == 0).map_or("portable", |tier| tier.name)
    }

    /// A tier that CPUID does not report, for `cargo xtask ct`: valgrind hides instructions that it can run.
    ///
    /// # Safety
    /// The caller promises that every instruction of the tier runs here; otherwise the process dies of SIGILL or worse.
    #[cfg(feature = "ct")]
    #[allow(unsafe_code)] // forcing past the check is the point; only the ct programs have the feature
    pub unsafe fn assume(name: &str) -> Option<Self> {
        TIERS.iter().find(|tier| tier.name == name).map(|tier| Self::of(tier.groups))
    }
}

impl Default for Cpu {
    /// The value passed to [`Cpu::set_default`], or else [`Cpu::host`].
    fn default() -> Self {
        match DEFAULT.load(Ordering::Relaxed) {
            u32::MAX => {
                let host = Self::host();
                host.set_default(); // a concurrent first call detects the same features
                host
            }
            groups => Self::of(groups),
        }
    }
}

impl fmt::Debug for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cpu({})", self.tier())
    }
}

/// Why a tier's name gave no [`Cpu`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TierError {
    /// No tier has this name.
    Unknown,
    /// The tier exists and this machine lacks some of its instructions.
    Missing {
        /// The tier asked for.
        tier: &'static str,
    },
}

impl fmt::Display for TierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>| {
            for (i, tier) in Cpu::tiers().enumerate() {
                write!(f, "{}{}", if i == 0 { " " } else { ", " }, tier.name)?;
            }
            Ok(())
        };
        match self {
            Self::Unknown => write!(f, "unknown tier; this CPU runs")?,
            Self::Missing { tier } => write!(f, "this CPU lacks instructions of tier {tier}; it runs")?,
        }
        list(f)
    }
}

impl core::error::Error for TierError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portable_is_always_there_and_comes_first() {
        assert_eq!(Cpu::named("portable"), Ok(Cpu::portable()));
        assert_eq!(Cpu::portable().tier(), "portable");
        assert_eq!(Cpu::tiers().next().unwrap().name, "portable");
    }

    #[test]
    fn an_unknown_name_is_an_error_that_lists_what_runs() {
        let error = Cpu::named("avx9000").unwrap_err();
        assert_eq!(error, TierError::Unknown);
        assert!(std::format!("{error}").contains("portable"));
    }

    #[test]
    fn a_tier_of_another_architecture_is_missing_not_unknown() {
        let foreign = if cfg!(target_arch = "aarch64") { "avx2" } else { "pmull" };
        assert_eq!(Cpu::named(foreign), Err(TierError::Missing { tier: foreign }));
    }

    #[test]
    fn every_tier_of_this_machine_answers_to_its_own_name() {
        for tier in Cpu::tiers() {
            assert_eq!(Cpu::named(tier.name).unwrap().tier(), tier.name);
        }
    }

    #[test]
    fn tokens_follow_the_tier_not_the_machine() {
        assert!(HaveClmul::check(Cpu::portable()).is_none());
        if let Ok(cpu) = Cpu::named("clmul") {
            assert!(HaveClmul::check(cpu).is_some());
            assert!(HaveAvx2::check(cpu).is_none());
        }
    }

    #[test]
    fn tier_names_are_unique() {
        for (i, a) in TIERS.iter().enumerate() {
            assert!(TIERS[..i].iter().all(|b| b.name != a.name && b.groups != a.groups), "{}", a.name);
        }
    }
}
