//! Products of secret polynomials.

use super::on_each;
use crate::case::{Case, Leaves};
use crate::probe::{Probe, step};
use candor_cpu::Cpu;
use candor_gf2::Multiplier;
use candor_gf2::field::{Element, Field, Nist233};

pub(super) fn cases() -> Vec<Case> {
    let tiers = ["portable", "clmul", "vpclmul", "avx512"];
    let mut cases = on_each(&tiers, "gf2/multiply", multiply, SUMS);
    cases.extend(on_each(&tiers, "gf2m/multiply", field, SUMS_OF_A_FIELD));
    cases
}

/// Clearing them would cost more than a short product.
const SUMS: &[Leaves] = &[Leaves {
    step: "*",
    stack: 4600,
    heap: 0,
    names: &["factors"],
    why: "sums of parts of the factors and parts of products, where they do not fit into registers",
}];
const SUMS_OF_A_FIELD: &[Leaves] = &[Leaves { stack: 1000, names: &[], ..SUMS[0] }];

fn multiply(probe: &mut Probe, cpu: Cpu) {
    let bytes: [u8; 2 * 8 * 131] = probe.secret("factors");
    let words: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let (a, b) = words.split_at(131);
    let multiplier = Multiplier::with_cpu(cpu);
    for (n, name) in [(9, "9 words"), (40, "40 words"), (131, "131 words")] {
        let mut product = vec![0; 2 * n];
        step!(probe, name, [multiplier: &Multiplier = &multiplier, a: &[u64] = &a[..n], b: &[u64] = &b[..n], product: &mut [u64] = &mut product], {
            multiplier.mul(product, a, b);
        });
    }
}

fn field(probe: &mut Probe, cpu: Cpu) {
    type E = Element<Nist233>;
    let bytes: [u8; 64] = probe.secret("factors");
    let words: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word) >> 24).collect();
    let field = Field::<Nist233>::with_cpu(cpu);
    let [a, b] = [0, 4].map(|at| field.element(words[at..at + 4].try_into().expect("four words")).expect("reduced"));
    step!(probe, "product", [field: &Field<Nist233> = &field, a: &E = &a, b: &E = &b], field.mul(a, b));
    step!(probe, "inverse", [field: &Field<Nist233> = &field, a: &E = &a], field.invert(a));
}
