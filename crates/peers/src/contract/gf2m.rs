//! Arithmetic in GF(2^m).
//!
//! Elements are in each library's own form before the clock starts, and the modulus has been set up.

use crate::seed::Stream;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};

/// Pairs of operands that a task goes round.
const RING: usize = 16;
/// Products that depend on each other, for the witness.
const CHAIN: u64 = 3;

/// A field: m, and the exponents of its modulus.
pub type Modulus = (usize, &'static [usize]);

/// The operation that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Independent products.
    Mul,
    /// Each product is a factor of the next.
    MulLatency,
    /// Independent products by the library's call for many, where it has one.
    MulMany,
    /// Squares.
    Square,
    /// Reductions of a polynomial of twice the length.
    Reduce,
    /// Inverses.
    Inverse,
}

impl Op {
    /// What the timed call does, in a sentence without its stop.
    pub fn timed(self) -> String {
        let done = match self {
            Self::Mul => "multiplies two elements, reduction included",
            Self::MulLatency => return "multiplies two elements, each product a factor of the next".into(),
            Self::MulMany => {
                "multiplies two elements; independent products, by the library's call for many of them if it has one"
            }
            Self::Square => "squares an element, reduction included",
            Self::Reduce => "reduces a polynomial of degree up to 2m − 2, as a product leaves it",
            Self::Inverse => "inverts an element",
        };
        format!("{done}; {RING} operands in turn")
    }
}

/// The operands of one place in the ring, words from the least significant on.
#[derive(Clone, Debug)]
pub struct Operands {
    /// First factor: not zero, of degree below m.
    pub a: Vec<u64>,
    /// Second factor: not zero, of degree below m.
    pub b: Vec<u64>,
    /// A product before its reduction: degree up to 2m − 2, in twice as many words.
    pub wide: Vec<u64>,
}

/// A field by one library.
pub trait Field: 'static {
    /// Takes the operands over, in the library's own form.
    fn set(&mut self, ring: &[Operands]);
    /// Does `op` so many times, going round the ring; the chain of [`Op::MulLatency`] begins anew with each call.
    fn run(&mut self, op: Op, count: u64);
    /// The result of `op` at each place of the ring; of the chain, one.
    fn results(&mut self, op: Op) -> Vec<Vec<u64>>;
    /// Where the library comes from, how it was built, which arm `op` takes.
    fn provenance(&self, op: Op, timed: &str) -> Provenance;
    /// The operations that `op` takes, where the library tells.
    fn explanation(&self, op: Op) -> Option<String> {
        let _ = op;
        None
    }
}

/// The entry of a library.
pub fn entry<F: Field>(
    subject: impl Into<String>,
    modulus: Modulus,
    op: Op,
    make: impl Fn() -> Result<F, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || Ok(InField { field: make()?, degree: modulus.0, op, witness: Witness::default() }))
}

struct InField<F> {
    field: F,
    degree: usize,
    op: Op,
    witness: Witness,
}

impl<F: Field> Subject for InField<F> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let mut stream = Stream::new(seed, "gf2m operands");
        let ring: Vec<Operands> = (0..RING).map(|_| operands(&mut stream, self.degree)).collect();
        self.field.set(&ring);
        self.field.run(self.op, if self.op == Op::MulLatency { CHAIN } else { RING as u64 });
        let words = self.field.results(self.op).concat();
        self.witness = Witness::bytes(words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>());
        Ok(self.witness.clone())
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.witness.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        self.field.run(self.op, iterations);
    }

    fn provenance(&self) -> Provenance {
        self.field.provenance(self.op, &self.op.timed())
    }

    fn explanation(&self) -> Option<String> {
        self.field.explanation(self.op)
    }
}

fn operands(stream: &mut Stream, degree: usize) -> Operands {
    let mut below = |bits: usize, words: usize| -> Vec<u64> {
        let mut polynomial: Vec<u64> = (0..words).map(|_| stream.word()).collect();
        for (i, word) in polynomial.iter_mut().enumerate() {
            let kept = bits.saturating_sub(64 * i).min(64);
            *word &= if kept == 64 { u64::MAX } else { (1 << kept) - 1 };
        }
        polynomial[0] |= 1; // not zero
        polynomial
    };
    let words = degree.div_ceil(64);
    Operands { a: below(degree, words), b: below(degree, words), wide: below(2 * degree - 1, 2 * words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_have_the_degrees_that_they_promise() {
        let mut stream = Stream::new(1, "test");
        for m in [128, 163, 233, 283, 409, 571] {
            let operands = operands(&mut stream, m);
            let degree = |words: &[u64]| {
                let top = words.iter().rposition(|word| *word != 0).unwrap();
                64 * top + words[top].ilog2() as usize
            };
            assert!(degree(&operands.a) < m && degree(&operands.b) < m && degree(&operands.wide) <= 2 * m - 2);
        }
    }
}
