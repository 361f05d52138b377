//! The order of the field's elements in a key (specification, section 2.4.2).

use super::arm_mux::Arm;
use super::parameters::Parameters;
use alloc::vec::Vec;
use candor_cpu::secret;
use zeroize::Zeroizing;

/// An order of the field's elements, and for each of them a value that goes with it.
pub(super) struct Order {
    /// π: the numbers of the elements in their order. Element i is the one whose bits are those of i in reverse.
    pub(super) numbers: Zeroizing<Vec<u16>>,
    /// The values in the same order.
    pub(super) values: Zeroizing<Vec<u16>>,
}

/// Bits of an element's number and of a value in what is sorted.
const SHORT: u32 = 13;
const LOW: u64 = (1 << SHORT) - 1;

/// Sorts the elements by 32 random bits each, given as little-endian bytes; `values` belong to elements 0, 1, …. Nothing if two have the same bits.
pub(super) fn order(arm: Arm, bits: &[u8], values: &[u16]) -> Option<Order> {
    let mut all: Zeroizing<Vec<u64>> = Zeroizing::new(Vec::with_capacity(values.len()));
    all.extend((0..).zip(bits.as_chunks::<4>().0).zip(values).map(|((number, bits), value)| {
        u64::from(u32::from_le_bytes(*bits)) << (2 * SHORT) | u64::from(*value) << SHORT | number
    }));
    let mut scratch = Zeroizing::new(alloc::vec![0; all.len()]);
    arm.sort_words(&mut all, &mut scratch);
    let equal = all.array_windows().fold(0, |equal, [a, b]| equal | ((a ^ b) >> (2 * SHORT)).wrapping_sub(1) >> 63);
    // Numbers that are drawn in vain say nothing of the next.
    if secret::declassified(equal as u8, "mceliece-retry") != 0 {
        return None;
    }
    let part = |shift| Zeroizing::new(all.iter().map(|word| (word >> shift & LOW) as u16).collect());
    Some(Order { numbers: part(0), values: part(SHORT) })
}

/// The element of a number.
pub(super) fn element(parameters: &Parameters, number: u16) -> u16 {
    number.reverse_bits() >> (16 - parameters.m)
}

#[cfg(test)]
mod tests {
    use super::super::tests::arms;
    use super::*;

    fn bytes(numbers: impl Iterator<Item = u32>) -> Vec<u8> {
        numbers.flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn elements_are_in_the_order_of_their_bits_and_keep_their_values() {
        let values: Vec<u16> = (0..4096).map(|i| 8191 - i).collect();
        let mixed = |i: u32| i.wrapping_mul(0x9e3779b1);
        for arm in arms() {
            let order = order(arm, &bytes((0..4096).map(mixed)), &values).unwrap();
            assert!(order.numbers.iter().map(|i| mixed(u32::from(*i))).is_sorted());
            assert!(order.numbers.iter().zip(order.values.iter()).all(|(number, value)| number + value == 8191));
        }
    }

    #[test]
    fn two_elements_with_the_same_bits_have_no_order() {
        let values = [0; 4096];
        let twice = |other: u32| move |i: u32| if i == 4000 { other } else { i << 20 };
        for arm in arms() {
            assert!(order(arm, &bytes((0..4096).map(twice(7 << 20))), &values).is_none());
            assert!(order(arm, &bytes((0..4096).map(twice(7 << 20 | 1))), &values).is_some());
        }
    }

    #[test]
    fn an_element_has_the_bits_of_its_number_in_reverse() {
        use super::super::parameters::{MCELIECE_348864, MCELIECE_8192128};
        assert_eq!([element(&MCELIECE_348864, 1), element(&MCELIECE_8192128, 1)], [1 << 11, 1 << 12]);
        assert_eq!(element(&MCELIECE_8192128, 0b1100000000010), 0b0100000000011);
    }
}
