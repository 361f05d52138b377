//! SHA-512's compression function with AVX-512 for the schedule and BMI2 for the rounds.
//!
//! As in [`super::sha512`] one pass makes the schedules of two blocks, and the vector work stands between the scalar work. Here it stands
//! between single instructions: a rotation and an xor of three are one instruction each, which leaves fifteen to two rounds, one after
//! each three scalar ones.
//!
//! A round has 22 operations besides its moves, two fewer than the other kernel's, and a chain from each e to the next that is five long
//! instead of four. A CPU with four units for integers gains by that; one with six waits for the chain.
//!
//! The order of a round's instructions is the fastest of some thousands, measured on Zen 4. It is 13 % faster than that of the formulas.

use super::sha512::{Schedule, add, put, wipe, words};
use crate::rounds::SHA512_K;
use candor_cpu::HaveAvx512Crypto;
use core::arch::asm;
use core::arch::x86_64::*;

/// Runs the compression function over `blocks`, one after another.
#[inline]
pub(crate) fn compress(_: HaveAvx512Crypto, state: &mut [u64; 8], blocks: &[[u8; 128]]) {
    // SAFETY: the token proves AVX-512 F and VL. Every CPU that has them has AVX2, BMI1 and BMI2.
    unsafe { compress_avx512(state, blocks) }
}

/// The constants of each two rounds, twice: for the two blocks.
#[repr(align(64))]
#[allow(dead_code)] // only the assembly reads it
struct Constants([[u64; 4]; 40]);

static CONSTANTS: Constants = {
    let mut constants = [[0; 4]; 40];
    let mut i = 0;
    while i < 40 {
        let [even, odd] = [SHA512_K[2 * i], SHA512_K[2 * i + 1]];
        constants[i] = [even, odd, even, odd];
        i += 1;
    }
    Constants(constants)
};

/// The text of one round (FIPS 180-4 §6.4.2) on the operands of these names, whose K + W stands `$at` bytes behind the group's: d becomes
/// the new e and h the new a. `$bc` holds b⊕c and is used up, and `$ab` gets a⊕b, which is the next round's b⊕c: Maj(a, b, c) is
/// ((a⊕b) ∧ (b⊕c)) ⊕ b. Behind each three instructions stands one of the schedule's.
macro_rules! round {
    ($a:literal $b:literal $d:literal $e:literal $f:literal $g:literal $h:literal, $bc:literal $ab:literal, $at:literal,
     [$($v0:literal)*], [$($v1:literal)*], [$($v2:literal)*], [$($v3:literal)*], [$($v4:literal)*], [$($v5:literal)*],
     [$($v6:literal)*], [$($v7:literal)*]) => {
        concat!(
            "rorx {x}, {", $e, "}, 41\n",
            "add {", $h, "}, [{wk} + {group} + ", $at, "]\n",
            "rorx {y}, {", $e, "}, 14\n",
            $($v0,)* "\n",
            "rorx {z}, {", $e, "}, 18\n",
            "xor {x}, {z}\n",
            "xor {x}, {y}\n", // Σ1(e)
            $($v1,)* "\n",
            "mov {z}, {", $f, "}\n",
            "xor {z}, {", $g, "}\n",
            "and {z}, {", $e, "}\n",
            "rorx {y}, {", $a, "}, 39\n",
            $($v2,)* "\n",
            "xor {z}, {", $g, "}\n", // Ch
            "add {", $h, "}, {z}\n",
            "add {", $h, "}, {x}\n", // T1
            $($v3,)* "\n",
            "add {", $d, "}, {", $h, "}\n", // the new e
            "rorx {z}, {", $a, "}, 28\n",
            "rorx {x}, {", $a, "}, 34\n",
            $($v4,)* "\n",
            "mov {", $ab, "}, {", $a, "}\n",
            "xor {", $ab, "}, {", $b, "}\n",
            "xor {y}, {x}\n",
            "xor {y}, {z}\n", // Σ0(a)
            $($v5,)* "\n",
            "and {", $bc, "}, {", $ab, "}\n",
            "xor {", $bc, "}, {", $b, "}\n", // Maj
            "add {", $h, "}, {y}\n",
            $($v6,)* "\n",
            "add {", $h, "}, {", $bc, "}\n", // the new a
            $($v7,)* "\n",
        )
    };
}

/// Two rounds, after which all is scheduled.
macro_rules! plain {
    ($a:literal $b:literal $c:literal $d:literal $e:literal $f:literal $g:literal $h:literal, $first:literal $second:literal) => {
        concat!(
            round!($a $b $d $e $f $g $h, "m" "n", $first, [], [], [], [], [], [], [], []),
            round!($h $a $c $d $e $f $g, "n" "m", $second, [], [], [], [], [], [], [], []),
        )
    };
}

/// Two rounds, and the two words sixteen rounds further on (§6.4.2 step 1): W[t + 16] from the words at t, t + 2, t + 8, t + 10 and
/// t + 14, each with its successor.
macro_rules! scheduling {
    ($a:literal $b:literal $c:literal $d:literal $e:literal $f:literal $g:literal $h:literal, $first:literal $second:literal,
     $w0:literal $w2:literal $w8:literal $w10:literal $w14:literal) => {
        concat!(
            round!($a $b $d $e $f $g $h, "m" "n", $first,
                ["vpalignr {p}, {" $w2 "}, {" $w0 "}, 8"],
                ["vpalignr {q}, {" $w10 "}, {" $w8 "}, 8"],
                ["vpsrlq {r}, {p}, 7"],
                ["vprorq {s}, {p}, 1"],
                ["vprorq {p}, {p}, 8"],
                ["vpaddq {" $w0 "}, {" $w0 "}, {q}"],
                ["vpternlogq {p}, {r}, {s}, 0x96"], // σ0
                ["vprorq {q}, {" $w14 "}, 19"]),
            round!($h $a $c $d $e $f $g, "n" "m", $second,
                ["vprorq {r}, {" $w14 "}, 61"],
                ["vpsrlq {s}, {" $w14 "}, 6"],
                ["vpaddq {" $w0 "}, {" $w0 "}, {p}"],
                ["vpternlogq {q}, {r}, {s}, 0x96"], // σ1
                ["vpaddq {" $w0 "}, {" $w0 "}, {q}"],
                ["vpaddq {p}, {" $w0 "}, [rip + {constants} + {group} + 256 + " $first "]"],
                ["vmovdqa [{wk} + {group} + 256 + " $first "], {p}"],
                []),
        )
    };
}

/// Sixteen rounds, the text of each two by `$two` and whatever it wants besides the variables.
macro_rules! sixteen {
    ($two:ident, [$($w0:tt)*], [$($w1:tt)*], [$($w2:tt)*], [$($w3:tt)*], [$($w4:tt)*], [$($w5:tt)*], [$($w6:tt)*], [$($w7:tt)*]) => {
        concat!(
            $two!("a" "b" "c" "d" "e" "f" "g" "h", 0 8 $($w0)*),
            $two!("g" "h" "a" "b" "c" "d" "e" "f", 32 40 $($w1)*),
            $two!("e" "f" "g" "h" "a" "b" "c" "d", 64 72 $($w2)*),
            $two!("c" "d" "e" "f" "g" "h" "a" "b", 96 104 $($w3)*),
            $two!("a" "b" "c" "d" "e" "f" "g" "h", 128 136 $($w4)*),
            $two!("g" "h" "a" "b" "c" "d" "e" "f", 160 168 $($w5)*),
            $two!("e" "f" "g" "h" "a" "b" "c" "d", 192 200 $($w6)*),
            $two!("c" "d" "e" "f" "g" "h" "a" "b", 224 232 $($w7)*),
        )
    };
}

/// The working variables a to h.
type Variables = [u64; 8];

/// Rounds `16 * GROUP` to `16 * GROUP + 15` of the first block, and the words of both for the next sixteen.
#[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512vl")]
#[inline]
fn scheduled<const GROUP: usize>(v: &mut Variables, schedule: &mut Schedule, w: &mut [__m256i; 8]) {
    const { assert!(GROUP < 4) }
    // SAFETY: arithmetic on registers; reads and aligned writes within `Schedule`, and aligned reads within `CONSTANTS`.
    unsafe {
        asm!(
            sixteen!(scheduling,
                [, "w0" "w1" "w4" "w5" "w7"], [, "w1" "w2" "w5" "w6" "w0"], [, "w2" "w3" "w6" "w7" "w1"], [, "w3" "w4" "w7" "w0" "w2"],
                [, "w4" "w5" "w0" "w1" "w3"], [, "w5" "w6" "w1" "w2" "w4"], [, "w6" "w7" "w2" "w3" "w5"], [, "w7" "w0" "w3" "w4" "w6"]),
            a = inout(reg) v[0], b = inout(reg) v[1], c = inout(reg) v[2], d = inout(reg) v[3], e = inout(reg) v[4],
            f = inout(reg) v[5], g = inout(reg) v[6], h = inout(reg) v[7], m = inout(reg) v[1] ^ v[2] => _, n = out(reg) _,
            x = out(reg) _, y = out(reg) _, z = out(reg) _, wk = in(reg) schedule.0.as_mut_ptr(),
            w0 = inout(ymm_reg) w[0], w1 = inout(ymm_reg) w[1], w2 = inout(ymm_reg) w[2], w3 = inout(ymm_reg) w[3],
            w4 = inout(ymm_reg) w[4], w5 = inout(ymm_reg) w[5], w6 = inout(ymm_reg) w[6], w7 = inout(ymm_reg) w[7],
            p = out(ymm_reg) _, q = out(ymm_reg) _, r = out(ymm_reg) _, s = out(ymm_reg) _, constants = sym CONSTANTS,
            group = const 256 * GROUP, options(nostack),
        )
    }
}

/// Sixteen rounds whose words are scheduled: the first block's part of `wk`, or the second's.
#[target_feature(enable = "bmi1,bmi2")]
#[inline]
fn plain<const SECOND: usize>(v: &mut Variables, wk: &[[u64; 4]; 8]) {
    const { assert!(SECOND < 2) }
    // SAFETY: arithmetic on registers, and reads within `wk`.
    unsafe {
        asm!(
            sixteen!(plain, [], [], [], [], [], [], [], []),
            a = inout(reg) v[0], b = inout(reg) v[1], c = inout(reg) v[2], d = inout(reg) v[3], e = inout(reg) v[4],
            f = inout(reg) v[5], g = inout(reg) v[6], h = inout(reg) v[7], m = inout(reg) v[1] ^ v[2] => _, n = out(reg) _,
            x = out(reg) _, y = out(reg) _, z = out(reg) _, wk = in(reg) wk.as_ptr(), group = const 16 * SECOND,
            options(nostack, readonly),
        )
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512vl")]
fn compress_avx512(state: &mut [u64; 8], blocks: &[[u8; 128]]) {
    let mut schedule = Schedule([[0; 4]; 40]);
    for pair in blocks.chunks(2) {
        // A last block without a neighbour is its own.
        let [first, second] = [&pair[0], &pair[pair.len() - 1]];
        let mut w = [_mm256_setzero_si256(); 8];
        for (i, w) in w.iter_mut().enumerate() {
            *w = words(first, second, i);
            put(&mut schedule, i, *w);
        }
        let mut v = *state;
        scheduled::<0>(&mut v, &mut schedule, &mut w);
        scheduled::<1>(&mut v, &mut schedule, &mut w);
        scheduled::<2>(&mut v, &mut schedule, &mut w);
        scheduled::<3>(&mut v, &mut schedule, &mut w);
        let groups = schedule.0.as_chunks::<8>().0;
        plain::<0>(&mut v, &groups[4]);
        add(state, v);
        if pair.len() == 2 {
            v = *state;
            groups.iter().for_each(|group| plain::<1>(&mut v, group));
            add(state, v);
        }
    }
    wipe(&mut schedule);
}
