//! Error vectors of fixed weight (specification, section 2.4.4).

use super::arm_mux::Arm;
use super::parameters::{MOST_ERRORS, Parameters};
use crate::words::Wiped;
use candor_cpu::secret;

/// One attempt at an error vector of weight t, from 2τ random bytes ([`Parameters::candidates`]): writes it into `error`, n bits, and says
/// whether it worked. If not, the caller draws again. Two bytes are a position, lowest first, of which the lowest m bits count; the first t
/// positions below n must all differ.
///
/// Which of the numbers are below n is public, and whether the attempt works: the positions that are taken are independent of the
/// first, and an attempt that fails is forgotten.
///
/// # Panics
/// If the lengths are not those of the set.
pub(crate) fn attempt(arm: Arm, set: &Parameters, random: &[u8], error: &mut [u64]) -> bool {
    assert!(random.len() == 2 * set.candidates() && error.len() == set.n.div_ceil(64));
    let mut positions = Wiped::<u32, MOST_ERRORS>::zero();
    let mut found = 0;
    for bytes in random.as_chunks::<2>().0 {
        let number = usize::from(u16::from_le_bytes(*bytes)) & (set.q() - 1);
        let below = ((number as u64).wrapping_sub(set.n as u64) >> 63) as u8;
        // One that is out of range is overwritten by the next: a branch would be mispredicted.
        positions[found] = number as u32;
        found += usize::from(secret::declassified(below, "mceliece-position-in-range"));
        if found == set.t {
            break;
        }
    }
    if found < set.t {
        return false;
    }
    // Most attempts fail here where n is small for t, before anything that takes long.
    let differ = arm.all_differ(&positions[..set.t]);
    if secret::declassified(differ, "mceliece-positions-differ") == 0 {
        return false;
    }
    arm.scatter(&positions[..set.t], error);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mceliece::parameters::ALL;
    use crate::mceliece::tests::{arms, random};
    use std::collections::BTreeSet;
    use std::vec;
    use std::vec::Vec;

    /// The specification's words, on a set of positions.
    fn expected(set: &Parameters, random: &[u8]) -> Option<BTreeSet<usize>> {
        let numbers = random.chunks(2).map(|pair| usize::from(u16::from_le_bytes([pair[0], pair[1]])) % set.q());
        let taken: Vec<usize> = numbers.filter(|number| *number < set.n).take(set.t).collect();
        let distinct: BTreeSet<usize> = taken.iter().copied().collect();
        (taken.len() == set.t && distinct.len() == set.t).then_some(distinct)
    }

    #[test]
    fn an_attempt_takes_the_first_positions_in_range_or_fails() {
        for set in ALL.into_iter().step_by(2) {
            let mut random = random(set.t as u64);
            let (mut worked, mut failed) = (0, 0);
            for _ in 0..100 {
                let bytes: Vec<u8> = (0..2 * set.candidates()).map(|_| random() as u8).collect();
                for arm in arms() {
                    let mut error = vec![u64::MAX; set.n.div_ceil(64)];
                    let good = attempt(arm, set, &bytes, &mut error);
                    let Some(positions) = expected(set, &bytes) else {
                        assert!(!good);
                        failed += 1;
                        continue;
                    };
                    let found = (0..64 * error.len()).filter(|i| error[i / 64] >> (i % 64) & 1 == 1).collect();
                    assert_eq!((good, positions), (true, found), "{}", arm.name());
                    worked += 1;
                }
            }
            assert!(worked > 0 && failed > 0, "{worked} worked, {failed} failed");
        }
    }

    #[test]
    fn too_few_positions_in_range_and_a_repeated_one_fail() {
        let set = &ALL[0];
        for arm in arms() {
            let mut error = vec![0; set.n.div_ceil(64)];
            let numbers = |of: &dyn Fn(usize) -> usize| {
                (0..set.candidates()).flat_map(|i| (of(i) as u16).to_le_bytes()).collect::<Vec<u8>>()
            };
            let last_out = |i: usize| if i <= set.t { set.n } else { i };
            assert!(!attempt(arm, set, &numbers(&last_out), &mut error));
            let just_enough = |i: usize| if i < set.t { set.n } else { i };
            assert!(attempt(arm, set, &numbers(&just_enough), &mut error));
            let repeated = |i: usize| if i == set.t - 1 { 0 } else { i };
            assert!(!attempt(arm, set, &numbers(&repeated), &mut error));
        }
    }
}
