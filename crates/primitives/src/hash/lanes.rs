//! Sponges side by side, for algorithms that look at each block of the output: jobs go through the lanes of a vector, each for as many
//! permutations as it needs.

use super::keccak_mux;
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::batch as kernels;
use candor_cpu::arms::Routine;
#[cfg(target_arch = "x86_64")]
use candor_cpu::secret;
use candor_cpu::{Cpu, HaveAvx2, HaveAvx512Crypto};

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
    wide: Wide,
    single: keccak_mux::Arm,
}

#[derive(Clone, Copy)]
enum Wide {
    /// Eight states at once.
    Avx512(HaveAvx512Crypto),
    /// Four states at once, where there are not jobs enough for eight.
    Avx512Four(HaveAvx512Crypto),
    /// Four states at once.
    Avx2(HaveAvx2),
    OneByOne,
}

impl Lanes {
    /// Several states at once in vectors, otherwise one by one.
    pub(crate) fn choose(cpu: Cpu) -> Self {
        let single = keccak_mux::Arm::choose(cpu);
        let cpu = cpu.for_routine(Routine::KeccakBatch);
        let avx2 = || HaveAvx2::check(cpu).map_or(Wide::OneByOne, Wide::Avx2);
        Self { wide: HaveAvx512Crypto::check(cpu).map_or_else(avx2, Wide::Avx512Four), single }
    }

    /// How many operations go best together.
    pub(crate) fn width(self) -> usize {
        match self.wide {
            Wide::Avx512(_) | Wide::Avx512Four(_) => 8,
            Wide::Avx2(_) => 4,
            Wide::OneByOne => 1,
        }
    }

    /// For the jobs of so many operations.
    pub(crate) fn for_operations(self, count: usize) -> Self {
        let wide = match self.wide {
            Wide::Avx512(token) | Wide::Avx512Four(token) if count > 4 => Wide::Avx512(token),
            Wide::Avx512(token) | Wide::Avx512Four(token) => Wide::Avx512Four(token),
            other => other,
        };
        Self { wide, ..self }
    }

    /// Does all jobs, in the order in which lanes become free.
    pub(crate) fn run<J: Job>(self, jobs: impl Iterator<Item = J>) {
        match self.wide {
            #[cfg(target_arch = "x86_64")]
            Wide::Avx512(token) => {
                secret::ran("keccak-batch", "avx512");
                let permute = |state: &mut _, given: &mut _| {
                    kernels::keccak_avx512(token, state);
                    kernels::lanes_apart_avx512(token, state, given);
                };
                run::<8, J>(permute, self.single, jobs);
            }
            #[cfg(target_arch = "x86_64")]
            Wide::Avx512Four(token) => {
                secret::ran("keccak-batch", "avx512");
                let permute = |state: &mut _, given: &mut _| {
                    kernels::keccak_avx512_4(token, state);
                    kernels::lanes_apart_avx512_4(token, state, given);
                };
                run::<4, J>(permute, self.single, jobs);
            }
            #[cfg(target_arch = "x86_64")]
            Wide::Avx2(token) => {
                secret::ran("keccak-batch", "avx2");
                let permute = |state: &mut _, given: &mut _| {
                    kernels::keccak_avx2(token, state);
                    kernels::lanes_apart_avx2(token, state, given);
                };
                run::<4, J>(permute, self.single, jobs);
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
