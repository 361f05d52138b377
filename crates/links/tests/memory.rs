//! What circuits at once take of memory, counted by an allocator.

use candor_links::simulator::{Plan, World};
use candor_links::topology::Topology;
use candor_onion::handshake::HandshakeType;
use candor_test_support::counting::{Counting, most_held};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Most bytes for each of so many circuits that begin within a second and are held until the last is built.
fn each(circuits: u32) -> usize {
    let topology = Topology::built_in("leo-bent-pipe").unwrap().unwrap().ideal();
    let mut world = World::new(&Plan::new(topology, HandshakeType::Hybrid768)).unwrap();
    let (most, outcomes) = most_held(|| world.build_together(circuits, Duration::from_secs(1) / circuits));
    assert!(outcomes.iter().all(|outcome| outcome.built.is_some()));
    most / circuits as usize
}

#[test]
fn two_thousand_circuits_at_once_take_no_more_than_their_share_of_the_memory_of_a_hundred_thousand() {
    let bytes = each(2_000);
    // 1.5 GB for a hundred thousand. What stands beside the state machines is counted as well, and below a third nothing can be.
    assert!((5_000..15_000).contains(&bytes), "{bytes} bytes a circuit");
}
