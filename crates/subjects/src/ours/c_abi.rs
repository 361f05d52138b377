//! SHA-256 through our C interface, and through the Rust calls below it.

use super::ours;
use crate::ffi::c_abi::Functions;
use candor_lab::{Entry, Habit, Provenance};
use candor_peers::contract::hash::{self, Hash, Shape};
use candor_primitives::hash::{Digest, Sha256};
use candor_suite::hash::HashAlgorithm;

/// A way to the digest, its name, what it calls, and its habits. All of them are called through a pointer, so that this costs all the same.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    digest: fn(&Functions, &[u8]) -> [u8; 32],
    calls: &'static str,
    habits: &'static [Habit],
}

/// C in one call, the Rust call, the suite's call by the algorithm's name, and C by a handle.
const WAYS: [Way; 4] = [
    Way {
        name: "c",
        digest: |functions, message| functions.in_one_call(message).expect(WORKS),
        calls: "candor_hash",
        habits: &[],
    },
    Way {
        name: "rust",
        digest: |_, message| Sha256::digest(message).into(),
        calls: "candor_primitives::hash::Sha256::digest",
        habits: &[],
    },
    Way {
        name: "suite",
        digest: |_, message| {
            let mut digest = [0; 32];
            HashAlgorithm::Sha256.digest(message, &mut digest).expect("32 bytes are a digest");
            digest
        },
        calls: "candor_suite::hash::HashAlgorithm::digest",
        habits: &[],
    },
    Way {
        name: "c-handle",
        digest: |functions, message| functions.by_handle(message).expect(WORKS),
        calls: "candor_hash_init, candor_hash_update, candor_hash_final and candor_free, four calls in place of one; the call allocates the object of the \
                handle",
        habits: &[Habit::Allocates],
    },
];

const WORKS: &str = "the arguments are those that candor.h asks for";

/// An entry for each way, on the arm that a process takes by default.
pub(crate) fn sha256(shape: Shape) -> Vec<Entry> {
    let arm = Sha256::new().arm();
    let entry = |way: Way| {
        hash::entry(format!("candor@{arm}+{}", way.name), shape, move || Ok(By { way, functions: Functions::new() }))
    };
    WAYS.map(entry).into()
}

struct By {
    way: Way,
    functions: Functions,
}

impl Hash for By {
    type Digest = [u8; 32];

    fn digest(&mut self, message: &[u8]) -> [u8; 32] {
        (self.way.digest)(&self.functions, message)
    }

    fn provenance(&self, timed: &str) -> Provenance {
        let told = ours(&format!("{timed} ({})", self.way.calls)).with(self.way.habits.iter().copied());
        Provenance { arm: Some(Sha256::new().arm().to_owned()), ..told }
    }
}
