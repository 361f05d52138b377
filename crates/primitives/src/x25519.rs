//! Arithmetic of X25519 (RFC 7748): the field, the ladder and the comb in safe Rust, and what the kernels share with them.
//!
//! `docs/x25519.md` has the mathematics and the bounds of all limbs.

pub(crate) mod comb;
pub(crate) mod field;
pub(crate) mod ladder;

/// A scalar in words, the lowest first, as RFC 7748 §5 clamps it: a multiple of eight, bit 254 set, bit 255 clear.
pub(crate) type Scalar = [u64; 4];

/// A u-coordinate as quotient: X/Z, and 0 if Z is.
#[derive(Clone, Copy)]
pub(crate) struct Quotient {
    pub(crate) x: field::Element,
    pub(crate) z: field::Element,
}

impl Quotient {
    pub(crate) const ZERO: Self = Self { x: field::Element::ZERO, z: field::Element::ZERO };

    /// The u-coordinate in bytes.
    #[inline(always)]
    pub(crate) fn to_bytes(self) -> [u8; 32] {
        self.x.times(&self.z.inverse()).to_bytes()
    }
}

/// The u-coordinates of several quotients, by one inversion.
#[inline(always)]
pub(crate) fn to_bytes_all<const N: usize>(quotients: &[Quotient; N], into: &mut [[u8; 32]; N]) {
    use field::Element;
    // No product may be zero: a denominator of zero counts as one, and its result is erased at the end.
    let mut denominators = [Element::ZERO; N];
    let mut kept = [0; N];
    for ((denominator, kept), quotient) in denominators.iter_mut().zip(&mut kept).zip(quotients) {
        let zero = quotient.z.is_zero();
        *kept = candor_cpu::barrier::mask_u64(1 - zero);
        *denominator = quotient.z;
        denominator.0[0] += zero;
    }
    let mut products = denominators;
    for at in 1..N {
        products[at] = products[at - 1].times(&denominators[at]);
    }
    let mut rest = products[N - 1].inverse();
    for at in (0..N).rev() {
        let inverse = if at == 0 { rest } else { rest.times(&products[at - 1]) };
        rest = rest.times(&denominators[at]);
        let bytes = quotients[at].x.times(&inverse).to_bytes();
        for (to, from) in into[at].as_chunks_mut::<8>().0.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *to = (u64::from_le_bytes(*from) & kept[at]).to_le_bytes();
        }
    }
}

/// The scalar in these bytes (RFC 7748 §5, `decodeScalar25519`).
#[inline(always)]
pub(crate) fn clamped(bytes: &[u8; 32]) -> Scalar {
    let word = |n: usize| u64::from_le_bytes(bytes.as_chunks::<8>().0[n]);
    [word(0) & !7, word(1), word(2), word(3) & !(1 << 63) | 1 << 62]
}

/// Bit n says whether the ladder exchanges its points before the step for bit n: whether bits n and n + 1 of the scalar differ.
#[inline(always)]
pub(crate) fn exchanges(scalar: &Scalar) -> Scalar {
    let [a, b, c, d] = *scalar;
    [a ^ (a >> 1 | b << 63), b ^ (b >> 1 | c << 63), c ^ (c >> 1 | d << 63), d ^ d >> 1]
}
