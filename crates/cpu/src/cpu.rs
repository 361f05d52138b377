//! The value that says which accelerated code may run.

/// Which accelerated code may run. It holds only groups that a run-time check has found on this machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Cpu {
    groups: u32,
}

impl Cpu {
    /// A value with these groups, of which the caller knows that this machine has them.
    pub(crate) const fn of(groups: u32) -> Self {
        Self { groups }
    }

    #[inline(always)]
    pub(crate) fn groups(self) -> u32 {
        self.groups
    }
}
