//! What the runs of a case show.
//!
//! A case runs several times with one set of secrets, and as often with another. Addresses and everything else are the same in all. A byte
//! on which the runs of either set agree, and the sets don't, depends on the secrets, however it was derived from them; unless it is part
//! of what the case sends. A byte on which runs with the same secrets differ shows that the case does not repeat itself.

use crate::probe::{Run, Step};
use std::collections::HashSet;
use std::fmt;

/// What one step has left behind.
pub(crate) struct Left {
    pub(crate) step: &'static str,
    /// Bytes below the stack pointer that depend on secrets.
    pub(crate) stack: usize,
    /// Bytes in freed blocks that do.
    pub(crate) heap: usize,
    /// Bytes that differ between runs with the same secrets.
    pub(crate) unstable: usize,
    /// How far down the step went.
    pub(crate) depth: usize,
    /// Where, and what was recognised.
    pub(crate) places: Vec<Place>,
}

/// Neighbouring bytes that depend on secrets.
pub(crate) struct Place {
    block: Option<usize>,
    /// Bytes below the stack pointer, or offset in the block.
    at: usize,
    length: usize,
    /// The names of secrets that are in it as they are.
    pub(crate) names: Vec<&'static str>,
}

/// As many bytes of a secret or of a message make it recognisable.
const RECOGNISABLE: usize = 8;
/// Bytes that depend on secrets belong to one place if no more than so many others lie between them.
const GAP: usize = 16;

/// Compares the runs with one set of secrets with those with another, step by step.
///
/// # Errors
/// If the runs do not repeat themselves.
pub(crate) fn judge(runs: [&[Run]; 2]) -> Result<Vec<Left>, String> {
    let [once, other] = runs.map(|of_set| &of_set[0]);
    if runs.iter().copied().flatten().any(|run| run.steps.len() != once.steps.len()) {
        return Err("the runs have different steps".to_owned());
    }
    let sent = [&Pieces::of(&once.public), &Pieces::of(&other.public)];
    let of_step = |at: usize| runs.map(|of_set| of_set.iter().map(|run| &run.steps[at]).collect::<Vec<_>>());
    (0..once.steps.len()).map(|at| step(once, sent, &of_step(at))).collect()
}

fn step(run: &Run, sent: [&Pieces; 2], sets: &[Vec<&Step>; 2]) -> Result<Left, String> {
    let [once, other] = [sets[0][0], sets[1][0]];
    if once.stack.len() == crate::low::stack::WINDOW {
        return Err(format!("{}: goes deeper than {} bytes", once.name, crate::low::stack::WINDOW));
    }
    let shape = |step: &Step| step.freed.iter().map(|(at, block)| (*at, block.len())).collect::<Vec<_>>();
    if sets.iter().any(|set| set.iter().any(|step| shape(step) != shape(set[0]))) {
        return Err(format!("{}: allocates otherwise in each run", once.name));
    }
    if shape(once) != shape(other) {
        let at = shape(once).iter().zip(&shape(other)).position(|(a, b)| a != b);
        return Err(format!(
            "{}: what it allocates depends on the secrets: {} and {} blocks, other ones from {at:?} on",
            once.name,
            once.freed.len(),
            other.freed.len()
        ));
    }
    let mut left =
        Left { step: once.name, stack: 0, heap: 0, unstable: 0, depth: once.stack.len(), places: Vec::new() };
    let depth = sets.iter().flatten().map(|step| step.stack.len()).max().unwrap_or_default();
    let padded = |step: &Step| {
        let mut bytes = vec![crate::low::stack::PAINT; depth - step.stack.len()];
        bytes.extend_from_slice(&step.stack);
        bytes
    };
    let stacks = sets.each_ref().map(|set| set.iter().map(|step| padded(step)).collect::<Vec<_>>());
    let (found, mut unstable) = differences(sent, &stacks);
    left.stack = found.iter().filter(|found| **found).count();
    left.places.extend(places(run, None, &found, &stacks[0][0]).map(|place| Place { at: depth - place.at, ..place }));
    for (index, (_, block)) in once.freed.iter().enumerate() {
        let blocks =
            sets.each_ref().map(|set| set.iter().map(|step| step.freed[index].1.as_slice()).collect::<Vec<_>>());
        let (found, more) = differences(sent, &blocks);
        unstable += more;
        left.heap += found.iter().filter(|found| **found).count();
        left.places.extend(places(run, Some(index), &found, block));
    }
    left.unstable = unstable;
    Ok(left)
}

/// Which bytes depend on the secrets, and how many differ without them.
fn differences<B: AsRef<[u8]>>(sent: [&Pieces; 2], sets: &[Vec<B>; 2]) -> (Vec<bool>, usize) {
    let [once, other] = sets.each_ref().map(|set| set[0].as_ref());
    let (in_once, in_other) = (sent[0].within(once), sent[1].within(other));
    let mut unstable = 0;
    let depends = (0..once.len()).map(|at| {
        let repeats = sets.iter().all(|set| set.iter().all(|bytes| bytes.as_ref()[at] == set[0].as_ref()[at]));
        unstable += usize::from(!repeats);
        repeats && once[at] != other[at] && !(in_once[at] && in_other[at])
    });
    (depends.collect(), unstable)
}

fn places<'a>(
    run: &'a Run,
    block: Option<usize>,
    found: &'a [bool],
    bytes: &'a [u8],
) -> impl Iterator<Item = Place> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + found[from..].iter().position(|found| *found)?;
        let mut end = at + 1;
        while let Some(next) = found[end..].iter().take(GAP + 1).position(|found| *found) {
            end += next + 1;
        }
        from = end;
        let held = &bytes[at..end];
        let named = run.secret.iter().filter(|(_, secret)| {
            secret.windows(RECOGNISABLE).any(|piece| held.windows(RECOGNISABLE).any(|held| held == piece))
        });
        let mut names: Vec<_> = named.map(|(name, _)| *name).collect();
        names.dedup();
        Some(Place { block, at, length: end - at, names })
    })
}

/// Byte strings by their pieces of [`RECOGNISABLE`] bytes.
struct Pieces<'a>(HashSet<&'a [u8]>);

impl<'a> Pieces<'a> {
    fn of(strings: &'a [Vec<u8>]) -> Self {
        Self(strings.iter().flat_map(|bytes| bytes.windows(RECOGNISABLE)).collect())
    }

    /// Which of the bytes belong to such a piece.
    fn within(&self, bytes: &[u8]) -> Vec<bool> {
        let mut within = vec![false; bytes.len()];
        for (at, piece) in bytes.windows(RECOGNISABLE).enumerate() {
            if self.0.contains(piece) {
                within[at..at + RECOGNISABLE].fill(true);
            }
        }
        within
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.block {
            None => write!(f, "{} bytes at {} below the stack pointer", self.length, self.at)?,
            Some(block) => write!(f, "{} bytes at {} in freed block {block}", self.length, self.at)?,
        }
        if !self.names.is_empty() {
            write!(f, " ({})", self.names.join(", "))?;
        }
        Ok(())
    }
}
