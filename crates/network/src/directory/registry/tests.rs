use super::*;
use candor_onion::directory::{Drafted, Listed, SecretKey, Times};
use candor_primitives::dh::{DiffieHellman, x25519::X25519};
use std::time::Duration;

const NOW: u64 = 1_000_000;

/// The descriptor of the relay with that seed, at these addresses, with an ML-KEM-768 key of that byte.
fn descriptor(seed: u8, published: u64, addresses: &[&str], byte: u8) -> Vec<u8> {
    let relay = Relay {
        identity: [0; 32],
        fingerprint: [0; 32],
        x25519: [0; 32],
        kems: [None; 3],
        published,
        keys_until: NOW + 100_000,
        bandwidth: 1,
        handshakes: vec![3],
        addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
        exit: Vec::new(),
        name: "ada".to_owned(),
    };
    let onion = [seed; 32];
    let public = X25519::new().public_of(&X25519::new().secret_from_bytes(&onion).unwrap()).unwrap();
    let drafted = Drafted { relay, family: Vec::new(), kems: [None, Some(vec![byte; 1184]), None] };
    drafted.sign(&SecretKey::of_relay(&[seed; 32]).unwrap(), (&onion, public)).unwrap()
}

/// A registry with room for two relays of a network, in which two of a network may wait, four in all, and what it is told.
struct Scene {
    registry: Registry,
    at: Instant,
}

impl Scene {
    fn new() -> Self {
        let limits = RegistryLimits { relays_per_network: 2, ..RegistryLimits::default() };
        let reach = ReachLimits { waiting_per_network: 2, waiting_in_all: 4, ..ReachLimits::default() };
        let at = Instant::now();
        Self { registry: Registry::new(limits, reach, Vec::new(), Vec::new(), at), at }
    }

    fn pass(&mut self, minutes: u64) {
        self.at += Duration::from_secs(60 * minutes);
    }

    fn register(&mut self, from: &str, bytes: Vec<u8>) -> Result<(), Refused> {
        self.registry.register(Stored::read(bytes)?, from.parse().unwrap(), [NOW; 2], self.at)
    }

    /// Tries all whose turn it is; `is_there` says which addresses answer. Gives those that were refused a place.
    fn attempt(&mut self, is_there: impl Fn(&str) -> bool) -> usize {
        self.attempt_with(|claim| match is_there(&claim.address.to_string()) {
            true => Answer::Holds,
            false => Answer::Fails("silent".to_owned()),
        })
    }

    /// The same; `answer` says what comes of each claim.
    fn attempt_with(&mut self, answer: impl Fn(&Claim) -> Answer) -> usize {
        let mut refused = 0;
        for due in self.registry.due(self.at) {
            let answers: Vec<_> = due.claims.iter().map(|claim| (*claim, answer(claim))).collect();
            refused += usize::from(self.registry.tried(&due.identity, &answers, self.at).is_err());
        }
        refused
    }

    /// The addresses in a view.
    fn listed(&self) -> Vec<String> {
        let view = self.registry.view(NOW, NOW);
        assert_eq!(view.len(), self.registry.count());
        let addresses = view.iter().flat_map(|stored| &stored.descriptor.relay.addresses);
        addresses.map(ToString::to_string).collect()
    }
}

#[test]
fn only_who_has_answered_at_every_address_is_listed_and_counted() {
    let mut scene = Scene::new();
    scene.register("8.8.8.8", descriptor(1, NOW, &["9.9.9.1:1", "[2600::1]:1"], 0)).unwrap();
    scene.register("8.8.7.8", descriptor(2, NOW, &["9.9.9.2:1"], 0)).unwrap();
    assert!(scene.listed().is_empty());
    let changes = scene.registry.changes();
    scene.attempt(|address| address != "[2600::1]:1");
    assert_eq!(scene.listed(), ["9.9.9.2:1"], "one of two addresses is not enough");
    assert_eq!((scene.registry.changes(), scene.registry.waiting()), (changes + 1, 1));
    scene.pass(1);
    scene.attempt(|_| true);
    assert_eq!(scene.listed().len(), 3);
    assert_eq!(scene.registry.changes(), changes + 2, "a relay that is there still changes nothing");
}

#[test]
fn claims_to_a_network_keep_nobody_out_of_it() {
    let mut scene = Scene::new();
    scene.registry.reach.waiting_in_all = 8;
    // Liars from two networks claim to be in the third, at a first or at a second address.
    for (seed, from) in [(1, "8.8.8.8"), (2, "8.8.8.9"), (3, "8.8.7.8")] {
        let claim: &[&str] = if seed == 3 { &["[2600::1]:1", "9.9.9.3:1"] } else { &["9.9.9.3:1"] };
        scene.register(from, descriptor(seed, NOW, claim, 0)).unwrap();
    }
    let more = scene.register("8.8.8.10", descriptor(4, NOW, &["9.9.9.3:1"], 0));
    assert_eq!(more, Err(Refused::Waiting { network: true }), "the liars' network has two that wait");
    for (seed, address) in [(5, "9.9.9.5:1"), (6, "9.9.9.6:1")] {
        scene.register("9.9.9.5", descriptor(seed, NOW, &[address], 0)).unwrap();
    }
    scene.attempt(|address| address != "9.9.9.3:1");
    assert_eq!(scene.listed().len(), 2, "the honest relays have the network's places");
    let third = scene.register("9.9.9.7", descriptor(7, NOW, &["9.9.9.7:1"], 0));
    assert_eq!(third, Err(Refused::NetworkFull("9.9.9.0/24".parse().unwrap())));
    let second = scene.register("7.7.7.7", descriptor(8, NOW, &["7.7.7.7:1", "[2600::8]:1"], 0));
    assert_eq!(second, Ok(()));
    // Those that are known may go on, and the liars are forgotten.
    scene.register("9.9.9.5", descriptor(5, NOW + 1, &["9.9.9.5:1"], 0)).unwrap();
    scene.pass(11);
    scene.attempt(|address| address != "9.9.9.3:1");
    let forgotten = scene.registry.forget_silent(scene.at);
    assert!(
        forgotten.len() >= 2 && forgotten.iter().all(|(relay, why)| relay.contains("9.9.9.3:1") && why == "silent")
    );
    assert_eq!(scene.registry.waiting(), 0);
}

#[test]
fn a_second_address_has_a_place_in_its_network_too() {
    let mut scene = Scene::new();
    let at = |seed: u8| [format!("9.9.{seed}.1:1"), format!("[2600::{seed}]:1")];
    for seed in 1..=2 {
        let at = at(seed);
        scene.register(&format!("9.9.{seed}.1"), descriptor(seed, NOW, &[&at[0], &at[1]], 0)).unwrap();
    }
    assert_eq!(scene.attempt(|_| true), 0);
    let third = at(3);
    let refused = scene.register("9.9.3.1", descriptor(3, NOW, &[&third[0], &third[1]], 0));
    assert_eq!(refused, Err(Refused::NetworkFull("2600::/48".parse().unwrap())));
    scene.register("9.9.3.1", descriptor(3, NOW, &[&third[0]], 0)).expect("without it, there is room");
    // Whoever registers while there is room, and answers when there is none left, is refused then.
    scene.register("9.9.4.1", descriptor(4, NOW, &["9.9.9.4:1"], 0)).unwrap();
    scene.register("9.9.5.1", descriptor(5, NOW, &["9.9.9.5:1"], 0)).unwrap();
    scene.register("9.9.6.1", descriptor(6, NOW, &["9.9.9.6:1"], 0)).unwrap();
    assert_eq!(scene.attempt(|_| true), 1);
    assert_eq!(scene.listed().len(), 2 * 2 + 1 + 2);
}

#[test]
fn private_addresses_are_refused_at_either_place_unless_they_are_declared() {
    let mut scene = Scene::new();
    for addresses in [&["10.0.0.1:1"][..], &["9.9.9.1:1", "[fd00::1]:1"], &["127.0.0.1:1"], &["169.254.1.1:1"]] {
        let refused = scene.register("9.9.9.9", descriptor(1, NOW, addresses, 0)).unwrap_err();
        assert!(matches!(refused, Refused::Private(_)), "{addresses:?}: {refused}");
    }
    assert!(scene.registry.due(scene.at).is_empty(), "nobody is tried there");
    scene.registry.private = vec!["10.0.0.0/8".parse().unwrap()];
    scene.register("9.9.9.9", descriptor(1, NOW, &["10.0.0.1:1"], 0)).unwrap();
    scene.registry.exempt = vec!["fd00::/8".parse().unwrap()];
    scene.register("9.9.9.9", descriptor(2, NOW, &["9.9.9.1:1", "[fd00::1]:1"], 0)).unwrap();
}

#[test]
fn a_full_waiting_room_has_a_place_for_a_network_with_fewer() {
    let mut scene = Scene::new();
    for (seed, from) in [(1, "8.8.1.1"), (2, "8.8.1.2"), (3, "8.8.2.1"), (4, "8.8.2.2")] {
        scene.register(from, descriptor(seed, NOW, &["9.9.9.9:1"], 0)).unwrap();
        scene.at += Duration::from_secs(1);
    }
    scene.register("8.8.3.1", descriptor(5, NOW, &["9.9.9.9:1"], 0)).expect("one of two others goes");
    assert_eq!(scene.registry.waiting(), 4);
    scene.register("8.8.4.1", descriptor(6, NOW, &["9.9.9.9:1"], 0)).expect("and one of the other two");
    let refused = scene.register("8.8.5.1", descriptor(7, NOW, &["9.9.9.9:1"], 0));
    assert_eq!(refused, Err(Refused::Waiting { network: false }), "all have one");
    let waits = |seed: u8| {
        let identity = Descriptor::decode(&descriptor(seed, NOW, &["9.9.9.9:1"], 0)).unwrap().relay.identity;
        scene.registry.known.contains_key(&identity)
    };
    assert_eq!([1, 2, 3, 4, 5, 6].map(waits), [false, true, false, true, true, true], "the oldest go");
}

#[test]
fn a_relay_that_falls_silent_is_listed_for_a_while_and_all_of_them_as_long_as_none_answers() {
    let mut scene = Scene::new();
    for seed in 1..=2_u8 {
        let at = format!("9.9.{seed}.1:1");
        scene.register("9.9.9.9", descriptor(seed, NOW, &[&at], 0)).unwrap();
    }
    scene.attempt(|_| true);
    let hours = |scene: &mut Scene, is_there: &dyn Fn(&str) -> bool| {
        let mut lost = Vec::new();
        for _ in 0..120 {
            scene.pass(1);
            scene.attempt(is_there);
            lost.extend(scene.registry.forget_silent(scene.at));
        }
        lost
    };
    assert!(hours(&mut scene, &|_| false).is_empty(), "the authority is cut off");
    assert_eq!(scene.listed().len(), 2);
    // It is back, and whoever is tried first is not the only one who has answered lately.
    scene.pass(600);
    scene.attempt(|_| true);
    assert!(scene.registry.forget_silent(scene.at).is_empty());
    scene.pass(20);
    let first = scene.registry.due(scene.at).remove(0);
    let answers: Vec<_> = first.claims.iter().map(|claim| (*claim, Answer::Holds)).collect();
    scene.pass(600);
    scene.registry.tried(&first.identity, &answers, scene.at).unwrap();
    assert!(scene.registry.forget_silent(scene.at).is_empty(), "the others have their turns first");
    let lost = hours(&mut scene, &|address| address == "9.9.1.1:1");
    assert_eq!(scene.listed(), ["9.9.1.1:1"]);
    assert!(lost[0].0.starts_with("ada (") && lost[0].0.ends_with("at 9.9.2.1:1"), "{lost:?}");
    // It comes back, and has to answer anew.
    scene.register("9.9.9.9", descriptor(2, NOW + 1, &["9.9.2.1:1"], 0)).unwrap();
    assert_eq!(scene.listed().len(), 1);
    scene.attempt(|_| true);
    assert_eq!(scene.registry.count(), 2);
}

#[test]
fn a_relay_that_moves_is_listed_where_it_was_until_it_answers_where_it_is() {
    let mut scene = Scene::new();
    scene.register("9.9.9.1", descriptor(1, NOW - 10, &["9.9.9.1:1"], 0)).unwrap();
    scene.attempt(|_| true);
    for later in 0..3 {
        scene.register("9.9.9.1", descriptor(1, NOW - 5 + later, &["9.9.8.1:1"], 0)).unwrap();
        scene.attempt(|_| false);
        assert_eq!(scene.listed(), ["9.9.9.1:1"]);
        scene.pass(1);
    }
    scene.attempt(|_| true);
    assert_eq!(scene.listed(), ["9.9.8.1:1"]);
}

#[test]
fn an_authority_without_ipv6_lists_who_has_a_second_address_there_and_counts_it_nowhere() {
    let both = ["9.9.9.1:1", "[2600::1]:1"];
    let listed = |has_way: bool| {
        let mut scene = Scene::new();
        scene.register("9.9.9.1", descriptor(1, NOW, &both, 0)).unwrap();
        scene.register("9.9.8.1", descriptor(2, NOW, &["[2600::2]:1", "9.9.8.1:1"], 0)).unwrap();
        scene.attempt_with(|claim| match (claim.address.is_ipv6(), claim.keys) {
            (true, None) if !has_way => Answer::Unasked,
            (true, _) => Answer::Fails("silent".to_owned()),
            _ => Answer::Holds,
        });
        assert_eq!(scene.registry.places.listed_in(&"2600::/48".parse().unwrap()), 0);
        scene.listed()
    };
    assert_eq!(listed(false), both, "clients use the first address, which has to answer");
    assert!(listed(true).is_empty(), "one that has a way there finds that nobody answers");
}

#[test]
fn a_restart_takes_those_that_had_answered_for_proved_and_tries_them_in_turn() {
    let mut scene = Scene::new();
    for seed in 1..=8_u8 {
        let at = format!("9.9.{seed}.1:1");
        let stored = Stored::read(descriptor(seed, NOW, &[&at], 0)).unwrap();
        scene.registry.restore(stored, NOW, scene.at).unwrap();
    }
    assert_eq!(scene.listed().len(), 8);
    let due = |scene: &Scene, minutes: u64| scene.registry.due(scene.at + Duration::from_secs(60 * minutes)).len();
    assert!(due(&scene, 0) < 8 && due(&scene, 20) == 8, "{} at once", due(&scene, 0));
    let stored = scene.registry.stored();
    scene.register("9.9.9.9", descriptor(9, NOW, &["9.9.9.1:1"], 0)).unwrap();
    assert_eq!(stored.len(), scene.registry.stored().len(), "what has never answered is not written down");
}

#[test]
fn a_relay_that_changes_its_keys_during_a_round_takes_none_of_the_rounds_away() {
    let mut scene = Scene::new();
    let home = ["9.9.9.1:1"];
    scene.register("9.9.9.1", descriptor(1, NOW, &home, 1)).unwrap();
    scene.attempt(|_| true);
    let viewed = scene.registry.view(NOW, NOW);
    let relay = viewed[0].descriptor.relay.clone();
    let times = Times { valid_after: NOW, fresh_until: NOW + 1, valid_until: NOW + 2 };
    let relays = vec![Listed { relay, family: 0 }];
    let consensus = Consensus { times, exit_weight: 0, relays, signers: Vec::new() };
    assert_eq!(scene.registry.kem_keys(&[], &consensus, 1), [1; 1184], "what is known will do");
    assert!(scene.registry.kem_keys(&viewed, &consensus, 0).is_empty(), "it has none for ML-KEM-512");
    scene.register("9.9.9.1", descriptor(1, NOW + 1, &home, 2)).unwrap();
    assert_eq!(scene.registry.kem_keys(&[], &consensus, 1), [1; 1184], "the one before is known");
    scene.at += Duration::from_secs(10);
    scene.attempt(|_| true);
    scene.register("9.9.9.1", descriptor(1, NOW + 2, &home, 3)).unwrap();
    assert!(scene.registry.kem_keys(&[], &consensus, 1).is_empty(), "it isn't any more");
    assert_eq!(scene.registry.kem_keys(&viewed, &consensus, 1), [1; 1184]);
}

/// The address of a host in that /48 of 2600::/32.
fn of_provider(number: u8) -> String {
    format!("2600:0:{number:x}::1")
}

#[test]
fn a_provider_with_many_networks_does_not_fill_the_waiting_room() {
    let mut scene = Scene::new();
    scene.registry.reach.waiting_in_all = 80;
    for number in 0..80 {
        let from = of_provider(number);
        scene.register(&from, descriptor(number, NOW, &[&format!("[{from}]:1")], 0)).unwrap();
    }
    scene.register("9.9.9.9", descriptor(200, NOW, &["9.9.9.9:1"], 0)).expect("another provider's relay has a place");
    assert_eq!(scene.registry.waiting(), 80);
    let more = scene.register(&of_provider(99), descriptor(201, NOW, &["[2600:0:63::1]:1"], 0));
    assert_eq!(more, Err(Refused::Waiting { network: false }), "the provider has enough");
    scene.attempt(|_| false);
    scene.register("8.8.8.8", descriptor(202, NOW, &["8.8.8.8:1"], 0)).expect("who was tried in vain gives way");
    assert_eq!(scene.registry.waiting(), 80);
}

#[test]
fn a_provider_with_many_networks_does_not_fill_the_list() {
    let mut scene = Scene::new();
    (scene.registry.limits.relays, scene.registry.limits.relays_per_provider) = (12, 8);
    let mut registered = 0;
    for number in 0..12 {
        let from = of_provider(number);
        registered += usize::from(scene.register(&from, descriptor(number, NOW, &[&format!("[{from}]:1")], 0)).is_ok());
        scene.attempt(|_| true);
    }
    assert_eq!((registered, scene.registry.count()), (8, 8));
    let ninth = scene.register("8.8.8.8", descriptor(100, NOW, &["8.8.8.8:1", "[2600:0:99::1]:1"], 0));
    assert_eq!(ninth, Err(Refused::NetworkFull("2600::/32".parse().unwrap())), "nor by a second address");
    for (seed, third) in [(101, 1), (102, 2)] {
        let at = format!("9.9.{third}.1:1");
        scene.register("9.9.9.9", descriptor(seed, NOW, &[&at], 0)).expect("another provider's relay has a place");
    }
    scene
        .register(&of_provider(3), descriptor(3, NOW + 1, &[&format!("[{}]:1", of_provider(3))], 0))
        .expect("it goes on");
    scene.attempt(|_| true);
    assert_eq!(scene.registry.count(), 10);
}

#[test]
fn a_relay_that_nobody_has_tried_is_not_dropped() {
    let mut scene = Scene::new();
    for seed in 1..=2_u8 {
        let at = format!("9.9.{seed}.1:1");
        scene.register("9.9.9.9", descriptor(seed, NOW, &[&at], 0)).unwrap();
    }
    scene.attempt(|_| true);
    // Others take all the time there is for tries.
    for _ in 0..6 {
        scene.pass(20);
        let due = scene.registry.due(scene.at);
        let one = due.iter().find(|due| due.claims[0].address.to_string() == "9.9.1.1:1").unwrap();
        scene.registry.tried(&one.identity, &[(one.claims[0], Answer::Holds)], scene.at).unwrap();
        assert!(scene.registry.forget_silent(scene.at).is_empty());
    }
    assert_eq!(scene.listed().len(), 2);
}

#[test]
fn new_keys_at_an_address_that_has_answered_are_not_listed_before_they_are_tried() {
    let mut scene = Scene::new();
    let home = ["9.9.9.1:1"];
    let keys = |scene: &Scene| {
        let view = scene.registry.view(u64::MAX, NOW);
        let there = view.iter().filter(|stored| stored.descriptor.relay.addresses[0].to_string() == home[0]);
        there.map(|stored| stored.descriptor.kems[1].as_ref().unwrap()[0]).collect::<Vec<_>>()
    };
    // Another, which goes on answering: it is not the authority that is cut off.
    scene.register("9.9.8.1", descriptor(2, NOW, &["9.9.8.1:1"], 0)).unwrap();
    scene.register("9.9.9.1", descriptor(1, NOW - 9, &home, 1)).unwrap();
    scene.attempt(|_| true);
    // Keys that nobody holds: circuits with them fail, though the address answers.
    for byte in 2..6 {
        scene.register("9.9.9.1", descriptor(1, NOW - 9 + u64::from(byte), &home, byte)).unwrap();
        assert_eq!(keys(&scene), [1], "what was proved is listed meanwhile");
        scene.at += Duration::from_secs(600);
        scene.attempt(|address| address != home[0]);
    }
    for _ in 0..2 {
        scene.pass(20);
        scene.attempt(|address| address != home[0]);
    }
    assert_eq!(scene.registry.forget_silent(scene.at).len(), 1, "and not for ever");
    // The twin: they are tried soon, and listed then. The same anew changes nothing.
    scene.register("9.9.9.1", descriptor(1, NOW, &home, 1)).unwrap();
    scene.attempt(|_| true);
    scene.register("9.9.9.1", descriptor(1, NOW + 1, &home, 2)).unwrap();
    assert_eq!(keys(&scene), [1]);
    scene.at += Duration::from_secs(10);
    assert_eq!(scene.attempt(|_| true), 0);
    assert_eq!(keys(&scene), [2]);
    scene.register("9.9.9.1", descriptor(1, NOW + 2, &home, 2)).unwrap();
    // What comes while older keys are being tried is tried next.
    scene.pass(20);
    let trying = scene.registry.due(scene.at);
    scene.register("9.9.9.1", descriptor(1, NOW + 3, &home, 3)).unwrap();
    for due in trying {
        let answers: Vec<_> = due.claims.iter().map(|claim| (*claim, Answer::Holds)).collect();
        scene.registry.tried(&due.identity, &answers, scene.at).unwrap();
    }
    assert_eq!(keys(&scene), [2]);
    scene.at += Duration::from_secs(10);
    scene.attempt(|_| true);
    assert_eq!(keys(&scene), [3]);
    scene.register("9.9.9.1", descriptor(1, NOW + 4, &home, 3)).unwrap();
    scene.at += Duration::from_secs(600);
    let due = scene.registry.due(scene.at);
    assert!(due.iter().all(|due| due.claims[0].address.to_string() != home[0]) && keys(&scene) == [3]);
}

#[test]
fn a_relay_that_is_kept_busy_for_days_stays_listed_and_one_that_is_gone_does_not() {
    let mut scene = Scene::new();
    for seed in 1..=2_u8 {
        let at = format!("9.9.{seed}.1:1");
        scene.register("9.9.9.9", descriptor(seed, NOW, &[&at], 0)).unwrap();
    }
    scene.attempt(|_| true);
    for _ in 0..300 {
        scene.pass(10);
        scene.attempt_with(|claim| match claim.address.to_string().as_str() {
            "9.9.1.1:1" => Answer::Busy("relay is out of resources".to_owned()),
            _ => Answer::Fails("silent".to_owned()),
        });
        scene.registry.forget_silent(scene.at);
    }
    assert_eq!(scene.listed(), ["9.9.1.1:1"]);
}
