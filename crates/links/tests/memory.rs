//! What circuits at once take of memory, counted by an allocator.

use candor_links::faults::{Outcome, Report, explore_by};
use candor_links::simulator::{Plan, World};
use candor_links::topology::Topology;
use candor_onion::handshake::HandshakeType;
use candor_test_support::counting::{Counting, most_held};
use std::sync::Mutex;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The allocator counts what all threads hold, so one test after the other.
static TURN: Mutex<()> = Mutex::new(());

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
    let _turn = TURN.lock();
    let bytes = each(2_000);
    // 1.5 GB for a hundred thousand. What stands beside the state machines is counted as well, and below a third nothing can be.
    assert!((5_000..15_000).contains(&bytes), "{bytes} bytes a circuit");
}

#[test]
fn an_exploration_keeps_no_scenarios() {
    let _turn = TURN.lock();
    let carry_out = |_: &_, _| {
        let (outcome, digest, trace) = (Some(Outcome::Delivered), [0; 32], String::new());
        Report { outcome, struck: 0, violation: None, digest, trace, events: 1, time: Duration::ZERO }
    };
    let (most, exploration) = most_held(|| explore_by(1, 0, 20_000, &|| (), &carry_out));
    assert_eq!(exploration.scenarios, 20_000);
    // Kept, they would be over six million. A thousand wait for their turn.
    assert!(most < 1_000_000, "{most} bytes");
}
