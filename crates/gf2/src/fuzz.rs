//! Fuzz bodies: plain functions of bytes, which panic if what must hold does not. The target in `fuzz/` calls them under libFuzzer;
//! the tests call them on stable.
#![cfg(feature = "std")]

use crate::Multiplier;
use crate::arm::Arm;
use crate::plan::Plans;
use crate::recursion::Recursion;
use candor_cpu::Cpu;
use std::vec::Vec;

/// Any text as a table: it is refused with a line, or it multiplies as the shipped table does. (A [`Multiplier`] wants a table that lives for
/// ever; nothing here does, or a campaign would run out of memory.)
pub fn plan_text(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else { return };
    match Plans::read(text) {
        Err(error) => assert!(error.line <= text.lines().count().max(1), "{error}"),
        Ok((plans, head)) => {
            assert!(text.is_char_boundary(head));
            let cpu = Cpu::portable();
            let kernel = Arm::choose(cpu).kernel();
            if plans.arm() != kernel.arm {
                return;
            }
            for n in [5, 17, 40, 97] {
                let a: Vec<u64> = (1..=n).map(|i| 0x9e3779b97f4a7c15u64.wrapping_mul(i)).collect();
                let (mut x, mut y) = (vec![0; 2 * a.len()], vec![1; 2 * a.len()]);
                Multiplier::with_cpu(cpu).mul(&mut x, &a, &a);
                let mut scratch = vec![u64::MAX; plans.scratch_words(a.len())];
                Recursion { kernel, plans: &plans }.balanced(&mut y, &a, &a, &mut scratch);
                assert!(x == y, "{n} words");
            }
        }
    }
}
