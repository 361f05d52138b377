//! What is measured, one file a family of tasks: their names, what is done, and who does it. The families are assembled here and nowhere else.

mod aead;
mod bulk;
mod c_abi;
mod cipher;
mod circuit;
mod consensus;
mod create2;
mod ec;
mod file;
mod flood;
mod gf2;
mod gf2m;
mod gf2poly;
mod hash;
mod hqc;
mod http_circuit;
mod kdf;
mod ksf;
mod login;
mod mac;
mod mceliece;
mod ml_kem;
mod ntor;
mod opaque;
mod relay_cells;
mod rsa;
mod sm2;
mod variants;
mod x25519;

use candor_lab::{Entry, SelectedBy, Task};

/// In the tables of batches, of those that have none: whoever has several messages or operations at once must know what that costs, but it is not the
/// same work.
const ONE_AFTER_ANOTHER: &str = "one after another, not at once";

/// Such entries.
fn one_after_another(entries: impl IntoIterator<Item = Entry>) -> impl Iterator<Item = Entry> {
    entries.into_iter().map(|entry| entry.doing_other_work(ONE_AFTER_ANOTHER))
}

/// How the names of a family's tasks begin, and what makes them.
type Family = (&'static str, fn() -> Vec<Task>);

/// All families, in the order in which their tasks are listed and run.
const FAMILIES: &[Family] = &[
    ("kem/ml-kem-", ml_kem::tasks),
    ("kem/hqc-", hqc::tasks),
    ("kem/mceliece", mceliece::tasks),
    ("ec/x25519/", x25519::tasks),
    ("ec/", ec::tasks),
    ("rsa/", rsa::tasks),
    ("sm2/", sm2::tasks),
    ("hash/", hash::tasks),
    ("file/", file::tasks),
    ("ffi/", c_abi::tasks),
    ("aead/", aead::tasks),
    ("mac/", mac::tasks),
    ("cipher/", cipher::tasks),
    ("kdf/", kdf::tasks),
    ("ksf/", ksf::tasks),
    ("ntor/", ntor::tasks),
    ("opaque/", opaque::tasks),
    ("opaque/oprf/", opaque::oprf_tasks),
    ("gf2/", gf2::tasks),
    ("gf2m/", gf2m::tasks),
    ("gf2poly/", gf2poly::tasks),
    ("relay/cells/", relay_cells::tasks),
    ("relay/create2/", create2::tasks),
    ("relay/flood/", flood::tasks),
    ("relay/bulk/", bulk::tasks),
    ("circuit/", circuit::tasks),
    ("http/circuit/", http_circuit::tasks),
    ("consensus-8000", consensus::tasks),
    ("login/http/", login::tasks),
];

/// Marks a task that `all` leaves out.
fn marked(task: Task) -> Task {
    if variants::left_out(&task.name).is_some() { task.selected_by(SelectedBy::Part) } else { task }
}

/// All tasks, in the order in which they are listed and run.
#[must_use]
pub fn tasks() -> Vec<Task> {
    FAMILIES.iter().flat_map(|(_, tasks)| tasks()).map(with_imported).map(marked).collect()
}

/// With what other tools found of the same work.
fn with_imported(mut task: Task) -> Task {
    for imported in candor_peers::imported(&task.name) {
        match imported {
            Ok(imported) => task.imported.push(imported),
            Err(refused) => task.entries.push(refused),
        }
    }
    task
}

/// Only the tasks of those families that a task of this name can belong to. For a worker, which runs one task: the peers of the others
/// need not be looked for and loaded.
#[must_use]
pub fn tasks_near(name: &str) -> Vec<Task> {
    let near = FAMILIES.iter().filter(|(prefix, _)| name.starts_with(prefix)).flat_map(|(_, tasks)| tasks());
    near.map(with_imported).collect()
}

/// Names of the tasks that `candor run` without arguments measures: a minute over what there is.
#[must_use]
pub fn tour() -> Vec<&'static str> {
    vec![
        "kem/ml-kem-768/keygen",
        "kem/ml-kem-768/encaps",
        "kem/ml-kem-768/decaps",
        "ec/x25519/keygen",
        "ec/x25519/ecdh",
        "hash/sha256/1k",
        "hash/sha3-256/64k",
        "hash/sm3/64k",
    ]
}
