//! `cargo bench`: two checksums, paired, with a verdict. `cargo bench -- --quick` takes a few seconds.

use candor_lab::bench;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Task, Witness};
use candor_lab_example::{bytewise, in_lanes};
use std::hint::black_box;

struct Checksum {
    by: fn(&[u8]) -> u64,
    message: Vec<u8>,
}

impl Subject for Checksum {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.message = (0..4096u64).map(|i| (i.wrapping_mul(seed | 1) >> 5) as u8).collect();
        Ok(Witness::bytes((self.by)(&self.message).to_le_bytes()))
    }
    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        Witness::bytes((self.by)(&self.message).to_le_bytes()).same_as(other)
    }
    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            black_box((self.by)(black_box(&self.message)));
        }
    }
    fn provenance(&self) -> Provenance {
        Provenance::of("checksums", env!("CARGO_PKG_VERSION"), "adds up 4096 bytes that are already in memory")
    }
}

fn main() -> std::process::ExitCode {
    let entry = |name, by: fn(&[u8]) -> u64| Entry::new(name, move || Ok(Checksum { by, message: Vec::new() }));
    let task = Task::new("checksum/4k", "the sum of 4096 bytes").bytes(4096);
    bench::main(vec![task.entry(entry("in-lanes", in_lanes)).entry(entry("bytewise", bytewise))])
}
