//! Blinding: a pair v and u with u = v^(−d), by which numbers are multiplied before and behind the secret power, so that it never works on a number
//! that somebody else has chosen: (c·v)^d·u = c^d.
//!
//! A key keeps a pair. It serves once, and its square, which is such a pair again, serves the next time; after 64 times a pair of fresh randomness takes its
//! place. Two threads that use a key at the same moment never share a pair: whoever finds it taken makes one of its own. So does a child made by `fork`, which
//! has a copy of its parent's pair.

use crate::words::{Number, zero};
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

/// How often a pair serves, with its squares.
const USES: u32 = 64;

/// Whose pair blinds an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pair {
    /// The key's.
    Kept,
    /// One of the operation's own, for a generator that the caller brings: how good it is must be no affair of later operations.
    Own,
}

/// A pair that is kept between operations, as elements of the modulus. Wiped on drop.
pub(super) struct Blinding {
    /// The lineage of the process that works on the pair, or [`NOBODY`].
    taken_by: AtomicUsize,
    /// That a result was wrong since the pair was drawn.
    is_stale: AtomicBool,
    /// How often the pair may still serve.
    left: AtomicU32,
    /// The lineage of the process that has drawn it.
    drawn_by: AtomicUsize,
    /// Halves of the words, as not every CPU has atomic words of 64 bits.
    halves: Box<[AtomicU32]>,
}

/// No process has this lineage.
const NOBODY: usize = 0;

impl Blinding {
    /// None yet, for elements of so many words.
    pub(super) fn new(length: usize) -> Self {
        Self {
            taken_by: AtomicUsize::new(NOBODY),
            is_stale: AtomicBool::new(false),
            left: AtomicU32::new(0),
            drawn_by: AtomicUsize::new(NOBODY),
            halves: (0..4 * length).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// A pair that has not served. `make` makes one from randomness, `square` one from the last. `lineage` is a number that this process's children
    /// don't have in common with it; where there is none, nothing is kept.
    pub(super) fn next<E>(
        &self,
        lineage: Option<usize>,
        make: impl FnOnce() -> Result<[Number; 2], E>,
        square: impl Fn(&Number) -> Number,
    ) -> Result<[Number; 2], E> {
        let Some((lineage, _taken)) = lineage.and_then(|lineage| Some((lineage, self.take(lineage)?))) else {
            return make();
        };
        // None is left until the next one is in place, whatever happens meanwhile.
        let left = self.left.swap(0, Ordering::Relaxed);
        let is_own = self.drawn_by.swap(lineage, Ordering::Relaxed) == lineage;
        let is_stale = self.is_stale.swap(false, Ordering::Relaxed);
        let left = if is_own && !is_stale { left } else { 0 };
        let pair = if left == 0 { make()? } else { self.load() };
        self.store(&pair.each_ref().map(square));
        self.left.store(left.checked_sub(1).unwrap_or(USES - 1), Ordering::Relaxed);
        Ok(pair)
    }

    /// The pair for nobody else, until what is returned is dropped, unless another thread of this process has it. A thread that had it when another one of
    /// the parent forked does not exist in this process.
    fn take(&self, lineage: usize) -> Option<Taken<'_>> {
        let taken_by = self.taken_by.load(Ordering::Relaxed);
        if taken_by == lineage {
            return None;
        }
        self.taken_by.compare_exchange(taken_by, lineage, Ordering::Acquire, Ordering::Relaxed).ok()?;
        Some(Taken(&self.taken_by))
    }

    /// Has the next operation draw a fresh pair, even if another thread has the pair now. For when a result was wrong, as the pair may be the reason.
    pub(super) fn forget(&self) {
        self.is_stale.store(true, Ordering::Relaxed);
    }

    /// Damages the pair that is kept, as a fault of the machine might.
    #[cfg(test)]
    pub(super) fn damage(&self) {
        self.halves[0].fetch_xor(1, Ordering::Relaxed);
    }

    fn load(&self) -> [Number; 2] {
        let length = self.halves.len() / 4;
        let mut pair = [zero(length), zero(length)];
        for (to, from) in pair.iter_mut().flat_map(|number| number.iter_mut()).zip(self.halves.as_chunks::<2>().0) {
            let [low, high] = from.each_ref().map(|half| u64::from(half.load(Ordering::Relaxed)));
            *to = low | high << 32;
        }
        pair
    }

    fn store(&self, pair: &[Number; 2]) {
        for (to, from) in self.halves.as_chunks::<2>().0.iter().zip(pair.iter().flat_map(|number| number.iter())) {
            to[0].store(*from as u32, Ordering::Relaxed);
            to[1].store((*from >> 32) as u32, Ordering::Relaxed);
        }
    }
}

impl Drop for Blinding {
    fn drop(&mut self) {
        self.halves.iter().for_each(|half| half.store(0, Ordering::Relaxed));
        zeroize::optimization_barrier(&*self.halves);
    }
}

/// Gives the pair back, also when a generator panics.
struct Taken<'a>(&'a AtomicUsize);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.store(NOBODY, Ordering::Release);
    }
}

/// A number that a child of this process, if `fork` makes it, does not have in common with it. `None` where the C library doesn't count forks, or nobody
/// is there to ask.
pub(super) fn lineage() -> Option<usize> {
    #[cfg(target_os = "linux")]
    {
        crate::low::forks::lineage()
    }
    // On other systems with `fork`, the process's number.
    #[cfg(all(unix, not(target_os = "linux"), feature = "std"))]
    {
        usize::try_from(std::process::id()).ok()
    }
    #[cfg(not(any(target_os = "linux", all(unix, feature = "std"))))]
    {
        if cfg!(unix) { None } else { Some(1) }
    }
}
