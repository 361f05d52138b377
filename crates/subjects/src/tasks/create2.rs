//! `relay/create2/<handshake>/{single,batch}`: what a circuit's creation costs a relay, alone and eight at once.
//!
//! The work is that of a thread of the handshake pool that always finds something waiting, so the reciprocal of a time is CREATE2 per CPU-second.
//! C tor's bench counts its relay's share of `ntor` alone (`cargo xtask peers tor`), without making a circuit or its keys' ciphers.

use crate::ours::create2::{BATCH, singly, together};
use candor_lab::Task;
use candor_peers::contract::ml_kem::Level;
use candor_peers::contract::ntor::Kind;

/// Both tasks of each handshake that is measured: Tor's, and the hybrids of the level that is the default.
pub(super) fn tasks() -> Vec<Task> {
    let kinds = [Kind::Ntor, Kind::NtorV3, Kind::Hybrid(Level::L768), Kind::HybridAuth(Level::L768)];
    kinds.into_iter().flat_map(|kind| [single(kind), batch(kind)]).collect()
}

fn single(kind: Kind) -> Task {
    let what = format!("a relay answers a CREATE2 with {}, from the onionskin to a circuit and its reply", kind.name());
    let mut task = Task::new(format!("relay/create2/{}/single", kind.name()), what);
    task.entries.extend(singly(kind));
    task
}

fn batch(kind: Kind) -> Task {
    let what = format!(
        "a relay answers {BATCH} CREATE2 with {}: in one pass, or one after another where the subject's name has a + or the back end \
         is not ours; times are those of all {BATCH}",
        kind.name()
    );
    let mut task = Task::new(format!("relay/create2/{}/batch", kind.name()), what);
    task.entries.extend(together(kind));
    task
}
