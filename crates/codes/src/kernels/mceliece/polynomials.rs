//! Vectors over GF(2¹²) and GF(2¹³), an element a lane.

use super::field;
use candor_cpu::barrier;

/// Lanes of a vector, as many as the largest t.
pub(crate) const LENGTH: usize = 128;
/// A vector.
pub(crate) type Vector = [u16; LENGTH];
/// Coefficients of a product, lowest first.
pub(crate) type Product = [u16; 2 * LENGTH];
/// A vector times zⁱ for each i below M; the rest is zero.
pub(crate) type Multiples = [Vector; 13];

/// v · zⁱ for each bit i of an element.
#[inline(always)]
pub(crate) fn multiples<const M: usize>(v: &Vector) -> Multiples {
    const { assert!(M == 12 || M == 13) }
    // z^M
    let high = if M == 12 { 0b1001 } else { 0b11011 };
    let mut all = [[0; LENGTH]; 13];
    all[0] = *v;
    for i in 1..M {
        let before = all[i - 1];
        for (element, before) in all[i].iter_mut().zip(before) {
            let twice = before << 1;
            *element = (twice ^ (high & 0u16.wrapping_sub(twice >> M))) & field::mask::<M>();
        }
    }
    all
}

/// Adds the vector times an element to `sum`.
#[inline(always)]
pub(crate) fn add_product(sum: &mut Vector, multiples: &Multiples, element: u16) {
    for (bit, multiple) in multiples.iter().enumerate() {
        // The same for all lanes, of which LLVM would make a branch.
        let chosen = barrier::opaque_u32(0u32.wrapping_sub(u32::from(element) >> bit & 1)) as u16;
        sum.iter_mut().zip(multiple).for_each(|(sum, multiple)| *sum ^= multiple & chosen);
    }
}

/// a · b as polynomials, lowest coefficient first, where b is given by its multiples.
#[inline(always)]
pub(crate) fn product(a: &Vector, b: &Multiples) -> Product {
    let mut sum = [0; 2 * LENGTH];
    for (i, a) in a.iter().enumerate() {
        add_product((&mut sum[i..i + LENGTH]).try_into().expect("as long as a vector"), b, *a);
    }
    sum
}

/// Makes `columns` of a matrix with as many rows, and one column more, reduced: in the first columns stands the identity afterwards. Says 1 if
/// that is possible and 0 if the first columns depend on each other.
#[inline(always)]
pub(crate) fn eliminate<const M: usize>(columns: &mut [Vector]) -> u16 {
    let rows = columns.len() - 1;
    let mut regular = 1;
    for pivot in 0..rows {
        let add = first_nonzero(&columns[pivot], pivot, rows);
        let mut row = [0; LENGTH];
        for (element, column) in row[pivot..].iter_mut().zip(&mut columns[pivot..]) {
            let other = column.iter().zip(&add).fold(0, |sum, (element, add)| sum | element & add);
            *element = column[pivot] ^ other;
        }
        // The last column, for which the row of LENGTH has no room if there are as many rows.
        let last = columns[rows].iter().zip(&add).fold(columns[rows][pivot], |sum, (element, add)| sum ^ element & add);
        regular &= 1 ^ is_zero(row[pivot]);
        let inverse = field::inverse::<M>(row[pivot]);
        let mut scaled = [0; LENGTH];
        add_product(&mut scaled, &multiples::<M>(&row), inverse);
        let last = field::times::<M>(last, inverse);

        let mut others = columns[pivot];
        others[pivot] = 0;
        let others = multiples::<M>(&others);
        for (at, column) in columns.iter_mut().enumerate().skip(pivot) {
            let element = if at == rows { last } else { scaled[at] };
            column[pivot] = element;
            add_product(column, &others, element);
        }
    }
    regular
}

/// If `column` is zero at `pivot`: all ones at the first row below, up to `rows`, where it is not.
#[inline(always)]
fn first_nonzero(column: &Vector, pivot: usize, rows: usize) -> Vector {
    let mut add = [0; LENGTH];
    let mut missing = is_zero(column[pivot]);
    for row in pivot + 1..rows {
        let here = missing & (1 ^ is_zero(column[row]));
        add[row] = 0u16.wrapping_sub(here);
        missing &= 1 ^ here;
    }
    add
}

/// 1 for zero, or else 0.
#[inline(always)]
fn is_zero(element: u16) -> u16 {
    (u32::from(element).wrapping_sub(1) >> 31) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_test_support::Random;
    use std::vec::Vec;

    fn check<const M: usize>() {
        let mut random = Random::new(M as u64);
        let mut some = || -> Vector { core::array::from_fn(|_| random.word() as u16 & field::mask::<M>()) };
        let (a, b) = (some(), some());
        let found = product(&a, &multiples::<M>(&b));
        let mut expected = [0; 2 * LENGTH];
        for (i, a) in a.iter().enumerate() {
            b.iter().enumerate().for_each(|(j, b)| expected[i + j] ^= field::times::<M>(*a, *b));
        }
        assert_eq!(found, expected);

        for rows in [1, 2, 17, 64, LENGTH] {
            let shorten = |mut column: Vector| {
                column[rows..].fill(0);
                column
            };
            let before: Vec<Vector> = (0..=rows).map(|_| shorten(some())).collect();
            let mut columns = before.clone();
            // A pivot that must come from below, and at the end none at all.
            columns[0][0] = 0;
            let matrix = columns.clone();
            if eliminate::<M>(&mut columns) == 1 {
                for (at, column) in columns[..rows].iter().enumerate() {
                    assert!(column.iter().enumerate().all(|(row, element)| *element == u16::from(row == at)));
                }
                // The last column is now the solution of the system.
                let mut sum = [0; LENGTH];
                for (column, element) in matrix.iter().zip(columns[rows]) {
                    add_product(&mut sum, &multiples::<M>(column), element);
                }
                assert_eq!(sum, matrix[rows]);
            } else {
                assert!(rows < 3, "a random matrix is hardly ever singular");
            }
            let mut singular = before;
            singular[rows - 1] = if rows == 1 { [0; LENGTH] } else { singular[0] };
            assert_eq!(eliminate::<M>(&mut singular), 0);
        }
    }

    #[test]
    fn products_and_solutions_are_those_of_the_definition() {
        check::<12>();
        check::<13>();
    }
}
