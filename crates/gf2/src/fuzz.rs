//! Fuzz bodies: plain functions of bytes, which panic if what must hold does not. The target in `fuzz/` calls them under libFuzzer;
//! the tests call them on stable.
#![cfg(feature = "std")]

use crate::Multiplier;
use crate::plan::Plans;
use candor_cpu::Cpu;
use std::vec::Vec;

/// Any text as a table: it is refused with a line, or it multiplies as the shipped table does.
pub fn plan_text(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else { return };
    let text: &'static str = String::from(text).leak();
    match Plans::parse(text) {
        Err(error) => assert!(error.line <= text.lines().count().max(1), "{error}"),
        Ok(plans) => {
            let cpu = Cpu::portable();
            let Some(theirs) = Multiplier::with_plans(cpu, Box::leak(Box::new(plans))) else { return };
            let ours = Multiplier::with_cpu(cpu);
            for n in [5, 17, 40, 97] {
                let a: Vec<u64> = (1..=n).map(|i| 0x9e3779b97f4a7c15u64.wrapping_mul(i)).collect();
                let (mut x, mut y) = (vec![0; 2 * a.len()], vec![1; 2 * a.len()]);
                ours.mul(&mut x, &a, &a);
                theirs.mul(&mut y, &a, &a);
                assert!(x == y, "{n} words");
            }
        }
    }
}
