//! Our binary polynomials and fields against other people's, bit for bit: `cargo xtask differential gf2`.
//!
//! Tests compare with a schoolbook product, which needs no other library; tasks compare with gf2x and NTL, but at their own few sizes. This compares every arm of this CPU with every gf2x and NTL of this machine, at every length up to 128 words
//! and at random ones up to 1,200, and in fields and modulo polynomials of any shape.

mod fields;
mod products;

use candor_gf2::Multiplier;
use std::collections::BTreeMap;
use std::fmt;

/// How much is compared.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Seed of the random operands.
    pub seed: u64,
    /// Every length up to here, in words.
    pub every: usize,
    /// The longest random length, in words.
    pub longest: usize,
    /// Random pairs of equally long factors, random pairs of lengths, and random moduli: so many of each.
    pub random: usize,
    /// Compare with whatever gf2x and NTL there are, such as Debian's packages, instead of insisting on the tuned ones.
    pub stock: bool,
}

impl Default for Extent {
    fn default() -> Self {
        Self { seed: 1, every: 128, longest: 1200, random: 2000, stock: false }
    }
}

/// How often one of ours and a peer came to the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The kind of computation: `products`, `inverses`.
    pub what: &'static str,
    /// `candor@avx512`.
    pub ours: String,
    /// `gf2x-1.3.0+tuned`.
    pub peer: String,
    /// So often.
    pub compared: u64,
}

/// Why there is no agreement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// Who should be compared with is not on this machine.
    Missing(String),
    /// Two answers differ.
    Differ(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(who) => write!(f, "{who} is not on this machine: build it with `cargo xtask peers gf2x`"),
            Self::Differ(how) => f.write_str(how),
        }
    }
}

impl std::error::Error for Problem {}

/// Compares all that there is with all that there is.
///
/// # Errors
/// The first difference, or the library that is missing: nothing is compared unless NTL is there and, but for `extent.stock`, the tuned gf2x with its
/// inlined routines.
pub fn gf2(extent: Extent) -> Result<Vec<Agreed>, Problem> {
    let mut peers = candor_peers::gf2_products();
    let gf2x = if extent.stock { ("gf2x-", "gf2x") } else { ("+tuned", "a tuned gf2x") };
    for (needed, what) in [gf2x, ("ntl-", "NTL")] {
        if !peers.iter().any(|(name, _)| name.contains(needed)) {
            return Err(Problem::Missing(what.into()));
        }
    }
    let mut tally = Tally::default();
    let arms = arms();
    products::compare(extent, &arms, &mut peers, &mut tally)?;
    for words in 1..=products::INLINED {
        let Some(mut peer) = candor_peers::gf2_inlined(words) else {
            if extent.stock {
                break;
            }
            return Err(Problem::Missing("gf2x with its inlined routines".into()));
        };
        products::compare_inlined(extent, words, &arms, &mut peer, &mut tally)?;
    }
    fields::compare_known(extent, &mut tally)?;
    fields::compare_random(extent, &arms, &mut tally)?;
    Ok(tally.agreed())
}

/// Every arm of this CPU, by the name that its subjects have.
fn arms() -> Vec<(String, Multiplier)> {
    let arms = crate::ours::distinct_arms(|cpu| Multiplier::with_cpu(cpu).arm());
    arms.into_iter().map(|(arm, cpu)| (format!("candor@{arm}"), Multiplier::with_cpu(cpu))).collect()
}

/// Agreements so far.
#[derive(Default)]
struct Tally {
    /// What was compared, in the order in which it first was.
    names: Vec<&'static str>,
    /// How often, by place in `names`, ours and peer.
    counts: BTreeMap<(usize, String, String), u64>,
}

impl Tally {
    /// Compares one answer of ours with a peer's. `of` describes the operands, should they differ.
    fn compare(
        &mut self,
        what: &'static str,
        (ours, answer): (&str, &[u64]),
        (peer, theirs): (&str, &[u64]),
        of: impl Fn() -> String,
    ) -> Result<(), Problem> {
        if answer != theirs {
            let word = answer.iter().zip(theirs).position(|(a, b)| a != b).unwrap_or(answer.len().min(theirs.len()));
            let of = of();
            return Err(Problem::Differ(format!("{what} of {of}: {ours} and {peer} differ from word {word} on")));
        }
        let known = self.names.iter().position(|known| *known == what);
        let place = known.unwrap_or_else(|| {
            self.names.push(what);
            self.names.len() - 1
        });
        *self.counts.entry((place, ours.to_owned(), peer.to_owned())).or_default() += 1;
        Ok(())
    }

    /// In the order in which things were first compared.
    fn agreed(self) -> Vec<Agreed> {
        let Self { names, counts } = self;
        let agreed = |((place, ours, peer), compared)| Agreed { what: names[place], ours, peer, compared };
        counts.into_iter().map(agreed).collect()
    }
}
