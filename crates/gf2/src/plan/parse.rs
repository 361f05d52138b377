//! The text form of a table.
//!
//! ```text
//! candor-gf2-plan 1
//! arm avx512
//! cpu AMD EPYC 9R14
//! compiler rustc 1.95.0
//! 33 karatsuba2 17
//! 96 karatsuba3 32
//! ```
//!
//! The first line names the format. Lines that begin with a letter say where the table comes from, in any words; only `arm` must be
//! there, before the first entry. An entry is a length in words, a scheme, and the length of its lower parts. Lines that begin with
//! `#` and empty lines mean nothing. The parser is a `const fn`, so that the shipped tables go through the same checks when the crate
//! is compiled.

use super::{MOST_WORDS, Plans, Scheme};
use core::fmt;

/// Why a text is not a table of plans, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// The line, counted from one.
    pub line: usize,
    /// What is wrong in that line.
    pub mistake: PlanMistake,
}

/// What can be wrong in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanMistake {
    /// The first line is not `candor-gf2-plan 1`.
    Format,
    /// Unknown arm.
    Arm,
    /// An entry comes before the line that names the arm, or no line does.
    ArmMissing,
    /// Unknown scheme.
    Scheme,
    /// A number is missing, malformed or too large, or is followed by something else.
    Number,
    /// The length is 0 or beyond the longest entry.
    Length,
    /// The scheme can't split a product of this length (see [`Scheme`]).
    Fit,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match self.mistake {
            PlanMistake::Format => f.write_str("expected the line `candor-gf2-plan 1`"),
            PlanMistake::Arm => f.write_str("unknown arm; expected portable, clmul, vpclmul, avx512, pmull or zbc"),
            PlanMistake::ArmMissing => f.write_str("expected the line `arm NAME` before the entries"),
            PlanMistake::Scheme => f.write_str("expected `WORDS SCHEME PART` with scheme leaf, split, karatsuba2, karatsuba3 or toom3"),
            PlanMistake::Number => f.write_str("expected a number of up to six digits at the end of the line"),
            PlanMistake::Length => write!(f, "length is out of range; expected 1 to {MOST_WORDS} words"),
            PlanMistake::Fit => f.write_str("this scheme can't split this length: karatsuba2 and split need at least half of the words in the lower part, karatsuba3 and toom3 at least a third and less than half in each of the lower two"),
        }
    }
}

impl core::error::Error for PlanError {}

/// The arms, with their longest leaf in words.
pub(crate) const ARMS: [(&str, usize); 6] =
    [("portable", 4), ("clmul", 16), ("vpclmul", 32), ("avx512", 32), ("pmull", 16), ("zbc", 4)];

impl Plans {
    /// Reads a table.
    ///
    /// # Errors
    /// The first line that is wrong, and why. A table that is accepted multiplies correctly, whatever its choices.
    pub const fn parse(text: &'static str) -> Result<Self, PlanError> {
        match Self::read(text) {
            Ok((mut plans, head)) => {
                plans.provenance = text.split_at(head).0;
                Ok(plans)
            }
            Err(error) => Err(error),
        }
    }

    /// Checks a text that need not live for ever, without keeping the table.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse).
    pub const fn check(text: &str) -> Result<(), PlanError> {
        match Self::read(text) {
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The table without its provenance, from any text; and where in it the provenance ends, which is on a boundary of characters.
    pub(crate) const fn read(text: &str) -> Result<(Self, usize), PlanError> {
        let bytes = text.as_bytes();
        let (mut at, mut line, mut plans, mut provenance_end) = (0, 0, None, 0);
        while at < bytes.len() {
            let (begin, end) = (at, end_of_line(bytes, at));
            at = end + 1;
            line += 1;
            if line == 1 {
                if !is(bytes, begin, end, b"candor-gf2-plan 1") {
                    return Err(PlanError { line, mistake: PlanMistake::Format });
                }
            } else if begin == end || bytes[begin] == b'#' {
            } else if bytes[begin].is_ascii_digit() {
                let Some(plans) = &mut plans else {
                    return Err(PlanError { line, mistake: PlanMistake::ArmMissing });
                };
                if let Err(mistake) = entry(plans, bytes, begin, end) {
                    return Err(PlanError { line, mistake });
                }
            } else {
                provenance_end = end;
                if starts(bytes, begin, end, b"arm ") {
                    let mut i = 0;
                    while i < ARMS.len() && !is(bytes, begin + 4, end, ARMS[i].0.as_bytes()) {
                        i += 1;
                    }
                    if i == ARMS.len() {
                        return Err(PlanError { line, mistake: PlanMistake::Arm });
                    }
                    plans = Some(Self::defaults(ARMS[i].0, "", ARMS[i].1));
                }
            }
        }
        let Some(plans) = plans else {
            let mistake = if line == 0 { PlanMistake::Format } else { PlanMistake::ArmMissing };
            return Err(PlanError { line: if line == 0 { 1 } else { line }, mistake });
        };
        Ok((plans.with_scratch(), provenance_end))
    }
}

/// `WORDS SCHEME [PART]`.
const fn entry(plans: &mut Plans, bytes: &[u8], begin: usize, end: usize) -> Result<(), PlanMistake> {
    let Some((n, at)) = number(bytes, begin, end) else { return Err(PlanMistake::Number) };
    if n == 0 || n > MOST_WORDS {
        return Err(PlanMistake::Length);
    }
    let scheme = if is(bytes, at, end, b" leaf") {
        Scheme::Leaf
    } else {
        let (kind, skip) = if starts(bytes, at, end, b" split ") {
            (1, 7)
        } else if starts(bytes, at, end, b" karatsuba2 ") {
            (2, 12)
        } else if starts(bytes, at, end, b" karatsuba3 ") {
            (3, 12)
        } else if starts(bytes, at, end, b" toom3 ") {
            (4, 7)
        } else {
            return Err(PlanMistake::Scheme);
        };
        let Some((part, rest)) = number(bytes, at + skip, end) else { return Err(PlanMistake::Number) };
        if rest != end {
            return Err(PlanMistake::Number);
        }
        if part > MOST_WORDS {
            return Err(PlanMistake::Fit);
        }
        match kind {
            1 => Scheme::Split { low: part },
            2 => Scheme::Karatsuba2 { low: part },
            3 => Scheme::Karatsuba3 { part },
            _ => Scheme::Toom3 { part },
        }
    };
    if !scheme.fits(n, plans.leaf_words) {
        return Err(PlanMistake::Fit);
    }
    plans.schemes[n] = scheme.pack();
    Ok(())
}

/// A decimal number of up to six digits and where it ends.
const fn number(bytes: &[u8], begin: usize, end: usize) -> Option<(usize, usize)> {
    let (mut at, mut value) = (begin, 0);
    while at < end && bytes[at].is_ascii_digit() {
        value = 10 * value + (bytes[at] - b'0') as usize;
        at += 1;
        if at - begin > 6 {
            return None;
        }
    }
    if at == begin { None } else { Some((value, at)) }
}

const fn end_of_line(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'\n' {
        at += 1;
    }
    at
}

const fn starts(bytes: &[u8], begin: usize, end: usize, with: &[u8]) -> bool {
    let mut i = 0;
    while i < with.len() && begin + i < end && bytes[begin + i] == with[i] {
        i += 1;
    }
    i == with.len()
}

const fn is(bytes: &[u8], begin: usize, end: usize, what: &[u8]) -> bool {
    end - begin == what.len() && starts(bytes, begin, end, what)
}
