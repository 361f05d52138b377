//! Tables of schemes for products of polynomials.

use candor_cpu::Cpu;
use candor_gf2::Multiplier;
use candor_gf2::plan::Plans;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Any text as a table: it is refused with a line number, or it multiplies as the shipped table does.
///
/// A [`Multiplier`] needs a table that lives for ever, so each accepted table leaks a few kilobytes. Only the first 10,000 of a process
/// multiply; without that bound a campaign would run out of memory.
pub fn plan_text(data: &[u8]) {
    static MULTIPLIED: AtomicUsize = AtomicUsize::new(0);
    let Ok(text) = str::from_utf8(data) else { return };
    if let Err(error) = Plans::check(text) {
        assert!(error.line <= text.lines().count().max(1), "{error}");
        return;
    }
    if MULTIPLIED.fetch_add(1, Ordering::Relaxed) >= 10_000 {
        return;
    }
    let plans = Box::leak(Box::new(Plans::parse(text.to_owned().leak()).expect("it was checked")));
    let cpu = Cpu::portable();
    let Some(multiplier) = Multiplier::with_plans(cpu, plans) else { return };
    for n in [5, 17, 40, 97] {
        let a: Vec<u64> = (1..=n).map(|i| 0x9e3779b97f4a7c15u64.wrapping_mul(i)).collect();
        let (mut x, mut y) = (vec![0; 2 * a.len()], vec![1; 2 * a.len()]);
        Multiplier::with_cpu(cpu).mul(&mut x, &a, &a);
        multiplier.mul(&mut y, &a, &a);
        assert!(x == y, "{n} words");
    }
}
