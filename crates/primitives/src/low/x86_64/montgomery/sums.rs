//! Sums and differences of four words.

use super::four::Words;
use crate::curve::modulus::{Modulus, Reduction};
use core::arch::asm;

/// Takes p from a number in four registers, by way of `$p`.
macro_rules! less_p {
    ($t0:literal, $t1:literal, $t2:literal, $t3:literal, $p:literal) => {
        concat!(
            "mov ",
            $p,
            ", {p0}\n sub ",
            $t0,
            ", ",
            $p,
            "\n",
            "mov ",
            $p,
            ", {p1}\n sbb ",
            $t1,
            ", ",
            $p,
            "\n",
            "mov ",
            $p,
            ", {p2}\n sbb ",
            $t2,
            ", ",
            $p,
            "\n",
            "mov ",
            $p,
            ", {p3}\n sbb ",
            $t3,
            ", ",
            $p,
            "\n",
        )
    };
}

/// The same for SM2's p, two words of which are −1.
macro_rules! less_p_sm2 {
    ($t0:literal, $t1:literal, $t2:literal, $t3:literal, $p:literal) => {
        concat!(
            "sub ",
            $t0,
            ", -1\n",
            "mov ",
            $p,
            ", 0xffffffff00000000\n sbb ",
            $t1,
            ", ",
            $p,
            "\n",
            "sbb ",
            $t2,
            ", -1\n",
            "mov ",
            $p,
            ", 0xfffffffeffffffff\n sbb ",
            $t3,
            ", ",
            $p,
            "\n",
        )
    };
}

/// The same for P-256's, where one is −1 and one 0.
macro_rules! less_p_p256 {
    ($t0:literal, $t1:literal, $t2:literal, $t3:literal, $p:literal) => {
        concat!(
            "sub ",
            $t0,
            ", -1\n",
            "mov ",
            $p,
            ", 0xffffffff\n sbb ",
            $t1,
            ", ",
            $p,
            "\n",
            "sbb ",
            $t2,
            ", 0\n",
            "mov ",
            $p,
            ", 0xffffffff00000001\n sbb ",
            $t3,
            ", ",
            $p,
            "\n",
        )
    };
}

/// Adds p to a number in four registers, if {mask} is all ones, by way of {q0} to {q3}.
macro_rules! plus_p {
    ($t0:literal, $t1:literal, $t2:literal, $t3:literal) => {
        concat!(
            "mov {q0}, {p0}\n mov {q1}, {p1}\n mov {q2}, {p2}\n mov {q3}, {p3}\n",
            "and {q0}, {mask}\n and {q1}, {mask}\n and {q2}, {mask}\n and {q3}, {mask}\n",
            "add ",
            $t0,
            ", {q0}\n adc ",
            $t1,
            ", {q1}\n adc ",
            $t2,
            ", {q2}\n adc ",
            $t3,
            ", {q3}\n",
        )
    };
}

/// The same for SM2's p: two of its words are the mask itself.
macro_rules! plus_p_sm2 {
    ($t0:literal, $t1:literal, $t2:literal, $t3:literal) => {
        concat!(
            "mov {q0}, {mask}\n shl {q0}, 32\n",
            "mov {q1}, 0xfffffffeffffffff\n and {q1}, {mask}\n",
            "add ",
            $t0,
            ", {mask}\n adc ",
            $t1,
            ", {q0}\n adc ",
            $t2,
            ", {mask}\n adc ",
            $t3,
            ", {q1}\n",
        )
    };
}

/// The same for P-256's.
macro_rules! plus_p_p256 {
    ($t0:literal, $t1:literal, $t2:literal, $t3:literal) => {
        concat!(
            "mov {q0:e}, {mask:e}\n",
            "mov {q1}, 0xffffffff00000001\n and {q1}, {mask}\n",
            "add ",
            $t0,
            ", {mask}\n adc ",
            $t1,
            ", {q0}\n adc ",
            $t2,
            ", 0\n adc ",
            $t3,
            ", {q1}\n",
        )
    };
}

/// a + b, less p unless that is negative.
macro_rules! sum {
    ($less:ident, $a:expr, $b:expr, $($p:tt)*) => {{
        let (r0, r1, r2, r3);
        // SAFETY: a and b are four words each, and nothing is written to memory.
        unsafe {
            asm!(
                "mov {s0}, [{a}]
                 mov {s1}, [{a} + 8]
                 mov {s2}, [{a} + 16]
                 mov {s3}, [{a} + 24]
                 xor {above:e}, {above:e}
                 add {s0}, [{b}]
                 adc {s1}, [{b} + 8]
                 adc {s2}, [{b} + 16]
                 adc {s3}, [{b} + 24]
                 adc {above}, 0
                 mov {t0}, {s0}
                 mov {t1}, {s1}
                 mov {t2}, {s2}
                 mov {t3}, {s3}",
                $less!("{t0}", "{t1}", "{t2}", "{t3}", "{p}"),
                "sbb {above}, 0
                 cmovc {t0}, {s0}
                 cmovc {t1}, {s1}
                 cmovc {t2}, {s2}
                 cmovc {t3}, {s3}",
                a = in(reg) $a.as_ptr(), b = in(reg) $b.as_ptr(),
                $($p)*
                s0 = out(reg) _, s1 = out(reg) _, s2 = out(reg) _, s3 = out(reg) _, above = out(reg) _, p = out(reg) _,
                t0 = out(reg) r0, t1 = out(reg) r1, t2 = out(reg) r2, t3 = out(reg) r3,
                options(pure, readonly, nostack),
            );
        }
        [r0, r1, r2, r3]
    }};
    ($less:ident, $a:expr, $b:expr) => { sum!($less, $a, $b,) };
}

/// a − b, and p more if that is negative.
macro_rules! difference {
    ($plus:ident, $a:expr, $b:expr, $($p:tt)*) => {{
        let (r0, r1, r2, r3);
        // SAFETY: a and b are four words each, and nothing is written to memory.
        unsafe {
            asm!(
                "mov {t0}, [{a}]
                 mov {t1}, [{a} + 8]
                 mov {t2}, [{a} + 16]
                 mov {t3}, [{a} + 24]
                 sub {t0}, [{b}]
                 sbb {t1}, [{b} + 8]
                 sbb {t2}, [{b} + 16]
                 sbb {t3}, [{b} + 24]
                 sbb {mask}, {mask}",
                $plus!("{t0}", "{t1}", "{t2}", "{t3}"),
                a = in(reg) $a.as_ptr(), b = in(reg) $b.as_ptr(),
                $($p)*
                mask = out(reg) _,
                t0 = out(reg) r0, t1 = out(reg) r1, t2 = out(reg) r2, t3 = out(reg) r3,
                options(pure, readonly, nostack),
            );
        }
        [r0, r1, r2, r3]
    }};
}

/// a + b, less p unless that is negative.
#[inline(always)]
pub(super) fn sum<M: Modulus<W = Words>>(a: &Words, b: &Words) -> Words {
    match M::REDUCTION {
        Reduction::Sm2 => sum!(less_p_sm2, a, b),
        Reduction::P256 => sum!(less_p_p256, a, b),
        Reduction::Montgomery | Reduction::Secp256k1 | Reduction::P384 => sum!(
            less_p, a, b,
            p0 = const M::P[0].cast_signed(), p1 = const M::P[1].cast_signed(),
            p2 = const M::P[2].cast_signed(), p3 = const M::P[3].cast_signed(),
        ),
    }
}

/// a − b, and p more if that is negative.
#[inline(always)]
pub(super) fn difference<M: Modulus<W = Words>>(a: &Words, b: &Words) -> Words {
    match M::REDUCTION {
        Reduction::Sm2 => difference!(plus_p_sm2, a, b, q0 = out(reg) _, q1 = out(reg) _,),
        Reduction::P256 => difference!(plus_p_p256, a, b, q0 = out(reg) _, q1 = out(reg) _,),
        Reduction::Montgomery | Reduction::Secp256k1 | Reduction::P384 => difference!(
            plus_p, a, b,
            p0 = const M::P[0].cast_signed(), p1 = const M::P[1].cast_signed(),
            p2 = const M::P[2].cast_signed(), p3 = const M::P[3].cast_signed(),
            q0 = out(reg) _, q1 = out(reg) _, q2 = out(reg) _, q3 = out(reg) _,
        ),
    }
}

pub(super) use {less_p, less_p_p256, less_p_sm2};
