//! Blinding: a pair v and u with u = v^(−d), by which numbers are multiplied before and behind the secret power, so that it never works on a number
//! that somebody else has chosen: (c·v)^d·u = c^d.
//!
//! A pair serves once, and its square, which is such a pair again, serves the next time; after 64 times a pair of fresh randomness takes its place.
//! Two threads that use a key at the same moment never share a pair: whoever finds it taken makes one of its own.

use super::words::{Number, zero};
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// How often a pair serves, with its squares.
const USES: u32 = 64;

/// A pair that is kept between operations, as elements of the modulus. Wiped on drop.
pub(super) struct Blinding {
    is_taken: AtomicBool,
    left: AtomicU32,
    /// Halves of the words, as not every CPU has atomic words of 64 bits.
    halves: Box<[AtomicU32]>,
}

impl Blinding {
    /// None yet, for elements of so many words.
    pub(super) fn new(length: usize) -> Self {
        let halves = (0..4 * length).map(|_| AtomicU32::new(0)).collect();
        Self { is_taken: AtomicBool::new(false), left: AtomicU32::new(0), halves }
    }

    /// A pair that has not served. `make` makes one from randomness, `square` one from the last.
    pub(super) fn next<E>(
        &self,
        make: impl FnOnce() -> Result<[Number; 2], E>,
        square: impl Fn(&Number) -> Number,
    ) -> Result<[Number; 2], E> {
        if self.is_taken.swap(true, Ordering::Acquire) {
            return make();
        }
        let left = self.left.load(Ordering::Relaxed);
        let pair = match left {
            0 => make(),
            _ => Ok(self.load()),
        };
        if let Ok(pair) = &pair {
            self.store(&pair.each_ref().map(square));
            self.left.store(left.checked_sub(1).unwrap_or(USES - 1), Ordering::Relaxed);
        }
        self.is_taken.store(false, Ordering::Release);
        pair
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
