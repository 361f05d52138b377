//! GF(2¹²) and GF(2¹³) on 256 elements at once: plane i holds the coefficients of zⁱ, a bit for each element.

/// A bit of 256 elements.
pub(crate) type Plane = [u64; 4];
/// Elements in a plane.
pub(crate) const LANES: usize = 256;
/// 256 elements.
pub(crate) type Elements<const M: usize> = [Plane; M];

/// a · b.
#[inline(always)]
pub(crate) fn times<const M: usize>(a: &Elements<M>, b: &Elements<M>) -> Elements<M> {
    // Degrees up to 24.
    let mut product = [[0; 4]; 25];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate() {
            add(&mut product[i + j], &and(a, b));
        }
    }
    reduce(product)
}

/// a².
#[inline(always)]
pub(crate) fn square<const M: usize>(a: &Elements<M>) -> Elements<M> {
    let mut product = [[0; 4]; 25];
    for (i, a) in a.iter().enumerate() {
        product[2 * i] = *a;
    }
    reduce(product)
}

/// 1/a, and 0 for 0.
#[inline(always)]
pub(crate) fn inverse<const M: usize>(a: &Elements<M>) -> Elements<M> {
    // The powers 2ⁱ − 1 for i = 2, 4, 8 and M − 1, as in `mceliece::field::inverse`.
    let squares = |a: &Elements<M>, count| (0..count).fold(*a, |a, _| square(&a));
    let a3 = times(&square(a), a);
    let a15 = times(&squares(&a3, 2), &a3);
    let a255 = times(&squares(&a15, 4), &a15);
    let last = match M {
        12 => times(&square(&times(&squares(&a255, 2), &a3)), a),
        _ => times(&squares(&a255, 4), &a15),
    };
    square(&last)
}

/// The planes of an element in every lane.
#[inline(always)]
pub(crate) fn all<const M: usize>(element: u16) -> Elements<M> {
    core::array::from_fn(|i| [0u64.wrapping_sub(u64::from(element >> i & 1)); 4])
}

/// a + b.
#[inline(always)]
pub(crate) fn plus<const M: usize>(a: &Elements<M>, b: &Elements<M>) -> Elements<M> {
    let mut sum = *a;
    sum.iter_mut().zip(b).for_each(|(sum, b)| add(sum, b));
    sum
}

/// Elements from their numbers, at most 256; zeros for those that are missing.
#[inline(always)]
pub(crate) fn gather<const M: usize>(elements: &[u16]) -> Elements<M> {
    let mut planes = [[0; 4]; M];
    for (word, elements) in elements.chunks(64).enumerate() {
        for (at, element) in elements.iter().enumerate() {
            for (i, plane) in planes.iter_mut().enumerate() {
                plane[word] |= u64::from(element >> i & 1) << at;
            }
        }
    }
    planes
}

/// The element of a lane.
#[inline(always)]
pub(crate) fn lane<const M: usize>(planes: &Elements<M>, at: usize) -> u16 {
    planes.iter().enumerate().fold(0, |sum, (i, plane)| sum | ((plane[at / 64] >> (at % 64) & 1) as u16) << i)
}

#[inline(always)]
fn reduce<const M: usize>(mut product: [Plane; 25]) -> Elements<M> {
    for i in (M..2 * M - 1).rev() {
        let high = product[i];
        let taps: &[usize] = if M == 12 { &[0, 3] } else { &[0, 1, 3, 4] };
        for tap in taps {
            add(&mut product[i - M + tap], &high);
        }
    }
    core::array::from_fn(|i| product[i])
}

#[inline(always)]
fn add(sum: &mut Plane, other: &Plane) {
    sum.iter_mut().zip(other).for_each(|(sum, other)| *sum ^= other);
}

#[inline(always)]
fn and(a: &Plane, b: &Plane) -> Plane {
    core::array::from_fn(|i| a[i] & b[i])
}

#[cfg(test)]
mod tests {
    use super::super::field;
    use super::*;
    use candor_test_support::Random;
    use std::vec::Vec;

    fn check<const M: usize>() {
        let mut random = Random::new(M as u64);
        let mut some = || -> Vec<u16> { (0..LANES).map(|_| random.word() as u16 & field::mask::<M>()).collect() };
        for _ in 0..40 {
            let (mut a, b) = (some(), some());
            a[3] = 0;
            let (planes_a, planes_b) = (gather::<M>(&a), gather::<M>(&b));
            let [product, square, inverse, sum] =
                [times(&planes_a, &planes_b), square(&planes_a), inverse(&planes_a), plus(&planes_a, &all(5))];
            for i in 0..LANES {
                assert_eq!(lane(&product, i), field::times::<M>(a[i], b[i]));
                assert_eq!(lane(&square, i), field::square::<M>(a[i]));
                assert_eq!(lane(&inverse, i), field::inverse::<M>(a[i]));
                assert_eq!(lane(&sum, i), a[i] ^ 5);
            }
        }
    }

    #[test]
    fn lanes_compute_as_single_elements_do() {
        check::<12>();
        check::<13>();
    }
}
