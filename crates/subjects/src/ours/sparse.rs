//! The product of HQC whose one factor is sparse, in two ways: as the KEM does it, by a product of two dense polynomials, and by rotations.

use super::gf2::best_first;
use super::ours;
use candor_codes::hqc::{Hqc, Hqc1, Level1, Level3, Level5, SparseProducts};
use candor_cpu::Cpu;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};
use candor_peers::contract::hqc::Level;
use candor_peers::seed::Stream;
use std::hint::black_box;

/// What the timed call does.
pub(crate) const TIMED: &str =
    "multiplies a polynomial modulo xⁿ − 1 by one with ω ones, given by their positions; sixteen of those in turn";

/// A way to multiply.
type Way = fn(&mut SparseProducts, &[u64], &[u32], &mut [u64]);

/// The dense product on each arm of products, and rotations on the best and the portable one.
pub(crate) fn entries(level: Level) -> Vec<Entry> {
    let mut arms = best_first(|cpu| Hqc1::with_cpu(cpu).product_arm());
    if arms.iter().all(|(arm, _)| *arm != "portable") {
        arms.push(("portable", Cpu::portable()));
    }
    let dense = arms.iter().map(|&(arm, cpu)| entry(level, format!("candor@{arm}"), cpu, SparseProducts::by_dense));
    let few = arms.iter().enumerate().filter(|(place, (arm, _))| *place == 0 || *arm == "portable");
    let rotations =
        few.map(|(_, &(arm, cpu))| entry(level, format!("candor@{arm}+rotations"), cpu, SparseProducts::by_rotations));
    dense.chain(rotations).collect()
}

fn entry(level: Level, name: String, cpu: Cpu, way: Way) -> Entry {
    Entry::new(name, move || {
        let (products, arm) = match level {
            Level::L1 => of(&Hqc::<Level1>::with_cpu(cpu)),
            Level::L3 => of(&Hqc::<Level3>::with_cpu(cpu)),
            Level::L5 => of(&Hqc::<Level5>::with_cpu(cpu)),
        };
        Ok(Product { products, arm, way, ready: None, next: 0 })
    })
}

fn of<L: candor_codes::hqc::Level>(kem: &Hqc<L>) -> (SparseProducts, String) {
    (kem.sparse_products(), format!("dense products {}, rotations and positions {}", kem.product_arm(), kem.arm()))
}

/// Sparse factors that are worked through in turn.
const INPUTS: usize = 16;

struct Product {
    products: SparseProducts,
    arm: String,
    way: Way,
    ready: Option<Ready>,
    next: usize,
}

struct Ready {
    polynomial: Vec<u64>,
    positions: Vec<Vec<u32>>,
    product: Vec<u64>,
    answer: Witness,
}

impl Product {
    fn make_ready(&mut self, seed: u64) -> Ready {
        let (n, words, weight) = (self.products.bits(), self.products.words(), self.products.weight());
        let mut stream = Stream::new(seed, "sparse products");
        let mut polynomial: Vec<u64> = (0..words).map(|_| u64::from_le_bytes(stream.array())).collect();
        polynomial[words - 1] &= !0 >> (64 * words - n);
        // Distinct: each in a part of its own.
        let part = (n / weight) as u32;
        let mut draw = || (0..weight as u32).map(|i| i * part + u32::from_le_bytes(stream.array()) % part).collect();
        let positions: Vec<Vec<u32>> = (0..INPUTS).map(|_| draw()).collect();
        let (mut product, mut answer) = (vec![0; words], Witness::default());
        for (i, positions) in positions.iter().enumerate() {
            (self.way)(&mut self.products, &polynomial, positions, &mut product);
            let bytes: Vec<u8> = product.iter().flat_map(|word| word.to_le_bytes()).collect();
            answer = answer.with(&format!("product {i}"), bytes);
        }
        Ready { polynomial, positions, product, answer }
    }
}

impl Subject for Product {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let ready = self.make_ready(seed);
        let answer = ready.answer.clone();
        self.ready = Some(ready);
        Ok(answer)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.ready.as_ref().expect("prepare comes before check").answer.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        let Ready { polynomial, positions, product, .. } = self.ready.as_mut().expect("prepare comes before run");
        for _ in 0..iterations {
            (self.way)(&mut self.products, black_box(polynomial), black_box(&positions[self.next]), black_box(product));
            self.next = (self.next + 1) % INPUTS;
        }
    }

    fn provenance(&self) -> Provenance {
        Provenance { arm: Some(self.arm.clone()), ..ours(TIMED) }
    }
}
