//! Products of polynomials over GF(2¹²) and GF(2¹³), each method of [`polynomial_products`](candor_codes::mceliece::polynomial_products).

use super::ours;
use candor_codes::mceliece::polynomial_products::{ElementProduct, Method, PolynomialProducts};
use candor_cpu::Cpu;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};
use candor_peers::seed::Stream;
use std::hint::black_box;

/// What the timed call does.
pub(crate) const TIMED: &str = "one product of two, without reduction modulo a polynomial; eight pairs in turn";

/// Pairs of factors, so that no branch predictor learns one by heart.
const PAIRS: usize = 8;

/// A subject for each method, the latest proposal first, and portable ones of those that have instructions of their own.
pub(crate) fn entries(m: usize, t: usize) -> Vec<Entry> {
    let entry = |(method, cpu): (Method, Cpu)| {
        let products = move || PolynomialProducts::with_cpu(cpu, m);
        let name = format!("candor@{}+{}", arm(method, &products()), name(method));
        let make = move || {
            let (inputs, answer, product) = (Vec::new(), Witness::default(), vec![0; 2 * t - 1]);
            Ok(Ours { products: products(), method, m, t, inputs, answer, next: 0, product })
        };
        (name.clone(), Entry::new(name, make))
    };
    let mut entries: Vec<(String, Entry)> = Vec::new();
    for cpu in [Cpu::default(), Cpu::portable()] {
        for made in Method::ALL.into_iter().rev().map(|method| entry((method, cpu))) {
            if entries.iter().all(|(name, _)| *name != made.0) {
                entries.push(made);
            }
        }
    }
    entries.into_iter().map(|(_, entry)| entry).collect()
}

fn name(method: Method) -> String {
    let of = |elements| match elements {
        ElementProduct::Folding => "folding",
        ElementProduct::OnePass => "one-pass",
        ElementProduct::Simd2 => "simd2",
        ElementProduct::Simd4 => "simd4",
        ElementProduct::Lazy => "lazy",
    };
    match method {
        Method::Schoolbook(elements) => format!("schoolbook-{}", of(elements)),
        Method::Karatsuba16(elements) => format!("karatsuba16-{}", of(elements)),
        Method::Kronecker => "kronecker".into(),
    }
}

/// Products of single elements have no arms.
fn arm(method: Method, products: &PolynomialProducts) -> &'static str {
    use ElementProduct::{Folding, OnePass};
    match method {
        Method::Schoolbook(Folding | OnePass) | Method::Karatsuba16(Folding | OnePass) => "portable",
        Method::Schoolbook(_) | Method::Karatsuba16(_) => products.arm(),
        Method::Kronecker => products.product_arm(),
    }
}

struct Ours {
    products: PolynomialProducts,
    method: Method,
    m: usize,
    t: usize,
    inputs: Vec<[Vec<u16>; 2]>,
    answer: Witness,
    next: usize,
    product: Vec<u16>,
}

impl Subject for Ours {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let mut stream = Stream::new(seed, "polynomials over small fields");
        let mask = (1 << self.m) - 1;
        let mut polynomial = || (0..self.t).map(|_| stream.word() as u16 & mask).collect();
        self.inputs = (0..PAIRS).map(|_| [polynomial(), polynomial()]).collect();
        self.answer = Witness::default();
        for (i, [a, b]) in self.inputs.iter().enumerate() {
            self.products.multiply(self.method, a, b, &mut self.product);
            let bytes: Vec<u8> = self.product.iter().flat_map(|coefficient| coefficient.to_le_bytes()).collect();
            self.answer = self.answer.clone().with(&format!("product {i}"), bytes);
        }
        Ok(self.answer.clone())
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.answer.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            let [a, b] = black_box(&self.inputs[self.next]);
            self.products.multiply(self.method, a, b, black_box(&mut self.product));
            self.next = (self.next + 1) % PAIRS;
        }
    }

    fn provenance(&self) -> Provenance {
        let arm = arm(self.method, &self.products);
        Provenance { arm: Some(arm.into()), ..ours(&format!("{TIMED}; PolynomialProducts::multiply")) }
    }
}
