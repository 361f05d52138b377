//! Classic McEliece's kernels with AVX-512 and GFNI. Bitsliced elements stay in registers of 256 bits, of which there are twice as many, and AND and XOR
//! are one instruction. Bits and bytes of whole matrices, and tables of permutations, take registers of 512 bits.

mod affine;
mod locator;
mod look_up;
mod pivots;
mod polynomials;
mod rows;
mod transposition;

use super::mceliece::{Ymm, entry, kernels};
use crate::kernels::mceliece::columns::COLUMNS;
use crate::kernels::mceliece::look_up::Permutation;
use crate::kernels::mceliece::polynomials::{Multiples, Product, Vector as Coefficients};
use crate::kernels::mceliece::rows::Panel;
use crate::kernels::mceliece::transform::{self, Values};
use crate::kernels::mceliece::vector::Row;
use crate::kernels::mceliece::{self, parity, positions};
use candor_cpu::{Cpu, HaveAvx2, HaveAvx512Crypto, HaveGfni};

/// What proves the instructions.
#[derive(Clone, Copy)]
pub(crate) struct Wide {
    avx2: HaveAvx2,
    _avx512: HaveAvx512Crypto,
    _gfni: HaveGfni,
}

impl Wide {
    /// The proof, if this CPU has them all.
    #[inline]
    pub(crate) fn check(cpu: Cpu) -> Option<Self> {
        Some(Self { avx2: HaveAvx2::check(cpu)?, _avx512: HaveAvx512Crypto::check(cpu)?, _gfni: HaveGfni::check(cpu)? })
    }

    /// AVX2 comes with it.
    #[inline]
    pub(crate) fn avx2(self) -> HaveAvx2 {
        self.avx2
    }
}

kernels!(Wide, "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,gfni", |proof| proof.avx2);

entry! {
    Wide, "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,gfni";
    /// See [`crate::kernels::mceliece::locator::locator`].
    locator[const M](proof, syndromes: &[Row; M], t: usize) -> [Row; M], locator::locator::<M>(syndromes, t);
    /// See [`crate::kernels::mceliece::polynomials::product`].
    multiply[const M](proof, a: &Coefficients, b: &Multiples) -> Product, polynomials::product::<M>(a, &b[0]);
    /// See [`crate::kernels::mceliece::polynomials::eliminate`].
    eliminate[const M](proof, columns: &mut [Coefficients]) -> u16, polynomials::eliminate::<M>(columns);
    /// See [`crate::kernels::mceliece::pivots::find_among_few`].
    find_pivots(proof, rows: &[u64], count: usize, sums: &mut [u8]), pivots::find(rows, count, sums);
    /// See [`crate::kernels::mceliece::columns::fill`].
    fill_columns[const M](proof, x: &[u16; COLUMNS], value: &[u16; COLUMNS], t: usize, height: usize, tile: &mut [u8]), transposition::fill::<M>(proof.avx2, x, value, t, height, tile);
    /// See [`crate::kernels::mceliece::rows::write`].
    write_rows(proof, tile: &[u8], height: usize, matrix: &mut [u8], row_bytes: usize, first: usize), transposition::write(tile, height, matrix, row_bytes, first);
    /// Applies a panel to a strip: see [`crate::kernels::mceliece::rows::apply`].
    apply(proof, strip: &mut [u8], height: usize, panel: Panel<'_>, sources: &mut [u8]), rows::apply(strip, height, panel);
    /// Choices as `apply` wants them; they have [`room_for_choices`].
    choices(proof, coefficients: &[u8], height: usize, choices: &mut [u8]), rows::choices(coefficients, height, choices);
    /// Number x of each block is that of the table whose place is the permutation's image of x.
    look_up(proof, w: usize, at: Permutation<'_>, table: &[u16], found: &mut [u16], room: &mut [u32]), look_up::look_up(w, at.image, table, found);
    /// The same for two tables.
    look_up_two(proof, w: usize, at: Permutation<'_>, tables: [&[u16]; 2], found: [&mut [u16]; 2], room: &mut [u32]), {
        let [first, second] = found;
        look_up::look_up(w, at.image, tables[0], first);
        look_up::look_up(w, at.image, tables[1], second);
    };
}

pub(crate) use rows::room_for_choices;

/// As on AVX2.
#[inline]
pub(crate) fn permute(proof: Wide, m: usize, control: &[u64], inverse: bool, bits: &mut [u64]) {
    super::mceliece::permute(proof.avx2, m, control, inverse, bits);
}

/// Sorted as on AVX2.
#[inline]
pub(crate) fn sort_blocks(proof: Wide, numbers: &mut [u32], scratch: &mut [u32], block: usize) {
    super::sort::sort_blocks(proof.avx2, numbers, scratch, block);
}

/// The same.
#[inline]
pub(crate) fn sort_words(proof: Wide, words: &mut [u64], scratch: &mut [u64]) {
    super::sort::sort_words(proof.avx2, words, scratch);
}
