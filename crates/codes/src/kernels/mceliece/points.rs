//! What the transforms know before there is a polynomial: bases, points and twists (`docs/mceliece.md` has the mathematics).
//!
//! Point number p is the element Σ pᵢ z^(M−1−i), where pᵢ is bit i of p: the order in which the specification's Beneš network starts.

use super::field::times;
use super::vector::Row;

/// The constants of one field; `Q` = 2^M / 256 rows hold a value for each element of the field.
pub(crate) struct Points<const M: usize, const Q: usize>;

/// The basis of the points at each level, the paired element first.
const fn bases<const M: usize>() -> [[u16; 13]; 13] {
    let mut bases = [[0; 13]; 13];
    let mut k = 0;
    while k < M {
        bases[0][k] = 1 << k;
        k += 1;
    }
    let mut level = 1;
    while level < M {
        let over = super::field::inverse::<M>(bases[level - 1][0]);
        let mut k = 0;
        while k < M - level {
            // The next level's points are x² + x for the points x of this one.
            let ratio = times::<M>(bases[level - 1][k + 1], over);
            bases[level][k] = times::<M>(ratio, ratio) ^ ratio;
            k += 1;
        }
        level += 1;
    }
    bases
}

/// The same with the paired element made 1.
const fn twisted<const M: usize>(bases: &[[u16; 13]; 13]) -> [[u16; 13]; 13] {
    let mut twisted = [[0; 13]; 13];
    let mut level = 0;
    while level < M {
        let over = super::field::inverse::<M>(bases[level][0]);
        let mut k = 0;
        while k < M - level {
            twisted[level][k] = times::<M>(bases[level][k], over);
            k += 1;
        }
        level += 1;
    }
    twisted
}

impl<const M: usize, const Q: usize> Points<M, Q> {
    /// Levels of the transforms that pair whole words; below them each word has a polynomial of degree at most 1.
    pub(crate) const LEVELS: usize = {
        assert!(256 * Q == 1 << M);
        M - 6
    };

    /// Rows of constants of the level that pairs words whose numbers differ in bit `bit`.
    const fn rows(bit: usize) -> usize {
        if bit < 2 { 1 << bit } else { 1 << (bit - 2) }
    }

    /// Where its rows begin in [`BUTTERFLIES`](Self::BUTTERFLIES).
    pub(crate) const fn first_row(bit: usize) -> usize {
        let (mut first, mut i) = (0, 0);
        while i < bit {
            first += Self::rows(i);
            i += 1;
        }
        first
    }

    /// Bit `plane` of the lower point of each pair, for 64 points of word `word`, at the level that pairs by bit `bit` of the words' numbers.
    const fn butterfly(twisted: &[[u16; 13]; 13], bit: usize, word: usize, plane: usize) -> u64 {
        let basis = &twisted[Self::LEVELS - 1 - bit];
        let (mut sum, mut of) = (0, 0);
        while of < 6 + bit {
            if basis[6 + bit - of] >> plane & 1 == 1 {
                sum ^= if of < 6 { HALVES[of] } else { 0u64.wrapping_sub((word >> (of - 6) & 1) as u64) };
            }
            of += 1;
        }
        sum
    }

    /// The multipliers of each level, level for bit 0 first. Those of bits 0 and 1 are for rows whose lanes differ in bits 2 and 3 of the
    /// words' numbers, on which they do not depend; those above are for words in their order.
    pub(crate) const BUTTERFLIES: [[Row; M]; 34] = {
        let twisted = twisted::<M>(&bases::<M>());
        let mut all = [[Row::ZERO; M]; 34];
        let mut bit = 0;
        while bit < Self::LEVELS {
            let mut row = 0;
            while row < Self::rows(bit) {
                let mut plane = 0;
                while plane < M {
                    let mut lane = 0;
                    while lane < 4 {
                        let word = if bit < 2 { row } else { 4 * row + lane };
                        all[Self::first_row(bit) + row][plane].0[lane] = Self::butterfly(&twisted, bit, word, plane);
                        lane += 1;
                    }
                    plane += 1;
                }
                row += 1;
            }
            bit += 1;
        }
        all
    };

    /// Where the polynomials of degree 1 that are left in each word are evaluated: bit `plane` of 64 points.
    pub(crate) const LEAVES: [u64; M] = {
        let basis = bases::<M>()[Self::LEVELS];
        let mut leaves = [0; M];
        let mut plane = 0;
        while plane < M {
            let mut of = 0;
            while of < 6 {
                if basis[5 - of] >> plane & 1 == 1 {
                    leaves[plane] ^= HALVES[of];
                }
                of += 1;
            }
            plane += 1;
        }
        leaves
    };

    /// For each level the powers that its coefficients are multiplied by.
    pub(crate) const TWISTS: [[Row; M]; 7] = {
        let bases = bases::<M>();
        let mut all = [[Row::ZERO; M]; 7];
        let mut level = 0;
        while level < Self::LEVELS {
            let mut power = 1;
            let mut at = 0;
            while at < 256 {
                let mut plane = 0;
                while plane < M {
                    all[level][plane].0[at / 64] |= ((power >> plane & 1) as u64) << (at % 64);
                    plane += 1;
                }
                at += 1;
                if at % (1 << level) == 0 {
                    power = times::<M>(power, bases[level][0]);
                }
            }
            level += 1;
        }
        all
    };

    /// For each lane of the rows as the lowest levels want them: which coefficient its polynomial is, as a bit of word [`spread_word`](Self::spread_word)
    /// of the row.
    pub(crate) const SPREAD: [Row; Q] = {
        let mut all = [Row::ZERO; Q];
        let mut row = 0;
        while row < Q {
            let mut lane = 0;
            while lane < 4 {
                // The word's number with its lowest two bits and the next two exchanged, then its bits reversed.
                let word = 4 * row + lane;
                let word = word & !15 | (word & 3) << 2 | word >> 2 & 3;
                let coefficient = word.reverse_bits() >> (usize::BITS as usize - Self::LEVELS);
                assert!(coefficient / 64 == Self::spread_word(row));
                all[row].0[lane] = 1 << (coefficient % 64);
                lane += 1;
            }
            row += 1;
        }
        all
    };

    /// The word of a plane that row `row` of [`SPREAD`](Self::SPREAD) is about. There are 64 coefficients or 128.
    #[inline(always)]
    pub(crate) const fn spread_word(row: usize) -> usize {
        if Q == 16 { 0 } else { row % 2 }
    }
}

/// Positions of a word whose number has bit i.
pub(crate) const HALVES: [u64; 6] = [
    0xaaaaaaaaaaaaaaaa,
    0xcccccccccccccccc,
    0xf0f0f0f0f0f0f0f0,
    0xff00ff00ff00ff00,
    0xffff0000ffff0000,
    0xffffffff00000000,
];
