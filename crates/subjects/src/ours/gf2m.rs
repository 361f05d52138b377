//! Our fields GF(2^m): each arm that this machine has, the best one first.

use super::gf2::best_first;
use super::ours;
use candor_gf2::field::{
    Aes8, Element, Field, Gcm128, Hqc8, McEliece12, McEliece13, Modulus, Nist163, Nist233, Nist283, Nist409, Nist571,
    Operations, SparseModulus,
};
use candor_lab::{Entry, Habit, Provenance};
use candor_peers::contract::gf2m::{self, Op, Operands};
use std::hint::black_box;

/// The entries for an operation in one of the fields.
pub(crate) fn entries(modulus: gf2m::Modulus, op: Op) -> Vec<Entry> {
    match modulus.0 {
        128 => arms::<Gcm128>(modulus, op),
        163 => arms::<Nist163>(modulus, op),
        233 => arms::<Nist233>(modulus, op),
        283 => arms::<Nist283>(modulus, op),
        409 => arms::<Nist409>(modulus, op),
        571 => arms::<Nist571>(modulus, op),
        other => unreachable!("no task has a field of degree {other}"),
    }
}

fn arms<M: Modulus>(modulus: gf2m::Modulus, op: Op) -> Vec<Entry> {
    let entry = |(arm, cpu)| {
        let field = Field::<M>::with_cpu(cpu);
        gf2m::entry(format!("candor@{arm}"), modulus, op, move || Ok(OurField::new(field)))
    };
    best_first(|cpu| Field::<M>::with_cpu(cpu).arm()).into_iter().map(entry).collect()
}

/// An arm's name, and the field on it.
type OnArm = (&'static str, Box<dyn gf2m::Field>);

/// A field that the compiler knows, for `differential`.
pub(crate) struct Known {
    /// Irreducible.
    pub(crate) modulus: SparseModulus<'static>,
    /// The field on each arm of this machine.
    pub(crate) arms: fn() -> Vec<OnArm>,
}

/// The crate's own moduli, and some whose word counts or taps none of those have.
pub(crate) fn known() -> Vec<Known> {
    fn arms<M: Modulus>() -> Vec<OnArm> {
        let mut arms: Vec<OnArm> = Vec::new();
        for (arm, cpu) in best_first(|cpu| Field::<M>::with_cpu(cpu).arm()) {
            arms.push((arm, Box::new(OurField::<M>::new(Field::with_cpu(cpu)))));
        }
        arms
    }
    fn one<M: Modulus>() -> Known {
        Known { modulus: M::MODULUS, arms: arms::<M> }
    }
    vec![
        one::<Hqc8>(),
        one::<Aes8>(),
        one::<McEliece12>(),
        one::<McEliece13>(),
        one::<OneWord>(),
        one::<Sect113>(),
        one::<Gcm128>(),
        one::<Nist163>(),
        one::<Sect193>(),
        one::<Nist233>(),
        one::<Sect239>(),
        one::<Nist283>(),
        one::<SixWords>(),
        one::<Nist409>(),
        one::<EightWords>(),
        one::<Nist571>(),
    ]
}

macro_rules! more_moduli {
    ($($(#[$doc:meta])* $name:ident = $m:literal, $taps:expr, $words:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        struct $name;

        impl Modulus for $name {
            const MODULUS: SparseModulus<'static> = SparseModulus::constant($m, &$taps);
            type Words = [u64; $words];
        }
    )+};
}

// From Seroussi's table of irreducible polynomials (HP Labs, HPL-98-135), and from SEC 2.
more_moduli! {
    OneWord = 64, [4, 3, 1, 0], 1;
    /// SEC 2, sect113r1.
    Sect113 = 113, [9, 0], 2;
    /// SEC 2, sect193r1.
    Sect193 = 193, [15, 0], 4;
    /// SEC 2, sect239k1: its tap is above the middle, so one round is not enough.
    Sect239 = 239, [158, 0], 4;
    SixWords = 384, [12, 3, 2, 0], 6;
    EightWords = 512, [8, 5, 2, 0], 8;
}

struct OurField<M: Modulus> {
    field: Field<M>,
    a: Vec<Element<M>>,
    b: Vec<Element<M>>,
    /// Lower and upper half.
    wide: Vec<[M::Words; 2]>,
    out: Vec<Element<M>>,
}

impl<M: Modulus> OurField<M> {
    fn new(field: Field<M>) -> Self {
        Self { field, a: Vec::new(), b: Vec::new(), wide: Vec::new(), out: Vec::new() }
    }

    fn words(&self, from: &[u64]) -> M::Words {
        let mut words = *self.field.zero().words();
        words.as_mut().copy_from_slice(from);
        words
    }

    fn element(&self, from: &[u64]) -> Element<M> {
        self.field.element(self.words(from)).expect("operands are reduced")
    }

    /// Goes round the ring: `of` gets the pair and gives the result.
    #[inline(always)]
    fn around<T>(out: &mut [Element<M>], ring: &[T], count: u64, of: impl Fn(&T) -> Element<M>) {
        let mut left = count as usize;
        while left > 0 {
            let some = left.min(ring.len());
            left -= some;
            // Once for each time round: what is written is used, and what is read may have changed.
            for (out, operands) in black_box(&mut out[..some]).iter_mut().zip(black_box(&ring[..some])) {
                *out = of(operands);
            }
        }
    }
}

impl<M: Modulus> gf2m::Field for OurField<M> {
    fn set(&mut self, ring: &[Operands]) {
        self.a = ring.iter().map(|operands| self.element(&operands.a)).collect();
        self.b = ring.iter().map(|operands| self.element(&operands.b)).collect();
        let halves = |wide: &[u64]| {
            let (low, high) = wide.split_at(wide.len() / 2);
            [self.words(low), self.words(high)]
        };
        self.wide = ring.iter().map(|operands| halves(&operands.wide)).collect();
        self.out = vec![self.field.zero(); ring.len()];
    }

    fn run(&mut self, op: Op, count: u64) {
        let field = self.field;
        match op {
            Op::Mul => {
                let mut left = count as usize;
                while left > 0 {
                    let some = left.min(self.a.len());
                    left -= some;
                    let (a, b) = black_box((&self.a[..some], &self.b[..some]));
                    for ((out, a), b) in black_box(&mut self.out[..some]).iter_mut().zip(a).zip(b) {
                        *out = field.mul(a, b);
                    }
                }
            }
            Op::MulLatency => {
                let (mut product, factor) = (self.a[0], black_box(self.b[0]));
                for _ in 0..count {
                    product = field.mul(&product, &factor);
                }
                self.out[0] = black_box(product);
            }
            Op::MulMany => {
                let mut left = count as usize;
                while left > 0 {
                    let some = left.min(self.a.len());
                    left -= some;
                    let (a, b) = black_box((&self.a[..some], &self.b[..some]));
                    field.mul_many(a, b, black_box(&mut self.out[..some]));
                }
            }
            Op::Square => Self::around(&mut self.out, &self.a, count, |a| field.square(a)),
            Op::Reduce => Self::around(&mut self.out, &self.wide, count, |[low, high]| field.reduce(low, high)),
            Op::Inverse => Self::around(&mut self.out, &self.a, count, |a| field.invert(a)),
        }
    }

    fn results(&mut self, op: Op) -> Vec<Vec<u64>> {
        let of = if op == Op::MulLatency { &self.out[..1] } else { &self.out };
        of.iter().map(|element| element.words().as_ref().to_vec()).collect()
    }

    fn provenance(&self, op: Op, timed: &str) -> Provenance {
        let call = match op {
            Op::Mul | Op::MulLatency => "Field::mul",
            Op::MulMany => "Field::mul_many",
            Op::Square => "Field::square",
            Op::Reduce => "Field::reduce",
            Op::Inverse => "Field::invert",
        };
        let told = ours(&format!("{timed}; {call}"));
        let batches = (Habit::Batches, "up to a whole ring of products as one batch");
        Provenance { arm: Some(self.field.arm().to_owned()), ..told.telling((op == Op::MulMany).then_some(batches)) }
    }

    fn explanation(&self, op: Op) -> Option<String> {
        let multiplies = matches!(op, Op::Mul | Op::MulLatency | Op::MulMany | Op::Reduce);
        multiplies.then(|| Operations::of::<M>().to_string())
    }
}
