//! Positions of an error.

/// Most positions, and what the kernel compares at once.
pub(crate) const MOST: usize = 128;
/// What is compared by one instruction.
const LANES: usize = 16;

/// Whether all of these differ: 1 or 0. Positions are below 2¹³. Each is compared with the 64 that follow it in a ring: so is each pair.
#[inline(always)]
pub(crate) fn all_differ(positions: &[u32]) -> u8 {
    let mut ring = [0u16; 3 * MOST / 2];
    for (i, place) in ring[..MOST].iter_mut().enumerate() {
        // What is missing is filled with numbers that are no positions.
        *place = positions.get(i).map_or(0x8000 | i as u16, |position| *position as u16);
    }
    ring.copy_within(..MOST / 2, MOST);
    let mut equal = [0u16; LANES];
    for (first, numbers) in ring[..MOST].as_chunks::<LANES>().0.iter().enumerate() {
        let followers = &ring[LANES * first + 1..];
        for others in followers.array_windows::<LANES>().take(MOST / 2) {
            for ((equal, number), other) in equal.iter_mut().zip(numbers).zip(others) {
                *equal |= u16::from(number == other);
            }
        }
    }
    1 ^ equal.iter().fold(0, |any, equal| any | equal) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn any_pair_of_equal_positions_is_found() {
        for t in [1, 2, 64, 96, 119, 128] {
            let positions: Vec<u32> = (0..t).map(|i| (i * 61 + 5) % 8192).collect();
            assert_eq!(all_differ(&positions), 1, "{t} positions");
            for i in 0..t as usize {
                for j in 0..i {
                    let mut twice = positions.clone();
                    twice[j] = twice[i];
                    assert_eq!(all_differ(&twice), 0, "{t} positions, {j} and {i}");
                }
            }
        }
    }
}
