//! What a password's container asks of its reader.

use super::ContainerError;
use candor_primitives::ksf::Params;

/// The cost of a guess at a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Memory in KiB.
    pub memory: u32,
    /// Passes over it.
    pub passes: u32,
    /// Lanes in it.
    pub lanes: u32,
}

impl Cost {
    /// 256 MiB, 3 passes.
    pub const DEFAULT: Self = Self { memory: 256 << 10, passes: 3, lanes: 1 };
    /// The most memory that a file may ask of its reader, in KiB: 1 GiB.
    pub const MOST_MEMORY: u32 = 1 << 20;
    /// The most passes.
    pub const MOST_PASSES: u32 = 16;
    /// The most lanes.
    pub const MOST_LANES: u32 = 16;

    pub(super) fn params(self) -> Result<Params, ContainerError> {
        let Self { memory, passes, lanes } = self;
        let refused = ContainerError::Cost { memory, passes, lanes };
        if memory > Self::MOST_MEMORY || passes > Self::MOST_PASSES || lanes > Self::MOST_LANES {
            return Err(refused);
        }
        Params::new(memory, passes, lanes).map_err(|_| refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bound_is_refused_beyond_it_and_taken_at_it() {
        let cheap = Cost { memory: 1024, passes: 1, lanes: 1 };
        let refused = |cost: Cost| cost.params().is_err();
        assert!(refused(Cost { memory: Cost::MOST_MEMORY + 1, ..cheap }));
        assert!(!refused(Cost { memory: Cost::MOST_MEMORY, ..cheap }));
        assert!(refused(Cost { passes: Cost::MOST_PASSES + 1, ..cheap }));
        assert!(!refused(Cost { passes: Cost::MOST_PASSES, ..cheap }));
        assert!(refused(Cost { lanes: Cost::MOST_LANES + 1, ..cheap }));
        assert!(!refused(Cost { lanes: Cost::MOST_LANES, ..cheap }));
        assert!(refused(Cost { memory: 8 * 16 - 1, lanes: 16, ..cheap }) && refused(Cost { passes: 0, ..cheap }));
        assert!(!refused(Cost { memory: 8 * 16, lanes: 16, ..cheap }));
    }

    #[test]
    fn a_refused_cost_says_what_is_allowed() {
        let Err(error) = (Cost { memory: 7, passes: 1, lanes: 1 }).params() else { panic!("7 KiB are too few") };
        let said = error.to_string();
        assert!(said.contains("7 KiB, 1 passes and 1 lanes"), "{said}");
        assert!(said.contains("at least 8 KiB for each lane and at most 1048576 KiB in all"), "{said}");
    }
}
