//! `gf2m/<m>/…`: arithmetic in GF(2^m) modulo the polynomials of FIPS 186-4 and of GCM. `mul` and `reduce` stand apart, so that
//! what the reduction costs can be read.

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::gf2m::{Modulus, Op};

/// FIPS 186-4, D.1.3; 128 is the field of SP 800-38D with bits in their natural order.
const FIELDS: [Modulus; 6] = [
    (128, &[128, 7, 2, 1, 0]),
    (163, &[163, 7, 6, 3, 0]),
    (233, &[233, 74, 0]),
    (283, &[283, 12, 7, 5, 0]),
    (409, &[409, 87, 0]),
    (571, &[571, 10, 5, 2, 0]),
];

const OPS: [(&str, Op); 6] = [
    ("mul", Op::Mul),
    ("mul/latency", Op::MulLatency),
    ("mul/many", Op::MulMany),
    ("square", Op::Square),
    ("reduce", Op::Reduce),
    ("inverse", Op::Inverse),
];

/// All tasks of fields.
pub(super) fn tasks() -> Vec<Task> {
    let task = |modulus: Modulus, name: &str, op: Op| {
        let (m, exponents) = modulus;
        let terms = exponents.iter().map(|e| format!("x^{e}")).collect::<Vec<_>>().join(" + ");
        let mut task = Task::new(format!("gf2m/{m}/{name}"), format!("GF(2^{m}) modulo {terms}: {}", op.timed()));
        task.entries.extend(ours::gf2m::entries(modulus, op));
        task.entries.extend(candor_peers::gf2m(modulus, op));
        task
    };
    FIELDS.into_iter().flat_map(|modulus| OPS.map(|(name, op)| task(modulus, name, op))).collect()
}
