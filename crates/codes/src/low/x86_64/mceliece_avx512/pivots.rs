//! Pivots of 64 columns among few rows: the words of eight rows in a register, and which of their rows a sum is made of in registers beside them.

use crate::kernels::mceliece::pivots::FEW;
use core::arch::x86_64::*;

/// Rows in a register.
const EIGHT: usize = 8;
/// Registers of all rows.
const ALL: usize = FEW / EIGHT;

/// See [`crate::kernels::mceliece::pivots::find_among_few`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
pub(super) fn find(rows: &[u64], count: usize, sums: &mut [u8]) {
    let (mut words, mut low, mut high) = ([0; FEW], [0; FEW], [0; FEW]);
    words[..rows.len()].copy_from_slice(rows);
    for i in 0..FEW / 2 {
        (low[i], high[i + FEW / 2]) = (1 << i, 1 << i);
    }
    let (mut words, mut low, mut high) = (registers(&words), registers(&low), registers(&high));
    let mut regular = 1;
    for pivot in 0..count {
        let column = _mm512_set1_epi64(1 << pivot);
        let mut have = 0u128;
        for (i, words) in words.iter().enumerate() {
            have |= u128::from(_mm512_test_epi64_mask(*words, column)) << (EIGHT * i);
        }
        let here = 1u128 << pivot;
        // The first row below that has the bit, if the pivot's has not.
        let below = have & !(here | (here - 1));
        let missing = 1 ^ (have >> pivot) as u64 & 1;
        let wanted = u128::from(candor_cpu::barrier::mask_u64(missing));
        let first = below & below.wrapping_neg() & (wanted | wanted << 64);
        let found = ((first as u64 | (first >> 64) as u64) != 0) as u64;
        regular &= 1 ^ missing ^ found;

        let others = have & !here;
        eliminate(&mut words, here | first, here, others);
        eliminate(&mut low, here | first, here, others);
        eliminate(&mut high, here | first, here, others);
    }
    let groups = (sums.len() - 1) / 64;
    for (part, registers) in [low, high].into_iter().enumerate() {
        let mut words = [0u64; FEW];
        for (eight, register) in words.as_chunks_mut::<EIGHT>().0.iter_mut().zip(registers) {
            // SAFETY: there is room for eight words, and the store needs no alignment.
            unsafe { _mm512_storeu_si512(eight.as_mut_ptr().cast(), register) };
        }
        for (i, word) in words[..count].iter().enumerate() {
            for (g, byte) in word.to_le_bytes().into_iter().enumerate() {
                if 8 * part + g < groups {
                    sums[64 * (8 * part + g) + i] = byte;
                }
            }
        }
    }
    sums[64 * groups] = regular as u8;
}

/// Makes row `here` the sum of the rows in `summands`, and adds it to `others`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn eliminate(rows: &mut [__m512i; ALL], summands: u128, here: u128, others: u128) {
    let mut sum = _mm512_setzero_si512();
    for (i, rows) in rows.iter().enumerate() {
        sum = _mm512_mask_xor_epi64(sum, (summands >> (EIGHT * i)) as u8, sum, *rows);
    }
    let sum = _mm512_xor_si512(sum, _mm512_shuffle_i64x2::<0b01001110>(sum, sum));
    let sum = _mm512_xor_si512(sum, _mm512_shuffle_i64x2::<0b10110001>(sum, sum));
    let sum = _mm512_xor_si512(sum, _mm512_permutex_epi64::<0b10110001>(sum));
    for (i, rows) in rows.iter_mut().enumerate() {
        let added = _mm512_mask_xor_epi64(*rows, (others >> (EIGHT * i)) as u8, *rows, sum);
        *rows = _mm512_mask_mov_epi64(added, (here >> (EIGHT * i)) as u8, sum);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn registers(words: &[u64; FEW]) -> [__m512i; ALL] {
    let mut registers = [_mm512_setzero_si512(); ALL];
    for (register, eight) in registers.iter_mut().zip(words.as_chunks::<EIGHT>().0) {
        // SAFETY: there are eight words, and the load needs no alignment.
        *register = unsafe { _mm512_loadu_si512(eight.as_ptr().cast()) };
    }
    registers
}
