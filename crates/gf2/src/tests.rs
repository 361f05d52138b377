//! Every arm of this machine against the schoolbook, bit by bit.

use crate::{Multiplier, reference};
use candor_cpu::Cpu;

/// One multiplier an arm.
fn arms() -> Vec<Multiplier> {
    let mut arms: Vec<Multiplier> = Vec::new();
    for tier in Cpu::tiers() {
        let multiplier = Multiplier::with_cpu(Cpu::named(tier.name).unwrap());
        if arms.iter().all(|known| known.arm() != multiplier.arm()) {
            arms.push(multiplier);
        }
    }
    arms
}

#[test]
fn every_length_up_to_128_words() {
    for n in 0..=128 {
        let (a, b) = (reference::words(n as u64, n), reference::words(1000 + n as u64, n));
        let expected = reference::product(&a, &b);
        for m in arms() {
            let mut out = vec![u64::MAX; 2 * n];
            m.mul(&mut out, &a, &b);
            assert!(out == expected, "{} {n} words", m.arm());
        }
    }
}

#[test]
fn every_pair_of_lengths_up_to_24_words() {
    for (n, k) in (0..=24).flat_map(|n| (0..=24).map(move |k| (n, k))) {
        let (a, b) = (reference::words(7 + n as u64, n), reference::words(70 + k as u64, k));
        let expected = reference::product(&a, &b);
        for m in arms() {
            let mut out = vec![u64::MAX; n + k];
            m.mul(&mut out, &a, &b);
            assert!(out == expected, "{} {n} by {k} words", m.arm());
        }
    }
}
