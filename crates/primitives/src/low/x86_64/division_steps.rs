//! Division steps on general registers.
//!
//! What a step does depends on the sign of ζ and on the lowest bit of g. Both outcomes of the sign are ready before the bit is known, so a step
//! waits for four instructions: the test of the bit, a conditional move, the sum, the shift.

use core::arch::asm;

/// What [`inverse::twenty_steps`](crate::inverse::twenty_steps) does.
#[inline(always)]
pub(crate) fn twenty(zeta: &mut i64, f: &mut i64, g: &mut i64) {
    // SAFETY: general registers and flags alone, by instructions that each x86-64 has.
    unsafe {
        asm!(
            ".rept 20",
            // ±f, the next ζ and the next f, for a g that is odd: by the sign of ζ.
            "mov {addend}, {f}
             neg {addend}
             lea {less}, [{zeta} - 1]
             lea {next}, [{zeta} + 1]
             not {next}
             mov {other}, {g}
             test {zeta}, {zeta}
             cmovns {addend}, {f}
             cmovns {next}, {less}
             cmovns {other}, {f}",
            // For one that is even: nothing is added, and f stays.
            "test {g:l}, 1
             cmovz {addend}, {zero}
             cmovz {next}, {less}
             cmovz {other}, {f}
             add {g}, {addend}
             sar {g}, 1
             mov {zeta}, {next}
             mov {f}, {other}",
            ".endr",
            f = inout(reg) *f, g = inout(reg) *g, zeta = inout(reg) *zeta, zero = in(reg) 0_u64,
            addend = out(reg) _, less = out(reg) _, next = out(reg) _, other = out(reg) _,
            options(pure, nomem, nostack),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inverse::twenty_steps;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn steps_are_those_of_safe_rust(zeta in -910..910_i64, f in any::<u32>(), g in any::<u32>()) {
            let lowest = (1 << 20) - 1;
            let (f, g) = ((i64::from(f) & lowest | 1) + (1 << 41), (i64::from(g) & lowest) + (1 << 62));
            let [mut ours, mut expected] = [(zeta, f, g); 2];
            twenty(&mut ours.0, &mut ours.1, &mut ours.2);
            twenty_steps(&mut expected.0, &mut expected.1, &mut expected.2);
            prop_assert_eq!(ours, expected);
        }
    }
}
