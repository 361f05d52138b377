//! Secret permutations of small numbers, applied to tables.
//!
//! Everything stands in blocks of 2ʷ numbers below 2ʷ. Without instructions that look up in registers, to apply a permutation to a table is to
//! sort the table by the inverse of the permutation.

/// A permutation in each block, and its inverse.
#[derive(Clone, Copy)]
pub(crate) struct Permutation<'a> {
    /// What is looked up in registers; x86-64 alone has an arm that does.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
    pub(crate) image: &'a [u16],
    pub(crate) inverse: &'a [u16],
}

/// Bits of a packed number that hold its lower part.
const LOWER: u32 = 16;

/// What is to be sorted so that a table is in the order of a permutation, and as much room.
#[inline(always)]
pub(crate) fn pack<'a>(at: Permutation<'_>, table: &[u16], room: &'a mut [u32]) -> (&'a mut [u32], &'a mut [u32]) {
    let (packed, scratch) = room.split_at_mut(table.len());
    for (packed, (place, number)) in packed.iter_mut().zip(at.inverse.iter().zip(table)) {
        *packed = u32::from(*place) << LOWER | u32::from(*number);
    }
    (packed, scratch)
}

/// Number x of each block is that of the table whose place is the permutation's image of x.
#[inline(always)]
pub(crate) fn unpack(packed: &[u32], found: &mut [u16]) {
    found.iter_mut().zip(packed).for_each(|(found, packed)| *found = *packed as u16);
}

/// Whether numbers of two tables and a place fit into 31 bits.
pub(crate) const fn two_fit(w: usize) -> bool {
    3 * w < 32
}

/// The same for two tables at once.
#[inline(always)]
pub(crate) fn pack_two<'a>(
    w: usize,
    at: Permutation<'_>,
    tables: [&[u16]; 2],
    room: &'a mut [u32],
) -> (&'a mut [u32], &'a mut [u32]) {
    let (packed, scratch) = room.split_at_mut(at.inverse.len());
    let numbers = tables[0].iter().zip(tables[1]);
    for (packed, (place, (first, second))) in packed.iter_mut().zip(at.inverse.iter().zip(numbers)) {
        *packed = (u32::from(*place) << w | u32::from(*first)) << w | u32::from(*second);
    }
    (packed, scratch)
}

/// The numbers of both tables.
#[inline(always)]
pub(crate) fn unpack_two(w: usize, packed: &[u32], found: [&mut [u16]; 2]) {
    let [first, second] = found;
    let within = (1 << w) - 1;
    for (packed, (first, second)) in packed.iter().zip(first.iter_mut().zip(second)) {
        (*first, *second) = ((packed >> w & within) as u16, (packed & within) as u16);
    }
}
