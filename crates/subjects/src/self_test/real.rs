//! Real work with a planted difference. The kernel is a chain of multiplications and nearly immune to noise; what holds for it need not hold where
//! caches, memory, and other threads take part.

use super::kernels::COMMIT;
use crate::tasks::tasks_near;
use candor_lab::{Mismatch, Outcomes, Provenance, Refusal, Subject, Witness};
use candor_peers::linked;
use candor_peers::seed::Stream;
use candor_primitives::hash::{Digest, Sha256};
use candor_primitives::ksf::{Argon2id, Memory, Params};
use std::hint::black_box;

/// What is done, and by how much more if a difference is planted. What all subjects of a work answer is the same, whatever is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// SHA-256 of one message: streams through memory that no cache of a core holds.
    Hash,
    /// Argon2id: writes and reads 64 MiB in an order that nothing foresees.
    Argon2id,
    /// Circuits of three hops over sockets of this machine: system calls, and threads that wait for each other.
    Circuit,
}

impl Work {
    pub(super) const ALL: [Self; 3] = [Self::Hash, Self::Argon2id, Self::Circuit];

    /// In names of tasks.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::Argon2id => "argon2id",
            Self::Circuit => "circuit",
        }
    }

    /// In tables.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Hash => "SHA-256 of 10 MB",
            Self::Argon2id => "Argon2id of 64 MiB",
            Self::Circuit => "circuits of ntor",
        }
    }

    /// How many of what an operation does, and how many more are close to 1.5 % of it.
    pub(super) fn amounts(self) -> (u32, u32) {
        match self {
            Self::Hash => (10 << 20, (10 << 20) * 15 / 1000),
            // KiB, in steps of four.
            Self::Argon2id => (64 << 10, 984),
            Self::Circuit => (67, 1),
        }
    }

    /// What they are.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Hash => "bytes of one message",
            Self::Argon2id => "KiB, 3 passes, 1 lane, in memory that is kept",
            Self::Circuit => "circuits of three hops over links that are there, one after another",
        }
    }

    /// A subject that does its amount, or that and the planted difference.
    pub(super) fn make(self, more: bool) -> Result<Box<dyn Subject>, Refusal> {
        let (amount, planted) = self.amounts();
        let timed = amount + if more { planted } else { 0 };
        Ok(match self {
            Self::Hash => {
                Box::new(Hash { message: Vec::new(), usual: amount as usize, timed: timed as usize, witness: none() })
            }
            Self::Argon2id => Box::new(Stretch::new(amount, timed)?),
            Self::Circuit => Box::new(Repeated { one: circuit()?, times: u64::from(timed) }),
        })
    }
}

fn none() -> Witness {
    Witness::default()
}

fn told(timed: &str) -> Provenance {
    Provenance {
        commit: Some(COMMIT.into()),
        build: Some(linked::build().to_owned()),
        ..Provenance::of("candor self-test", env!("CARGO_PKG_VERSION"), timed)
    }
}

struct Hash {
    message: Vec<u8>,
    usual: usize,
    timed: usize,
    witness: Witness,
}

impl Subject for Hash {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let mut stream = Stream::new(seed, "self-test hash");
        let words = std::iter::repeat_with(|| stream.word()).take(self.timed.div_ceil(8));
        self.message = words.flat_map(u64::to_le_bytes).collect();
        self.witness = Witness::bytes(Sha256::digest(&self.message[..self.usual]));
        Ok(self.witness.clone())
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.witness.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            black_box(Sha256::digest(black_box(&self.message[..self.timed])));
        }
    }

    fn provenance(&self) -> Provenance {
        told(&format!("hashes {} bytes that are already in memory by candor's SHA-256", self.timed))
    }
}

/// Key stretching.
struct Stretch {
    usual: Params,
    timed: Params,
    memory: Option<Memory>,
    inputs: [[u8; 16]; 2],
    witness: Witness,
}

impl Stretch {
    fn new(usual: u32, timed: u32) -> Result<Self, Refusal> {
        let params = |memory| Params::new(memory, 3, 1).map_err(|error| Refusal::failed(error.to_string()));
        let (usual, timed) = (params(usual)?, params(timed)?);
        Ok(Self { usual, timed, memory: None, inputs: [[0; 16]; 2], witness: none() })
    }

    fn derive(&self, params: Params, memory: &mut Memory) -> Result<[u8; 64], Refusal> {
        let ([password, salt], mut tag) = (&self.inputs, [0; 64]);
        let derived = Argon2id::new(params).derive(password, salt, memory, &mut tag);
        derived.map(|()| tag).map_err(|error| Refusal::failed(error.to_string()))
    }
}

fn memory(params: Params) -> Result<Memory, Refusal> {
    Memory::new(params).map_err(|error| Refusal::failed(error.to_string()))
}

impl Subject for Stretch {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let mut stream = Stream::new(seed, "self-test argon2id");
        let mut words = std::iter::repeat_with(|| stream.word().to_le_bytes());
        for input in self.inputs.as_flattened_mut().chunks_exact_mut(8) {
            input.copy_from_slice(&words.next().expect("it never ends"));
        }
        self.witness = Witness::bytes(self.derive(self.usual, &mut memory(self.usual)?)?);
        self.memory = Some(memory(self.timed)?);
        Ok(self.witness.clone())
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.witness.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        let mut memory = self.memory.take().expect("prepare comes before run");
        for _ in 0..iterations {
            black_box(self.derive(self.timed, &mut memory).expect("it has worked before"));
        }
        self.memory = Some(memory);
    }

    fn provenance(&self) -> Provenance {
        told(&format!("candor's Argon2id in {} KiB that are kept from call to call", self.timed.memory()))
    }
}

/// The name of the task whose baseline is repeated.
const CIRCUIT: &str = "circuit/loopback/ntor/warm";

fn circuit() -> Result<Box<dyn Subject>, Refusal> {
    let tasks = tasks_near(CIRCUIT);
    let task = tasks.iter().find(|task| task.name == CIRCUIT).expect("every task is near its own name");
    task.entries[0].make()
}

/// Another subject's work, so many times an operation.
struct Repeated {
    one: Box<dyn Subject>,
    times: u64,
}

impl Subject for Repeated {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.one.prepare(seed)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.one.check(other)
    }

    fn restock(&mut self, iterations: u64) {
        self.one.restock(iterations * self.times);
    }

    fn run(&mut self, iterations: u64) {
        self.one.run(iterations * self.times);
    }

    fn outcomes(&self) -> Option<Outcomes> {
        self.one.outcomes()
    }

    fn provenance(&self) -> Provenance {
        let one = self.one.provenance();
        Provenance { timed: format!("{} times: {}", self.times, one.timed), ..one }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_planted_difference_is_a_hundredth_and_a_half() {
        for work in Work::ALL {
            let (amount, more) = work.amounts();
            let share = f64::from(more) / f64::from(amount);
            assert!((share - 0.015).abs() < 1e-4, "{work:?}: {share}");
            assert!(
                work != Work::Argon2id || (amount + more) % 4 == 0,
                "Argon2 leaves out what is no multiple of four"
            );
        }
    }

    /// Counts what it does.
    struct Counter(std::rc::Rc<std::cell::Cell<u64>>);

    impl Subject for Counter {
        fn prepare(&mut self, _: u64) -> Result<Witness, Refusal> {
            Ok(none())
        }
        fn check(&mut self, _: &Witness) -> Result<(), Mismatch> {
            Ok(())
        }
        fn restock(&mut self, iterations: u64) {
            self.0.set(self.0.get() + 1000 * iterations);
        }
        fn run(&mut self, iterations: u64) {
            self.0.set(self.0.get() + iterations);
        }
        fn provenance(&self) -> Provenance {
            Provenance::default()
        }
    }

    #[test]
    fn repeated_work_is_done_and_stocked_so_many_times() {
        let done = std::rc::Rc::default();
        let mut repeated = Repeated { one: Box::new(Counter(std::rc::Rc::clone(&done))), times: 67 };
        repeated.restock(2);
        repeated.run(2);
        assert_eq!(done.get(), 134_134);
    }

    /// More work must not be another answer, or the lab would take the subject out.
    #[test]
    fn the_answer_is_the_same_with_and_without_the_planted_difference() {
        for work in [Work::Hash, Work::Argon2id] {
            let answer = |more, seed| work.make(more).unwrap().prepare(seed).unwrap();
            assert_eq!(answer(false, 7), answer(true, 7), "{work:?}");
            assert_ne!(answer(false, 7), answer(false, 8), "{work:?}");
        }
    }
}
