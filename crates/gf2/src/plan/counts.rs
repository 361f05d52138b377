//! How many operations a plan takes, by walking it.

use super::{Plans, Scheme, toom3_words};
use core::ops::{Add, AddAssign, Mul};

/// Operations on words: what a product costs in a model where every word is handled alone. Vectors do several at once, and a leaf in
/// registers does not load and store; so this is the size of the work, not its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Products of two words.
    pub clmul: u64,
    /// Shifts of words. None of the schemes here has any: all parts are whole words. Fields add those of their reduction.
    pub shift: u64,
    /// Sums of two words.
    pub xor: u64,
    /// Masks of words. None here either.
    pub and: u64,
}

impl Counts {
    fn xors(xor: usize) -> Self {
        Self { xor: xor as u64, ..Self::default() }
    }
}

impl Add for Counts {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            clmul: self.clmul + other.clmul,
            shift: self.shift + other.shift,
            xor: self.xor + other.xor,
            and: self.and + other.and,
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<Counts> for u64 {
    type Output = Counts;
    fn mul(self, counts: Counts) -> Counts {
        Counts {
            clmul: self * counts.clmul,
            shift: self * counts.shift,
            xor: self * counts.xor,
            and: self * counts.and,
        }
    }
}

impl Plans {
    /// The operations of a product of two factors of `n` words by this table. A leaf counts as what it does inside.
    pub fn counts(&self, n: usize) -> Counts {
        self.counts_of_scheme(n, self.scheme(n))
    }

    /// The same if `n` words were split by `scheme` and all below by the table.
    pub fn counts_of_scheme(&self, n: usize, scheme: Scheme) -> Counts {
        match scheme {
            Scheme::Leaf => leaf(self.arm, n),
            Scheme::Split { low } => {
                let r = n - low;
                let cross = self.unbalanced_counts(low, r) + Counts::xors(n);
                self.counts(low) + self.counts(r) + 2 * cross
            }
            Scheme::Karatsuba2 { low } => 2 * self.counts(low) + self.counts(n - low) + karatsuba2(low, n - low),
            Scheme::Karatsuba3 { part } => {
                let r = n - 2 * part;
                5 * self.counts(part) + self.counts(r) + karatsuba3(part, r)
            }
            Scheme::Toom3 { part } => {
                let (r, words) = (n - 2 * part, toom3_words(n, part));
                // Per factor: the values at X, X + 1 and 1 (k + r each). Then `memory::Interpolation` word by word, c₄ where it reaches,
                // and the places where c₁ and c₃ are added.
                let values = 2 * (3 * (part + r));
                let interpolation = 10 * (2 * part) + 3 * (2 * r);
                let out = 2 * part + part + r;
                2 * self.counts(words)
                    + 2 * self.counts(part)
                    + self.counts(r)
                    + Counts::xors(values + interpolation + out)
            }
        }
    }

    fn unbalanced_counts(&self, long: usize, short: usize) -> Counts {
        match short {
            0 => Counts::default(),
            _ if long == short => self.counts(long),
            // Row by row, each product's two words added where they belong.
            1 => Counts { clmul: long as u64, xor: 2 * long as u64, ..Counts::default() },
            _ => {
                let (blocks, rest) = (long / short, long % short);
                let added = if rest > 0 { blocks } else { blocks - 1 };
                blocks as u64 * self.counts(short) + self.unbalanced_counts(short, rest) + Counts::xors(added * short)
            }
        }
    }
}

/// Sums of both factors, then `memory::karatsuba2_join`: where both halves reach, five sums a word; above, fewer.
fn karatsuba2(h: usize, r: usize) -> Counts {
    let both = (2 * r).saturating_sub(h);
    let first = h.min(2 * r);
    Counts::xors(2 * r + 5 * both + 4 * (first - both) + 2 * (h - first))
}

/// Six sums of parts, then `memory::karatsuba3_join`.
fn karatsuba3(k: usize, r: usize) -> Counts {
    Counts::xors(2 * (k + 2 * r) + 16 * k)
}

/// Every word times every word.
fn schoolbook(n: usize) -> Counts {
    Counts { clmul: (n * n) as u64, ..Counts::xors(2 * n * n - 2 * n) }
}

/// What the leaves do: words in pairs (lanes), Karatsuba with three parts for three lanes, with two otherwise; the wide arms also 9 as
/// 8 + 1, lengths filled up with zeros, and the shortest word by word.
fn leaf(arm: &str, n: usize) -> Counts {
    match (arm, n) {
        ("avx512", 3 | 4) | ("vpclmul", 4) => schoolbook(n),
        _ => karatsuba(arm, n),
    }
}

/// A leaf that adds before it multiplies, all the way down.
fn karatsuba(arm: &str, n: usize) -> Counts {
    let wide = matches!(arm, "vpclmul" | "avx512");
    let of = |n| karatsuba(arm, n);
    let two = |h: usize, r: usize| 2 * of(h) + of(r) + karatsuba2(h, r);
    match n {
        0 => Counts::default(),
        1 => Counts { clmul: 1, ..Counts::default() },
        2 => two(1, 1),
        3 if wide || matches!(arm, "portable" | "zbc") => 6 * of(1) + karatsuba3(1, 1),
        3 | 4 => two(2, 2),
        5 | 6 => 6 * of(2) + karatsuba3(2, 2),
        7 | 8 => two(4, 4),
        9 if wide => of(8) + 17 * of(1) + Counts::xors(8 + 2 * 8 + 2 * 8),
        9 | 10 if !wide => two(6, 4),
        9..=12 => two(6, 6),
        13 | 14 if !wide => two(8, 6),
        13..=16 => two(8, 8),
        17..=24 if arm == "avx512" => 6 * of(8) + karatsuba3(8, 8),
        17..=24 => two(12, 12),
        _ => two(16, 16),
    }
}
