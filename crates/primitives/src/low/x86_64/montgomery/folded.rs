//! Four words modulo a p just below 2^256, in the plain form: 2^256 stands for c = 2^256 − p, which is below 2^34 here.

use super::four::{Words, add_row, multiply, multiply_by_itself};
use crate::curve::adx::Adx;
use crate::curve::modulus::Modulus;
use core::arch::asm;

/// The words r8 to r15 modulo p = 2^256 − {c}, in r8 to r11. {c} is below 2^34.
macro_rules! fold {
    () => {
        // The higher half times c, and the fifth word of the sum, which is at most c, plus one.
        "mov rdx, {c}
         xor ecx, ecx
         mulx rcx, rax, r12
         adcx r8, rax
         adox r9, rcx
         mulx rcx, rax, r13
         adcx r9, rax
         adox r10, rcx
         mulx rcx, rax, r14
         adcx r10, rax
         adox r11, rcx
         mulx r12, rax, r15
         mov ecx, 1
         adcx r11, rax
         adox r12, rcx
         adc r12, 0
         mov eax, 0
         mulx rcx, r12, r12
         add r8, r12
         adc r9, rcx
         adc r10, 0
         adc r11, 0
         cmovc rdx, rax
         sub r8, rdx
         sbb r9, 0
         sbb r10, 0
         sbb r11, 0"
        // The one more is c: with it the sum passes 2^256 if it is p or more, and is then less by p; else c is taken away again.
    };
}

/// Products and squares for a p just below 2^256.
macro_rules! product_folded {
    ($modulus:ident, $multiply:ident, $a:expr $(, $b:ident = $b_value:expr)?) => {{
        let (r0, r1, r2, r3);
        // SAFETY: the token proves BMI2 and ADX; a and b are four words each, and nothing is written to memory.
        unsafe {
            asm!(
                $multiply!(), fold!(),
                a = in(reg) $a.as_ptr(), $($b = in(reg) $b_value.as_ptr(),)?
                c = const $modulus::P[0].wrapping_neg().cast_signed(),
                out("rax") _, out("rcx") _, out("rdx") _,
                out("r8") r0, out("r9") r1, out("r10") r2, out("r11") r3,
                out("r12") _, out("r13") _, out("r14") _, out("r15") _,
                options(pure, readonly, nostack),
            );
        }
        [r0, r1, r2, r3]
    }};
}

/// a·b, each below 2^256.
#[inline(always)]
pub(super) fn product<M: Modulus<W = Words>>(_: Adx, a: &Words, b: &Words) -> Words {
    product_folded!(M, multiply, a, b = b)
}

/// a², for a below 2^256.
#[inline(always)]
pub(super) fn square<M: Modulus<W = Words>>(_: Adx, a: &Words) -> Words {
    product_folded!(M, multiply_by_itself, a)
}

/// a + b.
#[inline(always)]
pub(super) fn sum<M: Modulus<W = Words>>(_: Adx, a: &Words, b: &Words) -> Words {
    let (r0, r1, r2, r3);
    // SAFETY: a and b are four words each, and nothing is written to memory.
    unsafe {
        asm!(
            // Less p is c more. Only one of the two sums can pass 2^256, and if one does, the second is right.
            "mov {s0}, [{a}]
             mov {s1}, [{a} + 8]
             mov {s2}, [{a} + 16]
             mov {s3}, [{a} + 24]
             add {s0}, [{b}]
             adc {s1}, [{b} + 8]
             adc {s2}, [{b} + 16]
             adc {s3}, [{b} + 24]
             sbb {above}, {above}
             mov {t0}, {c}
             mov {t1}, {s1}
             mov {t2}, {s2}
             mov {t3}, {s3}
             add {t0}, {s0}
             adc {t1}, 0
             adc {t2}, 0
             adc {t3}, 0
             sbb {above}, 0
             cmovz {t0}, {s0}
             cmovz {t1}, {s1}
             cmovz {t2}, {s2}
             cmovz {t3}, {s3}",
            a = in(reg) a.as_ptr(), b = in(reg) b.as_ptr(), c = const M::P[0].wrapping_neg().cast_signed(),
            s0 = out(reg) _, s1 = out(reg) _, s2 = out(reg) _, s3 = out(reg) _, above = out(reg) _,
            t0 = out(reg) r0, t1 = out(reg) r1, t2 = out(reg) r2, t3 = out(reg) r3,
            options(pure, readonly, nostack),
        );
    }
    [r0, r1, r2, r3]
}

/// a − b.
#[inline(always)]
pub(super) fn difference<M: Modulus<W = Words>>(_: Adx, a: &Words, b: &Words) -> Words {
    let (r0, r1, r2, r3);
    // SAFETY: a and b are four words each, and nothing is written to memory.
    unsafe {
        asm!(
            // p more is c less.
            "mov {t0}, [{a}]
             mov {t1}, [{a} + 8]
             mov {t2}, [{a} + 16]
             mov {t3}, [{a} + 24]
             mov {c_}, {c}
             sub {t0}, [{b}]
             sbb {t1}, [{b} + 8]
             sbb {t2}, [{b} + 16]
             sbb {t3}, [{b} + 24]
             sbb {mask}, {mask}
             and {mask}, {c_}
             sub {t0}, {mask}
             sbb {t1}, 0
             sbb {t2}, 0
             sbb {t3}, 0",
            a = in(reg) a.as_ptr(), b = in(reg) b.as_ptr(), c = const M::P[0].wrapping_neg().cast_signed(),
            c_ = out(reg) _, mask = out(reg) _,
            t0 = out(reg) r0, t1 = out(reg) r1, t2 = out(reg) r2, t3 = out(reg) r3,
            options(pure, readonly, nostack),
        );
    }
    [r0, r1, r2, r3]
}

/// a/2.
#[inline(always)]
pub(super) fn half<M: Modulus<W = Words>>(_: Adx, a: &Words) -> Words {
    let [mut r0, mut r1, mut r2, mut r3] = *a;
    // SAFETY: only registers change.
    unsafe {
        asm!(
            // (p + 1)/2 more for an odd number, which is 2^255 more and (c − 1)/2 less.
            "shr {t3}
             rcr {t2}
             rcr {t1}
             rcr {t0}
             mov {half}, {c}
             sbb {mask}, {mask}
             and {half}, {mask}
             shl {mask}, 63
             or {t3}, {mask}
             sub {t0}, {half}
             sbb {t1}, 0
             sbb {t2}, 0
             sbb {t3}, 0",
            c = const (M::P[0].wrapping_neg() >> 1).cast_signed(),
            half = out(reg) _, mask = out(reg) _,
            t0 = inout(reg) r0, t1 = inout(reg) r1, t2 = inout(reg) r2, t3 = inout(reg) r3,
            options(pure, nomem, nostack),
        );
    }
    [r0, r1, r2, r3]
}
