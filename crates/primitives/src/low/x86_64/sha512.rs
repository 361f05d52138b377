//! SHA-512's compression function with AVX2 and BMI2.
//!
//! The message schedule is vector work, the rounds are scalar work, and the two go through different pipes. So they are mixed: after
//! each two rounds stands the vector code that makes two words of the schedule sixteen rounds further on. A 256-bit register holds
//! two words of one block and the same two of the next, so that one pass makes the schedules of two blocks; while the second block
//! is hashed there is nothing left to schedule.
//!
//! A round is assembly because its additions stand in an order that LLVM would undo. What later rounds wait for is the new e, and
//! Σ1(e) is the last of its terms to be ready, so it is added last. Ch enters as two additions, of e∧f and of ¬e∧g, which have no bit
//! in common: no xor, and no wait for both.

use crate::rounds::SHA512_K;
use candor_cpu::HaveAvx2;
use core::arch::asm;
use core::arch::x86_64::*;
use core::sync::atomic::{Ordering, compiler_fence};

/// Runs the compression function over `blocks`, one after another.
#[inline]
pub(crate) fn compress(_: HaveAvx2, state: &mut [u64; 8], blocks: &[[u8; 128]]) {
    // SAFETY: the token proves AVX2, BMI1 and BMI2.
    unsafe { compress_avx2(state, blocks) }
}

/// One round on the working variables a to h (FIPS 180-4 §6.4.2): d becomes the new e and h the new a. On entry `bc` holds b⊕c; it is
/// used up, and `ab` gets a⊕b, which is the next round's b⊕c: Maj(a, b, c) is (b∧c) + (a ∧ (b⊕c)), with no bit in common.
///
/// Two chains run through the rounds, and both are four operations long. The new e is d + h + K + W + Ch + Σ1(e), with Σ1(e) last. The
/// new a is (the new e − d + Maj) + Σ0(a), with Σ0(a) last.
macro_rules! round {
    ($a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident, $bc:ident $ab:ident, $wk:ident[$at:expr]) => {
        // SAFETY: arithmetic on registers, and one read at a constant offset below the size of `Schedule`.
        unsafe {
            asm!(
                "add {h}, [{wk} + {at}]",
                "add {h}, {d}",
                "rorx {x}, {e}, 41",
                "rorx {y}, {e}, 18",
                "xor {x}, {y}",
                "rorx {y}, {e}, 14",
                "xor {x}, {y}", // Σ1(e)
                "mov {y}, {e}",
                "and {y}, {f}",
                "add {h}, {y}",
                "andn {y}, {e}, {g}",
                "add {h}, {y}",
                "mov {y}, {b}",
                "and {y}, {c}",
                "sub {y}, {d}",
                "lea {d}, [{h} + {x}]", // the new e
                "rorx {x}, {a}, 39",
                "rorx {h}, {a}, 34",
                "xor {x}, {h}",
                "rorx {h}, {a}, 28",
                "xor {x}, {h}", // Σ0(a)
                "mov {ab}, {a}",
                "xor {ab}, {b}",
                "and {bc}, {a}",
                "add {y}, {bc}",
                "add {y}, {d}",
                "lea {h}, [{y} + {x}]", // the new a
                a = in(reg) $a, b = in(reg) $b, c = in(reg) $c, d = inout(reg) $d, e = in(reg) $e, f = in(reg) $f, g = in(reg) $g,
                h = inout(reg) $h, bc = inout(reg) $bc => _, ab = out(reg) $ab, x = out(reg) _, y = out(reg) _,
                wk = in(reg) $wk, at = const $at, options(nostack, readonly),
            )
        }
    };
}

/// Rounds 2i and 2i + 1 of the sixteen whose K + W begins at `wk`.
macro_rules! two_rounds {
    ($i:literal, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident, $m:ident $n:ident, $wk:ident) => {
        round!($a $b $c $d $e $f $g $h, $m $n, $wk[32 * $i]);
        round!($h $a $b $c $d $e $f $g, $n $m, $wk[32 * $i + 8]);
    };
}

/// Sixteen rounds; `$after!(i)` stands after each two.
macro_rules! sixteen_rounds {
    ($a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident, $m:ident $n:ident, $wk:ident, $after:ident) => {
        two_rounds!(0, $a $b $c $d $e $f $g $h, $m $n, $wk);
        $after!(0);
        two_rounds!(1, $g $h $a $b $c $d $e $f, $m $n, $wk);
        $after!(1);
        two_rounds!(2, $e $f $g $h $a $b $c $d, $m $n, $wk);
        $after!(2);
        two_rounds!(3, $c $d $e $f $g $h $a $b, $m $n, $wk);
        $after!(3);
        two_rounds!(4, $a $b $c $d $e $f $g $h, $m $n, $wk);
        $after!(4);
        two_rounds!(5, $g $h $a $b $c $d $e $f, $m $n, $wk);
        $after!(5);
        two_rounds!(6, $e $f $g $h $a $b $c $d, $m $n, $wk);
        $after!(6);
        two_rounds!(7, $c $d $e $f $g $h $a $b, $m $n, $wk);
        $after!(7);
    };
}

/// K + W of two blocks: entry i holds words 2i and 2i + 1 of the first block, then of the second. Aligned, since a store across
/// two cache lines costs two.
#[repr(align(64))]
pub(super) struct Schedule(pub(super) [[u64; 4]; 40]);

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn compress_avx2(state: &mut [u64; 8], blocks: &[[u8; 128]]) {
    let mut schedule = Schedule([[0; 4]; 40]);
    for pair in blocks.chunks(2) {
        // A last block without a neighbour is its own.
        let [first, second] = [&pair[0], &pair[pair.len() - 1]];
        let mut w = [_mm256_setzero_si256(); 8];
        for (i, w) in w.iter_mut().enumerate() {
            *w = words(first, second, i);
            put(&mut schedule, i, *w);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
        let (mut m, mut n) = (b ^ c, 0u64);
        macro_rules! nothing {
            ($i:literal) => {};
        }
        for sixteen in 0..4 {
            let wk = schedule.0[8 * sixteen..].as_ptr();
            macro_rules! extend {
                ($i:literal) => {
                    w[$i] = extended(w[$i], w[($i + 1) % 8], w[($i + 4) % 8], w[($i + 5) % 8], w[($i + 7) % 8]);
                    put(&mut schedule, 8 * sixteen + 8 + $i, w[$i]);
                };
            }
            sixteen_rounds!(a b c d e f g h, m n, wk, extend);
        }
        let wk = schedule.0[32..].as_ptr();
        sixteen_rounds!(a b c d e f g h, m n, wk, nothing);
        add(state, [a, b, c, d, e, f, g, h]);
        if pair.len() == 2 {
            [a, b, c, d, e, f, g, h] = *state;
            (m, n) = (b ^ c, n);
            for sixteen in schedule.0.as_chunks::<8>().0 {
                let wk = sixteen.as_flattened()[2..].as_ptr();
                sixteen_rounds!(a b c d e f g h, m n, wk, nothing);
            }
            add(state, [a, b, c, d, e, f, g, h]);
        }
        let _ = (m, n);
    }
    wipe(&mut schedule);
}

/// Words 2i and 2i + 1 of both blocks.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn words(first: &[u8; 128], second: &[u8; 128], i: usize) -> __m256i {
    let half = |block: &[u8; 128]| {
        let [low, high] =
            [16 * i, 16 * i + 8].map(|at| block[at..].first_chunk().map_or(0, |word| i64::from_be_bytes(*word)));
        _mm_set_epi64x(high, low)
    };
    _mm256_set_m128i(half(second), half(first))
}

/// W[t + 16] from the words at t, t + 2, t + 8, t + 10 and t + 14 (§6.4.2 step 1), each with its successor.
#[target_feature(enable = "avx2")]
#[inline]
fn extended(w0: __m256i, w2: __m256i, w8: __m256i, w10: __m256i, w14: __m256i) -> __m256i {
    let w1 = _mm256_alignr_epi8::<8>(w2, w0);
    let w9 = _mm256_alignr_epi8::<8>(w10, w8);
    let sigma0 = xor3(ror::<1, 63>(w1), ror::<8, 56>(w1), _mm256_srli_epi64::<7>(w1));
    let sigma1 = xor3(ror::<19, 45>(w14), ror::<61, 3>(w14), _mm256_srli_epi64::<6>(w14));
    _mm256_add_epi64(_mm256_add_epi64(_mm256_add_epi64(w0, w9), sigma0), sigma1)
}

#[target_feature(enable = "avx2")]
#[inline]
fn xor3(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    _mm256_xor_si256(_mm256_xor_si256(a, b), c)
}

/// Rotates right by `N`; `L` is 64 − `N`.
#[target_feature(enable = "avx2")]
#[inline]
fn ror<const N: i32, const L: i32>(x: __m256i) -> __m256i {
    const { assert!(N + L == 64) }
    _mm256_or_si256(_mm256_srli_epi64::<N>(x), _mm256_slli_epi64::<L>(x))
}

/// Adds the constants of words 2i and 2i + 1 and stores.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn put(schedule: &mut Schedule, i: usize, w: __m256i) {
    let k = _mm256_broadcastsi128_si256(_mm_set_epi64x(SHA512_K[2 * i + 1] as i64, SHA512_K[2 * i] as i64));
    // SAFETY: an entry has 32 bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(schedule.0[i].as_mut_ptr().cast(), _mm256_add_epi64(w, k)) }
}

/// Overwrites the schedule, 32 bytes a store; `zeroize` would take a store a word, and time that shows on short messages.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn wipe(schedule: &mut Schedule) {
    for row in &mut schedule.0 {
        // SAFETY: a row is 32 bytes of the schedule and aligned like it.
        unsafe { core::ptr::write_volatile(row.as_mut_ptr().cast(), _mm256_setzero_si256()) }
    }
    compiler_fence(Ordering::SeqCst);
}

#[inline]
pub(super) fn add(state: &mut [u64; 8], working: [u64; 8]) {
    for (word, working) in state.iter_mut().zip(working) {
        *word = word.wrapping_add(working);
    }
}
