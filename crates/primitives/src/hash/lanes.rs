//! Sponges side by side, for algorithms that look at each block of the output: jobs go through the lanes of a vector, each for as many
//! permutations as it needs.

use super::keccak_mux;
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::batch as kernels;
use candor_cpu::arms::Routine;
use candor_cpu::{Cpu, HaveAvx2, secret};

/// A lane's state after a permutation, of which a block at most is output.
pub(crate) type Given = [u64; 25];

/// A sponge's input and output, block by block.
pub(crate) trait Job {
    /// Xors the next block of the message into the state, word by word, if there is one.
    fn absorb(&mut self, xor: impl FnMut(usize, u64));
    /// Looks at the state after a permutation, and says whether it was the last.
    fn take(&mut self, given: &Given) -> bool;
}

/// How the jobs' states are permuted.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    wide: Option<HaveAvx2>,
    single: keccak_mux::Arm,
}

impl Lanes {
    /// Four states at once on AVX2, otherwise one by one.
    pub(crate) fn choose(cpu: Cpu) -> Self {
        Self { wide: HaveAvx2::check(cpu.for_routine(Routine::KeccakBatch)), single: keccak_mux::Arm::choose(cpu) }
    }

    /// How many states are permuted at once.
    pub(crate) fn width(self) -> usize {
        if self.wide.is_some() { 4 } else { 1 }
    }

    /// Does all jobs, in the order in which lanes become free.
    pub(crate) fn run<J: Job>(self, jobs: impl Iterator<Item = J>) {
        match self.wide {
            #[cfg(target_arch = "x86_64")]
            Some(token) => {
                secret::ran("keccak-batch", "avx2");
                run::<4, J>(
                    |state, given| {
                        kernels::keccak_avx2(token, state);
                        kernels::lanes_apart(token, state, given);
                    },
                    self.single,
                    jobs,
                );
            }
            _ => run::<1, J>(|_, _| {}, self.single, jobs),
        }
    }
}

/// States that begin where a cache line does, so that no vector of theirs lies across two.
#[repr(align(64))]
struct Aligned<T>(T);

/// All jobs in `L` lanes. Where a single one is left, it goes on alone.
fn run<const L: usize, J: Job>(
    permute: impl Fn(&mut [[u64; L]; 25], &mut [Given; L]),
    single: keccak_mux::Arm,
    mut jobs: impl Iterator<Item = J>,
) {
    let Aligned(state) = &mut Aligned([[0; L]; 25]);
    let mut given = [[0; 25]; L];
    let mut lanes: [Option<J>; L] = [const { None }; L];
    loop {
        for (i, lane) in lanes.iter_mut().enumerate() {
            if lane.is_none() {
                *lane = jobs.next();
                state.iter_mut().for_each(|words| words[i] = 0);
            }
            if let Some(job) = lane {
                job.absorb(|at, word| state[at][i] ^= word);
            }
        }
        let mut busy = lanes.iter().enumerate().filter(|(_, lane)| lane.is_some()).map(|(i, _)| i);
        match (busy.next(), busy.next()) {
            (None, _) => break,
            // Nothing waits, or there would be more: what is left goes on by itself.
            (Some(i), None) => {
                let (Some(job), mut alone) = (&mut lanes[i], state.map(|words| words[i])) else { break };
                loop {
                    keccak_mux::permute(single, &mut alone);
                    if job.take(&alone) {
                        break;
                    }
                    job.absorb(|at, word| alone[at] ^= word);
                }
                lanes[i] = None;
                continue;
            }
            _ => permute(state, &mut given),
        }
        for (lane, given) in lanes.iter_mut().zip(&given) {
            if lane.as_mut().is_some_and(|job| job.take(given)) {
                *lane = None;
            }
        }
    }
}
