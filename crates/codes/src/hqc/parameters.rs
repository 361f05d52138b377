//! The parameter sets (specification of 2025-08-22, table 5) and the lengths that follow from them.

use crate::kernels::Set;

/// Bytes of each seed.
pub(super) const SEED: usize = 32;
/// Bytes of the salt in a ciphertext.
pub(super) const SALT: usize = 16;
/// The most positions that a sparse vector has.
pub(super) const MOST_POSITIONS: usize = 149;
/// The most symbols of a Reed–Solomon codeword.
pub(super) const MOST_SYMBOLS: usize = 90;
/// The most bytes of a message.
pub(super) const MOST_MESSAGE: usize = 32;

/// What distinguishes the three levels.
#[derive(Debug)]
pub struct Parameters {
    /// Polynomials are taken modulo xⁿ − 1; n is prime.
    pub(super) n: usize,
    /// Symbols of a Reed–Solomon codeword, n₁ in the specification.
    pub(super) symbols: usize,
    /// Repetitions of a Reed–Muller codeword of 128 bits; n₂ is 128 times this.
    pub(super) copies: usize,
    /// Bytes of a message, k in the specification.
    pub(super) message: usize,
    /// Weight of the secret vectors x and y.
    pub(super) omega: usize,
    /// Weight of e, r₁ and r₂, for which the specification has two names with the same values: ω_e and ω_r.
    pub(super) omega_r: usize,
    /// The shapes of the codes.
    pub(super) set: Set,
}

pub(super) const HQC_1: Parameters =
    Parameters { n: 17669, symbols: 46, copies: 3, message: 16, omega: 66, omega_r: 75, set: Set::Hqc1 };
pub(super) const HQC_3: Parameters =
    Parameters { n: 35851, symbols: 56, copies: 5, message: 24, omega: 100, omega_r: 114, set: Set::Hqc3 };
pub(super) const HQC_5: Parameters =
    Parameters { n: 57637, symbols: 90, copies: 5, message: 32, omega: 131, omega_r: 149, set: Set::Hqc5 };

impl Parameters {
    /// Words of a polynomial.
    pub(super) const fn words(&self) -> usize {
        self.n.div_ceil(64)
    }

    /// Bytes of a polynomial.
    pub(super) const fn bytes(&self) -> usize {
        self.n.div_ceil(8)
    }

    /// The bits of a polynomial's last byte that are part of it.
    pub(super) const fn last_byte(&self) -> u8 {
        (1 << (self.n % 8)) - 1
    }

    /// The bits of a polynomial's last word that are part of it.
    pub(super) const fn last_word(&self) -> u64 {
        (1 << (self.n % 64)) - 1
    }

    /// Words of a codeword of the concatenated code.
    pub(super) const fn code_words(&self) -> usize {
        2 * self.copies * self.symbols
    }

    /// Bytes of an encapsulation key: the seed of h, and s.
    pub(super) const fn public(&self) -> usize {
        SEED + self.bytes()
    }

    /// Bytes of a decapsulation key: the encapsulation key, the seed of y and x, σ, and the seed of it all.
    pub(super) const fn secret(&self) -> usize {
        self.public() + SEED + self.message + SEED
    }

    /// Bytes of a ciphertext: u, v, and the salt.
    pub(super) const fn ciphertext(&self) -> usize {
        self.bytes() + 8 * self.code_words() + SALT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_specification() {
        let lengths = |set: Parameters| (set.public(), set.secret(), set.ciphertext());
        assert_eq!(lengths(HQC_1), (2241, 2321, 4433));
        assert_eq!(lengths(HQC_3), (4514, 4602, 8978));
        assert_eq!(lengths(HQC_5), (7237, 7333, 14421));
    }

    #[test]
    fn the_code_is_shorter_than_the_ring_and_no_bound_is_too_small() {
        for set in [HQC_1, HQC_3, HQC_5] {
            assert!(64 * set.code_words() < set.n && !set.n.is_multiple_of(64));
            assert!(set.omega < set.omega_r && set.omega_r <= MOST_POSITIONS);
            assert!(set.symbols <= MOST_SYMBOLS && set.message <= MOST_MESSAGE);
        }
    }
}
