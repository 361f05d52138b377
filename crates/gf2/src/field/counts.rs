//! How many operations a field's multiplication takes, counted by running the code itself over words that count.
//!
//! ```
//! use candor_gf2::field::{Nist571, Operations};
//! let operations = Operations::of::<Nist571>();
//! assert_eq!(operations.product.clmul, 36);
//! println!("{operations}");
//! ```

use super::fused;
use super::limbs::Columns;
use super::modulus::{Modulus, SparseModulus};
use super::packed::reduce_slot;
use super::reduce::{fold, reduce_in};
use super::wide::Wide;
use super::word::Word;
use core::cell::Cell;
use core::fmt;
use core::ops::Sub;

/// Operations by kind. The fields of [`Operations`] say on what: words or vectors. Loads and stores are not counted, nor is what the compiler
/// removes: adding to a zero and moving a whole word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Carry-less products of two words.
    pub clmul: u32,
    /// Shifts.
    pub shift: u32,
    /// Exclusive ors.
    pub xor: u32,
    /// Masks.
    pub and: u32,
    /// Moves of words within a vector.
    pub shuffle: u32,
}

/// The operations of one multiplication modulo a polynomial: the product, and each way to reduce it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Operations {
    /// The modulus.
    pub modulus: SparseModulus<'static>,
    /// The product, by Karatsuba's forms; on 128-bit lanes.
    pub product: Counts,
    /// The reduction fused with the product, and joining the product's columns; on 128-bit lanes. `None` if a tap lies within
    /// 64 of m.
    pub fused: Option<Counts>,
    /// The reduction by folding; on 64-bit words.
    pub folding: Counts,
    /// The reduction by rounds of feedback; on 64-bit words.
    pub rounds: Counts,
    /// The reduction by rounds in one slot of a vector, for m ≤ 16.
    pub slot: Option<Counts>,
}

impl Operations {
    /// Counts by running the multiplication.
    #[must_use]
    pub fn of<M: Modulus>() -> Self {
        let modulus = M::MODULUS;
        let (m, n) = (modulus.degree(), modulus.words());
        let product = tally(|counts| {
            M::Words::product::<Counted>(counts, &[M::Words::ZERO], &[M::Words::ZERO]);
        });
        let fused = fused::applies(&modulus).then(|| {
            tally(|counts| {
                fused::mul::<Counted, M>(counts, &[M::Words::ZERO], &[M::Words::ZERO], &mut [M::Words::ZERO]);
            }) - product
        });
        let folding = tally(|counts| fold(&modulus, 2 * m - 2, &mut words(counts)[..2 * n]));
        let rounds = tally(|counts| {
            reduce_in(
                &modulus,
                modulus.rounds(2 * m - 2),
                &mut words(counts)[..(2 * m - 1).div_ceil(64)],
                &mut words(counts),
            );
        });
        let slot = (m <= 16).then(|| {
            tally(|counts| {
                reduce_slot(&modulus, words(counts)[0]);
            })
        });
        Self { modulus, product, fused, folding, rounds, slot }
    }

    /// Additions of whole shifted polynomials by two folds: 2(w − 1), w being the modulus's weight. This and
    /// [`whole_by_rounds`](Self::whole_by_rounds) are the literature's figures; `docs/operation-counts.md` says what they leave out.
    #[must_use]
    pub fn whole_by_folding(&self) -> usize {
        2 * (self.modulus.weight() - 1)
    }

    /// Additions of whole shifted polynomials by one round and the final sum: 2(w − 2) + 1. `None` where one round is not enough or
    /// the modulus has no constant term.
    #[must_use]
    pub fn whole_by_rounds(&self) -> Option<usize> {
        let one = self.modulus.rounds(2 * self.modulus.degree() - 2) == 1;
        (one && self.modulus.taps().last() == Some(&0)).then(|| 2 * (self.modulus.weight() - 2) + 1)
    }
}

impl fmt::Display for Operations {
    /// A table with a line for each way to reduce.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "operations of one multiplication modulo {}", self.modulus)?;
        writeln!(f, "{:<40}{:>7}{:>7}{:>7}{:>7}{:>9}", "", "clmul", "shift", "xor", "and", "shuffle")?;
        let mut line = |what: &str, counts: Counts| {
            let Counts { clmul, shift, xor, and, shuffle } = counts;
            writeln!(f, "{what:<40}{clmul:>7}{shift:>7}{xor:>7}{and:>7}{shuffle:>9}")
        };
        line("product, on 128-bit lanes", self.product)?;
        if let Some(fused) = self.fused {
            line("reduction fused to it, on 128-bit lanes", fused)?;
        }
        line("reduction by folding, on 64-bit words", self.folding)?;
        line("reduction by rounds, on 64-bit words", self.rounds)?;
        if let Some(slot) = self.slot {
            line("reduction by rounds, in one slot", slot)?;
        }
        write!(f, "additions of whole polynomials: {} by folding twice", self.whole_by_folding())?;
        match self.whole_by_rounds() {
            Some(additions) => write!(f, ", {additions} by one round"),
            None => write!(f, "; one round is not enough"),
        }
    }
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            clmul: self.clmul - other.clmul,
            shift: self.shift - other.shift,
            xor: self.xor - other.xor,
            and: self.and - other.and,
            shuffle: self.shuffle - other.shuffle,
        }
    }
}

/// The most words that a product has.
fn words(counts: &Cell<Counts>) -> [Counted<'_>; 18] {
    [Counted { counts, zero: false }; 18]
}

fn tally(run: impl FnOnce(&Cell<Counts>)) -> Counts {
    let counts = Cell::default();
    run(&counts);
    counts.get()
}

/// A word or a vector without a value that counts the operations on it. It knows whether it is a constant zero, because adding zero costs
/// nothing.
#[derive(Clone, Copy)]
struct Counted<'c> {
    counts: &'c Cell<Counts>,
    zero: bool,
}

impl Counted<'_> {
    fn count(self, zero: bool, add: impl FnOnce(&mut Counts)) -> Self {
        let mut counts = self.counts.get();
        add(&mut counts);
        self.counts.set(counts);
        Self { zero, ..self }
    }
}

impl Word for Counted<'_> {
    fn xor(self, other: Self) -> Self {
        match (self.zero, other.zero) {
            (true, _) => other,
            (_, true) => self,
            _ => self.count(false, |counts| counts.xor += 1),
        }
    }

    fn and(self, mask: u64) -> Self {
        if mask == 0 { Self { zero: true, ..self } } else { self.count(self.zero, |counts| counts.and += 1) }
    }

    fn shl(self, n: usize) -> Self {
        if self.zero || n == 0 { self } else { self.count(false, |counts| counts.shift += 1) }
    }

    fn shr(self, n: usize) -> Self {
        Word::shl(self, n)
    }
}

impl<'c> Wide for Counted<'c> {
    type Proof = &'c Cell<Counts>;
    const N: usize = 1;

    fn zero(counts: Self::Proof) -> Self {
        Self { counts, zero: true }
    }

    fn splat(counts: Self::Proof, _: u64, _: u64) -> Self {
        Self { counts, zero: false }
    }

    fn pair<const W: usize>(counts: Self::Proof, _: &[[u64; W]], _: usize) -> Self {
        Self { counts, zero: false }
    }

    fn single<const W: usize>(counts: Self::Proof, _: &[[u64; W]], _: usize) -> Self {
        Self { counts, zero: false }
    }

    fn store_pair<const W: usize>(self, _: &mut [[u64; W]], _: usize) {}

    fn store_single<const W: usize>(self, _: &mut [[u64; W]], _: usize) {}

    fn xor(self, other: Self) -> Self {
        Word::xor(self, other)
    }

    fn and(self, _: Self) -> Self {
        Word::and(self, u64::MAX)
    }

    fn shl(self, n: usize) -> Self {
        Word::shl(self, n)
    }

    fn shr(self, n: usize) -> Self {
        Word::shr(self, n)
    }

    fn mul_low(self, _: Self) -> Self {
        self.count(false, |counts| counts.clmul += 1)
    }

    fn mul_high(self, other: Self) -> Self {
        self.mul_low(other)
    }

    fn low_low(self, other: Self) -> Self {
        if self.zero && other.zero { self } else { self.count(false, |counts| counts.shuffle += 1) }
    }

    fn high_low(self, other: Self) -> Self {
        self.low_low(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Gcm128, Hqc8, McEliece12, McEliece13, Nist163, Nist233, Nist283, Nist409, Nist571};

    #[test]
    fn products_take_karatsubas_number_of_clmuls() {
        assert_eq!(Operations::of::<Gcm128>().product.clmul, 3);
        assert_eq!(Operations::of::<Nist163>().product.clmul, 6);
        assert_eq!(Operations::of::<Nist233>().product.clmul, 9);
        assert_eq!(Operations::of::<Nist283>().product.clmul, 3 + 6 + 6);
        assert_eq!(Operations::of::<Nist409>().product.clmul, 9 + 6 + 9);
        assert_eq!(Operations::of::<Nist571>().product.clmul, 6 * 6);
    }

    #[test]
    fn one_slot_of_mceliece12_takes_what_can_be_counted_by_hand() {
        let operations = Operations::of::<McEliece12>();
        // h = x>>12; h ^= h>>9; x ^= h; x ^= h<<3; x & mask.
        assert_eq!(operations.slot, Some(Counts { shift: 3, xor: 3, and: 1, ..Counts::default() }));
        // Twice: t = x>>12; x &= mask; x ^= t; x ^= t<<3.
        assert_eq!(operations.folding, Counts { shift: 4, xor: 4, and: 2, ..Counts::default() });
        assert_eq!((operations.whole_by_folding(), operations.whole_by_rounds()), (4, Some(3)));
    }

    #[test]
    fn the_reduction_of_hqc_needs_its_mask() {
        let operations = Operations::of::<Hqc8>();
        assert_eq!(operations.slot, Some(Counts { shift: 7, xor: 7, and: 1, ..Counts::default() }));
        assert_eq!((operations.whole_by_folding(), operations.whole_by_rounds()), (8, Some(7)));
    }

    #[test]
    fn the_table_has_a_line_for_each_way() {
        let table = Operations::of::<Nist233>().to_string();
        assert_eq!(table.lines().count(), 7, "{table}");
        assert!(table.contains("x^233 + x^74 + 1") && table.contains("3 by one round"), "{table}");
    }

    /// A row of the tables in `docs/operation-counts.md`.
    fn row(operations: &Operations) -> String {
        let words = |Counts { shift, xor, and, .. }| format!("{shift}, {xor}, {and}");
        let (p, f) = (operations.product, operations.fused.unwrap());
        format!(
            "| {} | {}, {}, {} | {}, {} | {} | {} |",
            operations.modulus.degree(),
            p.clmul,
            p.xor,
            p.shuffle,
            words(f),
            f.shuffle,
            words(operations.folding),
            words(operations.rounds)
        )
    }

    #[test]
    fn the_documents_operation_counts_are_those_of_the_code() {
        let document = include_str!("../../docs/operation-counts.md");
        for operations in [
            Operations::of::<Gcm128>(),
            Operations::of::<Nist163>(),
            Operations::of::<Nist233>(),
            Operations::of::<Nist283>(),
            Operations::of::<Nist409>(),
            Operations::of::<Nist571>(),
        ] {
            let row = row(&operations);
            assert!(document.contains(&row), "docs/operation-counts.md lacks {row}");
        }
        for (field, operations) in [
            ("x^8 + x^4 + x^3 + x^2 + 1 (HQC)", Operations::of::<Hqc8>()),
            ("x^12 + x^3 + 1 (Classic McEliece)", Operations::of::<McEliece12>()),
            ("x^13 + x^4 + x^3 + x + 1 (Classic McEliece)", Operations::of::<McEliece13>()),
        ] {
            let words = |Counts { shift, xor, and, .. }| format!("{shift}, {xor}, {and}");
            let row = format!("| {field} | {} | {} |", words(operations.folding), words(operations.slot.unwrap()));
            assert!(document.contains(&row), "docs/operation-counts.md lacks {row}");
        }
    }
}
