//! SM3's compression function with AVX-512 for the schedule and BMI2 for the rounds.
//!
//! The schedule is that of [`super::sm3`], three words at a time. Here a rotation and an xor of three are one instruction each, so that a step takes
//! thirteen, and they stand between single instructions of the rounds, one behind each four.
//!
//! The rounds are those of the standard: a chain of seven operations from each E to the next, in two operations fewer than the other kernel's
//! six. A Zen 4 takes hardly longer than that chain. Their order is among the fastest of some hundreds there.

use super::sm3::{Made, Schedule, WORDS, begin, chain, extended};
use crate::rounds::SM3_T;
use crate::wipe::wipe;
use candor_cpu::HaveAvx512Crypto;
use core::arch::asm;

/// Runs CF over `blocks`, one after another.
#[inline]
pub(crate) fn compress(_: HaveAvx512Crypto, state: &mut [u32; 8], blocks: &[[u8; 64]]) {
    // SAFETY: the token proves AVX-512 F and VL. Every CPU that has them has AVX2, BMI1 and BMI2.
    unsafe { compress_avx512(state, blocks) }
}

/// Text that only the rounds 0 to 15 have, `early`, or only those after, `late`.
macro_rules! only {
    (early early $($text:literal)+) => { concat!($($text),+, "\n") };
    (late late $($text:literal)+) => { concat!($($text),+, "\n") };
    ($of:ident $kind:ident $($text:literal)+) => { "" };
}

/// The text of one round (GB/T 32905 §5.3.3) on the variables of these names: D becomes the new A and H the new E. Its W stands `$at` bytes behind
/// the group's, its W′ as much behind the other row's, and `$t` is the name of its constant. Behind each four instructions stands one of the schedule's.
macro_rules! round {
    ($kind:ident, $a:literal $b:literal $c:literal $d:literal $e:literal $f:literal $g:literal $h:literal, $at:literal $t:literal,
     [$($v0:literal)*], [$($v1:literal)*], [$($v2:literal)*], [$($v3:literal)*], [$($v4:literal)*]) => {
        concat!(
            "add {", $h, ":e}, [{w} + {group} + ", $at, "]\n",
            "mov {z:e}, {", $f, ":e}\n",
            "xor {z:e}, {", $g, ":e}\n",
            "rorx {x:e}, {", $a, ":e}, 20\n",
            $($v0,)* "\n",
            "lea {y:e}, [{x:r} + {", $t, "}]\n",
            "add {y:e}, {", $e, ":e}\n",
            "rol {y:e}, 7\n", // SS1
            only!(late $kind "and {z:e}, {" $e ":e}"),
            $($v1,)* "\n",
            only!(late $kind "xor {z:e}, {" $g ":e}"),
            only!(early $kind "xor {z:e}, {" $e ":e}"), // GG
            "add {", $h, ":e}, {z:e}\n",
            "rol {", $f, ":e}, 19\n",
            "add {", $h, ":e}, {y:e}\n", // TT2
            $($v2,)* "\n",
            "xor {x:e}, {y:e}\n", // SS2
            "rorx {z:e}, {", $h, ":e}, 15\n",
            "rorx {y:e}, {", $h, ":e}, 23\n",
            "xor {", $h, ":e}, {y:e}\n",
            $($v3,)* "\n",
            "xor {", $h, ":e}, {z:e}\n", // P0(TT2)
            "mov {y:e}, {", $b, ":e}\n",
            only!(early $kind "xor {y:e}, {" $c ":e}"),
            only!(early $kind "xor {y:e}, {" $a ":e}"), // FF
            only!(late $kind "and {y:e}, {" $c ":e}"),
            "add {", $d, ":e}, [{w} + {group} + 288 + ", $at, "]\n",
            only!(late $kind "mov {z:e}, {" $b ":e}"),
            only!(late $kind "xor {z:e}, {" $c ":e}"),
            $($v4,)* "\n",
            "add {", $d, ":e}, {y:e}\n",
            only!(late $kind "and {z:e}, {" $a ":e}"),
            only!(late $kind "add {" $d ":e}, {z:e}"), // FF = B∧C + A∧(B⊕C): no bit in common
            "add {", $d, ":e}, {x:e}\n", // TT1
            "rol {", $b, ":e}, 9\n",
        )
    };
}

/// Three rounds, and a step of the schedule in between if registers are named for it: the first takes the three new words and the one before
/// them, which are written `$w` bytes behind the group's W; the W′ that follow from them, `$prime` bytes behind.
macro_rules! three {
    ([$kind0:ident $kind1:ident $kind2:ident], $a:literal $b:literal $c:literal $d:literal $e:literal $f:literal $g:literal $h:literal,
     [$at0:literal $t0:literal $at1:literal $t1:literal $at2:literal $t2:literal],
     [$($g0:literal $g1:literal $g2:literal $g3:literal $g4:literal $g5:literal $w:literal $prime:literal)?]) => {
        concat!(
            round!($kind0, $a $b $c $d $e $f $g $h, $at0 $t0,
                [$("vshufps {" $g0 "}, {" $g0 "}, {" $g1 "}, 0x9e")?],
                [$("vprold {q}, {" $g5 "}, 15")?],
                [$("vpternlogd {" $g0 "}, {" $g3 "}, {q}, 0x96")?],
                [$("vprold {q}, {" $g0 "}, 15")?],
                [$("vprold {r}, {" $g0 "}, 23")?]),
            round!($kind1, $d $a $b $c $h $e $f $g, $at1 $t1,
                [$("vpternlogd {" $g0 "}, {q}, {r}, 0x96")?], // P1
                [$("vshufps {q}, {" $g1 "}, {" $g2 "}, 0x9e")?],
                [$("vprold {q}, {q}, 7\nvpternlogd {" $g0 "}, {q}, {" $g4 "}, 0x96")?],
                [],
                []),
            round!($kind2, $c $d $a $b $g $h $e $f, $at2 $t2,
                [$("vmovdqu [{w} + {group} + " $w "], {" $g0 "}")?],
                [$("vshufps {q}, {" $g4 "}, {" $g5 "}, 0x9e")?],
                [$("vpxor {q}, {q}, {" $g0 "}")?],
                [$("vmovdqu [{w} + {group} + 288 + " $prime "], {q}")?],
                []),
        )
    };
}

/// Twelve rounds, after which the variables are in other places by none, with a step after each three.
macro_rules! twelve {
    ($first:tt $second:tt $third:tt $fourth:tt, $s0:tt $s1:tt $s2:tt $s3:tt) => {
        concat!(
            three!($first, "a" "b" "c" "d" "e" "f" "g" "h", [0 "t0" 4 "t1" 8 "t2"], $s0),
            three!($second, "b" "c" "d" "a" "f" "g" "h" "e", [12 "t3" 16 "t4" 20 "t5"], $s1),
            three!($third, "c" "d" "a" "b" "g" "h" "e" "f", [24 "t6" 28 "t7" 32 "t8"], $s2),
            three!($fourth, "d" "a" "b" "c" "h" "e" "f" "g", [36 "t9" 40 "t10" 44 "t11"], $s3),
        )
    };
}

/// The four steps that stand in twelve rounds. They begin with words 18 to 20, since the first step of a block is done before its rounds.
macro_rules! scheduling_twelve {
    ($first:tt $second:tt $third:tt $fourth:tt) => {
        twelve!($first $second $third $fourth,
            ["g0" "g1" "g2" "g3" "g4" "g5" 72 56] ["g1" "g2" "g3" "g4" "g5" "g0" 84 68]
            ["g2" "g3" "g4" "g5" "g0" "g1" 96 80] ["g3" "g4" "g5" "g0" "g1" "g2" 108 92])
    };
}

/// `$text` on the variables `$v`, with W, W′ and the first constants of round `12 * $group` and those after, and more operands.
macro_rules! rounds {
    ([$($text:tt)*], $v:ident, $schedule:ident, $group:expr, [$($operand:tt)*]) => {
        // SAFETY: arithmetic on registers; reads and writes at constant offsets below the size of `Schedule`.
        unsafe {
            asm!(
                $($text)*,
                a = inout(reg) $v[0], b = inout(reg) $v[1], c = inout(reg) $v[2], d = inout(reg) $v[3], e = inout(reg) $v[4],
                f = inout(reg) $v[5], g = inout(reg) $v[6], h = inout(reg) $v[7], x = out(reg) _, y = out(reg) _, z = out(reg) _,
                w = in(reg) $schedule.0.as_mut_ptr(), group = const 48 * $group,
                t0 = const constant(12 * $group), t1 = const constant(12 * $group + 1), t2 = const constant(12 * $group + 2),
                t3 = const constant(12 * $group + 3), $($operand)* options(nostack),
            )
        }
    };
}

/// The same for twelve rounds with steps in between.
macro_rules! scheduling_rounds {
    ([$($text:tt)*], $v:ident, $schedule:ident, $made:ident, $group:expr) => {
        rounds!([$($text)*], $v, $schedule, $group, [
            t4 = const constant(12 * $group + 4), t5 = const constant(12 * $group + 5), t6 = const constant(12 * $group + 6),
            t7 = const constant(12 * $group + 7), t8 = const constant(12 * $group + 8), t9 = const constant(12 * $group + 9),
            t10 = const constant(12 * $group + 10), t11 = const constant(12 * $group + 11),
            g0 = inout(xmm_reg) $made[0], g1 = inout(xmm_reg) $made[1], g2 = inout(xmm_reg) $made[2], g3 = inout(xmm_reg) $made[3],
            g4 = inout(xmm_reg) $made[4], g5 = inout(xmm_reg) $made[5], q = out(xmm_reg) _, r = out(xmm_reg) _,
        ])
    };
}

/// The order after four steps. (`rotate_left` would send the registers through memory.)
fn turned([g0, g1, g2, g3, g4, g5]: Made) -> Made {
    [g4, g5, g0, g1, g2, g3]
}

const fn constant(round: usize) -> i32 {
    SM3_T[round] as i32
}

#[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512vl")]
fn compress_avx512(state: &mut [u32; 8], blocks: &[[u8; 64]]) {
    let mut schedule = Schedule([[0; WORDS]; 2]);
    let mut v = *state;
    for block in blocks {
        let made = begin(&mut schedule, block);
        let mut made: Made = extended(&mut schedule, made, 0);
        scheduling_rounds!(
            [scheduling_twelve!([early early early] [early early early] [early early early] [early early early])],
            v,
            schedule,
            made,
            0
        );
        made = turned(made);
        scheduling_rounds!(
            [scheduling_twelve!([early early early] [early late late] [late late late] [late late late])],
            v,
            schedule,
            made,
            1
        );
        made = turned(made);
        scheduling_rounds!(
            [scheduling_twelve!([late late late] [late late late] [late late late] [late late late])],
            v,
            schedule,
            made,
            2
        );
        made = turned(made);
        scheduling_rounds!(
            [scheduling_twelve!([late late late] [late late late] [late late late] [late late late])],
            v,
            schedule,
            made,
            3
        );
        made = turned(made);
        // One step is left.
        scheduling_rounds!(
            [twelve!([late late late] [late late late] [late late late] [late late late],
                ["g0" "g1" "g2" "g3" "g4" "g5" 72 56] [] [] [])],
            v,
            schedule,
            made,
            4
        );
        rounds!(
            [concat!(
                round!(late, "a" "b" "c" "d" "e" "f" "g" "h", 0 "t0", [], [], [], [], []),
                round!(late, "d" "a" "b" "c" "h" "e" "f" "g", 4 "t1", [], [], [], [], []),
                round!(late, "c" "d" "a" "b" "g" "h" "e" "f", 8 "t2", [], [], [], [], []),
                round!(late, "b" "c" "d" "a" "f" "g" "h" "e", 12 "t3", [], [], [], [], []),
            )],
            v,
            schedule,
            5,
            []
        );
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = v;
        chain!(state, a b c d e f g h);
        v = [a, b, c, d, e, f, g, h];
        let _ = made;
    }
    wipe(schedule.0.as_flattened_mut());
}
