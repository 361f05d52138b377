//! Kernels with a known amount of work.

use crate::ffi::layout::{BUILD, Kernel};
use candor_lab::{Mismatch, Provenance, Refusal, Subject, Witness};
use candor_peers::linked;
use candor_peers::seed::Stream;
use std::hint::black_box;

/// Where the kernels come from, so that no lint asks for it.
pub(super) const COMMIT: &str = "part of this program";

/// Steps of the Rust kernel: about a microsecond, and thousandths of it are whole steps.
const STEPS: u32 = 1000;

/// Words that the Rust kernel mixes.
const WORDS: usize = 64;

/// The Rust kernel. How many steps it does is data and not a type, so that all its subjects run one piece of code.
pub(super) struct Mixer {
    words: [u64; WORDS],
    steps: u32,
    witness: Witness,
}

impl Mixer {
    /// A kernel of 1000 steps and `extra` more, that is, of `extra` permille more work.
    pub(super) fn new(extra: u32) -> Self {
        Self { words: [0; WORDS], steps: STEPS + extra, witness: Witness::default() }
    }

    /// A chain of steps that each wait for the last, so that the time is proportional to their number.
    #[inline(never)]
    fn mix(words: &[u64; WORDS], steps: u32) -> u64 {
        let mut state = 0x9e3779b97f4a7c15;
        for step in 0..steps as usize {
            state = (state ^ words[step % WORDS]).wrapping_mul(0xd1342543de82ef95_u64).rotate_left(29);
        }
        state
    }
}

impl Subject for Mixer {
    /// The answer is that of 1000 steps, whatever is timed: more work must not be a different answer.
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let mut stream = Stream::new(seed, "self-test mixer");
        self.words = std::array::from_fn(|_| stream.word());
        self.witness = Witness::bytes(Self::mix(&self.words, STEPS).to_le_bytes());
        Ok(self.witness.clone())
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.witness.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            black_box(Self::mix(black_box(&self.words), black_box(self.steps)));
        }
    }

    fn provenance(&self) -> Provenance {
        let timed = format!("mixes {WORDS} words that are already in memory, {} steps", self.steps);
        Provenance {
            commit: Some(COMMIT.into()),
            build: Some(linked::build().to_owned()),
            ..Provenance::of("candor self-test", env!("CARGO_PKG_VERSION"), &timed)
        }
    }
}

/// Words and rounds of the C kernel: about half a microsecond, in short loops.
const LAYOUT_WORDS: usize = 16;
const LAYOUT_ROUNDS: u32 = 32;

/// One copy of the C kernel.
pub(super) struct Layout {
    kernel: Kernel,
    copy: &'static str,
    words: [u64; LAYOUT_WORDS],
    witness: Witness,
}

impl Layout {
    pub(super) fn first() -> Self {
        Self::new(Kernel::first(), "the first static copy")
    }

    pub(super) fn second() -> Self {
        Self::new(Kernel::second(), "the second static copy")
    }

    pub(super) fn shared() -> Result<Self, Refusal> {
        Ok(Self::new(Kernel::shared()?, "the copy in a shared object, loaded at run time"))
    }

    fn new(kernel: Kernel, copy: &'static str) -> Self {
        Self { kernel, copy, words: [0; LAYOUT_WORDS], witness: Witness::default() }
    }
}

impl Subject for Layout {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let mut stream = Stream::new(seed, "self-test layout");
        self.words = std::array::from_fn(|_| stream.word());
        self.witness = Witness::bytes(self.kernel.mix(&self.words, LAYOUT_ROUNDS).to_le_bytes());
        Ok(self.witness.clone())
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.witness.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            black_box(self.kernel.mix(black_box(&self.words), LAYOUT_ROUNDS));
        }
    }

    fn provenance(&self) -> Provenance {
        let timed = format!("mixes {LAYOUT_WORDS} words {LAYOUT_ROUNDS} times: {}", self.copy);
        Provenance {
            commit: Some(COMMIT.into()),
            build: Some(BUILD.to_owned()),
            ..Provenance::of("candor self-test", env!("CARGO_PKG_VERSION"), &timed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifteen_permille_more_are_fifteen_steps_of_a_thousand() {
        assert_eq!(Mixer::new(0).steps, 1000);
        assert_eq!(Mixer::new(15).steps, 1015);
    }

    #[test]
    fn every_step_counts() {
        let words = std::array::from_fn(|i| i as u64);
        let answers: Vec<_> = (1000..1016).map(|steps| Mixer::mix(&words, steps)).collect();
        for (i, answer) in answers.iter().enumerate() {
            assert!(!answers[..i].contains(answer), "{i}");
        }
    }

    #[test]
    fn more_work_gives_the_same_answer() {
        let answers = [0, 15, 100].map(|extra| Mixer::new(extra).prepare(7).unwrap());
        assert!(answers.iter().all(|answer| *answer == answers[0]));
    }
}
