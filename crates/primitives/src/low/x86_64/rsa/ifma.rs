//! On vectors of eight limbs, with products of 52 bits.
//!
//! A step takes a limb of b. It adds a·b to the sum and the multiple of m that makes the lowest limb zero, and drops that limb. The lower halves of products
//! belong to the limb at which they stand, the upper ones to the next, which is at the same place once the limb is dropped. From one factor of m to the next
//! the lower halves of m's multiple, the turn of the vectors and a sum have to wait for each other; all else is done beside it, and two products that
//! take turns hide what is left.
#![allow(clippy::needless_range_loop)] // a vector's number stands for the same limbs of several numbers

use candor_cpu::HaveAvx512Ifma;
use core::arch::x86_64::*;

/// Bits of a limb.
const BITS: u32 = 52;
const MASK: u64 = (1 << BITS) - 1;

/// A product: a·b over 2^(52·K) modulo m, up to m.
pub(crate) struct Job<'a> {
    pub(crate) m: &'a [u64],
    /// −1/m modulo 2^52, or with more bits.
    pub(crate) inverse: u64,
    pub(crate) a: &'a [u64],
    pub(crate) b: &'a [u64],
    pub(crate) to: &'a mut [u64],
}

/// Products of numbers that are all of one length: vectors of limbs, with 4m < 2^(52·K), and factors below 2m. So are the results.
#[inline]
pub(crate) fn products<const P: usize>(token: HaveAvx512Ifma, jobs: [Job<'_>; P]) {
    // SAFETY: the token proves the features.
    unsafe {
        match jobs[0].m.len() {
            24 => of_length::<3, 20, P>(token, jobs),
            32 => of_length::<4, 30, P>(token, jobs),
            40 => of_length::<5, 40, P>(token, jobs),
            64 => of_length::<8, 60, P>(token, jobs),
            80 => of_length::<10, 80, P>(token, jobs),
            _ => unreachable!("a modulus has 16, 24, 32, 48 or 64 words"),
        }
    }
}

/// V vectors, of which K limbs are used.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
fn of_length<const V: usize, const K: usize, const P: usize>(_: HaveAvx512Ifma, mut jobs: [Job<'_>; P]) {
    for job in &jobs {
        assert!([job.m, job.a, job.b, job.to].iter().all(|number| number.len() == 8 * V));
    }
    let zero = _mm512_setzero_si512();
    let mut m = [[zero; V]; P];
    let mut a = [[zero; V]; P];
    let mut sum = [[zero; V]; P];
    for ((job, m), a) in jobs.iter().zip(&mut m).zip(&mut a) {
        *m = loaded(job.m);
        *a = loaded(job.a);
    }
    // The lower halves of a times the first limb; the steps add those of the next.
    for ((job, a), sum) in jobs.iter().zip(&a).zip(&mut sum) {
        let b = _mm512_set1_epi64(job.b[0].cast_signed());
        for v in 0..V {
            sum[v] = _mm512_madd52lo_epu64(zero, a[v], b);
        }
    }
    for at in 0..K {
        for p in 0..P {
            let (job, m, a, sum) = (&jobs[p], &m[p], &a[p], &mut sum[p]);
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
    }
    for (job, sum) in jobs.iter_mut().zip(&sum) {
        store_carried(sum, job.to);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
#[inline]
fn low_word(vector: __m512i) -> u64 {
    _mm_cvtsi128_si64(_mm512_castsi512_si128(vector)).cast_unsigned()
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
#[inline]
fn loaded<const V: usize>(limbs: &[u64]) -> [__m512i; V] {
    let mut vectors = [_mm512_setzero_si512(); V];
    for (vector, limbs) in vectors.iter_mut().zip(limbs.as_chunks::<8>().0) {
        // SAFETY: the array has as many bytes as the vector, at any address.
        *vector = unsafe { _mm512_loadu_si512(limbs.as_ptr().cast()) };
    }
    vectors
}

/// Limbs of less than 2^61 brought below 2^52. What is above the last one is lost.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
#[inline]
fn store_carried<const V: usize>(sum: &[__m512i; V], to: &mut [u64]) {
    let zero = _mm512_setzero_si512();
    let mask = _mm512_set1_epi64(MASK.cast_signed());
    // Each carry to the next limb: the limbs are below 2^52 + 2^9 then.
    let carries = sum.map(|vector| _mm512_srli_epi64::<BITS>(vector));
    let mut limbs = *sum;
    let (mut passes, mut makes) = (0_u128, 0_u128);
    for v in 0..V {
        let below = if v > 0 { carries[v - 1] } else { zero };
        let carry = _mm512_alignr_epi64::<7>(carries[v], below);
        limbs[v] = _mm512_add_epi64(_mm512_and_si512(sum[v], mask), carry);
        makes |= u128::from(_mm512_cmpgt_epu64_mask(limbs[v], mask)) << (8 * v);
        passes |= u128::from(_mm512_cmpeq_epu64_mask(limbs[v], mask)) << (8 * v);
    }
    // What is left carries one at most, and passes it on where all bits are ones: as a sum of words of one bit does.
    let carried = ((makes << 1) + passes) ^ passes;
    let one = _mm512_set1_epi64(1);
    for (v, to) in to.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let limbs = _mm512_mask_add_epi64(limbs[v], (carried >> (8 * v)) as u8, limbs[v], one);
        // SAFETY: the array has as many bytes as the vector, at any address.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), _mm512_and_si512(limbs, mask)) };
    }
}

/// [`portable::select`](crate::rsa::portable::select) on vectors.
#[inline]
pub(crate) fn select(_: HaveAvx512Ifma, table: &[u64], number: u64, to: &mut [u64]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn with_features(table: &[u64], number: u64, to: &mut [u64]) {
        crate::rsa::portable::select(table, number, to);
    }
    // SAFETY: the token proves the features.
    unsafe { with_features(table, number, to) }
}
