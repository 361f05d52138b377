//! On vectors of eight limbs, with products of 52 bits.
//!
//! A step takes a limb of b. It adds a·b to the sum and the multiple of m that makes the lowest limb zero, and drops that limb. The lower halves of products
//! belong to the limb at which they stand, the upper ones to the next, which is at the same place once the limb is dropped. From one factor of m to the next
//! the lower halves of m's multiple, the turn of the vectors and a sum have to wait for each other; all else is done beside it, and two products that
//! take turns hide what is left (`ifma_pair.rs`).
#![allow(clippy::needless_range_loop)] // a vector's number stands for the same limbs of several numbers

use crate::words::is_zero_word;
use candor_cpu::HaveAvx512Ifma;
use candor_cpu::barrier::opaque_u64;
use core::arch::x86_64::*;

/// Bits of a limb.
const BITS: u32 = 52;
pub(super) const MASK: u64 = (1 << BITS) - 1;

/// A product: a·b over 2^(52·K) modulo m, up to m.
pub(crate) struct Job<'a> {
    pub(crate) m: &'a [u64],
    /// −1/m modulo 2^52, or with more bits.
    pub(crate) inverse: u64,
    pub(crate) a: &'a [u64],
    pub(crate) b: &'a [u64],
    pub(crate) to: &'a mut [u64],
}

/// The product of numbers that are all of one length: vectors of limbs, with 4m < 2^(52·K), and factors below 2m. So is the result.
#[inline]
pub(crate) fn product(token: HaveAvx512Ifma, mut job: Job<'_>) {
    // SAFETY: the token proves the features.
    unsafe {
        match job.m.len() {
            24 => of_length::<3, 20>(token, &mut job),
            32 => of_length::<4, 30>(token, &mut job),
            40 => of_length::<5, 40>(token, &mut job),
            64 => of_length::<8, 60>(token, &mut job),
            80 => of_length::<10, 80>(token, &mut job),
            _ => unreachable!("a modulus has 16, 24, 32, 48 or 64 words"),
        }
    }
}

/// V vectors, of which K limbs are used.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
fn of_length<const V: usize, const K: usize>(_: HaveAvx512Ifma, job: &mut Job<'_>) {
    assert!([job.m, job.a, job.b, &*job.to].iter().all(|number| number.len() == 8 * V));
    let zero = _mm512_setzero_si512();
    let (m, a): ([_; V], [_; V]) = (loaded(job.m), loaded(job.a));
    // The lower halves of a times the first limb; the steps add those of the next.
    let b = _mm512_set1_epi64(job.b[0].cast_signed());
    let mut sum = [zero; V];
    for v in 0..V {
        sum[v] = _mm512_madd52lo_epu64(zero, a[v], b);
    }
    for at in 0..K {
        let factor = low_word(sum[0]).wrapping_mul(job.inverse);
        let factor = _mm512_set1_epi64(factor.cast_signed());
        let b = _mm512_set1_epi64(job.b[at].cast_signed());
        // The limb behind the last one used is zero.
        let next = _mm512_set1_epi64(if at + 1 < K { job.b[at + 1] } else { 0 }.cast_signed());
        let mut upper = [zero; V];
        for v in 0..V {
            let of_a = _mm512_madd52lo_epu64(_mm512_madd52hi_epu64(zero, a[v], b), a[v], next);
            upper[v] = _mm512_madd52hi_epu64(of_a, m[v], factor);
            sum[v] = _mm512_madd52lo_epu64(sum[v], m[v], factor);
        }
        let carry = _mm512_maskz_srli_epi64::<BITS>(1, sum[0]);
        upper[0] = _mm512_add_epi64(upper[0], carry);
        for v in 0..V {
            let above = if v + 1 < V { sum[v + 1] } else { zero };
            sum[v] = _mm512_add_epi64(_mm512_alignr_epi64::<1>(above, sum[v]), upper[v]);
        }
    }
    stored(&carried(&sum), job.to);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
#[inline]
fn low_word(vector: __m512i) -> u64 {
    _mm_cvtsi128_si64(_mm512_castsi512_si128(vector)).cast_unsigned()
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
pub(super) fn loaded<const V: usize>(limbs: &[u64]) -> [__m512i; V] {
    let mut vectors = [_mm512_setzero_si512(); V];
    for (vector, limbs) in vectors.iter_mut().zip(limbs.as_chunks::<8>().0) {
        // SAFETY: the array has as many bytes as the vector, at any address.
        *vector = unsafe { _mm512_loadu_si512(limbs.as_ptr().cast()) };
    }
    vectors
}

/// Limbs of less than 2^61 brought below 2^52. What is above the last one is lost.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn carried<const V: usize>(sum: &[__m512i; V]) -> [__m512i; V] {
    let mask = _mm512_set1_epi64(MASK.cast_signed());
    let mut limbs = spread(sum);
    // Compilers would put the masks together on vectors, and wait for it.
    let word = |mask: u8| u128::from(opaque_u64(mask.into()));
    let (mut passes, mut makes) = (0_u128, 0_u128);
    for (v, vector) in limbs.iter().enumerate() {
        makes |= word(_mm512_cmpgt_epu64_mask(*vector, mask)) << (8 * v);
        passes |= word(_mm512_cmpeq_epu64_mask(*vector, mask)) << (8 * v);
    }
    // What is left carries one at most, and passes it on where all bits are ones: as a sum of words of one bit does.
    let carried = ((makes << 1) + passes) ^ passes;
    let one = _mm512_set1_epi64(1);
    for (v, vector) in limbs.iter_mut().enumerate() {
        let sum = _mm512_mask_add_epi64(*vector, (carried >> (8 * v)) as u8, *vector, one);
        *vector = _mm512_and_si512(sum, mask);
    }
    limbs
}

/// Limbs of less than 2^61 with their upper bits given to the next: below 2^52 + 2^9.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn spread<const V: usize>(sum: &[__m512i; V]) -> [__m512i; V] {
    let zero = _mm512_setzero_si512();
    let mask = _mm512_set1_epi64(MASK.cast_signed());
    let carries = sum.map(|vector| _mm512_srli_epi64::<BITS>(vector));
    let mut limbs = *sum;
    for v in 0..V {
        let below = if v > 0 { carries[v - 1] } else { zero };
        let carry = _mm512_alignr_epi64::<7>(carries[v], below);
        limbs[v] = _mm512_add_epi64(_mm512_and_si512(sum[v], mask), carry);
    }
    limbs
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
pub(super) fn stored<const V: usize>(vectors: &[__m512i; V], to: &mut [u64]) {
    for (vector, to) in vectors.iter().zip(to.as_chunks_mut::<8>().0) {
        // SAFETY: the array has as many bytes as the vector, at any address.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), *vector) };
    }
}

/// [`select`](crate::words::select) on vectors.
#[inline]
pub(crate) fn select(_: HaveAvx512Ifma, table: &[u64], number: u64, to: &mut [u64]) {
    // SAFETY: the token proves the features.
    unsafe { select_on_vectors(table, number, to) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn select_on_vectors(table: &[u64], number: u64, to: &mut [u64]) {
    match to.len() {
        24 => select_of_length::<3>(table, number, to),
        32 => select_of_length::<4>(table, number, to),
        40 => select_of_length::<5>(table, number, to),
        _ => unreachable!("powers are modulo numbers of 16, 24 or 32 words"),
    }
}

/// V vectors, which stay in registers.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn select_of_length<const V: usize>(table: &[u64], number: u64, to: &mut [u64]) {
    let mut selected = [_mm512_setzero_si512(); V];
    for (entry, index) in table.chunks_exact(8 * V).zip(0..) {
        let mask = _mm512_set1_epi64(is_zero_word(number ^ index).cast_signed());
        let entry: [_; V] = loaded(entry);
        for v in 0..V {
            selected[v] = _mm512_or_si512(selected[v], _mm512_and_si512(entry[v], mask));
        }
    }
    stored(&selected, to);
}
