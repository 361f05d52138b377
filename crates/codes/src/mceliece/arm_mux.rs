//! Which arm of the kernels runs.

use crate::kernels::mceliece::columns::COLUMNS;
use crate::kernels::mceliece::look_up::Permutation;
use crate::kernels::mceliece::parity::PIECES;
use crate::kernels::mceliece::polynomials::{Multiples, Product, Vector as Coefficients};
use crate::kernels::mceliece::portable;
use crate::kernels::mceliece::rows::{self, Panel};
use crate::kernels::mceliece::transform::Values;
use crate::kernels::mceliece::vector::Row;
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::{avx2, mceliece, mceliece_avx512};
use alloc::vec;
use alloc::vec::Vec;
use candor_cpu::{Cpu, HaveAvx2, secret};
use zeroize::Zeroizing;

/// One way to compute. An accelerated variant proves that the CPU has the instructions.
#[derive(Clone, Copy)]
pub(crate) enum Arm {
    /// x86-64's AVX-512 and GFNI.
    #[cfg(target_arch = "x86_64")]
    Avx512(mceliece_avx512::Wide),
    /// x86-64's 256-bit vectors.
    Avx2(HaveAvx2),
    /// Safe Rust.
    Portable,
}

/// A method for each kernel, which calls that of the arm. `at most avx2` stands behind a routine that has no code of its own for AVX-512.
macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident $([$(const $size:ident),+])? ($($argument:ident: $type:ty),*) $(-> $result:ty)?, $routine:literal $(at most $most:ident)?;)+) => {
        $(
            $(#[$doc])*
            #[inline]
            pub(super) fn $name $(<$(const $size: usize),+>)? (self, $($argument: $type),*) $(-> $result)? {
                secret::ran($routine, self$(.$most())?.name());
                match self {
                    #[cfg(target_arch = "x86_64")]
                    Self::Avx512(token) => mceliece_avx512::$name $(::<$($size),+>)? (token, $($argument),*),
                    #[cfg(target_arch = "x86_64")]
                    Self::Avx2(token) => mceliece::$name $(::<$($size),+>)? (token, $($argument),*),
                    _ => portable::$name $(::<$($size),+>)? ($($argument),*),
                }
            }
        )+
    };
}

impl Arm {
    #[inline]
    pub(crate) fn choose(cpu: Cpu) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = mceliece_avx512::Wide::check(cpu) {
            return Self::Avx512(token);
        }
        HaveAvx2::check(cpu).map_or(Self::Portable, Self::Avx2)
    }

    #[inline]
    pub(crate) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
            Self::Avx2(_) => "avx2",
            Self::Portable => "portable",
        }
    }

    /// The arm whose code runs where there is none for AVX-512.
    #[inline]
    fn avx2(self) -> Self {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => Self::Avx2(token.avx2()),
            narrower => narrower,
        }
    }

    kernels! {
        /// A polynomial's values at all points.
        evaluate[const M, const Q](coefficients: &[Row; M], values: &mut Values<M, Q>), "mceliece-transform";
        /// Power sums of weights at all points.
        power_sums[const M, const Q](values: &mut Values<M, Q>) -> [Row; M], "mceliece-transform";
        /// 1/value at each point.
        invert[const M, const Q](values: &mut Values<M, Q>), "mceliece-transform";
        /// value² at each point.
        square[const M, const Q](values: &mut Values<M, Q>), "mceliece-transform";
        /// The error locator.
        locator[const M](syndromes: &[Row; M], t: usize) -> [Row; M], "mceliece-locator";
        /// Bits through a Beneš network.
        permute(m: usize, control: &[u64], inverse: bool, bits: &mut [u64]), "mceliece-network" at most avx2;
        /// Whether positions differ from each other: 1 or 0.
        all_differ(positions: &[u32]) -> u8, "mceliece-weight";
        /// Rows of a matrix times a vector.
        products(rows: &[u8], row_bytes: usize, pieces: &[Row; PIECES]) -> u64, "mceliece-encode";
        /// Sorts each block of `block` numbers below 2³¹; `block` is a power of two that divides their count. What `scratch` holds is lost; it is as
        /// long as `numbers`.
        sort_blocks(numbers: &mut [u32], scratch: &mut [u32], block: usize), "mceliece-sort" at most avx2;
        /// Sorts a power of two of numbers below 2⁶³; the same.
        sort_words(words: &mut [u64], scratch: &mut [u64]), "mceliece-sort" at most avx2;
        /// A product of polynomials.
        multiply[const M](a: &Coefficients, b: &Multiples) -> Product, "mceliece-polynomial";
        /// Solves a system of equations.
        eliminate[const M](columns: &mut [Coefficients]) -> u16, "mceliece-polynomial";
        /// Columns of the parity-check matrix.
        fill_columns[const M](x: &[u16; COLUMNS], value: &[u16; COLUMNS], t: usize, height: usize, tile: &mut [u8]), "mceliece-columns";
        /// Columns of a tile, into rows from byte `first` of each on.
        write_rows(tile: &[u8], height: usize, matrix: &mut [u8], row_bytes: usize, first: usize), "mceliece-columns";
        /// A panel of the reduction, applied to 64 columns; [`Self::choices`] makes its choices.
        apply(strip: &mut [u8], height: usize, panel: Panel<'_>, sources: &mut [u8]), "mceliece-reduce";
        /// A table of numbers in the order of a permutation, both in blocks of 2^`w`. What `room` holds is lost; it has two numbers for each of the table.
        look_up(w: usize, at: Permutation<'_>, table: &[u16], found: &mut [u16], room: &mut [u32]), "mceliece-control";
        /// The same with two tables.
        look_up_two(w: usize, at: Permutation<'_>, tables: [&[u16]; 2], found: [&mut [u16]; 2], room: &mut [u32]), "mceliece-control";
        /// Pivots among few rows.
        find_pivots(rows: &[u64], count: usize, sums: &mut [u8]), "mceliece-reduce";
    }

    /// Choices as [`Self::apply`] wants them, of a tile of coefficients: bit i of row r says whether row i of the sources goes into row r.
    pub(super) fn choices(self, coefficients: &[u8], height: usize) -> Zeroizing<Vec<u8>> {
        #[cfg(target_arch = "x86_64")]
        if let Self::Avx512(token) = self {
            let mut choices = Zeroizing::new(vec![0; mceliece_avx512::room_for_choices(coefficients, height)]);
            mceliece_avx512::choices(token, coefficients, height, &mut choices);
            return choices;
        }
        let mut choices = Zeroizing::new(vec![0; 2 * coefficients.len()]);
        rows::choices(coefficients, height, &mut choices);
        choices
    }

    /// Pivots among any number of rows, which are hardly ever needed, so there is no arm.
    pub(super) fn find_pivots_among_all(self, rows: &[u64], count: usize, sums: &mut [u8]) {
        crate::kernels::mceliece::pivots::find_among_all(rows, count, sums);
    }

    /// The vector with these bits set.
    #[inline]
    pub(super) fn scatter(self, positions: &[u32], words: &mut [u64]) {
        let arm = self.avx2();
        secret::ran("mceliece-weight", arm.name());
        match arm {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => avx2::scatter(token, positions, words),
            _ => crate::kernels::portable::scatter(positions, words),
        }
    }
}

#[cfg(test)]
mod tests;
