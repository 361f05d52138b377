//! Which of the arms that a CPU can run it should run: a table by microarchitecture.
//!
//! The widest instructions are not always the fastest. The table says for each routine and microarchitecture which tier is, and where that
//! comes from; it is text ([`TABLE`]), checked when this crate is compiled, and written by `cargo xtask tune arms` from sealed runs.
//! [`Cpu::host`] follows it. A tier that was asked for by name ([`Cpu::named`], `CANDOR_CPU`) does not: it takes its own widest arm.
//!
//! # CPUs that nobody has measured
//!
//! They follow the section `unknown`, and so does every row that says `-`. Its rule is the least loss at worst: of the arms of a routine it
//! takes the one whose greatest loss on any measured CPU is smallest. Today that is the widest. Where 256 bits beat 512 (products on Zen 4)
//! the wrong choice costs 13 %; where 512 bits win (batches of Keccak on Zen 5) it costs 60 %. CPUs that slow down for 512-bit instructions
//! (Skylake-X) lack the wide VPCLMULQDQ and VAES, and therefore [`HaveAvx512Crypto`](crate::HaveAvx512Crypto).

use crate::table::CHOICES;
use crate::{Cpu, Microarchitecture};

pub use crate::table::{Routine, TABLE};

impl Cpu {
    /// The part of this CPU that `routine` should use, whatever the size of its work: the tokens of this value lead to the arm that the table chooses.
    #[inline]
    #[must_use]
    pub fn for_routine(self, routine: Routine) -> Self {
        self.for_size(routine, usize::MAX)
    }

    /// The same where the table distinguishes sizes; the routine says what its size is.
    #[inline]
    #[must_use]
    pub fn for_size(self, routine: Routine, size: usize) -> Self {
        match self.microarchitecture() {
            Some(here) => Self::of(self.groups() & CHOICES.groups(here.index(), routine, size)),
            None => self,
        }
    }

    /// The same instructions with the choices that the table has for a microarchitecture, this machine's or another.
    #[must_use]
    pub const fn choosing_as(self, cpu: Microarchitecture) -> Self {
        self.with_table(cpu.index() as u8 + 1)
    }

    /// The microarchitecture whose choices it takes; `None` for a tier that was asked for by name, which takes its widest arms.
    #[inline]
    #[must_use]
    pub fn microarchitecture(self) -> Option<Microarchitecture> {
        self.table().checked_sub(1).map(Microarchitecture::at)
    }
}

/// A line of the table, for people and programs that show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The microarchitecture.
    pub cpu: Microarchitecture,
    /// The routine.
    pub routine: Routine,
    /// What it takes there: a tier, `widest`, two of these around a size, or `-` for what unknown CPUs take.
    pub arms: &'static str,
    /// Where that comes from: `run NAME …`, another source in words, `rule`, or `not run`.
    pub source: &'static str,
}

/// All lines of the table.
pub fn rows() -> impl Iterator<Item = Row> {
    let mut cpu = Microarchitecture::UNKNOWN;
    TABLE.lines().filter_map(move |line| {
        let (first, rest) = line.split_once(' ')?;
        if first == "cpu" {
            cpu = Microarchitecture::named(rest.split(' ').next()?)?;
        }
        let routine = Routine::ALL.into_iter().find(|routine| routine.name() == first)?;
        let (arms, source) = rest.split_once(' ')?;
        Some(Row { cpu, routine, arms, source })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HaveAvx2, HaveAvx512Crypto, HaveClmul, HaveSha, HaveVpclmul, TIERS};

    /// A CPU that has everything x86-64 has, wherever this test runs; nothing but its tokens is used.
    fn everything() -> Cpu {
        Cpu::of(TIERS.iter().find(|tier| tier.name == "avx512").unwrap().groups)
    }

    fn like(name: &str) -> Cpu {
        everything().choosing_as(Microarchitecture::named(name).unwrap())
    }

    #[test]
    fn every_microarchitecture_has_a_row_for_every_routine() {
        for cpu in Microarchitecture::all() {
            for routine in Routine::ALL {
                let found = rows().filter(|row| row.cpu == cpu && row.routine == routine).count();
                assert_eq!(found, 1, "{} of {cpu}", routine);
            }
        }
    }

    #[test]
    fn every_row_has_a_source_and_only_unmeasured_ones_follow_the_rule() {
        for row in rows() {
            let measured = row.source.starts_with("run 20") || row.source.starts_with("review ");
            let followed = row.source == "not run" && row.arms == "-";
            let rule = row.cpu == Microarchitecture::UNKNOWN && row.source == "rule";
            assert!(rule || (measured && row.arms != "-") || followed, "{row:?}");
        }
    }

    #[test]
    fn products_on_a_zen_4_take_256_bits_and_fields_512() {
        let zen4 = like("zen4");
        assert!(HaveAvx512Crypto::check(zen4).is_some());
        let products = zen4.for_routine(Routine::Gf2Mul);
        assert!(HaveAvx512Crypto::check(products).is_none() && HaveVpclmul::check(products).is_some());
        assert!(HaveAvx512Crypto::check(zen4.for_routine(Routine::Gf2Field)).is_some());
        assert!(HaveAvx512Crypto::check(like("zen5").for_routine(Routine::Gf2Mul)).is_some());
    }

    #[test]
    fn a_size_decides_where_arms_cross() {
        let unknown = everything().choosing_as(Microarchitecture::UNKNOWN);
        let wide = |size| HaveAvx512Crypto::check(unknown.for_size(Routine::Sha256Batch, size)).is_some();
        assert!(!wide(1) && !wide(6) && wide(7) && wide(usize::MAX));
        // Without AVX-512 the SHA instructions and AVX2 are still there to choose from.
        let few = unknown.for_size(Routine::Sha256Batch, 6);
        assert!(HaveSha::check(few).is_some() && HaveAvx2::check(few).is_some());
    }

    #[test]
    fn a_row_without_a_measurement_does_as_unknown_cpus_do() {
        let unlike = like("ice-lake");
        for routine in Routine::ALL {
            for size in [1, 6, 7, 1000] {
                let unknown = everything().choosing_as(Microarchitecture::UNKNOWN).for_size(routine, size);
                assert_eq!(unlike.for_size(routine, size), unknown, "{routine} of {size}");
            }
        }
    }

    #[test]
    fn a_tier_asked_for_by_name_is_not_narrowed() {
        for routine in Routine::ALL {
            assert_eq!(everything().for_size(routine, 1), everything());
            assert_eq!(Cpu::portable().for_routine(routine), Cpu::portable());
        }
    }

    #[test]
    fn a_choice_never_adds_what_the_cpu_lacks() {
        let small = Cpu::of(HaveClmul::BIT);
        for cpu in Microarchitecture::all() {
            for routine in Routine::ALL {
                let chosen = small.choosing_as(cpu).for_routine(routine);
                assert!(HaveAvx2::check(chosen).is_none() && HaveSha::check(chosen).is_none());
            }
        }
    }
}
