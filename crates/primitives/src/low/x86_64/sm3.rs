//! SM3's compression function with AVX2 and BMI2.
//!
//! **The schedule.** Word j + 16 needs word j + 13, so three words can be made side by side. They take three lanes of a 128-bit register,
//! and the fourth is the word before them, which is made again: so that all lanes hold words in sequence, and any four in sequence
//! are one shuffle of two registers. It is vector work; it stands between the rounds, which are scalar work, nine rounds before it
//! is needed.
//!
//! **The rounds.** They are one chain from each E to the next. Written as in the standard it is seven operations long: add E, rotate
//! (SS1), Boolean function GG of E, add, add, and P0's two xors after its rotations. Here it is six. E = p ⊕ q is the last xor of P0,
//! and `and` distributes over xor, so GG(E, F, G) = ((q ∧ (F⊕G)) ⊕ G) ⊕ (p ∧ (F⊕G)) is ready one operation after p. That costs two
//! more instructions off the chain. It is assembly since LLVM would put the formula back.

use crate::rounds::SM3_T;
use crate::wipe::wipe;
use candor_cpu::HaveAvx2;
use core::arch::asm;
use core::arch::x86_64::*;

/// Runs CF over `blocks`, one after another.
#[inline]
pub(crate) fn compress(_: HaveAvx2, state: &mut [u32; 8], blocks: &[[u8; 64]]) {
    // SAFETY: the token proves AVX2, BMI1 and BMI2.
    unsafe { compress_avx2(state, blocks) }
}

/// Room for W[0] to W[67], and for the surplus words of the last step.
pub(super) const WORDS: usize = 72;

/// W of a block, and W′[j] = W[j] ⊕ W[j + 4] beside it.
#[repr(align(64))]
pub(super) struct Schedule(pub(super) [[u32; WORDS]; 2]);

/// One of the rounds 0 to 15 (GB/T 32905 §5.3.3): D becomes the new A and H the new E, with `p` and `q` as its two halves.
macro_rules! early {
    ($j:expr, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident, $p:ident $q:ident, $schedule:ident) => {
        // SAFETY: arithmetic on registers, and two reads at constant offsets below the size of `Schedule`.
        unsafe {
            asm!(
                "rorx {x:e}, {a:e}, 20",
                "lea {y:e}, [{x:r} + {t}]",
                "add {y:e}, {e:e}",
                "rol {y:e}, 7",   // SS1
                "xor {x:e}, {y:e}", // SS2
                "add {h:e}, [{w} + {w_at}]",
                "mov {z:e}, {f:e}",
                "xor {z:e}, {g:e}",
                "xor {z:e}, {e:e}",
                "add {h:e}, {z:e}",
                "add {h:e}, {y:e}", // TT2
                "add {d:e}, [{w} + {prime_at}]",
                "mov {z:e}, {b:e}",
                "xor {z:e}, {c:e}",
                "xor {z:e}, {a:e}",
                "add {d:e}, {z:e}",
                "add {d:e}, {x:e}", // TT1
                "rol {b:e}, 9",
                "rol {f:e}, 19",
                "rorx {q:e}, {h:e}, 15",
                "rorx {p:e}, {h:e}, 23",
                "xor {p:e}, {h:e}",
                "mov {h:e}, {p:e}",
                "xor {h:e}, {q:e}", // P0(TT2)
                a = in(reg) $a, b = inout(reg) $b, c = in(reg) $c, d = inout(reg) $d, e = in(reg) $e, f = inout(reg) $f,
                g = in(reg) $g, h = inout(reg) $h, p = out(reg) $p, q = out(reg) $q,
                x = out(reg) _, y = out(reg) _, z = out(reg) _, w = in(reg) $schedule.0.as_ptr(), t = const SM3_T[$j] as i32,
                w_at = const 4 * $j, prime_at = const 4 * (WORDS + $j), options(nostack, readonly),
            )
        }
    };
}

/// One of the rounds 16 to 63. The order is the fastest of some hundreds, measured on Zen 5: 3 % over the order of the formulas.
macro_rules! late {
    ($j:expr, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident, $p:ident $q:ident, $schedule:ident) => {
        // SAFETY: as above.
        unsafe {
            asm!(
                "rorx {x:e}, {a:e}, 20",
                "lea {y:e}, [{x:r} + {t}]",
                "add {y:e}, {e:e}",
                "rol {y:e}, 7", // SS1
                "add {h:e}, [{w} + {w_at}]",
                "mov {z:e}, {f:e}",
                "xor {z:e}, {g:e}",
                "and {p:e}, {z:e}",
                "add {d:e}, [{w} + {prime_at}]",
                "and {q:e}, {z:e}",
                "xor {q:e}, {g:e}",
                "xor {p:e}, {q:e}", // GG
                "rol {f:e}, 19",
                "add {h:e}, {p:e}",
                "add {h:e}, {y:e}", // TT2
                "rorx {p:e}, {h:e}, 23",
                "xor {x:e}, {y:e}", // SS2
                "xor {p:e}, {h:e}",
                "rorx {q:e}, {h:e}, 15",
                "mov {z:e}, {b:e}",
                "mov {h:e}, {p:e}",
                "and {z:e}, {c:e}",
                "add {d:e}, {z:e}",
                "mov {z:e}, {b:e}",
                "xor {z:e}, {c:e}",
                "and {z:e}, {a:e}",
                "xor {h:e}, {q:e}", // P0(TT2)
                "add {d:e}, {z:e}", // FF = B∧C + A∧(B⊕C): no bit in common
                "add {d:e}, {x:e}", // TT1
                "rol {b:e}, 9",
                a = in(reg) $a, b = inout(reg) $b, c = in(reg) $c, d = inout(reg) $d, e = in(reg) $e, f = inout(reg) $f,
                g = in(reg) $g, h = inout(reg) $h, p = inout(reg) $p, q = inout(reg) $q,
                x = out(reg) _, y = out(reg) _, z = out(reg) _, w = in(reg) $schedule.0.as_ptr(), t = const SM3_T[$j] as i32,
                w_at = const 4 * $j, prime_at = const 4 * (WORDS + $j), options(nostack, readonly),
            )
        }
    };
}

/// The state and the variables xored, into both. Assembly since LLVM would do it in vectors, and the way there and back is part of the
/// chain.
macro_rules! chain {
    ($state:ident, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
        // SAFETY: as many words are read and written as the state has.
        unsafe {
            asm!(
                "xor {a:e}, [{state}]",
                "xor {b:e}, [{state} + 4]",
                "xor {c:e}, [{state} + 8]",
                "xor {d:e}, [{state} + 12]",
                "xor {e:e}, [{state} + 16]",
                "xor {f:e}, [{state} + 20]",
                "xor {g:e}, [{state} + 24]",
                "xor {h:e}, [{state} + 28]",
                "mov [{state}], {a:e}",
                "mov [{state} + 4], {b:e}",
                "mov [{state} + 8], {c:e}",
                "mov [{state} + 12], {d:e}",
                "mov [{state} + 16], {e:e}",
                "mov [{state} + 20], {f:e}",
                "mov [{state} + 24], {g:e}",
                "mov [{state} + 28], {h:e}",
                a = inout(reg) $a, b = inout(reg) $b, c = inout(reg) $c, d = inout(reg) $d, e = inout(reg) $e, f = inout(reg) $f,
                g = inout(reg) $g, h = inout(reg) $h, state = in(reg) $state.as_mut_ptr(), options(nostack),
            )
        }
    };
}

pub(super) use chain;

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn compress_avx2(state: &mut [u32; 8], blocks: &[[u8; 64]]) {
    let mut schedule = Schedule([[0; WORDS]; 2]);
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for block in blocks {
        let mut made = begin(&mut schedule, block);
        let (mut p, mut q): (u32, u32);
        macro_rules! step {
            ($k:expr) => {
                if $k < STEPS {
                    made = extended(&mut schedule, made, $k);
                }
            };
        }
        // A step of the schedule after each three rounds, and four rounds bring the variables home.
        macro_rules! twelve {
            ($four:ident $eight:ident, $j:expr) => {
                $four!($j, a b c d e f g h, p q, schedule);
                $four!($j + 1, d a b c h e f g, p q, schedule);
                $four!($j + 2, c d a b g h e f, p q, schedule);
                step!($j / 3);
                $four!($j + 3, b c d a f g h e, p q, schedule);
                $eight!($j + 4, a b c d e f g h, p q, schedule);
                $eight!($j + 5, d a b c h e f g, p q, schedule);
                step!($j / 3 + 1);
                $eight!($j + 6, c d a b g h e f, p q, schedule);
                $eight!($j + 7, b c d a f g h e, p q, schedule);
                $eight!($j + 8, a b c d e f g h, p q, schedule);
                step!($j / 3 + 2);
                $eight!($j + 9, d a b c h e f g, p q, schedule);
                $eight!($j + 10, c d a b g h e f, p q, schedule);
                $eight!($j + 11, b c d a f g h e, p q, schedule);
                step!($j / 3 + 3);
            };
        }
        twelve!(early early, 0);
        twelve!(early late, 12);
        twelve!(late late, 24);
        twelve!(late late, 36);
        twelve!(late late, 48);
        late!(60, a b c d e f g h, p q, schedule);
        late!(61, d a b c h e f g, p q, schedule);
        late!(62, c d a b g h e f, p q, schedule);
        late!(63, b c d a f g h e, p q, schedule);
        let _ = (p, q, made);
        chain!(state, a b c d e f g h);
    }
    wipe(schedule.0.as_flattened_mut());
}

/// Steps that a block's schedule takes: 52 words, three a step.
const STEPS: usize = 18;

/// The last registers of a schedule, each four words and beginning with the last word of the one before.
pub(super) type Made = [__m128i; 6];

/// Words 0 to 15, and the words of W′ that follow from them.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn begin(schedule: &mut Schedule, block: &[u8; 64]) -> Made {
    let swap = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    let four = |i: usize| {
        // SAFETY: sixteen bytes of the block; the load needs no alignment.
        _mm_shuffle_epi8(unsafe { _mm_loadu_si128(block.as_chunks::<16>().0[i].as_ptr().cast()) }, swap)
    };
    let [w0, w4, w8, w12] = [four(0), four(1), four(2), four(3)];
    put(schedule, 0, 0, w0);
    put(schedule, 0, 4, w4);
    put(schedule, 0, 8, w8);
    put(schedule, 0, 12, w12);
    put(schedule, 1, 0, _mm_xor_si128(w0, w4));
    put(schedule, 1, 4, _mm_xor_si128(w4, w8));
    put(schedule, 1, 8, _mm_xor_si128(w8, w12));
    // Of the first only word 0 is used.
    [
        _mm_shuffle_epi32::<0>(w0),
        w0,
        _mm_alignr_epi8::<12>(w4, w0),
        _mm_alignr_epi8::<8>(w8, w4),
        _mm_alignr_epi8::<4>(w12, w8),
        w12,
    ]
}

/// Words 16 + 3k to 18 + 3k (GB/T 32905 §5.3.2), and W′ of 12 + 3k to 14 + 3k.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn extended(schedule: &mut Schedule, [g0, g1, g2, g3, g4, g5]: Made, k: usize) -> Made {
    let x = xor3(sequence(g0, g1), g3, rol::<15, 17>(g5));
    let p1 = xor3(x, rol::<15, 17>(x), rol::<23, 9>(x));
    let mut new = xor3(p1, rol::<7, 25>(sequence(g1, g2)), g4);
    if k == 0 {
        // There is no word −1, which word 15 would have to be made from.
        new = _mm_blend_epi32::<1>(new, _mm_shuffle_epi32::<3>(g5));
    }
    put(schedule, 0, 15 + 3 * k, new);
    put(schedule, 1, 11 + 3 * k, _mm_xor_si128(sequence(g4, g5), new));
    [g1, g2, g3, g4, g5, new]
}

/// The four words in sequence that begin with the third of `one`, of which the last is the first of `two`.
#[target_feature(enable = "avx2")]
#[inline]
fn sequence(one: __m128i, two: __m128i) -> __m128i {
    _mm_castps_si128(_mm_shuffle_ps::<0b10_01_11_10>(_mm_castsi128_ps(one), _mm_castsi128_ps(two)))
}

/// Writes four words from `at` on, of W (`prime` 0) or W′ (1).
#[target_feature(enable = "avx2")]
#[inline]
fn put(schedule: &mut Schedule, prime: usize, at: usize, words: __m128i) {
    let place = &mut schedule.0[prime][at..at + 4];
    // SAFETY: four words have 16 bytes; the store needs no alignment.
    unsafe { _mm_storeu_si128(place.as_mut_ptr().cast(), words) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn xor3(a: __m128i, b: __m128i, c: __m128i) -> __m128i {
    _mm_xor_si128(_mm_xor_si128(a, b), c)
}

/// Rotates left by `N`; `R` is 32 − `N`.
#[target_feature(enable = "avx2")]
#[inline]
fn rol<const N: i32, const R: i32>(x: __m128i) -> __m128i {
    const { assert!(N + R == 32) }
    _mm_or_si128(_mm_slli_epi32::<N>(x), _mm_srli_epi32::<R>(x))
}
