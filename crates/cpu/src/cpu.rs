//! The value that says which accelerated code may run.

/// Which accelerated code may run, and on which design of CPU, which decides what *should* run ([`arms`](crate::arms)). It holds only
/// groups that a run-time check has found on this machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Cpu {
    /// Groups, a bit each; in the top byte the section of the table of arms, counted from 1, or 0 if the table is not asked.
    bits: u32,
}

const GROUPS: u32 = 0x00ff_ffff;

impl Cpu {
    /// A value with these groups, of which the caller knows that this machine has them. The table is not asked.
    pub(crate) const fn of(groups: u32) -> Self {
        Self { bits: groups & GROUPS }
    }

    #[inline(always)]
    pub(crate) fn groups(self) -> u32 {
        self.bits & GROUPS
    }

    /// The same groups with another section of the table, counted from 1.
    pub(crate) const fn with_table(self, section: u8) -> Self {
        Self { bits: self.bits & GROUPS | (section as u32) << 24 }
    }

    /// The section of the table, counted from 1; 0 for none.
    #[inline(always)]
    pub(crate) fn table(self) -> u8 {
        (self.bits >> 24) as u8
    }

    /// All of it, for [`from_bits`](Self::from_bits).
    pub(crate) fn bits(self) -> u32 {
        self.bits
    }

    /// What [`bits`](Self::bits) gave.
    pub(crate) fn from_bits(bits: u32) -> Self {
        Self { bits }
    }
}
