//! The CPU of this machine: all of it, a tier of it by name, and the default.

use crate::tier::{TIERS, Tier};
use crate::token::*;
use crate::{Cpu, Microarchitecture};
use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};

/// The value of [`Cpu::default`]: set by [`Cpu::set_default`], or else by the first call. All ones means "not set".
static DEFAULT: AtomicU32 = AtomicU32::new(u32::MAX);

impl Cpu {
    /// Everything this machine has, with the choices that the table of arms has for it.
    pub fn host() -> Self {
        Self::of(detect()).choosing_as(Microarchitecture::here())
    }

    /// Nothing but the base instruction set.
    pub const fn portable() -> Self {
        Self::of(0)
    }

    /// The tier of that name, if this machine can run it. Every routine takes the tier's widest arm, whatever the table of arms says.
    pub fn named(name: &str) -> Result<Self, TierError> {
        let tier = TIERS.iter().find(|tier| tier.name == name).ok_or(TierError::Unknown)?;
        match lacking(tier.groups) {
            Some(lacks) => Err(TierError::Missing { tier: tier.name, lacks }),
            None => Ok(Self::of(tier.groups)),
        }
    }

    /// The tiers that this machine can run, from least to most.
    pub fn tiers() -> impl Iterator<Item = &'static Tier> {
        let host = detect();
        TIERS.iter().filter(move |tier| tier.groups & !host == 0)
    }

    /// Makes [`Cpu::default`] return `self` from now on. Call it in a program's `main`, before other threads start.
    pub fn set_default(self) {
        DEFAULT.store(self.bits(), Ordering::Relaxed);
    }

    /// The name of the highest tier whose groups are all here. Routines ask for groups, not for tiers: where a hypervisor hides the SHA
    /// instructions, a CPU with AVX-512 is of tier `avx2`, and products of binary polynomials still run their AVX-512 arm.
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
            bits => Self::from_bits(bits),
        }
    }
}

impl fmt::Debug for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.microarchitecture() {
            Some(here) => write!(f, "Cpu({}, {here})", self.tier()),
            None => write!(f, "Cpu({})", self.tier()),
        }
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
        /// The first feature that the tier needs and this machine lacks, by the name that `target_feature` has for it.
        lacks: &'static str,
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
            Self::Missing { tier, lacks } => write!(f, "this CPU lacks {lacks}, which tier {tier} needs; it runs")?,
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
        let (tier, lacks) = if cfg!(target_arch = "aarch64") { ("avx2", "ssse3") } else { ("pmull", "neon") };
        assert_eq!(Cpu::named(tier), Err(TierError::Missing { tier, lacks }));
    }

    #[test]
    fn a_refusal_names_the_feature_that_is_missing() {
        let error = TierError::Missing { tier: "avx512", lacks: "sha" };
        assert!(std::format!("{error}").starts_with("this CPU lacks sha, which tier avx512 needs; it runs portable"));
    }

    #[test]
    fn a_machine_lacks_a_feature_of_just_those_tiers_that_it_cannot_run() {
        for tier in TIERS {
            let runs = Cpu::tiers().any(|here| here.name == tier.name);
            assert_eq!(lacking(tier.groups).is_none(), runs, "{}", tier.name);
        }
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
    fn the_default_keeps_the_choices_of_this_machine() {
        let host = Cpu::host();
        assert_eq!(host.microarchitecture(), Some(Microarchitecture::here()));
        assert_eq!(Cpu::default(), host);
        assert_eq!(Cpu::named(host.tier()).unwrap().microarchitecture(), None);
    }
}
