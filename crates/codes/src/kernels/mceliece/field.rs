//! GF(2¹²) modulo z¹² + z³ + 1 and GF(2¹³) modulo z¹³ + z⁴ + z³ + z + 1, one element in a `u16`: bit i is the coefficient of zⁱ.
//!
//! `M` is 12 or 13 everywhere. No branch and no index depends on an element.

/// Exponents of the modulus below z^M.
pub(crate) const fn taps<const M: usize>() -> &'static [usize] {
    match M {
        12 => &[0, 3],
        13 => &[0, 1, 3, 4],
        _ => panic!("the fields of Classic McEliece have 12 or 13 bits"),
    }
}

/// The bits of an element.
pub(crate) const fn mask<const M: usize>() -> u16 {
    (1 << M) - 1
}

/// What a polynomial of degree up to 2M − 2 leaves modulo the field's. What the taps throw back above M − 1 comes down in the same pass, since
/// both moduli have no term between z⁴ and z^M.
#[inline(always)]
pub(crate) const fn reduce<const M: usize>(product: u32) -> u16 {
    let taps = const { taps::<M>() };
    let high = product >> M;
    let (mut above, mut i) = (high, 1);
    while i < taps.len() {
        above ^= high >> (M - taps[i]);
        i += 1;
    }
    let (mut sum, mut i) = (product, 0);
    while i < taps.len() {
        sum ^= above << taps[i];
        i += 1;
    }
    sum as u16 & mask::<M>()
}

/// a · b before the reduction.
#[inline(always)]
pub(crate) const fn product(a: u16, b: u16) -> u32 {
    let (mut sum, mut bit) = (0, 0);
    while bit < 13 {
        sum ^= ((a as u32) << bit) & 0u32.wrapping_sub((b as u32 >> bit) & 1);
        bit += 1;
    }
    sum
}

/// a · b.
#[inline(always)]
pub(crate) const fn times<const M: usize>(a: u16, b: u16) -> u16 {
    reduce::<M>(product(a, b))
}

/// a².
#[inline(always)]
pub(crate) const fn square<const M: usize>(a: u16) -> u16 {
    let mut spread = a as u32;
    spread = (spread | spread << 8) & 0x00ff00ff;
    spread = (spread | spread << 4) & 0x0f0f0f0f;
    spread = (spread | spread << 2) & 0x33333333;
    spread = (spread | spread << 1) & 0x55555555;
    reduce::<M>(spread)
}

/// 1/a, and 0 for 0: a to the power 2^M − 2.
pub(crate) const fn inverse<const M: usize>(a: u16) -> u16 {
    // a to the power 2^ones − 1, doubling the ones where it can.
    let a3 = times::<M>(square::<M>(a), a);
    let a15 = times::<M>(squares::<M>(a3, 2), a3);
    let a255 = times::<M>(squares::<M>(a15, 4), a15);
    let last = match M {
        12 => times::<M>(squares::<M>(times::<M>(squares::<M>(a255, 2), a3), 1), a),
        _ => times::<M>(squares::<M>(a255, 4), a15),
    };
    square::<M>(last)
}

const fn squares<const M: usize>(mut a: u16, mut times: usize) -> u16 {
    while times > 0 {
        a = square::<M>(a);
        times -= 1;
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// z · a as the definition has it, for a modulus with its term z^M.
    fn times_z<const M: usize>(a: u16, modulus: u32) -> u16 {
        let twice = u32::from(a) << 1;
        (if twice >> M == 1 { twice ^ modulus } else { twice }) as u16
    }

    /// All products: b runs through the powers of two by the definition, and through their sums by a table.
    fn all_products<const M: usize>(modulus: u32) {
        let mut row = vec![0; 1 << M];
        for a in 0..1u16 << M {
            let mut shifted = a;
            for bit in 0..M {
                for b in 0..1 << bit {
                    row[b | 1 << bit] = row[b] ^ shifted;
                }
                shifted = times_z::<M>(shifted, modulus);
            }
            let wrong = row.iter().zip(0..).filter(|(product, b)| **product != times::<M>(a, *b)).count();
            assert_eq!(wrong, 0, "products with {a}");
            assert_eq!(square::<M>(a), row[usize::from(a)], "square of {a}");
            assert_eq!(row[usize::from(inverse::<M>(a))], u16::from(a != 0), "inverse of {a}");
        }
    }

    #[test]
    fn all_products_squares_and_inverses_are_those_of_the_definition() {
        all_products::<12>(1 << 12 | 1 << 3 | 1);
        all_products::<13>(1 << 13 | 1 << 4 | 1 << 3 | 1 << 1 | 1);
    }
}
