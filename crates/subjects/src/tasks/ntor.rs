//! `ntor/<handshake>/handshake` and `ntor/parts/…`: whole handshakes, and the operations they are made of.
//!
//! Beside each whole stands the sum of its parts (`parts@auto`): the X25519 and ML-KEM operations of that handshake, one after the
//! other, with nothing between them. The row says how much of a handshake is arithmetic and how much is the protocol around it.
//!
//! `ntor/parts/<handshake>` times the same parts with a phase for each operation. `ntor/parts/ml-kem-<n>` is the sum that
//! Berger et al. (arXiv 2503.10238) give as T_KE: key generation, encapsulation and decapsulation. It is what publications
//! call the cost of a post-quantum handshake; here it stands beside one.

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::ml_kem::{Level, Op};
use candor_peers::contract::ntor::{Kind, sizes};

/// All tasks of handshakes and their parts.
pub(super) fn tasks() -> Vec<Task> {
    let wholes = Kind::all().map(whole);
    let parts = Kind::authenticated().map(parts_of);
    wholes.chain(parts).chain(Level::ALL.map(sum)).chain([code_based()]).collect()
}

/// The hybrid with code-based KEMs, beside the one that candor offers.
fn code_based() -> Task {
    let what = format!(
        "experiment: the hybrid handshake with HQC or Classic McEliece, beside hybrid-768; {}",
        ours::code_based::TIMED
    );
    let mut task = Task::new("ntor/code-based", what);
    task.entries.extend(ours::code_based::entries());
    task
}

fn whole(kind: Kind) -> Task {
    let (onionskin, reply) = ours::ntor::sizes(kind);
    let what = format!("{}: {}; {}", kind.name(), kind.timed(), sizes(onionskin, reply));
    let mut task = Task::new(format!("ntor/{}/handshake", kind.name()), what);
    task.entries.extend(ours::ntor::handshake(kind));
    if !matches!(kind, Kind::InsecureSeed(_)) {
        task.entries.push(ours::ntor::parts_beside(kind));
    }
    // The original's scheme stands beside the hybrid of its level.
    if let Kind::Hybrid(level) = kind {
        task.entries.push(ours::insecure_seed::beside(level));
    }
    task.entries.extend(candor_peers::ntor(kind));
    task
}

fn parts_of(kind: Kind) -> Task {
    let what = format!(
        "the X25519 and ML-KEM operations of {}, one after the other, a phase for each kind: {}; no hashing, no messages",
        kind.name(),
        kind.operations()
    );
    let mut task = Task::new(format!("ntor/parts/{}", kind.name()), what);
    task.entries.extend(ours::ntor::parts(kind));
    task
}

/// The sum that Berger et al. take for a handshake. The work is that of `kem/ml-kem-<n>/exchange`, and so is the code.
fn sum(level: Level) -> Task {
    let number = level.number();
    let what = format!(
        "what Berger et al. (arXiv 2503.10238) add up to T_KE for ML-KEM-{number}: key generation, encapsulation and \
         decapsulation, from bytes; the same as kem/ml-kem-{number}/exchange, beside the handshakes that it is taken for"
    );
    let mut task = Task::new(format!("ntor/parts/ml-kem-{number}"), what);
    task.entries.push(ours::ml_kem::by_aws_lc(level, Op::Exchange));
    task.entries.extend(candor_peers::ml_kem(level, Op::Exchange));
    task
}
