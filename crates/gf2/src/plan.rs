//! Which scheme multiplies which length: plans as data.
//!
//! A [`Plans`] says for each number of words how two factors of that length are multiplied: by a leaf product of the arm, or by a
//! [`Scheme`] that splits them. It is a table of choices only. Whatever it says, the product is right: a table is checked when it
//! is read, every scheme is exact, and a length that it leaves out has a default.
//!
//! Tables are text ([`Plans::parse`] says how), made by the tuner: `cargo xtask tune gf2`.

mod counts;
mod parse;
mod shipped;
#[cfg(feature = "std")]
mod user;

pub use counts::Counts;
pub(crate) use parse::ARMS;
pub use parse::{PlanError, PlanMistake};
pub(crate) use shipped::shipped;
#[cfg(feature = "std")]
pub use user::{LoadError, install, installed, load, load_user};

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

/// The longest factors, in words, for which a table has an entry. Longer ones are halved until they fit.
pub const MOST_WORDS: usize = 1280;

/// How two factors of n words are multiplied. X is one word up, x^64: "a = a₀ + a₁·X^h" has h words in a₀.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheme {
    /// The arm's own product for this length, in registers.
    Leaf,
    /// n = low + r, schoolbook: a₀b₀, a₁b₁, and the unbalanced a₀b₁ and a₁b₀. For small r.
    Split {
        /// Words in the lower part: at least half.
        low: usize,
    },
    /// Karatsuba with two parts: three products, of low, low and n - low words.
    Karatsuba2 {
        /// Words in the lower part: at least half, at most about three quarters.
        low: usize,
    },
    /// Karatsuba with three parts: six products.
    Karatsuba3 {
        /// Words in each of the two lower parts: at least a third, less than half.
        part: usize,
    },
    /// Toom-Cook with three parts, evaluated at 0, 1, X, X + 1 and ∞ (so every shift is by whole words): five products.
    Toom3 {
        /// Words in each of the two lower parts: at least a third, less than half.
        part: usize,
    },
}

impl Scheme {
    /// Whether factors of `n` words can be multiplied so, by an arm with leaves up to `leaf_words`. The bounds make every
    /// part shorter than the whole and keep the worst table polynomial.
    pub const fn fits(self, n: usize, leaf_words: usize) -> bool {
        match self {
            Self::Leaf => n <= leaf_words,
            Self::Split { low } => low >= n.div_ceil(2) && low < n,
            Self::Karatsuba2 { low } => low >= n.div_ceil(2) && low < n && 4 * low <= 3 * n + 3,
            Self::Karatsuba3 { part } => part >= n.div_ceil(3) && 2 * part < n,
            Self::Toom3 { part } => part >= n.div_ceil(3) && 2 * part < n && toom3_words(n, part) < n,
        }
    }

    /// The lengths of the balanced products that it leads to, 0 where there are fewer.
    fn parts(self, n: usize) -> [usize; 3] {
        match self {
            Self::Leaf => [0; 3],
            Self::Split { low } | Self::Karatsuba2 { low } => [low, n - low, 0],
            Self::Karatsuba3 { part } => [part, n - 2 * part, 0],
            Self::Toom3 { part } => [toom3_words(n, part), part, n - 2 * part],
        }
    }

    /// What is done when a table says nothing: the leaf if there is one, else halves.
    const fn default(n: usize, leaf_words: usize) -> Self {
        if n <= leaf_words { Self::Leaf } else { Self::Karatsuba2 { low: n.div_ceil(2) } }
    }

    /// Three bits of kind, the rest is the length of the part.
    const fn pack(self) -> u16 {
        let (kind, part) = match self {
            Self::Leaf => (0, 0),
            Self::Split { low } => (1, low),
            Self::Karatsuba2 { low } => (2, low),
            Self::Karatsuba3 { part } => (3, part),
            Self::Toom3 { part } => (4, part),
        };
        assert!(part <= MOST_WORDS, "no part is longer than the longest table entry");
        (part as u16) << 3 | kind
    }

    const fn unpack(packed: u16) -> Self {
        let part = (packed >> 3) as usize;
        match packed & 7 {
            0 => Self::Leaf,
            1 => Self::Split { low: part },
            2 => Self::Karatsuba2 { low: part },
            3 => Self::Karatsuba3 { part },
            _ => Self::Toom3 { part },
        }
    }
}

impl Plans {
    /// How a product of `n` words is computed, a line a level: the tree below the lengths that differ.
    ///
    /// ```
    /// let plans = candor_gf2::Multiplier::with_cpu(candor_cpu::Cpu::portable()).plans();
    /// assert!(plans.describe(2).starts_with("2 words: leaf"));
    /// ```
    pub fn describe(&self, n: usize) -> String {
        let (mut lines, mut open) = (String::new(), Vec::from([n]));
        let mut at = 0;
        while let Some(&n) = open.get(at) {
            at += 1;
            let (scheme, counts) = (self.scheme(n), self.counts(n));
            // Writing to a String can't fail.
            let _ = writeln!(lines, "{n} words: {scheme}; {} clmul, {} xor", counts.clmul, counts.xor);
            for part in scheme.parts(n).into_iter().filter(|part| *part > 0) {
                if !open.contains(&part) {
                    open.push(part);
                }
            }
        }
        lines
    }
}

/// Words of a factor's values at X and X + 1, for parts of `part`, `part` and `n - 2·part` words.
pub(crate) const fn toom3_words(n: usize, part: usize) -> usize {
    let top = n - 2 * part + 2;
    if top > part + 1 { top } else { part + 1 }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leaf => f.write_str("leaf"),
            Self::Split { low } => write!(f, "split {low}"),
            Self::Karatsuba2 { low } => write!(f, "karatsuba2 {low}"),
            Self::Karatsuba3 { part } => write!(f, "karatsuba3 {part}"),
            Self::Toom3 { part } => write!(f, "toom3 {part}"),
        }
    }
}

/// A table of schemes for one arm.
#[derive(Clone)]
pub struct Plans {
    arm: &'static str,
    provenance: &'static str,
    leaf_words: usize,
    /// Packed schemes, by length.
    schemes: [u16; MOST_WORDS + 1],
    /// Words of scratch that a product needs, by length.
    scratch: [u32; MOST_WORDS + 1],
}

impl Plans {
    /// The arm that the table was made for.
    pub const fn arm(&self) -> &'static str {
        self.arm
    }

    /// The table's head: where and when it was measured, as its text says. Empty for a table of defaults.
    pub const fn provenance(&self) -> &'static str {
        self.provenance
    }

    /// The longest leaf of the arm, in words.
    pub const fn leaf_words(&self) -> usize {
        self.leaf_words
    }

    /// How factors of `n` words are multiplied.
    #[inline]
    pub const fn scheme(&self, n: usize) -> Scheme {
        if n <= MOST_WORDS { Scheme::unpack(self.schemes[n]) } else { Scheme::Karatsuba2 { low: beyond(n) } }
    }

    /// Words of scratch that a product of two factors of `n` words needs.
    pub const fn scratch_words(&self, n: usize) -> usize {
        if n <= MOST_WORDS {
            self.scratch[n] as usize
        } else {
            2 * beyond(n) + self.most_scratch(&[beyond(n), n - beyond(n)])
        }
    }

    /// Words of scratch that a product of factors of `a` and `b` words needs.
    pub const fn scratch_words_of(&self, a: usize, b: usize) -> usize {
        let (long, short) = if a >= b { (a, b) } else { (b, a) };
        if long == short {
            self.scratch_words(long)
        } else if short <= 1 {
            0
        } else {
            // A block's product, and what the blocks or the rest need.
            let (block, rest) = (self.scratch_words(short), self.scratch_words_of(short, long % short));
            2 * short + if block > rest { block } else { rest }
        }
    }

    /// What a table without entries means.
    pub(crate) const fn defaults(arm: &'static str, provenance: &'static str, leaf_words: usize) -> Self {
        let mut schemes = [0; MOST_WORDS + 1];
        let mut n = 0;
        while n <= MOST_WORDS {
            schemes[n] = Scheme::default(n, leaf_words).pack();
            n += 1;
        }
        Self { arm, provenance, leaf_words, schemes, scratch: [0; MOST_WORDS + 1] }.with_scratch()
    }

    /// The same table, from nowhere.
    #[cfg(feature = "tune")]
    pub(crate) fn without_provenance(self) -> Self {
        Self { provenance: "", ..self }
    }

    /// The same table with another scheme for `n` words, if it fits.
    pub fn with(mut self, n: usize, scheme: Scheme) -> Option<Self> {
        if n > MOST_WORDS || !scheme.fits(n, self.leaf_words) {
            return None;
        }
        self.schemes[n] = scheme.pack();
        Some(self.with_scratch())
    }

    /// Works out the scratch of every length, shortest first, as `recursion` uses it.
    const fn with_scratch(mut self) -> Self {
        let mut n = 2;
        while n <= MOST_WORDS {
            let words = match Scheme::unpack(self.schemes[n]) {
                Scheme::Leaf => 0,
                Scheme::Split { low } => {
                    let r = n - low;
                    let cross = if r == 1 { 0 } else { n + self.scratch_words_of(low, r) };
                    let parts = self.most_scratch(&[low, r]);
                    if cross > parts { cross } else { parts }
                }
                Scheme::Karatsuba2 { low } => 2 * low + self.most_scratch(&[low, n - low]),
                Scheme::Karatsuba3 { part } => 6 * part + self.most_scratch(&[part, n - 2 * part]),
                Scheme::Toom3 { part } => {
                    let words = toom3_words(n, part);
                    4 * words + 2 * part + self.most_scratch(&[words, part, n - 2 * part])
                }
            };
            self.scratch[n] = words as u32;
            n += 1;
        }
        self
    }

    /// The largest of the lengths' needs.
    const fn most_scratch(&self, lengths: &[usize]) -> usize {
        let (mut most, mut i) = (0, 0);
        while i < lengths.len() {
            let words = self.scratch_words(lengths[i]);
            if words > most {
                most = words;
            }
            i += 1;
        }
        most
    }
}

/// The lower part of lengths beyond the table: half, rounded up to sixteen words, so that the sizes below are those that
/// tables know well.
const fn beyond(n: usize) -> usize {
    n.div_ceil(32) * 16
}

impl fmt::Debug for Plans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plans").field("arm", &self.arm).field("provenance", &self.provenance).finish_non_exhaustive()
    }
}
