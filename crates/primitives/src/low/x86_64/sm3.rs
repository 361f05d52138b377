//! SM3's compression function with AVX2 and BMI2.
//!
//! **The schedule.** Word j + 16 needs word j + 13, so four words of one block can't be made side by side. Eight blocks can: lane l of a
//! 256-bit register is block l, and a word of all eight costs one pass. While the rounds of eight blocks run, which is scalar work, the
//! schedule of the next eight is made between them.
//!
//! **The rounds.** They are one chain from each E to the next. Written as in the standard it is seven operations long: add E, rotate
//! (SS1), Boolean function GG of E, add, add, and P0's two xors after its rotations. Here it is six. E = p ⊕ q is the last xor of P0,
//! and `and` distributes over xor, so GG(E, F, G) = ((q ∧ (F⊕G)) ⊕ G) ⊕ (p ∧ (F⊕G)) is ready one operation after p. That costs two
//! more instructions off the chain. It is assembly since LLVM would put the formula back.

use crate::hash::sm3_portable::{self, T};
use candor_cpu::HaveAvx2;
use core::arch::asm;
use core::arch::x86_64::*;
use core::sync::atomic::{Ordering, compiler_fence};

/// Below this many blocks a schedule of eight is not worth its making.
const FEW: usize = 3;

/// Runs CF over `blocks`, one after another.
#[inline]
pub(crate) fn compress(_: HaveAvx2, state: &mut [u32; 8], blocks: &[[u8; 64]]) {
    if blocks.len() < FEW {
        sm3_portable::compress(state, blocks);
    } else {
        // SAFETY: the token proves AVX2, BMI1 and BMI2.
        unsafe { compress_avx2(state, blocks) }
    }
}

/// Word j and j + 4 of eight blocks xored: entry `PRIME + j` of a schedule is W′[j].
const PRIME: usize = 68;

/// W and W′ of eight blocks: entry j is W[j], a lane a block. Aligned, since a store across two cache lines costs two.
#[repr(align(32))]
struct Schedule([[u32; 8]; 68 + 64]);

/// One of the rounds 0 to 15 (GB/T 32905 §5.3.3): D becomes the new A and H the new E, with `p` and `q` as its two halves.
macro_rules! early {
    ($j:expr, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident, $p:ident $q:ident, $w:ident) => {
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
                x = out(reg) _, y = out(reg) _, z = out(reg) _, w = in(reg) $w, t = const T[$j] as i32,
                w_at = const 32 * $j, prime_at = const 32 * (PRIME + $j), options(nostack, readonly),
            )
        }
    };
}

/// One of the rounds 16 to 63.
macro_rules! late {
    ($j:expr, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident, $p:ident $q:ident, $w:ident) => {
        // SAFETY: as above.
        unsafe {
            asm!(
                "rorx {x:e}, {a:e}, 20",
                "lea {y:e}, [{x:r} + {t}]",
                "add {y:e}, {e:e}",
                "rol {y:e}, 7", // SS1
                "mov {z:e}, {f:e}",
                "xor {z:e}, {g:e}",
                "add {h:e}, [{w} + {w_at}]",
                "and {q:e}, {z:e}",
                "xor {q:e}, {g:e}",
                "and {p:e}, {z:e}",
                "xor {p:e}, {q:e}", // GG
                "add {h:e}, {p:e}",
                "add {h:e}, {y:e}", // TT2
                "xor {x:e}, {y:e}", // SS2
                "rorx {q:e}, {h:e}, 15",
                "rorx {p:e}, {h:e}, 23",
                "xor {p:e}, {h:e}",
                "mov {h:e}, {p:e}",
                "xor {h:e}, {q:e}", // P0(TT2)
                "add {d:e}, [{w} + {prime_at}]",
                "mov {z:e}, {b:e}",
                "and {z:e}, {c:e}",
                "add {d:e}, {z:e}",
                "mov {z:e}, {b:e}",
                "xor {z:e}, {c:e}",
                "and {z:e}, {a:e}",
                "add {d:e}, {z:e}", // FF = B∧C + A∧(B⊕C): no bit in common
                "add {d:e}, {x:e}", // TT1
                "rol {b:e}, 9",
                "rol {f:e}, 19",
                a = in(reg) $a, b = inout(reg) $b, c = in(reg) $c, d = inout(reg) $d, e = in(reg) $e, f = inout(reg) $f,
                g = in(reg) $g, h = inout(reg) $h, p = inout(reg) $p, q = inout(reg) $q,
                x = out(reg) _, y = out(reg) _, z = out(reg) _, w = in(reg) $w, t = const T[$j] as i32,
                w_at = const 32 * $j, prime_at = const 32 * (PRIME + $j), options(nostack, readonly),
            )
        }
    };
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn compress_avx2(state: &mut [u32; 8], blocks: &[[u8; 64]]) {
    let mut schedules = [Schedule([[0; 8]; 132]), Schedule([[0; 8]; 132])];
    let [mut now, mut next] = schedules.each_mut();
    begin(now, &blocks[..blocks.len().min(8)]);
    for j in 0..52 {
        extend(now, j);
    }
    let mut rest = blocks;
    while !rest.is_empty() {
        let (eight, after) = rest.split_at(rest.len().min(8));
        if !after.is_empty() {
            begin(next, &after[..after.len().min(8)]);
        }
        for lane in 0..eight.len() {
            // With another eight to come all lanes are in use, and 8 lanes have 64 places for 52 words.
            let steps = if after.is_empty() { 0..0 } else { 8 * lane..(8 * lane + 8).min(52) };
            rounds(state, now, lane, next, steps);
        }
        (now, next) = (next, now);
        rest = after;
    }
    wipe(&mut schedules);
}

/// The 64 rounds of the block in lane `lane` of `now`; between them, words `steps` + 16 of `next`.
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn rounds(state: &mut [u32; 8], now: &Schedule, lane: usize, next: &mut Schedule, mut steps: core::ops::Range<usize>) {
    let w = &raw const now.0[0][lane];
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    let (mut p, mut q): (u32, u32);
    macro_rules! four {
        ($round:ident, $j:expr) => {
            $round!($j, a b c d e f g h, p q, w);
            $round!($j + 1, d a b c h e f g, p q, w);
            $round!($j + 2, c d a b g h e f, p q, w);
            $round!($j + 3, b c d a f g h e, p q, w);
        };
    }
    macro_rules! eight {
        ($round:ident, $j:expr) => {
            four!($round, $j);
            four!($round, $j + 4);
            if let Some(step) = steps.next() {
                extend(next, step);
            }
        };
    }
    eight!(early, 0);
    eight!(early, 8);
    eight!(late, 16);
    eight!(late, 24);
    eight!(late, 32);
    eight!(late, 40);
    eight!(late, 48);
    eight!(late, 56);
    let _ = (p, q);
    for (word, working) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word ^= working;
    }
}

/// Words 0 to 15 of up to eight blocks, and what of W′ they give.
#[target_feature(enable = "avx2")]
#[inline]
fn begin(schedule: &mut Schedule, blocks: &[[u8; 64]]) {
    for (lane, block) in blocks.iter().enumerate() {
        for (row, bytes) in schedule.0.iter_mut().zip(block.as_chunks::<4>().0) {
            row[lane] = u32::from_be_bytes(*bytes);
        }
    }
    for j in 0..12 {
        for lane in 0..8 {
            schedule.0[PRIME + j][lane] = schedule.0[j][lane] ^ schedule.0[j + 4][lane];
        }
    }
}

/// W[j + 16] and W′[j + 12] (§5.3.2).
#[target_feature(enable = "avx2")]
#[inline]
fn extend(schedule: &mut Schedule, j: usize) {
    let word = |at: usize| {
        // SAFETY: an entry has 32 bytes; the load needs no alignment.
        unsafe { _mm256_loadu_si256(schedule.0[at].as_ptr().cast()) }
    };
    let x = xor3(word(j), word(j + 7), rol::<15, 17>(word(j + 13)));
    let p1 = xor3(x, rol::<15, 17>(x), rol::<23, 9>(x));
    let new = xor3(p1, rol::<7, 25>(word(j + 3)), word(j + 10));
    let prime = _mm256_xor_si256(new, word(j + 12));
    // SAFETY: as above, for stores.
    unsafe {
        _mm256_storeu_si256(schedule.0[j + 16].as_mut_ptr().cast(), new);
        _mm256_storeu_si256(schedule.0[PRIME + j + 12].as_mut_ptr().cast(), prime);
    }
}

/// Overwrites the schedules, 32 bytes a store; `zeroize` would take a store a word, and time that shows on short messages.
#[target_feature(enable = "avx2")]
#[inline]
fn wipe(schedules: &mut [Schedule; 2]) {
    for row in schedules.iter_mut().flat_map(|schedule| &mut schedule.0) {
        // SAFETY: a row is 32 bytes of the schedule and aligned like it.
        unsafe { core::ptr::write_volatile(row.as_mut_ptr().cast(), _mm256_setzero_si256()) }
    }
    compiler_fence(Ordering::SeqCst);
}

#[target_feature(enable = "avx2")]
#[inline]
fn xor3(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    _mm256_xor_si256(_mm256_xor_si256(a, b), c)
}

/// Rotates left by `N`; `R` is 32 − `N`.
#[target_feature(enable = "avx2")]
#[inline]
fn rol<const N: i32, const R: i32>(x: __m256i) -> __m256i {
    const { assert!(N + R == 32) }
    _mm256_or_si256(_mm256_slli_epi32::<N>(x), _mm256_srli_epi32::<R>(x))
}
