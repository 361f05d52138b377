//! Times that were copied. Nothing but the very same numbers is found: a nanosecond more in each is another time to anybody.

/// Two processes agree in so many bits by chance less than once in a million million pairs.
const BITS: f64 = 40.0;

/// Whether the epochs of a subject in a process are its own: so many, and so far apart in steps of the clock, that no other process has the very same by
/// chance. A few epochs by a coarse clock, or those of work that always takes the same, tell nothing.
pub(crate) fn are_telling(ns: &[u64], quantum: u64) -> bool {
    let (Some(least), Some(most)) = (ns.iter().min(), ns.iter().max()) else { return false };
    let steps = (most - least) / quantum.max(1);
    ns.len() as f64 * (1.0 + steps as f64).log2() >= BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_tell_if_there_are_many_steps_of_the_clock_between_them() {
        let quiet: Vec<u64> = (0..5).map(|epoch| 1_000_000 + epoch * 1_000).collect();
        assert!(are_telling(&quiet, 1), "five times twelve bits");
        assert!(!are_telling(&quiet, 41), "not by a clock with steps of 41 ns");
        assert!(are_telling(&quiet.repeat(2), 41), "ten epochs do");
        assert!(!are_telling(&[1_000_000; 1_000], 0) && !are_telling(&[], 1));
    }
}
