//! The parameter sets (specification, section 7) and the lengths that follow from them.

/// Bytes of the seed δ, and of ℓ = 256 bits wherever there are ℓ of them.
pub(crate) const SEED: usize = 32;
/// Bits of a number that the order of the field's elements is sorted by, σ₂ in the specification.
pub(crate) const ORDER_BITS: usize = 32;
/// Bits from which an element of the field is drawn, σ₁ in the specification. Only the first m of them count.
pub(crate) const ELEMENT_BITS: usize = 16;
/// Bytes of the choice of columns c in a secret key: ν = 64 bits.
pub(crate) const PIVOTS: usize = 8;
/// The last μ = 32 rows of a semi-systematic matrix have their pivots among the next ν = 64 columns.
pub(crate) const LAST_ROWS: usize = 32;
/// ν.
pub(crate) const LAST_COLUMNS: usize = 64;
/// The largest t.
pub(crate) const MOST_ERRORS: usize = 128;

/// What distinguishes the sets.
#[derive(Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The field is GF(2^m), 12 or 13.
    pub(crate) m: usize,
    /// Length of the code, a multiple of 8.
    pub(crate) n: usize,
    /// Weight of an error and degree of the Goppa polynomial.
    pub(crate) t: usize,
    /// F(y) − yᵗ: the terms of the polynomial that makes GF((2^m)ᵗ), each an exponent of y and a coefficient in GF(2^m).
    pub(crate) modulus: &'static [(usize, u16)],
    /// Whether a key's matrix may be semi-systematic with (μ, ν) = (32, 64), the sets with an f, rather than systematic.
    pub(crate) semi_systematic: bool,
}

/// y⁶⁴ + y³ + y + z.
const Y64: &[(usize, u16)] = &[(3, 1), (1, 1), (0, 2)];
/// y⁹⁶ + y¹⁰ + y⁹ + y⁶ + 1.
const Y96: &[(usize, u16)] = &[(10, 1), (9, 1), (6, 1), (0, 1)];
/// y¹¹⁹ + y⁸ + 1.
const Y119: &[(usize, u16)] = &[(8, 1), (0, 1)];
/// y¹²⁸ + y⁷ + y² + y + 1.
const Y128: &[(usize, u16)] = &[(7, 1), (2, 1), (1, 1), (0, 1)];

macro_rules! sets {
    ($($name:ident, $with_f:ident: $m:literal, $n:literal, $t:literal, $modulus:ident;)+) => {
        $(
            pub(crate) const $name: Parameters =
                Parameters { m: $m, n: $n, t: $t, modulus: $modulus, semi_systematic: false };
            pub(crate) const $with_f: Parameters = Parameters { semi_systematic: true, ..$name };
        )+
        /// All ten.
        #[cfg(test)]
        pub(crate) const ALL: [&Parameters; 10] = [$(&$name, &$with_f),+];
    };
}

sets! {
    MCELIECE_348864, MCELIECE_348864F: 12, 3488, 64, Y64;
    MCELIECE_460896, MCELIECE_460896F: 13, 4608, 96, Y96;
    MCELIECE_6688128, MCELIECE_6688128F: 13, 6688, 128, Y128;
    MCELIECE_6960119, MCELIECE_6960119F: 13, 6960, 119, Y119;
    MCELIECE_8192128, MCELIECE_8192128F: 13, 8192, 128, Y128;
}

impl Parameters {
    /// Elements of the field, q.
    pub(crate) const fn q(&self) -> usize {
        1 << self.m
    }

    /// Rows of the parity-check matrix, n − k = mt. Also the bits of a ciphertext.
    pub(crate) const fn rows(&self) -> usize {
        self.m * self.t
    }

    /// Columns of the public key's matrix T, k.
    pub(crate) const fn columns(&self) -> usize {
        self.n - self.rows()
    }

    /// Bytes of a row of T. Bits of the last byte beyond k are zero.
    pub(crate) const fn row_bytes(&self) -> usize {
        self.columns().div_ceil(8)
    }

    /// Bytes of a public key, the rows of T one after another.
    pub(crate) const fn public(&self) -> usize {
        self.rows() * self.row_bytes()
    }

    /// Bytes of the Goppa polynomial in a secret key: t coefficients of 16 bits, lowest first; that of yᵗ is 1.
    pub(crate) const fn polynomial(&self) -> usize {
        2 * self.t
    }

    /// Stages of the Beneš network, 2m − 1.
    pub(crate) const fn stages(&self) -> usize {
        2 * self.m - 1
    }

    /// Bytes of the control bits in a secret key: q/2 bits for each stage.
    pub(crate) const fn control(&self) -> usize {
        self.stages() * self.q() / 16
    }

    /// Bytes of a vector of n bits: an error, a received word, s.
    pub(crate) const fn vector(&self) -> usize {
        self.n / 8
    }

    /// Bytes of a secret key: δ, c, g, the control bits of α, and s.
    pub(crate) const fn secret(&self) -> usize {
        SEED + PIVOTS + self.polynomial() + self.control() + self.vector()
    }

    /// Bytes of a ciphertext. Bits of the last byte beyond mt are zero.
    pub(crate) const fn ciphertext(&self) -> usize {
        self.rows().div_ceil(8)
    }

    /// Numbers of 16 bits that one attempt at an error vector draws, τ: t if n = q, or else 2t, as q/2 ≤ n for every set.
    pub(crate) const fn candidates(&self) -> usize {
        if self.n == self.q() { self.t } else { 2 * self.t }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_specification() {
        let lengths = |set: Parameters| (set.public(), set.secret(), set.ciphertext());
        assert_eq!(lengths(MCELIECE_348864), (261120, 6492, 96));
        assert_eq!(lengths(MCELIECE_460896), (524160, 13608, 156));
        assert_eq!(lengths(MCELIECE_6688128), (1044992, 13932, 208));
        assert_eq!(lengths(MCELIECE_6960119), (1047319, 13948, 194));
        assert_eq!(lengths(MCELIECE_8192128), (1357824, 14120, 208));
    }

    #[test]
    fn every_set_keeps_the_bounds_that_the_code_counts_on() {
        for set in ALL {
            assert!(matches!(set.m, 12 | 13) && set.n.is_multiple_of(8) && set.t <= MOST_ERRORS);
            assert!(set.n <= set.q() && set.q() / 2 <= set.n && set.rows() + LAST_COLUMNS <= set.n);
            assert!(set.modulus.iter().all(|(exponent, value)| *exponent < set.t && usize::from(*value) < set.q()));
        }
    }
}
