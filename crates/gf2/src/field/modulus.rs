//! Sparse moduli: x^m plus a few lower powers, written down at compile time or at run time.

use core::fmt;

/// The highest degree of a [`SparseModulus`]: far above any use, and far below where a shift amount could overflow.
pub const MAX_DEGREE: usize = 1 << 24;

/// The polynomial x^m + Σ x^t over GF(2), by its degree m and its *taps* t.
///
/// Any taps will do. The polynomial may be reducible or lack the constant term; the polynomials modulo it then form a ring, not a field, in which
/// [`Field`](super::Field)'s inverses have no meaning. [`is_irreducible`](Self::is_irreducible) tells.
///
/// A few taps are what this is made for. Each round of a reduction folds once per tap, so products modulo a polynomial with hundreds of taps are
/// very slow. Choose a trinomial or pentanomial where you are free to.
///
/// ```
/// use candor_gf2::field::SparseModulus;
/// let gcm = SparseModulus::new(128, &[7, 2, 1, 0]).unwrap(); // x^128 + x^7 + x^2 + x + 1
/// assert_eq!(gcm.gap(), 121);
/// assert_eq!(gcm.rounds(2 * 128 - 2), 1); // products of two reduced polynomials reduce in one round
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparseModulus<'t> {
    degree: usize,
    taps: &'t [usize],
}

/// Why a degree and taps are not a modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModulusError {
    /// The degree is zero: modulo a constant everything is zero.
    DegreeZero,
    /// The degree is above [`MAX_DEGREE`].
    DegreeTooLarge {
        /// The degree.
        degree: usize,
    },
    /// A tap is not below the degree.
    TapTooLarge {
        /// The tap.
        tap: usize,
        /// The degree.
        degree: usize,
    },
    /// The taps do not fall strictly: they are out of order, or one is given twice.
    TapsNotFalling {
        /// The tap before.
        before: usize,
        /// The tap that should be below it.
        tap: usize,
    },
}

impl fmt::Display for ModulusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DegreeZero => f.write_str("modulus has degree 0; expected at least 1"),
            Self::DegreeTooLarge { degree } => write!(f, "modulus has degree {degree}; expected at most {MAX_DEGREE}"),
            Self::TapTooLarge { tap, degree } => write!(f, "tap {tap} is not below the degree {degree}"),
            Self::TapsNotFalling { before, tap } => {
                write!(f, "tap {tap} follows tap {before}; list the taps from high to low, each once")
            }
        }
    }
}

impl core::error::Error for ModulusError {}

impl<'t> SparseModulus<'t> {
    /// x^`degree` + Σ x^t over `taps`, which fall strictly, as standards write them: `new(571, &[10, 5, 2, 0])`.
    ///
    /// # Errors
    /// [`ModulusError`] for degree zero, and for taps that do not fall or are not below the degree.
    pub const fn new(degree: usize, taps: &'t [usize]) -> Result<Self, ModulusError> {
        if degree == 0 {
            return Err(ModulusError::DegreeZero);
        }
        if degree > MAX_DEGREE {
            return Err(ModulusError::DegreeTooLarge { degree });
        }
        let mut i = 0;
        while i < taps.len() {
            let tap = taps[i];
            if tap >= degree {
                return Err(ModulusError::TapTooLarge { tap, degree });
            }
            if i > 0 && tap >= taps[i - 1] {
                return Err(ModulusError::TapsNotFalling { before: taps[i - 1], tap });
            }
            i += 1;
        }
        Ok(Self { degree, taps })
    }

    /// [`new`](Self::new) for constants: a bad modulus is a compile error.
    ///
    /// # Panics
    /// If `new` gives an error; in a `const` that is a compile error.
    #[must_use]
    pub const fn constant(degree: usize, taps: &'t [usize]) -> Self {
        match Self::new(degree, taps) {
            Ok(modulus) => modulus,
            Err(_) => panic!("not a modulus: the taps must be below the degree and fall strictly"),
        }
    }

    /// The degree m.
    #[must_use]
    pub const fn degree(&self) -> usize {
        self.degree
    }

    /// The exponents below m, in falling order.
    #[must_use]
    pub const fn taps(&self) -> &'t [usize] {
        self.taps
    }

    /// How many 64-bit words a reduced polynomial takes.
    #[must_use]
    pub const fn words(&self) -> usize {
        self.degree.div_ceil(64)
    }

    /// How many terms the modulus has, x^m with them (w_h in the literature).
    #[must_use]
    pub const fn weight(&self) -> usize {
        self.taps.len() + 1
    }

    /// Δ: how far the highest tap is below m. Folding lowers the degree of a term by at least Δ.
    #[must_use]
    pub const fn gap(&self) -> usize {
        if self.taps.is_empty() { self.degree } else { self.degree - self.taps[0] }
    }

    /// How many rounds of feedback a polynomial of degree at most `degree` needs: the least r with 2^r·Δ > `degree` − m.
    /// `docs/reduction.md` has the proof.
    #[must_use]
    pub const fn rounds(&self, degree: usize) -> u32 {
        if degree < self.degree {
            return 0;
        }
        let high = degree - self.degree;
        let mut rounds = 0;
        // Compared the other way round, so that no bit is shifted out.
        while rounds < usize::BITS && self.gap() <= high >> rounds {
            rounds += 1;
        }
        rounds
    }
}

impl SparseModulus<'_> {
    /// Whether the polynomial is irreducible, so that the polynomials modulo it form a field: asked for in a `const`, at compile time. `None` if the
    /// degree is above 576, the most that a [`Field`](super::Field) has.
    ///
    /// ```
    /// use candor_gf2::field::{McEliece13, Modulus, SparseModulus};
    /// const { assert!(McEliece13::MODULUS.is_irreducible().unwrap()) }
    /// assert_eq!(SparseModulus::constant(4, &[2, 0]).is_irreducible(), Some(false)); // (x² + x + 1)²
    /// ```
    #[must_use]
    pub const fn is_irreducible(&self) -> Option<bool> {
        if self.degree > super::derived::MOST_DEGREE { None } else { Some(super::derived::is_irreducible(*self)) }
    }
}

impl fmt::Display for SparseModulus<'_> {
    /// As in `x^233 + x^74 + 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "x^{}", self.degree)?;
        for tap in self.taps {
            match tap {
                0 => write!(f, " + 1")?,
                1 => write!(f, " + x")?,
                _ => write!(f, " + x^{tap}")?,
            }
        }
        Ok(())
    }
}

/// A modulus known at compile time, so that the shifts in its code are constants.
///
/// ```
/// use candor_gf2::field::{Field, Modulus, SparseModulus};
/// #[derive(Clone, Copy)]
/// struct Sect113;
/// impl Modulus for Sect113 {
///     const MODULUS: SparseModulus<'static> = SparseModulus::constant(113, &[9, 0]);
///     type Words = [u64; 2];
/// }
/// let field = Field::<Sect113>::new();
/// let x = field.element([2, 0]).unwrap();
/// assert_eq!(field.mul(&x, &field.invert(&x)), field.one());
/// ```
pub trait Modulus: Copy + Send + Sync + 'static {
    /// The polynomial. [`Field`](super::Field) takes it to be irreducible where it says so.
    const MODULUS: SparseModulus<'static>;
    /// `[u64; n]` with n = ⌈m/64⌉, the least significant word first. n is at most 9; a wrong n does not compile.
    type Words: super::Limbs;
}

macro_rules! moduli {
    ($($(#[$doc:meta])* $name:ident = $m:literal, $taps:expr, $words:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name;

        impl Modulus for $name {
            const MODULUS: SparseModulus<'static> = SparseModulus::constant($m, &$taps);
            type Words = [u64; $words];
        }
    )+};
}

moduli! {
    /// x^163 + x^7 + x^6 + x^3 + 1 (FIPS 186-4, D.1.3: the field of K-163 and B-163).
    Nist163 = 163, [7, 6, 3, 0], 3;
    /// x^233 + x^74 + 1 (FIPS 186-4, D.1.3: K-233, B-233).
    Nist233 = 233, [74, 0], 4;
    /// x^283 + x^12 + x^7 + x^5 + 1 (FIPS 186-4, D.1.3: K-283, B-283).
    Nist283 = 283, [12, 7, 5, 0], 5;
    /// x^409 + x^87 + 1 (FIPS 186-4, D.1.3: K-409, B-409).
    Nist409 = 409, [87, 0], 7;
    /// x^571 + x^10 + x^5 + x^2 + 1 (FIPS 186-4, D.1.3: K-571, B-571).
    Nist571 = 571, [10, 5, 2, 0], 9;
    /// x^128 + x^7 + x^2 + x + 1 (NIST SP 800-38D, 6.3; GCM writes its bits in the other order, this is the plain one).
    Gcm128 = 128, [7, 2, 1, 0], 2;
    /// x^8 + x^4 + x^3 + x^2 + 1, 0x11D (HQC's Reed-Solomon code).
    Hqc8 = 8, [4, 3, 2, 0], 1;
    /// x^8 + x^4 + x^3 + x + 1, 0x11B (FIPS 197, 4.2: AES).
    Aes8 = 8, [4, 3, 1, 0], 1;
    /// x^12 + x^3 + 1 (Classic McEliece, the parameter sets with m = 12).
    McEliece12 = 12, [3, 0], 1;
    /// x^13 + x^4 + x^3 + x + 1 (Classic McEliece, the parameter sets with m = 13).
    McEliece13 = 13, [4, 3, 1, 0], 1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::derived::MOST_DEGREE;

    #[test]
    fn a_bad_modulus_is_refused_with_its_reason() {
        assert_eq!(SparseModulus::new(0, &[]), Err(ModulusError::DegreeZero));
        assert_eq!(
            SparseModulus::new(MAX_DEGREE + 1, &[]),
            Err(ModulusError::DegreeTooLarge { degree: MAX_DEGREE + 1 })
        );
        assert_eq!(SparseModulus::new(8, &[8, 0]), Err(ModulusError::TapTooLarge { tap: 8, degree: 8 }));
        assert_eq!(SparseModulus::new(8, &[3, 3]), Err(ModulusError::TapsNotFalling { before: 3, tap: 3 }));
        assert_eq!(SparseModulus::new(8, &[0, 3]), Err(ModulusError::TapsNotFalling { before: 0, tap: 3 }));
        // The nearest good ones.
        assert!(SparseModulus::new(1, &[]).is_ok() && SparseModulus::new(MAX_DEGREE, &[]).is_ok());
        assert!(SparseModulus::new(8, &[7, 0]).is_ok() && SparseModulus::new(8, &[3, 2]).is_ok());
        assert!(SparseModulus::new(8, &[3, 0]).is_ok() && SparseModulus::new(1, &[0]).is_ok());
    }

    #[test]
    fn a_modulus_is_written_as_in_its_standard() {
        assert_eq!(Nist571::MODULUS.to_string(), "x^571 + x^10 + x^5 + x^2 + 1");
        assert_eq!(Gcm128::MODULUS.to_string(), "x^128 + x^7 + x^2 + x + 1");
    }

    /// Every product of two polynomials of degree at least 1 is reducible, and nothing else is.
    #[test]
    fn irreducible_is_what_no_product_gives() {
        let most = 11;
        let mut reducible = vec![false; 1 << (most + 1)];
        for a in 2..1_u32 << most {
            for b in 2..1_u32 << (most - a.ilog2() + 1) {
                let product = (0..=b.ilog2()).filter(|i| b >> i & 1 == 1).fold(0, |sum, i| sum ^ a << i);
                if let Some(known) = reducible.get_mut(product as usize) {
                    *known = true;
                }
            }
        }
        for (f, reducible) in reducible.iter().enumerate().skip(2) {
            let m = f.ilog2() as usize;
            let taps: Vec<usize> = (0..m).rev().filter(|t| f >> t & 1 == 1).collect();
            let modulus = SparseModulus::constant(m, &taps);
            assert_eq!(modulus.is_irreducible(), Some(!reducible), "{modulus}");
        }
    }

    /// The m up to 576 for which x^m + x + 1 is irreducible (OEIS A002475), and so is its reciprocal x^m + x^(m−1) + 1.
    #[test]
    fn irreducible_trinomials_are_those_of_the_table() {
        let table = [2, 3, 4, 6, 7, 9, 15, 22, 28, 30, 46, 60, 63, 127, 153, 172, 303, 471, 532];
        for m in 2..=MOST_DEGREE {
            let expected = Some(table.contains(&m));
            if m < 100 || m % 23 == 2 || expected == Some(true) {
                assert_eq!(SparseModulus::constant(m, &[1, 0]).is_irreducible(), expected, "{m}");
                assert_eq!(SparseModulus::constant(m, &[m - 1, 0]).is_irreducible(), expected, "{m}");
            }
        }
        assert_eq!(SparseModulus::constant(MOST_DEGREE + 1, &[0]).is_irreducible(), None);
    }

    #[test]
    fn the_moduli_of_this_crate_are_irreducible() {
        for modulus in [
            Nist163::MODULUS,
            Nist233::MODULUS,
            Nist283::MODULUS,
            Nist409::MODULUS,
            Nist571::MODULUS,
            Gcm128::MODULUS,
            Hqc8::MODULUS,
            Aes8::MODULUS,
            McEliece12::MODULUS,
            McEliece13::MODULUS,
        ] {
            assert_eq!(modulus.is_irreducible(), Some(true), "{modulus}");
        }
    }

    #[test]
    fn rounds_are_those_of_the_proof() {
        for (modulus, rounds) in [
            (Nist163::MODULUS, 1),
            (Nist233::MODULUS, 1),
            (Nist409::MODULUS, 1),
            (Hqc8::MODULUS, 1),
            (McEliece12::MODULUS, 1),
            (McEliece13::MODULUS, 1),
            (SparseModulus::constant(8, &[7, 0]), 3),
            (SparseModulus::constant(64, &[]), 0),
            (SparseModulus::constant(64, &[0]), 0),
            (SparseModulus::constant(64, &[63, 0]), 6),
        ] {
            assert_eq!(modulus.rounds(2 * modulus.degree() - 2), rounds, "{modulus}");
        }
        assert_eq!(Nist163::MODULUS.rounds(162), 0);
        // The least r with 2^r · Δ > usize::MAX − m. 89 is between 2^6 and 2^7.
        assert_eq!(SparseModulus::constant(163, &[74, 0]).rounds(usize::MAX), usize::BITS - 6);
        assert_eq!(SparseModulus::constant(8, &[7, 0]).rounds(usize::MAX), usize::BITS);
    }
}
