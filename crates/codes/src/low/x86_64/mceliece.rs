//! Classic McEliece's kernels on 256-bit registers: the portable ones, compiled with AVX2 over vectors that are one register.

use crate::kernels::mceliece::columns::COLUMNS;
use crate::kernels::mceliece::look_up::{self, Permutation};
use crate::kernels::mceliece::polynomials::{self, Multiples, Product, Vector as Coefficients};
use crate::kernels::mceliece::transform::{self, Values};
use crate::kernels::mceliece::vector::{Row, Vector};
use crate::kernels::mceliece::{self, benes, columns, locator, parity, pivots, positions, rows};
use candor_cpu::HaveAvx2;
use core::arch::x86_64::*;

use super::rows::add_rows;
pub(crate) use super::sort::{sort_blocks, sort_words};

/// A register, made with the proof that there are such.
#[derive(Clone, Copy)]
pub(crate) struct Ymm(__m256i, HaveAvx2);

/// Applies a panel to a strip: see [`rows::apply`].
#[inline]
pub(crate) fn apply(proof: HaveAvx2, strip: &mut [u8], height: usize, panel: rows::Panel<'_>, sources: &mut [u8]) {
    rows::apply(
        |tile, height, choices, sources| add_rows(proof, tile, height, choices, sources),
        strip,
        height,
        panel,
        sources,
    );
}

/// Hides from the optimiser that all lanes are the same: it would compare one and copy the answer, by a chain of shuffles.
#[target_feature(enable = "avx2")]
#[inline]
fn hide(mut vector: __m256i) -> __m256i {
    // SAFETY: the template is a comment: no instruction, no memory, no flags.
    unsafe { core::arch::asm!("/* {0} */", inout(ymm_reg) vector, options(pure, nomem, nostack, preserves_flags)) };
    vector
}

impl Vector for Ymm {
    type Proof = HaveAvx2;

    #[inline(always)]
    fn load(proof: HaveAvx2, row: &Row) -> Self {
        // SAFETY: the token proves AVX2; the row has the 32 bytes that are read, at any alignment.
        Self(unsafe { _mm256_loadu_si256(row.as_ptr().cast()) }, proof)
    }

    #[inline(always)]
    fn load_bytes(proof: HaveAvx2, bytes: &[u8; 32]) -> Self {
        // SAFETY: the token proves AVX2; there are the 32 bytes that are read, at any alignment.
        Self(unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }, proof)
    }

    #[inline(always)]
    fn store(self, row: &mut Row) {
        // SAFETY: the vector was made with the token; the row has the 32 bytes that are written, at any alignment.
        unsafe { _mm256_storeu_si256(row.as_mut_ptr().cast(), self.0) };
    }

    #[inline(always)]
    fn splat(proof: HaveAvx2, word: u64) -> Self {
        // SAFETY: the token proves AVX2.
        Self(unsafe { _mm256_set1_epi64x(word.cast_signed()) }, proof)
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: the vector was made with the token.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) }, self.1)
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        // SAFETY: the vector was made with the token.
        Self(unsafe { _mm256_and_si256(self.0, other.0) }, self.1)
    }

    #[inline(always)]
    fn masks(self, word: u64) -> Self {
        let word = Self::splat(self.1, word);
        // SAFETY: the vector was made with the token.
        Self(unsafe { _mm256_cmpeq_epi64(_mm256_and_si256(hide(word.0), self.0), self.0) }, self.1)
    }

    #[inline(always)]
    fn up(self, entering: Self) -> Self {
        // SAFETY: the vector was made with the token.
        unsafe {
            // Each lane's neighbour below, and for the lowest what comes in, at the top bit.
            let below = _mm256_permute4x64_epi64::<0b10010000>(self.0);
            let below = _mm256_blend_epi32::<0b00000011>(below, entering.0);
            Self(_mm256_or_si256(_mm256_slli_epi64::<1>(self.0), _mm256_srli_epi64::<63>(below)), self.1)
        }
    }

    #[inline(always)]
    fn raise_lanes<const COUNT: i32>(self) -> Self {
        // SAFETY: the vector was made with the token.
        Self(unsafe { _mm256_slli_epi64::<COUNT>(self.0) }, self.1)
    }

    #[inline(always)]
    fn down_lanes<const COUNT: i32>(self) -> Self {
        // SAFETY: the vector was made with the token.
        Self(unsafe { _mm256_srli_epi64::<COUNT>(self.0) }, self.1)
    }

    #[inline(always)]
    fn swap_neighbours(self) -> Self {
        // SAFETY: the vector was made with the token.
        Self(unsafe { _mm256_shuffle_epi32::<0b01001110>(self.0) }, self.1)
    }

    #[inline(always)]
    fn swap_halves(self) -> Self {
        // SAFETY: the vector was made with the token.
        Self(unsafe { _mm256_permute4x64_epi64::<0b01001110>(self.0) }, self.1)
    }

    #[inline(always)]
    fn transpose(four: [Self; 4]) -> [Self; 4] {
        let proof = four[0].1;
        let [a, b, c, d] = four.map(|vector| vector.0);
        // SAFETY: the vectors were made with the token.
        unsafe {
            let (ab, cd) = (_mm256_unpacklo_epi64(a, b), _mm256_unpacklo_epi64(c, d));
            let (ab_high, cd_high) = (_mm256_unpackhi_epi64(a, b), _mm256_unpackhi_epi64(c, d));
            [
                Self(_mm256_permute2x128_si256::<0x20>(ab, cd), proof),
                Self(_mm256_permute2x128_si256::<0x20>(ab_high, cd_high), proof),
                Self(_mm256_permute2x128_si256::<0x31>(ab, cd), proof),
                Self(_mm256_permute2x128_si256::<0x31>(ab_high, cd_high), proof),
            ]
        }
    }
}

/// Makes the entry points: a safe function that takes the token, and within it the kernel with the token's features.
macro_rules! entry {
    ($token:ident, $features:literal; $($(#[$doc:meta])* $name:ident $([$(const $size:ident),+])? ($proof:ident $(, $argument:ident: $type:ty)*) $(-> $result:ty)?, $kernel:expr;)+) => {
        $(
            $(#[$doc])*
            #[inline]
            pub(crate) fn $name $(<$(const $size: usize),+>)? ($proof: $token, $($argument: $type),*) $(-> $result)? {
                #[target_feature(enable = $features)]
                #[allow(unused_variables, reason = "some kernels are loops that need no vectors of ours")]
                fn with_features $(<$(const $size: usize),+>)? ($proof: $token, $($argument: $type),*) $(-> $result)? {
                    $kernel
                }
                // SAFETY: the token proves the features.
                unsafe { with_features $(::<$($size),+>)? ($proof, $($argument),*) }
            }
        )+
    };
}
pub(super) use entry;

/// The entry points that all arms over [`Ymm`] have: the same code, compiled with the features of the arm. `$avx2` is the proof of the vectors.
macro_rules! kernels {
    ($token:ident, $features:literal, |$proof:ident| $avx2:expr) => {
        entry! {
            $token, $features;
            /// See [`transform::evaluate`].
            evaluate[const M, const Q]($proof, coefficients: &[Row; M], values: &mut Values<M, Q>), transform::evaluate::<Ymm, M, Q>($avx2, coefficients, values);
            /// See [`transform::power_sums`].
            power_sums[const M, const Q]($proof, values: &mut Values<M, Q>) -> [Row; M], transform::power_sums::<Ymm, M, Q>($avx2, values);
            /// See [`mceliece::invert`].
            invert[const M, const Q]($proof, values: &mut Values<M, Q>), mceliece::invert::<Ymm, M, Q>($avx2, values);
            /// See [`mceliece::square`].
            square[const M, const Q]($proof, values: &mut Values<M, Q>), mceliece::square::<Ymm, M, Q>($avx2, values);
            /// See [`positions::all_differ`].
            all_differ($proof, positions: &[u32]) -> u8, positions::all_differ(positions);
            /// See [`parity::products`].
            products($proof, rows: &[u8], row_bytes: usize, pieces: &[Row; parity::PIECES]) -> u64, parity::products::<Ymm>($avx2, rows, row_bytes, pieces);
        }
    };
}
pub(super) use kernels;

kernels!(HaveAvx2, "avx2,bmi1,bmi2", |proof| proof);

entry! {
    HaveAvx2, "avx2,bmi1,bmi2";
    /// See [`locator::locator`].
    locator[const M](proof, syndromes: &[Row; M], t: usize) -> [Row; M], locator::locator::<Ymm, M>(proof, syndromes, t);
    /// See [`benes::apply`].
    permute(proof, m: usize, control: &[u64], inverse: bool, bits: &mut [u64]), benes::apply(m, control, inverse, bits);
    /// See [`polynomials::product`].
    multiply[const M](proof, a: &Coefficients, b: &Multiples) -> Product, polynomials::product(a, b);
    /// See [`polynomials::eliminate`].
    eliminate[const M](proof, columns: &mut [Coefficients]) -> u16, polynomials::eliminate::<M>(columns);
    /// See [`pivots::find_among_few`].
    find_pivots(proof, rows: &[u64], count: usize, sums: &mut [u8]), pivots::find_among_few(rows, count, sums);
    /// See [`columns::fill`].
    fill_columns[const M](proof, x: &[u16; COLUMNS], value: &[u16; COLUMNS], t: usize, height: usize, tile: &mut [u8]), columns::fill::<Ymm, M>(proof, x, value, t, height, tile);
    /// See [`rows::write`].
    write_rows(proof, tile: &[u8], height: usize, matrix: &mut [u8], row_bytes: usize, first: usize), rows::write(tile, height, matrix, row_bytes, first);
    /// See [`look_up::look_up`].
    look_up(proof, w: usize, at: Permutation<'_>, table: &[u16], found: &mut [u16], room: &mut [u32]), {
        let (packed, scratch) = look_up::pack(at, table, room);
        sort_blocks(proof, packed, scratch, 1 << w);
        look_up::unpack(packed, found);
    };
    /// See [`look_up::look_up_two`].
    look_up_two(proof, w: usize, at: Permutation<'_>, tables: [&[u16]; 2], found: [&mut [u16]; 2], room: &mut [u32]), {
        if look_up::two_fit(w) {
            let (packed, scratch) = look_up::pack_two(w, at, tables, room);
            sort_blocks(proof, packed, scratch, 1 << w);
            look_up::unpack_two(w, packed, found);
        } else {
            for (table, found) in tables.into_iter().zip(found) {
                look_up(proof, w, at, table, found, room);
            }
        }
    };
}
