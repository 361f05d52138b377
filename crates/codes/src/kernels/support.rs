//! Positions of the bits of a sparse vector, which are secret, and the vector itself.

use candor_cpu::barrier;

/// Replaces each position that occurs again later by its own index, from the last to the first (SampleFixedWeightVect's second
/// step). Position i is at least i, so what takes its place is new.
#[inline(always)]
pub(crate) fn distinct(positions: &mut [u32]) {
    for i in (0..positions.len()).rev() {
        let (earlier, later) = positions.split_at_mut(i + 1);
        let again = barrier::opaque_u32(0u32.wrapping_sub(u32::from(contains(later, earlier[i]))));
        earlier[i] ^= (earlier[i] ^ i as u32) & again;
    }
}

/// Whether `position` is among the positions: 1 or 0.
#[inline(always)]
pub(crate) fn contains(positions: &[u32], position: u32) -> u8 {
    let found = positions.iter().fold(0, |found, other| found | equal(*other, position));
    (found & 1) as u8
}

/// The vector with these bits set, in `words`, all of which are looked at for every position. 16 words at a time stay in registers.
#[inline(always)]
pub(crate) fn scatter(positions: &[u32], words: &mut [u64]) {
    let (blocks, rest) = words.as_chunks_mut::<16>();
    let after = 16 * blocks.len();
    for (at, block) in blocks.iter_mut().enumerate() {
        *block = gather(positions, 16 * at as u32);
    }
    let last: [u64; 16] = gather(positions, after as u32);
    rest.copy_from_slice(&last[..rest.len()]);
}

/// Words `first` to `first + 15` of the vector.
#[inline(always)]
fn gather(positions: &[u32], first: u32) -> [u64; 16] {
    let mut block = [0; 16];
    for position in positions {
        let (word, bit) = (position >> 6, 1u64 << (position & 63));
        for (i, sum) in block.iter_mut().enumerate() {
            // LLVM would jump to the word that is meant.
            *sum |= bit & barrier::opaque_u64(all_if_zero(u64::from(word ^ (first + i as u32))));
        }
    }
    block
}

/// All ones if the two are equal, or else 0.
#[inline(always)]
fn equal(a: u32, b: u32) -> u32 {
    all_if_zero(u64::from(a ^ b)) as u32
}

/// All ones for 0, and 0 for 1 … 2³² − 1.
#[inline(always)]
fn all_if_zero(value: u64) -> u64 {
    (value.wrapping_sub(1).cast_signed() >> 63).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn scattered_bits_stand_where_the_positions_say() {
        for words in [1, 15, 16, 17, 277] {
            let positions = [0, 1, 63, 64 * words as u32 - 1, 31 * words as u32];
            let mut found = vec![7; words];
            scatter(&positions, &mut found);
            let mut expected = vec![0u64; words];
            positions.iter().for_each(|at| expected[*at as usize / 64] |= 1 << (at % 64));
            assert_eq!(found, expected, "{words} words");
        }
    }

    #[test]
    fn of_equal_positions_the_last_stays() {
        let mut positions = [9, 5, 9, 5, 9, 6];
        distinct(&mut positions);
        assert_eq!(positions, [0, 1, 2, 5, 9, 6]);
        let mut new = [4, 5, 6];
        distinct(&mut new);
        assert_eq!(new, [4, 5, 6]);
        // A replacement can be what an earlier position already is.
        let mut chain = [1, 7, 7];
        distinct(&mut chain);
        assert_eq!(chain, [0, 1, 7]);
    }

    #[test]
    fn membership_is_found_wherever_it_is() {
        for i in 0..40 {
            let positions: Vec<u32> = (0..40).map(|at| at * 3).collect();
            assert_eq!((contains(&positions, i * 3), contains(&positions, i * 3 + 1)), (1, 0));
        }
        assert_eq!(contains(&[], 0), 0);
    }
}
